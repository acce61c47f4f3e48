//! How each state was first reached: eight bytes a state, from which the path to any of them can be run again.
//!
//! A link is the number of the parent's link (40 bits: which worker made it, and its number there) and the index of the step among
//! those the parent offers (24 bits). Each worker writes a log of its own, in blocks that never move.

use crate::retrace::Choice;

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

/// The choices that lead from the initial states to `link`, the choice among the initial states first, if `logs` (by worker) know.
pub(crate) fn path(logs: &[Links], mut link: Link) -> Option<Vec<Choice>> {
    let mut choices = Vec::new();
    while link != Link::NONE {
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
