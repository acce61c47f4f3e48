//! A set of states in memory that grows only within the room it is given.
//!
//! The states are in one string, and a table of slots finds them. When the set grows, its memory
//! is computed first, for states of the average length so far. The old slots are dropped before the
//! new ones are made, because these are computed from the states. So the set never needs more than
//! its room, not even while it grows.

use crate::sort::{Item, sort};

/// The bytes of a state's place in a sorted list.
pub const ITEM: u64 = size_of::<Item>() as u64;

/// The most bytes of states in a set.
const MOST_BYTES: u64 = u32::MAX as u64;
/// The bytes that a state takes in addition to its own: its end and two slots.
const BESIDE: u64 = 4 + 16;

/// A set of states, numbered in the order in which they were added.
#[derive(Default)]
pub struct Set {
    bytes: Vec<u8>,
    /// The end of each state.
    ends: Vec<u32>,
    /// A part of a hash above, the number of a state plus one below; 0 for none.
    slots: Vec<u64>,
}

impl Set {
    /// The number of states that a new set has room for, if there is room.
    pub const FEW: u64 = 32;

    /// The memory of a new set for states of this length.
    pub fn least_memory(len: usize) -> u64 {
        Set::FEW * (len as u64 + BESIDE)
    }

    /// The number of states.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The state with this number.
    #[inline]
    pub fn state(&self, number: usize) -> &[u8] {
        let start = if number == 0 { 0 } else { self.ends[number - 1] as usize };
        &self.bytes[start..self.ends[number] as usize]
    }

    /// The number of states up to which it need not grow, if they are not too long.
    pub fn capacity(&self) -> usize {
        self.ends.capacity()
    }

    /// The numbers of the states from number `from` on, in the order of the states. This takes
    /// [`ITEM`] bytes for each of them.
    pub fn in_order(&self, from: usize) -> impl ExactSizeIterator<Item = usize> + use<> {
        let mut items: Vec<Item> = (from..self.len()).map(|number| Item::new(number as u32)).collect();
        sort(&mut items, &|number| self.state(number as usize));
        items.into_iter().map(|item| item.number as usize)
    }

    /// The memory it takes.
    pub fn memory(&self) -> u64 {
        (self.bytes.capacity() + self.ends.capacity() * 4 + self.slots.capacity() * 8) as u64
    }

    /// The slot at which the search for a hash begins.
    #[inline]
    fn begin(&self, hash: u64) -> usize {
        ((u64::from(hash as u32) * self.slots.len() as u64) >> 32) as usize
    }

    /// Reads the first slot of a hash, so that it is in the cache when the state is looked up.
    #[inline]
    pub fn touch(&self, hash: u64) -> u64 {
        self.slots.get(self.begin(hash)).copied().unwrap_or(0)
    }

    /// The number of `state`, or the slot where it belongs.
    #[inline]
    pub fn find(&self, hash: u64, state: &[u8]) -> Result<usize, usize> {
        let mut at = self.begin(hash);
        while let Some(&slot) = self.slots.get(at) {
            if slot == 0 {
                break;
            }
            let number = (slot as u32 - 1) as usize;
            if slot >> 32 == hash >> 32 && self.state(number) == state {
                return Ok(number);
            }
            at += 1;
            if at == self.slots.len() {
                at = 0;
            }
        }
        Err(at)
    }

    /// Whether a state of this length can be added at once.
    #[inline]
    pub fn has_place(&self, len: usize) -> bool {
        let states = self.ends.len();
        self.bytes.len() + len <= self.bytes.capacity() && states < self.ends.capacity() && 2 * (states + 1) <= self.slots.len()
    }

    /// Grows so that a state of this length can be added. Returns `false` if the set would then
    /// take more than `room` bytes, where each state takes `beside` bytes elsewhere. A set without
    /// states grows in any case.
    #[cold]
    pub fn make_place(&mut self, len: usize, room: u64, beside: u64) -> bool {
        let (states, bytes) = (self.ends.len() as u64, self.bytes.len() as u64 + len as u64);
        if bytes > MOST_BYTES {
            return false;
        }
        let average = bytes.div_ceil(states + 1);
        let most = (room / (average + BESIDE + beside)).min(MOST_BYTES / average.max(1));
        // A set that can grow by few states only is not built again for them.
        let least = states + states / 16 + 1;
        let wanted = (2 * states).max(Set::FEW).min(most.max(1));
        let taken = (average * wanted).max(bytes).max(self.bytes.capacity() as u64);
        let (ends, slots) = (wanted.max(self.ends.capacity() as u64), (2 * wanted).max(self.slots.len() as u64));
        if states > 0 && (wanted < least || taken + 4 * ends + 8 * slots + beside * ends > room) {
            return false;
        }
        self.bytes.reserve_exact((taken - (bytes - len as u64)) as usize);
        self.ends.reserve_exact((ends - states) as usize);
        if slots > self.slots.len() as u64 {
            self.slots = Vec::new();
            self.slots = vec![0; slots as usize];
            for number in 0..self.ends.len() {
                let hash = store::hash_bytes(self.state(number));
                self.enter(hash, number);
            }
        }
        true
    }

    /// Enters a state that is in no slot yet.
    fn enter(&mut self, hash: u64, number: usize) {
        let mut at = self.begin(hash);
        while self.slots[at] != 0 {
            at += 1;
            if at == self.slots.len() {
                at = 0;
            }
        }
        self.slots[at] = hash >> 32 << 32 | (number as u64 + 1);
    }

    /// Adds a state for which there is a place, at the slot where it belongs.
    #[inline]
    pub fn add(&mut self, at: usize, hash: u64, state: &[u8]) {
        self.bytes.extend_from_slice(state);
        self.ends.push(self.bytes.len() as u32);
        self.slots[at] = hash >> 32 << 32 | self.ends.len() as u64;
    }

    /// Forgets all states, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.slots.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Adds states until there is no room, and compares the set with a map.
    #[test]
    fn it_stays_within_its_room() {
        let mut random = 3;
        for room in [1 << 11, 1 << 14, 100_000, 1 << 20] {
            for (beside, longest) in [(0, 8), (8, 30), (16, 300)] {
                let (mut set, mut expected) = (Set::default(), BTreeMap::new());
                loop {
                    // The lengths change, so an average is soon wrong.
                    let len = 1 + splitmix::next(&mut random) as usize % (longest * (1 + expected.len() / 200 % 3));
                    let state: Vec<u8> = (0..len).map(|_| splitmix::next(&mut random) as u8).collect();
                    let hash = store::hash_bytes(&state);
                    let mut at = match set.find(hash, &state) {
                        Ok(number) => {
                            assert_eq!(expected.get(&state), Some(&number));
                            continue;
                        }
                        Err(at) => at,
                    };
                    if !set.has_place(len) {
                        if !set.make_place(len, room, beside) {
                            break;
                        }
                        at = set.find(hash, &state).unwrap_err();
                    }
                    set.add(at, hash, &state);
                    expected.insert(state, set.len() - 1);
                    let takes = set.memory() + beside * set.len() as u64;
                    assert!(takes <= room || set.len() <= Set::FEW as usize, "{takes} of {room}");
                }
                assert_eq!(set.len(), expected.len());
                assert!(expected.iter().all(|(state, &number)| set.find(store::hash_bytes(state), state) == Ok(number)));
                // Most of the room is used.
                assert!(2 * (set.memory() + beside * set.len() as u64) > room || set.len() <= Set::FEW as usize);
            }
        }
    }
}
