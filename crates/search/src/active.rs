//! The number of processes that can move, as an estimate of the distance to a deadlock: each of
//! them must be blocked first. One step may block several processes, so this is not a lower bound.

use crate::sync::lock;
use contract::{CloneSystem, Heuristic, Successors, System};
use std::sync::{Mutex, PoisonError};

/// Counts the processes that can begin a step. For the product with an automaton, this needs the
/// system without the automaton.
pub struct Active {
    system: Mutex<Box<dyn CloneSystem>>,
    /// Bytes after the system's state that do not belong to it.
    tail: usize,
    out: Successors,
    seen: Vec<u32>,
}

impl Active {
    /// Counts in states of `system`, each followed by `tail` bytes that do not belong to it.
    pub fn new(system: Box<dyn CloneSystem>, tail: usize) -> Active {
        Active { system: Mutex::new(system), tail, out: Successors::new(), seen: Vec::new() }
    }
}

impl Heuristic for Active {
    fn estimate(&mut self, state: &[u8]) -> u32 {
        self.out.clear();
        self.seen.clear();
        let state = &state[..state.len().saturating_sub(self.tail)];
        self.system.get_mut().unwrap_or_else(PoisonError::into_inner).successors(state, &mut self.out);
        for entry in self.out.entries() {
            if !self.seen.contains(&entry.action.process) {
                self.seen.push(entry.action.process);
            }
        }
        self.seen.len() as u32
    }

    fn is_lower_bound(&self) -> bool {
        false
    }

    fn clone_heuristic(&self) -> Box<dyn Heuristic> {
        Box::new(Active::new(lock(&self.system).clone(), self.tail))
    }
}
