//! A depth-first search shared by workers: each has its own stack and gives half of it away when
//! another worker is idle.
//!
//! A worker takes a batch of states from the top of its stack, expands them as the breadth-first
//! search does, and pushes the new ones. So it reaches great depths soon, needs little memory for
//! waiting states, and still hides memory latency behind a batch. States are marked as seen when
//! they are generated, not when they are entered. This makes no difference for reachability, but
//! the order is not the strict one of [`depth_first`](crate::depth_first), and traces are neither
//! shortest nor always the same.

use crate::expand::{Best, Expander};
use crate::frontier::{Chunk, Stash};
use crate::links::MOST_WORKERS;
use crate::monitor::{Monitor, WorkerCounts};
use crate::parts::{Part, conclude, together};
use crate::sync::lock;
use crate::task::Task;
use contract::{Outcome, StopReason, Store, System, Verdict};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// States taken from a stack at a time.
const TAKE: usize = 64;
/// A stack with fewer states than this is not shared.
const WORTH_SHARING: usize = 2 * TAKE;

/// Explores `system` with `task.threads` workers, each depth-first, remembering states in `store`,
/// which must be empty.
pub fn depth_first_shared<S: System + Clone, T: Store>(system: &S, store: &T, task: &Task<'_>) -> Outcome {
    let workers = task.threads.clamp(1, MOST_WORKERS);
    let monitor = Monitor::new(task, workers, store);
    let best = Best::new();
    let pool = Pool::default();
    let run = |number: usize, system: S| {
        let _end = EndOnPanic(&pool);
        let mut expander = Expander::new(system, store, task, &best, number);
        let mut stash = Stash::default();
        if number == 0 && expander.initial(&mut stash).is_err() {
            monitor.refused();
        }
        while let Some(chunk) = stash.take(TAKE, &mut Vec::new()).or_else(|| pool.next()) {
            // A chunk from the pool is large, so its states go onto the stack first.
            let chunk = if chunk.waiting.len() > TAKE {
                stash.put(chunk);
                continue;
            } else {
                chunk
            };
            if !work_off(&chunk, &mut expander, &mut stash, &monitor) {
                break;
            }
            let standing = WorkerCounts {
                states: expander.states,
                transitions: expander.transitions,
                waiting: stash.len() as u64,
                depth: expander.depth,
                search_bytes: stash.bytes() + chunk.size() + expander.links.bytes(),
            };
            if !monitor.poll(number, &standing, store) || best.length() != u64::MAX {
                break;
            }
            if stash.len() >= WORTH_SHARING && pool.is_hungry() {
                pool.give(stash.halve());
            }
        }
        // There is no work left, or no reason to continue; both are the same for all workers.
        pool.end();
        Part::of(expander)
    };
    let lead = |workers: usize, system: S| {
        pool.workers.store(workers, Ordering::Relaxed);
        run(0, system)
    };
    let parts = together(workers, system, &monitor, lead, run);
    let mut outcome = conclude(Vec::new(), parts, system, store, &monitor, false);
    if outcome.verdict == Verdict::Unknown(StopReason::Depth) {
        // The states at the limit were reached but not expanded.
        outcome.statistics.depth += 1;
    }
    outcome
}

/// Expands a chunk; `false` if the store is full.
fn work_off<S: System, T: Store>(chunk: &Chunk, expander: &mut Expander<'_, S, T>, stash: &mut Stash, monitor: &Monitor<'_>) -> bool {
    expander.begin(chunk);
    let mut index = 0;
    while index < chunk.waiting.len() {
        match expander.expand(chunk, index, 0, stash) {
            Ok(end) => index = end,
            Err(_) => {
                monitor.refused();
                return false;
            }
        }
    }
    true
}

/// States that were given away and not yet taken, and the workers that wait for some.
#[derive(Default)]
struct Pool {
    /// The number of workers; 0 until all have been started, and no worker is done before that.
    workers: AtomicUsize,
    chunks: Mutex<Vec<Chunk>>,
    /// Workers that wait.
    idle: AtomicUsize,
    done: AtomicBool,
    wake: Condvar,
}

impl Pool {
    #[inline]
    fn is_hungry(&self) -> bool {
        self.idle.load(Ordering::Relaxed) > 0
    }

    fn give(&self, chunk: Chunk) {
        lock(&self.chunks).push(chunk);
        self.wake.notify_one();
    }

    /// The next chunk that a worker gives away; `None` when all workers wait, or the search has
    /// ended.
    fn next(&self) -> Option<Chunk> {
        let mut chunks = lock(&self.chunks);
        let idle = self.idle.fetch_add(1, Ordering::Relaxed) + 1;
        if chunks.is_empty() && idle == self.workers.load(Ordering::Relaxed) {
            self.done.store(true, Ordering::Relaxed);
            self.wake.notify_all();
        }
        let chunk = loop {
            if self.done.load(Ordering::Relaxed) {
                break None;
            }
            if let Some(chunk) = chunks.pop() {
                break Some(chunk);
            }
            chunks = self.wake.wait(chunks).unwrap_or_else(PoisonError::into_inner);
        };
        self.idle.fetch_sub(1, Ordering::Relaxed);
        chunk
    }

    fn end(&self) {
        let _chunks = lock(&self.chunks);
        self.done.store(true, Ordering::Relaxed);
        self.wake.notify_all();
    }
}

/// A worker that panics must not leave the others waiting for it.
struct EndOnPanic<'a>(&'a Pool);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}
