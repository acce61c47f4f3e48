//! Estimates of the distance from a state to a violation, which guide a directed search.
//!
//! The estimate is a number of steps, including the step with the violation. So it is 0 only if the
//! state itself may be a violation, that is, a deadlock, and a search checks such a state at once.
//! An estimate that is never more than the true number is a lower bound; with a lower bound, A*
//! finds a shortest path.

/// Estimates the distance of states. One value serves one worker.
pub trait Heuristic: Send + Sync {
    /// The estimated number of steps from `state` to a violation; [`FAR`] if none seems reachable.
    /// A search visits such states last, but it visits them.
    fn estimate(&mut self, state: &[u8]) -> u32;

    /// Whether the estimate is never more than the true number of steps.
    fn is_lower_bound(&self) -> bool;

    /// A description of the estimates for reports.
    fn describe(&self) -> String {
        String::new()
    }

    /// A copy for another worker.
    fn clone_heuristic(&self) -> Box<dyn Heuristic>;
}

/// Stands for a number of steps: no violation seems reachable.
pub const FAR: u32 = u32::MAX;

impl Clone for Box<dyn Heuristic> {
    fn clone(&self) -> Self {
        (**self).clone_heuristic()
    }
}

/// Has no information: every state is at least one step away. A* becomes a breadth-first search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blind;

impl Heuristic for Blind {
    fn estimate(&mut self, _: &[u8]) -> u32 {
        0
    }

    fn is_lower_bound(&self) -> bool {
        true
    }

    fn clone_heuristic(&self) -> Box<dyn Heuristic> {
        Box::new(Blind)
    }
}
