//! From the name of a store and of an order to a search over concrete types, and what a lossy store says of itself afterwards.

use crate::plan::{Order, Plan, StoreKind};
use contract::{BitArray, Limits, Observer, Omission, Outcome, Progress, StopReason, Store, System, Verdict};
use search::{CheckpointError, Task};
use std::io::Read;
use std::time::Duration;
use store::{Bits, BitsReport, Cache, Compact, Hashes, Joined, Plain, Union};

/// Bits kept of each hash: with ten million states, the chance that any of them is overlooked is below one in a thousand.
const HASH_BITS: u32 = 56;
/// A bit array does not grow, so it takes what it may at once; but no more than this.
const BIT_ARRAY_MAX: u64 = 1 << 30;
/// What a cached state takes, roughly, and the most states that are kept.
const CACHED_BYTES: u64 = 512;
const CACHED_MAX: u64 = 1 << 22;
/// Hash functions are the same in every run: one worker gives the same answer every time.
const SEED: u64 = 0;

/// Searches with the store and the order of the plan, from the beginning or from a checkpoint.
pub(crate) fn search<S: System + Clone>(
    system: &S,
    plan: &Plan,
    task: &Task<'_>,
    from: Option<&mut dyn Read>,
) -> Result<Outcome, CheckpointError> {
    let budget = plan.limits.memory.unwrap_or(u64::MAX);
    let order = plan.order;
    match plan.store {
        StoreKind::Auto => with(system, &Compact::when_needed(budget), order, task, from),
        StoreKind::Plain => with(system, &Plain::with_budget(budget), order, task, from),
        StoreKind::Compact => with(system, &Compact::with_budget(budget), order, task, from),
        StoreKind::Hashes => {
            let store = Hashes::new(HASH_BITS, SEED, budget);
            let mut outcome = with(system, &store, order, task, from)?;
            outcome.statistics.omission = Some(Omission { probability: store.omission(), bits: None });
            Ok(outcome)
        }
        StoreKind::Bits => bits(system, plan, task),
        StoreKind::Cache => with(system, &Cache::new((budget / CACHED_BYTES).min(CACHED_MAX), budget), order, task, from),
    }
}

/// From here on everything is concrete.
fn with<S: System + Clone, T: Store>(
    system: &S,
    store: &T,
    order: Order,
    task: &Task<'_>,
    from: Option<&mut dyn Read>,
) -> Result<Outcome, CheckpointError> {
    match (from, order) {
        (Some(from), _) => search::resume(system, store, task, from),
        (None, Order::Breadth) => Ok(search::breadth_first(system, store, task)),
        (None, Order::Depth) => Ok(search::depth_first(system, store, task)),
        (None, Order::DepthShared) => Ok(search::depth_first_shared(system, store, task)),
    }
}

/// As many runs as the plan wants, each with other hash functions, until one finds a violation or is stopped.
fn bits<S: System + Clone>(system: &S, plan: &Plan, task: &Task<'_>) -> Result<Outcome, CheckpointError> {
    let bytes = (plan.limits.memory.unwrap_or(u64::MAX) / 2).min(BIT_ARRAY_MAX);
    let functions = plan.bit_functions.clamp(1, 8);
    let filling = Filling { inner: task.observer, bits: bytes as f64 * 8.0, functions: functions.into() };
    let (union, mut runs) = (Union::new(), Vec::new());
    let mut run = |number: u32, time: Option<Duration>| {
        let task = Task { observer: &filling, limits: Limits { time, ..task.limits }, ..task.clone() };
        let store = Joined::new(Bits::new(bytes, functions, SEED + u64::from(number)), &union);
        let mut outcome = with(system, &store, plan.order, &task, None)?;
        let states = outcome.statistics.states;
        runs.push(states);
        let most = runs.iter().copied().max().unwrap_or(states);
        let BitsReport { hash_factor, fill, coverage, .. } = store.store().report();
        let union = if runs.len() == 1 { states } else { union.len().max(most) };
        let array = BitArray { functions, hash_factor, fill, coverage, runs: runs.clone(), union };
        outcome.statistics.omission = Some(Omission { probability: store.omission(), bits: Some(array) });
        Ok::<_, CheckpointError>(outcome)
    };
    let mut best = run(0, task.limits.time)?;
    for number in 1..plan.bit_runs {
        if best.verdict != Verdict::Unknown(StopReason::LossyStore) {
            break;
        }
        let left = task.limits.time.map(|time| time.saturating_sub(best.statistics.elapsed));
        best = better(best, run(number, left)?);
    }
    Ok(best)
}

/// Of two runs the one to report: the latest if it ended the series, or else the one that found more; with what is known of all runs.
fn better(best: Outcome, latest: Outcome) -> Outcome {
    let decisive = latest.verdict != best.verdict;
    let elapsed = best.statistics.elapsed + latest.statistics.elapsed;
    let series = |outcome: &Outcome| outcome.statistics.omission.as_ref().and_then(|omission| omission.bits.clone());
    let all = series(&latest);
    let mut chosen = if decisive || latest.statistics.states > best.statistics.states { latest } else { best };
    chosen.statistics.elapsed = elapsed;
    if let (Some(all), Some(Omission { bits: Some(bits), .. })) = (all, &mut chosen.statistics.omission) {
        (bits.runs, bits.union) = (all.runs, all.union);
    }
    chosen
}

/// Adds to reports of progress how full the bit array must be by now.
struct Filling<'a> {
    inner: &'a dyn Observer,
    bits: f64,
    functions: f64,
}

impl Observer for Filling<'_> {
    fn progress(&self, progress: &Progress) {
        let fill = 1.0 - (-self.functions * progress.states as f64 / self.bits).exp();
        self.inner.progress(&Progress { fill: Some(fill), ..*progress });
    }

    fn notice(&self, text: &str) {
        self.inner.notice(text);
    }
}
