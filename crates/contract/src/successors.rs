//! The buffer through which every transition of every search passes.
//!
//! The buffer is one growing byte arena and one list of entries, both reused for ever. Once they
//! have reached the size a model needs, a transition costs no allocation and no clearing. A
//! generator asks for a [`slot`](Successors::slot), writes a state into it (native code writes
//! directly into the arena), and [`commit`](Successors::commit)s it. A step that turns out not to
//! be executable is not committed. A search may expand many states into one buffer before it looks
//! at the result, so that it can hide the cache misses of the state table. Each entry therefore
//! names the source it came from.

use crate::fault::FaultCode;
use std::mem::offset_of;
use std::num::NonZeroU32;

/// The action of a step: which process moved, and which of its choices it took.
///
/// No two steps of a state have the same action: traces name steps by their actions. Fairness is
/// defined by `process`. Only the system knows the meaning of a choice.
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

/// The length of an entry without a state: a step that failed and has no target.
const NO_STATE: u32 = u32::MAX;

/// One step from a source state: the position of its result in the buffer, the action, and the
/// fault, if there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Successor {
    start: usize,
    len: u32,
    /// The static number of the step in the system's description, the same wherever the step is
    /// taken; [`NO_STEP`](Self::NO_STEP) if it has none. Reductions use it to look up what the step
    /// reads and writes.
    pub step: u32,
    /// The action.
    pub action: Action,
    /// The number of the source state among those expanded into this buffer; see
    /// [`Successors::begin_source`].
    pub source: u32,
    fault: u32,
}

impl Successor {
    /// The step number of a step that has none, because the system does not number its steps or
    /// because the step failed before it was complete.
    pub const NO_STEP: u32 = u32::MAX;

    /// The offsets of the parts of an entry, for native code that writes entries into
    /// [`room`](Successors::room) itself. The state of an entry begins `start` bytes from the start
    /// of the arena and has `len` bytes, the tail included.
    pub const LAYOUT: EntryLayout = EntryLayout {
        start: offset_of!(Successor, start) as i32,
        len: offset_of!(Successor, len) as i32,
        step: offset_of!(Successor, step) as i32,
        action: offset_of!(Successor, action) as i32,
        source: offset_of!(Successor, source) as i32,
        fault: offset_of!(Successor, fault) as i32,
    };

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

/// The offset of each part of a [`Successor`].
#[derive(Clone, Copy, Debug)]
pub struct EntryLayout {
    /// Where the state begins: 8 bytes.
    pub start: i32,
    /// The length of the state: 4 bytes.
    pub len: i32,
    /// The number of the step: 4 bytes.
    pub step: i32,
    /// The process that moved, and after it the choice: 4 bytes each.
    pub action: i32,
    /// The number of the source: 4 bytes.
    pub source: i32,
    /// The fault, 0 if there is none: 4 bytes.
    pub fault: i32,
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
    /// Its length is the high-water mark. Only `..used` belongs to entries.
    arena: Vec<u8>,
    used: usize,
    /// Its length is the high-water mark. Only the first `count` are entries.
    entries: Vec<Successor>,
    count: usize,
    source: u32,
    cut_short: bool,
    /// Bytes that follow each state and belong to its entry; see
    /// [`set_tail`](Successors::set_tail).
    tail: usize,
}

/// Free room in a [`Successors`] buffer, for a generator that makes entries itself.
#[derive(Debug)]
pub struct Room<'a> {
    /// Entries to be filled.
    pub entries: &'a mut [Successor],
    /// Their states, one directly after the other, each followed by a [`tail`](Successors::tail).
    pub bytes: &'a mut [u8],
    /// The distance of the first byte from the start of the arena.
    pub start: usize,
    /// The number of the source that is being expanded.
    pub source: u32,
}

impl Successors {
    /// An empty buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all entries and keeps the memory. The source number returns to 0.
    #[inline]
    pub fn clear(&mut self) {
        self.used = 0;
        self.count = 0;
        self.source = 0;
        self.cut_short = false;
    }

    /// Records that the steps of the current source are unknown, because the system abandoned the
    /// expansion. The system calls this instead of appending some of the steps.
    pub fn cut_short(&mut self) {
        self.cut_short = true;
    }

    /// Whether the steps of the current source are unknown.
    #[inline]
    pub fn is_cut_short(&self) -> bool {
        self.cut_short
    }

    /// Sets the source of the entries committed from now on. A caller that expands several states
    /// into this buffer calls this before each of them.
    #[inline]
    pub fn begin_source(&mut self, source: u32) {
        self.source = source;
    }

    /// Makes each state that is committed from now on be followed by a tail of `bytes` bytes, which
    /// belongs to its entry and which the generator does not touch. Returns the previous length of
    /// the tail. A product stores the state of its automaton in this way: it sets the tail, lets
    /// the system generate, fills the tails ([`tail_mut`](Self::tail_mut)) and resets the tail.
    pub fn set_tail(&mut self, bytes: usize) -> usize {
        std::mem::replace(&mut self.tail, bytes)
    }

    /// The number of bytes of the tail.
    #[inline]
    pub fn tail(&self) -> usize {
        self.tail
    }

    /// The tail of entry number `index`, which was committed while the tail had its current length.
    /// `None` for a fatal fault.
    #[inline]
    pub fn tail_mut(&mut self, index: usize) -> Option<&mut [u8]> {
        let entry = self.entries[..self.count].get(index)?;
        let end = entry.start + entry.len as usize;
        if entry.has_state() { self.arena.get_mut(end - self.tail..end) } else { None }
    }

    /// Appends a copy of entry number `index` of another buffer, including its tail, with another
    /// action. Both buffers must have tails of the same length.
    #[inline]
    pub fn push_from(&mut self, other: &Successors, index: usize, action: Action) {
        let entry = other.entries[..other.count][index];
        let start = self.used;
        self.add(Successor { start, action, source: self.source, ..entry });
        if let Some(state) = other.state(&entry) {
            let end = start + state.len();
            if end > self.arena.len() {
                self.grow(end);
            }
            self.arena[start..end].copy_from_slice(state);
            self.used = end;
        }
    }

    /// Calls `change` with the source, the action and the tail of each entry from number `first`
    /// on, which were committed while the tail had its current length. The tail of a fatal fault is
    /// empty.
    #[inline]
    pub fn change_tails(&mut self, first: usize, mut change: impl FnMut(u32, &mut Action, &mut [u8])) {
        for entry in &mut self.entries[first..self.count] {
            let end = entry.start + entry.len as usize;
            let tail = if entry.has_state() { end - self.tail..end } else { 0..0 };
            change(entry.source, &mut entry.action, &mut self.arena[tail]);
        }
    }

    /// A slot of `len` bytes at the end of the arena, holding arbitrary old bytes. It becomes an
    /// entry only by [`commit`](Self::commit); asking again, or not committing, gives the same
    /// bytes back.
    ///
    /// A slot may be asked for several states at once: consecutive commits take consecutive parts
    /// of it, tails included.
    #[inline]
    pub fn slot(&mut self, len: usize) -> &mut [u8] {
        let end = self.used + len;
        if end + self.tail > self.arena.len() {
            self.grow(end + self.tail);
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

    /// Makes the first `len` bytes of the slot an entry, together with its tail.
    ///
    /// # Panics
    /// If fewer than `len` bytes were asked for. This is a mistake in the generator, not in its
    /// input.
    #[inline]
    pub fn commit(&mut self, len: usize, action: Action, fault: Option<FaultCode>, step: u32) {
        let len = len + self.tail;
        assert!(len <= self.arena.len() - self.used && len < NO_STATE as usize, "commit of {len} bytes exceeds the slot");
        self.add(Successor { start: self.used, len: len as u32, step, action, source: self.source, fault: FaultCode::to_bits(fault) });
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

    /// Free room for at least `entries` entries and `bytes` bytes of states. Generators that
    /// produce very many transitions write their entries there directly and report them with
    /// [`advance`](Self::advance).
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
    /// If there was not enough room. This is a mistake in the generator, not in its input.
    #[inline]
    pub fn advance(&mut self, entries: usize, bytes: usize) {
        assert!(entries <= self.entries.len() - self.count && bytes <= self.arena.len() - self.used, "more than there was room for");
        self.count += entries;
        self.used += bytes;
    }

    /// Appends a copy of `state`, reached by `action`, a step without a number.
    #[inline]
    pub fn push(&mut self, state: &[u8], action: Action) {
        self.slot_from(state);
        self.commit(state.len(), action, None, Successor::NO_STEP);
    }

    /// Appends a copy of `state`, reached by `action`, which committed `fault` but can continue.
    pub fn push_faulty(&mut self, state: &[u8], action: Action, fault: FaultCode) {
        self.slot_from(state);
        self.commit(state.len(), action, Some(fault), Successor::NO_STEP);
    }

    /// Appends a step that ends in a fatal fault and has no successor state. `step` is the number
    /// of the step it began with, if that step was complete.
    pub fn fail(&mut self, action: Action, fault: FaultCode, step: u32) {
        let fault = FaultCode::to_bits(Some(fault));
        self.add(Successor { start: self.used, len: NO_STATE, step, action, source: self.source, fault });
    }

    /// The current end, for [`rollback`](Self::rollback).
    pub fn mark(&self) -> Mark {
        Mark { entries: self.count, used: self.used }
    }

    /// Removes everything committed since `mark`.
    pub fn rollback(&mut self, mark: Mark) {
        if mark.entries <= self.count && mark.used <= self.used {
            self.count = mark.entries;
            self.used = mark.used;
        }
    }

    /// Removes the entries from number `first` on for which `keep` returns `false`. Their bytes
    /// stay in the arena until the buffer is cleared.
    pub fn retain(&mut self, first: usize, keep: impl Fn(&Successor) -> bool) {
        let mut kept = first;
        for index in first..self.count {
            if keep(&self.entries[index]) {
                if kept != index {
                    self.entries[kept] = self.entries[index];
                }
                kept += 1;
            }
        }
        self.count = kept;
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

    /// The state of an entry of this buffer; `None` for a fatal fault.
    #[inline]
    pub fn state(&self, entry: &Successor) -> Option<&[u8]> {
        if entry.has_state() { Some(&self.arena[entry.start..entry.start + entry.len as usize]) } else { None }
    }

    /// The state of an entry that has one and no fault.
    #[inline(always)]
    pub fn state_without_fault(&self, entry: &Successor) -> Option<&[u8]> {
        if entry.fault == 0 { self.state(entry) } else { None }
    }

    /// The state of an entry, if it has `len` bytes; `None` for an entry with a fault.
    #[inline(always)]
    pub fn state_of_length(&self, entry: &Successor, len: usize) -> Option<&[u8]> {
        if entry.fault == 0 && entry.len as usize == len { self.arena.get(entry.start..)?.get(..len) } else { None }
    }

    /// The state of entry number `index`, for changing it in place (to a canonical form).
    #[inline]
    pub fn state_mut(&mut self, index: usize) -> Option<&mut [u8]> {
        let entry = *self.entries[..self.count].get(index)?;
        if entry.has_state() { Some(&mut self.arena[entry.start..entry.start + entry.len as usize]) } else { None }
    }

    /// The entries with their states, in order; the state is `None` for a fatal fault.
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
        out.commit(2, Action::new(1, 0), None, 4);
        assert_eq!(out.len(), 1);
        assert_eq!(out.state(&out.entries()[0]), Some(&b"xy"[..]));
    }

    #[test]
    fn tails_follow_states_and_belong_to_entries() {
        let mut out = Successors::new();
        out.push(b"without", Action::default());
        assert_eq!(out.set_tail(2), 0);
        out.push(b"ab", Action::new(0, 1));
        out.fail(Action::new(0, 2), FaultCode::new(1).unwrap(), Successor::NO_STEP);
        out.push(b"c", Action::new(0, 3));
        out.tail_mut(1).unwrap().copy_from_slice(b"xy");
        out.tail_mut(3).unwrap().copy_from_slice(b"zz");
        assert!(out.tail_mut(2).is_none() && out.tail_mut(4).is_none());
        let mut tails = Vec::new();
        out.change_tails(1, |_, action, tail| {
            *action = Action::new(7, action.choice);
            tails.push(tail.to_vec());
            tail.iter_mut().for_each(|byte| *byte += 1);
        });
        assert_eq!(tails, [&b"xy"[..], b"", b"zz"]);
        assert_eq!(out.set_tail(0), 2);
        let states: Vec<_> = out.iter().map(|(_, state)| state).collect();
        assert_eq!(states, [Some(&b"without"[..]), Some(b"abyz"), None, Some(b"c{{")]);
        let actions: Vec<_> = out.entries().iter().map(|entry| entry.action).collect();
        assert_eq!(actions, [Action::default(), Action::new(7, 1), Action::new(7, 2), Action::new(7, 3)]);
    }

    #[test]
    fn copies_take_their_tails_along() {
        let mut steps = Successors::new();
        steps.set_tail(1);
        steps.push(b"ab", Action::new(0, 1));
        steps.fail(Action::new(0, 2), FaultCode::new(1).unwrap(), 9);
        let mut out = Successors::new();
        out.begin_source(5);
        for (target, action) in [(b'x', 3), (b'y', 4)] {
            steps.tail_mut(0).unwrap()[0] = target;
            out.push_from(&steps, 0, Action::new(0, action));
        }
        let mark = out.mark();
        out.push_from(&steps, 1, Action::new(0, 5));
        let copied: Vec<_> = out.iter().map(|(entry, state)| (entry.action.choice, state, entry.step, entry.source)).collect();
        let no_step = Successor::NO_STEP;
        assert_eq!(copied, [(3, Some(&b"abx"[..]), no_step, 5), (4, Some(b"aby"), no_step, 5), (5, None, 9, 5)]);
        assert_eq!(out.entries()[2].fault(), FaultCode::new(1));
        assert_eq!(out.mark_before(1), mark);
    }

    #[test]
    fn one_slot_serves_several_commits() {
        let mut out = Successors::new();
        out.slot(4).copy_from_slice(b"abcd");
        out.commit(1, Action::new(0, 0), None, 4);
        out.commit(3, Action::new(0, 1), FaultCode::new(7), 6);
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
        out.fail(Action::default(), FaultCode::new(1).unwrap(), 0);
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
        let (start, source) = (room.start, room.source);
        room.entries[0] = Successor { start, len: 1, step: 4, action: Action::new(0, 0), source, fault: 0 };
        room.entries[1] = Successor { start: start + 1, len: 2, step: 6, action: Action::new(0, 1), source, fault: 5 };
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
    fn what_is_not_kept_is_gone() {
        let mut out = Successors::new();
        for (choice, state) in [b"a", b"b", b"c", b"d"].into_iter().enumerate() {
            out.push(state, Action::new(0, choice as u32));
        }
        out.retain(1, |entry| entry.action.choice == 2);
        out.push(b"e", Action::new(0, 4));
        let states: Vec<_> = out.iter().filter_map(|(_, state)| state).collect();
        assert_eq!(states, [b"a", b"c", b"e"]);
    }

    #[test]
    #[should_panic(expected = "more than there was room for")]
    fn advancing_beyond_the_room_is_refused() {
        Successors::new().advance(1, 0);
    }

    #[test]
    fn fatal_faults_have_no_state() {
        let mut out = Successors::new();
        out.fail(Action::new(2, 5), FaultCode::new(9).unwrap(), Successor::NO_STEP);
        assert!(!out.entries()[0].has_state());
        assert_eq!(out.state(&out.entries()[0]), None);
        assert_eq!(out.entries()[0].fault().unwrap().get(), 9);
    }

    #[test]
    #[should_panic(expected = "exceeds the slot")]
    fn committing_more_than_the_slot_is_refused() {
        let mut out = Successors::new();
        out.commit(1, Action::default(), None, 4);
    }

    #[test]
    fn actions_survive_their_bits() {
        let action = Action::new(u32::MAX, 17);
        assert_eq!(Action::from_bits(action.to_bits()), action);
    }
}
