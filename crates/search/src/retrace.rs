//! Traces by re-execution: a path is stored as the step taken at each state, and executed again
//! when it is shown. This needs nothing from the store, so it works with stores that cannot read
//! states back.

use crate::patience::Patience;
use contract::{Action, Fault, Finding, StopReason, Successors, System, Trace, TraceStep, Verdict, Violation};

/// A step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// By its index among all steps of its source; for an initial state, among the initial states.
    Index(u32),
    /// By its action: where only some parts of a state were expanded, the index is not known.
    Action(Action),
}

impl Choice {
    /// The position of the step among those of a source.
    pub fn position(self, out: &Successors) -> Option<usize> {
        match self {
            Choice::Index(index) => Some(index as usize),
            Choice::Action(action) => out.entries().iter().position(|entry| entry.action == action),
        }
    }
}

/// The steps executed between two checks of the clock.
const LOOK_EVERY: usize = 64;

/// Executes `choices` from the initial state. `None` if there is no time for it, or if the system
/// does not offer such a path, which means that it is not deterministic as the contract demands.
pub(crate) fn retrace<S: System>(system: &mut S, choices: &[Choice], patience: &Patience) -> Option<Trace> {
    let (&first, rest) = choices.split_first()?;
    // The actions of initial states have no meaning, so the action is made of the index.
    let (Choice::Index(first) | Choice::Action(Action { choice: first, .. })) = first;
    let mut out = Successors::new();
    system.initial(&mut out);
    let Some(initial) = out.state(out.entries().get(first as usize)?) else {
        // An initial state that cannot be computed: the trace contains only the fault.
        return rest.is_empty().then(Trace::default);
    };
    let mut current = initial.to_vec();
    let mut trace = Trace { initial: current.clone(), ..Trace::default() };
    for (position, &choice) in rest.iter().enumerate() {
        if position.is_multiple_of(LOOK_EVERY) && patience.is_over() {
            return None;
        }
        out.clear();
        system.successors(&current, &mut out);
        if out.is_cut_short() {
            return None;
        }
        let entry = out.entries().get(choice.position(&out)?)?;
        let state = out.state(entry).map(<[u8]>::to_vec);
        match &state {
            Some(state) => current.clone_from(state),
            None if position + 1 == rest.len() => {}
            None => return None,
        }
        trace.steps.push(TraceStep { action: entry.action, state });
    }
    Some(trace)
}

/// The description of a finding.
pub(crate) fn explain<S: System>(system: &S, finding: Finding) -> Fault {
    match finding {
        Finding::Fault(code) => system.describe_fault(code),
        Finding::Explained(fault) => fault,
    }
}

/// The verdict for a finding at the end of a trace; it says so if the trace is lost.
pub(crate) fn violated<S: System>(system: &S, finding: Finding, trace: Option<Trace>) -> Verdict {
    let fault = explain(system, finding);
    match trace {
        Some(trace) => Verdict::Violated(Box::new(Violation { fault, trace })),
        None => Verdict::Unknown(StopReason::TraceLost(fault)),
    }
}

/// The verdict of a search that found no violation.
pub(crate) fn unviolated(stopped: Option<StopReason>, truncated: bool, exact: bool) -> Verdict {
    match stopped {
        Some(reason) => Verdict::Unknown(reason),
        None if truncated => Verdict::Unknown(StopReason::Depth),
        None if !exact => Verdict::Unknown(StopReason::LossyStore),
        None => Verdict::Holds,
    }
}
