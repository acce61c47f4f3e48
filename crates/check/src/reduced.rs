//! The reduction of a run: whether there is one, and what the report says about it.

use crate::claim::Claim;
use crate::plan::{Plan, Por};
use crate::subject::Subject;
use crate::table::{Combination, Method};
use crate::temporal;
use contract::{FullExpansion, LeftOut, Reduction, StopReason, Successor, Verdict, by_source};
use std::sync::{Mutex, PoisonError};

/// Whether a search left out orders of independent steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reduced {
    /// It left them out.
    Yes,
    /// The plan did not ask for it.
    #[default]
    NotAsked,
    /// It did not, for this reason.
    Not(String),
}

/// The reduction of a plan's search for deadlocks and faults, and whether there is one.
pub(crate) fn reduction<'s>(subject: &'s dyn Subject, plan: &Plan) -> (Reduced, Chosen<'s>) {
    chosen(subject, plan, Method::Exploration, || subject.reduction())
}

/// The reduction of a plan's search for runs that violate a temporal property, and whether there is
/// one.
pub(crate) fn of_claim<'s>(subject: &'s dyn Subject, plan: &Plan, claim: &Claim) -> (Reduced, Chosen<'s>) {
    chosen(subject, plan, temporal::method(plan, claim), || {
        if let Some(why) = claim.counts_steps() {
            return Err(why.to_owned());
        }
        subject.reduction_for(&claim.propositions)
    })
}

/// The reduction that `find` gives, if the table allows one for this search.
fn chosen<'s>(
    subject: &'s dyn Subject,
    plan: &Plan,
    method: Method,
    find: impl FnOnce() -> Result<Box<dyn Reduction>, String>,
) -> (Reduced, Chosen<'s>) {
    let off = |reduced| (reduced, Chosen { inner: Box::new(FullExpansion), subject: None, flaw: Mutex::default() });
    if plan.por == Por::Off {
        return off(Reduced::NotAsked);
    }
    let unreduced = Combination::new(plan, method, false).unreduced();
    match unreduced.map_or_else(find, |why| Err(why.to_owned())) {
        Ok(inner) => (Reduced::Yes, Chosen { inner, subject: (plan.por == Por::Checked).then_some(subject), flaw: Mutex::default() }),
        Err(why) => off(Reduced::Not(why)),
    }
}

/// A reduction whose choices are examined if the plan asks for it.
pub(crate) struct Chosen<'s> {
    inner: Box<dyn Reduction>,
    subject: Option<&'s dyn Subject>,
    /// The first choice that was wrong.
    flaw: Mutex<Option<String>>,
}

impl Chosen<'_> {
    /// The verdict of a search with this reduction: *unknown* if a choice was wrong.
    pub fn confirm(&self, verdict: Verdict) -> Verdict {
        match self.flaw.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(flaw) => Verdict::Unknown(StopReason::Reduction(flaw)),
            None => verdict,
        }
    }
}

impl Reduction for Chosen<'_> {
    fn is_identity(&self) -> bool {
        self.inner.is_identity()
    }

    fn leave_out(&self, state: &[u8], steps: &[Successor]) -> LeftOut {
        if let Some(flaw) = self.subject.and_then(|subject| subject.examine(&*self.inner, state)) {
            self.flaw.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(flaw);
        }
        self.inner.leave_out(state, steps)
    }

    fn leave_out_of_all(&self, states: &[&[u8]], source: u32, steps: &[Successor], left: &mut [LeftOut]) {
        if self.subject.is_none() {
            return self.inner.leave_out_of_all(states, source, steps, left);
        }
        for ((state, own), left) in by_source(states, source, steps).zip(left) {
            *left = self.leave_out(state, own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::Enclosed;
    use crate::{Engine, run};
    use contract::{Cancel, CloneSystem, Observer, Quiet, Stated};
    use replay::Narrator;
    use std::sync::Arc;

    /// A program with an unsound reduction.
    struct Careless(Arc<bytecode::Verified>);

    impl Subject for Careless {
        fn system(&self, engine: Engine, propositions: Arc<[contract::Proposition]>, observer: &dyn Observer) -> Box<dyn CloneSystem> {
            self.0.system(engine, propositions, observer)
        }
        fn narrator(&self) -> Narrator {
            self.0.narrator()
        }
        fn stated(&self) -> Vec<Stated> {
            self.0.stated()
        }
        fn claim(&self, stated: &Stated) -> Option<Result<crate::claim::Claim, crate::claim::NotChecked>> {
            self.0.claim(stated)
        }
        fn behaviour(&self) -> Vec<u8> {
            self.0.behaviour()
        }
        fn text(&self) -> Enclosed {
            self.0.text()
        }
        fn reduction(&self) -> Result<Box<dyn Reduction>, String> {
            struct First;
            impl Reduction for First {
                fn leave_out(&self, _: &[u8], _: &[Successor]) -> LeftOut {
                    LeftOut { processes: !1, postponed: !1 }
                }
            }
            Ok(Box::new(First))
        }
        fn examine(&self, reduction: &dyn Reduction, state: &[u8]) -> Option<String> {
            self.0.examine(reduction, state)
        }
    }

    #[test]
    fn a_wrong_choice_is_no_answer() {
        let mut map = source::SourceMap::new();
        let process = |name: &str, value: u32| format!("process {name}() {{\n LDC {value}\n STG x\n STEP N\n STEP T\n}}\n");
        let text = format!("global byte x\n{}{}start P, Q\n", process("P", 1), process("Q", 2));
        let file = map.add("two.epa", &text);
        let program = Arc::new(bytecode::verify(bytecode::asm::assemble(&map, file).expect("a good program")).expect("a good program"));
        let plan = Plan { por: Por::Checked, ..Plan::check() };
        let checked = |subject: &dyn Subject| run(subject, &plan, &Cancel::default(), &Quiet).expect("a sound plan").outcome.verdict;
        assert_eq!(checked(&program), Verdict::Holds);
        let wrong = checked(&Careless(program));
        assert!(matches!(wrong, Verdict::Unknown(StopReason::Reduction(_))), "{wrong:?}");
    }
}
