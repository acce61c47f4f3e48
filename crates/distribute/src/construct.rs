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
use contract::{Action, Enough, Outcome, StopReason, Successors, System, Verdict};
use lts::{FRAGMENT_MAGIC, GraphEnd, GraphWriter};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const SLICE: Duration = Duration::from_millis(4);

/// The labels of the steps that leave a state.
pub type Labels<'a> = dyn FnMut(&[u8], &[Action]) -> Vec<String> + 'a;

/// The task of a worker that makes its fragment.
pub struct Construction<'a> {
    /// The system to explore.
    pub system: &'a mut dyn System,
    /// The labels of its steps.
    pub labels: &'a mut Labels<'a>,
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
    labels: &'a mut Labels<'a>,
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
        let labels = (self.labels)(self.states.state(index), &actions);
        for (place, (_, state)) in out.iter().enumerate() {
            let Some(state) = state else { continue };
            let label = labels.get(place).map_or("", String::as_str);
            self.counts.transitions += 1;
            let owner = self.owners.owner(state);
            if owner == self.me {
                let (target, _) = self.states.number(state);
                let written = self.to.edge(self.number(index), label, self.number(target));
                self.written(written);
            } else {
                self.counts.cross += 1;
                self.counts.sent += 1;
                to.send(owner, |record| {
                    put_number(record, index as u64);
                    put_bytes(record, label.as_bytes());
                    put_bytes(record, state);
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
        while let (Some(source), Some(label), Some(state)) = (cursor.number(), cursor.bytes(), cursor.bytes()) {
            let (target, _) = self.states.number(state);
            let label = String::from_utf8_lossy(label);
            let written = self.to.edge(source * self.workers as u64 + from as u64, &label, self.number(target));
            self.written(written);
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
    let Construction { system, labels, owners, memory, resident, to } = construction;
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
                labels,
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
