//! The reasons to stop that apply at any time: a stop was requested, or the time is over.
//!
//! The monitor checks them every few batches. Other long operations (reading a checkpoint,
//! executing a path again) check them too.

use crate::task::Task;
use contract::{Cancel, StopReason};
use std::time::{Duration, Instant};

/// Decides when to stop.
#[derive(Clone)]
pub(crate) struct Patience {
    cancel: Cancel,
    start: Instant,
    limit: Option<Duration>,
}

impl Patience {
    /// Starts the time of the task.
    pub fn new(task: &Task<'_>) -> Patience {
        Patience { cancel: task.cancel.clone(), start: Instant::now(), limit: task.limits.time }
    }

    /// A limit that is never reached.
    #[cfg(test)]
    pub fn endless() -> Patience {
        Patience::new(&Task::default())
    }

    /// When the time began.
    pub fn start(&self) -> Instant {
        self.start
    }

    /// The reason to stop at this moment, if there is one.
    pub fn at(&self, now: Instant) -> Option<StopReason> {
        if self.cancel.is_cancelled() {
            return Some(StopReason::Interrupted);
        }
        self.limit.filter(|&limit| now.duration_since(self.start) >= limit).map(|_| StopReason::Time)
    }

    /// The reason to stop now, if there is one.
    pub fn now(&self) -> Option<StopReason> {
        self.at(Instant::now())
    }

    /// Whether there is a reason to stop now.
    pub fn is_over(&self) -> bool {
        self.now().is_some()
    }

    /// The remaining time.
    pub fn left(&self) -> Option<Duration> {
        self.limit.map(|limit| limit.saturating_sub(self.start.elapsed()))
    }
}
