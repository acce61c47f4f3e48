//! Helpers for channels that are known only at run time: queries, sending, receiving.

use super::{Ctx, context};
use crate::context::{Context, View};
use crate::expanded::ChannelAt;
use bytecode::{ChannelLayout, Fault, FaultKind, FieldMask, Receive, Verified};

/// A result of [`can_send`] and [`find`]: the operation is blocked.
pub(crate) const BLOCKED: u32 = 0;
/// The channel has room for a message, or a message was found.
pub(crate) const BUFFERED: u32 = 1;
/// The channel is a rendezvous: an offer can be made, or was taken.
pub(crate) const OFFERED: u32 = 2;

/// CHNEW: gives the number of the new channel, or minus a fault code.
pub(super) extern "C" fn new_channel(ctx: Ctx, ty: u32, addr: u32) -> i64 {
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    let count = ctx.view.dst_channel_count;
    if count >= 255 {
        return -(Fault { kind: FaultKind::TooManyChannels, addr: bytecode::Addr(addr) }.code() as i64);
    }
    let layout = ctx.program.layout();
    let (size, shape) = (1 + layout.channel_types[ty as usize].size, layout.processes.len() as u8 + ty as u8);
    let at = ctx.view.dst_len;
    ctx.extend_dst(size);
    ctx.dst()[at] = shape;
    // SAFETY: the table has 256 entries, and `count` is below 255.
    unsafe { *ctx.view.channels.add(count as usize) = ChannelAt { offset: at as u32 + 1, ty } };
    ctx.view.dst_channel_count += 1;
    ctx.view.dst_channel_count as i64
}

/// The position of the channel with a number.
fn channel(view: &View, count: u32, number: i32) -> Option<ChannelAt> {
    let index = u32::try_from(number).ok()?.checked_sub(1)?;
    // SAFETY: below the count.
    (index < count).then(|| unsafe { *view.channels.add(index as usize) })
}

/// The layout of a channel.
fn layout_of(program: &Verified, at: ChannelAt) -> &ChannelLayout {
    &program.layout().channel_types[at.ty as usize]
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

/// Checks that the channel exists.
fn existing(ctx: &Context, count: u32, number: i32, addr: u32) -> Result<ChannelAt, u32> {
    channel(&ctx.view, count, number).ok_or(Fault { kind: FaultKind::Channel, addr: bytecode::Addr(addr) }.code())
}

/// Records a fault if another process has claimed this side of a channel.
fn check_claim(ctx: &mut Context, state: *const u8, at: ChannelAt, process: u32, side: usize, addr: u32) {
    if let Some(claims) = layout_of(&ctx.program, at).claims {
        // SAFETY: the claims are part of the channel.
        let owner = unsafe { *state.add(at.offset as usize + claims + side) } as u32;
        if owner != 0 && owner != process + 1 {
            let kind = if side == 1 { FaultKind::ExclusiveSend } else { FaultKind::ExclusiveReceive };
            ctx.noted = Fault { kind, addr: bytecode::Addr(addr) }.code();
        }
    }
}

/// Added to the code of a receive for [`find`]: the operation is a poll.
pub(crate) const POLL: u32 = 1 << 7;
/// Added to the number of fields for [`can_send`]: every send is blocked here.
pub(crate) const NO_SEND: u32 = 1 << 8;
/// The same: every offer is blocked here.
pub(crate) const NO_OFFER: u32 = 1 << 9;

/// Whether a message can be sent: [`BLOCKED`], [`BUFFERED`], [`OFFERED`] or a fault code.
pub(super) extern "C" fn can_send(ctx: Ctx, state: *const u8, count: u32, number: i32, fields: u32, process: u32, addr: u32) -> u32 {
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    let at = match existing(ctx, count, number, addr) {
        Err(fault) => return fault,
        Ok(found) => found,
    };
    let layout = layout_of(&ctx.program, at);
    let answer = match layout.capacity {
        _ if fields & NO_SEND != 0 => BLOCKED,
        0 if fields & NO_OFFER != 0 => BLOCKED,
        0 => OFFERED,
        capacity if length(state, at, layout) < capacity => BUFFERED,
        _ => BLOCKED,
    };
    if answer != BLOCKED && layout.fields.len() != (fields & !(NO_SEND | NO_OFFER)) as usize {
        return Fault { kind: FaultKind::Message, addr: bytecode::Addr(addr) }.code();
    }
    check_claim(ctx, state, at, process, 1, addr);
    answer
}

/// Sends the message in `values` to a channel with room.
pub(super) extern "C" fn send(ctx: Ctx, number: i32, sorted: u32) {
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    let Some(at) = channel(&ctx.view, ctx.view.dst_channel_count, number) else { return };
    let (layout, values, bytes) = (layout_of(&ctx.program, at), ctx.values, ctx.view.dst());
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
}

/// Makes the message in `values` the pending offer on a channel.
pub(super) extern "C" fn make_offer(ctx: Ctx, number: i32) {
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    let Some(at) = channel(&ctx.view, ctx.view.dst_channel_count, number) else { return };
    for (i, field) in layout_of(&ctx.program, at).fields.iter().enumerate() {
        ctx.offer[i] = field.ty.truncate(ctx.values[i]);
    }
    ctx.offer_channel = number;
}

/// Looks for a message that matches the `values`, which are replaced by its fields: [`BLOCKED`],
/// [`BUFFERED`] (its place is in `place`), [`OFFERED`] or a fault code. `how` is the receive's
/// code, with [`POLL`] added for a poll. While an offer is answered, a receive from a channel that
/// does not exist is blocked (F-FATAL).
#[allow(clippy::too_many_arguments)]
pub(super) extern "C" fn find(
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
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    let poll = how & POLL != 0;
    let Some(how) = Receive::from_code((how & !POLL) as u8) else { return BLOCKED };
    let mask = FieldMask(mask);
    let at = match existing(ctx, count, number, addr) {
        Err(_) if answering != 0 && !poll => return BLOCKED,
        Err(fault) => return fault,
        Ok(found) => found,
    };
    let layout = layout_of(&ctx.program, at);
    let wanted = ctx.values;
    let (fields, carried) = (fields as usize, layout.fields.len());
    let matches = |get: &dyn Fn(usize) -> i32| {
        let constrained = (0..carried).filter(|i| mask.contains(*i));
        constrained.zip(wanted).all(|(field, value)| get(field) == value)
    };
    let (mut is_there, mut answer) = (false, BLOCKED);
    if layout.capacity == 0 {
        let offer = ctx.offer;
        is_there = answering != 0 && !poll && how.takes() && ctx.offer_channel == number;
        if is_there && matches(&|i| offer[i]) {
            ctx.values = offer;
            answer = OFFERED;
        }
    } else if answering == 0 || poll {
        let held = length(state, at, layout);
        is_there = held > 0;
        let looked_at = if how.searches() { held } else { held.min(1) };
        for place in 0..looked_at {
            let bytes = message(state, at, layout, place);
            let field = |i: usize| layout.fields[i].ty.read(&bytes[layout.fields[i].offset..]);
            if matches(&field) {
                for i in 0..carried {
                    ctx.values[i] = field(i);
                }
                ctx.place = place as u32;
                answer = BUFFERED;
                break;
            }
        }
    }
    let too_many = is_there && fields > carried;
    let too_few = answer != BLOCKED && !poll && how.takes() && fields < carried;
    if too_many || too_few {
        return Fault { kind: FaultKind::Message, addr: bytecode::Addr(addr) }.code();
    }
    if !poll {
        check_claim(ctx, state, at, process, 0, addr);
    }
    answer
}

/// Takes the message at `place` out of a channel.
pub(super) extern "C" fn take(ctx: Ctx, number: i32, place: u32) {
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    let Some(at) = channel(&ctx.view, ctx.view.dst_channel_count, number) else { return };
    let (layout, bytes) = (layout_of(&ctx.program, at), ctx.view.dst());
    let held = bytes[at.offset as usize] as usize;
    let start = at.offset as usize + layout.messages;
    let size = layout.message_size;
    bytes.copy_within(start + (place as usize + 1) * size..start + held * size, start + place as usize * size);
    bytes[start + (held - 1) * size..start + held * size].fill(0);
    bytes[at.offset as usize] -= 1;
}

/// LEN (0), EMPTY (1), FULL (2) of a channel, or minus a fault code.
pub(super) extern "C" fn channel_query(ctx: Ctx, state: *const u8, count: u32, number: i32, query: u32, addr: u32) -> i64 {
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    let Some(at) = channel(&ctx.view, count, number) else {
        return -(Fault { kind: FaultKind::Channel, addr: bytecode::Addr(addr) }.code() as i64);
    };
    let layout = layout_of(&ctx.program, at);
    let held = length(state, at, layout);
    match query {
        0 => held as i64,
        1 => (held == 0) as i64,
        _ => (layout.capacity > 0 && held == layout.capacity) as i64,
    }
}

/// XR (0) or XS (1): gives 0 or a fault code.
pub(super) extern "C" fn claim(ctx: Ctx, number: i32, side: u32, process: u32, addr: u32) -> u32 {
    // SAFETY: see the module's head.
    let ctx = unsafe { context(ctx) };
    let Some(at) = channel(&ctx.view, ctx.view.dst_channel_count, number) else {
        return Fault { kind: FaultKind::Channel, addr: bytecode::Addr(addr) }.code();
    };
    if let Some(claims) = layout_of(&ctx.program, at).claims {
        let owner = &mut ctx.dst()[at.offset as usize + claims + side as usize];
        if *owner == 0 {
            *owner = process as u8 + 1;
        }
    }
    0
}
