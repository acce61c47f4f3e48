//! From a plan to an outcome.

use crate::plan::{Engine, Order, Plan, StoreKind};
use bytecode::Verified;
use contract::{Cancel, NoProperty, Observer, Outcome, Property, Statistics, StopReason, Store, System, Trace, Verdict, Violation};
use replay::{Narrator, Step};
use search::Task;
use std::fmt;
use std::sync::Arc;
use vm::Interpreter;

/// An outcome, and the steps of its trace in the user's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Verdict and numbers.
    pub outcome: Outcome,
    /// The steps to the violation; empty unless there is one.
    pub steps: Vec<Step>,
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

/// Carries out a plan.
///
/// The answer is *violated* only with a trace that the reference interpreter has run through, and *holds* only if the search saw
/// everything through an exact store.
pub fn run(program: &Arc<Verified>, plan: &Plan, cancel: &Cancel, observer: &dyn Observer) -> Result<Checked, Refusal> {
    let property: &dyn Property = match &plan.property {
        Some(safety) => safety,
        None => &NoProperty,
    };
    run_with(program, plan, property, cancel, observer)
}

/// Carries out a plan with a property of the caller's instead of the plan's.
pub(crate) fn run_with(
    program: &Arc<Verified>,
    plan: &Plan,
    property: &dyn Property,
    cancel: &Cancel,
    observer: &dyn Observer,
) -> Result<Checked, Refusal> {
    plan.refuse()?;
    let narrator = Narrator::new(Arc::clone(program));
    if let Some(checked) = broken_at_birth(&narrator, plan) {
        return Ok(checked);
    }
    let task = Task { property, limits: plan.limits, cancel: cancel.clone(), observer, threads: plan.threads, ..Task::default() };
    let native = match plan.engine {
        Engine::Interpreter => None,
        Engine::Native => jit::Native::compile(Arc::clone(program), DESCRIBE)
            .inspect_err(|error| observer.notice(&format!("{error}; the interpreter takes its place")))
            .ok(),
    };
    let outcome = match native {
        Some(native) => with_store(&native, plan, &task),
        None => with_store(&Interpreter::new(Arc::clone(program)), plan, &task),
    };
    Ok(confirm(&narrator, outcome))
}

/// Native code and the interpreter tell of faults and components in the same words.
const DESCRIBE: jit::Describe = jit::Describe { fault: vm::describe_fault, components: vm::component_ends };

/// Bits kept of each hash: with ten million states, the chance that any of them is overlooked is below one in a thousand.
const HASH_BITS: u32 = 56;
/// Bits set for each state in a bit array, as SPIN does it.
const BIT_FUNCTIONS: u32 = 3;
/// A bit array does not grow, so it takes what it may at once; but no more than this.
const BIT_ARRAY_MAX: u64 = 1 << 30;
/// What a cached state takes, roughly, and the most states that are kept.
const CACHED_BYTES: u64 = 512;
const CACHED_MAX: u64 = 1 << 22;
/// Hash functions are the same in every run: one worker gives the same answer every time.
const SEED: u64 = 0;

/// Chooses the store; from here on everything is concrete.
fn with_store<S: System + Clone>(system: &S, plan: &Plan, task: &Task<'_>) -> Outcome {
    let budget = plan.limits.memory.unwrap_or(u64::MAX);
    let order = plan.order;
    match plan.store {
        StoreKind::Auto => search(system, &store::Compact::when_needed(budget), order, task),
        StoreKind::Plain => search(system, &store::Plain::with_budget(budget), order, task),
        StoreKind::Compact => search(system, &store::Compact::with_budget(budget), order, task),
        StoreKind::Hashes => search(system, &store::Hashes::new(HASH_BITS, SEED, budget), order, task),
        StoreKind::Bits => search(system, &store::Bits::new((budget / 2).min(BIT_ARRAY_MAX), BIT_FUNCTIONS, SEED), order, task),
        StoreKind::Cache => search(system, &store::Cache::new((budget / CACHED_BYTES).min(CACHED_MAX), budget), order, task),
    }
}

fn search<S: System + Clone, T: Store>(system: &S, store: &T, order: Order, task: &Task<'_>) -> Outcome {
    match order {
        Order::Breadth => search::breadth_first(system, store, task),
        Order::Depth => search::depth_first(system, store, task),
    }
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
    Some(Checked { outcome: Outcome { verdict, statistics: Statistics::default() }, steps: Vec::new() })
}

/// Lets a violation pass only if the reference interpreter finds it too. If not, an engine is wrong, and the honest verdict is that we
/// do not know.
fn confirm(narrator: &Narrator, mut outcome: Outcome) -> Checked {
    let mut steps = Vec::new();
    if let Verdict::Violated(violation) = &mut outcome.verdict {
        match narrator.confirm(violation) {
            Ok(told) => {
                steps = told;
                if violation.fault.position.is_none() {
                    violation.fault.position = narrator.stuck(violation.trace.last_state());
                }
            }
            Err(_) => outcome.verdict = Verdict::Unknown(StopReason::TraceLost(violation.fault.clone())),
        }
    }
    Checked { outcome, steps }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::{Action, Fault, FaultKind, TraceStep};

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
        confirm(&narrator(), outcome).outcome.verdict
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
