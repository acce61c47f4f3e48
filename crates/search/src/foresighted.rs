//! A system with the steps that a reduction keeps. In each state, the state alone decides which.
//!
//! A search in memory looks ahead for the processes that a reduction postpones only if no step
//! leads to a new state. A worker of a distributed search does not know which states are new to
//! other workers, so it looks ahead in every state. It follows more steps than necessary, but the
//! same steps whichever worker owns a state.

use crate::rounds::{Ahead, left_out};
use contract::{CloneSystem, Enough, Fault, FaultCode, LeftOut, Reduction, Successors, System};
use std::time::Duration;

/// A system without the steps that a reduction leaves out.
pub struct Foresighted<'r> {
    system: Box<dyn CloneSystem>,
    reduction: &'r dyn Reduction,
    ahead: Ahead,
}

impl<'r> Foresighted<'r> {
    /// `system` without the steps that `reduction` leaves out.
    pub fn new(system: Box<dyn CloneSystem>, reduction: &'r dyn Reduction) -> Self {
        Foresighted { system, reduction, ahead: Ahead::default() }
    }
}

impl System for Foresighted<'_> {
    fn initial(&mut self, out: &mut Successors) {
        self.system.initial(out);
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let first = out.len();
        self.system.successors(state, out);
        if out.is_cut_short() {
            return;
        }
        let LeftOut { processes, postponed } = left_out(self.reduction, state, &out.entries()[first..]);
        if processes == 0 {
            return;
        }
        let left = out.entries()[first..].iter().filter(|entry| !LeftOut::has(processes, entry) && entry.fault().is_none());
        let next = left.filter_map(|entry| out.state(entry));
        let chosen = postponed == 0 || self.ahead.all_chosen(&mut self.system, self.reduction, next, postponed);
        out.retain(first, |entry| !LeftOut::has(processes, entry) || !chosen && LeftOut::has(postponed, entry));
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

    fn atoms(&mut self, state: &[u8]) -> Result<u64, FaultCode> {
        self.system.atoms(state)
    }

    fn values(&mut self, state: &[u8], atoms: &[u32], out: &mut Vec<i64>) -> Result<(), FaultCode> {
        self.system.values(state, atoms, out)
    }

    fn describe_fault(&self, code: FaultCode) -> Fault {
        self.system.describe_fault(code)
    }
}
