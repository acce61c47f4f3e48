//! Decides whether a statement can be executed, and finds a path that executes it.
//!
//! The system is searched with one more kind of fault: a transition that executes one of the wanted
//! steps. Faults of the model do not end the search. The reference interpreter executes a path that
//! is found, and its last transition must contain the step.

use crate::coverage::leading_to;
use crate::plan::{Plan, Por};
use crate::run::{Refusal, Surroundings, enough};
use crate::stores;
use crate::subject::Subject;
use bytecode::{Addr, Op, Verified};
use contract::{
    Action, Answer, CloneSystem, Enough, Fault, FaultCode, Finding, Property, Statistics, StopReason, Successors, System, Trace, Verdict,
    ViolationKind,
};
use replay::Step;
use search::Task;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use vm::{Event, Explained, Interpreter};

/// The number of the fault; no fault of a program has it.
const REACHED: u32 = u32::MAX;

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Reach {
    /// A path whose last step executes the statement.
    By {
        /// The path.
        trace: Trace,
        /// Its steps in words.
        steps: Vec<Step>,
    },
    /// No path executes it.
    Never,
    /// It is not known, for this reason.
    Unknown(StopReason),
}

/// Looks for a path that executes a statement on a line of a file. A file is known by the last
/// parts of its path; the line is that of the statement, or of the inline or macro that it comes
/// from.
pub fn reach(
    subject: &dyn Subject,
    file: Option<&str>,
    line: u32,
    plan: &Plan,
    surroundings: &Surroundings<'_>,
) -> Result<(Reach, Statistics), Refusal> {
    let Some(program) = subject.byte_code() else { return Err(Refusal::Combination("this model has no statements")) };
    let targets = targets(program, file, line);
    if targets.is_empty() {
        return Err(Refusal::Combination("there is no statement on this line"));
    }
    reach_steps(subject, program, targets, plan, surroundings)
}

/// Looks for a path whose last transition executes one of these STEPs of the subject's program.
pub(crate) fn reach_steps(
    subject: &dyn Subject,
    program: &Arc<Verified>,
    targets: HashSet<u32>,
    plan: &Plan,
    surroundings: &Surroundings<'_>,
) -> Result<(Reach, Statistics), Refusal> {
    let plan = Plan { por: Por::Off, ..*plan };
    plan.refuse(false)?;
    let system = subject.system(plan.engine, Arc::default(), surroundings.observer);
    let leading = Arc::new(leading_to(program, &targets));
    let mut interpreter = Interpreter::new(Arc::clone(program));
    interpreter.give_up_when(enough(&plan, &surroundings.cancel));
    let system = Reaching { system, leading, targets: Arc::new(targets), interpreter };
    let task = Task {
        limits: plan.limits,
        threads: plan.threads,
        cancel: surroundings.cancel.clone(),
        observer: surroundings.observer,
        spill: surroundings.spill,
        resident: surroundings.resident,
        ..Task::new(&OnlyReached)
    };
    let outcome = match stores::search(&system, &plan, &task, None) {
        Ok(outcome) => outcome,
        Err(_) => return Err(Refusal::Combination("there is no checkpoint")),
    };
    let answer = match outcome.verdict {
        Verdict::Holds => Reach::Never,
        Verdict::Unknown(reason) => Reach::Unknown(reason),
        Verdict::Violated(violation) => {
            let mut narrator = subject.narrator();
            narrator.give_up_when(enough(&plan, &surroundings.cancel));
            let trace = with_states(&system, violation.trace).filter(|trace| system.ends_there(trace));
            match trace.and_then(|trace| Some((narrator.replay(&trace).ok()?, trace))) {
                Some((steps, trace)) => Reach::By { trace, steps },
                None => Reach::Unknown(StopReason::TraceLost(violation.fault)),
            }
        }
    };
    Ok((answer, outcome.statistics))
}

/// The path with the state after its last step. The trace of a search may lack it, because a fault
/// ended the search there.
fn with_states(system: &Reaching, mut trace: Trace) -> Option<Trace> {
    let before = trace.steps.len().checked_sub(1)?;
    if trace.steps[before].state.is_none() {
        let (action, state) = (trace.steps[before].action, trace.state_after(before)?.to_vec());
        let mut out = Successors::new();
        system.system.clone().successors(&state, &mut out);
        let entry = out.entries().iter().find(|entry| entry.action == action)?;
        trace.steps[before].state = out.state(entry).map(<[u8]>::to_vec);
    }
    Some(trace)
}

/// The STEPs of the statements on a line.
fn targets(program: &Verified, file: Option<&str>, line: u32) -> HashSet<u32> {
    let tables = program.program();
    let here = |span: &bytecode::Span| {
        let name = tables.files.get(span.file.index()).map_or("", String::as_str);
        // `b.c` is the last part of `a/b.c`, and not of `ab.c`.
        span.line == line && file.is_none_or(|file| Path::new(name).ends_with(file))
    };
    let end = tables.atoms_start().0;
    let steps = (0..end).filter(|&at| matches!(tables.code[at as usize], Op::Step { .. }));
    steps.filter(|&at| tables.span_at(Addr(at)).is_some_and(here) || tables.origin_at(Addr(at)).is_some_and(here)).collect()
}

/// Ends the search only where the statement is executed.
struct OnlyReached;

impl Property for OnlyReached {
    fn fault(&self, code: FaultCode, _: bool) -> Answer {
        if code.get() == REACHED { Answer::Stop(Finding::Fault(code)) } else { Answer::Continue }
    }
}

/// A system in which executing the statement is a fault.
#[derive(Clone)]
struct Reaching {
    system: Box<dyn CloneSystem>,
    /// The steps that begin a transition which may execute the statement later.
    leading: Arc<HashSet<u32>>,
    targets: Arc<HashSet<u32>>,
    interpreter: Interpreter,
}

impl Reaching {
    /// The actions of those steps, among those from number `first` of `out` on, that execute the
    /// statement.
    fn hits(&self, state: &[u8], out: &Successors, first: usize) -> HashSet<Action> {
        let entries = &out.entries()[first..];
        let mut hits: HashSet<Action> =
            entries.iter().filter(|entry| self.targets.contains(&entry.step)).map(|entry| entry.action).collect();
        let may = entries.iter().any(|entry| self.leading.contains(&entry.step));
        if hits.is_empty() && may {
            hits.extend(self.explained(state));
        }
        hits
    }

    /// The actions in a state that execute the statement, by the reference interpreter.
    fn explained(&self, state: &[u8]) -> Vec<Action> {
        let executes = |explained: &Explained| {
            let history = &explained.history;
            let mut events = history.beginning().into_iter().chain(history.ending());
            events.any(|event| matches!(event, Event::Step { step, .. } if self.targets.contains(&step.0)))
        };
        let all = self.interpreter.explain(state).unwrap_or_default();
        all.iter().filter(|explained| executes(explained)).map(|explained| explained.action).collect()
    }

    /// Whether the last transition of a trace executes the statement.
    fn ends_there(&self, trace: &Trace) -> bool {
        let (Some(last), Some(before)) = (trace.steps.last(), trace.steps.len().checked_sub(1)) else { return false };
        trace.state_after(before).is_some_and(|state| self.explained(state).contains(&last.action))
    }
}

impl System for Reaching {
    contract::forward_system!(system: initial, get_ready, is_valid_end);

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let (mark, first) = (out.mark(), out.len());
        self.system.successors(state, out);
        let hits = self.hits(state, out, first);
        if hits.is_empty() {
            return;
        }
        let entries: Vec<_> = out.iter().skip(first).map(|(entry, state)| (*entry, state.map(<[u8]>::to_vec))).collect();
        out.rollback(mark);
        for (entry, state) in entries {
            let fault = if hits.contains(&entry.action) { FaultCode::new(REACHED) } else { entry.fault() };
            match (state, fault) {
                (Some(state), fault) => {
                    out.slot(state.len()).copy_from_slice(&state);
                    out.commit(state.len(), entry.action, fault, entry.step);
                }
                (None, Some(fault)) => out.fail(entry.action, fault, entry.step),
                (None, None) => {}
            }
        }
    }

    fn give_up_when(&mut self, enough: Enough) {
        self.interpreter.give_up_when(enough.clone());
        self.system.give_up_when(enough);
    }

    fn describe_fault(&self, code: FaultCode) -> Fault {
        match code.get() {
            REACHED => Fault::new(ViolationKind::Other("reached"), "the statement is executed"),
            _ => self.system.describe_fault(code),
        }
    }
}
