//! An append-only arena that holds whole state vectors and never moves them.
//!
//! Addresses for everything the arena may ever hold are reserved once; the system provides memory
//! as it is written. A worker claims a piece at a time and fills it alone, so workers synchronise
//! only once in thousands of states. A record is the length plus one (seven bits a byte, low bits
//! first) and the state, padded to the grain. The *place* of a record is its offset in grains; it
//! is never 0.

use crate::budget::Budget;
use crate::memory::Region;
use crate::sync::{Arc, AtomicU64, Mutex, Ordering, lock};
use contract::StoreFull;

/// The unit of places, in bytes.
const GRAIN: usize = 4;
/// The size of the pieces that a worker claims: small in a small arena, large in a large one.
const SMALL_PIECE: usize = 4 << 10;
const LARGE_PIECE: usize = 64 << 10;
/// The size from which on large pieces and huge pages are used.
const LARGE_ARENA: usize = 4 << 20;
const MOST_ADDRESSES: u64 = 1 << 40;
/// The fewest addresses to reserve. Addresses cost nothing, so a small budget does not reduce them;
/// where the system has too few, the second number is the minimum.
const USUAL_ADDRESSES: usize = 1 << 26;
const LEAST_ADDRESSES: usize = 1 << 20;
/// The most pieces of former workers that are kept.
const MOST_RESTS: usize = 64;

#[derive(Debug)]
pub(crate) struct Arena {
    region: Region,
    budget: Arc<Budget>,
    /// Bytes claimed so far.
    claimed: AtomicU64,
    /// The pieces of former workers, as far as these have not filled them. A search may have very
    /// many short-lived workers one after the other, and each would waste most of a piece.
    rests: Mutex<Vec<Piece>>,
}

/// The piece of an arena that one worker fills.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Piece {
    at: usize,
    end: usize,
}

impl Piece {
    /// The bytes that are still free.
    fn room(&self) -> usize {
        self.end - self.at
    }

    /// Whether this piece was claimed after `old`, so that returning to `old` would lose it.
    pub fn is_successor_of(&self, old: &Piece) -> bool {
        self.end != old.end
    }
}

/// The number of bytes of the length in front of a state.
fn header_len(len: usize) -> usize {
    let mut rest = (len + 1) >> 7;
    let mut bytes = 1;
    while rest > 0 {
        rest >>= 7;
        bytes += 1;
    }
    bytes
}

impl Arena {
    /// An arena for as much as `budget` allows, or `None` if the system has no addresses left.
    pub fn new(budget: Arc<Budget>) -> Option<Arena> {
        let addresses = budget.limit().min(MOST_ADDRESSES) as usize;
        let region = Region::reserve_some(addresses.next_multiple_of(LARGE_PIECE).max(USUAL_ADDRESSES), LEAST_ADDRESSES)?;
        region.prefer_huge_pages(LARGE_ARENA);
        // Place 0 is never used.
        Some(Arena { region, budget, claimed: AtomicU64::new(GRAIN as u64), rests: Mutex::new(Vec::new()) })
    }

    /// The number of bits of the largest place.
    pub fn place_bits(&self) -> u32 {
        usize::BITS - (self.region.len() / GRAIN).leading_zeros()
    }

    /// Writes `state` and returns its place. No other worker knows the place yet; until it is
    /// published, the caller can take the record back by restoring `piece`.
    pub fn write(&self, piece: &mut Piece, state: &[u8]) -> Result<u64, StoreFull> {
        let header = header_len(state.len());
        let size = (header + state.len()).next_multiple_of(GRAIN);
        if piece.end - piece.at < size {
            *piece = self.claim(size)?;
        }
        let at = piece.at;
        piece.at += size;
        // SAFETY: `at .. at + size` lies in a piece that only this worker has claimed, inside the
        // region. No place in it has been published, so no other worker reads it.
        unsafe {
            let mut to = self.region.start().add(at);
            let mut rest = state.len() + 1;
            for _ in 1..header {
                to.write(rest as u8 | 0x80);
                rest >>= 7;
                to = to.add(1);
            }
            to.write(rest as u8);
            std::ptr::copy_nonoverlapping(state.as_ptr(), to.add(1), state.len());
        }
        Ok((at / GRAIN) as u64)
    }

    /// Like [`write`](Self::write), for a state of fewer than 127 bytes, if the piece has room.
    #[inline(always)]
    pub fn write_usually(&self, piece: &mut Piece, state: &[u8]) -> Option<u64> {
        self.write_by(piece, state, copy)
    }

    /// Like `write_usually`, for a state that fills `BLOCKS` blocks of 16 bytes, the last one
    /// perhaps in part.
    ///
    /// # Safety
    /// The state has that length, and at least 8 bytes.
    #[inline(always)]
    pub unsafe fn write_blocks<const BLOCKS: usize>(&self, piece: &mut Piece, state: &[u8]) -> Option<u64> {
        self.write_by(piece, state, copy_blocks::<BLOCKS>)
    }

    #[inline(always)]
    fn write_by(&self, piece: &mut Piece, state: &[u8], copy: unsafe fn(&[u8], *mut u8)) -> Option<u64> {
        // One byte for the length; the sum is rounded up.
        let size = (1 + state.len() + GRAIN - 1) & !(GRAIN - 1);
        if state.len() >= 0x7f || piece.end - piece.at < size {
            return None;
        }
        let at = piece.at;
        piece.at += size;
        // SAFETY: as in `write`.
        unsafe {
            let to = self.region.start().add(at);
            to.write(state.len() as u8 + 1);
            copy(state, to.add(1));
        }
        Some((at / GRAIN) as u64)
    }

    /// Keeps what a worker has not filled of its piece, for the next one. The worker must not use
    /// the piece any more, and must have taken back records that were not published.
    pub fn leave(&self, piece: Piece) {
        if piece.room() < GRAIN {
            return;
        }
        let mut rests = lock(&self.rests);
        if rests.len() < MOST_RESTS {
            rests.push(piece);
        } else if let Some(least) = rests.iter_mut().min_by_key(|rest| rest.room())
            && least.room() < piece.room()
        {
            *least = piece;
        }
    }

    #[cold]
    fn claim(&self, size: usize) -> Result<Piece, StoreFull> {
        {
            let mut rests = lock(&self.rests);
            if let Some(found) = rests.iter().rposition(|rest| rest.room() >= size) {
                return Ok(rests.swap_remove(found));
            }
        }
        let claimed = self.claimed.load(Ordering::Relaxed) as usize;
        let usual = if claimed < LARGE_ARENA { SMALL_PIECE } else { LARGE_PIECE };
        let bytes = size.next_multiple_of(usual);
        self.budget.take(bytes as u64)?;
        let at = self.claimed.fetch_add(bytes as u64, Ordering::Relaxed) as usize;
        match at.checked_add(bytes) {
            Some(end) if end <= self.region.len() => Ok(Piece { at, end }),
            _ => {
                self.claimed.fetch_sub(bytes as u64, Ordering::Relaxed);
                self.budget.give_back(bytes as u64);
                Err(StoreFull { needed: (at + bytes) as u64, budget: self.region.len() as u64 })
            }
        }
    }

    /// Prefetches the cache line at `place`.
    #[inline(always)]
    pub fn prefetch(&self, place: u64) {
        crate::memory::prefetch(self.region.start().wrapping_add(place as usize * GRAIN));
    }

    /// Whether the state at `place` is `state`.
    ///
    /// # Safety
    /// As for [`state`](Self::state).
    #[inline(always)]
    pub unsafe fn is(&self, place: u64, state: &[u8]) -> bool {
        let len = state.len();
        // SAFETY: by the caller's promise there is a complete record here. If its first byte gives
        // the length of `state`, and that is less than 0x7f, the record has this length, and each
        // word read ends within it.
        unsafe {
            let at = self.region.start().add(place as usize * GRAIN).cast_const();
            let there = at.add(1);
            if !(8..0x7f).contains(&len) {
                return self.state(place) == state;
            }
            if usize::from(at.read()) != len + 1 {
                return false;
            }
            let mut word = 0;
            while word + 8 < len {
                if differ(there, state, word) != 0 {
                    return false;
                }
                word += 8;
            }
            differ(there, state, len - 8) == 0
        }
    }

    /// Like [`is`](Self::is), for a state that fills `BLOCKS` blocks of 16 bytes, the last one
    /// perhaps in part.
    ///
    /// # Safety
    /// As for [`state`](Self::state); and the state has that length, at least 8 bytes and fewer
    /// than 0x7f.
    #[inline(always)]
    pub unsafe fn is_of_blocks<const BLOCKS: usize>(&self, place: u64, state: &[u8]) -> bool {
        let len = state.len();
        // SAFETY: as in `is`.
        unsafe {
            let at = self.region.start().add(place as usize * GRAIN).cast_const();
            let there = at.add(1);
            if usize::from(at.read()) != len + 1 {
                return false;
            }
            // States with the same hash are nearly always equal, so leaving early would gain
            // nothing.
            let mut difference = differ(there, state, if BLOCKS == 1 { 0 } else { len - 16 }) | differ(there, state, len - 8);
            for block in 0..BLOCKS - 1 {
                difference |= differ(there, state, 16 * block) | differ(there, state, 16 * block + 8);
            }
            difference == 0
        }
    }

    /// The state at `place`.
    ///
    /// # Safety
    /// `place` was returned by [`write`](Self::write) of this arena, and its publication happened
    /// before this call.
    #[inline(always)]
    pub unsafe fn state(&self, place: u64) -> &[u8] {
        // SAFETY: by the caller's promise there is a complete record here, inside the region, which
        // is never written again.
        unsafe {
            let mut at = self.region.start().add(place as usize * GRAIN).cast_const();
            let mut byte = at.read();
            let mut len = usize::from(byte & 0x7f);
            let mut shift = 7;
            while byte & 0x80 != 0 {
                at = at.add(1);
                byte = at.read();
                len |= usize::from(byte & 0x7f) << shift;
                shift += 7;
            }
            std::slice::from_raw_parts(at.add(1), len - 1)
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // The first grain was never taken from the budget.
        self.budget.give_back(self.claimed.load(Ordering::Relaxed) - GRAIN as u64);
    }
}

/// Copies the word at `at`.
///
/// # Safety
/// There is room for the state at `to`, and the word lies inside the state.
#[inline(always)]
unsafe fn copy_word<W: Copy>(state: &[u8], to: *mut u8, at: usize) {
    // SAFETY: by the caller's promise.
    unsafe { to.add(at).cast::<W>().write_unaligned(state.as_ptr().add(at).cast::<W>().read_unaligned()) }
}

/// Copies a state that fills `BLOCKS` blocks of 16 bytes, the last one perhaps in part.
///
/// # Safety
/// There is room for the state at `to`, which does not overlap it. The state has that length, and
/// at least 8 bytes.
#[inline(always)]
unsafe fn copy_blocks<const BLOCKS: usize>(state: &[u8], to: *mut u8) {
    let len = state.len();
    // SAFETY: by the caller's promise each word ends at `len` at the latest.
    unsafe {
        if BLOCKS == 1 {
            copy_word::<u64>(state, to, 0);
            copy_word::<u64>(state, to, len - 8);
        } else {
            for block in 0..BLOCKS - 1 {
                copy_word::<u128>(state, to, 16 * block);
            }
            copy_word::<u128>(state, to, len - 16);
        }
    }
}

/// Copies a state. For short vectors this is faster than a call of the C library.
///
/// # Safety
/// There is room for the state at `to`, which does not overlap it.
#[inline(always)]
unsafe fn copy(state: &[u8], to: *mut u8) {
    let len = state.len();
    // SAFETY: by the caller's promise. Each word ends within `len`; the last one may overlap the
    // one before.
    unsafe {
        match len {
            16.. => {
                let last = len - 16;
                let mut at = 0;
                while at < last {
                    copy_word::<u128>(state, to, at);
                    at += 16;
                }
                copy_word::<u128>(state, to, last);
            }
            8.. => {
                copy_word::<u64>(state, to, 0);
                copy_word::<u64>(state, to, len - 8);
            }
            4.. => {
                copy_word::<u32>(state, to, 0);
                copy_word::<u32>(state, to, len - 4);
            }
            _ => (0..len).for_each(|at| copy_word::<u8>(state, to, at)),
        }
    }
}

/// The difference of the two words at `at`: zero if they are equal.
///
/// # Safety
/// Both have a whole word at `at`.
#[inline(always)]
unsafe fn differ(there: *const u8, state: &[u8], at: usize) -> u64 {
    // SAFETY: by the caller's promise.
    unsafe { there.add(at).cast::<u64>().read_unaligned() ^ state.as_ptr().add(at).cast::<u64>().read_unaligned() }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn states_of_all_lengths_come_back() {
        let arena = Arena::new(Arc::new(Budget::new(u64::MAX))).unwrap();
        let mut piece = Piece::default();
        let lengths = [0, 1, 2, 3, 126, 127, 128, 4095, 16382, 16383, 70_000, 3_000_000];
        let state = |len: usize| (0..len).map(|i| (i % 251) as u8).collect::<Vec<_>>();
        let places: Vec<u64> = lengths.iter().map(|&len| arena.write(&mut piece, &state(len)).unwrap()).collect();
        for (&len, &place) in lengths.iter().zip(&places) {
            assert_ne!(place, 0);
            // SAFETY: written above, by this thread.
            assert_eq!(unsafe { arena.state(place) }, state(len));
        }
    }

    #[test]
    fn states_of_usual_length_come_back() {
        let arena = Arena::new(Arc::new(Budget::new(u64::MAX))).unwrap();
        let mut piece = arena.claim(1 << 16).unwrap();
        let state = |len: usize| (0..len).map(|i| (3 * i + len) as u8).collect::<Vec<_>>();
        let places: Vec<_> = (0..0x7f).map(|len| arena.write_usually(&mut piece, &state(len)).unwrap()).collect();
        // SAFETY: written above, by this thread.
        assert!(places.into_iter().enumerate().all(|(len, place)| unsafe { arena.state(place) } == state(len)));
        assert_eq!(arena.write_usually(&mut piece, &state(0x7f)), None);
        assert_eq!(arena.write_usually(&mut Piece::default(), &state(20)), None);
    }

    #[test]
    fn the_budget_is_taken_and_given_back() {
        let budget = Arc::new(Budget::new(100_000));
        let arena = Arena::new(budget.clone()).unwrap();
        let mut piece = Piece::default();
        let mut written = 0;
        while arena.write(&mut piece, &[1; 100]).is_ok() {
            written += 1;
        }
        assert!((900..1000).contains(&written), "{written}");
        assert!(budget.used() <= 100_000);
        drop(arena);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn equality_is_equality() {
        let arena = Arena::new(Arc::new(Budget::new(u64::MAX))).unwrap();
        let mut piece = Piece::default();
        for len in 0..260usize {
            let a: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let place = arena.write(&mut piece, &a).unwrap();
            // SAFETY: written above, by this thread.
            let is = |state: &[u8]| unsafe { arena.is(place, state) };
            assert!(is(&a));
            assert!(!is(&[a.clone(), vec![0]].concat()));
            assert!(len == 0 || !is(&a[1..]) && !is(&a[..len - 1]));
            for i in 0..len {
                let mut b = a.clone();
                b[i] ^= 0x10;
                assert!(!is(&b), "length {len}, byte {i}");
            }
        }
    }
}
