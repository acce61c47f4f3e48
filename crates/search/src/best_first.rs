//! Best-first search and A*: the open state with the least weighted sum of path and estimate is
//! expanded next.
//!
//! With equal weights this is A* (Hart, Nilsson, Raphael, "A formal basis for the heuristic
//! determination of minimum cost paths", 1968). A known state is opened again if a shorter path to
//! it is found, and with an estimate that is a lower bound the path to the violation is a shortest
//! one. With weight 0 on the path the search is greedy: it follows the least estimate and never
//! visits a state twice. Other weights give a compromise.

use crate::buckets::Buckets;
use crate::guided::Walk;
use crate::monitor::Monitor;
use crate::task::Task;
use contract::{Outcome, Store, System};

/// The weights by which open states are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// The weight of each step of the path.
    pub path: u32,
    /// The weight of each step of the estimate.
    pub estimate: u32,
}

impl Weights {
    /// The estimate alone: greedy search.
    pub const GREEDY: Weights = Weights { path: 0, estimate: 1 };
    /// Path and estimate count equally: A*.
    pub const EQUAL: Weights = Weights { path: 1, estimate: 1 };

    pub(crate) fn key(self, depth: u32, estimate: u32) -> u64 {
        u64::from(self.path) * u64::from(depth) + u64::from(self.estimate) * u64::from(estimate)
    }
}

/// Explores `system` in the order of `weights`. The store must be empty. If the path has a weight,
/// known states are re-opened, and the store's names for them must never change.
pub fn best_first<S: System + Clone, T: Store>(system: &S, store: &T, weights: Weights, task: &Task<'_>) -> Outcome {
    let monitor = Monitor::new(task, 1, store);
    let mut walk = Walk::new(system, store, task, &monitor, weights.path > 0);
    let mut waiting = Buckets::default();
    let mut go_on = walk.initial().is_ok();
    while go_on {
        for &number in &walk.reached {
            let node = &walk.nodes[number as usize];
            waiting.push(weights.key(node.depth, node.estimate), number);
        }
        let next = loop {
            match waiting.pop() {
                // A shorter path put this state further to the front of the queue, where it was
                // expanded.
                Some(number) if walk.nodes[number as usize].closed => {}
                next => break next,
            }
        };
        go_on = next.is_some_and(|number| walk.expand(number).is_ok());
    }
    walk.conclude()
}
