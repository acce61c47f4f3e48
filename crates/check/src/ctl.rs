//! Four formulas of branching time: `EF p`, `AG p`, `AG EF p`, `EF AG p`.
//!
//! The first two are questions about single states and are answered in the product with the
//! automaton of a safety property, in any order and over any store. The others are decided by the
//! terminal components. In both cases there may be a path: a counterexample or a witness. The
//! reference interpreter executes each path again, and the claim about its end is tested there.

use crate::claim::{Claim, NotChecked};
use crate::guide::{self, Guidance, Guiding, Looked};
use crate::plan::{Engine, Plan};
use crate::run::steps_of;
use crate::subject::Subject;
use crate::table::Order;
use crate::temporal;
use contract::{
    Blind, Fault, FullExpansion, Heuristic, Judged, NoProperty, Outcome, Proposition, Stated, Statistics, StopReason, Successors, System,
    Trace, Verdict, Violation, ViolationKind,
};
use logic::{Formulas, Node};
use replay::{Narrator, Step};
use search::{Branching, Task, Unanswered, terminal_components};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// The forms of questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CtlForm {
    /// `EF p`: some reachable state has `p`.
    Possibly,
    /// `AG p`: all reachable states have `p`.
    Always,
    /// `AG EF p`: from all reachable states one with `p` can be reached.
    AlwaysPossibly,
    /// `EF AG p`: from some reachable state on, all have `p`.
    PossiblyAlways,
}

impl CtlForm {
    /// Whether it is decided by components that cannot be left, and a sweep needs a measure that
    /// never falls.
    pub fn needs_components(self) -> bool {
        matches!(self, CtlForm::AlwaysPossibly | CtlForm::PossiblyAlways)
    }
}

/// A formula over an atom of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ctl {
    /// The form of the question.
    pub form: CtlForm,
    /// The atom that it is about.
    pub atom: u32,
}

impl fmt::Display for CtlForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CtlForm::Possibly => "EF",
            CtlForm::Always => "AG",
            CtlForm::AlwaysPossibly => "AG EF",
            CtlForm::PossiblyAlways => "EF AG",
        })
    }
}

impl CtlForm {
    /// The form of a formula, and the text of its expression; `None` if it has none of the four
    /// forms.
    pub fn of(text: &str) -> Option<(CtlForm, &str)> {
        let mut rest = unwrapped(text.trim());
        let mut quantifiers = Vec::new();
        while let Some(behind) = behind_quantifier(rest) {
            quantifiers.push(&rest[..2]);
            rest = unwrapped(behind.trim_start());
        }
        let form = match quantifiers[..] {
            ["EF"] => CtlForm::Possibly,
            ["AG"] => CtlForm::Always,
            ["AG", "EF"] => CtlForm::AlwaysPossibly,
            ["EF", "AG"] => CtlForm::PossiblyAlways,
            _ => return None,
        };
        (!rest.is_empty()).then_some((form, rest))
    }
}

/// The text behind the quantifiers at the beginning, if there are any.
fn behind_quantifier(text: &str) -> Option<&str> {
    let behind = text.strip_prefix("AG").or_else(|| text.strip_prefix("EF"))?;
    // A name may begin with these letters.
    let ends = !behind.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') || behind.starts_with("AG") || behind.starts_with("EF");
    ends.then_some(behind)
}

/// The most brackets around a formula that are taken away.
const MOST_BRACKETS: usize = 64;

/// The text without brackets around a formula with quantifiers, as in `AG (EF p)`.
fn unwrapped(text: &str) -> &str {
    let mut inner = text;
    for _ in 0..MOST_BRACKETS {
        if behind_quantifier(inner).is_some() {
            return inner;
        }
        let inside = inner.strip_prefix('(').and_then(|inside| inside.strip_suffix(')')).map(str::trim);
        let Some(inside) = inside else { break };
        let mut depth = 0_i64;
        let closed = inside.chars().all(|c| {
            depth += i64::from(c == '(') - i64::from(c == ')');
            depth >= 0
        });
        if !closed || depth != 0 {
            break;
        }
        inner = inside;
    }
    text
}

/// A path that shows that a formula holds.
#[derive(Clone, Debug, PartialEq)]
pub struct CtlWitness {
    /// The formula.
    pub formula: String,
    /// The path.
    pub trace: Trace,
    /// Its steps in the user's words.
    pub steps: Vec<Step>,
}

/// The answer for a formula: the verdict, the steps of a counterexample, or a witness.
pub(crate) struct Decided {
    pub judged: Judged,
    pub steps: Vec<Step>,
    pub witness: Option<CtlWitness>,
    pub guided: Option<Guidance>,
}

/// Decides a formula.
pub(crate) fn judge(
    subject: &dyn Subject,
    plan: &Plan,
    narrator: &Narrator,
    stated: Stated,
    ctl: Ctl,
    task: &Task<'_>,
    is_over: &dyn Fn() -> bool,
) -> Decided {
    let asked = Asked { subject, plan, narrator, stated, ctl, task, is_over };
    match ctl.form {
        CtlForm::Possibly | CtlForm::Always => asked.by_states(),
        CtlForm::AlwaysPossibly => asked.by_components(Branching::AlwaysPossibly),
        CtlForm::PossiblyAlways => asked.by_components(Branching::PossiblyAlways),
    }
}

/// The claim that `p` always holds, or that it never holds.
pub(crate) fn claim(ctl: Ctl) -> Option<Result<Claim, NotChecked>> {
    let mut formulas = Formulas::new();
    let atom = Node::Atom(formulas.atom_number(&ctl.atom.to_string()));
    let atom = formulas.intern(atom);
    let root = match ctl.form {
        CtlForm::Possibly => {
            let never = formulas.intern(Node::Not(atom));
            formulas.intern(Node::Always(never))
        }
        CtlForm::Always => formulas.intern(Node::Always(atom)),
        CtlForm::AlwaysPossibly | CtlForm::PossiblyAlways => return None,
    };
    Some(Claim::of_logic(formulas, root, &|name: &str| name.parse().ok()))
}

struct Asked<'a> {
    subject: &'a dyn Subject,
    plan: &'a Plan,
    narrator: &'a Narrator,
    stated: Stated,
    ctl: Ctl,
    task: &'a Task<'a>,
    is_over: &'a dyn Fn() -> bool,
}

impl Asked<'_> {
    fn decided(self, verdict: Verdict, statistics: Statistics, steps: Vec<Step>, witness: Option<(Trace, Vec<Step>)>) -> Decided {
        let notes = self.notes();
        let witness = witness.map(|(trace, steps)| CtlWitness { formula: self.stated.name.clone(), trace, steps });
        Decided {
            judged: Judged { property: self.stated, verdict, statistics: Some(statistics), search: None, together: Vec::new(), notes },
            steps,
            witness,
            guided: None,
        }
    }

    /// Notes for the user about the search.
    fn notes(&self) -> Vec<String> {
        let alone = self.ctl.form.needs_components() && self.plan.threads > 1;
        alone.then(|| "a search for components of this formula has one worker".to_owned()).into_iter().collect()
    }

    fn fault(&self, why: &str) -> Fault {
        Fault::new(ViolationKind::Property, format!("`{}` does not hold: {why}", self.stated.name))
    }

    /// A violation without a path: only the initial state can be shown.
    fn nowhere(&self, why: &str) -> Verdict {
        let initial = self.narrator.initial().0.unwrap_or_default();
        Verdict::Violated(Box::new(Violation { fault: self.fault(why), trace: Trace { initial, ..Trace::default() } }))
    }

    fn by_states(self) -> Decided {
        let claim = match claim(self.ctl) {
            Some(Ok(claim)) => claim,
            _ => {
                let unchecked = Verdict::Unknown(StopReason::Unchecked(vec![self.stated.name.clone()]));
                return self.decided(unchecked, Statistics::default(), Vec::new(), None);
            }
        };
        let system = self.subject.system(self.plan.engine, Arc::clone(&claim.propositions), self.task.observer);
        let looked = Looked::Claim(&claim, temporal::automaton(self.plan, &claim));
        let heuristic = guide::heuristic(self.subject, self.plan, looked, self.task.observer);
        let task = Task { reduction: &FullExpansion, heuristic: &*heuristic, ..self.task.clone() };
        // A finite run decides, so no cycle is closed.
        let closing = |_: &[u8]| Box::new(Blind) as Box<dyn Heuristic>;
        let guiding = Guiding::new(&closing);
        let found = temporal::search(&system, &claim, self.plan, &guiding, &task);
        let guided = (self.plan.explained && temporal::is_guided(self.plan, &claim))
            .then(|| guide::explain(self.plan, &*heuristic, Some(self.stated.name.clone()), guiding.along(steps_of(&found.verdict))));
        Decided { guided, ..self.by_run(&claim, found) }
    }

    /// Decides a question about single states by the run that was found to one of them.
    fn by_run(self, claim: &Claim, found: Outcome) -> Decided {
        let mut reference = self.subject.system(Engine::Interpreter, Arc::clone(&claim.propositions), self.task.observer);
        let (outcome, steps) = temporal::confirm(self.narrator, &mut reference, claim, search::Fairness::None, found, self.is_over);
        let Outcome { verdict, statistics } = outcome;
        match (self.ctl.form, verdict) {
            (CtlForm::Possibly, Verdict::Violated(violation)) if violation.fault.kind == ViolationKind::Property => {
                self.decided(Verdict::Holds, statistics, Vec::new(), Some((violation.trace, steps)))
            }
            (CtlForm::Possibly, Verdict::Holds) => {
                let verdict = self.nowhere("no reachable state has it");
                self.decided(verdict, statistics, Vec::new(), None)
            }
            (_, Verdict::Violated(mut violation)) => {
                if violation.fault.kind == ViolationKind::Property {
                    violation.fault = self.fault("the last state does not have it");
                }
                self.decided(Verdict::Violated(violation), statistics, steps, None)
            }
            (_, verdict) => self.decided(verdict, statistics, Vec::new(), None),
        }
    }

    fn by_components(self, form: Branching) -> Decided {
        let propositions: Arc<[Proposition]> = [Proposition::Atom(self.ctl.atom)].into();
        let system = self.subject.system(self.plan.engine, Arc::clone(&propositions), self.task.observer);
        let measure = if self.plan.order == Order::Sweep { self.plan.measure.atoms() } else { &[] };
        let begun = Instant::now();
        let mut task = Task { property: &NoProperty, checkpoints: None, ..self.task.clone() };
        let mut found = terminal_components(&system, form, measure, &task);
        // A measure that was proposed after a trial may fall later. The user did not ask for it.
        if matches!(found.holds, Err(Unanswered::Falls(..))) && self.plan.measure.is_proposed() {
            let why = "the proposed measure falls, and this formula needs one that never does: all states are one layer";
            self.task.observer.notice(why);
            task.limits.time = task.limits.time.map(|limit| limit.saturating_sub(begun.elapsed()));
            found = terminal_components(&system, form, &[], &task);
        }
        // Without a measure there is only one layer, and its numbers say nothing.
        let sweep = found.statistics.sweep.filter(|_| self.plan.order == Order::Sweep);
        let statistics = Statistics { sweep, ..found.statistics };
        let mut reference = self.subject.system(Engine::Interpreter, propositions, self.task.observer);
        let wanted = form == Branching::PossiblyAlways;
        let shown = found.shown.map(|(trace, states)| {
            let steps = self.narrator.replay_until(&trace, self.is_over).ok();
            let steps = steps.filter(|_| is_closed(&mut reference, trace.last_state(), states, wanted, self.is_over));
            (trace, states, steps)
        });
        let lost = |asked: &Self| Verdict::Unknown(StopReason::TraceLost(asked.fault("a component was found that decides it")));
        match (found.holds, shown) {
            (Ok(false), Some((trace, states, Some(steps)))) => {
                let fault =
                    self.fault(&format!("the path leads into a component of {states} states that cannot be left and has no such state"));
                self.decided(Verdict::Violated(Box::new(Violation { fault, trace })), statistics, steps, None)
            }
            (Ok(true), Some((trace, _, Some(steps)))) => self.decided(Verdict::Holds, statistics, Vec::new(), Some((trace, steps))),
            (Ok(_), Some((_, _, None))) => {
                let verdict = lost(&self);
                self.decided(verdict, statistics, Vec::new(), None)
            }
            (Ok(true), None) => self.decided(Verdict::Holds, statistics, Vec::new(), None),
            (Ok(false), None) => {
                let verdict = self.nowhere("each component that cannot be left has a state without it");
                self.decided(verdict, statistics, Vec::new(), None)
            }
            (Err(Unanswered::Stopped(reason)), _) => self.decided(Verdict::Unknown(reason), statistics, Vec::new(), None),
            (Err(Unanswered::NoValue(fault, trace)), _) => {
                let known = trace.filter(|trace| reference.atoms(trace.last_state()).is_err());
                let steps = known.as_ref().and_then(|trace| self.narrator.replay_until(trace, self.is_over).ok());
                let verdict = match known {
                    Some(trace) => Verdict::Violated(Box::new(Violation { fault, trace })),
                    None => Verdict::Unknown(StopReason::TraceLost(fault)),
                };
                self.decided(verdict, statistics, steps.unwrap_or_default(), None)
            }
            (Err(Unanswered::Falls(trace, from, to)), _) => {
                let verdict = Verdict::Unknown(StopReason::Measure(self.falls(trace, &from, &to)));
                self.decided(verdict, statistics, Vec::new(), None)
            }
        }
    }

    /// Says why a measure that falls cannot be used, with the step on which it falls.
    fn falls(&self, trace: Option<Trace>, from: &[i64], to: &[i64]) -> String {
        let told = |values: &[i64]| values.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let step = trace.as_ref().and_then(|trace| {
            let steps = self.narrator.replay_until(trace, self.is_over).ok()?;
            let last = steps.last()?.first();
            let place = last.position.as_ref().map(|at| format!(" ({}:{})", at.file, at.line)).unwrap_or_default();
            Some(format!(" on step {}, `{}` of {}({}){place}", steps.len(), last.text, last.process, last.pid))
        });
        format!(
            "the measure falls from {} to {}{}, and `{}` needs one that never does: leave out `--search sweep`, or give another measure",
            told(from),
            told(to),
            step.unwrap_or_default(),
            self.ctl.form,
        )
    }
}

/// Whether exactly `states` states can be reached from a state, and all of them have the
/// proposition or all have not.
fn is_closed(system: &mut dyn System, from: &[u8], states: u64, wanted: bool, is_over: &dyn Fn() -> bool) -> bool {
    let (mut seen, mut open) = (HashSet::from([from.to_vec()]), vec![from.to_vec()]);
    let mut out = Successors::new();
    while let Some(state) = open.pop() {
        if is_over() || seen.len() as u64 > states || system.atoms(&state).map(|atoms| atoms & 1 != 0) != Ok(wanted) {
            return false;
        }
        out.clear();
        system.successors(&state, &mut out);
        open.extend(out.iter().filter_map(|(_, state)| state).filter(|state| seen.insert(state.to_vec())).map(<[u8]>::to_vec));
    }
    seen.len() as u64 == states
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_told_by_their_letters() {
        for (text, form, rest) in [
            ("EF p", CtlForm::Possibly, "p"),
            ("AG !(a && b)", CtlForm::Always, "!(a && b)"),
            ("AGEF p", CtlForm::AlwaysPossibly, "p"),
            (" EF AG(x > 0) ", CtlForm::PossiblyAlways, "(x > 0)"),
            ("EF EFFORT", CtlForm::Possibly, "EFFORT"),
            ("AG (EF p)", CtlForm::AlwaysPossibly, "p"),
            ("(AG( EF ( (a) || (b))) )", CtlForm::AlwaysPossibly, "( (a) || (b))"),
            ("((EF (AG (a && (b || c)))))", CtlForm::PossiblyAlways, "(a && (b || c))"),
            ("AG (a) && (b)", CtlForm::Always, "(a) && (b)"),
            ("AG (EF_ > 0)", CtlForm::Always, "(EF_ > 0)"),
        ] {
            assert_eq!(CtlForm::of(text), Some((form, rest)), "{text}");
        }
        for text in ["", "EF", "AG AG p", "AX p", "EFp", "p", "EF AG EF p", "(AG p) && (EF q)", "(AG p", "(p)", "()", "((AG))"] {
            assert_eq!(CtlForm::of(text), None, "{text}");
        }
    }
}
