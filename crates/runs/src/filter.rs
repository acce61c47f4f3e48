//! A filter that proves most states absent from a run without reading the run.
//!
//! It is a Bloom filter with all bits of a state within one word (Putze, Sanders, Singler, "Cache-,
//! hash- and space-efficient Bloom filters", 2007). Its size is a power of two. So it can be folded
//! to half its size when memory runs short, and more absent states pass as possibly present. It
//! never calls a present state absent.

/// The bits of a new filter for each expected state, before its size is rounded up.
const BITS: u64 = 16;
/// A filter with fewer bits for a state lets most states pass, and is not worth its memory.
const FEWEST_BITS: u64 = 3;
/// The least number of words.
const FEWEST_WORDS: usize = 8;

/// A set of hashes whose positive answers may be wrong.
pub struct Filter {
    words: Vec<u64>,
}

impl Filter {
    /// A filter for about `states` states, of at most `most_bytes` bytes; `None` if that is too
    /// small to be useful.
    pub fn for_states(states: u64, most_bytes: u64) -> Option<Filter> {
        let wanted = (states.saturating_mul(BITS) / 64).max(FEWEST_WORDS as u64).next_power_of_two();
        let most = 1_u64 << (most_bytes / 8).checked_ilog2()?;
        let words = usize::try_from(wanted.min(most)).ok()?;
        let filter = Filter { words: vec![0; words.max(FEWEST_WORDS)] };
        filter.is_useful(states).then_some(filter)
    }

    fn is_useful(&self, states: u64) -> bool {
        self.words.len() as u64 * 64 >= states.saturating_mul(FEWEST_BITS)
    }

    #[inline]
    fn place(&self, hash: u64) -> (usize, u64) {
        // The four bits are independent of those that choose the word.
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bit = |shift: u32| 1 << (mixed >> shift & 63);
        (hash as usize & (self.words.len() - 1), bit(58) | bit(52) | bit(46) | bit(40))
    }

    /// Adds a hash.
    #[inline]
    pub fn add(&mut self, hash: u64) {
        let (word, bits) = self.place(hash);
        self.words[word] |= bits;
    }

    /// Whether the hash may have been added; `false` is certain.
    #[inline]
    pub fn may_have(&self, hash: u64) -> bool {
        let (word, bits) = self.place(hash);
        self.words[word] & bits == bits
    }

    /// Halves the size; returns whether the filter is still useful for this many states.
    pub fn fold(&mut self, states: u64) -> bool {
        let half = self.words.len() / 2;
        if half < FEWEST_WORDS {
            return false;
        }
        let (low, high) = self.words.split_at_mut(half);
        low.iter_mut().zip(high).for_each(|(low, high)| *low |= *high);
        self.words.truncate(half);
        self.words.shrink_to_fit();
        self.is_useful(states)
    }

    /// Folds a filter that was made for more states than there are.
    pub fn fit(&mut self, states: u64) {
        while self.words.len() > FEWEST_WORDS && self.words.len() as u64 * 64 > states.saturating_mul(4 * BITS) {
            self.fold(states);
        }
    }

    /// The memory it takes.
    pub fn memory(&self) -> u64 {
        self.words.len() as u64 * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(filter: &Filter) -> usize {
        (0..10_000_u64).filter(|n| filter.may_have(store::hash_bytes(&(n + 1_000_000).to_le_bytes()))).count()
    }

    #[test]
    fn what_was_added_is_there_however_small_the_filter_becomes() {
        let hashes: Vec<u64> = (0..10_000_u64).map(|n| store::hash_bytes(&n.to_le_bytes())).collect();
        let mut filter = Filter::for_states(10_000, u64::MAX).expect("memory for it");
        hashes.iter().for_each(|&hash| filter.add(hash));
        assert!(wrong(&filter) < 50, "{}", wrong(&filter));
        let mut before = filter.memory();
        while filter.fold(10_000) {
            assert!(hashes.iter().all(|&hash| filter.may_have(hash)));
            assert_eq!(filter.memory(), before / 2);
            before = filter.memory();
        }
        assert!(hashes.iter().all(|&hash| filter.may_have(hash)));
    }

    #[test]
    fn its_size_follows_the_states_and_not_the_memory() {
        let sizes = [100, 10_000, 1_000_000].map(|states| Filter::for_states(states, 1 << 40).map(|filter| filter.memory() / states));
        assert!(sizes.iter().all(|size| size.is_some_and(|size| (2..=5).contains(&size))), "{sizes:?}");
        assert!(Filter::for_states(1_000_000, 1 << 16).is_none(), "it would be of no use");
        let small = Filter::for_states(1_000_000, 1 << 19).expect("it is of use");
        assert_eq!(small.memory(), 1 << 19);
        let mut large = Filter::for_states(1_000_000, u64::MAX).expect("memory for it");
        large.fit(1000);
        assert!(large.memory() <= 8000, "{}", large.memory());
    }
}
