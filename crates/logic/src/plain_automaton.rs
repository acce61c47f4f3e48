//! Automata as plain lines, as the sweep-line tool of Lilleskare (2017) reads them.
//!
//! The first line is the initial state, the second the accepting ones; then a line for each state
//! with a label and a successor for each edge. A label is `true`, or literals one after the other:
//! `p!q` is *p* and not *q*; between two names without `!` there is a `&`.

use rustc_hash::FxHashMap;
use source::{Diagnostic, FileId, Span};

/// An automaton over named propositions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlainAutomaton {
    /// The initial state.
    pub initial: usize,
    /// Whether each state accepts.
    pub accepting: Vec<bool>,
    /// The names of the propositions.
    pub atoms: Vec<String>,
    /// The edges of each state: what must hold, what must not, as bits of the propositions, and
    /// where it leads.
    pub edges: Vec<Vec<(u64, u64, usize)>>,
}

/// The largest number of propositions: they are the bits of a word.
const ATOMS_MAX: usize = 64;

/// Reads an automaton. Its states are numbered in the order in which they are first named.
pub fn parse_plain_automaton(text: &str, file: FileId) -> Result<PlainAutomaton, Diagnostic> {
    let mut states: FxHashMap<&str, usize> = FxHashMap::default();
    let mut made = PlainAutomaton::default();
    let begin = text.as_ptr() as usize;
    let span = |word: &str| {
        let at = word.as_ptr() as usize - begin;
        Span::new(file, at, at + word.len())
    };
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let missing = |what: &str| Diagnostic::error(Span::point(file, text.len()), format!("the line with {what} is missing"));
    let mut number = |made: &mut PlainAutomaton, name| {
        let next = states.len();
        let number = *states.entry(name).or_insert(next);
        if number == next {
            made.accepting.push(false);
            made.edges.push(Vec::new());
        }
        number
    };
    let first = lines.next().ok_or_else(|| missing("the initial state"))?;
    let mut words = first.split_whitespace();
    match (words.next(), words.next()) {
        (Some(name), None) => made.initial = number(&mut made, name),
        _ => return Err(Diagnostic::error(span(first.trim()), "the first line has the initial state and nothing else")),
    }
    for name in lines.next().ok_or_else(|| missing("the accepting states"))?.split_whitespace() {
        let state = number(&mut made, name);
        made.accepting[state] = true;
    }
    for line in lines {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        let state = number(&mut made, name);
        while let Some(label) = words.next() {
            let Some(target) = words.next() else { return Err(Diagnostic::error(span(label), "this label leads to no state")) };
            let target = number(&mut made, target);
            let (required, forbidden) = literals(label, &mut made.atoms).map_err(|why| Diagnostic::error(span(label), why))?;
            made.edges[state].push((required, forbidden, target));
        }
    }
    Ok(made)
}

/// The propositions that a label requires and those that it forbids.
fn literals(label: &str, atoms: &mut Vec<String>) -> Result<(u64, u64), String> {
    let (mut required, mut forbidden) = (0, 0);
    if label == "true" {
        return Ok((required, forbidden));
    }
    let mut rest = label;
    while !rest.is_empty() {
        rest = rest.strip_prefix('&').unwrap_or(rest);
        let (negative, behind) = rest.strip_prefix('!').map_or((false, rest), |behind| (true, behind));
        let length = behind.find(['!', '&']).unwrap_or(behind.len());
        let (name, behind) = behind.split_at(length);
        if name.is_empty() {
            return Err(format!("`{label}` is not a list of propositions"));
        }
        rest = behind;
        let atom = atoms.iter().position(|known| known == name).unwrap_or_else(|| {
            atoms.push(name.to_owned());
            atoms.len() - 1
        });
        if atom >= ATOMS_MAX {
            return Err(format!("an automaton has at most {ATOMS_MAX} propositions"));
        }
        *(if negative { &mut forbidden } else { &mut required }) |= 1_u64 << atom;
    }
    Ok((required, forbidden))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_example_is_read() {
        let read = parse_plain_automaton("0\n1\n0 true 0 p!q 1\n1 !q 1\n", FileId::default()).expect("an automaton");
        assert_eq!((read.initial, &read.accepting[..]), (0, &[false, true][..]));
        assert_eq!(read.atoms, ["p", "q"]);
        assert_eq!(read.edges, [vec![(0, 0, 0), (1, 2, 1)], vec![(0, 2, 1)]]);
        let many = parse_plain_automaton("a\n\n", FileId::default());
        assert!(many.is_err(), "the line of accepting states may be empty, but blank lines are skipped");
    }

    #[test]
    fn mistakes_have_a_place() {
        for (text, at) in [("", 0), ("0 1\n", 0), ("0\n1\n0 p\n", 6), ("0\n1\n0 !! 1\n", 6)] {
            let wrong = parse_plain_automaton(text, FileId::default()).expect_err(text);
            assert_eq!(wrong.span.start as usize, at, "{text:?}");
        }
    }
}
