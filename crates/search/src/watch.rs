//! A stopwatch for the parts of a worker's work. It is off unless the task asks for it.
//!
//! The parts are those by which Gerber's model checker for LF was measured: states are selected,
//! their actions executed, the results inserted and pushed, and states are left again ("A model
//! checker for the LF system", section 5.2.2). A search names the part that it begins. The time
//! until the next call belongs to that part. If the watch is off, a call costs one comparison.

use crate::task::Task;
use contract::{Profile, Share};
use std::time::Instant;

/// A part of the work, as the place where it is counted.
pub(crate) type Part = fn(&mut Profile) -> &mut Share;

pub(crate) const ACTIONS: Part = |profile| &mut profile.actions;
pub(crate) const INSERT: Part = |profile| &mut profile.insert;
pub(crate) const PUSH: Part = |profile| &mut profile.push;
pub(crate) const SELECT: Part = |profile| &mut profile.select;
pub(crate) const BACKTRACK: Part = |profile| &mut profile.backtrack;

pub(crate) struct Watch(Option<Box<Running>>);

struct Running {
    profile: Profile,
    part: Part,
    since: Instant,
}

impl Watch {
    pub fn new(task: &Task<'_>) -> Watch {
        Watch(task.profile.then(|| Box::new(Running { profile: Profile::default(), part: SELECT, since: Instant::now() })))
    }

    /// Begins a part of the work.
    #[inline]
    pub fn turn(&mut self, part: Part) {
        if let Some(running) = &mut self.0 {
            running.turn(part);
        }
    }

    /// Adds `count` states or steps to a part.
    #[inline]
    pub fn count(&mut self, part: Part, count: usize) {
        if let Some(running) = &mut self.0 {
            part(&mut running.profile).count += count as u64;
        }
    }

    /// Stops the watch and returns what it has measured.
    pub fn stop(&mut self) -> Option<Profile> {
        self.turn(SELECT);
        self.0.take().map(|running| running.profile)
    }
}

impl Running {
    #[cold]
    fn turn(&mut self, part: Part) {
        let now = Instant::now();
        (self.part)(&mut self.profile).time += now - self.since;
        (self.part, self.since) = (part, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn time_belongs_to_the_part_that_was_said_last() {
        let mut watch = Watch::new(&Task { profile: true, ..Task::default() });
        watch.turn(INSERT);
        std::thread::sleep(Duration::from_millis(2));
        watch.turn(PUSH);
        watch.count(PUSH, 3);
        let profile = watch.stop().expect("it was on");
        assert!(profile.insert.time >= Duration::from_millis(2) && profile.push.time < profile.insert.time);
        assert_eq!((profile.push.count, profile.insert.count), (3, 0));
        assert!(Watch::new(&Task::default()).stop().is_none());
    }
}
