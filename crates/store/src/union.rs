//! Estimates how many different states several runs have found together, without storing any of
//! them.
//!
//! Runs over bit arrays with different hash functions overlook different states. The size of the
//! union is estimated with a sketch (Flajolet, Fusy, Gandouet, Meunier, "HyperLogLog", 2007). Each
//! state has a hash that is the same in all runs, and for each of 16384 classes of hashes the
//! sketch keeps the longest run of leading zeros. The standard error is below one in a hundred.

use crate::hash::hash_seeded;
use crate::save_format::Next;
use contract::{Budgeted, Inserted, NotRestored, Saveable, StateId, Stop, Store, StoreFull, StoreWorker};
use std::sync::atomic::{AtomicU8, Ordering};

const CLASS_BITS: u32 = 14;
const CLASSES: usize = 1 << CLASS_BITS;
/// Different from the seeds of the arrays, which are small numbers.
const SEED: u64 = 0x7c15_9e37_79b9_7f4a;

/// A sketch of a set of states, filled by any number of workers and runs.
#[derive(Debug)]
pub struct Union {
    classes: Vec<AtomicU8>,
}

impl Default for Union {
    fn default() -> Self {
        Self::new()
    }
}

impl Union {
    /// The sketch of the empty set.
    pub fn new() -> Self {
        Union { classes: (0..CLASSES).map(|_| AtomicU8::new(0)).collect() }
    }

    fn add(&self, state: &[u8]) {
        let hash = hash_seeded(state, SEED);
        let class = (hash >> (64 - CLASS_BITS)) as usize;
        // The added bit stops the count in hashes that are all zeros.
        let zeros = (hash << CLASS_BITS | 1 << (CLASS_BITS - 1)).leading_zeros() as u8 + 1;
        if self.classes[class].load(Ordering::Relaxed) < zeros {
            self.classes[class].fetch_max(zeros, Ordering::Relaxed);
        }
    }

    /// The estimated size of the set.
    pub fn len(&self) -> u64 {
        let classes = CLASSES as f64;
        let (mut sum, mut empty) = (0.0, 0u32);
        for class in &self.classes {
            let zeros = class.load(Ordering::Relaxed);
            sum += 2f64.powi(-i32::from(zeros));
            empty += u32::from(zeros == 0);
        }
        let estimate = 0.7213 / (1.0 + 1.079 / classes) * classes * classes / sum;
        // For small sets, the number of empty classes gives a better estimate.
        if estimate <= 2.5 * classes && empty > 0 {
            return (classes * (classes / f64::from(empty)).ln()).round() as u64;
        }
        estimate.round() as u64
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.classes.iter().all(|class| class.load(Ordering::Relaxed) == 0)
    }
}

/// A store that adds every state it finds new to a [`Union`]. It is saved together with the union
/// and a note on earlier runs.
#[derive(Debug)]
pub struct Joined<'u, T> {
    store: T,
    union: &'u Union,
    note: Vec<u8>,
}

impl<'u, T> Joined<'u, T> {
    /// A store over `store` that adds its new states to `union`. The note is kept for the restored
    /// store.
    pub fn new(store: T, union: &'u Union, note: Vec<u8>) -> Self {
        Joined { store, union, note }
    }

    /// The note that the store was made or saved with.
    pub fn note(&self) -> &[u8] {
        &self.note
    }

    /// The store itself.
    pub fn store(&self) -> &T {
        &self.store
    }
}

impl<T: Store> Store for Joined<'_, T> {
    const EXACT: bool = T::EXACT;
    const FORGETS: bool = T::FORGETS;
    const STABLE_NAMES: bool = T::STABLE_NAMES;
    type Worker<'s>
        = JoinedWorker<'s, T::Worker<'s>>
    where
        Self: 's;

    fn worker(&self) -> Self::Worker<'_> {
        JoinedWorker { worker: self.store.worker(), union: self.union }
    }

    fn len(&self) -> u64 {
        self.store.len()
    }

    fn omission(&self) -> f64 {
        self.store.omission()
    }

    crate::roles::budgeted_and_saveable!();
}

impl<T: Store> Budgeted for Joined<'_, T> {
    fn bytes(&self) -> u64 {
        self.store.budgeted().map_or(0, Budgeted::bytes) + CLASSES as u64
    }

    fn peak_bytes(&self) -> u64 {
        self.store.budgeted().map_or(0, Budgeted::peak_bytes) + CLASSES as u64
    }

    fn give_up_when(&self, stop: Stop) {
        if let Some(budgeted) = self.store.budgeted() {
            budgeted.give_up_when(stop);
        }
    }

    fn leave_room(&self, bytes: u64) {
        if let Some(budgeted) = self.store.budgeted() {
            budgeted.leave_room(bytes);
        }
    }

    fn form(&self) -> &'static str {
        self.store.budgeted().map_or("", Budgeted::form)
    }
}

impl<T: Store> Saveable for Joined<'_, T> {
    fn own_form(&self) -> Option<&'static str> {
        self.store.saveable()?.own_form().map(|_| "union")
    }

    fn save(&self, states: u64, write: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        let classes: Vec<u8> = self.union.classes.iter().map(|class| class.load(Ordering::Relaxed)).collect();
        write(&self.note) && write(&classes) && self.store.saveable().is_some_and(|saveable| saveable.save(states, write))
    }

    fn restore(&mut self, next: Next<'_>) -> Result<(), NotRestored> {
        let mut classes = Vec::new();
        // A hash has no more zeros than it has bits beside its class, plus one.
        let most = (64 - CLASS_BITS) as u8 + 1;
        if !next(&mut self.note) || !next(&mut classes) || classes.len() != CLASSES || classes.iter().any(|&zeros| zeros > most) {
            return Err(NotRestored::Malformed);
        }
        self.union.classes.iter().zip(classes).for_each(|(class, zeros)| class.store(zeros, Ordering::Relaxed));
        self.store.saveable_mut().ok_or(NotRestored::Malformed)?.restore(next)
    }
}

/// One worker's access to a [`Joined`] store.
#[derive(Debug)]
pub struct JoinedWorker<'s, W> {
    worker: W,
    union: &'s Union,
}

impl<W: StoreWorker> StoreWorker for JoinedWorker<'_, W> {
    #[inline]
    fn hash(&mut self, state: &[u8]) -> u64 {
        self.worker.hash(state)
    }

    #[inline]
    fn prefetch(&self, hash: u64) {
        self.worker.prefetch(hash);
    }

    #[inline]
    fn insert(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        let inserted = self.worker.insert(hash, state)?;
        if inserted.new {
            self.union.add(state);
        }
        Ok(inserted)
    }

    #[inline]
    fn find(&mut self, hash: u64, state: &[u8]) -> Option<StateId> {
        self.worker.find(hash, state)
    }

    fn keeps(&self, id: StateId) -> bool {
        self.worker.keeps(id)
    }

    fn read(&mut self, id: StateId, out: &mut Vec<u8>) -> bool {
        self.worker.read(id, out)
    }

    fn leave(&mut self, id: StateId) {
        self.worker.leave(id);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::Bits;

    fn fill<T: Store>(store: &T, states: std::ops::Range<u64>) {
        let mut worker = store.worker();
        for n in states {
            let state = n.to_le_bytes();
            let hash = worker.hash(&state);
            worker.insert(hash, &state).unwrap();
        }
    }

    #[test]
    fn the_union_of_overlapping_sets_is_counted_once() {
        for size in [100u64, 5_000, 60_000, 400_000] {
            let union = Union::new();
            assert!(union.is_empty());
            for seed in 0..3 {
                let store = Joined::new(Bits::new(1 << 22, 3, seed), &union, Vec::new());
                fill(&store, seed * size / 2..seed * size / 2 + size);
            }
            let (found, expected) = (union.len(), 2 * size);
            assert!(found.abs_diff(expected) as f64 <= expected as f64 * 0.03, "{found} {expected}");
        }
    }

    #[test]
    fn other_functions_overlook_other_states() {
        let union = Union::new();
        let mut most = 0;
        for seed in 0..6 {
            let store = Joined::new(Bits::new(1 << 14, 2, seed), &union, Vec::new());
            fill(&store, 0..100_000);
            most = most.max(store.len());
        }
        assert!(union.len() > most + most / 5, "{} {most}", union.len());
        assert!(union.len() <= 103_000);
    }
}
