//! The states found last, in memory: a cache that proves a state known, and a collection of the
//! states that may be new.
//!
//! There are two generations. A state that is in neither is added to the young one and is *open*:
//! the runs will show later whether it is new. When the young generation is full, its states become
//! the old generation, and the old states are forgotten. Before that, the open states are returned
//! as a sorted list. So a state is forgotten only after the caller has got it, and the memory
//! always holds the states found last.

use crate::sort::{Item, sort};

/// The most bytes of states in a generation.
const MOST_BYTES: usize = u32::MAX as usize;
/// The bytes that a state takes in addition to its own: its end, two slots, and its place in a
/// sorted list.
const BESIDE: u64 = 4 + 16 + 16;

/// The answer for a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// The state was found before.
    Known,
    /// The state was not among those found last.
    Open,
    /// There is no room for the state: [`Recent::turn`] makes some.
    Full,
}

#[derive(Default)]
struct Generation {
    bytes: Vec<u8>,
    /// The end of each state.
    ends: Vec<u32>,
    /// A part of a hash above, the number of a state plus one below; 0 for none.
    slots: Vec<u64>,
    /// The number of states that are not open. The open ones come after them.
    settled: usize,
}

impl Generation {
    fn state(&self, number: u32) -> &[u8] {
        let end = |number: u32| self.ends[number as usize] as usize;
        let start = if number == 0 { 0 } else { end(number - 1) };
        &self.bytes[start..end(number)]
    }

    /// The slot of `state`, or the one where it belongs.
    #[inline]
    fn slot(&self, hash: u64, state: &[u8]) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(at);
            }
            if slot >> 32 == hash >> 32 && self.state(slot as u32 - 1) == state {
                return Ok(at);
            }
            at = (at + 1) & mask;
        }
    }

    fn memory(&self) -> u64 {
        (self.bytes.capacity() + self.ends.capacity() * 4 + self.slots.capacity() * 8) as u64
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.slots.fill(0);
        self.settled = 0;
    }

    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(64);
        let old = std::mem::replace(&mut self.slots, vec![0; slots]);
        for slot in old.into_iter().filter(|&slot| slot != 0) {
            let hash = store::hash_bytes(self.state(slot as u32 - 1));
            let mut at = hash as usize & (slots - 1);
            while self.slots[at] != 0 {
                at = (at + 1) & (slots - 1);
            }
            self.slots[at] = slot;
        }
    }
}

/// The states found last.
pub struct Recent {
    young: Generation,
    old: Generation,
    /// The bytes that a generation may take.
    room: u64,
}

impl Recent {
    /// Uses at most `budget` bytes, but has room for some states in any case.
    pub fn new(budget: u64) -> Recent {
        let mut recent = Recent { young: Generation::default(), old: Generation::default(), room: 0 };
        recent.set_budget(budget);
        recent
    }

    /// Sets the budget from now on.
    pub fn set_budget(&mut self, budget: u64) {
        self.room = (budget / 2).clamp(1 << 12, MOST_BYTES as u64);
    }

    /// The hash of a state.
    #[inline]
    pub fn hash(state: &[u8]) -> u64 {
        store::hash_bytes(state)
    }

    /// Reads the places of a state with this hash, so that they are in the cache when the state is
    /// looked up.
    #[inline]
    pub fn touch(&self, hash: u64) -> u64 {
        let slot = |of: &Generation| of.slots.get(hash as usize & of.slots.len().wrapping_sub(1)).copied().unwrap_or(0);
        slot(&self.young) ^ slot(&self.old)
    }

    /// The bytes in memory.
    pub fn memory(&self) -> u64 {
        self.young.memory() + self.old.memory() + self.open() as u64 * size_of::<Item>() as u64
    }

    /// The number of open states.
    pub fn open(&self) -> usize {
        self.young.ends.len() - self.young.settled
    }

    /// Looks up a state with this hash, and adds it if it is not there.
    #[inline]
    pub fn meet(&mut self, hash: u64, state: &[u8]) -> Met {
        if (self.young.ends.len() + 1) * 2 > self.young.slots.len() {
            self.young.grow();
        }
        let young = &mut self.young;
        let Err(at) = young.slot(hash, state) else { return Met::Known };
        let known = !self.old.slots.is_empty() && self.old.slot(hash, state).is_ok();
        if known {
            return Met::Known;
        }
        let bytes = young.bytes.len() + state.len();
        let full = (young.ends.len() + 1) as u64 * BESIDE + bytes as u64 > self.room || bytes > MOST_BYTES;
        if full && !young.ends.is_empty() || bytes > MOST_BYTES {
            return Met::Full;
        }
        if bytes > young.bytes.capacity() {
            // The capacity does not exceed the available room.
            let more = young.bytes.capacity().max(1 << 10).min(self.room as usize).max(state.len());
            young.bytes.reserve_exact(more);
        }
        young.bytes.extend_from_slice(state);
        young.ends.push(bytes as u32);
        young.slots[at] = hash >> 32 << 32 | young.ends.len() as u64;
        Met::Open
    }

    /// Calls `each` with the open states in ascending order, and then treats them as known.
    pub fn settle<E>(&mut self, mut each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let young = &mut self.young;
        let mut items: Vec<Item> = (young.settled..young.ends.len()).map(|number| Item::new(number as u32)).collect();
        sort(&mut items, &|number| young.state(number));
        items.iter().try_for_each(|item| each(young.state(item.number)))?;
        young.settled = young.ends.len();
        Ok(())
    }

    /// Makes room: the young states become old. None of them may be open.
    pub fn turn(&mut self) {
        debug_assert_eq!(self.open(), 0, "open states would be forgotten");
        std::mem::swap(&mut self.young, &mut self.old);
        self.young.clear();
        // Memory beyond a reduced budget is freed.
        if self.young.memory() > self.room.saturating_mul(2) {
            self.young = Generation::default();
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        (self.young, self.old) = Default::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Every state that is called known was open before, and each open state is reported once.
    #[test]
    fn states_are_known_only_if_they_were_told() {
        let mut random = 1;
        for budget in [0, 1 << 14, 1 << 18] {
            let mut recent = Recent::new(budget);
            let (mut told, mut met) = (BTreeSet::new(), BTreeSet::new());
            let mut known = 0;
            let mut settle = |recent: &mut Recent, met: &mut BTreeSet<Vec<u8>>| {
                let mut last: Option<Vec<u8>> = None;
                let settled = recent.settle(|state| {
                    assert!(met.remove(state) && last.as_deref() < Some(state));
                    told.insert(state.to_vec());
                    last = Some(state.to_vec());
                    Ok::<(), ()>(())
                });
                assert!(settled.is_ok() && met.is_empty() && recent.open() == 0);
                told.len()
            };
            let mut all = BTreeSet::new();
            for step in 0..40_000_u64 {
                let n = splitmix::next(&mut random) % 3000 + step / 20;
                let state = n.to_le_bytes()[..(2 + n % 7) as usize].to_vec();
                let hash = Recent::hash(&state);
                let mut answer = recent.meet(hash, &state);
                if answer == Met::Full {
                    settle(&mut recent, &mut met);
                    recent.turn();
                    answer = recent.meet(hash, &state);
                }
                match answer {
                    Met::Known => known += usize::from(all.contains(&state)),
                    Met::Open => assert!(met.insert(state.clone())),
                    Met::Full => panic!("there is room for one state"),
                }
                assert!(answer != Met::Known || all.contains(&state));
                all.insert(state);
                if step % 5000 == 0 {
                    settle(&mut recent, &mut met);
                }
            }
            assert_eq!(settle(&mut recent, &mut met), all.len());
            assert!(known > 100 || budget == 0, "{known}");
            assert!(recent.memory() < budget * 2 + (1 << 15), "{} of {budget}", recent.memory());
        }
    }
}
