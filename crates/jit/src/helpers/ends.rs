//! The ends of paths: the state reached is passed to the search, kept, or continued from.

use super::{Ctx, SAVES, context};
use crate::at_once::Following;
use crate::context::{Context, End, FATAL, Purpose, View, reset_scratch};
use crate::tables::ChannelSet;
use bytecode::Mode;
use contract::{Action, FaultCode, Successor};

impl Context {
    /// Sets what an observer sees besides the steps' own effects: the privilege, scratch variables
    /// (S-NORMAL, S-ATOMIC, S-SCRATCH).
    fn finish_dst(&mut self, len: usize, holder: Option<u32>) {
        let exclusive = self.program.layout().exclusive;
        self.view.dst_len = len;
        if let Some(at) = exclusive {
            self.dst()[at] = holder.map_or(0, |h| h as u8 + 1);
        }
        if self.has_scratch {
            let mut map = std::mem::take(&mut self.map);
            let program = std::sync::Arc::clone(&self.program);
            reset_scratch(&program, &mut map, self.dst());
            self.map = map;
        }
    }

    /// Passes a finished state to the search.
    pub(crate) fn commit(&mut self, len: usize, holder: Option<u32>, fault: u32, step: u32) {
        if self.must_finish {
            self.finish_dst(len, holder);
        }
        let action = Action::new(self.initiator, self.choice);
        self.choice += 1;
        self.out().commit(len, action, FaultCode::new(fault), step);
    }

    /// Passes a fatal fault to the search.
    pub(crate) fn commit_failure(&mut self, fault: u32, step: u32) {
        let action = Action::new(self.initiator, self.choice);
        self.choice += 1;
        if let Some(fault) = FaultCode::new(fault) {
            self.out().fail(action, fault, step);
        }
    }

    fn record(&mut self, process: u32, mode: u8, len: usize, fault: u32, step: u32) {
        self.unfinished = 1;
        let start = self.end_bytes.len();
        if len > 0 {
            // SAFETY: `dst` holds at least `len` bytes: the state that just ended.
            let state = unsafe { std::slice::from_raw_parts(self.view.dst, len) };
            self.end_bytes.extend_from_slice(state);
        }
        // As in `offer`: a path that leaves the length alone leaves the components where they are.
        let like_asked = len == self.view.src_len && std::ptr::eq(self.view.processes, self.asked.processes.as_ptr());
        self.ends.push(End { process, mode, start, len, fault, step, like_asked });
    }

    /// As [`visit`](Self::visit), for a state with the same length and the same offsets of
    /// components as the present one. Most visits are of this kind, and little of the view changes.
    #[inline(always)]
    pub(crate) fn visit_alike(&mut self, state: *const u8, fault: u32, step: u32, body: impl FnOnce(&mut Context)) {
        let view = &mut self.view;
        let before = (view.src, view.timeout, view.fault_in, view.step, view.receivers);
        (view.src, view.timeout, view.fault_in, view.step, view.receivers) = (state, 0, fault, step, ChannelSet::ALL);
        (view.dst_process_count, view.dst_channel_count) = (view.process_count, view.channel_count);
        let written = (view.dst, view.dst_len);
        self.renew_dst();
        self.save_base += SAVES;
        body(self);
        self.save_base -= SAVES;
        let view = &mut self.view;
        (view.src, view.timeout, view.fault_in, view.step, view.receivers) = before;
        (view.dst_process_count, view.dst_channel_count) = (view.process_count, view.channel_count);
        (view.dst, view.dst_len) = written;
    }

    /// Runs native code over another state and returns to the present one; if the search's buffer
    /// was used, a fresh copy is needed.
    pub(crate) fn visit(&mut self, view: View, body: impl FnOnce(&mut Context)) {
        let before = std::mem::replace(&mut self.view, view);
        self.renew_dst();
        self.save_base += SAVES;
        body(self);
        self.save_base -= SAVES;
        self.view = before;
    }
}

/// The end of a path, where native code cannot write an entry itself: `len` is the length of the
/// state reached, `mode` how the step ends, `step` its number.
pub(super) extern "C" fn end(ctx: Ctx, process: u32, fault: u32, step: u32, len: usize, mode: u32) {
    // SAFETY: see the module's head.
    let context = unsafe { context(ctx) };
    let step = context.first_step(step);
    context.end(process, mode as u8, len, fault, step);
}

impl Context {
    /// The number of the first step of a transition, to which a path with number `step` belongs.
    #[inline]
    pub(super) fn first_step(&self, step: u32) -> u32 {
        if self.view.step == Successor::NO_STEP { step } else { self.view.step }
    }

    /// The end of a path, in the general case.
    #[inline(never)]
    fn end(&mut self, process: u32, mode: u8, len: usize, fault: u32, step: u32) {
        match self.purpose {
            Purpose::Probe => self.hits += 1,
            Purpose::Direct if self.at_once.following == Following::GivenUp => {}
            Purpose::Direct if mode != Mode::Invisible as u8 => {
                let holder = (mode == Mode::Atomic as u8).then_some(process);
                self.commit(len, holder, fault, step);
                self.renew_dst();
            }
            _ if self.at_once.following == Following::AtOnce => self.go_on(process, len, fault, step),
            _ => {
                self.purpose = Purpose::Record;
                self.cursor.shut();
                self.record(process, mode, len, fault, step);
                self.renew_dst();
            }
        }
    }
}

/// A fatal fault; a fault that the transition carries is reported instead (F-CONTINUE). `step` is
/// the number of the path if its first step was complete.
pub(super) extern "C" fn fail(ctx: Ctx, process: u32, carried: u32, fatal: u32, step: u32) {
    let fault = if carried == 0 { fatal } else { carried };
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    let step = ctx.first_step(step);
    match ctx.purpose {
        Purpose::Probe => ctx.hits += 1,
        Purpose::Direct if ctx.at_once.following == Following::GivenUp => {}
        Purpose::Direct => ctx.commit_failure(fault, step),
        Purpose::Record => ctx.record(process, FATAL, 0, fault, step),
    }
}
