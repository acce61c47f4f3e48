//! A lock-free hash table that only grows: from the hash of a thing to the place where the thing lies.
//!
//! A slot is one word: how far it lies from home, a piece of the hash, and the place. Eight slots make a bucket of one cache line,
//! which is searched round and round from a slot the hash chooses. Nothing is ever removed or changed once written; so whoever finds a
//! bucket full may go on to the next one of the probe sequence, and whoever finds an empty slot knows that what it seeks was not
//! inserted before. Two workers that insert the same thing race for the same slot, and the loser compares with what the winner wrote.
//!
//! *Growing.* A filled slot is final, so moving to a larger table needs care only about empty ones: they are *frozen* as the movers
//! pass. A worker that meets a frozen slot, or notices that a larger table exists, helps to move and goes on in the larger table. All
//! of that is cooperative, and nobody stops for longer than it takes all workers together to copy the table once.
//!
//! The home bucket is given by the top bits of the hash and the slot holds the bits that follow, and its distance from home; so the
//! hash a larger table needs is read off the slot and the copy streams through memory in order. Each doubling uses up one of the
//! bits; when few are left, they are renewed by hashing the things themselves, which happens about once in ten doublings.
//!
//! Related: the freezing of cells in Maier, Sanders, Dementiev, "Concurrent hash tables: fast and general(?)!" (2016); the buckets of
//! one cache line in Laarman, van de Pol, Weber, "Boosting multi-core reachability performance with shared hash tables" (2010).

use crate::budget::Budget;
use crate::memory::{Words, prefetch};
use crate::scatter::scattered;
use crate::sync::{Arc, AtomicU64, AtomicUsize, Mutex, Ordering, lock};
use crate::turn::Turn;
use contract::StoreFull;

/// Slots in a bucket: one cache line.
const SLOTS: usize = if cfg!(loom) { 2 } else { 8 };
const SLOTS_LOG: u32 = SLOTS.trailing_zeros();
const DISTANCE_BITS: u32 = 4;
const MOST_DISTANCE: u64 = if cfg!(loom) { 1 } else { (1 << DISTANCE_BITS) - 1 };
/// Fewest bits of the hash a slot must know; below, they are renewed.
const LEAST_KNOWN: u32 = 12;
/// Buckets moved at a time.
const BLOCK: usize = if cfg!(loom) { 1 } else { 512 };
/// Buckets of the first table.
pub(crate) const FIRST_BUCKET_BITS: u32 = if cfg!(loom) { 1 } else { 6 };

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    word: usize,
    filled: u64,
}

/// What a search of the home bucket found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// The thing, at this place.
    Found(u64),
    /// That it was not there, and where it belongs.
    Gap(Gap),
    /// That it may be elsewhere.
    Elsewhere,
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
    bucket_bits: u32,
    place_bits: u32,
    /// How many bits of the hash below the home bucket's the slots of this table know.
    known: u32,
    /// Covers the distance and the known bits in a slot.
    tag_mask: u64,
    place_mask: u64,
    budget: Arc<Budget>,
    next: Mutex<Option<Next>>,
    /// 1 as soon as `next` is there; read without the lock.
    growing: AtomicUsize,
    /// Hash and place of what found no room within reach. Empty unless more things share a hash than sixteen buckets hold, which
    /// nobody but an adversary achieves; then the table is slow but still right.
    overflow: Mutex<Vec<(u64, u64)>>,
    /// The move to a larger table.
    turn: Turn,
}

impl Table {
    pub fn new(bucket_bits: u32, place_bits: u32, known: Option<u32>, budget: Arc<Budget>) -> Result<Table, StoreFull> {
        let bytes = Self::bytes_of(bucket_bits);
        budget.take(bytes)?;
        let Some(words) = Words::new(SLOTS << bucket_bits) else {
            budget.give_back(bytes);
            return Err(StoreFull { needed: budget.used() + bytes, budget: budget.used() });
        };
        let known = known.unwrap_or(64 - DISTANCE_BITS - place_bits);
        Ok(Table {
            words,
            bucket_bits,
            place_bits,
            known,
            tag_mask: !0 << (64 - DISTANCE_BITS - known),
            place_mask: (1 << place_bits) - 1,
            budget,
            next: Mutex::new(None),
            growing: AtomicUsize::new(0),
            overflow: Mutex::new(Vec::new()),
            turn: Turn::new(),
        })
    }

    fn bytes_of(bucket_bits: u32) -> u64 {
        (SLOTS as u64 * 8) << bucket_bits
    }

    /// The number of slots.
    pub fn slots(&self) -> u64 {
        (SLOTS as u64) << self.bucket_bits
    }

    #[inline(always)]
    fn home(&self, hash: u64) -> u64 {
        hash >> (64 - self.bucket_bits)
    }

    /// The known bits of the hash below those of the home bucket, where a slot has them.
    #[inline(always)]
    fn tag(&self, hash: u64) -> u64 {
        (hash << self.bucket_bits) >> DISTANCE_BITS & self.tag_mask
    }

    /// The slot of its bucket at which the search for a tag begins: bits every table knows of the hash.
    #[inline(always)]
    fn first_slot(tag: u64) -> usize {
        (tag >> (64 - DISTANCE_BITS - 4)) as usize
    }

    /// The stride of the probe sequence, from bits every table knows of the hash.
    #[inline(always)]
    fn stride(tag: u64) -> u64 {
        tag >> (64 - DISTANCE_BITS - 8) | 1
    }

    /// The bucket at `distance` from home. The second lies beside the first, in the pair of lines memory fetches together.
    #[inline(always)]
    fn bucket(&self, home: u64, tag: u64, distance: u64) -> usize {
        let mask = (1u64 << self.bucket_bits) - 1;
        let bucket = match distance {
            0 => home,
            1 => home ^ 1,
            _ => home.wrapping_add((distance - 1).wrapping_mul(Self::stride(tag))) & mask,
        };
        bucket as usize
    }

    #[inline(always)]
    fn slots_of(&self, bucket: usize) -> &[AtomicU64; SLOTS] {
        debug_assert!(bucket < 1 << self.bucket_bits);
        // SAFETY: the table has `SLOTS << bucket_bits` words, and every bucket asked for is a home, which has `bucket_bits` bits, or masked with
        // so many, or counted up to their number.
        unsafe { self.words.some(bucket << SLOTS_LOG) }
    }

    #[inline(always)]
    fn home_of(&self, bucket: usize, tag: u64, distance: u64) -> u64 {
        let mask = (1u64 << self.bucket_bits) - 1;
        match distance {
            0 => bucket as u64,
            1 => bucket as u64 ^ 1,
            _ => (bucket as u64).wrapping_sub((distance - 1).wrapping_mul(Self::stride(tag))) & mask,
        }
    }

    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        prefetch(self.words.get().as_ptr().wrapping_add((self.home(hash) as usize) << SLOTS_LOG));
    }

    /// The place of the thing with `hash` that `same` recognises, if it is certain that it is here. If not, it may be somewhere all
    /// the same, and [`find_or_insert`](Self::find_or_insert) will tell.
    pub fn find(&self, hash: u64, mut same: impl FnMut(u64) -> bool) -> Option<u64> {
        match self.search_home(hash, &mut same) {
            Home::Found(place) => Some(place),
            Home::Gap(_) => None,
            Home::Elsewhere => self.find_elsewhere(hash, same),
        }
    }

    /// The rest of [`find`](Self::find), beyond the home bucket.
    #[inline(never)]
    pub fn find_elsewhere(&self, hash: u64, mut same: impl FnMut(u64) -> bool) -> Option<u64> {
        let (home, tag) = (self.home(hash), self.tag(hash));
        for distance in 1..=MOST_DISTANCE {
            let wanted = tag | distance << (64 - DISTANCE_BITS);
            let slots = self.slots_of(self.bucket(home, tag, distance));
            for index in 0..SLOTS {
                let slot = slots[(Self::first_slot(tag) + index) % SLOTS].load(Ordering::Acquire);
                let place = slot & self.place_mask;
                if place == 0 {
                    return None;
                }
                if (slot ^ wanted) & self.tag_mask == 0 && same(place) {
                    return Some(place);
                }
            }
        }
        None
    }

    /// Looks for the thing with `hash` that `same` recognises where nearly all things are.
    #[inline(always)]
    pub fn search_home(&self, hash: u64, mut same: impl FnMut(u64) -> bool) -> Home {
        let (home, tag) = (self.home(hash) as usize, self.tag(hash));
        let slots = self.slots_of(home);
        let first = Self::first_slot(tag) % SLOTS;
        let mut index = first;
        // Written so that it is not unrolled: nearly always the first slot or the second has the answer.
        loop {
            let slot = slots[index].load(Ordering::Acquire);
            let place = slot & self.place_mask;
            // Empty and frozen slots have no place.
            if place == 0 {
                return if slot == EMPTY { Home::Gap(Gap { word: home << SLOTS_LOG | index, filled: tag }) } else { Home::Elsewhere };
            }
            if (slot ^ tag) & self.tag_mask == 0 && same(place) {
                return Home::Found(place);
            }
            index = (index + 1) % SLOTS;
            if index == first {
                return Home::Elsewhere;
            }
        }
    }

    /// Fills the gap that a search for a thing came to with its place; `false` if somebody else was there first.
    #[inline(always)]
    pub fn fill(&self, gap: Gap, place: u64) -> bool {
        let word = &self.slots_of(gap.word >> SLOTS_LOG)[gap.word % SLOTS];
        word.compare_exchange(EMPTY, gap.filled | place, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Looks for the thing with `hash` that `same` recognises by its place, and inserts it at the place `make` gives if there is
    /// none. `make` may be called even if the thing then turns out to be there.
    #[inline]
    pub fn find_or_insert<E>(
        &self,
        hash: u64,
        mut same: impl FnMut(u64) -> bool,
        mut make: impl FnMut() -> Result<u64, E>,
    ) -> Result<Lookup, E> {
        let (home, tag) = (self.home(hash), self.tag(hash));
        let first = Self::first_slot(tag);
        for distance in 0..=MOST_DISTANCE {
            let wanted = tag | distance << (64 - DISTANCE_BITS);
            let slots = self.slots_of(self.bucket(home, tag, distance));
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
                if (slot ^ wanted) & self.tag_mask == 0 {
                    let place = slot & self.place_mask;
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

    /// For a thing whose look-up answered [`Lookup::Full`] although the table is nearly empty, so that growing would not help.
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

    /// An empty table of twice the size.
    fn larger(&self) -> Result<Table, StoreFull> {
        let known = Some(self.known - 1).filter(|&known| known >= LEAST_KNOWN);
        Table::new(self.bucket_bits + 1, self.place_bits, known, self.budget.clone())
    }

    /// Makes a table of twice the size the next one, unless something comes next already.
    pub fn grow(&self) -> Result<(), StoreFull> {
        let mut next = lock(&self.next);
        if next.is_none() {
            *next = Some(Next::Table(Arc::new(self.larger()?)));
            self.announce();
        }
        Ok(())
    }

    /// Makes this the last table, unless a larger one comes next already; says whether it did. Once [`drain`](Self::drain) is through,
    /// nothing is inserted any more.
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

    /// Helps to move everything to the `next` table and returns when it is there. `rehash` gives the hash of the thing at a place.
    pub fn help(&self, next: &Table, rehash: impl Fn(u64) -> u64) {
        self.drain(&self.turn, |visited| {
            let Some((bucket, slot)) = visited else { return true };
            let place = slot & self.place_mask;
            let put = |word: &AtomicU64, filled| word.compare_exchange(EMPTY, filled, Ordering::AcqRel, Ordering::Relaxed).is_ok();
            if !next.insert_moved(self.moved(next, bucket, slot, &rehash), place, put) {
                lock(&next.overflow).push((rehash(place), place));
            }
            true
        });
    }

    /// A table of twice the size with everything in it that is here. Nobody else may use this one meanwhile: without others to heed, a move
    /// takes a third of the time.
    pub fn grown_alone(&self, rehash: impl Fn(u64) -> u64) -> Result<Table, StoreFull> {
        let next = self.larger()?;
        let put = |word: &AtomicU64, filled| {
            word.store(filled, Ordering::Relaxed);
            true
        };
        for bucket in 0..1usize << self.bucket_bits {
            for word in self.slots_of(bucket) {
                let slot = word.load(Ordering::Relaxed);
                let place = slot & self.place_mask;
                if place != 0 && !next.insert_moved(self.moved(&next, Some(bucket), slot, &rehash), place, put) {
                    lock(&next.overflow).push((rehash(place), place));
                }
            }
        }
        for &(hash, place) in lock(&self.overflow).iter() {
            if !next.insert_moved((next.home(hash), next.tag(hash)), place, put) {
                lock(&next.overflow).push((hash, place));
            }
        }
        Ok(next)
    }

    /// Home and tag, in the table of twice the size, of what a slot holds that lies in `bucket`, or in the overflow.
    #[inline(always)]
    fn moved(&self, next: &Table, bucket: Option<usize>, slot: u64, rehash: impl Fn(u64) -> u64) -> (u64, u64) {
        match bucket {
            Some(bucket) if next.known < self.known => {
                let tag = slot & self.tag_mask & (!0 >> DISTANCE_BITS);
                let home = self.home_of(bucket, tag, slot >> (64 - DISTANCE_BITS));
                // The highest bit of the tag becomes the lowest of the home.
                let longer = tag << (DISTANCE_BITS + 1) >> DISTANCE_BITS;
                (home << 1 | tag >> (63 - DISTANCE_BITS), longer & next.tag_mask)
            }
            _ => {
                let hash = rehash(slot & self.place_mask);
                (next.home(hash), next.tag(hash))
            }
        }
    }

    /// Helps to visit all places, and nothing after the last of each block of them. Nothing can be added to a block after its visit.
    pub fn drain_blocks(&self, turn: &Turn, mut visit: impl FnMut(Option<u64>) -> bool) -> bool {
        self.drain(turn, |visited| visit(visited.map(|(_, slot)| slot & self.place_mask)))
    }

    /// Shows `visit` all places, scattered, as long as it answers `true`, while nobody inserts.
    pub fn all(&self, mut visit: impl FnMut(u64) -> bool) -> bool {
        let words = self.words.get();
        let slots = scattered(words.len() as u64).map(|number| words[number as usize].load(Ordering::Acquire));
        let mut places = slots.map(|slot| slot & self.place_mask).filter(|&place| place != 0);
        places.all(&mut visit) && lock(&self.overflow).iter().all(|&(_, place)| visit(place))
    }

    /// Up to `count` places from all over the table.
    pub fn sample(&self, count: usize) -> Vec<u64> {
        let words = self.words.get();
        // A stride without a common factor, so that all slots of a bucket have their turn.
        let stride = (words.len() / (2 * count.max(1))).max(1) | 1;
        let places = words.iter().step_by(stride).map(|word| word.load(Ordering::Acquire));
        places.filter(|&slot| slot != EMPTY && slot != FROZEN).map(|slot| slot & self.place_mask).take(count).collect()
    }

    /// Freezes all empty slots and visits the others, with their bucket unless they are in the overflow; and nothing, after each block.
    fn drain(&self, turn: &Turn, mut visit: impl FnMut(Option<(Option<usize>, u64)>) -> bool) -> bool {
        let buckets = 1usize << self.bucket_bits;
        turn.share(buckets.div_ceil(BLOCK), |block| {
            if block == 0 && !lock(&self.overflow).iter().all(|&(_, place)| visit(Some((None, place)))) {
                return false;
            }
            let first = block * BLOCK;
            let last = (first + BLOCK).min(buckets);
            (first..last).all(|bucket| self.freeze(bucket, |slot| visit(Some((Some(bucket), slot))))) && visit(None)
        })
    }

    fn freeze(&self, bucket: usize, mut visit: impl FnMut(u64) -> bool) -> bool {
        for word in self.slots_of(bucket) {
            let mut slot = word.load(Ordering::Acquire);
            if slot == EMPTY {
                slot = match word.compare_exchange(EMPTY, FROZEN, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => FROZEN,
                    Err(other) => other,
                };
            }
            if slot != FROZEN && !visit(slot) {
                return false;
            }
        }
        true
    }

    /// Inserts what is known not to be there, while the table is visible to movers only; `false` if there is no room within reach. `put` fills
    /// an empty slot, unless another mover was there first.
    #[inline(always)]
    fn insert_moved(&self, (home, tag): (u64, u64), place: u64, put: impl Fn(&AtomicU64, u64) -> bool) -> bool {
        let first = Self::first_slot(tag) % SLOTS;
        for distance in 0..=MOST_DISTANCE {
            let filled = tag | distance << (64 - DISTANCE_BITS) | place;
            let slots = self.slots_of(self.bucket(home, tag, distance));
            let mut index = first;
            loop {
                let word = &slots[index];
                if word.load(Ordering::Relaxed) == EMPTY && put(word, filled) {
                    return true;
                }
                index = (index + 1) % SLOTS;
                if index == first {
                    break;
                }
            }
        }
        false
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.budget.give_back(Self::bytes_of(self.bucket_bits));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The thing at place *p* is *p* itself, and a few hundred of them share each hash: more than sixteen buckets hold.
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
        let mut table = Arc::new(Table::new(FIRST_BUCKET_BITS, 20, None, budget).unwrap());
        assert!((1..1000).all(|place| insert(&table, place) == Lookup::Inserted));
        for alone in [true, false, true] {
            table = if alone {
                Arc::new(table.grown_alone(hash).unwrap())
            } else {
                table.grow().unwrap();
                let Some(Next::Table(next)) = table.next() else { panic!("there is a next table") };
                table.help(&next, hash);
                next
            };
            assert!((1..1000).all(|place| insert(&table, place) == Lookup::Found(place)), "alone: {alone}");
        }
    }
}
