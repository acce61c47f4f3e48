//! A fast hash for small keys that no adversary chooses: names of states and layers, values of
//! progress. The maps that use it are accessed for every successor.

use std::hash::{BuildHasherDefault, Hasher};

/// One multiplication for each eight bytes.
#[derive(Default)]
pub(crate) struct Quick(u64);

/// Builds [`Quick`] hashers.
pub(crate) type BuildQuick = BuildHasherDefault<Quick>;

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.write_u64(u64::from_le_bytes(*word)));
        rest.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        let spread = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = spread ^ spread >> 32;
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}
