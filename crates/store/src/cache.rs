//! A cache of states with room for a fixed number. When it is full, the oldest states are removed,
//! except those that the search still needs.
//!
//! Godefroid, Holzmann, Pirottin, "State-space caching revisited" (1995); the checker for LF had
//! one. A depth-first search ends even if it forgets states it has left, because every cycle
//! contains a state on its path, and the states on its path are pinned from their insertion until
//! [`leave`](StoreWorker::leave). The search may visit a forgotten state again, so numbers of
//! states count visits. Each set of the cache replaces its states in round-robin order, which is
//! about as good as more complicated policies.

use crate::hash::hash_bytes;
use crate::save_format::{self, Fields, Next};
use crate::sync::{Mutex, lock};
use contract::{Budgeted, Inserted, NotRestored, Saveable, StateId, Store, StoreFull, StoreWorker};

/// The number of states in a set.
const WAYS: usize = 16;

/// The number of sets that are searched for room when the budget is used up and all states of a set
/// are needed.
const NEIGHBOURS: usize = 256;

/// A fixed number of states, with replacement. Exact, but it forgets states.
#[derive(Debug)]
pub struct Cache {
    inner: Mutex<Inner>,
    sets: usize,
    budget: u64,
}

#[derive(Debug, Default)]
struct Inner {
    sets: Vec<Set>,
    /// States inserted, and states forgotten.
    inserted: u64,
    forgotten: u64,
    /// Bytes of entries and their states.
    bytes: u64,
    /// Bytes of the budget that are reserved for other uses.
    others: u64,
}

#[derive(Debug, Default)]
struct Set {
    entries: Vec<Entry>,
    /// The entry at which the search for a victim continues.
    hand: usize,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    state: Box<[u8]>,
    pinned: bool,
}

impl Entry {
    fn bytes(&self) -> u64 {
        (size_of::<Entry>() + self.state.len()) as u64
    }
}

impl Set {
    /// The next state to forget.
    fn victim(&self) -> Option<usize> {
        let len = self.entries.len();
        (0..len).map(|step| (self.hand + step) % len).find(|&at| !self.entries[at].pinned)
    }

    /// Writes the contents of a set in order, because the order decides which state is forgotten
    /// next. Most sets of a young cache are empty.
    fn save(&self, piece: &mut Vec<u8>) {
        piece.clear();
        if self.entries.is_empty() {
            return;
        }
        piece.extend((self.hand as u64).to_le_bytes());
        for entry in &self.entries {
            piece.extend(u64::from(entry.pinned).to_le_bytes());
            piece.extend((entry.state.len() as u64).to_le_bytes());
            piece.extend(&*entry.state);
        }
    }

    fn restore(piece: &[u8]) -> Result<Set, NotRestored> {
        let mut fields = Fields(piece);
        let mut set = Set::default();
        if !fields.is_empty() {
            // A `u32`, so that adding to it cannot overflow.
            set.hand = u32::try_from(fields.number()?).map_err(|_| NotRestored::Malformed)? as usize;
        }
        while !fields.is_empty() {
            let pinned = fields.number()? != 0;
            let len = fields.number()?;
            let state = fields.bytes(len)?;
            set.entries.push(Entry { hash: hash_bytes(state), state: state.into(), pinned });
        }
        Ok(set)
    }
}

/// The number of the set, out of `sets`, for states with this hash.
fn set_of(hash: u64, sets: usize) -> usize {
    ((u128::from(hash) * sets as u128) >> 64) as usize
}

impl Cache {
    /// Room for about `states` states in at most `budget` bytes. States that are pinned may exceed
    /// the number, but not the budget.
    pub fn new(states: u64, budget: u64) -> Self {
        let sets = usize::try_from(states.div_ceil(WAYS as u64)).unwrap_or(usize::MAX).clamp(1, 1 << 30);
        let sets = sets.min(usize::try_from(budget / size_of::<Set>() as u64).unwrap_or(usize::MAX).max(1));
        Cache { inner: Mutex::new(Inner::default()), sets, budget }
    }

    /// The number of states that were forgotten to make room.
    pub fn forgotten(&self) -> u64 {
        lock(&self.inner).forgotten
    }
}

impl Store for Cache {
    const EXACT: bool = true;
    const FORGETS: bool = true;
    const STABLE_NAMES: bool = false;
    type Worker<'s> = CacheWorker<'s>;

    fn worker(&self) -> CacheWorker<'_> {
        let mut inner = lock(&self.inner);
        if inner.sets.is_empty() {
            inner.sets.resize_with(self.sets, Set::default);
            inner.bytes = (inner.sets.capacity() * size_of::<Set>()) as u64;
        }
        drop(inner);
        CacheWorker(self)
    }

    /// The number of insertions that found a state new; a forgotten state may be counted again.
    fn len(&self) -> u64 {
        lock(&self.inner).inserted
    }

    crate::roles::budgeted_and_saveable!();
}

impl Budgeted for Cache {
    fn bytes(&self) -> u64 {
        lock(&self.inner).bytes
    }

    fn leave_room(&self, bytes: u64) {
        lock(&self.inner).others = bytes;
    }
}

impl Saveable for Cache {
    fn own_form(&self) -> Option<&'static str> {
        Some("cache")
    }

    /// The sets, one after the other, including the empty ones, so that a file cannot make a cache
    /// much larger than itself.
    fn save(&self, _: u64, write: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        let inner = lock(&self.inner);
        let mut piece = Vec::new();
        write(&save_format::numbers([inner.sets.len() as u64, inner.inserted, inner.forgotten]))
            && inner.sets.iter().all(|set| {
                set.save(&mut piece);
                write(&piece)
            })
    }

    fn restore(&mut self, next: Next<'_>) -> Result<(), NotRestored> {
        let [count, inserted, forgotten] = save_format::head(next)?;
        let count = usize::try_from(count).map_err(|_| NotRestored::Malformed)?;
        let (mut sets, mut bytes) = (Vec::new(), 0);
        let mut piece = Vec::new();
        while next(&mut piece) {
            let set = Set::restore(&piece)?;
            if set.entries.iter().any(|entry| set_of(entry.hash, count) != sets.len()) {
                return Err(NotRestored::Malformed);
            }
            bytes += set.entries.iter().map(Entry::bytes).sum::<u64>();
            sets.push(set);
            let needed = bytes + (sets.len() * size_of::<Set>()) as u64;
            if needed > self.budget {
                return Err(StoreFull { needed, budget: self.budget }.into());
            }
        }
        if sets.len() != count || count == 0 {
            return Err(NotRestored::Malformed);
        }
        sets.shrink_to_fit();
        bytes += (sets.capacity() * size_of::<Set>()) as u64;
        self.sets = count;
        *lock(&self.inner) = Inner { sets, inserted, forgotten, bytes, others: 0 };
        Ok(())
    }
}

/// Access to a [`Cache`].
#[derive(Debug)]
pub struct CacheWorker<'s>(&'s Cache);

impl StoreWorker for CacheWorker<'_> {
    fn hash(&mut self, state: &[u8]) -> u64 {
        hash_bytes(state)
    }

    fn prefetch(&self, _: u64) {}

    fn insert(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        let mut inner = lock(&self.0.inner);
        let Inner { sets, inserted, forgotten, bytes, others } = &mut *inner;
        let number = set_of(hash, sets.len());
        let set = &mut sets[number];
        let id = StateId(hash);
        if set.entries.iter().any(|entry| entry.hash == hash && *entry.state == *state) {
            return Ok(Inserted { id, new: false });
        }
        let entry = Entry { hash, state: state.into(), pinned: true };
        let needed = *bytes + entry.bytes();
        let over = needed > self.0.budget.saturating_sub(*others);
        if set.entries.len() >= WAYS || over {
            match set.victim() {
                Some(at) => {
                    *bytes = *bytes + entry.bytes() - set.entries[at].bytes();
                    set.entries[at] = entry;
                    set.hand = at + 1;
                    *forgotten += 1;
                    *inserted += 1;
                    // Replacing one state by one does not bring the cache back within its budget.
                    if let Some(at) = set.victim().filter(|_| over) {
                        *bytes -= set.entries.swap_remove(at).bytes();
                        *forgotten += 1;
                    }
                    return Ok(Inserted { id, new: true });
                }
                // All states are needed, so this set must exceed its share. If there is no room for
                // that, other sets must shrink.
                None if over => {
                    let others = (1..=NEIGHBOURS).map(|step| (number + step) % sets.len());
                    let found = others.filter_map(|at| Some((at, sets[at].victim()?))).next();
                    let Some((neighbour, at)) = found else { return Err(StoreFull { needed, budget: self.0.budget }) };
                    let gone = sets[neighbour].entries.swap_remove(at);
                    *bytes = needed - gone.bytes();
                    *forgotten += 1;
                    *inserted += 1;
                    sets[number].entries.push(entry);
                    return Ok(Inserted { id, new: true });
                }
                None => {}
            }
        }
        *bytes = needed;
        *inserted += 1;
        set.entries.push(entry);
        Ok(Inserted { id, new: true })
    }

    fn find(&mut self, hash: u64, state: &[u8]) -> Option<StateId> {
        let inner = lock(&self.0.inner);
        let number = set_of(hash, inner.sets.len());
        inner.sets[number].entries.iter().any(|entry| entry.hash == hash && *entry.state == *state).then_some(StateId(hash))
    }

    fn keeps(&self, _: StateId) -> bool {
        false
    }

    fn read(&mut self, _: StateId, _: &mut Vec<u8>) -> bool {
        false
    }

    fn leave(&mut self, id: StateId) {
        let mut inner = lock(&self.0.inner);
        let Inner { sets, bytes, .. } = &mut *inner;
        let number = set_of(id.0, sets.len());
        let set = &mut sets[number];
        // If several pinned states have this hash, the one that was pinned last is left first,
        // because a depth-first search uses a stack.
        if let Some(at) = set.entries.iter().rposition(|entry| entry.hash == id.0 && entry.pinned) {
            set.entries[at].pinned = false;
            if set.entries.len() > WAYS {
                *bytes -= set.entries.swap_remove(at).bytes();
            }
        }
    }
}
