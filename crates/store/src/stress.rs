//! A stress test with real threads: random histories of many workers on each store, compared with
//! the answers of a set.
//!
//! The model checker for the memory model explores every interleaving of a few operations. This
//! test runs few interleavings of very many operations, with tables that grow and reorganise all
//! the time. It is meant to run for minutes or hours, by a command of its own.

use crate::{Compact, Hashes, Plain};
use contract::testing::Random;
use contract::{Store, StoreWorker};
use std::collections::HashMap;
use std::fmt;

/// The result of a stress run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StressReport {
    /// Histories that were run.
    pub histories: u64,
    /// Insertions in all of them.
    pub insertions: u64,
}

/// An error that a stress run found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StressFailure {
    /// The store with the error.
    pub store: &'static str,
    /// The seed of the history.
    pub seed: u64,
    /// What went wrong.
    pub message: String,
}

impl fmt::Display for StressFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "store {}, seed {}: {}", self.store, self.seed, self.message)
    }
}

impl std::error::Error for StressFailure {}

/// Runs `rounds` histories on each store, with `threads` workers of `insertions` insertions each.
pub fn stress(rounds: u64, threads: usize, insertions: u64, first_seed: u64) -> Result<StressReport, StressFailure> {
    let mut report = StressReport::default();
    for seed in first_seed..first_seed + rounds {
        let fail = |store| move |message| StressFailure { store, seed, message };
        history(&Plain::new(), seed, threads, insertions).map_err(fail("plain"))?;
        history(&Compact::learning_from(u64::MAX, insertions / 8), seed, threads, insertions).map_err(fail("compact"))?;
        history(&Compact::when_needed(insertions.saturating_mul(64).max(3 << 19)), seed, threads, insertions).map_err(fail("auto"))?;
        history(&Hashes::new(56, seed, u64::MAX), seed, threads, insertions).map_err(fail("hash"))?;
        report.histories += 4;
        report.insertions += 4 * threads as u64 * insertions;
    }
    Ok(report)
}

/// State number `n` of a history: its length and the spread of its contents depend on the seed.
fn state(seed: u64, n: u64, out: &mut Vec<u8>) {
    let len = 8 + (seed * 7 % 40) as usize;
    out.clear();
    out.resize(len + (n % (1 + seed % 3)) as usize, 0);
    // Few bytes differ between neighbours, as in the states of a model.
    out[..8].copy_from_slice(&n.to_le_bytes());
    let at = 8 + (n as usize / 16) % (len - 8).max(1);
    if let Some(byte) = out.get_mut(at) {
        *byte = (n >> 4) as u8 | 1;
    }
}

/// The answers that one worker got: which states were new.
type Log = Vec<(u64, bool)>;

/// One worker's part of a history. Fails if the store refused a state or returned a wrong one.
fn work<S: Store>(store: &S, seed: u64, number: u64, insertions: u64) -> Result<Log, String> {
    let distinct = insertions.max(1);
    let mut worker = store.worker();
    let mut random = Random(seed.wrapping_mul(1000) + number);
    let (mut bytes, mut read) = (Vec::new(), Vec::new());
    let mut log = Vec::with_capacity(insertions as usize);
    let mut batch: Vec<(u64, u64)> = Vec::new();
    while (log.len() as u64) < insertions {
        // Hash a batch, then insert it, as a search does.
        batch.clear();
        let base = random.below(distinct);
        for _ in 0..32 {
            let n = (base + random.below(64)) % distinct;
            state(seed, n, &mut bytes);
            let hash = worker.hash(&bytes);
            worker.prefetch(hash);
            batch.push((n, hash));
        }
        for &(n, hash) in &batch {
            state(seed, n, &mut bytes);
            let answer = worker.insert(hash, &bytes).map_err(|full| full.to_string())?;
            if worker.keeps(answer.id) && (!worker.read(answer.id, &mut read) || read != bytes) {
                return Err(format!("state {n} was not the one that came back"));
            }
            log.push((n, answer.new));
        }
    }
    Ok(log)
}

fn history<S: Store>(store: &S, seed: u64, threads: usize, insertions: u64) -> Result<(), String> {
    let logs: Vec<Result<Log, String>> = std::thread::scope(|scope| {
        let start = |number| scope.spawn(move || work(store, seed, number, insertions));
        let handles: Vec<_> = (0..threads as u64).map(start).collect();
        handles.into_iter().map(|handle| handle.join().unwrap_or_else(|_| Err("a worker panicked".to_owned()))).collect()
    });
    let mut new: HashMap<u64, u64> = HashMap::new();
    for log in logs {
        for (n, was_new) in log? {
            *new.entry(n).or_default() += u64::from(was_new);
        }
    }
    if let Some((n, times)) = new.iter().find(|&(_, &times)| times != 1) {
        return Err(format!("state {n} was new {times} times"));
    }
    if store.len() != new.len() as u64 {
        return Err(format!("{} states were inserted, the store counts {}", new.len(), store.len()));
    }
    Ok(())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_finds_nothing() {
        let report = stress(6, 4, 20_000, 1).unwrap();
        assert_eq!(report.histories, 24);
    }
}
