//! A system of which a reduction leaves out steps, decided in each state by the state alone.
//!
//! A search in memory looks ahead for the processes that a reduction postpones only where no step
//! leads to something new. A worker of a distributed search does not know what is new to others, so
//! it looks ahead in every state: more steps are followed than would have to be, and the same ones
//! whoever owns what.

use crate::rounds::{Ahead, left_out};
use contract::{CloneSystem, Enough, Fault, FaultCode, LeftOut, Reduction, Successors, System};
use std::time::Duration;

/// What a reduction leaves of a system.
pub struct Foresighted<'r> {
    system: Box<dyn CloneSystem>,
    reduction: &'r dyn Reduction,
    ahead: Ahead,
}

impl<'r> Foresighted<'r> {
    /// What `reduction` leaves of `system`.
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

    fn describe_fault(&self, code: FaultCode) -> Fault {
        self.system.describe_fault(code)
    }
}
