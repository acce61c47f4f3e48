//! A state space as a graph in fragments, one for each worker (Garavel, Mateescu and Smarandache,
//! 2001). States are in memory, edges go to disk as they are found.
//!
//! Worker *i* of *n* numbers its states *i*, *i* + *n*, *i* + 2*n* and so on, so a number
//! determines the owner. An edge belongs to the fragment of its target: only the number of its
//! source, its label and its target have to be sent. The published procedure begins to count one
//! too late for all workers but the first, and ends too early if a worker that still has states of
//! its own answers; here rounds end when all workers are done.

use crate::actor::{Actor, Outbox, Turn};
use crate::explore::statistics;
use crate::flow::Abandoned;
use crate::gauge::{Gauge, Resident};
use crate::owner::Owners;
use crate::reach::Counts;
use crate::report::{Part, traffic};
use crate::seat::Seat;
use crate::share::Numbered;
use crate::shared::Shared;
use crate::wire::{Cursor, put_bytes, put_number};
use contract::{Action, Enough, Fault, Outcome, StopReason, Successors, System, Verdict};
use lts::{FRAGMENT_MAGIC, GraphEnd, GraphWriter, fault_words};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const SLICE: Duration = Duration::from_millis(4);

/// A state in words.
pub struct Described {
    /// For each action its label and the fault that it commits, if it does.
    pub steps: Vec<(String, Option<Fault>)>,
    /// The atoms of the state.
    pub atoms: Vec<String>,
    /// The steps that have fatal faults, by their labels.
    pub fatal: Vec<(String, Fault)>,
}

/// Describes a state and the steps with these actions that leave it.
pub type Describe<'a> = dyn FnMut(&[u8], &[Action]) -> Described + 'a;

/// The task of a worker that makes its fragment.
pub struct Construction<'a> {
    /// The system to explore.
    pub system: &'a mut dyn System,
    /// Describes its states and steps.
    pub describe: &'a mut Describe<'a>,
    /// The fault of the initial state.
    pub initial_fault: Option<Fault>,
    /// The owners of states.
    pub owners: Owners,
    /// The memory limit of the process.
    pub memory: Option<u64>,
    /// Measures the process.
    pub resident: Option<Resident>,
    /// The destination of the fragment.
    pub to: &'a mut dyn Write,
}

struct Construct<'a> {
    me: usize,
    workers: usize,
    local: usize,
    shared: Arc<Shared>,
    system: &'a mut dyn System,
    describe: &'a mut Describe<'a>,
    initial_fault: Option<Fault>,
    owners: Owners,
    gauge: Gauge,
    to: GraphWriter<&'a mut dyn Write>,
    states: Numbered,
    open: std::ops::Range<usize>,
    working: bool,
    counts: Counts,
    initial: Option<u64>,
    out: Successors,
}

impl Construct<'_> {
    fn number(&self, index: usize) -> u64 {
        (index * self.workers + self.me) as u64
    }

    /// Writes an edge to the state with this index, and the kind and message of its fault.
    fn edge(&mut self, source: u64, label: &str, target: usize, fault: Option<(&str, &str)>) {
        let target = self.number(target);
        let edge = self.to.edge(source, label, target);
        self.written(edge);
        if let Some((kind, message)) = fault {
            let fault = self.to.fault(Some((source, label)), Some(target), (kind, message));
            self.written(fault);
        }
    }

    fn written(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.shared.stop(StopReason::Storage(error.to_string()));
        }
    }

    fn begin(&mut self) {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        self.system.initial(&mut out);
        if let Some(state) = out.iter().find_map(|(_, state)| state) {
            let owner = self.owners.owner(state);
            self.initial = Some(owner as u64);
            if owner == self.me {
                self.states.number(state);
                if let Some(fault) = self.initial_fault.take() {
                    let written = self.to.fault(None, None, fault_words(&fault));
                    self.written(written);
                }
            }
        }
        self.out = out;
    }

    fn expand(&mut self, index: usize, to: &mut Outbox) {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        self.system.successors(self.states.state(index), &mut out);
        if out.is_cut_short() {
            self.shared.stop(StopReason::Memory);
        }
        let actions: Vec<Action> = out.entries().iter().map(|entry| entry.action).collect();
        let Described { steps, atoms, fatal } = (self.describe)(self.states.state(index), &actions);
        let number = self.number(index);
        let marked = atoms.iter().try_for_each(|atom| self.to.mark(number, atom));
        self.written(marked);
        let failed = fatal.iter().try_for_each(|(label, fault)| self.to.fault(Some((number, label)), None, fault_words(fault)));
        self.written(failed);
        for (place, (_, state)) in out.iter().enumerate() {
            let Some(state) = state else { continue };
            let (label, fault) = steps.get(place).map_or(("", None), |(label, fault)| (label.as_str(), fault.as_ref()));
            self.counts.transitions += 1;
            let owner = self.owners.owner(state);
            if owner == self.me {
                let (target, _) = self.states.number(state);
                self.edge(number, label, target, fault.map(fault_words));
            } else {
                self.counts.cross += 1;
                self.counts.sent += 1;
                to.send(owner, |record| {
                    put_number(record, index as u64);
                    put_bytes(record, label.as_bytes());
                    put_bytes(record, state);
                    // A step without a fault has no kind of fault.
                    let (kind, message) = fault.map_or(("", ""), fault_words);
                    put_bytes(record, kind.as_bytes());
                    put_bytes(record, message.as_bytes());
                });
            }
        }
        self.counts.expanded += 1;
        self.out = out;
    }

    fn publish(&mut self) {
        let published = &self.shared.published[self.local];
        published.states.store(self.states.len() as u64, Ordering::Relaxed);
        published.transitions.store(self.counts.transitions, Ordering::Relaxed);
        published.waiting.store((self.states.len() - self.open.start) as u64, Ordering::Relaxed);
        published.depth.store(self.counts.depth, Ordering::Relaxed);
        published.bytes.store(self.states.memory(), Ordering::Relaxed);
        if self.gauge.is_full(&self.shared) || self.states.len() >= u32::MAX as usize - 2 {
            self.shared.stop(StopReason::Memory);
        }
    }
}

impl Actor for Construct<'_> {
    fn receive(&mut self, _: u64, from: usize, bytes: &[u8]) {
        let mut cursor = Cursor(bytes);
        while let (Some(source), Some(label), Some(state), Some(kind), Some(message)) =
            (cursor.number(), cursor.bytes(), cursor.bytes(), cursor.bytes(), cursor.bytes())
        {
            let (target, _) = self.states.number(state);
            let [label, kind, message] = [label, kind, message].map(String::from_utf8_lossy);
            let fault = (!kind.is_empty()).then_some((&*kind, &*message));
            self.edge(source * self.workers as u64 + from as u64, &label, target, fault);
        }
    }

    fn work(&mut self, out: &mut Outbox) -> Turn {
        if !self.working {
            self.working = true;
            if out.round == 0 {
                self.begin();
            }
            self.open = self.open.end..self.states.len();
            if !self.open.is_empty() {
                self.counts.depth = out.round;
            }
        }
        let begun = Instant::now();
        while begun.elapsed() < SLICE && !self.shared.is_stopped() {
            let Some(index) = self.open.next() else { break };
            self.expand(index, out);
        }
        self.publish();
        if !self.open.is_empty() && !self.shared.is_stopped() {
            return Turn::More;
        }
        self.working = false;
        if self.open.end < self.states.len() { Turn::Again } else { Turn::Rest }
    }
}

/// Makes the fragments of a state space; every worker calls this. A fragment is complete only if
/// the verdict is *holds*.
pub fn construct(seat: &mut Seat<'_>, construction: Construction<'_>) -> Result<Outcome, Abandoned> {
    let begun = Instant::now();
    let Construction { system, describe, initial_fault, owners, memory, resident, to } = construction;
    let shared = Arc::clone(seat.shared());
    let asked = Arc::clone(&shared);
    system.give_up_when(Enough::when(move |_| asked.is_stopped() || asked.is_abandoned()));
    let writer = GraphWriter::new(to, &FRAGMENT_MAGIC);
    let failed = writer.as_ref().err().map(ToString::to_string);
    if let Some(error) = &failed {
        shared.stop(StopReason::Storage(error.clone()));
    }
    let before = seat.sent();
    let mut part = Part::default();
    let initial;
    match writer {
        Ok(to) => {
            let mut actor = Construct {
                me: seat.me(),
                workers: seat.workers(),
                local: seat.local(),
                shared: Arc::clone(&shared),
                system,
                describe,
                initial_fault,
                owners,
                gauge: Gauge::new(memory, resident),
                to,
                states: Numbered::default(),
                open: 0..0,
                working: false,
                counts: Counts::default(),
                initial: None,
                out: Successors::new(),
            };
            seat.drive(&mut actor)?;
            initial = actor.initial;
            part.counts = Counts { states: actor.states.len() as u64, ..actor.counts };
            part.store_bytes = actor.states.memory();
            part.store_peak_bytes = part.store_bytes;
            let end = GraphEnd {
                states: part.counts.states,
                edges: 0,
                initial: initial.unwrap_or(0),
                workers: seat.workers() as u64,
                worker: seat.me() as u64,
            };
            if !shared.is_stopped()
                && let Err(error) = actor.to.finish(end)
            {
                shared.stop(StopReason::Storage(error.to_string()));
            }
        }
        // The other workers continue; this one has nothing to contribute.
        Err(_) => seat.drive(&mut Idle)?,
    }
    (part.parcels, part.bytes) = (seat.sent().0 - before.0, seat.sent().1 - before.1);
    part.stopped = shared.reason();
    let all = seat.gather(&part.to_bytes(None))?;
    let parts: Vec<Part> = all.iter().filter_map(|bytes| Part::read(bytes)).map(|(part, _)| part).collect();
    let mut statistics = statistics(&parts);
    statistics.traffic = Some(traffic(&parts));
    statistics.elapsed = begun.elapsed();
    let verdict = parts.iter().find_map(|part| part.stopped.clone()).map_or(Verdict::Holds, Verdict::Unknown);
    Ok(Outcome { verdict, statistics })
}

/// A worker that does nothing.
struct Idle;

impl Actor for Idle {
    fn receive(&mut self, _: u64, _: usize, _: &[u8]) {}

    fn work(&mut self, _: &mut Outbox) -> Turn {
        Turn::Rest
    }
}
