//! What a search is allowed, what it reports on its way, and what it finds.
//!
//! There are three verdicts, and why a search stopped early is a value of its own: nothing that was cut short or looked at through a
//! lossy store ever says "holds".

use crate::fault::Fault;
use crate::trace::Trace;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What a search may use; nothing means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time.
    pub time: Option<Duration>,
    /// Bytes of memory, for the store and the search's own queues and stacks together.
    pub memory: Option<u64>,
    /// Steps from an initial state.
    pub depth: Option<u64>,
}

/// Why a search ended without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The memory budget is used up.
    Memory,
    /// Some state lies at the depth limit and was not expanded.
    Depth,
    /// The time is up.
    Time,
    /// Someone asked to stop.
    Interrupted,
    /// The search completed, but its store may have taken new states for seen ones.
    LossyStore,
    /// A violation was found but the path to it could not be reconstructed within the limits.
    TraceLost(Fault),
    /// Reading or writing outside memory failed.
    Storage(String),
}

impl StopReason {
    /// A short, stable name, fit for machine-readable output.
    pub fn name(&self) -> &'static str {
        match self {
            StopReason::Memory => "memory",
            StopReason::Depth => "depth",
            StopReason::Time => "time",
            StopReason::Interrupted => "interrupted",
            StopReason::LossyStore => "lossy-store",
            StopReason::TraceLost(_) => "trace-lost",
            StopReason::Storage(_) => "storage",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StopReason::Memory => f.write_str("the memory budget is used up"),
            StopReason::Depth => f.write_str("the depth limit was reached and states beyond it were not explored"),
            StopReason::Time => f.write_str("the time limit was reached"),
            StopReason::Interrupted => f.write_str("interrupted"),
            StopReason::LossyStore => f.write_str("no violation was found, but the store may have omitted states"),
            StopReason::TraceLost(fault) => write!(f, "a violation was found ({fault}), but not the path to it within the limits"),
            StopReason::Storage(error) => write!(f, "storage failed: {error}"),
        }
    }
}

/// A broken property and the path that breaks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What is wrong.
    pub fault: Fault,
    /// How to get there; the last step is the faulty one.
    pub trace: Trace,
}

/// The answer of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything was explored exactly, and nothing is wrong.
    Holds,
    /// Something is wrong.
    Violated(Box<Violation>),
    /// Not known, and why.
    Unknown(StopReason),
}

/// What a search did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Distinct states, the initial ones included.
    pub states: u64,
    /// Steps between states: each successor of each expanded state counts once.
    pub transitions: u64,
    /// Breadth-first: the most steps any state needs at least. Depth-first: the longest path that was on the stack.
    pub depth: u64,
    /// Wall-clock time.
    pub elapsed: Duration,
    /// Memory the store holds at the end.
    pub store_bytes: u64,
    /// The most memory the search's own queues, stacks and links held.
    pub search_bytes: u64,
    /// States expanded by each worker.
    pub expanded_by_worker: Vec<u64>,
}

/// Verdict and numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The answer.
    pub verdict: Verdict,
    /// What it took.
    pub statistics: Statistics,
}

/// A request to stop, shared between a search and whoever may interrupt it.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks the search to stop. Safe to call from a signal handler.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether someone asked.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A glance at a running search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Distinct states so far.
    pub states: u64,
    /// Steps so far.
    pub transitions: u64,
    /// States waiting to be expanded, or on the stack.
    pub waiting: u64,
    /// The present depth.
    pub depth: u64,
    /// Memory of store and search.
    pub bytes: u64,
    /// Time since the start.
    pub elapsed: Duration,
}

/// Listens to a running search. Called a few times a second at most, from one worker at a time.
pub trait Observer: Sync {
    /// How far the search is.
    fn progress(&self, progress: &Progress) {
        let _ = progress;
    }

    /// Something the user should know, in one line: a store that changes its shape, a stack that goes to disk.
    fn notice(&self, text: &str) {
        let _ = text;
    }
}

/// Listens to nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Observer for Quiet {}
