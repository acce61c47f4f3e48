//! The limits of a search, its progress reports, and its result.
//!
//! There are three verdicts. The reason why a search stopped early is a value of its own. A search
//! that was cut short, or that used a lossy store, never says "holds".

use crate::fault::Fault;
use crate::trace::Trace;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The limits of a search. `None` means no limit.
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
    /// The number of states that the caller asked for was reached.
    States,
    /// The time is up.
    Time,
    /// The caller asked the search to stop.
    Interrupted,
    /// The search completed, but its store may have taken new states for known ones.
    LossyStore,
    /// A violation was found but the path to it could not be reconstructed within the limits.
    TraceLost(Fault),
    /// Reading or writing outside memory failed.
    Storage(String),
    /// Everything was explored, but no search checks these stated properties.
    Unchecked(Vec<String>),
    /// A reduction left out something that it must not leave out, as the sentence says. Nothing is
    /// known about the model.
    Reduction(String),
    /// The measure of progress cannot be used here, as the sentence says.
    Measure(String),
    /// For one property among several: the search ended with a violation of another property.
    OtherViolation,
    /// No violation was found, but a beam search left states out.
    Narrow,
    /// A worker of a distributed run is gone; the sentence says which one.
    WorkerLost(String),
    /// The model does something that its translation does not follow, so that nothing is known
    /// about what comes after it.
    Unsupported(Fault),
}

impl StopReason {
    /// Whether the search explored everything it could, so that resuming it would give no new
    /// answer.
    pub fn is_complete(&self) -> bool {
        matches!(self, StopReason::LossyStore | StopReason::Unchecked(_) | StopReason::Narrow)
    }

    /// A short, stable name for machine-readable output.
    pub fn name(&self) -> &'static str {
        match self {
            StopReason::Memory => "memory",
            StopReason::Depth => "depth",
            StopReason::States => "states",
            StopReason::Time => "time",
            StopReason::Interrupted => "interrupted",
            StopReason::LossyStore => "lossy-store",
            StopReason::TraceLost(_) => "trace-lost",
            StopReason::Storage(_) => "storage",
            StopReason::Unchecked(_) => "unchecked",
            StopReason::Reduction(_) => "reduction",
            StopReason::Measure(_) => "measure",
            StopReason::OtherViolation => "other-violation",
            StopReason::Narrow => "narrow-beam",
            StopReason::WorkerLost(_) => "worker-lost",
            StopReason::Unsupported(_) => "unsupported",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StopReason::Memory => f.write_str("the memory budget is used up"),
            StopReason::Depth => f.write_str("the depth limit was reached and states beyond it were not explored"),
            StopReason::States => f.write_str("the requested number of states was visited"),
            StopReason::Time => f.write_str("the time limit was reached"),
            StopReason::Interrupted => f.write_str("interrupted"),
            StopReason::LossyStore => f.write_str("no violation was found, but the store may have omitted states"),
            StopReason::TraceLost(fault) => write!(f, "a violation was found ({fault}), but not the path to it within the limits"),
            StopReason::Storage(error) => write!(f, "storage failed: {error}"),
            StopReason::Unchecked(names) => {
                let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                let verb = if names.len() == 1 { "is" } else { "are" };
                write!(f, "{} {verb} stated and cannot be checked yet; nothing else was found to be wrong", names.join(", "))
            }
            StopReason::Reduction(how) => write!(f, "a choice of the partial-order reduction is wrong: {how}"),
            StopReason::Measure(why) => f.write_str(why),
            StopReason::OtherViolation => f.write_str("the search ended with the violation of another property"),
            StopReason::WorkerLost(why) => f.write_str(why),
            StopReason::Unsupported(fault) => {
                f.write_str(&fault.message)?;
                fault.position.as_ref().map_or(Ok(()), |position| write!(f, " ({}, line {})", position.file, position.line))
            }
            StopReason::Narrow => f.write_str("no violation was found, but the beam was too narrow for all states"),
        }
    }
}

/// A violated property and the path to the violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The fault.
    pub fault: Fault,
    /// The path to it; the last step is the faulty one.
    pub trace: Trace,
}

/// The answer of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything was explored exactly, and no violation exists.
    Holds,
    /// A violation was found.
    Violated(Box<Violation>),
    /// The answer is not known, for this reason.
    Unknown(StopReason),
}

/// An estimate of what a store that is not exact may have overlooked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Omission {
    /// The probability that some new state was taken for a known one.
    pub probability: f64,
    /// For a bit array, how well it was used.
    pub bits: Option<BitArray>,
}

/// How well a bit array was used, in the run of a series that found the most.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BitArray {
    /// Bits set for each state.
    pub functions: u32,
    /// Bits of the array for each state found.
    pub hash_factor: f64,
    /// The share of bits that are set.
    pub fill: f64,
    /// The estimated share of the reached states that were recognised as new.
    pub coverage: f64,
    /// The number of states that each run found; there is one run for each set of hash functions.
    pub runs: Vec<u64>,
    /// The number of states found by all runs together, estimated with an error of about one in a
    /// hundred; exact if there was only one run.
    pub union: u64,
}

/// The numbers of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Distinct states, the initial ones included.
    pub states: u64,
    /// Steps between states: each successor of each expanded state counts once.
    pub transitions: u64,
    /// Breadth-first: the greatest distance of a state from an initial state. Depth-first: the
    /// length of the longest path that was on the stack.
    pub depth: u64,
    /// Wall-clock time.
    pub elapsed: Duration,
    /// Memory the store holds at the end.
    pub store_bytes: u64,
    /// The most memory the store held. While a table grows, it needs its old and its new memory at
    /// the same time.
    pub store_peak_bytes: u64,
    /// The most memory the search's own queues, stacks and links held.
    pub search_bytes: u64,
    /// States expanded by each worker.
    pub expanded_by_worker: Vec<u64>,
    /// What the store may have overlooked, if it is not exact.
    pub omission: Option<Omission>,
    /// The numbers of the sweep, if states were deleted layer by layer.
    pub sweep: Option<Sweep>,
    /// The work and traffic, if several processes shared the search.
    pub traffic: Option<Traffic>,
    /// The disk space, if states were on disk.
    pub disk: Option<Disk>,
    /// The numbers of a directed search, if the search used estimates.
    pub guided: Option<Guided>,
    /// The order that gave the answer and these numbers, if several orders ran side by side.
    pub answered_by: Option<&'static str>,
    /// How several workers searched, in words, if that was decided while they did.
    pub manner: Option<&'static str>,
    /// If that was asked for and the search can tell: how its work divides.
    pub profile: Option<Profile>,
}

/// The parts of a search's work, all workers together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Execution: the steps that were computed.
    pub actions: Share,
    /// Look-ups and insertions: the states that the store was asked for.
    pub insert: Share,
    /// The states that were put on the stack or in the queue.
    pub push: Share,
    /// The choice of what comes next: the states that were taken to be expanded.
    pub select: Share,
    /// Going back: the states that were left on a depth-first path.
    pub backtrack: Share,
}

impl Profile {
    /// The parts with their names.
    pub fn parts(&self) -> [(&'static str, Share); 5] {
        let Profile { actions, insert, push, select, backtrack } = *self;
        [("actions", actions), ("insert", insert), ("push", push), ("select", select), ("backtrack", backtrack)]
    }

    /// The work of this one and another together.
    pub fn and(self, other: Profile) -> Profile {
        let add = |a: Share, b: Share| Share { count: a.count + b.count, time: a.time + b.time };
        Profile {
            actions: add(self.actions, other.actions),
            insert: add(self.insert, other.insert),
            push: add(self.push, other.push),
            select: add(self.select, other.select),
            backtrack: add(self.backtrack, other.backtrack),
        }
    }
}

/// A part of a search's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// How many states or steps.
    pub count: u64,
    /// The time they took.
    pub time: Duration,
}

/// The numbers of a search that deletes the states it has left behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// The most states that were stored at a time.
    pub peak_states: u64,
    /// The number of different values of the measure.
    pub layers: u64,
    /// The number of passes over the layers.
    pub sweeps: u64,
    /// The number of targets of regress steps, which are never deleted.
    pub persistent_states: u64,
    /// The number of expansions: more than the number of states if deleted states were reached
    /// again.
    pub expanded_states: u64,
    /// The number of steps on which the measure decreased, each counted as often as it occurred. If
    /// there are none, the measure is monotonic.
    pub regress_steps: u64,
}

/// The work and the traffic of a distributed run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    /// The number of states that each worker owns.
    pub states_by_worker: Vec<u64>,
    /// The number of steps whose target another worker owns.
    pub cross_steps: u64,
    /// The number of all steps.
    pub steps: u64,
    /// The number of states that were sent.
    pub sent: u64,
    /// The number of states that were not sent because they had been sent before.
    pub spared: u64,
    /// The number of states that a worker short of memory passed on to another one.
    pub passed_on: u64,
    /// The number of parcels that contained the sent states.
    pub parcels: u64,
    /// The number of bytes in these parcels.
    pub bytes: u64,
}

impl Traffic {
    /// The share of steps that lead to another worker.
    pub fn cross_share(&self) -> f64 {
        if self.steps == 0 { 0.0 } else { self.cross_steps as f64 / self.steps as f64 }
    }

    /// The standard deviation of the number of states of a worker, as a share of its mean.
    pub fn load_deviation(&self) -> f64 {
        let workers = self.states_by_worker.len() as f64;
        let mean = self.states_by_worker.iter().sum::<u64>() as f64 / workers;
        if mean == 0.0 || workers == 0.0 {
            return 0.0;
        }
        let squares: f64 = self.states_by_worker.iter().map(|&states| (states as f64 - mean).powi(2)).sum();
        (squares / workers).sqrt() / mean
    }
}

/// The disk usage of a search with its states on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// The bytes of all visited states at the end.
    pub bytes: u64,
    /// The bytes that were written in all.
    pub written: u64,
    /// The number of files, or pieces in memory, that contain the states at the end.
    pub runs: u64,
}

/// The numbers of a directed search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guided {
    /// The number of expansions: a state that was later reached by a shorter path counts again.
    pub expanded: u64,
    /// The number of initial states and results of steps, including those known before, up to the
    /// one that ended the search.
    pub generated: u64,
    /// The number of states that were expanded and then reached by a shorter path.
    pub reopened: u64,
    /// The estimate of the first initial state, if there is one.
    pub estimate: Option<u32>,
}

/// Verdict and numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The answer.
    pub verdict: Verdict,
    /// The numbers of the search.
    pub statistics: Statistics,
}

/// A request to stop, shared between a search and the callers that may interrupt it.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    own: Arc<AtomicBool>,
    /// Requests to stop that include this one.
    above: Vec<Arc<AtomicBool>>,
}

impl Cancel {
    /// Asks the search to stop. Safe to call from a signal handler.
    pub fn cancel(&self) {
        self.own.store(true, Ordering::Relaxed);
    }

    /// A new request that this one includes: cancelling `self` cancels the part too, but not the
    /// other way round.
    pub fn part(&self) -> Cancel {
        let above = self.above.iter().chain([&self.own]).cloned().collect();
        Cancel { own: Arc::default(), above }
    }

    /// The flag that a request sets. A signal handler can set it directly.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.own)
    }

    /// Whether the caller has asked to stop.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.own.load(Ordering::Relaxed) || self.above.iter().any(|above| above.load(Ordering::Relaxed))
    }
}

/// A snapshot of a running search.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Distinct states so far.
    pub states: u64,
    /// Steps so far.
    pub transitions: u64,
    /// States waiting to be expanded, or on the stack.
    pub waiting: u64,
    /// The current depth.
    pub depth: u64,
    /// Memory of store and search.
    pub bytes: u64,
    /// Time since the start.
    pub elapsed: Duration,
    /// An estimate of how many states are still to be found. `None` if no estimate is possible.
    pub remaining: Option<u64>,
    /// The share of a bit array that is set, if there is one.
    pub fill: Option<f64>,
}

/// Listens to a running search. Called a few times a second at most, from one worker at a time.
pub trait Observer: Sync {
    /// How far the search is.
    fn progress(&self, progress: &Progress) {
        let _ = progress;
    }

    /// A message for the user, in one line: for example, that a store changes its form, or that a
    /// stack goes to disk.
    fn notice(&self, text: &str) {
        let _ = text;
    }

    /// A violation that is confirmed. What follows may only shorten its trace or decide other
    /// properties, so the answer is *violated*, whatever ends the run.
    fn violated(&self, violation: &Violation) {
        let _ = violation;
    }
}

/// An observer that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Observer for Quiet {}
