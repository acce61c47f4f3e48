//! Keeps a running search within its limits and reports its progress to the observer.
//!
//! All workers share one monitor. Each publishes its counts once per batch, in a place of its own,
//! and checks the limits every few batches. The first reason to stop is kept and stops all workers.

use crate::patience::Patience;
use crate::sync::lock;
use crate::task::Task;
use contract::{Budgeted, Enough, Progress, Statistics, StopReason, Store};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const REPORT_EVERY: Duration = Duration::from_millis(100);
/// Measuring the memory of the process takes some microseconds.
const MEASURE_EVERY: Duration = Duration::from_millis(10);
/// The number of calls of [`Monitor::poll`] after which the expensive limits are checked; and the
/// time after which they are, if a batch takes long.
const LOOK_EVERY: u64 = 8;
const LOOK_AFTER: Duration = Duration::from_millis(10);

pub(crate) struct Monitor<'a> {
    task: &'a Task<'a>,
    start: Instant,
    patience: Patience,
    workers: Vec<Published>,
    stop: AtomicBool,
    reason: Mutex<Option<StopReason>>,
    /// The time of the next report, and the last form of the store.
    next_report: Mutex<(Instant, &'static str)>,
    peak_search_bytes: AtomicU64,
    /// The greatest measured memory of the process that neither the store nor the search accounts
    /// for, and the time of the next measurement.
    outside: AtomicU64,
    next_measure: Mutex<Instant>,
    inside: Arc<Inside>,
    /// The latest estimate of the total number of states; [`NO_ESTIMATE`] without one.
    expected: AtomicU64,
}

const NO_ESTIMATE: u64 = u64::MAX;

/// A step may use this share of the memory limit in any case, because the store yields.
const SHARE_OF_A_STEP: u64 = 16;
/// A step may use this many bytes, however small the limit is. A limit on the memory of states must
/// not stop a model whose states would fit on disk.
const LEAST_OF_A_STEP: u64 = 64 << 10;

/// The part of the memory limit that a growing store leaves free: the process grows between two
/// measurements, and the report needs memory after the search.
const RESERVE_SHARE: u64 = 32;
const MOST_RESERVE: u64 = 4 << 20;

/// The memory as seen by steps in progress.
struct Inside {
    /// The memory of each worker's step.
    steps: Vec<AtomicU64>,
    /// The memory of everything else.
    elsewhere: AtomicU64,
}

/// The last numbers that one worker published. They have cache lines of their own, so that workers
/// do not slow each other down.
#[derive(Default)]
#[repr(align(128))]
struct Published {
    states: AtomicU64,
    transitions: AtomicU64,
    waiting: AtomicU64,
    search_bytes: AtomicU64,
    depth: AtomicU64,
    polls: AtomicU64,
    /// The time of its last check of the limits, in microseconds since the search began.
    looked: AtomicU64,
}

/// The work that a worker has done so far, and its waiting states.
#[derive(Clone, Copy, Default)]
pub(crate) struct WorkerCounts {
    pub states: u64,
    pub transitions: u64,
    pub waiting: u64,
    pub depth: u64,
    pub search_bytes: u64,
}

impl WorkerCounts {
    /// The same counts while the worker holds so many bytes in addition.
    pub fn holding(self, bytes: u64) -> WorkerCounts {
        WorkerCounts { search_bytes: self.search_bytes + bytes, ..self }
    }
}

impl<'a> Monitor<'a> {
    pub fn new<T: Store>(task: &'a Task<'a>, workers: usize, store: &T) -> Self {
        let monitor = Monitor::of(task, workers);
        let asked = monitor.patience.clone();
        if let Some(budgeted) = store.budgeted() {
            budgeted.give_up_when(Arc::new(move || asked.is_over()));
        }
        monitor
    }

    /// The monitor of a single worker that keeps its states itself.
    pub fn alone(task: &'a Task<'a>) -> Self {
        Monitor::of(task, 1)
    }

    fn of(task: &'a Task<'a>, workers: usize) -> Self {
        let patience = Patience::new(task);
        let start = patience.start();
        Monitor {
            task,
            start,
            patience,
            workers: (0..workers.max(1)).map(|_| Published::default()).collect(),
            stop: AtomicBool::new(false),
            reason: Mutex::new(None),
            next_report: Mutex::new((start + REPORT_EVERY, "")),
            peak_search_bytes: AtomicU64::new(0),
            outside: AtomicU64::new(0),
            next_measure: Mutex::new(start),
            inside: Arc::new(Inside { steps: (0..workers.max(1)).map(|_| AtomicU64::new(0)).collect(), elsewhere: AtomicU64::new(0) }),
            expected: AtomicU64::new(NO_ESTIMATE),
        }
    }

    /// The condition under which the system of `worker` gives up a step.
    pub fn enough(&self, worker: usize) -> Enough {
        let (patience, memory, inside) = (self.patience.clone(), self.task.limits.memory, Arc::clone(&self.inside));
        Enough::when(move |bytes| {
            inside.steps[worker].store(bytes, Ordering::Relaxed);
            let room = |limit: u64| {
                limit.saturating_sub(inside.elsewhere.load(Ordering::Relaxed)).max(limit / SHARE_OF_A_STEP).max(LEAST_OF_A_STEP)
            };
            patience.is_over() || memory.is_some_and(|limit| bytes > room(limit))
        })
    }

    /// Measures the memory of the process, tells the store what is left for it, and checks the
    /// limits.
    pub fn measure_now<T: Store>(&self, store: &T) {
        self.look(store.budgeted());
    }

    /// Publishes the counts of `worker` and returns whether it may continue.
    #[inline]
    pub fn poll<T: Store>(&self, worker: usize, standing: &WorkerCounts, store: &T) -> bool {
        self.poll_beside(worker, standing, store.budgeted())
    }

    /// The same for a single worker that keeps its states itself.
    pub fn poll_alone(&self, standing: &WorkerCounts) -> bool {
        self.poll_beside(0, standing, None)
    }

    #[inline]
    fn poll_beside(&self, worker: usize, standing: &WorkerCounts, store: Option<&dyn Budgeted>) -> bool {
        if self.is_due(worker, standing) {
            self.look(store);
        }
        !self.stopped()
    }

    /// Publishes the counts of a worker that examines a component or follows a run in it, and
    /// returns whether it may continue. It may as long as there are time and memory: it finds no
    /// more states, and a run is needed even if the search has stopped for another reason.
    pub fn may_hold<T: Store>(&self, worker: usize, standing: &WorkerCounts, store: &T) -> bool {
        if !self.is_due(worker, standing) {
            return true;
        }
        let (now, store) = (Instant::now(), store.budgeted());
        let bytes = self.account(now, store);
        let exceeded = self.exceeds(bytes, store).then_some(StopReason::Memory);
        match self.patience.at(now).or(exceeded) {
            Some(reason) => {
                self.stop(reason);
                false
            }
            None => true,
        }
    }

    /// Publishes the counts of a worker and returns whether the limits are to be checked.
    #[inline]
    fn is_due(&self, worker: usize, standing: &WorkerCounts) -> bool {
        self.publish(worker, standing);
        let published = &self.workers[worker];
        let polls = published.polls.load(Ordering::Relaxed);
        published.polls.store(polls + 1, Ordering::Relaxed);
        // A worker that polls is not inside a step.
        self.inside.steps[worker].store(0, Ordering::Relaxed);
        let now = self.start.elapsed().as_micros() as u64;
        let due = polls.is_multiple_of(LOOK_EVERY) || now - published.looked.load(Ordering::Relaxed) > LOOK_AFTER.as_micros() as u64;
        if due {
            published.looked.store(now, Ordering::Relaxed);
        }
        due
    }

    /// Reports the numbers of a worker, which may be idle.
    pub fn publish(&self, worker: usize, standing: &WorkerCounts) {
        let published = &self.workers[worker];
        published.states.store(standing.states, Ordering::Relaxed);
        published.transitions.store(standing.transitions, Ordering::Relaxed);
        published.waiting.store(standing.waiting, Ordering::Relaxed);
        published.search_bytes.store(standing.search_bytes, Ordering::Relaxed);
        published.depth.store(standing.depth, Ordering::Relaxed);
    }

    /// Reports that `worker` has handed over its waiting states and still holds so many bytes.
    pub fn rest(&self, worker: usize, search_bytes: u64) {
        self.workers[worker].waiting.store(0, Ordering::Relaxed);
        self.workers[worker].search_bytes.store(search_bytes, Ordering::Relaxed);
    }

    /// Whether so many bytes are more than the limit, and the store cannot give any back.
    fn exceeds(&self, bytes: u64, store: Option<&dyn Budgeted>) -> bool {
        self.task.limits.memory.is_some_and(|limit| bytes > limit) && !store.is_some_and(Budgeted::yields)
    }

    fn sum(&self, field: fn(&Published) -> &AtomicU64) -> u64 {
        self.workers.iter().map(|w| field(w).load(Ordering::Relaxed)).sum()
    }

    /// Measures the memory of the process, tells the store what is left for it, and returns the
    /// bytes that are used.
    fn account(&self, now: Instant, store: Option<&dyn Budgeted>) -> u64 {
        let search_bytes = self.sum(|w| &w.search_bytes);
        self.peak_search_bytes.fetch_max(search_bytes, Ordering::Relaxed);
        let steps = self.inside.steps.iter().map(|step| step.load(Ordering::Relaxed)).sum::<u64>();
        let known = search_bytes + store.map_or(0, Budgeted::bytes) + steps;
        let outside = self.measure(now, known);
        let bytes = known + outside;
        self.inside.elsewhere.store(bytes - steps, Ordering::Relaxed);
        if let (Some(limit), Some(store)) = (self.task.limits.memory, store) {
            let reserve = (limit / RESERVE_SHARE).min(MOST_RESERVE);
            store.leave_room(search_bytes + steps + outside + reserve);
        }
        bytes
    }

    #[cold]
    fn look(&self, store: Option<&dyn Budgeted>) {
        let now = Instant::now();
        let bytes = self.account(now, store);
        if let Some(reason) = self.patience.at(now) {
            self.stop(reason);
        } else if self.task.states.is_some_and(|most| self.sum(|w| &w.states) >= most) {
            self.stop(StopReason::States);
        } else if self.exceeds(bytes, store) {
            self.stop(StopReason::Memory);
        }
        let Ok(mut report) = self.next_report.try_lock() else { return };
        let (next, form) = &mut *report;
        let before = std::mem::replace(form, store.map_or("", Budgeted::form));
        if !before.is_empty() && before != *form {
            self.notice(&format!("the state store was {before} and is now {form}"));
        }
        if now >= *next {
            *next = now + REPORT_EVERY;
            let states = self.sum(|w| &w.states);
            let expected = self.expected.load(Ordering::Relaxed);
            self.task.observer.progress(&Progress {
                states,
                transitions: self.sum(|w| &w.transitions),
                waiting: self.sum(|w| &w.waiting),
                depth: self.workers.iter().map(|w| w.depth.load(Ordering::Relaxed)).max().unwrap_or(0),
                bytes,
                elapsed: now.duration_since(self.start),
                remaining: (expected != NO_ESTIMATE).then(|| expected.saturating_sub(states)).filter(|&more| more > 0),
                fill: None,
            });
        }
    }

    /// The memory of the process beyond what is `known`. The memory of a new table is known before
    /// it is resident, so the greatest measured value counts.
    fn measure(&self, now: Instant, known: u64) -> u64 {
        if let Some(resident) = self.task.resident
            && let Ok(mut next) = self.next_measure.try_lock()
            && now >= *next
        {
            *next = now + MEASURE_EVERY;
            if let Some(bytes) = resident() {
                self.outside.fetch_max(bytes.saturating_sub(known), Ordering::Relaxed);
            }
        }
        self.outside.load(Ordering::Relaxed)
    }

    /// States and transitions of all workers but the first, as last published.
    pub fn totals_of_helpers(&self) -> (u64, u64) {
        let sum = |field: fn(&Published) -> &AtomicU64| self.workers.iter().skip(1).map(|w| field(w).load(Ordering::Relaxed)).sum();
        (sum(|w| &w.states), sum(|w| &w.transitions))
    }

    /// Sets the estimate of the total number of states, or removes it.
    pub fn expect(&self, expected: Option<u64>) {
        self.expected.store(expected.unwrap_or(NO_ESTIMATE), Ordering::Relaxed);
    }

    /// Passes a message to the user.
    pub fn notice(&self, text: &str) {
        self.task.observer.notice(text);
    }

    /// The time limit and the stop request, which do not depend on the store.
    pub fn patience(&self) -> &Patience {
        &self.patience
    }

    /// Stops the search if the time is over or a stop was requested; returns whether it is.
    pub fn had_enough(&self) -> bool {
        if let Some(reason) = self.patience.now() {
            self.stop(reason);
        }
        self.stopped()
    }

    /// Stops because the store refused a state or a system gave up a step: memory is used up, or it
    /// was told to stop.
    #[cold]
    pub fn refused(&self) {
        self.stop(self.patience.now().unwrap_or(StopReason::Memory));
    }

    /// Stops all workers; the first reason counts.
    pub fn stop(&self, reason: StopReason) {
        lock(&self.reason).get_or_insert(reason);
        self.stop.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub fn reason(&self) -> Option<StopReason> {
        lock(&self.reason).clone()
    }

    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Adds the time and memory of the search to `statistics`, including the time of earlier runs
    /// `before`.
    pub fn conclude<T: Store>(&self, statistics: &mut Statistics, store: &T, before: Duration) {
        self.conclude_alone(statistics, before);
        if let Some(budgeted) = store.budgeted() {
            statistics.store_bytes = budgeted.bytes();
            statistics.store_peak_bytes = budgeted.peak_bytes();
        }
    }

    /// The same for a single worker that keeps its states itself.
    pub fn conclude_alone(&self, statistics: &mut Statistics, before: Duration) {
        statistics.elapsed = before + self.elapsed();
        let last = self.workers.iter().map(|w| w.search_bytes.load(Ordering::Relaxed)).sum();
        statistics.search_bytes = self.peak_search_bytes.load(Ordering::Relaxed).max(last);
    }
}
