//! Search for accepting runs in two stages: breadth-first as long as the automaton cannot accept,
//! by components from there on.
//!
//! The states of the product in the early stage ([`Stage`]) are visited in the fastest order. The
//! steps from them to the late stage are *doors*: each is a starting point for the search by
//! components, which never returns. Doors are tried as soon as a chunk of early states is expanded,
//! so a violation near the initial state is found before the rest is visited. If the late search
//! has visited the same state of the system with a twin of the automaton's state
//! ([`Stages::twin`](crate::stages::Stages::twin)), the door is not needed. This is nearly always
//! so, and a look-up in the store shows it.
//!
//! The path to a door is known from the logs of the early stage, so nothing is stored for it.

use crate::components::{Fairness, Found, Search};
use crate::expand::{Best, Expander};
use crate::frontier::{Chunk, Frontier};
use crate::links::{Link, path};
use crate::monitor::{Monitor, WorkerCounts};
use crate::parts::both;
use crate::product::Product;
use crate::retrace::{Choice, retrace, unviolated, violated};
use crate::stages::Stage;
use crate::task::Task;
use contract::{Action, Answer, Finding, Outcome, StateId, StopReason, Store, StoreWorker, Successors, System, Trace, TraceStep};
use std::io;
use std::ops::Range;
use std::time::Duration;

/// The number of early states whose doors are examined together.
const DOORS: usize = 64;

/// Looks for a reachable cycle that is accepting and fair. The automaton begins early, the store is
/// empty and the depth has no limit.
pub(crate) fn staged<S: System + Clone, T: Store>(product: &Product<S>, fairness: Fairness, store: &T, task: &Task<'_>) -> Outcome {
    let monitor = Monitor::new(task, 1, store);
    let best = Best::new();
    let system = |stage: Stage| {
        let mut system = product.clone().only_to(stage);
        system.give_up_when(monitor.enough(0));
        system
    };
    let mut staged = Staged {
        early: Expander::new(system(Stage::Early), store, task, &best, 0),
        doors: system(Stage::Late),
        late: Search::new(product, fairness, T::STABLE_NAMES, task, &monitor),
        store,
        task,
        monitor: &monitor,
        next: Frontier::default(),
        depth: 0,
        out: Successors::new(),
        hashes: Vec::new(),
        found: Vec::new(),
        twins: Vec::new(),
        steps: Successors::new(),
        step_hashes: Vec::new(),
        known: Vec::new(),
        state: Vec::new(),
    };
    let found = staged.search().unwrap_or_else(|error| {
        monitor.stop(StopReason::Storage(error.to_string()));
        None
    });
    let verdict = match found {
        Some((finding, trace)) => violated(product, finding, trace),
        None => unviolated(monitor.reason(), false, T::EXACT),
    };
    let Staged { early, late, depth, .. } = &mut staged;
    let mut statistics = std::mem::take(&mut late.statistics);
    statistics.states += early.states;
    statistics.transitions += early.transitions;
    statistics.depth = statistics.depth.max(*depth);
    statistics.profile = both(late.watch.stop(), early.watch.stop());
    drop(staged);
    statistics.expanded_by_worker = vec![statistics.states];
    monitor.conclude(&mut statistics, store, Duration::ZERO);
    Outcome { verdict, statistics }
}

struct Staged<'a, S, T: Store> {
    /// Expands the early states; it has the only access to the store.
    early: Expander<'a, Product<S>, T>,
    /// The steps from early states to late ones.
    doors: Product<S>,
    late: Search<'a, S>,
    store: &'a T,
    task: &'a Task<'a>,
    monitor: &'a Monitor<'a>,
    next: Frontier,
    /// The level of the early states that are being expanded.
    depth: u64,
    /// The early states of a chunk, with the twins of their automaton states, and which of them
    /// were visited.
    out: Successors,
    hashes: Vec<u64>,
    found: Vec<Option<StateId>>,
    /// The number of each state's twin in `out`, if it has one.
    twins: Vec<Option<usize>>,
    /// The steps through the doors of one state, and which of them lead to visited states.
    steps: Successors,
    step_hashes: Vec<u64>,
    known: Vec<Option<StateId>>,
    state: Vec<u8>,
}

impl<S: System + Clone, T: Store> Staged<'_, S, T> {
    fn search(&mut self) -> io::Result<Option<Found>> {
        if self.early.initial(&mut self.next).is_err() {
            self.monitor.refused();
        }
        loop {
            let level = self.next.take();
            if let Some(found) = self.early_finding() {
                return Ok(Some(found));
            }
            if level.is_empty() {
                self.depth = self.depth.saturating_sub(1);
                return Ok(None);
            }
            let mut waiting: u64 = level.iter().map(|chunk| chunk.waiting.len() as u64).sum();
            let mut bytes: u64 = level.iter().map(Chunk::size).sum();
            for chunk in level {
                waiting -= chunk.waiting.len() as u64;
                if let Some(found) = self.chunk(&chunk, waiting, bytes)? {
                    return Ok(Some(found));
                }
                if self.monitor.stopped() {
                    return Ok(None);
                }
                bytes -= chunk.size();
                self.next.recycle(chunk);
            }
            self.depth += 1;
        }
    }

    /// Expands the states of a chunk and goes through their doors. `waiting` other states of their
    /// level are still to be expanded; all of them take `bytes` bytes.
    fn chunk(&mut self, chunk: &Chunk, waiting: u64, bytes: u64) -> io::Result<Option<Found>> {
        self.early.begin(chunk);
        let mut index = 0;
        while index < chunk.waiting.len() {
            match self.early.expand(chunk, index, self.depth, &mut self.next) {
                Ok(end) => index = end,
                Err(cut_short) => {
                    index = cut_short.at;
                    self.monitor.refused();
                }
            }
            self.late.others = WorkerCounts {
                states: self.early.states,
                transitions: self.early.transitions,
                waiting: waiting + (chunk.waiting.len() - index) as u64 + self.next.len(),
                depth: self.depth,
                search_bytes: bytes + self.next.bytes() + self.early.links.bytes(),
            };
            if !self.monitor.poll(0, &self.late.standing(), self.store) {
                return Ok(self.early_finding());
            }
        }
        if let Some(found) = self.early_finding() {
            return Ok(Some(found));
        }
        for first in (0..chunk.waiting.len()).step_by(DOORS) {
            let end = chunk.waiting.len().min(first + DOORS);
            self.find_twins(chunk, first..end);
            for index in first..end {
                let twin = self.twins[index - first];
                if twin.is_none_or(|twin| self.found[twin].is_none())
                    && let Some(found) = self.door(chunk, index, twin)?
                {
                    return Ok(Some(found));
                }
                if self.monitor.stopped() {
                    return Ok(None);
                }
            }
        }
        Ok(None)
    }

    /// Looks for the twins of some states of a chunk.
    fn find_twins(&mut self, chunk: &Chunk, range: Range<usize>) {
        self.out.clear();
        self.twins.clear();
        for index in range {
            self.early.read(chunk, index, &mut self.state);
            let has_twin = self.doors.make_twin(&mut self.state);
            self.twins.push(has_twin.then_some(self.out.len()));
            if has_twin {
                self.out.push(&self.state, Action::default());
            }
        }
        self.hashes.clear();
        self.found.clear();
        self.early.store.hash_batch(&self.out, &mut self.hashes);
        self.early.store.find_batch(&self.out, &self.hashes, &mut self.found);
    }

    /// Goes through the doors of state number `index` of a chunk, whose twin, if it has one, was
    /// not visited.
    fn door(&mut self, chunk: &Chunk, index: usize, twin: Option<usize>) -> io::Result<Option<Found>> {
        // The twin may have been visited since.
        if let Some(twin) = twin
            && let Some(state) = self.out.state(&self.out.entries()[twin])
            && self.early.store.find(self.hashes[twin], state).is_some()
        {
            return Ok(None);
        }
        self.early.read(chunk, index, &mut self.state);
        let mut steps = std::mem::take(&mut self.steps);
        steps.clear();
        self.doors.successors(&self.state, &mut steps);
        if steps.is_cut_short() {
            self.monitor.refused();
            return Ok(None);
        }
        let link = chunk.link(index);
        let faulty = steps.iter().filter_map(|(entry, state)| Some((entry, state, entry.fault()?)));
        for (entry, state, code) in faulty {
            if let Answer::Stop(finding) = self.task.property.fault(code, state.is_some()) {
                let step = TraceStep { action: entry.action, state: state.map(<[u8]>::to_vec) };
                return Ok(Some(self.found(finding, link, step, None)));
            }
        }
        // Visited states are complete, because no late search is under way. All are looked up at
        // once.
        let (mut hashes, mut known) = (std::mem::take(&mut self.step_hashes), std::mem::take(&mut self.known));
        hashes.clear();
        known.clear();
        self.early.store.hash_batch(&steps, &mut hashes);
        self.early.store.find_batch(&steps, &hashes, &mut known);
        for (number, (entry, state)) in steps.iter().enumerate() {
            let Some(state) = state else { continue };
            self.late.statistics.transitions += 1;
            if known[number].is_some() {
                continue;
            }
            self.late.push(state, hashes[number], entry.action);
            if let Some((finding, rest)) = self.late.search(&mut self.early.store, self.store)? {
                let step = TraceStep { action: entry.action, state: Some(state.to_vec()) };
                return Ok(match rest {
                    Some(rest) => Some(self.found(finding, link, step, Some(rest))),
                    None => Some((finding, None)),
                });
            }
            if self.monitor.stopped() {
                break;
            }
        }
        (self.step_hashes, self.known) = (hashes, known);
        self.steps = steps;
        Ok(None)
    }

    /// The trace of a finding behind a door: the path to the state before it, the step through it,
    /// and the rest, which begins after that step.
    fn found(&mut self, finding: Finding, at: Link, step: TraceStep, rest: Option<Trace>) -> Found {
        let trace = self.way(at, None).map(|mut trace| {
            trace.steps.push(step);
            if let Some(rest) = rest {
                trace.loop_start = rest.loop_start.map(|start| start + trace.steps.len());
                trace.steps.extend(rest.steps);
            }
            trace
        });
        (finding, trace)
    }

    /// The finding among early states, if there is one.
    fn early_finding(&mut self) -> Option<Found> {
        let found = self.early.found.take()?;
        Some((found.finding, self.way(found.at, found.step)))
    }

    /// The path to an early state, followed by a step.
    fn way(&mut self, at: Link, step: Option<Choice>) -> Option<Trace> {
        let mut choices = path(std::slice::from_ref(&self.early.links), at)?;
        choices.extend(step);
        retrace(&mut self.early.system, &choices, self.monitor.patience())
    }
}
