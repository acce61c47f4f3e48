//! Short sequences of invisible steps, followed where they begin (S-INVISIBLE of
//! `docs/bytecode.md`).
//!
//! Most such sequences are a step or two long. So when native code ends a path with an invisible
//! step, the code of the state reached is called there and then, and what it gives goes to the
//! search in the order the rules demand. Sequences that are long or come back to where they were
//! are not tried here: all that the process has given is taken back, and [`follow`](crate::follow)
//! begins again, which can do everything.

use crate::context::{Context, View, view_of};
use crate::expanded::ExpandedState;

/// Longest sequence followed at once.
const MAX_DEPTH: usize = 8;
/// Most steps followed at once from one state; fewer than the rules allow before they demand more
/// than this way can do (S-ENDLESS).
const MAX_STEPS: u32 = 1024;
/// How many steps followed at once outweigh having given up.
const PRICE: i32 = 16;
/// What following at once can save up for later.
const MAX_CREDIT: i32 = 64 * PRICE;

/// How it goes with following at once.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Following {
    /// Not tried: the ends of paths are kept.
    #[default]
    Later,
    AtOnce,
    /// Tried and given up; nothing counts until the process is begun again.
    GivenUp,
}

/// A state passed through, and whose step led there.
#[derive(Clone, Default)]
struct OnTheWay {
    process: u32,
    state: ExpandedState,
}

/// The sequence under way.
#[derive(Default)]
pub(crate) struct AtOnce {
    pub following: Following,
    pub depth: usize,
    /// How many steps were followed from the state asked about.
    steps: u32,
    way: Vec<OnTheWay>,
    /// What following at once was worth so far; below zero it is not tried any more.
    credit: i32,
}

impl Context {
    /// Before the expansion of a state: whether sequences are followed at once.
    #[inline]
    pub(crate) fn begin_at_once(&mut self) {
        let worth_it = !self.uses_priorities && self.at_once.credit >= 0;
        self.at_once.following = if worth_it { Following::AtOnce } else { Following::Later };
        self.at_once.steps = 0;
    }

    /// After a process was run: whether it must be run again, keeping the ends of its paths.
    #[inline]
    pub(crate) fn gave_up(&mut self) -> bool {
        if self.at_once.following != Following::GivenUp {
            return false;
        }
        self.at_once.following = Following::Later;
        self.at_once.credit -= PRICE;
        self.unfinished = 0;
        true
    }

    /// Goes on after an invisible step of `process` to the state in the copy, `len` bytes long;
    /// leaves a fresh copy.
    pub(crate) fn go_on(&mut self, process: u32, len: usize, fault: u32, step: u32) {
        // SAFETY: the copy holds the state that just ended.
        let state = unsafe { std::slice::from_raw_parts(self.view.dst, len) };
        let depth = self.at_once.depth;
        let AtOnce { way, steps, credit, .. } = &mut self.at_once;
        *steps += 1;
        *credit = (*credit + 1).min(MAX_CREDIT);
        let returned = way[..depth.min(way.len())].iter().any(|p| p.process == process && p.state.bytes[..p.state.len] == *state);
        if depth >= MAX_DEPTH || *steps > MAX_STEPS || returned {
            self.give_up();
            return;
        }
        if way.len() == depth {
            way.push(OnTheWay::default());
        }
        let len_before = self.view.src_len;
        let passed = &mut self.at_once.way[depth];
        passed.process = process;
        // A path that leaves the length alone leaves the components where they are.
        let view = if len == len_before {
            passed.state.take_in(state);
            Ok(passed.state.bytes.as_ptr())
        } else if passed.state.load(&self.program, &self.tables, state).is_ok() {
            Err(view_of(&mut passed.state))
        } else {
            self.give_up();
            return;
        };
        let before = self.emitted();
        // Going on may make an offer while another is being answered.
        let pending = (self.offering > 0).then_some((self.offer_channel, self.offer));
        self.at_once.depth += 1;
        let go_on = |ctx: &mut Context| {
            if process < ctx.view.process_count {
                ctx.call(process);
            }
        };
        match view {
            Ok(state) => self.visit_alike(state, fault, step, go_on),
            Err(view) => self.visit(View { fault_in: fault, step, ..view }, go_on),
        }
        self.at_once.depth -= 1;
        if let Some(pending) = pending {
            (self.offer_channel, self.offer) = pending;
        }
        if self.emitted() == before && self.at_once.following == Following::AtOnce {
            // The process is blocked: the state reached is the outcome.
            self.settle();
            // SAFETY: the search's buffer, exclusively ours during the expansion.
            let slot = unsafe { &mut *self.out }.slot(len);
            slot.copy_from_slice(&self.at_once.way[depth].state.bytes[..len]);
            self.view.dst = slot.as_mut_ptr();
            self.commit(len, None, fault, step);
        }
        self.renew_dst();
    }

    /// Nothing counts any more until the process is begun again.
    fn give_up(&mut self) {
        self.at_once.following = Following::GivenUp;
        self.unfinished = 1;
        self.cursor.shut();
    }
}
