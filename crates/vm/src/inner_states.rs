//! The states that a sequence of invisible steps has passed through (S-ENDLESS of
//! `docs/bytecode.md`).
//!
//! Each state is kept once, in full. But a sequence may pass through millions of states before its
//! end is known, and a state may have a million bytes. Beyond some megabytes the long states are
//! kept as 128-bit hashes, whose keys are drawn anew for each sequence. The probability that two of
//! a million states have the same hash is below 2⁻⁸⁷, and no model can be written to increase it.
//!
//! As long as every state had only one continuation, no state is kept: a path that returns to such
//! a state takes the same way to the first choice, without an outcome in between, and is cut there.
//! Brent's algorithm ("An improved Monte Carlo factorization algorithm", 1980) detects with a
//! single state whether such a sequence repeats. A sequence that counts through all values of an
//! `int` therefore needs no memory.
//!
//! There is no limit here: a sequence that is merely long continues. The caller checks memory and
//! time.

use std::hash::{BuildHasher, RandomState};

/// The number of continuations after which a transition follows each state only once (S-ENDLESS).
pub const FOLLOW_ONCE_AFTER: usize = 4096;

/// Up to this many states are compared one by one: most sequences are a step or two long.
const SHORT: usize = 16;
/// States are kept in full until they take more than this.
const EXACT_BYTES: usize = if cfg!(test) { 1 << 12 } else { 64 << 20 };
/// After that, a state of this many bytes or more is kept as a hash of this many bytes.
const KEY: usize = size_of::<u128>();

/// A sequence with more states returns its memory.
const ROOM: usize = 1 << 12;

/// A state that the sequence passed through.
#[derive(Clone, Copy)]
struct State {
    /// The end of its kept bytes. They begin where those of the state before end.
    end: usize,
    process: u32,
    on_way: bool,
}

/// An entry of the table. The hash is stored so that the bytes of a state are compared only if they
/// are probably equal, and so that the table can grow without hashing again.
#[derive(Clone, Copy, Default)]
struct Entry {
    hash: u32,
    /// The number of the state plus one; 0 if the entry is free.
    state: u32,
}

/// The states inside one transition, each with the process that executes.
#[derive(Default)]
pub struct InnerStates {
    bytes: Vec<u8>,
    states: Vec<State>,
    /// The hash table; empty while there are few states.
    table: Vec<Entry>,
    hashing: Option<[RandomState; 2]>,
    /// Long states are kept as hashes.
    shortened: bool,
    /// The states on the way from the start to here.
    way: Vec<u32>,
    count: usize,
    /// Whether some state had a choice. From then on states are kept.
    chosen: bool,
    /// Before that, the state with which others are compared, and its process.
    milestone: Option<(u32, Vec<u8>)>,
}

impl InnerStates {
    /// Records that the sequence continues in a state. Returns `false` if it is cut there. After
    /// more than `follow_once_after` continuations, a state that was passed before is not followed
    /// again.
    pub fn enter(&mut self, process: u32, state: &[u8], follow_once_after: usize) -> bool {
        if !self.chosen {
            return self.pass(process, state);
        }
        let mut room = [0; KEY];
        let (key, hash) = self.key(process, state, &mut room);
        let number = match self.find(process, key, hash) {
            Some(number) if self.states[number].on_way || self.count > follow_once_after => return false,
            Some(number) => number,
            None => self.keep(process, key, hash),
        };
        self.count += 1;
        self.states[number].on_way = true;
        self.way.push(number as u32);
        true
    }

    /// Records that the state entered last, which is this one, has several continuations.
    pub fn choose(&mut self, process: u32, state: &[u8]) {
        if self.chosen {
            return;
        }
        self.chosen = true;
        self.milestone = None;
        // It was counted when it was entered.
        self.count -= 1;
        self.enter(process, state, usize::MAX);
    }

    /// Brent's algorithm: the kept state is replaced at each power of two.
    fn pass(&mut self, process: u32, state: &[u8]) -> bool {
        if self.milestone.as_ref().is_some_and(|(who, kept)| *who == process && kept == state) {
            return false;
        }
        self.count += 1;
        if self.count.is_power_of_two() {
            let (who, kept) = self.milestone.get_or_insert_default();
            *who = process;
            kept.clear();
            kept.extend_from_slice(state);
        }
        true
    }

    /// All continuations of the last `count` states have been followed.
    pub fn leave(&mut self, count: usize) {
        for number in self.way.drain(self.way.len().saturating_sub(count)..) {
            self.states[number as usize].on_way = false;
        }
    }

    /// How many continuations have been followed.
    #[cfg(test)]
    fn count(&self) -> usize {
        self.count
    }

    /// The memory to account for: twice the memory in use, because a growing table needs its old
    /// and its new memory at the same time.
    pub fn bytes(&self) -> u64 {
        let states = self.states.capacity() * size_of::<State>() + self.way.capacity() * size_of::<u32>();
        2 * (self.bytes.capacity() + states + self.table.capacity() * size_of::<Entry>()) as u64
    }

    /// Forgets everything. Keeps as much memory as the next sequence may need.
    pub fn clear(&mut self) {
        if self.states.len() > ROOM || self.bytes.len() > ROOM << 8 {
            *self = InnerStates::default();
        }
        self.bytes.clear();
        self.states.clear();
        self.table.clear();
        self.way.clear();
        self.shortened = false;
        self.count = 0;
        self.chosen = false;
        self.milestone = None;
    }

    /// The bytes that are kept of a state, and their hash.
    fn key<'k>(&self, process: u32, state: &'k [u8], room: &'k mut [u8; KEY]) -> (&'k [u8], u32) {
        let Some([one, other]) = self.hashing.as_ref().filter(|_| !self.table.is_empty()) else { return (state, 0) };
        let hash = one.hash_one((process, state));
        if !self.shortened || state.len() < KEY {
            return (state, hash as u32);
        }
        *room = (u128::from(hash) << 64 | u128::from(other.hash_one((process, state)))).to_le_bytes();
        (room, hash as u32)
    }

    /// From here on long states are kept as hashes. Their entries in the table depend on their
    /// contents and do not change.
    fn shorten(&mut self) {
        self.shortened = true;
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(self.states.len()));
        for number in 0..self.states.len() {
            let mut room = [0; KEY];
            bytes.extend_from_slice(self.key(self.states[number].process, self.key_of(number), &mut room).0);
            ends.push(bytes.len());
        }
        self.states.iter_mut().zip(ends).for_each(|(state, end)| state.end = end);
        self.bytes = bytes;
    }

    fn key_of(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.states[before].end);
        &self.bytes[start..self.states[number].end]
    }

    /// The number of a state, if it is known.
    fn find(&self, process: u32, key: &[u8], hash: u32) -> Option<usize> {
        let is = |number: usize| self.states[number].process == process && self.key_of(number) == key;
        if self.table.is_empty() {
            return (0..self.states.len()).find(|&number| is(number));
        }
        let known = |entry: &Entry| entry.hash == hash && is(entry.state as usize - 1);
        let found = self.probe(hash).map(|place| self.table[place]).take_while(|entry| entry.state != 0).find(known);
        found.map(|entry| entry.state as usize - 1)
    }

    /// The entries at which a state with this hash may be, in the order of probing. The table's
    /// size is a power of two.
    fn probe(&self, hash: u32) -> impl Iterator<Item = usize> + use<> {
        let mask = self.table.len().wrapping_sub(1);
        (0..=mask).map(move |n| (hash as usize).wrapping_add(n) & mask)
    }

    /// Keeps a new state. Returns its number.
    fn keep(&mut self, process: u32, key: &[u8], hash: u32) -> usize {
        let number = self.states.len();
        self.bytes.extend_from_slice(key);
        self.states.push(State { end: self.bytes.len(), process, on_way: false });
        if self.table.is_empty() {
            if self.states.len() > SHORT {
                self.first_table();
            }
        } else {
            if 3 * self.states.len() > 2 * self.table.len() {
                let larger = vec![Entry::default(); 2 * self.table.len()];
                let entries = std::mem::replace(&mut self.table, larger);
                entries.into_iter().filter(|entry| entry.state != 0).for_each(|entry| self.put(entry));
            }
            self.put(Entry { hash, state: number as u32 + 1 });
            if !self.shortened && self.bytes.len() > EXACT_BYTES {
                self.shorten();
            }
        }
        number
    }

    /// From here on there are many states, which are found by their hashes.
    fn first_table(&mut self) {
        self.hashing = Some([RandomState::new(), RandomState::new()]);
        self.table.resize(8 * SHORT, Entry::default());
        for number in 0..self.states.len() {
            let mut room = [0; KEY];
            let (_, hash) = self.key(self.states[number].process, self.key_of(number), &mut room);
            self.put(Entry { hash, state: number as u32 + 1 });
        }
    }

    /// Puts an entry at the first free position; there is always one.
    fn put(&mut self, entry: Entry) {
        if let Some(place) = self.probe(entry.hash).find(|&place| self.table[place].state == 0) {
            self.table[place] = entry;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// The rule of the specification, implemented literally.
    #[derive(Default)]
    struct Plain {
        way: Vec<(u32, Vec<u8>)>,
        all: HashSet<(u32, Vec<u8>)>,
        count: usize,
    }

    impl Plain {
        fn enter(&mut self, key: (u32, Vec<u8>), follow_once_after: usize) -> bool {
            if self.way.contains(&key) || (self.count > follow_once_after && self.all.contains(&key)) {
                return false;
            }
            self.count += 1;
            self.all.insert(key.clone());
            self.way.push(key);
            true
        }
    }

    #[test]
    fn answers_are_those_of_the_rule() {
        let mut random = 1_u64;
        let mut below = |n: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % n
        };
        let mut passed = InnerStates { chosen: true, ..InnerStates::default() };
        for round in 0..60 {
            let kinds = 4 << (round % 9);
            let follow_once_after = [20, 300, usize::MAX][round % 3];
            let mut plain = Plain::default();
            for _ in 0..2000 {
                if below(3) > 0 {
                    let state = below(kinds);
                    // Different lengths, and one that begins like another.
                    let mut bytes = vec![7; state as usize % 20];
                    bytes.extend([state as u8, (state >> 8) as u8]);
                    let key = (below(2) as u32, bytes);
                    assert_eq!(passed.enter(key.0, &key.1, follow_once_after), plain.enter(key.clone(), follow_once_after));
                } else {
                    let leave = below(4) as usize;
                    passed.leave(leave);
                    plain.way.truncate(plain.way.len().saturating_sub(leave));
                }
                assert_eq!(passed.count(), plain.count);
            }
            passed.clear();
            passed.chosen = true;
        }
    }

    /// A path without a choice is followed to the state where it repeats, or to its first choice,
    /// which is kept.
    #[test]
    fn a_way_without_a_choice_comes_back() {
        for (tail, circle) in [(0, 1), (0, 7), (5, 1), (100, 33), (1000, 4097)] {
            let mut passed = InnerStates::default();
            let state = |n: u32| (if n < tail { n } else { tail + (n - tail) % circle }).to_le_bytes();
            let steps = (0..).take_while(|&n| passed.enter(0, &state(n), 0)).count() as u32;
            assert!(steps >= tail + circle && steps <= 3 * (tail + circle) + 1, "{tail} {circle} {steps}");
            assert!(passed.bytes() < 64, "nothing is kept");
        }
        let mut passed = InnerStates::default();
        assert!((0..1000_u32).all(|n| passed.enter(0, &n.to_le_bytes(), usize::MAX)));
        // Another process or another state counts as a different position.
        assert!(passed.enter(1, &512_u32.to_le_bytes(), usize::MAX));
        passed.choose(1, &512_u32.to_le_bytes());
        assert_eq!(passed.count(), 1001);
        assert!(passed.enter(0, &7_u32.to_le_bytes(), usize::MAX), "it goes on to the choice");
        assert!(!passed.enter(1, &512_u32.to_le_bytes(), usize::MAX), "and ends there");
    }
}
