//! The level that a breadth-first search expands, shared by its workers.

use crate::frontier::Chunk;
use crate::sync::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The fewest states that a worker takes from a shared level.
const LEAST_TAKEN: u64 = 32;

/// States that wait to be expanded, all at the same depth.
#[derive(Default)]
pub(crate) struct Level {
    /// The chunks that were not taken yet; the first one is at the end.
    chunks: Mutex<Vec<Chunk>>,
    /// The rest of the chunks of workers that had to stop in the middle.
    left: Mutex<Vec<Chunk>>,
    /// States for the next level, from helpers that have finished this one.
    pub next: Mutex<Vec<Chunk>>,
    /// Asks all workers to stop for a checkpoint.
    pub pause: AtomicBool,
    depth: AtomicU64,
    workers: AtomicU64,
    /// The memory of the chunks that were not taken yet, and the number of states in them.
    bytes: AtomicU64,
    waiting: AtomicU64,
}

/// The states in all `chunks`.
pub(crate) fn states_in<'a>(chunks: impl IntoIterator<Item = &'a Chunk>) -> u64 {
    chunks.into_iter().map(|chunk| chunk.waiting.len() as u64).sum()
}

impl Level {
    /// Makes `chunks` the level, for `workers` workers.
    pub fn open(&self, mut chunks: Vec<Chunk>, depth: u64, workers: usize) {
        self.bytes.store(chunks.iter().map(Chunk::size).sum(), Ordering::Relaxed);
        self.waiting.store(states_in(&chunks), Ordering::Relaxed);
        self.depth.store(depth, Ordering::Relaxed);
        self.workers.store(workers as u64, Ordering::Relaxed);
        chunks.reverse();
        *lock(&self.chunks) = chunks;
    }

    pub fn depth(&self) -> u64 {
        self.depth.load(Ordering::Relaxed)
    }

    /// The memory of the states that no worker has taken.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// The next states to expand: a whole chunk, or less towards the end of a shared level, so that
    /// all workers finish at about the same time.
    pub fn take(&self) -> Option<Chunk> {
        let mut chunks = lock(&self.chunks);
        let mut chunk = chunks.pop()?;
        let (waiting, workers) = (self.waiting(), self.workers.load(Ordering::Relaxed));
        let share = (waiting / (2 * workers.max(1))).max(LEAST_TAKEN) as usize;
        self.bytes.fetch_sub(chunk.size(), Ordering::Relaxed);
        if workers > 1 && share < chunk.waiting.len() {
            let rest = chunk.split_off(share);
            self.bytes.fetch_add(rest.size(), Ordering::Relaxed);
            chunks.push(rest);
        }
        self.waiting.store(waiting.saturating_sub(chunk.waiting.len() as u64), Ordering::Relaxed);
        Some(chunk)
    }

    /// Returns states that could not be expanded now.
    pub fn leave(&self, chunk: Chunk) {
        lock(&self.left).push(chunk);
    }

    /// Removes all states that were not expanded.
    pub fn rest(&self) -> Vec<Chunk> {
        let mut chunks = std::mem::take(&mut *lock(&self.left));
        chunks.extend(std::mem::take(&mut *lock(&self.chunks)).into_iter().rev());
        chunks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::{Frontier, Sink};
    use crate::links::Link;
    use contract::StateId;

    fn level(states: u64, workers: usize) -> Level {
        let mut frontier = Frontier::default();
        (0..states).for_each(|n| frontier.push(StateId(n), Link::from_bits(n), 0, None));
        let level = Level::default();
        level.open(frontier.take(), 0, workers);
        level
    }

    #[test]
    fn one_worker_takes_whole_chunks_in_order() {
        let level = level(3000, 1);
        let mut n = 0;
        while let Some(chunk) = level.take() {
            assert!(chunk.waiting.len() >= 3000 % 512);
            for &id in &chunk.waiting {
                assert_eq!(id, StateId(n));
                n += 1;
            }
        }
        assert_eq!((n, level.waiting(), level.bytes()), (3000, 0, 0));
    }

    #[test]
    fn what_was_not_expanded_is_left() {
        let level = level(2000, 2);
        let mut first = level.take().unwrap();
        level.leave(first.split_off(100));
        assert_eq!((first.waiting.len(), states_in(&level.rest())), (100, 1900));
        assert!(level.take().is_none() && level.rest().is_empty());
    }

    #[test]
    fn what_is_shared_is_taken_in_smaller_and_smaller_parts() {
        for states in [1, 31, 33, 500, 600, 5000] {
            let level = level(states, 4);
            let part = || {
                let most = (level.waiting() / 8).max(LEAST_TAKEN);
                level.take().inspect(|chunk| assert!(chunk.waiting.len() as u64 <= most))
            };
            let chunks: Vec<Chunk> = std::iter::from_fn(part).collect();
            assert_eq!((states_in(&chunks), level.waiting(), level.bytes()), (states, 0, 0));
            for chunk in &chunks {
                for (index, &id) in chunk.waiting.iter().enumerate() {
                    assert_eq!(chunk.link(index).to_bits(), id.0);
                }
            }
        }
    }
}
