//! Translates a trace of a reduced program to a trace of the program it was made from.
//!
//! A transition of the reduced program corresponds to several transitions of the original one, all
//! of the same process or of its partner in a rendezvous. They are found by trial: from the state
//! that was reached, along steps after which the reduced program continues, to a state whose image
//! is the wanted one. No state is tried twice, because there may be many more paths through a
//! merged sequence than states in it. The result is always a trace of the original program; the
//! caller confirms that the violation is at its end.

use bytecode::{Addr, Part};
use contract::{Enough, Fault, FaultCode, System, Trace, TraceStep, ViolationKind};
use std::collections::HashSet;
use vm::{Event, Explained, Interpreter};

/// The most times that a loop is repeated to find a state that recurs.
const ROUNDS_MAX: usize = 1 << 10;
/// The most transitions that are added after the end of a run.
const ENDING_MAX: usize = 1 << 16;
/// The number of transitions that are tried between two checks of time and memory.
const ASK_EVERY: usize = 64;
/// The bytes that a tried state takes in addition to its own.
const OVERHEAD: u64 = 64;

/// The relation of a reduced program to the original one.
pub trait Relation {
    /// Whether the reduced program continues where the original one ends a transition.
    fn goes_on(&self, step: Addr) -> bool;

    /// The state of the reduced program that corresponds to one of the original.
    fn image(&self, state: &[u8]) -> Vec<u8>;
}

/// A trace of the original program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retold {
    /// The trace.
    pub trace: Trace,
    /// The fault of its last step, if one was wanted.
    pub fault: Option<Fault>,
}

/// Translates a trace of a reduced program to one of the original program, which `original`
/// executes and which begins in `initial`. `fault` is the fault of the last step, if it has one.
/// `None` if the programs do not correspond, or if `enough` is reached.
pub fn retell(
    original: &Interpreter,
    relation: &dyn Relation,
    initial: Vec<u8>,
    trace: &Trace,
    fault: Option<ViolationKind>,
    enough: &Enough,
) -> Option<Retold> {
    let mut told = Told { original, relation, trace: Trace { initial, ..Trace::default() }, fault: None, enough, tried: 0 };
    if relation.image(&told.trace.initial) != trace.initial {
        return None;
    }
    let start = trace.loop_start.unwrap_or(trace.steps.len());
    let last = trace.steps.len();
    for (index, step) in trace.steps[..start].iter().enumerate() {
        told.step(step, fault.filter(|_| index + 1 == last))?;
    }
    if trace.loop_start.is_none() {
        return Some(told.done());
    }
    // The images recur, but the parts of the state that they omit may need some more rounds.
    let mut rounds = vec![told.trace.steps.len()];
    if start == last {
        told.end()?;
        told.trace.loop_start = Some(told.trace.steps.len());
        return Some(told.done());
    }
    while rounds.len() < ROUNDS_MAX {
        for step in &trace.steps[start..] {
            told.step(step, None)?;
        }
        let here = told.trace.last_state();
        if let Some(&before) = rounds.iter().find(|&&steps| told.trace.state_after(steps) == Some(here)) {
            told.trace.loop_start = Some(before);
            return Some(told.done());
        }
        rounds.push(told.trace.steps.len());
    }
    None
}

struct Told<'a> {
    original: &'a Interpreter,
    relation: &'a dyn Relation,
    trace: Trace,
    fault: Option<Fault>,
    enough: &'a Enough,
    /// The number of transitions that have been tried.
    tried: usize,
}

impl Told<'_> {
    fn done(self) -> Retold {
        Retold { trace: self.trace, fault: self.fault }
    }

    /// Adds the transitions that correspond to one transition of the reduced program.
    fn step(&mut self, wanted: &TraceStep, fault: Option<ViolationKind>) -> Option<()> {
        let mut open = vec![self.moves(self.trace.last_state(), wanted.action.process as usize)?];
        let mut path: Vec<TraceStep> = Vec::new();
        // States from which everything has been tried, with the process that continues.
        let (mut seen, mut held) = (HashSet::new(), 0);
        while let Some(level) = open.last_mut() {
            self.tried += 1;
            if self.tried.is_multiple_of(ASK_EVERY) && self.enough.is_reached(held) {
                return None;
            }
            let Some(next) = level.pop() else {
                open.pop();
                path.pop();
                continue;
            };
            let described = |code| self.original.describe_fault(code);
            let committed = next.fault.and_then(|fault| FaultCode::new(fault.code())).map(described);
            let on = last_step(&next).filter(|(_, step)| self.relation.goes_on(*step));
            let Explained { action, state, .. } = next;
            let reached = match (&state, fault) {
                (_, Some(kind)) => committed.as_ref().is_some_and(|committed| committed.kind == kind),
                (Some(state), None) => wanted.state.as_ref() == Some(&self.relation.image(state)),
                (None, None) => false,
            };
            let more = match (&state, on) {
                (Some(state), Some((process, _))) if !reached && seen.insert((process, state.clone())) => {
                    held += state.len() as u64 + OVERHEAD;
                    Some(self.moves(state, process)?)
                }
                _ => None,
            };
            path.push(TraceStep { action, state });
            if reached {
                self.trace.steps.append(&mut path);
                self.fault = committed.filter(|_| fault.is_some());
                return Some(());
            }
            match more {
                Some(more) => open.push(more),
                None => _ = path.pop(),
            }
        }
        None
    }

    /// Continues until no process can move. Processes that the reduced program leaves out may still
    /// move when its own cannot, but not for ever.
    fn end(&mut self) -> Option<()> {
        for _ in 0..ENDING_MAX {
            let moves = self.original.explain(self.trace.last_state()).ok()?;
            let Some(Explained { action, state, .. }) = moves.into_iter().find(|explained| explained.state.is_some()) else {
                return Some(());
            };
            self.trace.steps.push(TraceStep { action, state });
        }
        None
    }

    /// The transitions of a process, in reverse order.
    fn moves(&self, state: &[u8], process: usize) -> Option<Vec<Explained>> {
        // If no process can have the privilege, the transitions of a process can be computed
        // without the others, unless it waits for a timeout.
        let alone = self.original.program().layout().exclusive.is_none();
        let part = if alone { Part::Process(process as u32) } else { Part::Everything };
        let mut moves = self.original.explain_part(state, part).ok()?;
        if moves.is_empty() {
            moves = self.original.explain(state).ok()?;
        }
        moves.retain(|explained| explained.action.process as usize == process);
        moves.reverse();
        Some(moves)
    }
}

/// The last step of a transition, and its process.
fn last_step(explained: &Explained) -> Option<(usize, Addr)> {
    let of = |event: &Event| match event {
        Event::Step { process, step } => Some((*process, *step)),
        _ => None,
    };
    let last = explained.history.ending().into_iter().rev().find_map(of);
    last.or_else(|| explained.history.beginning().into_iter().rev().find_map(of))
}
