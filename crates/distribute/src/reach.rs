//! Breadth-first search by several workers: each owns some states, stores and expands them, and
//! sends the others to their owners.
//!
//! A round is a level. States of the next level are stored as they arrive, while this level is
//! still being expanded. Their sender has seen the end of the level before, so all states of
//! earlier levels are stored everywhere. Depths are exact, and a violation that is found is a
//! shortest one.

mod loading;

use crate::actor::{Actor, Outbox, Turn};
use crate::classes::{Classes, Position, Sharing, Start, Want};
use crate::gauge::{Gauge, Resident};
use crate::links::{Link, Log};
use crate::owner::Owners;
use crate::save::{Resume, Saving, Standing, TakeState, write};
use crate::sent::Sent;
use crate::shared::{Published, Shared};
use crate::visited::{Seen, Visited};
use crate::wire::{Cursor, put_bytes, put_number, put_record};
use contract::{Action, Answer, Budgeted, Enough, Finding, Fresh, Limits, Property, StopReason, Successor, Successors, System};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The number of steps that are generated before they are examined, and of states expanded
/// together.
const BATCH: usize = 512;
const TOGETHER: usize = 16;
/// The approximate number of batches in a piece of work, and its longest duration.
const BATCHES: usize = 4;
const SLOW: Duration = Duration::from_millis(5);

/// A worker reaches the first stage of want if less than one part in this many of its memory is
/// free, and each further stage at half of that. A level is completed before others take its
/// states.
const FREE_SHARE: u64 = 3;

/// The part of the memory that sent states may take, one in so many.
const SENT_SHARE: u64 = 32;

/// The task of a worker, and its resources.
pub struct Work<'a> {
    /// The system to explore.
    pub system: &'a mut dyn System,
    /// The property to check.
    pub property: &'a dyn Property,
    /// The owners of states.
    pub owners: Owners,
    /// The number of workers.
    pub workers: usize,
    /// Who owns states at the beginning.
    pub start: Start,
    /// The limits; memory is that of the process.
    pub limits: Limits,
    /// Measures the process.
    pub resident: Option<Resident>,
    /// The ways to send fewer states.
    pub thrift: Thrift,
    /// The saving of the search, if it is saved.
    pub saving: Option<Saving<'a>>,
    /// The checkpoint from which the search continues, if there is one.
    pub resume: Option<Resume<'a>>,
}

/// Ways to send fewer states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thrift {
    /// The number of sent states that are remembered, so that they are not sent again.
    pub remembered: usize,
    /// Whether the sender of a state also computes its successors that it owns itself.
    pub lookahead: bool,
}

impl Default for Thrift {
    fn default() -> Self {
        Thrift { remembered: 1 << 12, lookahead: false }
    }
}

/// A violation, before its trace is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The number of steps from the initial state.
    pub length: u64,
    /// The state at which it happened, or the state before the step.
    pub at: Link,
    /// The index of the step in which it happened, if it happened in one.
    pub step: Option<u32>,
    pub finding: Finding,
}

/// The counts of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of new states.
    pub states: u64,
    /// The number of steps between states.
    pub transitions: u64,
    /// The level of the last expanded state.
    pub depth: u64,
    /// The number of expanded states.
    pub expanded: u64,
    /// The number of steps whose target another worker owns.
    pub cross: u64,
    /// The number of states that were sent.
    pub sent: u64,
    /// The number of states that were not sent because they had been sent before.
    pub spared: u64,
    /// The number of states that this worker passed on because its memory ran short.
    pub passed_on: u64,
    /// Whether the depth limit cut something off.
    pub truncated: bool,
}

/// Waiting states, in the order of the log.
#[derive(Default)]
pub(crate) struct Queue {
    pub bytes: Vec<u8>,
    pub ends: Vec<usize>,
    /// The position of the first one in the log.
    pub first: u64,
}

impl Queue {
    fn clear(&mut self, first: u64) {
        self.bytes.clear();
        self.ends.clear();
        self.first = first;
        // The memory of a very large level is not kept for ever.
        if self.bytes.capacity() > 1 << 26 {
            (self.bytes, self.ends) = Default::default();
        }
    }

    pub fn state(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }

    pub fn push(&mut self, state: &[u8]) {
        self.bytes.extend_from_slice(state);
        self.ends.push(self.bytes.len());
    }

    fn memory(&self) -> u64 {
        (self.bytes.capacity() + self.ends.capacity() * 8) as u64
    }
}

/// One worker of a breadth-first search.
pub(crate) struct Reach<'a, 's> {
    me: usize,
    local: usize,
    work: Work<'a>,
    pub visited: Visited<'s>,
    shared: Arc<Shared>,
    pub log: Log,
    level: Queue,
    next: Queue,
    /// The first state of the level that is not expanded yet.
    position: usize,
    /// The current level, and the level of the states that are being stored.
    depth: u64,
    depth_of_new: u64,
    /// The level of round 0; not 0 if an earlier search is continued.
    base: u64,
    working: bool,
    /// The length of the shortest known violation of all workers.
    best: u64,
    /// Whether the other workers know of the violation that was found here.
    told: bool,
    pub found: Option<Found>,
    pub counts: Counts,
    sent: Sent,
    classes: Classes,
    sharing: Sharing,
    /// The stage of want that this worker has told the others last.
    told_stage: u32,
    /// Whether this worker has told the others that its store is full.
    told_full: bool,
    /// States that are to be passed on, each with its receiver.
    passing: Vec<u8>,
    /// The steps of states of the level.
    out: Successors,
    /// Steps to states of this worker, and their sources.
    home: Successors,
    origins: Vec<(Link, u32)>,
    hashes: Vec<u64>,
    fresh: Vec<Fresh>,
    /// Steps to states of this worker, by their numbers.
    own: Vec<u32>,
    /// The owner of the target of each step, and the hash by which it is found among sent states.
    targets: Vec<(u32, u64)>,
    /// Successors of other workers' states that this worker computed in advance. They belong to the
    /// level after the next one, and are stored when it comes.
    pub side: Log,
    ahead: Vec<u8>,
    ahead_steps: Successors,
    /// Logs of an earlier run, by their numbers.
    pub old: BTreeMap<usize, Log>,
    /// The level at which all workers save, the level that was saved last, and the time.
    save_at: Option<u64>,
    saved: Option<u64>,
    asked: Instant,
    /// The error of a checkpoint, which is reported once.
    unsaved: Option<String>,
    gauge: Gauge,
    pub peak: u64,
    /// Whether the property looks at states.
    wants_states: bool,
}

/// Kinds of records.
const STATE: u8 = 0;
const VIOLATED: u8 = 1;
/// All workers save at the beginning of the round in which this arrives; or saving failed.
const SAVE: u8 = 2;
const UNSAVED: u8 = 3;
/// A state that another worker passes on; the memory of the sender runs short; its store is full.
const PASSED_ON: u8 = 4;
const SHORT: u8 = 5;
const FULL: u8 = 6;

impl<'a, 's> Reach<'a, 's> {
    pub fn new(me: usize, local: usize, work: Work<'a>, seen: Seen<'s>, shared: Arc<Shared>) -> Self {
        let asked = Arc::clone(&shared);
        work.system.give_up_when(Enough::when(move |_| asked.is_stopped() || asked.is_abandoned()));
        if let Some(budgeted) = seen.budgeted {
            let asked = Arc::clone(&shared);
            budgeted.give_up_when(Arc::new(move || asked.is_stopped() || asked.is_abandoned()));
        }
        let most_sent = work.limits.memory.map_or(u64::MAX, |memory| memory / SENT_SHARE / shared.published.len().max(1) as u64);
        let sent = Sent::new(work.thrift.remembered, most_sent);
        let gauge = Gauge::new(work.limits.memory, work.resident.clone());
        // A checkpoint is divided among all workers.
        let classes = Classes::new(work.workers, if work.resume.is_some() { Start::Equal } else { work.start });
        let sharing = classes.sharing(0);
        let wants_states = work.property.interest().states;
        Reach {
            me,
            local,
            work,
            visited: Visited::new(seen),
            shared,
            log: Log::default(),
            level: Queue::default(),
            next: Queue::default(),
            position: 0,
            depth: 0,
            depth_of_new: 0,
            base: 0,
            working: false,
            best: u64::MAX,
            told: false,
            found: None,
            counts: Counts::default(),
            sent,
            classes,
            sharing,
            told_stage: 0,
            told_full: false,
            passing: Vec::new(),
            out: Successors::new(),
            home: Successors::new(),
            origins: Vec::new(),
            hashes: Vec::new(),
            fresh: Vec::new(),
            own: Vec::new(),
            targets: Vec::new(),
            side: Log::default(),
            ahead: Vec::new(),
            ahead_steps: Successors::new(),
            old: BTreeMap::new(),
            save_at: None,
            saved: None,
            asked: Instant::now(),
            unsaved: None,
            gauge,
            peak: 0,
            wants_states,
        }
    }

    /// The system to explore.
    pub fn system(&mut self) -> &mut dyn System {
        self.work.system
    }

    fn keep(&mut self, found: Found) {
        if found.length < self.best || self.found.is_none() && found.length == self.best {
            self.best = self.best.min(found.length);
            self.found = Some(found);
        }
    }

    /// Computes the initial states; each worker keeps its own.
    fn begin(&mut self) {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        self.work.system.initial(&mut out);
        for (index, (entry, state)) in out.iter().enumerate() {
            let answer = match entry.fault() {
                Some(code) if !entry.has_state() => Answer::Stop(Finding::Fault(code)),
                Some(code) => self.work.property.fault(code, true),
                None => Answer::Continue,
            };
            let mine = state.map_or(self.me == 0, |state| self.sharing == Sharing::All || self.owner(state) == self.me);
            match (answer, state) {
                (Answer::Stop(finding), _) if mine => {
                    self.log.push(Link::NONE, index as u32);
                    // The queue and the log correspond, so a logged state is also queued.
                    self.next.push(state.unwrap_or_default());
                    let at = Link::new(self.me, self.log.len() - 1);
                    self.keep(Found { length: 0, at, step: None, finding });
                }
                (Answer::Continue, Some(state)) if mine => {
                    self.home.push(state, Action::default());
                    self.origins.push((Link::NONE, index as u32));
                }
                _ => {}
            }
        }
        self.out = out;
        self.store();
    }

    #[inline]
    fn class(&mut self, state: &[u8]) -> u32 {
        if self.work.workers == 1 { 0 } else { self.work.owners.class(state, self.classes.count()) }
    }

    /// The worker to which a state is sent.
    #[inline]
    fn owner(&mut self, state: &[u8]) -> usize {
        let class = self.class(state);
        self.classes.first(class)
    }

    /// Takes a state of this worker, to be stored soon, or passes it on.
    #[inline]
    fn take(&mut self, state: &[u8], from: Link, choice: u32) {
        if self.classes.passes_on() {
            let class = self.class(state);
            if let Some(next) = self.classes.after(class, self.me) {
                return self.pass_on(next, state, from, choice);
            }
        }
        self.home.push(state, Action::default());
        self.origins.push((from, choice));
    }

    #[cold]
    fn pass_on(&mut self, next: usize, state: &[u8], from: Link, choice: u32) {
        if self.visited.has(state) {
            return;
        }
        self.counts.passed_on += 1;
        [next as u64, from.0, u64::from(choice)].into_iter().for_each(|number| put_number(&mut self.passing, number));
        put_bytes(&mut self.passing, state);
    }

    /// Sends the states that are to be passed on.
    fn send_passed_on(&mut self, out: &mut Outbox) {
        let passing = std::mem::take(&mut self.passing);
        let mut cursor = Cursor(&passing);
        while let (Some(next), Some(from), Some(choice), Some(state)) = (cursor.number(), cursor.number(), cursor.number(), cursor.bytes())
        {
            out.send(next as usize, |record| put_record(record, PASSED_ON, [from, choice], state));
        }
    }

    /// Stores the states collected in `home`, and queues the new ones.
    fn store(&mut self) {
        if self.home.is_empty() {
            return;
        }
        let (mut home, mut origins, mut fresh) = self.take_buffers();
        self.visited.insert(&home, &mut self.hashes, &mut fresh);
        for new in &fresh {
            let index = new.entry as usize;
            if let (Some(state), (from, choice)) = (home.state(&home.entries()[index]), origins[index]) {
                self.welcome(state, from, choice);
            }
        }
        home.clear();
        origins.clear();
        (self.home, self.origins, self.fresh) = (home, origins, fresh);
        self.end_if_full();
    }

    fn take_buffers(&mut self) -> (Successors, Vec<(Link, u32)>, Vec<Fresh>) {
        self.fresh.clear();
        (std::mem::take(&mut self.home), std::mem::take(&mut self.origins), std::mem::take(&mut self.fresh))
    }

    /// Stores the targets of steps that belong to this worker, where they are, and queues the new
    /// ones.
    fn store_own(&mut self, steps: &Successors, begin: usize) {
        self.fresh.clear();
        let (mut own, mut fresh) = (std::mem::take(&mut self.own), std::mem::take(&mut self.fresh));
        self.visited.insert_some(steps, &own, &mut self.hashes, &mut fresh);
        let entries = steps.entries();
        for new in &fresh {
            let (index, source) = (new.entry as usize, entries[new.entry as usize].source);
            let choice = entries[..index].iter().rev().take_while(|entry| entry.source == source).count();
            let from = Link::new(self.me, self.level.first + (begin + source as usize) as u64);
            if let Some(state) = steps.state(&entries[index]) {
                self.welcome(state, from, choice as u32);
            }
        }
        own.clear();
        (self.own, self.fresh) = (own, fresh);
        self.end_if_full();
    }

    /// Logs and queues a new state.
    #[inline]
    fn welcome(&mut self, state: &[u8], from: Link, choice: u32) {
        self.log.push(from, choice);
        self.next.push(state);
        // A state that all workers have is counted by its owner.
        let counts = self.sharing == Sharing::Own || self.classes.first(self.work.owners.class(state, self.classes.count())) == self.me;
        self.counts.states += u64::from(counts);
        if self.wants_states
            && let Answer::Stop(finding) = self.work.property.state(state)
        {
            let at = Link::new(self.me, self.log.len() - 1);
            self.keep(Found { length: self.depth_of_new, at, step: None, finding });
        }
    }

    /// If nobody else can take states, the search has to end.
    fn end_if_full(&mut self) {
        if self.visited.is_full() && !self.can_pass_on() {
            self.full();
        }
    }

    /// Whether another worker could take new states of this one.
    fn can_pass_on(&self) -> bool {
        self.work.workers > 1 && self.visited.store.exact && !self.classes.are_all_full()
    }

    fn full(&mut self) {
        if !self.shared.is_stopped() {
            self.shared.stop(StopReason::Memory);
        }
    }

    /// Expands some states of the level.
    fn expand(&mut self, out: &mut Outbox) {
        let depth = self.depth;
        let mut steps = std::mem::take(&mut self.out);
        steps.clear();
        let begin = self.position;
        while self.position < self.level.ends.len() && steps.len() < BATCH {
            let end = (self.position + TOGETHER).min(self.level.ends.len());
            let mut states: [&[u8]; TOGETHER] = [&[]; TOGETHER];
            let count = end - self.position;
            for (place, index) in states.iter_mut().zip(self.position..end) {
                *place = self.level.state(index);
            }
            let first = steps.len();
            let source = (self.position - begin) as u32;
            let expanded = self.work.system.successors_of_all(&states[..count], source, &mut steps);
            // A state without steps has no entry.
            let mut seen = 0_u32;
            for entry in &steps.entries()[first..] {
                seen |= 1 << (entry.source - source);
            }
            for (index, state) in states[..expanded].iter().enumerate() {
                if seen >> index & 1 == 0 {
                    let valid = self.work.system.is_valid_end(state);
                    if let Answer::Stop(finding) = self.work.property.terminal(state, valid) {
                        let at = Link::new(self.me, self.level.first + (self.position + index) as u64);
                        let found = Found { length: depth, at, step: None, finding };
                        if found.length < self.best || self.found.is_none() && found.length == self.best {
                            self.best = self.best.min(found.length);
                            self.found = Some(found);
                        }
                    }
                }
            }
            self.position += expanded;
            self.counts.expanded += expanded as u64;
            if steps.is_cut_short() {
                self.full();
                break;
            }
        }
        self.counts.depth = self.counts.depth.max(depth);
        // Once a violation at the next level is known, only a deadlock at this level can be
        // shorter, and that needs no insertion.
        if self.best > depth + 1 {
            self.follow(&steps, begin, out);
        }
        self.out = steps;
    }

    /// Determines the owners of the targets of steps, and the hashes that find sent states.
    fn find_owners(&mut self, steps: &Successors) {
        let (classes, me) = (self.classes.count(), self.me);
        self.targets.clear();
        if self.work.workers == 1 {
            self.targets.resize(steps.len(), (0, 0));
            return;
        }
        for entry in steps.entries() {
            let Some(state) = steps.state(entry) else {
                self.targets.push((me as u32, 0));
                continue;
            };
            let (class, hash) = self.work.owners.class_and_hash(state, classes);
            let owner = self.classes.first(class);
            let hash = if owner == me { 0 } else { self.work.owners.whole_hash(state, hash) };
            if owner != me {
                self.sent.touch(hash);
            }
            self.targets.push((owner as u32, hash));
        }
    }

    /// Passes the steps of states of the level to the owners of their targets.
    fn follow(&mut self, steps: &Successors, begin: usize, out: &mut Outbox) {
        self.find_owners(steps);
        let passes_on = self.classes.passes_on();
        let (mut source, mut first, mut counts) = (u32::MAX, 0, 1);
        for (index, entry) in steps.entries().iter().enumerate() {
            if entry.source != source {
                (source, first) = (entry.source, index);
                if self.sharing != Sharing::Own {
                    let class = self.work.owners.class(self.level.state(begin + source as usize), self.classes.count());
                    counts = u64::from(self.classes.first(class) == self.me);
                }
            }
            let at = Link::new(self.me, self.level.first + (begin + source as usize) as u64);
            let choice = (index - first) as u32;
            if entry.fault().is_some() && !self.passes_fault(entry, at, choice) {
                continue;
            }
            let Some(state) = steps.state(entry) else { continue };
            self.counts.transitions += counts;
            let (owner, hash) = (self.targets[index].0 as usize, self.targets[index].1);
            if owner == self.me || self.sharing == Sharing::All {
                if passes_on {
                    self.take(state, at, choice);
                } else {
                    self.own.push(index as u32);
                }
                continue;
            }
            if self.sharing == Sharing::AllOfLevel {
                // The owner has this source too, and finds the state itself.
                continue;
            }
            self.counts.cross += 1;
            if self.sent.holds(state, hash) {
                self.counts.spared += 1;
                continue;
            }
            if self.looked_after_by(at) == Some(owner) && entry.fault().is_none() {
                // The sender of the source has found this state by looking ahead.
                self.counts.spared += 1;
                continue;
            }
            self.counts.sent += 1;
            // If states are passed on, a state that was found in advance may not belong here when
            // its level comes.
            if self.work.thrift.lookahead && !self.classes.passes_on() && self.depth + 2 <= self.work.limits.depth.unwrap_or(u64::MAX) {
                self.look_ahead(state, at, choice, out.workers());
            }
            out.send(owner, |record| put_record(record, STATE, [at.place(), u64::from(choice)], state));
        }
        self.store_own(steps, begin);
        self.store();
    }

    /// The worker that has computed its own successors of a state in advance, if one has.
    #[inline]
    fn looked_after_by(&self, at: Link) -> Option<usize> {
        // If a state was passed on by its finder, no worker has computed its successors in advance.
        if !self.work.thrift.lookahead || self.classes.passes_on() {
            return None;
        }
        let (from, _) = self.log.get(at.place())?;
        (from != Link::NONE && from.log() != self.me && from.log() < self.work.workers).then(|| from.log())
    }

    /// Computes the successors of a state that is being sent, to find states that would come back.
    fn look_ahead(&mut self, state: &[u8], from: Link, choice: u32, workers: usize) {
        let mut steps = std::mem::take(&mut self.ahead_steps);
        steps.clear();
        self.work.system.successors(state, &mut steps);
        let mut logged = false;
        for (index, (entry, next)) in steps.iter().enumerate() {
            let Some(next) = next.filter(|_| entry.fault().is_none()) else { continue };
            if self.owner(next) != self.me {
                continue;
            }
            if !logged {
                self.side.push(from, choice);
                logged = true;
            }
            put_number(&mut self.ahead, Link::new(workers + self.me, self.side.len() - 1).0);
            put_number(&mut self.ahead, index as u64);
            put_bytes(&mut self.ahead, next);
        }
        if steps.is_cut_short() {
            self.full();
        }
        self.ahead_steps = steps;
    }

    /// Worker 0 requests a checkpoint at the beginning of the next level, from time to time.
    fn ask_to_save(&mut self, out: &mut Outbox) {
        let Some(saving) = self.work.saving.filter(|_| self.me == 0 && self.found.is_none()) else { return };
        if self.asked.elapsed() >= saving.every && !self.next.ends.is_empty() {
            self.asked = Instant::now();
            out.send_to_all(&[SAVE]);
        }
    }

    /// A round has passed since all workers have saved, so the checkpoint is complete.
    fn complete(&mut self) {
        if let (Some(saving), Some(depth)) = (self.work.saving, self.saved.take_if(|saved| *saved < self.depth))
            && self.me == 0
            && let Err(error) = (saving.complete)(depth)
        {
            self.unsaved = Some(error.to_string());
        }
    }

    /// Writes this worker's part of a checkpoint: all states up to this level are stored, and none
    /// of the next level.
    fn save(&mut self, out: &mut Outbox) {
        let (Some(saving), Some(store)) = (self.work.saving, self.visited.store.saveable) else { return };
        let mut logs: Vec<(usize, &Log)> = vec![(self.me, &self.log)];
        logs.extend(self.old.iter().map(|(&number, log)| (number, log)));
        // A state that all workers have is saved by its owner.
        let (owners, classes, me) = (&mut self.work.owners, &self.classes, self.me);
        let mut is_own = |state: &[u8]| self.sharing == Sharing::Own || classes.first(owners.class(state, classes.count())) == me;
        let (level, log) = (&self.level, &self.log);
        let mut each = |show: &mut TakeState<'_>| {
            (0..level.ends.len()).filter(|&index| is_own(level.state(index))).try_for_each(|index| {
                let (from, choice) = log.get(level.first + index as u64).ok_or(io::ErrorKind::InvalidData)?;
                show(from, choice, level.state(index))
            })
        };
        let beside = self.visited.beside().collect();
        let mut standing = Standing { depth: self.depth, counts: self.counts, logs, store, beside, level: &mut each };
        match (saving.write)(self.depth, &mut |to| write(&mut standing, to)) {
            Ok(()) => self.saved = Some(self.depth),
            Err(error) => {
                self.unsaved = Some(error.to_string());
                out.send(0, |record| record.push(UNSAVED));
            }
        }
    }

    /// The error of a checkpoint, if there was one.
    pub fn unsaved(&self) -> Option<&str> {
        self.unsaved.as_deref()
    }

    /// Stores the states found by looking ahead, when their level has come.
    fn store_ahead(&mut self) {
        let ahead = std::mem::take(&mut self.ahead);
        let mut cursor = Cursor(&ahead);
        while let (Some(from), Some(choice), Some(state)) = (cursor.number(), cursor.number(), cursor.bytes()) {
            self.take(state, Link(from), choice as u32);
            if self.home.len() >= BATCH {
                self.store();
            }
        }
        self.store();
    }

    #[cold]
    fn passes_fault(&mut self, entry: &Successor, at: Link, choice: u32) -> bool {
        let Some(code) = entry.fault() else { return true };
        match self.work.property.fault(code, entry.has_state()) {
            Answer::Continue => true,
            Answer::Prune => false,
            Answer::Stop(finding) => {
                let length = self.depth + 1;
                self.keep(Found { length, at, step: Some(choice), finding });
                false
            }
        }
    }

    /// Publishes the progress of this worker, tells the others if its memory runs short, and stops
    /// if the memory is used up.
    fn publish(&mut self, out: &mut Outbox) {
        let search = self.level.memory()
            + self.next.memory()
            + self.log.bytes()
            + self.sent.bytes()
            + self.ahead.capacity() as u64
            + self.side.bytes()
            + self.visited.bytes_beside();
        let stored = self.visited.store.budgeted.map_or(0, Budgeted::bytes);
        self.peak = self.peak.max(search);
        if self.visited.is_full() && !self.told_full && self.can_pass_on() {
            self.told_full = true;
            out.send_to_all(&[FULL]);
        }
        let Published { states, transitions, waiting, depth, bytes, sent } = &self.shared.published[self.local];
        states.store(self.counts.states, Ordering::Relaxed);
        transitions.store(self.counts.transitions, Ordering::Relaxed);
        waiting.store((self.level.ends.len() - self.position + self.next.ends.len()) as u64, Ordering::Relaxed);
        depth.store(self.depth, Ordering::Relaxed);
        bytes.store(search + stored, Ordering::Relaxed);
        sent.store(self.counts.sent + self.counts.passed_on, Ordering::Relaxed);
        let Some(limit) = self.gauge.limit() else { return };
        let outside = self.gauge.outside(&self.shared);
        let workers = self.shared.published.len().max(1) as u64;
        if let Some(budgeted) = self.visited.store.budgeted {
            // The budget of the store is this worker's share of the memory of the process.
            budgeted.leave_room(search + outside / workers);
            let used = search + stored + outside / workers;
            let mine = limit / workers;
            let is_short = used > mine - mine / (FREE_SHARE << self.told_stage);
            if is_short && self.visited.store.exact && self.classes.can_help(self.told_stage) {
                self.told_stage += 1;
                out.send_to_all(&[SHORT]);
            }
            if self.gauge.is_full(&self.shared) && (!budgeted.yields() || self.visited.is_full()) {
                self.full();
            }
        }
    }
}

impl Reach<'_, '_> {
    /// The position of a round, whose level becomes the current one.
    fn position(&mut self, round: u64) -> Position {
        self.classes.settle(round);
        let position = self.classes.position(round);
        self.depth = self.base + position.level;
        let sharing = self.classes.sharing(round);
        if std::mem::replace(&mut self.sharing, sharing) == Sharing::All && sharing != Sharing::All {
            (self.told_stage, self.told_full) = (0, false);
        }
        position
    }

    /// A round in which no state is expanded.
    fn pass_on_round(&mut self, is_last: bool, out: &mut Outbox) -> Turn {
        self.send_passed_on(out);
        self.publish(out);
        self.end_round(is_last, out)
    }

    fn end_round(&mut self, is_last: bool, out: &mut Outbox) -> Turn {
        if is_last {
            self.ask_to_save(out);
        }
        let goes_on = !(self.next.ends.is_empty() && self.ahead.is_empty()) && self.best > self.depth + 1;
        if goes_on { Turn::Again } else { Turn::Rest }
    }
}

impl Actor for Reach<'_, '_> {
    fn receive(&mut self, round: u64, from: usize, bytes: &[u8]) {
        self.classes.settle(round.saturating_sub(1));
        self.depth_of_new = self.base + self.classes.position(round.saturating_sub(1)).level + 1;
        let mut cursor = Cursor(bytes);
        while !cursor.is_empty() {
            match cursor.byte() {
                Some(kind @ (STATE | PASSED_ON)) => {
                    let (Some(place), Some(choice), Some(state)) = (cursor.number(), cursor.number(), cursor.bytes()) else { return };
                    let origin = if kind == STATE { Link::new(from, place) } else { Link(place) };
                    self.take(state, origin, choice as u32);
                    if self.home.len() >= BATCH {
                        self.store();
                    }
                }
                Some(SHORT) => self.classes.runs_short(from, Want::Stage, round),
                Some(FULL) => self.classes.runs_short(from, Want::All, round),
                Some(VIOLATED) => {
                    let Some(length) = cursor.number() else { return };
                    self.best = self.best.min(length);
                }
                Some(SAVE) => self.save_at = Some(self.depth_of_new),
                Some(UNSAVED) => self.saved = None,
                _ => return,
            }
        }
        self.store();
    }

    fn work(&mut self, out: &mut Outbox) -> Turn {
        let position = self.position(out.round);
        if !position.is_first {
            return self.pass_on_round(position.is_last, out);
        }
        if !self.working {
            self.working = true;
            if self.depth == 0 {
                self.depth_of_new = 0;
                self.begin();
            }
            self.depth_of_new = self.depth + 1;
            std::mem::swap(&mut self.level, &mut self.next);
            self.next.clear(self.log.len());
            self.position = 0;
            self.complete();
            if self.save_at.take() == Some(self.depth) {
                self.save(out);
            }
            self.store_ahead();
            let most = self.work.limits.depth.unwrap_or(u64::MAX);
            if self.depth >= most && !self.level.ends.is_empty() {
                self.counts.truncated = true;
                self.counts.depth = self.counts.depth.max(self.depth);
                self.position = self.level.ends.len();
            }
        }
        self.depth_of_new = self.depth + 1;
        let begun = Instant::now();
        for _ in 0..BATCHES {
            // The search continues only for a violation that is shorter than the known one.
            if self.best <= self.depth {
                self.position = self.level.ends.len();
            }
            if self.position == self.level.ends.len() || self.shared.is_stopped() || begun.elapsed() > SLOW {
                break;
            }
            self.expand(out);
        }
        self.send_passed_on(out);
        self.publish(out);
        if self.position < self.level.ends.len() && !self.shared.is_stopped() {
            return Turn::More;
        }
        self.working = false;
        if !self.told
            && let Some(found) = &self.found
        {
            self.told = true;
            let mut record = vec![VIOLATED];
            put_number(&mut record, found.length);
            (0..out.workers()).filter(|&to| to != self.me).for_each(|to| out.send(to, |parcel| parcel.extend_from_slice(&record)));
        }
        self.end_round(position.is_last, out)
    }
}
