//! The hot loop, shared by all orders that need not be strictly depth-first: it takes waiting
//! states and produces new ones.
//!
//! States are expanded in batches. First a batch of a few hundred successors is generated. Then
//! each is hashed and its cache line of the table is prefetched. They are inserted only afterwards,
//! when the lines have arrived. This hides most of the time that a search would otherwise spend
//! waiting for memory.

use crate::frontier::{Chunk, Sink};
use crate::links::{Link, Links, Sources};
use crate::patience::Patience;
use crate::retrace::Choice;
use crate::rounds::{AT_ONCE, Ahead, LeftOutOfAll, initial_fault, leave_out};
use crate::task::Task;
use crate::watch::{ACTIONS, INSERT, PUSH, SELECT, Watch};
use contract::{
    Action, Answer, Edge, Finding, Fresh, Inserted, LeftOut, Reduction, Store, StoreFull, StoreWorker, Successor, Successors, System,
};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The number of successors that are generated before any is inserted. Numbers from 64 to 512 make
/// no difference; more would not fit into the first-level cache.
const BATCH: usize = 256;

/// A batch that takes longer than this is cut short. The clock is read every few states, or for
/// each state if the last batch was slow. With a reduction the clock decides nothing: it depends on
/// where batches end which states are new to the proviso, and so how many are visited. There a
/// batch is cut short only when the search is over.
const SLOW: Duration = Duration::from_millis(5);
const LOOK_EVERY: usize = AT_ONCE;

/// A violation, before its trace is known.
pub(crate) struct Found {
    pub finding: Finding,
    /// The state at or after which it happened.
    pub at: Link,
    /// The step in which it happened, if it happened in one.
    pub step: Option<Choice>,
    /// The number of steps from the initial state.
    pub length: u64,
}

/// The store accepted no more states, or a step was given up.
pub(crate) struct CutShort {
    /// The number, in its chunk, of the first state that is not fully expanded.
    pub at: usize,
}

/// The length of the shortest violation that any worker has found.
pub(crate) struct Best(AtomicU64);

impl Best {
    pub fn new() -> Self {
        Best(AtomicU64::new(u64::MAX))
    }

    #[inline]
    pub fn length(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Replaces the shortest violation of a worker if this one is shorter.
    fn keep(&self, shortest: &mut Option<Found>, found: Found) {
        if shortest.as_ref().is_none_or(|best| found.length < best.length) {
            self.0.fetch_min(found.length, Ordering::Relaxed);
            *shortest = Some(found);
        }
    }
}

/// One worker's part of a search.
pub(crate) struct Expander<'a, S, T: Store + 'a> {
    pub system: S,
    pub store: T::Worker<'a>,
    task: &'a Task<'a>,
    best: &'a Best,
    pub links: Links,
    pub found: Option<Found>,
    pub states: u64,
    pub transitions: u64,
    pub expanded: u64,
    /// The greatest depth of an expanded state.
    pub depth: u64,
    /// Some state was not expanded because of the depth limit.
    pub truncated: bool,
    most_depth: u64,
    /// Which events the property and the reduction ask for.
    states_wanted: bool,
    edges_wanted: bool,
    reduced: bool,
    /// The last batch took long.
    slow: bool,
    patience: Patience,
    batch: Batch,
    pub watch: Watch,
}

/// The states being expanded and their successors.
#[derive(Default)]
struct Batch {
    out: Successors,
    /// The hash of each entry of `out`; 0 for those without a state.
    hashes: Vec<u64>,
    sources: Vec<SourceState>,
    /// The details of each source for properties that want edges. Without such properties, only the
    /// sources in which a reduction postponed a process have details.
    details: Details,
    state: Vec<u8>,
    /// Whether a reduction postponed something in one of the sources; and then, for each source,
    /// whether its steps led to a new state.
    postponed: bool,
    fruitful: Vec<bool>,
    ahead: Ahead,
    /// The source of the step that the store refused.
    refused: usize,
    /// The entries that the store found new.
    fresh: Vec<Fresh>,
}

#[derive(Clone, Copy)]
struct SourceState {
    /// Its number in the chunk.
    position: usize,
    /// Its first entry in the buffer.
    first: usize,
}

#[derive(Default)]
struct Details {
    list: Vec<Detail>,
    /// The states of these sources, one after the other.
    bytes: Vec<u8>,
}

impl Details {
    fn add(&mut self, state: &[u8], source: usize, postponed: u64) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(state);
        self.list.push(Detail { source, bytes: start..self.bytes.len(), postponed });
    }

    fn clear(&mut self) {
        self.list.clear();
        self.bytes.clear();
    }
}

struct Detail {
    /// The number of the source.
    source: usize,
    bytes: Range<usize>,
    /// The processes that were postponed in the state, one bit each.
    postponed: u64,
}

/// The states that are expanded: a chunk, and the depth of the states that do not store their own.
#[derive(Clone, Copy)]
struct Origins<'c> {
    chunk: &'c Chunk,
    level: u64,
}

impl Origins<'_> {
    #[inline(always)]
    fn link(&self, source: SourceState) -> Link {
        self.chunk.link(source.position)
    }

    #[inline(always)]
    fn depth(&self, source: SourceState) -> u64 {
        self.chunk.depth(source.position, self.level)
    }
}

/// How a state was reached.
struct Origin {
    position: usize,
    parent: Link,
    /// The step, by its index among all steps of its source and by its action.
    index: u32,
    action: Action,
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
            links: Links::new(worker, !task.reduction.is_identity()),
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
            patience: Patience::new(task),
            batch: Batch::default(),
            watch: Watch::new(task),
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
        self.store.hash_batch(&self.batch.out, &mut self.batch.hashes);
        for index in 0..self.batch.out.len() {
            let action = Action::new(0, index as u32);
            let origin = Origin { position: 0, parent: Link::NONE, index: index as u32, action, depth: 0 };
            let entry = &self.batch.out.entries()[index];
            let mut answer = initial_fault(self.task.property, entry);
            if answer == Answer::Continue
                && let Some(state) = self.batch.out.state(entry)
            {
                let inserted = self.store.insert(self.batch.hashes[index], state)?;
                self.watch.count(INSERT, 1);
                if inserted.new {
                    self.watch.count(PUSH, 1);
                    answer = self.welcome(index, inserted, &origin, next);
                }
            }
            if let Answer::Stop(finding) = answer {
                let at = self.link(&origin);
                self.keep(Found { finding, at, step: None, length: 0 });
            }
        }
        Ok(())
    }

    /// Logs how a new state was reached.
    #[inline]
    fn link(&mut self, origin: &Origin) -> Link {
        if self.reduced {
            self.links.push_action(origin.position, origin.action, || origin.parent)
        } else {
            self.links.push(origin.position, origin.index, || origin.parent)
        }
    }

    /// Begins the expansion of the states of `chunk`, in order.
    pub fn begin(&mut self, chunk: &Chunk) {
        self.links.begin(chunk.sources());
    }

    /// Expands states of `chunk` from number `index` on until a batch is full; new states go to
    /// `next`. Returns the number of the first state that was not expanded. `level` is the depth of
    /// states that do not store their own.
    pub fn expand(&mut self, chunk: &Chunk, index: usize, level: u64, next: &mut impl Sink) -> Result<usize, CutShort> {
        let index = self.generate(chunk, index, level);
        let given_up = self.batch.out.is_cut_short();
        // Once a violation at the next level is known, only a deadlock at this level can be
        // shorter, and that needs no insertion.
        if self.best.length() > level.saturating_add(1) {
            let known = self.states;
            self.watch.turn(INSERT);
            let inserted = self.insert(Origins { chunk, level }, next);
            self.watch.turn(SELECT);
            self.watch.count(INSERT, self.batch.out.len());
            self.watch.count(PUSH, (self.states - known) as usize);
            inserted?;
        }
        if given_up { Err(CutShort { at: index }) } else { Ok(index) }
    }

    fn keep(&mut self, found: Found) {
        self.best.keep(&mut self.found, found);
    }

    /// The first pass generates successors. It ends before a state whose successors were given up.
    fn generate(&mut self, chunk: &Chunk, mut index: usize, level: u64) -> usize {
        self.batch.clear();
        let begun = Instant::now();
        let mut look_at = index + if self.slow && !self.reduced { 1 } else { LOOK_EVERY };
        while index < chunk.waiting.len() && self.batch.out.len() < BATCH {
            // If states take long, a whole batch would exceed a time limit.
            if index >= look_at {
                self.slow = begun.elapsed() > SLOW;
                if self.slow && (!self.reduced || self.patience.is_over()) {
                    break;
                }
                look_at = index + LOOK_EVERY;
            }
            if !self.edges_wanted {
                let expanded = self.generate_several(chunk, index..look_at, level);
                index += expanded;
                if self.batch.out.is_cut_short() {
                    return index;
                }
                if expanded > 0 {
                    continue;
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
            self.watch.turn(ACTIONS);
            self.system.successors(state, &mut batch.out);
            self.watch.turn(SELECT);
            if batch.out.is_cut_short() {
                return index;
            }
            self.watch.count(SELECT, 1);
            self.watch.count(ACTIONS, batch.out.len() - first);
            let postponed = if self.reduced { leave_out(self.task.reduction, state, &mut batch.out, first) } else { 0 };
            batch.postponed |= postponed != 0;
            if self.edges_wanted || postponed != 0 {
                batch.details.add(state, batch.sources.len(), postponed);
            }
            batch.sources.push(SourceState { position: index, first });
            self.expanded += 1;
            index += 1;
            if batch.out.len() == first {
                let valid = self.system.is_valid_end(state);
                if let Answer::Stop(finding) = self.task.property.terminal(state, valid) {
                    self.keep(Found { finding, at: link, step: None, length: depth });
                }
                continue;
            }
        }
        index
    }

    /// Generates the successors of as many states, from the beginning of a range of `chunk` on, as
    /// have the same depth and are in memory. Returns their number.
    #[inline(always)]
    fn generate_several(&mut self, chunk: &Chunk, range: Range<usize>, level: u64) -> usize {
        let depth = chunk.depth(range.start, level);
        let mut states: [&[u8]; LOOK_EVERY] = [&[]; LOOK_EVERY];
        let mut count = 0;
        if depth < self.most_depth {
            let range = range.start..range.end.min(chunk.waiting.len());
            if let Some(names) = chunk.only_names(range.clone()) {
                for (place, &id) in states.iter_mut().zip(names) {
                    let Some(state) = self.store.view(id) else { break };
                    *place = state;
                    count += 1;
                }
            } else {
                for (place, index) in states.iter_mut().zip(range) {
                    let Some(state) = chunk.state(index).or_else(|| self.store.view(chunk.waiting[index])) else { break };
                    if chunk.depth(index, level) != depth {
                        break;
                    }
                    *place = state;
                    count += 1;
                }
            }
        }
        let Batch { out, sources, .. } = &mut self.batch;
        let (mut end, mut number) = (out.len(), sources.len() as u32);
        self.watch.turn(ACTIONS);
        let expanded = self.system.successors_of_all(&states[..count], number, out);
        self.watch.turn(SELECT);
        self.watch.count(SELECT, expanded);
        self.watch.count(ACTIONS, out.len() - end);
        if self.reduced {
            self.batch.leave_out(self.task.reduction, &states[..expanded], number, end);
        }
        let Batch { out, sources, .. } = &mut self.batch;
        let entries = out.entries();
        sources.reserve(LOOK_EVERY);
        for (position, state) in (range.start..).zip(&states[..expanded]) {
            let first = end;
            end += entries[first..].iter().take_while(|entry| entry.source == number).count();
            sources.push(SourceState { position, first });
            number += 1;
            if end == first {
                let valid = self.system.is_valid_end(state);
                if let Answer::Stop(finding) = self.task.property.terminal(state, valid) {
                    let at = chunk.link(position);
                    self.best.keep(&mut self.found, Found { finding, at, step: None, length: depth });
                }
            }
        }
        if expanded > 0 {
            self.depth = self.depth.max(depth);
            self.expanded += expanded as u64;
        }
        expanded
    }

    /// The second and third pass hash and insert the generated successors.
    fn insert(&mut self, origins: Origins<'_>, next: &mut impl Sink) -> Result<(), CutShort> {
        self.store.hash_batch(&self.batch.out, &mut self.batch.hashes);
        if self.batch.postponed {
            return self.insert_reduced(origins, next);
        }
        self.insert_generated(origins, next)
    }

    fn insert_generated(&mut self, origins: Origins<'_>, next: &mut impl Sink) -> Result<(), CutShort> {
        if self.edges_wanted || self.states_wanted {
            return (0..self.batch.out.len()).try_for_each(|index| self.follow(index, origins, next));
        }
        let mut index = 0;
        loop {
            index = self.insert_from(index, origins, next)?;
            if index == self.batch.out.len() {
                return Ok(());
            }
            self.follow(index, origins, next)?;
            index += 1;
        }
    }

    /// The common case of nearly all searches, without unnecessary tests: inserts the entries from
    /// `first` on, up to one with a fault, whose number it returns.
    fn insert_from(&mut self, first: usize, origins: Origins<'_>, next: &mut impl Sink) -> Result<usize, CutShort> {
        let Batch { out, hashes, sources, fresh, fruitful, .. } = &mut self.batch;
        fresh.clear();
        let inserted = self.store.insert_batch(out, hashes, first, fresh);
        self.watch.turn(PUSH);
        if !fruitful.is_empty() {
            fresh.iter().for_each(|fresh| fruitful[out.entries()[fresh.entry as usize].source as usize] = true);
        }
        // New states are handled after all insertions, because the loop of the insertions needs all
        // registers.
        let (entries, reads_slowly) = (out.entries(), self.store.reads_slowly());
        for &Fresh { entry, kept, id } in &*fresh {
            let index = entry as usize;
            let entry = &entries[index];
            let source = sources[entry.source as usize];
            let link = if self.reduced {
                self.links.push_action(source.position, entry.action, || origins.link(source))
            } else {
                self.links.push(source.position, (index - source.first) as u32, || origins.link(source))
            };
            let kept = kept && !(reads_slowly && next.has_room());
            next.push(id, link, origins.depth(source) + 1, if kept { None } else { out.state(entry) });
        }
        self.watch.turn(INSERT);
        self.states += fresh.len() as u64;
        match inserted {
            Ok(index) => {
                self.transitions += (index - first) as u64;
                Ok(index)
            }
            Err(index) => {
                // The refused step is counted, and taken back with the others of its source.
                self.transitions += (index + 1 - first) as u64;
                Err(self.take_back(index))
            }
        }
    }

    /// Like `insert`, for a batch in which the reduction postponed a process: a source whose steps
    /// led to nothing new may have to be expanded fully.
    fn insert_reduced(&mut self, origins: Origins<'_>, next: &mut impl Sink) -> Result<(), CutShort> {
        let (generated, counted) = (self.batch.out.len(), self.transitions);
        self.batch.fruitful.resize(self.batch.sources.len(), false);
        if self.insert_generated(origins, next).is_err() {
            return Err(self.cut_before(self.first_refused(), counted));
        }
        let (mut more, mut begun) = (0, false);
        for number in 0..self.batch.details.list.len() {
            let Batch { out, details, ahead, fruitful, sources, .. } = &mut self.batch;
            let Detail { source, ref bytes, postponed } = details.list[number];
            // A state that is new to a store that forgets may have been expanded before.
            if fruitful[source] && !T::FORGETS || postponed == 0 {
                continue;
            }
            let end = sources.get(source + 1).map_or(generated, |next| next.first);
            let without_fault = out.entries()[sources[source].first..end].iter().filter(|entry| entry.fault().is_none());
            let states = without_fault.filter_map(|entry| out.state(entry));
            if ahead.all_chosen(&mut self.system, self.task.reduction, states, postponed) {
                continue;
            }
            let first = out.len();
            out.begin_source(source as u32);
            self.system.successors(&details.bytes[bytes.clone()], out);
            out.retain(first, |entry| LeftOut::has(postponed, entry));
            if out.is_cut_short() {
                return Err(self.cut_before(source, counted + more));
            }
            if !begun {
                // The log has already passed this source, so the sources of the chunk begin again.
                self.links.begin(origins.chunk.sources());
                begun = true;
            }
            self.store.hash_batch(&self.batch.out, &mut self.batch.hashes);
            let (end, before) = (self.batch.out.len(), self.transitions);
            if (first..end).try_for_each(|index| self.follow(index, origins, next)).is_err() {
                return Err(self.cut_before(source, counted + more));
            }
            more += self.transitions - before;
        }
        Ok(())
    }

    /// The first source that must be expanded again because the store refused a step: that of the
    /// step, or one before it whose postponed steps have not been looked at.
    #[cold]
    fn first_refused(&self) -> usize {
        let Batch { details, fruitful, refused, .. } = &self.batch;
        let waits = |detail: &&Detail| detail.postponed != 0 && (T::FORGETS || !fruitful[detail.source]);
        details.list.iter().find(waits).map_or(*refused, |detail| detail.source.min(*refused))
    }

    /// Counts source `number` and those after it as not expanded, in a batch in which something was
    /// postponed. `counted` steps were counted before the batch, or of postponed processes.
    #[cold]
    fn cut_before(&mut self, number: usize, counted: u64) -> CutShort {
        let Batch { out, sources, .. } = &self.batch;
        let SourceState { first, position } = sources[number];
        self.transitions = counted + (0..first).filter(|&index| self.is_counted(&out.entries()[index])).count() as u64;
        self.expanded -= (sources.len() - number) as u64;
        CutShort { at: position }
    }

    /// Whether the step of an entry is counted.
    fn is_counted(&self, entry: &Successor) -> bool {
        let pruned = entry.fault().is_some_and(|code| self.task.property.fault(code, entry.has_state()) != Answer::Continue);
        entry.has_state() && !pruned
    }

    /// Follows the step at `index` of the batch.
    #[inline(never)]
    fn follow(&mut self, index: usize, origins: Origins<'_>, next: &mut impl Sink) -> Result<(), CutShort> {
        let entry = &self.batch.out.entries()[index];
        if entry.fault().is_some() && !self.passes_fault(index, origins) {
            return Ok(());
        }
        let entry = &self.batch.out.entries()[index];
        let Some(state) = self.batch.out.state(entry) else { return Ok(()) };
        self.transitions += 1;
        let Ok(inserted) = self.store.insert(self.batch.hashes[index], state) else { return Err(self.take_back(index)) };
        if inserted.new {
            if let Some(fruitful) = self.batch.fruitful.get_mut(entry.source as usize) {
                *fruitful = true;
            }
            let source = self.batch.sources[entry.source as usize];
            let origin = Origin {
                position: source.position,
                parent: origins.link(source),
                index: (index - source.first) as u32,
                action: entry.action,
                depth: origins.depth(source) + 1,
            };
            if let Answer::Stop(finding) = self.welcome(index, inserted, &origin, next) {
                self.keep_step(finding, index, origins);
                return Ok(());
            }
        }
        if self.edges_wanted {
            self.show_edge(index, inserted, origins);
        }
        Ok(())
    }

    /// Handles a step at `index` that the store refused. Its source and the sources after it count
    /// as not expanded, so that they can be expanded again without counting any step twice. States
    /// that their first steps led to stay found.
    #[cold]
    fn take_back(&mut self, index: usize) -> CutShort {
        let number = self.batch.out.entries()[index].source as usize;
        self.batch.refused = number;
        let Batch { out, sources, .. } = &self.batch;
        let SourceState { first, position } = sources[number];
        if !self.batch.postponed {
            self.transitions -= (first..=index).filter(|&index| self.is_counted(&out.entries()[index])).count() as u64;
            self.expanded -= (sources.len() - number) as u64;
        }
        // If steps were postponed, the caller corrects its own counts.
        CutShort { at: position }
    }

    /// Reports the fault of the step at `index` to the property; returns whether the step is to be
    /// followed.
    #[cold]
    fn passes_fault(&mut self, index: usize, origins: Origins<'_>) -> bool {
        let entry = &self.batch.out.entries()[index];
        let Some(code) = entry.fault() else { return true };
        match self.task.property.fault(code, entry.has_state()) {
            Answer::Continue => true,
            Answer::Prune => false,
            Answer::Stop(finding) => {
                self.keep_step(finding, index, origins);
                false
            }
        }
    }

    #[cold]
    fn show_edge(&mut self, index: usize, inserted: Inserted, origins: Origins<'_>) {
        let entry = &self.batch.out.entries()[index];
        let number = entry.source as usize;
        let edge = Edge {
            source: &self.batch.details.bytes[self.batch.details.list[number].bytes.clone()],
            source_id: origins.chunk.waiting[self.batch.sources[number].position],
            target: self.batch.out.state(entry).unwrap_or_default(),
            target_id: inserted.id,
            new: inserted.new,
            action: entry.action,
        };
        if let Answer::Stop(finding) = self.task.property.edge(&edge) {
            self.keep_step(finding, index, origins);
        }
    }

    /// Keeps a finding about the step at `index`.
    fn keep_step(&mut self, finding: Finding, index: usize, origins: Origins<'_>) {
        let entry = &self.batch.out.entries()[index];
        let source = self.batch.sources[entry.source as usize];
        let step = Some(if self.reduced { Choice::Action(entry.action) } else { Choice::Index((index - source.first) as u32) });
        let found = Found { finding, at: origins.link(source), step, length: origins.depth(source) + 1 };
        self.keep(found);
    }

    /// Handles the new state of entry `index`: it is added to `next` unless the property prunes it.
    #[inline]
    fn welcome(&mut self, index: usize, inserted: Inserted, origin: &Origin, next: &mut impl Sink) -> Answer {
        self.states += 1;
        let state = self.batch.out.state(&self.batch.out.entries()[index]).unwrap_or_default();
        if self.states_wanted {
            let answer = self.task.property.state(state);
            if answer != Answer::Continue {
                return answer;
            }
        }
        self.watch.turn(PUSH);
        let link = self.link(origin);
        let state = self.batch.out.state(&self.batch.out.entries()[index]).unwrap_or_default();
        let kept = self.store.keeps(inserted.id) && !(self.store.reads_slowly() && next.has_room());
        next.push(inserted.id, link, origin.depth, if kept { None } else { Some(state) });
        self.watch.turn(INSERT);
        Answer::Continue
    }
}

impl Batch {
    fn clear(&mut self) {
        self.out.clear();
        self.hashes.clear();
        self.sources.clear();
        self.details.clear();
        self.postponed = false;
        self.fruitful.clear();
    }

    /// Removes the steps of `states` that the reduction leaves out. The steps of the first state
    /// belong to source number `source` and begin at entry number `first`.
    fn leave_out(&mut self, reduction: &dyn Reduction, states: &[&[u8]], source: u32, first: usize) {
        let Some(left) = LeftOutOfAll::by(reduction, states, source, &self.out.entries()[first..]) else { return };
        for ((number, state), left) in (source as usize..).zip(states).zip(&left.of) {
            if left.postponed != 0 {
                self.postponed = true;
                self.details.add(state, number, left.postponed);
            }
        }
        left.take_back(&mut self.out, first);
    }
}
