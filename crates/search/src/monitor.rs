//! Keeps a running search within its limits and tells its observer how far it is.
//!
//! Orders call [`Monitor::poll`] once per batch; the cost of a look at the clock disappears in the few hundred steps of a batch.

use crate::task::Task;
use contract::{Progress, StopReason};
use std::time::{Duration, Instant};

const REPORT_EVERY: Duration = Duration::from_millis(100);

pub(crate) struct Monitor<'a> {
    task: &'a Task<'a>,
    start: Instant,
    next_report: Instant,
    peak_search_bytes: u64,
}

/// Where a search stands.
pub(crate) struct Standing {
    pub states: u64,
    pub transitions: u64,
    pub waiting: u64,
    pub depth: u64,
    pub store_bytes: u64,
    pub search_bytes: u64,
}

impl<'a> Monitor<'a> {
    pub fn new(task: &'a Task<'a>) -> Self {
        let start = Instant::now();
        Monitor { task, start, next_report: start + REPORT_EVERY, peak_search_bytes: 0 }
    }

    /// Whether the search must stop here, and why.
    pub fn poll(&mut self, standing: &Standing) -> Result<(), StopReason> {
        self.peak_search_bytes = self.peak_search_bytes.max(standing.search_bytes);
        if self.task.cancel.is_cancelled() {
            return Err(StopReason::Interrupted);
        }
        let now = Instant::now();
        if self.task.limits.time.is_some_and(|limit| now.duration_since(self.start) >= limit) {
            return Err(StopReason::Time);
        }
        let bytes = standing.store_bytes + standing.search_bytes;
        if self.task.limits.memory.is_some_and(|limit| bytes > limit) {
            return Err(StopReason::Memory);
        }
        if now >= self.next_report {
            self.next_report = now + REPORT_EVERY;
            self.task.observer.progress(&Progress {
                states: standing.states,
                transitions: standing.transitions,
                waiting: standing.waiting,
                depth: standing.depth,
                bytes,
                elapsed: now.duration_since(self.start),
            });
        }
        Ok(())
    }

    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    pub fn peak_search_bytes(&self) -> u64 {
        self.peak_search_bytes
    }
}
