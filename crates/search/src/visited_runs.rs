//! The states that a search on disk has visited, as sorted runs. It determines for many states at
//! once which of them are new.
//!
//! The states to be looked up are sorted, and each run is read once, forward, in parallel with
//! them. Only the blocks of a run that can contain one of the states are read. Each run has a
//! filter in memory, which proves that most states are not in that run. The filters grow with the
//! number of states; when they take more than their share of the memory they are folded. This is
//! delayed duplicate detection (Korf, "Best-first frontier search with delayed duplicate
//! detection", 2004; Hammer and Weber, "To store or not to store reloaded", 2006). Runs of about
//! the same size are merged, as in a log-structured merge tree (O'Neil, Cheng, Gawlick, O'Neil,
//! "The log-structured merge-tree", 1996), so there are few of them and each state is written only
//! a few times.

use crate::gather::Gathering;
use runs::{Cursor, Filter, Merge, Recent, Run, RunWriter, Shelf};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// The number of runs of one size that are merged.
const TOGETHER: usize = 8;
/// A run of at most this many states has the lowest rank. Each higher rank is for runs that are
/// larger by `RANK_BITS` bits. The rank depends on states and not on bytes, because the costs of a
/// merge and of a pass are those of unpacking states.
const LOWEST: u64 = 1 << 6;
const RANK_BITS: u32 = 3;
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
#[derive(Default)]
pub(crate) struct VisitedRuns {
    pub runs: Vec<Arc<Run>>,
    /// The filters of runs, by their numbers. A run without one may contain any state.
    filters: HashMap<u64, Filter>,
    /// How many states there are.
    pub states: u64,
}

impl VisitedRuns {
    /// The states of `runs`, with filters of at most `filter_bytes` bytes.
    pub fn of(runs: Vec<Arc<Run>>, filter_bytes: u64, stop: &dyn Fn() -> bool) -> io::Result<VisitedRuns> {
        let states = runs.iter().map(|run| run.states()).sum();
        let mut filters = HashMap::new();
        for run in &runs {
            let share = u128::from(filter_bytes) * u128::from(run.states()) / u128::from(states).max(1);
            let Some(mut filter) = Filter::for_states(run.states(), share as u64) else { continue };
            let mut cursor = Cursor::new(Arc::clone(run))?;
            let mut asked = Patient::new(stop);
            while cursor.advance()? {
                asked.go_on()?;
                filter.add(Recent::hash(cursor.state()));
            }
            filters.insert(run.number(), filter);
        }
        Ok(VisitedRuns { runs, filters, states })
    }

    /// The memory of runs and filters.
    pub fn memory(&self) -> u64 {
        self.filter_bytes() + self.in_memory()
    }

    fn filter_bytes(&self) -> u64 {
        self.filters.values().map(Filter::memory).sum()
    }

    /// Adds a run and its filter, without counting its states.
    fn put(&mut self, filtered: Filtered) -> Arc<Run> {
        let run = Arc::new(filtered.run);
        if let Some(filter) = filtered.filter {
            self.filters.insert(run.number(), filter);
        }
        self.runs.push(Arc::clone(&run));
        run
    }

    /// Adds a run of new states, and its filter.
    pub fn insert(&mut self, filtered: Filtered) -> Arc<Run> {
        let run = self.put(filtered);
        self.states += run.states();
        run
    }

    /// The size up to which new runs may stay in memory.
    pub fn room(&self, gathering: &Gathering<'_>) -> u64 {
        gathering.for_runs(self.in_memory())
    }

    /// Looks states up, in ascending order.
    pub fn reader(&self) -> LookUp<'_> {
        // The latest runs come first, because most known states were found recently.
        LookUp(self.runs.iter().rev().map(|run| Source { run, filter: self.filters.get(&run.number()), cursor: None }).collect())
    }

    /// Drops filters of runs that are not there any more, and folds those with the most bits for a
    /// state until all fit into their share of the memory.
    pub fn fit_filters(&mut self, gathering: &Gathering<'_>) {
        let states: HashMap<u64, u64> = self.runs.iter().map(|run| (run.number(), run.states().max(1))).collect();
        self.filters.retain(|number, _| states.contains_key(number));
        let most = gathering.for_filter();
        let of = |number: &u64| states.get(number).copied().unwrap_or(1);
        while self.filter_bytes() > most
            && let Some(number) =
                self.filters.iter().max_by_key(|(number, filter)| filter.memory() * 8 / of(number)).map(|(&number, _)| number)
        {
            let is_useful = self.filters.get_mut(&number).is_some_and(|filter| filter.fold(of(&number)));
            if !is_useful {
                self.filters.remove(&number);
            }
        }
    }

    fn in_memory(&self) -> u64 {
        self.runs.iter().map(|run| run.memory()).sum()
    }

    /// Adds the new states of `gathered` with this value, in up to `threads` threads. Returns those
    /// that are to be expanded as runs of their own.
    pub fn resolve(
        &mut self,
        gathered: &[Arc<Run>],
        value: u64,
        threads: usize,
        gathering: &Gathering<'_>,
        fate: &(dyn Fn(&[u8]) -> Fate + Sync),
    ) -> io::Result<Vec<Arc<Run>>> {
        // One helper may be merging runs meanwhile.
        let helpers = usize::try_from(gathering.helpers()).unwrap_or(usize::MAX).saturating_sub(1);
        let parts = borders(gathered, threads.min(1 + helpers));
        let expected = gathered.iter().map(|run| run.states()).sum::<u64>() / parts.len() as u64;
        let in_memory = gathering.for_runs(self.in_memory()) / parts.len() as u64;
        let filter = gathering.for_new_filters() / parts.len() as u64;
        let set = &*self;
        let resolved: Vec<io::Result<[Option<Filtered>; 2]>> = std::thread::scope(|scope| {
            let part = |at: usize| {
                let (from, to) = (parts[at], parts.get(at + 1).copied());
                let new_run = move |quarters: u64| NewRun::begin(gathering, in_memory, BRIEF, expected, filter / 4 * quarters);
                move || set.resolve_part(gathered, from, to, value, new_run, gathering, fate)
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
                        let Some(run) = run.map(|run| self.put(run)) else { continue };
                        self.states += run.states();
                        if is_expanded {
                            expanded.push(run);
                        }
                    }
                }
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            None => {
                self.fit_filters(gathering);
                Ok(expanded)
            }
            Some(error) => {
                // The results of some parts must not count if others failed.
                self.take_back(value, gathering);
                self.fit_filters(gathering);
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
    fn resolve_part<'g>(
        &self,
        gathered: &[Arc<Run>],
        from: Option<&[u8]>,
        to: Option<Option<&[u8]>>,
        value: u64,
        new_run: impl Fn(u64) -> io::Result<NewRun<'g>>,
        gathering: &'g Gathering<'_>,
        fate: &(dyn Fn(&[u8]) -> Fate + Sync),
    ) -> io::Result<[Option<Filtered>; 2]> {
        let to = to.flatten();
        let mut merge = Merge::new(gathered, from)?;
        let mut expand = new_run(3)?;
        let mut keep: Option<NewRun<'_>> = None;
        let mut known = self.reader();
        let stop = || gathering.is_over();
        let mut asked = Patient::new(&stop);
        while merge.advance()? {
            asked.go_on()?;
            let state = merge.state();
            if to.is_some_and(|to| state >= to) {
                break;
            }
            let hash = Recent::hash(state);
            if known.has_hashed(hash, state)? {
                continue;
            }
            match fate(state) {
                Fate::Expand => expand.push(state, hash, value)?,
                Fate::Keep => match &mut keep {
                    Some(keep) => keep.push(state, hash, value)?,
                    None => keep.insert(new_run(1)?).push(state, hash, value)?,
                },
            }
        }
        Ok([expand.finish()?, keep.map(NewRun::finish).transpose()?.flatten()])
    }

    /// The runs that should be merged next, if there are too many: of one size, or in all, because
    /// each needs a cursor when states are looked up.
    pub fn crowd(&self, gathering: &Gathering<'_>) -> Option<Vec<Arc<Run>>> {
        let most = (gathering.most_cursors() / 2).max(TOGETHER as u64);
        crowd_of(&self.runs, most)
    }

    /// Merges runs into one, with a filter of at most `filter` bytes.
    pub fn merge(runs: &[Arc<Run>], in_memory: u64, filter: u64, gathering: &Gathering<'_>) -> io::Result<Option<Filtered>> {
        let stop = || gathering.is_over();
        let mut merge = Merge::new(runs, None)?;
        let mut one = NewRun::begin(gathering, in_memory, THOROUGH, runs.iter().map(|run| run.states()).sum(), filter)?;
        let mut asked = Patient::new(&stop);
        while merge.advance()? {
            asked.go_on()?;
            one.push(merge.state(), Recent::hash(merge.state()), merge.least())?;
        }
        one.finish()
    }

    /// The size up to which a merged run may stay in memory.
    pub fn room_for(&self, runs: &[Arc<Run>], gathering: &Gathering<'_>) -> u64 {
        let theirs: u64 = runs.iter().map(|run| run.memory()).sum();
        gathering.for_runs(self.in_memory().saturating_sub(theirs)) / 4
    }

    /// Drops the filters of runs that are merged before they are read again. Returns the memory
    /// that is then free for the filter of the merged run.
    pub fn drop_filters(&mut self, runs: &[Arc<Run>], gathering: &Gathering<'_>) -> u64 {
        for run in runs {
            self.filters.remove(&run.number());
        }
        gathering.for_filter().saturating_sub(self.filter_bytes())
    }

    /// Replaces several runs by one.
    pub fn replace(&mut self, runs: &[Arc<Run>], by: Option<Filtered>, gathering: &Gathering<'_>) {
        self.runs.retain(|run| !runs.iter().any(|old| Arc::ptr_eq(old, run)));
        runs.iter().for_each(|run| gathering.retire(run));
        // The largest runs come first, because they are read last.
        if let Some(by) = by {
            self.put(by);
        }
        self.runs.sort_by_key(|run| std::cmp::Reverse(run.states()));
        self.fit_filters(gathering);
    }

    /// Merges runs until there are not too many.
    pub fn merge_crowds(&mut self, gathering: &Gathering<'_>) -> io::Result<()> {
        while let Some(inputs) = self.crowd(gathering) {
            let filter = self.drop_filters(&inputs, gathering);
            let one = VisitedRuns::merge(&inputs, self.room_for(&inputs, gathering), filter, gathering)?;
            self.replace(&inputs, one, gathering);
        }
        Ok(())
    }

    /// Writes all runs to files.
    pub fn keep(&mut self, gathering: &Gathering<'_>) -> io::Result<()> {
        let small: Vec<Arc<Run>> = self.runs.iter().filter(|run| !run.is_file()).cloned().collect();
        if small.is_empty() {
            return Ok(());
        }
        let filter = self.drop_filters(&small, gathering);
        let one = VisitedRuns::merge(&small, 0, filter, gathering)?;
        self.replace(&small, one, gathering);
        Ok(())
    }
}

/// The zstd level for the run of a level, which is merged soon.
const BRIEF: i32 = 1;

/// A run with its filter, if there is memory for one.
pub(crate) struct Filtered {
    run: Run,
    filter: Option<Filter>,
}

/// A run that is being written, and its filter.
pub(crate) struct NewRun<'g> {
    writer: RunWriter<'g>,
    filter: Option<Filter>,
}

impl<'g> NewRun<'g> {
    /// A run of at most `states` states, which stays in memory up to `in_memory` bytes, with a
    /// filter of at most `filter` bytes.
    pub fn begin(gathering: &'g Gathering<'_>, in_memory: u64, effort: i32, states: u64, filter: u64) -> io::Result<NewRun<'g>> {
        let writer = RunWriter::new(gathering.shelf, in_memory, effort)?;
        Ok(NewRun { writer, filter: Filter::for_states(states, filter) })
    }

    #[inline]
    pub fn push(&mut self, state: &[u8], hash: u64, value: u64) -> io::Result<()> {
        if let Some(filter) = &mut self.filter {
            filter.add(hash);
        }
        self.writer.push(state, value)
    }

    pub fn finish(self) -> io::Result<Option<Filtered>> {
        let NewRun { writer, mut filter } = self;
        let Some(run) = writer.finish()? else { return Ok(None) };
        if let Some(filter) = &mut filter {
            filter.fit(run.states());
        }
        Ok(Some(Filtered { run, filter }))
    }
}

/// A run in which states are looked up in ascending order. Its cursor is opened when it is needed.
struct Source<'v> {
    run: &'v Arc<Run>,
    filter: Option<&'v Filter>,
    cursor: Option<Cursor>,
}

/// Looks states up in ascending order.
pub(crate) struct LookUp<'v>(Vec<Source<'v>>);

impl LookUp<'_> {
    /// Whether one of the runs contains the state.
    pub fn has(&mut self, state: &[u8]) -> io::Result<bool> {
        self.has_hashed(Recent::hash(state), state)
    }

    #[inline]
    fn has_hashed(&mut self, hash: u64, state: &[u8]) -> io::Result<bool> {
        for Source { run, filter, cursor } in &mut self.0 {
            if filter.is_some_and(|filter| !filter.may_have(hash)) {
                continue;
            }
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

/// The runs that should be merged next, if there are too many of one size, or more than `most`.
fn crowd_of(runs: &[Arc<Run>], most: u64) -> Option<Vec<Arc<Run>>> {
    let rank = |run: &Run| (run.states() / LOWEST).max(1).ilog2() / RANK_BITS;
    let mut ranks: Vec<Vec<&Arc<Run>>> = Vec::new();
    for run in runs {
        let rank = rank(run) as usize;
        ranks.resize_with(ranks.len().max(rank + 1), Vec::new);
        ranks[rank].push(run);
    }
    let crowded = ranks.iter().rposition(|runs| runs.len() >= TOGETHER).or_else(|| {
        let up_to = |rank: &usize| ranks[..=*rank].iter().map(Vec::len).sum::<usize>() >= TOGETHER;
        (runs.len() as u64 > most).then(|| (0..ranks.len()).find(up_to)).flatten()
    })?;
    // Smaller runs are included, because they cost little.
    Some(ranks[..=crowded].iter().flatten().map(|&run| Arc::clone(run)).collect())
}

/// The runs that should be merged next, if there are too many of one size.
pub(crate) fn crowded(runs: &[Arc<Run>]) -> Option<Vec<Arc<Run>>> {
    crowd_of(runs, u64::MAX)
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
