//! How each state was first reached: eight bytes a state, from which the path to any of them can be run again.
//!
//! A link is the number of the parent's link (40 bits) and the index of the step among those the parent offers (24 bits).

use crate::retrace::Choice;

const CHOICE_BITS: u32 = 24;
/// Stands for a choice that does not fit; a path through it is lost.
const CHOICE_LOST: u64 = (1 << CHOICE_BITS) - 1;
const NO_PARENT: u64 = (1 << (64 - CHOICE_BITS)) - 1;

/// The number of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link(u64);

impl Link {
    /// The parent of initial states.
    pub const NONE: Link = Link(NO_PARENT);
}

/// All links of a search.
#[derive(Default)]
pub(crate) struct Links(Vec<u64>);

impl Links {
    pub fn push(&mut self, parent: Link, choice: Choice) -> Link {
        let link = Link((self.0.len() as u64).min(NO_PARENT));
        self.0.push(parent.0 << CHOICE_BITS | u64::from(choice).min(CHOICE_LOST));
        link
    }

    /// The choices that lead from the initial states to `link`, the choice among the initial states first.
    pub fn path(&self, mut link: Link) -> Option<Vec<Choice>> {
        let mut choices = Vec::new();
        while link != Link::NONE {
            let entry = *self.0.get(usize::try_from(link.0).ok()?)?;
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

    pub fn bytes(&self) -> u64 {
        (self.0.capacity() * 8) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_back_to_the_root() {
        let mut links = Links::default();
        let root = links.push(Link::NONE, 2);
        let a = links.push(root, 5);
        let b = links.push(root, 6);
        let c = links.push(b, 0);
        assert_eq!(links.path(a), Some(vec![2, 5]));
        assert_eq!(links.path(c), Some(vec![2, 6, 0]));
        assert_eq!(links.path(Link::NONE), Some(vec![]));
    }

    #[test]
    fn a_choice_too_large_loses_the_path_instead_of_lying() {
        let mut links = Links::default();
        let root = links.push(Link::NONE, 0);
        let far = links.push(root, u32::MAX);
        assert_eq!(links.path(far), None);
    }
}
