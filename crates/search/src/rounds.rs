//! What all orders do alike at the edges of the hot loop: faults of initial states, and what a
//! reduction leaves out.

use contract::{Answer, Finding, LeftOut, Property, Reduction, Successor, Successors, System};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What is to be done about an initial state. One that cannot be made is a violation whatever the
/// property says: a search from it would see nothing and call that good.
pub(crate) fn initial_fault(property: &dyn Property, entry: &Successor) -> Answer {
    match entry.fault() {
        Some(code) if !entry.has_state() => Answer::Stop(Finding::Fault(code)),
        Some(code) => property.fault(code, true),
        None => Answer::Continue,
    }
}

/// How many states are looked at to see whether a postponed process moves later.
const LOOK_AHEAD: usize = 8;

/// Takes back the steps of `state`, those from number `first` of `out` on, that the reduction
/// leaves out. Gives the processes among them that must not be left out for ever, a bit each.
#[inline]
pub(crate) fn leave_out(reduction: &dyn Reduction, state: &[u8], out: &mut Successors, first: usize) -> u64 {
    let LeftOut { processes, postponed } = left_out(reduction, state, &out.entries()[first..]);
    if processes != 0 {
        out.retain(first, |entry| !LeftOut::has(processes, entry));
    }
    postponed
}

/// What the reduction leaves out of the steps of `state`: some step is left, and what is postponed
/// has steps.
#[inline]
pub(crate) fn left_out(reduction: &dyn Reduction, state: &[u8], steps: &[Successor]) -> LeftOut {
    // A single step is always left.
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

/// Room for looking ahead.
#[derive(Default)]
pub(crate) struct Ahead {
    out: Successors,
    /// States to look at, and all that were put there.
    open: Vec<Vec<u8>>,
    seen: Vec<u64>,
}

impl Ahead {
    /// Whether each of the `postponed` processes moves in some state that steps that are left lead
    /// to from the states `next`. The search expands all these states, so nothing is put off for
    /// ever. No is no more than a guess.
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
        // Deep first: that is where the others have their turn.
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
            // A property may want to go no further than a fault.
            let followed = out.iter().filter(|(entry, _)| entry.fault().is_none() && !LeftOut::has(processes, entry));
            followed.for_each(|(_, next)| next.into_iter().for_each(|next| self.keep(next)));
            self.out = out;
        }
        left == 0
    }

    /// Keeps a state to look at, unless it was kept before.
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
