//! The sweep-line method with its states on disk. Memory limits its speed, but not the number of
//! states that are stored at one time.
//!
//! The method is that of [`crate::sweep`]. The states of the layers ahead wait in sets in memory.
//! When memory is short, those farthest ahead go to sorted runs, where a state comes after the
//! value of its layer. So the runs together are a queue: a sweep reads each of them once, from its
//! beginning to its end, and the states of the next layer are always at the front (a priority queue
//! as in Sanders, "Fast priority queues for cached memory", 2000). A state may be in several runs;
//! it is met when its layer is read.
//!
//! A layer that fits into memory is expanded there. A larger one is searched level by level, as by
//! [`crate::on_disk`]: what its states lead to within the layer is gathered, sorted, and compared
//! with its visited states in one pass.
//!
//! The targets of regress steps are gathered too. At the end of a sweep they are compared with the
//! persistent states, and the new ones are the roots of the next sweep. When a layer is read, the
//! persistent states of the same value are read with it, and count as known.
//!
//! One worker does this. Whether a state is new is known when its layer is read, so the property
//! sees it then; all counts are those of a sweep in memory.

use crate::discovery::{Discoveries, path};
use crate::expand::Found;
use crate::frontier::{Chunk, Sink, Stash};
use crate::gather::Gathering;
use crate::links::Link;
use crate::monitor::{Monitor, WorkerCounts};
use crate::quick::BuildQuick;
use crate::retrace::{Choice, retrace, unviolated, violated};
use crate::rounds::initial_fault;
use crate::sweep::{MEASURE_MAX, Value, unmeasured};
use crate::sweep_layers::{KNOWN, Layer, Waiting, pack, prefix_of, unpack, value_of};
use crate::task::Task;
use crate::visited_runs::{NewRun, Patient, VisitedRuns};
use contract::{Answer, Disk, FaultCode, Outcome, StateId, Statistics, StopReason, Successor, Successors, Sweep, System, Verdict};
use runs::{Cursor, Merge, Recent, Run, Shelf};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::BuildHasher;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

/// The number of successors that are generated before any is inserted, and of states taken at a
/// time.
const BATCH: usize = 512;
const CHUNK: usize = 256;
/// The number of states that a system expands at once, and the time after which a batch is cut
/// short; see `expand`.
const LOOK_EVERY: usize = 16;
const SLOW: Duration = Duration::from_millis(5);
/// The zstd level for runs that are read once.
const BRIEF: i32 = 1;

/// Explores `system` by the measure whose expressions have these numbers, the most significant
/// first, with its states in the folder of the task.
pub fn sweep_on_disk<S: System + Clone>(system: &S, measure: &[u32], task: &Task<'_>) -> Outcome {
    let failed = |error: io::Error| Verdict::Unknown(StopReason::Storage(error.to_string()));
    let Some(folder) = task.disk else {
        let verdict = Verdict::Unknown(StopReason::Storage("there is no folder for the states".to_owned()));
        return Outcome { verdict, statistics: Statistics::default() };
    };
    let next = match folder.files() {
        Ok(files) => files.into_iter().max().map_or(0, |last| last + 1),
        Err(error) => return Outcome { verdict: failed(error), statistics: Statistics::default() },
    };
    let (shelf, written) = (Shelf::new(folder, next), folder.written());
    // The persistent states and those of a large layer are two sets of runs.
    let gathering = Gathering::new(&shelf, task.limits.memory, 1).with_sets(2);
    let monitor = Monitor::new(task, 1, &gathering);
    monitor.measure_now(&gathering);
    gathering.fit_blocks();
    let mut own = system.clone();
    own.give_up_when(monitor.enough(0));
    let mut search = Search::new(own, task, &monitor, &gathering, measure);
    if let Err(error) = search.run()
        && (error.kind() != io::ErrorKind::Interrupted || !monitor.had_enough())
    {
        monitor.stop(StopReason::Storage(error.to_string()));
    }
    let disk = Disk { bytes: search.most_bytes, written: folder.written() - written, runs: search.most_runs };
    let outcome = search.conclude(system, (disk.written > 0).then_some(disk));
    // All files are of this search only.
    for number in folder.files().unwrap_or_default().into_iter().filter(|&number| number >= next) {
        let _ = folder.remove(number);
    }
    outcome
}

/// A layer that does not fit into memory.
#[derive(Default)]
struct Large {
    visited: VisitedRuns,
    /// The states to be expanded, which are among the visited ones.
    level: Vec<Arc<Run>>,
    /// The states found since.
    found: Vec<Arc<Run>>,
}

/// The states of a large layer that are to be expanded, and those that are only visited.
struct Pair<'g> {
    todo: NewRun<'g>,
    done: NewRun<'g>,
}

impl<'g> Pair<'g> {
    fn begin(visited: &VisitedRuns, states: u64, gathering: &'g Gathering<'_>) -> io::Result<Pair<'g>> {
        let (room, filter) = (visited.room(gathering) / 2, gathering.for_new_filters() / 2);
        let begin = || NewRun::begin(gathering, room, BRIEF, states, filter);
        Ok(Pair { todo: begin()?, done: begin()? })
    }

    fn push(&mut self, state: &[u8], value: u64) -> io::Result<()> {
        let hash = Recent::hash(state);
        if value == KNOWN { self.done.push(state, hash, 0) } else { self.todo.push(state, hash, value) }
    }

    /// Adds both to the visited states. Returns those that are to be expanded.
    fn end(self, visited: &mut VisitedRuns, gathering: &Gathering<'_>) -> io::Result<Vec<Arc<Run>>> {
        let (todo, done) = (self.todo.finish()?, self.done.finish()?);
        done.into_iter().for_each(|run| drop(visited.insert(run)));
        let level = todo.into_iter().map(|run| visited.insert(run)).collect();
        visited.fit_filters(gathering);
        Ok(level)
    }
}

/// The work of a sweep.
struct Search<'a, S> {
    system: S,
    task: &'a Task<'a>,
    monitor: &'a Monitor<'a>,
    gathering: &'a Gathering<'a>,
    measure: &'a [u32],
    /// The value of the current layer, and its states: all of them, or those of a large layer that
    /// were found last. The states before `begun` are expanded.
    value: Value,
    present: Layer,
    begun: usize,
    large: Option<Large>,
    /// The layers ahead, in memory and in runs.
    ahead: BTreeMap<Value, Layer>,
    ahead_bytes: u64,
    waiting: Waiting,
    /// Targets of regress steps, each after its value.
    back: Layer,
    back_runs: Vec<Arc<Run>>,
    persistent: VisitedRuns,
    /// The persistent states and the roots that this sweep has not reached.
    guard: Merge,
    roots: Merge,
    /// The memory that layers may take.
    room: u64,
    out: Successors,
    values: Vec<i64>,
    sources: Vec<SourceState>,
    key: Vec<u8>,
    slow: bool,
    log: Discoveries,
    blocks: AtomicU64,
    seen: HashSet<u64, BuildQuick>,
    found: Option<Found>,
    unmeasured: Option<FaultCode>,
    sweep: Sweep,
    states: u64,
    transitions: u64,
    depth: u64,
    truncated: bool,
    most_bytes: u64,
    most_runs: u64,
}

/// A state that is expanded.
#[derive(Clone, Copy)]
struct SourceState {
    link: Link,
    depth: u64,
    /// Its first entry in the buffer.
    first: usize,
}

impl<'a, S: System> Search<'a, S> {
    fn new(system: S, task: &'a Task<'a>, monitor: &'a Monitor<'a>, gathering: &'a Gathering<'a>, measure: &'a [u32]) -> Self {
        Search {
            system,
            task,
            monitor,
            gathering,
            measure,
            value: [i64::MIN; MEASURE_MAX],
            present: Layer::default(),
            begun: 0,
            large: None,
            ahead: BTreeMap::new(),
            ahead_bytes: 0,
            waiting: Waiting::default(),
            back: Layer::default(),
            back_runs: Vec::new(),
            persistent: VisitedRuns::default(),
            guard: Merge::default(),
            roots: Merge::default(),
            room: gathering.for_sets(),
            out: Successors::new(),
            values: Vec::new(),
            sources: Vec::new(),
            key: Vec::new(),
            slow: true,
            log: Discoveries::new(0),
            blocks: AtomicU64::new(0),
            seen: HashSet::default(),
            found: None,
            unmeasured: None,
            sweep: Sweep::default(),
            states: 0,
            transitions: 0,
            depth: 0,
            truncated: false,
            most_bytes: 0,
            most_runs: 0,
        }
    }

    fn is_over(&self) -> bool {
        self.found.is_some() || self.unmeasured.is_some() || self.monitor.stopped()
    }

    fn run(&mut self) -> io::Result<()> {
        self.initial()?;
        loop {
            self.sweep.sweeps += 1;
            while !self.is_over()
                && let Some(value) = self.next_value()
            {
                self.seen.insert(BuildQuick::default().hash_one(value));
                self.value = value;
                self.load()?;
                self.expand_layer()?;
                if !self.is_over() {
                    self.end_layer()?;
                }
            }
            if self.is_over() || !self.next_sweep()? {
                return Ok(());
            }
        }
    }

    /// The least value for which states wait.
    fn next_value(&self) -> Option<Value> {
        let parts = self.measure.len();
        let in_runs = |merge: &Merge| merge.next().map(|key| value_of(key, parts));
        let in_memory = self.ahead.first_key_value().map(|(value, _)| *value);
        [in_memory, in_runs(&self.waiting.merge), in_runs(&self.roots)].into_iter().flatten().min()
    }

    /// Begins with the initial states.
    fn initial(&mut self) -> io::Result<()> {
        let mut out = std::mem::take(&mut self.out);
        self.system.initial(&mut out);
        for (index, (entry, state)) in out.iter().enumerate() {
            match (initial_fault(self.task.property, entry), state) {
                (Answer::Stop(finding), _) => {
                    let at = self.log.push(Link::NONE, index as u32);
                    self.keep(Found { finding, at, step: None, length: 0 });
                }
                (Answer::Continue, Some(state)) => {
                    let Some(value) = self.measured(state) else { break };
                    self.wait(value, state, 0, |log| log.push(Link::NONE, index as u32))?;
                }
                _ => {}
            }
        }
        out.clear();
        self.out = out;
        Ok(())
    }

    /// Reads the states of the current layer: those in memory and in runs, without the persistent
    /// ones that are not roots.
    fn load(&mut self) -> io::Result<()> {
        (self.present, self.begun) = (self.ahead.remove(&self.value).unwrap_or_default(), 0);
        self.ahead_bytes -= self.present.charge();
        let prefix = prefix_of(&self.value, self.measure.len());
        while self.guard.next().is_some_and(|key| key < &prefix[..]) {
            self.guard.advance()?;
        }
        fn head<'m>(merge: &'m Merge, prefix: &[u8]) -> Option<&'m [u8]> {
            merge.next().and_then(|key| key.strip_prefix(prefix))
        }
        if [&self.waiting.merge, &self.guard, &self.roots].iter().all(|merge| head(merge, &prefix).is_none()) {
            for number in 0..self.present.len() {
                self.states += 1;
                if self.task.property.interest().states {
                    let answer = self.task.property.state(self.present.state(number));
                    if !self.follow(answer, self.present.value(number)) {
                        self.present.set_value(number, KNOWN);
                    }
                }
            }
            return Ok(());
        }
        let gathering = self.gathering;
        let found = std::mem::take(&mut self.present);
        let beside = found.charge();
        let (mut state, mut pair): (Vec<u8>, Option<Pair<'_>>) = (Vec::new(), None);
        let stop = || gathering.is_over();
        let mut asked = Patient::new(&stop);
        let mut order = found.in_order().peekable();
        loop {
            asked.go_on()?;
            let in_memory = order.peek().map(|&number| found.state(number));
            let heads = [in_memory, head(&self.waiting.merge, &prefix), head(&self.guard, &prefix), head(&self.roots, &prefix)];
            let Some(least) = heads.into_iter().flatten().min() else { break };
            let is_at = heads.map(|head| head == Some(least));
            state.clear();
            state.extend_from_slice(least);
            let mut value = KNOWN;
            if is_at[0] {
                value = order.next().map_or(KNOWN, |number| found.value(number));
            }
            if is_at[1] {
                self.waiting.merge.advance()?;
                value = value.min(self.waiting.merge.least());
            }
            if is_at[2] {
                self.guard.advance()?;
                value = KNOWN;
            }
            if is_at[3] {
                // A root was counted when it became persistent.
                self.roots.advance()?;
                value = self.roots.least();
            }
            if !is_at[2] && !is_at[3] && !self.welcome(&state, value) {
                value = KNOWN;
            }
            if let Some(pair) = &mut pair {
                pair.push(&state, value)?;
                continue;
            }
            let room = self.room_for(&self.present).saturating_sub(beside);
            if self.present.is_empty() && room < Layer::least(state.len()) || !self.present.add(Recent::hash(&state), &state, value, room) {
                // The states before this one are in order.
                let states = found.len() as u64 + self.waiting.states() + self.persistent.states;
                let begun = pair.insert(Pair::begin(&VisitedRuns::default(), states, gathering)?);
                for number in 0..self.present.len() {
                    begun.push(self.present.state(number), self.present.value(number))?;
                }
                begun.push(&state, value)?;
                self.present.clear();
            }
        }
        if let Some(pair) = pair {
            let mut large = Large::default();
            large.level = pair.end(&mut large.visited, gathering)?;
            self.large = Some(large);
        }
        self.tell();
        Ok(())
    }

    /// Counts a new state, and tells the property; returns whether it is to be expanded.
    fn welcome(&mut self, state: &[u8], value: u64) -> bool {
        self.states += 1;
        if !self.task.property.interest().states {
            return true;
        }
        let answer = self.task.property.state(state);
        self.follow(answer, value)
    }

    fn follow(&mut self, answer: Answer, value: u64) -> bool {
        match answer {
            Answer::Continue => true,
            Answer::Prune => false,
            Answer::Stop(finding) => {
                let (at, length) = unpack(value);
                self.keep(Found { finding, at, step: None, length });
                false
            }
        }
    }

    fn keep(&mut self, found: Found) {
        if self.found.as_ref().is_none_or(|best| found.length < best.length) {
            self.found = Some(found);
        }
    }

    /// The memory that layers take.
    fn held(&self) -> u64 {
        self.ahead_bytes + self.present.charge() + self.back.charge()
    }

    /// The memory that one of the layers may take.
    fn room_for(&self, layer: &Layer) -> u64 {
        self.room.saturating_sub(self.held() - layer.charge())
    }

    /// Expands all states of the current layer.
    fn expand_layer(&mut self) -> io::Result<()> {
        while self.large.is_none() && self.begun < self.present.len() && !self.is_over() {
            let mut chunk = Stash::default();
            while self.begun < self.present.len() && chunk.len() < CHUNK {
                let value = self.present.value(self.begun);
                if value != KNOWN {
                    let (link, depth) = unpack(value);
                    chunk.push(StateId::default(), link, depth, Some(self.present.state(self.begun)));
                }
                self.begun += 1;
            }
            self.expand(chunk)?;
        }
        while !self.is_over()
            && let Some(large) = &mut self.large
        {
            for run in std::mem::take(&mut large.level) {
                let mut cursor = Cursor::new(run)?;
                loop {
                    let mut chunk = Stash::default();
                    while chunk.len() < CHUNK && cursor.advance()? {
                        let (link, depth) = unpack(cursor.value());
                        chunk.push(StateId::default(), link, depth, Some(cursor.state()));
                    }
                    if chunk.len() == 0 || self.is_over() {
                        break;
                    }
                    self.expand(chunk)?;
                }
            }
            if self.is_over() || !self.next_level()? {
                break;
            }
        }
        Ok(())
    }

    /// Determines which of the states found in a large layer are new; returns whether there are
    /// any.
    fn next_level(&mut self) -> io::Result<bool> {
        let gathering = self.gathering;
        self.spill_present()?;
        let Some(mut large) = self.large.take() else { return Ok(false) };
        large.visited.merge_crowds(gathering)?;
        let found = std::mem::take(&mut large.found);
        let mut pair = Pair::begin(&large.visited, found.iter().map(|run| run.states()).sum(), gathering)?;
        let mut known = large.visited.reader();
        let (mut merge, stop) = (Merge::new(&found, None)?, || gathering.is_over());
        let mut asked = Patient::new(&stop);
        while merge.advance()? {
            asked.go_on()?;
            if known.has(merge.state())? {
                continue;
            }
            let value = if self.welcome(merge.state(), merge.least()) { merge.least() } else { KNOWN };
            pair.push(merge.state(), value)?;
        }
        drop(known);
        large.level = pair.end(&mut large.visited, gathering)?;
        found.iter().for_each(|run| gathering.retire(run));
        self.measure_disk(&large);
        gathering.sweep_up(&BTreeSet::new());
        let any = !large.level.is_empty();
        self.large = Some(large);
        self.tell();
        Ok(any)
    }

    /// Notes how much is on disk.
    fn measure_disk(&mut self, large: &Large) {
        let all: [&[Arc<Run>]; 5] = [&self.persistent.runs, &self.back_runs, &large.visited.runs, &large.found, self.waiting.runs()];
        let (mut bytes, mut runs) = (0, 0);
        for run in all.into_iter().flatten() {
            bytes += run.bytes();
            runs += 1;
        }
        (self.most_bytes, self.most_runs) = (self.most_bytes.max(bytes), self.most_runs.max(runs));
    }

    /// Deletes the current layer.
    fn end_layer(&mut self) -> io::Result<()> {
        let large = self.large.take().unwrap_or_default();
        let ahead: usize = self.ahead.values().map(Layer::len).sum();
        let stored =
            (self.present.len() + ahead + self.back.len()) as u64 + large.visited.states + self.waiting.states() + self.persistent.states;
        self.sweep.peak_states = self.sweep.peak_states.max(stored);
        self.measure_disk(&large);
        large.visited.runs.iter().for_each(|run| self.gathering.retire(run));
        (self.present, self.begun) = (Layer::default(), 0);
        self.waiting.retire(self.gathering);
        self.gathering.sweep_up(&BTreeSet::new());
        self.flush_log()?;
        self.tell();
        Ok(())
    }

    fn flush_log(&mut self) -> io::Result<()> {
        self.log.flush(self.task.spill.as_ref(), &self.blocks)
    }

    /// Makes the new targets of regress steps persistent; returns whether there are any. They are
    /// the roots of the next sweep.
    fn next_sweep(&mut self) -> io::Result<bool> {
        let gathering = self.gathering;
        (self.guard, self.roots) = Default::default();
        self.spill_back()?;
        let found = std::mem::take(&mut self.back_runs);
        let parts = self.measure.len();
        let mut persistent = std::mem::take(&mut self.persistent);
        persistent.merge_crowds(gathering)?;
        let mut pair = Pair::begin(&persistent, found.iter().map(|run| run.states()).sum(), gathering)?;
        let mut known = persistent.reader();
        let (mut merge, stop) = (Merge::new(&found, None)?, || gathering.is_over());
        let mut asked = Patient::new(&stop);
        while merge.advance()? {
            asked.go_on()?;
            if known.has(merge.state())? {
                continue;
            }
            let is_root = self.welcome(&merge.state()[8 * parts..], merge.least());
            self.sweep.persistent_states += u64::from(is_root);
            pair.push(merge.state(), if is_root { merge.least() } else { KNOWN })?;
        }
        drop(known);
        let roots = pair.end(&mut persistent, gathering)?;
        found.iter().for_each(|run| gathering.retire(run));
        (self.guard, self.roots) = (Merge::new(&persistent.runs, None)?, Merge::new(&roots, None)?);
        self.persistent = persistent;
        gathering.sweep_up(&BTreeSet::new());
        self.tell();
        Ok(!roots.is_empty())
    }

    /// Tells the account what the layers and the runs take.
    fn tell(&self) {
        let of_large = self.large.as_ref().map_or(0, |large| large.visited.memory());
        self.gathering.sets_take(self.held());
        self.gathering.runs_take(self.persistent.memory() + of_large + self.waiting.run_memory());
    }

    /// Adds a state to a layer ahead.
    fn wait(&mut self, value: Value, state: &[u8], depth: u64, link: impl FnOnce(&mut Discoveries) -> Link) -> io::Result<()> {
        let hash = Recent::hash(state);
        if self.ahead.get(&value).is_some_and(|layer| layer.has(hash, state)) {
            return Ok(());
        }
        let packed = pack(link(&mut self.log), depth);
        loop {
            let is_new = !self.ahead.contains_key(&value);
            let free = self.room.saturating_sub(self.held());
            // If nothing more can be freed, the state is accepted all the same.
            if !is_new || free >= Layer::least(state.len()) || self.ahead.is_empty() && self.held() < self.room / 2 {
                let layer = self.ahead.entry(value).or_default();
                let before = layer.charge();
                let added = layer.add(hash, state, packed, free + before);
                self.ahead_bytes = self.ahead_bytes + layer.charge() - before;
                if added {
                    return Ok(());
                }
            }
            self.make_room()?;
        }
    }

    /// Adds a state to the current layer.
    fn stay(&mut self, state: &[u8], depth: u64, link: impl FnOnce(&mut Discoveries) -> Link) -> io::Result<()> {
        let hash = Recent::hash(state);
        if self.present.has(hash, state) {
            return Ok(());
        }
        let value = pack(link(&mut self.log), depth);
        while !self.present.add(hash, state, value, self.room_for(&self.present)) {
            self.make_room()?;
        }
        if self.large.is_none() && !self.welcome(state, value) {
            self.present.set_value(self.present.len() - 1, KNOWN);
        }
        Ok(())
    }

    /// Adds the target of a regress step.
    fn fall(&mut self, value: &Value, state: &[u8], depth: u64, link: impl FnOnce(&mut Discoveries) -> Link) -> io::Result<()> {
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        key.extend_from_slice(&prefix_of(value, self.measure.len()));
        key.extend_from_slice(state);
        let hash = Recent::hash(&key);
        if !self.back.has(hash, &key) {
            let value = pack(link(&mut self.log), depth);
            while !self.back.add(hash, &key, value, self.room_for(&self.back)) {
                self.make_room()?;
            }
        }
        self.key = key;
        Ok(())
    }

    /// Makes room in memory: the layers farthest ahead go to a run, or else the current layer.
    #[cold]
    fn make_room(&mut self) -> io::Result<()> {
        self.room = self.gathering.for_sets();
        if self.back.charge() > self.room / 4 {
            self.spill_back()?;
        }
        let mut far = Vec::new();
        while (far.is_empty() || self.held() > self.room / 2)
            && let Some((value, layer)) = self.ahead.pop_last()
        {
            self.ahead_bytes -= layer.charge();
            far.push((value, layer));
        }
        far.reverse();
        let freed = !far.is_empty();
        self.waiting.spill(&far, self.measure.len(), self.gathering)?;
        drop(far);
        if !freed || self.held() > self.room / 2 {
            if self.large.is_some() {
                self.spill_present()?;
            } else {
                self.become_large()?;
            }
        }
        if self.held() > self.room / 2 {
            self.spill_back()?;
        }
        self.flush_log()?;
        self.tell();
        Ok(())
    }

    /// Moves the current layer from memory to runs.
    fn become_large(&mut self) -> io::Result<()> {
        let mut large = Large::default();
        let mut pair = Pair::begin(&large.visited, self.present.len() as u64, self.gathering)?;
        for number in self.present.in_order() {
            let value = if number < self.begun { KNOWN } else { self.present.value(number) };
            pair.push(self.present.state(number), value)?;
        }
        large.level = pair.end(&mut large.visited, self.gathering)?;
        (self.present, self.begun) = (Layer::default(), 0);
        self.large = Some(large);
        Ok(())
    }

    /// Writes the states of a large layer that were found last.
    fn spill_present(&mut self) -> io::Result<()> {
        let Some(large) = &mut self.large else { return Ok(()) };
        large.found.extend(self.present.written(self.gathering)?);
        self.present = Layer::default();
        self.gathering.few(&mut large.found)
    }

    fn spill_back(&mut self) -> io::Result<()> {
        self.back_runs.extend(self.back.written(self.gathering)?);
        self.back = Layer::default();
        self.gathering.few(&mut self.back_runs)
    }

    /// The value of a state; nothing if the measure cannot be evaluated.
    fn measured(&mut self, state: &[u8]) -> Option<Value> {
        let (mut value, before) = (Value::default(), self.values.len());
        if let Err(fault) = self.system.values(state, self.measure, &mut self.values) {
            self.unmeasured.get_or_insert(fault);
            return None;
        }
        value.iter_mut().zip(&self.values[before..]).for_each(|(to, from)| *to = *from);
        self.values.truncate(before);
        Some(value)
    }

    /// Expands states.
    fn expand(&mut self, mut stash: Stash) -> io::Result<()> {
        while let Some(chunk) = stash.take(CHUNK, &mut Vec::new()) {
            let mut index = 0;
            while index < chunk.waiting.len() {
                index = self.generate(&chunk, index);
                let given_up = self.out.is_cut_short();
                let out = std::mem::take(&mut self.out);
                let inserted = self.insert(&out);
                self.out = out;
                inserted?;
                if given_up {
                    self.monitor.refused();
                }
                if self.is_over() || !self.monitor.poll(0, &self.standing(&chunk), self.gathering) {
                    return Ok(());
                }
                if self.gathering.for_sets() < self.room / 16 * 15 {
                    self.make_room()?;
                }
            }
        }
        Ok(())
    }

    fn standing(&self, chunk: &Chunk) -> WorkerCounts {
        let seen = self.seen.capacity() * 9;
        WorkerCounts {
            states: self.states,
            transitions: self.transitions,
            waiting: (self.present.len() - self.begun) as u64 + self.waiting.states(),
            depth: self.depth,
            search_bytes: chunk.size() + self.log.bytes() + (self.out.bytes() + seen) as u64,
        }
    }

    /// Generates the successors of states of `chunk` from number `index` on, until a batch is full.
    /// Returns the number of the first state that was not expanded.
    fn generate(&mut self, chunk: &Chunk, mut index: usize) -> usize {
        self.out.clear();
        self.sources.clear();
        let most_depth = self.task.limits.depth.unwrap_or(u64::MAX).min(crate::sweep_layers::MOST_DEPTH);
        let begun = Instant::now();
        while index < chunk.waiting.len() && self.out.len() < BATCH {
            if !self.sources.is_empty() {
                self.slow = begun.elapsed() > SLOW;
                if self.slow {
                    break;
                }
            }
            if chunk.depth(index, 0) >= most_depth {
                self.truncated = true;
                index += 1;
                continue;
            }
            let mut states: [&[u8]; LOOK_EVERY] = [&[]; LOOK_EVERY];
            let most = if self.slow { 1 } else { LOOK_EVERY };
            let mut count = 0;
            for (place, at) in states[..most].iter_mut().zip(index..chunk.waiting.len()) {
                let Some(state) = chunk.state(at).filter(|_| chunk.depth(at, 0) < most_depth) else { break };
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
                self.sweep.expanded_states += 1;
                (index, number) = (index + 1, number + 1);
                if end == first {
                    let valid = self.system.is_valid_end(state);
                    if let Answer::Stop(finding) = self.task.property.terminal(state, valid) {
                        self.keep(Found { finding, at: link, step: None, length: depth });
                    }
                }
            }
            if self.out.is_cut_short() {
                return index;
            }
        }
        index
    }

    /// Measures the generated successors and adds them to their layers.
    fn insert(&mut self, out: &Successors) -> io::Result<()> {
        let parts = self.measure.len();
        let mut values = std::mem::take(&mut self.values);
        values.clear();
        // The evaluation can fail because of a single state, and that state may not count.
        let measured = self.system.values_of_all(out, self.measure, &mut values).is_ok();
        for (index, entry) in out.entries().iter().enumerate() {
            if let Some(code) = entry.fault()
                && !self.passes_fault(code, index, entry)
            {
                continue;
            }
            let Some(state) = out.state(entry) else { continue };
            self.transitions += 1;
            let mut value = Value::default();
            if measured {
                value[..parts].copy_from_slice(&values[index * parts..][..parts]);
            } else {
                let Some(own) = self.measured(state) else { break };
                value = own;
            }
            let SourceState { link, depth, first } = self.sources[entry.source as usize];
            let (depth, step) = (depth + 1, (index - first) as u32);
            let log = |log: &mut Discoveries| log.push(link, step);
            match value.cmp(&self.value) {
                std::cmp::Ordering::Less => {
                    self.sweep.regress_steps += 1;
                    self.fall(&value, state, depth, log)?;
                }
                std::cmp::Ordering::Equal => self.stay(state, depth, log)?,
                std::cmp::Ordering::Greater => self.wait(value, state, depth, log)?,
            }
        }
        values.clear();
        self.values = values;
        Ok(())
    }

    /// Reports the fault of an entry to the property; returns whether the step is to be followed.
    #[cold]
    fn passes_fault(&mut self, code: FaultCode, index: usize, entry: &Successor) -> bool {
        match self.task.property.fault(code, entry.has_state()) {
            Answer::Continue => true,
            Answer::Prune => false,
            Answer::Stop(finding) => {
                let SourceState { link, depth, first } = self.sources[entry.source as usize];
                let step = Some(Choice::Index((index - first) as u32));
                self.keep(Found { finding, at: link, step, length: depth + 1 });
                false
            }
        }
    }

    /// The result of the sweep.
    fn conclude(mut self, system: &S, disk: Option<Disk>) -> Outcome
    where
        S: Clone,
    {
        self.sweep.layers = self.seen.len() as u64;
        let mut statistics = Statistics {
            states: self.states,
            transitions: self.transitions,
            depth: self.depth,
            expanded_by_worker: vec![self.sweep.expanded_states],
            sweep: Some(self.sweep),
            disk,
            ..Statistics::default()
        };
        let verdict = match self.found.take() {
            Some(Found { finding, at, step, .. }) => {
                let logs = [self.log];
                let trace = path(&logs, self.task.spill.as_ref(), at).and_then(|mut path| {
                    path.extend(step);
                    retrace(&mut self.system, &path, self.monitor.patience())
                });
                violated(system, finding, trace)
            }
            None => {
                let unmeasured = self.unmeasured.map(|code| unmeasured(system, code));
                unviolated(unmeasured.or_else(|| self.monitor.reason()), self.truncated, true)
            }
        };
        self.monitor.conclude(&mut statistics, self.gathering, Duration::ZERO);
        Outcome { verdict, statistics }
    }
}
