//! The states that were sent recently, so that they are not sent again (sibling caching of Lerda
//! and Visser, 2001). A slot holds one state, and a new one replaces the old. The states themselves
//! are compared, not only their hashes, so no state is left out by mistake.

/// The size of a slot is a multiple of this.
const GRAIN: usize = 16;
/// The bytes for the length of a state plus one, which come first in a slot; 0 for an empty slot.
const HEAD: usize = 4;

/// Slots for sent states. They lie one after the other, so that a look-up costs one or two misses
/// of the processor's cache, and [`touch`](Sent::touch) lets these begin early.
pub(crate) struct Sent {
    /// The number of slots, 0 or a power of two.
    places: usize,
    /// The bytes of a slot; 0 as long as nothing was sent.
    size: usize,
    slots: Vec<u8>,
    /// The number of slots in use.
    used: u64,
    /// The most memory of all slots.
    most: u64,
}

impl Sent {
    /// So many slots, or fewer if they would take more than `most` bytes.
    pub fn new(places: usize, most: u64) -> Sent {
        let places = if places == 0 { 0 } else { places.next_power_of_two() };
        Sent { places, size: 0, slots: Vec::new(), used: 0, most }
    }

    #[inline]
    fn start(&self, hash: u64) -> usize {
        (hash as usize & (self.places - 1)) * self.size
    }

    /// Reads the slot of a hash, so that it is in the cache when it is looked at.
    #[inline]
    pub fn touch(&self, hash: u64) {
        if self.size > 0 && self.places > 0 {
            let start = self.start(hash);
            // The loads start early; their results are not used.
            std::hint::black_box(self.slots[start] ^ self.slots[start + self.size - 1]);
        }
    }

    /// Whether a state with this hash was sent recently; it is recorded as sent.
    #[inline]
    pub fn holds(&mut self, state: &[u8], hash: u64) -> bool {
        if self.places == 0 {
            return false;
        }
        let len = state.len();
        if len + HEAD > self.size {
            self.widen(len);
        }
        let start = self.start(hash);
        let (head, rest) = self.slots[start..start + self.size].split_at_mut(HEAD);
        let length = (len as u32 + 1).to_le_bytes();
        if *head == length && rest[..len] == *state {
            return true;
        }
        self.used += u64::from(*head == [0; HEAD]);
        head.copy_from_slice(&length);
        rest[..len].copy_from_slice(state);
        false
    }

    /// Makes the slots larger. What they held is forgotten.
    #[cold]
    fn widen(&mut self, len: usize) {
        self.size = (len + HEAD).next_multiple_of(GRAIN);
        let fit = self.most / self.size as u64;
        if self.places as u64 > fit {
            self.places = usize::try_from(fit).map_or(self.places, |fit| (fit / 2 + 1).next_power_of_two());
        }
        self.slots = vec![0; self.places * self.size];
        self.used = 0;
    }

    /// The memory of the slots in use.
    pub fn bytes(&self) -> u64 {
        self.used * self.size as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// States of all lengths, also ones with the same hash, are held only if they were sent.
    #[test]
    fn only_what_was_sent_is_held() {
        for places in [0, 1, 5, 64] {
            let (mut sent, mut all, mut random) = (Sent::new(places, 2_000), HashSet::new(), 5);
            let mut held = 0;
            for _ in 0..20_000 {
                let number = splitmix::next(&mut random) % 200;
                let state: Vec<u8> = (0..number % 40).map(|at| (number / 40 + at) as u8).collect();
                sent.touch(number % 97);
                let known = sent.holds(&state, number % 97);
                assert!(!known || all.contains(&state), "{state:?} was never sent");
                held += u32::from(known);
                all.insert(state);
            }
            assert_eq!(held > 0, places > 0);
            assert!(sent.bytes() <= 2_000 && sent.slots.len() <= 2_000, "{}", sent.slots.len());
        }
    }
}
