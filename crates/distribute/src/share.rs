//! A worker's share of a graph: its states, numbered in the order of arrival, and the edges that
//! lead to them.
//!
//! Searches for cycles by several workers traverse the graph several times. Once the states are
//! known, only numbers are sent. The owner of the target of an edge learns its source without
//! asking, so edges are kept with their targets. The searches therefore go backward, which makes no
//! difference for cycles.

use crate::actor::{Actor, Outbox, Turn};
use crate::gauge::Gauge;
use crate::owner::Owners;
use crate::shared::Shared;
use crate::wire::{Cursor, put_bytes, put_number};
use contract::{Enough, StopReason, Successors, System};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The number of bits for the number of a state among those of its worker.
const NUMBER_BITS: u32 = 40;
/// The approximate duration of a piece of work.
const SLICE: Duration = Duration::from_millis(4);

/// Names a state among those of all workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Vertex(pub u64);

impl Vertex {
    pub fn new(worker: usize, number: usize) -> Vertex {
        Vertex((worker as u64) << NUMBER_BITS | number as u64)
    }

    pub fn worker(self) -> usize {
        (self.0 >> NUMBER_BITS) as usize
    }

    pub fn number(self) -> usize {
        (self.0 & ((1 << NUMBER_BITS) - 1)) as usize
    }
}

/// States and their numbers.
#[derive(Default)]
pub(crate) struct Numbered {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The number plus one of each state, at its hash or after it.
    slots: Vec<u32>,
}

impl Numbered {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn state(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[number]]
    }

    /// The number of a state, and whether it is new.
    pub fn number(&mut self, state: &[u8]) -> (usize, bool) {
        if self.ends.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = store::hash_bytes(state) as usize & mask;
        while self.slots[at] != 0 {
            let number = self.slots[at] as usize - 1;
            if self.state(number) == state {
                return (number, false);
            }
            at = (at + 1) & mask;
        }
        self.bytes.extend_from_slice(state);
        self.ends.push(self.bytes.len());
        self.slots[at] = self.ends.len() as u32;
        (self.ends.len() - 1, true)
    }

    fn grow(&mut self) {
        let len = (self.slots.len() * 2).max(1 << 8);
        let mut slots = vec![0; len];
        for number in 0..self.ends.len() {
            let mut at = store::hash_bytes(self.state(number)) as usize & (len - 1);
            while slots[at] != 0 {
                at = (at + 1) & (len - 1);
            }
            slots[at] = number as u32 + 1;
        }
        self.slots = slots;
    }

    pub fn memory(&self) -> u64 {
        (self.bytes.capacity() + self.ends.capacity() * 8 + self.slots.capacity() * 4) as u64
    }
}

/// No further edge in a list.
const END: u32 = u32::MAX;

/// A worker's share of a graph, and the actor that fills it.
pub(crate) struct Share<'a> {
    me: usize,
    local: usize,
    shared: Arc<Shared>,
    pub system: &'a mut dyn System,
    accepts: &'a (dyn Fn(&[u8]) -> bool + Sync),
    owners: Owners,
    gauge: Gauge,
    states: Numbered,
    pub accepting: Vec<bool>,
    /// The level of each state.
    pub level: Vec<u32>,
    /// The last edge to each state; edges are in linked lists, each with the source and the edge
    /// before it.
    last: Vec<u32>,
    edges: Vec<(Vertex, u32)>,
    /// The range of states of the current level.
    open: std::ops::Range<usize>,
    /// Whether only one level is to be expanded.
    one_level: bool,
    depth: u32,
    expanding: bool,
    pub transitions: u64,
    pub cross: u64,
    /// The first state with a step that is a fault of a property.
    pub fault: Option<usize>,
    /// States to which an edge leads from the level that was expanded last, and which are not
    /// deeper than that level.
    pub back: Vec<usize>,
    out: Successors,
}

impl<'a> Share<'a> {
    pub fn new(
        (me, local): (usize, usize),
        shared: Arc<Shared>,
        system: &'a mut dyn System,
        accepts: &'a (dyn Fn(&[u8]) -> bool + Sync),
        owners: Owners,
        gauge: Gauge,
    ) -> Self {
        let asked = Arc::clone(&shared);
        system.give_up_when(Enough::when(move |_| asked.is_stopped() || asked.is_abandoned()));
        Share {
            me,
            local,
            shared,
            system,
            accepts,
            owners,
            gauge,
            states: Numbered::default(),
            accepting: Vec::new(),
            level: Vec::new(),
            last: Vec::new(),
            edges: Vec::new(),
            open: 0..0,
            one_level: false,
            depth: 0,
            expanding: false,
            transitions: 0,
            cross: 0,
            fault: None,
            back: Vec::new(),
            out: Successors::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.states.len()
    }

    pub fn state(&self, number: usize) -> &[u8] {
        self.states.state(number)
    }

    pub fn vertex(&self, number: usize) -> Vertex {
        Vertex::new(self.me, number)
    }

    /// The deepest level with states here.
    pub fn depth(&self) -> u32 {
        self.level.iter().copied().max().unwrap_or(0)
    }

    /// Makes the share expand one level at a time.
    pub fn by_level(&mut self) {
        self.one_level = true;
    }

    /// Whether states wait to be expanded.
    pub fn waits(&self) -> bool {
        self.open.end < self.len()
    }

    /// The sources of the edges that lead to a state.
    pub fn sources(&self, number: usize) -> impl Iterator<Item = Vertex> + '_ {
        let mut at = self.last[number];
        std::iter::from_fn(move || {
            let &(source, before) = self.edges.get(at as usize)?;
            at = before;
            Some(source)
        })
    }

    /// Memory, in bytes.
    pub fn bytes(&self) -> u64 {
        let vertices = self.accepting.capacity() + self.level.capacity() * 4 + self.last.capacity() * 4;
        self.states.memory() + (vertices + self.edges.capacity() * 16) as u64
    }

    /// Adds a state and an edge to it.
    fn meet(&mut self, source: Option<Vertex>, state: &[u8], level: u32) -> usize {
        let (number, new) = self.states.number(state);
        if new {
            self.accepting.push((self.accepts)(state));
            self.level.push(level);
            self.last.push(END);
        }
        if let Some(source) = source {
            self.edges.push((source, self.last[number]));
            self.last[number] = self.edges.len() as u32 - 1;
        }
        number
    }

    fn begin(&mut self) {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        self.system.initial(&mut out);
        for (_, state) in out.iter() {
            if let Some(state) = state.filter(|state| self.owners.owner(state) == self.me) {
                self.meet(None, state, 0);
            }
        }
        self.out = out;
    }

    fn expand(&mut self, number: usize, to: &mut Outbox) {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        self.system.successors(self.states.state(number), &mut out);
        if out.is_cut_short() {
            self.shared.stop(StopReason::Memory);
        }
        for (entry, state) in out.iter() {
            if entry.fault().is_some() {
                self.fault.get_or_insert(number);
                continue;
            }
            let Some(state) = state else { continue };
            self.transitions += 1;
            let owner = self.owners.owner(state);
            let source = self.vertex(number);
            if owner == self.me {
                let target = self.meet(Some(source), state, self.depth + 1);
                if self.one_level && self.level[target] <= self.depth {
                    self.back.push(target);
                }
            } else {
                self.cross += 1;
                to.send(owner, |record| {
                    put_number(record, number as u64);
                    put_number(record, u64::from(self.depth));
                    put_bytes(record, state);
                });
            }
        }
        self.out = out;
    }

    fn publish(&mut self) {
        let published = &self.shared.published[self.local];
        published.states.store(self.len() as u64, Ordering::Relaxed);
        published.transitions.store(self.transitions, Ordering::Relaxed);
        published.waiting.store((self.len() - self.open.start) as u64, Ordering::Relaxed);
        published.depth.store(u64::from(self.depth), Ordering::Relaxed);
        published.bytes.store(self.bytes(), Ordering::Relaxed);
        let full = self.gauge.is_full(&self.shared);
        if full || self.edges.len() >= END as usize - (1 << 20) {
            self.shared.stop(StopReason::Memory);
        }
    }
}

impl Actor for Share<'_> {
    fn receive(&mut self, _: u64, from: usize, bytes: &[u8]) {
        let mut cursor = Cursor(bytes);
        while !cursor.is_empty() {
            let (Some(source), Some(depth), Some(state)) = (cursor.number(), cursor.number(), cursor.bytes()) else { return };
            let number = self.meet(Some(Vertex::new(from, source as usize)), state, depth as u32 + 1);
            if u64::from(self.level[number]) <= depth && self.one_level {
                self.back.push(number);
            }
        }
    }

    fn work(&mut self, out: &mut Outbox) -> Turn {
        if self.level.is_empty() && out.round == 0 && self.depth == 0 && !self.expanding {
            self.begin();
        }
        if !self.expanding {
            if self.one_level && out.round > 0 {
                return Turn::Rest;
            }
            self.open = self.open.end..self.len();
            self.expanding = true;
            self.depth = if self.one_level { self.depth } else { out.round as u32 };
        }
        let begun = Instant::now();
        while self.open.start < self.open.end && begun.elapsed() < SLICE && !self.shared.is_stopped() {
            for _ in 0..64 {
                let Some(number) = self.open.next() else { break };
                self.expand(number, out);
            }
        }
        self.publish();
        if self.open.start < self.open.end && !self.shared.is_stopped() {
            return Turn::More;
        }
        self.expanding = false;
        if self.one_level {
            self.depth += 1;
            return Turn::Rest;
        }
        if self.waits() { Turn::Again } else { Turn::Rest }
    }
}
