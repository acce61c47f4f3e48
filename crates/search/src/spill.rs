//! External storage for data that a search does not need for a while: numbered blocks of bytes.
//!
//! The search knows nothing of files; the caller provides a place for blocks, or does not.

use crate::sync::lock;
use std::io;
use std::sync::{Mutex, MutexGuard};

/// A place for blocks of bytes. A block may be overwritten; reading returns what was written last.
pub trait Blocks: Send {
    /// Keeps `bytes` as block `number`.
    fn write(&mut self, number: u64, bytes: &[u8]) -> io::Result<()>;

    /// Appends block `number` to `out`.
    fn read(&mut self, number: u64, out: &mut Vec<u8>) -> io::Result<()>;
}

/// Permission to move parts of a depth-first stack to external storage.
#[derive(Clone, Copy)]
pub struct Spill<'s> {
    /// The external storage.
    pub blocks: &'s Mutex<dyn Blocks>,
    /// The bytes of stack to keep in memory.
    pub keep: u64,
}

impl<'s> Spill<'s> {
    pub(crate) fn blocks(&self) -> MutexGuard<'s, dyn Blocks + 'static> {
        lock(self.blocks)
    }
}

/// Blocks in memory.
#[cfg(test)]
#[derive(Debug, Default)]
pub(crate) struct MemoryBlocks(pub std::collections::HashMap<u64, Vec<u8>>);

#[cfg(test)]
impl Blocks for MemoryBlocks {
    fn write(&mut self, number: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.insert(number, bytes.to_vec());
        Ok(())
    }

    fn read(&mut self, number: u64, out: &mut Vec<u8>) -> io::Result<()> {
        out.extend_from_slice(self.0.get(&number).ok_or(io::ErrorKind::NotFound)?);
        Ok(())
    }
}
