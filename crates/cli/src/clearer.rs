//! Options that make a trace easier to read, and witnesses of properties that hold.

use crate::failure::Failure;
use crate::session::Session;
use check::{Checked, FewestSwitches, ShownRun};
use clap::Args;
use contract::{Judged, PropertyKind, Stated, Trace, Verdict};
use replay::{Essential, Narrator, context_switches};
use report::json::{self, CausalJson, WitnessJson};
use report::{Look, shown_text, text};

/// How the trace is chosen and shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "Traces")]
pub struct ClearerArguments {
    /// Fold the steps that the violation does not depend on
    #[arg(long)]
    pub causal: bool,
    /// Look for the trace that changes least often from one process to another, among all deadlocks
    /// and faults, or among the finite paths that violate the formula
    #[arg(long, conflicts_with_all = ["resume", "shortest"])]
    pub fewest_switches: bool,
    /// For each property that holds, show a run as a witness: one that satisfies a formula and
    /// makes the left side of its implication true, evaluates an assertion, or ends properly
    #[arg(long, conflicts_with = "resume")]
    pub witness: bool,
}

/// The results of these options.
#[derive(Default)]
pub struct Clearer {
    /// The steps that the violation depends on.
    pub essential: Option<Essential>,
    /// For each property that holds, a run that shows it, or the reason why there is none.
    pub shown: Vec<(String, Result<ShownRun, String>)>,
    /// The result of the search for the fewest switches, in a sentence.
    pub remark: Option<String>,
}

impl ClearerArguments {
    /// Carries out these options. The trace of the answer may be replaced by another one.
    pub fn look(&self, session: &Session, checked: &mut Checked) -> Result<Clearer, Failure> {
        let mut clearer = Clearer::default();
        if self.fewest_switches {
            clearer.remark = fewest(session, checked);
        }
        let violation = if let Verdict::Violated(violation) = &checked.outcome.verdict { Some(violation) } else { None };
        if let Some(violation) = violation.filter(|_| self.causal) {
            clearer.essential = session.causal(violation, &checked.steps);
        }
        if self.witness {
            // No run can show the absence of errors.
            let shown = |judged: &&Judged| judged.verdict == Verdict::Holds && judged.property.kind != PropertyKind::Errors;
            for judged in checked.properties.iter().filter(shown) {
                clearer.shown.push((judged.property.name.clone(), session.shown(&judged.property)?));
            }
        }
        Ok(clearer)
    }
}

/// Replaces the trace that was found by the one with the fewest switches.
fn fewest(session: &Session, checked: &mut Checked) -> Option<String> {
    let Verdict::Violated(shown) = &checked.outcome.verdict else { return None };
    // The violation that is shown is that of the first violated property.
    let of_exploration = PropertyKind::violated_by(shown.fault.kind);
    let same = |judged: &&Judged| judged.verdict == checked.outcome.verdict;
    let violated = checked.properties.iter().find(same).cloned();
    let violated = violated.unwrap_or_else(|| {
        // A check of saved states may have no list of properties.
        let (property, verdict) = (Stated::of_kind(of_exploration), checked.outcome.verdict.clone());
        Judged { property, verdict, statistics: None, search: None, together: Vec::new(), notes: Vec::new() }
    });
    let before = context_switches(&checked.steps);
    let Some(FewestSwitches { found, stopped, statistics }) = session.fewest_switches(&violated) else {
        let only =
            "the fewest context switches are looked for in deadlocks, faults and finite paths that violate a formula of linear time only";
        return Some(only.to_owned());
    };
    let states = text::count(statistics.states);
    match (found, stopped) {
        (Some((violation, steps)), _) => {
            let now = context_switches(&steps);
            let explored = is_explored(violated.property.kind);
            // A fault may be another one than the first; the first one remains a violation.
            let kind = PropertyKind::violated_by(violation.fault.kind);
            for judged in &mut checked.properties {
                let replaced = if explored { judged.property.kind == kind } else { judged.property == violated.property };
                if replaced {
                    judged.verdict = Verdict::Violated(Box::new(violation.clone()));
                }
            }
            (checked.outcome.verdict, checked.steps) = (Verdict::Violated(Box::new(violation)), steps);
            checked.probe = None;
            let what = if explored { "a violation".to_owned() } else { format!("a violation of `{}`", violated.property.name) };
            Some(format!("no path to {what} has fewer than {} ({before} before; {states} states)", switches(now)))
        }
        (None, Some(reason)) => Some(format!("the fewest context switches are not known: {reason}")),
        (None, None) => Some("the fewest context switches are not known".to_owned()),
    }
}

/// Whether the search for deadlocks and faults decides properties of this kind.
fn is_explored(kind: PropertyKind) -> bool {
    matches!(kind, PropertyKind::EndStates | PropertyKind::Assertions | PropertyKind::Errors)
}

fn switches(count: usize) -> String {
    format!("{} context switch{}", text::count(count as u64), if count == 1 { "" } else { "es" })
}

impl Clearer {
    /// The witnesses, as text.
    pub fn text(&self, narrator: &Narrator, look: Look) -> String {
        let one = |(name, shown): &(String, Result<ShownRun, String>)| match shown {
            Ok(ShownRun { what, trace, steps }) => shown_text(narrator, what, trace, steps, look),
            Err(why) => format!("\nno witness for `{name}`: {why}\n"),
        };
        self.shown.iter().map(one).collect()
    }

    /// The witnesses, as JSON.
    pub fn json(&self, narrator: &Narrator) -> Vec<WitnessJson> {
        let one = |(name, shown): &(String, Result<ShownRun, String>)| match shown {
            Ok(ShownRun { what, trace, steps }) => WitnessJson {
                property: name.clone(),
                message: what.clone(),
                trace: Some(json::steps(steps, json::views(narrator, trace))),
                loop_start: trace.loop_start,
            },
            Err(why) => WitnessJson { property: name.clone(), message: why.clone(), trace: None, loop_start: None },
        };
        self.shown.iter().map(one).collect()
    }

    /// The first witness, to be written to a file.
    pub fn trace(&self) -> Option<&Trace> {
        self.shown.iter().find_map(|(_, shown)| shown.as_ref().ok()).map(|shown| &shown.trace)
    }

    /// The steps that the violation depends on, as JSON.
    pub fn causal(&self) -> Option<CausalJson> {
        self.essential.as_ref().map(CausalJson::from)
    }
}
