//! The exact store that keeps whole vectors: a table of fingerprints over an arena.
//!
//! A slot of the table is eight bytes: a piece of the hash, and the place of the state in the arena. Linear probing, so that a
//! look-up touches one cache line of the table nearly always, and the arena only when the fingerprint matches. The arena is written
//! once, in order, and never moves a state; doubling the table streams through it.

use crate::hash::hash_bytes;
use contract::{Inserted, StateId, Store, StoreFull, StoreWorker};
use std::sync::{Mutex, MutexGuard, PoisonError};

const FIRST_SLOTS: usize = 1 << 10;
const PLACE_BITS: u32 = 40;
const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;
/// Bytes of a state's length, in front of the state.
const LENGTH_BYTES: usize = 4;

/// Whole state vectors behind a table of fingerprints. Exact, readable, the fastest.
#[derive(Debug)]
pub struct Plain {
    budget: u64,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// 0 is empty; otherwise fingerprint above, place + 1 below.
    slots: Vec<u64>,
    arena: Vec<u8>,
    len: u64,
}

impl Plain {
    /// An empty store without a budget.
    pub fn new() -> Self {
        Self::with_budget(u64::MAX)
    }

    /// An empty store that refuses to use more than `budget` bytes.
    pub fn with_budget(budget: u64) -> Self {
        Plain { budget, inner: Mutex::new(Inner::default()) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Plain {
    fn default() -> Self {
        Self::new()
    }
}

impl Inner {
    fn bytes(&self) -> u64 {
        (self.slots.capacity() * 8 + self.arena.capacity()) as u64
    }

    fn state(&self, place: u64) -> &[u8] {
        let at = place as usize;
        let mut len = [0; LENGTH_BYTES];
        len.copy_from_slice(&self.arena[at..at + LENGTH_BYTES]);
        let start = at + LENGTH_BYTES;
        &self.arena[start..start + u32::from_le_bytes(len) as usize]
    }

    /// Makes room for one more state of `len` bytes, if the budget allows.
    fn reserve(&mut self, len: usize, budget: u64) -> Result<(), StoreFull> {
        if (self.len + 1) * 4 > self.slots.len() as u64 * 3 {
            let slots = (self.slots.len() * 2).max(FIRST_SLOTS);
            let needed = self.bytes() + slots as u64 * 8;
            if needed > budget {
                return Err(StoreFull { needed, budget });
            }
            self.slots = vec![0; slots];
            let mut place = 0;
            while place < self.arena.len() {
                let state = self.state(place as u64);
                let (hash, end) = (hash_bytes(state), place + LENGTH_BYTES + state.len());
                let mut at = hash as usize & (slots - 1);
                while self.slots[at] != 0 {
                    at = (at + 1) & (slots - 1);
                }
                self.slots[at] = entry(hash, place as u64);
                place = end;
            }
        }
        let end = self.arena.len() + LENGTH_BYTES + len;
        if end > self.arena.capacity() {
            let capacity = end.max(self.arena.capacity() * 2).max(1 << 14);
            let needed = self.bytes() + capacity as u64;
            if needed > budget || end as u64 >= PLACE_MASK || len > u32::MAX as usize {
                return Err(StoreFull { needed, budget });
            }
            self.arena.reserve_exact(capacity - self.arena.len());
        }
        Ok(())
    }
}

fn entry(hash: u64, place: u64) -> u64 {
    (hash & !PLACE_MASK) | (place + 1)
}

/// One worker's access to a [`Plain`] store.
#[derive(Debug)]
pub struct PlainWorker<'s>(&'s Plain);

impl Store for Plain {
    const EXACT: bool = true;
    const READABLE: bool = true;
    type Worker<'s> = PlainWorker<'s>;

    fn worker(&self) -> PlainWorker<'_> {
        PlainWorker(self)
    }

    fn len(&self) -> u64 {
        self.lock().len
    }

    fn bytes(&self) -> u64 {
        self.lock().bytes()
    }
}

impl StoreWorker for PlainWorker<'_> {
    fn hash(&self, state: &[u8]) -> u64 {
        hash_bytes(state)
    }

    fn prefetch(&self, _: u64) {}

    fn insert(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        let mut inner = self.0.lock();
        let inner = &mut *inner;
        let probe = |inner: &Inner| {
            let mask = inner.slots.len().wrapping_sub(1);
            let mut at = hash as usize & mask;
            loop {
                match inner.slots.get(at) {
                    None | Some(0) => return Err(at),
                    Some(&slot) => {
                        let place = (slot & PLACE_MASK) - 1;
                        if (slot ^ hash) >> PLACE_BITS == 0 && inner.state(place) == state {
                            return Ok(place);
                        }
                    }
                }
                at = (at + 1) & mask;
            }
        };
        if let Ok(place) = probe(inner) {
            return Ok(Inserted { id: StateId(place), new: false });
        }
        inner.reserve(state.len(), self.0.budget)?;
        let place = inner.arena.len() as u64;
        if let Err(at) = probe(inner) {
            inner.slots[at] = entry(hash, place);
        }
        inner.arena.extend_from_slice(&(state.len() as u32).to_le_bytes());
        inner.arena.extend_from_slice(state);
        inner.len += 1;
        Ok(Inserted { id: StateId(place), new: true })
    }

    fn read(&mut self, id: StateId, out: &mut Vec<u8>) -> bool {
        out.clear();
        out.extend_from_slice(self.0.lock().state(id.0));
        true
    }
}
