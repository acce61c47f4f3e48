//! Offers: at the end of a path that sends on a channel without a buffer, every other process may
//! answer (S-RENDEZVOUS).

use super::{Ctx, context};
use crate::context::{Context, Purpose, View, view_of};
use crate::expanded::ExpandedState;
use crate::tables::{ChannelSet, Code};

/// Whether a process is at a location where it may receive the pending offer. (The process may be
/// the sender itself.) For most offers there is none. If possible, this is called before the
/// sender's state is copied, and only as long as the channels on which processes receive in this
/// state are not known.
pub(super) extern "C" fn has_answer(ctx: Ctx) -> u32 {
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    if ctx.view.receivers == ChannelSet::ALL {
        ctx.view.receivers = ctx.find_receivers();
    }
    ctx.view.receivers.meets(ChannelSet::one(ctx.offer_channel)) as u32
}

/// The end of a path with an offer: lets every other process answer. Returns whether one did.
pub(super) extern "C" fn offer(ctx: Ctx, process: u32, fault: u32, step: u32, len: usize) -> u32 {
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    // A path that does not change the length of a state does not move its components.
    let same_shape = len == ctx.view.src_len;
    ctx.view.dst_len = len;
    let step = ctx.first_step(step);
    // SAFETY: as in `Context::dst`.
    let state = unsafe { std::slice::from_raw_parts(ctx.view.dst, len) };
    // ENABLED may be evaluated while an offer is being answered, so it has a buffer of its own.
    let depth = ctx.at_once.depth;
    if ctx.half_done.len() <= depth {
        ctx.half_done.resize(depth + 1, ExpandedState::default());
    }
    let half_done = if ctx.purpose == Purpose::Probe { &mut ctx.probed_half_done } else { &mut ctx.half_done[depth] };
    let view = if same_shape {
        half_done.take_in(state);
        Ok(half_done.bytes.as_ptr())
    } else if half_done.load(&ctx.program, &ctx.tables, state).is_ok() {
        Err(view_of(half_done))
    } else {
        return 0;
    };
    let before = (ctx.ends.len(), ctx.emitted(), ctx.hits);
    ctx.offering += 1;
    match view {
        Ok(state) => ctx.visit_alike(state, fault, step, |ctx| ctx.let_others_answer(process)),
        Err(view) => ctx.visit(View { fault_in: fault, step, ..view }, |ctx| ctx.let_others_answer(process)),
    }
    ctx.offering -= 1;
    ctx.renew_dst();
    ((ctx.ends.len(), ctx.emitted(), ctx.hits) != before) as u32
}

impl Context {
    /// Runs the answers of all processes but the one that made the pending offer.
    #[inline]
    fn let_others_answer(&mut self, process: u32) {
        for other in 0..self.view.process_count {
            if other != process
                && let Some((code, at)) = self.answer(other, self.view.src)
            {
                // SAFETY: the code was compiled for this type, location and program.
                unsafe { code(self, at as u64, other) };
            }
        }
    }

    /// The channels from which some process receives in the present view.
    fn find_receivers(&self) -> ChannelSet {
        let View { src, processes, process_count, .. } = self.view;
        (0..process_count as usize).fold(ChannelSet::default(), |channels, process| {
            // SAFETY: the view's table has an entry for each process of its state, as the source
            // found when it took the state in.
            channels.with(unsafe { (*processes.add(process)).receives_from(src) })
        })
    }

    /// The code with which a process of the present view may answer the pending offer, and the
    /// offset of the process.
    #[inline]
    fn answer(&self, process: u32, state: *const u8) -> Option<(Code, u32)> {
        // SAFETY: `process` is below the view's count, and the tables have an entry for each
        // process.
        let at = unsafe { &*self.view.processes.add(process as usize) };
        // SAFETY: it describes a process of this state, as the source found when it took the state
        // in.
        let code = unsafe { at.answer(state, self.offer_channel) }?;
        Some((code, at.offset))
    }
}
