//! Traces of a search on disk: a predecessor on the level before is found by expanding that level
//! again, and so on back to an initial state.
//!
//! The runs contain the level of each state, so no link is stored with a state. Finding the path
//! costs at most as much as expanding all states once more.

use crate::on_disk::{FROM_MEMORY, value_of};
use crate::patience::Patience;
use contract::{Enough, Successors, System, Trace, TraceStep};
use runs::{Cursor, Run};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// The levels on disk.
pub(crate) struct Levels<'l> {
    pub visited: &'l [Arc<Run>],
    /// The level at which the search moved from memory to disk, if it did.
    pub base: Option<u64>,
    pub workers: usize,
    pub patience: &'l Patience,
    /// The condition under which the system of a worker gives up a step.
    pub enough: &'l dyn Fn(usize) -> Enough,
}

/// A state on the path, and whether it is known to have been visited in memory.
struct Stop {
    state: Vec<u8>,
    from_memory: bool,
}

/// A shortest path from an initial state to `state`, which is `depth` steps away. `first` gives the
/// path to a state that was visited in memory. `None` if there is no time, or a run cannot be read.
pub(crate) fn way_to<S: System + Clone>(
    system: &S,
    levels: &Levels<'_>,
    state: Vec<u8>,
    depth: u64,
    first: &dyn Fn(&[u8]) -> Option<Trace>,
) -> Option<Trace> {
    let mut back = vec![Stop { from_memory: is_from_memory(levels, &state)?, state }];
    for depth in (0..depth).rev() {
        if back.last()?.from_memory {
            break;
        }
        back.push(predecessor(system, levels, &back.last()?.state, depth)?);
    }
    let Stop { state, from_memory } = back.pop()?;
    let mut trace = if from_memory { first(&state)? } else { Trace { initial: state, ..Trace::default() } };
    let mut system = system.clone();
    system.give_up_when((levels.enough)(0));
    let mut out = Successors::new();
    while let Some(Stop { state, .. }) = back.pop() {
        out.clear();
        system.successors(trace.last_state(), &mut out);
        let action = out.iter().find(|(_, target)| *target == Some(&state[..])).map(|(entry, _)| entry.action)?;
        trace.steps.push(TraceStep { action, state: Some(state) });
    }
    Some(trace)
}

/// Whether a state was visited in memory; `None` if a run cannot be read.
fn is_from_memory(levels: &Levels<'_>, state: &[u8]) -> Option<bool> {
    if levels.base.is_none() {
        return Some(false);
    }
    for run in levels.visited {
        let mut cursor = Cursor::new(Arc::clone(run)).ok()?;
        if cursor.seek(state).ok()? {
            return Some(cursor.value() == FROM_MEMORY);
        }
    }
    None
}

/// A state at `depth` with a step to `target`.
fn predecessor<S: System + Clone>(system: &S, levels: &Levels<'_>, target: &[u8], depth: u64) -> Option<Stop> {
    // A state that was visited in memory and has a successor that was not lies on the level before.
    let in_memory = levels.base.is_some_and(|base| depth <= base + 1);
    let wanted = |value: u64| value == value_of(depth) || in_memory && value == FROM_MEMORY;
    let blocks: Vec<(&Arc<Run>, usize)> = levels
        .visited
        .iter()
        .flat_map(|run| (0..run.blocks()).map(move |block| (run, block)))
        .filter(|(run, block)| {
            let (least, most) = run.range_of(*block);
            least <= value_of(depth) && value_of(depth) <= most || in_memory && least == FROM_MEMORY
        })
        .collect();
    let (next, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let found = Mutex::new(None);
    let mine = |number: usize| {
        let mut system = system.clone();
        system.give_up_when((levels.enough)(number));
        system
    };
    let patience = levels.patience;
    let work = |mut system: S| {
        let mut out = Successors::new();
        while let Some((run, block)) = blocks.get(next.fetch_add(1, Relaxed)) {
            let Ok(mut cursor) = Cursor::within(Arc::clone(run), *block, block + 1) else { return };
            while let Ok(true) = cursor.advance() {
                if !wanted(cursor.value()) {
                    continue;
                }
                out.clear();
                system.successors(cursor.state(), &mut out);
                if out.iter().any(|(_, state)| state == Some(target)) {
                    let stop = Stop { state: cursor.state().to_vec(), from_memory: cursor.value() == FROM_MEMORY };
                    found.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(stop);
                    over.store(true, Relaxed);
                }
                if over.load(Relaxed) {
                    return;
                }
            }
            if patience.is_over() {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        let work = &work;
        let helpers = if blocks.len() > 1 { levels.workers } else { 1 };
        for number in 1..helpers {
            let system = mine(number);
            // If a thread cannot be started, the other threads do its work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, move || work(system));
        }
        work(mine(0));
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}
