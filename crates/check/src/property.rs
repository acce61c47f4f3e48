//! The properties of a run, by name, and the verdict of each.
//!
//! A model states several properties: assertions, end states, formulas, claims. One exploration
//! decides several of them. A property that is stated and not checked is *unknown*, and then the
//! whole run is *unknown*: a user would overlook a warning beside *holds*.

use crate::plan::{Only, Plan};
use crate::subject::Subject;
use bytecode::{Formula, Op, Origin, Program, PropertyBody, PropertyEntry, Verified};
use contract::{Judged, Position, PropertyKind, Safety, Stated, Statistics, StopReason, Verdict};

/// The properties that a program states, in the order of the report.
pub(crate) fn of_program(program: &Verified) -> Vec<Stated> {
    let program = program.program();
    let mut stated = Vec::new();
    if program.code.iter().any(|op| matches!(op, Op::Assert {})) {
        stated.push(Stated::of_kind(PropertyKind::Assertions));
    }
    stated.extend([PropertyKind::EndStates, PropertyKind::Errors].map(Stated::of_kind));
    for property in &program.properties {
        let kind = match &property.kind {
            PropertyBody::Ltl(_) => PropertyKind::Ltl,
            PropertyBody::Never(_) => PropertyKind::Never,
            PropertyBody::Trace(_) => PropertyKind::Trace,
            PropertyBody::Notrace(_) => PropertyKind::Notrace,
        };
        let position = property.origin.as_ref().map(|origin| position(program, origin));
        stated.push(Stated { name: property.name.clone(), kind, position, formula: formula(program, property) });
    }
    // The first label represents all of them. Progress labels state nothing by themselves.
    if let Some(label) = program.labels.iter().find(|label| label.kind.accept) {
        let span = program.span_at(label.addr);
        let position = span.map(|span| Position { file: file(program, span.file.index()), line: span.line, column: span.column });
        stated.push(Stated { position, ..Stated::of_kind(PropertyKind::Acceptance) });
    }
    stated
}

/// The text of a property that is a formula: the user's, unless it is missing or was cut.
fn formula(program: &Program, property: &PropertyEntry) -> Option<String> {
    let PropertyBody::Ltl(formula) = &property.kind else { return None };
    let stated = property.origin.as_ref().map(|origin| origin.text.trim()).filter(|text| !text.is_empty() && !text.ends_with('…'));
    Some(stated.map_or_else(|| text_of(program, formula), str::to_owned))
}

/// A formula with the names of its atoms, which are expressions, in parentheses.
fn text_of(program: &Program, formula: &Formula) -> String {
    let mut text = String::new();
    formula.write(&mut text, &mut |out, atom| {
        let name = program.atoms.get(atom.index()).map_or("?", |atom| &atom.name);
        let is_word = name.chars().all(|c| c.is_alphanumeric() || c == '_');
        out.push_str(&if is_word { name.to_owned() } else { format!("({name})") });
    });
    text
}

fn position(program: &Program, origin: &Origin) -> Position {
    Position { file: file(program, origin.file.index()), line: origin.line, column: origin.column }
}

fn file(program: &Program, index: usize) -> String {
    program.files.get(index).cloned().unwrap_or_default()
}

/// Whether a plan asks for a property.
fn is_asked(plan: &Plan, kind: PropertyKind) -> bool {
    let Some(Safety { deadlocks, faults }) = plan.property else { return false };
    match kind {
        PropertyKind::EndStates => deadlocks,
        PropertyKind::Assertions | PropertyKind::Errors => faults,
        // A finite run decides a property about channel events.
        PropertyKind::Trace | PropertyKind::Notrace => true,
        _ => plan.only != Some(Only::Safety),
    }
}

/// The stated properties that a plan asks for.
pub(crate) fn asked(plan: &Plan, mut stated: Vec<Stated>) -> Vec<Stated> {
    if plan.non_progress {
        stated.push(Stated::of_kind(PropertyKind::Progress));
    }
    stated.into_iter().filter(|property| is_asked(plan, property.kind)).collect()
}

/// The properties that a subject states and that a plan does not ask for.
pub(crate) fn not_asked(plan: &Plan, subject: &dyn Subject) -> Vec<Stated> {
    let stated = subject.stated().into_iter().filter(|property| !is_asked(plan, property.kind));
    stated.chain(subject.unselected()).collect()
}

/// The verdict of a property that is decided by an exploration that ended with `explored`.
pub(crate) fn explored(property: Stated, explored: &Verdict, statistics: &Statistics) -> Judged {
    let verdict = match explored {
        Verdict::Violated(violation) if PropertyKind::violated_by(violation.fault.kind) != property.kind => {
            Verdict::Unknown(StopReason::OtherViolation)
        }
        other => other.clone(),
    };
    Judged { property, verdict, statistics: Some(statistics.clone()), search: None, together: Vec::new(), notes: Vec::new() }
}

/// The verdict of a whole run, whose exploration ended with `explored`: a violation if there is
/// one, *holds* only if everything does.
pub(crate) fn overall(explored: Verdict, judged: &[Judged]) -> Verdict {
    let violated = |verdict: &&Verdict| matches!(verdict, Verdict::Violated(_));
    let all = || std::iter::once(&explored).chain(judged.iter().map(|judged| &judged.verdict));
    if let Some(violated) = all().find(violated) {
        return violated.clone();
    }
    let mut unchecked = Vec::new();
    for verdict in all() {
        match verdict {
            Verdict::Unknown(StopReason::Unchecked(names)) => unchecked.extend(names.iter().cloned()),
            Verdict::Unknown(_) => return verdict.clone(),
            _ => {}
        }
    }
    if unchecked.is_empty() { Verdict::Holds } else { Verdict::Unknown(StopReason::Unchecked(unchecked)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::{Fault, Trace, Violation, ViolationKind};

    fn stated() -> Vec<Stated> {
        let kinds = [PropertyKind::Assertions, PropertyKind::EndStates, PropertyKind::Errors, PropertyKind::Ltl];
        kinds.map(Stated::of_kind).to_vec()
    }

    fn verdicts(plan: &Plan, found: Verdict) -> (Verdict, Vec<(&'static str, Verdict)>) {
        let judged: Vec<Judged> = asked(plan, stated())
            .into_iter()
            .map(|property| match property.kind.is_safety() {
                true => explored(property, &found, &Statistics::default()),
                false => {
                    let verdict = Verdict::Unknown(StopReason::Unchecked(vec![property.name.clone()]));
                    Judged { property, verdict, statistics: None, search: None, together: Vec::new(), notes: Vec::new() }
                }
            })
            .collect();
        (overall(found, &judged), judged.into_iter().map(|judged| (judged.property.kind.name(), judged.verdict)).collect())
    }

    fn unchecked() -> Verdict {
        Verdict::Unknown(StopReason::Unchecked(vec!["ltl".to_owned()]))
    }

    #[test]
    fn what_is_stated_and_not_checked_is_unknown() {
        let (overall, each) = verdicts(&Plan::check(), Verdict::Holds);
        assert_eq!(overall, unchecked());
        let holds = |name| (name, Verdict::Holds);
        assert_eq!(each, [holds("assertions"), holds("end states"), holds("run-time errors"), ("ltl", unchecked())]);
        let (overall, each) = verdicts(&Plan { only: Some(Only::Safety), ..Plan::check() }, Verdict::Holds);
        assert_eq!((overall, each.len()), (Verdict::Holds, 3));
        let no_deadlock = Plan { property: Some(Safety { deadlocks: false, faults: true }), only: Some(Only::Safety), ..Plan::check() };
        assert_eq!(verdicts(&no_deadlock, Verdict::Holds).1, [holds("assertions"), holds("run-time errors")]);
        assert_eq!(verdicts(&Plan::space(), Verdict::Holds), (Verdict::Holds, vec![]));
    }

    #[test]
    fn a_violation_is_one_of_its_own_property() {
        let violated = Verdict::Violated(Box::new(Violation { fault: Fault::new(ViolationKind::Assertion, "x"), trace: Trace::default() }));
        let (overall, each) = verdicts(&Plan::check(), violated.clone());
        assert_eq!(overall, violated);
        let other = Verdict::Unknown(StopReason::OtherViolation);
        assert_eq!(each, [("assertions", violated), ("end states", other.clone()), ("run-time errors", other), ("ltl", unchecked())]);
    }

    #[test]
    fn a_search_that_was_cut_short_knows_nothing_of_any() {
        let memory = Verdict::Unknown(StopReason::Memory);
        let (overall, each) = verdicts(&Plan::check(), memory.clone());
        assert_eq!(overall, memory);
        assert!(each[..3].iter().all(|(_, verdict)| *verdict == memory));
    }
}
