//! Comparison of an engine with the naive evaluator, state by state.
//!
//! States are visited breadth first as the naive evaluator finds them. In each state everything
//! that an engine computes is compared: the outcomes with their order, initiators, faults and
//! bytes, and whether a state without outcomes is a valid end.

use crate::naive::{Naive, Outcome, Refusal, State};
use bytecode::{Fault, Verified};
use contract::{Successors, System};
use std::collections::{HashSet, VecDeque};
use std::fmt::Write;

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// There is no difference in the compared states.
    Same(Extent),
    /// The naive evaluator gives no answer, so the program cannot be compared.
    Refused(Refusal),
    /// The first difference.
    Different(Box<Difference>),
}

/// How much was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// States.
    pub states: usize,
    /// Transitions between them, including steps that fail.
    pub transitions: usize,
    /// Transitions with a fault.
    pub faults: usize,
    /// States without transitions.
    pub ends: usize,
}

/// A state in which the two disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The state; `None` if the initial states differ.
    pub state: Option<State>,
    /// The result by the rules, according to the naive evaluator.
    pub rules: String,
    /// The result of the engine.
    pub engine: String,
}

/// An outcome in the form that is compared: initiator, fault, bytes.
type Plain = (usize, Option<u32>, Option<Vec<u8>>);

fn plain(naive: &Naive, outcome: &Outcome) -> Plain {
    (outcome.process, outcome.fault.map(Fault::code), outcome.state.as_ref().map(|state| naive.encode(state)))
}

fn told(out: &Successors) -> Vec<Plain> {
    out.iter()
        .map(|(entry, state)| (entry.action.process as usize, entry.fault().map(|fault| fault.get()), state.map(<[u8]>::to_vec)))
        .collect()
}

fn describe(naive: &Naive, outcomes: &[Plain]) -> String {
    let mut text = String::new();
    for (process, fault, bytes) in outcomes {
        let _ = write!(text, "process {process}");
        if let Some(code) = fault {
            let _ = match Fault::from_code(*code) {
                Some(fault) => write!(text, ", {:?} at {}", fault.kind, fault.addr),
                None => write!(text, ", unknown fault {code:#x}"),
            };
        }
        match bytes.as_ref().map(|bytes| naive.decode(bytes)) {
            Some(Ok(state)) => {
                let _ = write!(text, ": {state:?}");
            }
            Some(Err(error)) => {
                let _ = write!(text, ": {error:?}: {bytes:?}");
            }
            None => {}
        }
        text.push('\n');
    }
    text
}

/// Compares an engine with the rules in up to `most` states of a program.
pub fn compare(program: &Verified, engine: &mut dyn System, most: usize) -> Comparison {
    compare_with(&Naive::new(program.program()), engine, most)
}

/// Like [`compare`], with a given evaluator of the rules.
pub fn compare_with(naive: &Naive, engine: &mut dyn System, most: usize) -> Comparison {
    let different = |state: Option<&State>, rules: String, engine: String| {
        Comparison::Different(Box::new(Difference { state: state.cloned(), rules, engine }))
    };
    let mut out = Successors::new();
    let initial = match naive.initial_state() {
        Ok(initial) => initial,
        Err(refusal) => return Comparison::Refused(refusal),
    };
    engine.initial(&mut out);
    // The actions of initial states are meaningless.
    let rules = vec![(0, initial.fault.map(Fault::code), initial.state.as_ref().map(|state| naive.encode(state)))];
    let engines: Vec<Plain> = told(&out).into_iter().map(|(_, fault, state)| (0, fault, state)).collect();
    if rules != engines {
        return different(None, describe(naive, &rules), describe(naive, &engines));
    }
    let mut extent = Extent::default();
    let mut seen: HashSet<State> = initial.state.iter().cloned().collect();
    let mut queue: VecDeque<State> = initial.state.into_iter().collect();
    while let Some(state) = queue.pop_front() {
        let bytes = naive.encode(&state);
        if naive.decode(&bytes).as_ref() != Ok(&state) {
            return different(Some(&state), format!("{state:?}"), format!("read back as {:?}", naive.decode(&bytes)));
        }
        let outcomes = match naive.outcomes(&state) {
            Ok(outcomes) => outcomes,
            Err(refusal) => return Comparison::Refused(refusal),
        };
        out.clear();
        engine.successors(&bytes, &mut out);
        let rules: Vec<Plain> = outcomes.iter().map(|outcome| plain(naive, outcome)).collect();
        let engines = told(&out);
        if rules != engines {
            return different(Some(&state), describe(naive, &rules), describe(naive, &engines));
        }
        if outcomes.is_empty() && naive.valid_end(&state) != engine.is_valid_end(&bytes) {
            let says = |valid: bool| if valid { "a valid end" } else { "a deadlock" }.to_string();
            return different(Some(&state), says(naive.valid_end(&state)), says(engine.is_valid_end(&bytes)));
        }
        extent.states += 1;
        extent.transitions += outcomes.len();
        extent.ends += usize::from(outcomes.is_empty());
        extent.faults += outcomes.iter().filter(|outcome| outcome.fault.is_some()).count();
        for next in outcomes.into_iter().filter_map(|outcome| outcome.state) {
            if seen.len() < most && seen.insert(next.clone()) {
                queue.push_back(next);
            }
        }
    }
    Comparison::Same(extent)
}
