//! The states that a search on disk has visited, as sorted runs. It determines for many states at
//! once which of them are new.
//!
//! The states to be looked up are sorted, and each run is read once, forward, in parallel with
//! them. Only the blocks of a run that can contain one of the states are read. A filter in memory
//! proves that most new states are new, so no run is read for them. This is delayed duplicate
//! detection (Korf, "Best-first frontier search with delayed duplicate detection", 2004; Hammer and
//! Weber, "To store or not to store reloaded", 2006). Runs of about the same size are merged, as in
//! a log-structured merge tree (O'Neil, Cheng, Gawlick, O'Neil, "The log-structured merge-tree",
//! 1996), so there are few of them and each state is written only a few times.

use crate::gather::Gathering;
use runs::{Cursor, Filter, Merge, Recent, Run, RunWriter, Shelf};
use std::io;
use std::sync::Arc;

/// The number of runs of one size that are merged.
const TOGETHER: usize = 5;
/// A run of at most this size has the lowest rank; each rank is for runs larger by `RANK_BITS`
/// bits.
const LOWEST: u64 = 1 << 14;
const RANK_BITS: u32 = 2;
/// The zstd level for runs that are kept.
const THOROUGH: i32 = 3;
/// The number of states between two checks of the stop condition.
const ASK_EVERY: u64 = 1 << 12;
/// Fewer states than this are not divided among workers.
const WORTH_SHARING: u64 = 1 << 15;

/// What is to be done with a new state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The state is expanded on the next level.
    Expand,
    /// The state is known from now on, and not expanded.
    Keep,
}

/// All states that were visited.
pub(crate) struct VisitedRuns {
    pub runs: Vec<Arc<Run>>,
    filter: Filter,
    /// How many states there are.
    pub states: u64,
}

impl VisitedRuns {
    /// The states of `runs`.
    pub fn of(runs: Vec<Arc<Run>>, filter_bytes: u64, stop: &dyn Fn() -> bool) -> io::Result<VisitedRuns> {
        let set = VisitedRuns { states: runs.iter().map(|run| run.states()).sum(), runs, filter: Filter::new(filter_bytes) };
        for run in &set.runs {
            let mut cursor = Cursor::new(Arc::clone(run))?;
            let mut asked = Patient::new(stop);
            while cursor.advance()? {
                asked.go_on()?;
                set.filter.add(Recent::hash(cursor.state()));
            }
        }
        Ok(set)
    }

    /// The memory of runs and filter.
    pub fn memory(&self) -> u64 {
        self.filter.memory() + self.in_memory()
    }

    fn in_memory(&self) -> u64 {
        self.runs.iter().map(|run| run.memory()).sum()
    }

    /// Adds the new states of `gathered` with this value, in `threads` threads. Returns those that
    /// are to be expanded as runs of their own.
    pub fn resolve(
        &mut self,
        gathered: &[Arc<Run>],
        value: u64,
        threads: usize,
        gathering: &Gathering<'_>,
        fate: &(dyn Fn(&[u8]) -> Fate + Sync),
    ) -> io::Result<Vec<Arc<Run>>> {
        let parts = borders(gathered, threads);
        let in_memory = gathering.for_runs(self.in_memory()) / (2 * parts.len() as u64);
        let set = &*self;
        let resolved: Vec<io::Result<[Option<Run>; 2]>> = std::thread::scope(|scope| {
            let part = |at: usize| {
                let (from, to) = (parts[at], parts.get(at + 1).copied());
                move || set.resolve_part(gathered, from, to, value, in_memory, gathering, fate)
            };
            // If a thread cannot be started, this one does its work.
            let others: Vec<_> = (1..parts.len()).map(|at| (at, std::thread::Builder::new().spawn_scoped(scope, part(at)).ok())).collect();
            let mut all = vec![part(0)()];
            for (at, other) in others {
                all.push(match other {
                    Some(other) => other.join().unwrap_or_else(|_| Err(io::Error::other("a worker was lost"))),
                    None => part(at)(),
                });
            }
            all
        });
        let mut expanded = Vec::new();
        let mut failed = None;
        for part in resolved {
            match part {
                Ok([expand, keep]) => {
                    for (run, is_expanded) in [(expand, true), (keep, false)] {
                        let Some(run) = run.map(Arc::new) else { continue };
                        if is_expanded {
                            expanded.push(Arc::clone(&run));
                        }
                        self.states += run.states();
                        self.runs.push(run);
                    }
                }
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            None => Ok(expanded),
            Some(error) => {
                // The results of some parts must not count if others failed.
                self.take_back(value, gathering);
                Err(error)
            }
        }
    }

    fn take_back(&mut self, value: u64, gathering: &Gathering<'_>) {
        self.runs.retain(|run| {
            let partial = run.blocks() > 0 && run.range_of(0) == (value, value);
            if partial {
                gathering.retire(run);
            }
            !partial
        });
        self.states = self.runs.iter().map(|run| run.states()).sum();
    }

    /// Like `resolve`, for the states from `from` up to but not including `to`.
    #[allow(clippy::too_many_arguments)]
    fn resolve_part(
        &self,
        gathered: &[Arc<Run>],
        from: Option<&[u8]>,
        to: Option<Option<&[u8]>>,
        value: u64,
        in_memory: u64,
        gathering: &Gathering<'_>,
        fate: &(dyn Fn(&[u8]) -> Fate + Sync),
    ) -> io::Result<[Option<Run>; 2]> {
        let to = to.flatten();
        let mut merge = Merge::new(gathered, from)?;
        let mut expand = RunWriter::new(gathering.shelf, in_memory, BRIEF)?;
        let mut keep: Option<RunWriter<'_>> = None;
        // The latest runs come first, because most known states were found recently.
        let mut cursors: Vec<(&Arc<Run>, Option<Cursor>)> = self.runs.iter().rev().map(|run| (run, None)).collect();
        let stop = || gathering.is_over();
        let mut asked = Patient::new(&stop);
        while merge.advance()? {
            asked.go_on()?;
            let state = merge.state();
            if to.is_some_and(|to| state >= to) {
                break;
            }
            let hash = Recent::hash(state);
            if self.filter.may_have(hash) && has(&mut cursors, state)? {
                continue;
            }
            self.filter.add(hash);
            match fate(state) {
                Fate::Expand => expand.push(state, value)?,
                Fate::Keep => match &mut keep {
                    Some(keep) => keep.push(state, value)?,
                    None => keep.insert(RunWriter::new(gathering.shelf, in_memory, BRIEF)?).push(state, value)?,
                },
            }
        }
        Ok([expand.finish()?, keep.map(RunWriter::finish).transpose()?.flatten()])
    }

    /// The runs that should be merged next, if there are too many.
    pub fn crowd(&self) -> Option<Vec<Arc<Run>>> {
        let rank = |run: &Run| (run.bytes() / LOWEST).max(1).ilog2() / RANK_BITS;
        let mut ranks: Vec<Vec<&Arc<Run>>> = Vec::new();
        for run in &self.runs {
            let rank = rank(run) as usize;
            ranks.resize_with(ranks.len().max(rank + 1), Vec::new);
            ranks[rank].push(run);
        }
        let crowded = ranks.iter().rposition(|runs| runs.len() >= TOGETHER)?;
        // Smaller runs are included, because they cost little.
        Some(ranks[..=crowded].iter().flatten().map(|&run| Arc::clone(run)).collect())
    }

    /// Merges runs into one.
    pub fn merge(runs: &[Arc<Run>], in_memory: u64, gathering: &Gathering<'_>) -> io::Result<Option<Run>> {
        merged(runs, gathering.shelf, in_memory, THOROUGH, &|| gathering.is_over())
    }

    /// The size up to which a merged run may stay in memory.
    pub fn room_for(&self, runs: &[Arc<Run>], gathering: &Gathering<'_>) -> u64 {
        let theirs: u64 = runs.iter().map(|run| run.memory()).sum();
        gathering.for_runs(self.in_memory().saturating_sub(theirs)) / 4
    }

    /// Replaces several runs by one.
    pub fn replace(&mut self, runs: &[Arc<Run>], by: Option<Run>, gathering: &Gathering<'_>) {
        self.runs.retain(|run| !runs.iter().any(|old| Arc::ptr_eq(old, run)));
        runs.iter().for_each(|run| gathering.retire(run));
        // The largest runs come first, because they are read last.
        self.runs.extend(by.map(Arc::new));
        self.runs.sort_by_key(|run| std::cmp::Reverse(run.bytes()));
    }

    /// Writes all runs to files.
    pub fn keep(&mut self, gathering: &Gathering<'_>) -> io::Result<()> {
        let small: Vec<Arc<Run>> = self.runs.iter().filter(|run| !run.is_file()).cloned().collect();
        if small.is_empty() {
            return Ok(());
        }
        let one = VisitedRuns::merge(&small, 0, gathering)?;
        self.replace(&small, one, gathering);
        Ok(())
    }
}

/// The zstd level for the run of a level, which is merged soon.
const BRIEF: i32 = 1;

/// Whether one of the runs contains the state. Cursors are opened when they are needed.
fn has(cursors: &mut [(&Arc<Run>, Option<Cursor>)], state: &[u8]) -> io::Result<bool> {
    for (run, cursor) in cursors {
        let cursor = match cursor {
            Some(cursor) => cursor,
            None => cursor.insert(Cursor::new(Arc::clone(run))?),
        };
        if cursor.seek(state)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The first states of parts of about the same size; the first part has no bound.
fn borders(gathered: &[Arc<Run>], threads: usize) -> Vec<Option<&[u8]>> {
    let states: u64 = gathered.iter().map(|run| run.states()).sum();
    let parts = (states / WORTH_SHARING).clamp(1, threads.max(1) as u64) as usize;
    let mut firsts: Vec<&[u8]> = gathered.iter().flat_map(|run| (0..run.blocks()).map(|block| run.first(block))).collect();
    firsts.sort_unstable();
    let mut borders = vec![None];
    for part in 1..parts {
        let border = firsts[firsts.len() * part / parts];
        if borders.last() != Some(&Some(border)) {
            borders.push(Some(border));
        }
    }
    borders
}

/// Merges runs into one, which stays in memory up to so many bytes; a state keeps its least value.
pub(crate) fn merged(
    runs: &[Arc<Run>],
    shelf: &Shelf<'_>,
    in_memory: u64,
    effort: i32,
    stop: &dyn Fn() -> bool,
) -> io::Result<Option<Run>> {
    let mut merge = Merge::new(runs, None)?;
    let mut writer = RunWriter::new(shelf, in_memory, effort)?;
    let mut asked = Patient::new(stop);
    while merge.advance()? {
        asked.go_on()?;
        writer.push(merge.state(), merge.least())?;
    }
    writer.finish()
}

/// Checks the stop condition from time to time.
pub(crate) struct Patient<'s> {
    stop: &'s dyn Fn() -> bool,
    turns: u64,
}

impl<'s> Patient<'s> {
    pub fn new(stop: &'s dyn Fn() -> bool) -> Patient<'s> {
        Patient { stop, turns: 0 }
    }

    /// Returns an error of the kind `Interrupted` if it is time to stop.
    #[inline]
    pub fn go_on(&mut self) -> io::Result<()> {
        self.turns += 1;
        if self.turns.is_multiple_of(ASK_EVERY) && (self.stop)() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    }
}
