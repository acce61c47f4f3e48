//! The exact store that keeps whole vectors: an arena of states and a lock-free table of
//! fingerprints. It is the fastest store.
//!
//! A look-up nearly always reads one cache line of the table. It reads the arena only when the
//! fingerprint matches, which nearly always means that the state is there. The name of a state is
//! its place in the arena and never changes.

use crate::arena::{Arena, Piece};
use crate::budget::Budget;
use crate::hash::{hash_blocks, hash_bytes};
use crate::shared_pass::SharedPass;
use crate::sync::{Arc, AtomicU64, AtomicUsize, Mutex, Ordering, lock};
use crate::table::{Found, Lookup, Next, Table};
use contract::{Budgeted, Fresh, Inserted, Saveable, StateId, Store, StoreFull, StoreWorker, Successor, Successors};

/// The number of new states that a worker inserts before it adds them to the shared count.
const TELL_EVERY: u64 = 64;

/// After a larger table was refused, a worker updates the shared count this many times before it
/// tries again.
const PATIENCE: u32 = 256;

/// Whole state vectors and a table of fingerprints. Exact and readable.
#[derive(Debug)]
pub struct Plain(Arc<Shared>);

/// What the workers of a store share.
#[derive(Debug)]
pub(crate) struct Shared {
    arena: Arena,
    table: Mutex<Arc<Table>>,
    /// The table that a worker holds while its own table is being doubled.
    nothing: Arc<Table>,
    budget: Arc<Budget>,
    len: AtomicU64,
    /// The number of workers. It is increased only under the lock of the table.
    workers: AtomicUsize,
}

impl Plain {
    /// An empty store without a budget.
    ///
    /// # Panics
    /// Like [`with_budget`](Self::with_budget).
    pub fn new() -> Self {
        Self::with_budget(u64::MAX)
    }

    /// An empty store that uses at most `budget` bytes, but at least a few kilobytes.
    ///
    /// # Panics
    /// If the system refuses even those few kilobytes. Memory allocation panics then everywhere.
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

    /// Shows every state once. No worker may insert at the same time.
    pub fn visit(&self, visit: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        let mut table = lock(&self.table).clone();
        while let Some(next) = self.follow(&table) {
            table = next;
        }
        // SAFETY: these places were found in the table.
        table.all(|place| visit(unsafe { self.arena.state(place) }))
    }

    /// Makes the store refuse new states permanently. Its states can then be visited by
    /// [`PlainWorker::drain`].
    pub fn close(&self) {
        loop {
            let table = lock(&self.table).clone();
            if table.close() {
                return;
            }
            self.follow(&table);
        }
    }

    /// Enlarges `table` for the only worker, which uses this table; returns `false` if other
    /// workers may be using it.
    fn grow_alone(&self, table: &mut Arc<Table>) -> Result<bool, StoreFull> {
        // While the lock is held, no worker is added. The count of one shows that former workers
        // have completed their insertions.
        let mut current = lock(&self.table);
        if self.workers.load(Ordering::Acquire) != 1 || !Arc::ptr_eq(&current, table) || table.next().is_some() {
            return Ok(false);
        }
        *table = self.nothing.clone();
        let grown = match Arc::get_mut(&mut current) {
            // SAFETY: places in the table were written to this arena before they were published
            // there.
            Some(alone) => alone.enlarge(|place| hash_state(unsafe { self.arena.state(place) })).map(|()| true),
            None => Ok(false),
        };
        *table = current.clone();
        grown
    }

    /// Helps to fill the table that replaces `table`, and returns it; `None` if there is none.
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

    crate::roles::budgeted_and_saveable!();
}

impl Budgeted for Plain {
    fn bytes(&self) -> u64 {
        self.0.budget.used()
    }

    fn peak_bytes(&self) -> u64 {
        self.0.budget.most()
    }

    fn leave_room(&self, bytes: u64) {
        self.0.budget.leave_room(bytes);
    }
}

impl Saveable for Plain {
    fn save(&self, _: u64, write: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        self.0.visit(write)
    }
}

/// The hash under which a state is entered. The lowest byte is left free for marks of the caller.
#[inline]
pub(crate) fn hash_state(state: &[u8]) -> u64 {
    hash_bytes(state) & HASH_MASK
}

/// The bits of a hash that are used.
const HASH_MASK: u64 = !0xff;

/// One worker's access to a [`Plain`] store.
#[derive(Debug)]
pub struct PlainWorker {
    store: Arc<Shared>,
    /// The table that this worker uses as the current one.
    table: Arc<Table>,
    piece: Piece,
    /// States inserted since the shared count was updated.
    untold: u64,
    /// After the budget refused a larger table, the worker fills this one and updates the shared
    /// count this many times before it asks again.
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

    /// Inserts a state whose [`hash_state`] is `hash`; returns `None` if the store is closed and
    /// does not contain the state.
    #[inline(always)]
    pub(crate) fn try_insert(&mut self, hash: u64, state: &[u8]) -> Result<Option<Inserted>, StoreFull> {
        match self.insert_usually(hash, state) {
            Some(inserted) => Ok(Some(inserted)),
            None => self.insert_slowly(hash, state),
        }
    }

    /// The common case, written so that it needs no call: the state is in its pair of buckets, or
    /// there is a gap for it and room in the piece. In all other cases it changes nothing.
    #[inline(always)]
    pub(crate) fn insert_usually(&mut self, hash: u64, state: &[u8]) -> Option<Inserted> {
        let arena = &self.store.arena;
        // SAFETY: places in the table were written to this arena before they were published there.
        let same = |place| unsafe { arena.is(place, state) };
        let found = match self.table.lines().search_pair(hash, same) {
            Found::Nothing => self.table.search_on(hash, same),
            found => found,
        };
        match found {
            Found::There(place) => Some(Inserted { id: StateId(place), new: false }),
            Found::Gap(gap) => {
                let mut piece = self.piece;
                let place = arena.write_usually(&mut piece, state)?;
                if !gap.fill(place) {
                    return None;
                }
                self.piece = piece;
                Some(self.count(place))
            }
            Found::Nothing | Found::Frozen => None,
        }
    }

    /// Inserts states of a batch, from entry number `first` on, as long as they have `len` bytes,
    /// the table has room, and the shared count need not be updated. Returns the number of the
    /// first entry that was not inserted. `BLOCKS` is the number of 16-byte blocks that a state
    /// fills, the last one perhaps in part.
    ///
    /// A search spends a quarter of its time in this loop. The loop does nothing else, so that
    /// everything it needs stays in registers.
    #[inline(never)]
    fn insert_run<const BLOCKS: usize>(&mut self, len: usize, run: Run<'_>, first: usize, fresh: &mut Vec<Fresh>) -> usize {
        let Run { batch, hashes } = run;
        if !fits::<BLOCKS>(len) {
            return first;
        }
        let (table, arena) = (&*self.table, &self.store.arena);
        let lines = table.lines();
        let mut piece = self.piece;
        let (before, mut index) = (fresh.len(), first);
        // The insertion after which the shared count is updated takes another path.
        let most = (TELL_EVERY - 1 - self.untold) as usize;
        fresh.reserve(most);
        let mut room = fresh.spare_capacity_mut()[..most].iter_mut();
        let entries = batch.entries();
        let hashes = &hashes[..entries.len()];
        while index < entries.len() {
            let Some(state) = batch.state_of_length(&entries[index], len) else { break };
            let hash = hashes[index];
            // SAFETY: places in the table were written to this arena before they were published
            // there; the length is right.
            let gap = match lines.search_pair(hash, |place| unsafe { arena.is_of_blocks::<BLOCKS>(place, state) }) {
                Found::There(_) => {
                    index += 1;
                    continue;
                }
                Found::Gap(gap) => gap,
                // SAFETY: as above.
                Found::Nothing => match table.search_on(hash, |place| unsafe { arena.is(place, state) }) {
                    Found::There(_) => {
                        index += 1;
                        continue;
                    }
                    Found::Gap(gap) => gap,
                    Found::Nothing | Found::Frozen => break,
                },
                Found::Frozen => break,
            };
            let mut advanced = piece;
            // SAFETY: the state has the right length.
            let Some(place) = (unsafe { arena.write_blocks::<BLOCKS>(&mut advanced, state) }) else { break };
            // An element taken out of `room` counts as written, so it is taken only after the gap
            // is filled.
            if room.as_slice().is_empty() || !gap.fill(place) {
                break;
            }
            piece = advanced;
            if let Some(slot) = room.next() {
                slot.write(Fresh { entry: index as u32, kept: true, id: StateId(place) });
            }
            index += 1;
        }
        self.piece = piece;
        let written = most - room.len();
        self.untold += written as u64;
        // SAFETY: that many elements were written, from the old end on.
        unsafe { fresh.set_len(before + written) };
        index
    }

    /// Hashes the entries of a batch that have no hash yet; the parameters are those of
    /// [`insert_run`](Self::insert_run).
    #[inline(never)]
    fn hash_run<const BLOCKS: usize>(&self, len: usize, batch: &Successors, hashes: &mut Vec<u64>) {
        /// An entry of another length, or without a state.
        #[cold]
        fn hash_other(batch: &Successors, entry: &Successor) -> u64 {
            batch.state(entry).map_or(0, hash_state)
        }
        let lines = self.table.lines();
        let entries = &batch.entries()[hashes.len()..];
        // If this function cannot handle the length, no entry matches it.
        let len = if fits::<BLOCKS>(len) { len } else { usize::MAX };
        hashes.extend(entries.iter().map(move |entry| {
            let hash = match batch.state_of_length(entry, len) {
                // SAFETY: the state has that length.
                Some(state) => HASH_MASK & unsafe { hash_blocks::<BLOCKS>(state) },
                None => hash_other(batch, entry),
            };
            lines.prefetch(hash);
            hash
        }));
    }

    /// Looks for the states of a batch; the parameters are those of
    /// [`insert_run`](Self::insert_run).
    #[inline(never)]
    fn find_run<const BLOCKS: usize>(&self, len: usize, run: Run<'_>, found: &mut Vec<Option<StateId>>) {
        let Run { batch, hashes } = run;
        let (table, arena) = (&*self.table, &self.store.arena);
        let lines = table.lines();
        let len = if fits::<BLOCKS>(len) { len } else { usize::MAX };
        found.extend(batch.entries().iter().zip(hashes).map(|(entry, &hash)| {
            let Some(state) = batch.state_of_length(entry, len) else { return find_other(table, arena, batch.state(entry)?, hash) };
            // SAFETY: places in the table were written to this arena before they were published
            // there; the length is right.
            match lines.search_pair(hash, |place| unsafe { arena.is_of_blocks::<BLOCKS>(place, state) }) {
                Found::There(place) => Some(StateId(place)),
                Found::Gap(_) | Found::Frozen => None,
                Found::Nothing => find_other(table, arena, state, hash),
            }
        }));
    }

    /// Counts a new state, which lies at `place`.
    #[inline]
    fn count(&mut self, place: u64) -> Inserted {
        self.untold += 1;
        if self.untold == TELL_EVERY {
            self.tell();
        }
        Inserted { id: StateId(place), new: true }
    }

    /// Inserts a state in all other cases, and grows the table if necessary.
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
                // The table is almost empty and still has no room, so these states share their
                // hash.
                if self.store.len() * 4 < self.table.slots() {
                    lookup = self.table.insert_overflow(hash, same, &mut make)?;
                } else {
                    self.grow()?;
                }
            }
            match lookup {
                // A record that turned out to be unnecessary is taken back by not advancing the
                // piece, unless the piece itself is new.
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

    /// Makes sure that there is a larger table; moves there at once if this is the only worker.
    pub(crate) fn grow(&mut self) -> Result<(), StoreFull> {
        if !self.store.grow_alone(&mut self.table)? {
            self.table.grow()?;
        }
        Ok(())
    }

    /// If the table is being replaced, helps with the move and continues in the next table; returns
    /// `false` if the store is closed.
    #[cold]
    fn follow(&mut self) -> bool {
        while let Some(next) = self.store.follow(&self.table) {
            self.table = next;
        }
        self.table.next().is_none()
    }

    /// Helps to visit all states of a closed store in small batches; [`SharedPass::share`]
    /// describes the result.
    pub(crate) fn drain(&mut self, pass: &SharedPass, mut visit: impl FnMut(&[&[u8]]) -> bool) -> bool {
        self.follow();
        let arena = &self.store.arena;
        let mut places = Vec::with_capacity(64);
        let mut flush = |places: &mut Vec<u64>| {
            // SAFETY: these places were found in the table.
            let states: Vec<&[u8]> = places.iter().map(|&place| unsafe { arena.state(place) }).collect();
            places.clear();
            visit(&states)
        };
        self.table.drain_blocks(pass, |place| match place {
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

/// Looks for a state that is outside its home pair, or has an unusual length.
#[cold]
fn find_other(table: &Table, arena: &Arena, state: &[u8], hash: u64) -> Option<StateId> {
    // SAFETY: places in the table were written to this arena before they were published there.
    table.find(hash, |place| unsafe { arena.is(place, state) }).map(StateId)
}

/// A batch and the hashes of its entries.
#[derive(Clone, Copy)]
struct Run<'b> {
    batch: &'b Successors,
    hashes: &'b [u64],
}

/// Whether a state of `len` bytes fills `BLOCKS` blocks of 16 bytes, the last one perhaps in part,
/// and the functions for runs can handle it.
#[inline(always)]
fn fits<const BLOCKS: usize>(len: usize) -> bool {
    (8..0x7f).contains(&len) && len.div_ceil(16) == BLOCKS
}

/// Calls the version of a function for the number of blocks that a state of this length fills. Most
/// states of a search have the same length, so its tests of the length are made only once.
macro_rules! by_blocks {
    ($len:expr, $blocks:ident => $call:expr) => {
        by_blocks!($len, $blocks => $call; 2 3 4 5 6 7 8)
    };
    ($len:expr, $blocks:ident => $call:expr; $($number:literal)*) => {
        match $len.div_ceil(16) {
            $($number => {
                const $blocks: usize = $number;
                $call
            })*
            _ => {
                const $blocks: usize = 1;
                $call
            }
        }
    };
}
impl StoreWorker for PlainWorker {
    #[inline]
    fn hash(&mut self, state: &[u8]) -> u64 {
        hash_state(state)
    }

    fn hash_batch(&mut self, batch: &Successors, hashes: &mut Vec<u64>) {
        let len = batch.entries().get(hashes.len()).and_then(|entry| batch.state(entry)).map_or(0, <[u8]>::len);
        by_blocks!(len, BLOCKS => self.hash_run::<BLOCKS>(len, batch, hashes));
    }

    fn insert_batch(&mut self, batch: &Successors, hashes: &[u64], first: usize, fresh: &mut Vec<Fresh>) -> Result<usize, usize> {
        let entries = batch.entries();
        let run = Run { batch, hashes };
        let mut index = first;
        while let Some(state) = entries.get(index).and_then(|entry| batch.state_without_fault(entry)) {
            let len = state.len();
            let until = by_blocks!(len, BLOCKS => self.insert_run::<BLOCKS>(len, run, index, fresh));
            if until > index {
                index = until;
                continue;
            }
            let Ok(inserted) = self.insert(hashes[index], state) else { return Err(index) };
            if inserted.new {
                fresh.push(Fresh { entry: index as u32, kept: true, id: inserted.id });
            }
            index += 1;
        }
        Ok(index)
    }

    fn find_batch(&mut self, batch: &Successors, hashes: &[u64], found: &mut Vec<Option<StateId>>) {
        let len = batch.entries().first().and_then(|entry| batch.state(entry)).map_or(0, <[u8]>::len);
        let run = Run { batch, hashes };
        by_blocks!(len, BLOCKS => self.find_run::<BLOCKS>(len, run, found));
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
        // SAFETY: by the contract, a caller has a name only if it inserted the state or learnt the
        // name from a worker that did, so the record is complete and visible.
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
        self.store.arena.leave(self.piece);
        self.store.len.fetch_add(self.untold, Ordering::Relaxed);
        self.store.workers.fetch_sub(1, Ordering::Release);
    }
}
