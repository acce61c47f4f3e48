//! The copies that native code writes: their memory, and those kept for alternatives that come
//! after a write.

use super::{Ctx, context, fail};
use crate::context::{Context, Purpose, View};
use crate::expanded::PADDING;
use bytecode::{Fault, FaultKind};

impl Context {
    /// A fresh copy to write, large enough for the present state.
    #[inline(always)]
    pub(crate) fn renew_dst(&mut self) {
        if self.purpose == Purpose::Probe {
            let size = self.view.src_len + PADDING;
            if self.probe_dst.len() < size {
                self.probe_dst.resize(size, 0);
            }
            self.view.dst = self.probe_dst.as_mut_ptr();
        } else {
            self.open();
        }
        self.view.dst_len = self.view.src_len;
    }

    /// Makes the copy longer and keeps its contents; the new bytes are zero.
    pub(super) fn extend_dst(&mut self, by: usize) {
        let old = self.view.dst_len;
        let size = old + by + PADDING;
        self.view.dst = match self.purpose {
            Purpose::Probe => {
                if self.probe_dst.len() < size {
                    self.probe_dst.resize(size, 0);
                }
                self.probe_dst.as_mut_ptr()
            }
            _ => self.out().slot(size).as_mut_ptr(),
        };
        self.view.dst_len = old + by;
        self.dst()[old..].fill(0);
    }

    /// The copy under work.
    pub(super) fn dst(&mut self) -> &mut [u8] {
        self.view.dst()
    }
}

impl View {
    /// The copy under work.
    pub(super) fn dst(&mut self) -> &mut [u8] {
        // SAFETY: `dst` points to at least `dst_len` bytes of a slot or of the probe buffer.
        unsafe { std::slice::from_raw_parts_mut(self.dst, self.dst_len) }
    }
}

/// Keeps the copy as it is at an alternative that follows a write.
pub(super) extern "C" fn save(ctx: Ctx, slot: u32) {
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    let slot = ctx.save_base + slot as usize;
    if ctx.saved.len() <= slot {
        ctx.saved.resize(slot + 1, (Vec::new(), 0, 0));
    }
    let mut kept = std::mem::take(&mut ctx.saved[slot].0);
    kept.clear();
    kept.extend_from_slice(ctx.dst());
    ctx.saved[slot] = (kept, ctx.view.dst_process_count, ctx.view.dst_channel_count);
}

/// Restores the copy as it was at [`save`]; returns its address.
pub(super) extern "C" fn restore(ctx: Ctx, slot: u32) -> *mut u8 {
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    let slot = ctx.save_base + slot as usize;
    let (kept, processes, channels) = std::mem::take(&mut ctx.saved[slot]);
    ctx.view.dst_len = 0;
    ctx.extend_dst(kept.len());
    ctx.dst().copy_from_slice(&kept);
    (ctx.view.dst_process_count, ctx.view.dst_channel_count) = (processes, channels);
    ctx.saved[slot] = (kept, processes, channels);
    ctx.view.dst
}

/// Whether a deterministic sequence of `steps` steps must not be followed further; called at each
/// step of a long sequence. If the sequence never ends (S-ENDLESS), this records the fault. If the
/// step is abandoned, its results do not count. States are compared as in Brent's cycle finding:
/// the stored state is replaced at each power of two. `step` is the number of the first step.
pub(super) extern "C" fn endless(ctx: Ctx, process: u32, steps: u32, step: u32) -> u32 {
    // SAFETY: see the module's head.
    let context = unsafe { context(ctx) };
    if steps <= crate::step::LONG_SEQUENCE + 1 || context.kept_steps > steps {
        context.kept = None;
    }
    context.kept_steps = steps;
    if context.effort.spend(1 + context.view.dst_len as u64 / 64) {
        return 1;
    }
    let returned = context.kept.as_deref().is_some_and(|kept| {
        // SAFETY: as in `dst`.
        kept == unsafe { std::slice::from_raw_parts(context.view.dst, context.view.dst_len) }
    });
    if returned {
        context.kept = None;
        let fault = Fault { kind: FaultKind::Endless, addr: context.start_addr() };
        fail(ctx, process, 0, fault.code(), step);
        return 1;
    }
    if steps.is_power_of_two() || context.kept.is_none() {
        context.kept = Some(context.dst().to_vec());
    }
    0
}
