//! A running checksum over the bytes of a file: FNV-1a with 64 bits.
//!
//! Fowler, Noll and Vo (1991). It detects accidental damage only, and it is slow, one
//! multiplication for each byte, but a file is written once, and its disk is slower. It is a crate
//! of its own because crates that must not know each other write files: graphs and saved searches.
#![forbid(unsafe_code)]

const START: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// The checksum of the bytes so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum(u64);

impl Default for Checksum {
    fn default() -> Checksum {
        Checksum(START)
    }
}

impl Checksum {
    /// The checksum of no bytes.
    pub fn new() -> Checksum {
        Checksum::default()
    }

    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(PRIME);
        }
    }

    /// The bytes that a file contains.
    pub fn to_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that the authors of the checksum publish.
    #[test]
    fn the_values_are_the_published_ones() {
        let of = |bytes: &[u8]| {
            let mut sum = Checksum::new();
            bytes.iter().for_each(|byte| sum.add(&[*byte]));
            u64::from_le_bytes(sum.to_bytes())
        };
        assert_eq!(of(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(of(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(of(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
