//! The parts that all orders share outside the hot loop: faults of initial states, and the steps
//! that a reduction leaves out.

use contract::{Answer, Finding, LeftOut, Property, Reduction, Successor, Successors, System, Trace};

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

/// The initial state of an entry, if the search begins there; or what is wrong with it, and the
/// trace that shows it.
pub(crate) fn initial_state<'s>(
    property: &dyn Property,
    entry: &Successor,
    state: Option<&'s [u8]>,
) -> Result<Option<&'s [u8]>, Box<(Finding, Trace)>> {
    match initial_fault(property, entry) {
        Answer::Continue => Ok(state),
        Answer::Prune => Ok(None),
        Answer::Stop(finding) => {
            let initial = state.map(<[u8]>::to_vec).unwrap_or_default();
            Err(Box::new((finding, Trace { initial, ..Trace::default() })))
        }
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
    let mut left = [LeftOut::NOTHING];
    if let [first, _, ..] = steps {
        reduction.leave_out_of_all(&[state], first.source, steps, &mut left);
    }
    left[0]
}

/// How many states a reduction is asked about at once.
pub(crate) const AT_ONCE: usize = 16;

/// The processes that are left out in each of several states.
pub(crate) struct LeftOutOfAll {
    pub of: [LeftOut; AT_ONCE],
    /// The number of the first source of which something is left out.
    first: u32,
    source: u32,
}

impl LeftOutOfAll {
    /// What the reduction leaves out of the steps of several states, if that is anything. The first
    /// state is source number `source`, and there are at most [`AT_ONCE`].
    #[inline]
    pub fn by(reduction: &dyn Reduction, states: &[&[u8]], source: u32, steps: &[Successor]) -> Option<LeftOutOfAll> {
        let mut of = [LeftOut::NOTHING; AT_ONCE];
        reduction.leave_out_of_all(states, source, steps, &mut of[..states.len()]);
        let first = of.iter().position(|left| left.processes != 0)?;
        Some(LeftOutOfAll { of, first: source + first as u32, source })
    }

    /// Takes these steps back. Those of all states begin at number `first` of `out`.
    pub fn take_back(&self, out: &mut Successors, first: usize) {
        let first = first + out.entries()[first..].partition_point(|entry| entry.source < self.first);
        out.retain(first, |entry| !LeftOut::has(self.of[(entry.source - self.source) as usize].processes, entry));
    }
}

/// Buffers for looking ahead.
#[derive(Default)]
pub(crate) struct Ahead {
    out: Successors,
    /// States to look at, one after the other, and where each begins.
    bytes: Vec<u8>,
    open: Vec<usize>,
    /// The hashes of all states that were added. A state whose hash is already there is not
    /// examined. The answer may then be `false` without need, which is safe.
    met: Vec<u64>,
    state: Vec<u8>,
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
        self.bytes.clear();
        self.open.clear();
        self.met.clear();
        next.for_each(|state| self.keep(state));
        let mut out = std::mem::take(&mut self.out);
        let mut looked = 0;
        // The search is depth-first, because the other processes move deep in the graph.
        while looked < LOOK_AHEAD
            && left != 0
            && let Some(start) = self.open.pop()
        {
            looked += 1;
            self.state.clear();
            self.state.extend(self.bytes.drain(start..));
            out.clear();
            system.successors(&self.state, &mut out);
            if out.is_cut_short() {
                break;
            }
            let processes = left_out(reduction, &self.state, out.entries()).processes;
            left &= processes;
            if left != 0 {
                // A property may want to go no further than a fault.
                let followed = out.iter().filter(|(entry, _)| entry.fault().is_none() && !LeftOut::has(processes, entry));
                followed.for_each(|(_, next)| next.into_iter().for_each(|next| self.keep(next)));
            }
        }
        self.out = out;
        left == 0
    }

    /// Adds a state to examine, unless it was added before.
    fn keep(&mut self, state: &[u8]) {
        let (words, rest) = state.as_chunks::<8>();
        let mix = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = words.iter().fold(state.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
        let hash = mix(hash, rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        if !self.met.contains(&hash) {
            self.met.push(hash);
            self.open.push(self.bytes.len());
            self.bytes.extend_from_slice(state);
        }
    }
}
