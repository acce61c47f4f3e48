//! The ends of paths: what they reached goes to the search, is kept, or goes on.

use super::{Ctx, SAVES, context};
use crate::at_once::Following;
use crate::context::{Context, End, FATAL, PADDING, Purpose, View, reset_scratch};
use bytecode::Mode;
use contract::{Action, FaultCode, Written};

impl Context {
    /// Sets what an observer sees besides the steps' own effects: the privilege, who moved last, scratch variables (S-NORMAL, S-ATOMIC,
    /// S-SCRATCH). Says where the state differs by that from the one asked about.
    fn finish_dst(&mut self, len: usize, holder: Option<u32>) -> Written {
        let program = self.program();
        let layout = program.layout();
        self.view.dst_len = len;
        let mut written = Written::NOTHING;
        let mut set = |byte: &mut u8, at: usize, before: u8, value: u8| {
            *byte = value;
            if before != value {
                written = written.and(Written::range(at, at + 1));
            }
        };
        if let Some(at) = layout.exclusive {
            let before = self.asked_exclusive;
            set(&mut self.dst()[at], at, before, holder.map_or(0, |h| h as u8 + 1));
        }
        if let Some(at) = layout.last {
            let (initiator, last) = (self.initiator as u8, &mut self.dst()[at]);
            set(last, at, *last, initiator);
        }
        if self.has_scratch {
            let mut map = std::mem::take(&mut self.map);
            written = written.and(reset_scratch(program, &mut map, self.dst()));
            self.map = map;
        }
        written
    }

    /// Hands a finished state to the search.
    pub(crate) fn commit(&mut self, len: usize, holder: Option<u32>, fault: u32, mut written: Written) {
        if self.must_finish {
            written = written.and(self.finish_dst(len, holder));
        }
        let action = Action::new(self.initiator, self.choice);
        self.choice += 1;
        self.emitted += 1;
        self.out().commit(len, action, FaultCode::new(fault), written);
    }

    /// Hands a fatal fault to the search.
    pub(crate) fn commit_failure(&mut self, fault: u32) {
        let action = Action::new(self.initiator, self.choice);
        self.choice += 1;
        self.emitted += 1;
        if let Some(fault) = FaultCode::new(fault) {
            self.out().fail(action, fault);
        }
    }

    fn record(&mut self, process: u32, mode: u8, len: usize, fault: u32, written: Written) {
        let start = self.end_bytes.len();
        if len > 0 {
            // SAFETY: `dst` holds at least `len` bytes: the state that just ended.
            let state = unsafe { std::slice::from_raw_parts(self.view.dst, len) };
            self.end_bytes.extend_from_slice(state);
        }
        // As in `offer`: a path that leaves the length alone leaves the components where they are.
        let like_asked = len == self.view.src_len && std::ptr::eq(self.view.processes, self.asked.processes.as_ptr());
        self.ends.push(End { process, mode, start, len, fault, written, like_asked });
    }

    /// Runs native code over another state and comes back to the present one. Gives the place of the copy it left behind, which may have
    /// moved.
    pub(crate) fn visit(&mut self, view: View, body: impl FnOnce(&mut Context)) -> *mut u8 {
        let before = std::mem::replace(&mut self.view, view);
        self.renew_dst();
        self.save_base += SAVES;
        body(self);
        self.save_base -= SAVES;
        std::mem::replace(&mut self.view, before).dst
    }
}

/// The end of a path without an offer, which has `written` so much; gives the place of the next copy.
pub(super) extern "C" fn end(ctx: Ctx, mode: u32, process: u32, len: usize, fault: u32, written: Written) -> *mut u8 {
    // SAFETY: see the module's head.
    let context = unsafe { context(ctx) };
    // The one way that counts: nearly all transitions come through here. It is kept free of calls.
    let usual = context.purpose == Purpose::Direct
        && mode != Mode::Invisible as u32
        && context.at_once.following != Following::GivenUp
        && !context.must_finish
        && fault == 0;
    if usual {
        let (action, src_len) = (Action::new(context.initiator, context.choice), context.view.src_len);
        // SAFETY: as in `Context::out`.
        if let Some(slot) = unsafe { &mut *context.out }.commit_in_place(len, action, written, src_len + PADDING) {
            let place = slot.as_mut_ptr();
            context.choice += 1;
            context.emitted += 1;
            context.view.dst = place;
            context.view.dst_len = src_len;
            return place;
        }
    }
    end_unusually(ctx, mode, process, len, fault, written)
}

/// As [`end`], in all other cases.
#[inline(never)]
fn end_unusually(ctx: Ctx, mode: u32, process: u32, len: usize, fault: u32, written: Written) -> *mut u8 {
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    if ctx.at_once.following == Following::GivenUp && ctx.purpose == Purpose::Direct {
        return ctx.view.dst;
    }
    if ctx.purpose == Purpose::Direct && mode != Mode::Invisible as u32 {
        let holder = (mode == Mode::Atomic as u32).then_some(process);
        ctx.commit(len, holder, fault, written);
        ctx.renew_dst();
        return ctx.view.dst;
    }
    if ctx.purpose == Purpose::Probe {
        ctx.hits += 1;
        return ctx.view.dst;
    }
    if ctx.at_once.following == Following::AtOnce {
        ctx.go_on(process, len, fault, written);
        return ctx.view.dst;
    }
    ctx.purpose = Purpose::Record;
    ctx.record(process, mode as u8, len, fault, written);
    ctx.renew_dst();
    ctx.view.dst
}

/// A fatal fault; what the transition carries is reported in its place (F-CONTINUE).
pub(super) extern "C" fn fail(ctx: Ctx, process: u32, carried: u32, fatal: u32) {
    let fault = if carried == 0 { fatal } else { carried };
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    match ctx.purpose {
        Purpose::Probe => ctx.hits += 1,
        Purpose::Direct if ctx.at_once.following == Following::GivenUp => {}
        Purpose::Direct => ctx.commit_failure(fault),
        Purpose::Record => ctx.record(process, FATAL, 0, fault, Written::NOTHING),
    }
}
