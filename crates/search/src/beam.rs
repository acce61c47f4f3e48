//! Beam search: level by level, as breadth-first search, but of each level only the most promising
//! states are followed (Lowerre, "The HARPY speech recognition system", 1976).
//!
//! The beam never gets wider, so memory grows with the depth alone. What is left out is left out
//! for good: a beam search that finds nothing knows nothing, unless every level fitted.

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
        // Among equals those that came first.
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
