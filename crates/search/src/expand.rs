//! The hot loop, shared by all orders that need not be strictly depth-first: takes waiting states, yields new ones.
//!
//! States are expanded in batches. A batch of a few hundred successors is generated, each hashed and its line of the table requested
//! from memory as it appears; only then are they inserted, when the lines have arrived. That hides most of the time a search would
//! otherwise spend waiting for memory.

use crate::frontier::{Chunk, Sink};
use crate::links::{Link, Links, Sources};
use crate::retrace::Choice;
use crate::task::Task;
use contract::{Answer, Edge, Finding, Inserted, Selection, StateId, Store, StoreFull, StoreWorker, Successors, System};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Successors generated before any is inserted. From 64 to 512 makes no difference; more leaves the first-level cache.
const BATCH: usize = 256;

/// A batch that takes longer than this is cut short. The clock is looked at every few states, or at each if the last batch was slow.
const SLOW: Duration = Duration::from_millis(5);
const LOOK_EVERY: usize = 16;

/// A violation, before its trace is known.
pub(crate) struct Found {
    pub finding: Finding,
    /// The state it happened at or after.
    pub at: Link,
    /// The step it happened in, if it is one.
    pub step: Option<Choice>,
    /// Steps from the initial state.
    pub length: u64,
}

/// The store took no more states, or a step was given up.
pub(crate) struct CutShort {
    /// The number, in its chunk, of the first state that is not fully expanded.
    pub at: usize,
}

/// The length of the shortest violation any worker has found.
pub(crate) struct Best(AtomicU64);

impl Best {
    pub fn new() -> Self {
        Best(AtomicU64::new(u64::MAX))
    }

    #[inline]
    pub fn length(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One worker's part of a search.
pub(crate) struct Expander<'a, S, T: Store + 'a> {
    pub system: S,
    store: T::Worker<'a>,
    task: &'a Task<'a>,
    best: &'a Best,
    pub links: Links,
    pub found: Option<Found>,
    pub states: u64,
    pub transitions: u64,
    pub expanded: u64,
    /// The greatest depth of a state expanded.
    pub depth: u64,
    /// Some state was not expanded because of the depth limit.
    pub truncated: bool,
    most_depth: u64,
    /// What the property and the reduction want to hear of.
    states_wanted: bool,
    edges_wanted: bool,
    reduced: bool,
    /// The last batch took long.
    slow: bool,
    batch: Batch,
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
    id: StateId,
    link: Link,
    /// Its number in the chunk.
    position: usize,
    depth: u64,
    /// Its first entry in the buffer.
    first: usize,
    bytes: Range<usize>,
}

/// How a state was reached.
struct Origin {
    position: usize,
    parent: Link,
    choice: Choice,
    depth: u64,
}

impl<'a, S: System, T: Store> Expander<'a, S, T> {
    pub fn new(system: S, store: &'a T, task: &'a Task<'a>, best: &'a Best, worker: usize) -> Self {
        let interest = task.property.interest();
        Expander {
            system,
            store: store.worker(),
            task,
            best,
            links: Links::new(worker),
            found: None,
            states: 0,
            transitions: 0,
            expanded: 0,
            depth: 0,
            truncated: false,
            most_depth: task.limits.depth.unwrap_or(u64::MAX),
            states_wanted: interest.states,
            edges_wanted: interest.edges,
            reduced: !task.reduction.is_identity(),
            slow: true,
            batch: Batch::default(),
        }
    }

    /// Replaces `out` by the bytes of state number `index` of `chunk`.
    pub fn read(&mut self, chunk: &Chunk, index: usize, out: &mut Vec<u8>) {
        match chunk.state(index) {
            Some(state) => {
                out.clear();
                out.extend_from_slice(state);
            }
            None => {
                self.store.read(chunk.waiting[index], out);
            }
        }
    }

    /// Inserts the initial states.
    pub fn initial(&mut self, next: &mut impl Sink) -> Result<(), StoreFull> {
        self.batch.clear();
        self.links.begin(Sources::From(Link::NONE));
        self.system.initial(&mut self.batch.out);
        self.batch.hash_from(0, &mut self.store);
        for index in 0..self.batch.out.len() {
            let Some(state) = self.batch.out.state(&self.batch.out.entries()[index]) else { continue };
            let inserted = self.store.insert(self.batch.hashes[index], state)?;
            if inserted.new
                && let Answer::Stop(finding) =
                    self.welcome(index, inserted, Origin { position: 0, parent: Link::NONE, choice: index as Choice, depth: 0 }, next)
            {
                let at = self.links.push(0, Link::NONE, index as Choice);
                self.keep(Found { finding, at, step: None, length: 0 });
            }
        }
        Ok(())
    }

    /// From now on states of `chunk` are expanded, in order.
    pub fn begin(&mut self, chunk: &Chunk) {
        self.links.begin(chunk.sources());
    }

    /// Expands states of `chunk` from number `index` on until a batch is full; new ones go to `next`. Gives the number of the first
    /// state not expanded. `level` is the depth of states that do not say theirs.
    pub fn expand(&mut self, chunk: &Chunk, index: usize, level: u64, next: &mut impl Sink) -> Result<usize, CutShort> {
        let index = self.generate(chunk, index, level);
        let given_up = self.batch.out.is_cut_short();
        // Once a violation at the next level is known, only a deadlock at this one could be shorter, and that needs no insertion.
        if self.best.length() > level.saturating_add(1) {
            self.insert(next)?;
        }
        if given_up { Err(CutShort { at: index }) } else { Ok(index) }
    }

    fn keep(&mut self, found: Found) {
        if self.found.as_ref().is_none_or(|best| found.length < best.length) {
            self.best.0.fetch_min(found.length, Ordering::Relaxed);
            self.found = Some(found);
        }
    }

    /// First pass: successors, hashes, prefetches. Ends before a state whose steps were given up.
    fn generate(&mut self, chunk: &Chunk, mut index: usize, level: u64) -> usize {
        self.batch.clear();
        let begun = Instant::now();
        let first = index;
        while index < chunk.waiting.len() && self.batch.out.len() < BATCH {
            // Where states take long, a whole batch would make a limit late.
            if index > first && (self.slow || (index - first).is_multiple_of(LOOK_EVERY)) {
                self.slow = begun.elapsed() > SLOW;
                if self.slow {
                    break;
                }
            }
            let batch = &mut self.batch;
            let (id, link) = (chunk.waiting[index], chunk.link(index));
            let depth = chunk.depth(index, level);
            if depth >= self.most_depth {
                self.truncated = true;
                index += 1;
                continue;
            }
            self.depth = self.depth.max(depth);
            let state = match chunk.state(index).or_else(|| self.store.view(id)) {
                Some(state) => state,
                None => {
                    self.store.read(id, &mut batch.state);
                    &batch.state
                }
            };
            let first = batch.out.len();
            batch.out.begin_source(batch.sources.len() as u32);
            self.system.successors(state, &mut batch.out);
            if batch.out.is_cut_short() {
                return index;
            }
            let start = batch.source_bytes.len();
            if self.edges_wanted || self.reduced {
                batch.source_bytes.extend_from_slice(state);
            }
            batch.sources.push(Source { id, link, position: index, depth, first, bytes: start..batch.source_bytes.len() });
            self.expanded += 1;
            index += 1;
            if batch.out.len() == first {
                let valid = self.system.is_valid_end(state);
                if let Answer::Stop(finding) = self.task.property.terminal(state, valid) {
                    self.keep(Found { finding, at: link, step: None, length: depth });
                }
                continue;
            }
            batch.hash_from(first, &mut self.store);
        }
        index
    }

    /// Second pass: inserts what the first generated.
    fn insert(&mut self, next: &mut impl Sink) -> Result<(), CutShort> {
        if self.reduced {
            return self.insert_selected(next);
        }
        if self.edges_wanted || self.states_wanted {
            return (0..self.batch.out.len()).try_for_each(|index| self.follow(index, next));
        }
        let mut index = 0;
        loop {
            index = self.insert_from(index, next)?;
            if index == self.batch.out.len() {
                return Ok(());
            }
            self.follow(index, next)?;
            index += 1;
        }
    }

    /// What nearly all searches do nearly all the time, without the questions they need not ask: inserts the entries from `first` on, up to
    /// one with a fault, whose number it gives.
    fn insert_from(&mut self, first: usize, next: &mut impl Sink) -> Result<usize, CutShort> {
        let Batch { out, hashes, sources, .. } = &self.batch;
        let entries = out.entries();
        let hashes = &hashes[..entries.len()];
        let (mut index, mut seen) = (first, 0);
        let mut full = false;
        while index < entries.len() {
            let entry = &entries[index];
            if entry.fault().is_some() {
                break;
            }
            if let Some(state) = out.state(entry) {
                seen += 1;
                let Ok(inserted) = self.store.insert(hashes[index], state) else {
                    full = true;
                    break;
                };
                if inserted.new {
                    self.states += 1;
                    let source = &sources[entry.source as usize];
                    let link = self.links.push(source.position, source.link, (index - source.first) as Choice);
                    let kept = self.store.keeps(inserted.id) && !(self.store.reads_slowly() && next.has_room());
                    next.push(inserted.id, link, source.depth + 1, if kept { None } else { Some(state) });
                }
            }
            index += 1;
        }
        self.transitions += seen;
        if full { Err(self.take_back(index)) } else { Ok(index) }
    }

    /// As `insert`, but asks the reduction which steps to follow.
    fn insert_selected(&mut self, next: &mut impl Sink) -> Result<(), CutShort> {
        for number in 0..self.batch.sources.len() {
            let Batch { out, chosen, sources, source_bytes, .. } = &mut self.batch;
            let first = sources[number].first;
            let end = sources.get(number + 1).map_or(out.len(), |next| next.first);
            let state = &source_bytes[sources[number].bytes.clone()];
            chosen.clear();
            if self.task.reduction.select(state, &out.entries()[first..end], chosen) == Selection::All {
                chosen.clear();
                chosen.extend(0..(end - first) as u32);
            }
            // The log of links counts on the order.
            chosen.sort_unstable();
            chosen.dedup();
            for position in 0..self.batch.chosen.len() {
                let index = first + self.batch.chosen[position] as usize;
                if index < end {
                    self.follow(index, next)?;
                }
            }
        }
        Ok(())
    }

    /// Follows the step at `index` of the batch.
    #[inline(never)]
    fn follow(&mut self, index: usize, next: &mut impl Sink) -> Result<(), CutShort> {
        let entry = &self.batch.out.entries()[index];
        if entry.fault().is_some() && !self.passes_fault(index) {
            return Ok(());
        }
        let entry = &self.batch.out.entries()[index];
        let Some(state) = self.batch.out.state(entry) else { return Ok(()) };
        self.transitions += 1;
        let Ok(inserted) = self.store.insert(self.batch.hashes[index], state) else { return Err(self.take_back(index)) };
        if inserted.new {
            let source = &self.batch.sources[entry.source as usize];
            let origin = Origin {
                position: source.position,
                parent: source.link,
                choice: (index - source.first) as Choice,
                depth: source.depth + 1,
            };
            if let Answer::Stop(finding) = self.welcome(index, inserted, origin, next) {
                self.keep_step(finding, index);
                return Ok(());
            }
        }
        if self.edges_wanted {
            self.show_edge(index, inserted);
        }
        Ok(())
    }

    /// The store refused the step at `index`: its source and those after it count as not expanded, so that they can be expanded again
    /// without counting any step twice. What their first steps led to stays found.
    #[cold]
    fn take_back(&mut self, index: usize) -> CutShort {
        let Batch { out, sources, chosen, .. } = &self.batch;
        let number = out.entries()[index].source as usize;
        let Source { first, position, .. } = sources[number];
        let counted = (first..=index).filter(|&index| {
            let entry = &out.entries()[index];
            let pruned = entry.fault().is_some_and(|code| self.task.property.fault(code, entry.has_state()) != Answer::Continue);
            entry.has_state() && !pruned && (!self.reduced || chosen.contains(&((index - first) as u32)))
        });
        self.transitions -= counted.count() as u64;
        self.expanded -= (sources.len() - number) as u64;
        CutShort { at: position }
    }

    /// Shows the property the fault of the step at `index`; whether the step is to be followed.
    #[cold]
    fn passes_fault(&mut self, index: usize) -> bool {
        let entry = &self.batch.out.entries()[index];
        let Some(code) = entry.fault() else { return true };
        match self.task.property.fault(code, entry.has_state()) {
            Answer::Continue => true,
            Answer::Prune => false,
            Answer::Stop(finding) => {
                self.keep_step(finding, index);
                false
            }
        }
    }

    #[cold]
    fn show_edge(&mut self, index: usize, inserted: Inserted) {
        let entry = &self.batch.out.entries()[index];
        let source = &self.batch.sources[entry.source as usize];
        let edge = Edge {
            source: &self.batch.source_bytes[source.bytes.clone()],
            source_id: source.id,
            target: self.batch.out.state(entry).unwrap_or_default(),
            target_id: inserted.id,
            new: inserted.new,
            action: entry.action,
        };
        if let Answer::Stop(finding) = self.task.property.edge(&edge) {
            self.keep_step(finding, index);
        }
    }

    /// Keeps a finding about the step at `index`.
    fn keep_step(&mut self, finding: Finding, index: usize) {
        let source = &self.batch.sources[self.batch.out.entries()[index].source as usize];
        let step = Some((index - source.first) as Choice);
        let found = Found { finding, at: source.link, step, length: source.depth + 1 };
        self.keep(found);
    }

    /// The state of the batch's entry `index` is new: if the property lets it, it waits in `next`.
    #[inline]
    fn welcome(&mut self, index: usize, inserted: Inserted, origin: Origin, next: &mut impl Sink) -> Answer {
        self.states += 1;
        let state = self.batch.out.state(&self.batch.out.entries()[index]).unwrap_or_default();
        if self.states_wanted {
            let answer = self.task.property.state(state);
            if answer != Answer::Continue {
                return answer;
            }
        }
        let link = self.links.push(origin.position, origin.parent, origin.choice);
        let kept = self.store.keeps(inserted.id) && !(self.store.reads_slowly() && next.has_room());
        next.push(inserted.id, link, origin.depth, if kept { None } else { Some(state) });
        Answer::Continue
    }
}

impl Batch {
    fn clear(&mut self) {
        self.out.clear();
        self.hashes.clear();
        self.sources.clear();
        self.source_bytes.clear();
    }

    /// Hashes the entries from `first` on and asks for their lines of the table.
    #[inline(always)]
    fn hash_from<W: StoreWorker>(&mut self, first: usize, store: &mut W) {
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
