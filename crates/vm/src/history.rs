//! The events along a path, as a linked list whose beginning is shared by all paths that have it in
//! common.
//!
//! A sequence of invisible steps may be millions of steps long and have an outcome at each of them.
//! If every path had a list of its own, recording would take quadratic time. Therefore an event
//! refers to the one before it, a copy of a history is a new reference to its last event, and only
//! a history that is read is written out. The length is limited too: of a very long history the
//! middle is dropped.

use crate::log::{Event, Log};
use std::rc::Rc;

/// How many of the first events are kept. Of the rest, at least as many are kept from the end, and
/// at most twice as many.
const KEPT: u32 = 1 << 14;

/// The events of a path, in order. Cheap to copy.
#[derive(Clone, Default)]
pub struct History {
    first: Part,
    /// Later events, in parts of which the last two are kept.
    earlier: Part,
    latest: Part,
    omitted: Omitted,
}

/// How many events were dropped between the first events and the last ones.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Omitted {
    /// Completed steps.
    pub steps: u64,
    /// Prints.
    pub prints: u64,
    /// Values cut to their type.
    pub cuts: u64,
}

/// Some events in a row, the last one first.
#[derive(Clone, Default)]
struct Part {
    last: Links,
    length: u32,
    /// How many of them are prints and cuts; the others are steps.
    prints: u32,
    cuts: u32,
}

#[derive(Clone, Default)]
struct Links(Option<Rc<Link>>);

struct Link {
    event: Event,
    before: Links,
}

impl Drop for Links {
    /// Links are dropped in a loop: dropping a long chain recursively would overflow the stack.
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(mut link) = next.and_then(Rc::into_inner) {
            next = link.before.0.take();
        }
    }
}

impl Part {
    fn push(&mut self, event: Event) {
        self.length += 1;
        self.prints += u32::from(matches!(event, Event::Print { .. }));
        self.cuts += u32::from(matches!(event, Event::Cut { .. }));
        let before = std::mem::take(&mut self.last);
        self.last = Links(Some(Rc::new(Link { event, before })));
    }

    fn events(&self) -> Vec<&Event> {
        let mut events = Vec::with_capacity(self.length as usize);
        let mut next = &self.last;
        while let Some(link) = &next.0 {
            events.push(&link.event);
            next = &link.before;
        }
        events.reverse();
        events
    }
}

impl History {
    /// The events before the dropped ones; all events if none were dropped.
    pub fn beginning(&self) -> Vec<&Event> {
        self.first.events()
    }

    /// The number of events that were dropped after the first ones.
    pub fn omitted(&self) -> Omitted {
        self.omitted
    }

    /// The events after the dropped ones.
    pub fn ending(&self) -> Vec<&Event> {
        let mut events = self.earlier.events();
        events.extend(self.latest.events());
        events
    }

    /// All events that are kept.
    pub fn events(&self) -> Vec<&Event> {
        let mut events = self.beginning();
        events.extend(self.ending());
        events
    }
}

impl Log for History {
    const IS_READ: bool = true;

    fn event(&mut self, event: impl FnOnce() -> Event) {
        if self.first.length < KEPT {
            return self.first.push(event());
        }
        if self.latest.length == KEPT {
            let lost = std::mem::replace(&mut self.earlier, std::mem::take(&mut self.latest));
            self.omitted.steps += u64::from(lost.length - lost.prints - lost.cuts);
            self.omitted.prints += u64::from(lost.prints);
            self.omitted.cuts += u64::from(lost.cuts);
        }
        self.latest.push(event());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytecode::Addr;

    fn history(events: u32) -> History {
        let mut history = History::default();
        (0..events).for_each(|n| history.event(|| Event::Step { process: 0, step: Addr(n) }));
        history
    }

    fn numbers(events: Vec<&Event>) -> Vec<u32> {
        events.into_iter().filter_map(|event| if let Event::Step { step, .. } = event { Some(step.0) } else { None }).collect()
    }

    #[test]
    fn the_middle_is_given_up_and_nothing_else() {
        let kept = KEPT;
        for total in [0, 1, kept, kept + 1, 3 * kept, 3 * kept + 1, 4 * kept, 10 * kept + 7] {
            let history = history(total);
            let (beginning, ending) = (numbers(history.beginning()), numbers(history.ending()));
            let omitted = history.omitted().steps as u32;
            assert!(beginning.iter().copied().eq(0..total.min(kept)));
            assert!(ending.iter().copied().eq(beginning.len() as u32 + omitted..total), "{total}");
            assert_eq!(omitted > 0, total > 3 * kept, "{total}");
            assert!(omitted == 0 || (kept..=2 * kept).contains(&(ending.len() as u32)), "{total}");
        }
    }

    #[test]
    fn copies_go_their_own_ways() {
        let mut one = history(3);
        let mut other = one.clone();
        one.event(|| Event::Step { process: 0, step: Addr(10) });
        other.event(|| Event::Step { process: 0, step: Addr(20) });
        assert_eq!(numbers(one.events()), [0, 1, 2, 10]);
        drop(one);
        assert_eq!(numbers(other.events()), [0, 1, 2, 20]);
    }

    #[test]
    fn a_long_list_is_given_back_without_recursion() {
        let mut part = Part::default();
        (0..1_000_000).for_each(|n| part.push(Event::Step { process: 0, step: Addr(n) }));
        drop(part);
    }
}
