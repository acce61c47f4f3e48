//! The states of components that are not complete yet, numbered in the order in which a depth-first
//! search visited them.
//!
//! They are added and removed as on a stack, because a component that is complete is at its top. So
//! the table needs no marks for removed entries: with linear probing, removing the latest entry
//! never interrupts the probe sequence of another one.

/// What identifies a live state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// Its name in a store whose names never change.
    Name(u64),
    /// Its hash; its bytes are kept and compared.
    Hash(u64),
}

#[derive(Debug, Default)]
pub(crate) struct Live {
    /// The number of a state plus one, and above it the low half of its word; 0 in an empty slot.
    slots: Vec<u64>,
    /// The word of each state, which is its name or its hash, and the end of its bytes.
    entries: Vec<(u64, usize)>,
    bytes: Vec<u8>,
    /// Whether some word has more bits than a slot stores.
    wide: bool,
}

/// The position of the half word in a slot.
const WORD_SHIFT: u32 = 32;

impl Live {
    #[inline(always)]
    fn slot(&self, word: u64) -> usize {
        // Fibonacci hashing: the names of states inserted together are close to each other.
        (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (self.slots.len() - 1)
    }

    /// Whether state number `number`, whose word agrees in its low half, is the given state. That
    /// half identifies nearly all names, so the entry need not be fetched from memory.
    #[inline(always)]
    fn is(&self, number: u32, key: Key, state: &[u8]) -> bool {
        match key {
            Key::Name(_) if !self.wide => true,
            Key::Name(name) => self.entries[number as usize].0 == name,
            Key::Hash(hash) => {
                let (word, end) = self.entries[number as usize];
                word == hash && self.bytes[self.start(number)..end] == *state
            }
        }
    }

    fn start(&self, number: u32) -> usize {
        (number as usize).checked_sub(1).map_or(0, |before| self.entries[before].1)
    }

    /// The number of a state, if it is live.
    #[inline]
    pub fn find(&self, key: Key, state: &[u8]) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let (Key::Name(word) | Key::Hash(word)) = key;
        if word >> WORD_SHIFT != 0 && !self.wide {
            // The word does not occur.
            return None;
        }
        let mut slot = self.slot(word);
        loop {
            let found = self.slots[slot];
            let number = (found as u32).checked_sub(1)?;
            if (found >> WORD_SHIFT) as u32 == word as u32 && self.is(number, key, state) {
                return Some(number);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    /// Adds a state that is not there and gives its number.
    #[inline]
    pub fn push(&mut self, key: Key, state: &[u8]) -> u32 {
        if (self.entries.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let number = self.entries.len() as u32;
        let (Key::Name(word) | Key::Hash(word)) = key;
        self.wide |= word >> WORD_SHIFT != 0;
        if let Key::Hash(_) = key {
            self.bytes.extend_from_slice(state);
        }
        self.entries.push((word, self.bytes.len()));
        self.place(number);
        number
    }

    #[inline]
    fn place(&mut self, number: u32) {
        let word = self.entries[number as usize].0;
        let mut slot = self.slot(word);
        while self.slots[slot] != 0 {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        self.slots[slot] = word << WORD_SHIFT | u64::from(number + 1);
    }

    #[cold]
    fn grow(&mut self) {
        self.slots = vec![0; (self.slots.len() * 2).max(1024)];
        (0..self.entries.len() as u32).for_each(|number| self.place(number));
    }

    /// Removes the states from `number` on.
    pub fn truncate(&mut self, number: u32) {
        while self.entries.len() > number as usize {
            let last = self.entries.len() as u32;
            let mut slot = self.slot(self.entries[last as usize - 1].0);
            while self.slots[slot] as u32 != last {
                slot = (slot + 1) & (self.slots.len() - 1);
            }
            self.slots[slot] = 0;
            self.entries.pop();
        }
        self.bytes.truncate(self.entries.last().map_or(0, |&(_, end)| end));
    }

    /// The memory held.
    pub fn memory(&self) -> u64 {
        (self.slots.capacity() * size_of::<u64>() + self.entries.capacity() * size_of::<(u64, usize)>() + self.bytes.capacity()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::testing::Random;

    /// Compares with a list that is searched from end to end. Hashes often collide, and so do the
    /// low halves of wide names.
    #[test]
    fn states_come_and_go_as_on_a_stack() {
        for (by_name, shift) in [(false, 0), (false, 30), (true, 0), (true, 30), (true, 40)] {
            let (mut live, mut list) = (Live::default(), Vec::new());
            let mut random = Random(7);
            for turn in 0..20_000_u64 {
                let state = if by_name { random.below(turn + 1).to_le_bytes() } else { random.below(5000).to_le_bytes() };
                let key = |state: [u8; 8]| match by_name {
                    true => Key::Name(u64::from_le_bytes(state) << shift),
                    false => Key::Hash((u64::from_le_bytes(state) % 977) << shift),
                };
                let known = list.iter().position(|known| *known == state).map(|number| number as u32);
                assert_eq!(live.find(key(state), &state), known);
                if known.is_none() {
                    assert_eq!(live.push(key(state), &state), list.len() as u32);
                    list.push(state);
                }
                if random.below(100) == 0 {
                    let keep = random.below(list.len() as u64 + 1) as usize;
                    list.truncate(keep);
                    live.truncate(keep as u32);
                }
                assert_eq!(live.entries.len(), list.len());
            }
        }
    }
}
