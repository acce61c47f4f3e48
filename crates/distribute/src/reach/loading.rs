//! A worker reads its part of a saved search, whatever the number of workers that saved it.

use super::{BATCH, Reach};
use crate::links::Link;
use crate::reach::Counts;
use crate::save::{PartError, Reader, read};
use contract::{Action, StoreFull};

impl Reach<'_, '_> {
    /// Reads a saved search, and takes the states that belong to this worker.
    pub fn load(&mut self) -> Result<(), PartError> {
        let Some(resume) = self.work.resume else { return Ok(()) };
        self.base = resume.depth;
        for part in 0..resume.parts {
            let mut from = (resume.open)(part)?;
            let mine = part as usize % self.work.workers == self.me;
            read(resume.depth, &mut *from, &mut Loading { reach: self, mine })?;
        }
        self.store_loaded()
    }

    /// Stores states that were visited before.
    fn store_loaded(&mut self) -> Result<(), PartError> {
        self.fresh.clear();
        self.visited.insert(&self.home, &mut self.hashes, &mut self.fresh);
        self.home.clear();
        let budget = self.work.limits.memory.unwrap_or(0);
        if self.visited.is_full() { Err(PartError::Full(StoreFull { needed: budget, budget })) } else { Ok(()) }
    }
}

/// Receives a part of a checkpoint while it is read.
struct Loading<'r, 'a, 's> {
    reach: &'r mut Reach<'a, 's>,
    /// Whether the counts of the part are added here.
    mine: bool,
}

impl Loading<'_, '_, '_> {
    /// The logs of earlier runs follow those of this one, and belong to workers in the same way.
    fn shifted(&self, link: Link) -> Link {
        if link == Link::NONE { link } else { Link::new(link.log() + 2 * self.reach.work.workers, link.place()) }
    }
}

impl Reader for Loading<'_, '_, '_> {
    fn counts(&mut self, counts: Counts) {
        let all = &mut self.reach.counts;
        all.depth = all.depth.max(counts.depth);
        if self.mine {
            all.states += counts.states;
            all.transitions += counts.transitions;
            all.expanded += counts.expanded;
            all.cross += counts.cross;
            all.sent += counts.sent;
            all.spared += counts.spared;
        }
    }

    fn link(&mut self, log: usize, place: u64, from: Link, choice: u32) -> Result<(), PartError> {
        let number = log + 2 * self.reach.work.workers;
        if number % self.reach.work.workers != self.reach.me {
            return Ok(());
        }
        let from = self.shifted(from);
        let log = self.reach.old.entry(number).or_default();
        if log.len() != place {
            return Err(PartError::Damaged);
        }
        log.push(from, choice);
        Ok(())
    }

    fn state(&mut self, state: &[u8]) -> Result<(), PartError> {
        if self.reach.owner(state) == self.reach.me {
            self.reach.home.push(state, Action::default());
            if self.reach.home.len() >= BATCH {
                self.reach.store_loaded()?;
            }
        }
        Ok(())
    }

    fn waiting(&mut self, from: Link, choice: u32, state: &[u8]) -> Result<(), PartError> {
        if self.reach.owner(state) == self.reach.me {
            let from = self.shifted(from);
            self.reach.log.push(from, choice);
            self.reach.next.push(state);
        }
        Ok(())
    }
}
