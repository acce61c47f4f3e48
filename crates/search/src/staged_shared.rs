//! The search in two stages ([`crate::staged`]) with two workers, one for each stage.
//!
//! The leader visits the early states breadth first and queues them. The follower goes through
//! their doors and searches the late states by components. The stages have no state in common, so
//! for the follower a visited state that is not live is complete, as in a search alone. When the
//! leader has visited all early states, it looks for the twins of those that are still queued.
//!
//! A twin that is visited while it is not complete makes its door superfluous as well: the follower
//! will visit everything behind the twin.

use crate::components::{Fairness, Found, Search, components};
use crate::doors::{Behind, Doors, Twins};
use crate::expand::{Best, Expander};
use crate::frontier::{Chunk, Frontier};
use crate::monitor::{Monitor, WorkerCounts};
use crate::parts::{both, together};
use crate::product::Product;
use crate::retrace::{unviolated, violated};
use crate::staged::{early_finding, found_behind};
use crate::stages::Stage;
use crate::sync::lock;
use crate::task::Task;
use contract::{Outcome, Profile, Statistics, StopReason, Store, System};
use std::collections::VecDeque;
use std::io;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A worker that waits looks this often whether the search must stop.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Looks for a reachable accepting cycle with two workers. The store must be empty. The trace is a
/// trace of the product ([`Product::project`]); it may differ between runs.
///
/// If the automaton has only one stage, with a depth limit, or over a store whose names change, one
/// worker searches as [`components`] does.
pub fn staged_shared<S: System + Clone, T: Store>(product: &Product<S>, store: &T, task: &Task<'_>) -> Outcome {
    if !product.begins_early() || task.limits.depth.is_some() || !T::STABLE_NAMES {
        return components(product, Fairness::None, store, task);
    }
    let monitor = Monitor::new(task, 2, store);
    let best = Best::new();
    let shared = Shared::default();
    let lead = |workers: usize, product: Product<S>| {
        let _end = Ends { shared: &shared, monitor: &monitor };
        let early = Expander::new(product.clone().only_to(Stage::Early), store, task, &best, 0);
        let mut leader =
            Leader { early, twins: Twins::new(product.clone().only_to(Stage::Late)), store, monitor: &monitor, shared: &shared, depth: 0 };
        leader.visit();
        let mut part = Part::default();
        if workers > 1 {
            leader.look_for_twins();
        }
        shared.change(|queue| queue.is_complete = true);
        if workers > 1 {
            shared.wait(|queue| queue.is_followed);
        } else {
            // No other thread could be started.
            let mut doors = doors(&product, task, &monitor, 0);
            follow(&mut doors, &mut leader.early.store, store, &monitor, &shared);
            part = Part::of(doors);
        }
        let found = early_finding(&mut leader.early, &monitor);
        let behind = lock(&shared.queue).behind.take();
        part.found = found.or_else(|| behind.map(|behind| found_behind(behind, &mut leader.early, &monitor)));
        part.counts.states += leader.early.states;
        part.counts.transitions += leader.early.transitions;
        part.counts.depth = part.counts.depth.max(leader.depth);
        part.profile = both(part.profile, leader.early.watch.stop());
        part
    };
    let help = |number: usize, product: Product<S>| {
        let _end = Followed(&shared);
        let mut doors = doors(&product, task, &monitor, number);
        follow(&mut doors, &mut store.worker(), store, &monitor, &shared);
        Part::of(doors)
    };
    let parts = together(2, product, &monitor, lead, help);
    let lost = parts.iter().any(Option::is_none);
    let mut statistics = Statistics::default();
    let mut found = None;
    for part in parts {
        let part = part.unwrap_or_default();
        statistics.states += part.counts.states;
        statistics.transitions += part.counts.transitions;
        statistics.depth = statistics.depth.max(part.counts.depth);
        statistics.expanded_by_worker.push(part.counts.states);
        statistics.profile = both(statistics.profile, part.profile);
        found = found.or(part.found);
    }
    let verdict = match found {
        Some((finding, trace)) => violated(product, finding, trace),
        None if lost => unviolated(Some(StopReason::Interrupted), false, T::EXACT),
        None => unviolated(monitor.reason(), false, T::EXACT),
    };
    monitor.conclude(&mut statistics, store, Duration::ZERO);
    Outcome { verdict, statistics }
}

fn doors<'a, S: System + Clone>(product: &Product<S>, task: &'a Task<'a>, monitor: &'a Monitor<'a>, worker: usize) -> Doors<'a, S> {
    let late = Search::new(product, Fairness::None, true, task, monitor, worker);
    Doors::new(product.clone().only_to(Stage::Late), late, task, monitor)
}

/// What a worker has done.
#[derive(Default)]
struct Part {
    counts: WorkerCounts,
    profile: Option<Profile>,
    found: Option<Found>,
}

impl Part {
    fn of<S: System + Clone>(mut doors: Doors<'_, S>) -> Part {
        let statistics = &doors.late.statistics;
        let (states, transitions, depth) = (statistics.states, statistics.transitions, statistics.depth);
        let counts = WorkerCounts { states, transitions, depth, ..WorkerCounts::default() };
        Part { counts, profile: doors.late.watch.stop(), found: None }
    }
}

/// What the workers share.
#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// Early states whose doors are still to be gone through.
#[derive(Default)]
struct Queue {
    /// Chunks of which nothing is known.
    whole: VecDeque<Chunk>,
    /// Chunks with the numbers of the states whose twins were not visited.
    rest: VecDeque<(Chunk, Vec<usize>)>,
    /// The memory of the chunks.
    bytes: u64,
    /// The leader adds nothing more.
    is_complete: bool,
    /// The follower has ended, with a finding or without.
    is_followed: bool,
    behind: Option<Behind>,
}

impl Shared {
    fn change(&self, change: impl FnOnce(&mut Queue)) {
        change(&mut lock(&self.queue));
        self.changed.notify_all();
    }

    /// Waits until the queue is as wanted.
    fn wait(&self, wanted: impl Fn(&Queue) -> bool) {
        let mut queue = lock(&self.queue);
        while !wanted(&queue) {
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The next states to follow: a chunk, and the numbers of those that are meant, if not all are.
    /// Nothing if all were followed or the search must stop.
    fn next(&self, monitor: &Monitor<'_>) -> Option<(Chunk, Option<Vec<usize>>)> {
        let mut queue = lock(&self.queue);
        loop {
            if monitor.stopped() {
                return None;
            }
            if let Some((chunk, needed)) = queue.rest.pop_front() {
                queue.bytes -= chunk.size();
                return Some((chunk, Some(needed)));
            }
            if let Some(chunk) = queue.whole.pop_front() {
                queue.bytes -= chunk.size();
                return Some((chunk, None));
            }
            if queue.is_complete {
                return None;
            }
            queue = self.changed.wait_timeout(queue, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Lets the follower end when the leader has ended, and at once if the leader panics.
struct Ends<'a> {
    shared: &'a Shared,
    monitor: &'a Monitor<'a>,
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.monitor.stop(StopReason::Interrupted);
        }
        self.shared.change(|queue| queue.is_complete = true);
    }
}

/// Lets the leader end when the follower has ended, even if it panics.
struct Followed<'a>(&'a Shared);

impl Drop for Followed<'_> {
    fn drop(&mut self) {
        self.0.change(|queue| queue.is_followed = true);
    }
}

/// Goes through the doors of all queued states, until nothing more comes.
fn follow<S: System + Clone, T: Store>(
    doors: &mut Doors<'_, S>,
    worker: &mut T::Worker<'_>,
    store: &T,
    monitor: &Monitor<'_>,
    shared: &Shared,
) {
    while let Some((chunk, needed)) = shared.next(monitor) {
        let behind: io::Result<Option<Behind>> = match needed {
            None => doors.of_chunk(&chunk, worker, store),
            Some(needed) => doors.of_states(&chunk, &needed, worker, store),
        };
        match behind {
            Ok(None) => doors.poll(store),
            Ok(Some(behind)) => {
                shared.change(|queue| queue.behind = Some(behind));
                // The finding decides, whatever the reason to stop is.
                return monitor.stop(StopReason::Interrupted);
            }
            Err(error) => return monitor.stop(StopReason::Storage(error.to_string())),
        }
    }
}

/// Visits the early states.
struct Leader<'a, S, T: Store> {
    early: Expander<'a, Product<S>, T>,
    twins: Twins<S>,
    store: &'a T,
    monitor: &'a Monitor<'a>,
    shared: &'a Shared,
    depth: u64,
}

impl<S: System + Clone, T: Store> Leader<'_, S, T> {
    /// Visits all early states, unless the search must stop.
    fn visit(&mut self) {
        let mut next = Frontier::default();
        if self.early.initial(&mut next).is_err() {
            self.monitor.refused();
        }
        loop {
            let level = next.take();
            if level.is_empty() || self.early.found.is_some() {
                self.depth = self.depth.saturating_sub(u64::from(level.is_empty()));
                break;
            }
            let mut waiting: u64 = level.iter().map(|chunk| chunk.waiting.len() as u64).sum();
            let mut bytes: u64 = level.iter().map(Chunk::size).sum();
            for chunk in level {
                waiting -= chunk.waiting.len() as u64;
                if !self.expand(&chunk, waiting, bytes, &mut next) {
                    return;
                }
                bytes -= chunk.size();
                self.shared.change(|queue| {
                    queue.bytes += chunk.size();
                    queue.whole.push_back(chunk);
                });
            }
            self.depth += 1;
        }
        if self.early.found.is_some() {
            self.monitor.stop(StopReason::Interrupted);
        }
    }

    /// Expands the states of a chunk. Returns whether the search goes on. `waiting` other states of
    /// their level are still to be expanded; all of them take `bytes` bytes.
    fn expand(&mut self, chunk: &Chunk, waiting: u64, bytes: u64, next: &mut Frontier) -> bool {
        self.early.begin(chunk);
        let mut index = 0;
        while index < chunk.waiting.len() {
            match self.early.expand(chunk, index, self.depth, next) {
                Ok(end) => index = end,
                Err(cut_short) => {
                    index = cut_short.at;
                    self.monitor.refused();
                }
            }
            let queued = lock(&self.shared.queue).bytes;
            let standing = WorkerCounts {
                states: self.early.states,
                transitions: self.early.transitions,
                waiting: waiting + (chunk.waiting.len() - index) as u64 + next.len(),
                depth: self.depth,
                search_bytes: bytes + next.bytes() + self.early.links.bytes() + queued,
            };
            if !self.monitor.poll(0, &standing, self.store) {
                return false;
            }
        }
        true
    }

    /// Looks for the twins of the states that are queued last, until none are left.
    fn look_for_twins(&mut self) {
        while !self.monitor.stopped() {
            let Some(chunk) = lock(&self.shared.queue).whole.pop_back() else { break };
            let needed = self.twins.needed(&chunk, &mut self.early.store);
            self.shared.change(|queue| {
                if needed.is_empty() {
                    queue.bytes -= chunk.size();
                } else {
                    queue.rest.push_back((chunk, needed));
                }
            });
        }
    }
}
