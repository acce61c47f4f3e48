//! The exact store that keeps whole vectors: an arena of states behind a lock-free table of fingerprints. The fastest.
//!
//! A look-up touches one cache line of the table nearly always, and the arena only when the fingerprint matches, which is to say when
//! the state is there. The name of a state is its place in the arena and never changes.

use crate::arena::{Arena, Piece};
use crate::budget::Budget;
use crate::hash::hash_bytes;
use crate::sync::{Arc, AtomicU64, AtomicUsize, Mutex, Ordering, lock};
use crate::table::{Home, Lookup, Next, Table};
use crate::turn::Turn;
use contract::{Inserted, StateId, Store, StoreFull, StoreWorker};

/// New states a worker inserts before it tells the others.
const TELL_EVERY: u64 = 64;

/// How often a worker that was refused a larger table tells the others of new states before it tries again.
const PATIENCE: u32 = 256;

/// Whole state vectors behind a table of fingerprints. Exact and readable.
#[derive(Debug)]
pub struct Plain(Arc<Shared>);

/// What the workers of a store share.
#[derive(Debug)]
pub(crate) struct Shared {
    arena: Arena,
    table: Mutex<Arc<Table>>,
    /// What a worker holds while its table is being doubled.
    nothing: Arc<Table>,
    budget: Arc<Budget>,
    len: AtomicU64,
    /// How many workers there are. One more only under the lock of the table.
    workers: AtomicUsize,
}

impl Plain {
    /// An empty store without a budget.
    ///
    /// # Panics
    /// As [`with_budget`](Self::with_budget).
    pub fn new() -> Self {
        Self::with_budget(u64::MAX)
    }

    /// An empty store that uses at most `budget` bytes, but not less than a few kilobytes.
    ///
    /// # Panics
    /// If the system refuses even those few kilobytes, as memory allocation does everywhere else.
    pub fn with_budget(budget: u64) -> Self {
        Plain(Arc::new(Shared::new(Arc::new(Budget::new(budget.max(LEAST_BUDGET))))))
    }
}

/// Enough for the first table.
const LEAST_BUDGET: u64 = 64 << 10;

impl Shared {
    pub fn new(budget: Arc<Budget>) -> Shared {
        let arena = Arena::new(budget.clone()).expect("address space for an empty store");
        let table = Table::first(arena.place_bits(), budget.clone()).expect("memory for an empty store");
        let nothing = Table::smallest(arena.place_bits(), budget.clone()).expect("memory for an empty store");
        let (table, nothing) = (Mutex::new(Arc::new(table)), Arc::new(nothing));
        Shared { arena, table, nothing, budget, len: AtomicU64::new(0), workers: AtomicUsize::new(0) }
    }

    pub fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    /// Shows every state once, while nobody inserts.
    pub fn visit(&self, visit: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        let mut table = lock(&self.table).clone();
        while let Some(next) = self.follow(&table) {
            table = next;
        }
        // SAFETY: these places were found in the table.
        table.all(|place| visit(unsafe { self.arena.state(place) }))
    }

    /// Makes the store refuse new states, for good; what is there can be visited by [`PlainWorker::drain`].
    pub fn close(&self) {
        loop {
            let table = lock(&self.table).clone();
            if table.close() {
                return;
            }
            self.follow(&table);
        }
    }

    /// Doubles `table` on behalf of the only worker, whose table it is; `false` if others may be using it.
    fn grow_alone(&self, table: &mut Arc<Table>) -> Result<bool, StoreFull> {
        // Holding the lock keeps others from becoming workers; the count tells that those who were have done all they did.
        let mut current = lock(&self.table);
        if self.workers.load(Ordering::Acquire) != 1 || !Arc::ptr_eq(&current, table) || table.next().is_some() {
            return Ok(false);
        }
        *table = self.nothing.clone();
        let grown = match Arc::get_mut(&mut current) {
            // SAFETY: places in the table were written to this arena before they were published there.
            Some(alone) => alone.double(|place| hash_state(unsafe { self.arena.state(place) })).map(|()| true),
            None => Ok(false),
        };
        *table = current.clone();
        grown
    }

    /// Helps to fill the table that replaces `table`, and returns it; nothing if there is none.
    fn follow(&self, table: &Table) -> Option<Arc<Table>> {
        let Some(Next::Table(next)) = table.next() else { return None };
        // SAFETY: places in the table were written to this arena before they were published there.
        table.help(&next, |place| hash_state(unsafe { self.arena.state(place) }));
        let mut current = lock(&self.table);
        if current.slots() < next.slots() {
            *current = next.clone();
        }
        Some(next)
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
    type Worker<'s> = PlainWorker;

    fn worker(&self) -> PlainWorker {
        PlainWorker::new(self.0.clone())
    }

    fn len(&self) -> u64 {
        self.0.len()
    }

    fn bytes(&self) -> u64 {
        self.0.budget.used()
    }

    fn peak_bytes(&self) -> u64 {
        self.0.budget.most()
    }

    fn leave_room(&self, bytes: u64) {
        self.0.budget.leave_room(bytes);
    }

    fn visit(&self, visit: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        self.0.visit(visit)
    }
}

/// The hash under which a state is entered. The lowest byte is left to others who want to mark it.
#[inline]
pub(crate) fn hash_state(state: &[u8]) -> u64 {
    hash_bytes(state) & !0xff
}

/// One worker's access to a [`Plain`] store.
#[derive(Debug)]
pub struct PlainWorker {
    store: Arc<Shared>,
    /// The table this worker knows as the present one.
    table: Arc<Table>,
    piece: Piece,
    /// States inserted since the others were told.
    untold: u64,
    /// The budget did not allow a larger table: this one fills up, for so many times of telling the others, before it is asked again.
    patience: u32,
}

impl PlainWorker {
    pub(crate) fn new(store: Arc<Shared>) -> Self {
        let table = {
            let current = lock(&store.table);
            store.workers.fetch_add(1, Ordering::Relaxed);
            current.clone()
        };
        PlainWorker { store, table, piece: Piece::default(), untold: 0, patience: 0 }
    }

    /// Inserts a state whose [`hash_state`] is `hash`; nothing if the store is closed and the state is not there.
    #[inline(always)]
    pub(crate) fn try_insert(&mut self, hash: u64, state: &[u8]) -> Result<Option<Inserted>, StoreFull> {
        match self.insert_usually(hash, state) {
            Some(inserted) => Ok(Some(inserted)),
            None => self.insert_slowly(hash, state),
        }
    }

    /// What happens nearly always, made so that it takes no call: the state is in its home bucket, or there is a gap for it and room in the
    /// piece. Nothing has happened if it was otherwise.
    #[inline(always)]
    pub(crate) fn insert_usually(&mut self, hash: u64, state: &[u8]) -> Option<Inserted> {
        let arena = &self.store.arena;
        // SAFETY: places in the table were written to this arena before they were published there.
        match self.table.search_home(hash, |place| unsafe { arena.is(place, state) }) {
            Home::Found(place) => Some(Inserted { id: StateId(place), new: false }),
            Home::Gap(gap) => {
                let mut piece = self.piece;
                let place = arena.write_usually(&mut piece, state)?;
                if !self.table.fill(gap, place) {
                    return None;
                }
                self.piece = piece;
                Some(self.count(place))
            }
            Home::Elsewhere => {
                // SAFETY: as above.
                let place = self.table.find_elsewhere(hash, |place| unsafe { arena.is(place, state) })?;
                Some(Inserted { id: StateId(place), new: false })
            }
        }
    }

    /// A state is new, and lies at `place`.
    #[inline]
    fn count(&mut self, place: u64) -> Inserted {
        self.untold += 1;
        if self.untold == TELL_EVERY {
            self.tell();
        }
        Inserted { id: StateId(place), new: true }
    }

    /// Inserts a state wherever it belongs, growing the table if need be.
    #[cold]
    fn insert_slowly(&mut self, hash: u64, state: &[u8]) -> Result<Option<Inserted>, StoreFull> {
        let (mut written, mut piece) = (None, self.piece);
        loop {
            let arena = &self.store.arena;
            // SAFETY: as above.
            let same = |place| unsafe { arena.is(place, state) };
            let mut make = || match written {
                Some(place) => Ok(place),
                None => arena.write(&mut piece, state).inspect(|&place| written = Some(place)),
            };
            let mut lookup = self.table.find_or_insert(hash, same, &mut make)?;
            if lookup == Lookup::Full {
                // Almost empty and yet no room: these states share their hash.
                if self.store.len() * 4 < self.table.slots() {
                    lookup = self.table.insert_overflow(hash, same, &mut make)?;
                } else {
                    self.grow()?;
                }
            }
            match lookup {
                // A record written in vain is taken back by not advancing the piece, unless the piece itself is new.
                Lookup::Found(place) => {
                    if piece.is_successor_of(&self.piece) {
                        self.piece = piece;
                    }
                    return Ok(Some(Inserted { id: StateId(place), new: false }));
                }
                Lookup::Inserted => {
                    self.piece = piece;
                    return Ok(Some(self.count(written.unwrap_or_default())));
                }
                Lookup::Frozen | Lookup::Full => {
                    if !self.follow() {
                        return Ok(None);
                    }
                }
            }
        }
    }

    #[cold]
    fn tell(&mut self) {
        let len = self.store.len.fetch_add(self.untold, Ordering::Relaxed) + self.untold;
        self.untold = 0;
        if self.patience > 0 {
            self.patience -= 1;
        } else if len * 4 > self.table.slots() * 3 && self.grow().is_err() {
            self.patience = PATIENCE;
        }
        self.follow();
    }

    /// Sees to it that there is a larger table; moves there if nobody else has to come along.
    pub(crate) fn grow(&mut self) -> Result<(), StoreFull> {
        if !self.store.grow_alone(&mut self.table)? {
            self.table.grow()?;
        }
        Ok(())
    }

    /// If the table is being replaced, helps and goes on in the next one; `false` if the store is closed.
    #[cold]
    fn follow(&mut self) -> bool {
        while let Some(next) = self.store.follow(&self.table) {
            self.table = next;
        }
        self.table.next().is_none()
    }

    /// Helps to visit all states of a closed store, in small batches; see [`Turn::share`] for the answer.
    pub(crate) fn drain(&mut self, turn: &Turn, mut visit: impl FnMut(&[&[u8]]) -> bool) -> bool {
        self.follow();
        let arena = &self.store.arena;
        let mut places = Vec::with_capacity(64);
        let mut flush = |places: &mut Vec<u64>| {
            // SAFETY: these places were found in the table.
            let states: Vec<&[u8]> = places.iter().map(|&place| unsafe { arena.state(place) }).collect();
            places.clear();
            visit(&states)
        };
        self.table.drain_blocks(turn, |place| match place {
            Some(place) => {
                arena.prefetch(place);
                places.push(place);
                places.len() < 64 || flush(&mut places)
            }
            // The end of a block.
            None => flush(&mut places),
        })
    }

    /// Up to `count` states from all over the store.
    pub(crate) fn sample(&self, count: usize) -> Vec<Vec<u8>> {
        let arena = &self.store.arena;
        // SAFETY: these places were found in the table.
        self.table.sample(count).into_iter().map(|place| unsafe { arena.state(place) }.to_vec()).collect()
    }
}

impl StoreWorker for PlainWorker {
    #[inline]
    fn hash(&mut self, state: &[u8]) -> u64 {
        hash_state(state)
    }

    #[inline]
    fn prefetch(&self, hash: u64) {
        self.table.prefetch(hash);
    }

    #[inline(always)]
    fn insert(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        match self.insert_usually(hash, state) {
            Some(inserted) => Ok(inserted),
            // A store that is used on its own is never closed.
            None => self.insert_slowly(hash, state)?.ok_or(StoreFull { needed: u64::MAX, budget: self.store.budget.limit() }),
        }
    }

    #[inline]
    fn find(&mut self, hash: u64, state: &[u8]) -> Option<StateId> {
        let arena = &self.store.arena;
        // SAFETY: places in the table were written to this arena before they were published there.
        self.table.find(hash, |place| unsafe { arena.is(place, state) }).map(StateId)
    }

    fn keeps(&self, _: StateId) -> bool {
        true
    }

    #[inline]
    fn view(&self, id: StateId) -> Option<&[u8]> {
        // SAFETY: the contract gives names only to those who inserted the state or learnt the name from them, so the record is
        // complete and visible.
        Some(unsafe { self.store.arena.state(id.0) })
    }

    fn read(&mut self, id: StateId, out: &mut Vec<u8>) -> bool {
        out.clear();
        out.extend_from_slice(self.view(id).unwrap_or_default());
        true
    }
}

impl Drop for PlainWorker {
    fn drop(&mut self) {
        self.store.len.fetch_add(self.untold, Ordering::Relaxed);
        self.store.workers.fetch_sub(1, Ordering::Release);
    }
}
