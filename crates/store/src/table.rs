//! A lock-free hash table that only grows: from the hash of a thing to the place where the thing
//! lies.
//!
//! A slot is one word: how far it lies from home, a piece of the hash, and the place. Eight slots
//! make a bucket of one cache line, which is searched round and round from a slot the hash chooses.
//! Nothing is ever removed or changed once written; so whoever finds a bucket full may go on to the
//! next one of the probe sequence, and whoever finds an empty slot knows that what it seeks was not
//! inserted before. Two workers that insert the same thing race for the same slot, and the loser
//! compares with what the winner wrote.
//!
//! *Growing.* A filled slot is final, so moving to a larger table needs care only about empty ones:
//! they are *frozen* as the movers pass. A worker that meets a frozen slot, or notices that a
//! larger table exists, helps to move and goes on in the larger table. All of that is cooperative,
//! and nobody stops for longer than it takes all workers together to copy the table once. A worker
//! that is alone doubles the table where it is. How slots move is told in
//! [`buckets`](crate::buckets).
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

/// Pairs of buckets moved at a time.
const BLOCK: usize = if cfg!(loom) { 1 } else { 256 };
/// Buckets of the first table.
const FIRST_BUCKET_BITS: u32 = if cfg!(loom) { 2 } else { 6 };

/// From so many buckets on, half a megabyte, a table is only doubled: what it would have too much
/// is no longer little.
const LARGE: usize = if cfg!(loom) { 0 } else { 1 << 13 };

/// Addresses a table asks for at most.
const MOST_BYTES: u64 = 1 << 40;

const EMPTY: u64 = 0;
/// No filled slot looks like this: its place would be 0.
const FROZEN: u64 = 1 << 63;

/// The answer to a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// It was there, at this place.
    Found(u64),
    /// It was not; it is now, at the place given.
    Inserted,
    /// The table is being replaced; see [`Table::next`].
    Frozen,
    /// No room within reach: grow.
    Full,
}

/// An empty slot, and what it will hold beside the place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap<'t> {
    slot: &'t AtomicU64,
    filled: u64,
}

impl Gap<'_> {
    /// Fills the gap that a search for a thing came to with its place; `false` if somebody else was
    /// there first.
    #[inline(always)]
    pub fn fill(self, place: u64) -> bool {
        self.slot.compare_exchange(EMPTY, self.filled | place, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

/// What a search found in some buckets of a probe sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found<'t> {
    /// The thing, at this place.
    There(u64),
    /// That it was not there, and where it belongs.
    Gap(Gap<'t>),
    /// Neither: all of them are full.
    Nothing,
    /// That the table is being replaced.
    Frozen,
}

/// What comes after a table.
#[derive(Clone, Debug)]
pub(crate) enum Next {
    /// A larger one: [`Table::help`] to fill it.
    Table(Arc<Table>),
    /// Something else; see [`Table::close`].
    Closed,
}

#[derive(Debug)]
pub(crate) struct Table {
    words: Words,
    buckets: Buckets,
    budget: Arc<Budget>,
    next: Mutex<Option<Next>>,
    /// 1 as soon as `next` is there; read without the lock.
    growing: AtomicUsize,
    /// Hash and place of what found no room within reach. Empty unless more things share a hash
    /// than sixteen buckets hold, which nobody but an adversary achieves; then the table is slow
    /// but still right.
    overflow: Mutex<Vec<(u64, u64)>>,
    /// The move to a larger table: all blocks first,
    pass: SharedPass,
    /// then what each of them left because it belongs elsewhere.
    strays: Mutex<Vec<Vec<Moving>>>,
    stray_pass: SharedPass,
}

/// A table with what a look-up needs of it by value: a compiler that cannot know that nobody
/// changes a table between two look-ups would fetch all of it again for each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines<'t> {
    words: &'t Words,
    start: *const AtomicU64,
    places: HomeAndTag,
    tag_mask: u64,
    place_mask: u64,
}

impl<'t> Lines<'t> {
    /// Asks for the line where a thing with this hash is at home.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        let (home, _) = self.places.of(hash);
        prefetch(self.start.wrapping_add((home as usize) << SLOTS_LOG));
    }

    /// Looks for the thing with `hash` that `same` recognises where nearly all things are: in its
    /// home bucket and the other one of that pair.
    #[inline(always)]
    pub fn search_pair(&self, hash: u64, mut same: impl FnMut(u64) -> bool) -> Found<'t> {
        let (home, tag) = self.places.of(hash);
        let (mut bucket, mut wanted) = (home as usize, tag);
        let first = Buckets::first_slot(tag);
        let mut index = first;
        // Written so that it is not unrolled: nearly always the first slot or the second has the
        // answer.
        loop {
            // SAFETY: the table has `SLOTS` words for each of its buckets; the home of a hash is
            // one of these, and so is its neighbour, since their number is even.
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

/// The memory set aside for strays while buckets move. Three things in a hundred are strays in a
/// table three quarters full.
fn aside(buckets: &Buckets) -> u64 {
    buckets.bytes() / 8
}

impl Table {
    /// The first table. It may grow where it is as far as the budget allows, if the system has the
    /// addresses.
    pub fn first(place_bits: u32, budget: Arc<Budget>) -> Result<Table, StoreFull> {
        // A table has a power of two.
        let room = (1u64 << budget.limit().clamp(1, MOST_BYTES).ilog2()) / 8;
        Self::of(Buckets::new(FIRST_BUCKET_BITS, place_bits), usize::try_from(room).unwrap_or(0), budget)
    }

    /// The smallest table there can be.
    pub fn smallest(place_bits: u32, budget: Arc<Budget>) -> Result<Table, StoreFull> {
        Self::of(Buckets::new(1, place_bits), 0, budget)
    }

    /// An empty table that can grow up to `room` words where it is, if the system has the
    /// addresses.
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
        // SAFETY: the table has `SLOTS` words for each of its buckets, and every bucket asked for
        // is a home or came from `Buckets::bucket`, which both stay below their number, or was
        // counted up to it, or is in a gap that a search of this table found; or it is one of the
        // four that a pair becomes, and those who ask for these see to it that this table has twice
        // as many.
        unsafe { self.words.some(bucket << SLOTS_LOG) }
    }

    /// The table, at hand for many look-ups.
    #[inline(always)]
    pub fn lines(&self) -> Lines<'_> {
        let Buckets { tag_mask, place_mask, .. } = self.buckets;
        Lines { words: &self.words, start: self.words.start(), places: self.buckets.home_and_tag(), tag_mask, place_mask }
    }

    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        self.lines().prefetch(hash);
    }

    /// The place of the thing with `hash` that `same` recognises, if it is certain that it is here.
    /// If not, it may be somewhere all the same, and [`find_or_insert`](Self::find_or_insert) will
    /// tell.
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

    /// Goes on where [`search_pair`](Lines::search_pair) found two full buckets.
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

    /// Looks for the thing with `hash` that `same` recognises by its place, and inserts it at the
    /// place `make` gives if there is none. `make` may be called even if the thing then turns out
    /// to be there.
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

    /// For a thing whose look-up answered [`Lookup::Full`] although the table is nearly empty, so
    /// that growing would not help.
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

    /// What replaces this table, if anything does.
    pub fn next(&self) -> Option<Next> {
        if self.growing.load(Ordering::Acquire) == 0 { None } else { lock(&self.next).clone() }
    }

    /// Makes a table of twice the size the next one, unless something comes next already.
    pub fn grow(&self) -> Result<(), StoreFull> {
        let mut next = lock(&self.next);
        if next.is_none() {
            // Given back when this table goes.
            self.budget.take(aside(&self.buckets))?;
            let table = Table::of(self.buckets.twice(), 0, self.budget.clone());
            let table = table.inspect_err(|_| self.budget.give_back(aside(&self.buckets)))?;
            *next = Some(Next::Table(Arc::new(table)));
            self.announce();
        }
        Ok(())
    }

    /// Makes this the last table, unless a larger one comes next already; says whether it did. Once
    /// [`drain_blocks`](Self::drain_blocks) is through, nothing is inserted any more.
    pub fn close(&self) -> bool {
        let mut next = lock(&self.next);
        if next.is_none() {
            *next = Some(Next::Closed);
            self.announce();
        }
        matches!(*next, Some(Next::Closed))
    }

    fn announce(&self) {
        // Under the lock of the overflow, so that nothing enters it after it was moved.
        let _overflow = lock(&self.overflow);
        self.growing.store(1, Ordering::Release);
    }

    /// Helps to move everything to the `next` table and returns when it is there. `rehash` gives
    /// the hash of the thing at a place.
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
        // Only now, since a block writes its buckets of the next table as if nobody else did.
        let put = |word: &AtomicU64, filled| word.compare_exchange(EMPTY, filled, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        self.stray_pass.share(blocks + 1, |number| {
            let strays = if number == 0 { self.in_overflow(next) } else { lock(&self.strays).pop().unwrap_or_default() };
            next.take_in(strays, &rehash, put);
            true
        });
    }

    /// Makes the table larger, where it is if there is room. Nothing has happened if memory is
    /// refused.
    ///
    /// A small table gets eight times its size: most of what it holds would otherwise move three
    /// times before it is no longer small.
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

    /// Doubles the table, where it is if there is room. Nothing has happened if memory is refused.
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
        // From the end, so that in place nothing is written over that has not moved yet.
        for pair in (0..buckets.len() / 2).rev() {
            let mut slots = [[EMPTY; SLOTS]; 2];
            for (side, slots) in slots.iter_mut().enumerate() {
                let words = self.slots_of(2 * pair + side);
                slots.iter_mut().zip(words).for_each(|(slot, word)| *slot = word.load(Ordering::Relaxed));
            }
            // What was not part of the table before is empty, and so is another table.
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

    /// What is in the overflow, on its way to another table.
    fn in_overflow(&self, next: &Table) -> Vec<Moving> {
        lock(&self.overflow).iter().map(|&(hash, place)| next.buckets.moving_from(hash, place)).collect()
    }

    /// Fills four buckets, from number `first` on, that nobody else sees yet.
    #[inline(always)]
    fn settle(&self, first: usize, four: [Bucket; 4]) {
        for (number, bucket) in four.into_iter().enumerate() {
            for (word, slot) in self.slots_of(first + number).iter().zip(bucket) {
                word.store(slot, Ordering::Relaxed);
            }
        }
    }

    /// Inserts what is known not to be there, while the table is visible to movers only. `put`
    /// fills an empty slot, unless another mover was there first.
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

    /// Helps to visit all places, and nothing after the last of each block of them. Nothing can be
    /// added to a block after its visit.
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

    /// Shows `visit` all places, permuted, as long as it answers `true`, while nobody inserts.
    pub fn all(&self, mut visit: impl FnMut(u64) -> bool) -> bool {
        let words = self.words.get();
        let slots = permuted(words.len() as u64).map(|number| words[number as usize].load(Ordering::Acquire));
        let mut places = slots.map(|slot| slot & self.buckets.place_mask).filter(|&place| place != 0);
        places.all(&mut visit) && lock(&self.overflow).iter().all(|&(_, place)| visit(place))
    }

    /// Up to `count` places from all over the table.
    pub fn sample(&self, count: usize) -> Vec<u64> {
        let words = self.words.get();
        // A stride without a common factor, so that all slots of a bucket have their turn.
        let stride = (words.len() / (2 * count.max(1))).max(1) | 1;
        let places = words.iter().step_by(stride).map(|word| word.load(Ordering::Acquire));
        places.filter(|&slot| slot != EMPTY && slot != FROZEN).map(|slot| slot & self.buckets.place_mask).take(count).collect()
    }

    /// Freezes all empty slots of a bucket; the others, and nothing in place of the empty ones.
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

    /// The thing at place *p* is *p* itself. The slots know few bits of the hash, so that they are
    /// renewed more than once; and the table is fuller than the stores let it become, so that many
    /// things are far from home.
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
        // Too little for the strays; for the strays but not for the table; enough in place but not
        // beside; enough.
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

    /// The table at twice the size, moved by a worker that is alone or, as it were, by one of many.
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

    /// The thing at place *p* is *p* itself, and a few hundred of them share each hash: more than
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
