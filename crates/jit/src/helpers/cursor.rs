//! The position at which the next transitions are written.
//!
//! Usually a transition is an entry of the search's buffer, written in place: the cursor has the
//! address of the next entry and the number of entries for which memory is reserved. All other uses
//! of the buffer go through [`Context::out`], which first commits the entries written since. If the
//! cursor has no reserved entries, because the buffer is full or because transitions must not go
//! there now, native code calls the general helpers.

use crate::at_once::Following;
use crate::context::{Context, Purpose};
use crate::expanded::PADDING;
use contract::{Successor, Successors};

/// How many entries are reserved at once.
const AHEAD: usize = 64;

/// The part of the search's buffer that entries are written into.
#[repr(C)]
pub(crate) struct Cursor {
    /// The next entry, and the end of the reserved entries; the same if none is left.
    pub entry: *mut Successor,
    pub limit: *mut Successor,
    /// The arena of states, and where in it the state of the next entry begins.
    arena: *mut u8,
    pub start: usize,
    pub source: u32,
    /// The first entry that the buffer was not told of, and where its state begins.
    told_entry: *mut Successor,
    told_start: usize,
    /// The length of the states for which memory is reserved, and that length with the tail that
    /// follows each.
    state_len: usize,
    pub stride: usize,
}

impl Default for Cursor {
    fn default() -> Self {
        let (none, arena) = (std::ptr::null_mut(), std::ptr::null_mut());
        Cursor { entry: none, limit: none, arena, start: 0, source: 0, told_entry: none, told_start: 0, state_len: 0, stride: 0 }
    }
}

/// The cursor as it was before it was shut.
pub(crate) struct Open {
    limit: *mut Successor,
}

impl Cursor {
    /// Prevents further entries.
    pub fn shut(&mut self) -> Open {
        let open = Open { limit: self.limit };
        self.limit = self.entry;
        open
    }

    /// Restores the cursor as it was before it was shut; the buffer must not have been used since.
    pub fn open_again(&mut self, before: Open) {
        self.limit = before.limit;
    }

    /// How many entries are not yet committed to the buffer.
    #[inline]
    fn pending(&self) -> usize {
        (self.entry.addr() - self.told_entry.addr()) / size_of::<Successor>()
    }

    /// Whether a reserved entry is left.
    #[inline]
    fn has_room(&self) -> bool {
        self.entry != self.limit
    }
}

impl Context {
    /// Commits all entries to the search's buffer; leaves the cursor without reserved entries.
    #[inline]
    pub(crate) fn settle(&mut self) {
        let cursor = &mut self.cursor;
        let (entries, bytes) = (cursor.pending(), cursor.start - cursor.told_start);
        (cursor.limit, cursor.told_entry, cursor.told_start) = (cursor.entry, cursor.entry, cursor.start);
        if entries > 0 {
            // SAFETY: set by `Native` from an exclusive reference for the duration of the
            // expansion.
            unsafe { &mut *self.out }.advance(entries, bytes);
        }
    }

    /// The search's buffer. The cursor has no reserved entries until there is a fresh copy to
    /// write.
    #[inline]
    pub(crate) fn out(&mut self) -> &mut Successors {
        self.settle();
        // SAFETY: as in `settle`.
        unsafe { &mut *self.out }
    }

    /// How many transitions the search's buffer has, including those not yet committed.
    #[inline]
    pub(crate) fn emitted(&self) -> usize {
        // SAFETY: as in `settle`.
        unsafe { &*self.out }.len() + self.cursor.pending()
    }

    /// Makes a fresh copy in the search's buffer, and reserves entries for transitions from the
    /// present state if they may go there.
    #[inline(always)]
    pub(crate) fn open(&mut self) {
        if self.cursor.has_room() && self.cursor.state_len == self.view.src_len {
            // SAFETY: memory for one state more than the reserved entries was asked for.
            self.view.dst = unsafe { self.cursor.arena.add(self.cursor.start) };
        } else {
            self.open_anew();
        }
    }

    #[cold]
    pub(super) fn open_anew(&mut self) {
        let usual = self.purpose == Purpose::Direct
            && self.at_once.following != Following::GivenUp
            && !self.has_scratch
            && self.asked_exclusive == 0;
        let state_len = self.view.src_len;
        // A transition that is written in place is not longer than its source.
        let out = self.out();
        let stride = state_len + out.tail();
        let room = out.room(AHEAD, (AHEAD + 1) * stride + PADDING);
        let (entry, dst, start, source) = (room.entries.as_mut_ptr(), room.bytes.as_mut_ptr(), room.start, room.source);
        let limit = entry.wrapping_add(if usual { AHEAD } else { 0 });
        self.view.dst = dst;
        let arena = dst.wrapping_sub(start);
        self.cursor = Cursor { entry, limit, arena, start, source, told_entry: entry, told_start: start, state_len, stride };
    }
}
