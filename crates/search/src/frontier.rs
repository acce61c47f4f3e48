//! The states of one breadth-first level that wait to be expanded.
//!
//! Over a store that reads states back, a waiting state is its name; over one that does not, its bytes wait here too. Kept in chunks,
//! so that a level that has been worked off is given back piece by piece, and so that workers can share a level by taking chunks.

use crate::links::Link;
use contract::StateId;

const CHUNK: usize = 1024;

/// A state that waits.
#[derive(Clone, Copy)]
pub(crate) struct Waiting {
    pub id: StateId,
    pub link: Link,
}

/// Up to [`CHUNK`] waiting states.
#[derive(Default)]
pub(crate) struct Chunk {
    pub waiting: Vec<Waiting>,
    /// The states themselves, one after the other, and where each ends; empty over a readable store.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Chunk {
    /// The bytes of state number `index`, if they are kept here.
    pub fn state(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        self.bytes.get(start..end)
    }

    fn size(&self) -> u64 {
        (self.waiting.capacity() * size_of::<Waiting>() + self.bytes.capacity() + self.ends.capacity() * size_of::<usize>()) as u64
    }
}

/// One level.
#[derive(Default)]
pub(crate) struct Frontier {
    chunks: Vec<Chunk>,
    len: u64,
    bytes: u64,
}

impl Frontier {
    /// Adds a state; `state` are its bytes if they must be kept.
    pub fn push(&mut self, waiting: Waiting, state: Option<&[u8]>) {
        if self.chunks.last().is_none_or(|chunk| chunk.waiting.len() >= CHUNK) {
            self.bytes += self.chunks.last().map_or(0, Chunk::size);
            self.chunks.push(Chunk::default());
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.waiting.push(waiting);
            if let Some(state) = state {
                chunk.bytes.extend_from_slice(state);
                chunk.ends.push(chunk.bytes.len());
            }
        }
        self.len += 1;
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    /// The memory held.
    pub fn bytes(&self) -> u64 {
        self.bytes + self.chunks.last().map_or(0, Chunk::size)
    }

    /// The chunks in order.
    pub fn into_chunks(self) -> impl Iterator<Item = Chunk> {
        self.chunks.into_iter()
    }
}
