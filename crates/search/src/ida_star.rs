//! Iterative deepening A*: a series of depth-first searches, each with a bound on the sum of path
//! and estimate. The next bound is the least sum that exceeded the last one (Korf, "Depth-first
//! iterative-deepening: an optimal admissible tree search", 1985).
//!
//! The next round starts anew, with nothing but the new bound. Within a round a store prevents
//! states from being visited twice. If the names of the store never change, a state is visited
//! again when its path is shorter than before, and the first violation found is at the end of a
//! shortest path if the estimate is a lower bound. With any other store a state is visited once per
//! round, and the path need not be the shortest; a bit array makes this a search in very little
//! memory.

use crate::monitor::{Monitor, WorkerCounts};
use crate::retrace::{Choice, retrace, unviolated, violated};
use crate::rounds::initial_fault;
use crate::task::Task;
use contract::{Answer, FAR, Finding, Guided, Heuristic, Outcome, Statistics, Store, StoreWorker, Successors, System};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// A state that waits on the stack.
struct Waiting {
    choice: Choice,
    depth: u32,
    state: Box<[u8]>,
}

/// A violation, and the step in which it happened, if it happened in one.
type Found = (Finding, Option<Choice>);

/// Why a round ended.
enum End {
    /// There is a violation at the end of the path.
    Found(Found),
    /// A limit was reached.
    Stopped,
}

/// Explores `system` in rounds. `make` makes an empty store for each. All steps are followed.
pub fn ida_star<S: System + Clone, T: Store>(system: &S, make: &dyn Fn() -> T, task: &Task<'_>) -> Outcome {
    let mut store = make();
    let monitor = Monitor::new(task, 1, &store);
    let mut system = system.clone();
    system.give_up_when(monitor.enough(0));
    let mut search = Search {
        system,
        heuristic: task.heuristic.clone_heuristic(),
        task,
        monitor: &monitor,
        path: Vec::new(),
        stack: Vec::new(),
        bytes: 0,
        guided: Guided::default(),
        out: Successors::new(),
        probe: Successors::new(),
    };
    let mut bound = None;
    loop {
        let mut round = Round { bound, beyond: u64::MAX, truncated: false, states: 0, transitions: 0, depth: 0, depths: HashMap::new() };
        let ended = search.round(&store, &mut round);
        let verdict = match ended {
            Err(End::Found((finding, step))) => {
                search.path.extend(step);
                let trace = retrace(&mut search.system, &search.path, monitor.patience());
                violated(&search.system, finding, trace)
            }
            // States beyond the bound are visited in the next round.
            Ok(()) if round.beyond != u64::MAX => {
                bound = Some(round.beyond);
                // The old store is freed before the new one is made.
                drop(store);
                store = make();
                let patience = monitor.patience().clone();
                if let Some(budgeted) = store.budgeted() {
                    budgeted.give_up_when(Arc::new(move || patience.is_over()));
                }
                continue;
            }
            Ok(()) | Err(End::Stopped) => unviolated(monitor.reason(), round.truncated, T::EXACT),
        };
        let mut statistics = Statistics {
            states: round.states,
            transitions: round.transitions,
            depth: round.depth,
            expanded_by_worker: vec![search.guided.expanded],
            guided: Some(search.guided),
            ..Statistics::default()
        };
        monitor.conclude(&mut statistics, &store, Duration::ZERO);
        return Outcome { verdict, statistics };
    }
}

/// The data that is kept between rounds.
struct Search<'a, S> {
    system: S,
    heuristic: Box<dyn Heuristic>,
    task: &'a Task<'a>,
    monitor: &'a Monitor<'a>,
    path: Vec<Choice>,
    stack: Vec<Waiting>,
    /// The bytes of the states on the stack.
    bytes: u64,
    guided: Guided,
    out: Successors,
    probe: Successors,
}

struct Round {
    /// No state with a greater sum is visited. In the first round, this is the estimate of the
    /// initial states.
    bound: Option<u64>,
    /// The least sum that exceeded the bound.
    beyond: u64,
    truncated: bool,
    states: u64,
    transitions: u64,
    depth: u64,
    /// The length of the shortest path to each state so far, by its name.
    depths: HashMap<u64, u32>,
}

impl<S: System> Search<'_, S> {
    fn round<T: Store>(&mut self, store: &T, round: &mut Round) -> Result<(), End> {
        let mut worker = store.worker();
        self.path.clear();
        self.stack.clear();
        self.bytes = 0;
        self.guided.generated = 0;
        self.out.clear();
        self.system.initial(&mut self.out);
        let out = std::mem::take(&mut self.out);
        let mut sums = Vec::new();
        for (index, (entry, state)) in out.iter().enumerate() {
            let choice = Choice::Index(index as u32);
            self.guided.generated += 1;
            match initial_fault(self.task.property, entry) {
                Answer::Continue => {}
                Answer::Prune => continue,
                Answer::Stop(finding) => return Err(End::Found((finding, Some(choice)))),
            }
            let Some(state) = state else { continue };
            self.path.push(choice);
            sums.push((index, self.estimate(state)?));
            self.path.pop();
        }
        self.guided.estimate = sums.first().map(|&(_, estimate)| estimate);
        let bound = *round.bound.get_or_insert(sums.iter().map(|&(_, estimate)| u64::from(estimate)).min().unwrap_or(0));
        for (index, estimate) in sums {
            if let Some(state) = out.state(&out.entries()[index]) {
                self.push(Choice::Index(index as u32), 0, estimate, state, bound, round);
            }
        }
        self.out = out;
        self.stack.reverse();
        while let Some(Waiting { choice, depth, state }) = self.stack.pop() {
            self.bytes -= state.len() as u64;
            self.path.truncate(depth as usize);
            self.path.push(choice);
            let hash = worker.hash(&state);
            let Ok(inserted) = worker.insert(hash, &state) else {
                self.monitor.refused();
                return Err(End::Stopped);
            };
            round.states += u64::from(inserted.new);
            let shorter = T::STABLE_NAMES && {
                let known = round.depths.entry(inserted.id.0).or_insert(u32::MAX);
                let shorter = depth < *known;
                *known = depth.min(*known);
                shorter
            };
            if !inserted.new && !shorter {
                continue;
            }
            self.expand(&state, depth, inserted.new, bound, round)?;
            let standing = WorkerCounts {
                states: round.states,
                transitions: round.transitions,
                waiting: self.stack.len() as u64,
                depth: depth.into(),
                search_bytes: self.bytes
                    + (self.stack.capacity() * size_of::<Waiting>() + self.path.capacity() * size_of::<Choice>()) as u64
                    + round.depths.capacity() as u64 * 20,
            };
            if !self.monitor.poll(0, &standing, store) {
                return Err(End::Stopped);
            }
        }
        Ok(())
    }

    fn expand(&mut self, state: &[u8], depth: u32, new: bool, bound: u64, round: &mut Round) -> Result<(), End> {
        if self.task.limits.depth.is_some_and(|limit| u64::from(depth) >= limit) {
            round.truncated = true;
            return Ok(());
        }
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        self.system.successors(state, &mut out);
        if out.is_cut_short() {
            self.monitor.refused();
            return Err(End::Stopped);
        }
        self.guided.expanded += 1;
        round.depth = round.depth.max(depth.into());
        if out.is_empty() {
            self.terminal(state)?;
        }
        let first = self.stack.len();
        for (index, (entry, next)) in out.iter().enumerate() {
            let choice = Choice::Index(index as u32);
            self.guided.generated += 1;
            if let Some(code) = entry.fault() {
                match self.task.property.fault(code, entry.has_state()) {
                    Answer::Continue => {}
                    Answer::Prune => continue,
                    Answer::Stop(finding) => return Err(End::Found((finding, Some(choice)))),
                }
            }
            let Some(next) = next else { continue };
            round.transitions += u64::from(new);
            self.path.push(choice);
            let estimate = self.estimate(next)?;
            self.path.pop();
            self.push(choice, depth + 1, estimate, next, bound, round);
        }
        // The first step is on top of the stack.
        self.stack[first..].reverse();
        self.out = out;
        Ok(())
    }

    /// The estimate of the state at the end of the path; at least 1 unless it is a violation.
    fn estimate(&mut self, state: &[u8]) -> Result<u32, End> {
        let property = self.task.property;
        if property.interest().states
            && let Answer::Stop(finding) = property.state(state)
        {
            return Err(End::Found((finding, None)));
        }
        let estimate = self.heuristic.estimate(state);
        if estimate == 0 {
            self.probe.clear();
            self.system.successors(state, &mut self.probe);
            if self.probe.is_empty() && !self.probe.is_cut_short() {
                self.terminal(state)?;
            }
        }
        Ok(estimate.max(1))
    }

    fn terminal(&mut self, state: &[u8]) -> Result<(), End> {
        let valid = self.system.is_valid_end(state);
        match self.task.property.terminal(state, valid) {
            Answer::Stop(finding) => Err(End::Found((finding, None))),
            _ => Ok(()),
        }
    }

    /// Adds a state to be visited, unless it is beyond the bound.
    fn push(&mut self, choice: Choice, depth: u32, estimate: u32, state: &[u8], bound: u64, round: &mut Round) {
        // States that seem to lead nowhere are all visited in one last round.
        let sum = if estimate == FAR { FAR.into() } else { u64::from(depth) + u64::from(estimate) };
        if sum > bound {
            round.beyond = round.beyond.min(sum);
            return;
        }
        self.bytes += state.len() as u64;
        self.stack.push(Waiting { choice, depth, state: state.into() });
    }
}
