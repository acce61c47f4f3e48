//! What to do, as plain data: the options of a run after their names were understood.
//!
//! A plan has a text form in each of its choices (the names users type), so it can be written in a test or read from a
//! command line without any part being built.

use crate::run::Refusal;
use contract::{Limits, Safety};
use std::fmt;
use std::str::FromStr;

/// Declares a choice among named alternatives: the enum, its names, and the way back from a name.
macro_rules! choice {
    ($(#[$meta:meta])* $choice:ident, $what:literal { $($(#[$doc:meta])* $name:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum $choice { $($(#[$doc])* $name,)* }

        impl $choice {
            /// Every alternative.
            pub const ALL: &'static [$choice] = &[$($choice::$name,)*];

            /// The name users type.
            pub const fn name(self) -> &'static str {
                match self { $($choice::$name => $word,)* }
            }
        }

        impl fmt::Display for $choice {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $choice {
            type Err = UnknownName;

            fn from_str(name: &str) -> Result<$choice, UnknownName> {
                let found = $choice::ALL.iter().copied().find(|choice| choice.name() == name);
                found.ok_or_else(|| UnknownName {
                    what: $what,
                    name: name.to_owned(),
                    known: $choice::ALL.iter().map(|choice| choice.name()).collect(),
                })
            }
        }
    };
}

choice! {
    /// The order in which states are visited.
    Order, "search order" {
        /// A short depth-first probe, which finds what lies deep, and then breadth first. Without a property, breadth first at once.
        #[default]
        Auto = "auto",
        /// Breadth first: traces are the shortest there are.
        Breadth = "bfs",
        /// Depth first: deep violations are found early, and memory for waiting states is small.
        Depth = "dfs",
        /// As deep first as workers that share the work can be: each has a stack of its own and gives away half of it to the idle.
        /// Traces are neither shortest nor always the same.
        DepthShared = "dfs-shared",
    }
}

choice! {
    /// What computes successors.
    Engine, "engine" {
        /// Native code; the interpreter where there is none.
        #[cfg_attr(feature = "native", default)]
        Native = "jit",
        /// The reference interpreter.
        #[cfg_attr(not(feature = "native"), default)]
        Interpreter = "vm",
    }
}

choice! {
    /// The part of what a model states that is asked for.
    Only, "part" {
        /// Assertions, end states and run-time errors; no formulas, claims and accept labels.
        #[default]
        Safety = "safety",
    }
}

choice! {
    /// How visited states are kept.
    StoreKind, "store" {
        /// Exact: whole states as long as memory allows, compressed from then on.
        #[default]
        Auto = "auto",
        /// Exact: whole states. The fastest.
        Plain = "plain",
        /// Exact: a few bytes a state, from early on.
        Compact = "compact",
        /// A hash of each state: a few bytes, and a very small chance to overlook a state.
        Hashes = "hash",
        /// A few bits of each state, in an array of at most a gigabyte. Overlooks states as it fills.
        Bits = "bits",
        /// Exact, but forgets states it has left when memory is short, and visits them again. Depth first only.
        Cache = "cache",
    }
}

/// Bits set for each state in a bit array, as SPIN does it.
const BIT_FUNCTIONS: u32 = 3;

/// A name that is none of the known ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    what: &'static str,
    name: String,
    known: Vec<&'static str>,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no {} `{}`; choose from: {}", self.what, self.name, self.known.join(", "))
    }
}

impl std::error::Error for UnknownName {}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What computes successors.
    pub engine: Engine,
    /// The order of the search.
    pub order: Order,
    /// The store of visited states.
    pub store: StoreKind,
    /// What must never happen; nothing, to explore the whole state space.
    pub property: Option<Safety>,
    /// The only part of what the model states that is asked for; everything if not given.
    pub only: Option<Only>,
    /// How many workers.
    pub threads: usize,
    /// What the run may use.
    pub limits: Limits,
    /// For the store of bits: how many to set for each state, from 1 to 8.
    pub bit_functions: u32,
    /// For the store of bits: how many runs to make, each with other hash functions, until a violation is found.
    pub bit_runs: u32,
}

impl Order {
    /// The order in which a search goes through the states: that of the main search, if a probe comes before it.
    pub const fn of_search(self) -> Order {
        match self {
            Order::Auto => Order::Breadth,
            order => order,
        }
    }
}

impl StoreKind {
    /// Whether the store tells states apart without a mistake. A search that completes over another one never says *holds*.
    pub const fn is_exact(self) -> bool {
        match self {
            StoreKind::Auto | StoreKind::Plain | StoreKind::Compact | StoreKind::Cache => true,
            StoreKind::Hashes | StoreKind::Bits => false,
        }
    }
}

impl Plan {
    /// Refuses combinations of parts that would not give a sound answer, or none at all. The one table of what goes together.
    pub fn refuse(&self) -> Result<(), Refusal> {
        use Engine::{Interpreter, Native};
        use Order::{Breadth, Depth, DepthShared};
        use StoreKind::{Bits, Cache, Compact, Hashes, Plain};
        match (self.engine, self.order, self.store) {
            (Native | Interpreter, Order::Auto | Breadth | Depth | DepthShared, StoreKind::Auto | Plain | Compact | Hashes | Bits) => {
                Ok(())
            }
            (Native | Interpreter, Depth, Cache) => Ok(()),
            (Native | Interpreter, Order::Auto | Breadth | DepthShared, Cache) => Err(Refusal::Combination(
                "only a strict depth-first search over a store that forgets is sure to end: use `--search dfs`, or the store `compact`",
            )),
        }
    }

    /// Refuses plans whose search could not be saved and resumed.
    pub fn refuse_saving(&self) -> Result<(), Refusal> {
        match self.order {
            Order::Auto | Order::Breadth | Order::Depth => Ok(()),
            Order::DepthShared => Err(Refusal::Combination(
                "a depth-first search that is shared has no one place to be saved from: use `--search bfs` or `--search dfs`",
            )),
        }
    }

    /// Look for deadlocks and faults, as the defaults have it.
    pub fn check() -> Plan {
        Plan {
            engine: Engine::default(),
            order: Order::default(),
            store: StoreKind::default(),
            property: Some(Safety::default()),
            only: None,
            threads: 1,
            limits: Limits::default(),
            bit_functions: BIT_FUNCTIONS,
            bit_runs: 1,
        }
    }

    /// Explore everything: no property.
    pub fn space() -> Plan {
        Plan { property: None, ..Plan::check() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_what_they_name() {
        for &engine in Engine::ALL {
            assert_eq!(engine.name().parse(), Ok(engine));
        }
        for &order in Order::ALL {
            assert_eq!(order.name().parse(), Ok(order));
        }
        for &store in StoreKind::ALL {
            assert_eq!(store.name().parse(), Ok(store));
        }
        let error = "best".parse::<Order>().unwrap_err();
        assert_eq!(error.to_string(), "there is no search order `best`; choose from: auto, bfs, dfs, dfs-shared");
    }
}
