//! From the name of a store and of an order to a search over concrete types, and what a store of hashes says of itself afterwards.

use crate::plan::{Order, Plan, StoreKind};
use crate::series;
use contract::{Omission, Outcome, Store, Successors, System};
use search::{CheckpointError, Task};
use std::io::Read;
use store::{Cache, Compact, Hashes, Plain};

/// Bits kept of each hash: with ten million states, the chance that any of them is overlooked is below one in a thousand.
const HASH_BITS: u32 = 56;
/// What a cached state takes beside its bytes, roughly, and the most states that are kept.
const CACHED_BYTES: u64 = 72;
const CACHED_MAX: u64 = 1 << 24;
/// Hash functions are the same in every run: one worker gives the same answer every time.
pub(crate) const SEED: u64 = 0;

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
        StoreKind::Auto => with(system, &mut Compact::when_needed(budget), order, task, from),
        StoreKind::Plain => with(system, &mut Plain::with_budget(budget), order, task, from),
        StoreKind::Compact => with(system, &mut Compact::with_budget(budget), order, task, from),
        StoreKind::Hashes => {
            let mut store = Hashes::new(HASH_BITS, SEED, budget);
            let mut outcome = with(system, &mut store, order, task, from)?;
            outcome.statistics.omission = Some(Omission { probability: store.omission(), bits: None });
            Ok(outcome)
        }
        StoreKind::Bits => series::bits(system, plan, task, from),
        StoreKind::Cache => with(system, &mut Cache::new(cached(system, budget), budget), order, task, from),
    }
}

/// How many states a cache has room for, if they are as long as the initial ones. The rest of the budget is for the path, and the program.
fn cached<S: System + Clone>(system: &S, budget: u64) -> u64 {
    let mut out = Successors::new();
    system.clone().initial(&mut out);
    let longest = out.iter().filter_map(|(_, state)| state).map(<[u8]>::len).max().unwrap_or(0);
    (budget / 8 * 5 / (CACHED_BYTES + longest as u64)).min(CACHED_MAX)
}

/// From here on everything is concrete.
fn with<S: System + Clone, T: Store>(
    system: &S,
    store: &mut T,
    order: Order,
    task: &Task<'_>,
    from: Option<&mut dyn Read>,
) -> Result<Outcome, CheckpointError> {
    match from {
        Some(from) => search::resume(system, store, task, from),
        None => Ok(go(system, store, order, task)),
    }
}

/// Searches from the beginning.
pub(crate) fn go<S: System + Clone, T: Store>(system: &S, store: &T, order: Order, task: &Task<'_>) -> Outcome {
    match order {
        Order::Auto | Order::Breadth => search::breadth_first(system, store, task),
        Order::Depth => search::depth_first(system, store, task),
        Order::DepthShared => search::depth_first_shared(system, store, task),
    }
}
