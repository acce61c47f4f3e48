//! A system with the steps that a reduction keeps. In each state, the state alone decides which.
//!
//! A search in memory looks ahead for the processes that a reduction postpones only if no step
//! leads to a new state. A worker of a distributed search does not know which states are new to
//! other workers, so it looks ahead in every state. It follows more steps than necessary, but the
//! same steps whichever worker owns a state.

use crate::rounds::{Ahead, left_out};
use contract::{CloneSystem, LeftOut, Reduction, Successors, System};

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
    contract::forward_system!(system: initial, give_up_when, get_ready, is_valid_end, atoms, values, describe_fault, values_of_all);

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
}
