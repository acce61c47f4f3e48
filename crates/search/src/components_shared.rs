//! Search for accepting runs by strongly connected components, with several workers.
//!
//! Each worker makes a depth-first search of its own, in its own order, and all keep their
//! components in one [`Forest`] (Bloemen, Laarman, van de Pol, "Multi-core on-the-fly SCC
//! decomposition", 2016). A worker that returns to a component it is in merges all components in
//! between; a component that one worker has completed is complete for all. The marks of edges are
//! added to the component that contains both ends, and a component with an edge in every acceptance
//! set contains an accepting run (Bloemen, Duret-Lutz, van de Pol, "Explicit state model checking
//! with generalized Büchi and Rabin automata", 2017).
//!
//! An edge that a worker follows to a new state is examined again when the worker returns: other
//! workers may have found meanwhile that both ends are in one component.
//!
//! Successors that no worker has seen are followed first. Successors that another worker is
//! exploring come last, because they are then most likely complete.
//!
//! The search needs a store whose names never change, because nodes of the forest are found by
//! name.

use crate::components::{Fairness, Processes, accepted_cycle, components};
use crate::forest::{Claim, Forest, MOST_SETS, MOST_WORKERS};
use crate::lasso::Lasso;
use crate::monitor::{Monitor, WorkerCounts};
use crate::numbered::{Full, Numbers};
use crate::parts::together;
use crate::product::Product;
use crate::retrace::{unviolated, violated};
use crate::rounds::initial_state;
use crate::sync::lock;
use crate::task::Task;
use contract::{
    Action, Answer, Finding, Outcome, StateId, Statistics, StopReason, Store, StoreWorker, Successors, System, Trace, TraceStep,
};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The number of candidates between two checks of the limits.
const POLL_EVERY: u64 = 256;

/// The number of attempts to find a run that must exist.
const JOINS: usize = 16;

/// Looks for a reachable accepting cycle with as many workers as the task says. The store must be
/// empty. The trace is a trace of the product ([`Product::project`]); it may differ between runs.
///
/// One worker alone searches as [`components`] does. So does a search with a depth limit, one over
/// a store whose names change, and one with too many acceptance sets.
pub fn components_shared<S: System + Clone, T: Store>(product: &Product<S>, store: &T, task: &Task<'_>) -> Outcome {
    let workers = task.threads.min(MOST_WORKERS);
    if workers < 2 || !T::STABLE_NAMES || task.limits.depth.is_some() || product.automaton().sets > MOST_SETS {
        return components(product, Fairness::None, store, task);
    }
    let monitor = Monitor::new(task, workers, store);
    let shared = Shared { forest: Forest::new(), over: AtomicBool::new(false), found: Mutex::new(None) };
    let run = |number: usize, product: Product<S>| {
        let _end = EndOnPanic(&shared);
        let mut worker = Worker::new(number, product, store.worker(), task, &shared);
        if worker.search(store, &monitor).is_err() {
            monitor.refused();
        }
        // A worker ends when all states are done or the search must stop.
        let standing = worker.standing();
        monitor.poll(number, &standing, store);
        (standing, worker.expanded)
    };
    let parts = together(workers, product, &monitor, |_, product| run(0, product), run);
    let mut statistics = Statistics::default();
    let lost = parts.iter().any(Option::is_none);
    for (standing, expanded) in parts.into_iter().map(Option::unwrap_or_default) {
        statistics.states += standing.states;
        statistics.transitions += standing.transitions;
        statistics.depth = statistics.depth.max(standing.depth);
        statistics.expanded_by_worker.push(expanded);
    }
    let found = lock(&shared.found).take();
    let verdict = match found {
        Some((finding, trace)) => violated(product, finding, trace),
        None if lost => unviolated(Some(StopReason::Interrupted), false, T::EXACT),
        None => unviolated(monitor.reason(), false, T::EXACT),
    };
    monitor.conclude(&mut statistics, store, Duration::ZERO);
    Outcome { verdict, statistics }
}

/// What all workers share.
struct Shared {
    forest: Forest,
    /// A worker has found a cycle, or was lost.
    over: AtomicBool,
    found: Mutex<Option<(Finding, Option<Trace>)>>,
}

/// Ends the search if a worker panics, because its part of the work is lost.
struct EndOnPanic<'a>(&'a Shared);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.over.store(true, Ordering::Relaxed);
        }
    }
}

/// A component that the worker is in, and the state of it that the worker explores.
struct Frame {
    /// The state by which the worker entered, and the edge to it.
    entry: u32,
    action: Action,
    marks: u32,
    /// The state that is being explored, and its automaton state.
    current: u32,
    at: u16,
    /// The index of its first candidate.
    first: usize,
    transitions: u64,
}

/// A step that is still to be followed. Its state is at the end of `bytes`.
#[derive(Clone, Copy)]
struct Candidate {
    hash: u64,
    action: Action,
    len: usize,
}

struct Worker<'a, S, W> {
    number: usize,
    bit: u32,
    product: Product<S>,
    all_marks: u32,
    store: W,
    task: &'a Task<'a>,
    shared: &'a Shared,
    numbers: Numbers,
    frames: Vec<Frame>,
    /// The states by which the worker entered components that are not known to be one, and the
    /// marks of the edges to them.
    roots: Vec<(u32, u32)>,
    candidates: Vec<Candidate>,
    bytes: Vec<u8>,
    out: Successors,
    hashes: Vec<u64>,
    /// The successors that the store already contains.
    known: Vec<Option<StateId>>,
    /// Steps to states that no worker has seen, and to states that another worker explores.
    fresh: Vec<usize>,
    others: Vec<usize>,
    state: Vec<u8>,
    initial: Vec<u8>,
    states: u64,
    transitions: u64,
    expanded: u64,
    depth: u64,
    random: u64,
}

impl<'a, S: System + Clone, W: StoreWorker> Worker<'a, S, W> {
    fn new(number: usize, product: Product<S>, store: W, task: &'a Task<'a>, shared: &'a Shared) -> Self {
        Worker {
            number,
            bit: 1 << number,
            all_marks: product.automaton().all_marks() as u32,
            product,
            store,
            task,
            shared,
            numbers: Numbers::default(),
            frames: Vec::new(),
            roots: Vec::new(),
            candidates: Vec::new(),
            bytes: Vec::new(),
            out: Successors::new(),
            hashes: Vec::new(),
            known: Vec::new(),
            fresh: Vec::new(),
            others: Vec::new(),
            state: Vec::new(),
            initial: Vec::new(),
            states: 0,
            transitions: 0,
            expanded: 0,
            depth: 0,
            random: number as u64,
        }
    }

    fn standing(&self) -> WorkerCounts {
        let own = self.bytes.capacity()
            + self.candidates.capacity() * size_of::<Candidate>()
            + self.frames.capacity() * size_of::<Frame>()
            + self.roots.capacity() * size_of::<(u32, u32)>();
        WorkerCounts {
            states: self.states,
            transitions: self.transitions,
            waiting: self.candidates.len() as u64,
            depth: self.depth,
            search_bytes: own as u64 + if self.number == 0 { self.shared.forest.bytes() } else { 0 },
        }
    }

    fn search<T: Store>(&mut self, store: &T, monitor: &Monitor<'_>) -> Result<(), Full> {
        let mut out = Successors::new();
        self.product.initial(&mut out);
        for (entry, state) in out.iter() {
            let state = match initial_state(self.task.property, entry, state) {
                Ok(Some(state)) => state,
                Ok(None) => continue,
                Err(wrong) => {
                    let (finding, trace) = *wrong;
                    self.report(finding, Some(trace));
                    return Ok(());
                }
            };
            self.initial = state.to_vec();
            let hash = self.store.hash(state);
            self.bytes.extend_from_slice(state);
            self.candidates.push(Candidate { hash, action: entry.action, len: state.len() });
            self.explore_all(store, monitor)?;
            if self.is_over(monitor) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn is_over(&self, monitor: &Monitor<'_>) -> bool {
        self.shared.over.load(Ordering::Relaxed) || monitor.stopped()
    }

    /// Explores everything that is reachable from the candidate on the stack.
    fn explore_all<T: Store>(&mut self, store: &T, monitor: &Monitor<'_>) -> Result<(), Full> {
        let mut until_poll = 0;
        loop {
            if until_poll == 0 {
                until_poll = POLL_EVERY;
                if !monitor.poll(self.number, &self.standing(), store) || self.is_over(monitor) {
                    return Ok(());
                }
            }
            until_poll -= 1;
            let first = self.frames.last().map_or(0, |frame| frame.first);
            if self.candidates.len() > first {
                self.follow(store, monitor)?;
                continue;
            }
            let Some(frame) = self.frames.last() else { return Ok(()) };
            // The worker that reports it first counts the state.
            if self.shared.forest.done(frame.current) {
                self.transitions += frame.transitions;
            }
            match self.shared.forest.pick(frame.entry) {
                Some(next) => self.explore(next, store, monitor),
                None => self.leave(store, monitor),
            }
        }
    }

    /// Follows the candidate on top.
    fn follow<T: Store>(&mut self, visited: &T, monitor: &Monitor<'_>) -> Result<(), Full> {
        let Some(Candidate { hash, action, len }) = self.candidates.pop() else { return Ok(()) };
        let start = self.bytes.len() - len;
        let inserted = self.store.insert(hash, &self.bytes[start..]).map_err(|_| Full)?;
        let marks = self.frames.last().map_or(0, |frame| self.product.marks(frame.at, action) as u32);
        if inserted.new {
            self.states += 1;
            let number = self.shared.forest.add(&mut self.numbers, inserted.id, self.bit)?;
            self.bytes.truncate(start);
            self.enter(number, action, marks, visited, monitor);
            return Ok(());
        }
        self.bytes.truncate(start);
        let Some(number) = self.known(inserted.id, monitor) else { return Ok(()) };
        match self.shared.forest.claim(number, self.bit) {
            Claim::Dead => {}
            Claim::Found => self.close_cycle(number, marks, visited, monitor),
            Claim::New => self.enter(number, action, marks, visited, monitor),
        }
        Ok(())
    }

    /// The number of a state that is in the store. If it has none yet, the worker that inserted it
    /// is about to add it.
    fn known(&self, name: StateId, monitor: &Monitor<'_>) -> Option<u32> {
        loop {
            if let Some(number) = self.shared.forest.number(name) {
                return Some(number);
            }
            if self.is_over(monitor) {
                return None;
            }
            std::hint::spin_loop();
        }
    }

    /// Enters the component of a state.
    fn enter<T: Store>(&mut self, entry: u32, action: Action, marks: u32, visited: &T, monitor: &Monitor<'_>) {
        let Some(current) = self.shared.forest.pick(entry) else { return };
        self.roots.push((entry, marks));
        self.frames.push(Frame { entry, action, marks, current, at: 0, first: self.candidates.len(), transitions: 0 });
        self.depth = self.depth.max(self.frames.len() as u64 - 1);
        self.explore(current, visited, monitor);
    }

    /// Explores a state of the component on top.
    fn explore<T: Store>(&mut self, current: u32, visited: &T, monitor: &Monitor<'_>) {
        self.store.read(self.shared.forest.name(current), &mut self.state);
        self.out.clear();
        self.product.successors(&self.state, &mut self.out);
        if self.out.is_cut_short() {
            monitor.refused();
            return;
        }
        self.expanded += 1;
        let at = self.product.automaton_state(&self.state);
        if let Some(frame) = self.frames.last_mut() {
            (frame.current, frame.at, frame.transitions) = (current, at, 0);
        }
        for index in 0..self.out.len() {
            let entry = self.out.entries()[index];
            let state = self.out.state(&entry);
            if let Some(code) = entry.fault()
                && let Answer::Stop(finding) = self.task.property.fault(code, state.is_some())
            {
                let step = TraceStep { action: entry.action, state: state.map(<[u8]>::to_vec) };
                let trace = self.way(true, visited, monitor).map(|mut trace| {
                    trace.steps.push(step);
                    trace
                });
                self.report(finding, trace);
                return;
            }
        }
        self.hashes.clear();
        self.known.clear();
        self.store.hash_batch(&self.out, &mut self.hashes);
        self.store.find_batch(&self.out, &self.hashes, &mut self.known);
        self.fresh.clear();
        self.others.clear();
        let mut transitions = 0;
        for index in 0..self.out.len() {
            let entry = self.out.entries()[index];
            if !entry.has_state() {
                continue;
            }
            transitions += 1;
            let known = self.known[index].and_then(|name| self.shared.forest.number(name));
            match known.map(|number| (number, self.shared.forest.look(number, self.bit))) {
                None => self.fresh.push(index),
                Some((_, Claim::Dead)) => {}
                Some((_, Claim::New)) => self.others.push(index),
                Some((number, Claim::Found)) => {
                    let marks = self.product.marks(at, entry.action) as u32;
                    self.close_cycle(number, marks, visited, monitor);
                }
            }
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.transitions = transitions;
        }
        // The candidate that is pushed last is followed first.
        match self.number {
            0 => self.fresh.reverse(),
            1 => {}
            _ => {
                self.random = self.random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                let by = (self.random >> 33) as usize % self.fresh.len().max(1);
                self.fresh.rotate_left(by);
            }
        }
        for index in 0..self.others.len() + self.fresh.len() {
            let index = if index < self.others.len() { self.others[index] } else { self.fresh[index - self.others.len()] };
            let entry = self.out.entries()[index];
            if let Some(state) = self.out.state(&entry) {
                self.bytes.extend_from_slice(state);
                self.candidates.push(Candidate { hash: self.hashes[index], action: entry.action, len: state.len() });
            }
        }
    }

    /// Handles an edge from the state being explored to a component that the worker is in: all
    /// components from that one on become one.
    fn close_cycle<T: Store>(&mut self, number: u32, marks: u32, visited: &T, monitor: &Monitor<'_>) {
        let Some(entry) = self.frames.last().map(|frame| frame.entry) else { return };
        let mut marks = marks;
        while !self.shared.forest.together(number, entry)
            && let [.., (before, _), (last, passed)] = self.roots[..]
        {
            self.roots.pop();
            self.shared.forest.unite(last, before);
            marks |= passed;
        }
        if self.shared.forest.together(number, entry) {
            self.mark(entry, marks, visited, monitor);
        } else {
            // A component that the worker is in must be on its stack; otherwise its results are
            // invalid.
            monitor.stop(StopReason::Interrupted);
        }
    }

    /// Adds the marks of an edge within a component.
    fn mark<T: Store>(&mut self, number: u32, marks: u32, visited: &T, monitor: &Monitor<'_>) {
        let marks = self.shared.forest.mark(number, marks);
        if marks & self.all_marks == self.all_marks && !self.shared.over.load(Ordering::Relaxed) {
            // Another worker may be about to join the components that the run passes through.
            let trace = (0..JOINS).find_map(|_| {
                std::thread::yield_now();
                self.lasso(visited, monitor)
            });
            self.report(accepted_cycle(), trace);
        }
    }

    /// Leaves the component on top, which is complete.
    fn leave<T: Store>(&mut self, visited: &T, monitor: &Monitor<'_>) {
        let Some(frame) = self.frames.pop() else { return };
        if self.roots.last().is_some_and(|&(root, _)| root == frame.entry) {
            self.roots.pop();
        }
        // The edge to it may have turned out to lie within one component.
        if let Some(before) = self.frames.last().map(|before| before.current)
            && self.shared.forest.together(before, frame.entry)
        {
            self.mark(before, frame.marks, visited, monitor);
        }
    }

    fn report(&self, finding: Finding, trace: Option<Trace>) {
        let mut found = lock(&self.shared.found);
        // A run with a trace replaces one without.
        if found.as_ref().is_none_or(|(_, shown)| shown.is_none()) {
            *found = Some((finding, trace));
        }
        self.shared.over.store(true, Ordering::Relaxed);
    }

    /// The state with a number.
    fn read(&mut self, number: u32) -> Vec<u8> {
        let mut state = Vec::new();
        self.store.read(self.shared.forest.name(number), &mut state);
        state
    }

    /// This worker's path to the component on top, or to the state it explores there. Within a
    /// component the worker may have continued at a state that another worker had reached.
    fn way<T: Store>(&mut self, to_current: bool, visited: &T, monitor: &Monitor<'_>) -> Option<Trace> {
        let mut trace = Trace { initial: self.initial.clone(), ..Trace::default() };
        let (number, standing) = (self.number, self.standing());
        let stop = |bytes| !monitor.may_hold(number, &standing.holding(bytes), visited);
        for index in 0..self.frames.len() {
            let Frame { entry, action, current, .. } = self.frames[index];
            let (from, to) = (self.read(entry), self.read(current));
            if index > 0 {
                trace.steps.push(TraceStep { action, state: Some(from.clone()) });
            }
            if entry != current && (to_current || index + 1 < self.frames.len()) {
                let Worker { product, store, shared, .. } = self;
                let mut within = |state: &[u8]| number_of(store, &shared.forest, state).is_some_and(|it| shared.forest.together(it, entry));
                let mut lasso = Lasso { product, fairness: Fairness::None, stop: &stop };
                trace.steps.extend(lasso.way_to_member(&from, &mut within, &mut |state| state == to)?);
            }
        }
        Some(trace)
    }

    /// The path to the component on top and an accepting run in it.
    fn lasso<T: Store>(&mut self, visited: &T, monitor: &Monitor<'_>) -> Option<Trace> {
        let mut trace = self.way(false, visited, monitor)?;
        let entry = self.frames.last()?.entry;
        let start = self.read(entry);
        let (number, standing) = (self.number, self.standing());
        let stop = |bytes| !monitor.may_hold(number, &standing.holding(bytes), visited);
        let Worker { product, store, shared, .. } = self;
        let mut member = |state: &[u8]| number_of(store, &shared.forest, state).is_some_and(|it| shared.forest.together(it, entry));
        let around = Lasso { product, fairness: Fairness::None, stop: &stop }.around(&start, &mut member, Processes::default())?;
        trace.loop_start = Some(trace.steps.len());
        trace.steps.extend(around);
        Some(trace)
    }
}

/// The number of a state, if it was visited.
fn number_of<W: StoreWorker>(store: &mut W, forest: &Forest, state: &[u8]) -> Option<u32> {
    let hash = store.hash(state);
    forest.number(store.find(hash, state)?)
}
