//! SplitMix64: a sequence of pseudo-random numbers from a seed, the same on every machine.
//!
//! Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014). The state is one
//! word and every seed is good, so tests, generators and random walks can be repeated from a single
//! number. It is a crate of its own because crates that must not know each other need it.
#![forbid(unsafe_code)]

/// Advances the state and returns the next number of the sequence.
#[inline]
pub fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of seed 1234567, as other implementations of the sequence give them.
    #[test]
    fn the_sequence_is_the_published_one() {
        let mut state = 1_234_567;
        let numbers: Vec<u64> = (0..3).map(|_| next(&mut state)).collect();
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }
}
