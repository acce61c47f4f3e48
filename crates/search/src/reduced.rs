//! A system without the steps that a reduction leaves out.
//!
//! If the choice of a reduction itself guarantees that no process is postponed for ever, the
//! reduction needs no proviso of a search. The reduced system is then a system like any other: its
//! steps depend on the state alone. So every search for runs works on it, also in a product with an
//! automaton, and knows nothing of the reduction.

use crate::rounds::{AT_ONCE, LeftOutOfAll, left_out};
use contract::{LeftOut, Reduction, Successor, Successors, System, by_source};

/// A system with the steps that a reduction chooses.
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
}

/// Returns the processes to leave out, one bit each; none if a kept step has a fatal fault. The run
/// ends with that fault, so the steps of the other processes would never be followed.
fn unless_fatal(processes: u64, steps: &[Successor]) -> u64 {
    let fatal = |entry: &Successor| !entry.has_state() && !LeftOut::has(processes, entry);
    if processes != 0 && steps.iter().any(fatal) { 0 } else { processes }
}

impl<S: System> System for Reduced<'_, S> {
    contract::forward_system!(system: initial, give_up_when, get_ready, is_valid_end, atoms, values, describe_fault, values_of_all);

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let first = out.len();
        self.system.successors(state, out);
        if out.is_cut_short() {
            return;
        }
        let steps = &out.entries()[first..];
        let processes = unless_fatal(left_out(self.reduction, state, steps).processes, steps);
        if processes != 0 {
            out.retain(first, |entry| !LeftOut::has(processes, entry));
        }
    }

    fn successors_of_all(&mut self, states: &[&[u8]], source: u32, out: &mut Successors) -> usize {
        let mut number = 0;
        for some in states.chunks(AT_ONCE) {
            let (first, source) = (out.len(), source + number as u32);
            let expanded = self.system.successors_of_all(some, source, out);
            let steps = &out.entries()[first..];
            if let Some(mut left) = LeftOutOfAll::by(self.reduction, &some[..expanded], source, steps) {
                for ((_, own), left) in by_source(&some[..expanded], source, steps).zip(&mut left.of) {
                    left.processes = unless_fatal(left.processes, own);
                }
                left.take_back(out, first);
            }
            number += expanded;
            if expanded < some.len() {
                break;
            }
        }
        number
    }
}
