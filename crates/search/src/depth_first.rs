//! Depth-first search in the strict order: a state is inserted when the search enters it, not
//! before. So the open states of the stack are always exactly the current path. Reductions with a
//! cycle proviso and searches for cycles depend on this.
//!
//! When a state is expanded, its successors are hashed and their cache lines of the table are
//! prefetched. Successors that were visited before, which are most of them, are dropped. Only the
//! others are pushed, and they are looked up again when they are popped. The stack is memory on the
//! heap, or on disk; with recursion, the machine's stack would limit the depth of a model.

use crate::checkpoint::{CheckpointError, Checkpoints, Reader, SavedCounts, SavedOrder, Writer};
use crate::monitor::{self, Monitor};
use crate::patience::Patience;
use crate::retrace::{unviolated, violated};
use crate::rounds::{Ahead, initial_fault, leave_out};
use crate::stack::{Stack, Top};
use crate::task::Task;
use crate::watch::{ACTIONS, BACKTRACK, INSERT, PUSH, SELECT, Watch};
use contract::{
    Action, Answer, Edge, Finding, Interest, LeftOut, Outcome, StateId, Statistics, StopReason, Store, StoreWorker, Successors, System,
    Trace, TraceStep,
};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// The kind of a stack record in a checkpoint: a state to be visited, an open state, or an open
/// state whose successors were given up.
const CANDIDATE: u64 = 0;
const OPEN: u64 = 1;
const UNEXPANDED: u64 = 2;

/// The number of stack records between two checks of the limits.
const POLL_EVERY: u64 = 256;
/// This many bytes of successors count as one record.
const POLL_BYTES: u64 = 1 << 14;
/// If that takes longer, the limits are checked after every record.
const SLOW: Duration = Duration::from_millis(5);
/// The steps of a trace that are read between two checks of the clock.
const LOOK_EVERY: usize = 4096;

/// Explores `system` depth-first. The store must be empty.
pub fn depth_first<S: System + Clone, T: Store>(system: &S, store: &T, task: &Task<'_>) -> Outcome {
    let mut walk = Walk::new(system.clone(), store.worker(), task);
    walk.system.initial(&mut walk.out);
    for index in 0..walk.out.len() {
        let entry = &walk.out.entries()[index];
        match initial_fault(task.property, entry) {
            Answer::Continue => walk.chosen.push(index as u32),
            Answer::Prune => {}
            Answer::Stop(finding) => {
                let initial = walk.out.state(entry).map(<[u8]>::to_vec).unwrap_or_default();
                let verdict = violated(&walk.system, finding, Some(Trace { initial, ..Trace::default() }));
                return Outcome { verdict, statistics: Statistics { expanded_by_worker: vec![0], ..Statistics::default() } };
            }
        }
    }
    // No edge leads to an initial state, so this finds nothing.
    walk.push_chosen(StateId::default());
    walk.finish(store, Duration::ZERO)
}

/// Continues from a checkpoint whose states are already in the store.
pub(crate) fn resumed<S: System + Clone, T: Store>(
    system: &S,
    store: &T,
    task: &Task<'_>,
    mut reader: Reader<'_>,
    standing: SavedCounts,
    worker: T::Worker<'_>,
) -> Result<Outcome, CheckpointError> {
    // States that were cut off are in the store and look like expanded ones.
    if let Some(cut) = standing.cut.filter(|&cut| task.limits.depth.is_none_or(|limit| limit > cut)) {
        return Err(CheckpointError::CutOff(cut));
    }
    let mut walk = Walk::new(system.clone(), worker, task);
    let mut state = Vec::new();
    for _ in 0..reader.number()? {
        let open = reader.number()?;
        let action = Action::from_bits(reader.number()?);
        reader.state(&mut state)?;
        let hash = walk.store.hash(&state);
        walk.stack.push(&state, hash, action);
        if open != CANDIDATE {
            let id = walk.store.insert(hash, &state).map_err(|full| reader.refused(full))?.id;
            walk.stack.open(id);
            walk.depth += 1;
            walk.unexpanded = (open == UNEXPANDED).then_some(id);
            walk.state.clone_from(&state);
        }
    }
    reader.finish()?;
    walk.statistics = standing.statistics();
    (walk.expanded, walk.cut) = (standing.expanded, standing.cut);
    Ok(walk.finish(store, standing.elapsed))
}

/// A finding, and the step in which it happened, unless it concerns the open state on top.
type Found = (Finding, Option<TraceStep>);

struct Walk<'a, S, W> {
    system: S,
    store: W,
    task: &'a Task<'a>,
    interest: Interest,
    stack: Stack<'a>,
    out: Successors,
    hashes: Vec<u64>,
    /// The successors that were visited before.
    known: Vec<Option<StateId>>,
    /// The open state on top.
    state: Vec<u8>,
    /// The steps to follow, by their indices in `out`.
    chosen: Vec<u32>,
    /// The open state on top, if its successors are unknown because computing them was given up.
    unexpanded: Option<StateId>,
    /// The processes that a reduction postponed in the state being expanded, one bit each.
    postponed: u64,
    ahead: Ahead,
    /// The number of open states.
    depth: u64,
    /// The depth limit that has cut something off.
    cut: Option<u64>,
    /// How many states were expanded when the last checkpoint was taken.
    saved: Option<u64>,
    expanded: u64,
    statistics: Statistics,
    watch: Watch,
}

impl<'a, S: System, W: StoreWorker> Walk<'a, S, W> {
    fn new(system: S, store: W, task: &'a Task<'a>) -> Self {
        Walk {
            system,
            store,
            task,
            interest: task.property.interest(),
            stack: Stack::new(task.spill),
            out: Successors::new(),
            hashes: Vec::new(),
            known: Vec::new(),
            state: Vec::new(),
            chosen: Vec::new(),
            unexpanded: None,
            postponed: 0,
            ahead: Ahead::default(),
            depth: 0,
            cut: None,
            saved: None,
            expanded: 0,
            statistics: Statistics::default(),
            watch: Watch::new(task),
        }
    }

    /// Searches until the stack is empty. `before` is the time spent in earlier runs.
    fn finish<T: Store>(mut self, store: &T, before: Duration) -> Outcome {
        let monitor = Monitor::new(self.task, 1, store);
        self.system.give_up_when(monitor.enough(0));
        let storage_failed = |error: io::Error| monitor.stop(StopReason::Storage(error.to_string()));
        let found = match self.run(store, &monitor, before) {
            Ok(found) => {
                // If the search ended before its answer was known, it can continue from here.
                if found.is_none()
                    && monitor.stopped()
                    && self.saved != Some(self.expanded)
                    && let Some(checkpoints) = self.task.checkpoints
                {
                    self.save(checkpoints, store, &monitor, before);
                }
                found
            }
            Err(error) => {
                storage_failed(error);
                None
            }
        };
        let verdict = match found {
            Some((finding, step)) => {
                let trace = self.trace(step, monitor.patience()).map_err(storage_failed).ok().flatten();
                violated(&self.system, finding, trace)
            }
            None => unviolated(monitor.reason(), self.cut.is_some(), T::EXACT),
        };
        let mut statistics = std::mem::take(&mut self.statistics);
        statistics.expanded_by_worker = vec![self.expanded];
        statistics.profile = self.watch.stop();
        drop(self);
        monitor.conclude(&mut statistics, store, before);
        Outcome { verdict, statistics }
    }

    /// Takes a checkpoint.
    fn save<T: Store>(&mut self, checkpoints: &dyn Checkpoints, store: &T, monitor: &Monitor<'_>, before: Duration) {
        match checkpoints.save(&mut |to| self.write(to, store, before + monitor.elapsed())) {
            // A search that is stopped before it expands another state need not be saved again.
            Ok(()) => self.saved = Some(self.expanded),
            Err(error) => monitor.notice(&format!("no checkpoint could be written: {error}")),
        }
    }

    fn write<T: Store>(&self, to: &mut dyn Write, store: &T, elapsed: Duration) -> io::Result<()> {
        let mut writer = Writer::new(to);
        let Statistics { depth, states, transitions, .. } = self.statistics;
        let standing = SavedCounts { depth, states, transitions, expanded: self.expanded, elapsed, cut: self.cut };
        writer.header(SavedOrder::Depth, self.task.label, &standing)?;
        writer.store(store, states)?;
        let records = self.stack.len();
        writer.number(records)?;
        let mut left = records;
        self.stack.records(|state, open, action| {
            left -= 1;
            writer.number(match (open, self.unexpanded) {
                (false, _) => CANDIDATE,
                (true, Some(_)) if left == 0 => UNEXPANDED,
                (true, _) => OPEN,
            })?;
            writer.number(action.to_bits())?;
            writer.state(state)
        })?;
        writer.finish()
    }

    fn run<T: Store>(&mut self, store: &T, monitor: &Monitor<'_>, before: Duration) -> io::Result<Option<Found>> {
        let (mut until_poll, mut polled) = (0, Instant::now());
        loop {
            if until_poll == 0 {
                // If states take long, the limits are checked after every state.
                let last = std::mem::replace(&mut polled, Instant::now());
                until_poll = if polled - last > SLOW { 1 } else { POLL_EVERY };
                if let Some(checkpoints) = self.task.checkpoints
                    && checkpoints.due()
                {
                    self.save(checkpoints, store, monitor, before);
                }
                if let Some(news) = self.stack.news() {
                    monitor.notice(&news);
                }
                let standing = monitor::WorkerCounts {
                    states: self.statistics.states,
                    transitions: self.statistics.transitions,
                    waiting: self.stack.len(),
                    depth: self.depth,
                    search_bytes: self.stack.bytes(),
                };
                if !monitor.poll(0, &standing, store) {
                    return Ok(None);
                }
            }
            until_poll -= 1;
            if let Some(id) = self.unexpanded {
                match self.expand(id) {
                    Some(found) => return Ok(Some(found)),
                    None if self.unexpanded.is_some() => monitor.refused(),
                    None => {
                        let bytes = self.out.len() as u64 * self.state.len() as u64;
                        until_poll = until_poll.saturating_sub(bytes / POLL_BYTES);
                        continue;
                    }
                }
                return Ok(None);
            }
            let Some((state, top, action)) = self.stack.top() else { return Ok(None) };
            let hash = match top {
                Top::Open { id } => {
                    self.watch.turn(BACKTRACK);
                    self.watch.count(BACKTRACK, 1);
                    self.store.leave(id);
                    self.stack.pop()?;
                    self.depth -= 1;
                    self.watch.turn(SELECT);
                    continue;
                }
                Top::Candidate { hash } => hash,
            };
            self.watch.turn(INSERT);
            self.watch.count(INSERT, 1);
            let Ok(inserted) = self.store.insert(hash, state) else {
                monitor.refused();
                return Ok(None);
            };
            self.watch.turn(SELECT);
            self.state.clear();
            self.state.extend_from_slice(state);
            if self.interest.edges && self.depth > 0 {
                let mut answer = Answer::Continue;
                self.stack.open_states(|source, source_id, _| {
                    let (target, target_id) = (&self.state[..], inserted.id);
                    let edge = Edge { source, source_id, target, target_id, new: inserted.new, action };
                    answer = self.task.property.edge(&edge);
                    false
                })?;
                if let Answer::Stop(finding) = answer {
                    let step = TraceStep { action, state: Some(self.state.clone()) };
                    return Ok(Some((finding, Some(step))));
                }
            }
            if !inserted.new {
                self.stack.pop()?;
                continue;
            }
            self.statistics.states += 1;
            if self.task.states.is_some_and(|most| self.statistics.states > most) {
                monitor.stop(StopReason::States);
                return Ok(None);
            }
            self.statistics.depth = self.statistics.depth.max(self.depth);
            self.watch.turn(PUSH);
            self.watch.count(PUSH, 1);
            self.stack.open(inserted.id);
            self.watch.turn(SELECT);
            self.depth += 1;
            if self.interest.states {
                match self.task.property.state(&self.state) {
                    Answer::Continue => {}
                    Answer::Prune => continue,
                    Answer::Stop(finding) => return Ok(Some((finding, None))),
                }
            }
            if let Some(limit) = self.task.limits.depth.filter(|&limit| self.depth > limit) {
                self.cut = Some(limit.max(self.cut.unwrap_or(0)));
                continue;
            }
            self.unexpanded = Some(inserted.id);
        }
    }

    /// Pushes the successors of the open state on top, which is also in `self.state` and is named
    /// `id`. If they are given up, the state stays unexpanded.
    fn expand(&mut self, id: StateId) -> Option<Found> {
        self.out.clear();
        self.watch.turn(ACTIONS);
        self.system.successors(&self.state, &mut self.out);
        self.watch.turn(SELECT);
        if self.out.is_cut_short() {
            return None;
        }
        self.watch.count(SELECT, 1);
        self.watch.count(ACTIONS, self.out.len());
        let reduction = self.task.reduction;
        self.postponed = if reduction.is_identity() { 0 } else { leave_out(reduction, &self.state, &mut self.out, 0) };
        self.unexpanded = None;
        self.expanded += 1;
        if self.out.is_empty() {
            let valid = self.system.is_valid_end(&self.state);
            return match self.task.property.terminal(&self.state, valid) {
                Answer::Stop(finding) => Some((finding, None)),
                _ => None,
            };
        }
        let (waiting, transitions) = (self.stack.len(), self.statistics.transitions);
        let found = self.follow_from(0, id);
        if found.is_some() || self.postponed == 0 || self.stack.len() > waiting {
            return found;
        }
        // The proviso: none of the chosen steps leads to a state that will still be entered.
        let Walk { system, out, postponed, ahead, .. } = self;
        let next = out.iter().filter(|(entry, _)| entry.fault().is_none()).filter_map(|(_, state)| state);
        if ahead.all_chosen(system, reduction, next, *postponed) {
            return None;
        }
        let first = self.out.len();
        self.system.successors(&self.state, &mut self.out);
        let postponed = self.postponed;
        self.out.retain(first, |entry| LeftOut::has(postponed, entry));
        if self.out.is_cut_short() {
            // The state counts as not expanded.
            (self.unexpanded, self.statistics.transitions) = (Some(id), transitions);
            self.expanded -= 1;
            return None;
        }
        self.follow_from(first, id)
    }

    /// Follows the steps from number `first` on, which leave the state named `id`.
    fn follow_from(&mut self, first: usize, id: StateId) -> Option<Found> {
        self.chosen.clear();
        self.chosen.extend(first as u32..self.out.len() as u32);
        self.faults().or_else(|| self.push_chosen(id))
    }

    /// Reports the faults among the chosen steps to the property; steps that it prunes are no
    /// longer chosen.
    fn faults(&mut self) -> Option<Found> {
        if self.out.entries().iter().all(|entry| entry.fault().is_none()) {
            return None;
        }
        let mut found = None;
        let (out, property) = (&self.out, self.task.property);
        self.chosen.retain(|&index| {
            let entry = &out.entries()[index as usize];
            match (entry.fault(), &found) {
                (Some(code), None) => match property.fault(code, entry.has_state()) {
                    Answer::Continue => true,
                    Answer::Prune => false,
                    Answer::Stop(finding) => {
                        let state = out.state(entry).map(<[u8]>::to_vec);
                        found = Some((finding, Some(TraceStep { action: entry.action, state })));
                        false
                    }
                },
                _ => true,
            }
        });
        found
    }

    /// Pushes the chosen successors that were not visited, so that the first one is on top. They
    /// leave the state named `source`, or are initial.
    fn push_chosen(&mut self, source: StateId) -> Option<Found> {
        let initial = self.depth == 0;
        self.watch.turn(INSERT);
        self.hashes.clear();
        self.store.hash_batch(&self.out, &mut self.hashes);
        self.known.clear();
        if !initial {
            self.store.find_batch(&self.out, &self.hashes, &mut self.known);
            self.watch.count(INSERT, self.known.len());
        }
        self.watch.turn(PUSH);
        for index in self.chosen.iter().rev().map(|&index| index as usize) {
            let entry = &self.out.entries()[index];
            let Some(target) = self.out.state(entry) else { continue };
            self.statistics.transitions += u64::from(!initial);
            // There are few initial states, and no edge leads to them.
            let Some(target_id) = self.known.get(index).copied().flatten() else {
                self.stack.push(target, self.hashes[index], entry.action);
                continue;
            };
            if self.interest.edges {
                let edge = Edge { source: &self.state, source_id: source, target, target_id, new: false, action: entry.action };
                if let Answer::Stop(finding) = self.task.property.edge(&edge) {
                    let step = TraceStep { action: entry.action, state: Some(target.to_vec()) };
                    return Some((finding, Some(step)));
                }
            }
        }
        self.watch.turn(SELECT);
        None
    }

    /// The current path, followed by `last`; `None` if there is no time for it.
    fn trace(&self, last: Option<TraceStep>, patience: &Patience) -> io::Result<Option<Trace>> {
        let mut steps: Vec<TraceStep> = last.into_iter().collect();
        let mut initial: Option<TraceStep> = None;
        let mut in_time = true;
        self.stack.open_states(|state, _, action| {
            steps.extend(initial.replace(TraceStep { action, state: Some(state.to_vec()) }));
            in_time = !steps.len().is_multiple_of(LOOK_EVERY) || !patience.is_over();
            in_time
        })?;
        steps.reverse();
        let initial = initial.and_then(|step| step.state).unwrap_or_default();
        Ok(in_time.then_some(Trace { initial, steps, loop_start: None }))
    }
}
