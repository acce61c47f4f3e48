//! When a step takes too long: how whoever waits for it says so, and how a system hears it.
//!
//! A step of a system may consist of millions of statements, and nobody knows beforehand whether it ends. Limits and requests to stop must reach
//! into it. So a system counts its work inside a step with an [`Effort`], which asks the [`Enough`] it was given now and then. A step that is
//! given up has no result; the buffer says so ([`Successors::cut_short`](crate::Successors::cut_short)).

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

/// Units of work between two questions. An interpreter takes some microseconds for them.
const ASK_EVERY: u64 = 256;

/// Says whether a step under way, which holds so many bytes of memory, is to be given up. Without an answer of its own it never is.
#[derive(Clone, Default)]
pub struct Enough(Option<Arc<dyn Fn(u64) -> bool + Send + Sync>>);

impl Enough {
    /// Enough is when `answer` says so; asked many times a second, from any thread.
    pub fn when(answer: impl Fn(u64) -> bool + Send + Sync + 'static) -> Enough {
        Enough(Some(Arc::new(answer)))
    }

    /// Whether a step that holds so many bytes is to be given up.
    pub fn is_reached(&self, bytes: u64) -> bool {
        self.0.as_ref().is_some_and(|answer| answer(bytes))
    }
}

impl fmt::Debug for Enough {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Enough").field(&self.0.is_some()).finish()
    }
}

/// Counts the work of one worker inside steps.
#[derive(Clone, Default, Debug)]
pub struct Effort {
    enough: Enough,
    work: Cell<u64>,
    held: Cell<u64>,
    over: Cell<bool>,
}

impl Effort {
    /// Of a step that is given up when it is enough.
    pub fn new(enough: Enough) -> Effort {
        Effort { enough, ..Effort::default() }
    }

    /// Before a step: whatever became of the one before.
    #[inline]
    pub fn begin(&self) {
        self.over.set(false);
        self.held.set(0);
    }

    /// The step under way holds so many bytes of memory.
    #[inline]
    pub fn hold(&self, bytes: u64) {
        self.held.set(bytes);
    }

    /// So much more work was done, about a statement or 64 bytes copied each. Says whether the step is to be given up; once it is, it stays so.
    #[inline]
    pub fn spend(&self, work: u64) -> bool {
        self.work.set(self.work.get() + work);
        if self.work.get() >= ASK_EVERY { self.ask() } else { self.over.get() }
    }

    /// Whether the step is to be given up, as far as was asked.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.over.get()
    }

    #[cold]
    fn ask(&self) -> bool {
        self.work.set(0);
        if !self.over.get() {
            self.over.set(self.enough.is_reached(self.held.get()));
        }
        self.over.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn it_asks_now_and_then_and_remembers_the_answer() {
        let asked = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&asked);
        let effort = Effort::new(Enough::when(move |bytes| {
            counter.fetch_add(1, Ordering::Relaxed);
            bytes > 100
        }));
        (0..10 * ASK_EVERY).for_each(|_| assert!(!effort.spend(1)));
        assert_eq!(asked.load(Ordering::Relaxed), 10);
        effort.hold(101);
        assert!(!effort.is_over());
        assert!(effort.spend(ASK_EVERY) && effort.spend(1) && effort.is_over());
        effort.begin();
        assert!(!effort.is_over() && !effort.spend(ASK_EVERY));
        assert!(!Effort::default().spend(u64::MAX / 2));
    }
}
