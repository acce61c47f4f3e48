//! The waiting states of a layer that any worker of a sweep may take.
//!
//! A worker keeps the states that it finds in the layer. If another worker has nothing to do, it
//! gives half of them away, so that a layer that begins with few states is shared too.

use crate::frontier::{Chunk, Stash};
use crate::sync::lock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// How often a worker without states looks whether the search is over.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A worker gives states away if it has at least this many.
pub(crate) const LEAST_GIVEN: usize = 128;

/// Waiting states of one layer.
pub(crate) struct LayerQueue {
    stashes: Mutex<Vec<Stash>>,
    changed: Condvar,
    /// The workers that have states. Only they can find more.
    busy: AtomicUsize,
    /// The workers that wait for states.
    idle: AtomicUsize,
    states: AtomicU64,
    bytes: AtomicU64,
}

impl LayerQueue {
    /// A queue for so many workers. Each must take its [`Turn`] or be counted as
    /// [missing](Self::leave).
    pub fn new(stashes: Vec<Stash>, workers: usize) -> LayerQueue {
        let states = stashes.iter().map(|stash| stash.len() as u64).sum();
        let bytes = stashes.iter().map(Stash::bytes).sum();
        LayerQueue {
            stashes: Mutex::new(stashes),
            changed: Condvar::new(),
            busy: AtomicUsize::new(workers),
            idle: AtomicUsize::new(0),
            states: AtomicU64::new(states),
            bytes: AtomicU64::new(bytes),
        }
    }

    /// The part of one worker.
    pub fn turn(&self) -> Turn<'_> {
        Turn { queue: self, busy: true }
    }

    /// A worker does not work, or no longer.
    pub fn leave(&self) {
        let _stashes = lock(&self.stashes);
        if self.busy.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.changed.notify_all();
        }
    }

    /// Whether a worker waits for states.
    pub fn is_wanted(&self) -> bool {
        self.idle.load(Ordering::Relaxed) > 0
    }

    /// Adds the states of a chunk.
    pub fn give(&self, chunk: Chunk) {
        let mut stash = Stash::default();
        stash.put(chunk);
        let mut stashes = lock(&self.stashes);
        self.states.fetch_add(stash.len() as u64, Ordering::Relaxed);
        self.bytes.fetch_add(stash.bytes(), Ordering::Relaxed);
        stashes.push(stash);
        self.changed.notify_one();
    }

    /// The number of the waiting states, and their memory.
    pub fn standing(&self) -> (u64, u64) {
        (self.states.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    /// The states that nobody has taken.
    pub fn into_stashes(self) -> Vec<Stash> {
        self.stashes.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn take_from(&self, stashes: &mut Vec<Stash>, most: usize) -> Option<Chunk> {
        while stashes.pop_if(|stash| stash.len() == 0).is_some() {}
        let last = stashes.last_mut()?;
        let before = last.bytes();
        // No more states are added to what is left, so it needs no memory for them.
        let chunk = last.take(most, &mut Vec::new())?;
        self.states.fetch_sub(chunk.waiting.len() as u64, Ordering::Relaxed);
        self.bytes.fetch_sub(before - last.bytes(), Ordering::Relaxed);
        Some(chunk)
    }
}

/// A worker that takes states from the queue. If it ends early, the others do not wait for it.
pub(crate) struct Turn<'q> {
    queue: &'q LayerQueue,
    busy: bool,
}

impl Turn<'_> {
    /// Takes up to `most` states, if there are any.
    pub fn take(&mut self, most: usize) -> Option<Chunk> {
        self.queue.take_from(&mut lock(&self.queue.stashes), most)
    }

    /// Waits for states, because this worker has none; nothing if no worker has any, or if the
    /// search `is_over`.
    pub fn wait(&mut self, most: usize, is_over: &dyn Fn() -> bool) -> Option<Chunk> {
        let queue = self.queue;
        let mut stashes = lock(&queue.stashes);
        self.busy = false;
        if queue.busy.fetch_sub(1, Ordering::Relaxed) == 1 {
            queue.changed.notify_all();
        }
        queue.idle.fetch_add(1, Ordering::Relaxed);
        let chunk = loop {
            let chunk = queue.take_from(&mut stashes, most);
            if chunk.is_some() {
                self.busy = true;
                queue.busy.fetch_add(1, Ordering::Relaxed);
                break chunk;
            }
            if queue.busy.load(Ordering::Relaxed) == 0 || is_over() {
                break None;
            }
            let waited = queue.changed.wait_timeout(stashes, LOOK_EVERY);
            stashes = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        };
        queue.idle.fetch_sub(1, Ordering::Relaxed);
        chunk
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.busy {
            self.queue.leave();
        }
    }
}
