//! States that wait to be expanded, in chunks.
//!
//! A waiting state is its name if the store keeps it, and its bytes otherwise; a chunk holds states
//! of one kind. Workers share whole chunks: one is taken, given away or freed as a whole.
//! Breadth-first search fills a [`Frontier`] of chunks, whose states all have the depth of their
//! level. A [`Stash`] is a stack of states that each store their own depth.

use crate::links::{Link, Sources};
use contract::StateId;
use std::ops::Range;

/// The number of states in a chunk of a level: enough to make taking one cheap, few enough to
/// divide a small level evenly.
const CHUNK: usize = 512;

/// The most chunks whose memory a worker keeps for reuse.
const SPARE: usize = 64;

/// The memory that a level may use for the bytes of states that the store reads only slowly.
const ROOM: u64 = 4 << 20;

/// Waiting states.
pub(crate) struct Chunk {
    pub waiting: Vec<StateId>,
    /// The link of the first state, if the links of the others follow one by one.
    first: Link,
    /// Otherwise, the link of each state.
    links: Vec<Link>,
    /// The states, one after the other, and where each ends; both empty if the store keeps them.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The depth of each state, if they differ; see [`Chunk::depth`].
    depths: Vec<u32>,
}

impl Default for Chunk {
    fn default() -> Self {
        let first = Link::NONE;
        Chunk { waiting: Vec::new(), first, links: Vec::new(), bytes: Vec::new(), ends: Vec::new(), depths: Vec::new() }
    }
}

impl Chunk {
    #[inline(always)]
    fn push(&mut self, id: StateId, state: Option<&[u8]>) {
        if let Some(state) = state {
            self.bytes.extend_from_slice(state);
            self.ends.push(self.bytes.len());
        }
        self.waiting.push(id);
    }

    /// The link of state number `index`.
    #[inline]
    pub fn link(&self, index: usize) -> Link {
        self.links.get(index).copied().unwrap_or_else(|| self.first.after(index))
    }

    /// Where the links of its states begin, if they are consecutive.
    pub fn sources(&self) -> Sources {
        if self.links.is_empty() { Sources::From(self.first) } else { Sources::Scattered }
    }

    /// The bytes of state number `index`, if they are kept here.
    #[inline]
    pub fn state(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        Some(&self.bytes[start..end])
    }

    /// The names of the states in `range`, if the chunk stores nothing else for each of them.
    #[inline]
    pub fn only_names(&self, range: Range<usize>) -> Option<&[StateId]> {
        if self.ends.is_empty() && self.depths.is_empty() { self.waiting.get(range) } else { None }
    }

    /// The depth of state number `index`; `level` if the states do not store their own.
    #[inline]
    pub fn depth(&self, index: usize, level: u64) -> u64 {
        self.depths.get(index).map_or(level, |&depth| depth.into())
    }

    /// Removes and returns the states from number `at` on.
    pub fn split_off(&mut self, at: usize) -> Chunk {
        let waiting = self.waiting.split_off(at);
        let links = self.links.split_off(at.min(self.links.len()));
        let depths = self.depths.split_off(at.min(self.depths.len()));
        let mut ends = self.ends.split_off(at.min(self.ends.len()));
        let start = self.ends.last().copied().unwrap_or(0);
        let bytes = if ends.is_empty() { Vec::new() } else { self.bytes.split_off(start) };
        ends.iter_mut().for_each(|end| *end -= start);
        Chunk { waiting, first: self.first.after(at), links, bytes, ends, depths }
    }

    /// Whether the chunk can take a state with bytes, or one without.
    #[inline]
    fn takes(&self, bytes: bool) -> bool {
        let len = self.waiting.len();
        // An empty chunk must be begun first, so it accepts no state here.
        len.wrapping_sub(1) < CHUNK - 1 && self.bytes.len() < 1 << 24 && self.ends.is_empty() != bytes
    }

    /// Forgets all states, and keeps the memory.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.links.clear();
        self.bytes.clear();
        self.ends.clear();
        self.depths.clear();
    }

    pub fn size(&self) -> u64 {
        (self.waiting.capacity() * 8
            + self.links.capacity() * 8
            + self.bytes.capacity()
            + self.ends.capacity() * 8
            + self.depths.capacity() * 4) as u64
    }
}

/// A destination of new states.
pub(crate) trait Sink {
    /// Adds a state at `depth` steps from an initial state; `state` holds its bytes if the store
    /// does not keep them.
    fn push(&mut self, id: StateId, link: Link, depth: u64, state: Option<&[u8]>);

    /// Whether there is room for the bytes of states that the store could also read.
    fn has_room(&self) -> bool {
        false
    }
}

/// Chunks being filled.
#[derive(Default)]
pub(crate) struct Frontier {
    full: Vec<Chunk>,
    last: Chunk,
    len: u64,
    bytes: u64,
    /// Memory for the names in later chunks.
    spare: Vec<Vec<StateId>>,
}

impl Sink for Frontier {
    #[inline(always)]
    fn push(&mut self, id: StateId, link: Link, _: u64, state: Option<&[u8]>) {
        if !self.last.takes(state.is_some()) {
            self.begin(link);
        }
        self.last.push(id, state);
        self.len += 1;
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.bytes < ROOM
    }
}

impl Frontier {
    /// Begins a new chunk, whose first state has this link.
    #[cold]
    fn begin(&mut self, first: Link) {
        let waiting = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK));
        let chunk = Chunk { waiting, first, ..Chunk::default() };
        let last = std::mem::replace(&mut self.last, chunk);
        if !last.waiting.is_empty() {
            self.bytes += last.size();
            self.full.push(last);
        }
    }

    /// A frontier that begins with these chunks.
    pub fn of(full: Vec<Chunk>) -> Frontier {
        let len = full.iter().map(|chunk| chunk.waiting.len() as u64).sum();
        let bytes = full.iter().map(Chunk::size).sum();
        Frontier { full, len, bytes, ..Frontier::default() }
    }

    /// Reuses the memory of a chunk that is no longer needed.
    pub fn recycle(&mut self, chunk: Chunk) {
        let mut waiting = chunk.waiting;
        if self.spare.len() < SPARE && waiting.capacity() == CHUNK {
            waiting.clear();
            self.spare.push(waiting);
        }
    }

    /// All chunks, in order; the last one may be empty.
    pub fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.full.iter().chain(std::iter::once(&self.last))
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    /// The memory held.
    pub fn bytes(&self) -> u64 {
        self.bytes + self.last.size() + (self.spare.len() * CHUNK * size_of::<StateId>()) as u64
    }

    /// Takes all chunks, in order; none is empty.
    pub fn take(&mut self) -> Vec<Chunk> {
        let spare = std::mem::take(&mut self.spare);
        let Frontier { mut full, last, .. } = std::mem::replace(self, Frontier { spare, ..Frontier::default() });
        if !last.waiting.is_empty() {
            full.push(last);
        }
        full
    }
}

/// A stack of waiting states, taken from the top in small chunks and given away from the bottom in
/// large ones.
#[derive(Default)]
pub(crate) struct Stash {
    kept: Chunk,
    with_bytes: Chunk,
}

impl Sink for Stash {
    #[inline]
    fn push(&mut self, id: StateId, link: Link, depth: u64, state: Option<&[u8]>) {
        let chunk = if state.is_some() { &mut self.with_bytes } else { &mut self.kept };
        chunk.push(id, state);
        chunk.links.push(link);
        chunk.depths.push(u32::try_from(depth).unwrap_or(u32::MAX));
    }
}

impl Stash {
    pub fn len(&self) -> usize {
        self.kept.waiting.len() + self.with_bytes.waiting.len()
    }

    pub fn bytes(&self) -> u64 {
        self.kept.size() + self.with_bytes.size()
    }

    /// An empty stash with the memory of a chunk, for states that the store keeps or for others.
    pub fn with(chunk: Chunk, kept: bool) -> Stash {
        let none = Chunk::default();
        if kept { Stash { kept: chunk, with_bytes: none } } else { Stash { kept: none, with_bytes: chunk } }
    }

    /// The chunks that it consists of.
    pub fn into_chunks(self) -> [Chunk; 2] {
        [self.kept, self.with_bytes]
    }

    /// Takes up to `most` states from the top. Memory for later states comes from `spare`.
    pub fn take(&mut self, most: usize, spare: &mut Vec<Chunk>) -> Option<Chunk> {
        // States with bytes come first, because they take more memory.
        let chunk = if self.with_bytes.waiting.is_empty() { &mut self.kept } else { &mut self.with_bytes };
        let len = chunk.waiting.len();
        match len {
            0 => None,
            _ if len <= most => Some(std::mem::replace(chunk, spare.pop().unwrap_or_default())),
            _ => Some(chunk.split_off(len - most)),
        }
    }

    /// Removes and returns the lower half, for another worker.
    pub fn halve(&mut self) -> Chunk {
        let chunk = if self.kept.waiting.len() >= self.with_bytes.waiting.len() { &mut self.kept } else { &mut self.with_bytes };
        let upper = chunk.split_off(chunk.waiting.len() / 2);
        std::mem::replace(chunk, upper)
    }

    /// Adds the states of a chunk on top.
    pub fn put(&mut self, mut chunk: Chunk) {
        let to = if chunk.ends.is_empty() { &mut self.kept } else { &mut self.with_bytes };
        let start = to.bytes.len();
        to.waiting.append(&mut chunk.waiting);
        to.links.append(&mut chunk.links);
        to.depths.append(&mut chunk.depths);
        to.bytes.append(&mut chunk.bytes);
        to.ends.extend(chunk.ends.iter().map(|end| start + end));
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
            frontier.push(StateId(n), Link::from_bits(n + 5), 0, state(n).as_deref());
        }
        assert_eq!(frontier.len(), 3000);
        assert!(frontier.bytes() > 3000 * 8);
        let mut n = 0;
        for chunk in frontier.take() {
            for (index, &id) in chunk.waiting.iter().enumerate() {
                assert_eq!((id, chunk.link(index)), (StateId(n), Link::from_bits(n + 5)));
                assert_eq!(chunk.state(index), state(n).as_deref());
                n += 1;
            }
        }
        assert_eq!((n, frontier.len()), (3000, 0));
    }

    #[test]
    fn a_stash_is_a_stack_that_can_be_shared() {
        for with_bytes in [false, true] {
            let state = |n: u64| with_bytes.then(|| vec![n as u8; (n % 5) as usize]);
            let mut stash = Stash::default();
            let mut other = Stash::default();
            for n in 0..1000 {
                stash.push(StateId(n), Link::from_bits(2 * n), n, state(n).as_deref());
            }
            let given = stash.halve();
            assert_eq!((stash.len(), given.waiting.len()), (500, 500));
            other.put(given);
            for (stash, range) in [(&mut stash, 500..1000), (&mut other, 0..500)] {
                let mut expected = range.rev();
                while let Some(chunk) = stash.take(7, &mut Vec::new()) {
                    for index in (0..chunk.waiting.len()).rev() {
                        let n = expected.next().unwrap();
                        assert_eq!(
                            (chunk.waiting[index], chunk.depth(index, 0), chunk.link(index)),
                            (StateId(n), n, Link::from_bits(2 * n))
                        );
                        assert_eq!(chunk.state(index), state(n).as_deref());
                    }
                }
                assert_eq!(expected.next(), None);
            }
        }
    }
}
