//! Breadth-first search, level by level. It gives the shortest counterexample and is the fastest
//! order.
//!
//! A sequential search and a parallel one differ only in which workers take the chunks of a level.
//! The caller's thread is the first worker and leads: it expands the smallest levels alone and
//! shares the others with the helpers that are there in time. A level ends when all its chunks are
//! done. So depths are exact and the first violation found is among the shortest, with any number
//! of workers.

use crate::checkpoint::{CheckpointError, Reader, SavedCounts, SavedOrder, Writer};
use crate::estimate::Levels;
use crate::expand::{Best, Expander};
use crate::fork_join::ForkJoin;
use crate::frontier::{Chunk, Frontier, Sink};
use crate::level::{Level, states_in};
use crate::links::{Link, Links, MOST_WORKERS};
use crate::monitor::{self, Monitor};
use crate::parts::{Part, conclude, together};
use crate::sync::lock;
use crate::task::Task;
use contract::{Outcome, StopReason, Store, StoreWorker, System};
use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Levels with fewer states than this are not shared.
const SHARED_STATES: u64 = 128;

/// Explores `system` level by level. The store must be empty.
pub fn breadth_first<S: System + Clone, T: Store>(system: &S, store: &T, task: &Task<'_>) -> Outcome {
    search(system, store, task, None)
}

/// Continues from a checkpoint whose states are already in the store.
pub(crate) fn resumed<S: System + Clone, T: Store>(
    system: &S,
    store: &T,
    task: &Task<'_>,
    mut reader: Reader<'_>,
    standing: SavedCounts,
    mut worker: T::Worker<'_>,
) -> Result<Outcome, CheckpointError> {
    let logs = reader.number()?;
    let ancestors = (0..logs).map(|_| Links::load(&mut reader)).collect::<Result<Vec<_>, _>>()?;
    let level = load(&mut reader, &mut worker, standing.depth)?;
    let next = load(&mut reader, &mut worker, standing.depth + 1)?;
    reader.finish()?;
    drop(worker);
    let elapsed = standing.elapsed;
    let mut outcome = search(system, store, task, Some(Start { ancestors, level, next, standing }));
    outcome.statistics.elapsed += elapsed;
    Ok(outcome)
}

/// Reads the states of a level that wait to be expanded, in chunks.
fn load<W: StoreWorker>(reader: &mut Reader<'_>, worker: &mut W, depth: u64) -> Result<Vec<Chunk>, CheckpointError> {
    let mut level = Vec::new();
    let mut state = Vec::new();
    for _ in 0..reader.number()? {
        let first = reader.number()?;
        let mut frontier = Frontier::default();
        for index in 0..reader.number()? {
            reader.state(&mut state)?;
            let hash = worker.hash(&state);
            let id = worker.insert(hash, &state).map_err(|full| reader.refused(full))?.id;
            let bytes = if worker.keeps(id) { None } else { Some(&state[..]) };
            frontier.push(id, Link::from_bits(first).after(index as usize), depth, bytes);
        }
        level.append(&mut frontier.take());
    }
    Ok(level)
}

/// The point at which a resumed search begins.
struct Start {
    /// The logs of the workers of earlier runs.
    ancestors: Vec<Links>,
    /// The rest of the level, and the states found so far for the next one.
    level: Vec<Chunk>,
    next: Vec<Chunk>,
    standing: SavedCounts,
}

fn search<S: System + Clone, T: Store>(system: &S, store: &T, task: &Task<'_>, mut start: Option<Start>) -> Outcome {
    let ancestors = start.as_mut().map(|start| std::mem::take(&mut start.ancestors)).unwrap_or_default();
    let workers = task.threads.clamp(1, MOST_WORKERS);
    let monitor = Monitor::new(task, workers, store);
    let best = Best::new();
    let (level, fork_join) = (Level::default(), ForkJoin::default());
    let logs: Vec<_> = (0..workers).map(|_| Mutex::new(Links::new(MOST_WORKERS, false))).collect();
    let search =
        Search { store, task, monitor: &monitor, best: &best, level: &level, fork_join: &fork_join, logs: &logs, ancestors: &ancestors };
    let before = ancestors.len();
    let (mut depth, mut truncated) = (0, false);
    let lead = |workers: usize, system: S| {
        let _home = SendHome(&fork_join, &monitor);
        let mut leader = Expander::new(system, store, task, &best, before);
        (depth, truncated) = search.lead(&mut leader, workers, start);
        Part::of(leader)
    };
    let help = |number: usize, system: S| {
        let mut expander = Expander::new(system, store, task, &best, before + number);
        search.help(&mut expander, number);
        Part::of(expander)
    };
    let parts = together(workers, system, &monitor, lead, help);
    let mut outcome = conclude(ancestors, parts, system, store, &monitor, truncated);
    outcome.statistics.depth = depth;
    outcome
}

/// Dismisses the helpers when the leader is done, and at once if it panics.
struct SendHome<'a>(&'a ForkJoin, &'a Monitor<'a>);

impl Drop for SendHome<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.1.stop(StopReason::Interrupted);
        }
        self.0.finish();
    }
}

/// What the workers share.
struct Search<'a, T> {
    store: &'a T,
    task: &'a Task<'a>,
    monitor: &'a Monitor<'a>,
    best: &'a Best,
    level: &'a Level,
    fork_join: &'a ForkJoin,
    /// The links of the helpers while they are idle.
    logs: &'a [Mutex<Links>],
    ancestors: &'a [Links],
}

impl<T> Clone for Search<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Search<'_, T> {}

impl<T: Store> Search<'_, T> {
    /// Runs all levels; returns the depth reached, and whether the depth limit cut something off.
    fn lead<S: System>(&self, expander: &mut Expander<'_, S, T>, workers: usize, start: Option<Start>) -> (u64, bool) {
        let mut next = Frontier::default();
        let mut depth = 0;
        let mut before = Duration::ZERO;
        let mut levels = Levels::default();
        match start {
            Some(Start { level, next: later, standing, .. }) => {
                (depth, before) = (standing.depth, standing.elapsed);
                (expander.states, expander.transitions, expander.expanded) = (standing.states, standing.transitions, standing.expanded);
                next = Frontier::of(later);
                self.run_level(expander, workers, level, depth, &mut next, before);
                depth += 1;
            }
            None if expander.initial(&mut next).is_err() => self.monitor.refused(),
            None => {}
        }
        loop {
            let chunks = self.collect(&mut next);
            if chunks.is_empty() || self.monitor.stopped() || self.best.length() <= depth {
                // If the last level was empty, the depth is that of the one before.
                return (depth.saturating_sub(u64::from(chunks.is_empty())), false);
            }
            if self.task.limits.depth.is_some_and(|limit| depth >= limit) {
                self.save(expander, &chunks, &Frontier::default(), depth, before);
                return (depth, true);
            }
            let size = states_in(&chunks);
            let states = expander.states + self.monitor.totals_of_helpers().0;
            self.monitor.expect(levels.next(size).map(|more| states + more));
            self.run_level(expander, workers, chunks, depth, &mut next, before);
            depth += 1;
        }
    }

    /// Expands the states of a level and pauses for each checkpoint that is due; `before` is the
    /// time spent in earlier runs.
    fn run_level<S: System>(
        &self,
        expander: &mut Expander<'_, S, T>,
        workers: usize,
        mut chunks: Vec<Chunk>,
        depth: u64,
        next: &mut Frontier,
        before: Duration,
    ) {
        while !chunks.is_empty() {
            let shared = workers > 1 && states_in(&chunks) >= SHARED_STATES;
            self.level.open(chunks, depth, if shared { workers } else { 1 });
            if shared {
                self.fork_join.call();
            }
            self.work_off(expander, 0, next);
            if shared {
                self.fork_join.close();
            }
            chunks = self.level.rest();
            if self.level.pause.swap(false, Ordering::Relaxed) || self.monitor.stopped() {
                self.save(expander, &chunks, next, depth, before);
                // A stop that was requested meanwhile needs no other checkpoint, which would be the
                // same.
                self.monitor.had_enough();
            }
            if self.monitor.stopped() || self.best.length() <= depth {
                return;
            }
        }
    }

    /// Takes a checkpoint while the helpers are idle, if checkpoints are wanted and there is
    /// something to continue with.
    fn save<S: System>(&self, expander: &mut Expander<'_, S, T>, level: &[Chunk], next: &Frontier, depth: u64, before: Duration) {
        let Some(checkpoints) = self.task.checkpoints else { return };
        if self.best.length() != u64::MAX || self.fork_join.has_lost() {
            return;
        }
        let reason = self.monitor.reason();
        if let Err(error) = checkpoints.save_because(reason.as_ref(), &mut |to| self.write(to, expander, level, next, depth, before)) {
            self.monitor.notice(&format!("no checkpoint could be written: {error}"));
        }
    }

    fn write<S: System>(
        &self,
        to: &mut dyn Write,
        expander: &mut Expander<'_, S, T>,
        level: &[Chunk],
        next: &Frontier,
        depth: u64,
        before: Duration,
    ) -> io::Result<()> {
        let mut writer = Writer::new(to);
        let helpers: Vec<_> = self.logs.iter().skip(1).map(lock).collect();
        let found = lock(&self.level.next);
        let next: Vec<&Chunk> = next.chunks().chain(&*found).filter(|chunk| !chunk.waiting.is_empty()).collect();
        let level: Vec<&Chunk> = level.iter().collect();
        let waiting = states_in(level.iter().chain(&next).copied());
        let (states, transitions) = self.monitor.totals_of_helpers();
        let states = states + expander.states;
        let standing = SavedCounts {
            depth,
            states,
            transitions: transitions + expander.transitions,
            expanded: states.saturating_sub(waiting),
            elapsed: before + self.monitor.elapsed(),
            cut: None,
        };
        writer.header(SavedOrder::Breadth, self.task.label, &standing)?;
        writer.store(self.store, states)?;
        let present = std::iter::once(&expander.links).chain(helpers.iter().map(|log| &**log));
        writer.number((self.ancestors.len() + 1 + helpers.len()) as u64)?;
        self.ancestors.iter().chain(present).try_for_each(|log| log.save(&mut writer))?;
        let mut state = Vec::new();
        for chunks in [level, next] {
            writer.number(chunks.len() as u64)?;
            for chunk in chunks {
                writer.number(chunk.link(0).to_bits())?;
                writer.number(chunk.waiting.len() as u64)?;
                for index in 0..chunk.waiting.len() {
                    expander.read(chunk, index, &mut state);
                    writer.state(&state)?;
                }
            }
        }
        writer.finish()
    }

    /// Takes all states found for the next level.
    fn collect(&self, next: &mut Frontier) -> Vec<Chunk> {
        let mut chunks = next.take();
        chunks.append(&mut lock(&self.level.next));
        chunks
    }

    fn help<S: System>(&self, expander: &mut Expander<'_, S, T>, number: usize) {
        let (mut seen, mut next) = (0, Frontier::default());
        // While a helper waits, its links are in its log, where the leader finds them.
        let exchange = |expander: &mut Expander<'_, S, T>| std::mem::swap(&mut expander.links, &mut *lock(&self.logs[number]));
        exchange(expander);
        while let Some(_joined) = self.fork_join.join(&mut seen) {
            exchange(expander);
            self.work_off(expander, number, &mut next);
            lock(&self.level.next).append(&mut next.take());
            // From now on the leader counts the states that were handed over.
            self.monitor.rest(number, next.bytes() + expander.links.bytes());
            exchange(expander);
        }
        exchange(expander);
    }

    /// Takes chunks of the current level and expands them until there are none left or the search
    /// stops.
    fn work_off<S: System>(&self, expander: &mut Expander<'_, S, T>, number: usize, next: &mut Frontier) {
        let leads = number == 0;
        let depth = self.level.depth();
        while let Some(mut chunk) = self.level.take() {
            expander.begin(&chunk);
            let mut index = 0;
            while index < chunk.waiting.len() {
                match expander.expand(&chunk, index, depth, next) {
                    Ok(end) => index = end,
                    Err(cut_short) => {
                        index = cut_short.at;
                        self.monitor.refused();
                    }
                }
                let standing = monitor::WorkerCounts {
                    states: expander.states,
                    transitions: expander.transitions,
                    waiting: next.len() + if leads { self.level.waiting() } else { 0 },
                    depth,
                    search_bytes: next.bytes() + chunk.size() + expander.links.bytes() + if leads { self.level.bytes() } else { 0 },
                };
                if leads && self.task.checkpoints.is_some_and(|checkpoints| checkpoints.due()) {
                    self.level.pause.store(true, Ordering::Relaxed);
                }
                let go_on = self.monitor.poll(number, &standing, self.store) && self.best.length() > depth;
                if !go_on || self.level.pause.load(Ordering::Relaxed) {
                    if index < chunk.waiting.len() {
                        self.level.leave(chunk.split_off(index));
                    }
                    return;
                }
            }
            next.recycle(chunk);
        }
    }
}
