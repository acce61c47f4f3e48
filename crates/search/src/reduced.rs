//! A system of which a reduction leaves some steps.
//!
//! A reduction whose choice alone makes sure that nothing is put off for ever needs no proviso of a
//! search. What it leaves is a system like any other: its steps depend on the state alone. So every
//! search for runs works on it, also beside an automaton, and knows nothing of the reduction.

use crate::rounds::left_out;
use contract::{Enough, Fault, FaultCode, LeftOut, Reduction, Successor, Successors, System};
use std::time::Duration;

/// A system with the steps that a reduction chooses.
#[derive(Clone)]
pub struct Reduced<'r, S> {
    system: S,
    reduction: &'r dyn Reduction,
}

impl<'r, S: System> Reduced<'r, S> {
    /// What the reduction leaves of a system.
    pub fn new(system: S, reduction: &'r dyn Reduction) -> Self {
        Reduced { system, reduction }
    }
}

impl<S: System> System for Reduced<'_, S> {
    fn initial(&mut self, out: &mut Successors) {
        self.system.initial(out);
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let first = out.len();
        self.system.successors(state, out);
        if out.is_cut_short() {
            return;
        }
        let processes = left_out(self.reduction, state, &out.entries()[first..]).processes;
        // A run ends with a fatal fault. The others do not wait behind it.
        let fatal = |entry: &Successor| !entry.has_state() && !LeftOut::has(processes, entry);
        if processes != 0 && !out.entries()[first..].iter().any(fatal) {
            out.retain(first, |entry| !LeftOut::has(processes, entry));
        }
    }

    fn give_up_when(&mut self, enough: Enough) {
        self.system.give_up_when(enough);
    }

    fn get_ready(&mut self, most: Duration) -> bool {
        self.system.get_ready(most)
    }

    fn is_valid_end(&mut self, state: &[u8]) -> bool {
        self.system.is_valid_end(state)
    }

    fn values(&mut self, state: &[u8], atoms: &[u32], out: &mut Vec<i64>) -> Result<(), FaultCode> {
        self.system.values(state, atoms, out)
    }

    fn atoms(&mut self, state: &[u8]) -> Result<u64, FaultCode> {
        self.system.atoms(state)
    }

    fn describe_fault(&self, code: FaultCode) -> Fault {
        self.system.describe_fault(code)
    }
}
