//! The parts that all orders share outside the hot loop: faults of initial states, and the steps
//! that a reduction leaves out.

use contract::{Answer, Finding, LeftOut, Property, Reduction, Successor, Successors, System};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The answer to a fault of an initial state. An initial state that cannot be computed is a
/// violation whatever the property says: a search without it would visit nothing and answer
/// "holds".
pub(crate) fn initial_fault(property: &dyn Property, entry: &Successor) -> Answer {
    match entry.fault() {
        Some(code) if !entry.has_state() => Answer::Stop(Finding::Fault(code)),
        Some(code) => property.fault(code, true),
        None => Answer::Continue,
    }
}

/// The number of states that are examined to find out whether a postponed process moves later.
const LOOK_AHEAD: usize = 8;

/// Removes the steps of `state`, from number `first` of `out` on, that the reduction leaves out.
/// Returns the processes among them that must not be left out for ever, one bit each.
#[inline]
pub(crate) fn leave_out(reduction: &dyn Reduction, state: &[u8], out: &mut Successors, first: usize) -> u64 {
    let LeftOut { processes, postponed } = left_out(reduction, state, &out.entries()[first..]);
    if processes != 0 {
        out.retain(first, |entry| !LeftOut::has(processes, entry));
    }
    postponed
}

/// The steps of `state` that the reduction leaves out. At least one step is kept, and each
/// postponed process has steps.
#[inline]
pub(crate) fn left_out(reduction: &dyn Reduction, state: &[u8], steps: &[Successor]) -> LeftOut {
    // A single step is always kept.
    if steps.len() < 2 {
        return LeftOut::NOTHING;
    }
    let LeftOut { processes, postponed } = reduction.leave_out(state, steps);
    if processes == 0 || steps.iter().all(|step| LeftOut::has(processes, step)) {
        return LeftOut::NOTHING;
    }
    let moving =
        if postponed == 0 { 0 } else { steps.iter().fold(0, |all, step| all | 1_u64.checked_shl(step.action.process).unwrap_or(0)) };
    LeftOut { processes, postponed: postponed & processes & moving }
}

/// Buffers for looking ahead.
#[derive(Default)]
pub(crate) struct Ahead {
    out: Successors,
    /// The states to examine, and the hashes of all that were added.
    open: Vec<Vec<u8>>,
    seen: Vec<u64>,
}

impl Ahead {
    /// Whether each of the `postponed` processes moves in some state that is reachable by kept
    /// steps from the states `next`. The search expands all these states, so no process is
    /// postponed for ever. The answer `false` may be wrong.
    pub fn all_chosen<'s, S: System>(
        &mut self,
        system: &mut S,
        reduction: &dyn Reduction,
        next: impl Iterator<Item = &'s [u8]>,
        postponed: u64,
    ) -> bool {
        let mut left = postponed;
        self.open.clear();
        self.seen.clear();
        next.for_each(|state| self.keep(state));
        let mut looked = 0;
        // The search is depth-first, because the other processes move deep in the graph.
        while looked < LOOK_AHEAD
            && left != 0
            && let Some(state) = self.open.pop()
        {
            looked += 1;
            let mut out = std::mem::take(&mut self.out);
            out.clear();
            system.successors(&state, &mut out);
            if out.is_cut_short() {
                return false;
            }
            let processes = left_out(reduction, &state, out.entries()).processes;
            left &= processes;
            // The property may end the run at a fault.
            let followed = out.iter().filter(|(entry, _)| entry.fault().is_none() && !LeftOut::has(processes, entry));
            followed.for_each(|(_, next)| next.into_iter().for_each(|next| self.keep(next)));
            self.out = out;
        }
        left == 0
    }

    /// Adds a state to examine, unless it was added before.
    fn keep(&mut self, state: &[u8]) {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        let hash = hasher.finish();
        if !self.seen.contains(&hash) {
            self.seen.push(hash);
            self.open.push(state.to_vec());
        }
    }
}
