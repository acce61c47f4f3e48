//! A plan as plain data: the options of a run after their names were parsed.
//!
//! Each choice of a plan has a text form (the name that users type), so a test or the command line
//! can make a plan without building any part.

use crate::choice::choice;
use crate::guide::Guide;
use crate::measure::Measure;
use crate::run::Refusal;
use crate::spread::Spread;
use crate::table::{Combination, Cycles, Method, Order, StoreKind};
use contract::{Limits, Safety};
use optimise::Passes;
use search::Fairness;
use std::thread;

choice! {
    /// The engine that computes successors.
    Engine, "engine" {
        #[cfg_attr(feature = "native", default)]
        Native = "jit", "Native code; the interpreter where native code is missing";
        #[cfg_attr(not(feature = "native"), default)]
        Interpreter = "vm", "The reference interpreter";
    }
}

choice! {
    /// The part of what a model states that is asked for.
    Only, "part" {
        #[default]
        Safety = "safety", "Assertions, end states, run-time errors and channel events; no formulas, claims and accept labels";
    }
}

choice! {
    /// Which infinite runs count.
    Fair, "fairness" {
        #[default]
        Any = "none", "All of them";
        Weak = "weak", "Those in which a process that stays enabled moves";
        Strong = "strong", "Those in which a process that is enabled again and again moves";
    }
}

impl From<Fair> for Fairness {
    fn from(fair: Fair) -> Fairness {
        match fair {
            Fair::Any => Fairness::None,
            Fair::Weak => Fairness::Weak,
            Fair::Strong => Fairness::Strong,
        }
    }
}

choice! {
    /// Whether orders of independent steps are left out, where that changes no verdict.
    Por, "reduction" {
        #[default]
        Off = "off", "They are not";
        On = "on", "They are";
        Checked = "checked", "They are, and each choice is examined by brute force, which is slow";
    }
}

/// Bits set for each state in a bit array, as SPIN does it.
const BIT_FUNCTIONS: u32 = 3;

/// States that one worker visits alone.
const ALONE: u64 = 1 << 15;

/// States of a level that a beam search follows.
const BEAM_WIDTH: u32 = 1000;

/// The options of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The engine that computes successors.
    pub engine: Engine,
    /// The order of the search.
    pub order: Order,
    /// For the sweep: the measure of progress. Without one, all states are in one layer.
    pub measure: Measure,
    /// The store of visited states.
    pub store: StoreKind,
    /// The violations to look for; `None` to explore the whole state space.
    pub property: Option<Safety>,
    /// The only part of the model's properties that is asked for; everything if not given.
    pub only: Option<Only>,
    /// How to look for runs that violate a temporal property.
    pub cycles: Cycles,
    /// The infinite runs that count.
    pub fairness: Fair,
    /// Whether every infinite run must pass progress labels again and again.
    pub non_progress: bool,
    /// Whether the shortest run that violates a temporal property is wanted.
    pub shortest: bool,
    /// Whether orders of independent steps are left out.
    pub por: Por,
    /// The passes that make the program smaller before it is searched.
    pub passes: Passes,
    /// The number of workers.
    pub threads: usize,
    /// The number of states that one worker visits before several look for cycles together. For few
    /// states they cost more than they gain. With 0 they begin at once.
    pub alone: u64,
    /// The limits of the run.
    pub limits: Limits,
    /// Whether the search begins only when all native code is available, instead of using each
    /// piece as soon as it is available.
    pub code_first: bool,
    /// Whether it is recorded which statements are executed.
    pub coverage: bool,
    /// Whether the parts of the search's work are counted and timed.
    pub profile: bool,
    /// For directed search: how the distance to a violation is estimated.
    pub guide: Guide,
    /// For directed search: the atom of the model whose value is the estimate, instead.
    pub guide_atom: Option<u32>,
    /// For directed search: the weight of the path in hundredths, against the estimate; if not
    /// given, the default of the order.
    pub weight: Option<u32>,
    /// For beam search: the most states of a level that are followed.
    pub width: u32,
    /// For directed search: whether the estimates are to be explained.
    pub explained: bool,
    /// For the store of bits: the number of bits to set for each state, from 1 to 8.
    pub bit_functions: u32,
    /// For several processes: how the search is spread over them.
    pub spread: Spread,
    /// For the store of bits: the number of runs, each with other hash functions, until a violation
    /// is found.
    pub bit_runs: u32,
}

impl Plan {
    /// Refuses combinations of parts that would give an unsound answer, or no answer. `saved` says
    /// whether the search is to be saved, or was saved. The needs of a temporal property are
    /// checked later, when the property is known.
    pub fn refuse(&self, saved: bool) -> Result<(), Refusal> {
        Combination::new(self, Method::Exploration, saved).guarantee().map(drop)
    }

    /// What the command `everypath check` does without options: everything that the model states
    /// is checked, with all reductions, one worker for each core, and native code.
    ///
    /// The command also limits the memory, to most of what is free. A library does not know what
    /// its host needs, so there is no limit here.
    pub fn usual() -> Plan {
        Plan { por: Por::On, passes: Passes::ALL, threads: thread::available_parallelism().map_or(1, usize::from), ..Plan::check() }
    }

    /// Looks for deadlocks and faults in the plainest way: no reduction, the program as it is
    /// written, one worker. [`usual`](Self::usual) is faster.
    pub fn check() -> Plan {
        Plan {
            engine: Engine::default(),
            order: Order::default(),
            measure: Measure::default(),
            store: StoreKind::default(),
            property: Some(Safety::default()),
            only: None,
            cycles: Cycles::default(),
            fairness: Fair::default(),
            non_progress: false,
            shortest: false,
            por: Por::Off,
            passes: Passes::default(),
            threads: 1,
            alone: ALONE,
            limits: Limits::default(),
            code_first: false,
            coverage: false,
            profile: false,
            guide: Guide::Auto,
            guide_atom: None,
            weight: None,
            width: BEAM_WIDTH,
            explained: false,
            bit_functions: BIT_FUNCTIONS,
            spread: Spread::default(),
            bit_runs: 1,
        }
    }

    /// Explores all states, without a property.
    pub fn space() -> Plan {
        Plan { property: None, por: Por::Off, passes: Passes::default(), ..Plan::check() }
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
        assert_eq!(
            error.to_string(),
            "there is no search order `best`; choose from: auto, bfs, dfs, dfs-shared, sweep, best-first, astar, ida-star, beam, race"
        );
    }
}
