//! Sets of small numbers.

/// A set of numbers below a bound.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// The empty set of numbers below `bound`.
    pub fn new(bound: usize) -> Bits {
        Bits(vec![0; bound.div_ceil(64)])
    }

    pub fn set(&mut self, bit: usize) {
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    pub fn has(&self, bit: usize) -> bool {
        self.0[bit / 64] >> (bit % 64) & 1 != 0
    }

    /// Adds all of `other`; returns whether any was missing.
    pub fn add(&mut self, other: &Bits) -> bool {
        let mut changed = false;
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            changed |= *theirs & !*mine != 0;
            *mine |= theirs;
        }
        changed
    }

    pub fn meets(&self, other: &Bits) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub fn common(&self, other: &Bits) -> impl Iterator<Item = usize> {
        let words = self.0.iter().zip(&other.0).map(|(a, b)| a & b).enumerate();
        words.flat_map(|(number, word)| (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| number * 64 + bit))
    }

    pub fn words(&self) -> &[u64] {
        &self.0
    }
}
