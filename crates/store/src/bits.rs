//! Bitstate hashing: the store keeps a few bits of each state in an array of fixed size, and
//! nothing else.
//!
//! This is Holzmann's supertrace (1987), with the `k` bits of a state all in one cache line, so
//! that a look-up costs one cache miss whatever `k` is (Putze, Sanders, Singler, "Cache-, hash- and
//! space-efficient Bloom filters", 2007). The array never grows and never refuses a state. As it
//! fills, more and more new states are taken for known ones. Their number is estimated from the
//! bits that are set. Another run with another seed omits other states.

use crate::hash::hash_seeded;
use crate::memory::{Words, prefetch};
use crate::save_format::{self, Fields, Next};
use crate::sync::{AtomicU64, Ordering, wait_until};
use contract::{Budgeted, Inserted, NotRestored, Saveable, StateId, Store, StoreFull, StoreWorker};

const LINE_WORDS: usize = 8;
/// The last bit of a line belongs to no state: it is a lock for the worker that sets bits in the
/// line. This takes two atomic operations instead of one for each bit, and if two workers insert
/// the same state, exactly one finds it new.
const HELD: u64 = 1 << 63;
const LINE_BITS: u64 = 511;
const LINE_BYTES: u64 = 64;
/// The most lines that are saved together.
const SAVED_LINES: usize = 512;
/// The most lines that are read to estimate how often states collide: 4 MiB.
const SAMPLED_LINES: usize = 1 << 16;

/// A few bits of each state. Not exact, not readable, of fixed size.
#[derive(Debug)]
pub struct Bits {
    /// `None` if the system gave no memory.
    words: Option<Words>,
    lines: u64,
    functions: u32,
    seed: u64,
    /// The most bytes that a restored array may have.
    most: u64,
    len: AtomicU64,
    /// The number of bits that are set.
    ones: AtomicU64,
}

/// How well a bit array was used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BitsReport {
    /// Bits of the array per state found.
    pub hash_factor: f64,
    /// The share of bits set.
    pub fill: f64,
    /// The probability that the next new state would be taken for a known one.
    pub collision: f64,
    /// The estimated share of the reached states that were recognised as new.
    pub coverage: f64,
}

impl Bits {
    /// An array of about `bytes` bytes (a multiple of a cache line), with `functions` bits per
    /// state (1 to 8). Each `seed` gives different hash functions.
    pub fn new(bytes: u64, functions: u32, seed: u64) -> Self {
        let lines = (bytes / LINE_BYTES).max(1);
        let words = usize::try_from(lines).ok().and_then(|lines| Words::new(lines.checked_mul(LINE_WORDS)?));
        Bits {
            words,
            lines,
            functions: functions.clamp(1, 8),
            seed,
            most: lines * LINE_BYTES,
            len: AtomicU64::new(0),
            ones: AtomicU64::new(0),
        }
    }

    /// Allows a restored array to have up to `bytes` bytes, even if a new one would be smaller.
    pub fn restored_within(self, bytes: u64) -> Self {
        Bits { most: self.most.max(bytes), ..self }
    }

    /// The number of bits set for each state.
    pub fn functions(&self) -> u32 {
        self.functions
    }

    /// Estimates the omitted states from the bits that are set. Reading the whole of a large array
    /// takes seconds, so only some lines are read. Hashes spread states evenly, and this many lines
    /// give the rate of collisions with an error of one in a hundred.
    pub fn report(&self) -> BitsReport {
        let words = self.words.as_ref().map_or(&[][..], Words::get);
        let functions = self.functions as i32;
        let lines = words.len() / LINE_WORDS;
        let apart = lines.div_ceil(SAMPLED_LINES).max(1);
        let (mut sampled, mut collision) = (0, 0.0);
        for line in words.chunks(LINE_WORDS).step_by(apart) {
            let set: u32 = line.iter().map(|word| word.load(Ordering::Relaxed).count_ones()).sum();
            sampled += 1;
            collision += (f64::from(set) / LINE_BITS as f64).powi(functions);
        }
        let bits = lines.max(1) as f64 * LINE_BITS as f64;
        let collision = collision / f64::from(sampled.max(1));
        BitsReport {
            hash_factor: bits / (self.len() as f64).max(1.0),
            fill: self.ones.load(Ordering::Relaxed) as f64 / bits,
            collision,
            // The array filled evenly from empty to its present state, and the rate of collisions
            // grew with the power of the number of functions.
            coverage: 1.0 - collision / f64::from(functions + 1),
        }
    }
}

impl Store for Bits {
    const EXACT: bool = false;
    const STABLE_NAMES: bool = false;
    type Worker<'s> = BitsWorker<'s>;

    fn worker(&self) -> BitsWorker<'_> {
        BitsWorker { store: self, inserted: 0, ones: 0 }
    }

    fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    fn omission(&self) -> f64 {
        let report = self.report();
        // The probability that at least one state was omitted, at the average rate of collisions.
        1.0 - report.coverage.powf(self.len() as f64)
    }

    crate::roles::budgeted_and_saveable!();
}

impl Budgeted for Bits {
    fn bytes(&self) -> u64 {
        self.words.as_ref().map_or(0, |words| words.get().len() as u64 * 8)
    }
}

impl Saveable for Bits {
    fn own_form(&self) -> Option<&'static str> {
        Some("bits")
    }

    /// Writes the lines that are not empty: each run of adjacent lines follows its position.
    fn save(&self, states: u64, write: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        if !write(&save_format::numbers([self.lines, self.functions.into(), self.seed, states])) {
            return false;
        }
        let words = self.words.as_ref().map_or(&[][..], Words::get);
        let mut row = Vec::new();
        for (number, line) in words.chunks(LINE_WORDS).enumerate() {
            let empty = line.iter().all(|word| word.load(Ordering::Relaxed) == 0);
            let full = row.len() as u64 >= SAVED_LINES as u64 * LINE_BYTES;
            if (empty || full) && !row.is_empty() {
                if !write(&row) {
                    return false;
                }
                row.clear();
            }
            if !empty {
                if row.is_empty() {
                    row.extend((number as u64).to_le_bytes());
                }
                row.extend(line.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()));
            }
        }
        row.is_empty() || write(&row)
    }

    fn restore(&mut self, next: Next<'_>) -> Result<(), NotRestored> {
        let [lines, functions, seed, states] = save_format::head(next)?;
        if lines == 0 || !(1..=8).contains(&functions) {
            return Err(NotRestored::Malformed);
        }
        let (needed, budget) = (lines.saturating_mul(LINE_BYTES), self.most);
        if needed > budget {
            return Err(StoreFull { needed, budget }.into());
        }
        // The old array is freed before the new one is allocated.
        self.words = None;
        *self = Bits::new(needed, functions as u32, seed).restored_within(budget);
        self.len = AtomicU64::new(states);
        let words = self.words.as_ref().ok_or(StoreFull { needed, budget: 0 })?.get();
        let mut piece = Vec::new();
        let mut ones = 0;
        while next(&mut piece) {
            let mut fields = Fields(&piece);
            let first = usize::try_from(fields.number()?).ok().and_then(|line| line.checked_mul(LINE_WORDS));
            let mut lines = first.and_then(|first| words.get(first..)).ok_or(NotRestored::Malformed)?.chunks(LINE_WORDS);
            while !fields.is_empty() {
                let line = lines.next().ok_or(NotRestored::Malformed)?;
                for word in line {
                    let bits = fields.number()?;
                    ones += u64::from(bits.count_ones());
                    word.store(bits, Ordering::Relaxed);
                }
                // A line that was saved while locked would never be unlocked.
                if line[LINE_WORDS - 1].load(Ordering::Relaxed) & HELD != 0 {
                    return Err(NotRestored::Malformed);
                }
            }
        }
        self.ones = AtomicU64::new(ones);
        Ok(())
    }
}

/// One worker's access to a [`Bits`] store.
#[derive(Debug)]
pub struct BitsWorker<'s> {
    store: &'s Bits,
    inserted: u64,
    ones: u64,
}

impl BitsWorker<'_> {
    /// The line of a hash, and a second hash that chooses bits in it.
    #[inline(always)]
    fn line(&self, hash: u64) -> (usize, u64) {
        let product = u128::from(hash) * u128::from(self.store.lines);
        // The low half holds the part of the hash that the line does not determine.
        let rest = product as u64;
        ((product >> 64) as usize, (rest ^ (rest >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The line of a hash, and its bits as words and masks.
    #[inline(always)]
    fn bits<'w>(&self, words: &'w Words, hash: u64) -> (&'w [AtomicU64], impl Iterator<Item = (&'w AtomicU64, u64)> + Clone + use<'w>) {
        let (line, mut choice) = self.line(hash);
        let line = &words.get()[line * LINE_WORDS..][..LINE_WORDS];
        let bits = (0..self.store.functions).map(move |_| {
            let bit = (choice >> 55).min(LINE_BITS - 1);
            choice = choice.rotate_left(9).wrapping_mul(0xd1b5_4a32_d192_ed03);
            (&line[bit as usize / 64], 1 << (bit % 64))
        });
        (line, bits)
    }
}

/// Whether all these bits are set.
#[inline(always)]
fn all_set<'w>(mut bits: impl Iterator<Item = (&'w AtomicU64, u64)>) -> bool {
    bits.all(|(word, mask)| word.load(Ordering::Relaxed) & mask != 0)
}

impl StoreWorker for BitsWorker<'_> {
    #[inline]
    fn hash(&mut self, state: &[u8]) -> u64 {
        hash_seeded(state, self.store.seed)
    }

    #[inline]
    fn prefetch(&self, hash: u64) {
        if let Some(words) = &self.store.words {
            prefetch(words.get().as_ptr().wrapping_add(self.line(hash).0 * LINE_WORDS));
        }
    }

    fn insert(&mut self, hash: u64, _: &[u8]) -> Result<Inserted, StoreFull> {
        let Some(words) = &self.store.words else {
            return Err(StoreFull { needed: self.store.lines.saturating_mul(64), budget: 0 });
        };
        let (line, bits) = self.bits(words, hash);
        let mut new = false;
        if !all_set(bits.clone()) {
            let last = &line[LINE_WORDS - 1];
            wait_until(|| last.fetch_or(HELD, Ordering::Acquire) & HELD == 0);
            for (word, mask) in bits {
                let before = word.load(Ordering::Relaxed);
                let unset = before & mask == 0;
                new |= unset;
                self.ones += u64::from(unset);
                word.store(before | mask, Ordering::Relaxed);
            }
            last.fetch_and(!HELD, Ordering::Release);
        }
        self.inserted += u64::from(new);
        Ok(Inserted { id: StateId(hash), new })
    }

    fn find(&mut self, hash: u64, _: &[u8]) -> Option<StateId> {
        let words = self.store.words.as_ref()?;
        all_set(self.bits(words, hash).1).then_some(StateId(hash))
    }

    fn keeps(&self, _: StateId) -> bool {
        false
    }

    fn read(&mut self, _: StateId, _: &mut Vec<u8>) -> bool {
        false
    }
}

impl Drop for BitsWorker<'_> {
    fn drop(&mut self) {
        self.store.len.fetch_add(self.inserted, Ordering::Relaxed);
        self.store.ones.fetch_add(self.ones, Ordering::Relaxed);
    }
}
