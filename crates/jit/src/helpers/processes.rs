//! Helpers for processes: executing their code, queries about them, new ones.

use super::{Ctx, context};
use crate::context::{Context, Purpose, View, view_of};
use crate::expanded::ProcessAt;
use bytecode::{Fault, FaultKind};

impl Context {
    /// Runs the code of a process of the present view.
    #[inline]
    pub(crate) fn call(&mut self, process: u32) {
        // SAFETY: `process` is below the view's count, and the tables have an entry for each
        // process.
        let at = unsafe { *self.view.processes.add(process as usize) };
        // SAFETY: `at` describes a process of the state at `src`, and its code was compiled for
        // this type, location and program.
        unsafe { at.code(self.view.src)(self, at.offset as u64, process) };
    }

    /// Runs the code of the processes of the present view, from a given one on, until one is not
    /// finished. Returns the number of the one after that, or the number of processes. Most
    /// processes cannot move in most states, and their code needs a few instructions to find that
    /// out. So this loop must be short too.
    #[inline]
    pub(crate) fn expand_from(&mut self, first: u32) -> u32 {
        let View { src, processes, process_count, .. } = self.view;
        for process in first..process_count {
            (self.initiator, self.choice) = (process, 0);
            // SAFETY: as in `call`; code that changes the view restores it.
            unsafe {
                let at = &*processes.add(process as usize);
                at.code(src)(self, at.offset as u64, process);
            }
            if self.unfinished != 0 {
                return process + 1;
            }
        }
        process_count
    }

    /// Whether some path of a process succeeds in a state (I-ENABLED).
    pub(crate) fn probe(&mut self, state: *const u8, len: usize, process: u32, timeout: u32) -> bool {
        if self.purpose == Purpose::Probe {
            return false;
        }
        // SAFETY: the caller passes a state it is working on, `len` bytes long.
        let state = unsafe { std::slice::from_raw_parts(state, len) };
        if self.probed.load(&self.program, &self.tables, state).is_err() || process >= self.probed.process_count {
            return false;
        }
        let view = View { timeout, ..view_of(&mut self.probed) };
        let purpose = std::mem::replace(&mut self.purpose, Purpose::Probe);
        let kept = (self.values, self.offer, self.offer_channel, self.noted, self.kept.take(), self.kept_steps);
        let hits = std::mem::take(&mut self.hits);
        let open = self.cursor.shut();
        self.visit(view, |ctx| ctx.call(process));
        self.cursor.open_again(open);
        self.purpose = purpose;
        (self.values, self.offer, self.offer_channel, self.noted, self.kept, self.kept_steps) = kept;
        std::mem::replace(&mut self.hits, hits) > 0
    }
}

/// ENABLED.
pub(super) extern "C" fn enabled(ctx: Ctx, state: *const u8, len: usize, process: i32, timeout: u32) -> u32 {
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    u32::try_from(process).is_ok_and(|p| ctx.probe(state, len, p, timeout)) as u32
}

/// Where the priority of a process is, or −1.
pub(super) extern "C" fn priority_at(ctx: Ctx, count: u32, process: i32) -> i64 {
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    let Some(number) = u32::try_from(process).ok().filter(|&number| number < count) else { return -1 };
    // SAFETY: below the count.
    let ProcessAt { offset, ty, .. } = unsafe { *ctx.view.processes.add(number as usize) };
    ctx.program.layout().processes[ty as usize].priority.map_or(-1, |p| i64::from(offset) + p as i64)
}

/// NP.
pub(super) extern "C" fn no_progress(ctx: Ctx, state: *const u8, count: u32) -> u32 {
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    let program = &ctx.program;
    for process in 0..count {
        // SAFETY: below the count; the tables describe the state at `state`.
        let (ty, place) = unsafe {
            let at = *ctx.view.processes.add(process as usize);
            (bytecode::ProcessId(at.ty as u8), at.place(state))
        };
        let address = program.locations().address(ty, bytecode::Location(place as u16));
        if address.is_some_and(|at| program.program().label_kind_at(at).progress) {
            return 0;
        }
    }
    1
}

/// RUN: appends a process with the parameters in `values`; returns its number, or minus a fault
/// code.
pub(crate) extern "C" fn run(ctx: Ctx, ty: u32, args: u32, addr: u32) -> i64 {
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    let fault = |kind| -(Fault { kind, addr: bytecode::Addr(addr) }.code() as i64);
    let number = ctx.view.dst_process_count;
    if number >= 255 {
        return fault(FaultKind::TooManyProcesses);
    }
    let at = ctx.view.dst_len;
    let size = ctx.program.layout().processes[ty as usize].size;
    ctx.extend_dst(size);
    // SAFETY: the copy is now that much longer; nothing else refers to its last bytes.
    let component = unsafe { std::slice::from_raw_parts_mut(ctx.view.dst.add(at), size) };
    component.copy_from_slice(&ctx.tables.templates[ty as usize]);
    for (slot, value) in ctx.program.layout().processes[ty as usize].locals.iter().zip(&ctx.values[..args as usize]) {
        slot.ty.write(*value, &mut component[slot.offset..]);
    }
    let place = ctx.tables.process_at(ty as u8, at as u32);
    // SAFETY: the tables have 256 entries, and `number` is below 255.
    unsafe { *ctx.view.processes.add(number as usize) = place };
    ctx.view.dst_process_count += 1;
    if let Some(prologue) = ctx.tables.prologue(ty) {
        ctx.prologue_fault = 0;
        // SAFETY: compiled for this type; it works on the copy of this context.
        unsafe { prologue(ctx, at as u64, number) };
        if let Some(raised) = Fault::from_code(ctx.prologue_fault) {
            if raised.kind.is_fatal() {
                return -(raised.code() as i64);
            }
            ctx.noted = raised.code();
        }
    }
    number as i64
}

/// The end of a prologue; `fault` is 0 or a fault code.
pub(super) extern "C" fn prologue_done(ctx: Ctx, fault: u32) {
    // SAFETY: see the module's head.
    unsafe { context(ctx) }.prologue_fault = fault;
}
