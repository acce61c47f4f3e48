//! From a plan to an outcome.

use crate::plan::{Engine, Plan};
use crate::probe::{self, Probe};
use crate::property;
use crate::saved;
use bytecode::Verified;
use contract::{Cancel, Enough, Judged, NoProperty, Observer, Outcome, Property, Quiet, Statistics, StopReason, Trace, Verdict, Violation};
use replay::{Narrator, Step};
use search::{CheckpointError, Checkpoints, Spill, Task};
use std::fmt;
use std::io::Read;
use std::sync::Arc;
use std::time::Instant;
use vm::Interpreter;

/// An outcome, and the steps of its trace in the user's words.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// Verdict and numbers.
    pub outcome: Outcome,
    /// The steps to the violation; empty unless there is one.
    pub steps: Vec<Step>,
    /// What was asked for, with the answer for each.
    pub properties: Vec<Judged>,
    /// The depth-first probe that came before the search, if there was one.
    pub probe: Option<Probe>,
}

/// Why a plan is not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The parts do not fit together; the sentence says why and what to choose instead.
    Combination(&'static str),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Combination(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Refusal {}

/// Why a saved search is not continued.
#[derive(Debug)]
pub enum ResumeError {
    /// The plan is not carried out at all.
    Refused(Refusal),
    /// The checkpoint is no good, or of another search.
    Checkpoint(CheckpointError),
}

impl fmt::Display for ResumeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResumeError::Refused(refusal) => refusal.fmt(f),
            ResumeError::Checkpoint(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ResumeError {}

impl From<Refusal> for ResumeError {
    fn from(refusal: Refusal) -> ResumeError {
        ResumeError::Refused(refusal)
    }
}

impl From<CheckpointError> for ResumeError {
    fn from(error: CheckpointError) -> ResumeError {
        ResumeError::Checkpoint(error)
    }
}

/// What a run has to do with the world around it.
#[derive(Clone)]
pub struct Surroundings<'a> {
    /// How to interrupt it.
    pub cancel: Cancel,
    /// Who hears of its progress.
    pub observer: &'a dyn Observer,
    /// Who wants checkpoints. Each is to be preceded by the bytes of a [`Saved`](crate::Saved) if it shall be complete in itself.
    pub checkpoints: Option<&'a dyn Checkpoints>,
    /// Where a depth-first stack may go when it gets large.
    pub spill: Option<Spill<'a>>,
    /// How much memory the process holds, if the system tells: with it the memory limit is one of the process, not of its tables.
    pub resident: Option<&'a (dyn Fn() -> Option<u64> + Sync)>,
}

impl Default for Surroundings<'_> {
    /// Nobody listens, and there is nowhere to go but memory.
    fn default() -> Self {
        Surroundings { cancel: Cancel::default(), observer: &Quiet, checkpoints: None, spill: None, resident: None }
    }
}

/// Carries out a plan.
///
/// The answer is *violated* only with a trace that the reference interpreter has run through, and *holds* only if the search saw
/// everything through an exact store.
pub fn run(program: &Arc<Verified>, plan: &Plan, cancel: &Cancel, observer: &dyn Observer) -> Result<Checked, Refusal> {
    run_in(program, plan, &Surroundings { cancel: cancel.clone(), observer, ..Surroundings::default() })
}

/// As [`run`], with checkpoints and a place for large stacks if there are such.
pub fn run_in(program: &Arc<Verified>, plan: &Plan, surroundings: &Surroundings<'_>) -> Result<Checked, Refusal> {
    run_with(program, plan, listener(plan), surroundings)
}

/// Goes on from a checkpoint of the same program, property, order and reduction, which begins at `from`, to the answer the search would
/// have had.
pub fn resume(program: &Arc<Verified>, plan: &Plan, surroundings: &Surroundings<'_>, from: &mut dyn Read) -> Result<Checked, ResumeError> {
    plan.refuse_saving()?;
    carry_out(program, plan, listener(plan), surroundings, Some(from))
}

fn listener(plan: &Plan) -> &dyn Property {
    match &plan.property {
        Some(safety) => safety,
        None => &NoProperty,
    }
}

/// Carries out a plan with a property of the caller's instead of the plan's.
pub(crate) fn run_with(
    program: &Arc<Verified>,
    plan: &Plan,
    property: &dyn Property,
    surroundings: &Surroundings<'_>,
) -> Result<Checked, Refusal> {
    carry_out(program, plan, property, surroundings, None).map_err(|error| match error {
        ResumeError::Refused(refusal) => refusal,
        // Nothing was to be resumed, so nothing can be wrong with it.
        ResumeError::Checkpoint(_) => Refusal::Combination("there is no checkpoint"),
    })
}

fn carry_out(
    program: &Arc<Verified>,
    plan: &Plan,
    property: &dyn Property,
    surroundings: &Surroundings<'_>,
    from: Option<&mut dyn Read>,
) -> Result<Checked, ResumeError> {
    plan.refuse()?;
    if surroundings.checkpoints.is_some() {
        plan.refuse_saving()?;
    }
    let deadline = plan.limits.time.map(|time| Instant::now() + time);
    let mut narrator = Narrator::new(Arc::clone(program));
    narrator.give_up_when(enough(plan, &surroundings.cancel));
    if let Some(checked) = broken_at_birth(&narrator, plan) {
        return Ok(judged(program, plan, checked));
    }
    let observer = surroundings.observer;
    let label = saved::digest(program, plan);
    let task = Task {
        property,
        limits: plan.limits,
        cancel: surroundings.cancel.clone(),
        observer,
        threads: plan.threads,
        spill: surroundings.spill,
        checkpoints: surroundings.checkpoints,
        resident: surroundings.resident,
        label: &label,
        ..Task::default()
    };
    let clock = Clock { cancel: surroundings.cancel.clone(), deadline };
    let searched = match native(program, plan, observer) {
        Some(native) => probe::search(&native, plan, &task, from),
        None => probe::search(&Interpreter::new(Arc::clone(program)), plan, &task, from),
    };
    let (outcome, probe) = match searched {
        // The time was up before all of the checkpoint was read.
        Err(CheckpointError::GivenUp(outcome)) => (*outcome, None),
        searched => searched?,
    };
    // What a probe found was known before the time was up, and its path is not long.
    let known = probe.as_ref().is_some_and(|probe| probe.answers);
    let checked = Checked { probe, ..confirm(&narrator, outcome, &|| !known && clock.is_over()) };
    Ok(judged(program, plan, checked))
}

/// When to stop confirming.
struct Clock {
    cancel: Cancel,
    deadline: Option<Instant>,
}

impl Clock {
    fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// What an exploration found, as the answer to everything that was asked.
fn judged(program: &Verified, plan: &Plan, mut checked: Checked) -> Checked {
    let (verdict, properties) = property::judge(plan, property::of_program(program), checked.outcome.verdict);
    checked.outcome.verdict = verdict;
    checked.properties = properties;
    checked
}

/// When whoever tells of steps is to give one up: the time of the run is over, its memory used up, or somebody asks to stop.
pub(crate) fn enough(plan: &Plan, cancel: &Cancel) -> Enough {
    let (began, limits, cancel) = (Instant::now(), plan.limits, cancel.clone());
    Enough::when(move |bytes| {
        let late = limits.time.is_some_and(|limit| began.elapsed() >= limit);
        late || cancel.is_cancelled() || limits.memory.is_some_and(|limit| bytes > limit)
    })
}

/// The program in native code, if the plan asks for that and there is any.
#[cfg(feature = "native")]
fn native(program: &Arc<Verified>, plan: &Plan, observer: &dyn Observer) -> Option<jit::Native> {
    match plan.engine {
        Engine::Interpreter => None,
        Engine::Native => jit::Native::new(Arc::clone(program))
            .inspect_err(|error| observer.notice(&format!("{error}; the interpreter takes its place")))
            .ok(),
    }
}

/// This build makes no native code.
#[cfg(not(feature = "native"))]
fn native(_: &Arc<Verified>, plan: &Plan, observer: &dyn Observer) -> Option<Interpreter> {
    if plan.engine == Engine::Native {
        observer.notice("this build makes no native code; the interpreter takes its place");
    }
    None
}

/// A program whose first processes fail while they are set up has no state to search from; one that only breaks an assertion there has
/// a violation before the first step.
fn broken_at_birth(narrator: &Narrator, plan: &Plan) -> Option<Checked> {
    let (state, fault) = narrator.initial();
    let fault = fault?;
    let wanted = plan.property.is_some_and(|safety| safety.faults);
    if state.is_some() && !wanted {
        return None;
    }
    let trace = Trace { initial: state.unwrap_or_default(), ..Trace::default() };
    let verdict = Verdict::Violated(Box::new(Violation { fault, trace }));
    Some(Checked {
        outcome: Outcome { verdict, statistics: Statistics::default() },
        steps: Vec::new(),
        properties: Vec::new(),
        probe: None,
    })
}

/// Lets a violation pass only if the reference interpreter finds it too. If not, an engine is wrong, and the honest verdict is that we
/// do not know.
fn confirm(narrator: &Narrator, mut outcome: Outcome, stop: &dyn Fn() -> bool) -> Checked {
    let mut steps = Vec::new();
    if let Verdict::Violated(violation) = &mut outcome.verdict {
        match narrator.confirm_unless(violation, stop) {
            Ok(told) => {
                steps = told;
                if violation.fault.position.is_none() {
                    violation.fault.position = narrator.stuck(violation.trace.last_state());
                }
            }
            Err(_) => outcome.verdict = Verdict::Unknown(StopReason::TraceLost(violation.fault.clone())),
        }
    }
    Checked { outcome, steps, properties: Vec::new(), probe: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::{Action, Fault, FaultKind, Safety, TraceStep};

    const STUCK: &str = "process P() {\n STEP N\n ;: false\n LDC 0\n NEXZ\n STEP N\n STEP T\n}\nstart P\n";

    fn narrator() -> Narrator {
        let mut map = source::SourceMap::new();
        let file = map.add("stuck.epa", STUCK);
        let program = bytecode::asm::assemble(&map, file).expect("a good program");
        Narrator::new(Arc::new(bytecode::verify(program).expect("a good program")))
    }

    fn claim(trace: Trace, kind: FaultKind) -> Verdict {
        let violation = Violation { fault: Fault::new(kind, "claimed"), trace };
        let outcome = Outcome { verdict: Verdict::Violated(Box::new(violation)), statistics: Statistics::default() };
        confirm(&narrator(), outcome, &|| false).outcome.verdict
    }

    /// A search for deadlocks alone finds one behind a failed assertion, and its trace is no worse for that.
    #[test]
    fn a_deadlock_behind_a_fault_is_confirmed() {
        let text = "process P() {\n ;: assert(false)\n LDC 0\n ASSERT\n STEP N\n ;: false\n LDC 0\n NEXZ\n STEP N\n STEP T\n}\nstart P\n";
        let mut map = source::SourceMap::new();
        let file = map.add("behind.epa", text);
        let program = Arc::new(bytecode::verify(bytecode::asm::assemble(&map, file).expect("a good program")).expect("a good program"));
        for (faults, kind) in [(true, FaultKind::Assertion), (false, FaultKind::Deadlock)] {
            let plan = Plan { property: Some(Safety { faults, deadlocks: true }), ..Plan::check() };
            let checked = run(&program, &plan, &Cancel::default(), &Quiet).expect("a sound plan");
            let Verdict::Violated(violation) = checked.outcome.verdict else { panic!("{:?}", checked.outcome.verdict) };
            assert_eq!(violation.fault.kind, kind);
        }
    }

    /// No engine is believed: a violation that the reference interpreter does not find is none.
    #[test]
    fn only_true_violations_pass() {
        let narrator = narrator();
        let initial = narrator.initial().0.expect("a state");
        let step = narrator.steps(&initial).expect("a state").remove(0);
        let good = Trace { initial: initial.clone(), steps: vec![TraceStep { action: step.action, state: step.state }], loop_start: None };
        let Verdict::Violated(violation) = claim(good.clone(), FaultKind::Deadlock) else { panic!("a true deadlock was not believed") };
        assert_eq!(violation.fault.position.map(|at| at.line), Some(3), "the stuck process has a place");

        let refused = |trace: Trace, kind| assert!(matches!(claim(trace, kind), Verdict::Unknown(StopReason::TraceLost(_))));
        refused(good.clone(), FaultKind::Assertion);
        refused(Trace { initial, ..Trace::default() }, FaultKind::Deadlock);
        refused(Trace { initial: vec![9, 9], ..good.clone() }, FaultKind::Deadlock);
        let elsewhere = TraceStep { action: Action::new(0, 1), ..good.steps[0].clone() };
        refused(Trace { steps: vec![elsewhere], ..good }, FaultKind::Deadlock);
    }
}
