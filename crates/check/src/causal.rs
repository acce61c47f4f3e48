//! The steps of a trace that its violation depends on.
//!
//! Whether two traces have the same end depends on the violation: the same fault, the same
//! processes blocked at the same statements, or a run that violates the same property.

use crate::claim::Claim;
use crate::plan::{Engine, Fair, Plan};
use crate::run::{Surroundings, enough};
use crate::subject::Subject;
use crate::temporal;
use contract::{Fault, Outcome, Statistics, Trace, Verdict, Violation, ViolationKind};
use replay::{Essential, Narrator, Step, essential};
use std::sync::Arc;
use std::time::Instant;

/// The steps that a violation depends on; `steps` are those of its trace. `None` if they cannot be
/// determined, because the trace violates a property that the subject does not state.
pub fn causal(
    subject: &dyn Subject,
    violation: &Violation,
    steps: &[Step],
    plan: &Plan,
    surroundings: &Surroundings<'_>,
) -> Option<Essential> {
    let mut narrator = subject.narrator();
    narrator.give_up_when(enough(plan, &surroundings.cancel));
    let begun = Instant::now();
    let stop = || plan.limits.time.is_some_and(|limit| begun.elapsed() >= limit) || surroundings.cancel.is_cancelled();
    let trace = &violation.trace;
    match violation.fault.kind {
        ViolationKind::Deadlock => {
            let blocked = blocked(&narrator, trace);
            let is_end = |shorter: &Trace| are_blocked(&narrator, shorter, &blocked);
            Some(essential(&narrator, trace, steps, &is_end, &stop))
        }
        ViolationKind::Property => {
            let claim = violated(subject, violation, plan.fairness, surroundings)?;
            let is_end = |shorter: &Trace| violates(subject, &narrator, &claim, shorter, plan.fairness, surroundings);
            Some(essential(&narrator, trace, steps, &is_end, &stop))
        }
        _ => {
            let is_end = |shorter: &Trace| commits(&narrator, shorter, &violation.fault);
            Some(essential(&narrator, trace, steps, &is_end, &stop))
        }
    }
}

/// Whether the last step of a trace commits this fault.
fn commits(narrator: &Narrator, trace: &Trace, fault: &Fault) -> bool {
    let Some(before) = trace.steps.len().checked_sub(1) else { return false };
    let Some(state) = trace.state_after(before) else { return false };
    let last = Trace { initial: state.to_vec(), steps: trace.steps[before..].to_vec(), loop_start: None };
    let told = narrator.replay_from(&last).unwrap_or_default();
    told.last().and_then(|step| step.fault.as_ref()).is_some_and(|found| found.kind == fault.kind && found.position == fault.position)
}

/// A process that waits where it must not: its number and its location, in words.
type Blocked = (usize, String);

/// The processes that are blocked at the end of a trace where they must not be.
fn blocked(narrator: &Narrator, trace: &Trace) -> Vec<Blocked> {
    let Ok(view) = narrator.view(trace.last_state()) else { return Vec::new() };
    let stuck = view.processes.iter().filter(|process| !process.may_end);
    stuck.map(|process| (process.pid, format!("{:?} {}", process.position, process.statement))).collect()
}

/// Whether these processes are there at the end of a trace, and none of them can move.
fn are_blocked(narrator: &Narrator, trace: &Trace, wanted: &[Blocked]) -> bool {
    let here = blocked(narrator, trace);
    if !wanted.iter().all(|process| here.contains(process)) {
        return false;
    }
    let Ok(moves) = narrator.steps(trace.last_state()) else { return false };
    let moving = |pid: usize| moves.iter().flat_map(|step| &step.statements).any(|told| told.pid == pid);
    wanted.iter().all(|(pid, _)| !moving(*pid))
}

/// The claim of the property that a run violates. A violation that names one is about that one.
fn violated(subject: &dyn Subject, violation: &Violation, fair: Fair, surroundings: &Surroundings<'_>) -> Option<Claim> {
    let narrator = subject.narrator();
    let stated = subject.stated();
    let claims = stated.iter().filter_map(|stated| subject.claim(stated)?.ok());
    let mut claims = claims.filter(|claim| violates(subject, &narrator, claim, &violation.trace, fair, surroundings));
    claims.next()
}

/// Whether a run violates a property.
pub(crate) fn violates(
    subject: &dyn Subject,
    narrator: &Narrator,
    claim: &Claim,
    trace: &Trace,
    fair: Fair,
    surroundings: &Surroundings<'_>,
) -> bool {
    let mut reference = subject.system(Engine::Interpreter, Arc::clone(&claim.propositions), surroundings.observer);
    let fault = Fault::new(ViolationKind::Property, ViolationKind::Property.name());
    let verdict = Verdict::Violated(Box::new(Violation { fault, trace: trace.clone() }));
    let claimed = Outcome { verdict, statistics: Statistics::default() };
    let (told, _) = temporal::confirm(narrator, &mut reference, claim, fair.into(), claimed, &|| surroundings.cancel.is_cancelled());
    matches!(told.verdict, Verdict::Violated(_))
}
