//! How a search is spread over processes: which process owns a state, and how fewer states are
//! sent.

use crate::choice::choice;
use std::fmt;
use std::str::FromStr;

/// The part of a state that determines its owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    /// All of it: states are spread evenly, and most steps lead to another worker.
    #[default]
    State,
    /// The control location and variables of the process with this number: steps of others stay
    /// where they are.
    Process(u8),
    /// The control locations of all processes.
    Counters,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Owner::State => f.write_str("state"),
            Owner::Process(number) => write!(f, "process:{number}"),
            Owner::Counters => f.write_str("counters"),
        }
    }
}

impl FromStr for Owner {
    type Err = String;

    fn from_str(text: &str) -> Result<Owner, String> {
        match text.split_once(':') {
            None if text == "state" => Ok(Owner::State),
            None if text == "counters" => Ok(Owner::Counters),
            Some(("process", number)) => {
                number.parse().map(Owner::Process).map_err(|_| format!("`{number}` is not the number of a process, from 0 to 254"))
            }
            _ => Err(format!("there is no owner function `{text}`; choose from: state, counters, process:N")),
        }
    }
}

choice! {
    /// How several processes look for cycles.
    FarCycles, "search for cycles by several processes" {
        #[default]
        Auto = "auto", "By the automaton: breadth first if the end of a path decides; else `young`, in one turn if the automaton is weak";
        Young = "young", "One way catch them young: states that cannot be on an accepting cycle are dropped, in turns";
        Predecessors = "predecessors", "Maximal accepting predecessors: each state learns the largest accepting state it reaches";
        Levels = "levels", "Back-level edges: after each level, cycles through edges that lead no deeper";
        Dependencies = "dependencies", "Nested depth-first searches in the order of dependency structures";
    }
}

choice! {
    /// Who owns states at the beginning of a search by several processes.
    FarStart, "beginning of a search by several processes" {
        #[default]
        Equal = "equal", "All workers own about the same number of states";
        One = "one", "One worker owns all states until its memory runs short";
        All = "all", "All workers store all states, without messages, until the memory of one runs short";
    }
}

impl From<FarStart> for distribute::Start {
    fn from(start: FarStart) -> distribute::Start {
        match start {
            FarStart::Equal => distribute::Start::Equal,
            FarStart::One => distribute::Start::One,
            FarStart::All => distribute::Start::All,
        }
    }
}

/// How a search is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The owner function.
    pub owner: Owner,
    /// The number of sent states that are remembered, so that they are not sent again.
    pub remembered: u32,
    /// Whether the sender of a state looks for successors that it owns itself.
    pub lookahead: bool,
    /// How cycles are looked for.
    pub cycles: FarCycles,
    /// The owners of states at the beginning.
    pub start: FarStart,
}

impl Default for Spread {
    fn default() -> Self {
        Spread { owner: Owner::State, remembered: 1 << 12, lookahead: false, cycles: FarCycles::Auto, start: FarStart::Equal }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {} {}", self.owner, self.remembered, self.lookahead, self.cycles.name(), self.start.name())
    }
}

impl FromStr for Spread {
    type Err = String;

    fn from_str(text: &str) -> Result<Spread, String> {
        let wrong = || "this is no way to spread a search".to_owned();
        let words: Vec<&str> = text.split(' ').collect();
        let &[owner, remembered, lookahead, cycles, start] = &words[..] else { return Err(wrong()) };
        Ok(Spread {
            owner: owner.parse()?,
            remembered: remembered.parse().map_err(|_| wrong())?,
            lookahead: lookahead.parse().map_err(|_| wrong())?,
            cycles: cycles.parse().map_err(|_| wrong())?,
            start: start.parse().map_err(|_| wrong())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for owner in [Owner::State, Owner::Process(7), Owner::Counters] {
            let spread = Spread { owner, remembered: 9, lookahead: true, cycles: FarCycles::Levels, start: FarStart::One };
            assert_eq!(spread.to_string().parse(), Ok(spread));
        }
        assert!("process:300".parse::<Owner>().unwrap_err().contains("254"));
        assert!("nobody".parse::<Owner>().unwrap_err().contains("counters"));
    }
}
