//! Best-first search and A*: the waiting state with the least weighted sum of path and estimate is
//! expanded next.
//!
//! With equal weights this is A* (Hart, Nilsson, Raphael, "A formal basis for the heuristic
//! determination of minimum cost paths", 1968): a known state to which a shorter path is found
//! waits again, and with an estimate that is a lower bound the path to the violation is a shortest
//! one. Without any weight on the path it is greedy: it goes where the estimate is least and never
//! looks at a state twice. Weighted in between, it is as near to the one or the other as the
//! weights are.

use crate::buckets::Buckets;
use crate::guided::Walk;
use crate::monitor::Monitor;
use crate::task::Task;
use contract::{Outcome, Store, System};

/// By what waiting states are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Counted for each step of the path.
    pub path: u32,
    /// Counted for each step of the estimate.
    pub estimate: u32,
}

impl Weights {
    /// The estimate alone: greedy search.
    pub const GREEDY: Weights = Weights { path: 0, estimate: 1 };
    /// Both alike: A*.
    pub const EQUAL: Weights = Weights { path: 1, estimate: 1 };

    pub(crate) fn key(self, depth: u32, estimate: u32) -> u64 {
        u64::from(self.path) * u64::from(depth) + u64::from(self.estimate) * u64::from(estimate)
    }
}

/// Explores `system` in the order of `weights`, remembering states in `store`, which must be empty.
/// Where the path counts, known states are re-opened; the store must have names for them that never
/// change.
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
                // A shorter path put it before its old place in the queue.
                Some(number) if walk.nodes[number as usize].closed => {}
                next => break next,
            }
        };
        go_on = next.is_some_and(|number| walk.expand(number).is_ok());
    }
    walk.conclude()
}
