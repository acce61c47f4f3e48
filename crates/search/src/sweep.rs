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
use crate::layer_groups::{Group, Groups};
use crate::layer_queue::{LEAST_GIVEN, LayerQueue};
use crate::links::Link;
use crate::monitor::{Monitor, WorkerCounts};
use crate::quick::BuildQuick;
use crate::retrace::{Choice, retrace, unviolated, violated};
use crate::rounds::initial_fault;
use crate::sync::lock;
use crate::task::Task;
use contract::{
    Answer, FaultCode, Finding, Fresh, Layered, Outcome, StateId, Statistics, StopReason, Store, StoreWorker, Successor, Successors, Sweep,
    System,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::BuildHasher;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The most expressions of a measure.
pub const MEASURE_MAX: usize = 4;

/// A value of progress: the values of the measure's expressions, compared from the first to the
/// last.
pub(crate) type Value = [i64; MEASURE_MAX];

/// The number of successors that are generated before any is inserted, and of states taken at a
/// time.
const BATCH: usize = 512;
const CHUNK: usize = 512;

/// A layer is shared from this many states on, of which enough wait to give some away.
const SHARED_STATES: u64 = 4096;
const LEAST_SHARED: usize = 2 * LEAST_GIVEN;

/// The layer of the persistent states.
pub(crate) const PERSISTENT: u64 = 0;

/// The number of expansions after which a worker reports.
const POLL_EVERY: u64 = 64;

/// The number of states that a system expands at once, and the time after which a batch is cut
/// short; see `expand`.
const LOOK_EVERY: usize = 16;
const SLOW: Duration = Duration::from_millis(5);

/// Explores `system` by the measure whose expressions have these numbers, the most significant
/// first. Without any, all states are in one layer. The store must be empty.
pub fn sweep<S: System + Clone, T: Layered>(system: &S, store: &mut T, measure: &[u32], task: &Task<'_>) -> Outcome {
    let workers = task.threads.clamp(1, MOST_WORKERS);
    // The sweep itself compares the number of states with its limit: the monitor looks at times
    // that differ from run to run.
    let unbounded = Task { states: None, ..task.clone() };
    let monitor = Monitor::new(&unbounded, workers, store);
    let shared = Shared {
        task,
        monitor: &monitor,
        measure,
        names: Mutex::default(),
        waiting: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
        states: AtomicU64::new(0),
        done: AtomicBool::new(false),
        unmeasured: Mutex::default(),
    };
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
        let next = behind.next_layer(&mut hands);
        behind.tell(&shared, &hands);
        let Some((value, layer)) = next else {
            // The sweep is over. The targets of regress steps are the roots of the next one.
            if !behind.next_sweep(&mut hands) {
                break;
            }
            sweep.sweeps += 1;
            sweep.peak_states = sweep.peak_states.max(store.len());
            store.drop_layers(&mut |name| name != PERSISTENT);
            continue;
        };
        let present = Present { value, name: shared.name(value), persistent: &behind.persistent };
        run_layer(&mut hands, &shared, store, &present, layer);
        sweep.peak_states = sweep.peak_states.max(store.len());
        store.drop_layer(present.name);
        lock(&shared.names).of.remove(&value);
        for hand in &mut hands {
            hand.names.remove(&value);
            if let Err(error) = hand.log.flush(task.spill.as_ref(), &blocks) {
                monitor.stop(StopReason::Storage(error.to_string()));
            }
        }
    }
    sweep.sweeps += 1;
    sweep.layers = lock(&shared.names).seen.len() as u64;
    conclude(hands, system, store, &shared, sweep)
}

/// The waiting states, and the data kept from earlier sweeps.
#[derive(Default)]
struct Behind {
    /// The layers in which states wait that were found in this sweep, by name. The workers keep the
    /// states.
    waiting: BTreeMap<Value, u64>,
    /// Roots of this sweep that were not visited yet, the least progress last.
    roots: Roots,
    /// The values of the layers that have persistent states.
    persistent: HashSet<Value, BuildQuick>,
}

impl Behind {
    /// Takes the layer with the least progress. The states of later layers stay with the workers
    /// that found them, so that they need not be moved for each layer that is done before.
    fn next_layer<S: System>(&mut self, hands: &mut [Hand<S>]) -> Option<(Value, Vec<Stash>)> {
        for hand in &mut *hands {
            let Hand { begun, ahead, .. } = hand;
            // The states of the layer that was just expanded are gone.
            self.waiting.extend(begun.drain(..).filter(|(_, name)| ahead.contains_key(name)));
        }
        let found = self.waiting.first_key_value().map(|(value, _)| *value);
        let least = [found, self.roots.least()].into_iter().flatten().min()?;
        let mut layer = Vec::new();
        if let Some(name) = self.waiting.remove(&least) {
            layer.extend(hands.iter_mut().filter_map(|hand| hand.remove_ahead(name)));
        }
        layer.extend(self.roots.take(least));
        Some((least, layer))
    }

    /// Makes the targets of regress steps roots. Returns whether there are any.
    fn next_sweep<S>(&mut self, hands: &mut [Hand<S>]) -> bool {
        self.roots = Roots::default();
        for hand in hands {
            self.persistent.extend(hand.persistent_values.drain());
            self.roots.append(std::mem::take(&mut hand.roots));
        }
        self.roots.sort();
        !self.roots.states.is_empty()
    }

    /// Publishes the number and the memory of the waiting states. The first worker always works,
    /// and reports for itself.
    fn tell<S: System>(&self, shared: &Shared<'_>, hands: &[Hand<S>]) {
        let names = lock(&shared.names);
        let tables = (names.of.capacity() + self.persistent.capacity()) * (size_of::<Value>() + 8) + names.seen.capacity() * 9;
        shared.waiting.store(self.roots.states.len() as u64, Ordering::Relaxed);
        shared.bytes.store(self.roots.bytes() + tables as u64, Ordering::Relaxed);
        let none = Chunk::default();
        hands.iter().skip(1).for_each(|hand| shared.monitor.publish(hand.number, &hand.standing(shared, &none)));
    }
}

/// The approximate memory of a stash of a layer without its states.
const STASH_BYTES: u64 = 384;

/// The number and the size of chunks whose memory is used again. A layer of few states may get such
/// a chunk, so they are small.
const SPARE_CHUNKS: usize = 32;
const SPARE_BYTES: u64 = 4096;

/// Roots of a sweep. Each may have a value of its own, so they take little memory.
#[derive(Default)]
struct Roots {
    states: Vec<Root>,
    /// The states, one directly after the other.
    bytes: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Root {
    value: Value,
    link: Link,
    depth: u32,
    length: u32,
    start: usize,
}

impl Roots {
    fn push(&mut self, value: Value, link: Link, depth: u64, state: &[u8]) {
        let (depth, length) = (u32::try_from(depth).unwrap_or(u32::MAX), state.len() as u32);
        self.states.push(Root { value, link, depth, length, start: self.bytes.len() });
        self.bytes.extend_from_slice(state);
    }

    fn append(&mut self, other: Roots) {
        let before = self.bytes.len();
        self.states.extend(other.states.into_iter().map(|root| Root { start: root.start + before, ..root }));
        self.bytes.extend(other.bytes);
    }

    /// Sorts them, the least progress last.
    fn sort(&mut self) {
        self.states.sort_by_key(|root| std::cmp::Reverse(root.value));
    }

    /// The least value, if they are sorted.
    fn least(&self) -> Option<Value> {
        self.states.last().map(|root| root.value)
    }

    /// Takes the roots with this value, if it is the least.
    fn take(&mut self, value: Value) -> Option<Stash> {
        let first = self.states.iter().rposition(|root| root.value != value).map_or(0, |last| last + 1);
        let taken = self.states.split_off(first);
        let mut stash = Stash::default();
        for Root { link, depth, length, start, .. } in &taken {
            let state = &self.bytes[*start..*start + *length as usize];
            stash.push(StateId::default(), *link, u64::from(*depth), Some(state));
        }
        (!taken.is_empty()).then_some(stash)
    }

    fn bytes(&self) -> u64 {
        (self.states.capacity() * size_of::<Root>() + self.bytes.capacity()) as u64
    }
}

/// The layer that is being expanded.
struct Present<'a> {
    value: Value,
    name: u64,
    persistent: &'a HashSet<Value, BuildQuick>,
}

/// Expands a layer, and the states it leads to in the same layer, until no state waits.
fn run_layer<S: System + Clone, T: Layered>(
    hands: &mut [Hand<S>],
    shared: &Shared<'_>,
    store: &T,
    present: &Present<'_>,
    mut layer: Vec<Stash>,
) {
    let expanded = |hands: &[Hand<S>]| hands.iter().map(|hand| hand.expanded).sum::<u64>();
    let before = expanded(hands);
    while !layer.is_empty() && !shared.is_over() {
        let states: usize = layer.iter().map(Stash::len).sum();
        let known = expanded(hands) - before;
        if hands.len() > 1 && is_shared(known, states) {
            let queue = LayerQueue::new(layer, hands.len());
            std::thread::scope(|scope| {
                let (first, others) = hands.split_first_mut().map_or((None, &mut [][..]), |(first, others)| (Some(first), others));
                let queue = &queue;
                for hand in others {
                    let help = move || hand.work(shared, store, present, queue, u64::MAX);
                    if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, help) {
                        queue.leave();
                        shared.monitor.notice(&format!("a thread could not be started: {error}"));
                    }
                }
                first.into_iter().for_each(|hand| hand.work(shared, store, present, queue, u64::MAX));
            });
            layer = queue.into_stashes();
        } else {
            let queue = LayerQueue::new(layer, 1);
            // Alone until the layer is worth sharing.
            let known = if hands.len() > 1 { known } else { u64::MAX };
            hands[0].work(shared, store, present, &queue, known);
            layer = queue.into_stashes();
        }
        layer.retain(|stash| stash.len() > 0);
        for hand in &mut *hands {
            match hand.remove_ahead(present.name) {
                Some(stash) if stash.len() > 0 => layer.push(stash),
                Some(stash) => stash.into_chunks().into_iter().for_each(|chunk| hand.recycle(chunk)),
                None => {}
            }
        }
    }
}

/// Whether a layer is shared of which so many states are expanded and so many wait.
fn is_shared(expanded: u64, waiting: usize) -> bool {
    waiting >= LEAST_SHARED && expanded + waiting as u64 >= SHARED_STATES
}

/// The data that all workers share.
struct Shared<'a> {
    task: &'a Task<'a>,
    monitor: &'a Monitor<'a>,
    measure: &'a [u32],
    names: Mutex<Names>,
    /// The number of states that no worker has taken, and the memory of these states and of names.
    waiting: AtomicU64,
    bytes: AtomicU64,
    /// The number of states of which the workers have told.
    states: AtomicU64,
    /// A violation was found.
    done: AtomicBool,
    /// The fault because of which the measure could not be evaluated.
    unmeasured: Mutex<Option<FaultCode>>,
}

/// The names of layers.
#[derive(Default)]
struct Names {
    /// The name of the layer of each value, until it is deleted.
    of: HashMap<Value, u64, BuildQuick>,
    /// The last name that was given. The persistent states have the name 0.
    last: u64,
    /// The hashes of all values that have occurred. There may be very many values.
    seen: HashSet<u64, BuildQuick>,
}

impl Shared<'_> {
    fn name(&self, value: Value) -> u64 {
        let Names { of, last, seen } = &mut *lock(&self.names);
        *of.entry(value).or_insert_with(|| {
            seen.insert(BuildQuick::default().hash_one(value));
            *last += 1;
            *last
        })
    }

    fn is_over(&self) -> bool {
        self.done.load(Ordering::Relaxed) || self.monitor.stopped()
    }

    /// Counts `more` states, and ends the search if there are as many as were asked for.
    fn count(&self, more: u64) {
        let states = self.states.fetch_add(more, Ordering::Relaxed) + more;
        if self.task.states.is_some_and(|most| states >= most) {
            self.monitor.stop(StopReason::States);
        }
    }
}

/// A state that is expanded.
#[derive(Clone, Copy)]
struct SourceState {
    link: Link,
    depth: u64,
    /// Its first entry in the buffer.
    first: usize,
}

/// One worker.
struct Hand<S> {
    system: S,
    number: usize,
    out: Successors,
    /// The values of the entries of `out`, and which of them go to which layer.
    values: Vec<i64>,
    groups: Groups,
    /// The hashes of entries that go to one layer, and those that are new there.
    hashes: Vec<u64>,
    fresh: Vec<Fresh>,
    sources: Vec<SourceState>,
    state: Vec<u8>,
    /// The last batch took long; and when the clock was last read.
    slow: bool,
    clock: Instant,
    /// The expansions and the states when they were last reported.
    polled: u64,
    counted: u64,
    names: HashMap<Value, u64, BuildQuick>,
    /// States found in the current layer and in later ones, by the name of their layer; how many
    /// there are, and their memory.
    ahead: HashMap<u64, Stash, BuildQuick>,
    ahead_states: u64,
    ahead_bytes: u64,
    /// The layers for which states began to wait since the current layer was chosen.
    begun: Vec<(Value, u64)>,
    /// Memory for waiting states.
    spare: Vec<Chunk>,
    /// Roots of the next sweep, and their values.
    roots: Roots,
    persistent_values: HashSet<Value, BuildQuick>,
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
            values: Vec::new(),
            groups: Groups::default(),
            hashes: Vec::new(),
            fresh: Vec::new(),
            sources: Vec::new(),
            state: Vec::new(),
            slow: true,
            clock: Instant::now(),
            polled: 0,
            counted: 0,
            names: HashMap::default(),
            ahead: HashMap::default(),
            ahead_states: 0,
            ahead_bytes: 0,
            begun: Vec::new(),
            spare: Vec::new(),
            roots: Roots::default(),
            persistent_values: HashSet::default(),
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
        let mut out = std::mem::take(&mut self.out);
        self.system.initial(&mut out);
        for (index, (entry, state)) in out.iter().enumerate() {
            let mut answer = initial_fault(shared.task.property, entry);
            if answer == Answer::Continue
                && let Some(state) = state
            {
                let Some(value) = self.value(shared, state) else { break };
                let name = self.name_of(shared, value);
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
                        let before = self.begin_ahead(name, value, false);
                        if let Some(stash) = self.ahead.get_mut(&name) {
                            stash.push(inserted.id, link, 0, Some(state));
                            self.ahead_bytes += stash.bytes() - before;
                            self.ahead_states += 1;
                        }
                    }
                }
            }
            if let Answer::Stop(finding) = answer {
                let at = self.log.push(Link::NONE, index as u32);
                keep(shared, &mut self.found, Found { finding, at, step: None, length: 0 });
            }
        }
        out.clear();
        self.out = out;
    }

    /// Takes and expands states of a layer until none waits. A worker that is `alone` after so many
    /// states of the layer were expanded, and not for good, returns when it is worth sharing.
    fn work<T: Layered>(&mut self, shared: &Shared<'_>, store: &T, present: &Present<'_>, queue: &LayerQueue, alone: u64) {
        let mut worker = store.worker();
        let mut turn = queue.turn();
        let begun = self.expanded;
        loop {
            // States that this worker found in the same layer follow.
            let chunk = turn.take(CHUNK).or_else(|| self.take_ahead(present.name));
            let Some(mut chunk) = chunk.or_else(|| turn.wait(CHUNK, &|| shared.is_over())) else { return };
            let mut index = 0;
            while index < chunk.waiting.len() {
                index = self.generate::<T>(shared, &mut worker, present, &chunk, index);
                let given_up = self.out.is_cut_short();
                let refused = given_up || self.insert::<T>(shared, &mut worker, present).is_err();
                if refused {
                    shared.monitor.refused();
                }
                // In a layer of few states, the batches are small.
                if self.slow || self.expanded - self.polled >= POLL_EVERY {
                    self.polled = self.expanded;
                    let mut standing = self.standing(shared, &chunk);
                    if self.number == 0 {
                        let (states, bytes) = queue.standing();
                        (standing.waiting, standing.search_bytes) = (standing.waiting + states, standing.search_bytes + bytes);
                    }
                    shared.monitor.poll(self.number, &standing, store);
                }
                if shared.is_over() {
                    return;
                }
            }
            shared.count(self.states - self.counted);
            self.counted = self.states;
            chunk.clear();
            self.recycle(chunk);
            if queue.is_wanted()
                && let Some(chunk) = self.halve_ahead(present.name)
            {
                queue.give(chunk);
            }
            let waiting = || self.ahead.get(&present.name).map_or(0, Stash::len) + queue.standing().0 as usize;
            if alone != u64::MAX && is_shared(alone + self.expanded - begun, waiting()) {
                return;
            }
        }
    }

    /// Keeps the memory of an empty chunk.
    fn recycle(&mut self, chunk: Chunk) {
        if self.spare.len() < SPARE_CHUNKS && (1..=SPARE_BYTES).contains(&chunk.size()) {
            self.spare.push(chunk);
        }
    }

    /// Makes sure that states can wait for a layer. `kept` says that the store keeps their bytes.
    /// Returns the memory of those that wait already.
    fn begin_ahead(&mut self, name: u64, value: Value, kept: bool) -> u64 {
        if let Some(stash) = self.ahead.get(&name) {
            return stash.bytes();
        }
        let stash = Stash::with(self.spare.pop().unwrap_or_default(), kept);
        let bytes = stash.bytes();
        self.ahead_bytes += bytes + STASH_BYTES;
        self.begun.push((value, name));
        self.ahead.insert(name, stash);
        bytes
    }

    /// Takes some of the states that this worker has found in a layer.
    fn take_ahead(&mut self, name: u64) -> Option<Chunk> {
        let stash = self.ahead.get_mut(&name)?;
        let (states, bytes) = (stash.len() as u64, stash.bytes());
        let chunk = stash.take(CHUNK, &mut self.spare);
        self.ahead_states -= states - stash.len() as u64;
        self.ahead_bytes = self.ahead_bytes + stash.bytes() - bytes;
        chunk
    }

    /// Takes half of the states that this worker has found in a layer, if there are enough.
    fn halve_ahead(&mut self, name: u64) -> Option<Chunk> {
        let stash = self.ahead.get_mut(&name).filter(|stash| stash.len() >= LEAST_GIVEN)?;
        let bytes = stash.bytes();
        let chunk = stash.halve();
        self.ahead_states -= chunk.waiting.len() as u64;
        self.ahead_bytes = self.ahead_bytes + stash.bytes() - bytes;
        Some(chunk)
    }

    /// Takes all states that this worker has found in a layer.
    fn remove_ahead(&mut self, name: u64) -> Option<Stash> {
        let stash = self.ahead.remove(&name)?;
        self.ahead_states -= stash.len() as u64;
        self.ahead_bytes -= stash.bytes() + STASH_BYTES;
        Some(stash)
    }

    fn standing(&self, shared: &Shared<'_>, chunk: &Chunk) -> WorkerCounts {
        // The first worker also reports the numbers that all workers share.
        let all = |of: &AtomicU64| if self.number == 0 { of.load(Ordering::Relaxed) } else { 0 };
        let values = self.persistent_values.capacity() * size_of::<Value>();
        let own = chunk.size()
            + self.roots.bytes()
            + self.log.bytes()
            + (self.out.bytes() + values) as u64
            + self.spare.len() as u64 * SPARE_BYTES;
        WorkerCounts {
            states: self.states,
            transitions: self.transitions,
            waiting: self.ahead_states + chunk.waiting.len() as u64 + self.roots.states.len() as u64 + all(&shared.waiting),
            depth: self.depth,
            search_bytes: self.ahead_bytes + own + all(&shared.bytes),
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
        if self.slow {
            self.clock = Instant::now();
        }
        while index < chunk.waiting.len() && self.out.len() < BATCH {
            if !self.sources.is_empty() {
                // The clock was perhaps read some batches ago. Then this one is cut short for
                // nothing, which changes no order.
                let now = Instant::now();
                self.slow = now.duration_since(self.clock) > SLOW;
                self.clock = now;
                if self.slow {
                    break;
                }
            }
            if chunk.depth(index, 0) >= most_depth {
                self.truncated = true;
                index += 1;
                continue;
            }
            let id = chunk.waiting[index];
            let is_seen = chunk.state(index).is_some() || layer.view(id).is_some();
            if !is_seen {
                layer.read(id, &mut self.state);
            }
            let mut states: [&[u8]; LOOK_EVERY] = [&self.state; LOOK_EVERY];
            let most = if self.slow || !is_seen { 1 } else { LOOK_EVERY };
            let mut count = usize::from(!is_seen);
            for (place, at) in states[count..most].iter_mut().zip(index..chunk.waiting.len()) {
                let Some(state) = chunk.state(at).or_else(|| layer.view(chunk.waiting[at])) else { break };
                if chunk.depth(at, 0) >= most_depth {
                    break;
                }
                *place = state;
                count += 1;
            }
            let (mut end, mut number) = (self.out.len(), self.sources.len() as u32);
            let expanded = self.system.successors_of_all(&states[..count], number, &mut self.out);
            for state in &states[..expanded] {
                let (link, depth, first) = (chunk.link(index), chunk.depth(index, 0), end);
                end += self.out.entries()[first..].iter().take_while(|entry| entry.source == number).count();
                self.sources.push(SourceState { link, depth, first });
                self.depth = self.depth.max(depth);
                self.expanded += 1;
                (index, number) = (index + 1, number + 1);
                if end == first {
                    let valid = self.system.is_valid_end(state);
                    if let Answer::Stop(finding) = shared.task.property.terminal(state, valid) {
                        keep(shared, &mut self.found, Found { finding, at: link, step: None, length: depth });
                    }
                }
            }
            if self.out.is_cut_short() {
                return index;
            }
        }
        index
    }

    /// The second and third pass measure, hash and insert the generated successors.
    fn insert<T: Layered>(&mut self, shared: &Shared<'_>, worker: &mut T::Worker<'_>, present: &Present<'_>) -> Result<(), ()> {
        let (out, mut groups) = (std::mem::take(&mut self.out), std::mem::take(&mut self.groups));
        let result = self.divide::<T>(shared, worker, present, &out, &mut groups).and_then(|faults| {
            groups.all().iter().try_for_each(|group| {
                let whole = !faults && group.entries.len() == out.len();
                self.insert_group::<T>(shared, worker, group, whole, &out)
            })
        });
        (self.out, self.groups) = (out, groups);
        result
    }

    /// Assigns successors to layers; returns whether some of them have faults.
    fn divide<T: Layered>(
        &mut self,
        shared: &Shared<'_>,
        worker: &mut T::Worker<'_>,
        present: &Present<'_>,
        out: &Successors,
        groups: &mut Groups,
    ) -> Result<bool, ()> {
        groups.begin();
        let parts = shared.measure.len();
        self.values.clear();
        // The evaluation can fail because of a single state, and that state may not count.
        let measured = self.system.values_of_all(out, shared.measure, &mut self.values).is_ok();
        let (mut last, mut group, mut faults) = (present.value, None, false);
        for (index, entry) in out.entries().iter().enumerate() {
            if let Some(code) = entry.fault() {
                faults = true;
                if !self.passes_fault(shared, code, index, entry) {
                    continue;
                }
            }
            if !entry.has_state() {
                continue;
            }
            self.transitions += 1;
            let same = measured && self.values[index * parts..][..parts].iter().zip(&last).all(|(new, old)| new == old);
            let number = match group.filter(|_| same) {
                Some(number) => number,
                None => {
                    if measured {
                        last = Value::default();
                        last[..parts].copy_from_slice(&self.values[index * parts..][..parts]);
                    } else {
                        last = self.value(shared, out.state(entry).unwrap_or_default()).ok_or(())?;
                    }
                    match groups.find(&last) {
                        Some(number) => number,
                        None => {
                            let name = if last < present.value { PERSISTENT } else { self.name_of(shared, last) };
                            groups.add(last, name, name != PERSISTENT && present.persistent.contains(&last))
                        }
                    }
                }
            };
            group = Some(number);
            let to = &mut groups.groups[number];
            if to.name == PERSISTENT {
                self.regress += 1;
            } else if to.guarded {
                let (layer, state) = (T::layer(worker, PERSISTENT), out.state(entry).unwrap_or_default());
                let hash = layer.hash(state);
                if layer.find(hash, state).is_some() {
                    continue;
                }
            }
            to.entries.push(index as u32);
        }
        Ok(faults)
    }

    /// Reports the fault of an entry to the property; returns whether the step is to be followed.
    #[cold]
    fn passes_fault(&mut self, shared: &Shared<'_>, code: FaultCode, index: usize, entry: &Successor) -> bool {
        match shared.task.property.fault(code, entry.has_state()) {
            Answer::Continue => true,
            Answer::Prune => false,
            Answer::Stop(finding) => {
                let SourceState { link, depth, first } = self.sources[entry.source as usize];
                let step = Some(Choice::Index((index - first) as u32));
                keep(shared, &mut self.found, Found { finding, at: link, step, length: depth + 1 });
                false
            }
        }
    }

    /// Inserts successors of one layer together, because that is the fastest way for the layer's
    /// store. `whole` says that these are all successors of the batch.
    fn insert_group<T: Layered>(
        &mut self,
        shared: &Shared<'_>,
        worker: &mut T::Worker<'_>,
        group: &Group,
        whole: bool,
        out: &Successors,
    ) -> Result<(), ()> {
        let layer = T::layer(worker, group.name);
        let Hand { hashes, fresh, .. } = self;
        hashes.clear();
        fresh.clear();
        let inserted = if whole {
            layer.hash_batch(out, hashes);
            layer.insert_batch(out, hashes, 0, fresh).is_ok()
        } else {
            layer.insert_some(out, &group.entries, hashes, fresh).is_ok()
        };
        let slow = layer.reads_slowly();
        let states_wanted = shared.task.property.interest().states;
        // States that are not persistent go to this stash.
        let kept = fresh.first().map(|first| first.kept && !slow);
        let before = kept.filter(|_| group.name != PERSISTENT).map(|kept| self.begin_ahead(group.name, group.value, kept));
        let Hand { fresh, sources, log, .. } = self;
        let mut ahead = before.and_then(|_| self.ahead.get_mut(&group.name));
        for &Fresh { entry, kept, id } in &*fresh {
            let index = entry as usize;
            let entry = &out.entries()[index];
            let Some(state) = out.state(entry) else { continue };
            let SourceState { link, depth, first } = sources[entry.source as usize];
            let step = (index - first) as u32;
            self.states += 1;
            if states_wanted {
                match shared.task.property.state(state) {
                    Answer::Continue => {}
                    Answer::Prune => continue,
                    Answer::Stop(finding) => {
                        keep(shared, &mut self.found, Found { finding, at: link, step: Some(Choice::Index(step)), length: depth + 1 });
                        continue;
                    }
                }
            }
            let link = log.push(link, step);
            if let Some(stash) = &mut ahead {
                self.ahead_states += 1;
                stash.push(id, link, depth + 1, if kept && !slow { None } else { Some(state) });
                continue;
            }
            // This is rare, so the state may be measured again.
            let mut value = Value::default();
            self.values.clear();
            if self.system.values(state, shared.measure, &mut self.values).is_err() {
                return Err(());
            }
            value[..self.values.len()].copy_from_slice(&self.values);
            self.persistent += 1;
            self.persistent_values.insert(value);
            self.roots.push(value, link, depth + 1, state);
        }
        if let (Some(stash), Some(before)) = (ahead, before) {
            self.ahead_bytes += stash.bytes() - before;
        }
        if inserted { Ok(()) } else { Err(()) }
    }

    /// The value of a state; nothing if the measure cannot be evaluated.
    fn value(&mut self, shared: &Shared<'_>, state: &[u8]) -> Option<Value> {
        let (mut value, before) = (Value::default(), self.values.len());
        if let Err(fault) = self.system.values(state, shared.measure, &mut self.values) {
            lock(&shared.unmeasured).get_or_insert(fault);
            shared.done.store(true, Ordering::Relaxed);
            return None;
        }
        value.iter_mut().zip(&self.values[before..]).for_each(|(to, from)| *to = *from);
        self.values.truncate(before);
        Some(value)
    }

    fn name_of(&mut self, shared: &Shared<'_>, value: Value) -> u64 {
        *self.names.entry(value).or_insert_with(|| shared.name(value))
    }
}

/// Keeps a violation, if it is shorter than the one that the worker has found, and ends the search.
fn keep(shared: &Shared<'_>, shortest: &mut Option<Found>, found: Found) {
    shared.done.store(true, Ordering::Relaxed);
    if shortest.as_ref().is_none_or(|best| found.length < best.length) {
        *shortest = Some(found);
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
