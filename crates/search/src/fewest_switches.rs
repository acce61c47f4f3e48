//! A path to a violation with the fewest context switches: changes from one process to another.
//!
//! A path with few switches is easier to follow than a short one. The search goes by layers: layer
//! *k* contains the states that can be reached with *k* switches, each together with the process
//! that moved last. A layer is closed under the steps of that process before any other process
//! moves, so the first violation has the fewest switches (Qadeer, Rehof, "Context-bounded model
//! checking of concurrent software", 2005, bound the switches in the same way). A state is visited
//! once for each process that can lead there.

use crate::monitor::{Monitor, WorkerCounts};
use crate::retrace::{Choice, retrace, unviolated, violated};
use crate::rounds::initial_fault;
use crate::task::Task;
use contract::{Answer, Finding, Outcome, StateId, Statistics, Store, StoreWorker, Successors, System};
use std::time::Duration;

/// The bytes after a state that hold the process that moved last.
const TAIL: usize = 4;
/// The process that moved last in an initial state: any process may begin. It is also that of a
/// step in which only the automaton of a product moves, which is no switch.
const NOBODY: u32 = u32::MAX;
/// The parent of an initial state.
const ROOT: u32 = u32::MAX;

struct Node {
    id: StateId,
    parent: u32,
    choice: Choice,
    depth: u32,
}

/// The search is over.
struct Over;

struct Walk<'a, S, T: Store + 'a> {
    system: S,
    store: &'a T,
    worker: T::Worker<'a>,
    task: &'a Task<'a>,
    monitor: &'a Monitor<'a>,
    nodes: Vec<Node>,
    statistics: Statistics,
    truncated: bool,
    found: Option<(Finding, u32, Option<Choice>)>,
    out: Successors,
    state: Vec<u8>,
    key: Vec<u8>,
}

/// Looks for a violation that is reached with the fewest context switches. `store` must be empty
/// and keep its states.
pub fn fewest_switches<S: System + Clone, T: Store>(system: &S, store: &T, task: &Task<'_>) -> Outcome {
    let monitor = Monitor::new(task, 1, store);
    let mut system = system.clone();
    system.give_up_when(monitor.enough(0));
    let mut walk = Walk {
        system,
        store,
        worker: store.worker(),
        task,
        monitor: &monitor,
        nodes: Vec::new(),
        statistics: Statistics::default(),
        truncated: false,
        found: None,
        out: Successors::new(),
        state: Vec::new(),
        key: Vec::new(),
    };
    // Whether the search was complete or stopped, `conclude` gives the result.
    let _ = walk.layers();
    walk.conclude()
}

impl<S: System, T: Store> Walk<'_, S, T> {
    fn layers(&mut self) -> Result<(), Over> {
        self.initial()?;
        let mut begin = 0;
        while begin < self.nodes.len() {
            // The layer grows while it is closed under the steps of the processes that moved last.
            let mut at = begin;
            while at < self.nodes.len() {
                self.expand(at as u32, true)?;
                at += 1;
            }
            // Then the other processes move.
            for node in begin..at {
                self.expand(node as u32, false)?;
            }
            begin = at;
        }
        Ok(())
    }

    fn initial(&mut self) -> Result<(), Over> {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        self.system.initial(&mut out);
        for (index, entry) in out.entries().iter().enumerate() {
            let choice = Choice::Index(index as u32);
            match initial_fault(self.task.property, entry) {
                Answer::Continue => {}
                Answer::Prune => continue,
                Answer::Stop(finding) => return self.stop_at(finding, ROOT, Some(choice)),
            }
            if let Some(state) = out.state(entry) {
                self.reach(state, NOBODY, ROOT, choice, 0)?;
            }
        }
        self.out = out;
        Ok(())
    }

    /// Follows the steps of the process that moved last, or those of all others.
    fn expand(&mut self, number: u32, same: bool) -> Result<(), Over> {
        let Node { id, depth, .. } = self.nodes[number as usize];
        if self.task.limits.depth.is_some_and(|limit| u64::from(depth) >= limit) {
            self.truncated = true;
            return Ok(());
        }
        let mut state = std::mem::take(&mut self.state);
        self.worker.read(id, &mut state);
        let (bytes, tail) = state.split_at(state.len().saturating_sub(TAIL));
        let last = u32::from_le_bytes(tail.try_into().unwrap_or_default());
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        self.system.successors(bytes, &mut out);
        let followed = self.follow(number, bytes, last, same, depth, &out);
        (self.state, self.out) = (state, out);
        followed?;
        self.poll(number)
    }

    fn follow(&mut self, number: u32, state: &[u8], last: u32, same: bool, depth: u32, out: &Successors) -> Result<(), Over> {
        if out.is_cut_short() {
            self.monitor.refused();
            return Err(Over);
        }
        if out.is_empty() && same {
            let valid = self.system.is_valid_end(state);
            if let Answer::Stop(finding) = self.task.property.terminal(state, valid) {
                return self.stop_at(finding, number, None);
            }
        }
        for (entry, next) in out.iter() {
            // The first step switches from no process.
            let process = entry.action.process;
            if (last == NOBODY || process == last || process == NOBODY) != same {
                continue;
            }
            let choice = Choice::Action(entry.action);
            if let Some(code) = entry.fault() {
                match self.task.property.fault(code, entry.has_state()) {
                    Answer::Continue => {}
                    Answer::Prune => continue,
                    Answer::Stop(finding) => return self.stop_at(finding, number, Some(choice)),
                }
            }
            self.statistics.transitions += 1;
            if let Some(next) = next {
                let process = if process == NOBODY { last } else { process };
                self.reach(next, process, number, choice, depth + 1)?;
            }
        }
        Ok(())
    }

    fn reach(&mut self, state: &[u8], last: u32, parent: u32, choice: Choice, depth: u32) -> Result<(), Over> {
        self.key.clear();
        self.key.extend_from_slice(state);
        self.key.extend_from_slice(&last.to_le_bytes());
        let hash = self.worker.hash(&self.key);
        let Ok(inserted) = self.worker.insert(hash, &self.key) else {
            self.monitor.refused();
            return Err(Over);
        };
        if inserted.new {
            self.statistics.states += 1;
            self.statistics.depth = self.statistics.depth.max(depth.into());
            self.nodes.push(Node { id: inserted.id, parent, choice, depth });
        }
        Ok(())
    }

    fn stop_at(&mut self, finding: Finding, number: u32, step: Option<Choice>) -> Result<(), Over> {
        self.found = Some((finding, number, step));
        Err(Over)
    }

    fn poll(&self, number: u32) -> Result<(), Over> {
        let counts = WorkerCounts {
            states: self.statistics.states,
            transitions: self.statistics.transitions,
            waiting: self.nodes.len() as u64 - u64::from(number) - 1,
            depth: self.statistics.depth,
            search_bytes: (self.nodes.capacity() * size_of::<Node>()) as u64,
        };
        if self.monitor.poll(0, &counts, self.store) { Ok(()) } else { Err(Over) }
    }

    fn conclude(mut self) -> Outcome {
        let verdict = match self.found.take() {
            Some((finding, number, step)) => {
                let mut path: Vec<Choice> = step.into_iter().collect();
                let mut at = number;
                while let Some(node) = self.nodes.get(at as usize) {
                    path.push(node.choice);
                    at = node.parent;
                }
                path.reverse();
                let trace = retrace(&mut self.system, &path, self.monitor.patience());
                violated(&self.system, finding, trace)
            }
            None => unviolated(self.monitor.reason(), self.truncated, T::EXACT),
        };
        let mut statistics = self.statistics;
        self.monitor.conclude(&mut statistics, self.store, Duration::ZERO);
        Outcome { verdict, statistics }
    }
}
