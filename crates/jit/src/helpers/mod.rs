//! Functions that native code calls for everything that is too large or too rare to be inline: ends
//! of paths, creation, searching in channels, questions about other processes. Only compiled code
//! calls them, with the context of the worker that runs it.
//!
//! Safety, for the whole module: `ctx` is the worker's own context, which lives during the call and
//! has no other user (a `System` is `&mut` while it expands), and its `out` pointer was set by
//! [`Native`](crate::Native) to a buffer that outlives the call. Pointers into states come from
//! `ctx.view`, whose buffers have `PADDING` bytes to spare.

mod channels;
mod copies;
mod cursor;
mod ends;
mod offers;
mod processes;

pub(crate) use channels::{BUFFERED, NO_OFFER, NO_SEND, OFFERED, POLL};
pub(crate) use cursor::Cursor;
pub(crate) use processes::run;

use crate::context::Context;
use channels::{can_send, channel_query, claim, find, make_offer, new_channel, send, take};
use copies::{endless, restore, save};
use cranelift_codegen::ir::types::{self, I32, I64};
use ends::{end, fail};
use offers::{has_answer, offer};
use processes::{enabled, no_progress, priority_at, prologue_done};

/// Copies one piece of native code may keep at once.
pub(crate) const SAVES: usize = 64;

type Ctx = *mut Context;

/// The context behind a pointer.
///
/// # Safety
/// As the module's head says.
unsafe fn context<'c>(ctx: Ctx) -> &'c mut Context {
    // SAFETY: the caller passes the pointer compiled code was given, under the conditions of the
    // module's head.
    unsafe { &mut *ctx }
}

/// A helper as compiled code imports it.
pub(crate) struct Helper {
    pub name: &'static str,
    pub address: *const u8,
    pub params: &'static [types::Type],
    pub result: Option<types::Type>,
}

const fn helper(name: &'static str, address: *const u8, params: &'static [types::Type], result: Option<types::Type>) -> Helper {
    Helper { name, address, params, result }
}

/// All of them, each with the types of its definition.
pub(crate) const HELPERS: &[Helper] = &[
    helper("untranslated", crate::tables::untranslated as *const u8, &[I64, I64, I32], None),
    helper("end", end as *const u8, &[I64, I32, I32, I32, I64, I32], None),
    helper("fail", fail as *const u8, &[I64, I32, I32, I32, I32], None),
    helper("has_answer", has_answer as *const u8, &[I64], Some(I32)),
    helper("offer", offer as *const u8, &[I64, I32, I32, I32, I64], Some(I32)),
    helper("enabled", enabled as *const u8, &[I64, I64, I64, I32, I32], Some(I32)),
    helper("priority_at", priority_at as *const u8, &[I64, I32, I32], Some(I64)),
    helper("no_progress", no_progress as *const u8, &[I64, I64, I32], Some(I32)),
    helper("run", run as *const u8, &[I64, I32, I32, I32], Some(I64)),
    helper("prologue_done", prologue_done as *const u8, &[I64, I32], None),
    helper("new_channel", new_channel as *const u8, &[I64, I32, I32], Some(I64)),
    helper("can_send", can_send as *const u8, &[I64, I64, I32, I32, I32, I32, I32], Some(I32)),
    helper("send", send as *const u8, &[I64, I32, I32], None),
    helper("make_offer", make_offer as *const u8, &[I64, I32], None),
    helper("find", find as *const u8, &[I64, I64, I32, I32, I32, I32, I32, I32, I32, I32], Some(I32)),
    helper("take", take as *const u8, &[I64, I32, I32], None),
    helper("channel_query", channel_query as *const u8, &[I64, I64, I32, I32, I32, I32], Some(I64)),
    helper("claim", claim as *const u8, &[I64, I32, I32, I32, I32], Some(I32)),
    helper("save", save as *const u8, &[I64, I32], None),
    helper("restore", restore as *const u8, &[I64, I32], Some(I64)),
    helper("endless", endless as *const u8, &[I64, I32, I32, I32], Some(I32)),
];
