//! Where the next transitions go.
//!
//! A transition in the usual case is an entry of the search's buffer, written in place: the cursor
//! knows where the next one is, and how many more can follow without asking. Whoever uses the
//! buffer otherwise goes through [`Context::out`], which first tells it of the entries made since.
//! A cursor without room, because the buffer is used or because transitions are not to go there
//! now, sends native code the unusual way.

use crate::at_once::Following;
use crate::context::{Context, Purpose};
use crate::expanded::PADDING;
use contract::{Action, Successor, Successors};

/// How many entries can be made without asking for more room.
const AHEAD: usize = 64;

/// The part of the search's buffer that entries are written into.
#[repr(C)]
pub(crate) struct Cursor {
    /// The next entry.
    entry: *mut Successor,
    /// How many more there is room for.
    left: usize,
    /// The arena of states, and where in it the state of the next entry begins.
    arena: *mut u8,
    start: usize,
    pub source: u32,
    /// How many there was room for when the buffer was last told of entries, and where the next
    /// state began.
    told_left: usize,
    told_start: usize,
    /// The length of the states there is room for, and that length with the tail that follows each.
    state_len: usize,
    stride: usize,
}

impl Default for Cursor {
    fn default() -> Self {
        let (entry, arena) = (std::ptr::null_mut(), std::ptr::null_mut());
        Cursor { entry, left: 0, arena, start: 0, source: 0, told_left: 0, told_start: 0, state_len: 0, stride: 0 }
    }
}

/// What a cursor that was shut was like before.
pub(crate) struct Open {
    left: usize,
    told_left: usize,
}

impl Cursor {
    /// Lets no more entries be written.
    pub fn shut(&mut self) -> Open {
        let open = Open { left: self.left, told_left: self.told_left };
        self.told_left -= self.left;
        self.left = 0;
        open
    }

    /// Makes the cursor what it was before it was shut; nothing may have used the buffer since.
    pub fn open_again(&mut self, before: Open) {
        (self.left, self.told_left) = (before.left, before.told_left);
    }

    /// How many entries the buffer does not know of.
    #[inline]
    fn pending(&self) -> usize {
        self.told_left - self.left
    }
}

impl Context {
    /// Tells the search's buffer of all entries; leaves the cursor without room.
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

    /// The search's buffer. The cursor is without room until there is a fresh copy to write.
    #[inline]
    pub(crate) fn out(&mut self) -> &mut Successors {
        self.settle();
        // SAFETY: as in `settle`.
        unsafe { &mut *self.out }
    }

    /// How many transitions the search's buffer has, with those it does not know of.
    #[inline]
    pub(crate) fn emitted(&self) -> usize {
        // SAFETY: as in `settle`.
        unsafe { &*self.out }.len() + self.cursor.pending()
    }

    /// A fresh copy to write in the search's buffer, and room for transitions from the present
    /// state if they are to go there.
    #[inline(always)]
    pub(crate) fn open(&mut self) {
        if self.cursor.left > 0 && self.cursor.state_len == self.view.src_len {
            // SAFETY: there is room for a state behind every entry that there is room for.
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
        // A transition in the usual way is no longer than the state it leaves.
        let out = self.out();
        let stride = state_len + out.tail();
        let room = out.room(AHEAD, (AHEAD + 1) * stride + PADDING);
        let (entry, dst, start, source) = (room.entries.as_mut_ptr(), room.bytes.as_mut_ptr(), room.start, room.source);
        let left = if usual { AHEAD } else { 0 };
        self.view.dst = dst;
        let arena = dst.wrapping_sub(start);
        self.cursor = Cursor { entry, left, arena, start, source, told_left: left, told_start: start, state_len, stride };
    }

    /// Makes the copy a transition, if the cursor has room: the one way that counts, free of calls.
    /// Gives whether it had.
    #[inline(always)]
    pub(super) fn commit_in_place(&mut self, fault: u32, step: u32) -> bool {
        let cursor = &mut self.cursor;
        if cursor.left == 0 {
            return false;
        }
        cursor.left -= 1;
        let stride = cursor.stride;
        let action = Action::new(self.initiator, self.choice);
        // SAFETY: in the room that `open_anew` asked for.
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
