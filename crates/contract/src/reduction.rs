//! Exploring less than everything: which of the enabled steps a search has to follow.

use crate::successors::Successor;

/// What a reduction decided for one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Follow every step.
    All,
    /// Follow the steps whose indices were written, ascending.
    Subset,
}

/// Selects, for one state, the steps a search follows.
///
/// For now it sees only the enabled steps; what a sound reduction needs besides (footprints, visibility, the cycle proviso) comes
/// with the first of them.
pub trait Reduction: Sync {
    /// Whether the reduction never removes anything, so that a search need not ask.
    fn is_identity(&self) -> bool {
        false
    }

    /// Looks at the steps `enabled` in `state` and appends to `chosen` (empty at the call) the indices of those to follow.
    fn select(&self, state: &[u8], enabled: &[Successor], chosen: &mut Vec<u32>) -> Selection;
}

/// No reduction: every step is followed.
#[derive(Clone, Copy, Debug, Default)]
pub struct FullExpansion;

impl Reduction for FullExpansion {
    fn is_identity(&self) -> bool {
        true
    }

    fn select(&self, _: &[u8], _: &[Successor], _: &mut Vec<u32>) -> Selection {
        Selection::All
    }
}
