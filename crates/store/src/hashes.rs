//! Hash compaction: the store keeps only a hash of each state, so two states with the same hash are
//! taken for one.
//!
//! The hash has a chosen number of bits and is a key of the quotienting table of
//! [`quotient`](crate::quotient), which stores fewer bits of it the larger it grows. Stern and
//! Dill, "A new scheme for memory-efficient probabilistic verification" (1996), bound the
//! omissions. The probability that any state was omitted is small and known, but it is not zero. So
//! a search over this store never answers "holds".

use crate::budget::Budget;
use crate::hash::hash_seeded;
use crate::quotient::{Entry, Geometry, MOST_KEY_BITS, QuotientTable};
use crate::save_format::{self, Fields, Next};
use crate::shared_pass::SharedPass;
use crate::sync::{Arc, AtomicU64, AtomicUsize, Mutex, Ordering, lock};
use contract::{Budgeted, Inserted, NotRestored, Saveable, StateId, Store, StoreFull, StoreWorker};

/// The number of new states that a worker inserts before it adds them to the shared count.
const TELL_EVERY: u64 = 64;
/// The most keys that are saved together.
const SAVED_KEYS: usize = 1024;

/// With fewer bits, too many states would collide.
const LEAST_BITS: u32 = 16;

/// Hashes of states. Not exact, not readable; a few bytes per state of any length.
#[derive(Debug)]
pub struct Hashes {
    bits: u32,
    seed: u64,
    budget: Arc<Budget>,
    table: Mutex<Option<Arc<Stage>>>,
    len: AtomicU64,
}

#[derive(Debug)]
struct Stage {
    table: QuotientTable,
    next: Mutex<Option<Arc<Move>>>,
    /// 1 as soon as there is a next stage; read without the lock.
    growing: AtomicUsize,
}

/// The move from one stage to the next.
#[derive(Debug)]
struct Move {
    to: Arc<Stage>,
    pass: SharedPass,
    /// The number of earlier attempts with smaller tables, in which some key found no room.
    attempt: u32,
}

impl Stage {
    fn new(bits: u32, keys: u64, least_step: u32, budget: &Arc<Budget>) -> Result<Arc<Stage>, StoreFull> {
        let table = QuotientTable::new(Geometry::for_keys(bits, keys, least_step), budget.clone())?;
        Ok(Arc::new(Stage { table, next: Mutex::new(None), growing: AtomicUsize::new(0) }))
    }

    fn next(&self) -> Option<Arc<Move>> {
        if self.growing.load(Ordering::Acquire) == 0 { None } else { lock(&self.next).clone() }
    }
}

impl Hashes {
    /// Keeps `bits` bits of each hash (16 to 56), in at most `budget` bytes. Each `seed` gives a
    /// different hash function.
    pub fn new(bits: u32, seed: u64, budget: u64) -> Self {
        let bits = bits.clamp(LEAST_BITS, MOST_KEY_BITS);
        let budget = Arc::new(Budget::new(budget));
        let table = Mutex::new(Stage::new(bits, 0, 0, &budget).ok());
        Hashes { bits, seed, budget, table, len: AtomicU64::new(0) }
    }

    /// The number of bits kept of each hash.
    pub fn bits(&self) -> u32 {
        self.bits
    }
}

impl Store for Hashes {
    const EXACT: bool = false;
    const STABLE_NAMES: bool = false;
    type Worker<'s> = HashesWorker<'s>;

    fn worker(&self) -> HashesWorker<'_> {
        HashesWorker { store: self, stage: lock(&self.table).clone(), untold: 0, refused: false }
    }

    fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    /// On average one pair of states in 2^bits agrees, so the expected number of omissions bounds
    /// the probability of one.
    fn omission(&self) -> f64 {
        let n = self.len() as f64;
        (n * (n - 1.0) / 2.0 / 2f64.powi(self.bits as i32)).clamp(0.0, 1.0)
    }

    crate::roles::budgeted_and_saveable!();
}

impl Budgeted for Hashes {
    fn bytes(&self) -> u64 {
        self.budget.used()
    }

    fn peak_bytes(&self) -> u64 {
        self.budget.most()
    }

    fn leave_room(&self, bytes: u64) {
        self.budget.leave_room(bytes);
    }
}

impl Saveable for Hashes {
    fn own_form(&self) -> Option<&'static str> {
        Some("hash")
    }

    /// Writes the hashes. The set is the same whatever the size of the table they are inserted
    /// into.
    fn save(&self, _: u64, write: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        let mut worker = self.worker();
        // An unfinished move is finished here. If there is no memory for it, the old table is still
        // complete.
        let _ = worker.follow();
        let mut keys = Vec::new();
        write(&save_format::numbers([self.bits.into(), self.seed]))
            && worker.stage.as_ref().is_none_or(|stage| {
                stage.table.all(|key| {
                    keys.push(key);
                    keys.len() < SAVED_KEYS || write(&save_format::numbers(keys.drain(..)))
                })
            })
            && (keys.is_empty() || write(&save_format::numbers(keys)))
    }

    fn restore(&mut self, next: Next<'_>) -> Result<(), NotRestored> {
        let [bits, seed] = save_format::head(next)?;
        if !(LEAST_BITS.into()..=MOST_KEY_BITS.into()).contains(&bits) {
            return Err(NotRestored::Malformed);
        }
        // The old table is freed before the new one is allocated.
        *lock(&self.table) = None;
        (self.bits, self.seed) = (bits as u32, seed);
        *lock(&self.table) = Some(Stage::new(self.bits, 0, 0, &self.budget)?);
        let mut worker = self.worker();
        let mut piece = Vec::new();
        while next(&mut piece) {
            let mut fields = Fields(&piece);
            while !fields.is_empty() {
                let key = fields.number()?;
                if key >> bits != 0 || !worker.insert(key, &[])?.new {
                    return Err(NotRestored::Malformed);
                }
            }
        }
        Ok(())
    }
}

/// One worker's access to a [`Hashes`] store.
#[derive(Debug)]
pub struct HashesWorker<'s> {
    store: &'s Hashes,
    /// `None` if the budget did not allow even an empty table.
    stage: Option<Arc<Stage>>,
    untold: u64,
    refused: bool,
}

impl HashesWorker<'_> {
    #[cold]
    fn tell(&mut self) {
        let len = self.store.len.fetch_add(self.untold, Ordering::Relaxed) + self.untold;
        self.untold = 0;
        if self.stage.as_ref().is_some_and(|stage| len >= stage.table.geometry().threshold()) && !self.refused {
            self.refused = self.grow().is_err();
        }
        // An error here means that there is no memory. The next insertion that needs memory reports
        // it.
        let _ = self.follow();
    }

    /// Makes sure that there is a move that has not failed.
    #[cold]
    fn grow(&mut self) -> Result<(), StoreFull> {
        let Some(stage) = &self.stage else { return Ok(()) };
        let mut next = lock(&stage.next);
        let attempt = match &*next {
            Some(current) if !current.pass.has_failed() => return Ok(()),
            Some(current) => current.attempt + 1,
            None => 0,
        };
        let geometry = stage.table.geometry();
        let to = Stage::new(self.store.bits, geometry.threshold(), geometry.step() + 1 + attempt, &self.store.budget)?;
        *next = Some(Arc::new(Move { to, pass: SharedPass::new(), attempt }));
        stage.growing.store(1, Ordering::Release);
        Ok(())
    }

    /// If the table is being replaced, helps with the move and continues in the next table.
    #[cold]
    fn follow(&mut self) -> Result<(), StoreFull> {
        while let Some((stage, current)) = self.stage.as_ref().and_then(|stage| Some((stage.clone(), stage.next()?))) {
            let next = &current.to;
            let moved = stage.table.drain(&current.pass, |keys| {
                keys.iter().for_each(|&key| next.table.prefetch(key));
                keys.iter().all(|&key| matches!(next.table.insert(key), Entry::Inserted | Entry::Found))
            });
            if !moved {
                // Keys in a special order, such as that of a checkpoint, can fill one region before
                // the table is full.
                self.grow()?;
                continue;
            }
            let mut table = lock(&self.store.table);
            let step = |stage: &Stage| stage.table.geometry().step();
            if table.as_ref().is_none_or(|table| step(table) < step(next)) {
                *table = Some(next.clone());
            }
            self.stage = Some(next.clone());
        }
        Ok(())
    }
}

impl StoreWorker for HashesWorker<'_> {
    #[inline]
    fn hash(&mut self, state: &[u8]) -> u64 {
        hash_seeded(state, self.store.seed) >> (64 - self.store.bits)
    }

    #[inline]
    fn prefetch(&self, hash: u64) {
        if let Some(stage) = &self.stage {
            stage.table.prefetch(hash);
        }
    }

    fn insert(&mut self, hash: u64, _: &[u8]) -> Result<Inserted, StoreFull> {
        let id = StateId(hash);
        loop {
            let Some(stage) = &self.stage else {
                return Err(StoreFull { needed: u64::MAX, budget: self.store.budget.limit() });
            };
            match stage.table.insert(hash) {
                Entry::Found => return Ok(Inserted { id, new: false }),
                Entry::Inserted => {
                    self.untold += 1;
                    if self.untold == TELL_EVERY {
                        self.tell();
                    }
                    return Ok(Inserted { id, new: true });
                }
                Entry::Frozen => self.follow()?,
                Entry::Full => {
                    self.grow()?;
                    self.follow()?;
                }
            }
        }
    }

    fn find(&mut self, hash: u64, _: &[u8]) -> Option<StateId> {
        self.stage.as_ref()?.table.contains(hash).then_some(StateId(hash))
    }

    fn keeps(&self, _: StateId) -> bool {
        false
    }

    fn read(&mut self, _: StateId, _: &mut Vec<u8>) -> bool {
        false
    }
}

impl Drop for HashesWorker<'_> {
    fn drop(&mut self) {
        self.store.len.fetch_add(self.untold, Ordering::Relaxed);
    }
}
