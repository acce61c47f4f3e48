//! The steps from the early stage of a product to the late one, and the search behind them.
//!
//! Each step to the late stage is a *door*: a starting point for the search by components, which
//! never returns. If the late search has visited the same state of the system with a twin of the
//! automaton's state ([`Stages::twin`](crate::stages::Stages::twin)), the door is not needed. This
//! is nearly always so, and a look-up in the store shows it.

use crate::components::Search;
use crate::frontier::Chunk;
use crate::links::Link;
use crate::monitor::Monitor;
use crate::product::Product;
use crate::task::Task;
use contract::{Action, Answer, Finding, StateId, Store, StoreWorker, Successors, System, Trace, TraceStep};
use std::io;

/// The number of early states whose doors are examined together.
const TOGETHER: usize = 64;

/// A finding behind a door.
pub(crate) struct Behind {
    pub finding: Finding,
    /// The early state before the door, and the step through it.
    pub at: Link,
    pub step: TraceStep,
    /// What follows; nothing if it was lost.
    pub rest: Option<Trace>,
}

/// Looks for the twins of early states.
pub(crate) struct Twins<S> {
    /// The product with only the steps to the late stage.
    product: Product<S>,
    out: Successors,
    hashes: Vec<u64>,
    found: Vec<Option<StateId>>,
    /// The number of each state's twin in `out`, if it has one.
    twins: Vec<Option<usize>>,
    state: Vec<u8>,
}

impl<S: System + Clone> Twins<S> {
    pub fn new(product: Product<S>) -> Self {
        Twins { product, out: Successors::new(), hashes: Vec::new(), found: Vec::new(), twins: Vec::new(), state: Vec::new() }
    }

    /// The states of a chunk whose doors are needed, as far as that is known now, by their numbers.
    pub fn needed<W: StoreWorker>(&mut self, chunk: &Chunk, worker: &mut W) -> Vec<usize> {
        let all: Vec<usize> = (0..chunk.waiting.len()).collect();
        let mut needed = Vec::new();
        for some in all.chunks(TOGETHER) {
            self.find(chunk, some, worker);
            let is_needed = |twin: &Option<usize>| twin.is_none_or(|twin| self.found[twin].is_none());
            needed.extend(some.iter().zip(&self.twins).filter(|(_, twin)| is_needed(twin)).map(|(index, _)| index));
        }
        needed
    }

    /// Looks for the twins of some states of a chunk.
    fn find<W: StoreWorker>(&mut self, chunk: &Chunk, indices: &[usize], worker: &mut W) {
        self.out.clear();
        self.twins.clear();
        for &index in indices {
            read(chunk, index, worker, &mut self.state);
            let has_twin = self.product.make_twin(&mut self.state);
            self.twins.push(has_twin.then_some(self.out.len()));
            if has_twin {
                self.out.push(&self.state, Action::default());
            }
        }
        self.hashes.clear();
        self.found.clear();
        worker.hash_batch(&self.out, &mut self.hashes);
        worker.find_batch(&self.out, &self.hashes, &mut self.found);
    }
}

/// Replaces `out` by the bytes of state number `index` of a chunk.
fn read<W: StoreWorker>(chunk: &Chunk, index: usize, worker: &mut W, out: &mut Vec<u8>) {
    match chunk.state(index) {
        Some(state) => {
            out.clear();
            out.extend_from_slice(state);
        }
        None => {
            worker.read(chunk.waiting[index], out);
        }
    }
}

/// Goes through doors.
pub(crate) struct Doors<'a, S> {
    twins: Twins<S>,
    pub late: Search<'a, S>,
    task: &'a Task<'a>,
    monitor: &'a Monitor<'a>,
    /// The steps through the doors of one state, and which of them lead to visited states.
    steps: Successors,
    hashes: Vec<u64>,
    known: Vec<Option<StateId>>,
}

impl<'a, S: System + Clone> Doors<'a, S> {
    /// The doors of a product that has only the steps to the late stage; `late` searches behind
    /// them.
    pub fn new(product: Product<S>, late: Search<'a, S>, task: &'a Task<'a>, monitor: &'a Monitor<'a>) -> Self {
        Doors { twins: Twins::new(product), late, task, monitor, steps: Successors::new(), hashes: Vec::new(), known: Vec::new() }
    }

    /// Goes through the doors of all states of a chunk, unless the search must stop.
    pub fn of_chunk<T: Store>(&mut self, chunk: &Chunk, worker: &mut T::Worker<'_>, store: &T) -> io::Result<Option<Behind>> {
        let all: Vec<usize> = (0..chunk.waiting.len()).collect();
        self.of_states(chunk, &all, worker, store)
    }

    /// Goes through the doors of the states of a chunk with these numbers.
    pub fn of_states<T: Store>(
        &mut self,
        chunk: &Chunk,
        indices: &[usize],
        worker: &mut T::Worker<'_>,
        store: &T,
    ) -> io::Result<Option<Behind>> {
        for some in indices.chunks(TOGETHER) {
            self.twins.find(chunk, some, worker);
            for (number, &index) in some.iter().enumerate() {
                let twin = self.twins.twins[number];
                if twin.is_some_and(|twin| self.is_visited(twin, worker)) {
                    continue;
                }
                let behind = self.of_state(chunk, index, worker, store)?;
                if behind.is_some() || self.monitor.stopped() {
                    return Ok(behind);
                }
            }
        }
        Ok(None)
    }

    /// Checks the limits.
    pub fn poll<T: Store>(&self, store: &T) {
        self.late.poll(store);
    }

    /// Whether a twin was visited when it was looked for, or since.
    fn is_visited<W: StoreWorker>(&self, twin: usize, worker: &mut W) -> bool {
        let Twins { out, hashes, found, .. } = &self.twins;
        found[twin].is_some() || out.state(&out.entries()[twin]).is_some_and(|state| worker.find(hashes[twin], state).is_some())
    }

    /// Goes through the doors of state number `index` of a chunk.
    fn of_state<T: Store>(&mut self, chunk: &Chunk, index: usize, worker: &mut T::Worker<'_>, store: &T) -> io::Result<Option<Behind>> {
        let Twins { product, state: source, .. } = &mut self.twins;
        read(chunk, index, worker, source);
        let mut steps = std::mem::take(&mut self.steps);
        steps.clear();
        product.successors(source, &mut steps);
        if steps.is_cut_short() {
            self.monitor.refused();
            return Ok(None);
        }
        let at = chunk.link(index);
        let faulty = steps.iter().filter_map(|(entry, state)| Some((entry, state, entry.fault()?)));
        for (entry, state, code) in faulty {
            if let Answer::Stop(finding) = self.task.property.fault(code, state.is_some()) {
                let step = TraceStep { action: entry.action, state: state.map(<[u8]>::to_vec) };
                return Ok(Some(Behind { finding, at, step, rest: Some(Trace::default()) }));
            }
        }
        // Visited states are complete, because no late search is under way. All are looked up at
        // once.
        let (mut hashes, mut known) = (std::mem::take(&mut self.hashes), std::mem::take(&mut self.known));
        hashes.clear();
        known.clear();
        worker.hash_batch(&steps, &mut hashes);
        worker.find_batch(&steps, &hashes, &mut known);
        for (number, (entry, state)) in steps.iter().enumerate() {
            let Some(state) = state else { continue };
            self.late.statistics.transitions += 1;
            if known[number].is_some() {
                continue;
            }
            self.late.push(state, hashes[number], entry.action);
            if let Some((finding, rest)) = self.late.search(worker, store)? {
                let step = TraceStep { action: entry.action, state: Some(state.to_vec()) };
                return Ok(Some(Behind { finding, at, step, rest }));
            }
            if self.monitor.stopped() {
                break;
            }
        }
        (self.hashes, self.known) = (hashes, known);
        self.steps = steps;
        Ok(None)
    }
}
