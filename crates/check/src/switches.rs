//! A trace to a violation with the fewest context switches.
//!
//! All orders of steps count here, so nothing is left out: no reduction, and no pass that would
//! make a smaller program.

use crate::plan::Plan;
use crate::run::{Surroundings, enough};
use crate::subject::Subject;
use contract::{Outcome, Safety, Statistics, StopReason, Verdict, Violation};
use replay::Step;
use search::Task;
use std::sync::Arc;
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

/// Looks for a deadlock or a fault that is reached with the fewest context switches.
pub fn fewest_switches(subject: &dyn Subject, plan: &Plan, surroundings: &Surroundings<'_>) -> FewestSwitches {
    let property: Safety = plan.property.unwrap_or_default();
    let system = subject.system(plan.engine, Arc::default(), surroundings.observer);
    let task = Task {
        limits: plan.limits,
        cancel: surroundings.cancel.clone(),
        observer: surroundings.observer,
        resident: surroundings.resident,
        ..Task::new(&property)
    };
    let store = Plain::with_budget(plan.limits.memory.unwrap_or(u64::MAX));
    let Outcome { verdict, statistics } = search::fewest_switches(&system, &store, &task);
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
