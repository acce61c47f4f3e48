//! The ends of paths: what they reached goes to the search, is kept, or goes on.

use super::{Ctx, SAVES, context};
use crate::at_once::Following;
use crate::context::{Context, End, FATAL, Purpose, View, reset_scratch};
use crate::touched::Known;
use bytecode::Mode;
use contract::{Action, FaultCode, Written};

impl Context {
    /// Sets what an observer sees besides the steps' own effects: the privilege, scratch variables (S-NORMAL, S-ATOMIC, S-SCRATCH). Says
    /// where the state differs by that from the one asked about.
    fn finish_dst(&mut self, len: usize, holder: Option<u32>) -> Written {
        let exclusive = self.program.layout().exclusive;
        self.view.dst_len = len;
        let mut written = Written::NOTHING;
        let mut set = |byte: &mut u8, at: usize, before: u8, value: u8| {
            *byte = value;
            if before != value {
                written = written.and(Written::range(at, at + 1));
            }
        };
        if let Some(at) = exclusive {
            let before = self.asked_exclusive;
            set(&mut self.dst()[at], at, before, holder.map_or(0, |h| h as u8 + 1));
        }
        if self.has_scratch {
            let mut map = std::mem::take(&mut self.map);
            let program = std::sync::Arc::clone(&self.program);
            written = written.and(reset_scratch(&program, &mut map, self.dst()));
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
        self.out().commit(len, action, FaultCode::new(fault), written);
    }

    /// Hands a fatal fault to the search.
    pub(crate) fn commit_failure(&mut self, fault: u32) {
        let action = Action::new(self.initiator, self.choice);
        self.choice += 1;
        if let Some(fault) = FaultCode::new(fault) {
            self.out().fail(action, fault);
        }
    }

    fn record(&mut self, process: u32, mode: u8, len: usize, fault: u32, written: Written) {
        self.unfinished = 1;
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

    /// Runs native code over another state and comes back to the present one; if the search's buffer was used, a fresh copy to write is needed.
    pub(crate) fn visit(&mut self, view: View, body: impl FnOnce(&mut Context)) {
        let before = std::mem::replace(&mut self.view, view);
        self.renew_dst();
        self.save_base += SAVES;
        body(self);
        self.save_base -= SAVES;
        self.view = before;
    }
}

/// The end of a path of a process without an offer, which creates nothing, and gives nobody a privilege. What the path has written is what
/// is `known` of it, and what was `added` at run time.
pub(super) extern "C" fn end(ctx: Ctx, offset: u64, process: u32, fault: u32, known: &Known, added: Written) {
    // SAFETY: see the module's head.
    let context = unsafe { context(ctx) };
    let (len, written) = (context.view.src_len, context.written(known, offset, added));
    if !context.commit_in_place(len, fault, written) {
        context.end(process, Mode::Normal as u8, len, fault, written);
    }
}

/// The same in all other cases: `len` is the length of the state reached, `mode` how the step ends.
#[allow(clippy::too_many_arguments)]
pub(super) extern "C" fn end_unusually(
    ctx: Ctx,
    offset: u64,
    process: u32,
    fault: u32,
    known: &Known,
    added: Written,
    len: usize,
    mode: u32,
) {
    // SAFETY: see the module's head.
    let context = unsafe { context(ctx) };
    let written = context.written(known, offset, added);
    context.end(process, mode as u8, len, fault, written);
}

impl Context {
    /// What a transition has written with a path of a process that begins at an offset.
    #[inline]
    pub(super) fn written(&self, known: &Known, offset: u64, added: Written) -> Written {
        self.view.written.and(added).and(known.from(offset))
    }

    /// The end of a path, whatever is to be done with it.
    #[inline(never)]
    fn end(&mut self, process: u32, mode: u8, len: usize, fault: u32, written: Written) {
        match self.purpose {
            Purpose::Probe => self.hits += 1,
            Purpose::Direct if self.at_once.following == Following::GivenUp => {}
            Purpose::Direct if mode != Mode::Invisible as u8 => {
                let holder = (mode == Mode::Atomic as u8).then_some(process);
                self.commit(len, holder, fault, written);
                self.renew_dst();
            }
            _ if self.at_once.following == Following::AtOnce => self.go_on(process, len, fault, written),
            _ => {
                self.purpose = Purpose::Record;
                self.cursor.shut();
                self.record(process, mode, len, fault, written);
                self.renew_dst();
            }
        }
    }
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
