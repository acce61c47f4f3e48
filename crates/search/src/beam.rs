//! Beam search: a breadth-first search that follows only the most promising states of each level
//! (Lowerre, "The HARPY speech recognition system", 1976).
//!
//! The width of the beam is fixed, so memory grows with the depth alone. A state that is left out
//! is never visited. A beam search that finds no violation therefore proves nothing, unless every
//! level fitted into the beam.

use crate::guided::Walk;
use crate::monitor::Monitor;
use crate::task::Task;
use contract::{Outcome, Store, System};

/// Explores at most `width` states of each level of `system`, those with the least estimates. The
/// store must be empty.
pub fn beam<S: System + Clone, T: Store>(system: &S, store: &T, width: usize, task: &Task<'_>) -> Outcome {
    let monitor = Monitor::new(task, 1, store);
    let mut walk = Walk::new(system, store, task, &monitor, false);
    let mut level = Vec::new();
    let mut next = Vec::new();
    let mut go_on = walk.initial().is_ok();
    next.append(&mut walk.reached);
    while go_on && !next.is_empty() {
        // Among states with equal estimates, those that came first are kept.
        next.sort_by_key(|&number: &u32| walk.nodes[number as usize].estimate);
        next.drain(width.max(1).min(next.len())..).for_each(|number| walk.leave_out(number));
        std::mem::swap(&mut level, &mut next);
        for number in level.drain(..) {
            go_on = go_on && walk.expand(number).is_ok();
            next.append(&mut walk.reached);
        }
    }
    walk.conclude()
}
