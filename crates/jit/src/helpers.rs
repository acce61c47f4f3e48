//! What native code calls for everything that is not worth being inline: ends of paths, creation, searching in channels, questions about
//! other processes. Each function is called by compiled code only, with the context of the worker that runs it.
//!
//! Safety, for the whole file: `ctx` is the worker's own context, alive for the call and used by nobody else (a `System` is `&mut` while it
//! expands), and its `program`, `code` and `out` pointers were set by [`Native`](crate::Native) to values that outlive the call. Pointers into
//! states come from `ctx.view`, whose buffers have `PADDING` bytes to spare.

use crate::at_once::Following;
use crate::compile::Code;
use crate::context::{ChannelAt, Context, End, FATAL, PADDING, Purpose, Source, View, reset_scratch, view_like, view_of};
use bytecode::{ChannelLayout, Fault, FaultKind, FieldMask, Mode, Receive, Verified};
use contract::{Action, FaultCode, Written};

/// Answers of [`can_send`] and [`find`] below this are not faults.
pub(crate) const BLOCKED: u32 = 0;
/// There is room, or a message.
pub(crate) const BUFFERED: u32 = 1;
/// The channel is a rendezvous: an offer can be made, or was taken.
pub(crate) const OFFERED: u32 = 2;

/// Copies one piece of native code may keep at once.
pub(crate) const SAVES: usize = 64;

type Ctx = *mut Context;

/// The context behind a pointer.
///
/// # Safety
/// As the file's head says.
unsafe fn context<'c>(ctx: Ctx) -> &'c mut Context {
    // SAFETY: the caller passes the pointer compiled code was given, under the conditions of the file's head.
    unsafe { &mut *ctx }
}

impl Context {
    pub(crate) fn program(&self) -> &'static Verified {
        // SAFETY: the program lives as long as the `Native` that owns this context; references do not leave a call.
        unsafe { &*self.program }
    }

    pub(crate) fn tables(&self) -> &'static crate::compile::Tables {
        // SAFETY: as for the program.
        unsafe { &*self.code }
    }

    #[inline]
    fn out(&mut self) -> &mut contract::Successors {
        // SAFETY: set by `Native` from an exclusive reference for the duration of the expansion.
        unsafe { &mut *self.out }
    }

    /// The copy under work.
    fn dst(&mut self) -> &mut [u8] {
        // SAFETY: `dst` points to at least `dst_len` bytes of a slot or of the probe buffer.
        unsafe { std::slice::from_raw_parts_mut(self.view.dst, self.view.dst_len) }
    }

    /// A fresh copy to write, large enough for the present state.
    pub(crate) fn renew_dst(&mut self) {
        let size = self.view.src_len + PADDING;
        self.view.dst = match self.purpose {
            Purpose::Probe => {
                if self.probe_dst.len() < size {
                    self.probe_dst.resize(size, 0);
                }
                self.probe_dst.as_mut_ptr()
            }
            _ => self.out().slot(size).as_mut_ptr(),
        };
        self.view.dst_len = self.view.src_len;
    }

    /// Makes the copy longer, contents kept; the new bytes are zero.
    fn extend_dst(&mut self, by: usize) {
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
pub(crate) extern "C" fn end(ctx: Ctx, mode: u32, process: u32, len: usize, fault: u32, written: Written) -> *mut u8 {
    // SAFETY: see the file's head.
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
    // SAFETY: see the file's head.
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
pub(crate) extern "C" fn fail(ctx: Ctx, process: u32, carried: u32, fatal: u32) {
    let fault = if carried == 0 { fatal } else { carried };
    // SAFETY: see the file's head.
    let ctx = unsafe { context(ctx) };
    match ctx.purpose {
        Purpose::Probe => ctx.hits += 1,
        Purpose::Direct if ctx.at_once.following == Following::GivenUp => {}
        Purpose::Direct => ctx.commit_failure(fault),
        Purpose::Record => ctx.record(process, FATAL, 0, fault, Written::NOTHING),
    }
}

/// The end of a path with an offer: lets every other process answer. Gives whether one did.
pub(crate) extern "C" fn offer(ctx: Ctx, process: u32, len: usize, fault: u32, written: Written) -> u32 {
    // SAFETY: see the file's head.
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

    /// Runs the code of a process of the present view.
    #[inline]
    pub(crate) fn call(&mut self, process: u32) {
        // SAFETY: `process` is below the view's count, and the tables have an entry for each process.
        let (offset, ty) = unsafe { (*self.view.processes.add(process as usize), *self.view.types.add(process as usize)) };
        // SAFETY: the component lies inside the state, as the source checked when it took the state in.
        let Some(code) = (unsafe { self.tables().code(ty, self.view.src.add(offset as usize)) }) else { return };
        // SAFETY: the code was compiled for this type, location and program, with this signature.
        unsafe { code(self, offset as u64, process) };
    }

    /// Whether some path of a process succeeds in a state (I-ENABLED).
    pub(crate) fn probe(&mut self, state: *const u8, len: usize, process: u32, timeout: u32) -> bool {
        if self.purpose == Purpose::Probe {
            return false;
        }
        let (tables, layout) = (self.tables(), self.program().layout());
        // SAFETY: the caller passes a state it is working on, `len` bytes long.
        let state = unsafe { std::slice::from_raw_parts(state, len) };
        if self.probed.load(layout, tables, state).is_err() || process >= self.probed.process_count {
            return false;
        }
        let view = View { timeout, ..view_of(&mut self.probed) };
        let purpose = std::mem::replace(&mut self.purpose, Purpose::Probe);
        let kept = (self.values, self.offer, self.offer_channel, self.noted, self.kept.take(), self.kept_steps);
        let hits = std::mem::take(&mut self.hits);
        self.visit(view, |ctx| ctx.call(process));
        self.purpose = purpose;
        (self.values, self.offer, self.offer_channel, self.noted, self.kept, self.kept_steps) = kept;
        std::mem::replace(&mut self.hits, hits) > 0
    }
}

/// ENABLED.
pub(crate) extern "C" fn enabled(ctx: Ctx, state: *const u8, len: usize, process: i32) -> u32 {
    // SAFETY: see the file's head.
    let ctx = unsafe { context(ctx) };
    u32::try_from(process).is_ok_and(|p| ctx.probe(state, len, p, 0)) as u32
}

/// Type and location of a process, as `type << 16 | location`; −1 if there is none.
pub(crate) extern "C" fn whereabouts(ctx: Ctx, state: *const u8, count: u32, process: i32) -> i32 {
    // SAFETY: see the file's head.
    let ctx = unsafe { context(ctx) };
    let Ok(number) = u32::try_from(process) else { return -1 };
    if number >= count {
        return -1;
    }
    // SAFETY: below the count; the tables describe the state at `state`.
    let (offset, ty) = unsafe { (*ctx.view.processes.add(number as usize), *ctx.view.types.add(number as usize)) };
    let layout = &ctx.program().layout().processes[ty as usize];
    // SAFETY: the component lies inside the state.
    let component = unsafe { std::slice::from_raw_parts(state.add(offset as usize), layout.size) };
    (ty as i32) << 16 | layout.location(component).0 as i32
}

/// The offset of a process of a type, or −1.
pub(crate) extern "C" fn instance(ctx: Ctx, count: u32, process: i32, ty: u32) -> i64 {
    // SAFETY: see the file's head.
    let ctx = unsafe { context(ctx) };
    let Ok(number) = u32::try_from(process) else { return -1 };
    if number >= count {
        return -1;
    }
    // SAFETY: below the count.
    let (offset, found) = unsafe { (*ctx.view.processes.add(number as usize), *ctx.view.types.add(number as usize)) };
    // The type 255 stands for any.
    if ty != 255 && found as u32 != ty { -1 } else { offset as i64 }
}

/// Where the priority of a process is, or −1.
pub(crate) extern "C" fn priority_at(ctx: Ctx, count: u32, process: i32) -> i64 {
    let offset = instance(ctx, count, process, 255);
    if offset < 0 {
        return -1;
    }
    // SAFETY: see the file's head.
    let ctx = unsafe { context(ctx) };
    // SAFETY: `instance` found the process below the count.
    let ty = unsafe { *ctx.view.types.add(process as usize) };
    ctx.program().layout().processes[ty as usize].priority.map_or(-1, |p| offset + p as i64)
}

/// NP.
pub(crate) extern "C" fn no_progress(ctx: Ctx, state: *const u8, count: u32) -> u32 {
    for process in 0..count {
        let found = whereabouts(ctx, state, count, process as i32);
        // SAFETY: see the file's head.
        let program = unsafe { context(ctx) }.program();
        let ty = bytecode::ProcessId((found >> 16) as u8);
        let address = program.locations().address(ty, bytecode::Location(found as u16));
        if address.is_some_and(|at| program.program().label_kind_at(at).progress) {
            return 0;
        }
    }
    1
}

/// RUN: appends a process with the parameters in `values`; gives its number, or minus a fault code.
pub(crate) extern "C" fn run(ctx: Ctx, ty: u32, args: u32, addr: u32) -> i64 {
    // SAFETY: see the file's head.
    let ctx = unsafe { context(ctx) };
    let fault = |kind| -(Fault { kind, addr: bytecode::Addr(addr) }.code() as i64);
    let number = ctx.view.dst_process_count;
    if number >= 255 {
        return fault(FaultKind::TooManyProcesses);
    }
    let program = ctx.program();
    let layout = &program.layout().processes[ty as usize];
    let at = ctx.view.dst_len;
    ctx.extend_dst(layout.size);
    let template = &ctx.tables().templates[ty as usize];
    let values = ctx.values;
    let component = &mut ctx.dst()[at..];
    component.copy_from_slice(template);
    for (slot, value) in layout.locals.iter().zip(&values[..args as usize]) {
        slot.ty.write(*value, &mut component[slot.offset..]);
    }
    // SAFETY: the tables have 256 entries, and `number` is below 255.
    unsafe {
        *ctx.view.processes.add(number as usize) = at as u32;
        *ctx.view.types.add(number as usize) = ty as u8;
    }
    ctx.view.dst_process_count += 1;
    if let Some(prologue) = ctx.tables().prologues[ty as usize] {
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
pub(crate) extern "C" fn prologue_done(ctx: Ctx, fault: u32) {
    // SAFETY: see the file's head.
    unsafe { context(ctx) }.prologue_fault = fault;
}

/// CHNEW: gives the number of the new channel, or minus a fault code.
pub(crate) extern "C" fn new_channel(ctx: Ctx, ty: u32, addr: u32) -> i64 {
    // SAFETY: see the file's head.
    let ctx = unsafe { context(ctx) };
    let count = ctx.view.dst_channel_count;
    if count >= 255 {
        return -(Fault { kind: FaultKind::TooManyChannels, addr: bytecode::Addr(addr) }.code() as i64);
    }
    let layout = ctx.program().layout();
    let at = ctx.view.dst_len;
    ctx.extend_dst(1 + layout.channel_types[ty as usize].size);
    ctx.dst()[at] = layout.processes.len() as u8 + ty as u8;
    // SAFETY: the table has 256 entries, and `count` is below 255.
    unsafe { *ctx.view.channels.add(count as usize) = ChannelAt { offset: at as u32 + 1, ty } };
    ctx.view.dst_channel_count += 1;
    ctx.view.dst_channel_count as i64
}

/// A channel number's place and layout.
fn channel(ctx: &Context, count: u32, number: i32) -> Option<(ChannelAt, &'static ChannelLayout)> {
    let index = u32::try_from(number).ok()?.checked_sub(1)?;
    if index >= count {
        return None;
    }
    // SAFETY: below the count.
    let at = unsafe { *ctx.view.channels.add(index as usize) };
    Some((at, &ctx.program().layout().channel_types[at.ty as usize]))
}

fn message<'s>(state: *const u8, at: ChannelAt, layout: &ChannelLayout, index: usize) -> &'s [u8] {
    let start = at.offset as usize + layout.messages + index * layout.message_size;
    // SAFETY: a channel has room for `capacity` messages and the callers stay below.
    unsafe { std::slice::from_raw_parts(state.add(start), layout.message_size) }
}

fn length(state: *const u8, at: ChannelAt, layout: &ChannelLayout) -> usize {
    // SAFETY: a channel of a capacity above 0 begins with its length.
    if layout.capacity == 0 { 0 } else { unsafe { *state.add(at.offset as usize) as usize } }
}

/// Checks a claim, and that the channel exists and carries messages of so many fields.
#[allow(clippy::too_many_arguments)]
fn examine(
    ctx: &mut Context,
    state: *const u8,
    count: u32,
    number: i32,
    fields: u32,
    process: u32,
    side: usize,
    addr: u32,
) -> Result<(ChannelAt, &'static ChannelLayout), u32> {
    let fault = |kind| Fault { kind, addr: bytecode::Addr(addr) }.code();
    let (at, layout) = channel(ctx, count, number).ok_or(fault(FaultKind::Channel))?;
    if layout.fields.len() != fields as usize {
        return Err(fault(FaultKind::Message));
    }
    if let Some(claims) = layout.claims {
        // SAFETY: the claims are part of the channel.
        let owner = unsafe { *state.add(at.offset as usize + claims + side) } as u32;
        if owner != 0 && owner != process + 1 {
            ctx.noted = fault(if side == 1 { FaultKind::ExclusiveSend } else { FaultKind::ExclusiveReceive });
        }
    }
    Ok((at, layout))
}

/// Whether a message can be sent: [`BLOCKED`], [`BUFFERED`], [`OFFERED`] or a fault code.
pub(crate) extern "C" fn can_send(ctx: Ctx, state: *const u8, count: u32, number: i32, fields: u32, process: u32, addr: u32) -> u32 {
    // SAFETY: see the file's head.
    let ctx = unsafe { context(ctx) };
    match examine(ctx, state, count, number, fields, process, 1, addr) {
        Err(fault) => fault,
        Ok((_, layout)) if layout.capacity == 0 => OFFERED,
        Ok((at, layout)) if length(state, at, layout) < layout.capacity => BUFFERED,
        Ok(_) => BLOCKED,
    }
}

/// Sends the message in `values` to a channel with room; gives what that wrote.
pub(crate) extern "C" fn send(ctx: Ctx, number: i32, sorted: u32) -> Written {
    // SAFETY: see the file's head.
    let ctx = unsafe { context(ctx) };
    let Some((at, layout)) = channel(ctx, ctx.view.dst_channel_count, number) else { return Written::NOTHING };
    let values = ctx.values;
    let bytes = ctx.dst();
    let held = bytes[at.offset as usize] as usize;
    let start = at.offset as usize + layout.messages;
    let size = layout.message_size;
    let fields = |m: &[u8]| -> Vec<i32> { layout.fields.iter().map(|f| f.ty.read(&m[f.offset..])).collect() };
    let place = if sorted == 0 {
        held
    } else {
        let new: Vec<i32> = layout.fields.iter().zip(&values).map(|(f, v)| f.ty.truncate(*v)).collect();
        (0..held).find(|i| fields(&bytes[start + i * size..]) > new).unwrap_or(held)
    };
    bytes.copy_within(start + place * size..start + held * size, start + (place + 1) * size);
    bytes[at.offset as usize] += 1;
    for (field, value) in layout.fields.iter().zip(&values) {
        field.ty.write(*value, &mut bytes[start + place * size + field.offset..]);
    }
    messages_written(at, start + place * size, start + (held + 1) * size)
}

/// What is written by a change of a channel's length and of the messages between two offsets.
fn messages_written(at: ChannelAt, start: usize, end: usize) -> Written {
    Written::range(at.offset as usize, at.offset as usize + 1).and(Written::range(start, end))
}

/// Makes the message in `values` the pending offer on a channel.
pub(crate) extern "C" fn make_offer(ctx: Ctx, number: i32) {
    // SAFETY: see the file's head.
    let ctx = unsafe { context(ctx) };
    let Some((_, layout)) = channel(ctx, ctx.view.dst_channel_count, number) else { return };
    for (i, field) in layout.fields.iter().enumerate() {
        ctx.offer[i] = field.ty.truncate(ctx.values[i]);
    }
    ctx.offer_channel = number;
}

/// Looks for a message that matches the `values`, which are replaced by its fields: [`BLOCKED`], [`BUFFERED`] (its place is in `place`),
/// [`OFFERED`] or a fault code. `how` is the receive's code; 128 is added for a poll.
#[allow(clippy::too_many_arguments)]
pub(crate) extern "C" fn find(
    ctx: Ctx,
    state: *const u8,
    count: u32,
    number: i32,
    fields: u32,
    mask: u32,
    how: u32,
    process: u32,
    answering: u32,
    addr: u32,
) -> u32 {
    // SAFETY: see the file's head.
    let ctx = unsafe { context(ctx) };
    let poll = how & 128 != 0;
    let Some(how) = Receive::from_code((how & 127) as u8) else { return BLOCKED };
    let mask = FieldMask(mask);
    let noted = ctx.noted;
    let (at, layout) = match examine(ctx, state, count, number, fields, process, 0, addr) {
        Err(fault) => return fault,
        Ok(found) => found,
    };
    if poll {
        ctx.noted = noted;
    }
    let wanted = ctx.values;
    let matches = |get: &dyn Fn(usize) -> i32| {
        let constrained = (0..layout.fields.len()).filter(|i| mask.contains(*i));
        constrained.zip(wanted).all(|(field, value)| get(field) == value)
    };
    if layout.capacity == 0 {
        let offer = ctx.offer;
        if answering == 0 || poll || !how.takes() || ctx.offer_channel != number || !matches(&|i| offer[i]) {
            return BLOCKED;
        }
        ctx.values = offer;
        return OFFERED;
    }
    if answering != 0 && !poll {
        return BLOCKED;
    }
    let held = length(state, at, layout);
    let looked_at = if how.searches() { held } else { held.min(1) };
    for place in 0..looked_at {
        let bytes = message(state, at, layout, place);
        let field = |i: usize| layout.fields[i].ty.read(&bytes[layout.fields[i].offset..]);
        if matches(&field) {
            for i in 0..layout.fields.len() {
                ctx.values[i] = field(i);
            }
            ctx.place = place as u32;
            return BUFFERED;
        }
    }
    BLOCKED
}

/// Takes the message at `place` out of a channel; gives what that wrote.
pub(crate) extern "C" fn take(ctx: Ctx, number: i32, place: u32) -> Written {
    // SAFETY: see the file's head.
    let ctx = unsafe { context(ctx) };
    let Some((at, layout)) = channel(ctx, ctx.view.dst_channel_count, number) else { return Written::NOTHING };
    let bytes = ctx.dst();
    let held = bytes[at.offset as usize] as usize;
    let start = at.offset as usize + layout.messages;
    let size = layout.message_size;
    bytes.copy_within(start + (place as usize + 1) * size..start + held * size, start + place as usize * size);
    bytes[start + (held - 1) * size..start + held * size].fill(0);
    bytes[at.offset as usize] -= 1;
    messages_written(at, start + place as usize * size, start + held * size)
}

/// LEN (0), EMPTY (1), FULL (2) of a channel, or minus a fault code.
pub(crate) extern "C" fn channel_query(ctx: Ctx, state: *const u8, count: u32, number: i32, query: u32, addr: u32) -> i64 {
    // SAFETY: see the file's head.
    let ctx = unsafe { context(ctx) };
    let Some((at, layout)) = channel(ctx, count, number) else {
        return -(Fault { kind: FaultKind::Channel, addr: bytecode::Addr(addr) }.code() as i64);
    };
    let held = length(state, at, layout);
    match query {
        0 => held as i64,
        1 => (held == 0) as i64,
        _ => (layout.capacity > 0 && held == layout.capacity) as i64,
    }
}

/// XR (0) or XS (1): gives 0 or a fault code.
pub(crate) extern "C" fn claim(ctx: Ctx, number: i32, side: u32, process: u32, addr: u32) -> u32 {
    // SAFETY: see the file's head.
    let ctx = unsafe { context(ctx) };
    let Some((at, layout)) = channel(ctx, ctx.view.dst_channel_count, number) else {
        return Fault { kind: FaultKind::Channel, addr: bytecode::Addr(addr) }.code();
    };
    if let Some(claims) = layout.claims {
        let owner = &mut ctx.dst()[at.offset as usize + claims + side as usize];
        if *owner == 0 {
            *owner = process as u8 + 1;
        }
    }
    0
}

/// Keeps the copy as it is at an alternative that follows a write.
pub(crate) extern "C" fn save(ctx: Ctx, slot: u32) {
    // SAFETY: see the file's head.
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

/// Makes the copy again what it was at [`save`]; gives its place.
pub(crate) extern "C" fn restore(ctx: Ctx, slot: u32) -> *mut u8 {
    // SAFETY: see the file's head.
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

/// Whether a deterministic sequence of `steps` steps goes on for ever (S-ENDLESS); asked at each step once it is long. Fails if so.
pub(crate) extern "C" fn endless(ctx: Ctx, process: u32, steps: u32) -> u32 {
    // SAFETY: see the file's head.
    let context = unsafe { context(ctx) };
    if steps <= crate::emit::LONG_SEQUENCE + 1 || context.kept_steps > steps {
        context.kept = None;
    }
    context.kept_steps = steps;
    let returned = context.kept.as_deref().is_some_and(|kept| {
        // SAFETY: as in `dst`.
        kept == unsafe { std::slice::from_raw_parts(context.view.dst, context.view.dst_len) }
    });
    if returned || steps >= 1 << 24 {
        context.kept = None;
        let fault = Fault { kind: FaultKind::Endless, addr: context.start_addr() };
        fail(ctx, process, 0, fault.code());
        return 1;
    }
    if steps.is_power_of_two() || context.kept.is_none() {
        context.kept = Some(context.dst().to_vec());
    }
    0
}

/// The helpers by name, as compiled code imports them.
pub(crate) const SYMBOLS: &[(&str, *const u8)] = &[
    ("end", end as *const u8),
    ("fail", fail as *const u8),
    ("offer", offer as *const u8),
    ("enabled", enabled as *const u8),
    ("whereabouts", whereabouts as *const u8),
    ("instance", instance as *const u8),
    ("priority_at", priority_at as *const u8),
    ("no_progress", no_progress as *const u8),
    ("run", run as *const u8),
    ("prologue_done", prologue_done as *const u8),
    ("new_channel", new_channel as *const u8),
    ("can_send", can_send as *const u8),
    ("send", send as *const u8),
    ("make_offer", make_offer as *const u8),
    ("find", find as *const u8),
    ("take", take as *const u8),
    ("channel_query", channel_query as *const u8),
    ("claim", claim as *const u8),
    ("save", save as *const u8),
    ("restore", restore as *const u8),
    ("endless", endless as *const u8),
];
