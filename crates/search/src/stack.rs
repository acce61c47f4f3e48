//! The stack of a depth-first search: states to be visited, and states being visited, as one stack of byte records.
//!
//! A record is a state followed by a footer. It is pushed as a *candidate*, with its hash; when it is popped and turns out to be new
//! it is *opened* in place and its successors are pushed above it; when it surfaces again, everything below it in the search tree is
//! done. The open records, from bottom to top, are the path the search is on. Blocks of fixed size hold the records, so that the
//! stack grows without ever moving.

use contract::{Action, StateId};

const BLOCK: usize = 1 << 20;
const FOOTER: usize = 8 + 8 + 4 + 4 + 1;

/// What lies on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Top {
    /// A state that has not been looked up.
    Candidate {
        /// Its hash.
        hash: u64,
    },
    /// A state all of whose successors are done.
    Open {
        /// Its name in the store.
        id: StateId,
    },
}

/// How a state came onto the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// The step.
    pub action: Action,
    /// Its index among the steps of the state it left.
    pub choice: u32,
}

#[derive(Default)]
pub(crate) struct Stack {
    blocks: Vec<Vec<u8>>,
    /// Allocated bytes.
    bytes: u64,
    len: u64,
}

fn read<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

struct Footer {
    /// The hash of a candidate, the name of an open state.
    word: u64,
    arrival: Arrival,
    len: usize,
    open: bool,
}

impl Footer {
    fn of(block: &[u8], end: usize) -> Footer {
        let at = end - FOOTER;
        Footer {
            word: u64::from_le_bytes(read(block, at)),
            arrival: Arrival {
                action: Action::from_bits(u64::from_le_bytes(read(block, at + 8))),
                choice: u32::from_le_bytes(read(block, at + 16)),
            },
            len: u32::from_le_bytes(read(block, at + 20)) as usize,
            open: block[end - 1] != 0,
        }
    }
}

impl Stack {
    pub fn push(&mut self, state: &[u8], hash: u64, arrival: Arrival) {
        let size = state.len() + FOOTER;
        if self.blocks.last().is_none_or(|block| block.capacity() - block.len() < size) {
            let block = Vec::with_capacity(size.max(BLOCK));
            self.bytes += block.capacity() as u64;
            self.blocks.push(block);
        }
        if let Some(block) = self.blocks.last_mut() {
            block.extend_from_slice(state);
            block.extend_from_slice(&hash.to_le_bytes());
            block.extend_from_slice(&arrival.action.to_bits().to_le_bytes());
            block.extend_from_slice(&arrival.choice.to_le_bytes());
            block.extend_from_slice(&(state.len() as u32).to_le_bytes());
            block.push(0);
        }
        self.len += 1;
    }

    /// The state on top and what it is.
    pub fn top(&self) -> Option<(&[u8], Top, Arrival)> {
        let block = self.blocks.last()?;
        let footer = Footer::of(block, block.len());
        let end = block.len() - FOOTER;
        let top = if footer.open { Top::Open { id: StateId(footer.word) } } else { Top::Candidate { hash: footer.word } };
        Some((&block[end - footer.len..end], top, footer.arrival))
    }

    /// Opens the candidate on top, whose name is `id`.
    pub fn open(&mut self, id: StateId) {
        if let Some(block) = self.blocks.last_mut() {
            let end = block.len();
            block[end - FOOTER..end - FOOTER + 8].copy_from_slice(&id.0.to_le_bytes());
            block[end - 1] = 1;
        }
    }

    pub fn pop(&mut self) {
        let Some(block) = self.blocks.last_mut() else { return };
        let size = Footer::of(block, block.len()).len + FOOTER;
        block.truncate(block.len() - size);
        self.len -= 1;
        if block.is_empty() {
            self.bytes -= block.capacity() as u64;
            self.blocks.pop();
        }
    }

    /// The open states from top to bottom.
    pub fn open_states(&self) -> impl Iterator<Item = (&[u8], StateId, Arrival)> {
        self.blocks.iter().rev().flat_map(|block| {
            let mut end = block.len();
            std::iter::from_fn(move || {
                while end > 0 {
                    let footer = Footer::of(block, end);
                    let state_end = end - FOOTER;
                    end = state_end - footer.len;
                    if footer.open {
                        return Some((&block[end..state_end], StateId(footer.word), footer.arrival));
                    }
                }
                None
            })
        })
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(n: u32) -> Arrival {
        Arrival { action: Action::new(n, n + 1), choice: n }
    }

    #[test]
    fn records_of_all_sizes_come_back_in_reverse() {
        let mut stack = Stack::default();
        let state = |n: u32| vec![n as u8; (n as usize * 7919) % 3000];
        for n in 0..3000 {
            stack.push(&state(n), u64::from(n) << 40, arrival(n));
        }
        assert!(stack.blocks.len() > 2);
        assert!(stack.bytes() >= 3000 * 1500);
        for n in (0..3000).rev() {
            let expected = state(n);
            assert_eq!(stack.top(), Some((&expected[..], Top::Candidate { hash: u64::from(n) << 40 }, arrival(n))));
            stack.pop();
        }
        assert_eq!((stack.top(), stack.len(), stack.bytes()), (None, 0, 0));
    }

    #[test]
    fn the_path_is_what_is_open() {
        let mut stack = Stack::default();
        for n in 0..10u8 {
            stack.push(&[n], 0, arrival(n.into()));
            if n % 3 == 0 {
                stack.open(StateId(n.into()));
            }
        }
        let path: Vec<u64> = stack.open_states().map(|(_, id, _)| id.0).collect();
        assert_eq!(path, [9, 6, 3, 0]);
        assert_eq!(stack.top().unwrap().1, Top::Open { id: StateId(9) });
    }

    #[test]
    fn a_record_larger_than_a_block_gets_its_own() {
        let mut stack = Stack::default();
        let large = vec![1; 3 << 20];
        stack.push(b"small", 1, arrival(0));
        stack.push(&large, 2, arrival(1));
        assert_eq!(stack.top().unwrap().0, &large[..]);
        stack.pop();
        assert_eq!(stack.top().unwrap().0, b"small");
    }
}
