//! What happens between native functions: sequences of invisible steps (S-INVISIBLE, S-ENDLESS of `docs/bytecode.md`).
//!
//! Native code keeps the ends of paths; here they are followed in order, with a level for each continuation, exactly as the reference
//! interpreter does. The states passed through are kept in one growing buffer.

use crate::context::{Context, End, FATAL, Purpose, View, view_like, view_of};
use bytecode::{Fault, FaultKind, Mode};
use std::collections::HashSet;

/// Most continuations followed from one first path (S-ENDLESS).
const MAX_FOLLOWED: usize = 1 << 20;
/// How many continuations a transition follows before it follows each state once only (S-ENDLESS).
const FOLLOW_ONCE_AFTER: usize = 4096;
/// Up to this many levels the way is searched from one end to the other.
const SHORT_WAY: usize = 16;

/// A continuation of a sequence: which kept ends are its own, and how they came out.
pub(crate) struct Level {
    /// The next end to follow, and the last.
    next: usize,
    until: usize,
    /// The end that led here.
    entered: End,
    fruitful: bool,
    cut: bool,
}

/// The states of a sequence passed through so far.
#[derive(Default)]
struct Followed {
    /// Those on the way from the beginning to here, once that is long.
    on_way: Option<HashSet<(u32, Vec<u8>)>>,
    /// Every state followed; kept only in the second try of a sequence that turned out to be long.
    all: Option<HashSet<(u32, Vec<u8>)>>,
    count: usize,
}

/// Whether a sequence continues in a state.
enum Entered {
    Yes,
    /// It was there before.
    Cut,
    /// It has continued too many times.
    TooMany,
}

/// A sequence so long that each state must be followed once only: it is begun again, with all states kept.
struct Long;

impl Context {
    fn end_state(&self, end: &End) -> &[u8] {
        &self.end_bytes[end.start..end.start + end.len]
    }

    /// Follows everything native code kept, in order, and forgets it.
    pub fn follow_kept(&mut self) {
        let mut first = 0;
        let kept = self.ends.len();
        while first < kept {
            let end = self.ends[first];
            self.follow(end);
            first += 1;
        }
        self.ends.clear();
        self.end_bytes.clear();
        self.unfinished = 0;
    }

    /// Hands a kept end to the search.
    fn show(&mut self, end: &End) {
        if end.mode == FATAL {
            self.commit_failure(end.fault);
            return;
        }
        let holder = (end.mode == Mode::Atomic as u8).then_some(end.process);
        let (start, len) = (end.start, end.len);
        self.settle();
        // SAFETY: `out` is the search's buffer, exclusively ours during the expansion.
        let slot = unsafe { &mut *self.out }.slot(len);
        slot.copy_from_slice(&self.end_bytes[start..start + len]);
        self.view.dst = slot.as_mut_ptr();
        self.commit(len, holder, end.fault, end.written);
    }

    /// Everything one first path leads to.
    fn follow(&mut self, first: End) {
        if first.mode != Mode::Invisible as u8 {
            self.show(&first);
            return;
        }
        let mark = self.out().mark();
        let before = (self.choice, self.ends.len(), self.end_bytes.len());
        if self.try_follow(first, Followed::default()).is_err() {
            self.out().rollback(mark);
            self.choice = before.0;
            self.ends.truncate(before.1);
            self.end_bytes.truncate(before.2);
            let _ = self.try_follow(first, Followed { all: Some(HashSet::new()), ..Followed::default() });
        }
        // A sequence that was given up leaves its ends behind.
        self.ends.truncate(before.1);
        self.end_bytes.truncate(before.2);
    }

    fn try_follow(&mut self, first: End, followed: Followed) -> Result<(), Long> {
        let mut levels = std::mem::take(&mut self.levels);
        levels.clear();
        let result = self.follow_levels(first, followed, &mut levels);
        self.levels = levels;
        result
    }

    fn follow_levels(&mut self, first: End, mut followed: Followed, levels: &mut Vec<Level>) -> Result<(), Long> {
        self.enter(first, levels, &mut followed)?;
        loop {
            let Some(level) = levels.last_mut() else { return Ok(()) };
            if level.next < level.until {
                let end = self.ends[level.next];
                level.next += 1;
                if end.mode != Mode::Invisible as u8 {
                    level.fruitful = true;
                    self.show(&end);
                    continue;
                }
                match self.enter(end, levels, &mut followed)? {
                    Entered::Yes => {}
                    Entered::Cut => {
                        if let Some(level) = levels.last_mut() {
                            level.cut = true;
                        }
                    }
                    Entered::TooMany => {
                        self.endless();
                        return Ok(());
                    }
                }
                continue;
            }
            let Some(done) = levels.pop() else { return Ok(()) };
            if let Some(on_way) = &mut followed.on_way {
                on_way.remove(&(done.entered.process, self.end_state(&done.entered).to_vec()));
            }
            let blocked = !done.fruitful && !done.cut;
            if blocked {
                let visible = End { mode: Mode::Normal as u8, ..done.entered };
                self.show(&visible);
            }
            // The ends of this level are the youngest: give their room back.
            self.forget_behind(&done.entered, levels.last());
            match levels.last_mut() {
                Some(above) => {
                    above.fruitful |= done.fruitful || blocked;
                    above.cut |= done.cut;
                }
                None if done.cut && !done.fruitful => self.endless(),
                None => {}
            }
        }
    }

    /// Truncates the kept ends to those some level still needs.
    fn forget_behind(&mut self, entered: &End, above: Option<&Level>) {
        let until = match above {
            Some(level) => level.until,
            None => return,
        };
        self.ends.truncate(until);
        let bytes = self.ends.last().map_or(0, |e| e.start + e.len).max(entered.start + entered.len);
        self.end_bytes.truncate(bytes);
    }

    fn endless(&mut self) {
        let fault = Fault { kind: FaultKind::Endless, addr: self.start_addr() };
        self.commit_failure(fault.code());
    }

    /// Continues a sequence in the state of `end`, if the rules let it.
    fn enter(&mut self, end: End, levels: &mut Vec<Level>, followed: &mut Followed) -> Result<Entered, Long> {
        let on_way = if levels.len() <= SHORT_WAY {
            let state = self.end_state(&end);
            levels.iter().any(|l| l.entered.process == end.process && self.end_state(&l.entered) == state)
        } else {
            // Short ways are not entered into the set: what is missing is made up for here.
            let all = || levels.iter().map(|l| (l.entered.process, self.end_state(&l.entered).to_vec())).collect();
            let on_way = match &mut followed.on_way {
                Some(on_way) if on_way.len() >= levels.len() => on_way,
                incomplete => incomplete.insert(all()),
            };
            on_way.contains(&(end.process, self.end_state(&end).to_vec()))
        };
        let key = || (end.process, self.end_state(&end).to_vec());
        if on_way {
            return Ok(Entered::Cut);
        }
        let long = followed.count > FOLLOW_ONCE_AFTER;
        match &mut followed.all {
            Some(all) => {
                if long && all.contains(&key()) {
                    return Ok(Entered::Cut);
                }
                all.insert(key());
            }
            None if long => return Err(Long),
            None => {}
        }
        if followed.count >= MAX_FOLLOWED {
            return Ok(Entered::TooMany);
        }
        followed.count += 1;
        if levels.len() > SHORT_WAY
            && let Some(on_way) = &mut followed.on_way
        {
            on_way.insert((end.process, self.end_state(&end).to_vec()));
        }
        let next = self.ends.len();
        if let Some(view) = self.look_inside(&end)
            && end.process < view.process_count
            && !self.outranked(|c| &mut c.inside, end.process, false)
        {
            self.view = View { fault_in: end.fault, written: end.written, ..view };
            self.purpose = Purpose::Record;
            self.renew_dst();
            self.call(end.process);
        }
        levels.push(Level { next, until: self.ends.len(), entered: end, fruitful: false, cut: false });
        Ok(Entered::Yes)
    }

    /// The view of a state inside a sequence.
    fn look_inside(&mut self, end: &End) -> Option<View> {
        let state = &self.end_bytes[end.start..end.start + end.len];
        // Who compares priorities needs the tables of this very state.
        if end.like_asked && !self.uses_priorities {
            self.inside.take_in(state);
            return Some(view_like(&self.inside, &view_of(&mut self.asked)));
        }
        let (tables, program) = (self.tables(), self.program());
        self.inside.load(program, tables, &self.end_bytes[end.start..end.start + end.len]).ok()?;
        Some(view_of(&mut self.inside))
    }
}
