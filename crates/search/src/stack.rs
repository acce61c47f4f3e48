//! The stack of a depth-first search: states to be visited, and states being visited, as one stack
//! of byte records.
//!
//! A record is a state followed by a footer. It is pushed as a *candidate*, with its hash. When it
//! is popped and turns out to be new, it is *opened* in place and its successors are pushed above
//! it. When it is on top again, everything below it in the search tree is done. The open records,
//! from bottom to top, are the path of the search.
//!
//! Blocks of fixed size hold the records, so that the stack grows without moving. Because only the
//! top of a stack is used, the blocks at the bottom can be moved to disk and read back when the
//! search returns to them. If the disk is full, the stack stays in memory as long as there is room.

use crate::spill::Spill;
use contract::{Action, StateId};
use std::io;

const BLOCK: usize = 1 << 18;
const FOOTER: usize = 8 + 8 + 4 + 1;
/// The number of blocks at the top that always stay in memory, so that crossing a block border
/// repeatedly does not read and write each time.
const STAY: usize = 4;

/// The record on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Top {
    /// A state that has not been looked up.
    Candidate {
        /// Its hash.
        hash: u64,
    },
    /// A state whose successors are all done.
    Open {
        /// Its name in the store.
        id: StateId,
    },
}

#[derive(Default)]
pub(crate) struct Stack<'s> {
    /// Blocks on disk are empty here.
    blocks: Vec<Vec<u8>>,
    /// A block that was on top, kept for reuse: a search crosses block borders up and down.
    spare: Option<Vec<u8>>,
    /// The number of blocks, from the bottom, that are on disk.
    spilled: usize,
    spill: Option<Spill<'s>>,
    /// A message for the user; and whether blocks stay in memory although there is external
    /// storage.
    news: Option<String>,
    full: bool,
    told: bool,
    /// Bytes in memory.
    bytes: u64,
    len: u64,
}

/// The part of a record after the state.
struct Footer {
    /// The hash of a candidate, the name of an open state.
    word: u64,
    action: Action,
    len: usize,
    open: bool,
}

impl Footer {
    /// The footer that ends at `end`.
    #[inline(always)]
    fn of(block: &[u8], end: usize) -> Footer {
        let mut bytes = [0; FOOTER];
        bytes.copy_from_slice(&block[end - FOOTER..end]);
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        Footer {
            word: word(0),
            action: Action::from_bits(word(8)),
            len: u32::from_le_bytes(std::array::from_fn(|byte| bytes[16 + byte])) as usize,
            open: bytes[FOOTER - 1] != 0,
        }
    }

    /// The footer of a candidate of `len` bytes.
    #[inline(always)]
    fn bytes(hash: u64, action: Action, len: usize) -> [u8; FOOTER] {
        let mut bytes = [0; FOOTER];
        bytes[..8].copy_from_slice(&hash.to_le_bytes());
        bytes[8..16].copy_from_slice(&action.to_bits().to_le_bytes());
        bytes[16..20].copy_from_slice(&(len as u32).to_le_bytes());
        bytes
    }
}

impl<'s> Stack<'s> {
    /// A stack that uses `spill`, if there is one, when it gets large.
    pub fn new(spill: Option<Spill<'s>>) -> Self {
        Stack { spill, ..Stack::default() }
    }

    /// Pushes a candidate.
    #[inline]
    pub fn push(&mut self, state: &[u8], hash: u64, action: Action) {
        let size = state.len() + FOOTER;
        if self.blocks.last().is_none_or(|block| block.capacity() - block.len() < size) {
            self.add_block(size);
        }
        if let Some(block) = self.blocks.last_mut() {
            block.extend_from_slice(state);
            block.extend_from_slice(&Footer::bytes(hash, action, state.len()));
        }
        self.len += 1;
    }

    #[cold]
    fn add_block(&mut self, size: usize) {
        let spare = self.spare.take().filter(|spare| spare.capacity() >= size);
        let block = spare.unwrap_or_else(|| Vec::with_capacity(size.max(BLOCK)));
        self.bytes += block.capacity() as u64;
        self.blocks.push(block);
        let Some(spill) = self.spill else { return };
        while !self.full && self.bytes > spill.keep && self.blocks.len() - self.spilled > STAY {
            match spill.blocks().write(self.spilled as u64, &self.blocks[self.spilled]) {
                Ok(()) => {
                    if self.spilled == 0 && !self.told {
                        (self.news, self.told) = (Some("the lower part of the stack goes to disk".to_owned()), true);
                    }
                    let block = std::mem::take(&mut self.blocks[self.spilled]);
                    self.bytes -= block.capacity() as u64;
                    self.spilled += 1;
                }
                Err(error) => {
                    self.full = true;
                    self.news = Some(format!("the stack stays in memory from now on, because it could not be written: {error}"));
                }
            }
        }
    }

    /// Returns a message for the user, once: the stack is moved to disk, or it is not moved any
    /// more.
    pub fn news(&mut self) -> Option<String> {
        self.news.take()
    }

    /// The state on top, its kind, and the action that led to it.
    #[inline]
    pub fn top(&self) -> Option<(&[u8], Top, Action)> {
        let block = self.blocks.last()?;
        let footer = Footer::of(block, block.len());
        let end = block.len() - FOOTER;
        let top = if footer.open { Top::Open { id: StateId(footer.word) } } else { Top::Candidate { hash: footer.word } };
        Some((&block[end - footer.len..end], top, footer.action))
    }

    /// Opens the candidate on top, whose name is `id`.
    pub fn open(&mut self, id: StateId) {
        if let Some(block) = self.blocks.last_mut() {
            let end = block.len();
            block[end - FOOTER..end - FOOTER + 8].copy_from_slice(&id.0.to_le_bytes());
            block[end - 1] = 1;
        }
    }

    #[inline]
    pub fn pop(&mut self) -> io::Result<()> {
        let Some(block) = self.blocks.last_mut() else { return Ok(()) };
        let size = Footer::of(block, block.len()).len + FOOTER;
        block.truncate(block.len() - size);
        self.len -= 1;
        if block.is_empty() { self.remove_block() } else { Ok(()) }
    }

    /// Removes the empty block on top, and reads the block below from disk if it is there.
    #[cold]
    fn remove_block(&mut self) -> io::Result<()> {
        if let Some(block) = self.blocks.pop() {
            self.bytes -= block.capacity() as u64;
            self.spare = Some(block);
        }
        if self.spilled == 0 || self.spilled != self.blocks.len() {
            return Ok(());
        }
        let Some(spill) = self.spill else { return Ok(()) };
        let number = self.spilled - 1;
        let mut block = Vec::with_capacity(BLOCK);
        spill.blocks().read(number as u64, &mut block)?;
        self.bytes += block.capacity() as u64;
        self.blocks[number] = block;
        self.spilled -= 1;
        Ok(())
    }

    /// Block number `number`: itself, or its contents read into `fetched` if it is on disk.
    fn contents<'b>(&self, number: usize, block: &'b [u8], fetched: &'b mut Vec<u8>) -> io::Result<&'b [u8]> {
        match self.spill {
            Some(spill) if number < self.spilled => {
                fetched.clear();
                spill.blocks().read(number as u64, fetched)?;
                Ok(fetched)
            }
            _ => Ok(block),
        }
    }

    /// Shows `visit` the open states from top to bottom, until it has seen enough (`false`).
    pub fn open_states(&self, mut visit: impl FnMut(&[u8], StateId, Action) -> bool) -> io::Result<()> {
        let mut fetched = Vec::new();
        for (number, block) in self.blocks.iter().enumerate().rev() {
            let block = self.contents(number, block, &mut fetched)?;
            let mut end = block.len();
            while end > 0 {
                let footer = Footer::of(block, end);
                let state_end = end - FOOTER;
                end = state_end - footer.len;
                if footer.open && !visit(&block[end..state_end], StateId(footer.word), footer.action) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Shows `visit` all records from bottom to top: the state, whether it is open, and the action
    /// that led to it.
    pub fn records(&self, mut visit: impl FnMut(&[u8], bool, Action) -> io::Result<()>) -> io::Result<()> {
        let mut fetched = Vec::new();
        let mut ends = Vec::new();
        for (number, block) in self.blocks.iter().enumerate() {
            let block = self.contents(number, block, &mut fetched)?;
            ends.clear();
            let mut end = block.len();
            while end > 0 {
                ends.push(end);
                end -= FOOTER + Footer::of(block, end).len;
            }
            for &end in ends.iter().rev() {
                let footer = Footer::of(block, end);
                visit(&block[end - FOOTER - footer.len..end - FOOTER], footer.open, footer.action)?;
            }
        }
        Ok(())
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    /// The memory held.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spill::{Blocks, MemoryBlocks};
    use std::sync::Mutex;

    fn action(n: u32) -> Action {
        Action::new(n, n + 1)
    }

    fn up_and_down(mut stack: Stack<'_>) -> u64 {
        let state = |n: u32| vec![n as u8; (n as usize * 7919) % 3000];
        let mut peak = 0;
        for n in 0..3000 {
            stack.push(&state(n), u64::from(n) << 40, action(n));
            if n % 10 == 0 {
                stack.open(StateId(n.into()));
            }
            peak = peak.max(stack.bytes());
        }
        assert!(stack.blocks.len() > 8);
        let mut path = Vec::new();
        stack
            .open_states(|bytes, id, _| {
                assert_eq!(bytes, state(id.0 as u32));
                path.push(id.0);
                true
            })
            .unwrap();
        assert!(path.into_iter().rev().eq((0..3000).step_by(10)));
        let mut n = 0;
        stack
            .records(|bytes, open, by| {
                assert_eq!((bytes, open, by), (&state(n)[..], n % 10 == 0, action(n)));
                n += 1;
                Ok(())
            })
            .unwrap();
        assert_eq!(n, 3000);
        for n in (0..3000).rev() {
            let (bytes, top, by) = stack.top().unwrap();
            assert_eq!((bytes, by), (&state(n)[..], action(n)));
            let hash = u64::from(n) << 40;
            assert_eq!(top, if n % 10 == 0 { Top::Open { id: StateId(n.into()) } } else { Top::Candidate { hash } });
            stack.pop().unwrap();
        }
        assert_eq!((stack.top(), stack.len(), stack.bytes()), (None, 0, 0));
        peak
    }

    #[test]
    fn records_of_all_sizes_come_back_in_reverse() {
        assert!(up_and_down(Stack::default()) >= 3000 * 1500);
    }

    #[test]
    fn what_is_on_disk_comes_back_too() {
        let blocks = Mutex::new(MemoryBlocks::default());
        let peak = up_and_down(Stack::new(Some(Spill { blocks: &blocks, keep: 1 << 20 })));
        assert!(peak <= 3 << 19, "{peak}");
        assert!(!blocks.into_inner().unwrap().0.is_empty());
    }

    #[test]
    fn a_full_disk_is_told_and_nothing_is_lost() {
        struct Full;
        impl Blocks for Full {
            fn write(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn read(&mut self, _: u64, _: &mut Vec<u8>) -> io::Result<()> {
                Err(io::ErrorKind::NotFound.into())
            }
        }
        let blocks = Mutex::new(Full);
        let mut stack = Stack::new(Some(Spill { blocks: &blocks, keep: 0 }));
        let told: Vec<String> = (0..100_000u32)
            .filter_map(|n| {
                stack.push(&n.to_le_bytes(), 0, action(n));
                stack.news()
            })
            .collect();
        assert!(matches!(&told[..], [one] if one.contains("could not be written")), "told once: {told:?}");
        for n in (0..100_000u32).rev() {
            assert_eq!(stack.top().unwrap().0, n.to_le_bytes());
            stack.pop().unwrap();
        }
    }

    #[test]
    fn a_record_larger_than_a_block_gets_its_own() {
        let mut stack = Stack::default();
        let large = vec![1; 3 << 20];
        stack.push(b"small", 1, action(0));
        stack.push(&large, 2, action(1));
        assert_eq!(stack.top().unwrap().0, &large[..]);
        stack.pop().unwrap();
        assert_eq!(stack.top().unwrap().0, b"small");
    }
}
