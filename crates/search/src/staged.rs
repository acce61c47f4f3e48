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
use crate::doors::{Behind, Doors};
use crate::expand::{Best, Expander};
use crate::frontier::{Chunk, Frontier};
use crate::links::{Link, path};
use crate::monitor::{Monitor, WorkerCounts};
use crate::parts::both;
use crate::product::Product;
use crate::retrace::{Choice, retrace, unviolated, violated};
use crate::stages::Stage;
use crate::task::Task;
use contract::{Outcome, StopReason, Store, System, Trace};
use std::io;
use std::time::Duration;

/// Looks for a reachable cycle that is accepting and fair. The automaton begins early, the store is
/// empty and the depth has no limit. Also returns whether an edge in every acceptance set was met.
pub(crate) fn staged<S: System + Clone, T: Store>(product: &Product<S>, fairness: Fairness, store: &T, task: &Task<'_>) -> (Outcome, bool) {
    let monitor = Monitor::new(task, 1, store);
    let best = Best::new();
    let mut system = product.clone();
    system.give_up_when(monitor.enough(0));
    let late = Search::new(product, fairness, T::STABLE_NAMES, task, &monitor, 0);
    let mut staged = Staged {
        early: Expander::new(system.clone().only_to(Stage::Early), store, task, &best, 0),
        doors: Doors::new(system.only_to(Stage::Late), late, task, &monitor),
        store,
        monitor: &monitor,
        next: Frontier::default(),
        depth: 0,
    };
    let found = staged.search().unwrap_or_else(|error| {
        monitor.stop(StopReason::Storage(error.to_string()));
        None
    });
    let verdict = match found {
        Some((finding, trace)) => violated(product, finding, trace),
        None => unviolated(monitor.reason(), false, T::EXACT),
    };
    let Staged { early, doors, depth, .. } = &mut staged;
    let mut statistics = std::mem::take(&mut doors.late.statistics);
    statistics.states += early.states;
    statistics.transitions += early.transitions;
    statistics.depth = statistics.depth.max(*depth);
    statistics.profile = both(doors.late.watch.stop(), early.watch.stop());
    let met = staged.doors.late.met_accepting;
    drop(staged);
    statistics.expanded_by_worker = vec![statistics.states];
    monitor.conclude(&mut statistics, store, Duration::ZERO);
    (Outcome { verdict, statistics }, met)
}

struct Staged<'a, S, T: Store> {
    /// Expands the early states; it has the only access to the store.
    early: Expander<'a, Product<S>, T>,
    /// The steps from early states to late ones, and the search behind them.
    doors: Doors<'a, S>,
    store: &'a T,
    monitor: &'a Monitor<'a>,
    next: Frontier,
    /// The level of the early states that are being expanded.
    depth: u64,
}

impl<S: System + Clone, T: Store> Staged<'_, S, T> {
    fn search(&mut self) -> io::Result<Option<Found>> {
        if self.early.initial(&mut self.next).is_err() {
            self.monitor.refused();
        }
        loop {
            let level = self.next.take();
            if let Some(found) = early_finding(&mut self.early, self.monitor) {
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
            self.doors.late.others = WorkerCounts {
                states: self.early.states,
                transitions: self.early.transitions,
                waiting: waiting + (chunk.waiting.len() - index) as u64 + self.next.len(),
                depth: self.depth,
                search_bytes: bytes + self.next.bytes() + self.early.links.bytes(),
            };
            if !self.monitor.poll(0, &self.doors.late.standing(), self.store) {
                return Ok(early_finding(&mut self.early, self.monitor));
            }
        }
        if let Some(found) = early_finding(&mut self.early, self.monitor) {
            return Ok(Some(found));
        }
        let behind = self.doors.of_chunk(chunk, &mut self.early.store, self.store)?;
        Ok(behind.map(|behind| found_behind(behind, &mut self.early, self.monitor)))
    }
}

/// The finding among early states, if there is one.
pub(crate) fn early_finding<S: System, T: Store>(early: &mut Expander<'_, Product<S>, T>, monitor: &Monitor<'_>) -> Option<Found> {
    let found = early.found.take()?;
    Some((found.finding, way(early, found.at, found.step, monitor)))
}

/// A finding behind a door. Its trace is the path to the state before the door, the step through
/// it, and the rest.
pub(crate) fn found_behind<S: System, T: Store>(behind: Behind, early: &mut Expander<'_, Product<S>, T>, monitor: &Monitor<'_>) -> Found {
    let Behind { finding, at, step, rest } = behind;
    let Some(rest) = rest else { return (finding, None) };
    let trace = way(early, at, None, monitor).map(|mut trace| {
        trace.steps.push(step);
        trace.loop_start = rest.loop_start.map(|start| start + trace.steps.len());
        trace.steps.extend(rest.steps);
        trace
    });
    (finding, trace)
}

/// The path to an early state, followed by a step.
fn way<S: System, T: Store>(
    early: &mut Expander<'_, Product<S>, T>,
    at: Link,
    step: Option<Choice>,
    monitor: &Monitor<'_>,
) -> Option<Trace> {
    let mut choices = path(std::slice::from_ref(&early.links), at)?;
    choices.extend(step);
    retrace(&mut early.system, &choices, monitor.patience())
}
