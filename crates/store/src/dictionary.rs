//! A shared dictionary from 64-bit values to small dense numbers and back, for the leaves and inner
//! nodes of compressed states.
//!
//! There are few values but very many look-ups, so the two are treated differently. A look-up takes
//! no lock: it probes an index that the worker holds, which may be out of date but is never wrong,
//! because entries are only added. After a miss the worker takes the mutex, looks again in the
//! newest index, and adds the value. Numbers are dense, in order of arrival, and never change.

use crate::budget::Budget;
use crate::memory::Words;
use crate::sync::{Arc, AtomicU64, Mutex, Ordering, lock};
use contract::StoreFull;
use std::sync::OnceLock;

const FIRST_SLOTS: usize = 64;
const FIRST_SEGMENT: usize = 64;
const SEGMENTS: usize = 26;

/// The number of a value.
pub(crate) type Id = u32;

#[derive(Debug)]
pub(crate) struct Dictionary {
    /// Segment `n` holds `FIRST_SEGMENT << n` values and never moves.
    segments: [OnceLock<Words>; SEGMENTS],
    len: AtomicU64,
    index: Mutex<Arc<Index>>,
    /// All values have at most 32 bits, so a slot holds the whole value.
    narrow: bool,
    budget: Arc<Budget>,
}

/// The hash index over a dictionary at some time.
///
/// A slot of a narrow index is one word, with the value above and its number + 1 below. A slot of a
/// wide index is two words, the value and its number + 1. In both, a look-up reads nothing but the
/// slot.
#[derive(Debug)]
pub(crate) struct Index {
    words: Words,
    narrow: bool,
    /// Shifts a hash so that only the bits that select a slot are left.
    shift: u32,
    budget: Arc<Budget>,
}

impl Index {
    /// An empty index; the number of slots is a power of two.
    fn new(slots: usize, narrow: bool, budget: &Arc<Budget>) -> Result<Index, StoreFull> {
        let words = if narrow { slots } else { 2 * slots };
        let bytes = words as u64 * 8;
        budget.take(bytes)?;
        match Words::new(words) {
            Some(words) => Ok(Index { words, narrow, shift: 64 - slots.ilog2(), budget: budget.clone() }),
            None => {
                budget.give_back(bytes);
                Err(StoreFull { needed: budget.used() + bytes, budget: budget.used() })
            }
        }
    }

    fn slots(&self) -> usize {
        if self.narrow { self.words.get().len() } else { self.words.get().len() / 2 }
    }

    /// The slot at which the search for a value begins.
    #[inline(always)]
    fn home(&self, value: u64) -> usize {
        // The high bits of a product depend on all bits of its factor.
        (value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// The number of `value`, if this index knows it.
    #[inline(always)]
    pub fn find(&self, value: u64) -> Option<Id> {
        let mask = usize::MAX >> self.shift;
        let mut at = self.home(value);
        loop {
            let (number, same) = if self.narrow {
                // SAFETY: here and below, `at` is masked to the number of slots.
                let [slot] = unsafe { self.words.some(at) };
                let slot = slot.load(Ordering::Acquire);
                (slot as u32, slot >> 32 == value)
            } else {
                // SAFETY: as above.
                let [content, number] = unsafe { self.words.some(2 * at) };
                let number = number.load(Ordering::Acquire);
                (number as u32, content.load(Ordering::Relaxed) == value)
            };
            if number == 0 {
                return None;
            }
            if same {
                return Some(number - 1);
            }
            at = (at + 1) & mask;
        }
    }

    /// Enters a value that is not there. Only the holder of the dictionary's mutex may call this.
    fn enter(&self, value: u64, id: Id) {
        let words = self.words.get();
        let number = u64::from(id) + 1;
        let mask = self.slots() - 1;
        let mut at = self.home(value);
        let number_of = |at: usize| if self.narrow { &words[at] } else { &words[2 * at + 1] };
        while number_of(at).load(Ordering::Relaxed) != 0 {
            at = (at + 1) & mask;
        }
        if self.narrow {
            words[at].store(value << 32 | number, Ordering::Release);
        } else {
            words[2 * at].store(value, Ordering::Relaxed);
            words[2 * at + 1].store(number, Ordering::Release);
        }
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.budget.give_back(self.words.get().len() as u64 * 8);
    }
}

impl Dictionary {
    /// An empty dictionary; a `narrow` one is for values of at most 32 bits.
    pub fn new(narrow: bool, budget: Arc<Budget>) -> Result<Dictionary, StoreFull> {
        let index = Arc::new(Index::new(FIRST_SLOTS, narrow, &budget)?);
        Ok(Dictionary { segments: Default::default(), len: AtomicU64::new(0), index: Mutex::new(index), narrow, budget })
    }

    /// The number of values.
    pub fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    pub fn index(&self) -> Arc<Index> {
        lock(&self.index).clone()
    }

    fn segment_of(id: Id) -> (usize, usize) {
        let shifted = id as usize + FIRST_SEGMENT;
        let segment = (shifted / FIRST_SEGMENT).ilog2() as usize;
        (segment, shifted - (FIRST_SEGMENT << segment))
    }

    /// The value with number `id`; 0 if there is none.
    #[inline]
    pub fn value(&self, id: Id) -> u64 {
        let (segment, offset) = Self::segment_of(id);
        match self.segments.get(segment).and_then(OnceLock::get) {
            Some(words) => words.get()[offset].load(Ordering::Relaxed),
            None => 0,
        }
    }

    /// The number of `value`, which is added if it is new; brings `index` up to date.
    #[cold]
    pub fn add(&self, index: &mut Arc<Index>, value: u64) -> Result<Id, StoreFull> {
        let mut current = lock(&self.index);
        if let Some(id) = current.find(value) {
            *index = current.clone();
            return Ok(id);
        }
        let len = self.len.load(Ordering::Relaxed);
        if len >= u64::from(u32::MAX) - 1 {
            return Err(StoreFull { needed: u64::MAX, budget: self.budget.limit() });
        }
        if (len + 1) * 3 > current.slots() as u64 * 2 {
            let larger = Index::new(current.slots() * 2, self.narrow, &self.budget)?;
            for id in 0..len as Id {
                larger.enter(self.value(id), id);
            }
            *current = Arc::new(larger);
        }
        let id = len as Id;
        self.room_for(id)?;
        let (segment, offset) = Self::segment_of(id);
        if let Some(words) = self.segments[segment].get() {
            words.get()[offset].store(value, Ordering::Relaxed);
        }
        self.len.store(len + 1, Ordering::Release);
        current.enter(value, id);
        *index = current.clone();
        Ok(id)
    }

    fn room_for(&self, id: Id) -> Result<(), StoreFull> {
        let (segment, _) = Self::segment_of(id);
        if self.segments[segment].get().is_some() {
            return Ok(());
        }
        let words = FIRST_SEGMENT << segment;
        let bytes = words as u64 * 8;
        self.budget.take(bytes)?;
        match Words::new(words) {
            // Only the holder of the mutex reaches this.
            Some(words) => {
                let _ = self.segments[segment].set(words);
                Ok(())
            }
            None => {
                self.budget.give_back(bytes);
                Err(StoreFull { needed: self.budget.used() + bytes, budget: self.budget.used() })
            }
        }
    }
}

impl Drop for Dictionary {
    fn drop(&mut self) {
        let bytes: usize = self.segments.iter().filter_map(OnceLock::get).map(|words| words.get().len() * 8).sum();
        self.budget.give_back(bytes as u64);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use contract::testing::Random;
    use std::collections::HashMap;

    fn number(dictionary: &Dictionary, index: &mut Arc<Index>, value: u64) -> Id {
        match index.find(value) {
            Some(id) => id,
            None => dictionary.add(index, value).unwrap(),
        }
    }

    #[test]
    fn numbers_are_dense_stable_and_invertible() {
        for (narrow, mask) in [(true, 0xffff), (true, u64::from(u32::MAX)), (false, u64::MAX)] {
            let dictionary = Dictionary::new(narrow, Arc::new(Budget::new(u64::MAX))).unwrap();
            let mut index = dictionary.index();
            let mut reference = HashMap::new();
            let mut random = Random(3);
            for _ in 0..50_000 {
                // Values whose low halves often agree.
                let value = ((random.below(20_000) * 0x1_0000_0001) ^ (random.below(3) << 40)) & mask;
                let next = reference.len() as Id;
                let expected = *reference.entry(value).or_insert(next);
                assert_eq!(number(&dictionary, &mut index, value), expected);
                assert_eq!(dictionary.value(expected), value);
            }
            assert_eq!(dictionary.len(), reference.len() as u64);
        }
    }

    #[test]
    fn workers_with_old_indices_agree() {
        let dictionary = Dictionary::new(false, Arc::new(Budget::new(u64::MAX))).unwrap();
        let numbers: Vec<Vec<Id>> = std::thread::scope(|scope| {
            let run = |seed| {
                let mut index = dictionary.index();
                let mut random = Random(seed);
                let mut numbers = vec![0; 5000];
                (0..20_000).for_each(|_| {
                    let value = random.below(5000);
                    numbers[value as usize] = 1 + number(&dictionary, &mut index, value << 33);
                });
                numbers
            };
            let handles: Vec<_> = (0..4).map(|seed| scope.spawn(move || run(seed))).collect();
            handles.into_iter().map(|handle| handle.join().unwrap()).collect()
        });
        for value in 0..5000 {
            let mut seen = numbers.iter().map(|n| n[value]).filter(|&n| n != 0);
            if let Some(first) = seen.next() {
                assert!(seen.all(|n| n == first));
                assert_eq!(dictionary.value(first - 1), (value as u64) << 33);
            }
        }
    }

    #[test]
    fn memory_is_accounted() {
        let budget = Arc::new(Budget::new(10_000));
        let dictionary = Dictionary::new(false, budget.clone()).unwrap();
        let mut index = dictionary.index();
        let added = (0..).take_while(|&value| dictionary.add(&mut index, value).is_ok()).count();
        assert!((100..700).contains(&added), "{added}");
        assert!(budget.used() <= 10_000);
        for value in 0..added as u64 {
            assert_eq!(index.find(value), Some(value as Id));
        }
        drop((index, dictionary));
        assert_eq!(budget.used(), 0);
    }
}
