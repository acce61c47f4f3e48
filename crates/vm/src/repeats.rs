//! Where a transition that never ends repeats, for reports.
//!
//! The rules report such a transition where it started (S-ENDLESS of `docs/bytecode.md`), which is
//! the same for every engine but may be far from the loop. Every path through such a transition is
//! cut. So the first path from each state, again and again, comes back to a state too, and the
//! steps from there on are the loop that a user has to mend.

use crate::log::Silent;
use crate::memory::Memory;
use crate::paths::{Circumstances, Ending};
use crate::scheduler::Scheduler;
use bytecode::{Addr, Mode};
use std::collections::BTreeMap;

/// A state inside a sequence, with the process that continues.
type Inside = (usize, Memory);

/// The step of the loop that an invisible sequence repeats for ever. `None` if the sequence ends,
/// or if the search is abandoned.
///
/// A loop inside the loop makes as many turns or more, and its code comes later. So the step with
/// the fewest turns is that of the outermost loop, and among several the one that comes first.
pub(crate) fn repeated(scheduler: &Scheduler<'_>, process: usize, memory: Memory) -> Option<Addr> {
    // Brent's cycle finding: the kept state is replaced at each power of two.
    let mut here = (process, memory);
    let mut kept = here.clone();
    let mut steps = 0_u64;
    loop {
        here = next(scheduler, here)?.0;
        if is_same(&here, &kept) {
            break;
        }
        steps += 1;
        if steps.is_power_of_two() {
            kept = here.clone();
        }
    }
    let mut turns: BTreeMap<Addr, u64> = BTreeMap::new();
    loop {
        let (after, step) = next(scheduler, here)?;
        here = after;
        *turns.entry(step).or_default() += 1;
        if is_same(&here, &kept) {
            break;
        }
    }
    turns.into_iter().min_by_key(|&(step, count)| (count, step)).map(|(step, _)| step)
}

fn is_same(one: &Inside, other: &Inside) -> bool {
    one.0 == other.0 && one.1.bytes() == other.1.bytes()
}

/// The state after the first path from a state, and the step that ended the path.
fn next(scheduler: &Scheduler<'_>, (process, memory): Inside) -> Option<(Inside, Addr)> {
    let path = scheduler.paths.of(process, memory, None, &Silent, Circumstances::default()).into_iter().next()?;
    let path = scheduler.deterministic(Addr(0), path).ok()?;
    match path.ending {
        _ if scheduler.effort.is_over() => None,
        Ending::Step(Mode::Invisible, step) => Some(((path.process, path.memory), step)),
        _ => None,
    }
}
