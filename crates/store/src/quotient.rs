//! A set of keys of up to 56 bits in little more memory than the information in the keys: a
//! quotienting hash table with bit-packed buckets.
//!
//! Keys are scrambled by a bijection ([`Scramble`]). The top of a key chooses the home bucket and
//! is therefore not stored. Only the rest is stored, with four bits for the distance from home (the
//! idea is in Cleary, "Compact hash tables using bidirectional linear probing", 1984; the distance
//! replaces his bidirectional bookkeeping). A bucket is half a cache line: a header of eight bits,
//! then as many slots of the table's width as fit. The second bucket of a probe sequence is the
//! other half of the line. With more buckets fewer bits remain to be stored, so the slots get
//! narrower as the table grows. A large table grows by steps of 3/2 and 4/3, so that it is never
//! much emptier than necessary.
//!
//! *Sharing.* Readers never wait: slots are only added, and the header that counts them is written
//! last. A writer locks the header for the few instructions it takes to add a slot. Taking the lock
//! also proves that nothing was added since the writer searched the bucket, so no bucket is
//! searched twice. Growing freezes one bucket after the other, as in [`table`](crate::table), and
//! all workers help in the same way.

use crate::budget::Budget;
use crate::memory::{Words, prefetch};
use crate::permutation::permuted;
use crate::shared_pass::SharedPass;
use crate::sync::{Arc, AtomicU64, Ordering, spin_loop, yield_now};
use contract::StoreFull;

/// The most bits a key may have.
pub(crate) const MOST_KEY_BITS: u32 = 56;

const WORDS: usize = 4;
const BUCKET_BITS: u32 = 64 * WORDS as u32;
const HEADER_BITS: u32 = 8;
const COUNT: u64 = 0x3f;
const LATCH: u64 = 0x40;
const FROZEN: u64 = 0x80;
const DISTANCE_BITS: u32 = 4;
const MOST_DISTANCE: u64 = if cfg!(loom) { 1 } else { (1 << DISTANCE_BITS) - 1 };
/// The fewest bits of a scrambled key that are stored. With fewer, a bucket would have more slots
/// than its header can count.
const LEAST_REST_BITS: u32 = 4;
/// The number of buckets that are moved at a time.
const BLOCK: usize = if cfg!(loom) { 1 } else { 1024 };
/// Tables smaller than this many bytes double when they grow.
const SMALL: u64 = 4 << 20;
const FIRST_STEP: u32 = if cfg!(loom) { 2 } else { 18 };

const FACTORS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03];
const INVERSES: [u64; 2] = [inverse(FACTORS[0]), inverse(FACTORS[1])];

/// The inverse of an odd number modulo 2⁶⁴ (Newton's iteration doubles the correct bits).
const fn inverse(a: u64) -> u64 {
    let mut x = a;
    let mut round = 0;
    while round < 5 {
        x = x.wrapping_mul(2u64.wrapping_sub(a.wrapping_mul(x)));
        round += 1;
    }
    x
}

/// A bijection on numbers of a given number of bits that removes patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scramble {
    bits: u32,
}

impl Scramble {
    pub fn new(bits: u32) -> Scramble {
        Scramble { bits: bits.clamp(1, MOST_KEY_BITS) }
    }

    #[inline(always)]
    fn mask(self) -> u64 {
        (1 << self.bits) - 1
    }

    #[inline(always)]
    pub fn on(self, key: u64) -> u64 {
        let (mask, half) = (self.mask(), self.bits.div_ceil(2));
        let mut x = key.wrapping_mul(FACTORS[0]) & mask;
        x ^= x >> half;
        x = x.wrapping_mul(FACTORS[1]) & mask;
        x ^ (x >> half)
    }

    #[inline(always)]
    pub fn off(self, x: u64) -> u64 {
        let (mask, half) = (self.mask(), self.bits.div_ceil(2));
        // A shift by at least half the bits is its own inverse.
        let mut key = (x ^ (x >> half)).wrapping_mul(INVERSES[1]) & mask;
        key ^= key >> half;
        key.wrapping_mul(INVERSES[0]) & mask
    }
}

/// The numbers that follow from the width of the keys and the size of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    step: u32,
    /// The number of bits by which keys are shifted left, if they have too few to select all
    /// buckets.
    lift: u32,
    buckets: u64,
    /// `buckets` is this factor (1 or 3) times a power of two.
    factor: u64,
    /// The bucket is the shifted key times the factor, shifted right by this.
    shift: u32,
    /// The number of bits of a slot.
    width: u32,
    slots: u64,
}

impl Geometry {
    /// Table number `step` for keys of `key_bits` bits; each step is larger by a half or a third
    /// than the one before.
    fn new(key_bits: u32, step: u32) -> Geometry {
        let (factor, log) = if step.is_multiple_of(2) { (1, step / 2) } else { (3, (step - 3) / 2) };
        let log_up = step.div_ceil(2);
        let lift = (log_up + LEAST_REST_BITS).saturating_sub(key_bits);
        let key_bits = key_bits + lift;
        let rest_bits = (key_bits - step / 2).max(LEAST_REST_BITS);
        let width = rest_bits + DISTANCE_BITS;
        let slots = u64::from((BUCKET_BITS - HEADER_BITS) / width);
        Geometry { step, lift, buckets: factor << log, factor, shift: key_bits - log, width, slots }
    }

    /// The smallest table for `keys` keys of `key_bits` bits that is not fuller than a new table
    /// should be.
    pub fn for_keys(key_bits: u32, keys: u64, least_step: u32) -> Geometry {
        let mut step = FIRST_STEP.max(least_step);
        loop {
            let geometry = Geometry::new(key_bits, step);
            if keys * 5 <= geometry.threshold() * 4 {
                return geometry;
            }
            step += 1;
        }
    }

    pub fn step(&self) -> u32 {
        self.step
    }

    /// The step to grow to. Small tables double, because moving their keys costs more than the
    /// memory is worth.
    pub fn next_step(&self) -> u32 {
        self.step + if self.bytes() < SMALL { 2 } else { 1 }
    }

    pub fn bytes(&self) -> u64 {
        self.buckets * WORDS as u64 * 8
    }

    /// The number of slots.
    pub fn capacity(&self) -> u64 {
        self.buckets * self.slots
    }

    /// The number of keys at which the table should grow. The more slots a bucket has, the more
    /// evenly buckets fill.
    pub fn threshold(&self) -> u64 {
        self.capacity() * (74 + self.slots.min(30) / 2) / 100
    }

    /// The home bucket and the rest of a key.
    #[inline(always)]
    fn split(&self, key: u64) -> (u64, u64) {
        let x = key << self.lift;
        let home = (x * self.factor) >> self.shift;
        (home, x - self.base(home))
    }

    /// The smallest shifted key whose home is bucket `home`.
    #[inline(always)]
    fn base(&self, home: u64) -> u64 {
        let start = home << self.shift;
        if self.factor == 1 { start } else { start.div_ceil(3) }
    }

    fn offset(&self, rest: u64, distance: u64) -> u64 {
        (distance - 1) * (rest.wrapping_mul(FACTORS[0]) >> 40 | 1) % self.buckets
    }

    #[inline(always)]
    fn bucket(&self, home: u64, rest: u64, distance: u64) -> u64 {
        match distance {
            0 => home,
            1 => home ^ 1,
            _ => (home + self.offset(rest, distance)) % self.buckets,
        }
    }

    #[inline(always)]
    fn home_of(&self, bucket: u64, rest: u64, distance: u64) -> u64 {
        match distance {
            0 => bucket,
            1 => bucket ^ 1,
            _ => (bucket + self.buckets - self.offset(rest, distance)) % self.buckets,
        }
    }
}

/// The answer to an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The key was there already.
    Found,
    /// The key was inserted.
    Inserted,
    /// The table is being replaced.
    Frozen,
    /// There is no room within reach: the table must grow.
    Full,
}

#[derive(Debug)]
pub(crate) struct QuotientTable {
    words: Words,
    geometry: Geometry,
    pattern: Pattern,
    budget: Arc<Budget>,
}

/// The words of a bucket.
type Image = [u64; WORDS];
/// The words of a bucket followed by a zero, which makes reading across words simple.
type Bucket = [u64; WORDS + 1];

/// The positions of the slots of a bucket, for comparing all of them at once. A bucket is a number
/// of 256 bits, and arithmetic on it acts on each slot, without the unpredictable branches of a
/// loop (Lamport, "Multiple byte processing with full-word instructions", 1975).
#[derive(Debug)]
struct Pattern {
    /// The lowest bit of each slot.
    lows: Image,
    /// The highest bits of the first *n* slots, for each *n*.
    highs: Vec<Image>,
}

impl Pattern {
    fn new(geometry: &Geometry) -> Pattern {
        let (mut lows, mut high) = ([0; WORDS], [0; WORDS]);
        let mut highs = vec![high];
        let set = |image: &mut Image, bit: u32| image[bit as usize / 64] |= 1 << (bit % 64);
        for slot in 0..geometry.slots as u32 {
            let bit = HEADER_BITS + slot * geometry.width;
            set(&mut lows, bit);
            set(&mut high, bit + geometry.width - 1);
            highs.push(high);
        }
        // There is an entry for every value of the header.
        highs.resize(COUNT as usize + 1, high);
        Pattern { lows, highs }
    }

    /// A bucket all of whose slots hold `value`.
    #[inline(always)]
    fn full_of(&self, value: u64) -> Image {
        let mut image = [0; WORDS];
        let mut above = 0;
        for (word, &low) in image.iter_mut().zip(&self.lows) {
            // Slots do not overlap, so there is no carry.
            let product = u128::from(value) * u128::from(low);
            *word = product as u64 | above;
            above = (product >> 64) as u64;
        }
        image
    }

    /// Whether one of the first `count` slots of a bucket is equal to its slot in `other`.
    #[inline(always)]
    fn agree(&self, bucket: &Image, other: &Image, count: u64) -> bool {
        let highs = &self.highs[(count & COUNT) as usize];
        let (mut found, mut borrow) = (0, false);
        for word in 0..WORDS {
            let difference = bucket[word] ^ other[word];
            // Subtracting one from each slot borrows from the next slot only if the slot is zero.
            // Slots above the first such slot do not matter.
            let (less, first) = difference.overflowing_sub(self.lows[word]);
            let (less, second) = less.overflowing_sub(borrow.into());
            borrow = first | second;
            found |= less & !difference & highs[word];
        }
        found != 0
    }
}

#[inline(always)]
fn slot(bucket: &Bucket, bit: u32) -> u64 {
    let (word, shift) = (bit as usize / 64 % WORDS, bit % 64);
    bucket[word] >> shift | (bucket[word + 1] << 1) << (63 - shift)
}

impl QuotientTable {
    pub fn new(geometry: Geometry, budget: Arc<Budget>) -> Result<QuotientTable, StoreFull> {
        budget.take(geometry.bytes())?;
        match Words::new(geometry.buckets as usize * WORDS) {
            Some(words) => Ok(QuotientTable { words, geometry, pattern: Pattern::new(&geometry), budget }),
            None => {
                budget.give_back(geometry.bytes());
                Err(StoreFull { needed: budget.used() + geometry.bytes(), budget: budget.used() })
            }
        }
    }

    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    #[inline(always)]
    fn bucket(&self, number: u64) -> &[AtomicU64; WORDS] {
        debug_assert!(number < self.geometry.buckets);
        // SAFETY: there are `WORDS` words for each of the `buckets` buckets. `split`, the
        // remainders in `bucket` and the loops over all buckets give numbers below `buckets`. The
        // other half `home ^ 1` exists because the number of buckets is even.
        unsafe { self.words.some(number as usize * WORDS) }
    }

    /// A bucket at some moment, header included. All slots that its header counts are complete.
    #[inline(always)]
    fn image(bucket: &[AtomicU64; WORDS]) -> Image {
        let first = bucket[0].load(Ordering::Acquire);
        [first, bucket[1].load(Ordering::Relaxed), bucket[2].load(Ordering::Relaxed), bucket[3].load(Ordering::Relaxed)]
    }

    /// Like `image`, followed by a zero.
    fn snapshot(bucket: &[AtomicU64; WORDS]) -> Bucket {
        let mut words = [0; WORDS + 1];
        words[..WORDS].copy_from_slice(&Self::image(bucket));
        words
    }

    #[inline(always)]
    pub fn prefetch(&self, key: u64) {
        let (home, _) = self.geometry.split(key);
        prefetch(self.words.get().as_ptr().wrapping_add(home as usize * WORDS));
    }

    /// Inserts `key` unless it is there already.
    #[inline]
    pub fn insert(&self, key: u64) -> Entry {
        let (home, rest) = self.geometry.split(key);
        match self.insert_in(home, rest << DISTANCE_BITS) {
            Some(entry) => entry,
            None => self.insert_beyond(home, rest),
        }
    }

    /// Inserts a slot into a bucket; returns `None` if the bucket is full of other slots.
    #[inline(always)]
    fn insert_in(&self, bucket: u64, wanted: u64) -> Option<Entry> {
        let g = &self.geometry;
        let bucket = self.bucket(bucket);
        let other = self.pattern.full_of(wanted);
        loop {
            // All slots the header counts are complete.
            let image = Self::image(bucket);
            let count = image[0] & COUNT;
            if self.pattern.agree(&image, &other, count) {
                return Some(Entry::Found);
            }
            if count == g.slots {
                return None;
            }
            if image[0] & FROZEN != 0 {
                return Some(Entry::Frozen);
            }
            if image[0] & LATCH == 0 && self.add(bucket, image[0], HEADER_BITS + count as u32 * g.width, wanted) {
                return Some(Entry::Inserted);
            }
            pause();
        }
    }

    /// The insertion into the other buckets of the probe sequence.
    #[inline(never)]
    fn insert_beyond(&self, home: u64, rest: u64) -> Entry {
        let mut entries = (1..=MOST_DISTANCE)
            .map(|distance| self.insert_in(self.geometry.bucket(home, rest, distance), rest << DISTANCE_BITS | distance));
        entries.find_map(|entry| entry).unwrap_or(Entry::Full)
    }

    /// Inserts a key of the table that this one replaces. The key is not there and no other worker
    /// inserts it, so there is nothing to compare it with. Returns `false` if there is no room
    /// within reach.
    pub fn insert_moved(&self, key: u64) -> bool {
        let g = &self.geometry;
        let (home, rest) = g.split(key);
        for distance in 0..=MOST_DISTANCE {
            let bucket = self.bucket(g.bucket(home, rest, distance));
            loop {
                let first = bucket[0].load(Ordering::Acquire);
                let count = first & COUNT;
                if count == g.slots {
                    break;
                }
                let bit = HEADER_BITS + count as u32 * g.width;
                if first & LATCH == 0 && self.add(bucket, first, bit, rest << DISTANCE_BITS | distance) {
                    return true;
                }
                pause();
            }
        }
        false
    }

    /// Whether `key` is there, as far as this is known without waiting.
    pub fn contains(&self, key: u64) -> bool {
        let g = &self.geometry;
        let (home, rest) = g.split(key);
        for distance in 0..=MOST_DISTANCE {
            let image = Self::image(self.bucket(g.bucket(home, rest, distance)));
            let count = image[0] & COUNT;
            if self.pattern.agree(&image, &self.pattern.full_of(rest << DISTANCE_BITS | distance), count) {
                return true;
            }
            if count < g.slots {
                return false;
            }
        }
        false
    }

    /// Adds a slot to a bucket whose first word was `seen`, unless the bucket has changed since.
    #[inline]
    fn add(&self, bucket: &[AtomicU64; WORDS], seen: u64, bit: u32, value: u64) -> bool {
        if bucket[0].compare_exchange(seen, seen | LATCH, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        // From here on no other worker writes to this bucket.
        let (word, shift) = (bit as usize / 64, bit % 64);
        let (low, high) = (value << shift, (value >> 1) >> (63 - shift));
        let mut first = seen + 1;
        if word == 0 {
            first |= low;
        } else {
            bucket[word].store(bucket[word].load(Ordering::Relaxed) | low, Ordering::Relaxed);
        }
        if high != 0 {
            bucket[word + 1].store(bucket[word + 1].load(Ordering::Relaxed) | high, Ordering::Relaxed);
        }
        bucket[0].store(first, Ordering::Release);
        true
    }

    /// Helps to visit all keys in batches. Nothing can be added to a bucket after its visit.
    /// [`SharedPass::share`] describes the result.
    pub fn drain(&self, pass: &SharedPass, mut visit: impl FnMut(&[u64]) -> bool) -> bool {
        let buckets = self.geometry.buckets;
        let mut keys = Vec::new();
        pass.share((buckets as usize).div_ceil(BLOCK), |block| {
            let first = (block * BLOCK) as u64;
            let last = (first + BLOCK as u64).min(buckets);
            for bucket in first..last {
                self.freeze(bucket, &mut keys);
                if keys.len() >= 64 || bucket + 1 == last {
                    if !visit(&keys) {
                        return false;
                    }
                    keys.clear();
                }
            }
            true
        })
    }

    /// Shows `visit` all keys, permuted, as long as it returns `true`. No worker inserts at the
    /// same time.
    pub fn all(&self, mut visit: impl FnMut(u64) -> bool) -> bool {
        let mut keys = Vec::new();
        permuted(self.geometry.buckets).all(|number| {
            keys.clear();
            self.keys(number, &Self::snapshot(self.bucket(number)), &mut keys);
            keys.iter().all(|&key| visit(key))
        })
    }

    /// Some keys, from all over the table.
    pub fn sample(&self, buckets: u64) -> Vec<u64> {
        let stride = (self.geometry.buckets / buckets.max(1)).max(1);
        let mut keys = Vec::new();
        for number in (0..self.geometry.buckets).step_by(stride as usize) {
            self.keys(number, &Self::snapshot(self.bucket(number)), &mut keys);
        }
        keys
    }

    /// Freezes a bucket and appends its keys.
    fn freeze(&self, number: u64, keys: &mut Vec<u64>) {
        let bucket = self.bucket(number);
        loop {
            let seen = bucket[0].load(Ordering::Relaxed);
            if seen & LATCH == 0 && bucket[0].compare_exchange(seen, seen | FROZEN, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                break;
            }
            pause();
        }
        self.keys(number, &Self::snapshot(bucket), keys);
    }

    /// Appends the keys of a bucket.
    fn keys(&self, number: u64, words: &Bucket, keys: &mut Vec<u64>) {
        let g = &self.geometry;
        let mut bit = HEADER_BITS;
        for _ in 0..words[0] & COUNT {
            let slot = slot(words, bit) & ((1 << g.width) - 1);
            let (rest, distance) = (slot >> DISTANCE_BITS, slot & ((1 << DISTANCE_BITS) - 1));
            let home = g.home_of(number, rest, distance);
            keys.push((g.base(home) + rest) >> g.lift);
            bit += g.width;
        }
    }
}

fn pause() {
    if cfg!(loom) { yield_now() } else { spin_loop() }
}

impl Drop for QuotientTable {
    fn drop(&mut self) {
        self.budget.give_back(self.geometry.bytes());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use contract::testing::Random;
    use std::collections::HashSet;

    fn geometries() -> impl Iterator<Item = (u32, Geometry)> {
        (1..=MOST_KEY_BITS).flat_map(|bits| (FIRST_STEP..FIRST_STEP + 9).map(move |step| (bits, Geometry::new(bits, step))))
    }

    #[test]
    fn scrambling_and_splitting_are_undone() {
        let mut random = Random(5);
        for (bits, g) in geometries() {
            for _ in 0..200 {
                let scramble = Scramble::new(bits);
                let key = random.number() & scramble.mask();
                let x = scramble.on(key);
                assert!(x <= scramble.mask());
                assert_eq!(scramble.off(x), key, "{bits} bits");
                let (home, rest) = g.split(x);
                assert!(home < g.buckets && rest < 1 << (g.width - DISTANCE_BITS), "{g:?} {home} {rest}");
                assert_eq!((g.base(home) + rest) >> g.lift, x, "{g:?}");
                for distance in 0..=MOST_DISTANCE {
                    let bucket = g.bucket(home, rest, distance);
                    assert!(bucket < g.buckets);
                    assert_eq!(g.home_of(bucket, rest, distance), home);
                }
            }
        }
    }

    #[test]
    fn a_table_is_a_set_up_to_its_threshold() {
        for bits in [20, 33, 47, 56] {
            let table = QuotientTable::new(Geometry::new(bits, FIRST_STEP + 1), Arc::new(Budget::new(u64::MAX))).unwrap();
            let mut random = Random(bits.into());
            let mut reference = HashSet::new();
            while (reference.len() as u64) < table.geometry().threshold() {
                let key = random.number() & ((1 << bits) - 1);
                let expected = if reference.insert(key) { Entry::Inserted } else { Entry::Found };
                assert_eq!(table.insert(key), expected, "{bits} bits, {} of {}", reference.len(), table.geometry().capacity());
            }
            assert!(reference.iter().all(|&key| table.insert(key) == Entry::Found));
            let mut moved = HashSet::new();
            assert!(table.sample(10).iter().all(|key| reference.contains(key)));
            assert!(table.drain(&SharedPass::new(), |keys| keys.iter().all(|&key| moved.insert(key))));
            assert_eq!(moved, reference);
            let next =
                QuotientTable::new(Geometry::for_keys(bits, reference.len() as u64, FIRST_STEP + 2), Arc::new(Budget::new(u64::MAX)))
                    .unwrap();
            assert!(moved.iter().all(|&key| next.insert_moved(key)));
            assert!(reference.iter().all(|&key| next.contains(key) && next.insert(key) == Entry::Found));
            // Frozen for new keys, still readable for old ones.
            assert!(reference.iter().all(|&key| table.insert(key) == Entry::Found));
        }
    }

    #[test]
    fn slots_are_compared_at_once_as_they_are_one_by_one() {
        let mut random = Random(8);
        for (_, g) in geometries() {
            let pattern = Pattern::new(&g);
            for _ in 0..200 {
                let mut bucket: Bucket = std::array::from_fn(|word| if word < WORDS { random.number() } else { 0 });
                let mask = (1 << g.width) - 1;
                let count = random.below(g.slots + 1);
                // Values with few bits are often equal, and so are the bits after the last slot.
                if random.below(2) == 0 {
                    let rare = random.number() & random.number() & random.number() & random.number();
                    bucket.iter_mut().for_each(|word| *word &= rare);
                }
                let any = HEADER_BITS + random.below(g.slots) as u32 * g.width;
                let value = if random.below(2) == 0 { slot(&bucket, any) & mask } else { random.below(4) };
                let expected = (0..count as u32).any(|number| slot(&bucket, HEADER_BITS + number * g.width) & mask == value);
                let image: Image = std::array::from_fn(|word| bucket[word]);
                assert_eq!(pattern.agree(&image, &pattern.full_of(value), count), expected, "{g:?} {bucket:x?} {value:x} {count}");
            }
        }
    }

    #[test]
    fn tables_get_thinner_as_they_grow() {
        for bits in [40, 50] {
            let bytes_per_key: Vec<f64> = [100_000u64, 10_000_000, 1_000_000_000]
                .iter()
                .map(|&keys| Geometry::for_keys(bits, keys, 0).bytes() as f64 / keys as f64)
                .collect();
            assert!(bytes_per_key.windows(2).all(|pair| pair[0] > pair[1]), "{bytes_per_key:?}");
        }
        assert_eq!(INVERSES[0].wrapping_mul(FACTORS[0]), 1);
        assert_eq!(INVERSES[1].wrapping_mul(FACTORS[1]), 1);
    }
}
