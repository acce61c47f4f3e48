//! Breadth-first search for accepting cycles: the algorithm "one way catch them young".
//!
//! All states are visited level by level. Then states that cannot lie on an accepting cycle are
//! removed until nothing changes: those that cannot be reached from an accepting edge between
//! remaining states, and, one after the other, those without an edge from a remaining state. If any
//! state remains, there is an accepting cycle (Fisler, Fraer, Kamhi, Vardi, Yang, "Is there a best
//! symbolic cycle-detection algorithm?", 2001; Černá and Pelánek, "Distributed explicit fair cycle
//! detection", 2003). The algorithm needs no depth-first order, so workers share each level and
//! expand states in batches.
//!
//! A cycle stays within one component of the claim's automaton. So only edges within a component
//! that can accept are counted ([`Region`]). If all edges of the component accept, they are counted
//! while the states are visited, and one removal decides. Otherwise the states are expanded again
//! only if an accepting edge was found among them.
//!
//! The search has two stages, as [`crate::staged`]: first the states in which the automaton waits
//! are visited. Then each of them is a *door* to the late stage, unless the late stage has visited
//! its twin.
//!
//! As soon as edges are known to matter, because a region is weak or an accepting edge was found
//! in one that is not, the edges within regions are recorded, and later rounds read them. A state
//! whose edges were not recorded is expanded again.
//!
//! The disadvantages are the memory for edges, and that no cycle is found before all states were
//! visited.

mod cycle;

use crate::components::{Fairness, accepted_cycle, components};
use crate::edges::{Edge, Edges, Recorder};
use crate::fork_join::ForkJoin;
use crate::monitor::{Monitor, WorkerCounts};
use crate::numbered::{Full, Numbered, Numbers};
use crate::parts::together;
use crate::product::Product;
use crate::region::Region;
use crate::retrace::{unviolated, violated};
use crate::rounds::initial_state;
use crate::stages::Stage;
use crate::sync::lock;
use crate::task::Task;
use contract::{
    Action, Answer, Finding, Outcome, StateId, Statistics, StopReason, Store, StoreWorker, Successors, System, Trace, TraceStep,
};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::Duration;

/// States taken from a list at a time.
const TAKE: usize = 64;
/// States that the system expands at once.
const AT_ONCE: usize = 16;
/// When so many successors were generated, they are looked up.
const BATCH: usize = 128;
/// Edges are recorded in at most this part of the memory limit.
const EDGES_SHARE: u64 = 8;
/// Numbers that are looked at one after the other.
const SPAN: u32 = 1 << 10;
/// The fewest states in a list that is shared.
const WORTH_SHARING: usize = 4 * TAKE;
/// The most early states whose doors are examined together. The first group has one state, and each
/// later group has twice as many, because most late states are reached through the first doors.
const MOST_DOORS: usize = 1 << 14;
/// The most workers.
const MOST_WORKERS: usize = 64;

/// No state.
const NONE: u32 = u32::MAX;

/// The round number of the states in weak regions.
const WEAK: u32 = 1;
/// The first round number of the states in other regions.
const FIRST: u32 = 2;

/// The data of a state.
#[derive(Default)]
struct Node {
    /// The state from which it was reached first.
    parent: AtomicU32,
    /// The last round that it was in; 0 once it was removed, and outside all regions.
    round: AtomicU32,
    /// The number of edges to it from states of this round, within its region.
    degree: AtomicU32,
    /// Where its edges within its region are recorded.
    edges: AtomicU64,
}

/// The operation on the states of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The states are expanded for the first time, without steps to the late stage.
    Early,
    /// The steps of early states to the late stage are taken.
    Doors,
    /// The states of the late stage are expanded for the first time.
    Late,
    /// The targets of accepting edges from these states join the round.
    Begin,
    /// The successors of the states join the round.
    Reach,
    /// Of spans of numbers, the states of the round without an edge are removed.
    Sift,
    /// The states were removed, so their successors lose an edge.
    TakeOut,
    /// In spans of numbers, the edges to states are forgotten.
    Forget,
}

/// Looks for a reachable cycle with an accepting edge of the product. The store must be empty. The
/// trace is a trace of the product ([`Product::project`]).
///
/// With a depth limit, with several acceptance sets, or over a store whose names change, this is a
/// search by components.
pub fn catch_them_young<S: System + Clone, T: Store>(product: &Product<S>, store: &T, task: &Task<'_>) -> Outcome {
    if !T::STABLE_NAMES || task.limits.depth.is_some() || product.automaton().sets > 1 {
        return components(product, Fairness::None, store, task);
    }
    let workers = task.threads.clamp(1, MOST_WORKERS);
    let monitor = Monitor::new(task, workers, store);
    let shared = Shared {
        nodes: Numbered::new(),
        edges: Edges::new(),
        has_sources: AtomicBool::new(false),
        list: RwLock::new(Vec::new()),
        next: AtomicUsize::new(0),
        phase: RwLock::new(Phase::Late),
        round: AtomicU32::new(1),
        following: Mutex::new(Vec::new()),
        sources: Mutex::new(Vec::new()),
        members: AtomicU64::new(0),
        found: Mutex::new(None),
        over: AtomicBool::new(false),
        fork: ForkJoin::default(),
    };
    let help = |number: usize, product: Product<S>| {
        let mut worker = Worker::new(number, product, store.worker(), task, &shared);
        let mut seen = 0;
        while let Some(_joined) = shared.fork.join(&mut seen) {
            worker.work(store, &monitor);
        }
        (worker.standing(0), worker.expanded, None)
    };
    let lead = |_: usize, product: Product<S>| {
        let _end = Finish(&shared.fork);
        let mut worker = Worker::new(0, product, store.worker(), task, &shared);
        let trace = worker.lead(store, &monitor);
        (worker.standing(worker.depth), worker.expanded, trace)
    };
    let parts = together(workers, product, &monitor, lead, help);
    let lost = parts.iter().any(Option::is_none);
    let mut statistics = Statistics::default();
    let mut cycle = None;
    for part in parts {
        let (standing, expanded, trace) = part.unwrap_or_default();
        statistics.states += standing.states;
        statistics.transitions += standing.transitions;
        statistics.depth = statistics.depth.max(standing.depth);
        statistics.expanded_by_worker.push(expanded);
        cycle = cycle.or(trace);
    }
    let verdict = match lock(&shared.found).take().or_else(|| cycle.map(|trace| (accepted_cycle(), trace))) {
        Some((finding, trace)) => violated(product, finding, trace),
        None if lost => unviolated(Some(StopReason::Interrupted), false, T::EXACT),
        None => unviolated(monitor.reason(), false, T::EXACT),
    };
    monitor.conclude(&mut statistics, store, Duration::ZERO);
    Outcome { verdict, statistics }
}

/// Dismisses the helpers, even if the leader panics.
struct Finish<'a>(&'a ForkJoin);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// What workers share.
struct Shared {
    nodes: Numbered<Node>,
    edges: Edges,
    /// Whether there are any sources.
    has_sources: AtomicBool,
    /// The states to be processed, and the number of those already taken.
    list: RwLock<Vec<u32>>,
    next: AtomicUsize,
    phase: RwLock<Phase>,
    round: AtomicU32,
    /// The states of the next list.
    following: Mutex<Vec<u32>>,
    /// The states with an accepting edge in a region that is not weak.
    sources: Mutex<Vec<u32>>,
    /// The number of states of the round, as far as they were sifted.
    members: AtomicU64,
    found: Mutex<Option<(Finding, Option<Trace>)>>,
    over: AtomicBool,
    fork: ForkJoin,
}

impl Shared {
    /// Whether a state is in this round, or in the next one while that is being formed.
    fn is_in(&self, node: &Node, round: u32) -> bool {
        node.round.load(SeqCst) >= round
    }
}

/// All numbers below `end` that lie in some spans.
fn numbers(spans: &[u32], end: u32) -> impl Iterator<Item = u32> {
    spans.iter().flat_map(move |span| span * SPAN..end.min((span + 1) * SPAN))
}

/// A successor within the region of its source.
struct Inside {
    /// Its number among all successors, and that of its source.
    index: u32,
    source: u32,
    /// Whether the edge to it accepts.
    accepts: bool,
    /// Its number among all states; `NONE` until it is looked up.
    target: u32,
}

struct Worker<'a, S, W> {
    number: usize,
    product: Product<S>,
    /// The product without steps to the late stage, and the product with only those.
    early: Product<S>,
    doors: Product<S>,
    store: W,
    task: &'a Task<'a>,
    shared: &'a Shared,
    numbers: Numbers,
    out: Successors,
    hashes: Vec<u64>,
    /// The names of the states that the store contains, among some that were looked up together.
    known: Vec<Option<StateId>>,
    /// The region of each state that is being expanded.
    regions: [Option<Region>; TAKE],
    /// The automaton state of each state that is being expanded.
    places: [u16; TAKE],
    /// The names of the successors, and the numbers of those that are new.
    names: Vec<StateId>,
    new: Vec<u32>,
    /// The successors within the regions of their sources.
    inside: Vec<Inside>,
    recorder: Recorder,
    /// Edges that are recorded or read.
    edges: Vec<Edge>,
    state: Vec<u8>,
    following: Vec<u32>,
    sources: Vec<u32>,
    states: u64,
    transitions: u64,
    expanded: u64,
    depth: u64,
}

impl<'a, S: System + Clone, W: StoreWorker> Worker<'a, S, W> {
    fn new(number: usize, product: Product<S>, store: W, task: &'a Task<'a>, shared: &'a Shared) -> Self {
        Worker {
            number,
            early: product.clone().only_to(Stage::Early),
            doors: product.clone().only_to(Stage::Late),
            product,
            store,
            task,
            shared,
            numbers: Numbers::default(),
            out: Successors::new(),
            hashes: Vec::new(),
            known: Vec::new(),
            regions: [None; TAKE],
            places: [0; TAKE],
            names: Vec::new(),
            new: Vec::new(),
            inside: Vec::new(),
            recorder: Recorder::default(),
            edges: Vec::new(),
            state: Vec::new(),
            following: Vec::new(),
            sources: Vec::new(),
            states: 0,
            transitions: 0,
            expanded: 0,
            depth: 0,
        }
    }

    fn standing(&self, depth: u64) -> WorkerCounts {
        let lists = (self.following.capacity() + self.sources.capacity()) * size_of::<u32>();
        let shared = if self.number == 0 { self.shared.nodes.bytes() + self.shared.edges.bytes() } else { 0 };
        WorkerCounts { states: self.states, transitions: self.transitions, waiting: 0, depth, search_bytes: lists as u64 + shared }
    }

    /// Runs all phases. Returns a cycle if there is one; its trace is `None` if it was lost.
    fn lead<T: Store>(&mut self, store: &T, monitor: &Monitor<'_>) -> Option<Option<Trace>> {
        self.begin(monitor);
        if self.product.begins_early() {
            let early = self.levels(Phase::Early, store, monitor);
            let (mut first, mut size) = (0, 1);
            while first < early.len() && !self.is_over(monitor) {
                let end = early.len().min(first + size);
                self.run(Phase::Doors, early[first..end].to_vec(), store, monitor);
                self.levels(Phase::Late, store, monitor);
                (first, size) = (end, MOST_DOORS.min(2 * size));
            }
        } else {
            self.levels(Phase::Late, store, monitor);
        }
        // In weak regions the edges have been counted, and every cycle is accepting.
        if self.trim(WEAK, store, monitor)? > 0 {
            return Some(self.lasso(WEAK, store, monitor));
        }
        let sources = std::mem::take(&mut *lock(&self.shared.sources));
        let mut before = None;
        for round in FIRST.. {
            self.shared.round.store(round + 1, SeqCst);
            let alive = |number: &u32| self.shared.nodes.value(*number).round.load(SeqCst) == round;
            let beginning: Vec<u32> = sources.iter().copied().filter(alive).collect();
            self.run(Phase::Begin, beginning, store, monitor);
            self.levels(Phase::Reach, store, monitor);
            let left = self.trim(round + 1, store, monitor)?;
            if left == 0 {
                return None;
            }
            // Nothing has changed.
            if before == Some(left) {
                return Some(self.lasso(round + 1, store, monitor));
            }
            before = Some(left);
            self.run(Phase::Forget, self.spans(), store, monitor);
        }
        None
    }

    /// Removes the states of a round that no edge of the round leads to, one after the other.
    /// Returns the number of states that remain, or `None` if the search is over.
    fn trim<T: Store>(&mut self, round: u32, store: &T, monitor: &Monitor<'_>) -> Option<u64> {
        if self.is_over(monitor) {
            return None;
        }
        self.shared.round.store(round, SeqCst);
        self.shared.members.store(0, SeqCst);
        self.run(Phase::Sift, self.spans(), store, monitor);
        let removed = self.levels(Phase::TakeOut, store, monitor).len() as u64;
        (!self.is_over(monitor)).then(|| self.shared.members.load(SeqCst) - removed)
    }

    /// The spans in which all numbers lie, by their positions.
    fn spans(&self) -> Vec<u32> {
        (0..self.shared.nodes.end().div_ceil(SPAN)).collect()
    }

    /// Removes the states of the round in some spans to which no edge leads.
    fn sift(&mut self, spans: &[u32]) {
        let (nodes, round) = (&self.shared.nodes, self.shared.round.load(SeqCst));
        let mut members = 0;
        for number in numbers(spans, nodes.end()) {
            let node = nodes.value(number);
            if node.round.load(SeqCst) != round {
                continue;
            }
            members += 1;
            if node.degree.load(SeqCst) == 0 {
                node.round.store(0, SeqCst);
                self.following.push(number);
            }
        }
        self.shared.members.fetch_add(members, SeqCst);
    }

    /// Forgets the edges that were counted to the states in some spans.
    fn forget(&self, spans: &[u32]) {
        let nodes = &self.shared.nodes;
        numbers(spans, nodes.end()).for_each(|number| nodes.value(number).degree.store(0, Relaxed));
    }

    fn begin(&mut self, monitor: &Monitor<'_>) {
        let mut out = Successors::new();
        self.product.initial(&mut out);
        for (entry, state) in out.iter() {
            let state = match initial_state(self.task.property, entry, state) {
                Ok(Some(state)) => state,
                Ok(None) => continue,
                Err(wrong) => {
                    let (finding, trace) = *wrong;
                    return self.report(finding, Some(trace));
                }
            };
            let hash = self.store.hash(state);
            if self.meet(hash, state, NONE).is_err() {
                monitor.refused();
            }
        }
        self.hand_over();
    }

    fn is_over(&self, monitor: &Monitor<'_>) -> bool {
        self.shared.over.load(Relaxed) || monitor.stopped()
    }

    fn report(&self, finding: Finding, trace: Option<Trace>) {
        lock(&self.shared.found).get_or_insert((finding, trace));
        self.shared.over.store(true, Relaxed);
    }

    /// Processes a list. The states that result from it are the following list.
    fn run<T: Store>(&mut self, phase: Phase, list: Vec<u32>, store: &T, monitor: &Monitor<'_>) {
        if list.is_empty() || self.is_over(monitor) {
            return;
        }
        let shared = list.len() >= WORTH_SHARING;
        *self.shared.phase.write().unwrap_or_else(PoisonError::into_inner) = phase;
        *self.shared.list.write().unwrap_or_else(PoisonError::into_inner) = list;
        self.shared.next.store(0, SeqCst);
        if shared {
            self.shared.fork.call();
        }
        self.work(store, monitor);
        if shared {
            self.shared.fork.close();
            if self.shared.fork.has_lost() {
                monitor.stop(StopReason::Interrupted);
            }
        }
    }

    /// Processes the following list, and the lists that result from it, until one is empty. Returns
    /// all states of these lists.
    fn levels<T: Store>(&mut self, phase: Phase, store: &T, monitor: &Monitor<'_>) -> Vec<u32> {
        let mut all = Vec::new();
        let mut depth = 0;
        loop {
            let list = std::mem::take(&mut *lock(&self.shared.following));
            if list.is_empty() || self.is_over(monitor) {
                return all;
            }
            if matches!(phase, Phase::Early | Phase::Late) {
                self.depth = self.depth.max(depth);
                depth += 1;
            }
            if matches!(phase, Phase::Early | Phase::TakeOut) {
                all.extend_from_slice(&list);
            }
            self.run(phase, list, store, monitor);
        }
    }

    /// Takes states from the list until none is left.
    fn work<T: Store>(&mut self, store: &T, monitor: &Monitor<'_>) {
        let shared = self.shared;
        let list = shared.list.read().unwrap_or_else(PoisonError::into_inner);
        let phase = *shared.phase.read().unwrap_or_else(PoisonError::into_inner);
        if matches!(phase, Phase::Begin | Phase::Reach | Phase::TakeOut) {
            shared.edges.give_away(&mut self.recorder);
        }
        loop {
            let first = shared.next.fetch_add(TAKE, SeqCst);
            let Some(taken) = list.get(first..).filter(|rest| !rest.is_empty()) else { break };
            let taken = &taken[..taken.len().min(TAKE)];
            let done = match phase {
                Phase::Doors => self.open_doors(taken, monitor),
                Phase::Early | Phase::Late => self.expand(phase, taken, monitor),
                Phase::Begin | Phase::Reach | Phase::TakeOut => self.read_edges(phase, taken, monitor),
                Phase::Sift => {
                    self.sift(taken);
                    Ok(())
                }
                Phase::Forget => {
                    self.forget(taken);
                    Ok(())
                }
            };
            if done.is_err() {
                monitor.refused();
            }
            if !monitor.poll(self.number, &self.standing(0), store) || shared.over.load(Relaxed) {
                break;
            }
        }
        drop(list);
        self.hand_over();
    }

    /// Adds the states found for the next list to the shared ones.
    fn hand_over(&mut self) {
        if !self.following.is_empty() {
            lock(&self.shared.following).append(&mut self.following);
        }
        if !self.sources.is_empty() {
            self.shared.has_sources.store(true, Relaxed);
            lock(&self.shared.sources).append(&mut self.sources);
        }
    }

    fn read(&mut self, number: u32) {
        if let Some(name) = self.shared.nodes.name(number) {
            self.store.read(name, &mut self.state);
        }
    }

    fn region(&self, state: &[u8]) -> Option<Region> {
        self.product.regions().region(self.product.automaton_state(state))
    }

    /// Takes the steps of early states to the late stage, except those of states whose twin was
    /// visited.
    fn open_doors(&mut self, numbers: &[u32], monitor: &Monitor<'_>) -> Result<(), Full> {
        self.out.clear();
        let mut twins = [None; TAKE];
        for (twin, &number) in twins.iter_mut().zip(numbers) {
            self.read(number);
            if self.doors.make_twin(&mut self.state) {
                *twin = Some(self.out.len());
                self.out.push(&self.state, Action::default());
            }
        }
        self.hashes.clear();
        self.known.clear();
        self.store.hash_batch(&self.out, &mut self.hashes);
        self.store.find_batch(&self.out, &self.hashes, &mut self.known);
        let mut needed = [0; TAKE];
        let mut count = 0;
        for (twin, &number) in twins.iter().zip(numbers) {
            if twin.is_none_or(|twin| self.known[twin].is_none()) {
                needed[count] = number;
                count += 1;
            }
        }
        self.expand(Phase::Doors, &needed[..count], monitor)
    }

    /// Expands states and does with their successors what the phase asks for.
    fn expand(&mut self, phase: Phase, numbers: &[u32], monitor: &Monitor<'_>) -> Result<(), Full> {
        let mut rest = numbers;
        while !rest.is_empty() {
            self.out.clear();
            let mut expanded = 0;
            while expanded < rest.len() && expanded < TAKE && self.out.len() < BATCH {
                expanded += self.generate(phase, &rest[expanded..], expanded)?;
            }
            let (sources, others) = rest.split_at(expanded);
            rest = others;
            self.hashes.clear();
            self.store.hash_batch(&self.out, &mut self.hashes);
            match phase {
                Phase::Early | Phase::Doors | Phase::Late => self.visit(phase, sources, monitor)?,
                _ => self.examine(phase),
            }
            if self.shared.over.load(Relaxed) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Generates the successors of the first of some states, which are source number `before` and
    /// those after it. Returns their number.
    fn generate(&mut self, phase: Phase, numbers: &[u32], before: usize) -> Result<usize, Full> {
        let Worker { product, early, doors, store, shared, out, state, regions, places, .. } = self;
        let used = match phase {
            Phase::Early => early,
            Phase::Doors => doors,
            _ => &mut *product,
        };
        let name = |number: &u32| shared.nodes.name(*number);
        let first = numbers.first().and_then(name).ok_or(Full)?;
        let mut note = |index: usize, state: &[u8]| {
            places[before + index] = used.automaton_state(state);
            regions[before + index] = used.regions().region(places[before + index]);
        };
        let expanded = if store.view(first).is_some() {
            let mut states: [&[u8]; AT_ONCE] = [&[]; AT_ONCE];
            let mut count = 0;
            for (place, number) in states.iter_mut().zip(numbers).take(TAKE - before) {
                let Some(view) = name(number).and_then(|name| store.view(name)) else { break };
                note(count, view);
                *place = view;
                count += 1;
            }
            used.successors_of_all(&states[..count], before as u32, out)
        } else {
            store.read(first, state);
            note(0, state);
            out.begin_source(before as u32);
            used.successors(state, out);
            1
        };
        if out.is_cut_short() || expanded == 0 {
            return Err(Full);
        }
        self.expanded += expanded as u64;
        Ok(expanded)
    }

    /// Inserts the successors of the states numbered `sources`. In the late stage edges within weak
    /// regions are counted, and states with an accepting edge within another region are remembered.
    fn visit(&mut self, phase: Phase, sources: &[u32], monitor: &Monitor<'_>) -> Result<(), Full> {
        let out = std::mem::take(&mut self.out);
        self.names.clear();
        self.new.clear();
        // The memory is waited for once and not for each state.
        self.known.clear();
        self.store.find_batch(&out, &self.hashes, &mut self.known);
        for (index, (entry, state)) in out.iter().enumerate() {
            let source = entry.source as usize;
            if let Some(code) = entry.fault()
                && let Answer::Stop(finding) = self.task.property.fault(code, state.is_some())
            {
                let step = TraceStep { action: entry.action, state: state.map(<[u8]>::to_vec) };
                let trace = self.way(sources[source], monitor).map(|mut trace| {
                    trace.steps.push(step);
                    trace
                });
                self.report(finding, trace);
                return Ok(());
            }
            let (mut name, mut number) = (StateId(u64::MAX), NONE);
            if let Some(state) = state {
                self.transitions += 1;
                (name, number) = match self.known[index] {
                    Some(name) => (name, NONE),
                    None => self.meet(self.hashes[index], state, sources[source])?,
                };
            }
            self.names.push(name);
            self.new.push(number);
        }
        if phase == Phase::Late {
            self.count_edges(&out, sources)?;
        }
        self.out = out;
        Ok(())
    }

    /// Counts and records the edges from the states numbered `sources` within their regions.
    fn count_edges(&mut self, out: &Successors, sources: &[u32]) -> Result<(), Full> {
        let all = self.product.automaton().all_marks();
        let limit = self.task.limits.memory.unwrap_or(u64::MAX);
        let has_room = self.shared.edges.bytes() < limit / EDGES_SHARE;
        let has_sources = self.shared.has_sources.load(Relaxed);
        let mut inside = std::mem::take(&mut self.inside);
        inside.clear();
        for (index, entry) in (0..).zip(out.entries()) {
            let source = entry.source as usize;
            let Some((region, state)) = self.regions[source].zip(out.state(entry)) else { continue };
            if self.region(state) != Some(region) {
                continue;
            }
            let accepts = !region.weak && self.product.marks(self.places[source], entry.action) & all == all;
            if accepts && self.sources.last() != Some(&sources[source]) {
                self.sources.push(sources[source]);
            }
            if region.weak || has_room && has_sources {
                inside.push(Inside { index, source: entry.source, accepts, target: self.new[index as usize] });
            }
        }
        self.number_targets(&mut inside)?;
        let mut rest = inside.iter().peekable();
        for (source, number) in (0..).zip(sources) {
            let Some(region) = self.regions[source as usize] else { continue };
            self.edges.clear();
            while let Some(edge) = rest.next_if(|edge| edge.source == source) {
                if region.weak {
                    self.shared.nodes.value(edge.target).degree.fetch_add(1, Relaxed);
                }
                self.edges.push(Edge::new(edge.target, edge.accepts));
            }
            if has_room && (region.weak || has_sources) {
                let place = self.shared.edges.record(&mut self.recorder, &self.edges);
                self.shared.nodes.value(*number).edges.store(place, Relaxed);
            }
        }
        self.inside = inside;
        Ok(())
    }

    /// Looks up the numbers of successors that have none yet. The look-ups do not depend on each
    /// other, so the processor waits for several of them at a time.
    fn number_targets(&mut self, inside: &mut [Inside]) -> Result<(), Full> {
        let nodes = &self.shared.nodes;
        for edge in inside.iter_mut().filter(|edge| edge.target == NONE) {
            edge.target = nodes.first_of_bucket(self.names[edge.index as usize])?;
        }
        for edge in inside.iter_mut().filter(|edge| self.new[edge.index as usize] == NONE) {
            let name = self.names[edge.index as usize];
            edge.target = match nodes.number_from(edge.target, name) {
                Some(number) => number,
                None => self.given(name)?,
            };
        }
        Ok(())
    }

    /// Does with the edges of states what the phase asks for. States whose edges cannot be read are
    /// expanded.
    fn read_edges(&mut self, phase: Phase, numbers: &[u32], monitor: &Monitor<'_>) -> Result<(), Full> {
        let shared = self.shared;
        let round = shared.round.load(SeqCst);
        let mut places = [0; TAKE];
        for (place, &number) in places.iter_mut().zip(numbers) {
            *place = shared.nodes.value(number).edges.load(Relaxed);
        }
        self.edges.clear();
        let (mut unread, mut count) = ([0; TAKE], 0);
        for (&place, &number) in places.iter().zip(numbers) {
            match shared.edges.at(place) {
                Some(edges) => self.edges.extend_from_slice(edges),
                None => {
                    unread[count] = number;
                    count += 1;
                }
            }
        }
        // All targets are looked at before one is changed, so the processor waits for several of
        // them at a time.
        let mut edges = std::mem::take(&mut self.edges);
        edges.retain(|edge| Self::concerns(phase, round, shared, edge.target(), edge.accepts()));
        edges.iter().for_each(|edge| self.examine_edge(phase, round, edge.target(), edge.accepts()));
        self.edges = edges;
        self.expand(phase, &unread[..count], monitor)
    }

    /// Looks up the successors within the region of their source, and does with the edges to them
    /// what the phase asks for.
    fn examine(&mut self, phase: Phase) {
        let all = self.product.automaton().all_marks();
        let round = self.shared.round.load(SeqCst);
        let out = std::mem::take(&mut self.out);
        for (index, (entry, state)) in out.iter().enumerate() {
            let source = entry.source as usize;
            let Some(state) = state else { continue };
            if self.region(state) != self.regions[source] {
                continue;
            }
            let accepts = self.product.marks(self.places[source], entry.action) & all == all;
            if let Some(target) = self.known(self.hashes[index], state) {
                self.examine_edge(phase, round, target, accepts);
            }
        }
        self.out = out;
    }

    /// Whether a phase changes the target of an edge.
    fn concerns(phase: Phase, round: u32, shared: &Shared, target: u32, accepts: bool) -> bool {
        let least = if phase == Phase::TakeOut { round } else { round - 1 };
        (phase != Phase::Begin || accepts) && shared.is_in(shared.nodes.value(target), least)
    }

    /// Adds the target of an edge to the round, or removes the edge.
    fn examine_edge(&mut self, phase: Phase, round: u32, target: u32, accepts: bool) {
        if !Self::concerns(phase, round, self.shared, target, accepts) {
            return;
        }
        let node = self.shared.nodes.value(target);
        if phase == Phase::TakeOut {
            if node.degree.fetch_sub(1, SeqCst) == 1 {
                node.round.store(0, SeqCst);
                self.following.push(target);
            }
            return;
        }
        if phase == Phase::Reach {
            node.degree.fetch_add(1, SeqCst);
        }
        if node.round.compare_exchange(round - 1, round, SeqCst, SeqCst).is_ok() {
            self.following.push(target);
        }
    }

    /// The number of a visited state. A worker may not find every state that others have inserted
    /// ([`StoreWorker::find`]), so the state is inserted once more.
    fn known(&mut self, hash: u64, state: &[u8]) -> Option<u32> {
        self.shared.nodes.number(self.store.insert(hash, state).ok()?.id)
    }

    /// Inserts a state and returns its name; a new state gets a number, which is returned too.
    fn meet(&mut self, hash: u64, state: &[u8], parent: u32) -> Result<(StateId, u32), Full> {
        let inserted = self.store.insert(hash, state).map_err(|_| Full)?;
        if !inserted.new {
            return Ok((inserted.id, NONE));
        }
        self.states += 1;
        let round = self.region(state).map_or(0, |region| if region.weak { WEAK } else { FIRST });
        let number = self.shared.nodes.add(&mut self.numbers, inserted.id, |_, node| {
            node.parent.store(parent, Relaxed);
            node.round.store(round, Relaxed);
        })?;
        self.following.push(number);
        Ok((inserted.id, number))
    }

    /// The number of a state that is in the store. If it has none yet, the worker that inserted it
    /// is about to number it.
    fn given(&self, name: StateId) -> Result<u32, Full> {
        loop {
            if let Some(number) = self.shared.nodes.number(name) {
                return Ok(number);
            }
            if self.shared.over.load(Relaxed) || self.shared.fork.has_lost() {
                return Err(Full);
            }
            std::hint::spin_loop();
        }
    }

    /// The path by which a state was first reached.
    fn way(&mut self, number: u32, monitor: &Monitor<'_>) -> Option<Trace> {
        let mut states = Vec::new();
        let mut at = number;
        while at != NONE {
            self.read(at);
            states.push(self.state.clone());
            at = self.shared.nodes.value(at).parent.load(Relaxed);
        }
        let mut trace = Trace { initial: states.pop()?, ..Trace::default() };
        let mut out = Successors::new();
        while let Some(state) = states.pop() {
            if monitor.patience().is_over() {
                return None;
            }
            out.clear();
            self.product.successors(trace.last_state(), &mut out);
            let action = out.iter().find(|(_, target)| *target == Some(&state[..])).map(|(entry, _)| entry.action)?;
            trace.steps.push(TraceStep { action, state: Some(state) });
        }
        Some(trace)
    }
}
