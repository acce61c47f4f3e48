//! Which search orders and stores go together, as one table.
//!
//! A search knows no concrete store, so the table speaks of what stores promise. Whoever lets users combine orders and stores asks it
//! first, and refuses what it refuses, in its words.

use contract::Store;

/// A search order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// [`breadth_first`](crate::breadth_first), with any number of workers.
    Breadth,
    /// [`depth_first`](crate::depth_first), strictly, with one worker.
    Depth,
    /// [`depth_first_shared`](crate::depth_first_shared), with any number of workers.
    DepthShared,
}

/// What a store promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Promise {
    /// Never takes a new state for a seen one, nor a seen one for new.
    Remembers,
    /// Never takes a new state for a seen one, but may take a state that was left for new.
    Forgets,
    /// May take a new state for a seen one.
    Omits,
}

impl Promise {
    /// What stores of type `T` promise.
    pub fn of<T: Store>() -> Promise {
        match (T::EXACT, T::FORGETS) {
            (true, false) => Promise::Remembers,
            (true, true) => Promise::Forgets,
            (false, _) => Promise::Omits,
        }
    }
}

/// What a combination is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Soundness {
    /// A search that completes says "holds" or "violated", and its numbers are those of the model.
    Sound,
    /// As `Sound`, but states that were forgotten are counted again.
    SoundWithRevisits,
    /// A violation is a violation, but a search that finds none does not know.
    FindsOnly,
    /// Makes no sense.
    Refused {
        /// Why.
        reason: &'static str,
        /// What to use instead.
        instead: &'static str,
    },
}

const MAY_NOT_END: &str =
    "only a strict depth-first search knows when it has left a state, so over a store that forgets no other one need end";
const USE_DEPTH: &str = "search depth-first, or use a store that remembers";

/// Every combination.
pub const TABLE: [(Order, Promise, Soundness); 9] = [
    (Order::Breadth, Promise::Remembers, Soundness::Sound),
    (Order::Breadth, Promise::Forgets, Soundness::Refused { reason: MAY_NOT_END, instead: USE_DEPTH }),
    (Order::Breadth, Promise::Omits, Soundness::FindsOnly),
    (Order::Depth, Promise::Remembers, Soundness::Sound),
    (Order::Depth, Promise::Forgets, Soundness::SoundWithRevisits),
    (Order::Depth, Promise::Omits, Soundness::FindsOnly),
    (Order::DepthShared, Promise::Remembers, Soundness::Sound),
    (Order::DepthShared, Promise::Forgets, Soundness::Refused { reason: MAY_NOT_END, instead: USE_DEPTH }),
    (Order::DepthShared, Promise::Omits, Soundness::FindsOnly),
];

/// What the table says of a combination.
pub fn soundness(order: Order, promise: Promise) -> Soundness {
    let row = TABLE.iter().find(|row| (row.0, row.1) == (order, promise));
    // The table is complete, and a test says so.
    row.map_or(Soundness::Refused { reason: "nothing is known of this combination", instead: USE_DEPTH }, |row| row.2)
}
