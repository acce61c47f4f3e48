//! The states found last, in memory: a cache that proves a state known, and a collection of the
//! states that may be new.
//!
//! There are two generations. A state that is in neither is added to the young one and is *open*:
//! the runs will show later whether it is new. When the young generation is full, its states become
//! the old generation, and the old states are forgotten. Before that, the open states are returned
//! as a sorted list. So a state is forgotten only after the caller has got it, and the memory
//! always holds the states found last.

use crate::set::{ITEM, Set};

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

/// The states found last.
pub struct Recent {
    young: Set,
    /// The number of young states that are not open. The open ones come after them.
    settled: usize,
    old: Set,
    /// The bytes that a generation may take.
    room: u64,
}

impl Recent {
    /// Uses at most `budget` bytes, but has room for some states in any case.
    pub fn new(budget: u64) -> Recent {
        let mut recent = Recent { young: Set::default(), settled: 0, old: Set::default(), room: 0 };
        recent.set_budget(budget);
        recent
    }

    /// Sets the budget from now on. What takes more already is freed by the next two turns.
    pub fn set_budget(&mut self, budget: u64) {
        self.room = (budget / 2).max(1 << 12);
    }

    /// The budget.
    pub fn budget(&self) -> u64 {
        2 * self.room
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
        self.young.touch(hash) ^ self.old.touch(hash)
    }

    /// The bytes in memory.
    pub fn memory(&self) -> u64 {
        self.young.memory() + self.old.memory() + self.open() as u64 * ITEM
    }

    /// The number of open states.
    pub fn open(&self) -> usize {
        self.young.len() - self.settled
    }

    /// Looks up a state with this hash, and adds it if it is not there.
    #[inline]
    pub fn meet(&mut self, hash: u64, state: &[u8]) -> Met {
        let Err(mut at) = self.young.find(hash, state) else { return Met::Known };
        if self.old.find(hash, state).is_ok() {
            return Met::Known;
        }
        if !self.young.has_place(state.len()) {
            if !self.young.make_place(state.len(), self.room, ITEM) {
                return Met::Full;
            }
            at = self.young.find(hash, state).err().unwrap_or(0);
        }
        self.young.add(at, hash, state);
        Met::Open
    }

    /// Calls `each` with the open states in ascending order, and then treats them as known.
    pub fn settle<E>(&mut self, mut each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        self.young.in_order(self.settled).try_for_each(|number| each(self.young.state(number)))?;
        self.settled = self.young.len();
        Ok(())
    }

    /// Makes room: the young states become old. None of them may be open. A generation that takes
    /// more than a reduced budget allows is freed.
    pub fn turn(&mut self) {
        debug_assert_eq!(self.open(), 0, "open states would be forgotten");
        std::mem::swap(&mut self.young, &mut self.old);
        self.young.clear();
        self.settled = 0;
        for set in [&mut self.young, &mut self.old] {
            if set.memory() > self.room {
                *set = Set::default();
            }
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        (self.young, self.old, self.settled) = Default::default();
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
            assert!(recent.memory() <= budget.max(1 << 13), "{} of {budget}", recent.memory());
        }
    }
}
