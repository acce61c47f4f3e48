//! How each state was first reached: eight bytes a state, from which the path to any of them can be run again.
//!
//! A link is the number of the parent's link (40 bits: which worker made it, and its number there) and the index of the step among
//! those the parent offers (24 bits). Each worker writes a log of its own, in blocks that never move.

use crate::checkpoint::{CheckpointError, Reader, Writer};
use crate::retrace::Choice;
use std::io;

const CHOICE_BITS: u32 = 24;
/// Stands for a choice that does not fit; a path through it is lost.
const CHOICE_LOST: u64 = (1 << CHOICE_BITS) - 1;
const INDEX_BITS: u32 = 32;
const NO_PARENT: u64 = (1 << (64 - CHOICE_BITS)) - 1;
const BLOCK: usize = 1 << 13;

/// The most workers whose links can be told apart; the last number stands for "none".
pub(crate) const MOST_WORKERS: usize = 255;

/// The number of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link(u64);

impl Link {
    /// The parent of initial states.
    pub const NONE: Link = Link(NO_PARENT);
    /// A link that could not be made because there are too many.
    const LOST: Link = Link(NO_PARENT - 1);
}

/// The links one worker made.
pub(crate) struct Links {
    worker: u64,
    blocks: Vec<Vec<u64>>,
}

impl Links {
    pub fn new(worker: usize) -> Self {
        Links { worker: worker.min(MOST_WORKERS - 1) as u64, blocks: Vec::new() }
    }

    #[inline]
    pub fn push(&mut self, parent: Link, choice: Choice) -> Link {
        if self.blocks.last().is_none_or(|block| block.len() == BLOCK) {
            // The first block grows as any vector does, for the sake of small models; later ones have their size at once.
            self.blocks.push(if self.blocks.is_empty() { Vec::new() } else { Vec::with_capacity(BLOCK) });
        }
        let before = (self.blocks.len() - 1) * BLOCK;
        let Some(block) = self.blocks.last_mut() else { return Link::LOST };
        let index = (before + block.len()) as u64;
        if index >= 1 << INDEX_BITS {
            return Link::LOST;
        }
        block.push(parent.0 << CHOICE_BITS | u64::from(choice).min(CHOICE_LOST));
        Link(self.worker << INDEX_BITS | index)
    }

    pub fn bytes(&self) -> u64 {
        let first = self.blocks.first().map_or(0, Vec::capacity);
        (8 * (first + self.blocks.len().saturating_sub(1) * BLOCK)) as u64
    }
}

/// Writes the links of `logs` as one log; [`Renumber`] gives the new numbers.
pub(crate) fn save(logs: &[&Links], to: &mut Writer<'_>) -> io::Result<()> {
    let renumber = Renumber::new(logs);
    to.number(if renumber.fits() { renumber.total } else { 0 })?;
    if renumber.fits() {
        for entry in logs.iter().flat_map(|log| log.blocks.iter().flatten()) {
            let parent = renumber.link(Link(entry >> CHOICE_BITS));
            to.number(parent.0 << CHOICE_BITS | entry & CHOICE_LOST)?;
        }
    }
    Ok(())
}

/// How links of several logs are numbered in one.
pub(crate) struct Renumber {
    /// Links in the logs before each.
    before: Vec<u64>,
    total: u64,
}

impl Renumber {
    pub fn new(logs: &[&Links]) -> Renumber {
        let mut total = 0;
        let before = logs
            .iter()
            .map(|log| {
                let before = total;
                total += log.blocks.iter().map(|block| block.len() as u64).sum::<u64>();
                before
            })
            .collect();
        Renumber { before, total }
    }

    fn fits(&self) -> bool {
        self.total < 1 << INDEX_BITS
    }

    pub fn link(&self, link: Link) -> Link {
        if link == Link::NONE || link == Link::LOST {
            return link;
        }
        let before = self.before.get((link.0 >> INDEX_BITS) as usize);
        before.filter(|_| self.fits()).map_or(Link::LOST, |before| Link(before + (link.0 & ((1 << INDEX_BITS) - 1))))
    }
}

impl Link {
    pub fn to_bits(self) -> u64 {
        self.0
    }

    pub fn from_bits(bits: u64) -> Link {
        Link(bits & NO_PARENT)
    }
}

impl Links {
    /// Reads what [`save`] wrote, as the log of the first worker.
    pub fn load(from: &mut Reader<'_>) -> Result<Links, CheckpointError> {
        let mut links = Links::new(0);
        for _ in 0..from.number()? {
            let entry = from.number()?;
            links.push(Link(entry >> CHOICE_BITS), (entry & CHOICE_LOST) as Choice);
        }
        Ok(links)
    }
}

/// The choices that lead from the initial states to `link`, the choice among the initial states first, if `logs` (by worker) know.
pub(crate) fn path(logs: &[Links], mut link: Link) -> Option<Vec<Choice>> {
    let mut choices = Vec::new();
    while link != Link::NONE {
        // A parent is older than its child, so a path is no longer than its youngest link is old; one that is was read from somewhere.
        if choices.len() as u64 > 1 << INDEX_BITS {
            return None;
        }
        let index = (link.0 & ((1 << INDEX_BITS) - 1)) as usize;
        let entry = *logs.get((link.0 >> INDEX_BITS) as usize)?.blocks.get(index / BLOCK)?.get(index % BLOCK)?;
        let choice = entry & CHOICE_LOST;
        if choice == CHOICE_LOST {
            return None;
        }
        choices.push(choice as Choice);
        link = Link(entry >> CHOICE_BITS);
    }
    choices.reverse();
    Some(choices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_back_to_the_root_across_workers() {
        let mut logs = [Links::new(0), Links::new(1)];
        let root = logs[0].push(Link::NONE, 2);
        let a = logs[0].push(root, 5);
        let b = logs[1].push(root, 6);
        let mut deep = b;
        for _ in 0..20_000 {
            deep = logs[0].push(deep, 1);
        }
        assert_eq!(path(&logs, a), Some(vec![2, 5]));
        assert_eq!(path(&logs, b), Some(vec![2, 6]));
        assert_eq!(path(&logs, deep).unwrap().len(), 20_002);
        assert_eq!(path(&logs, Link::NONE), Some(vec![]));
        assert!(logs[0].bytes() >= 8 * 20_000);
    }

    #[test]
    fn a_choice_too_large_loses_the_path_instead_of_lying() {
        let mut logs = [Links::new(0)];
        let root = logs[0].push(Link::NONE, 0);
        let far = logs[0].push(root, u32::MAX);
        assert_eq!(path(&logs, far), None);
        assert_eq!(path(&logs, Link::LOST), None);
    }
}
