//! Offers: the end of a path that sends on a channel without a buffer lets every other process answer (S-RENDEZVOUS).

use super::{Ctx, context};
use crate::compile::Code;
use crate::context::{Context, Purpose, Source, View, view_like, view_of};
use contract::Written;

/// The end of a path with an offer: lets every other process answer. Gives whether one did.
pub(super) extern "C" fn offer(ctx: Ctx, process: u32, len: usize, fault: u32, written: Written) -> u32 {
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    // A path makes a state longer or shorter or leaves its components where they are.
    let same_shape = len == ctx.view.src_len;
    if same_shape && !ctx.has_answer(process) {
        return 0;
    }
    ctx.view.dst_len = len;
    let (tables, layout, shape) = (ctx.tables(), ctx.program().layout(), ctx.view);
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
    } else if half_done.load(layout, tables, state).is_ok() {
        view_of(half_done)
    } else {
        return 0;
    };
    let before = (ctx.ends.len(), ctx.emitted, ctx.hits);
    ctx.offering += 1;
    ctx.view.dst = ctx.visit(View { fault_in: fault, written, ..view }, |ctx| {
        for other in (0..ctx.view.process_count).filter(|&other| other != process) {
            if let Some((code, offset)) = ctx.answer(other, ctx.view.src) {
                // SAFETY: the code was compiled for this type, location and program, with this signature.
                unsafe { code(ctx, offset as u64, other) };
            }
        }
    });
    ctx.offering -= 1;
    ((ctx.ends.len(), ctx.emitted, ctx.hits) != before) as u32
}

impl Context {
    /// Whether another process stands where it may receive the pending offer: most offers are made while nobody does.
    #[inline]
    fn has_answer(&self, process: u32) -> bool {
        (0..self.view.process_count).any(|other| other != process && self.answer(other, self.view.src).is_some())
    }

    /// The code with which a process of the present view may answer the pending offer, and where the process is.
    #[inline]
    fn answer(&self, process: u32, state: *const u8) -> Option<(Code, u32)> {
        // SAFETY: `process` is below the view's count, and the tables have an entry for each process.
        let (offset, ty) = unsafe { (*self.view.processes.add(process as usize), *self.view.types.add(process as usize)) };
        // SAFETY: the component lies inside the state, as the source checked when it took the state in.
        let code = unsafe { self.tables().answer(ty, state.add(offset as usize), self.offer_channel) }?;
        Some((code, offset))
    }
}
