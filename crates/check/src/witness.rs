//! Runs that satisfy a property.
//!
//! No single run proves that a property holds, but a run illustrates its meaning. For a formula it
//! is a run that satisfies the formula and, if there is an implication, makes its left side true at
//! some time; it is found by a search for a run that violates the negation. For assertions it is a
//! path that evaluates one, for end states a path to an accepted end.

use crate::claim::{Claim, NotChecked, Refuted};
use crate::coverage::steps_with;
use crate::plan::{Only, Plan, Por};
use crate::reach::{Reach, reach_steps};
use crate::run::{Refusal, Surroundings, enough, run_in};
use crate::stores;
use crate::subject::{Selected, Subject};
use crate::table::Order;
use crate::vacuity::{in_words, left_sides};
use bytecode::Op;
use contract::{Answer, Fault, Finding, Property, PropertyKind, Proposition, Stated, StopReason, Trace, Verdict, ViolationKind};
use logic::{Id, Node};
use replay::Step;
use search::Task;
use std::collections::HashSet;
use std::sync::Arc;

/// A run that shows a property.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownRun {
    /// The fact that it shows, in a sentence without a full stop.
    pub what: String,
    /// The run.
    pub trace: Trace,
    /// Its steps in words.
    pub steps: Vec<Step>,
}

/// A run that shows a property, or why there is none, in a sentence.
pub fn witness(
    subject: &Arc<dyn Subject>,
    stated: &Stated,
    plan: &Plan,
    surroundings: &Surroundings<'_>,
) -> Result<Result<ShownRun, String>, Refusal> {
    match stated.kind {
        PropertyKind::Ltl => of_formula(subject, stated, plan, surroundings),
        PropertyKind::Assertions => of_assertion(&**subject, plan, surroundings),
        PropertyKind::EndStates => Ok(of_end(&**subject, plan, surroundings)),
        kind => Ok(Err(format!("there is no single run that shows a property of this kind ({})", kind.name()))),
    }
}

/// A run that satisfies a formula.
fn of_formula(
    subject: &Arc<dyn Subject>,
    stated: &Stated,
    plan: &Plan,
    surroundings: &Surroundings<'_>,
) -> Result<Result<ShownRun, String>, Refusal> {
    let Some(Ok(claim)) = subject.claim(stated) else { return Ok(Err("its formula cannot be followed".to_owned())) };
    let Some(refuted) = &claim.formula else { return Ok(Err("it is no formula".to_owned())) };
    let lefts = left_sides(&refuted.formulas, refuted.root);
    let name = &stated.name;
    let mut why = format!("no run satisfies `{name}`");
    let mut never = String::new();
    // A run that makes the left sides true says more than one that does not.
    for lefts in [&lefts[..], &[]] {
        let Ok(wanted) = satisfying(&claim, refuted, lefts) else { continue };
        let automata = vec![(name.clone(), wanted)];
        let selected = Selected { subject: Arc::clone(subject), names: Vec::new(), branching: Vec::new(), automata };
        let plan = Plan { order: Order::Auto, shortest: true, only: None, coverage: false, ..*plan };
        let checked = run_in(&selected, &plan, surroundings)?;
        match checked.outcome.verdict {
            Verdict::Violated(violation) if violation.fault.kind == ViolationKind::Property => {
                let words: Vec<String> = lefts.iter().map(|&left| format!("`{}`", in_words(&**subject, &refuted.formulas, left))).collect();
                let with = match (words.is_empty(), never.is_empty()) {
                    (false, _) => format!(", and {} becomes true", words.join(" and ")),
                    (true, false) => format!(", though no run makes {never} true"),
                    (true, true) => String::new(),
                };
                let what = format!("a run that satisfies `{name}`{with}");
                return Ok(Ok(ShownRun { what, trace: violation.trace, steps: checked.steps }));
            }
            Verdict::Unknown(reason) => why = format!("no run was found that satisfies `{name}`: {reason}"),
            Verdict::Holds => {
                let words = lefts.iter().map(|&left| format!("`{}`", in_words(&**subject, &refuted.formulas, left)));
                never = words.collect::<Vec<_>>().join(" and ");
            }
            Verdict::Violated(_) => {}
        }
        if lefts.is_empty() {
            break;
        }
    }
    Ok(Err(why))
}

/// The claim that no run satisfies a formula and makes each of `lefts` true at some time.
pub(crate) fn satisfying(claim: &Claim, refuted: &Refuted, lefts: &[Id]) -> Result<Claim, NotChecked> {
    let mut formulas = refuted.formulas.clone();
    let mut parts = vec![refuted.root];
    parts.extend(lefts.iter().map(|&left| formulas.intern(Node::Eventually(left))));
    let both = if parts.len() == 1 { refuted.root } else { formulas.intern(Node::And(parts.into())) };
    let none = formulas.not(both);
    // The bits of the claim are in the order of the formula's atoms.
    let names: Vec<String> = refuted.formulas.atoms_of(refuted.root).iter().map(|&atom| formulas.atoms()[atom as usize].clone()).collect();
    let number = |name: &str| match names.iter().position(|known| known == name).and_then(|bit| claim.propositions.get(bit)) {
        Some(Proposition::Atom(atom)) => Some(*atom),
        _ => None,
    };
    Claim::of_logic(formulas, none, &number)
}

/// A path that evaluates the first assertion that can be evaluated.
fn of_assertion(subject: &dyn Subject, plan: &Plan, surroundings: &Surroundings<'_>) -> Result<Result<ShownRun, String>, Refusal> {
    let Some(program) = subject.byte_code() else { return Ok(Err("this model has no assertions".to_owned())) };
    let tables = program.program();
    // A line may have other statements than the assertion, so the step decides. Copies of one
    // assertion, as from an inline, are looked for together.
    let mut places: Vec<((String, u32), HashSet<u32>)> = Vec::new();
    for step in steps_with(program, |op| matches!(op, Op::Assert {})) {
        let Some(span) = tables.span_at(step) else { continue };
        let place = (tables.files.get(span.file.index()).cloned().unwrap_or_default(), span.line);
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, steps)) => _ = steps.insert(step.0),
            None => places.push((place, HashSet::from([step.0]))),
        }
    }
    let plan = Plan { order: Order::Breadth, ..*plan };
    for ((file, line), steps) in places {
        if let Ok((Reach::By { trace, steps }, _)) = reach_steps(subject, program, steps, &plan, surroundings) {
            let what = format!("a path that evaluates the assertion at {file}:{line}");
            return Ok(Ok(ShownRun { what, trace, steps }));
        }
    }
    Ok(Err("no assertion was ever evaluated".to_owned()))
}

/// Ends the search in an accepted end state.
struct AcceptedEnd;

impl Property for AcceptedEnd {
    fn fault(&self, _: contract::FaultCode, _: bool) -> Answer {
        Answer::Continue
    }

    fn terminal(&self, _: &[u8], valid: bool) -> Answer {
        let fault = || Fault::new(ViolationKind::Other("accepted end"), "an accepted end");
        if valid { Answer::Stop(Finding::Explained(fault())) } else { Answer::Continue }
    }
}

/// A shortest path to an accepted end.
fn of_end(subject: &dyn Subject, plan: &Plan, surroundings: &Surroundings<'_>) -> Result<ShownRun, String> {
    let plan = Plan { order: Order::Breadth, por: Por::Off, only: Some(Only::Safety), ..*plan };
    let system = subject.system(plan.engine, Arc::default(), surroundings.observer);
    let task = Task {
        limits: plan.limits,
        cancel: surroundings.cancel.clone(),
        observer: surroundings.observer,
        resident: surroundings.resident,
        ..Task::new(&AcceptedEnd)
    };
    let verdict = stores::search(&system, &plan, &task, None).map(|outcome| outcome.verdict);
    let mut narrator = subject.narrator();
    narrator.give_up_when(enough(&plan, &surroundings.cancel));
    match verdict {
        Ok(Verdict::Violated(violation)) => {
            let steps = narrator.replay(&violation.trace).map_err(|error| error.to_string())?;
            let is_end = narrator.is_valid_end(violation.trace.last_state());
            let shown = ShownRun { what: "a shortest path to an accepted end".to_owned(), trace: violation.trace, steps };
            if is_end { Ok(shown) } else { Err(StopReason::TraceLost(violation.fault).to_string()) }
        }
        Ok(Verdict::Holds) => Err("no run ends: the processes go on for ever".to_owned()),
        Ok(Verdict::Unknown(reason)) => Err(format!("no path to an accepted end was found: {reason}")),
        Err(error) => Err(error.to_string()),
    }
}
