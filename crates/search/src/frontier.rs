//! States that wait to be expanded, in chunks.
//!
//! A waiting state is its name if the store keeps it, and its bytes if not; a chunk holds states of one kind. Chunks are what workers
//! share: one is taken, given away or returned to the system as a whole. All states of a chunk have the same depth.

use crate::links::Link;
use contract::StateId;

/// States in a chunk: enough to make taking one cheap, few enough to share a small level evenly.
const CHUNK: usize = 512;

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
    /// The states, one after the other, and where each ends; both empty if the store keeps them.
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Chunk {
    fn push(&mut self, waiting: Waiting, state: Option<&[u8]>) {
        if let Some(state) = state {
            self.bytes.extend_from_slice(state);
            self.ends.push(self.bytes.len() as u32);
        }
        self.waiting.push(waiting);
    }

    /// The bytes of state number `index`, if they are kept here.
    pub fn state(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        Some(&self.bytes[start as usize..end as usize])
    }

    /// Whether the chunk can take a state with bytes, or one without.
    #[inline]
    fn takes(&self, bytes: bool) -> bool {
        self.waiting.is_empty() || (self.waiting.len() < CHUNK && self.bytes.len() < 1 << 24 && self.ends.is_empty() != bytes)
    }

    pub fn size(&self) -> u64 {
        (self.waiting.capacity() * size_of::<Waiting>() + self.bytes.capacity() + self.ends.capacity() * 4) as u64
    }
}

/// Chunks being filled.
#[derive(Default)]
pub(crate) struct Frontier {
    full: Vec<Chunk>,
    last: Chunk,
    len: u64,
    bytes: u64,
}

impl Frontier {
    /// Adds a state; `state` are its bytes if the store does not keep them.
    #[inline]
    pub fn push(&mut self, waiting: Waiting, state: Option<&[u8]>) {
        if !self.last.takes(state.is_some()) {
            self.bytes += self.last.size();
            let waiting = Vec::with_capacity(CHUNK);
            self.full.push(std::mem::replace(&mut self.last, Chunk { waiting, ..Chunk::default() }));
        }
        self.last.push(waiting, state);
        self.len += 1;
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    /// The memory held.
    pub fn bytes(&self) -> u64 {
        self.bytes + self.last.size()
    }

    /// Takes all chunks, in order; none is empty.
    pub fn take(&mut self) -> Vec<Chunk> {
        let Frontier { mut full, last, .. } = std::mem::take(self);
        if !last.waiting.is_empty() {
            full.push(last);
        }
        full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_keep_order_and_the_bytes_they_were_given() {
        let mut frontier = Frontier::default();
        // The store keeps the first states, and some later ones.
        let state = |n: u64| (n > 700 && !n.is_multiple_of(100)).then(|| n.to_le_bytes()[..(n % 5) as usize].to_vec());
        for n in 0..3000 {
            frontier.push(Waiting { id: StateId(n), link: Link::NONE }, state(n).as_deref());
        }
        assert_eq!(frontier.len(), 3000);
        assert!(frontier.bytes() > 3000 * 16);
        let mut n = 0;
        for chunk in frontier.take() {
            for (index, waiting) in chunk.waiting.iter().enumerate() {
                assert_eq!(waiting.id, StateId(n));
                assert_eq!(chunk.state(index), state(n).as_deref());
                n += 1;
            }
        }
        assert_eq!((n, frontier.len()), (3000, 0));
    }
}
