//! Runs over bit arrays, one after the other, each with other hash functions. A run may find states
//! that another one overlooks.
//!
//! A series ends with the first run that finds a violation or is stopped, or after as many runs as
//! the plan asks for. It is saved in the middle of a run: the array of that run, a sketch of the
//! states that all runs have found, and the results of the earlier runs.

use crate::plan::Plan;
use crate::stores::{Manner, SEED, go};
use contract::{BitArray, Budgeted, Limits, Observer, Omission, Outcome, Progress, Statistics, StopReason, Store, System, Verdict};
use search::{CheckpointError, Task};
use std::io::Read;
use std::time::{Duration, Instant};
use store::{Bits, BitsReport, Joined, Union};

/// A bit array does not grow, so it is allocated with its full size; but it is not larger than
/// this.
const BIT_ARRAY_MAX: u64 = 1 << 30;

/// The approximate memory of the program itself.
const OWN_BYTES: u64 = 10 << 20;

/// Makes the runs of a series, or those that are left of one that was saved.
pub(crate) fn bits<S: System + Clone>(
    system: &S,
    plan: &Plan,
    task: &Task<'_>,
    from: Option<&mut dyn Read>,
) -> Result<Outcome, CheckpointError> {
    let begun = Instant::now();
    let budget = plan.limits.memory.unwrap_or(u64::MAX);
    let union = Union::new();
    let mut series = Series::default();
    // The array of the first run decides for all of them; if it was saved, so is its size.
    let first =
        Bits::new(array_bytes(budget, task.resident.is_some()), plan.bit_functions, SEED).restored_within(budget.min(BIT_ARRAY_MAX));
    let mut store = Joined::new(first, &union, series.to_bytes());
    let mut reopened = None;
    if let Some(from) = from {
        reopened = Some(search::reopen(&mut store, task, from)?);
        // A checkpoint that any store can read has no note. Then the store still has the note with
        // which it was made.
        series = Series::from_bytes(store.note()).ok_or(CheckpointError::Damaged)?;
    }
    loop {
        let (bytes, functions) = (store.store().bytes(), store.store().functions());
        let filling = Filling { inner: task.observer, bits: bytes as f64 * 8.0, functions: functions.into() };
        let time = task.limits.time.map(|time| time.saturating_sub(begun.elapsed()));
        let task = Task { observer: &filling, limits: Limits { time, ..task.limits }, ..task.clone() };
        let mut outcome = match reopened.take() {
            Some(reopened) => reopened.go_on(system, &store, &task)?,
            None => go(system, &store, Manner::of_plan(plan), &task),
        };
        let BitsReport { hash_factor, fill, coverage, .. } = store.store().report();
        let array = BitArray { functions, hash_factor, fill, coverage, ..BitArray::default() };
        outcome.statistics.omission = Some(Omission { probability: store.omission(), bits: Some(array) });
        let more = outcome.verdict == Verdict::Unknown(StopReason::LossyStore) && series.runs.len() + 1 < plan.bit_runs as usize;
        let outcome = series.add(outcome, &union);
        if !more {
            return Ok(outcome);
        }
        let seed = SEED + series.runs.len() as u64;
        // The old array is freed before the new one is allocated.
        drop(store);
        store = Joined::new(Bits::new(bytes, functions, seed), &union, series.to_bytes());
    }
}

/// The size of the array: half of the budget, or half of the rest if the program itself counts too.
/// The program counts with a constant, not with its present memory, so that the same call gives the
/// same answer.
pub(crate) fn array_bytes(budget: u64, own_counts: bool) -> u64 {
    ((budget - own_bytes(budget, own_counts)) / 2).min(BIT_ARRAY_MAX)
}

/// The share of the program itself in the budget, if it counts.
pub(crate) fn own_bytes(budget: u64, own_counts: bool) -> u64 {
    if own_counts { OWN_BYTES.min(budget / 2) } else { 0 }
}

/// The runs that were made.
#[derive(Clone, Debug, Default, PartialEq)]
struct Series {
    /// The states each has found.
    runs: Vec<u64>,
    /// The numbers of the one that has found the most, and the time of all.
    best: Statistics,
}

impl Series {
    /// Adds a run, and returns the outcome of the series if this was the last run: that of this run
    /// if it ended the series, or else that of the run with the most states; with the statistics of
    /// all.
    fn add(&mut self, latest: Outcome, union: &Union) -> Outcome {
        let Outcome { verdict, statistics } = latest;
        let elapsed = self.best.elapsed + statistics.elapsed;
        self.runs.push(statistics.states);
        let decisive = verdict != Verdict::Unknown(StopReason::LossyStore);
        if decisive || self.runs.len() == 1 || statistics.states > self.best.states {
            self.best = statistics;
        }
        self.best.elapsed = elapsed;
        let most = self.runs.iter().copied().max().unwrap_or_default();
        if let Some(Omission { bits: Some(array), .. }) = &mut self.best.omission {
            array.union = if self.runs.len() == 1 { most } else { union.len().max(most) };
            array.runs.clone_from(&self.runs);
        }
        Outcome { verdict, statistics: self.best.clone() }
    }

    /// As a list of numbers; numbers that can be computed from others are left out.
    fn to_bytes(&self) -> Vec<u8> {
        let Statistics { states, transitions, depth, elapsed, store_bytes, store_peak_bytes, search_bytes, .. } = self.best;
        let omission = self.best.omission.clone().unwrap_or_default();
        let BitArray { functions, hash_factor, fill, coverage, union, .. } = omission.bits.unwrap_or_default();
        let expanded = &self.best.expanded_by_worker;
        [self.runs.len() as u64, expanded.len() as u64]
            .into_iter()
            .chain(self.runs.iter().chain(expanded).copied())
            .chain([states, transitions, depth, elapsed.as_nanos() as u64, store_bytes, store_peak_bytes, search_bytes])
            .chain([u64::from(functions), union])
            .chain([omission.probability, hash_factor, fill, coverage].map(f64::to_bits))
            .flat_map(u64::to_le_bytes)
            .collect()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Series> {
        let (numbers, []) = bytes.as_chunks() else { return None };
        let mut numbers = numbers.iter().map(|number| u64::from_le_bytes(*number));
        let (runs, workers) = (numbers.next()?, numbers.next()?);
        let mut row = |len: u64| (0..len).map(|_| numbers.next()).collect::<Option<Vec<u64>>>();
        let (runs, expanded_by_worker) = (row(runs)?, row(workers)?);
        let [states, transitions, depth, elapsed, store_bytes, store_peak_bytes, search_bytes] = row(7)?.try_into().ok()?;
        let [functions, union] = row(2)?.try_into().ok()?;
        let [probability, hash_factor, fill, coverage]: [u64; 4] = row(4)?.try_into().ok()?;
        let [probability, hash_factor, fill, coverage] = [probability, hash_factor, fill, coverage].map(f64::from_bits);
        let functions = u32::try_from(functions).ok()?;
        if runs.is_empty() {
            return (bytes == Series::default().to_bytes()).then(Series::default);
        }
        let array = BitArray { functions, hash_factor, fill, coverage, runs: runs.clone(), union };
        let best = Statistics {
            states,
            transitions,
            depth,
            elapsed: Duration::from_nanos(elapsed),
            store_bytes,
            store_peak_bytes,
            search_bytes,
            expanded_by_worker,
            omission: Some(Omission { probability, bits: Some(array) }),
            ..Statistics::default()
        };
        let series = Series { runs, best };
        (series.to_bytes() == bytes).then_some(series)
    }
}

/// Adds to reports of progress an estimate of how full the bit array is.
struct Filling<'a> {
    inner: &'a dyn Observer,
    bits: f64,
    functions: f64,
}

impl Observer for Filling<'_> {
    fn progress(&self, progress: &Progress) {
        let fill = 1.0 - (-self.functions * progress.states as f64 / self.bits).exp();
        self.inner.progress(&Progress { fill: Some(fill), ..*progress });
    }

    fn notice(&self, text: &str) {
        self.inner.notice(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(states: u64, verdict: StopReason) -> Outcome {
        let omission = Some(Omission { probability: 0.5, bits: Some(BitArray { functions: 3, fill: 0.25, ..BitArray::default() }) });
        let (elapsed, expanded_by_worker) = (Duration::from_millis(states), vec![states - 1, 1]);
        let statistics = Statistics { states, transitions: 2 * states, elapsed, expanded_by_worker, omission, ..Statistics::default() };
        Outcome { verdict: Verdict::Unknown(verdict), statistics }
    }

    #[test]
    fn the_best_run_is_told_with_what_all_have_found() {
        let (mut series, union) = (Series::default(), Union::new());
        for (states, told) in [(30, 30), (20, 30), (40, 40)] {
            assert_eq!(series.add(run(states, StopReason::LossyStore), &union).statistics.states, told);
        }
        let last = series.add(run(10, StopReason::Interrupted), &union);
        assert_eq!((last.statistics.states, last.statistics.elapsed), (10, Duration::from_millis(100)));
        assert_eq!(last.statistics.omission.and_then(|omission| omission.bits).map(|array| array.runs), Some(vec![30, 20, 40, 10]));
    }

    #[test]
    fn the_note_is_read_back_and_nothing_else_is() {
        let mut series = Series::default();
        assert_eq!(Series::from_bytes(&series.to_bytes()), Some(series.clone()));
        series.add(run(30, StopReason::LossyStore), &Union::new());
        series.add(run(20, StopReason::LossyStore), &Union::new());
        let bytes = series.to_bytes();
        assert_eq!(Series::from_bytes(&bytes), Some(series));
        for len in 0..bytes.len() {
            assert_eq!(Series::from_bytes(&bytes[..len]), None, "cut at {len}");
        }
        // A length in the input is never trusted.
        assert_eq!(Series::from_bytes(&[0xff; 256]), None);
    }
}
