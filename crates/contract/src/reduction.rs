//! Partial exploration: which steps of a state a search leaves out.
//!
//! A reduction sees all steps of a state, by their static numbers, and names processes whose steps
//! are left out there. A search drops these steps before it hashes and stores their targets, which
//! is most of the work. If a process were left out for ever along a cycle, a state could be
//! overlooked. So a search makes sure that from each state a path of kept steps leads to a state in
//! which a postponed process moves. This is the proviso. If some kept step leads to a new state,
//! that state is expanded later, and it is enough that the proviso holds there. Otherwise the
//! search looks ahead along the kept steps, and if that does not help it also follows the steps of
//! the postponed processes. This needs only the store's answers, and a choice that depends on the
//! state alone.

use crate::successors::Successor;

/// The processes that are left out of the steps of a state, one bit each. Processes from number 64
/// on are never left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The processes whose steps are not followed.
    pub processes: u64,
    /// The processes among them that must not be left out for ever.
    pub postponed: u64,
}

impl LeftOut {
    /// Nothing is left out.
    pub const NOTHING: LeftOut = LeftOut { processes: 0, postponed: 0 };

    /// Whether the process of a step is in `processes`, a set with one bit per process.
    #[inline]
    pub fn has(processes: u64, step: &Successor) -> bool {
        processes.checked_shr(step.action.process).unwrap_or(0) & 1 != 0
    }
}

/// Decides, for one state, which processes a search need not follow.
pub trait Reduction: Sync {
    /// Whether the reduction never leaves anything out, so that a search need not call it.
    fn is_identity(&self) -> bool {
        false
    }

    /// The processes that are left out of `steps`, which are all steps of `state`. The answer
    /// depends on these alone. If no step would be kept, nothing is left out.
    fn leave_out(&self, state: &[u8], steps: &[Successor]) -> LeftOut;
}

/// No reduction: every step is followed.
#[derive(Clone, Copy, Debug, Default)]
pub struct FullExpansion;

impl Reduction for FullExpansion {
    fn is_identity(&self) -> bool {
        true
    }

    fn leave_out(&self, _: &[u8], _: &[Successor]) -> LeftOut {
        LeftOut::NOTHING
    }
}
