//! Maps the names of a store and of an order to a search over concrete types, and adds the
//! probability of omissions to its statistics.

use crate::plan::{Fair, Plan};
use crate::race;
use crate::series;
use crate::table::{Order, StoreKind};
use contract::{Limits, Omission, Outcome, Statistics, StopReason, Store, Successors, System, Verdict};
use search::{Automaton, CheckpointError, Closing, Product, Task, Weights};
use std::io::Read;
use std::time::Instant;
use store::{Bits, Cache, Compact, Hashes, Layers, Marked, Plain};

/// Bits kept of each hash: with ten million states, the chance that any of them is overlooked is
/// below one in a thousand.
pub(crate) const HASH_BITS: u32 = 56;
/// The approximate memory of a cached state besides its bytes, and the largest number of states
/// that are kept.
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
    let order = Manner::of_plan(plan);
    match plan.order {
        Order::Race => return race::search(system, plan, task),
        Order::Sweep if from.is_none() => return Ok(sweep(system, plan, task)),
        Order::IdaStar => return Ok(rounds(system, plan, task)),
        _ => {}
    }
    match plan.store {
        // A* needs names that do not change, so states are stored whole.
        StoreKind::Auto if plan.order == Order::AStar => with(system, &mut Plain::with_budget(budget), order, task, from),
        StoreKind::Auto if task.disk.is_some() && plan.order.of_search() == Order::Breadth => memory_then_disk(system, plan, task, from),
        StoreKind::Auto => with(system, &mut Compact::when_needed(budget), order, task, from),
        StoreKind::Disk => memory_then_disk(system, plan, task, from),
        StoreKind::Plain => with(system, &mut Plain::with_budget(budget), order, task, from),
        StoreKind::Compact => with(system, &mut Compact::with_budget(budget), order, task, from),
        StoreKind::Hashes => {
            let mut store = Hashes::new(HASH_BITS, SEED, budget);
            let mut outcome = with(system, &mut store, order, task, from)?;
            outcome.statistics.omission = Some(Omission { probability: store.omission(), bits: None });
            Ok(outcome)
        }
        StoreKind::Bits => series::bits(system, plan, task, from),
        StoreKind::Cache => {
            let room = budget - series::own_bytes(budget, task.resident.is_some());
            with(system, &mut Cache::new(cached(system, room), budget), order, task, from)
        }
    }
}

/// With less memory than this, states go to disk from the beginning. Moving them takes memory, too.
const WORTH_MOVING: u64 = 1 << 20;

/// Begins in memory, compressed from the beginning or when that is needed, and continues on disk
/// when memory is used up.
fn memory_then_disk<S: System + Clone>(
    system: &S,
    plan: &Plan,
    task: &Task<'_>,
    from: Option<&mut dyn Read>,
) -> Result<Outcome, CheckpointError> {
    if let Some(from) = from {
        return search::resume_on_disk(system, task, from);
    }
    if plan.limits.memory.is_some_and(|memory| memory < WORTH_MOVING) {
        return Ok(search::on_disk(system, task));
    }
    let first = |task: &Task<'_>| {
        let budget = task.limits.memory.unwrap_or(u64::MAX);
        let store = if plan.store == StoreKind::Disk { Compact::with_budget(budget) } else { Compact::when_needed(budget) };
        go(system, &store, Manner::of_plan(plan), task)
    };
    Ok(search::then_on_disk(system, task, first))
}

/// How many states fit in a cache, if they are as long as the initial ones. The rest of the memory
/// is for the path.
fn cached<S: System + Clone>(system: &S, room: u64) -> u64 {
    let mut out = Successors::new();
    system.clone().initial(&mut out);
    let longest = out.iter().filter_map(|(_, state)| state).map(<[u8]>::len).max().unwrap_or(0);
    (room / 8 * 5 / (CACHED_BYTES + longest as u64)).min(CACHED_MAX)
}

/// From here on everything is concrete.
fn with<S: System + Clone, T: Store>(
    system: &S,
    store: &mut T,
    order: Manner,
    task: &Task<'_>,
    from: Option<&mut dyn Read>,
) -> Result<Outcome, CheckpointError> {
    match from {
        Some(from) => search::resume(system, store, task, from),
        None => Ok(go(system, store, order, task)),
    }
}

/// An order with its parameters.
#[derive(Clone, Copy)]
pub(crate) struct Manner {
    order: Order,
    weight: Option<u32>,
    width: u32,
}

impl Manner {
    /// An order with default parameters.
    pub(crate) fn of(order: Order) -> Manner {
        Manner { order, ..Manner::of_plan(&Plan::check()) }
    }

    /// The order and parameters of a plan.
    pub(crate) fn of_plan(plan: &Plan) -> Manner {
        Manner { order: plan.order, weight: plan.weight, width: plan.width }
    }

    /// The weights of path and estimate: from the hundredths for the path if given, or else the
    /// usual ones.
    fn weights(self, usual: Weights) -> Weights {
        self.weight.map_or(usual, |path| Weights { path, estimate: 100_u32.saturating_sub(path) })
    }
}

/// Searches from the beginning.
pub(crate) fn go<S: System + Clone, T: Store>(system: &S, store: &T, manner: Manner, task: &Task<'_>) -> Outcome {
    match manner.order {
        Order::Auto | Order::Breadth => search::breadth_first(system, store, task),
        Order::Depth => search::depth_first(system, store, task),
        Order::DepthShared => search::depth_first_shared(system, store, task),
        // A sweep needs a store with layers, and this store has none.
        Order::Sweep => unreachable_store(),
        Order::AStar => search::best_first(system, store, manner.weights(Weights::EQUAL), task),
        // The last two need several stores and are handled elsewhere. With one store, best first is
        // the closest.
        Order::BestFirst | Order::IdaStar | Order::Race => search::best_first(system, store, Weights::GREEDY, task),
        Order::Beam => search::beam(system, store, manner.width as usize, task),
    }
}

/// The address space that one layer may use, whatever the budget is: there are many layers.
const LAYER_BYTES: u64 = 1 << 38;

/// Searches by the measure of the plan.
fn sweep<S: System + Clone>(system: &S, plan: &Plan, task: &Task<'_>) -> Outcome {
    let budget = plan.limits.memory.unwrap_or(LAYER_BYTES).min(LAYER_BYTES);
    let measure = plan.measure.atoms();
    match plan.store {
        StoreKind::Auto if task.disk.is_some() => {
            let begun = Instant::now();
            let outcome = search::sweep(system, &mut Layers::new(move || Plain::with_budget(budget)), measure, task);
            if outcome.verdict != Verdict::Unknown(StopReason::Memory) {
                return outcome;
            }
            task.observer.notice("memory is used up: the sweep begins again on disk");
            let limits = Limits { time: task.limits.time.map(|time| time.saturating_sub(begun.elapsed())), ..task.limits };
            let mut outcome = search::sweep_on_disk(system, measure, &Task { limits, ..task.clone() });
            outcome.statistics.elapsed = begun.elapsed();
            outcome
        }
        StoreKind::Auto | StoreKind::Plain => search::sweep(system, &mut Layers::new(move || Plain::with_budget(budget)), measure, task),
        StoreKind::Disk => search::sweep_on_disk(system, measure, task),
        StoreKind::Compact => search::sweep(system, &mut Layers::new(move || Compact::with_budget(budget)), measure, task),
        // The table has refused these stores.
        StoreKind::Hashes | StoreKind::Bits | StoreKind::Cache => unreachable_store(),
    }
}

/// Searches in rounds, each with a store of its own.
fn rounds<S: System + Clone>(system: &S, plan: &Plan, task: &Task<'_>) -> Outcome {
    let budget = plan.limits.memory.unwrap_or(u64::MAX);
    match plan.store {
        StoreKind::Auto | StoreKind::Plain => search::ida_star(system, &|| Plain::with_budget(budget), task),
        StoreKind::Compact => search::ida_star(system, &|| Compact::with_budget(budget), task),
        StoreKind::Hashes => search::ida_star(system, &|| Hashes::new(HASH_BITS, SEED, budget), task),
        StoreKind::Bits => {
            let bytes = series::array_bytes(budget, task.resident.is_some());
            search::ida_star(system, &|| Bits::new(bytes, plan.bit_functions, SEED), task)
        }
        // The table has refused these stores.
        StoreKind::Disk | StoreKind::Cache => unreachable_store(),
    }
}

/// The memory for the states that one worker visits before other workers start.
const ALONE_BYTES: u64 = 32 << 20;

/// How several workers look for accepted cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Together {
    /// By components.
    Components,
    /// Breadth first.
    Breadth,
    /// One breadth first before the automaton can accept, one by components after that.
    Stages,
}

impl Together {
    /// The same in words, for reports.
    const fn words(self) -> &'static str {
        match self {
            Together::Stages => "in two stages, shared by two workers",
            Together::Components => "components, shared by workers",
            Together::Breadth => "breadth first, one way catch them young, shared by workers",
        }
    }
}

/// How several workers look for the cycles of an automaton. `met` says whether one worker has met
/// accepting edges among the first states.
fn together(automaton: &Automaton, workers: usize, met: bool) -> Together {
    match automaton.begins_early() {
        true if workers == 2 && met && !automaton.is_weak() => Together::Stages,
        early if automaton.sets > 1 || automaton.is_weak() && !early => Together::Components,
        _ => Together::Breadth,
    }
}

/// Looks for accepted cycles by components. Several workers are used only where they help: for few
/// states they cost more than they gain, and one worker finds the same run every time.
///
/// If every cycle on which the automaton accepts is accepting, a search that goes on has met no
/// cycle there, and workers that share components do not disturb each other. Otherwise components
/// are large and are united again and again, which costs several times as much as one worker needs;
/// then the workers search breadth first. That costs much if accepting edges are reached, so two
/// workers then share the stages of the automaton (`docs/performance.md`).
pub(crate) fn components<S: System + Clone>(product: &Product<S>, plan: &Plan, task: &Task<'_>) -> Outcome {
    let budget = plan.limits.memory.unwrap_or(u64::MAX);
    let fairness = plan.fairness.into();
    let shared = task.threads > 1 && plan.fairness == Fair::Any && matches!(plan.store, StoreKind::Auto | StoreKind::Plain);
    if shared && task.limits.depth.is_none() {
        let begun = Instant::now();
        let mut met = true;
        if plan.alone > 0 {
            let alone = Task { threads: 1, states: Some(plan.alone), ..task.clone() };
            let outcome;
            (outcome, met) = search::components_probed(product, fairness, &Plain::with_budget(budget.min(ALONE_BYTES)), &alone);
            if !matches!(outcome.verdict, Verdict::Unknown(StopReason::States | StopReason::Memory)) {
                return outcome;
            }
        }
        let limits = Limits { time: task.limits.time.map(|time| time.saturating_sub(begun.elapsed())), ..task.limits };
        let (store, task) = (Plain::with_budget(budget), Task { limits, ..task.clone() });
        let together = together(product.automaton(), task.threads, met);
        let mut outcome = match together {
            Together::Stages => search::staged_shared(product, &store, &task),
            Together::Components => search::components_shared(product, &store, &task),
            Together::Breadth => search::catch_them_young(product, &store, &task),
        };
        outcome.statistics.manner = Some(together.words());
        return outcome;
    }
    match plan.store {
        StoreKind::Auto | StoreKind::Plain => search::components(product, fairness, &Plain::with_budget(budget), task),
        StoreKind::Compact => search::components(product, fairness, &Compact::with_budget(budget), task),
        StoreKind::Hashes => {
            let store = Hashes::new(HASH_BITS, SEED, budget);
            let mut outcome = search::components(product, fairness, &store, task);
            outcome.statistics.omission = Some(Omission { probability: store.omission(), bits: None });
            outcome
        }
        // The table has refused these stores.
        StoreKind::Bits | StoreKind::Disk | StoreKind::Cache => unreachable_store(),
    }
}

/// Looks for accepted cycles by two nested searches.
pub(crate) fn nested<S: System + Clone>(product: &Product<S>, plan: &Plan, task: &Task<'_>) -> Outcome {
    let budget = plan.limits.memory.unwrap_or(u64::MAX);
    match plan.store {
        StoreKind::Auto | StoreKind::Plain => {
            let store = Marked::new(Plain::with_budget(budget), Plain::with_budget(budget));
            search::nested_depth_first(product, product, &store, task)
        }
        StoreKind::Compact => {
            let store = Marked::new(Compact::with_budget(budget), Compact::with_budget(budget));
            search::nested_depth_first(product, product, &store, task)
        }
        StoreKind::Hashes | StoreKind::Bits | StoreKind::Disk | StoreKind::Cache => unreachable_store(),
    }
}

/// Searches for accepted cycles by estimates; `None` if the plan's order and store cannot do it.
pub(crate) fn toward_cycles<S: System + Clone>(
    product: &Product<S>,
    plan: &Plan,
    closing: &Closing<'_>,
    task: &Task<'_>,
) -> Option<Outcome> {
    let budget = plan.limits.memory.unwrap_or(u64::MAX);
    let weights = match plan.order {
        Order::AStar => Manner::of_plan(plan).weights(Weights::EQUAL),
        Order::BestFirst => Weights::GREEDY,
        _ => return None,
    };
    match plan.store {
        StoreKind::Auto | StoreKind::Plain => {
            let fresh = || Plain::with_budget(budget);
            let stores = (&fresh(), &Marked::new(fresh(), fresh()));
            Some(search::toward_cycles(product, stores, &fresh, weights, closing, task))
        }
        _ => None,
    }
}

fn unreachable_store() -> Outcome {
    let verdict = Verdict::Unknown(StopReason::Storage("the store cannot do what the search needs".to_owned()));
    Outcome { verdict, statistics: Statistics::default() }
}
