//! Follows sequences of invisible steps between native functions (S-INVISIBLE, S-ENDLESS of
//! `docs/bytecode.md`).
//!
//! Native code keeps the ends of paths; here they are followed in order, exactly as the reference
//! interpreter does.

use crate::context::{Context, End, FATAL, Purpose, View, view_like, view_of};
use bytecode::{Fault, FaultKind, Mode};
use vm::{FOLLOW_ONCE_AFTER, InnerStates};

/// A state of a sequence: its kept ends, and which of them are left to follow.
pub(crate) struct Level {
    /// The index of the first of its ends and their states.
    first: usize,
    bytes: usize,
    /// The next end to follow, and the last.
    next: usize,
    until: usize,
    /// How many states the sequence has passed since the level before, including this one.
    passed: usize,
}

impl Context {
    fn end_state(&self, end: &End) -> &[u8] {
        &self.end_bytes[end.start..end.start + end.len]
    }

    /// Follows all ends that native code kept, in order, and removes them.
    pub fn follow_kept(&mut self) {
        let mut first = 0;
        let kept = self.ends.len();
        while first < kept && !self.effort.is_over() {
            let end = self.ends[first];
            self.follow(end);
            first += 1;
        }
        self.ends.clear();
        self.end_bytes.clear();
        self.unfinished = 0;
    }

    /// Passes a kept end to the search.
    fn show(&mut self, end: &End) {
        if end.mode == FATAL {
            self.commit_failure(end.fault, end.step);
            return;
        }
        let holder = (end.mode == Mode::Atomic as u8).then_some(end.process);
        let (start, len) = (end.start, end.len);
        self.settle();
        // SAFETY: `out` is the search's buffer, exclusively ours during the expansion.
        let slot = unsafe { &mut *self.out }.slot(len);
        slot.copy_from_slice(&self.end_bytes[start..start + len]);
        self.view.dst = slot.as_mut_ptr();
        self.commit(len, holder, end.fault, end.step);
    }

    /// Everything one first path leads to.
    fn follow(&mut self, first: End) {
        if first.mode != Mode::Invisible as u8 {
            self.show(&first);
            return;
        }
        let before = (self.ends.len(), self.end_bytes.len());
        let mut levels = std::mem::take(&mut self.levels);
        let mut passed = std::mem::take(&mut self.passed);
        self.follow_levels(first, &mut levels, &mut passed);
        levels.clear();
        passed.clear();
        (self.levels, self.passed) = (levels, passed);
        // A sequence that was given up has left its ends.
        self.ends.truncate(before.0);
        self.end_bytes.truncate(before.1);
    }

    fn follow_levels(&mut self, first: End, levels: &mut Vec<Level>, passed: &mut InnerStates) {
        let (mut fruitful, mut cut) = (false, false);
        let mut end = first;
        loop {
            self.effort.hold(passed.bytes() + self.held());
            if self.effort.spend(1 + end.len as u64 / 64) {
                return;
            }
            if end.mode != Mode::Invisible as u8 {
                fruitful = true;
                self.show(&end);
            } else if !passed.enter(end.process, self.end_state(&end), FOLLOW_ONCE_AFTER) {
                cut = true;
            } else {
                let level = Level { first: self.ends.len(), bytes: self.end_bytes.len(), next: self.ends.len(), until: 0, passed: 1 };
                self.go_inside(&end);
                // Each end leads to an outcome or a fault, or is cut. So only a state without ends
                // is blocked.
                if self.ends.len() == level.first {
                    fruitful = true;
                    passed.leave(1);
                    self.show(&End { mode: Mode::Normal as u8, ..end });
                } else {
                    if self.ends.len() - level.first > 1 {
                        passed.choose(end.process, self.end_state(&end));
                    }
                    self.push_level(level, levels);
                }
            }
            if self.code_is_missing {
                return;
            }
            end = loop {
                let Some(level) = levels.last_mut() else {
                    if cut && !fruitful {
                        self.endless(first.step);
                    }
                    return;
                };
                if level.next < level.until {
                    level.next += 1;
                    break self.ends[level.next - 1];
                }
                passed.leave(level.passed);
                self.ends.truncate(level.first);
                self.end_bytes.truncate(level.bytes);
                levels.pop();
            };
        }
    }

    /// Puts a level with the youngest ends on the stack. It replaces a level of which no end is
    /// left to follow, so a sequence without alternatives needs one level, however long it is.
    fn push_level(&mut self, mut level: Level, levels: &mut Vec<Level>) {
        if let Some(done) = levels.pop_if(|above| above.next == above.until) {
            self.ends.drain(done.first..level.first);
            self.end_bytes.drain(done.bytes..level.bytes);
            self.ends[done.first..].iter_mut().for_each(|end| end.start -= level.bytes - done.bytes);
            level = Level { passed: done.passed + level.passed, next: done.first, ..done };
        }
        levels.push(Level { until: self.ends.len(), ..level });
    }

    /// The memory of the kept ends and of the search's buffer.
    fn held(&self) -> u64 {
        // SAFETY: the search's buffer, exclusively ours during the expansion.
        let out = unsafe { &*self.out }.bytes();
        (out + self.end_bytes.capacity() + self.ends.capacity() * size_of::<End>()) as u64
    }

    fn endless(&mut self, step: u32) {
        let fault = Fault { kind: FaultKind::Endless, addr: self.start_addr() };
        self.commit_failure(fault.code(), step);
    }

    /// Keeps the ends of the paths from the state of `end`.
    fn go_inside(&mut self, end: &End) {
        if let Some(view) = self.look_inside(end)
            && end.process < view.process_count
            && !self.outranked(|c| &mut c.inside, end.process, false)
        {
            self.view = View { fault_in: end.fault, step: end.step, ..view };
            self.purpose = Purpose::Record;
            self.renew_dst();
            self.call(end.process);
        }
    }

    /// The view of a state inside a sequence.
    fn look_inside(&mut self, end: &End) -> Option<View> {
        let state = &self.end_bytes[end.start..end.start + end.len];
        // A comparison of priorities needs the tables of this state.
        if end.like_asked && !self.uses_priorities {
            self.inside.take_in(state);
            return Some(view_like(&self.inside, &view_of(&mut self.asked)));
        }
        self.inside.load(&self.program, &self.tables, &self.end_bytes[end.start..end.start + end.len]).ok()?;
        Some(view_of(&mut self.inside))
    }
}
