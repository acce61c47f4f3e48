//! The common part of the directed searches: nodes that know how they were reached, and the
//! expansion of a node, which checks each state and step as soon as it is generated.
//!
//! A state with estimate 0 may be a deadlock, so it is checked when it is generated. If it is not
//! one, at least one step is missing, and its estimate becomes 1. With estimates that are lower
//! bounds, the first violation that A* generates is therefore at the end of a shortest path: the
//! state it was generated from had the least sum of path and estimate, and that sum was not less
//! than the path to the violation.
//!
//! Successors are taken in SPIN's order: the youngest process first, and the choices of a process
//! as they are written. Together with the last-in, first-out order among equals this gives the
//! numbers of HSF-SPIN (Edelkamp, Lluch Lafuente, Leue, "Directed explicit model checking with
//! HSF-SPIN", 2001).

use crate::monitor::{Monitor, WorkerCounts};
use crate::quick::BuildQuick;
use crate::retrace::{Choice, retrace, unviolated, violated};
use crate::rounds::{Ahead, initial_fault, leave_out};
use crate::task::Task;
use contract::{
    Action, Answer, Finding, Guided, Heuristic, LeftOut, Outcome, StateId, Statistics, StopReason, Store, StoreWorker, Successors, System,
    Trace, Verdict,
};
use std::collections::HashMap;
use std::time::Duration;

/// The parent of an initial state.
const NONE: u32 = u32::MAX;

/// A state that was reached.
#[derive(Clone, Copy)]
pub(crate) struct Node {
    id: StateId,
    parent: u32,
    /// The step from the parent; for an initial state, its choice among the initial states.
    choice: Choice,
    /// The length of the shortest known path from an initial state.
    pub depth: u32,
    /// The estimated number of steps to a violation.
    pub estimate: u32,
    /// The node was expanded, and no shorter path to it was found since.
    pub closed: bool,
    /// The node was expanded at least once.
    expanded: bool,
}

/// The search is over.
pub(crate) struct Over;

type Names = HashMap<u64, u32, BuildQuick>;

/// The approximate size of an entry of [`Names`].
const NAME_BYTES: u64 = 20;

/// The states that a directed search knows, and the expansion of one of them.
pub(crate) struct Walk<'a, S, T: Store + 'a> {
    system: S,
    store: &'a T,
    worker: T::Worker<'a>,
    heuristic: Box<dyn Heuristic>,
    task: &'a Task<'a>,
    monitor: &'a Monitor<'a>,
    pub nodes: Vec<Node>,
    /// The node of each state by the state's name, if states can be re-opened.
    names: Option<Names>,
    /// The bytes of waiting states that the store does not keep.
    kept: HashMap<u32, Box<[u8]>>,
    kept_bytes: u64,
    /// The states to expand that the last expansion reached: new states, and known ones with a
    /// shorter path.
    pub reached: Vec<u32>,
    found: Option<(Finding, u32, Option<Choice>)>,
    statistics: Statistics,
    guided: Guided,
    /// The depth limit cut something off.
    pub truncated: bool,
    /// States were left out.
    pub narrowed: bool,
    reduced: bool,
    states_wanted: bool,
    out: Successors,
    hashes: Vec<u64>,
    order: Vec<u32>,
    probe: Successors,
    state: Vec<u8>,
    /// The processes that the reduction left out of the current state and must not leave out for
    /// ever, one bit each.
    postponed: u64,
    ahead: Ahead,
}

impl<'a, S: System + Clone, T: Store> Walk<'a, S, T> {
    /// A walk over an empty store. `reopened` states need a store whose names never change.
    pub fn new(system: &S, store: &'a T, task: &'a Task<'a>, monitor: &'a Monitor<'a>, reopened: bool) -> Self {
        let mut system = system.clone();
        system.give_up_when(monitor.enough(0));
        Walk {
            system,
            store,
            worker: store.worker(),
            heuristic: task.heuristic.clone_heuristic(),
            task,
            monitor,
            nodes: Vec::new(),
            names: (reopened && T::STABLE_NAMES).then(Names::default),
            kept: HashMap::new(),
            kept_bytes: 0,
            reached: Vec::new(),
            found: None,
            statistics: Statistics::default(),
            guided: Guided::default(),
            truncated: false,
            narrowed: false,
            reduced: !task.reduction.is_identity(),
            states_wanted: task.property.interest().states,
            out: Successors::new(),
            hashes: Vec::new(),
            order: Vec::new(),
            probe: Successors::new(),
            state: Vec::new(),
            postponed: 0,
            ahead: Ahead::default(),
        }
    }

    /// Adds the initial states.
    pub fn initial(&mut self) -> Result<(), Over> {
        self.reached.clear();
        self.out.clear();
        self.hashes.clear();
        self.system.initial(&mut self.out);
        self.worker.hash_batch(&self.out, &mut self.hashes);
        for index in 0..self.out.len() {
            let entry = &self.out.entries()[index];
            let choice = if self.reduced { Choice::Action(Action::new(0, index as u32)) } else { Choice::Index(index as u32) };
            self.guided.generated += 1;
            match initial_fault(self.task.property, entry) {
                Answer::Continue => self.reach(index, NONE, choice, 0)?,
                Answer::Prune => {}
                // An initial state that cannot be computed has a trace with its number only.
                Answer::Stop(finding) => return self.stop_at(finding, NONE, Some(choice)),
            }
        }
        self.guided.estimate = self.nodes.first().map(|node| node.estimate);
        Ok(())
    }

    /// Expands a node. The states it reaches are then in [`reached`](Self::reached), in order.
    pub fn expand(&mut self, number: u32) -> Result<(), Over> {
        self.reached.clear();
        let node = self.nodes[number as usize];
        self.nodes[number as usize].closed = true;
        if self.task.limits.depth.is_some_and(|limit| u64::from(node.depth) >= limit) {
            self.truncated = true;
            return Ok(());
        }
        let mut state = std::mem::take(&mut self.state);
        state.clear();
        match self.kept.remove(&number) {
            Some(bytes) => {
                self.kept_bytes -= bytes.len() as u64;
                state.extend_from_slice(&bytes);
            }
            None => {
                self.worker.read(node.id, &mut state);
            }
        }
        let expanded = self.expand_state(number, &state);
        self.state = state;
        expanded?;
        self.poll()
    }

    fn expand_state(&mut self, number: u32, state: &[u8]) -> Result<(), Over> {
        self.out.clear();
        self.hashes.clear();
        self.system.successors(state, &mut self.out);
        if self.out.is_cut_short() {
            self.monitor.refused();
            return Err(Over);
        }
        self.postponed = if self.reduced { leave_out(self.task.reduction, state, &mut self.out, 0) } else { 0 };
        let node = &mut self.nodes[number as usize];
        let first_time = !std::mem::replace(&mut node.expanded, true);
        let depth = node.depth;
        self.guided.expanded += 1;
        self.statistics.depth = self.statistics.depth.max(depth.into());
        if self.out.is_empty() {
            return self.terminal(state, number);
        }
        let states = self.statistics.states;
        self.follow(0, number, depth, first_time)?;
        if self.postponed == 0 || self.statistics.states > states {
            return Ok(());
        }
        // The proviso: no new state was reached, so the postponed processes might be postponed for
        // ever.
        let without_fault = self.out.entries().iter().filter(|entry| entry.fault().is_none());
        let next = without_fault.filter_map(|entry| self.out.state(entry));
        if self.ahead.all_chosen(&mut self.system, self.task.reduction, next, self.postponed) {
            return Ok(());
        }
        let more = self.out.len();
        self.system.successors(state, &mut self.out);
        let postponed = self.postponed;
        self.out.retain(more, |entry| LeftOut::has(postponed, entry));
        if self.out.is_cut_short() {
            self.monitor.refused();
            return Err(Over);
        }
        self.follow(more, number, depth, first_time)
    }

    /// Follows the steps from entry number `first` on.
    fn follow(&mut self, first: usize, number: u32, depth: u32, first_time: bool) -> Result<(), Over> {
        self.worker.hash_batch(&self.out, &mut self.hashes);
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend(first as u32..self.out.len() as u32);
        let entries = self.out.entries();
        order.sort_by_key(|&index| std::cmp::Reverse(entries[index as usize].action.process));
        let followed = order.iter().try_for_each(|&index| self.step(index as usize, number, depth, first_time));
        self.order = order;
        followed
    }

    fn step(&mut self, index: usize, number: u32, depth: u32, first_time: bool) -> Result<(), Over> {
        let entry = self.out.entries()[index];
        let choice = if self.reduced { Choice::Action(entry.action) } else { Choice::Index(index as u32) };
        self.guided.generated += 1;
        if let Some(code) = entry.fault() {
            match self.task.property.fault(code, entry.has_state()) {
                Answer::Continue => {}
                Answer::Prune => return Ok(()),
                Answer::Stop(finding) => return self.stop_at(finding, number, Some(choice)),
            }
        }
        if !entry.has_state() {
            return Ok(());
        }
        self.statistics.transitions += u64::from(first_time);
        self.reach(index, number, choice, depth + 1)
    }

    /// Handles a step to the state of entry number `index`.
    fn reach(&mut self, index: usize, parent: u32, choice: Choice, depth: u32) -> Result<(), Over> {
        let Some(state) = self.out.state(&self.out.entries()[index]) else { return Ok(()) };
        let Ok(inserted) = self.worker.insert(self.hashes[index], state) else {
            self.monitor.refused();
            return Err(Over);
        };
        if !inserted.new {
            self.reopen(inserted.id, parent, choice, depth);
            return Ok(());
        }
        self.statistics.states += 1;
        let number = self.nodes.len() as u32;
        if number == NONE {
            self.monitor.stop(StopReason::Memory);
            return Err(Over);
        }
        if self.states_wanted {
            match self.task.property.state(state) {
                Answer::Continue => {}
                Answer::Prune => return Ok(()),
                Answer::Stop(finding) => return self.stop_at(finding, parent, Some(choice)),
            }
        }
        let mut estimate = self.heuristic.estimate(state);
        self.nodes.push(Node { id: inserted.id, parent, choice, depth, estimate, closed: false, expanded: false });
        if let Some(names) = &mut self.names {
            names.insert(inserted.id.0, number);
        }
        if !self.worker.keeps(inserted.id) {
            self.kept_bytes += state.len() as u64;
            self.kept.insert(number, state.into());
        }
        if estimate == 0 {
            // The state may be a deadlock.
            self.probe.clear();
            self.system.successors(state, &mut self.probe);
            if self.probe.is_cut_short() {
                self.monitor.refused();
                return Err(Over);
            }
            if self.probe.is_empty() {
                let state = state.to_vec();
                self.terminal(&state, number)?;
            }
            estimate = 1;
            self.nodes[number as usize].estimate = estimate;
        }
        self.reached.push(number);
        Ok(())
    }

    /// Handles a step to a known state, possibly by a shorter path.
    fn reopen(&mut self, id: StateId, parent: u32, choice: Choice, depth: u32) {
        let Some(&number) = self.names.as_ref().and_then(|names| names.get(&id.0)) else { return };
        let node = &mut self.nodes[number as usize];
        if depth < node.depth {
            self.guided.reopened += u64::from(node.closed);
            (node.parent, node.choice, node.depth, node.closed) = (parent, choice, depth, false);
            self.reached.push(number);
        }
    }

    /// Handles a state without steps.
    fn terminal(&mut self, state: &[u8], number: u32) -> Result<(), Over> {
        let valid = self.system.is_valid_end(state);
        match self.task.property.terminal(state, valid) {
            Answer::Stop(finding) => self.stop_at(finding, number, None),
            _ => Ok(()),
        }
    }

    fn stop_at(&mut self, finding: Finding, number: u32, step: Option<Choice>) -> Result<(), Over> {
        self.found = Some((finding, number, step));
        Err(Over)
    }

    /// Replaces `out` by the state of an open node.
    pub fn read(&mut self, number: u32, out: &mut Vec<u8>) {
        match self.kept.get(&number) {
            Some(bytes) => {
                out.clear();
                out.extend_from_slice(bytes);
            }
            None => {
                self.worker.read(self.nodes[number as usize].id, out);
            }
        }
    }

    /// The path to a node; `None` if there is no time to execute it again.
    pub fn trace_to(&mut self, number: u32) -> Option<Trace> {
        let path = self.path(number, None);
        retrace(&mut self.system, &path, self.monitor.patience())
    }

    /// The choices that lead to a node, followed by one more.
    fn path(&self, number: u32, step: Option<Choice>) -> Vec<Choice> {
        let mut path: Vec<Choice> = step.into_iter().collect();
        let mut at = number;
        while let Some(node) = self.nodes.get(at as usize) {
            path.push(node.choice);
            at = node.parent;
        }
        path.reverse();
        path
    }

    /// Drops a node that will not be expanded.
    pub fn leave_out(&mut self, number: u32) {
        self.narrowed = true;
        if let Some(bytes) = self.kept.remove(&number) {
            self.kept_bytes -= bytes.len() as u64;
        }
    }

    fn poll(&mut self) -> Result<(), Over> {
        let nodes = self.nodes.capacity() * size_of::<Node>();
        let names = self.names.as_ref().map_or(0, |names| names.capacity() as u64 * NAME_BYTES);
        let standing = WorkerCounts {
            states: self.statistics.states,
            transitions: self.statistics.transitions,
            waiting: self.statistics.states.saturating_sub(self.guided.expanded),
            depth: self.statistics.depth,
            // An entry of the queue also takes a few bytes.
            search_bytes: nodes as u64 + names + self.kept_bytes + 8 * self.nodes.len() as u64,
        };
        if self.monitor.poll(0, &standing, self.store) { Ok(()) } else { Err(Over) }
    }

    /// The outcome of the search.
    pub fn conclude(mut self) -> Outcome {
        let verdict = match self.found.take() {
            Some((finding, number, step)) => {
                let path = self.path(number, step);
                let trace = retrace(&mut self.system, &path, self.monitor.patience());
                violated(&self.system, finding, trace)
            }
            None if self.monitor.reason().is_none() && self.narrowed => Verdict::Unknown(StopReason::Narrow),
            None => unviolated(self.monitor.reason(), self.truncated, T::EXACT),
        };
        let expanded = self.nodes.iter().filter(|node| node.expanded).count() as u64;
        let mut statistics = Statistics { expanded_by_worker: vec![expanded], guided: Some(self.guided), ..self.statistics };
        self.monitor.conclude(&mut statistics, self.store, Duration::ZERO);
        Outcome { verdict, statistics }
    }
}
