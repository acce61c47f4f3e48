//! Checks choices by brute force: tests whether a set of processes is stubborn.
//!
//! From a state, everything is explored that the other processes can do on their own, up to a
//! bound. In each state reached, the chosen processes must still have the same steps, and each step
//! must lead to the same states whether it is taken before or after a step of the others. This uses
//! only states and steps; it does not depend on how the choice was made.

use bytecode::Part;
use contract::{LeftOut, Reduction, Successors, System};
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::fmt;

/// The largest number of states of one atomic sequence.
const MOST_ATOMIC: usize = 500;

/// A choice that is not a stubborn set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The state in which the choice was made.
    pub state: Vec<u8>,
    /// The processes that were chosen.
    pub chosen: Vec<u32>,
    /// After how many steps of others it fails.
    pub after: usize,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "processes {:?} were chosen; {} steps of others later, {}", self.chosen, self.after, self.what)
    }
}

impl std::error::Error for Flaw {}

/// The result of examining one choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Examined {
    /// All processes were chosen: there is nothing to test.
    Whole,
    /// The choice was right, as far as it was tested.
    Kept {
        /// Whether the bound was reached before everything was tested.
        cut_short: bool,
    },
}

/// A step as it is recognised in another state: the process, the step number, and its index among
/// those with the same number.
type Name = (u32, u32, u32);

/// The states to which a step leads, up to where others can move again, and the faults on the way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Ends {
    states: BTreeSet<Vec<u8>>,
    faults: BTreeSet<u32>,
}

type Steps = BTreeMap<Name, Ends>;

/// Examines the choices of a reduction.
pub struct Examiner<'a> {
    system: &'a mut dyn System,
    reduction: &'a dyn Reduction,
    /// The offset in a state of the number, plus one, of the process with the privilege.
    exclusive: Option<usize>,
    /// The largest number of states of others to explore.
    most: usize,
}

/// A step or a sequence of steps is too long to be followed.
struct TooLong;

impl<'a> Examiner<'a> {
    /// An examiner that explores at most `most` states for each choice. `exclusive` is that of the
    /// layout.
    pub fn new(system: &'a mut dyn System, reduction: &'a dyn Reduction, exclusive: Option<usize>, most: usize) -> Self {
        Examiner { system, reduction, exclusive, most }
    }

    /// Examines the choice in a state.
    pub fn examine(&mut self, state: &[u8]) -> Result<Examined, Box<Flaw>> {
        let Some(chosen) = self.chosen(state) else { return Ok(Examined::Whole) };
        let flaw = |after: usize, what: String| Box::new(Flaw { state: state.to_vec(), chosen: chosen.clone(), after, what });
        let mut cut_short = false;
        let mut seen = HashSet::from([state.to_vec()]);
        let mut open = VecDeque::from([(state.to_vec(), 0)]);
        let Ok(first) = self.steps(state, |process| chosen.contains(&process)) else { return Ok(Examined::Kept { cut_short: true }) };
        while let Some((at, after)) = open.pop_front() {
            let (Ok(own), Ok(others)) =
                (self.steps(&at, |process| chosen.contains(&process)), self.steps(&at, |process| !chosen.contains(&process)))
            else {
                cut_short = true;
                continue;
            };
            if own.keys().ne(first.keys()) || own.values().map(|ends| &ends.faults).ne(first.values().map(|ends| &ends.faults)) {
                let names = |steps: &Steps| steps.keys().copied().collect::<Vec<_>>();
                return Err(flaw(after, format!("their steps are {:?} instead of {:?}", names(&own), names(&first))));
            }
            for (other, there) in &others {
                for (name, here) in &own {
                    match self.commute(name, here, other, there, &chosen) {
                        Ok(Ok(())) => {}
                        Ok(Err(what)) => return Err(flaw(after, what)),
                        Err(TooLong) => cut_short = true,
                    }
                }
                for next in &there.states {
                    if seen.len() < self.most {
                        if seen.insert(next.clone()) {
                            open.push_back((next.clone(), after + 1));
                        }
                    } else {
                        cut_short = true;
                    }
                }
            }
        }
        Ok(Examined::Kept { cut_short })
    }

    /// The processes chosen in a state; nothing if that is all or they have no step.
    fn chosen(&mut self, state: &[u8]) -> Option<Vec<u32>> {
        let (mut parts, mut out) = (Vec::new(), Successors::new());
        self.system.successors(state, &mut out);
        let LeftOut { processes, .. } = self.reduction.leave_out(state, out.entries());
        if processes == 0 || out.entries().iter().all(|step| LeftOut::has(processes, step)) {
            return None;
        }
        self.system.parts(state, &mut parts);
        let chosen = parts.into_iter().filter_map(|part| match Part::from_number(part) {
            Part::Process(process) => Some(process).filter(|&process| processes.checked_shr(process).unwrap_or(0) & 1 == 0),
            Part::Timeout | Part::Everything => None,
        });
        Some(chosen.collect())
    }

    /// The steps of some processes.
    fn steps(&mut self, state: &[u8], wanted: impl Fn(u32) -> bool) -> Result<Steps, TooLong> {
        let mut parts = Vec::new();
        self.system.parts(state, &mut parts);
        let mut steps = Steps::new();
        for part in parts {
            let Part::Process(process) = Part::from_number(part) else { continue };
            if !wanted(process) {
                continue;
            }
            let mut out = Successors::new();
            self.system.expand_part(state, part, &mut out);
            let mut same = BTreeMap::new();
            for (entry, next) in out.iter() {
                let number = same.entry(entry.step).and_modify(|number| *number += 1).or_insert(0);
                let ends = steps.entry((process, entry.step, *number)).or_default();
                ends.faults.extend(entry.fault().map(|fault| fault.get()));
                if let Some(next) = next {
                    self.follow(next, ends)?;
                }
            }
        }
        Ok(steps)
    }

    /// Follows an atomic sequence to where it ends or is blocked.
    fn follow(&mut self, state: &[u8], ends: &mut Ends) -> Result<(), TooLong> {
        let mut seen = BTreeSet::new();
        let mut open = vec![state.to_vec()];
        while let Some(mut state) = open.pop() {
            let holder = self.exclusive.and_then(|at| u32::from(state[at]).checked_sub(1));
            if let Some(holder) = holder {
                if !seen.insert(state.clone()) {
                    continue;
                }
                if seen.len() > MOST_ATOMIC {
                    return Err(TooLong);
                }
                let mut out = Successors::new();
                self.system.successors(&state, &mut out);
                if out.entries().iter().any(|entry| entry.action.process == holder) {
                    ends.faults.extend(out.entries().iter().filter_map(|entry| entry.fault()).map(|fault| fault.get()));
                    open.extend(out.iter().filter_map(|(_, next)| next.map(<[u8]>::to_vec)));
                    continue;
                }
                // A blocked process has lost the privilege already, but the state does not show it.
                if let Some(at) = self.exclusive {
                    state[at] = 0;
                }
            }
            ends.states.insert(state);
        }
        Ok(())
    }

    /// Whether a chosen step does not change another one: the states that both lead to if it comes
    /// last are also reached if it comes first. If it comes first, the other step may lead to
    /// further states: an offer may have found one more partner.
    fn commute(&mut self, name: &Name, here: &Ends, other: &Name, there: &Ends, chosen: &[u32]) -> Result<Result<(), String>, TooLong> {
        let (mut own_first, mut own_last) = (Ends::default(), Ends::default());
        for state in &here.states {
            let steps = self.steps(state, |process| process == other.0 && !chosen.contains(&process))?;
            if !steps.contains_key(other) {
                return Ok(Err(format!("the step {name:?} prevents the step {other:?}")));
            }
            for (_, ends) in steps.into_iter().filter(|((process, step, _), _)| (*process, *step) == (other.0, other.1)) {
                own_first.states.extend(ends.states);
                own_first.faults.extend(ends.faults);
            }
        }
        for state in &there.states {
            match self.steps(state, |process| process == name.0)?.remove(name) {
                Some(ends) => own_last.states.extend(ends.states),
                None => return Ok(Err(format!("the step {other:?} prevents the step {name:?}"))),
            }
        }
        if !own_last.states.is_subset(&own_first.states) {
            return Ok(Err(format!("the steps {name:?} and {other:?} lead to other states in the other order")));
        }
        if !here.states.is_empty() && !there.faults.is_subset(&own_first.faults) {
            return Ok(Err(format!("the step {name:?} changes the faults of the step {other:?}")));
        }
        Ok(Ok(()))
    }
}
