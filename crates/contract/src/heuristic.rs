//! How far a state is from a violation, as somebody estimates it: what a directed search goes by.
//!
//! The estimate is a number of steps, the one that goes wrong included. So it is 0 only where the
//! state itself may be what is looked for, a deadlock, and a search looks at such a state at once.
//! An estimate that is never more than the true number is a lower bound; with one, A* finds a
//! shortest path.

/// Estimates the distance of states. One value serves one worker.
pub trait Heuristic: Send + Sync {
    /// About how many steps lead from `state` to a violation; [`FAR`] if none seems to. A search
    /// visits such states last, but it visits them.
    fn estimate(&mut self, state: &[u8]) -> u32;

    /// Whether the estimate is never more than the true number of steps.
    fn is_lower_bound(&self) -> bool;

    /// What the estimates are made of, for whoever asks.
    fn describe(&self) -> String {
        String::new()
    }

    /// A copy for another worker.
    fn clone_heuristic(&self) -> Box<dyn Heuristic>;
}

/// In place of a number of steps: no violation seems to be reachable.
pub const FAR: u32 = u32::MAX;

impl Clone for Box<dyn Heuristic> {
    fn clone(&self) -> Self {
        (**self).clone_heuristic()
    }
}

/// Knows nothing: every state is one step away, at least. A* becomes a breadth-first search.
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
