//! A short depth-first search before the breadth-first one.
//!
//! A depth-first search often finds a deep violation at once, and a breadth-first search does not
//! find it: there are too many states before it. So the order `auto` begins with a probe. If the
//! probe sees all states, its result is the answer. If it reaches its bounds without a violation,
//! the breadth-first search gives the answer as if there had been no probe. If it finds a
//! violation, the breadth-first search looks for a shortest path among a bounded number of states.
//! Only if it finds none, the path of the probe is shortened and shown. All bounds are numbers of
//! states, not times, so one worker gives the same answer every time.

use crate::plan::Plan;
use crate::stores;
use crate::table::Order;
use contract::{Cancel, Enough, Limits, Outcome, System, Verdict, Violation, ViolationKind};
use search::{CheckpointError, Task};
use std::io::Read;
use std::time::{Duration, Instant};
use store::Plain;

/// The approximate number of states that a probe visits.
const STATES: u64 = 1 << 15;
/// The memory that it may take, and its largest share of the budget.
const BYTES: u64 = 32 << 20;
const SHARE: u64 = 8;
/// The approximate number of states that the breadth-first search visits once a violation is known.
const SHORTEST_STATES: u64 = 1 << 19;
/// The number of states that are expanded to shorten the path of a probe.
const SHORTENING: u64 = 1 << 17;

/// The result of a depth-first probe before the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// States it visited.
    pub states: u64,
    /// Steps between them.
    pub transitions: u64,
    /// Wall-clock time.
    pub elapsed: Duration,
    /// The number of steps to the violation it found, if it found one.
    pub found: Option<u64>,
    /// Whether the answer and its statistics are those of the probe: it has seen all states, or the
    /// breadth-first search found no violation within its bounds. In the second case the path of
    /// the probe was shortened, but it may not be a shortest one.
    pub answers: bool,
}

/// Searches as the plan says, with a probe before it if the order has one.
pub(crate) fn search<S: System + Clone>(
    system: &S,
    plan: &Plan,
    task: &Task<'_>,
    from: Option<&mut dyn Read>,
) -> Result<(Outcome, Option<Probe>), CheckpointError> {
    if plan.order != Order::Auto || plan.property.is_none() || from.is_some() {
        return Ok((stores::search(system, plan, task, from)?, None));
    }
    let clock = Clock { begun: Instant::now(), limit: task.limits.time, cancel: task.cancel.clone() };
    let Outcome { verdict, statistics } = probe(system, plan, task);
    let mut probe =
        Probe { states: statistics.states, transitions: statistics.transitions, elapsed: statistics.elapsed, found: None, answers: false };
    let rest = Task { limits: Limits { time: clock.left(), ..task.limits }, ..task.clone() };
    if verdict == Verdict::Holds && plan.store.is_exact() {
        // The probe has seen all states, with an exact store.
        probe.answers = true;
        return Ok((Outcome { verdict, statistics }, Some(probe)));
    }
    let Verdict::Violated(violation) = verdict else {
        let mut outcome = stores::search(system, plan, &rest, None)?;
        outcome.statistics.elapsed = clock.elapsed();
        return Ok((outcome, Some(probe)));
    };
    probe.found = Some(violation.trace.steps.len() as u64);
    // There will be an answer, so there is nothing to save.
    let bounded = Task { states: Some(SHORTEST_STATES), checkpoints: None, ..rest };
    let mut outcome = stores::search(system, plan, &bounded, None)?;
    if !matches!(outcome.verdict, Verdict::Violated(_)) {
        probe.answers = true;
        outcome = Outcome { verdict: Verdict::Violated(Box::new(shorter(system, *violation, &clock))), statistics };
    }
    outcome.statistics.elapsed = clock.elapsed();
    Ok((outcome, Some(probe)))
}

fn probe<S: System + Clone>(system: &S, plan: &Plan, task: &Task<'_>) -> Outcome {
    let bytes = plan.limits.memory.map_or(BYTES, |budget| BYTES.min(budget / SHARE));
    // The tables of the probe are small. The search that follows makes sure that the whole process
    // stays within its budget.
    let limits = Limits { memory: Some(bytes), ..task.limits };
    let task = Task { states: Some(STATES), limits, threads: 1, checkpoints: None, spill: None, resident: None, ..task.clone() };
    search::depth_first(system, &Plain::with_budget(bytes), &task)
}

/// The same violation at the end of a path that is not longer.
fn shorter<S: System + Clone>(system: &S, violation: Violation, clock: &Clock) -> Violation {
    let Violation { fault, trace } = violation;
    // A deadlock depends on the last state, every other violation on the last step.
    let fixed = fault.kind != ViolationKind::Deadlock;
    let mut system = system.clone();
    let inside = clock.clone();
    system.give_up_when(Enough::when(move |_| inside.is_over()));
    let trace = search::shorten(&mut system, trace, fixed, SHORTENING, &|| clock.is_over());
    Violation { fault, trace }
}

/// The time of all searches together.
#[derive(Clone)]
struct Clock {
    begun: Instant,
    limit: Option<Duration>,
    cancel: Cancel,
}

impl Clock {
    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn left(&self) -> Option<Duration> {
        self.limit.map(|limit| limit.saturating_sub(self.elapsed()))
    }

    fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || self.left().is_some_and(|left| left.is_zero())
    }
}

impl Probe {
    /// The order of the search that gave the answer and its numbers.
    pub fn order(&self) -> Order {
        if self.answers { Order::Depth } else { Order::Breadth }
    }

    /// A remark about a violation that is shown after `steps` steps.
    pub fn remark(&self, steps: usize) -> Option<String> {
        let found = self.found?;
        if !self.answers {
            return (found > steps as u64).then(|| {
                format!("a depth-first probe found a violation after {found} steps; the breadth-first search found this shorter path")
            });
        }
        let shortened = if found > steps as u64 { format!(", shortened from {found} steps to {steps}") } else { String::new() };
        Some(format!(
            "found by a depth-first probe{shortened}; the breadth-first search found no violation within its bounds, so a shorter path \
             may exist: `--search bfs` looks for the shortest. The numbers are those of the probe"
        ))
    }
}
