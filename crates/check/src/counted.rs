//! A store of the caller that does not say how much memory it uses.
//!
//! The memory limit of a search covers its store, so a store without the role [`Budgeted`] is
//! counted from outside: by the bytes of the states that it has taken. It may use more than that.

use contract::{Budgeted, Fresh, Inserted, StateId, Store, StoreFull, StoreWorker, Successors};
use std::sync::atomic::{AtomicU64, Ordering};

/// A store, and the bytes of its states.
pub(crate) struct Counted<'t, T> {
    store: &'t T,
    bytes: AtomicU64,
}

impl<'t, T: Store> Counted<'t, T> {
    /// A store that is empty.
    pub fn new(store: &'t T) -> Self {
        Counted { store, bytes: AtomicU64::new(0) }
    }
}

impl<T: Store> Store for Counted<'_, T> {
    const EXACT: bool = T::EXACT;
    const FORGETS: bool = T::FORGETS;
    const STABLE_NAMES: bool = T::STABLE_NAMES;
    type Worker<'s>
        = CountedWorker<'s, T>
    where
        Self: 's;

    fn worker(&self) -> CountedWorker<'_, T> {
        CountedWorker { worker: self.store.worker(), bytes: &self.bytes }
    }

    fn len(&self) -> u64 {
        self.store.len()
    }

    fn is_empty(&self) -> bool {
        self.store.is_empty()
    }

    fn omission(&self) -> f64 {
        self.store.omission()
    }

    fn budgeted(&self) -> Option<&dyn Budgeted> {
        Some(self)
    }
}

impl<T: Store> Budgeted for Counted<'_, T> {
    fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// One worker's access to a counted store.
pub(crate) struct CountedWorker<'s, T: Store + 's> {
    worker: T::Worker<'s>,
    bytes: &'s AtomicU64,
}

/// The bytes of a state and of its name.
fn size(state: &[u8]) -> u64 {
    (state.len() + size_of::<StateId>()) as u64
}

impl<T: Store> CountedWorker<'_, T> {
    /// Counts new states of a batch.
    fn count(&self, batch: &Successors, fresh: &[Fresh]) {
        let states = fresh.iter().filter_map(|fresh| batch.state(&batch.entries()[fresh.entry as usize]));
        self.bytes.fetch_add(states.map(size).sum(), Ordering::Relaxed);
    }
}

impl<T: Store> StoreWorker for CountedWorker<'_, T> {
    fn hash(&mut self, state: &[u8]) -> u64 {
        self.worker.hash(state)
    }

    fn prefetch(&self, hash: u64) {
        self.worker.prefetch(hash);
    }

    fn insert(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        let inserted = self.worker.insert(hash, state)?;
        if inserted.new {
            self.bytes.fetch_add(size(state), Ordering::Relaxed);
        }
        Ok(inserted)
    }

    fn hash_batch(&mut self, batch: &Successors, hashes: &mut Vec<u64>) {
        self.worker.hash_batch(batch, hashes);
    }

    fn insert_batch(&mut self, batch: &Successors, hashes: &[u64], first: usize, fresh: &mut Vec<Fresh>) -> Result<usize, usize> {
        let before = fresh.len();
        let end = self.worker.insert_batch(batch, hashes, first, fresh);
        self.count(batch, &fresh[before..]);
        end
    }

    fn insert_some(&mut self, batch: &Successors, entries: &[u32], hashes: &mut Vec<u64>, fresh: &mut Vec<Fresh>) -> Result<(), StoreFull> {
        let before = fresh.len();
        let done = self.worker.insert_some(batch, entries, hashes, fresh);
        self.count(batch, &fresh[before..]);
        done
    }

    fn find_batch(&mut self, batch: &Successors, hashes: &[u64], found: &mut Vec<Option<StateId>>) {
        self.worker.find_batch(batch, hashes, found);
    }

    fn find(&mut self, hash: u64, state: &[u8]) -> Option<StateId> {
        self.worker.find(hash, state)
    }

    fn keeps(&self, id: StateId) -> bool {
        self.worker.keeps(id)
    }

    fn reads_slowly(&self) -> bool {
        self.worker.reads_slowly()
    }

    fn view(&self, id: StateId) -> Option<&[u8]> {
        self.worker.view(id)
    }

    fn read(&mut self, id: StateId, out: &mut Vec<u8>) -> bool {
        self.worker.read(id, out)
    }

    fn leave(&mut self, id: StateId) {
        self.worker.leave(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::testing::{compare_with_hash_set, store_laws};

    /// A counted store that can be made without a store that exists already.
    fn counted() -> Counted<'static, store::Plain> {
        Counted::new(Box::leak(Box::new(store::Plain::new())))
    }

    #[test]
    fn a_counted_store_obeys_the_laws_and_counts_each_state_once() {
        store_laws(counted);
        let store = counted();
        compare_with_hash_set(&store, [vec![1; 10], vec![2; 30], vec![1; 10]]);
        assert_eq!(store.bytes(), 10 + 30 + 2 * 8);
    }
}
