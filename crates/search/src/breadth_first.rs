//! Breadth-first search, level by level: the shortest counterexample, and the order that is fastest.
//!
//! States are expanded in batches. A batch of a few hundred successors is generated, each hashed and its table line requested from
//! memory as it appears; only then are they inserted, when the lines have arrived. Prefetching hides most of the time a search would
//! otherwise spend waiting for memory.

use crate::frontier::{Chunk, Frontier, Waiting};
use crate::links::{Link, Links};
use crate::monitor::{Monitor, Standing};
use crate::retrace::{Choice, retrace, unviolated, violated};
use crate::task::Task;
use contract::{Answer, Edge, Finding, Outcome, Selection, Statistics, StopReason, Store, StoreFull, StoreWorker, Successors, System};

/// Successors generated before any is inserted. From 64 to 512 makes no difference; more leaves the first-level cache.
const BATCH: usize = 256;

/// A violation, before its trace is known.
struct Found {
    finding: Finding,
    /// The state it happened at or after.
    at: Link,
    /// The step it happened in, if it is one.
    step: Option<Choice>,
    /// Steps from the initial state.
    length: u64,
}

/// Explores `system` level by level, remembering states in `store`, which must be empty.
pub fn breadth_first<S: System + Clone, T: Store>(system: &S, store: &T, task: &Task<'_>) -> Outcome {
    let mut monitor = Monitor::new(task);
    let mut worker = Worker::new(system.clone(), store, task);
    let stopped = worker.run(&mut monitor).err();
    let truncated = worker.truncated;
    let verdict = match worker.found.take() {
        Some(found) => {
            let path = worker.links.path(found.at).map(|mut path| {
                path.extend(found.step);
                path
            });
            let trace = path.and_then(|path| retrace(&mut worker.system, &path));
            violated(&worker.system, found.finding, trace)
        }
        None => unviolated(stopped, truncated, T::EXACT),
    };
    let mut statistics = std::mem::take(&mut worker.statistics);
    statistics.expanded_by_worker = vec![worker.expanded];
    drop(worker);
    statistics.elapsed = monitor.elapsed();
    statistics.store_bytes = store.bytes();
    statistics.search_bytes = monitor.peak_search_bytes();
    Outcome { verdict, statistics }
}

struct Worker<'a, S, T: Store + 'a> {
    system: S,
    shared: &'a T,
    store: T::Worker<'a>,
    task: &'a Task<'a>,
    links: Links,
    next: Frontier,
    batch: Batch,
    found: Option<Found>,
    truncated: bool,
    expanded: u64,
    statistics: Statistics,
}

/// The states being expanded and their successors.
#[derive(Default)]
struct Batch {
    out: Successors,
    /// The hash of each entry of `out`; 0 for those without a state.
    hashes: Vec<u64>,
    sources: Vec<Source>,
    /// The source states one after the other, kept only if the property or the reduction looks at them.
    source_bytes: Vec<u8>,
    state: Vec<u8>,
    chosen: Vec<u32>,
}

struct Source {
    waiting: Waiting,
    /// Its first entry in the buffer.
    first: usize,
    bytes: std::ops::Range<usize>,
}

impl<'a, S: System, T: Store> Worker<'a, S, T> {
    fn new(system: S, shared: &'a T, task: &'a Task<'a>) -> Self {
        Worker {
            system,
            shared,
            store: shared.worker(),
            task,
            links: Links::default(),
            next: Frontier::default(),
            batch: Batch::default(),
            found: None,
            truncated: false,
            expanded: 0,
            statistics: Statistics::default(),
        }
    }

    fn run(&mut self, monitor: &mut Monitor<'_>) -> Result<(), StopReason> {
        self.initial()?;
        let mut depth = 0;
        while self.found.is_none() && self.next.len() > 0 {
            self.statistics.depth = depth;
            if self.task.limits.depth.is_some_and(|limit| depth >= limit) {
                self.truncated = true;
                break;
            }
            let level = std::mem::take(&mut self.next);
            let (waiting, bytes) = (level.len(), level.bytes());
            let mut done = 0;
            for chunk in level.into_chunks() {
                let mut index = 0;
                while index < chunk.waiting.len() {
                    let first = index;
                    index = self.expand(&chunk, first, depth);
                    self.insert(depth).map_err(|_| StopReason::Memory)?;
                    done += (index - first) as u64;
                    monitor.poll(&Standing {
                        states: self.statistics.states,
                        transitions: self.statistics.transitions,
                        waiting: waiting - done + self.next.len(),
                        depth,
                        store_bytes: self.shared.bytes(),
                        search_bytes: bytes + self.next.bytes() + self.links.bytes(),
                    })?;
                    // A step that fails at this level makes a trace one longer than a deadlock at this level would; look on for one.
                    if self.found.as_ref().is_some_and(|found| found.length <= depth) {
                        return Ok(());
                    }
                }
            }
            depth += 1;
        }
        Ok(())
    }

    fn initial(&mut self) -> Result<(), StopReason> {
        self.batch.out.clear();
        self.system.initial(&mut self.batch.out);
        self.batch.hash_from(0, &self.store);
        for index in 0..self.batch.out.len() {
            if let Answer::Stop(finding) = self.insert_one(index, Link::NONE, index as Choice).map_err(|_| StopReason::Memory)?.1 {
                let at = self.links.push(Link::NONE, index as Choice);
                self.keep(Found { finding, at, step: None, length: 0 });
            }
        }
        Ok(())
    }

    fn keep(&mut self, found: Found) {
        if self.found.as_ref().is_none_or(|best| found.length < best.length) {
            self.found = Some(found);
        }
    }

    /// First pass: expands states of `chunk` from number `index` on until the batch is full; the number of the first not expanded.
    fn expand(&mut self, chunk: &Chunk, mut index: usize, depth: u64) -> usize {
        let keep_sources = self.task.property.interest().edges || !self.task.reduction.is_identity();
        let Batch { out, sources, source_bytes, hashes, .. } = &mut self.batch;
        out.clear();
        hashes.clear();
        sources.clear();
        source_bytes.clear();
        while index < chunk.waiting.len() && self.batch.out.len() < BATCH {
            let waiting = chunk.waiting[index];
            let batch = &mut self.batch;
            match chunk.state(index) {
                Some(state) => {
                    batch.state.clear();
                    batch.state.extend_from_slice(state);
                }
                None => {
                    self.store.read(waiting.id, &mut batch.state);
                }
            }
            let first = batch.out.len();
            batch.out.begin_source(batch.sources.len() as u32);
            self.system.successors(&batch.state, &mut batch.out);
            let start = batch.source_bytes.len();
            if keep_sources {
                batch.source_bytes.extend_from_slice(&batch.state);
            }
            batch.sources.push(Source { waiting, first, bytes: start..batch.source_bytes.len() });
            batch.hash_from(first, &self.store);
            self.expanded += 1;
            if self.batch.out.len() == first {
                let valid = self.system.is_valid_end(&self.batch.state);
                if let Answer::Stop(finding) = self.task.property.terminal(&self.batch.state, valid) {
                    self.keep(Found { finding, at: waiting.link, step: None, length: depth });
                }
            }
            index += 1;
        }
        index
    }

    /// Second pass: inserts what the first generated.
    fn insert(&mut self, depth: u64) -> Result<(), StoreFull> {
        let reduced = !self.task.reduction.is_identity();
        for number in 0..self.batch.sources.len() {
            if self.found.is_some() {
                return Ok(());
            }
            let source = &self.batch.sources[number];
            let (waiting, first) = (source.waiting, source.first);
            let end = self.batch.sources.get(number + 1).map_or(self.batch.out.len(), |next| next.first);
            if reduced && self.select(number, first, end) {
                for position in 0..self.batch.chosen.len() {
                    self.follow(number, waiting, first, first + self.batch.chosen[position] as usize, depth)?;
                }
            } else {
                for index in first..end {
                    self.follow(number, waiting, first, index, depth)?;
                }
            }
        }
        Ok(())
    }

    /// Asks the reduction; `true` if only the chosen steps are to be followed.
    fn select(&mut self, number: usize, first: usize, end: usize) -> bool {
        let Batch { out, chosen, sources, source_bytes, .. } = &mut self.batch;
        let state = &source_bytes[sources[number].bytes.clone()];
        chosen.clear();
        self.task.reduction.select(state, &out.entries()[first..end], chosen) == Selection::Subset
            && chosen.iter().all(|&index| (index as usize) < end - first)
    }

    /// Follows the step at `index` of the batch, out of source `number`.
    fn follow(&mut self, number: usize, waiting: Waiting, first: usize, index: usize, depth: u64) -> Result<(), StoreFull> {
        let entry = self.batch.out.entries()[index];
        let choice = (index - first) as Choice;
        let found = |finding| Found { finding, at: waiting.link, step: Some(choice), length: depth + 1 };
        if let Some(code) = entry.fault() {
            match self.task.property.fault(code, entry.has_state()) {
                Answer::Continue => {}
                Answer::Prune => return Ok(()),
                Answer::Stop(finding) => {
                    self.keep(found(finding));
                    return Ok(());
                }
            }
        }
        if !entry.has_state() {
            return Ok(());
        }
        self.statistics.transitions += 1;
        let (inserted, answer) = self.insert_one(index, waiting.link, choice)?;
        if let Answer::Stop(finding) = answer {
            self.keep(found(finding));
            return Ok(());
        }
        if self.task.property.interest().edges
            && let Some(target) = self.batch.out.state(&entry)
        {
            let source = &self.batch.source_bytes[self.batch.sources[number].bytes.clone()];
            let edge = Edge { source, source_id: waiting.id, target, target_id: inserted.id, new: inserted.new, action: entry.action };
            if let Answer::Stop(finding) = self.task.property.edge(&edge) {
                self.keep(found(finding));
            }
        }
        Ok(())
    }

    /// Inserts the state of the batch's entry `index`; if it is new and the property lets it, it waits for the next level.
    #[inline]
    fn insert_one(&mut self, index: usize, parent: Link, choice: Choice) -> Result<(contract::Inserted, Answer), StoreFull> {
        let Batch { out, hashes, .. } = &self.batch;
        let state = out.state(&out.entries()[index]).unwrap_or_default();
        let inserted = self.store.insert(hashes[index], state)?;
        let mut answer = Answer::Continue;
        if inserted.new {
            self.statistics.states += 1;
            if self.task.property.interest().states {
                answer = self.task.property.state(state);
            }
            if answer == Answer::Continue {
                let link = self.links.push(parent, choice);
                self.next.push(Waiting { id: inserted.id, link }, (!T::READABLE).then_some(state));
            }
        }
        Ok((inserted, answer))
    }
}

impl Batch {
    /// Hashes the entries from `first` on and asks for their lines of the table.
    #[inline]
    fn hash_from<W: StoreWorker>(&mut self, first: usize, store: &W) {
        self.hashes.truncate(first);
        for entry in &self.out.entries()[first..] {
            let hash = match self.out.state(entry) {
                Some(state) => {
                    let hash = store.hash(state);
                    store.prefetch(hash);
                    hash
                }
                None => 0,
            };
            self.hashes.push(hash);
        }
    }
}
