//! A trace to a violation with the fewest context switches.
//!
//! All orders of steps count here, so nothing is left out: no reduction, and no pass that would
//! make a smaller program. A finite path that violates a formula or an automaton is looked for in
//! the product, where the automaton's own steps are no switches.

use crate::claim::Claim;
use crate::plan::{Engine, Plan};
use crate::run::{Clock, Surroundings, enough};
use crate::subject::Subject;
use crate::temporal;
use contract::{Judged, Outcome, PropertyKind, Safety, Stated, Statistics, StopReason, System, Verdict, Violation};
use replay::Step;
use search::{Fairness, Product, Refutation, Task};
use std::sync::Arc;
use std::time::Instant;
use store::Plain;

/// The result of the search.
#[derive(Clone, Debug)]
pub struct FewestSwitches {
    /// The violation with its trace and the steps of it, if one was found.
    pub found: Option<(Violation, Vec<Step>)>,
    /// Why none was found, if the search had to stop.
    pub stopped: Option<StopReason>,
    /// The statistics of the search.
    pub statistics: Statistics,
}

/// Looks for a path with the fewest context switches that violates the same property as a known
/// violation does: a deadlock or a fault if the exploration found it, or else a finite path against
/// the formula. `None` if such paths are not looked for: infinite runs, events, formulas of
/// branching time.
pub fn fewest_switches(subject: &dyn Subject, violated: &Judged, plan: &Plan, surroundings: &Surroundings<'_>) -> Option<FewestSwitches> {
    let Verdict::Violated(known) = &violated.verdict else { return None };
    if known.trace.loop_start.is_some() {
        return None;
    }
    let stated = &violated.property;
    match stated.kind {
        PropertyKind::EndStates | PropertyKind::Assertions | PropertyKind::Errors => Some(of_faults(subject, plan, surroundings)),
        _ if subject.branching(stated).is_some() => None,
        _ => Some(of_claim(subject, stated, &subject.claim(stated)?.ok()?, plan, surroundings)),
    }
}

/// The task of a search that leaves nothing out.
fn whole<'a>(task: Task<'a>, plan: &Plan, surroundings: &Surroundings<'a>) -> Task<'a> {
    Task {
        limits: plan.limits,
        cancel: surroundings.cancel.clone(),
        observer: surroundings.observer,
        resident: surroundings.resident,
        ..task
    }
}

fn of_faults(subject: &dyn Subject, plan: &Plan, surroundings: &Surroundings<'_>) -> FewestSwitches {
    let property: Safety = plan.property.unwrap_or_default();
    let system = subject.system(plan.engine, Arc::default(), surroundings.observer);
    let store = Plain::with_budget(plan.limits.memory.unwrap_or(u64::MAX));
    let Outcome { verdict, statistics } = search::fewest_switches(&system, &store, &whole(Task::new(&property), plan, surroundings));
    let mut narrator = subject.narrator();
    narrator.give_up_when(enough(plan, &surroundings.cancel));
    let (found, stopped) = match verdict {
        Verdict::Violated(violation) => match narrator.confirm_unless(&violation, &|| surroundings.cancel.is_cancelled()) {
            Ok(steps) => (Some((*violation, steps)), None),
            Err(_) => (None, Some(StopReason::TraceLost(violation.fault))),
        },
        Verdict::Unknown(reason) => (None, Some(reason)),
        Verdict::Holds => (None, None),
    };
    FewestSwitches { found, stopped, statistics }
}

fn of_claim(subject: &dyn Subject, stated: &Stated, claim: &Claim, plan: &Plan, surroundings: &Surroundings<'_>) -> FewestSwitches {
    let clock = Clock { cancel: surroundings.cancel.clone(), deadline: plan.limits.time.map(|time| Instant::now() + time) };
    let mut system = subject.system(plan.engine, Arc::clone(&claim.propositions), surroundings.observer);
    system.give_up_when(clock.enough(plan, false));
    let product = Product::new(system, Arc::clone(&claim.automaton));
    let product = if claim.stutters { product } else { product.without_stutter() };
    let store = Plain::with_budget(plan.limits.memory.unwrap_or(u64::MAX));
    let mut outcome = search::fewest_switches(&product, &store, &whole(Task::new(&Refutation), plan, surroundings));
    if let Verdict::Violated(violation) = &mut outcome.verdict {
        violation.trace = product.project(&violation.trace);
    }
    let mut narrator = subject.narrator();
    narrator.give_up_when(enough(plan, &surroundings.cancel));
    let mut reference = subject.system(Engine::Interpreter, Arc::clone(&claim.propositions), surroundings.observer);
    let stop = || clock.is_over();
    let (outcome, steps) = temporal::confirm(&narrator, &mut reference, claim, Fairness::None, outcome, &stop);
    let Outcome { verdict, statistics } = outcome;
    let (found, stopped) = match verdict {
        Verdict::Violated(mut violation) => {
            temporal::tell(&mut violation.fault, stated, plan.fairness);
            (Some((*violation, steps)), None)
        }
        Verdict::Unknown(reason) => (None, Some(reason)),
        Verdict::Holds => (None, None),
    };
    FewestSwitches { found, stopped, statistics }
}
