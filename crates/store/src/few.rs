//! A small exact set of states on the heap, for one worker at a time.
//!
//! The stores of this crate map memory and reserve addresses, which pays off from some thousand
//! states on. A layer of a sweep may have ten states, and there may be a new layer every few
//! microseconds. Such a layer is kept in this set, whose memory is reused for the next layer.

use crate::hash::hash_bytes;

/// The bits of a slot for the number of a state, counted from 1; the other bits are of its hash.
const NUMBER_BITS: u32 = 24;
const NUMBER_MASK: u64 = (1 << NUMBER_BITS) - 1;

/// A set of at most this many states has no slots, and all states are compared.
const NO_SLOTS: usize = 4;

/// Slots of the first table.
const FIRST_SLOTS: usize = 32;

/// A set of states. At most half of its slots are in use.
#[derive(Debug, Default)]
pub(crate) struct Few {
    /// The hash and the number of a state, or 0; a power of two of them, or none.
    slots: Vec<u64>,
    /// The states, one directly after the other, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// The result of a search: the state, or a free slot.
enum At {
    There,
    Free(usize, u64),
}

impl Few {
    /// The most states that a set can have.
    pub const MOST: usize = NUMBER_MASK as usize;

    /// The number of states.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The memory held.
    pub fn bytes(&self) -> u64 {
        ((self.slots.capacity() + self.ends.capacity()) * 8 + self.bytes.capacity()) as u64
    }

    /// Inserts a state; returns whether it is new. The caller limits the number of states.
    #[inline]
    pub fn insert(&mut self, state: &[u8]) -> bool {
        let slots = self.slots.len();
        if slots < 2 * (self.ends.len() + 1) && (slots > 0 || self.ends.len() >= NO_SLOTS) {
            self.grow();
        }
        if self.slots.is_empty() {
            if self.is_among(state) {
                return false;
            }
        } else {
            let At::Free(slot, tag) = self.search(state) else { return false };
            self.slots[slot] = tag | (self.ends.len() as u64 + 1) & NUMBER_MASK;
        }
        self.bytes.extend_from_slice(state);
        self.ends.push(self.bytes.len());
        true
    }

    /// Whether a state is there.
    pub fn contains(&self, state: &[u8]) -> bool {
        if self.slots.is_empty() { self.is_among(state) } else { matches!(self.search(state), At::There) }
    }

    /// Compares a state with all states.
    fn is_among(&self, state: &[u8]) -> bool {
        self.states().any(|known| known == state)
    }

    /// All states, in the order of their insertion.
    pub fn states(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }

    /// Removes all states and keeps the memory.
    pub fn clear(&mut self) {
        self.slots.fill(0);
        self.bytes.clear();
        self.ends.clear();
    }

    /// Searches for a state. There must be slots, and at least one of them must be free.
    #[inline]
    fn search(&self, state: &[u8]) -> At {
        let tag = hash_bytes(state) & !NUMBER_MASK;
        let mask = self.slots.len() - 1;
        let mut at = (tag >> NUMBER_BITS) as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return At::Free(at, tag);
            }
            if slot & !NUMBER_MASK == tag && self.state((slot & NUMBER_MASK) as usize) == state {
                return At::There;
            }
            at = (at + 1) & mask;
        }
    }

    /// The state with a number that a slot has.
    #[inline]
    fn state(&self, number: usize) -> &[u8] {
        let start = if number < 2 { 0 } else { self.ends[number - 2] };
        &self.bytes[start..self.ends[number - 1]]
    }

    #[cold]
    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(FIRST_SLOTS);
        let mut old = std::mem::replace(&mut self.slots, vec![0; slots]);
        if old.is_empty() {
            let tag = |(number, state): (usize, &[u8])| hash_bytes(state) & !NUMBER_MASK | (number as u64 + 1) & NUMBER_MASK;
            old = self.states().enumerate().map(tag).collect();
        }
        for slot in old.into_iter().filter(|&slot| slot != 0) {
            let mut at = (slot >> NUMBER_BITS) as usize & (slots - 1);
            while self.slots[at] != 0 {
                at = (at + 1) & (slots - 1);
            }
            self.slots[at] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_set() {
        let mut few = Few::default();
        assert!(!few.contains(b""));
        for round in 0..3 {
            let state = |n: u32| n.to_le_bytes()[..(n % 4) as usize + 1].to_vec();
            let mut model = Vec::new();
            for n in (0..3000_u32).chain(1000..2000) {
                let state = state(n * (round + 1));
                let new = !model.contains(&state);
                assert_eq!(few.contains(&state), !new);
                assert_eq!(few.insert(&state), new);
                if new {
                    model.push(state);
                }
            }
            assert!(few.insert(b"") && !few.insert(b"") && few.contains(b""));
            model.push(Vec::new());
            assert!(few.states().eq(model.iter().map(Vec::as_slice)) && few.len() == model.len());
            few.clear();
            assert!(few.len() == 0 && few.states().next().is_none() && !few.contains(b"\0"));
        }
    }
}
