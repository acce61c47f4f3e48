//! A shorter trace to the same kind of violation, given one from any search.
//!
//! The known trace bounds the depth, and A* with a lower bound looks for a shorter one. If this
//! search completes, it has found a shortest trace, or there is no shorter one. If a limit ends it,
//! the search looks for short cuts near the known trace instead. For an infinite run, the number of
//! steps of path and loop together is minimised. The reference interpreter has executed every trace
//! that is returned.

use crate::causal;
use crate::claim::Claim;
use crate::guide::Guide;
use crate::plan::{Fair, Only, Plan};
use crate::run::{Checked, Clock, Refusal, Surroundings, enough, run_in};
use crate::shorter::Shorter;
use crate::subject::{Selected, Subject};
use crate::table::{Order, StoreKind};
use crate::temporal;
use contract::{Fault, Limits, Safety, StopReason, Trace, Verdict, Violation, ViolationKind};
use replay::Step;
use std::sync::Arc;
use std::time::Instant;

/// States that are expanded around a trace.
const SHORTENING: u64 = 1 << 20;

/// The result for a trace.
#[derive(Clone, Debug)]
pub struct Improved {
    /// A shorter trace with its steps, if one was found.
    pub shorter: Option<(Violation, Vec<Step>)>,
    /// Whether it is known that no trace is shorter.
    pub shortest: bool,
    /// States that were visited.
    pub states: u64,
}

/// Looks for a shorter trace than `trace`, which ends in a violation of this `kind`, within the
/// limits of the plan.
pub fn improve(
    subject: &Arc<dyn Subject>,
    trace: &Trace,
    kind: ViolationKind,
    plan: &Plan,
    surroundings: &Surroundings<'_>,
) -> Result<Improved, Refusal> {
    if trace.loop_start.is_some() || kind == ViolationKind::Property {
        return improve_run(subject, trace, plan, surroundings);
    }
    let begun = Instant::now();
    let length = trace.steps.len();
    let Some(most) = (length as u64).checked_sub(1) else { return Ok(Improved { shorter: None, shortest: true, states: 0 }) };
    let deadlocks = kind == ViolationKind::Deadlock;
    let shorter = Plan {
        order: Order::AStar,
        guide: Guide::Formula,
        store: StoreKind::Plain,
        property: Some(Safety { deadlocks, faults: !deadlocks }),
        only: Some(Only::Safety),
        limits: Limits { depth: Some(most), ..plan.limits },
        ..*plan
    };
    let Checked { outcome, steps, .. } = run_in(&**subject, &shorter, surroundings)?;
    let states = outcome.statistics.states;
    match outcome.verdict {
        // A fault of another kind does not count.
        Verdict::Violated(violation) if violation.fault.kind == kind && violation.trace.steps.len() < length => {
            return Ok(Improved { shorter: Some((*violation, steps)), shortest: true, states });
        }
        Verdict::Holds | Verdict::Unknown(StopReason::Depth) => return Ok(Improved { shorter: None, shortest: true, states }),
        _ => {}
    }
    let time_is_up = || plan.limits.time.is_some_and(|limit| begun.elapsed() >= limit) || surroundings.cancel.is_cancelled();
    let mut system = subject.system(plan.engine, Arc::default(), surroundings.observer);
    let near = search::shorten(&mut system, trace.clone(), !deadlocks, SHORTENING, &time_is_up);
    if near.steps.len() >= length {
        return Ok(Improved { shorter: None, shortest: false, states });
    }
    let mut narrator = subject.narrator();
    narrator.give_up_when(enough(plan, &surroundings.cancel));
    let same = |fault: &Fault| fault.kind == kind;
    let told = narrator.replay_until(trace, &time_is_up).ok();
    let fault = told.and_then(|steps| narrator.faults_at_end(trace, &steps).into_iter().find(same));
    let violation = Violation { fault: fault.unwrap_or_else(|| Fault::new(kind, kind.name())), trace: near };
    let confirmed = narrator.confirm_unless(&violation, &time_is_up).ok();
    Ok(Improved { shorter: confirmed.map(|steps| (violation, steps)), shortest: false, states })
}

/// The same for a run that violates a stated property. The shorter run must violate the same one.
fn improve_run(subject: &Arc<dyn Subject>, trace: &Trace, plan: &Plan, surroundings: &Surroundings<'_>) -> Result<Improved, Refusal> {
    let mut narrator = subject.narrator();
    narrator.give_up_when(enough(plan, &surroundings.cancel));
    let violates = |claim: &Claim| causal::violates(&**subject, &narrator, claim, trace, Fair::Any, surroundings);
    let stated = subject.stated();
    let claims = stated.iter().filter_map(|stated| Some((stated, subject.claim(stated)?.ok()?)));
    let Some((property, claim)) = claims.into_iter().find(|(_, claim)| violates(claim)) else {
        return Err(Refusal::Combination(NOT_STATED));
    };
    if trace.loop_start.is_some() {
        // The known run shows that there is one, so no search for cycles comes before.
        let clock = Clock { cancel: surroundings.cancel.clone(), deadline: plan.limits.time.map(|time| Instant::now() + time) };
        let (observer, resident) = (surroundings.observer, surroundings.resident);
        let shorter = Shorter { subject: &**subject, plan, narrator: &narrator, clock: &clock, observer, resident };
        let mut fault = Fault::new(ViolationKind::Property, ViolationKind::Property.name());
        temporal::tell(&mut fault, property, Fair::Any);
        let (shorter, shortest, states) = shorter.than(&claim, &Violation { fault, trace: trace.clone() });
        return Ok(Improved { shorter, shortest, states });
    }
    let selected =
        Selected { subject: Arc::clone(subject), names: vec![property.name.clone()], branching: Vec::new(), automata: Vec::new() };
    let breadth = Plan { order: Order::Breadth, shortest: true, only: None, property: Some(Safety::default()), ..*plan };
    let Checked { outcome, steps, .. } = run_in(&selected, &breadth, surroundings)?;
    let states = outcome.statistics.states;
    let (length, before) = (|violation: &Violation| violation.trace.steps.len(), trace.steps.len());
    Ok(match outcome.verdict {
        Verdict::Violated(found) if length(&found) < before => Improved { shorter: Some((*found, steps)), shortest: true, states },
        // The first run that is found breadth first is a shortest one.
        Verdict::Violated(found) => Improved { shorter: None, shortest: length(&found) == before, states },
        _ => Improved { shorter: None, shortest: false, states },
    })
}

const NOT_STATED: &str = "the model in the trace states no temporal property that this run violates, so there is nothing to be reached sooner: \
                          `check` writes traces of stated properties and of `--ltl` formulas; those of `--ctl` and `--automaton` stay as \
                          they are";
