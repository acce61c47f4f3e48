//! The value of the user's own expression as an estimate.

use crate::sync::lock;
use contract::{CloneSystem, FAR, Heuristic, System};
use std::sync::{Mutex, PoisonError};

/// Estimates by the value of an atom of a system; negative values count as 0. It is not known
/// whether it is a lower bound.
pub struct Value {
    system: Mutex<Box<dyn CloneSystem>>,
    atoms: Vec<u32>,
    tail: usize,
    out: Vec<i64>,
}

impl Value {
    /// The value of an atom in states of `system`, each followed by `tail` bytes that do not belong
    /// to it.
    pub fn new(system: Box<dyn CloneSystem>, atom: u32, tail: usize) -> Value {
        Value { system: Mutex::new(system), atoms: vec![atom], tail, out: Vec::new() }
    }
}

impl Heuristic for Value {
    fn estimate(&mut self, state: &[u8]) -> u32 {
        self.out.clear();
        let state = &state[..state.len().saturating_sub(self.tail)];
        let system = self.system.get_mut().unwrap_or_else(PoisonError::into_inner);
        match system.values(state, &self.atoms, &mut self.out) {
            Ok(()) => self.out.first().map_or(FAR, |&value| value.clamp(0, i64::from(FAR - 1)) as u32),
            // The atom cannot be evaluated here, so it gives no estimate.
            Err(_) => FAR,
        }
    }

    fn is_lower_bound(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        "the value of the expression; 0 if it is negative, and the last to be visited if it has none\n".to_owned()
    }

    fn clone_heuristic(&self) -> Box<dyn Heuristic> {
        Box::new(Value { system: Mutex::new(lock(&self.system).clone()), atoms: self.atoms.clone(), tail: self.tail, out: Vec::new() })
    }
}
