//! A system without the steps that a reduction leaves out.
//!
//! If the choice of a reduction itself guarantees that no process is postponed for ever, the
//! reduction needs no proviso of a search. The reduced system is then a system like any other: its
//! steps depend on the state alone. So every search for runs works on it, also in a product with an
//! automaton, and knows nothing of the reduction.

use crate::rounds::left_out;
use contract::{Enough, Fault, FaultCode, LeftOut, Reduction, Successor, Successors, System};
use std::time::Duration;

/// The number of states that are expanded at once.
const AT_ONCE: usize = 16;

/// A system with the steps that a reduction keeps.
#[derive(Clone)]
pub struct Reduced<'r, S> {
    system: S,
    reduction: &'r dyn Reduction,
}

impl<'r, S: System> Reduced<'r, S> {
    /// `system` without the steps that `reduction` leaves out.
    pub fn new(system: S, reduction: &'r dyn Reduction) -> Self {
        Reduced { system, reduction }
    }

    /// The processes whose steps are left out of the steps of a state, one bit each.
    fn left_out(&self, state: &[u8], steps: &[Successor]) -> u64 {
        let processes = left_out(self.reduction, state, steps).processes;
        // A run ends with a fatal fault, so the other processes must not be postponed after it.
        let fatal = |entry: &Successor| !entry.has_state() && !LeftOut::has(processes, entry);
        if processes != 0 && steps.iter().any(fatal) { 0 } else { processes }
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
        let processes = self.left_out(state, &out.entries()[first..]);
        if processes != 0 {
            out.retain(first, |entry| !LeftOut::has(processes, entry));
        }
    }

    fn successors_of_all(&mut self, states: &[&[u8]], source: u32, out: &mut Successors) -> usize {
        let mut number = 0;
        for some in states.chunks(AT_ONCE) {
            let (first, source) = (out.len(), source + number as u32);
            let expanded = self.system.successors_of_all(some, source, out);
            let (mut processes, mut end) = ([0; AT_ONCE], first);
            for ((from, state), processes) in (source..).zip(&some[..expanded]).zip(&mut processes) {
                let steps = &out.entries()[end..];
                let steps = &steps[..steps.iter().take_while(|entry| entry.source == from).count()];
                end += steps.len();
                *processes = self.left_out(state, steps);
            }
            if processes.iter().any(|&processes| processes != 0) {
                out.retain(first, |entry| !LeftOut::has(processes[(entry.source - source) as usize], entry));
            }
            number += expanded;
            if expanded < some.len() {
                break;
            }
        }
        number
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
