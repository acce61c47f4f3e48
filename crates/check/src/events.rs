//! Checks properties about the events on channels (`trace`, `notrace`).
//!
//! The code of the automaton is inserted into the program ([`bytecode::observe`]), and the new
//! program is searched like any other: with every order, every store, every engine, and reduction.
//! A run that is found is confirmed twice. The reference interpreter executes it in the new program
//! and must find the same violation. Then it executes it, action by action, in the program that the
//! user wrote.

use crate::claim::NotChecked;
use crate::plan::{Engine, Plan};
use crate::probe;
use crate::reduced::reduction;
use crate::subject::Subject;
use bytecode::{Fault as CodeFault, Observed, ObservedEvent, PropertyBody, Slot, Verified};
use contract::{
    Answer, Fault, FaultCode, Finding, Judged, Outcome, Property, Quiet, Stated, Statistics, StopReason, Successors, System, Trace,
    TraceStep, Verdict, Violation, ViolationKind,
};
use replay::{Narrator, Step};
use search::Task;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A program into which the code of an automaton over channel events is inserted.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    program: Arc<Verified>,
    /// The automaton's state, within a state of the program.
    slot: Slot,
    rests: Vec<bool>,
    meanings: BTreeMap<bytecode::Addr, ObservedEvent>,
    /// Whether the automaton describes what must not happen.
    forbidden: bool,
    /// Whether the automaton has labels that have no effect here.
    has_marks: bool,
}

impl Watched {
    /// The events that a search must follow to check a property about them; `None` if the property
    /// is of another kind.
    pub fn of(subject: &dyn Subject, stated: &Stated) -> Option<Result<Watched, NotChecked>> {
        let program = subject.byte_code()?;
        let property = program.program().properties.iter().find(|property| property.name == stated.name)?;
        let (automaton, forbidden) = match &property.kind {
            PropertyBody::Trace(automaton) => (automaton, false),
            PropertyBody::Notrace(automaton) => (automaton, true),
            PropertyBody::Ltl(_) | PropertyBody::Never(_) => return None,
        };
        Some(Watched::new(program, automaton, forbidden).map_err(NotChecked::TooLarge))
    }

    fn new(program: &Verified, automaton: &bytecode::Automaton, forbidden: bool) -> Result<Watched, String> {
        let Observed { program, variable, rests, meanings } =
            bytecode::observe(program.program(), automaton, forbidden).map_err(|why| why.to_string())?;
        let program = Arc::new(bytecode::verify(program).map_err(|error| error.to_string())?);
        let slot = program.layout().globals[variable.index()];
        let has_marks = automaton.states.iter().any(|state| state.kind.accept || state.kind.progress);
        Ok(Watched { program, slot, rests, meanings, forbidden, has_marks })
    }

    /// Whether a run that ends here leaves the automaton in a state where it must not end. As in
    /// SPIN, this is a violation only if a process is left.
    fn is_unfinished(&self, state: &[u8]) -> bool {
        if self.forbidden {
            return false;
        }
        let at = state.get(self.slot.offset..).map_or(0, |bytes| self.slot.ty.read(bytes));
        let rests = usize::try_from(at).ok().and_then(|at| self.rests.get(at)).copied().unwrap_or(true);
        let mut map = bytecode::StateMap::default();
        !rests && map.read(self.program.layout(), state).is_ok() && !map.processes.is_empty()
    }

    fn meaning(&self, code: FaultCode) -> Option<ObservedEvent> {
        self.meanings.get(&CodeFault::from_code(code.get())?.addr).copied()
    }
}

impl Property for Watched {
    fn fault(&self, code: FaultCode, _: bool) -> Answer {
        if self.meaning(code).is_some() { Answer::Stop(Finding::Fault(code)) } else { Answer::Continue }
    }

    fn terminal(&self, state: &[u8], valid_end: bool) -> Answer {
        if valid_end && self.is_unfinished(state) { Answer::Stop(Finding::Explained(unfinished())) } else { Answer::Continue }
    }
}

fn unfinished() -> Fault {
    Fault::new(ViolationKind::Property, "the run ends before the events that must come")
}

/// Searches for a run whose events violate the property. `narrator` describes the run.
pub(crate) fn judge(
    subject: &dyn Subject,
    watched: &Watched,
    plan: &Plan,
    narrator: &Narrator,
    stated: Stated,
    task: &Task<'_>,
    stop: &dyn Fn() -> bool,
) -> (Judged, Vec<Step>) {
    if watched.has_marks {
        task.observer.notice(&format!("accept and progress labels in `{}` have no effect", stated.name));
    }
    let system = watched.program.system(plan.engine, Arc::default(), task.observer);
    let (_, reduction) = reduction(&watched.program, plan);
    let task = Task { property: watched, reduction: &reduction, checkpoints: None, ..task.clone() };
    let mut outcome = match probe::search(&system, &Plan { bit_runs: 1, ..*plan }, &task, None) {
        Ok((outcome, _)) => Outcome { verdict: reduction.confirm(outcome.verdict), ..outcome },
        Err(error) => Outcome { verdict: Verdict::Unknown(StopReason::Storage(error.to_string())), statistics: Statistics::default() },
    };
    let mut steps = Vec::new();
    if let Verdict::Violated(violation) = &outcome.verdict {
        outcome.verdict = match confirmed(subject, watched, &violation.trace, narrator, stop) {
            Some(Confirmed { event, trace, told }) => {
                steps = told;
                // A wrong event has the position of its statement, a missing event that of the
                // property.
                let position = violation.fault.position.clone().or_else(|| stated.position.clone());
                let fault = Fault { position, ..tell(&stated, event) };
                Verdict::Violated(Box::new(Violation { fault, trace }))
            }
            None => Verdict::Unknown(StopReason::TraceLost(violation.fault.clone())),
        };
    }
    (
        Judged {
            property: stated,
            verdict: outcome.verdict,
            statistics: Some(outcome.statistics),
            search: Some(plan.order.words()),
            together: Vec::new(),
            notes: Vec::new(),
        },
        steps,
    )
}

/// A run that the reference interpreter has executed in the program that the user wrote.
struct Confirmed {
    /// Why its last event is wrong; `None` if events are missing at its end.
    event: Option<ObservedEvent>,
    trace: Trace,
    told: Vec<Step>,
}

fn confirmed(subject: &dyn Subject, watched: &Watched, found: &Trace, narrator: &Narrator, stop: &dyn Fn() -> bool) -> Option<Confirmed> {
    let mut observed = watched.program.system(Engine::Interpreter, Arc::default(), &Quiet);
    let (end, fault) = follow(&mut observed, found, stop)?;
    let event = match fault.and_then(|code| watched.meaning(code)) {
        Some(event) => Some(event),
        None => {
            let state = end.last_state();
            let mut out = Successors::new();
            observed.successors(state, &mut out);
            if !out.is_empty() || !observed.is_valid_end(state) || !watched.is_unfinished(state) {
                return None;
            }
            None
        }
    };
    let mut original = subject.system(Engine::Interpreter, Arc::default(), &Quiet);
    let (trace, _) = follow(&mut original, found, stop)?;
    let told = narrator.replay_until(&trace, stop).ok()?;
    Some(Confirmed { event, trace, told })
}

/// The run of a system that takes the actions of a trace, and the fault of its last step.
fn follow(system: &mut dyn System, trace: &Trace, stop: &dyn Fn() -> bool) -> Option<(Trace, Option<FaultCode>)> {
    let mut out = Successors::new();
    system.initial(&mut out);
    let (entry, initial) = out.iter().next().map(|(entry, state)| (*entry, state.map(<[u8]>::to_vec)))?;
    let mut run = Trace { initial: initial?, ..Trace::default() };
    let mut fault = entry.fault();
    for wanted in &trace.steps {
        if stop() {
            return None;
        }
        let state = run.state_after(run.steps.len())?.to_vec();
        out.clear();
        system.successors(&state, &mut out);
        let (entry, next) = out.iter().find(|(entry, _)| entry.action == wanted.action)?;
        fault = entry.fault();
        run.steps.push(TraceStep { action: wanted.action, state: next.map(<[u8]>::to_vec) });
    }
    Some((run, fault))
}

/// Describes the violation.
fn tell(stated: &Stated, event: Option<ObservedEvent>) -> Fault {
    let name = &stated.name;
    let message = match event {
        Some(ObservedEvent::Unmatched) => format!("`{name}` has no such event here"),
        Some(ObservedEvent::Last) => format!("the events are those of `{name}`, up to this one"),
        Some(ObservedEvent::Ambiguous) => format!("this event matches `{name}` in more than one way, and it must be deterministic"),
        None => format!("the run ends, and `{name}` has events that must still come"),
    };
    Fault::new(ViolationKind::Property, message)
}
