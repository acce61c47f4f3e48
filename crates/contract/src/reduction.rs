//! Exploring less than everything: which steps of a state a search leaves out.
//!
//! A reduction sees all steps of a state, by their static numbers, and names processes whose steps
//! are left out there. A search drops these steps before it hashes and stores what they lead to,
//! which is most of the work. Whether that may stand is then up to the search: if a process was
//! left out for ever along a cycle, a state could be overlooked. So a search makes sure that from
//! each state a path of steps that are left leads to where a postponed process moves. That is the
//! proviso. Where some step that is left leads to a new state, that state is expanded later, so it
//! is enough that the proviso holds there. Otherwise the search looks ahead along the steps that
//! are left, and if that does not help it follows those of the postponed processes as well. This
//! needs no more than the store's answers, and that the choice depends on the state alone.

use crate::successors::Successor;

/// What is left out of the steps of a state: processes, a bit each. Those from number 64 on are
/// never left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The processes whose steps are not followed.
    pub processes: u64,
    /// Those among them that must not be left out for ever.
    pub postponed: u64,
}

impl LeftOut {
    /// Nothing is left out.
    pub const NOTHING: LeftOut = LeftOut { processes: 0, postponed: 0 };

    /// Whether `processes`, a bit each, has the one that takes a step.
    #[inline]
    pub fn has(processes: u64, step: &Successor) -> bool {
        processes.checked_shr(step.action.process).unwrap_or(0) & 1 != 0
    }
}

/// Says, for one state, which processes a search need not follow.
pub trait Reduction: Sync {
    /// Whether the reduction never leaves anything out, so that a search need not ask.
    fn is_identity(&self) -> bool {
        false
    }

    /// What is left out of `steps`, which are all steps of `state`. The answer depends on these
    /// alone. If no step is left, nothing is left out.
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
