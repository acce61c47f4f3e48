//! A toy system of processes over shared variables, and a toy reduction of it.
//!
//! It is the smallest system in which a reduction can be wrong: processes with local steps, steps
//! that wait for shared variables or set them, cycles, deadlocks and faults.

use super::Random;
use crate::fault::FaultCode;
use crate::reduction::{LeftOut, Reduction};
use crate::successors::{Action, Successor, Successors};
use crate::system::System;

/// A step of a process.
#[derive(Clone, Copy, Debug)]
pub struct ThreadStep {
    /// The location it leads to.
    pub target: u8,
    /// The variable and the value it waits for.
    pub waits_for: Option<(u8, u8)>,
    /// The variable and the value it sets.
    pub sets: Option<(u8, u8)>,
    /// Whether it commits a fault.
    pub fails: bool,
}

impl ThreadStep {
    /// A step that neither reads nor writes shared variables.
    pub const fn local(target: u8) -> ThreadStep {
        ThreadStep { target, waits_for: None, sets: None, fails: false }
    }

    fn is_local(&self) -> bool {
        self.waits_for.is_none() && self.sets.is_none() && !self.fails
    }
}

/// Processes over shared variables. A state has a byte for each variable and then one for the
/// location of each process. No end is accepted. Part *n* is process *n*; proposition *n* says that
/// variable *n* is not zero.
#[derive(Clone, Debug, Default)]
pub struct Threads {
    /// The number of variables; their initial value is zero.
    pub variables: usize,
    /// The steps of each location of each process, which begins at location 0.
    pub processes: Vec<Vec<Vec<ThreadStep>>>,
}

impl Threads {
    /// A pseudo-random system.
    pub fn random(seed: u64) -> Threads {
        let mut random = Random(seed);
        let mut choose = |below: u64| random.below(below) as u8;
        let variables = 1 + choose(2) as usize;
        let processes = (0..2 + choose(2))
            .map(|_| {
                let locations = 1 + choose(4);
                let location = |choose: &mut dyn FnMut(u64) -> u8| {
                    let step = |choose: &mut dyn FnMut(u64) -> u8| ThreadStep {
                        target: choose(locations.into()),
                        waits_for: (choose(3) == 0).then(|| (choose(variables as u64), choose(2))),
                        sets: (choose(3) == 0).then(|| (choose(variables as u64), choose(2))),
                        fails: choose(40) == 0,
                    };
                    (0..choose(3)).map(|_| step(choose)).collect()
                };
                (0..locations).map(|_| location(&mut choose)).collect()
            })
            .collect();
        Threads { variables, processes }
    }

    /// The location of a process, and the steps there.
    fn at(&self, state: &[u8], process: usize) -> (u8, &[ThreadStep]) {
        let location = state[self.variables + process];
        (location, &self.processes[process][location as usize])
    }

    /// The static number of the first step of a location.
    fn number(&self, process: usize, location: u8) -> u32 {
        (process as u32) << 16 | u32::from(location) << 8
    }
}

impl System for Threads {
    fn initial(&mut self, out: &mut Successors) {
        out.push(&vec![0; self.variables + self.processes.len()], Action::default());
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        (0..self.processes.len() as u32).for_each(|process| self.expand_part(state, process, out));
    }

    fn is_valid_end(&mut self, _: &[u8]) -> bool {
        false
    }

    fn parts(&mut self, _: &[u8], out: &mut Vec<u32>) {
        out.extend(0..self.processes.len() as u32);
    }

    fn expand_part(&mut self, state: &[u8], part: u32, out: &mut Successors) {
        let process = part as usize;
        let (location, steps) = self.at(state, process);
        for (choice, step) in steps.iter().enumerate() {
            if step.waits_for.is_some_and(|(variable, value)| state[variable as usize] != value) {
                continue;
            }
            let next = out.slot_from(state);
            next[self.variables + process] = step.target;
            if let Some((variable, value)) = step.sets {
                next[variable as usize] = value;
            }
            let fault = step.fails.then_some(FaultCode::new(1)).flatten();
            out.commit(state.len(), Action::new(part, choice as u32), fault, self.number(process, location) + choice as u32);
        }
    }

    fn atoms(&mut self, state: &[u8]) -> Result<u64, FaultCode> {
        Ok((0..self.variables).filter(|&variable| state[variable] != 0).map(|variable| 1 << variable).sum())
    }
}

/// Follows one process alone if it waits for nothing and all its steps are local.
#[derive(Clone, Copy, Debug)]
pub struct LocalFirst<'a>(pub &'a Threads);

impl Reduction for LocalFirst<'_> {
    fn leave_out(&self, state: &[u8], _: &[Successor]) -> LeftOut {
        // Another process could enable a process that waits, so the two cannot be separated.
        let candidate = |&process: &usize| {
            let (_, steps) = self.0.at(state, process);
            !steps.is_empty() && steps.iter().all(|step| step.waits_for.is_none() && step.is_local())
        };
        let chosen = (0..self.0.processes.len()).find(candidate);
        chosen.map_or(LeftOut::NOTHING, |process| LeftOut { processes: !(1 << process), postponed: !(1 << process) })
    }
}

/// The number of states that [`system_laws`] expands at once.
const AT_ONCE: usize = 7;

/// A step: its action, its fault, its number and the state it leads to.
type Seen = (Action, Option<FaultCode>, u32, Option<Vec<u8>>);

fn all(out: &Successors) -> Vec<Seen> {
    out.iter().map(|(entry, state)| (entry.action, entry.fault(), entry.step, state.map(<[u8]>::to_vec))).collect()
}

/// Expands several states in one call, and compares their steps with those of each alone.
fn together<S: System>(system: &mut S, batch: &[(Vec<u8>, Vec<Seen>)]) {
    const FIRST: u32 = 3;
    let states: Vec<&[u8]> = batch.iter().map(|(state, _)| state.as_slice()).collect();
    let mut out = Successors::new();
    assert_eq!(system.successors_of_all(&states, FIRST, &mut out), states.len(), "nothing was given up");
    let expected: Vec<Seen> = batch.iter().flat_map(|(_, steps)| steps.iter().cloned()).collect();
    assert_eq!(all(&out), expected, "the steps of {states:?} differ if they are asked for at once");
    let sources = batch.iter().enumerate().flat_map(|(number, (_, steps))| steps.iter().map(move |_| FIRST + number as u32));
    assert!(out.entries().iter().map(|entry| entry.source).eq(sources), "the sources of the steps of {states:?}");
}

/// The laws of a system, checked in up to `most` of its states: the steps of a state are the same
/// each time; no two have the same action; the steps of its parts, in order, are all its steps; and
/// several states at once have the steps that each of them has.
pub fn system_laws<S: System>(system: &mut S, most: usize) {
    let (mut out, mut again, mut parts, mut batch) = (Successors::new(), Successors::new(), Vec::new(), Vec::new());
    system.initial(&mut out);
    let mut waiting: Vec<Vec<u8>> = out.iter().filter_map(|(_, state)| state.map(<[u8]>::to_vec)).collect();
    let mut seen: std::collections::HashSet<Vec<u8>> = waiting.iter().cloned().collect();
    while let Some(state) = waiting.pop() {
        out.clear();
        system.successors(&state, &mut out);
        let steps = all(&out);
        again.clear();
        system.successors(&state, &mut again);
        assert_eq!(steps, all(&again), "the steps of {state:?} differ from time to time");
        let actions: std::collections::HashSet<Action> = steps.iter().map(|step| step.0).collect();
        assert_eq!(actions.len(), steps.len(), "two steps of {state:?} have the same action");
        again.clear();
        parts.clear();
        system.parts(&state, &mut parts);
        parts.iter().for_each(|&part| system.expand_part(&state, part, &mut again));
        assert_eq!(steps, all(&again), "the parts of {state:?} are not all of it");
        batch.push((state, steps.clone()));
        if batch.len() == AT_ONCE || waiting.is_empty() {
            together(system, &std::mem::take(&mut batch));
        }
        for next in steps.into_iter().filter_map(|step| step.3) {
            if seen.len() < most && seen.insert(next.clone()) {
                waiting.push(next);
            }
        }
    }
}
