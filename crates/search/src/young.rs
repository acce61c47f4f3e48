//! Breadth-first search for accepting cycles: the algorithm "one way catch them young".
//!
//! All states are visited level by level. Then states that cannot lie on an accepting cycle are
//! removed until nothing changes: first, one after the other, those without an edge from a
//! remaining state, and then those that cannot be reached from a remaining accepting state. If any
//! state remains, there is an accepting cycle (Fisler, Fraer, Kamhi, Vardi, Yang, "Is there a best
//! symbolic cycle-detection algorithm?", 2001; Černá and Pelánek, "Distributed explicit fair cycle
//! detection", 2003). The algorithm needs no depth-first order, so workers share each level, and
//! states may be stored anywhere.
//!
//! A cycle stays within one component of the claim's automaton. So only edges within a component
//! that has accepting states are counted, and if all of its states accept one pass is enough.
//!
//! The disadvantages are that states are expanded again when they are removed, and that no cycle is
//! found before all states were visited.

use crate::classes::Kind;
use crate::components::{Fairness, Processes, accepted_cycle, components};
use crate::fork_join::ForkJoin;
use crate::lasso::Lasso;
use crate::monitor::{Monitor, WorkerCounts};
use crate::numbered::{Full, Numbered, Numbers};
use crate::parts::together;
use crate::product::Product;
use crate::retrace::{unviolated, violated};
use crate::rounds::initial_fault;
use crate::sync::lock;
use crate::task::Task;
use contract::{Answer, Finding, Outcome, StateId, Statistics, StopReason, Store, StoreWorker, Successors, System, Trace, TraceStep};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::Duration;

/// States taken from a list at a time.
const TAKE: usize = 64;
/// The fewest states in a list that is shared.
const WORTH_SHARING: usize = 4 * TAKE;
/// The most workers.
const MOST_WORKERS: usize = 64;

/// No state.
const NONE: u32 = u32::MAX;

/// The data of a state.
#[derive(Default)]
struct Node {
    /// The state from which it was reached first.
    parent: AtomicU32,
    /// The last round that it was in; 0 once it was removed.
    round: AtomicU32,
    /// The number of edges to it from states of this round, within its component.
    degree: AtomicU32,
}

/// The operation on the states of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The states are expanded for the first time.
    Visit,
    /// The successors of the states join the round.
    Reach,
    /// The states were removed, so their successors lose an edge.
    TakeOut,
}

/// Looks for a reachable cycle through an accepting state of the product. The automaton must accept
/// by states. The store must be empty. The trace is a trace of the product ([`Product::project`]).
///
/// With a depth limit, or over a store whose names change, this is a search by components.
pub fn catch_them_young<S: System + Clone, T: Store>(product: &Product<S>, store: &T, task: &Task<'_>) -> Outcome {
    if !T::STABLE_NAMES || task.limits.depth.is_some() {
        return components(product, Fairness::None, store, task);
    }
    let workers = task.threads.clamp(1, MOST_WORKERS);
    let monitor = Monitor::new(task, workers, store);
    let shared = Shared {
        nodes: Numbered::new(),
        list: RwLock::new(Vec::new()),
        next: AtomicUsize::new(0),
        phase: RwLock::new(Phase::Visit),
        round: AtomicU32::new(1),
        following: Mutex::new(Vec::new()),
        left: AtomicU64::new(0),
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
    /// The states to be processed, and the number of those already taken.
    list: RwLock<Vec<u32>>,
    next: AtomicUsize,
    phase: RwLock<Phase>,
    round: AtomicU32,
    /// The states of the next list.
    following: Mutex<Vec<u32>>,
    /// The number of states in the round.
    left: AtomicU64,
    found: Mutex<Option<(Finding, Option<Trace>)>>,
    over: AtomicBool,
    fork: ForkJoin,
}

impl Shared {
    /// Whether a state is in a round: this one or, while the round is being formed, the one before.
    fn is_in(&self, node: &Node, round: u32) -> bool {
        node.round.load(SeqCst) >= round
    }
}

struct Worker<'a, S, W> {
    number: usize,
    product: Product<S>,
    store: W,
    task: &'a Task<'a>,
    shared: &'a Shared,
    numbers: Numbers,
    out: Successors,
    hashes: Vec<u64>,
    state: Vec<u8>,
    following: Vec<u32>,
    states: u64,
    transitions: u64,
    expanded: u64,
    depth: u64,
}

impl<'a, S: System + Clone, W: StoreWorker> Worker<'a, S, W> {
    fn new(number: usize, product: Product<S>, store: W, task: &'a Task<'a>, shared: &'a Shared) -> Self {
        Worker {
            number,
            product,
            store,
            task,
            shared,
            numbers: Numbers::default(),
            out: Successors::new(),
            hashes: Vec::new(),
            state: Vec::new(),
            following: Vec::new(),
            states: 0,
            transitions: 0,
            expanded: 0,
            depth: 0,
        }
    }

    fn standing(&self, depth: u64) -> WorkerCounts {
        let lists = self.following.capacity() * size_of::<u32>();
        let shared = if self.number == 0 { self.shared.nodes.bytes() } else { 0 };
        WorkerCounts { states: self.states, transitions: self.transitions, waiting: 0, depth, search_bytes: lists as u64 + shared }
    }

    /// Runs all phases. Returns a cycle if there is one; its trace is `None` if it was lost.
    fn lead<T: Store>(&mut self, store: &T, monitor: &Monitor<'_>) -> Option<Option<Trace>> {
        self.begin(monitor);
        self.levels(Phase::Visit, store, monitor);
        let mut before = None;
        loop {
            if self.is_over(monitor) {
                return None;
            }
            let round = self.shared.round.load(SeqCst);
            // States without incoming edges are removed first, and then those that only they lead
            // to.
            let (mut alive, mut decided) = (0_u64, false);
            for number in 0..self.shared.nodes.end() {
                let node = self.shared.nodes.value(number);
                if node.round.load(SeqCst) != round {
                    continue;
                }
                if node.degree.load(SeqCst) == 0 {
                    node.round.store(0, SeqCst);
                    self.following.push(number);
                } else {
                    alive += 1;
                }
            }
            self.shared.left.store(alive, SeqCst);
            self.hand_over();
            self.levels(Phase::TakeOut, store, monitor);
            if self.is_over(monitor) {
                return None;
            }
            let left = self.shared.left.load(SeqCst);
            if left == 0 {
                return None;
            }
            // A new round begins with the remaining accepting states.
            for number in 0..self.shared.nodes.end() {
                let node = self.shared.nodes.value(number);
                if node.round.load(SeqCst) != round {
                    continue;
                }
                match self.kind(number) {
                    Kind::Accepting => decided = true,
                    Kind::Mixed { accepts: true } => {
                        node.round.store(round + 1, SeqCst);
                        self.following.push(number);
                    }
                    Kind::Mixed { accepts: false } | Kind::Rejecting => {}
                }
                node.degree.store(0, SeqCst);
            }
            // All states of a component accept, or nothing has changed.
            if decided || before == Some(left) {
                return Some(self.lasso(round, monitor));
            }
            before = Some(left);
            self.shared.round.store(round + 1, SeqCst);
            self.hand_over();
            self.levels(Phase::Reach, store, monitor);
        }
    }

    fn begin(&mut self, monitor: &Monitor<'_>) {
        let mut out = Successors::new();
        self.product.initial(&mut out);
        for (entry, state) in out.iter() {
            match initial_fault(self.task.property, entry) {
                Answer::Continue => {}
                Answer::Prune => continue,
                Answer::Stop(finding) => {
                    let initial = state.map(<[u8]>::to_vec).unwrap_or_default();
                    return self.report(finding, Some(Trace { initial, ..Trace::default() }));
                }
            }
            let Some(state) = state else { continue };
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

    /// Processes the list, and the lists that result from it, until one is empty.
    fn levels<T: Store>(&mut self, phase: Phase, store: &T, monitor: &Monitor<'_>) {
        *self.shared.phase.write().unwrap_or_else(PoisonError::into_inner) = phase;
        loop {
            let list = std::mem::take(&mut *lock(&self.shared.following));
            if list.is_empty() || self.is_over(monitor) {
                return;
            }
            let shared = list.len() >= WORTH_SHARING;
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
            self.depth += u64::from(phase == Phase::Visit && !lock(&self.shared.following).is_empty());
        }
    }

    /// Takes states from the list until none is left.
    fn work<T: Store>(&mut self, store: &T, monitor: &Monitor<'_>) {
        let shared = self.shared;
        let list = shared.list.read().unwrap_or_else(PoisonError::into_inner);
        let phase = *shared.phase.read().unwrap_or_else(PoisonError::into_inner);
        loop {
            let first = shared.next.fetch_add(TAKE, SeqCst);
            let Some(taken) = list.get(first..).filter(|rest| !rest.is_empty()) else { break };
            for &number in &taken[..taken.len().min(TAKE)] {
                if self.expand(phase, number, monitor).is_err() {
                    monitor.refused();
                }
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
    }

    fn kind(&mut self, number: u32) -> Kind {
        self.read(number);
        self.product.classes().kind(self.product.automaton_state(&self.state))
    }

    fn read(&mut self, number: u32) {
        if let Some(name) = self.shared.nodes.name(number) {
            self.store.read(name, &mut self.state);
        }
    }

    /// The component of the automaton in which the edges of a state are counted, if they are.
    fn counted(&self, state: &[u8]) -> Option<u32> {
        self.product.classes().accepting(self.product.automaton_state(state))
    }

    fn expand(&mut self, phase: Phase, number: u32, monitor: &Monitor<'_>) -> Result<(), Full> {
        self.read(number);
        self.out.clear();
        self.product.successors(&self.state, &mut self.out);
        if self.out.is_cut_short() {
            return Err(Full);
        }
        self.expanded += 1;
        let component = self.counted(&self.state);
        self.hashes.clear();
        for index in 0..self.out.len() {
            let entry = self.out.entries()[index];
            let state = self.out.state(&entry);
            if phase == Phase::Visit
                && let Some(code) = entry.fault()
                && let Answer::Stop(finding) = self.task.property.fault(code, state.is_some())
            {
                let step = TraceStep { action: entry.action, state: state.map(<[u8]>::to_vec) };
                let trace = self.way(number, monitor).map(|mut trace| {
                    trace.steps.push(step);
                    trace
                });
                self.report(finding, trace);
                return Ok(());
            }
            self.hashes.push(state.map_or(0, |state| {
                let hash = self.store.hash(state);
                self.store.prefetch(hash);
                hash
            }));
        }
        let out = std::mem::take(&mut self.out);
        let round = self.shared.round.load(SeqCst);
        for (index, (_, state)) in out.iter().enumerate() {
            let Some(state) = state else { continue };
            let same = component.is_some() && self.counted(state) == component;
            let hash = self.hashes[index];
            match phase {
                Phase::Visit => {
                    self.transitions += 1;
                    let target = self.meet(hash, state, number)?;
                    if same {
                        self.shared.nodes.value(target).degree.fetch_add(1, SeqCst);
                    }
                }
                Phase::Reach | Phase::TakeOut if !same => {}
                Phase::Reach => {
                    let Some((target, node)) = self.known(hash, state) else { continue };
                    if !self.shared.is_in(node, round - 1) {
                        continue;
                    }
                    node.degree.fetch_add(1, SeqCst);
                    if node.round.compare_exchange(round - 1, round, SeqCst, SeqCst).is_ok() {
                        self.following.push(target);
                    }
                }
                Phase::TakeOut => {
                    let Some((target, node)) = self.known(hash, state) else { continue };
                    if self.shared.is_in(node, round) && node.degree.fetch_sub(1, SeqCst) == 1 {
                        node.round.store(0, SeqCst);
                        self.following.push(target);
                        self.shared.left.fetch_sub(1, SeqCst);
                    }
                }
            }
        }
        self.out = out;
        Ok(())
    }

    fn known(&mut self, hash: u64, state: &[u8]) -> Option<(u32, &'a Node)> {
        let shared = self.shared;
        let number = shared.nodes.number(self.store.find(hash, state)?)?;
        Some((number, shared.nodes.value(number)))
    }

    /// The number of a state; a new state gets one.
    fn meet(&mut self, hash: u64, state: &[u8], parent: u32) -> Result<u32, Full> {
        let inserted = self.store.insert(hash, state).map_err(|_| Full)?;
        if !inserted.new {
            return self.given(inserted.id);
        }
        self.states += 1;
        let counted = self.counted(state).is_some();
        let number = self.shared.nodes.add(&mut self.numbers, inserted.id, |_, node| {
            node.parent.store(parent, Relaxed);
            node.round.store(counted.into(), Relaxed);
        })?;
        self.following.push(number);
        Ok(number)
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

    /// A path to an accepting cycle among the states of a round, and around it.
    fn lasso(&mut self, round: u32, monitor: &Monitor<'_>) -> Option<Trace> {
        let component = self.accepting_component(round, monitor)?;
        let start = *component.first()?;
        let mut trace = self.way(start, monitor)?;
        self.read(start);
        let start = self.state.clone();
        let members: std::collections::HashSet<u32> = component.into_iter().collect();
        let patience = monitor.patience();
        let stop = || patience.is_over();
        let Worker { product, store, shared, .. } = self;
        let mut member = |state: &[u8]| {
            let hash = store.hash(state);
            let number = store.find(hash, state).and_then(|name| shared.nodes.number(name));
            number.is_some_and(|number| members.contains(&number))
        };
        let around = Lasso { product, fairness: Fairness::None, stop: &stop }.around(&start, &mut member, Processes::default())?;
        trace.loop_start = Some(trace.steps.len());
        trace.steps.extend(around);
        Some(trace)
    }

    /// A strongly connected component among the states of a round that has a cycle and an accepting
    /// state (Tarjan; Gabow, "Path-based depth-first search for strong and biconnected components",
    /// 2000).
    fn accepting_component(&mut self, round: u32, monitor: &Monitor<'_>) -> Option<Vec<u32>> {
        const UNSEEN: u32 = u32::MAX;
        const COMPLETE: u32 = u32::MAX - 1;
        let end = self.shared.nodes.end();
        let mut order = vec![UNSEEN; end as usize];
        let mut polls = 0_u32;
        for root in 0..end {
            let alive = |shared: &Shared, number: u32| shared.is_in(shared.nodes.value(number), round);
            if order[root as usize] != UNSEEN || self.shared.nodes.name(root).is_none() || !alive(self.shared, root) {
                continue;
            }
            let mut live: Vec<u32> = Vec::new();
            let mut borders: Vec<u32> = Vec::new();
            let mut path: Vec<(u32, Vec<u32>)> = Vec::new();
            let mut next = Some(root);
            loop {
                if let Some(number) = next.take() {
                    polls += 1;
                    if polls.is_multiple_of(256) && monitor.had_enough() {
                        return None;
                    }
                    order[number as usize] = live.len() as u32;
                    borders.push(live.len() as u32);
                    live.push(number);
                    path.push((number, self.inside(number, round)));
                }
                let Some((number, targets)) = path.last_mut() else { break };
                let number = *number;
                if let Some(target) = targets.pop() {
                    match order[target as usize] {
                        UNSEEN => next = Some(target),
                        COMPLETE => {}
                        place => {
                            while borders.last().is_some_and(|&border| border > place) {
                                borders.pop();
                            }
                        }
                    }
                    continue;
                }
                path.pop();
                let place = order[number as usize];
                if borders.last() != Some(&place) {
                    continue;
                }
                borders.pop();
                let component = live.split_off(place as usize);
                component.iter().for_each(|&state| order[state as usize] = COMPLETE);
                let cyclic = component.len() > 1 || self.inside(number, round).contains(&number);
                if cyclic
                    && let Some(accepting) =
                        component.iter().position(|&state| matches!(self.kind(state), Kind::Accepting | Kind::Mixed { accepts: true }))
                {
                    let mut component = component;
                    component.swap(0, accepting);
                    return Some(component);
                }
            }
        }
        None
    }

    /// The successors of a state that are in a round.
    fn inside(&mut self, number: u32, round: u32) -> Vec<u32> {
        self.read(number);
        let mut out = Successors::new();
        self.product.successors(&self.state, &mut out);
        let component = self.counted(&self.state);
        let mut targets = Vec::new();
        for (_, state) in out.iter() {
            let Some(state) = state else { continue };
            if self.counted(state) != component {
                continue;
            }
            let hash = self.store.hash(state);
            if let Some((target, node)) = self.known(hash, state)
                && self.shared.is_in(node, round)
            {
                targets.push(target);
            }
        }
        targets
    }
}
