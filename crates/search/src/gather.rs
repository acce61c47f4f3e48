//! The store of a search on disk, as its workers see it: a state is known, or it is gathered to be
//! looked up later.
//!
//! Each worker remembers the states it found last. A state that is not among them provisionally
//! counts as new. When a worker's memory is full, and at the end of a level, its states go to a
//! sorted run; the leader looks all of them up at once ([`crate::visited_runs`]). So this store
//! forgets, and only a search that treats its answers as provisional may use it.

use crate::sync::lock;
use crate::visited_runs::merged;
use contract::{Budgeted, Inserted, StateId, Stop, Store, StoreFull, StoreWorker};
use runs::{Met, PACKING_BYTES, Recent, Run, RunWriter, Shelf};
use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The memory budget if there is no limit.
const DEFAULT_BUDGET: u64 = 1 << 30;
/// The least memory of a worker for the states it found last, and for sets of states.
const LEAST_RECENT: u64 = 1 << 16;
const LEAST_SETS: u64 = 1 << 13;
/// The parts of the available memory that the filters of runs may take, those of runs that are
/// being written, short runs of visited states, short runs of gathered states, and cursors: one in
/// so many. The rest is for the states found last. All of these are limits from the beginning, so
/// nothing has to shrink when another part grows.
const FILTER_SHARE: u64 = 8;
const NEW_FILTER_SHARE: u64 = 16;
const RUN_SHARE: u64 = 16;
const CURSOR_SHARE: u64 = 8;
/// The part for threads that merge runs and look states up while the workers keep their memory.
const HELPER_SHARE: u64 = 8;
/// The number of cursors for which there should be room. If memory is short, blocks are smaller.
const CURSORS: u64 = 64;
/// The bounds of the number of gathered runs. If there are more, some are merged, because each
/// needs a cursor when it is read.
const FEWEST_SPILLS: u64 = 8;
const MOST_SPILLS: u64 = 192;
/// The zstd level for runs that are kept for one level of the search.
const BRIEF: i32 = 1;

/// What the workers of a search on disk share.
pub(crate) struct Gathering<'f> {
    pub shelf: &'f Shelf<'f>,
    spills: Mutex<Vec<Arc<Run>>>,
    /// Files that are needed only for the last checkpoint.
    retired: Mutex<Vec<(u64, u64)>>,
    trouble: Mutex<Option<io::Error>>,
    budget: u64,
    /// The memory that other parts of the search hold, and the least that they held.
    elsewhere: AtomicU64,
    least_elsewhere: AtomicU64,
    workers: u64,
    /// The number of sets of visited states.
    sets: u64,
    /// The memory of the workers' states, and of the runs and the filter.
    recent: AtomicU64,
    runs: AtomicU64,
    spilled: AtomicU64,
    peak: AtomicU64,
    stop: Mutex<Option<Stop>>,
}

/// Which of more than `most` runs to merge, if the longest ones come first: this one and all that
/// follow. A run that need not be merged is merged only with shorter ones that together are at
/// least half as long. So the runs have lengths of different orders, and few states are written
/// often.
fn first_to_merge(lengths: &[u64], most: usize) -> usize {
    let mut first = most.saturating_sub(1).min(lengths.len());
    let mut together: u64 = lengths[first..].iter().sum();
    while first > 0 && lengths[first - 1] <= 2 * together {
        first -= 1;
        together += lengths[first];
    }
    first
}

impl<'f> Gathering<'f> {
    pub fn new(shelf: &'f Shelf<'f>, limit: Option<u64>, workers: usize) -> Gathering<'f> {
        Gathering {
            shelf,
            spills: Mutex::default(),
            retired: Mutex::default(),
            trouble: Mutex::default(),
            budget: limit.unwrap_or(DEFAULT_BUDGET),
            elsewhere: AtomicU64::new(0),
            least_elsewhere: AtomicU64::new(u64::MAX),
            workers: workers.max(1) as u64,
            sets: 1,
            recent: AtomicU64::new(0),
            runs: AtomicU64::new(0),
            spilled: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            stop: Mutex::default(),
        }
    }

    /// For several sets of visited states, which share the memory for filters and cursors.
    pub fn with_sets(self, sets: u64) -> Self {
        Gathering { sets, ..self }
    }

    /// Fits the blocks of new runs to the memory that is available at the beginning.
    pub fn fit_blocks(&self) {
        self.shelf.fit_cursors(self.available() / (CURSOR_SHARE * CURSORS * self.workers * self.sets));
    }

    /// The most memory that the filters of runs may take together. They take less as long as there
    /// are few states.
    pub fn for_filter(&self) -> u64 {
        self.available() / FILTER_SHARE / self.sets
    }

    /// The memory for filters of runs that are being written while all others are used.
    pub fn for_new_filters(&self) -> u64 {
        self.available() / NEW_FILTER_SHARE
    }

    /// The memory for runs of one kind that are short enough to stay in memory, including one that
    /// is being written.
    pub fn for_runs(&self, held: u64) -> u64 {
        (self.available() / RUN_SHARE).saturating_sub(held)
    }

    /// The memory of a thread that packs blocks and writes two runs.
    fn packing_bytes(&self) -> u64 {
        PACKING_BYTES + 2 * self.shelf.writer_bytes()
    }

    /// The number of threads besides the workers that may write runs at one time. If memory is
    /// short there are none.
    pub fn helpers(&self) -> u64 {
        let most = if self.workers > 1 { self.workers } else { 0 };
        (self.available() / HELPER_SHARE / self.packing_bytes()).min(most)
    }

    /// The number of runs that each worker may read at one time.
    pub fn most_cursors(&self) -> u64 {
        (self.available() / (CURSOR_SHARE * self.shelf.cursor_bytes() * self.workers * self.sets)).max(2 * FEWEST_SPILLS)
    }

    /// The memory that is available, but at least a part of the memory at the beginning. Memory
    /// that this store has freed may still belong to the process and then counts as held elsewhere.
    /// If that made the store smaller, it would free even more.
    fn available(&self) -> u64 {
        let least = self.budget.saturating_sub(self.least_elsewhere.load(Relaxed)) / 4;
        self.budget.saturating_sub(self.elsewhere.load(Relaxed)).max(self.budget / 16).max(least)
    }

    /// The memory for the states that a worker found last.
    fn for_recent(&self) -> u64 {
        self.rest().max(LEAST_RECENT)
    }

    /// A worker's part of the memory that nothing else needs.
    fn rest(&self) -> u64 {
        let available = self.available();
        let (filters, runs) = (available / FILTER_SHARE, available / RUN_SHARE);
        // The index of a run is in memory even if the run is not, so runs may take more than their
        // part.
        let taken = self.runs.load(Relaxed).max(filters + runs) + self.spilled.load(Relaxed).max(runs);
        let others = available / NEW_FILTER_SHARE + available / CURSOR_SHARE;
        let packing = (self.workers + self.helpers()) * self.packing_bytes();
        available.saturating_sub(taken + others + packing) / self.workers
    }

    /// The memory for sets of states, if a search keeps them itself.
    pub fn for_sets(&self) -> u64 {
        self.rest().max(LEAST_SETS)
    }

    /// Sets the memory that these sets take.
    pub fn sets_take(&self, bytes: u64) {
        self.recent.store(bytes, Relaxed);
        self.peak.fetch_max(self.bytes(), Relaxed);
    }

    /// The number of gathered runs beyond which some are merged.
    pub fn most_spills(&self) -> usize {
        (self.most_cursors() / 2).clamp(FEWEST_SPILLS, MOST_SPILLS) as usize
    }

    /// Merges gathered runs if there are too many.
    pub fn few(&self, spills: &mut Vec<Arc<Run>>) -> io::Result<()> {
        let most = self.most_spills();
        if spills.len() > most {
            spills.sort_by_key(|run| std::cmp::Reverse(run.bytes()));
            let lengths: Vec<u64> = spills.iter().map(|run| run.bytes()).collect();
            let some = spills.split_off(first_to_merge(&lengths, most));
            let one = merged(&some, self.shelf, 0, BRIEF, &|| self.is_over())?;
            some.iter().for_each(|run| self.retire(run));
            spills.extend(one.map(Arc::new));
        }
        Ok(())
    }

    /// Sets the memory that the runs of visited states and the filter take.
    pub fn runs_take(&self, bytes: u64) {
        self.runs.store(bytes, Relaxed);
        self.peak.fetch_max(self.bytes(), Relaxed);
    }

    /// Retires a file that the search no longer needs.
    pub fn retire(&self, run: &Run) {
        if run.is_file() {
            lock(&self.retired).push((run.number(), run.bytes()));
        }
    }

    /// The bytes of files that are kept only for the last checkpoint.
    pub fn retired_bytes(&self) -> u64 {
        lock(&self.retired).iter().map(|(_, bytes)| bytes).sum()
    }

    /// Removes the retired files, except `kept` ones.
    pub fn sweep_up(&self, kept: &BTreeSet<u64>) {
        lock(&self.retired).retain(|(number, _)| {
            let keep = kept.contains(number);
            if !keep {
                // A file that cannot be removed is not an error.
                let _ = self.shelf.folder().remove(*number);
            }
            keep
        });
    }

    /// Whether a long operation is to be given up.
    pub fn is_over(&self) -> bool {
        let stop = lock(&self.stop).clone();
        stop.is_some_and(|stop| stop())
    }

    /// The runs gathered so far.
    pub fn spills(&self) -> Vec<Arc<Run>> {
        lock(&self.spills).clone()
    }

    /// Sets the runs gathered before.
    pub fn set_spills(&self, spills: Vec<Arc<Run>>) {
        self.spilled.store(spills.iter().map(|run| run.memory()).sum(), Relaxed);
        *lock(&self.spills) = spills;
    }

    /// Drops the gathered runs.
    pub fn clear_spills(&self) {
        for run in std::mem::take(&mut *lock(&self.spills)) {
            self.retire(&run);
        }
        self.spilled.store(0, Relaxed);
    }

    /// Keeps the first error of the disk.
    pub fn report(&self, error: io::Error) {
        if error.kind() != io::ErrorKind::Interrupted {
            lock(&self.trouble).get_or_insert(error);
        }
    }

    /// The first error of the disk.
    pub fn trouble(&self) -> Option<String> {
        lock(&self.trouble).as_ref().map(io::Error::to_string)
    }

    fn add(&self, run: Run) -> io::Result<()> {
        let mut spills = lock(&self.spills);
        spills.push(Arc::new(run));
        self.few(&mut spills)?;
        self.spilled.store(spills.iter().map(|run| run.memory()).sum(), Relaxed);
        Ok(())
    }
}

impl Store for Gathering<'_> {
    const EXACT: bool = true;
    const FORGETS: bool = true;
    const STABLE_NAMES: bool = false;
    type Worker<'s>
        = Gatherer<'s>
    where
        Self: 's;

    fn worker(&self) -> Gatherer<'_> {
        Gatherer { shared: self, recent: Recent::new(self.for_recent()), told: 0 }
    }

    fn len(&self) -> u64 {
        0
    }

    fn budgeted(&self) -> Option<&dyn Budgeted> {
        Some(self)
    }
}

impl Budgeted for Gathering<'_> {
    fn bytes(&self) -> u64 {
        self.recent.load(Relaxed) + self.runs.load(Relaxed) + self.spilled.load(Relaxed)
    }

    fn peak_bytes(&self) -> u64 {
        self.peak.load(Relaxed).max(self.bytes())
    }

    fn give_up_when(&self, stop: Stop) {
        *lock(&self.stop) = Some(stop);
    }

    fn leave_room(&self, bytes: u64) {
        self.elsewhere.store(bytes, Relaxed);
        if bytes > 0 {
            self.least_elsewhere.fetch_min(bytes, Relaxed);
        }
    }

    /// The store can always free memory, because states go to disk.
    fn yields(&self) -> bool {
        true
    }

    fn form(&self) -> &'static str {
        "disk"
    }
}

/// One worker's part of a [`Gathering`].
pub(crate) struct Gatherer<'s> {
    shared: &'s Gathering<'s>,
    recent: Recent,
    /// The share of the total memory that this worker has reported.
    told: u64,
}

impl Gatherer<'_> {
    /// Writes the open states to a run.
    pub fn settle(&mut self) -> io::Result<()> {
        if self.recent.open() == 0 {
            return Ok(());
        }
        let shared = self.shared;
        let in_memory = shared.for_runs(shared.spilled.load(Relaxed)) / shared.workers;
        let mut writer = RunWriter::new(shared.shelf, in_memory, BRIEF)?;
        self.recent.settle(|state| writer.push(state, 1))?;
        if let Some(run) = writer.finish()? {
            shared.add(run)?;
        }
        self.tell();
        Ok(())
    }

    /// Makes the states found last fit again if less memory is available than before.
    pub fn adapt(&mut self) {
        let (budget, allowed) = (self.recent.budget(), self.shared.for_recent());
        if allowed < budget - budget / 16
            && let Err(error) = self.make_room()
        {
            self.shared.report(error);
        }
    }

    fn tell(&mut self) {
        let memory = self.recent.memory();
        self.shared.recent.fetch_add(memory.wrapping_sub(self.told), Relaxed);
        self.told = memory;
        self.shared.peak.fetch_max(self.shared.bytes(), Relaxed);
    }

    #[cold]
    fn make_room(&mut self) -> io::Result<()> {
        self.settle()?;
        self.recent.set_budget(self.shared.for_recent());
        self.recent.turn();
        self.tell();
        Ok(())
    }
}

impl StoreWorker for Gatherer<'_> {
    #[inline]
    fn hash(&mut self, state: &[u8]) -> u64 {
        Recent::hash(state)
    }

    #[inline]
    fn prefetch(&self, hash: u64) {
        // The load starts early; its result is not used.
        std::hint::black_box(self.recent.touch(hash));
    }

    #[inline]
    fn insert(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        let met = match self.recent.meet(hash, state) {
            Met::Full => {
                if let Err(error) = self.make_room() {
                    self.shared.report(error);
                    return Err(StoreFull { needed: 0, budget: self.shared.budget });
                }
                self.recent.meet(hash, state)
            }
            met => met,
        };
        match met {
            Met::Full => Err(StoreFull { needed: state.len() as u64, budget: self.shared.budget }),
            met => Ok(Inserted { id: StateId(0), new: met == Met::Open }),
        }
    }

    fn find(&mut self, _: u64, _: &[u8]) -> Option<StateId> {
        None
    }

    fn keeps(&self, _: StateId) -> bool {
        false
    }

    fn read(&mut self, _: StateId, _: &mut Vec<u8>) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::first_to_merge;

    /// The bytes written by merging, for each byte gathered, if runs of these lengths are gathered.
    fn rewritten(gathered: impl Iterator<Item = u64>, most: usize) -> u64 {
        let (mut runs, mut written, mut all): (Vec<u64>, u64, u64) = (Vec::new(), 0, 0);
        for length in gathered {
            runs.push(length);
            all += length;
            if runs.len() > most {
                runs.sort_by_key(|&length| std::cmp::Reverse(length));
                let one: u64 = runs.split_off(first_to_merge(&runs, most)).iter().sum();
                written += one;
                runs.push(one);
                assert!(runs.len() <= most);
            }
        }
        written.div_ceil(all)
    }

    /// If all but the longest quarter of eight runs were merged, each byte would be written 28 to
    /// 370 times, and thousands of times in the second case.
    #[test]
    fn states_are_not_written_again_and_again() {
        assert!(rewritten((0..1_000).map(|_| 100), 8) <= 5);
        assert!(rewritten((0..100_000).map(|_| 100), 8) <= 12);
        assert!(rewritten((0..10_000).map(|number| 1 + number * 7919 % 1_000), 8) <= 7);
        assert!(rewritten((0..10_000).rev(), 8) <= 7);
        assert!(rewritten(0..10_000, 8) <= 7);
        // If there are many at once, enough are merged.
        assert_eq!(first_to_merge(&[1 << 40, 1 << 30, 1 << 20, 1 << 10, 1], 3), 2);
    }
}
