//! Marks for the states of any store. A second store holds the marks that are set, each as the
//! state followed by the number of the mark.
//!
//! So the marks have all abilities of the store (sharing among workers, a budget, packing states
//! into a few bytes, growing), and a state without marks costs nothing. A mark is set when its
//! entry is present, and exactly one worker finds that entry new. Entries are never removed, so
//! marks are never cleared.

use contract::{Annotated, Budgeted, Inserted, Marks, StateId, Stop, Store, StoreFull, StoreWorker, Successors};

/// A store with marks.
#[derive(Debug)]
pub struct Marked<T> {
    states: T,
    marks: T,
}

impl<T: Store> Marked<T> {
    /// A store of `states` that keeps their marks in `marks`; both are empty.
    pub fn new(states: T, marks: T) -> Self {
        Marked { states, marks }
    }

    /// The number of marks that are set.
    pub fn marked(&self) -> u64 {
        self.marks.len()
    }

    fn both(&self) -> impl Iterator<Item = &dyn Budgeted> {
        [self.states.budgeted(), self.marks.budgeted()].into_iter().flatten()
    }
}

impl<T: Store> Store for Marked<T> {
    const EXACT: bool = T::EXACT;
    const FORGETS: bool = T::FORGETS;
    const STABLE_NAMES: bool = T::STABLE_NAMES;
    type Worker<'s>
        = T::Worker<'s>
    where
        Self: 's;

    fn worker(&self) -> Self::Worker<'_> {
        self.states.worker()
    }

    fn len(&self) -> u64 {
        self.states.len()
    }

    fn omission(&self) -> f64 {
        self.states.omission()
    }

    fn budgeted(&self) -> Option<&dyn Budgeted> {
        Some(self)
    }
}

impl<T: Store> Budgeted for Marked<T> {
    fn bytes(&self) -> u64 {
        self.both().map(Budgeted::bytes).sum()
    }

    fn peak_bytes(&self) -> u64 {
        self.both().map(Budgeted::peak_bytes).sum()
    }

    fn give_up_when(&self, stop: Stop) {
        self.both().for_each(|store| store.give_up_when(stop.clone()));
    }

    fn leave_room(&self, bytes: u64) {
        // Both share one budget: each leaves room for what the other holds.
        let [states, marks] = [self.states.budgeted(), self.marks.budgeted()];
        for (store, other) in [(states, marks), (marks, states)] {
            if let Some(store) = store {
                store.leave_room(bytes + other.map_or(0, Budgeted::bytes));
            }
        }
    }

    fn yields(&self) -> bool {
        self.both().any(Budgeted::yields)
    }

    fn form(&self) -> &'static str {
        self.states.budgeted().map_or("", Budgeted::form)
    }
}

impl<T: Store> Annotated for Marked<T> {
    type Annotator<'s>
        = MarkedWorker<T::Worker<'s>>
    where
        Self: 's;

    fn annotator(&self) -> Self::Annotator<'_> {
        MarkedWorker { states: self.states.worker(), marks: self.marks.worker(), entry: Vec::new() }
    }
}

/// One worker's access to the states and marks of a [`Marked`] store.
#[derive(Debug)]
pub struct MarkedWorker<W> {
    states: W,
    marks: W,
    /// A buffer for a state followed by the number of a mark.
    entry: Vec<u8>,
}

impl<W: StoreWorker> StoreWorker for MarkedWorker<W> {
    fn hash(&mut self, state: &[u8]) -> u64 {
        self.states.hash(state)
    }

    fn prefetch(&self, hash: u64) {
        self.states.prefetch(hash);
    }

    fn insert(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        self.states.insert(hash, state)
    }

    fn find(&mut self, hash: u64, state: &[u8]) -> Option<StateId> {
        self.states.find(hash, state)
    }

    fn hash_batch(&mut self, batch: &Successors, hashes: &mut Vec<u64>) {
        self.states.hash_batch(batch, hashes);
    }

    fn find_batch(&mut self, batch: &Successors, hashes: &[u64], found: &mut Vec<Option<StateId>>) {
        self.states.find_batch(batch, hashes, found);
    }

    fn keeps(&self, id: StateId) -> bool {
        self.states.keeps(id)
    }

    fn reads_slowly(&self) -> bool {
        self.states.reads_slowly()
    }

    fn view(&self, id: StateId) -> Option<&[u8]> {
        self.states.view(id)
    }

    fn read(&mut self, id: StateId, out: &mut Vec<u8>) -> bool {
        self.states.read(id, out)
    }

    fn leave(&mut self, id: StateId) {
        self.states.leave(id);
    }
}

impl<W: StoreWorker> Marks for MarkedWorker<W> {
    fn or(&mut self, _: u64, state: &[u8], bits: u32) -> Result<u32, StoreFull> {
        let mut before = 0;
        for bit in (0..u32::BITS).filter(|bit| bits >> bit & 1 != 0) {
            self.entry.clear();
            self.entry.extend_from_slice(state);
            self.entry.push(bit as u8);
            let hash = self.marks.hash(&self.entry);
            before |= u32::from(!self.marks.insert(hash, &self.entry)?.new) << bit;
        }
        Ok(before)
    }
}
