//! What an execution reports to an observer besides the state it reaches.
//!
//! An exploration records nothing and pays nothing ([`Silent`]). Traces and simulation record every
//! statement and everything printed ([`History`](crate::History)).

use bytecode::{Addr, FormatId};

/// Something that happened within a transition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A process completed a step.
    Step {
        /// The number of the process.
        process: usize,
        /// Its STEP instruction.
        step: Addr,
    },
    /// A process printed.
    Print {
        /// The number of the process.
        process: usize,
        /// The format.
        format: FormatId,
        /// The values.
        values: Vec<i32>,
    },
    /// A value was cut to its type when it was stored or sent.
    Cut {
        /// The instruction.
        at: Addr,
        /// The value as it was computed.
        value: i32,
        /// The value as it is stored.
        stored: i32,
    },
}

/// A recorder of which each alternative of a step has its own copy.
pub(crate) trait Log: Clone + Default {
    /// Whether a user reads what is recorded. Then more work may be done to explain a fault.
    const IS_READ: bool;

    fn event(&mut self, event: impl FnOnce() -> Event);
}

/// Records nothing.
#[derive(Clone, Copy, Default)]
pub(crate) struct Silent;

impl Log for Silent {
    const IS_READ: bool = false;

    fn event(&mut self, _: impl FnOnce() -> Event) {}
}
