//! The visited states of a worker: a store, and the few states that come after the store is full.
//!
//! A store that has to grow needs much memory at once, so it may refuse a state while there is
//! still some memory left. The worker that finds this out tells the others, who take its new states
//! from the next level on. Until then its states go to a simple set beside the store.

use contract::{Budgeted, Fresh, Saveable, StateId, StoreWorker, Successors};
use std::collections::HashSet;

/// The set of visited states of a worker, as the caller provides it.
pub struct Seen<'s> {
    /// The access to the store.
    pub worker: Box<dyn StoreWorker + 's>,
    /// Its memory, if known.
    pub budgeted: Option<&'s dyn Budgeted>,
    /// Whether it never takes a new state for a known one.
    pub exact: bool,
    /// The save role of the store, if it has one.
    pub saveable: Option<&'s dyn Saveable>,
}

/// The approximate memory of a state beside the store, in addition to its bytes.
const BESIDE: u64 = 40;

/// A store and the states beside it.
pub(crate) struct Visited<'s> {
    pub store: Seen<'s>,
    beside: HashSet<Box<[u8]>>,
    bytes: u64,
    is_full: bool,
}

impl<'s> Visited<'s> {
    pub fn new(store: Seen<'s>) -> Visited<'s> {
        Visited { store, beside: HashSet::new(), bytes: 0, is_full: false }
    }

    /// Whether the store has refused a state.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// The memory of the states beside the store.
    pub fn bytes_beside(&self) -> u64 {
        self.bytes
    }

    /// The states beside the store.
    pub fn beside(&self) -> impl Iterator<Item = &[u8]> {
        self.beside.iter().map(|state| &**state)
    }

    /// Whether a state is known.
    pub fn has(&mut self, state: &[u8]) -> bool {
        let hash = self.store.worker.hash(state);
        self.store.worker.find(hash, state).is_some() || self.beside.contains(state)
    }

    /// Inserts the states of a batch without faults; appends the new ones to `fresh`.
    pub fn insert(&mut self, batch: &Successors, hashes: &mut Vec<u64>, fresh: &mut Vec<Fresh>) {
        hashes.clear();
        self.store.worker.hash_batch(batch, hashes);
        let mut from = 0;
        if !self.is_full {
            match self.store.worker.insert_batch(batch, hashes, 0, fresh) {
                Ok(_) => return,
                Err(refused) => (self.is_full, from) = (true, refused),
            }
        }
        self.insert_beside(batch, hashes, from, fresh);
    }

    /// Inserts the states of some entries of a batch, whether they have a fault or not; appends the
    /// new ones to `fresh`.
    pub fn insert_some(&mut self, batch: &Successors, entries: &[u32], hashes: &mut Vec<u64>, fresh: &mut Vec<Fresh>) {
        if entries.is_empty() || !self.is_full && self.store.worker.insert_some(batch, entries, hashes, fresh).is_ok() {
            return;
        }
        self.is_full = true;
        // Those that were stored before one was refused are found.
        for &entry in entries {
            let Some(state) = batch.state(&batch.entries()[entry as usize]) else { continue };
            if !self.has(state) {
                self.keep_beside(state, entry, fresh);
            }
        }
    }

    fn keep_beside(&mut self, state: &[u8], entry: u32, fresh: &mut Vec<Fresh>) {
        self.bytes += state.len() as u64 + BESIDE;
        self.beside.insert(state.into());
        fresh.push(Fresh { entry, kept: false, id: StateId(0) });
    }

    #[cold]
    fn insert_beside(&mut self, batch: &Successors, hashes: &[u64], from: usize, fresh: &mut Vec<Fresh>) {
        for (index, entry) in batch.entries().iter().enumerate().skip(from) {
            let Some(state) = batch.state(entry) else { continue };
            if self.store.worker.find(hashes[index], state).is_some() || self.beside.contains(state) {
                continue;
            }
            self.keep_beside(state, index as u32, fresh);
        }
    }
}
