//! The one table of valid combinations: search order, store, reduction, the kind of search that a
//! property needs, and what the search is for.
//!
//! A row for each order and each store says what it can do. [`RULES`] has the conditions that a
//! combination must meet, and [`UNREDUCED`] those under which a reduction is switched off. Refusals
//! and notes come from here, the command line lists these names with their help, and a test tries
//! every combination: it is refused with its sentence, or it runs on small models and keeps its
//! [`Guarantee`].

use crate::choice::choice;
use crate::plan::{Fair, Only, Plan, Por};
use crate::run::Refusal;

choice! {
    /// The order in which states are visited.
    Order, "search order" {
        #[default]
        Auto = "auto", "A short depth-first probe, then breadth first; without a property, breadth first at once";
        Breadth = "bfs", "Breadth first: traces are shortest, except with the reduction, which may leave out a shorter path";
        Depth = "dfs", "Strictly depth first, one worker: finds deep violations early, keeps few states waiting";
        DepthShared = "dfs-shared", "Depth first with a stack for each worker: traces are neither shortest nor always the same";
        Sweep = "sweep", "Least progress first by a measure, deleting states that it has passed: little memory if the model makes progress";
        BestFirst = "best-first", "Directed: states that seem nearest to a violation first, one worker";
        AStar = "astar", "Directed: states with the least path plus estimate first, one worker; shortest traces if the estimate is a lower bound";
        IdaStar = "ida-star", "A* as depth-first rounds with a growing bound: repeats work, needs less memory";
        Beam = "beam", "Directed, level by level: only the most promising states of each level; may overlook violations";
        Race = "race", "Breadth-first, depth-first and best-first search side by side, or in turn with fewer workers; the first answer ends them all";
    }
}

choice! {
    /// How visited states are kept.
    StoreKind, "store" {
        #[default]
        Auto = "auto", "Exact: whole states as long as memory allows, compressed from then on. Whole states only where compressed ones do not do: A*, sweeps";
        Plain = "plain", "Exact: whole states. The fastest";
        Compact = "compact", "Exact: a few bytes a state, from early on";
        Hashes = "hash", "A hash of each state: a few bytes, and a very small chance to overlook a state";
        Bits = "bits", "A few bits for each state in an array of at most a gigabyte: overlooks states as it fills";
        Disk = "disk", "Exact: a few bytes a state in memory, and sorted, compressed files when memory is used up. Memory decides how fast the search is, not how far it gets. Breadth first and sweeps only";
        Cache = "cache", "Exact, but forgets states when memory is short and visits them again. Depth first only";
    }
}

choice! {
    /// How a search looks for runs that violate a temporal property.
    Cycles, "search for cycles" {
        #[default]
        Components = "scc", "Strongly connected components: each state is expanded once, and fairness costs little";
        Nested = "ndfs", "Two nested depth-first searches";
        Young = "owcty", "Breadth first: states that cannot lie on an accepting cycle are removed until nothing changes";
    }
}

/// The abilities of an order.
struct OrderRow {
    /// It knows when it is finished with a state.
    leaves: bool,
    /// It can be saved and resumed.
    saved: bool,
    /// It uses estimates.
    directed: bool,
    /// It finds known states again by their names.
    reopens: bool,
    /// Its paths are meant to be shortest, so no step of them can be left out.
    shortest: bool,
}

impl OrderRow {
    const BREADTH: OrderRow = OrderRow { leaves: false, saved: true, directed: false, reopens: false, shortest: false };
    const DIRECTED: OrderRow = OrderRow { saved: false, directed: true, ..OrderRow::BREADTH };
}

const fn order(order: Order) -> OrderRow {
    match order {
        Order::Auto => OrderRow::BREADTH,
        Order::Breadth => OrderRow::BREADTH,
        Order::Depth => OrderRow { leaves: true, ..OrderRow::BREADTH },
        Order::DepthShared => OrderRow { saved: false, ..OrderRow::BREADTH },
        Order::Sweep => OrderRow { saved: false, ..OrderRow::BREADTH },
        Order::BestFirst => OrderRow::DIRECTED,
        Order::AStar => OrderRow { reopens: true, shortest: true, ..OrderRow::DIRECTED },
        Order::IdaStar => OrderRow { shortest: true, ..OrderRow::DIRECTED },
        Order::Beam => OrderRow::DIRECTED,
        Order::Race => OrderRow::DIRECTED,
    }
}

/// The guarantees of a store.
struct StoreRow {
    /// It never reports a new state as known.
    exact: bool,
    /// It may report a state as new again after the search has left it.
    forgets: bool,
    /// A search for components can run over it.
    components: bool,
    /// States can carry marks.
    marks: bool,
    /// Layers of states can be deleted.
    layers: bool,
    /// Names of states never change.
    names: bool,
    /// Whether a state is new is known at the end of a level only.
    answers_late: bool,
}

impl StoreRow {
    const WHOLE: StoreRow =
        StoreRow { exact: true, forgets: false, components: true, marks: true, names: true, layers: true, answers_late: false };
}

const fn store(store: StoreKind) -> StoreRow {
    match store {
        StoreKind::Auto => StoreRow::WHOLE,
        StoreKind::Plain => StoreRow::WHOLE,
        StoreKind::Compact => StoreRow { names: false, ..StoreRow::WHOLE },
        StoreKind::Hashes => StoreRow { exact: false, marks: false, names: false, layers: false, ..StoreRow::WHOLE },
        StoreKind::Bits => StoreRow { exact: false, components: false, marks: false, names: false, layers: false, ..StoreRow::WHOLE },
        StoreKind::Disk => StoreRow { marks: false, names: false, layers: false, answers_late: true, ..StoreRow::WHOLE },
        StoreKind::Cache => StoreRow { forgets: true, components: false, marks: false, names: false, layers: false, ..StoreRow::WHOLE },
    }
}

impl Order {
    /// The order of the main search, if a probe comes before it.
    pub const fn of_search(self) -> Order {
        match self {
            Order::Auto => Order::Breadth,
            order => order,
        }
    }

    /// Whether it uses estimates of the distance to a violation.
    pub const fn is_directed(self) -> bool {
        order(self).directed
    }

    /// The order in words, for reports.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Order::Auto => "a depth-first probe, breadth first",
            Order::Breadth => "breadth first",
            Order::Depth => "depth first",
            Order::DepthShared => "depth first, shared",
            Order::Sweep => "by progress, with deletion",
            Order::BestFirst => "best first",
            Order::AStar => "A*",
            Order::IdaStar => "iterative deepening A*",
            Order::Beam => "a beam, level by level",
            Order::Race => "several orders, the first answer",
        }
    }
}

impl StoreKind {
    /// Whether the store never confuses two states. A search over another store never says *holds*.
    pub const fn is_exact(self) -> bool {
        store(self).exact
    }

    /// Whether the store knows only at the end of a level which states are new.
    pub(crate) const fn answers_late(self) -> bool {
        store(self).answers_late
    }
}

/// The kind of search that a property needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Method {
    /// Visit all states: deadlocks, assertions, run-time errors.
    Exploration,
    /// Visit the states of a product with an automaton that accepts by a finite run.
    FiniteRun,
    /// Look for accepted cycles.
    Cycles(Cycles),
    /// Look for components that cannot be left.
    Terminal,
}

/// The parts of a search that are to be combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Combination {
    pub order: Order,
    pub store: StoreKind,
    pub method: Method,
    pub fairness: Fair,
    /// Whether orders of independent steps are left out.
    pub reduction: Por,
    /// Whether the shortest run that violates a temporal property is wanted.
    pub shortest: bool,
    /// Whether the search is to be saved, or was saved.
    pub saved: bool,
    /// Whether several processes share the search.
    pub several: bool,
    /// Whether they look at the successors of states of others before they send them.
    pub lookahead: bool,
    /// The only part of the model's properties that is asked for.
    pub only: Option<Only>,
    /// Whether every infinite run must pass progress labels again and again.
    pub non_progress: bool,
    /// Whether it is recorded which statements are executed.
    pub coverage: bool,
    /// Whether the answer is the state space as a graph.
    pub graph: bool,
    /// Whether there is a folder for states.
    pub folder: bool,
}

/// The strength of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guarantee {
    /// A search that completes says *holds* or *violated*, and its statistics are those of the
    /// model.
    Full,
    /// As `Full`, but states that were forgotten or deleted are counted again.
    Revisits,
    /// A violation is real, but a search that finds none says *unknown*.
    FindsOnly,
}

/// A rule that some combinations break.
struct Rule {
    broken: fn(&Combination) -> bool,
    /// Why they are refused, and what to choose instead; or why the reduction is off.
    refusal: &'static str,
}

/// The first rule that is broken gives the refusal.
const RULES: &[Rule] = &[
    Rule {
        // A property must never be left out silently.
        broken: |c| c.non_progress && c.only == Some(Only::Safety),
        refusal: "cycles without progress are no part of `--only safety`: leave out one of the two",
    },
    Rule {
        broken: |c| c.graph && !c.several && !store(c.store).names,
        refusal: "a graph needs a store in which the names of states do not change: leave out `--store`, or use `--store plain`",
    },
    Rule {
        broken: |c| c.graph && c.several && !store(c.store).exact,
        refusal: "a graph has all states: leave out `--store`, or use `--store plain`",
    },
    Rule {
        broken: |c| c.graph && !c.several && c.order == Order::Sweep,
        refusal: "a sweep deletes states, and a graph needs them all: leave out `--search`, or use `--search bfs`",
    },
    Rule { broken: |c| refuse_forgetting(store(c.store).forgets, c.order).is_err(), refusal: FORGETS },
    Rule {
        broken: |c| store(c.store).answers_late && !matches!(c.order.of_search(), Order::Breadth | Order::Sweep),
        refusal: "a store on disk tells at the end of a level what is new: use `--search bfs`, or the store `compact`",
    },
    Rule { broken: |c| order(c.order).reopens && !store(c.store).names, refusal: RENAMES },
    Rule {
        broken: |c| c.saved && order(c.order).directed,
        refusal: "a directed search is not saved: use `--search bfs` or `--search dfs`",
    },
    Rule {
        broken: |c| c.order == Order::Sweep && !store(c.store).layers && !store(c.store).answers_late,
        refusal: "a sweep deletes states layer by layer, which an array of bits or hashes or a cache cannot do: use `plain` or `compact`",
    },
    Rule {
        broken: |c| c.order == Order::Sweep && c.saved,
        refusal: "a sweep has deleted most of the states that a saved search would need: use `--search bfs` or `--search dfs`",
    },
    Rule {
        broken: |c| store(c.store).answers_late && matches!(c.method, Method::Cycles(_)) && c.fairness != Fair::Any,
        refusal: "fairness is a matter of components, which a search on disk does not have: use the store `compact`",
    },
    Rule {
        broken: |c| store(c.store).answers_late && c.order == Order::Sweep && matches!(c.method, Method::Cycles(_)),
        refusal: "a sweep looks for cycles among states that it keeps in memory: use `--search bfs`, or the store `compact`",
    },
    Rule {
        broken: |c| c.order == Order::Sweep && matches!(c.method, Method::Cycles(_)) && c.fairness != Fair::Any,
        refusal: "a sweep deletes the states that fairness depends on: leave out `--search sweep`",
    },
    Rule {
        broken: |c| c.order == Order::Sweep && matches!(c.method, Method::Cycles(Cycles::Nested | Cycles::Young)),
        refusal: "a sweep looks for cycles in its own way: leave out `--cycles`, or `--search sweep`",
    },
    Rule {
        broken: |c| c.saved && !order(c.order).saved,
        refusal: "a shared depth-first search has no single point at which it could be saved: use `--search bfs` or `--search dfs`",
    },
    Rule {
        broken: |c| matches!(c.method, Method::Cycles(_)) && !store(c.store).components,
        refusal: "a search for cycles needs a store that never takes a new state for a known one and never forgets a state on the search path: \
                  use `plain`, `compact` or `hash`",
    },
    Rule {
        broken: |c| c.method == Method::Cycles(Cycles::Nested) && !store(c.store).marks,
        refusal: "a nested search marks states, and a store of hashes or on disk cannot carry marks: use `--cycles scc`, or the store `plain` or \
                  `compact`",
    },
    Rule {
        broken: |c| c.method == Method::Cycles(Cycles::Young) && !store(c.store).names && !store(c.store).answers_late,
        refusal: "a breadth-first search for cycles finds states again by their names, and in this store names change: use `--cycles \
                  scc`, or the store `plain`",
    },
    Rule {
        broken: |c| matches!(c.method, Method::Cycles(Cycles::Nested | Cycles::Young)) && c.fairness != Fair::Any,
        refusal: "fairness is decided on strongly connected components: use `--cycles scc`",
    },
    Rule {
        broken: |c| c.several && c.order.of_search() != Order::Breadth,
        refusal: "several processes search breadth first: leave out `--search`, or use `--search bfs`",
    },
    Rule {
        broken: |c| c.several && store(c.store).answers_late,
        refusal: "several processes keep their states in memory: use `--store compact`, or leave out `--processes`",
    },
    Rule {
        broken: |c| c.several && c.saved && !store(c.store).exact,
        refusal: "several processes save states, and this store has none: use `--store compact`",
    },
    Rule {
        broken: |c| c.several && c.reduction == Por::Checked,
        refusal: "`--check-por` examines the choices of one process: leave out `--processes`",
    },
    Rule {
        broken: |c| c.several && c.saved && c.lookahead,
        refusal: "what is found by looking ahead belongs to no level that could be saved: leave out `--lookahead`",
    },
    Rule {
        broken: |c| c.several && c.folder,
        refusal: "several processes keep their states in memory: leave out `--disk`, or `--processes`",
    },
    Rule { broken: |c| c.several && c.coverage, refusal: "`--coverage` is recorded by one process: leave out `--processes`" },
    Rule {
        broken: |c| c.saved && c.coverage,
        refusal: "what was executed is not saved with the search: leave out `--coverage`, or `--checkpoint`",
    },
    Rule {
        broken: |c| c.method == Method::Terminal && (order(c.order).directed || c.order == Order::DepthShared),
        refusal: "`AG EF p` and `EF AG p` are decided when all states are known, by components, which one worker finds depth first: \
                  leave out `--search`, or use `--search sweep`",
    },
    Rule {
        broken: |c| c.method == Method::Terminal && !store(c.store).layers,
        refusal: "`AG EF p` and `EF AG p` are decided by components, whose states are kept whole in memory: leave out `--store`",
    },
    Rule {
        broken: |c| store(c.store).answers_late && !c.folder,
        refusal: "the store `disk` needs a folder for the states: give one, or use the store `compact`",
    },
];

/// The first rule that is broken says why a reduction that was asked for is off.
const UNREDUCED: &[Rule] = &[
    // A state that is new to a sweep or to a store that forgets may have been visited, so no step
    // can be postponed safely.
    Rule { broken: |c| c.order == Order::Sweep, refusal: "the sweep deletes states" },
    Rule { broken: |c| c.method == Method::Exploration && store(c.store).forgets, refusal: "the store forgets states" },
    Rule {
        broken: |c| c.method == Method::Exploration && order(c.order).shortest,
        refusal: "a shortest path may need an order of steps that would be left out",
    },
    Rule {
        broken: |c| c.method != Method::Exploration && c.fairness != Fair::Any,
        refusal: "with fairness it matters which processes can move, and that is not preserved",
    },
    Rule {
        // The shortest lasso is searched later, without a reduction.
        broken: |c| c.method == Method::FiniteRun && c.shortest || c.method != Method::Exploration && order(c.order).shortest,
        refusal: "the shortest run may be one that is left out",
    },
];

const FORGETS: &str =
    "over a store that forgets, only a strict depth-first search is sure to end: use `--search dfs`, or the store `compact`";

const RENAMES: &str = "A* finds a known state again by its name when a shorter path leads there, and in this store names change: use \
                       the store `plain`, or `--search best-first`, which expands no state twice";

/// Refuses orders that may never end over a store that forgets.
pub(crate) fn refuse_forgetting(forgets: bool, by: Order) -> Result<(), Refusal> {
    if forgets && !order(by).leaves { Err(Refusal::Combination(FORGETS)) } else { Ok(()) }
}

/// Refuses orders that are impossible over the caller's store.
pub(crate) fn refuse_store(forgets: bool, names: bool, by: Order) -> Result<(), Refusal> {
    refuse_forgetting(forgets, by)?;
    match by {
        Order::IdaStar | Order::Race => Err(Refusal::Combination("this order needs several stores: use `best-first` or `bfs`")),
        Order::Sweep => Err(Refusal::Combination("a sweep needs a store in layers: `search::sweep` takes one")),
        by if order(by).reopens && !names => Err(Refusal::Combination(RENAMES)),
        _ => Ok(()),
    }
}

impl Combination {
    /// The combination in a plan for a property that needs `method`, in one process. If the store
    /// needs a folder, it is taken for granted.
    pub(crate) fn new(plan: &Plan, method: Method, saved: bool) -> Combination {
        let Plan { order, store, fairness, por, shortest, only, non_progress, coverage, .. } = *plan;
        Combination {
            order,
            store,
            method,
            fairness,
            reduction: por,
            shortest,
            saved,
            several: false,
            lookahead: plan.spread.lookahead,
            only,
            non_progress,
            coverage,
            graph: false,
            folder: plan.store.answers_late(),
        }
    }

    /// Why a reduction would change the answer, if it would.
    pub(crate) fn unreduced(&self) -> Option<&'static str> {
        UNREDUCED.iter().find(|rule| (rule.broken)(self)).map(|rule| rule.refusal)
    }

    /// The guarantee of the answer, or why there is none.
    pub(crate) fn guarantee(&self) -> Result<Guarantee, Refusal> {
        if let Some(rule) = RULES.iter().find(|rule| (rule.broken)(self)) {
            return Err(Refusal::Combination(rule.refusal));
        }
        let StoreRow { exact, forgets, .. } = store(self.store);
        let forgets = forgets || self.order == Order::Sweep;
        Ok(match (exact, forgets) {
            (false, _) => Guarantee::FindsOnly,
            (true, true) => Guarantee::Revisits,
            (true, false) => Guarantee::Full,
        })
    }
}

#[cfg(test)]
mod tests;
