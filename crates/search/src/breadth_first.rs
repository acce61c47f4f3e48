//! Breadth-first search, level by level: the shortest counterexample, and the order that is fastest.
//!
//! Sequential or parallel is a matter of who takes the chunks of a level. The caller's thread is the first worker and leads: it works
//! small levels off alone, and shares large ones with the others, who sleep in between. A level ends when all its chunks are done, so
//! depths are exact and the first violation found is among the shortest, with any number of workers.

use crate::checkpoint::{CheckpointError, Order, Reader, Standing, Writer};
use crate::expand::{Best, Expander};
use crate::frontier::{Chunk, Frontier, Sink};
use crate::links::{Link, Links, MOST_WORKERS};
use crate::monitor::{self, Monitor};
use crate::parts::{Part, conclude};
use crate::task::Task;
use contract::{Outcome, StopReason, Store, StoreWorker, System};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Levels with fewer chunks than this are not worth waking anyone.
const SHARED_CHUNKS: usize = 3;
/// How often a worker looks for the next level before it goes to sleep.
const SPINS: u32 = 2000;

/// Explores `system` level by level, remembering states in `store`, which must be empty.
pub fn breadth_first<S: System + Clone, T: Store>(system: &S, store: &T, task: &Task<'_>) -> Outcome {
    search(system, store, task, None)
}

/// Goes on from a checkpoint whose states are already in the store.
pub(crate) fn resumed<S: System + Clone, T: Store>(
    system: &S,
    store: &T,
    task: &Task<'_>,
    mut reader: Reader<'_>,
    standing: Standing,
    mut worker: T::Worker<'_>,
) -> Result<Outcome, CheckpointError> {
    let logs = reader.number()?;
    let ancestors = (0..logs).map(|_| Links::load(&mut reader)).collect::<Result<Vec<_>, _>>()?;
    let mut level = Vec::new();
    let mut state = Vec::new();
    for _ in 0..reader.number()? {
        let first = reader.number()?;
        let mut frontier = Frontier::default();
        for index in 0..reader.number()? {
            reader.state(&mut state)?;
            let hash = worker.hash(&state);
            let id = worker.insert(hash, &state).map_err(CheckpointError::Full)?.id;
            let bytes = if worker.keeps(id) { None } else { Some(&state[..]) };
            frontier.push(id, Link::from_bits(first).after(index as usize), standing.depth, bytes);
        }
        level.append(&mut frontier.take());
    }
    reader.finish()?;
    drop(worker);
    let elapsed = standing.elapsed;
    let mut outcome = search(system, store, task, Some(Start { ancestors, level, standing }));
    outcome.statistics.elapsed += elapsed;
    Ok(outcome)
}

/// Where a resumed search begins.
struct Start {
    /// The logs of those who worked on it before.
    ancestors: Vec<Links>,
    level: Vec<Chunk>,
    standing: Standing,
}

fn search<S: System + Clone, T: Store>(system: &S, store: &T, task: &Task<'_>, mut start: Option<Start>) -> Outcome {
    let ancestors = start.as_mut().map(|start| std::mem::take(&mut start.ancestors)).unwrap_or_default();
    let workers = task.threads.clamp(1, MOST_WORKERS);
    let monitor = Monitor::new(task, workers);
    let best = Best::new();
    let level = Level { logs: (0..workers).map(|_| Mutex::new(Links::new(MOST_WORKERS))).collect(), ..Level::default() };
    let search = Search { store, task, monitor: &monitor, best: &best, level: &level, ancestors: &ancestors };
    let before = ancestors.len();
    let mut truncated = false;
    let mut depth = 0;
    let parts: Vec<Part> = std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..workers)
            .map(|number| {
                let system = system.clone();
                scope.spawn(move || {
                    let mut expander = Expander::new(system, store, task, search.best, before + number);
                    search.help(&mut expander, number);
                    Part::of(expander)
                })
            })
            .collect();
        let mut leader = Expander::new(system.clone(), store, task, &best, before);
        (depth, truncated) = search.lead(&mut leader, workers, start);
        level.finish();
        let leader = Part::of(leader);
        std::iter::once(leader).chain(helpers.into_iter().filter_map(|helper| helper.join().ok())).collect()
    });
    let mut outcome = conclude(ancestors, parts, workers, system, store, &monitor, truncated);
    outcome.statistics.depth = depth;
    outcome
}

/// What the workers share.
struct Search<'a, T> {
    store: &'a T,
    task: &'a Task<'a>,
    monitor: &'a Monitor<'a>,
    best: &'a Best,
    level: &'a Level,
    ancestors: &'a [Links],
}

impl<T> Clone for Search<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Search<'_, T> {}

/// The level being worked off.
#[derive(Default)]
struct Level {
    chunks: Mutex<std::vec::IntoIter<Chunk>>,
    /// States that wait for the next level, from workers that are done with this one.
    next: Mutex<Vec<Chunk>>,
    depth: AtomicU64,
    /// Memory of the chunks not yet taken.
    bytes: AtomicU64,
    waiting: AtomicU64,
    /// Counts the shared levels. Helpers wait for it to move.
    number: AtomicUsize,
    /// Helpers that have not finished the present shared level.
    busy: AtomicUsize,
    finished: AtomicBool,
    /// The links of the helpers, while they are between two levels.
    logs: Vec<Mutex<Links>>,
    sleep: Mutex<()>,
    wake: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Level {
    fn open(&self, chunks: Vec<Chunk>, depth: u64) {
        self.bytes.store(chunks.iter().map(Chunk::size).sum(), Ordering::Relaxed);
        self.waiting.store(chunks.iter().map(|chunk| chunk.waiting.len() as u64).sum(), Ordering::Relaxed);
        self.depth.store(depth, Ordering::Relaxed);
        *lock(&self.chunks) = chunks.into_iter();
    }

    fn take(&self) -> Option<Chunk> {
        let chunk = lock(&self.chunks).next()?;
        self.bytes.fetch_sub(chunk.size(), Ordering::Relaxed);
        self.waiting.fetch_sub(chunk.waiting.len() as u64, Ordering::Relaxed);
        Some(chunk)
    }

    /// Wakes `helpers` helpers for the level just opened.
    fn share(&self, helpers: usize) {
        self.busy.store(helpers, Ordering::Relaxed);
        let _guard = lock(&self.sleep);
        self.number.fetch_add(1, Ordering::Release);
        self.wake.notify_all();
    }

    /// Waits for the level after `seen`; `false` if there is none.
    fn await_next(&self, seen: &mut usize) -> bool {
        let ready = |seen: usize| self.number.load(Ordering::Acquire) != seen || self.finished.load(Ordering::Acquire);
        for _ in 0..SPINS {
            if ready(*seen) {
                break;
            }
            std::hint::spin_loop();
        }
        let mut guard = lock(&self.sleep);
        while !ready(*seen) {
            guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        drop(guard);
        let moved = self.number.load(Ordering::Acquire) != *seen;
        *seen = self.number.load(Ordering::Acquire);
        moved
    }

    /// Waits until all helpers are done with the level.
    fn await_helpers(&self) {
        let mut spins = 0;
        while self.busy.load(Ordering::Acquire) != 0 {
            spins += 1;
            if spins < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }

    fn finish(&self) {
        let _guard = lock(&self.sleep);
        self.finished.store(true, Ordering::Release);
        self.wake.notify_all();
    }
}

/// Tells the leader that a helper is done with a level even if the helper panics.
struct Busy<'a>(&'a AtomicUsize);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl<T: Store> Search<'_, T> {
    /// Runs all levels; the depth reached, and whether the depth limit cut something off.
    fn lead<S: System>(&self, expander: &mut Expander<'_, S, T>, workers: usize, start: Option<Start>) -> (u64, bool) {
        let mut next = Frontier::default();
        let mut depth = 0;
        let mut before = Duration::ZERO;
        match start {
            Some(Start { level, standing, .. }) => {
                (depth, before) = (standing.depth, standing.elapsed);
                *lock(&self.level.next) = level;
                (expander.states, expander.transitions, expander.expanded) = (standing.states, standing.transitions, standing.expanded);
            }
            None if expander.initial(&mut next).is_err() => self.monitor.stop(StopReason::Memory),
            None => {}
        }
        loop {
            let chunks = self.collect(&mut next);
            if chunks.is_empty() || self.monitor.stopped() || self.best.length() <= depth {
                // The last level was empty: the depth is that of the one before.
                return (depth.saturating_sub(u64::from(chunks.is_empty())), false);
            }
            if self.task.limits.depth.is_some_and(|limit| depth >= limit) {
                return (depth, true);
            }
            if let Some(checkpoints) = self.task.checkpoints
                && checkpoints.due()
                && let Err(error) = checkpoints.save(&mut |to| self.save(to, expander, &chunks, depth, before))
            {
                self.monitor.notice(&format!("no checkpoint could be written: {error}"));
            }
            let shared = workers > 1 && chunks.len() >= SHARED_CHUNKS;
            self.level.open(chunks, depth);
            if shared {
                self.level.share(workers - 1);
            }
            self.work_off(expander, 0, &mut next);
            if shared {
                self.level.await_helpers();
            }
            depth += 1;
        }
    }

    /// Writes a checkpoint before the level `chunks`, while the helpers rest.
    fn save<S: System>(
        &self,
        to: &mut dyn Write,
        expander: &mut Expander<'_, S, T>,
        chunks: &[Chunk],
        depth: u64,
        before: Duration,
    ) -> io::Result<()> {
        let mut writer = Writer::new(to);
        let helpers: Vec<_> = self.level.logs.iter().skip(1).map(lock).collect();
        let waiting: u64 = chunks.iter().map(|chunk| chunk.waiting.len() as u64).sum();
        let (states, transitions) = self.monitor.totals();
        // The leader may have inserted initial states without saying so yet.
        let states = states.max(expander.states);
        let standing = Standing {
            depth,
            states,
            transitions,
            expanded: states - waiting.min(states),
            elapsed: before + self.monitor.elapsed(),
            truncated: false,
        };
        writer.header(Order::Breadth, self.task.label, &standing)?;
        writer.store(self.store)?;
        let present = std::iter::once(&expander.links).chain(helpers.iter().map(|log| &**log));
        writer.number((self.ancestors.len() + 1 + helpers.len()) as u64)?;
        self.ancestors.iter().chain(present).try_for_each(|log| log.save(&mut writer))?;
        writer.number(chunks.len() as u64)?;
        let mut state = Vec::new();
        for chunk in chunks {
            writer.number(chunk.link(0).to_bits())?;
            writer.number(chunk.waiting.len() as u64)?;
            for index in 0..chunk.waiting.len() {
                expander.read(chunk, index, &mut state);
                writer.state(&state)?;
            }
        }
        writer.finish()
    }

    /// All that waits for the next level.
    fn collect(&self, next: &mut Frontier) -> Vec<Chunk> {
        let mut chunks = next.take();
        chunks.append(&mut lock(&self.level.next));
        chunks
    }

    fn help<S: System>(&self, expander: &mut Expander<'_, S, T>, number: usize) {
        let mut seen = 0;
        let log = &self.level.logs[number];
        std::mem::swap(&mut expander.links, &mut *lock(log));
        while self.level.await_next(&mut seen) {
            let _busy = Busy(&self.level.busy);
            std::mem::swap(&mut expander.links, &mut *lock(log));
            let mut next = Frontier::default();
            self.work_off(expander, number, &mut next);
            lock(&self.level.next).append(&mut next.take());
            std::mem::swap(&mut expander.links, &mut *lock(log));
        }
        std::mem::swap(&mut expander.links, &mut *lock(log));
    }

    /// Takes chunks of the present level and expands them, until there is none, or no reason to go on.
    fn work_off<S: System>(&self, expander: &mut Expander<'_, S, T>, number: usize, next: &mut Frontier) {
        let depth = self.level.depth.load(Ordering::Relaxed);
        while let Some(chunk) = self.level.take() {
            expander.begin(&chunk);
            let mut index = 0;
            while index < chunk.waiting.len() {
                match expander.expand(&chunk, index, depth, next) {
                    Ok(end) => index = end,
                    Err(_) => self.monitor.stop(StopReason::Memory),
                }
                let leads = number == 0;
                let standing = monitor::Standing {
                    states: expander.states,
                    transitions: expander.transitions,
                    waiting: next.len() + if leads { self.level.waiting.load(Ordering::Relaxed) } else { 0 },
                    depth,
                    search_bytes: next.bytes()
                        + chunk.size()
                        + expander.links.bytes()
                        + if leads { self.level.bytes.load(Ordering::Relaxed) } else { 0 },
                };
                if !self.monitor.poll(number, &standing, self.store) || self.best.length() <= depth {
                    return;
                }
            }
        }
    }
}
