//! The buffer through which every transition of every search passes.
//!
//! One growing byte arena and one list of entries, both reused for ever: once they have reached the size a model needs, a
//! transition costs no allocation and no clearing. A generator asks for a [`slot`](Successors::slot), writes a state into it (the
//! native code of a compiled step writes straight into the arena), and [`commit`](Successors::commit)s it; a step that turns out not
//! to be executable simply does not commit. A search may expand many states into one buffer before it looks at the result, which is
//! what lets it hide the cache misses of the state table; each entry therefore names the source it came from.

use crate::fault::FaultCode;
use crate::written::Written;
use std::num::NonZeroU32;

/// What was done to get from a state to its successor, in the system's own words: which process moved, and which of its choices it
/// took. Searches never look inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(C)]
pub struct Action {
    /// The process that moved.
    pub process: u32,
    /// Which of its alternatives it took.
    pub choice: u32,
}

impl Action {
    /// The action of `process` taking alternative `choice`.
    pub const fn new(process: u32, choice: u32) -> Self {
        Action { process, choice }
    }

    /// Both parts in one number; the inverse of [`from_bits`](Self::from_bits).
    pub const fn to_bits(self) -> u64 {
        (self.process as u64) << 32 | self.choice as u64
    }

    /// The action whose [`to_bits`](Self::to_bits) is `bits`.
    pub const fn from_bits(bits: u64) -> Self {
        Action { process: (bits >> 32) as u32, choice: bits as u32 }
    }
}

/// Marks an entry that has no state: a step that failed and leads nowhere.
const NO_STATE: usize = usize::MAX;

/// One step out of a source state: where its result lies in the buffer, what was done, and what went wrong, if anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Successor {
    start: usize,
    len: usize,
    /// What was done.
    pub action: Action,
    /// Which of the states expanded into this buffer it leaves; see [`Successors::begin_source`].
    pub source: u32,
    fault: u32,
    /// Where its state may differ from the state it leaves.
    pub written: Written,
}

impl Successor {
    /// An entry for a generator that writes into [`room`](Successors::room) itself: its state begins `start` bytes from the start of the arena
    /// and has `len`.
    #[inline(always)]
    pub fn in_room(start: usize, len: usize, action: Action, source: u32, fault: u32, written: Written) -> Successor {
        Successor { start, len, action, source, fault, written }
    }

    /// The fault this step committed, if it did.
    #[inline]
    pub fn fault(&self) -> Option<FaultCode> {
        NonZeroU32::new(self.fault).map(FaultCode)
    }

    /// Whether the step leads to a state; a fatal fault does not.
    #[inline]
    pub fn has_state(&self) -> bool {
        self.len != NO_STATE
    }
}

/// A position in a [`Successors`] buffer to which it can be rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    entries: usize,
    used: usize,
}

/// The reusable list of steps a [`System`](crate::System) appends to.
#[derive(Clone, Debug, Default)]
pub struct Successors {
    /// Its length is the high-water mark; only `..used` belongs to entries.
    arena: Vec<u8>,
    used: usize,
    /// Likewise; only `..count` are entries.
    entries: Vec<Successor>,
    count: usize,
    source: u32,
    cut_short: bool,
}

/// Free room in a [`Successors`] buffer, for a generator that makes entries itself.
#[derive(Debug)]
pub struct Room<'a> {
    /// Entries to come.
    pub entries: &'a mut [Successor],
    /// Their states, one directly after the other.
    pub bytes: &'a mut [u8],
    /// How far from the start of the arena the first byte is.
    pub start: usize,
    /// The number of the source that is being expanded.
    pub source: u32,
}

impl Successors {
    /// An empty buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all entries and keeps the memory. The source number returns to 0.
    #[inline]
    pub fn clear(&mut self) {
        self.used = 0;
        self.count = 0;
        self.source = 0;
        self.cut_short = false;
    }

    /// The steps of the present source are not known: finding them was given up. Called by a system that was asked to give up when it is enough,
    /// instead of appending some of them.
    pub fn cut_short(&mut self) {
        self.cut_short = true;
    }

    /// Whether the steps of the present source are not known.
    #[inline]
    pub fn is_cut_short(&self) -> bool {
        self.cut_short
    }

    /// Entries committed from now on come from source number `source`. Called by the search, never by a system.
    #[inline]
    pub fn begin_source(&mut self, source: u32) {
        self.source = source;
    }

    /// A slot of `len` bytes at the end of the arena, holding arbitrary old bytes. It becomes an entry only by
    /// [`commit`](Self::commit); asking again, or not committing, gives the same bytes back.
    ///
    /// A slot may be asked for several states at once: consecutive commits take consecutive parts of it.
    #[inline]
    pub fn slot(&mut self, len: usize) -> &mut [u8] {
        let end = self.used + len;
        if end > self.arena.len() {
            self.grow(end);
        }
        &mut self.arena[self.used..end]
    }

    /// A slot that already holds a copy of `state`: the start of a step that changes a few bytes.
    #[inline]
    pub fn slot_from(&mut self, state: &[u8]) -> &mut [u8] {
        let slot = self.slot(state.len());
        slot.copy_from_slice(state);
        slot
    }

    #[cold]
    fn grow(&mut self, end: usize) {
        let target = end.max(self.arena.len() * 2).max(4096);
        self.arena.resize(target, 0);
    }

    /// Makes the first `len` bytes of the slot an entry, which differs from its source at most where `written` says.
    ///
    /// # Panics
    /// If fewer than `len` bytes were asked for: a mistake in the generator, not in its input.
    #[inline]
    pub fn commit(&mut self, len: usize, action: Action, fault: Option<FaultCode>, written: Written) {
        assert!(len <= self.arena.len() - self.used, "commit of {len} bytes exceeds the slot");
        self.add(Successor { start: self.used, len, action, source: self.source, fault: FaultCode::to_bits(fault), written });
        self.used += len;
    }

    #[inline]
    fn add(&mut self, entry: Successor) {
        if self.count == self.entries.len() {
            self.grow_entries(1);
        }
        self.entries[self.count] = entry;
        self.count += 1;
    }

    #[cold]
    fn grow_entries(&mut self, by: usize) {
        let target = (self.count + by).max(self.entries.len() * 2).max(64);
        self.entries.resize(target, Successor::default());
    }

    /// Room for at least so many entries, and so many bytes for their states. For generators through which every transition passes, and that
    /// write entries without asking for each: what they have made they say afterwards, with [`advance`](Self::advance).
    #[inline]
    pub fn room(&mut self, entries: usize, bytes: usize) -> Room<'_> {
        if self.count + entries > self.entries.len() {
            self.grow_entries(entries);
        }
        if self.used + bytes > self.arena.len() {
            self.grow(self.used + bytes);
        }
        Room { entries: &mut self.entries[self.count..], bytes: &mut self.arena[self.used..], start: self.used, source: self.source }
    }

    /// Takes over entries that were made in [`room`](Self::room), and the bytes of their states.
    ///
    /// # Panics
    /// If there was no room for so many: a mistake in the generator, not in its input.
    #[inline]
    pub fn advance(&mut self, entries: usize, bytes: usize) {
        assert!(entries <= self.entries.len() - self.count && bytes <= self.arena.len() - self.used, "more than there was room for");
        self.count += entries;
        self.used += bytes;
    }

    /// Appends a copy of `state`, reached by `action`.
    #[inline]
    pub fn push(&mut self, state: &[u8], action: Action) {
        self.slot_from(state);
        self.commit(state.len(), action, None, Written::EVERYTHING);
    }

    /// Appends a copy of `state`, reached by `action`, which committed `fault` on the way but can go on.
    pub fn push_faulty(&mut self, state: &[u8], action: Action, fault: FaultCode) {
        self.slot_from(state);
        self.commit(state.len(), action, Some(fault), Written::EVERYTHING);
    }

    /// Appends a step that fails for good: it has a fault and no successor state.
    pub fn fail(&mut self, action: Action, fault: FaultCode) {
        self.add(Successor {
            start: self.used,
            len: NO_STATE,
            action,
            source: self.source,
            fault: FaultCode::to_bits(Some(fault)),
            written: Written::NOTHING,
        });
    }

    /// The present end, for [`rollback`](Self::rollback).
    pub fn mark(&self) -> Mark {
        Mark { entries: self.count, used: self.used }
    }

    /// Takes back everything committed since `mark`.
    pub fn rollback(&mut self, mark: Mark) {
        if mark.entries <= self.count && mark.used <= self.used {
            self.count = mark.entries;
            self.used = mark.used;
        }
    }

    /// The mark before the last `entries` entries.
    pub fn mark_before(&self, entries: usize) -> Mark {
        let first = self.count.saturating_sub(entries);
        let used = self.entries().get(first).map_or(self.used, |entry| entry.start);
        Mark { entries: first, used }
    }

    /// All entries, in the order they were committed.
    #[inline]
    pub fn entries(&self) -> &[Successor] {
        &self.entries[..self.count]
    }

    /// The number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The state of an entry of this buffer, or nothing for a fatal fault.
    #[inline]
    pub fn state(&self, entry: &Successor) -> Option<&[u8]> {
        if entry.has_state() { Some(&self.arena[entry.start..entry.start + entry.len]) } else { None }
    }

    /// The state of entry number `index`, for changing it in place (bringing it to a canonical form).
    #[inline]
    pub fn state_mut(&mut self, index: usize) -> Option<&mut [u8]> {
        let entry = self.entries[..self.count].get_mut(index)?;
        entry.written = Written::EVERYTHING;
        let entry = *entry;
        if entry.has_state() { Some(&mut self.arena[entry.start..entry.start + entry.len]) } else { None }
    }

    /// Entry and state, in order; the state is absent for a fatal fault.
    pub fn iter(&self) -> impl Iterator<Item = (&Successor, Option<&[u8]>)> {
        self.entries().iter().map(|entry| (entry, self.state(entry)))
    }

    /// The memory this buffer holds.
    pub fn bytes(&self) -> usize {
        self.arena.capacity() + self.entries.capacity() * size_of::<Successor>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_that_are_not_committed_leave_no_trace() {
        let mut out = Successors::new();
        out.slot(4).copy_from_slice(b"abcd");
        out.slot(2).copy_from_slice(b"xy");
        out.commit(2, Action::new(1, 0), None, Written::NOTHING);
        assert_eq!(out.len(), 1);
        assert_eq!(out.state(&out.entries()[0]), Some(&b"xy"[..]));
    }

    #[test]
    fn one_slot_serves_several_commits() {
        let mut out = Successors::new();
        out.slot(4).copy_from_slice(b"abcd");
        out.commit(1, Action::new(0, 0), None, Written::NOTHING);
        out.commit(3, Action::new(0, 1), FaultCode::new(7), Written::EVERYTHING);
        let states: Vec<_> = out.iter().map(|(_, s)| s.unwrap().to_vec()).collect();
        assert_eq!(states, [b"a".to_vec(), b"bcd".to_vec()]);
        assert_eq!(out.entries()[1].fault(), FaultCode::new(7));
    }

    #[test]
    fn rollback_restores_the_mark_and_sources_are_kept() {
        let mut out = Successors::new();
        out.begin_source(3);
        out.push(b"kept", Action::default());
        let mark = out.mark();
        out.begin_source(4);
        out.push(b"gone", Action::default());
        out.fail(Action::default(), FaultCode::new(1).unwrap());
        out.rollback(mark);
        assert_eq!(out.len(), 1);
        assert_eq!(out.entries()[0].source, 3);
        out.push(b"", Action::default());
        assert_eq!(out.state(&out.entries()[1]), Some(&b""[..]));
        assert_eq!(out.entries()[1].source, 4);
    }

    #[test]
    fn entries_made_in_the_room_are_entries() {
        let mut out = Successors::new();
        out.push(b"first", Action::default());
        out.begin_source(7);
        let room = out.room(2, 3);
        room.bytes[..3].copy_from_slice(b"abc");
        room.entries[0] = Successor::in_room(room.start, 1, Action::new(0, 0), room.source, 0, Written::NOTHING);
        room.entries[1] = Successor::in_room(room.start + 1, 2, Action::new(0, 1), room.source, 5, Written::EVERYTHING);
        out.advance(2, 3);
        let states: Vec<_> = out.iter().map(|(_, s)| s.unwrap().to_vec()).collect();
        assert_eq!(states, [b"first".to_vec(), b"a".to_vec(), b"bc".to_vec()]);
        assert_eq!((out.entries()[2].source, out.entries()[2].fault()), (7, FaultCode::new(5)));
        assert_eq!(out.mark_before(0), out.mark());
        out.rollback(out.mark_before(2));
        assert_eq!(out.len(), 1);
        out.push(b"again", Action::default());
        assert_eq!(out.state(&out.entries()[1]), Some(&b"again"[..]));
    }

    #[test]
    #[should_panic(expected = "more than there was room for")]
    fn advancing_beyond_the_room_is_refused() {
        Successors::new().advance(1, 0);
    }

    #[test]
    fn fatal_faults_have_no_state() {
        let mut out = Successors::new();
        out.fail(Action::new(2, 5), FaultCode::new(9).unwrap());
        assert!(!out.entries()[0].has_state());
        assert_eq!(out.state(&out.entries()[0]), None);
        assert_eq!(out.entries()[0].fault().unwrap().get(), 9);
    }

    #[test]
    #[should_panic(expected = "exceeds the slot")]
    fn committing_more_than_the_slot_is_refused() {
        let mut out = Successors::new();
        out.commit(1, Action::default(), None, Written::NOTHING);
    }

    #[test]
    fn actions_survive_their_bits() {
        let action = Action::new(u32::MAX, 17);
        assert_eq!(Action::from_bits(action.to_bits()), action);
    }
}
