//! The sweep-line method: states with the least progress are expanded first, and states behind the
//! sweep-line are deleted.
//!
//! A measure gives each state a value of progress. States with equal values form a layer. The
//! search expands the layers in ascending order; once a layer is done, its states are deleted. A
//! step to a lower value is a *regress step*. Its target may have been deleted, so the target is
//! kept permanently (it is *persistent*) and is a root of the next sweep, unless it was persistent
//! before. Without regress steps the measure is monotonic, one sweep is enough, and each state is
//! expanded once.
//!
//! From Christensen, Kristensen, Mailund, "A sweep-line method for state space exploration" (2001)
//! and Kristensen, Mailund, "A generalised sweep-line method for safety properties" (2002), with
//! the corrections that `docs/sweepline.md` lists. States within a layer may be expanded in any
//! order, so several workers share a layer.
//!
//! At any time the store contains the current layer, the states found so far of later layers, and
//! the persistent states.

use crate::discovery::{Discoveries, MOST_WORKERS, path};
use crate::expand::Found;
use crate::frontier::{Chunk, Sink, Stash};
use crate::links::Link;
use crate::monitor::{Monitor, WorkerCounts};
use crate::quick::BuildQuick;
use crate::retrace::{Choice, retrace, unviolated, violated};
use crate::rounds::initial_fault;
use crate::sync::lock;
use crate::task::Task;
use contract::{
    Answer, FaultCode, Finding, Fresh, Layered, Outcome, Statistics, StopReason, Store, StoreWorker, Successors, Sweep, System,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The most expressions of a measure.
pub const MEASURE_MAX: usize = 4;

/// A value of progress: the values of the measure's expressions, compared from the first to the
/// last.
pub(crate) type Value = [i64; MEASURE_MAX];

/// The number of successors that are generated before any is inserted, and of states taken at a
/// time.
const BATCH: usize = 512;
const CHUNK: usize = 512;

/// A layer with at least this many waiting states is shared.
const SHARED_STATES: usize = 4096;

/// The layer of the persistent states.
const PERSISTENT: u64 = 0;

/// The number of recently used values whose layers are remembered.
const RECENT: usize = 64;

/// The position of a value among the recent ones.
#[inline]
fn slot(value: &Value) -> usize {
    let spread = value.iter().fold(0_u64, |sum, &part| sum.wrapping_mul(31).wrapping_add(part as u64));
    spread as usize % RECENT
}

/// Explores `system` by the measure whose expressions have these numbers, the most significant
/// first. Without any, all states are in one layer. The store must be empty.
pub fn sweep<S: System + Clone, T: Layered>(system: &S, store: &mut T, measure: &[u32], task: &Task<'_>) -> Outcome {
    let workers = task.threads.clamp(1, MOST_WORKERS);
    let monitor = Monitor::new(task, workers, store);
    let shared =
        Shared { task, monitor: &monitor, measure, names: Mutex::default(), done: AtomicBool::new(false), unmeasured: Mutex::default() };
    let hand = |number: usize| {
        let mut system = system.clone();
        system.give_up_when(monitor.enough(number));
        Hand::new(system, number)
    };
    let mut hands: Vec<Hand<S>> = (0..workers).map(hand).collect();
    let mut sweep = Sweep::default();
    let mut behind = Behind::default();
    let blocks = AtomicU64::new(0);
    hands[0].initial(&shared, store);
    while !shared.is_over() {
        let Some((value, layer)) = next_layer(&mut hands, &mut behind.waiting) else {
            // The sweep is over. The targets of regress steps are the roots of the next one.
            for hand in &mut hands {
                for (value, stash) in hand.roots.drain(..) {
                    behind.waiting.entry(value).or_default().push(stash);
                }
            }
            if behind.waiting.is_empty() {
                break;
            }
            sweep.sweeps += 1;
            sweep.peak_states = sweep.peak_states.max(store.len());
            behind.persistent.clear();
            hands.iter().for_each(|hand| behind.persistent.extend(&hand.persistent_layers));
            store.drop_layers(&mut |name| name != PERSISTENT);
            continue;
        };
        let present = Present { value, name: shared.name(value), persistent: &behind.persistent };
        run_layer(&mut hands, &shared, store, &present, layer);
        sweep.peak_states = sweep.peak_states.max(store.len());
        store.drop_layers(&mut |name| name == present.name);
        for hand in &mut hands {
            if let Err(error) = hand.log.flush(task.spill.as_ref(), &blocks) {
                monitor.stop(StopReason::Storage(error.to_string()));
            }
        }
    }
    sweep.sweeps += 1;
    sweep.layers = lock(&shared.names).len() as u64;
    conclude(hands, system, store, &shared, sweep)
}

/// The waiting states, and the data kept from earlier sweeps.
#[derive(Default)]
struct Behind {
    waiting: BTreeMap<Value, Vec<Stash>>,
    /// The names of the layers that have persistent states.
    persistent: HashSet<u64, BuildQuick>,
}

/// Collects the states that the workers have found, and takes the layer with the least progress.
fn next_layer<S>(hands: &mut [Hand<S>], waiting: &mut BTreeMap<Value, Vec<Stash>>) -> Option<(Value, Vec<Stash>)> {
    for hand in hands {
        for (value, stash) in hand.ahead.drain().map(|(_, ahead)| ahead) {
            waiting.entry(value).or_default().push(stash);
        }
    }
    waiting.pop_first()
}

/// The layer that is being expanded.
struct Present<'a> {
    value: Value,
    name: u64,
    persistent: &'a HashSet<u64, BuildQuick>,
}

/// Expands a layer, and the states it leads to in the same layer, until no state waits.
fn run_layer<S: System + Clone, T: Layered>(
    hands: &mut [Hand<S>],
    shared: &Shared<'_>,
    store: &T,
    present: &Present<'_>,
    mut layer: Vec<Stash>,
) {
    while !layer.is_empty() && !shared.is_over() {
        let states: usize = layer.iter().map(Stash::len).sum();
        let queue = Mutex::new(layer);
        if hands.len() > 1 && states >= SHARED_STATES {
            std::thread::scope(|scope| {
                let (first, others) = hands.split_first_mut().map_or((None, &mut [][..]), |(first, others)| (Some(first), others));
                let queue = &queue;
                for hand in others {
                    let help = move || hand.work(shared, store, present, queue);
                    if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, help) {
                        shared.monitor.notice(&format!("a thread could not be started: {error}"));
                    }
                }
                first.into_iter().for_each(|hand| hand.work(shared, store, present, queue));
            });
        } else {
            hands[0].work(shared, store, present, &queue);
        }
        layer = queue.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        layer.extend(hands.iter_mut().filter_map(|hand| hand.ahead.remove(&present.name)).map(|(_, stash)| stash));
        layer.retain(|stash| stash.len() > 0);
    }
}

/// The data that all workers share.
struct Shared<'a> {
    task: &'a Task<'a>,
    monitor: &'a Monitor<'a>,
    measure: &'a [u32],
    /// The name of the layer of each value; the persistent states have the first.
    names: Mutex<HashMap<Value, u64, BuildQuick>>,
    /// A violation was found.
    done: AtomicBool,
    /// The fault because of which the measure could not be evaluated.
    unmeasured: Mutex<Option<FaultCode>>,
}

impl Shared<'_> {
    fn name(&self, value: Value) -> u64 {
        let mut names = lock(&self.names);
        let next = names.len() as u64 + 1;
        *names.entry(value).or_insert(next)
    }

    fn is_over(&self) -> bool {
        self.done.load(Ordering::Relaxed) || self.monitor.stopped()
    }
}

/// The numbers of the successors that go to one layer.
#[derive(Default)]
struct Group {
    name: u64,
    entries: Vec<u32>,
}

/// Successors by layer, in the order in which the layers first occur.
#[derive(Default)]
struct Groups {
    groups: Vec<Group>,
    used: usize,
    slots: HashMap<u64, usize, BuildQuick>,
    /// The layer that was used last.
    last: usize,
}

impl Groups {
    fn begin(&mut self) {
        (self.used, self.last) = (0, 0);
        self.slots.clear();
    }

    #[inline]
    fn push(&mut self, name: u64, index: u32) {
        if self.last >= self.used || self.groups[self.last].name != name {
            self.last = *self.slots.entry(name).or_insert(self.used);
            if self.last == self.used {
                if self.used == self.groups.len() {
                    self.groups.push(Group::default());
                }
                let group = &mut self.groups[self.used];
                group.name = name;
                group.entries.clear();
                self.used += 1;
            }
        }
        self.groups[self.last].entries.push(index);
    }

    fn all(&self) -> &[Group] {
        &self.groups[..self.used]
    }
}

/// One worker.
struct Hand<S> {
    system: S,
    number: usize,
    out: Successors,
    /// The value of each entry of `out`, and the entries by layer.
    values_of: Vec<Value>,
    groups: Groups,
    /// The entries that go to one layer, their hashes there, and the new ones.
    batch: Successors,
    hashes: Vec<u64>,
    fresh: Vec<Fresh>,
    /// The link, depth and first entry of each source of `out`.
    sources: Vec<(Link, u64, usize)>,
    values: Vec<i64>,
    state: Vec<u8>,
    /// Recent values, each with the name of its layer; no such layer has the name 0 of the
    /// persistent states.
    recent: [(Value, u64); RECENT],
    names: HashMap<Value, u64, BuildQuick>,
    /// States found in the current layer and in later ones, by the name of their layer.
    ahead: HashMap<u64, (Value, Stash), BuildQuick>,
    /// Roots of the next sweep.
    roots: Vec<(Value, Stash)>,
    persistent_layers: HashSet<u64, BuildQuick>,
    log: Discoveries,
    found: Option<Found>,
    states: u64,
    transitions: u64,
    expanded: u64,
    persistent: u64,
    regress: u64,
    depth: u64,
    truncated: bool,
}

impl<S: System> Hand<S> {
    fn new(system: S, number: usize) -> Self {
        Hand {
            system,
            number,
            out: Successors::new(),
            values_of: Vec::new(),
            groups: Groups::default(),
            batch: Successors::new(),
            hashes: Vec::new(),
            fresh: Vec::new(),
            sources: Vec::new(),
            values: Vec::new(),
            state: Vec::new(),
            recent: [(Value::default(), PERSISTENT); RECENT],
            names: HashMap::default(),
            ahead: HashMap::default(),
            roots: Vec::new(),
            persistent_layers: HashSet::default(),
            log: Discoveries::new(number),
            found: None,
            states: 0,
            transitions: 0,
            expanded: 0,
            persistent: 0,
            regress: 0,
            depth: 0,
            truncated: false,
        }
    }

    /// Inserts the initial states.
    fn initial<T: Layered>(&mut self, shared: &Shared<'_>, store: &T) {
        let mut worker = store.worker();
        // The persistent states get a store of their own, however many layers there will be.
        T::layer(&mut worker, PERSISTENT);
        let mut out = std::mem::take(&mut self.out);
        self.system.initial(&mut out);
        for (index, (entry, state)) in out.iter().enumerate() {
            let mut answer = initial_fault(shared.task.property, entry);
            if answer == Answer::Continue
                && let Some(state) = state
            {
                let Some((value, name)) = self.place(shared, state) else { break };
                let layer = T::layer(&mut worker, name);
                let hash = layer.hash(state);
                let Ok(inserted) = layer.insert(hash, state) else {
                    shared.monitor.refused();
                    break;
                };
                if inserted.new {
                    self.states += 1;
                    answer = if shared.task.property.interest().states { shared.task.property.state(state) } else { answer };
                    if answer == Answer::Continue {
                        let link = self.log.push(Link::NONE, index as u32);
                        self.ahead.entry(name).or_insert_with(|| (value, Stash::default())).1.push(inserted.id, link, 0, Some(state));
                    }
                }
            }
            if let Answer::Stop(finding) = answer {
                let at = self.log.push(Link::NONE, index as u32);
                self.keep(shared, Found { finding, at, step: None, length: 0 });
            }
        }
        out.clear();
        self.out = out;
    }

    /// Takes and expands states of a layer until none waits.
    fn work<T: Layered>(&mut self, shared: &Shared<'_>, store: &T, present: &Present<'_>, queue: &Mutex<Vec<Stash>>) {
        let mut worker = store.worker();
        loop {
            let chunk = {
                let mut queue = lock(queue);
                queue.retain(|stash| stash.len() > 0);
                queue.last_mut().and_then(|stash| stash.take(CHUNK))
            };
            // States that this worker found in the same layer follow.
            let Some(chunk) = chunk.or_else(|| self.ahead.get_mut(&present.name)?.1.take(CHUNK)) else { return };
            let mut index = 0;
            while index < chunk.waiting.len() {
                index = self.generate::<T>(shared, &mut worker, present, &chunk, index);
                let given_up = self.out.is_cut_short();
                let refused = given_up || self.insert::<T>(shared, &mut worker, present).is_err();
                if refused {
                    shared.monitor.refused();
                }
                if shared.done.load(Ordering::Relaxed) || !shared.monitor.poll(self.number, &self.standing(&chunk), store) {
                    return;
                }
            }
        }
    }

    fn standing(&self, chunk: &Chunk) -> WorkerCounts {
        let ahead = self.ahead.values().map(|(_, stash)| stash).chain(self.roots.iter().map(|(_, stash)| stash));
        let (waiting, bytes) = ahead.fold((0, 0), |(len, bytes), stash| (len + stash.len() as u64, bytes + stash.bytes()));
        WorkerCounts {
            states: self.states,
            transitions: self.transitions,
            waiting: waiting + chunk.waiting.len() as u64,
            depth: self.depth,
            search_bytes: bytes + chunk.size() + self.log.bytes() + self.out.bytes() as u64,
        }
    }

    /// The first pass generates the successors of states of `chunk` from number `index` on, until a
    /// batch is full. Returns the number of the first state that was not expanded.
    fn generate<T: Layered>(
        &mut self,
        shared: &Shared<'_>,
        worker: &mut T::Worker<'_>,
        present: &Present<'_>,
        chunk: &Chunk,
        mut index: usize,
    ) -> usize {
        self.out.clear();
        self.sources.clear();
        let most_depth = shared.task.limits.depth.unwrap_or(u64::MAX);
        let layer = T::layer(worker, present.name);
        while index < chunk.waiting.len() && self.out.len() < BATCH {
            let (id, link, depth) = (chunk.waiting[index], chunk.link(index), chunk.depth(index, 0));
            index += 1;
            if depth >= most_depth {
                self.truncated = true;
                continue;
            }
            self.depth = self.depth.max(depth);
            let state = match chunk.state(index - 1).or_else(|| layer.view(id)) {
                Some(state) => state,
                None => {
                    layer.read(id, &mut self.state);
                    &self.state
                }
            };
            let first = self.out.len();
            self.out.begin_source(self.sources.len() as u32);
            self.system.successors(state, &mut self.out);
            if self.out.is_cut_short() {
                return index;
            }
            self.sources.push((link, depth, first));
            self.expanded += 1;
            if self.out.len() == first {
                let valid = self.system.is_valid_end(state);
                if let Answer::Stop(finding) = shared.task.property.terminal(state, valid) {
                    self.keep(shared, Found { finding, at: link, step: None, length: depth });
                }
            }
        }
        index
    }

    /// The second and third pass measure, hash and insert the generated successors.
    fn insert<T: Layered>(&mut self, shared: &Shared<'_>, worker: &mut T::Worker<'_>, present: &Present<'_>) -> Result<(), ()> {
        let out = std::mem::take(&mut self.out);
        let result = self.insert_all::<T>(shared, worker, present, &out);
        self.out = out;
        result
    }

    fn insert_all<T: Layered>(
        &mut self,
        shared: &Shared<'_>,
        worker: &mut T::Worker<'_>,
        present: &Present<'_>,
        out: &Successors,
    ) -> Result<(), ()> {
        self.values_of.clear();
        self.groups.begin();
        let mut faults = false;
        for (index, entry) in out.entries().iter().enumerate() {
            self.values_of.push(present.value);
            if let Some(code) = entry.fault() {
                faults = true;
                match shared.task.property.fault(code, entry.has_state()) {
                    Answer::Continue => {}
                    Answer::Prune => continue,
                    Answer::Stop(finding) => {
                        let (link, depth, first) = self.sources[entry.source as usize];
                        let step = Some(Choice::Index((index - first) as u32));
                        self.keep(shared, Found { finding, at: link, step, length: depth + 1 });
                        continue;
                    }
                }
            }
            let Some(state) = out.state(entry) else { continue };
            self.transitions += 1;
            let (value, mut name) = self.place(shared, state).ok_or(())?;
            self.values_of[index] = value;
            if value < present.value {
                self.regress += 1;
                name = PERSISTENT;
            } else if present.persistent.contains(&name) {
                let layer = T::layer(worker, PERSISTENT);
                let hash = layer.hash(state);
                if layer.find(hash, state).is_some() {
                    continue;
                }
            }
            self.groups.push(name, index as u32);
        }
        let groups = std::mem::take(&mut self.groups);
        let inserted = groups.all().iter().try_for_each(|group| {
            let whole = !faults && group.entries.len() == out.len();
            self.insert_group::<T>(shared, worker, group, whole, out)
        });
        self.groups = groups;
        inserted
    }

    /// Inserts successors of one layer together, which its store does fastest. `whole` says that
    /// these are all successors.
    fn insert_group<T: Layered>(
        &mut self,
        shared: &Shared<'_>,
        worker: &mut T::Worker<'_>,
        group: &Group,
        whole: bool,
        out: &Successors,
    ) -> Result<(), ()> {
        let mut copied = std::mem::take(&mut self.batch);
        copied.clear();
        if !whole {
            for &index in &group.entries {
                let entry = &out.entries()[index as usize];
                out.state(entry).into_iter().for_each(|state| copied.push(state, entry.action));
            }
        }
        let batch = if whole { out } else { &copied };
        let layer = T::layer(worker, group.name);
        self.hashes.clear();
        layer.hash_batch(batch, &mut self.hashes);
        let mut fresh = std::mem::take(&mut self.fresh);
        let inserted = layer.insert_batch(batch, &self.hashes, 0, &mut fresh);
        let slow = layer.reads_slowly();
        for Fresh { entry, kept, id } in fresh.drain(..) {
            let index = if whole { entry as usize } else { group.entries[entry as usize] as usize };
            let entry = &out.entries()[index];
            let Some(state) = out.state(entry) else { continue };
            let (link, depth, first) = self.sources[entry.source as usize];
            let step = (index - first) as u32;
            self.states += 1;
            if shared.task.property.interest().states {
                match shared.task.property.state(state) {
                    Answer::Continue => {}
                    Answer::Prune => continue,
                    Answer::Stop(finding) => {
                        self.keep(shared, Found { finding, at: link, step: Some(Choice::Index(step)), length: depth + 1 });
                        continue;
                    }
                }
            }
            let link = self.log.push(link, step);
            let value = self.values_of[index];
            if group.name == PERSISTENT {
                self.persistent += 1;
                let own = self.name_of(shared, value);
                self.persistent_layers.insert(own);
                if self.roots.last().is_none_or(|(last, _)| *last != value) {
                    self.roots.push((value, Stash::default()));
                }
                if let Some((_, stash)) = self.roots.last_mut() {
                    stash.push(id, link, depth + 1, Some(state));
                }
            } else {
                let (_, stash) = self.ahead.entry(group.name).or_insert_with(|| (value, Stash::default()));
                stash.push(id, link, depth + 1, if kept && !slow { None } else { Some(state) });
            }
        }
        (self.batch, self.fresh) = (copied, fresh);
        inserted.map(drop).map_err(drop)
    }

    /// The value of a state and the name of its layer; `None` if the measure cannot be evaluated.
    #[inline]
    fn place(&mut self, shared: &Shared<'_>, state: &[u8]) -> Option<(Value, u64)> {
        let mut value = Value::default();
        if !shared.measure.is_empty() {
            self.values.clear();
            if let Err(fault) = self.system.values(state, shared.measure, &mut self.values) {
                lock(&shared.unmeasured).get_or_insert(fault);
                shared.done.store(true, Ordering::Relaxed);
                return None;
            }
            value.iter_mut().zip(&self.values).for_each(|(to, from)| *to = *from);
        }
        let slot = slot(&value);
        let (known, name) = self.recent[slot];
        if name != PERSISTENT && known == value {
            return Some((value, name));
        }
        let name = self.name_of(shared, value);
        self.recent[slot] = (value, name);
        Some((value, name))
    }

    fn name_of(&mut self, shared: &Shared<'_>, value: Value) -> u64 {
        *self.names.entry(value).or_insert_with(|| shared.name(value))
    }

    fn keep(&mut self, shared: &Shared<'_>, found: Found) {
        shared.done.store(true, Ordering::Relaxed);
        if self.found.as_ref().is_none_or(|best| found.length < best.length) {
            self.found = Some(found);
        }
    }
}

/// Combines the results of the workers.
fn conclude<S: System + Clone, T: Store>(hands: Vec<Hand<S>>, system: &S, store: &T, shared: &Shared<'_>, mut sweep: Sweep) -> Outcome {
    let mut statistics = Statistics::default();
    let (mut found, mut truncated): (Option<Found>, bool) = (None, false);
    let mut logs = Vec::new();
    for hand in hands {
        statistics.states += hand.states;
        statistics.transitions += hand.transitions;
        statistics.depth = statistics.depth.max(hand.depth);
        statistics.expanded_by_worker.push(hand.expanded);
        sweep.expanded_states += hand.expanded;
        sweep.persistent_states += hand.persistent;
        sweep.regress_steps += hand.regress;
        truncated |= hand.truncated;
        if let Some(own) = hand.found
            && found.as_ref().is_none_or(|best| own.length < best.length)
        {
            found = Some(own);
        }
        logs.push(hand.log);
    }
    statistics.sweep = Some(sweep);
    let verdict = match found {
        Some(Found { finding, at, step, .. }) => {
            let mut system = system.clone();
            system.give_up_when(shared.monitor.enough(0));
            let trace = path(&logs, shared.task.spill.as_ref(), at).and_then(|mut path| {
                path.extend(step);
                retrace(&mut system, &path, shared.monitor.patience())
            });
            violated(&system, finding, trace)
        }
        None => {
            let unmeasured = lock(&shared.unmeasured).map(|code| unmeasured(system, code));
            unviolated(unmeasured.or_else(|| shared.monitor.reason()), truncated, T::EXACT)
        }
    };
    shared.monitor.conclude(&mut statistics, store, Duration::ZERO);
    Outcome { verdict, statistics }
}

/// The reason to stop if the measure cannot be evaluated.
pub(crate) fn unmeasured<S: System>(system: &S, code: FaultCode) -> StopReason {
    let fault = crate::retrace::explain(system, Finding::Fault(code));
    StopReason::Measure(format!("the measure has no value in some state: {}", fault.message))
}
