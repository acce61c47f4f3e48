//! The program that is searched instead of the one that was given: smaller, with the same answer.

use crate::claim::Claim;
use crate::plan::{Fair, Plan};
use crate::subject::Subject;
use crate::table::Method;
use crate::temporal;
use bytecode::{Addr, AtomId, Verified};
use contract::{Enough, Outcome, PropertyKind, Proposition, Stated, StopReason, System, Verdict, ViolationKind};
use optimise::{Applied, Cut, Goal, Optimised, Passes};
use replay::{Narrator, Relation, retell};
use std::sync::Arc;
use vm::Interpreter;

/// The passes that made the searched program smaller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shrunk {
    /// The effect of each pass, in order.
    pub applied: Vec<Applied>,
    /// Why steps were not merged, or no pass was applied, although that was wanted.
    pub off: Option<String>,
    /// The parts that were left out of the program.
    pub cuts: Vec<Cut>,
    /// Why no processes were left out, although that was wanted.
    pub slice_off: Option<String>,
}

/// A smaller program, and the translation of its traces.
pub(crate) struct Smaller {
    optimised: Optimised,
}

impl Smaller {
    /// The program that is searched.
    pub fn program(&self) -> &Arc<Verified> {
        &self.optimised.program
    }

    /// Translates the outcome of a search of the smaller program to one of the original. A
    /// violation whose trace cannot be translated is not reported.
    pub fn retell(&self, narrator: &Narrator, mut outcome: Outcome, temporal: bool, enough: Enough) -> Outcome {
        let Verdict::Violated(violation) = &mut outcome.verdict else { return outcome };
        let Some(initial) = narrator.initial().0 else { return outcome };
        let mut original = Interpreter::new(Arc::clone(self.optimised.original()));
        original.give_up_when(enough.clone());
        let no_step = temporal || violation.trace.steps.is_empty();
        let fault = Some(violation.fault.kind).filter(|kind| *kind != ViolationKind::Deadlock && !no_step);
        match retell(&original, self, initial, &violation.trace, fault, &enough) {
            Some(told) => {
                violation.trace = told.trace;
                if let Some(committed) = told.fault {
                    violation.fault = committed;
                }
            }
            None => outcome.verdict = Verdict::Unknown(StopReason::TraceLost(violation.fault.clone())),
        }
        outcome
    }
}

impl Relation for Smaller {
    fn goes_on(&self, step: Addr) -> bool {
        self.optimised.goes_on(step)
    }

    fn image(&self, state: &[u8]) -> Vec<u8> {
        self.optimised.image(state)
    }
}

/// The program that is searched for deadlocks and faults.
pub(crate) fn for_faults(subject: &dyn Subject, plan: &Plan) -> (Shrunk, Option<Smaller>) {
    // The passes assume that a fault ends the search. If faults are not looked for, code after a
    // fault may do something that the passes consider impossible.
    if plan.property.is_some_and(|safety| !safety.faults) {
        return (Shrunk::default(), None);
    }
    let deadlocks = plan.property.is_none_or(|safety| safety.deadlocks);
    smaller(subject, plan, if deadlocks { Goal::Faults } else { Goal::Errors })
}

/// The program that is searched for a run that violates a temporal property.
pub(crate) fn for_claim(subject: &dyn Subject, plan: &Plan, stated: &Stated, claim: &Claim) -> (Shrunk, Option<Smaller>) {
    // The shortest lasso is searched later, in the program as it is.
    let finite = temporal::method(plan, claim) == Method::FiniteRun;
    if plan.shortest && finite && plan.passes != Passes::default() {
        // A state of the smaller program may repeat sooner than the states that it represents.
        return (Shrunk { off: Some("the shortest run is one of the program as it is".to_owned()), ..Shrunk::default() }, None);
    }
    let counts = claim.counts_steps().is_some();
    let atom = |proposition: &Proposition| match proposition {
        Proposition::Atom(number) => AtomId::new(*number as usize),
        Proposition::Accepting | Proposition::NonProgress => None,
    };
    let atoms: Vec<AtomId> = claim.propositions.iter().filter_map(atom).collect();
    // Fairness is about single steps.
    let single = counts || plan.fairness != Fair::Any;
    let goal = match stated.kind {
        _ if single => Goal::Steps(&atoms),
        PropertyKind::Acceptance | PropertyKind::Progress => Goal::Labels,
        _ if finite => Goal::Prefix(&atoms),
        _ => Goal::Formula(&atoms),
    };
    smaller(subject, plan, goal)
}

fn smaller(subject: &dyn Subject, plan: &Plan, goal: Goal<'_>) -> (Shrunk, Option<Smaller>) {
    if plan.order.is_directed() && plan.passes != Passes::default() {
        // Estimates, labels and the user's expressions refer to the program as it is written.
        return (Shrunk { off: Some("a directed search counts single steps".to_owned()), ..Shrunk::default() }, None);
    }
    let (Some(program), true) = (subject.byte_code(), plan.passes != Passes::default()) else { return (Shrunk::default(), None) };
    match Optimised::of(program, goal, plan.passes) {
        Ok(optimised) => {
            let shrunk = Shrunk {
                applied: optimised.applied.clone(),
                off: optimised.merge_off.map(|off| off.to_string()),
                cuts: optimised.cuts.clone(),
                slice_off: optimised.slice_off.clone(),
            };
            let smaller = shrunk.applied.iter().any(|applied| applied.changes > 0).then_some(Smaller { optimised });
            (shrunk, smaller)
        }
        Err(off) => (Shrunk { off: Some(off.to_string()), ..Shrunk::default() }, None),
    }
}
