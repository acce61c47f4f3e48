//! Depth-first search in the strict order: a state is looked up when the search enters it, not before, so that at any moment the open
//! states of the stack are exactly the path it is on. Reductions with a cycle proviso and searches for cycles depend on that.
//!
//! The hash of a state is computed, and its table line requested, when it is pushed; by the time its elder siblings are done the line
//! is in the cache. Recursion would tie the depth of a model to the machine's stack; here it is memory on the heap.

use crate::monitor::{Monitor, Standing};
use crate::retrace::{unviolated, violated};
use crate::stack::{Arrival, Stack, Top};
use crate::task::Task;
use contract::{
    Answer, Edge, Finding, Outcome, Selection, Statistics, StopReason, Store, StoreWorker, Successors, System, Trace, TraceStep,
};

/// Records taken from the stack between two looks at the limits.
const POLL_EVERY: u64 = 256;

/// Explores `system` depth-first, remembering states in `store`, which must be empty.
pub fn depth_first<S: System + Clone, T: Store>(system: &S, store: &T, task: &Task<'_>) -> Outcome {
    let monitor = Monitor::new(task, 1);
    let mut walk = Walk {
        system: system.clone(),
        store: store.worker(),
        task,
        stack: Stack::default(),
        out: Successors::new(),
        state: Vec::new(),
        chosen: Vec::new(),
        depth: 0,
        truncated: false,
        expanded: 0,
        statistics: Statistics::default(),
    };
    let found = walk.run(store, &monitor);
    let verdict = match found {
        Some((finding, step)) => {
            let trace = walk.trace(step);
            violated(&walk.system, finding, Some(trace))
        }
        None => unviolated(monitor.reason(), walk.truncated, T::EXACT),
    };
    let mut statistics = std::mem::take(&mut walk.statistics);
    statistics.expanded_by_worker = vec![walk.expanded];
    drop(walk);
    statistics.elapsed = monitor.elapsed();
    statistics.store_bytes = store.bytes();
    statistics.search_bytes = monitor.peak_search_bytes();
    Outcome { verdict, statistics }
}

/// A finding, and the step it happened in unless it is about the open state on top.
type Found = (Finding, Option<TraceStep>);

struct Walk<'a, S, W> {
    system: S,
    store: W,
    task: &'a Task<'a>,
    stack: Stack,
    out: Successors,
    state: Vec<u8>,
    chosen: Vec<u32>,
    /// The number of open states.
    depth: u64,
    truncated: bool,
    expanded: u64,
    statistics: Statistics,
}

impl<S: System, W: StoreWorker> Walk<'_, S, W> {
    fn run<T: Store>(&mut self, store: &T, monitor: &Monitor<'_>) -> Option<Found> {
        let interest = self.task.property.interest();
        self.system.initial(&mut self.out);
        self.push_candidates(false);
        let mut until_poll = 0;
        loop {
            if until_poll == 0 {
                until_poll = POLL_EVERY;
                let standing = Standing {
                    states: self.statistics.states,
                    transitions: self.statistics.transitions,
                    waiting: self.stack.len(),
                    depth: self.depth,
                    search_bytes: self.stack.bytes(),
                };
                if !monitor.poll(0, &standing, store) {
                    return None;
                }
            }
            until_poll -= 1;
            let (state, top, arrival) = self.stack.top()?;
            let hash = match top {
                Top::Open { id } => {
                    self.store.leave(id);
                    self.stack.pop();
                    self.depth -= 1;
                    continue;
                }
                Top::Candidate { hash } => hash,
            };
            let Ok(inserted) = self.store.insert(hash, state) else {
                monitor.stop(StopReason::Memory);
                return None;
            };
            if interest.edges
                && let Some((source, source_id, _)) = self.stack.open_states().next()
            {
                let edge = Edge { source, source_id, target: state, target_id: inserted.id, new: inserted.new, action: arrival.action };
                if let Answer::Stop(finding) = self.task.property.edge(&edge) {
                    let step = TraceStep { action: arrival.action, state: Some(state.to_vec()) };
                    return Some((finding, Some(step)));
                }
            }
            if !inserted.new {
                self.stack.pop();
                continue;
            }
            self.statistics.states += 1;
            self.statistics.depth = self.statistics.depth.max(self.depth);
            self.state.clear();
            self.state.extend_from_slice(state);
            self.stack.open(inserted.id);
            self.depth += 1;
            if interest.states {
                match self.task.property.state(&self.state) {
                    Answer::Continue => {}
                    Answer::Prune => continue,
                    Answer::Stop(finding) => return Some((finding, None)),
                }
            }
            if self.task.limits.depth.is_some_and(|limit| self.depth > limit) {
                self.truncated = true;
                continue;
            }
            if let Some(found) = self.expand() {
                return Some(found);
            }
        }
    }

    /// Pushes the successors of the open state on top, which is also in `self.state`.
    fn expand(&mut self) -> Option<Found> {
        self.expanded += 1;
        self.out.clear();
        self.system.successors(&self.state, &mut self.out);
        if self.out.is_empty() {
            let valid = self.system.is_valid_end(&self.state);
            return match self.task.property.terminal(&self.state, valid) {
                Answer::Stop(finding) => Some((finding, None)),
                _ => None,
            };
        }
        self.chosen.clear();
        let reduction = self.task.reduction;
        let mut subset = !reduction.is_identity()
            && reduction.select(&self.state, self.out.entries(), &mut self.chosen) == Selection::Subset
            && self.chosen.iter().all(|&index| (index as usize) < self.out.len());
        let found = self.faults(&mut subset);
        if found.is_none() {
            self.push_candidates(subset);
        }
        found
    }

    /// Shows the property the faults among the steps to be followed; those it prunes leave only a subset.
    fn faults(&mut self, subset: &mut bool) -> Option<Found> {
        let mut pruned = Vec::new();
        for (index, entry) in self.out.entries().iter().enumerate() {
            let Some(code) = entry.fault() else { continue };
            if *subset && !self.chosen.contains(&(index as u32)) {
                continue;
            }
            match self.task.property.fault(code, entry.has_state()) {
                Answer::Continue => {}
                Answer::Prune => pruned.push(index as u32),
                Answer::Stop(finding) => {
                    let state = self.out.state(entry).map(<[u8]>::to_vec);
                    return Some((finding, Some(TraceStep { action: entry.action, state })));
                }
            }
        }
        if !pruned.is_empty() {
            if !*subset {
                self.chosen.extend(0..self.out.len() as u32);
                *subset = true;
            }
            self.chosen.retain(|index| !pruned.contains(index));
        }
        None
    }

    /// Pushes the successors of the buffer, or only the chosen ones, so that the first comes to lie on top.
    fn push_candidates(&mut self, subset: bool) {
        let counts = self.depth > 0;
        let entries = self.out.entries();
        let mut push = |index: usize| {
            let entry = &entries[index];
            if let Some(state) = self.out.state(entry) {
                let hash = self.store.hash(state);
                self.store.prefetch(hash);
                self.stack.push(state, hash, Arrival { action: entry.action, choice: index as u32 });
                self.statistics.transitions += u64::from(counts);
            }
        };
        if subset {
            self.chosen.iter().rev().for_each(|&index| push(index as usize));
        } else {
            (0..entries.len()).rev().for_each(&mut push);
        }
    }

    /// The path the search is on, and `last` after it.
    fn trace(&self, last: Option<TraceStep>) -> Trace {
        let mut steps: Vec<TraceStep> = last.into_iter().collect();
        let mut initial = None;
        for (state, _, arrival) in self.stack.open_states() {
            if let Some(step) = initial.replace(TraceStep { action: arrival.action, state: Some(state.to_vec()) }) {
                steps.push(step);
            }
        }
        steps.reverse();
        Trace { initial: initial.and_then(|step| step.state).unwrap_or_default(), steps, loop_start: None }
    }
}
