//! The hash of a state: 64 × 64 → 128-bit multiplications whose halves are folded together.
//!
//! State vectors are short (16 to 100 bytes) and differ in few bits, so what counts is the cost of a short input and that each
//! input bit reaches each output bit. The folded multiply, known from wyhash and its descendants, does both: one multiplication per
//! 16 bytes, two independent lanes for longer inputs. Values are the same on every host, because hashes may travel.

const SECRET: [u64; 4] = [0x2d35_8dcc_aa6c_78a5, 0x8bb8_4b93_962e_acc9, 0x4b33_a62e_d433_d4a3, 0x4d5a_2da5_1de1_aa47];

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The word at `at`.
///
/// # Safety
/// It lies inside.
#[inline(always)]
unsafe fn word(bytes: &[u8], at: usize) -> u64 {
    debug_assert!(at + 8 <= bytes.len());
    // SAFETY: by the caller's promise.
    u64::from_le(unsafe { bytes.as_ptr().add(at).cast::<u64>().read_unaligned() })
}

/// The half word at `at`.
///
/// # Safety
/// It lies inside.
#[inline(always)]
unsafe fn half(bytes: &[u8], at: usize) -> u64 {
    debug_assert!(at + 4 <= bytes.len());
    // SAFETY: by the caller's promise.
    u32::from_le(unsafe { bytes.as_ptr().add(at).cast::<u32>().read_unaligned() }).into()
}

/// The hash of `bytes`, length included.
#[inline(always)]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    hash_seeded(bytes, 0)
}

/// As [`hash_bytes`], but another function for each `seed`.
#[inline(always)]
pub fn hash_seeded(bytes: &[u8], seed: u64) -> u64 {
    let len = bytes.len();
    let mut seed = SECRET[3] ^ len as u64 ^ seed.wrapping_mul(SECRET[2]);
    let (a, b);
    // SAFETY: each word ends at `len` at the latest: in the loop there are more than 32 bytes from `at` on, after it at most as many, and more
    // than 16 where two more words are read.
    unsafe {
        if len > 16 {
            let mut at = 0;
            if len > 32 {
                let mut other = seed.rotate_left(32);
                while len - at > 32 {
                    seed = fold(word(bytes, at) ^ SECRET[0], word(bytes, at + 8) ^ seed);
                    other = fold(word(bytes, at + 16) ^ SECRET[1], word(bytes, at + 24) ^ other);
                    at += 32;
                }
                seed ^= other;
            }
            if len - at > 16 {
                seed = fold(word(bytes, at) ^ SECRET[2], word(bytes, at + 8) ^ seed);
            }
            (a, b) = (word(bytes, len - 16), word(bytes, len - 8));
        } else if len >= 8 {
            (a, b) = (word(bytes, 0), word(bytes, len - 8));
        } else if len >= 4 {
            (a, b) = (half(bytes, 0), half(bytes, len - 4));
        } else if len > 0 {
            (a, b) = (u64::from(bytes[0]) << 16 | u64::from(bytes[len / 2]) << 8 | u64::from(bytes[len - 1]), 0);
        } else {
            (a, b) = (0, 0);
        }
    }
    let product = u128::from(a ^ SECRET[1]) * u128::from(b ^ seed);
    fold(product as u64 ^ SECRET[0] ^ len as u64, (product >> 64) as u64 ^ SECRET[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_length_and_every_bit_counts() {
        let mut seen = HashSet::new();
        for len in 0..=100usize {
            assert!(seen.insert(hash_bytes(&vec![0; len])), "length {len}");
            for bit in 0..8 * len {
                let mut bytes = vec![0; len];
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(seen.insert(hash_bytes(&bytes)), "length {len}, bit {bit}");
            }
        }
    }

    #[test]
    fn seeds_give_other_functions() {
        let values: HashSet<u64> = (0..100).flat_map(|seed| [0usize, 3, 8, 20, 50].map(|len| hash_seeded(&vec![1; len], seed))).collect();
        assert_eq!(values.len(), 500);
        assert_eq!(hash_seeded(b"state", 0), hash_bytes(b"state"));
    }

    #[test]
    fn each_input_bit_changes_about_half_of_the_output() {
        for len in [1usize, 3, 5, 8, 12, 16, 17, 24, 33, 40, 64, 100] {
            for bit in 0..8 * len {
                let mut flipped = 0;
                const SAMPLES: u32 = 64;
                for sample in 0..SAMPLES {
                    let mut bytes: Vec<u8> = (0..len).map(|i| (sample as u8).wrapping_mul(31).wrapping_add(i as u8)).collect();
                    let before = hash_bytes(&bytes);
                    bytes[bit / 8] ^= 1 << (bit % 8);
                    flipped += (before ^ hash_bytes(&bytes)).count_ones();
                }
                let share = f64::from(flipped) / f64::from(SAMPLES * 64);
                assert!((0.40..0.60).contains(&share), "length {len}, bit {bit}: {share}");
            }
        }
    }
}
