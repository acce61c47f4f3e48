//! Hints about a violation, for users who are new to model checking.

use crate::input::Model;
use check::{Checked, Fair, Plan};
use contract::{Trace, Verdict, ViolationKind};
use std::collections::BTreeSet;

/// There is no hint about a loop with more steps than this, because its states would have to be
/// expanded again.
const LOOP_MAX: usize = 1_000;

/// The hint about the violation, as a paragraph; empty if there is none.
pub fn hints(model: &Model, plan: &Plan, checked: &Checked) -> String {
    let Verdict::Violated(violation) = &checked.outcome.verdict else { return String::new() };
    let hint = match violation.fault.kind {
        ViolationKind::Deadlock if asleep(model, &violation.trace) => {
            Some("the processor sleeps for ever: no interrupt that is enabled can wake it".to_owned())
        }
        ViolationKind::Deadlock if model.is_promela() => end_label(model, &violation.trace),
        ViolationKind::Property if plan.fairness == Fair::Any => starved(model, &violation.trace),
        _ => None,
    };
    hint.map(|hint| format!("\nhint: {hint}\n")).unwrap_or_default()
}

/// Whether the processor of firmware cannot move. This happens only while it sleeps.
fn asleep(model: &Model, trace: &Trace) -> bool {
    let is_firmware = model.subject.byte_code().is_some_and(|program| program.program().global_named("SREG_I").is_some());
    is_firmware && model.narrator.waiting(trace).iter().any(|process| !process.may_end && process.process == "cpu")
}

/// The hint that a label would accept this end. A process that waits for a message is often a
/// server that may wait for ever.
fn end_label(model: &Model, trace: &Trace) -> Option<String> {
    let waiting = model.narrator.waiting(trace);
    if !replay::knot(&waiting).cycle.is_empty() {
        return None;
    }
    let process = waiting.iter().find(|process| !process.may_end)?;
    let statement = &process.options.iter().find(|wait| matches!(wait.why, replay::Why::Empty { .. }))?.choice.statement;
    let who = format!("{}({})", process.process, process.pid);
    Some(format!("if {who} may wait there for ever, a label that begins with `end` says so, as in `end: {statement}`"))
}

/// The hint that fairness excludes this run, if some process could move in every state of the loop
/// but never does.
fn starved(model: &Model, trace: &Trace) -> Option<String> {
    let start = trace.loop_start.filter(|start| trace.steps.len() - start <= LOOP_MAX)?;
    let moved: BTreeSet<u32> = trace.steps[start..].iter().map(|step| step.action.process).collect();
    let mut always: Option<BTreeSet<u32>> = None;
    for index in start..trace.steps.len() {
        let mut moves = model.narrator.moves(trace.state_after(index)?).ok()?;
        let able: BTreeSet<u32> = (0..moves.len()).filter_map(|index| moves.tell(index)).map(|step| step.action.process).collect();
        always = Some(always.map_or(able.clone(), |known| known.intersection(&able).copied().collect()));
    }
    let starving = always?.difference(&moved).next().copied()? as usize;
    let view = model.narrator.view(trace.last_state()).ok()?;
    let name = &view.processes.get(starving)?.name;
    Some(format!("{name}({starving}) could move in every state of the loop but never does; with `--fair weak` such runs do not count"))
}
