//! The set of visited states, as a search sees it.
//!
//! A search asks one question, "is this state new?", tens of millions of times a second. It is
//! asked in two parts: [`hash`](StoreWorker::hash) with [`prefetch`](StoreWorker::prefetch) when a
//! state is generated, and [`insert`](StoreWorker::insert) a few hundred states later, when the
//! memory has arrived.
//!
//! A store is shared by all workers. Each uses its own [`StoreWorker`], which holds everything that
//! must not be shared: a private piece of the arena, counters, scratch space, small caches.

use crate::roles::{Budgeted, Saveable};
use crate::successors::Successors;
use std::fmt;

/// The name that a store gives to a state. Names need not be dense, and only the store can
/// interpret them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateId(pub u64);

/// The answer of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inserted {
    /// The state's name.
    pub id: StateId,
    /// Whether the state was not there before. Exactly one insertion of a state, over all workers,
    /// answers `true`.
    pub new: bool,
}

/// A new state of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fresh {
    /// The number of its entry in the batch.
    pub entry: u32,
    /// Whether the store [`keeps`](StoreWorker::keeps) it.
    pub kept: bool,
    /// The state's name.
    pub id: StateId,
}

/// A store that cannot take another state within its memory budget. Its contents stay valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreFull {
    /// The bytes the store would have needed.
    pub needed: u64,
    /// The bytes it may use.
    pub budget: u64,
}

impl fmt::Display for StoreFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the state store needs {} bytes, its budget is {}", self.needed, self.budget)
    }
}

impl std::error::Error for StoreFull {}

/// A set of states shared by all workers of a search.
///
/// These are the abilities of every store. Abilities of some stores are roles ([`Budgeted`],
/// [`Saveable`], [`Annotated`](crate::Annotated), [`Layered`](crate::Layered)): searches that can
/// work without a role ask for it, and those that cannot demand it in their types.
pub trait Store: Sync {
    /// The store never takes a new state for a known one. A search that completes over an inexact
    /// store must not answer "holds".
    const EXACT: bool;
    /// The store may forget a state that the search has left ([`StoreWorker::leave`]), and then
    /// treat it as new again. Over such a store, a search does not end if it never leaves a state
    /// or relies on a state being new only once.
    const FORGETS: bool = false;
    /// Every state can be read back by its name, and its name never changes. A store that
    /// reorganises itself may rename its states, and a store that keeps only hashes has no usable
    /// names.
    const STABLE_NAMES: bool;

    /// One worker's access.
    type Worker<'s>: StoreWorker
    where
        Self: 's;

    /// Access for one more worker.
    fn worker(&self) -> Self::Worker<'_>;

    /// The number of states inserted. Exact once the workers are gone; may lag while they work.
    fn len(&self) -> u64;

    /// Whether no state was inserted.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The probability that some new state was taken for a known one, for a store that is not
    /// exact.
    fn omission(&self) -> f64 {
        if Self::EXACT { 0.0 } else { 1.0 }
    }

    /// The store's budget role, if it has one.
    fn budgeted(&self) -> Option<&dyn Budgeted> {
        None
    }

    /// The store's save role, if it has one.
    fn saveable(&self) -> Option<&dyn Saveable> {
        None
    }

    /// The save role for restoring.
    fn saveable_mut(&mut self) -> Option<&mut dyn Saveable> {
        None
    }
}

/// One worker's access to a [`Store`].
pub trait StoreWorker {
    /// The hash of `state`, for [`prefetch`](Self::prefetch) and [`insert`](Self::insert). It may
    /// be used at any later time, by this worker.
    fn hash(&mut self, state: &[u8]) -> u64;

    /// Tells the memory system that a state with this hash will soon be inserted.
    fn prefetch(&self, hash: u64);

    /// Inserts `state`, whose [`hash`](Self::hash) is `hash`, unless it is there already.
    fn insert(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull>;

    /// Appends to `hashes` the [`hash`](Self::hash) of each entry of a batch that has none there
    /// yet, and [`prefetch`](Self::prefetch)es it. The hash of an entry without a state is 0.
    fn hash_batch(&mut self, batch: &Successors, hashes: &mut Vec<u64>) {
        let entries = &batch.entries()[hashes.len()..];
        hashes.extend(entries.iter().map(|entry| {
            let Some(state) = batch.state(entry) else { return 0 };
            let hash = self.hash(state);
            self.prefetch(hash);
            hash
        }));
    }

    /// Inserts the states of a batch, from entry `first` on, up to an entry that has a fault or no
    /// state. Returns the number of that entry, or the number of entries. The error contains the
    /// number of the entry for which there was no room. `hashes` has a hash for each entry. New
    /// states are appended to `fresh`.
    ///
    /// Nearly all states of all searches are inserted by this method, so a store may implement it
    /// more efficiently than by single insertions.
    fn insert_batch(&mut self, batch: &Successors, hashes: &[u64], first: usize, fresh: &mut Vec<Fresh>) -> Result<usize, usize> {
        let entries = batch.entries();
        for (index, entry) in entries.iter().enumerate().skip(first) {
            let Some(state) = batch.state_without_fault(entry) else { return Ok(index) };
            let Ok(Inserted { id, new }) = self.insert(hashes[index], state) else { return Err(index) };
            if new {
                fresh.push(Fresh { entry: index as u32, kept: self.keeps(id), id });
            }
        }
        Ok(entries.len())
    }

    /// Hashes and inserts the states of some entries of a batch, whether they have a fault or not.
    /// New states are appended to `fresh`. `hashes` is scratch space.
    fn insert_some(&mut self, batch: &Successors, entries: &[u32], hashes: &mut Vec<u64>, fresh: &mut Vec<Fresh>) -> Result<(), StoreFull> {
        let state_of = |entry: u32| batch.state(&batch.entries()[entry as usize]);
        hashes.clear();
        hashes.extend(entries.iter().map(|&entry| {
            let Some(state) = state_of(entry) else { return 0 };
            let hash = self.hash(state);
            self.prefetch(hash);
            hash
        }));
        for (&entry, &hash) in entries.iter().zip(&*hashes) {
            let Some(state) = state_of(entry) else { continue };
            let Inserted { id, new } = self.insert(hash, state)?;
            if new {
                fresh.push(Fresh { entry, kept: self.keeps(id), id });
            }
        }
        Ok(())
    }

    /// Appends to `found`, for each entry of a batch, the result of [`find`](Self::find) for its
    /// state; `None` for an entry without a state. `hashes` has a hash for each entry.
    fn find_batch(&mut self, batch: &Successors, hashes: &[u64], found: &mut Vec<Option<StateId>>) {
        let entries = batch.entries().iter().zip(hashes);
        found.extend(entries.map(|(entry, &hash)| self.find(hash, batch.state(entry)?)));
    }

    /// The name of `state`, whose [`hash`](Self::hash) is `hash`, if the state is certainly in the
    /// store. A store that is being reorganised may not find it.
    fn find(&mut self, hash: u64, state: &[u8]) -> Option<StateId>;

    /// Whether the state just named `id` can be read by that name at any later time. If not, a
    /// caller that needs the state later must keep its bytes.
    fn keeps(&self, id: StateId) -> bool;

    /// Whether reading a state is so much work that a caller should keep its bytes if it has room
    /// for them.
    #[inline]
    fn reads_slowly(&self) -> bool {
        false
    }

    /// The bytes of the state named `id`, without a copy, if the store keeps whole states and
    /// [`keeps`](Self::keeps) this one.
    #[inline]
    fn view(&self, id: StateId) -> Option<&[u8]> {
        let _ = id;
        None
    }

    /// Replaces the contents of `out` by the state named `id`, and returns whether it could: it can
    /// if it [`keeps`](Self::keeps) the state.
    fn read(&mut self, id: StateId, out: &mut Vec<u8>) -> bool;

    /// Reports that the search has left the state named `id` permanently, so that a store that
    /// forgets may forget it.
    fn leave(&mut self, id: StateId) {
        let _ = id;
    }
}
