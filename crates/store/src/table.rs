//! A lock-free hash table that only grows: it maps the hash of an entry to the entry's place in an
//! arena.
//!
//! A slot is one word: the distance from home, a part of the hash, and the place. Eight slots make
//! a bucket of one cache line. The hash chooses the slot at which the search of a bucket begins,
//! and the search wraps around. A slot is never removed or changed once it is written. So a worker
//! that finds a bucket full may continue with the next bucket of the probe sequence, and a worker
//! that finds an empty slot knows that its entry was not inserted before. Two workers that insert
//! the same entry race for the same slot, and the loser compares its entry with the winner's.
//!
//! *Growing.* A filled slot is final, so moving to a larger table needs care only for empty slots:
//! they are *frozen* during the move. A worker that finds a frozen slot, or notices that a larger
//! table exists, helps to move and continues in the larger table. No worker waits for longer than
//! all workers together need to copy the table once. A worker that is alone doubles the table in
//! place. [`buckets`](crate::buckets) describes how slots move.
//!
//! Related: the freezing of cells in Maier, Sanders, Dementiev, "Concurrent hash tables: fast and
//! general(?)!" (2016); the buckets of one cache line in Laarman, van de Pol, Weber, "Boosting
//! multi-core reachability performance with shared hash tables" (2010).

use crate::buckets::{Bucket, Buckets, HomeAndTag, MOST_DISTANCE, Moving, SLOTS, SLOTS_LOG};
use crate::budget::Budget;
use crate::memory::{Words, prefetch};
use crate::permutation::permuted;
use crate::shared_pass::SharedPass;
use crate::sync::{Arc, AtomicU64, AtomicUsize, Mutex, Ordering, lock};
use contract::StoreFull;

/// The number of pairs of buckets that are moved at a time.
const BLOCK: usize = if cfg!(loom) { 1 } else { 256 };
/// The logarithm of the number of buckets of the first table.
const FIRST_BUCKET_BITS: u32 = if cfg!(loom) { 2 } else { 6 };

/// From this many buckets on (half a megabyte), a table is only doubled, because a larger step
/// would waste too much memory.
const LARGE: usize = if cfg!(loom) { 0 } else { 1 << 13 };

/// The most bytes of addresses that a table reserves.
const MOST_BYTES: u64 = 1 << 40;

const EMPTY: u64 = 0;
/// A filled slot never has this value, because its place is not 0.
const FROZEN: u64 = 1 << 63;

/// The answer to a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The entry was there, at this place.
    Found(u64),
    /// The entry was not there and was inserted at the given place.
    Inserted,
    /// The table is being replaced; see [`Table::next`].
    Frozen,
    /// There is no room within reach: the table must grow.
    Full,
}

/// An empty slot, and what it will hold in addition to the place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap<'t> {
    slot: &'t AtomicU64,
    filled: u64,
}

impl Gap<'_> {
    /// Fills the gap with the place of an entry; returns `false` if another worker filled it first.
    #[inline(always)]
    pub fn fill(self, place: u64) -> bool {
        self.slot.compare_exchange(EMPTY, self.filled | place, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

/// The result of a search in some buckets of a probe sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found<'t> {
    /// The entry is at this place.
    There(u64),
    /// The entry is not there and belongs here.
    Gap(Gap<'t>),
    /// All of the buckets are full of other entries.
    Nothing,
    /// The table is being replaced.
    Frozen,
}

/// What replaces a table.
#[derive(Clone, Debug)]
pub(crate) enum Next {
    /// A larger table; [`Table::help`] fills it.
    Table(Arc<Table>),
    /// Another structure; see [`Table::close`].
    Closed,
}

#[derive(Debug)]
pub(crate) struct Table {
    words: Words,
    buckets: Buckets,
    budget: Arc<Budget>,
    next: Mutex<Option<Next>>,
    /// 1 as soon as `next` is set; read without the lock.
    growing: AtomicUsize,
    /// The hash and place of each entry that found no room within reach. It is empty unless more
    /// entries share a hash than sixteen buckets hold, which only an adversary achieves. The table
    /// is then slow but still correct.
    overflow: Mutex<Vec<(u64, u64)>>,
    /// The first pass of the move to a larger table, over all blocks.
    pass: SharedPass,
    /// The slots that the first pass left because they belong elsewhere; the second pass moves
    /// them.
    strays: Mutex<Vec<Vec<Moving>>>,
    stray_pass: SharedPass,
}

/// The fields of a table that a look-up needs, by value. The compiler cannot know that no other
/// worker changes the table between two look-ups, so it would load them again for each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines<'t> {
    words: &'t Words,
    start: *const AtomicU64,
    places: HomeAndTag,
    tag_mask: u64,
    place_mask: u64,
}

impl<'t> Lines<'t> {
    /// Prefetches the home bucket of this hash.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        let (home, _) = self.places.of(hash);
        prefetch(self.start.wrapping_add((home as usize) << SLOTS_LOG));
    }

    /// Looks for the entry with `hash` that `same` recognises in its home bucket and the other
    /// bucket of that pair, where nearly all entries are.
    #[inline(always)]
    pub fn search_pair(&self, hash: u64, mut same: impl FnMut(u64) -> bool) -> Found<'t> {
        let (home, tag) = self.places.of(hash);
        let (mut bucket, mut wanted) = (home as usize, tag);
        let first = Buckets::first_slot(tag);
        let mut index = first;
        // Written so that the compiler does not unroll it: the first or second slot nearly always
        // has the answer.
        loop {
            // SAFETY: the table has `SLOTS` words for each of its buckets. The home of a hash is
            // one of these buckets, and so is its neighbour, because the number of buckets is even.
            let slots: &[AtomicU64; SLOTS] = unsafe { self.words.some_from(self.start, bucket << SLOTS_LOG) };
            let slot = slots[index].load(Ordering::Acquire);
            let place = slot & self.place_mask;
            // Empty and frozen slots have no place.
            if place == 0 {
                return if slot == EMPTY { Found::Gap(Gap { slot: &slots[index], filled: wanted }) } else { Found::Frozen };
            }
            if (slot ^ wanted) & self.tag_mask == 0 && same(place) {
                return Found::There(place);
            }
            index = (index + 1) % SLOTS;
            if index == first {
                // The bucket is full.
                if wanted != tag {
                    return Found::Nothing;
                }
                (bucket, wanted) = (bucket ^ 1, Buckets::filled(tag, 1));
            }
        }
    }
}

/// The memory reserved for strays during a move. In a table that is three quarters full, three
/// slots in a hundred are strays.
fn aside(buckets: &Buckets) -> u64 {
    buckets.bytes() / 8
}

impl Table {
    /// The first table. It can grow in place as far as the budget allows, if the system has the
    /// addresses.
    pub fn first(place_bits: u32, budget: Arc<Budget>) -> Result<Table, StoreFull> {
        // The size of a table is a power of two.
        let room = (1u64 << budget.limit().clamp(1, MOST_BYTES).ilog2()) / 8;
        Self::of(Buckets::new(FIRST_BUCKET_BITS, place_bits), usize::try_from(room).unwrap_or(0), budget)
    }

    /// The smallest table there can be.
    pub fn smallest(place_bits: u32, budget: Arc<Budget>) -> Result<Table, StoreFull> {
        Self::of(Buckets::new(1, place_bits), 0, budget)
    }

    /// An empty table that can grow in place up to `room` words, if the system has the addresses.
    fn of(buckets: Buckets, room: usize, budget: Arc<Budget>) -> Result<Table, StoreFull> {
        let bytes = buckets.bytes();
        budget.take(bytes)?;
        let Some(words) = Words::with_room(buckets.slots(), room) else {
            budget.give_back(bytes);
            return Err(StoreFull { needed: budget.used() + bytes, budget: budget.used() });
        };
        Ok(Table {
            words,
            buckets,
            budget,
            next: Mutex::new(None),
            growing: AtomicUsize::new(0),
            overflow: Mutex::new(Vec::new()),
            pass: SharedPass::new(),
            strays: Mutex::new(Vec::new()),
            stray_pass: SharedPass::new(),
        })
    }

    /// The number of slots.
    pub fn slots(&self) -> u64 {
        self.buckets.slots() as u64
    }

    #[inline(always)]
    fn slots_of(&self, bucket: usize) -> &[AtomicU64; SLOTS] {
        debug_assert!(bucket < self.buckets.len());
        // SAFETY: the table has `SLOTS` words for each of its buckets. Every bucket asked for is a
        // home or a result of `Buckets::bucket`, which are both below the number of buckets; or it
        // was counted up to that number; or it is one of the four that a pair becomes, and callers
        // that ask for these make sure that this table has twice as many buckets as the one they
        // read.
        unsafe { self.words.some(bucket << SLOTS_LOG) }
    }

    /// The fields of the table that look-ups need, loaded once for many of them.
    #[inline(always)]
    pub fn lines(&self) -> Lines<'_> {
        let Buckets { tag_mask, place_mask, .. } = self.buckets;
        Lines { words: &self.words, start: self.words.start(), places: self.buckets.home_and_tag(), tag_mask, place_mask }
    }

    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        self.lines().prefetch(hash);
    }

    /// The place of the entry with `hash` that `same` recognises, if it is certain that it is here.
    /// `None` does not prove its absence; [`find_or_insert`](Self::find_or_insert) gives the
    /// definite answer.
    pub fn find(&self, hash: u64, mut same: impl FnMut(u64) -> bool) -> Option<u64> {
        let found = match self.lines().search_pair(hash, &mut same) {
            Found::Nothing => self.search_on(hash, same),
            found => found,
        };
        match found {
            Found::There(place) => Some(place),
            Found::Gap(_) | Found::Nothing | Found::Frozen => None,
        }
    }

    /// Continues where [`search_pair`](Lines::search_pair) found two full buckets.
    #[cold]
    pub fn search_on(&self, hash: u64, mut same: impl FnMut(u64) -> bool) -> Found<'_> {
        let (home, tag) = self.buckets.home_and_tag().of(hash);
        let first = Buckets::first_slot(tag);
        for distance in 2..=MOST_DISTANCE {
            let wanted = Buckets::filled(tag, distance);
            let slots = self.slots_of(self.buckets.bucket(home, tag, distance));
            for index in (first..first + SLOTS).map(|index| index % SLOTS) {
                let slot = slots[index].load(Ordering::Acquire);
                let place = slot & self.buckets.place_mask;
                if place == 0 {
                    return if slot == EMPTY { Found::Gap(Gap { slot: &slots[index], filled: wanted }) } else { Found::Frozen };
                }
                if (slot ^ wanted) & self.buckets.tag_mask == 0 && same(place) {
                    return Found::There(place);
                }
            }
        }
        Found::Nothing
    }

    /// Looks for the entry with `hash` that `same` recognises by its place. If there is none,
    /// inserts it at the place that `make` returns. `make` may be called even if the entry turns
    /// out to be there.
    #[inline]
    pub fn find_or_insert<E>(
        &self,
        hash: u64,
        mut same: impl FnMut(u64) -> bool,
        mut make: impl FnMut() -> Result<u64, E>,
    ) -> Result<Lookup, E> {
        let (home, tag) = self.buckets.home_and_tag().of(hash);
        let first = Buckets::first_slot(tag);
        for distance in 0..=MOST_DISTANCE {
            let wanted = Buckets::filled(tag, distance);
            let slots = self.slots_of(self.buckets.bucket(home, tag, distance));
            for index in first..first + SLOTS {
                let word = &slots[index % SLOTS];
                let mut slot = word.load(Ordering::Acquire);
                if slot == EMPTY {
                    let place = make()?;
                    match word.compare_exchange(EMPTY, wanted | place, Ordering::AcqRel, Ordering::Acquire) {
                        Ok(_) => return Ok(Lookup::Inserted),
                        Err(other) => slot = other,
                    }
                }
                if slot == FROZEN {
                    return Ok(Lookup::Frozen);
                }
                if (slot ^ wanted) & self.buckets.tag_mask == 0 {
                    let place = slot & self.buckets.place_mask;
                    if same(place) {
                        return Ok(Lookup::Found(place));
                    }
                }
            }
        }
        self.find_overflow(hash, same)
    }

    #[cold]
    fn find_overflow<E>(&self, hash: u64, mut same: impl FnMut(u64) -> bool) -> Result<Lookup, E> {
        let overflow = lock(&self.overflow);
        if self.growing.load(Ordering::Acquire) != 0 {
            return Ok(Lookup::Frozen);
        }
        let found = overflow.iter().find(|&&(other, place)| other == hash && same(place));
        Ok(found.map_or(Lookup::Full, |&(_, place)| Lookup::Found(place)))
    }

    /// Inserts an entry whose look-up answered [`Lookup::Full`] although the table is nearly empty,
    /// so that growing would not help.
    #[cold]
    pub fn insert_overflow<E>(
        &self,
        hash: u64,
        mut same: impl FnMut(u64) -> bool,
        mut make: impl FnMut() -> Result<u64, E>,
    ) -> Result<Lookup, E> {
        let mut overflow = lock(&self.overflow);
        if self.growing.load(Ordering::Acquire) != 0 {
            return Ok(Lookup::Frozen);
        }
        if let Some(&(_, place)) = overflow.iter().find(|&&(other, place)| other == hash && same(place)) {
            return Ok(Lookup::Found(place));
        }
        overflow.push((hash, make()?));
        Ok(Lookup::Inserted)
    }

    /// What replaces this table, if it is being replaced.
    pub fn next(&self) -> Option<Next> {
        if self.growing.load(Ordering::Acquire) == 0 { None } else { lock(&self.next).clone() }
    }

    /// Makes a table of twice the size the next one, unless there is a next one already.
    pub fn grow(&self) -> Result<(), StoreFull> {
        let mut next = lock(&self.next);
        if next.is_none() {
            // This is given back when this table is dropped.
            self.budget.take(aside(&self.buckets))?;
            let table = Table::of(self.buckets.twice(), 0, self.budget.clone());
            let table = table.inspect_err(|_| self.budget.give_back(aside(&self.buckets)))?;
            *next = Some(Next::Table(Arc::new(table)));
            self.announce();
        }
        Ok(())
    }

    /// Makes this the last table, unless there is a larger one already; returns whether it did.
    /// Once [`drain_blocks`](Self::drain_blocks) is complete, nothing is inserted any more.
    pub fn close(&self) -> bool {
        let mut next = lock(&self.next);
        if next.is_none() {
            *next = Some(Next::Closed);
            self.announce();
        }
        matches!(*next, Some(Next::Closed))
    }

    fn announce(&self) {
        // The lock of the overflow is held, so that nothing enters the overflow after it was moved.
        let _overflow = lock(&self.overflow);
        self.growing.store(1, Ordering::Release);
    }

    /// Helps to move all entries to the `next` table and returns when the move is complete.
    /// `rehash` gives the hash of the entry at a place.
    pub fn help(&self, next: &Table, rehash: impl Fn(u64) -> u64) {
        assert_eq!(next.buckets.len(), 2 * self.buckets.len(), "a table moves to one of twice its size");
        let pairs = self.buckets.len() / 2;
        let blocks = pairs.div_ceil(BLOCK);
        self.pass.share(blocks, |block| {
            let mut strays = Vec::new();
            for pair in block * BLOCK..pairs.min((block + 1) * BLOCK) {
                let slots = [self.freeze(2 * pair), self.freeze(2 * pair + 1)];
                let mut four = [[EMPTY; SLOTS]; 4];
                let put = |bucket: usize, index: usize, filled| four[bucket][index] = filled;
                self.buckets.spread(&next.buckets, pair, &slots, &rehash, put, |stray| strays.push(stray));
                next.settle(4 * pair, four);
            }
            lock(&self.strays).push(strays);
            true
        });
        // Strays are moved only now, because the first pass writes buckets of the next table
        // without synchronisation.
        let put = |word: &AtomicU64, filled| word.compare_exchange(EMPTY, filled, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        self.stray_pass.share(blocks + 1, |number| {
            let strays = if number == 0 { self.in_overflow(next) } else { lock(&self.strays).pop().unwrap_or_default() };
            next.take_in(strays, &rehash, put);
            true
        });
    }

    /// Makes the table larger, in place if there is room. If memory is refused, nothing changes.
    ///
    /// A small table grows to eight times its size, because most of its entries would otherwise
    /// move three times before it is large.
    pub fn enlarge(&mut self, rehash: impl Fn(u64) -> u64) -> Result<(), StoreFull> {
        let larger = self.buckets.times_eight();
        let small = self.buckets.len() < LARGE && self.words.has_room(larger.slots());
        if small && self.enlarge_to(larger, &rehash).is_ok() { Ok(()) } else { self.double(rehash) }
    }

    fn enlarge_to(&mut self, larger: Buckets, rehash: impl Fn(u64) -> u64) -> Result<(), StoreFull> {
        debug_assert_eq!(self.growing.load(Ordering::Relaxed), 0, "nothing is frozen");
        let (added, aside) = (larger.bytes() - self.buckets.bytes(), 4 * self.buckets.bytes());
        self.budget.take(added + aside)?;
        let mut all = Vec::with_capacity(self.buckets.slots());
        for word in self.words.get() {
            let place = word.load(Ordering::Relaxed) & self.buckets.place_mask;
            if place != 0 {
                all.push(larger.moving_from(rehash(place), place));
                word.store(EMPTY, Ordering::Relaxed);
            }
        }
        all.extend(lock(&self.overflow).drain(..).map(|(hash, place)| larger.moving_from(hash, place)));
        self.words.extend(larger.slots());
        self.buckets = larger;
        self.take_in(all, &rehash, |word, filled| {
            word.store(filled, Ordering::Relaxed);
            true
        });
        self.budget.give_back(aside);
        Ok(())
    }

    /// Doubles the table, in place if there is room. If memory is refused, nothing changes.
    pub fn double(&mut self, rehash: impl Fn(u64) -> u64) -> Result<(), StoreFull> {
        debug_assert_eq!(self.growing.load(Ordering::Relaxed), 0, "nothing is frozen");
        let (buckets, twice) = (self.buckets, self.buckets.twice());
        let aside = aside(&buckets);
        self.budget.take(aside)?;
        let doubled = self.double_from(buckets, twice, rehash);
        self.budget.give_back(aside);
        doubled
    }

    fn double_from(&mut self, buckets: Buckets, twice: Buckets, rehash: impl Fn(u64) -> u64) -> Result<(), StoreFull> {
        let mut elsewhere = None;
        if self.words.has_room(twice.slots()) {
            self.budget.take(twice.bytes() - buckets.bytes())?;
            self.words.extend(twice.slots());
            self.buckets = twice;
        } else {
            elsewhere = Some(Table::of(twice, 0, self.budget.clone())?);
        }
        let to = elsewhere.as_ref().unwrap_or(self);
        let mut strays = self.in_overflow(to);
        // The loop starts at the end, so that in place no slot is overwritten before it has moved.
        for pair in (0..buckets.len() / 2).rev() {
            let mut slots = [[EMPTY; SLOTS]; 2];
            for (side, slots) in slots.iter_mut().enumerate() {
                let words = self.slots_of(2 * pair + side);
                slots.iter_mut().zip(words).for_each(|(slot, word)| *slot = word.load(Ordering::Relaxed));
            }
            // Buckets that were not part of the table before are empty, and so are those of another
            // table.
            if elsewhere.is_none() && 4 * pair < buckets.len() {
                to.settle(4 * pair, [[EMPTY; SLOTS]; 4]);
            }
            let put = |bucket: usize, index: usize, filled| to.slots_of(4 * pair + bucket)[index].store(filled, Ordering::Relaxed);
            buckets.spread(&twice, pair, &slots, &rehash, put, |stray| strays.push(stray));
        }
        match elsewhere {
            Some(table) => *self = table,
            None => lock(&self.overflow).clear(),
        }
        self.take_in(strays, &rehash, |word, filled| {
            word.store(filled, Ordering::Relaxed);
            true
        });
        Ok(())
    }

    /// The entries of the overflow, for another table.
    fn in_overflow(&self, next: &Table) -> Vec<Moving> {
        lock(&self.overflow).iter().map(|&(hash, place)| next.buckets.moving_from(hash, place)).collect()
    }

    /// Fills four buckets, from number `first` on, that no other worker sees yet.
    #[inline(always)]
    fn settle(&self, first: usize, four: [Bucket; 4]) {
        for (number, bucket) in four.into_iter().enumerate() {
            for (word, slot) in self.slots_of(first + number).iter().zip(bucket) {
                word.store(slot, Ordering::Relaxed);
            }
        }
    }

    /// Inserts entries that are known to be absent, while only the workers that move see the table.
    /// `put` fills an empty slot, unless another worker filled it first.
    fn take_in(&self, strays: Vec<Moving>, rehash: impl Fn(u64) -> u64, put: impl Fn(&AtomicU64, u64) -> bool) {
        for Moving { home, tag, place } in strays {
            let found_room = (0..=MOST_DISTANCE).any(|distance| {
                let filled = Buckets::filled(tag, distance) | place;
                let slots = self.slots_of(self.buckets.bucket(home, tag, distance));
                let first = Buckets::first_slot(tag);
                let mut round = (first..first + SLOTS).map(|index| &slots[index % SLOTS]);
                round.any(|word| word.load(Ordering::Relaxed) == EMPTY && put(word, filled))
            });
            if !found_room {
                lock(&self.overflow).push((rehash(place), place));
            }
        }
    }

    /// Helps to visit all places; `visit` gets `None` after the last place of each block. Nothing
    /// can be added to a block after its visit.
    pub fn drain_blocks(&self, pass: &SharedPass, mut visit: impl FnMut(Option<u64>) -> bool) -> bool {
        let buckets = self.buckets.len();
        pass.share(buckets.div_ceil(2 * BLOCK), |block| {
            if block == 0 && !lock(&self.overflow).iter().all(|&(_, place)| visit(Some(place))) {
                return false;
            }
            let mut slots = (2 * BLOCK * block..buckets.min(2 * BLOCK * (block + 1))).flat_map(|bucket| self.freeze(bucket));
            slots.all(|slot| slot == EMPTY || visit(Some(slot & self.buckets.place_mask))) && visit(None)
        })
    }

    /// Shows `visit` all places, permuted, as long as it returns `true`. No worker inserts at the
    /// same time.
    pub fn all(&self, mut visit: impl FnMut(u64) -> bool) -> bool {
        let words = self.words.get();
        let slots = permuted(words.len() as u64).map(|number| words[number as usize].load(Ordering::Acquire));
        let mut places = slots.map(|slot| slot & self.buckets.place_mask).filter(|&place| place != 0);
        places.all(&mut visit) && lock(&self.overflow).iter().all(|&(_, place)| visit(place))
    }

    /// Up to `count` places from all over the table.
    pub fn sample(&self, count: usize) -> Vec<u64> {
        let words = self.words.get();
        // The stride is odd, so that it has no common factor with the table and reaches all slots
        // of a bucket.
        let stride = (words.len() / (2 * count.max(1))).max(1) | 1;
        let places = words.iter().step_by(stride).map(|word| word.load(Ordering::Acquire));
        places.filter(|&slot| slot != EMPTY && slot != FROZEN).map(|slot| slot & self.buckets.place_mask).take(count).collect()
    }

    /// Freezes all empty slots of a bucket; returns the other slots, with `EMPTY` for the frozen
    /// ones.
    #[inline(always)]
    fn freeze(&self, bucket: usize) -> Bucket {
        self.slots_of(bucket).each_ref().map(|word| {
            let slot = word.load(Ordering::Acquire);
            let slot = match slot {
                EMPTY => word.compare_exchange(EMPTY, FROZEN, Ordering::AcqRel, Ordering::Acquire).unwrap_or_else(|other| other),
                _ => slot,
            };
            if slot == FROZEN { EMPTY } else { slot }
        })
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let moved = matches!(*lock(&self.next), Some(Next::Table(_)));
        self.budget.give_back(self.buckets.bytes() + if moved { aside(&self.buckets) } else { 0 });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The entry at place *p* is *p* itself. The slots know few bits of the hash, so the bits are
    /// renewed more than once. The table is fuller than the stores let it become, so many entries
    /// are far from home.
    #[test]
    fn nothing_is_lost_by_growing_alone_or_together() {
        let hash = |place: u64| place.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ place << 40;
        for ways in [[true, true], [false, false], [true, false]] {
            let mut table = Arc::new(Table::first(46, Arc::new(Budget::new(1 << 30))).unwrap());
            let mut ways = ways.into_iter().cycle();
            for place in 1..=100_000 {
                let same = |other| other == place;
                if place * 10 > table.slots() * 9 {
                    table = grown(table, ways.next().unwrap(), hash);
                    assert!((1..place).all(|old| table.find(hash(old), |other| other == old) == Some(old)));
                }
                assert_eq!(table.find(hash(place), same), None);
                assert_eq!(table.find_or_insert(hash(place), same, || Ok::<u64, ()>(place)), Ok(Lookup::Inserted));
            }
            let mut all = Vec::new();
            assert!(table.all(|place| {
                all.push(place);
                true
            }));
            all.sort();
            assert!(all.into_iter().eq(1..=100_000));
        }
    }

    #[test]
    fn a_table_that_may_not_grow_is_as_it_was() {
        let hash = |place: u64| place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let first = Table::first(20, Arc::new(Budget::new(u64::MAX))).unwrap().buckets.bytes();
        // The first limit is too small for the strays, and the second one for the table. The third
        // one allows the table to grow in place but not beside the old one. The last one allows
        // both.
        for (limit, alone, together) in
            [(9 * first / 8 - 1, false, false), (2 * first, false, false), (3 * first, true, false), (4 * first, true, true)]
        {
            let budget = Arc::new(Budget::new(limit));
            let mut table = Arc::new(Table::first(20, budget.clone()).unwrap());
            let insert = |table: &Table, place| table.find_or_insert(hash(place), |other| other == place, || Ok::<u64, ()>(place));
            assert!((1..100).all(|place| insert(&table, place) == Ok(Lookup::Inserted)));
            assert_eq!(table.grow().is_ok(), together, "{limit}");
            if !together {
                assert_eq!(Arc::get_mut(&mut table).unwrap().double(hash).is_ok(), alone, "{limit}");
                assert!((1..100).all(|place| insert(&table, place) == Ok(Lookup::Found(place))));
                assert_eq!(budget.used(), table.buckets.bytes());
            }
            drop(table);
            assert_eq!(budget.used(), 0);
        }
    }

    #[test]
    fn small_tables_grow_faster_if_there_is_memory() {
        let hash = |place: u64| place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let first = Table::first(20, Arc::new(Budget::new(u64::MAX))).unwrap().buckets.bytes();
        for (limit, factor) in [(3 * first, 2), (u64::MAX, 8)] {
            let budget = Arc::new(Budget::new(limit));
            let mut table = Table::first(20, budget.clone()).unwrap();
            let insert = |table: &Table, place| table.find_or_insert(hash(place), |other| other == place, || Ok::<u64, ()>(place));
            assert!((1..300).all(|place| insert(&table, place) == Ok(Lookup::Inserted)));
            table.enlarge(hash).unwrap();
            assert!((1..300).all(|place| insert(&table, place) == Ok(Lookup::Found(place))));
            assert_eq!((table.buckets.bytes(), budget.used()), (factor * first, factor * first));
        }
        let mut table = Table::first(20, Arc::new(Budget::new(u64::MAX))).unwrap();
        while table.buckets.len() < LARGE {
            table.enlarge(hash).unwrap();
        }
        let before = table.buckets.len();
        table.enlarge(hash).unwrap();
        assert_eq!(table.buckets.len(), 2 * before);
    }

    /// The table at twice the size, moved by a worker that is alone or by one of many.
    fn grown(mut table: Arc<Table>, alone: bool, hash: impl Fn(u64) -> u64) -> Arc<Table> {
        if alone {
            Arc::get_mut(&mut table).expect("nobody else has it").double(hash).unwrap();
            return table;
        }
        table.grow().unwrap();
        let Some(Next::Table(next)) = table.next() else { panic!("there is a next table") };
        table.help(&next, hash);
        next
    }

    /// The entry at place *p* is *p* itself, and a few hundred of them share each hash: more than
    /// sixteen buckets hold.
    #[test]
    fn what_shares_a_hash_survives_growing() {
        let hash = |place: u64| (place % 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let insert = |table: &Table, place: u64| {
            let lookup = table.find_or_insert(hash(place), |other| other == place, || Ok::<u64, ()>(place)).unwrap();
            match lookup {
                Lookup::Full => table.insert_overflow(hash(place), |other| other == place, || Ok::<u64, ()>(place)).unwrap(),
                lookup => lookup,
            }
        };
        let budget = Arc::new(Budget::new(u64::MAX));
        let mut table = Arc::new(Table::first(20, budget).unwrap());
        assert!((1..1000).all(|place| insert(&table, place) == Lookup::Inserted));
        Arc::get_mut(&mut table).expect("nobody else has it").enlarge(hash).unwrap();
        assert!((1..1000).all(|place| insert(&table, place) == Lookup::Found(place)));
        for alone in [true, false, true] {
            table = grown(table, alone, hash);
            assert!((1..1000).all(|place| insert(&table, place) == Lookup::Found(place)), "alone: {alone}");
        }
    }
}
