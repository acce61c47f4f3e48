//! Offers: the end of a path that sends on a channel without a buffer lets every other process answer (S-RENDEZVOUS).

use super::{Ctx, context};
use crate::context::{Context, Purpose, View, view_like, view_of};
use crate::source::Source;
use crate::tables::Code;
use crate::touched::Known;
use contract::Written;

/// Whether another process stands where it may receive the pending offer: most offers are made while nobody does. Asked before the sender's
/// state is copied, if that is possible.
pub(super) extern "C" fn has_answer(ctx: Ctx, process: u32) -> u32 {
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    (0..ctx.view.process_count).any(|other| other != process && ctx.answer(other, ctx.view.src).is_some()) as u32
}

/// The end of a path with an offer: lets every other process answer. Gives whether one did.
pub(super) extern "C" fn offer(ctx: Ctx, offset: u64, process: u32, fault: u32, known: &Known, added: Written, len: usize) -> u32 {
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    // A path makes a state longer or shorter or leaves its components where they are.
    let same_shape = len == ctx.view.src_len;
    ctx.view.dst_len = len;
    let written = ctx.written(known, offset, added);
    let shape = ctx.view;
    // SAFETY: as in `Context::dst`.
    let state = unsafe { std::slice::from_raw_parts(ctx.view.dst, len) };
    // A question about another process may be asked while an offer is being answered: it has a place of its own.
    let depth = ctx.at_once.depth;
    if ctx.half_done.len() <= depth {
        ctx.half_done.resize(depth + 1, Source::default());
    }
    let half_done = if ctx.purpose == Purpose::Probe { &mut ctx.probed_half_done } else { &mut ctx.half_done[depth] };
    let view = if same_shape {
        half_done.take_in(state);
        view_like(half_done, &shape)
    } else if half_done.load(&ctx.program, &ctx.tables, state).is_ok() {
        view_of(half_done)
    } else {
        return 0;
    };
    let before = (ctx.ends.len(), ctx.emitted(), ctx.hits);
    ctx.offering += 1;
    ctx.visit(View { fault_in: fault, written, ..view }, |ctx| {
        for other in (0..ctx.view.process_count).filter(|&other| other != process) {
            if let Some((code, at)) = ctx.answer(other, ctx.view.src) {
                // SAFETY: the code was compiled for this type, location and program.
                unsafe { code(ctx, at as u64, other) };
            }
        }
    });
    ctx.offering -= 1;
    ctx.renew_dst();
    ((ctx.ends.len(), ctx.emitted(), ctx.hits) != before) as u32
}

impl Context {
    /// The code with which a process of the present view may answer the pending offer, and the offset of the process.
    #[inline]
    fn answer(&self, process: u32, state: *const u8) -> Option<(Code, u32)> {
        // SAFETY: `process` is below the view's count, and the tables have an entry for each process.
        let at = unsafe { &*self.view.processes.add(process as usize) };
        // SAFETY: it describes a process of this state, as the source found when it took the state in.
        let code = unsafe { at.answer(state, self.offer_channel) }?;
        Some((code, at.offset))
    }
}
