//! The exact store that keeps states as keys of a few bytes, and the one that becomes it when
//! memory gets short.
//!
//! It begins as a [`plain`](crate::plain) store, because the way to cut states into pieces must be
//! learnt from states. After some tens of thousands of them, or when its memory budget demands it,
//! all states move to a table of keys ([`quotient`](crate::quotient)), whose layout
//! [`shape`](crate::shape) defines. Later moves make the table larger, or its keys wider, or both.
//! All workers that use the store take part in a move, and continue in the new table when the move
//! is complete.
//!
//! A state's name is its key, marked with the generation of the layout. It can be decoded without a
//! look-up at any later time. Names given in the plain stage are not kept.

use crate::budget::Budget;
use crate::encoder::{Encoder, NoKey, Translator};
use crate::plain::{PlainWorker, Shared as PlainShared, hash_state};
use crate::quotient::{Entry, Geometry, QuotientTable};
use crate::shape::{Decoder, KeyLayout};
use crate::shared_pass::SharedPass;
use crate::sync::{Arc, AtomicU64, AtomicUsize, Mutex, Ordering, lock};
use contract::{Budgeted, Inserted, Saveable, StateId, Stop, Store, StoreFull, StoreWorker};
use std::fmt;
use std::sync::{OnceLock, PoisonError};

/// The number of states from which a compact store learns its layout.
const LEARN_FROM: u64 = 1 << 16;
/// The size of the sample from which a layout is learnt. It is smaller if states are so long that
/// learning would take more memory than `LEARNING_BYTES`. If the sample did not tell enough,
/// `SAMPLE_AGAIN` states are examined.
const SAMPLE: u64 = 1 << 14;
const SAMPLE_LEAST: u64 = 1 << 7;
const LEARNING_BYTES: u64 = 32 << 20;
const LEARNING_LITTLE: u64 = 4 << 20;
const SAMPLE_AGAIN: usize = 1 << 10;
/// The number of batches of a move after which the stop condition is evaluated.
const ASK_EVERY: u32 = 64;
/// The number of new states that a worker inserts before it adds them to the shared count.
const TELL_EVERY: u64 = 64;
/// Where the generation lies in a name, above the scrambled key. Generation 0 marks the plain
/// stage.
const GENERATION_SHIFT: u32 = 56;
/// A hash that gives no key: the state must be encoded when it is inserted.
const NO_NAME: u64 = u64::MAX;

/// States as keys of a few bytes. Exact; names are readable but change.
#[derive(Debug)]
pub struct Compact {
    budget: Arc<Budget>,
    /// The number of states at which the plain stage ends at the latest.
    learn_from: u64,
    stage: Mutex<Arc<Stage>>,
    /// All layouts so far; the first one has generation 1.
    layouts: Mutex<Vec<Arc<KeyLayout>>>,
    len: AtomicU64,
    patience: Patience,
}

/// The condition under which a move is given up.
#[derive(Default)]
struct Patience(std::sync::Mutex<Option<Stop>>);

impl fmt::Debug for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Patience")
    }
}

impl Patience {
    /// A condition that is checked for every batch of a move, but evaluated only from time to time.
    fn question(&self) -> impl FnMut() -> bool {
        let stop = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut batches = 0u32;
        move || {
            batches = batches.wrapping_add(1);
            batches.is_multiple_of(ASK_EVERY) && stop.as_ref().is_some_and(|stop| stop())
        }
    }
}

/// One stage of the store: where the states are.
#[derive(Debug)]
struct Stage {
    number: u64,
    place: Place,
    /// The move to the next stage. If a move fails, another one replaces it.
    next: Mutex<Option<Arc<Move>>>,
    /// 1 as soon as `next` holds a move; read without the lock.
    moving: AtomicUsize,
}

#[derive(Debug)]
enum Place {
    Plain(Arc<PlainShared>),
    Keys { layout: Arc<KeyLayout>, table: QuotientTable },
}

#[derive(Debug)]
struct Move {
    to: Arc<Stage>,
    pass: SharedPass,
    /// Why the move can never succeed.
    error: OnceLock<StoreFull>,
    /// The length of the longest state that did not fit the layout, 0 if all did. A move out of the
    /// plain stage continues after such a state and numbers the pieces of all states, so that the
    /// next layout has room for all of them.
    misfit: AtomicUsize,
    attempt: u32,
}

impl Move {
    fn misfit(&self) -> Option<usize> {
        Some(self.misfit.load(Ordering::Acquire)).filter(|&len| len > 0)
    }
}

impl Stage {
    fn new(number: u64, place: Place) -> Arc<Stage> {
        Arc::new(Stage { number, place, next: Mutex::new(None), moving: AtomicUsize::new(0) })
    }

    fn next(&self) -> Option<Arc<Move>> {
        if self.moving.load(Ordering::Acquire) == 0 { None } else { lock(&self.next).clone() }
    }
}

impl Compact {
    /// A compact store without a budget.
    pub fn new() -> Self {
        Self::with_budget(u64::MAX)
    }

    /// A compact store that uses at most `budget` bytes.
    pub fn with_budget(budget: u64) -> Self {
        Self::learning_from(budget, LEARN_FROM)
    }

    /// A compact store that learns its layout from its first `states` states.
    pub fn learning_from(budget: u64, states: u64) -> Self {
        Self::staged(budget, states, budget)
    }

    /// A store that stays plain, and fast, as long as `budget` leaves enough memory for the move to
    /// the compact stage, and then makes that move.
    pub fn when_needed(budget: u64) -> Self {
        Self::staged(budget, u64::MAX, budget / 10 * 7)
    }

    fn staged(budget: u64, learn_from: u64, plain: u64) -> Self {
        let least = 1 << 18;
        let budget = Arc::new(Budget::new(budget.max(least)));
        let plain = Arc::new(Budget::part_of(budget.clone(), plain.max(least / 2)));
        let stage = Stage::new(0, Place::Plain(Arc::new(PlainShared::new(plain))));
        Compact {
            budget,
            learn_from,
            stage: Mutex::new(stage),
            layouts: Mutex::new(Vec::new()),
            len: AtomicU64::new(0),
            patience: Patience::default(),
        }
    }
}

impl Default for Compact {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for Compact {
    const EXACT: bool = true;
    const STABLE_NAMES: bool = false;
    type Worker<'s> = CompactWorker<'s>;

    fn worker(&self) -> CompactWorker<'_> {
        let stage = lock(&self.stage).clone();
        let access = Access::to(&stage);
        CompactWorker { store: self, stage, access, decoders: Vec::new(), untold: 0, refused: false }
    }

    fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    crate::roles::budgeted_and_saveable!();
}

impl Budgeted for Compact {
    fn bytes(&self) -> u64 {
        self.budget.used()
    }

    fn peak_bytes(&self) -> u64 {
        self.budget.most()
    }

    fn give_up_when(&self, stop: Stop) {
        *self.patience.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(stop);
    }

    fn leave_room(&self, bytes: u64) {
        self.budget.leave_room(bytes);
    }

    fn yields(&self) -> bool {
        matches!(lock(&self.stage).place, Place::Plain(_))
    }

    fn form(&self) -> &'static str {
        match lock(&self.stage).place {
            // A store that is still learning is in its normal state, so nothing is reported.
            Place::Plain(_) if self.learn_from == u64::MAX => "plain",
            Place::Plain(_) | Place::Keys { .. } => "compact",
        }
    }
}

impl Saveable for Compact {
    fn save(&self, _: u64, write: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        let mut worker = self.worker();
        // An unfinished move is finished here. If there is no memory for it, the old table is still
        // complete.
        let _ = worker.advance();
        match &worker.stage.place {
            Place::Plain(shared) => shared.visit(write),
            Place::Keys { layout, table } => {
                let mut decoder = Decoder::new(layout.clone());
                table.all(|key| write(decoder.decode(key)))
            }
        }
    }
}

/// One worker's access to a [`Compact`] store.
#[derive(Debug)]
pub struct CompactWorker<'s> {
    store: &'s Compact,
    stage: Arc<Stage>,
    access: Access,
    /// The decoders of the layouts that this worker has had to read, by generation.
    decoders: Vec<Decoder>,
    /// States inserted since the shared count was updated.
    untold: u64,
    /// The budget did not allow a larger table, so this one is filled completely.
    refused: bool,
}

/// What a worker needs for the stage it is in.
#[derive(Debug)]
enum Access {
    Plain(PlainWorker),
    Keys(Encoder),
}

impl Access {
    fn to(stage: &Stage) -> Access {
        match &stage.place {
            Place::Plain(shared) => Access::Plain(PlainWorker::new(shared.clone())),
            Place::Keys { layout, .. } => Access::Keys(Encoder::new(layout.clone())),
        }
    }
}

/// Why states must move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// The table is full, or the plain stage is over.
    Full,
    /// A state of this length does not fit the layout.
    Misfit(usize),
}

/// The name of the state with key `key`: the scrambled key and its generation. It is also the hash
/// of the state.
#[inline(always)]
fn name(layout: &KeyLayout, key: u64) -> u64 {
    u64::from(layout.generation) << GENERATION_SHIFT | layout.scramble.on(key)
}

/// A name without its generation.
#[inline(always)]
fn scrambled(name: u64) -> u64 {
    name & ((1 << GENERATION_SHIFT) - 1)
}

/// Some keys of a table.
fn sample(layout: &KeyLayout, table: &QuotientTable) -> Vec<u64> {
    table.sample(1 << 10).into_iter().map(|key| layout.scramble.off(key)).collect()
}

impl CompactWorker<'_> {
    #[inline(never)]
    fn insert_slowly(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        loop {
            match (&mut self.access, &self.stage.place) {
                (Access::Plain(plain), _) => {
                    let hash = if hash >> GENERATION_SHIFT == 0 { hash << 8 } else { hash_state(state) };
                    match plain.try_insert(hash, state) {
                        Ok(Some(inserted)) => return Ok(self.count(inserted)),
                        Ok(None) => self.advance()?,
                        Err(_) => {
                            self.begin(Reason::Full)?;
                            self.advance()?;
                        }
                    }
                }
                (Access::Keys(encoder), Place::Keys { table, .. }) => {
                    let key = match encoder.encode(state) {
                        Ok(key) => key,
                        Err(NoKey::Full(full)) => return Err(full),
                        Err(NoKey::Misfit) => {
                            self.begin(Reason::Misfit(state.len()))?;
                            self.advance()?;
                            continue;
                        }
                    };
                    let id = StateId(name(&encoder.layout, key));
                    match table.insert(scrambled(id.0)) {
                        Entry::Found => return Ok(Inserted { id, new: false }),
                        Entry::Inserted => return Ok(self.count(Inserted { id, new: true })),
                        Entry::Frozen => self.advance()?,
                        Entry::Full => {
                            self.begin(Reason::Full)?;
                            self.advance()?;
                        }
                    }
                }
                (Access::Keys(_), Place::Plain(_)) => self.access = Access::to(&self.stage),
            }
        }
    }

    #[inline(always)]
    fn count(&mut self, inserted: Inserted) -> Inserted {
        if inserted.new {
            self.untold += 1;
            if self.untold == TELL_EVERY {
                self.tell();
            }
        }
        inserted
    }

    #[cold]
    fn tell(&mut self) {
        let len = self.store.len.fetch_add(self.untold, Ordering::Relaxed) + self.untold;
        self.untold = 0;
        let due = match &self.stage.place {
            Place::Plain(_) => len >= self.store.learn_from,
            Place::Keys { table, .. } => len >= table.geometry().threshold(),
        };
        if due && !self.refused {
            self.refused = self.begin(Reason::Full).is_err();
        }
        // An error here means that there is no memory. The next insertion that needs memory reports
        // it.
        let _ = self.advance();
    }

    /// Makes sure that there is a move that has not failed.
    #[cold]
    fn begin(&mut self, reason: Reason) -> Result<(), StoreFull> {
        let mut next = lock(&self.stage.next);
        let mut attempt = 0;
        if let Some(current) = &*next {
            if let Some(&full) = current.error.get() {
                return Err(full);
            }
            if !current.pass.has_failed() {
                return Ok(());
            }
            attempt = current.attempt + 1;
        }
        let budget = &self.store.budget;
        let len = self.store.len() + self.untold;
        let (layout, least_step) = match (&self.stage.place, &self.access) {
            (Place::Plain(_), Access::Plain(worker)) => match next.as_deref().map(|failed| (failed.misfit(), &failed.to.place)) {
                // The states contained pieces that the sample did not show.
                Some((Some(longest), Place::Keys { layout, .. })) => {
                    (Arc::new(layout.refitted(longest, &worker.sample(SAMPLE_AGAIN), len, budget)?), 0)
                }
                Some((None, Place::Keys { layout, table })) => (layout.clone(), table.geometry().next_step()),
                _ => (Arc::new(self.learn(worker, len)?), 0),
            },
            (Place::Plain(_), Access::Keys(_)) => return Ok(()),
            (Place::Keys { layout, table }, _) => {
                let grown = if reason == Reason::Full { table.geometry().next_step() } else { table.geometry().step() };
                let most_keys = table.geometry().capacity();
                let layout = match reason {
                    Reason::Full if attempt == 0 && !layout.is_outgrown() => layout.clone(),
                    Reason::Full => Arc::new(layout.next(0, &sample(layout, table), most_keys, budget)?),
                    Reason::Misfit(len) => Arc::new(layout.next(len, &sample(layout, table), most_keys, budget)?),
                };
                (layout, grown + attempt)
            }
        };
        let geometry = Geometry::for_keys(layout.key_bits, len, least_step);
        let table = QuotientTable::new(geometry, budget.clone())?;
        if let Place::Plain(shared) = &self.stage.place {
            shared.close();
        }
        let to = Stage::new(self.stage.number + 1, Place::Keys { layout, table });
        *next = Some(Arc::new(Move { to, pass: SharedPass::new(), error: OnceLock::new(), misfit: AtomicUsize::new(0), attempt }));
        self.stage.moving.store(1, Ordering::Release);
        Ok(())
    }

    /// A first layout, learnt from a sample of the states. The memory for learning is taken from
    /// the budget meanwhile, unless it is small.
    fn learn(&self, worker: &PlainWorker, len: u64) -> Result<KeyLayout, StoreFull> {
        let budget = &self.store.budget;
        let typical = worker.sample(SAMPLE_LEAST as usize).iter().map(Vec::len).max().unwrap_or(0) as u64;
        let each = KeyLayout::learning_bytes(typical);
        let [least, mut count] = [LEARNING_LITTLE, LEARNING_BYTES].map(|bytes| (bytes / each).clamp(SAMPLE_LEAST, SAMPLE));
        // The learnt layout needs as much memory again.
        while count > least && budget.take(2 * count * each).map(|()| budget.give_back(2 * count * each)).is_err() {
            count = (count / 2).max(least);
        }
        let taken = if count > least && budget.take(count * each).is_ok() { count * each } else { 0 };
        let layout = KeyLayout::first(&worker.sample(count as usize), len, budget);
        budget.give_back(taken);
        layout
    }

    /// If a move is under way, helps with it and continues in the next stage.
    #[cold]
    fn advance(&mut self) -> Result<(), StoreFull> {
        while let Some(current) = self.stage.next() {
            if !self.help(&current) {
                if let Some(&full) = current.error.get() {
                    return Err(full);
                }
                self.begin(Reason::Full)?;
                continue;
            }
            let to = current.to.clone();
            if let Place::Keys { layout, .. } = &to.place {
                let mut layouts = lock(&self.store.layouts);
                if layouts.len() < usize::from(layout.generation) {
                    layouts.push(layout.clone());
                }
            }
            let mut stage = lock(&self.store.stage);
            if stage.number < to.number {
                *stage = to.clone();
            }
            drop(stage);
            self.access = Access::to(&to);
            self.stage = to;
            self.refused = false;
        }
        Ok(())
    }

    /// Moves some of the states; returns `true` when all are moved.
    fn help(&mut self, current: &Move) -> bool {
        let Place::Keys { layout, table } = &current.to.place else { return false };
        let fail = |no_key| {
            if let NoKey::Full(full) = no_key {
                let _ = current.error.set(full);
            }
            false
        };
        let mut tired = self.store.patience.question();
        let budget = &self.store.budget;
        let mut enter = |keys: &[u64]| {
            if tired() {
                let _ = current.error.set(StoreFull { needed: budget.used(), budget: budget.limit() });
                return false;
            }
            keys.iter().for_each(|&key| table.prefetch(key));
            keys.iter().all(|&key| table.insert_moved(key))
        };
        let mut keys = Vec::with_capacity(64);
        match (&mut self.access, &self.stage.place) {
            (Access::Plain(plain), _) => {
                let mut encoder = Encoder::new(layout.clone());
                let moved = plain.drain(&current.pass, |states| {
                    keys.clear();
                    for state in states {
                        match encoder.encode(state) {
                            Ok(key) => keys.push(layout.scramble.on(key)),
                            Err(NoKey::Misfit) => drop(current.misfit.fetch_max(state.len().max(1), Ordering::AcqRel)),
                            Err(no_key) => return fail(no_key),
                        }
                    }
                    if current.misfit().is_some() {
                        keys.clear();
                    }
                    enter(&keys)
                });
                if moved && current.misfit().is_some() {
                    current.pass.fail();
                }
                moved && current.misfit().is_none()
            }
            (_, Place::Keys { layout: from, table: old }) => {
                if Arc::ptr_eq(from, layout) {
                    return old.drain(&current.pass, enter);
                }
                let mut translator = Translator::new(from, layout.clone());
                old.drain(&current.pass, |old_keys| {
                    keys.clear();
                    for &key in old_keys {
                        match translator.translate(from.scramble.off(key)) {
                            Ok(key) => keys.push(layout.scramble.on(key)),
                            Err(no_key) => return fail(no_key),
                        }
                    }
                    enter(&keys)
                })
            }
            (Access::Keys(_), Place::Plain(_)) => false,
        }
    }
}

impl StoreWorker for CompactWorker<'_> {
    #[inline]
    fn hash(&mut self, state: &[u8]) -> u64 {
        match &mut self.access {
            Access::Plain(_) => hash_state(state) >> 8,
            Access::Keys(encoder) => encoder.encode(state).map_or(NO_NAME, |key| name(&encoder.layout, key)),
        }
    }

    #[inline]
    fn prefetch(&self, hash: u64) {
        match (&self.access, &self.stage.place) {
            (Access::Plain(plain), _) => plain.prefetch(hash << 8),
            (Access::Keys(_), Place::Keys { table, .. }) => table.prefetch(scrambled(hash)),
            _ => {}
        }
    }

    #[inline]
    fn insert(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        if let Place::Keys { layout, table } = &self.stage.place
            && hash >> GENERATION_SHIFT == u64::from(layout.generation)
        {
            match table.insert(scrambled(hash)) {
                Entry::Found => return Ok(Inserted { id: StateId(hash), new: false }),
                Entry::Inserted => return Ok(self.count(Inserted { id: StateId(hash), new: true })),
                Entry::Frozen | Entry::Full => {}
            }
        }
        // The common case of the plain stage, without the loop around it.
        if let Access::Plain(plain) = &mut self.access
            && hash >> GENERATION_SHIFT == 0
            && let Ok(Some(inserted)) = plain.try_insert(hash << 8, state)
        {
            return Ok(self.count(inserted));
        }
        self.insert_slowly(hash, state)
    }

    fn find(&mut self, hash: u64, state: &[u8]) -> Option<StateId> {
        match (&mut self.access, &self.stage.place) {
            (Access::Plain(plain), _) if hash >> GENERATION_SHIFT == 0 => plain.find(hash << 8, state),
            (Access::Keys(encoder), Place::Keys { table, layout }) => {
                let name = if hash >> GENERATION_SHIFT == u64::from(layout.generation) {
                    hash
                } else {
                    self::name(layout, encoder.encode(state).ok()?)
                };
                table.contains(scrambled(name)).then_some(StateId(name))
            }
            _ => None,
        }
    }

    #[inline]
    fn keeps(&self, id: StateId) -> bool {
        id.0 >> GENERATION_SHIFT != 0
    }

    #[inline]
    fn reads_slowly(&self) -> bool {
        true
    }

    fn read(&mut self, id: StateId, out: &mut Vec<u8>) -> bool {
        let Some(position) = ((id.0 >> GENERATION_SHIFT) as usize).checked_sub(1) else {
            return match &mut self.access {
                Access::Plain(plain) => plain.read(id, out),
                Access::Keys(_) => false,
            };
        };
        if position >= self.decoders.len() {
            let known = self.decoders.len();
            self.decoders.extend(lock(&self.store.layouts)[known..].iter().cloned().map(Decoder::new));
        }
        let Some(decoder) = self.decoders.get_mut(position) else { return false };
        out.clear();
        out.extend_from_slice(decoder.decode(scrambled(id.0)));
        true
    }
}

impl Drop for CompactWorker<'_> {
    fn drop(&mut self) {
        self.store.len.fetch_add(self.untold, Ordering::Relaxed);
    }
}
