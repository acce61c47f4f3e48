//! A filter of fixed size that proves most new states new without reading any run.
//!
//! It is a Bloom filter with all bits of a state within one word (Putze, Sanders, Singler, "Cache-,
//! hash- and space-efficient Bloom filters", 2007). Its quality depends on its memory: if there are
//! more states than it was made for, more new states pass as possibly known. It never calls a known
//! state new.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A set of hashes whose positive answers may be wrong.
pub struct Filter {
    words: Vec<AtomicU64>,
}

impl Filter {
    /// A filter of about `bytes` bytes.
    pub fn new(bytes: u64) -> Filter {
        Filter { words: (0..(bytes / 8).max(8)).map(|_| AtomicU64::new(0)).collect() }
    }

    fn place(&self, hash: u64) -> (usize, u64) {
        let word = ((u128::from(hash) * self.words.len() as u128) >> 64) as usize;
        // These bits are independent of those that choose the word.
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (word, 1 << (mixed >> 58) | 1 << (mixed >> 52 & 63))
    }

    /// Adds a hash.
    pub fn add(&self, hash: u64) {
        let (word, bits) = self.place(hash);
        self.words[word].fetch_or(bits, Relaxed);
    }

    /// Whether the hash may have been added; `false` is certain.
    #[inline]
    pub fn may_have(&self, hash: u64) -> bool {
        let (word, bits) = self.place(hash);
        self.words[word].load(Relaxed) & bits == bits
    }

    /// The memory it takes.
    pub fn memory(&self) -> u64 {
        self.words.len() as u64 * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_there() {
        let filter = Filter::new(1 << 14);
        let hashes: Vec<u64> = (0..10_000_u64).map(|n| store::hash_bytes(&n.to_le_bytes())).collect();
        hashes.iter().for_each(|&hash| filter.add(hash));
        assert!(hashes.iter().all(|&hash| filter.may_have(hash)));
        let others = (0..10_000_u64).filter(|n| filter.may_have(store::hash_bytes(&(n + 1_000_000).to_le_bytes()))).count();
        assert!(others < 1500, "{others}");
    }
}
