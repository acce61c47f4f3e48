//! Helpers for the cases: load a program, reach a state, compare its transitions.

use crate::naive::{Naive, State};
use crate::{assembly, naive};
use bytecode::{Fault, Verified};
use contract::{Successors, System};
use std::sync::Arc;

/// The result of a case: the error says what was expected.
pub type Verdict = Result<(), String>;

/// The function that creates an engine for a program.
pub type Make<'a> = &'a dyn Fn(Arc<Verified>) -> Box<dyn System>;

/// A test bench for an engine.
pub struct Bench<'a> {
    make: Make<'a>,
}

/// One transition as text: `1:5,6!Assertion` is a transition of process 1 to a state with these
/// values and with this fault; without values it has no successor.
fn words(process: usize, values: Option<Vec<String>>, fault: Option<Fault>) -> String {
    let values = values.map_or(String::new(), |values| values.join(","));
    let fault = fault.map_or(String::new(), |fault| format!("!{:?}", fault.kind));
    format!("{process}:{values}{fault}")
}

impl<'a> Bench<'a> {
    /// A bench for an engine.
    pub fn new(make: Make<'a>) -> Bench<'a> {
        Bench { make }
    }

    /// Loads a program.
    pub fn load(&self, text: &str) -> UnderTest {
        self.load_program(assembly::verified(text))
    }

    /// Loads a program from another source.
    pub fn load_program(&self, program: Verified) -> UnderTest {
        let naive = Naive::new(program.program());
        let system = (self.make)(Arc::new(program));
        UnderTest { naive, system }
    }

    /// The transitions of the initial state must be these; `watch` names the globals that are
    /// shown, `.` a process's location.
    pub fn expect(&self, text: &str, watch: &str, expected: &str) -> Verdict {
        self.expect_after(text, &[], watch, expected)
    }

    /// The transitions of the state that is reached by taking the given choices must be these.
    pub fn expect_after(&self, text: &str, choices: &[usize], watch: &str, expected: &str) -> Verdict {
        let mut loaded = self.load(text);
        let state = loaded.walk(choices)?;
        same(&loaded.transitions(&state, watch)?, expected).map_err(|error| format!("{error}\nafter {choices:?} of\n{text}"))
    }

    /// Each of these sequences of instructions must push this value; `!Kind` means a fault.
    pub fn computes(&self, table: &[(&str, &str)]) -> Verdict {
        for (code, expected) in table {
            let text = format!("global int out\nprocess p() {{\n{code}\nSTG out\nSTEP N\nSTEP T\n}}\nstart p");
            let expected = format!("0:{expected}");
            self.expect(&text, "out", &expected)?;
        }
        Ok(())
    }

    /// The bytes of the state that is reached by taking the given choices must be these.
    pub fn expect_bytes(&self, text: &str, choices: &[usize], expected: &[u8]) -> Verdict {
        let found = self.load(text).walk(choices)?;
        if found == expected { Ok(()) } else { Err(format!("the state is {found:?}, not {expected:?}, after {choices:?} of\n{text}")) }
    }
}

/// Requires that two texts are equal.
pub(super) fn same(found: &str, expected: &str) -> Verdict {
    if found == expected { Ok(()) } else { Err(format!("found `{found}`, expected `{expected}`")) }
}

/// Requires that a condition holds.
pub(super) fn holds(condition: bool, what: &str) -> Verdict {
    if condition { Ok(()) } else { Err(format!("{what}: not so")) }
}

/// A program in an engine.
pub struct UnderTest {
    /// The naive evaluator of the program, which reads states.
    pub naive: Naive,
    /// The engine.
    pub system: Box<dyn System>,
}

impl UnderTest {
    /// The initial state.
    pub fn initial(&mut self) -> Result<Vec<u8>, String> {
        let mut out = Successors::new();
        self.system.initial(&mut out);
        let mut states = out.iter().map(|(_, state)| state.map(<[u8]>::to_vec));
        match (states.next(), states.next()) {
            (Some(Some(state)), None) => Ok(state),
            _ => Err("there is not one initial state".to_string()),
        }
    }

    /// The transitions of a state: initiator, fault, state reached.
    pub fn outcomes(&mut self, state: &[u8]) -> Vec<(usize, Option<Fault>, Option<Vec<u8>>)> {
        let mut out = Successors::new();
        self.system.successors(state, &mut out);
        let fault = |code: u32| Fault::from_code(code);
        out.iter()
            .map(|(entry, state)| {
                (entry.action.process as usize, entry.fault().and_then(|code| fault(code.get())), state.map(<[u8]>::to_vec))
            })
            .collect()
    }

    /// The state reached by taking the given choices in order.
    pub fn walk(&mut self, choices: &[usize]) -> Result<Vec<u8>, String> {
        let mut state = self.initial()?;
        for (i, &choice) in choices.iter().enumerate() {
            let mut outcomes = self.outcomes(&state);
            if choice >= outcomes.len() {
                return Err(format!("step {i}: there is no choice {choice}, only {}", outcomes.len()));
            }
            state = outcomes.swap_remove(choice).2.ok_or(format!("step {i}: choice {choice} leads nowhere"))?;
        }
        Ok(state)
    }

    /// A state, decoded.
    pub fn read(&self, state: &[u8]) -> Result<State, String> {
        self.naive.decode(state).map_err(|naive::NotAState { what, at }| format!("no state: {what} at byte {at} of {state:?}"))
    }

    /// The transitions of a state as text.
    pub fn transitions(&mut self, state: &[u8], watch: &str) -> Result<String, String> {
        let mut all = Vec::new();
        for (process, fault, state) in self.outcomes(state) {
            let values = match state {
                Some(state) => Some(self.watched(&self.read(&state)?, watch)?),
                None => None,
            };
            all.push(words(process, values, fault));
        }
        Ok(all.join(" "))
    }

    /// The watched values of a state: globals by name, `e` the holder of the privilege, `.` the
    /// location of each process, `#` the number of messages in each channel.
    fn watched(&self, state: &State, watch: &str) -> Result<Vec<String>, String> {
        let joined = |values: Vec<String>| values.join("/");
        watch
            .split_whitespace()
            .map(|name| {
                Ok(match name {
                    "e" => state.exclusive.map_or("-".to_string(), |e| e.to_string()),
                    "." => joined(state.processes().map(|process| process.location.to_string()).collect()),
                    "#" => joined(state.all_channels().map(|channel| channel.messages.len().to_string()).collect()),
                    _ => {
                        let values = state.global_array(self.naive.program(), name).ok_or(format!("no global `{name}`"))?;
                        joined(values.iter().map(i32::to_string).collect())
                    }
                })
            })
            .collect()
    }
}
