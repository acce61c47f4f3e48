//! The shortest runs for violated temporal properties, once every verdict is known.
//!
//! A run that was found is confirmed before this begins, and stays the answer if a limit or a
//! signal ends the search for a shorter one. The search is about the program as it is written:
//! reductions and passes may leave out the shortest run.

use crate::claim::Claim;
use crate::plan::{Engine, Fair, Plan};
use crate::run::{Checked, Clock, Question};
use crate::subject::Subject;
use crate::temporal;
use contract::{Fault, Observer, Outcome, Statistics, System, Verdict, Violation, ViolationKind};
use replay::{Narrator, Step};
use search::{Fairness, LassoLimits, Product, shortest_lasso};
use std::sync::Arc;
use std::time::Instant;

/// The number of states and edges that are visited to find the shortest run.
const WORK: u64 = 1 << 28;

/// One part in this many of the time that is left is kept for the confirmation of a shorter run.
const CONFIRMING: u32 = 8;

/// Shortens runs.
pub(crate) struct Shorter<'a> {
    pub subject: &'a dyn Subject,
    pub plan: &'a Plan,
    pub narrator: &'a Narrator,
    pub clock: &'a Clock,
    pub observer: &'a dyn Observer,
    /// How much memory the process holds, if that is known.
    pub resident: Option<&'a (dyn Fn() -> Option<u64> + Sync)>,
}

impl Shorter<'_> {
    /// Replaces the infinite runs of an answer by the shortest ones, if these are found.
    pub fn shorten(&self, questions: &[Question], checked: &mut Checked) {
        for (number, claim) in questions.iter().enumerate().filter_map(|(number, question)| Some((number, question.claim()?))) {
            let Verdict::Violated(known) = &checked.properties[number].verdict else { continue };
            if known.fault.kind != ViolationKind::Property || known.trace.loop_start.is_none() {
                continue;
            }
            if self.plan.fairness != Fair::Any {
                let note = "the run is not shortened: `--shortest` has no effect under fairness".to_owned();
                checked.properties[number].notes.push(note);
                continue;
            }
            let (shorter, exact, _) = self.than(claim, known);
            if !exact {
                let note = "the run may not be the shortest: the search for a shorter one was ended".to_owned();
                checked.properties[number].notes.push(note);
            }
            let Some((violation, steps)) = shorter else { continue };
            let verdict = Verdict::Violated(Box::new(violation));
            // The first violation is the one that is shown.
            if checked.outcome.verdict == checked.properties[number].verdict {
                (checked.outcome.verdict, checked.steps) = (verdict.clone(), steps);
            }
            checked.properties[number].verdict = verdict;
        }
    }

    /// A run that is shorter than the known one and violates the same property; whether it is known
    /// that no run is shorter; and how many states were seen.
    pub fn than(&self, claim: &Claim, known: &Violation) -> (Option<(Violation, Vec<Step>)>, bool, u64) {
        let deadline = self.clock.deadline.map(|deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            deadline - left / CONFIRMING
        });
        let search = Clock { cancel: self.clock.cancel.clone(), deadline };
        let mut system = self.subject.system(self.plan.engine, Arc::clone(&claim.propositions), self.observer);
        system.give_up_when(search.enough(self.plan, false));
        let product = Product::new(system, Arc::clone(&claim.automaton));
        let product = if claim.stutters { product } else { product.without_stutter() };
        let held = self.resident.and_then(|resident| resident()).unwrap_or(0);
        let bytes = self.plan.limits.memory.map_or(u64::MAX, |limit| limit.saturating_sub(held));
        let limits = LassoLimits { work: WORK, bytes, stop: &|| search.is_over() };
        let shortest = shortest_lasso(&product, known.trace.steps.len(), &limits);
        let states = shortest.states;
        let Some(trace) = shortest.trace.map(|trace| product.project(&trace)) else { return (None, shortest.exact, states) };
        if trace.steps.len() >= known.trace.steps.len() {
            return (None, shortest.exact, states);
        }
        let found = Violation { fault: Fault::new(ViolationKind::Property, ViolationKind::Property.name()), trace };
        let found = Outcome { verdict: Verdict::Violated(Box::new(found)), statistics: Statistics::default() };
        let mut reference = self.subject.system(Engine::Interpreter, Arc::clone(&claim.propositions), self.observer);
        let stop = || self.clock.is_over();
        let (outcome, steps) = temporal::confirm(self.narrator, &mut reference, claim, Fairness::None, found, &stop);
        match outcome.verdict {
            Verdict::Violated(found) => {
                (Some((Violation { fault: known.fault.clone(), trace: found.trace }, steps)), shortest.exact, states)
            }
            _ => (None, false, states),
        }
    }
}
