//! Partial-order reduction: chooses, in each state, the processes that a search must follow.
//!
//! Steps of different processes that do not influence each other lead to the same state in either
//! order, so not all orders need to be tried. In each state this chooses a *stubborn set* of
//! processes (Valmari): as long as no chosen process moves, no step of the others can change,
//! prevent or enable a step of a chosen process. So the steps of the others can be taken afterwards
//! with the same result, and no deadlock is lost. The search must make sure that a fault of one of
//! the others is not postponed for ever (its proviso).
//!
//! The set is found by closure, as in guard-based reduction (Laarman, Pater, van de Pol and Weber,
//! 2013). For an executable step of a chosen process, each process is added that can come to a step
//! that does not accord with it. For a step that is blocked, one condition that does not hold is
//! enough: each process is added that can come to a step that makes it true. The closure is tried
//! from several processes, and the smallest result is taken. The tables behind it (`relations`) are
//! made once for a program; in a state, conditions of steps are evaluated (`evaluate`) and rows of
//! bits are looked up (`choose`).

#![forbid(unsafe_code)]

mod bits;
mod bounds;
mod brute;
mod choose;
mod cycles;
mod evaluate;
mod local;
mod memo;
mod places;
mod relations;
mod steps;

pub use brute::{Examined, Examiner, Flaw};
pub use choose::Stubborn;

use std::fmt;

/// Why there is no reduction for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Off {
    /// Every step writes which process moved last.
    Last,
    /// Which process moves depends on what all others can do.
    Priorities,
    /// Some step asks whether another process can move.
    Enabled,
    /// The property depends on what processes can do, or on which process moved.
    Property,
    /// The program has too many steps for the tables.
    TooLarge,
}

impl fmt::Display for Off {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Off::Last => "the model uses `_last`, which every step changes",
            Off::Priorities => "the model uses priorities, so what a process can do depends on all others",
            Off::Enabled => "the model uses `enabled`, so what a process can do depends on all others",
            Off::Property => "the property uses `timeout` or the like, so every step may change it",
            Off::TooLarge => "the model has too many steps to be compared with each other",
        })
    }
}

impl std::error::Error for Off {}
