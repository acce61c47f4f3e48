//! Traces by re-execution: a path is remembered as the index of the step taken at each state, and run again when someone wants to see
//! it. This needs nothing from the store, so it works over stores that cannot read states back.

use crate::patience::Patience;
use contract::{Fault, Finding, StopReason, Successors, System, Trace, TraceStep, Verdict, Violation};

/// A step as its index among the steps its source offers; for an initial state, among the initial states.
pub(crate) type Choice = u32;

/// Steps that are run again between two looks at the clock.
const LOOK_EVERY: usize = 64;

/// Runs `choices` from the initial state on. `None` if there is no time for it, or if the system does not offer such a path, which means it
/// breaks its contract of being deterministic.
pub(crate) fn retrace<S: System>(system: &mut S, choices: &[Choice], patience: &Patience) -> Option<Trace> {
    let (&first, rest) = choices.split_first()?;
    let mut out = Successors::new();
    system.initial(&mut out);
    let mut current = out.state(out.entries().get(first as usize)?)?.to_vec();
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
        let entry = out.entries().get(choice as usize)?;
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

/// The explanation of a finding.
pub(crate) fn explain<S: System>(system: &S, finding: Finding) -> Fault {
    match finding {
        Finding::Fault(code) => system.describe_fault(code),
        Finding::Explained(fault) => fault,
    }
}

/// The verdict for a finding at the end of a trace, or the admission that the trace is lost.
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
