//! Search for accepting runs by strongly connected components, sequential and depth-first.
//!
//! The search keeps the components of the states it has visited and merges them when an edge closes
//! a cycle. For each component it knows which acceptance sets its edges are in (Couvreur,
//! "On-the-fly verification of linear temporal logic", 1999; Geldenhuys and Valmari, "More
//! efficient on-the-fly LTL verification with Tarjan's algorithm", 2005). A component with an edge
//! in every set contains an accepting run. It is reported as soon as this is known, which is often
//! long before the component is complete. Every state is expanded once, whatever the automaton;
//! several acceptance sets cost nothing.
//!
//! Fairness needs no copies of the states. For each component the search knows which processes move
//! in it, which are enabled in all of its states and which in some. Under weak fairness a component
//! counts only if each process that is always enabled moves. Under strong fairness each process
//! that is enabled somewhere must move. If one does not, the states in which it is enabled are
//! removed from the complete component, and the rest is examined again (Emerson and Lei,
//! "Modalities for model checking", 1987).
//!
//! A state is live as long as its component is not complete. Only live states are kept in addition
//! to the store ([`Live`]). A state that the store knows and that is not live lies in a complete
//! component, from which no path leads back.

use crate::lasso::Lasso;
use crate::live::{Key, Live};
use crate::monitor::{self, Monitor};
use crate::product::{NOBODY, Product};
use crate::retrace::{unviolated, violated};
use crate::rounds::initial_state;
use crate::stack::{Stack, Top};
use crate::staged::staged;
use crate::streett;
use crate::task::Task;
use crate::watch::{ACTIONS, BACKTRACK, INSERT, PUSH, SELECT, Watch};
use contract::{
    Action, Answer, Fault, Finding, Outcome, StateId, Statistics, StopReason, Store, StoreWorker, Successors, System, Trace, TraceStep,
    ViolationKind,
};
use std::io;
use std::time::Duration;

/// The number of stack records between two checks of the limits.
const POLL_EVERY: u64 = 256;

/// The runs that count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fairness {
    /// All runs.
    #[default]
    None,
    /// Runs on which every process that is enabled from some point on moves again and again.
    Weak,
    /// Runs on which every process that is enabled again and again moves again and again.
    Strong,
}

/// A set of processes. It holds only the first 256; a program has no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Processes([u64; 4]);

impl Processes {
    pub const ALL: Processes = Processes([u64::MAX; 4]);

    pub fn add(&mut self, process: u32) {
        if let Some(word) = self.0.get_mut(process as usize / 64) {
            *word |= 1 << (process % 64);
        }
    }

    pub fn contains(self, process: u32) -> bool {
        self.0.get(process as usize / 64).is_some_and(|word| word >> (process % 64) & 1 != 0)
    }

    pub fn and(self, other: Processes) -> Processes {
        Processes(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }

    pub fn or(self, other: Processes) -> Processes {
        Processes(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }

    pub fn without(self, other: Processes) -> Processes {
        Processes(std::array::from_fn(|i| self.0[i] & !other.0[i]))
    }

    pub fn is_empty(self) -> bool {
        self.0 == [0; 4]
    }

    /// The processes that can move: those of the steps in `out`.
    pub fn enabled(out: &Successors) -> Processes {
        let mut enabled = Processes::default();
        out.entries().iter().filter(|entry| entry.action.process != NOBODY).for_each(|entry| enabled.add(entry.action.process));
        enabled
    }
}

/// Facts about the states and edges of a component.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits {
    /// The acceptance sets that its edges are in.
    pub marks: u64,
    /// The processes that move along its edges.
    pub moved: Processes,
    /// The processes that are enabled in all of its states.
    pub always: Processes,
    /// The processes that are enabled in some of its states.
    pub ever: Processes,
}

impl Traits {
    pub fn of_state(enabled: Processes) -> Traits {
        Traits { marks: 0, moved: Processes::default(), always: enabled, ever: enabled }
    }

    pub fn with_edge(self, marks: u64, process: u32) -> Traits {
        let mut moved = self.moved;
        moved.add(process);
        Traits { marks: self.marks | marks, moved, ..self }
    }

    pub fn and(self, other: Traits) -> Traits {
        Traits {
            marks: self.marks | other.marks,
            moved: self.moved.or(other.moved),
            always: self.always.and(other.always),
            ever: self.ever.or(other.ever),
        }
    }

    /// The processes that the component treats unfairly.
    pub fn starved(self, fairness: Fairness) -> Processes {
        match fairness {
            Fairness::None => Processes::default(),
            Fairness::Weak => self.always.without(self.moved),
            Fairness::Strong => self.ever.without(self.moved),
        }
    }
}

/// A component that is not complete.
struct Component {
    /// The number of its first state, which is on the path.
    root: u32,
    /// Whether there is a cycle in it.
    cyclic: bool,
    /// The acceptance sets that its edges are in.
    marks: u64,
    /// The edge to this component from the one before: its marks, and the process that moves.
    entry: (u64, u32),
}

/// Looks for a reachable cycle that is accepting and fair. The store must be empty. The trace is a
/// trace of the product ([`Product::project`]).
///
/// States that are visited before the automaton can accept are visited breadth-first (`staged`),
/// unless the depth is limited, because a depth limit refers to a single path.
pub fn components<S: System + Clone, T: Store>(product: &Product<S>, fairness: Fairness, store: &T, task: &Task<'_>) -> Outcome {
    components_probed(product, fairness, store, task).0
}

/// As [`components`]; also returns whether an edge in every acceptance set was met.
pub fn components_probed<S: System + Clone, T: Store>(
    product: &Product<S>,
    fairness: Fairness,
    store: &T,
    task: &Task<'_>,
) -> (Outcome, bool) {
    if product.begins_early() && task.limits.depth.is_none() {
        return staged(product, fairness, store, task);
    }
    let monitor = Monitor::new(task, 1, store);
    let mut worker = store.worker();
    let mut search = Search::new(product, fairness, T::STABLE_NAMES, task, &monitor, 0);
    let found = match search.begin(&mut worker) {
        Some(found) => Ok(Some(found)),
        None => search.search(&mut worker, store),
    };
    drop(worker);
    let found = found.unwrap_or_else(|error| {
        monitor.stop(StopReason::Storage(error.to_string()));
        None
    });
    let verdict = match found {
        Some((finding, trace)) => violated(&search.product, finding, trace),
        None => unviolated(monitor.reason(), search.truncated, T::EXACT),
    };
    let mut statistics = std::mem::take(&mut search.statistics);
    statistics.profile = search.watch.stop();
    let met = search.met_accepting;
    drop(search);
    statistics.expanded_by_worker = vec![statistics.states];
    monitor.conclude(&mut statistics, store, Duration::ZERO);
    (Outcome { verdict, statistics }, met)
}

/// A finding and the trace to it, unless the trace was lost.
pub(crate) type Found = (Finding, Option<Trace>);

/// The depth-first search from the states that were pushed at the beginning.
pub(crate) struct Search<'a, S> {
    product: Product<S>,
    all_marks: u64,
    fairness: Fairness,
    /// Whether the store's names never change.
    named: bool,
    task: &'a Task<'a>,
    monitor: &'a Monitor<'a>,
    /// The number of the worker that searches.
    worker: usize,
    /// The counts of other parts of the search.
    pub others: monitor::WorkerCounts,
    /// Open records contain the numbers of their states.
    stack: Stack<'a>,
    out: Successors,
    hashes: Vec<u64>,
    /// The successors that the store already contains.
    known: Vec<Option<StateId>>,
    /// The open state on top.
    state: Vec<u8>,
    live: Live,
    components: Vec<Component>,
    /// The facts that fairness needs for each component; empty without fairness.
    traits: Vec<Traits>,
    /// The states of the automaton along the path.
    path: Vec<u16>,
    truncated: bool,
    until_poll: u64,
    /// An edge in every acceptance set was met.
    pub met_accepting: bool,
    pub statistics: Statistics,
    pub watch: Watch,
}

impl<'a, S: System + Clone> Search<'a, S> {
    pub fn new(product: &Product<S>, fairness: Fairness, named: bool, task: &'a Task<'a>, monitor: &'a Monitor<'a>, worker: usize) -> Self {
        let mut product = product.clone();
        product.give_up_when(monitor.enough(worker));
        Search {
            all_marks: product.automaton().all_marks(),
            product,
            fairness,
            named,
            task,
            monitor,
            worker,
            others: monitor::WorkerCounts::default(),
            stack: Stack::new(task.spill),
            out: Successors::new(),
            hashes: Vec::new(),
            known: Vec::new(),
            state: Vec::new(),
            live: Live::default(),
            components: Vec::new(),
            traits: Vec::new(),
            path: Vec::new(),
            truncated: false,
            until_poll: 0,
            met_accepting: false,
            statistics: Statistics::default(),
            watch: Watch::new(task),
        }
    }

    /// Pushes the initial states, unless one of them has a fault.
    fn begin<W: StoreWorker>(&mut self, worker: &mut W) -> Option<Found> {
        self.product.initial(&mut self.out);
        for index in (0..self.out.len()).rev() {
            let entry = self.out.entries()[index];
            let state = self.out.state(&entry);
            match initial_state(self.task.property, &entry, state) {
                Ok(Some(state)) => self.stack.push(state, worker.hash(state), entry.action),
                Ok(None) => {}
                Err(wrong) => {
                    let (finding, trace) = *wrong;
                    return Some((finding, Some(trace)));
                }
            }
        }
        None
    }

    /// Pushes a state to start from, which a step with this action leads to.
    pub fn push(&mut self, state: &[u8], hash: u64, action: Action) {
        self.stack.push(state, hash, action);
    }

    /// Searches from the pushed states until nothing is left, a cycle is found, or the search must
    /// stop.
    pub fn search<T: Store>(&mut self, worker: &mut T::Worker<'_>, store: &T) -> io::Result<Option<Found>> {
        loop {
            if self.until_poll == 0 {
                self.until_poll = POLL_EVERY;
                if let Some(news) = self.stack.news() {
                    self.monitor.notice(&news);
                }
                if !self.monitor.poll(self.worker, &self.standing(), store) {
                    return Ok(None);
                }
            }
            self.until_poll -= 1;
            let Some((state, top, action)) = self.stack.top() else { return Ok(None) };
            let hash = match top {
                Top::Open { id } => {
                    self.watch.turn(BACKTRACK);
                    self.watch.count(BACKTRACK, 1);
                    if let Some(found) = self.close(id.0 as u32, worker, store)? {
                        return Ok(Some(found));
                    }
                    self.watch.turn(SELECT);
                    continue;
                }
                Top::Candidate { hash } => hash,
            };
            self.watch.turn(INSERT);
            self.watch.count(INSERT, 1);
            let Ok(inserted) = worker.insert(hash, state) else {
                self.monitor.refused();
                return Ok(None);
            };
            let key = if self.named { Key::Name(inserted.id.0) } else { Key::Hash(hash) };
            self.watch.turn(SELECT);
            if !inserted.new {
                let number = self.live.find(key, state);
                self.stack.pop()?;
                if let Some(number) = number
                    && self.close_cycle(number, action)
                {
                    return self.accepted(worker, store).map(Some);
                }
                continue;
            }
            self.state.clear();
            self.state.extend_from_slice(state);
            self.statistics.states += 1;
            self.watch.turn(PUSH);
            self.watch.count(PUSH, 1);
            let entry = self.path.last().map_or((0, NOBODY), |&at| (self.product.marks(at, action), action.process));
            self.met_accepting |= entry.1 != NOBODY && entry.0 & self.all_marks == self.all_marks;
            let number = self.live.push(key, &self.state);
            self.stack.open(StateId(number.into()));
            self.statistics.depth = self.statistics.depth.max(self.path.len() as u64);
            self.path.push(self.product.automaton_state(&self.state));
            self.components.push(Component { root: number, cyclic: false, marks: 0, entry });
            if self.fairness != Fairness::None {
                self.traits.push(Traits::of_state(Processes::ALL));
            }
            if self.task.limits.depth.is_some_and(|limit| self.path.len() as u64 > limit) {
                self.truncated = true;
                continue;
            }
            if let Some(found) = self.expand(worker, store)? {
                return Ok(Some(found));
            }
            if self.monitor.stopped() {
                return Ok(None);
            }
        }
    }

    /// The counts so far, including those of other parts of the search.
    pub fn standing(&self) -> monitor::WorkerCounts {
        let others = &self.others;
        monitor::WorkerCounts {
            states: others.states + self.statistics.states,
            transitions: others.transitions + self.statistics.transitions,
            waiting: others.waiting + self.stack.len(),
            depth: others.depth + self.path.len() as u64,
            search_bytes: others.search_bytes + self.bytes(),
        }
    }

    /// Checks the limits.
    pub fn poll<T: Store>(&self, store: &T) {
        self.monitor.poll(self.worker, &self.standing(), store);
    }

    /// The memory held.
    pub fn bytes(&self) -> u64 {
        self.stack.bytes() + self.live.memory()
    }

    /// Follows the steps of the open state on top that lead to known states, and pushes the others.
    fn expand<T: Store>(&mut self, worker: &mut T::Worker<'_>, store: &T) -> io::Result<Option<Found>> {
        self.out.clear();
        self.watch.turn(ACTIONS);
        self.product.successors(&self.state, &mut self.out);
        self.watch.turn(INSERT);
        self.watch.count(SELECT, 1);
        self.watch.count(ACTIONS, self.out.len());
        if self.out.is_cut_short() {
            self.monitor.refused();
            return Ok(None);
        }
        if let Some(traits) = self.traits.last_mut() {
            *traits = Traits::of_state(Processes::enabled(&self.out));
        }
        self.hashes.clear();
        worker.hash_batch(&self.out, &mut self.hashes);
        for entry in self.out.entries() {
            if let Some(code) = entry.fault()
                && let Answer::Stop(finding) = self.task.property.fault(code, entry.has_state())
            {
                let step = TraceStep { action: entry.action, state: self.out.state(entry).map(<[u8]>::to_vec) };
                let trace = self.way(Some(step))?;
                return Ok(Some((finding, Some(trace))));
            }
        }
        self.known.clear();
        worker.find_batch(&self.out, &self.hashes, &mut self.known);
        self.watch.count(INSERT, self.known.len());
        self.watch.turn(PUSH);
        // The loop goes from the last step to the first, so that the first one is on top.
        for index in (0..self.out.len()).rev() {
            let entry = self.out.entries()[index];
            let Some(state) = self.out.state(&entry) else { continue };
            self.statistics.transitions += 1;
            let hash = self.hashes[index];
            match self.known[index] {
                None => self.stack.push(state, hash, entry.action),
                Some(id) => {
                    let key = if self.named { Key::Name(id.0) } else { Key::Hash(hash) };
                    if let Some(number) = self.live.find(key, state)
                        && self.close_cycle(number, entry.action)
                    {
                        return self.accepted(worker, store).map(Some);
                    }
                }
            }
        }
        self.watch.turn(SELECT);
        Ok(None)
    }

    /// Handles an edge from the last state of the path to a live state: all components from that
    /// state's on become one. Returns whether it contains an accepting run.
    fn close_cycle(&mut self, number: u32, action: Action) -> bool {
        let Some(&at) = self.path.last() else { return false };
        // Most edges stay within the last component, so it is changed in place.
        while let [.., before, last] = &mut self.components[..]
            && last.root > number
        {
            let (marks, process) = last.entry;
            before.marks |= last.marks | marks;
            self.components.pop();
            if let Some(joined) = self.traits.pop()
                && let Some(traits) = self.traits.last_mut()
            {
                *traits = traits.and(joined).with_edge(marks, process);
            }
        }
        let marks = self.product.marks(at, action);
        self.met_accepting |= marks & self.all_marks == self.all_marks;
        if let Some(traits) = self.traits.last_mut() {
            *traits = traits.with_edge(marks, action.process);
        }
        let Some(last) = self.components.last_mut() else { return false };
        last.marks |= marks;
        last.cyclic = true;
        last.marks & self.all_marks == self.all_marks && self.traits.last().is_none_or(|traits| traits.starved(self.fairness).is_empty())
    }

    /// Handles the open state on top, which has this number, when all its successors are done.
    fn close<T: Store>(&mut self, number: u32, worker: &mut T::Worker<'_>, store: &T) -> io::Result<Option<Found>> {
        if let Some(component) = self.components.last().filter(|component| component.root == number) {
            let suspicious = component.cyclic && component.marks & self.all_marks == self.all_marks;
            if suspicious && self.fairness == Fairness::Strong {
                let fair = self.fair_part(number, worker, store)?;
                if fair.is_some() {
                    return Ok(fair);
                }
            }
            self.components.pop();
            self.traits.pop();
            self.live.truncate(number);
        }
        self.stack.pop()?;
        self.path.pop();
        Ok(None)
    }

    /// A part of the complete component with this root that is strongly fair. If a limit is
    /// reached, there is none, and the monitor stops the search.
    fn fair_part<T: Store>(&mut self, root: u32, worker: &mut T::Worker<'_>, store: &T) -> io::Result<Option<Found>> {
        let Some((state, ..)) = self.stack.top() else { return Ok(None) };
        let start = state.to_vec();
        let (monitor, number, standing) = (self.monitor, self.worker, self.standing());
        let stop = |bytes| !monitor.may_hold(number, &standing.holding(bytes), store);
        let Search { product, live, named, .. } = self;
        let mut number = |state: &[u8]| number_of(worker, live, *named, state).filter(|&number| number >= root);
        let Some(part) = streett::fair_part(product, &start, &mut number, self.all_marks, &stop) else {
            return Ok(None);
        };
        let mut member = |state: &[u8]| number(state).is_some_and(|number| part.states.contains(&number));
        let mut anywhere = |_: &[u8]| true;
        let mut lasso = Lasso { product, fairness: Fairness::Strong, stop: &stop };
        let steps = lasso.way_to_member(&start, &mut anywhere, &mut member).and_then(|way| {
            let begin = way.last().and_then(|step| step.state.clone()).unwrap_or(start);
            Some((way, lasso.around(&begin, &mut member, part.ever)?))
        });
        let prefix = self.way(None)?;
        Ok(Some((accepted_cycle(), steps.map(|(way, around)| closed(prefix, way, around)))))
    }

    /// Returns an accepting run of the component on top.
    fn accepted<T: Store>(&mut self, worker: &mut T::Worker<'_>, store: &T) -> io::Result<Found> {
        let Some(component) = self.components.last() else { return Ok((accepted_cycle(), None)) };
        let (root, ever) = (component.root, self.traits.last().map(|traits| traits.ever).unwrap_or_default());
        let mut prefix = self.way(None)?;
        // The path up to the root; the states after it belong to the component.
        let mut depth = 0;
        self.stack.open_states(|_, id, _| {
            depth += usize::from(id.0 > root.into());
            id.0 > root.into()
        })?;
        prefix.steps.truncate(prefix.steps.len().saturating_sub(depth));
        let start = prefix.last_state().to_vec();
        let (monitor, number, standing) = (self.monitor, self.worker, self.standing());
        let stop = |bytes| !monitor.may_hold(number, &standing.holding(bytes), store);
        let Search { product, live, named, fairness, .. } = self;
        let mut member = |state: &[u8]| number_of(worker, live, *named, state).is_some_and(|number| number >= root);
        let around = Lasso { product, fairness: *fairness, stop: &stop }.around(&start, &mut member, ever);
        Ok((accepted_cycle(), around.map(|around| closed(prefix, Vec::new(), around))))
    }

    /// The path, followed by one more step.
    fn way(&self, step: Option<TraceStep>) -> io::Result<Trace> {
        let mut states = Vec::with_capacity(self.path.len());
        self.stack.open_states(|state, _, action| {
            states.push(TraceStep { action, state: Some(state.to_vec()) });
            true
        })?;
        let initial = states.pop().and_then(|first| first.state).unwrap_or_default();
        states.reverse();
        states.extend(step);
        Ok(Trace { initial, steps: states, loop_start: None })
    }
}

/// The number of a state, if it is live.
fn number_of<W: StoreWorker>(worker: &mut W, live: &Live, named: bool, state: &[u8]) -> Option<u32> {
    let hash = worker.hash(state);
    let key = if named { Key::Name(worker.find(hash, state)?.0) } else { Key::Hash(hash) };
    live.find(key, state)
}

pub(crate) fn accepted_cycle() -> Finding {
    Finding::Explained(Fault::new(ViolationKind::Property, "this cycle can be repeated for ever"))
}

/// The trace that leads to a cycle and once around it.
fn closed(mut prefix: Trace, way: Vec<TraceStep>, around: Vec<TraceStep>) -> Trace {
    prefix.steps.extend(way);
    prefix.loop_start = Some(prefix.steps.len());
    prefix.steps.extend(around);
    prefix
}
