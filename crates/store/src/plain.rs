//! The exact store that keeps whole vectors: an arena of states behind a lock-free table of fingerprints. The fastest.
//!
//! A look-up touches one cache line of the table nearly always, and the arena only when the fingerprint matches, which is to say when
//! the state is there. The name of a state is its place in the arena and never changes.

use crate::arena::{Arena, Piece};
use crate::budget::Budget;
use crate::hash::hash_bytes;
use crate::sync::{Arc, AtomicU64, Mutex, Ordering, lock};
use crate::table::{FIRST_BUCKET_BITS, Lookup, Table};
use contract::{Inserted, StateId, Store, StoreFull, StoreWorker};

/// New states a worker inserts before it tells the others.
const TELL_EVERY: u64 = 64;

/// Whole state vectors behind a table of fingerprints. Exact and readable.
#[derive(Debug)]
pub struct Plain {
    arena: Option<Arena>,
    table: Mutex<Option<Arc<Table>>>,
    budget: Arc<Budget>,
    len: AtomicU64,
}

impl Plain {
    /// An empty store without a budget.
    pub fn new() -> Self {
        Self::with_budget(u64::MAX)
    }

    /// An empty store that uses at most `budget` bytes.
    pub fn with_budget(budget: u64) -> Self {
        let budget = Arc::new(Budget::new(budget));
        // A system that refuses even the first few kilobytes gives a store that is full from the beginning.
        let arena = Arena::new(budget.clone());
        let table = arena.as_ref().and_then(|arena| Table::new(FIRST_BUCKET_BITS, arena.place_bits(), None, budget.clone()).ok());
        Plain { arena, table: Mutex::new(table.map(Arc::new)), budget, len: AtomicU64::new(0) }
    }
}

impl Default for Plain {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for Plain {
    const EXACT: bool = true;
    const STABLE_NAMES: bool = true;
    type Worker<'s> = PlainWorker<'s>;

    fn worker(&self) -> PlainWorker<'_> {
        let parts = self.arena.as_ref().zip(lock(&self.table).clone());
        PlainWorker { store: self, parts, piece: Piece::default(), untold: 0, refused: false }
    }

    fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    fn bytes(&self) -> u64 {
        self.budget.used()
    }
}

/// One worker's access to a [`Plain`] store.
#[derive(Debug)]
pub struct PlainWorker<'s> {
    store: &'s Plain,
    /// The arena and the table this worker knows as the present one; nothing if there was no memory for them.
    parts: Option<(&'s Arena, Arc<Table>)>,
    piece: Piece,
    /// States inserted since the others were told.
    untold: u64,
    /// The budget did not allow a larger table: fill this one to the brim.
    refused: bool,
}

impl PlainWorker<'_> {
    #[cold]
    fn tell(&mut self) {
        let len = self.store.len.fetch_add(self.untold, Ordering::Relaxed) + self.untold;
        self.untold = 0;
        let Some((_, table)) = &self.parts else { return };
        if !self.refused && len * 4 > table.slots() * 3 {
            self.refused = table.grow().is_err();
        }
        self.follow();
    }

    /// If the table is being replaced, helps and goes on in the next one.
    #[cold]
    fn follow(&mut self) {
        let Some((arena, table)) = &mut self.parts else { return };
        while let Some(next) = table.next() {
            // SAFETY: places in the table were written to this arena before they were published there.
            table.help(&next, |place| hash_bytes(unsafe { arena.state(place) }));
            let mut current = lock(&self.store.table);
            if current.as_ref().is_none_or(|current| current.slots() < next.slots()) {
                *current = Some(next.clone());
            }
            *table = next;
        }
    }
}

impl PlainWorker<'_> {
    /// Inserts what is probably new.
    #[inline(never)]
    fn insert_new(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        let mut piece = self.piece;
        let mut written = None;
        loop {
            let Some((arena, table)) = &self.parts else {
                return Err(StoreFull { needed: u64::MAX, budget: self.store.budget.limit() });
            };
            // SAFETY: places in the table were written to this arena before they were published there.
            let same = |place| unsafe { arena.is(place, state) };
            let mut make = || match written {
                Some(place) => Ok(place),
                None => arena.write(&mut piece, state).inspect(|&place| written = Some(place)),
            };
            let mut lookup = table.find_or_insert(hash, same, &mut make)?;
            if lookup == Lookup::Full {
                // Almost empty and yet no room: these states share their hash.
                if self.store.len() * 4 < table.slots() {
                    lookup = table.insert_overflow(hash, same, &mut make)?;
                } else {
                    table.grow()?;
                }
            }
            match lookup {
                // A record written in vain is taken back by not advancing the piece, unless the piece itself is new.
                Lookup::Found(place) => {
                    if piece.is_successor_of(&self.piece) {
                        self.piece = piece;
                    }
                    return Ok(Inserted { id: StateId(place), new: false });
                }
                Lookup::Inserted => {
                    self.piece = piece;
                    self.untold += 1;
                    if self.untold == TELL_EVERY {
                        self.tell();
                    }
                    return Ok(Inserted { id: StateId(written.unwrap_or_default()), new: true });
                }
                Lookup::Frozen | Lookup::Full => self.follow(),
            }
        }
    }
}

impl StoreWorker for PlainWorker<'_> {
    #[inline]
    fn hash(&mut self, state: &[u8]) -> u64 {
        hash_bytes(state)
    }

    #[inline]
    fn prefetch(&self, hash: u64) {
        if let Some((_, table)) = &self.parts {
            table.prefetch(hash);
        }
    }

    #[inline]
    fn insert(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        if let Some((arena, table)) = &self.parts
            // SAFETY: places in the table were written to this arena before they were published there.
            && let Some(place) = table.find(hash, |place| unsafe { arena.is(place, state) })
        {
            return Ok(Inserted { id: StateId(place), new: false });
        }
        self.insert_new(hash, state)
    }

    fn keeps(&self, _: StateId) -> bool {
        true
    }

    fn read(&mut self, id: StateId, out: &mut Vec<u8>) -> bool {
        let Some((arena, _)) = &self.parts else { return false };
        out.clear();
        // SAFETY: the contract gives names only to those who inserted the state or learnt the name from them, so the record is
        // complete and visible.
        out.extend_from_slice(unsafe { arena.state(id.0) });
        true
    }
}

impl Drop for PlainWorker<'_> {
    fn drop(&mut self) {
        self.store.len.fetch_add(self.untold, Ordering::Relaxed);
    }
}
