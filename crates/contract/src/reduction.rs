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

    /// The same, restricted to what can be left out of `steps`, which are all steps of a state.
    fn among(self, steps: &[Successor]) -> LeftOut {
        let moving = steps.iter().fold(0, |moving, step| moving | 1_u64.checked_shl(step.action.process).unwrap_or(0));
        if self.processes == 0 || steps.iter().all(|step| LeftOut::has(self.processes, step)) {
            return LeftOut::NOTHING;
        }
        LeftOut { postponed: self.postponed & self.processes & moving, ..self }
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

    /// The same for several states at once, into `left`, which has nothing left out before. `steps`
    /// are those of all of them, one state after the other; the first state is source number
    /// `source`. Here some step of each state that has steps is left, and what is postponed has
    /// steps and is left out.
    fn leave_out_of_all(&self, states: &[&[u8]], source: u32, steps: &[Successor], left: &mut [LeftOut]) {
        for ((state, own), left) in by_source(states, source, steps).zip(left) {
            // A single step is always left.
            if own.len() > 1 {
                *left = self.leave_out(state, own).among(own);
            }
        }
    }
}

/// Each of `states`, the first of which is source number `source`, with its own among `steps`.
#[inline]
pub fn by_source<'a>(states: &'a [&'a [u8]], source: u32, mut steps: &'a [Successor]) -> impl Iterator<Item = (&'a [u8], &'a [Successor])> {
    (source..).zip(states).map(move |(number, state)| {
        let (own, later) = steps.split_at(steps.iter().take_while(|step| step.source == number).count());
        steps = later;
        (*state, own)
    })
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
