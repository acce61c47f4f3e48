//! The position at which the next transitions are written. Usually a transition is an entry of the
//! search's buffer, written in place: the cursor has the address of the next entry and the number
//! of entries for which memory is reserved. All other uses of the buffer go through
//! [`Context::out`], which first commits the entries written since. If the cursor has no reserved
//! entries, because the buffer is full or because transitions must not go there now, native code
//! calls the general helpers.

use crate::at_once::Following;
use crate::context::{Context, Purpose};
use crate::expanded::PADDING;
use contract::{Action, Successor, Successors};

/// How many entries are reserved at once.
const AHEAD: usize = 64;

/// The part of the search's buffer that entries are written into.
#[repr(C)]
pub(crate) struct Cursor {
    /// The next entry.
    entry: *mut Successor,
    /// How many more entries are reserved.
    left: usize,
    /// The arena of states, and where in it the state of the next entry begins.
    arena: *mut u8,
    start: usize,
    pub source: u32,
    /// How many entries were reserved at the last commit, and where the next state began.
    told_left: usize,
    told_start: usize,
    /// The length of the states for which memory is reserved, and that length with the tail that
    /// follows each.
    state_len: usize,
    stride: usize,
}

impl Default for Cursor {
    fn default() -> Self {
        let (entry, arena) = (std::ptr::null_mut(), std::ptr::null_mut());
        Cursor { entry, left: 0, arena, start: 0, source: 0, told_left: 0, told_start: 0, state_len: 0, stride: 0 }
    }
}

/// The cursor as it was before it was shut.
pub(crate) struct Open {
    left: usize,
    told_left: usize,
}

impl Cursor {
    /// Prevents further entries.
    pub fn shut(&mut self) -> Open {
        let open = Open { left: self.left, told_left: self.told_left };
        self.told_left -= self.left;
        self.left = 0;
        open
    }

    /// Restores the cursor as it was before it was shut; the buffer must not have been used since.
    pub fn open_again(&mut self, before: Open) {
        (self.left, self.told_left) = (before.left, before.told_left);
    }

    /// How many entries are not yet committed to the buffer.
    #[inline]
    fn pending(&self) -> usize {
        self.told_left - self.left
    }
}

impl Context {
    /// Commits all entries to the search's buffer; leaves the cursor without reserved entries.
    #[inline]
    pub(crate) fn settle(&mut self) {
        let cursor = &mut self.cursor;
        let (entries, bytes) = (cursor.pending(), cursor.start - cursor.told_start);
        (cursor.left, cursor.told_left, cursor.told_start) = (0, 0, cursor.start);
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
        if self.cursor.left > 0 && self.cursor.state_len == self.view.src_len {
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
        let left = if usual { AHEAD } else { 0 };
        self.view.dst = dst;
        let arena = dst.wrapping_sub(start);
        self.cursor = Cursor { entry, left, arena, start, source, told_left: left, told_start: start, state_len, stride };
    }

    /// Makes the copy a transition, if the cursor has a reserved entry, and returns whether it had.
    /// This is the fast path, without calls.
    #[inline(always)]
    pub(super) fn commit_in_place(&mut self, fault: u32, step: u32) -> bool {
        let cursor = &mut self.cursor;
        if cursor.left == 0 {
            return false;
        }
        cursor.left -= 1;
        let stride = cursor.stride;
        let action = Action::new(self.initiator, self.choice);
        // SAFETY: within the memory that `open_anew` reserved.
        unsafe {
            cursor.entry.write(Successor::in_room(cursor.start, stride, action, cursor.source, fault, step));
            cursor.entry = cursor.entry.add(1);
        }
        cursor.start += stride;
        self.choice += 1;
        // SAFETY: `open_anew` asked for the bytes of one more copy than there are entries.
        self.view.dst = unsafe { self.view.dst.add(stride) };
        true
    }
}
