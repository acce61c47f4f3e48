//! Short sequences of invisible steps, followed where they begin (S-INVISIBLE of
//! `docs/bytecode.md`).
//!
//! Most such sequences have one or two steps. So when native code ends a path with an invisible
//! step, the code of the next state is called at once, and its successors go to the search in the
//! order of the rules. Sequences that are long or come back to a state are given up here: all
//! successors of the process are taken back, and [`follow`](crate::follow), which handles every
//! case, begins again.

use crate::context::{Context, View, view_of};
use crate::expanded::ExpandedState;

/// The greatest length of a sequence that is followed at once.
const MAX_DEPTH: usize = 8;
/// The largest number of steps followed at once from one state. It is below the number from which
/// the rules ask for more than is done here (S-ENDLESS).
const MAX_STEPS: u32 = 1024;
/// The cost of giving up, as a number of steps that were followed at once.
const PRICE: i32 = 16;
/// The greatest credit that following at once can collect.
const MAX_CREDIT: i32 = 64 * PRICE;

/// Whether sequences are followed at once.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Following {
    /// Not tried: the ends of paths are kept.
    #[default]
    Later,
    AtOnce,
    /// Tried and given up: nothing is recorded until the process is executed again.
    GivenUp,
}

/// A state that the sequence passed through, and the process whose step led there.
#[derive(Clone, Default)]
struct OnTheWay {
    process: u32,
    state: ExpandedState,
}

/// The sequence that is being followed.
#[derive(Default)]
pub(crate) struct AtOnce {
    pub following: Following,
    pub depth: usize,
    /// How many steps were followed from the state asked about.
    steps: u32,
    way: Vec<OnTheWay>,
    /// The gain from following at once so far; below zero it is no longer tried.
    credit: i32,
}

impl Context {
    /// Decides, before the expansion of a state, whether sequences are followed at once.
    #[inline]
    pub(crate) fn begin_at_once(&mut self) {
        let worth_it = !self.uses_priorities && self.at_once.credit >= 0;
        self.at_once.following = if worth_it { Following::AtOnce } else { Following::Later };
        self.at_once.steps = 0;
    }

    /// Says, after a process was executed, whether it must be executed again with the ends of its
    /// paths kept.
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

    /// Continues after an invisible step of `process` from the state in the copy, which is `len`
    /// bytes long; leaves a fresh copy.
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
        // A path that does not change the length does not move the components.
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
        // The continuation may make an offer while another is being answered.
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

    /// Gives up: nothing is recorded until the process is executed again.
    fn give_up(&mut self) {
        self.at_once.following = Following::GivenUp;
        self.unfinished = 1;
        self.cursor.shut();
    }
}
