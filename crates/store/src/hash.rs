//! The hash of a state: 64 × 64 → 128-bit multiplications whose halves are folded together.
//!
//! State vectors are short (16 to 100 bytes) and differ in few bits. So the cost of a short input
//! matters, and each input bit must affect each output bit. The folded multiply, known from wyhash
//! and its descendants, achieves both: one multiplication per 16 bytes, in two independent lanes
//! for longer inputs. The values are the same on every host, because hashes may be sent to other
//! hosts.

/// The default constants of wyhash (Wang Yi, final version 4.2), which its descendants use as well.
const SECRET: [u64; 4] = [0x2d35_8dcc_aa6c_78a5, 0x8bb8_4b93_962e_acc9, 0x4b33_a62e_d433_d4a3, 0x4d5a_2da5_1de1_aa47];

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The word at `at`.
///
/// # Safety
/// The word lies inside `bytes`.
#[inline(always)]
unsafe fn word(bytes: &[u8], at: usize) -> u64 {
    debug_assert!(at + 8 <= bytes.len());
    // SAFETY: by the caller's promise.
    u64::from_le(unsafe { bytes.as_ptr().add(at).cast::<u64>().read_unaligned() })
}

/// The half word at `at`.
///
/// # Safety
/// The half word lies inside `bytes`.
#[inline(always)]
unsafe fn half(bytes: &[u8], at: usize) -> u64 {
    debug_assert!(at + 4 <= bytes.len());
    // SAFETY: by the caller's promise.
    u32::from_le(unsafe { bytes.as_ptr().add(at).cast::<u32>().read_unaligned() }).into()
}

/// Like [`hash_bytes`], for `bytes` that fill `BLOCKS` blocks of 16 bytes, the last one perhaps in
/// part. This saves the tests of the length.
///
/// # Safety
/// `bytes` has that length, and at least 8 bytes.
#[inline(always)]
pub unsafe fn hash_blocks<const BLOCKS: usize>(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    debug_assert!(len >= 8 && len.div_ceil(16) == BLOCKS);
    let mut seed = SECRET[3] ^ len as u64;
    // SAFETY: by the caller's promise there are more than `16 * (BLOCKS - 1)` bytes, and at least
    // 8, so each word ends within `len`.
    unsafe {
        let pairs = (BLOCKS - 1) / 2;
        if pairs > 0 {
            let mut other = seed.rotate_left(32);
            for pair in 0..pairs {
                let at = 32 * pair;
                seed = fold(word(bytes, at) ^ SECRET[0], word(bytes, at + 8) ^ seed);
                other = fold(word(bytes, at + 16) ^ SECRET[1], word(bytes, at + 24) ^ other);
            }
            seed ^= other;
        }
        if BLOCKS.is_multiple_of(2) {
            seed = fold(word(bytes, 32 * pairs) ^ SECRET[2], word(bytes, 32 * pairs + 8) ^ seed);
        }
        finish(word(bytes, if BLOCKS == 1 { 0 } else { len - 16 }), word(bytes, len - 8), seed, len)
    }
}

/// The final hash, from the hash of the beginning and the last two words.
#[inline(always)]
fn finish(a: u64, b: u64, seed: u64, len: usize) -> u64 {
    let product = u128::from(a ^ SECRET[1]) * u128::from(b ^ seed);
    fold(product as u64 ^ SECRET[0] ^ len as u64, (product >> 64) as u64 ^ SECRET[1])
}

/// The hash of `bytes`, which includes their length.
#[inline(always)]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    hash_seeded(bytes, 0)
}

/// The hash that determines the owner of a state. It is the same on every machine. It does not
/// depend on where a store puts the state.
#[inline]
pub fn owner_hash(state: &[u8]) -> u64 {
    hash_seeded(state, OWNER_SEED)
}

/// The owner, among `owners` owners (at least one), of a state with this [`owner_hash`]. The upper
/// bits of the hash decide, so the lower ones may be used for other purposes.
#[inline]
pub fn owner_of_hash(hash: u64, owners: u32) -> u32 {
    ((u128::from(hash) * u128::from(owners.max(1))) >> 64) as u32
}

/// The seed of the hash function that chooses owners. No store uses it.
const OWNER_SEED: u64 = 0x6f77_6e65_7273;

/// Like [`hash_bytes`], with a different function for each `seed`.
#[inline(always)]
pub fn hash_seeded(bytes: &[u8], seed: u64) -> u64 {
    let len = bytes.len();
    let mut seed = SECRET[3] ^ len as u64 ^ seed.wrapping_mul(SECRET[2]);
    let (a, b);
    // SAFETY: each word ends within `len`. In the loop there are more than 32 bytes from `at` on;
    // after it there are at most 32, and more than 16 where two more words are read.
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
    finish(a, b, seed, len)
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
    fn blocks_are_hashed_as_bytes_are() {
        for len in 8..=112usize {
            let bytes: Vec<u8> = (0..len).map(|i| (7 * i + len) as u8).collect();
            // SAFETY: each is called for its length.
            let hash = unsafe {
                match len.div_ceil(16) {
                    1 => hash_blocks::<1>(&bytes),
                    2 => hash_blocks::<2>(&bytes),
                    3 => hash_blocks::<3>(&bytes),
                    4 => hash_blocks::<4>(&bytes),
                    5 => hash_blocks::<5>(&bytes),
                    6 => hash_blocks::<6>(&bytes),
                    _ => hash_blocks::<7>(&bytes),
                }
            };
            assert_eq!(hash, hash_bytes(&bytes), "length {len}");
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
