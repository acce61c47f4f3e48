//! How a step that takes too long is abandoned: the caller gives a condition, and the system
//! evaluates it.
//!
//! A step of a system may consist of millions of statements, and it is not known beforehand whether
//! it ends. Limits and requests to stop must take effect inside it. A system therefore counts its
//! work inside a step with an [`Effort`], which evaluates the [`Enough`] condition from time to
//! time. An abandoned step has no result, and the buffer records this
//! ([`Successors::cut_short`](crate::Successors::cut_short)).

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

/// The units of work between two evaluations of the condition. An interpreter takes some
/// microseconds for them.
const ASK_EVERY: u64 = 256;

/// The condition under which a running step is abandoned. It is given the bytes of memory that the
/// step holds. The default condition is never true.
#[derive(Clone, Default)]
pub struct Enough(Option<Arc<dyn Fn(u64) -> bool + Send + Sync>>);

impl Enough {
    /// The condition `answer`. It is evaluated many times a second, from any thread.
    pub fn when(answer: impl Fn(u64) -> bool + Send + Sync + 'static) -> Enough {
        Enough(Some(Arc::new(answer)))
    }

    /// Whether a step that holds `bytes` bytes of memory must be abandoned.
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
    /// Counts the work of steps that are abandoned when `enough` is true.
    pub fn new(enough: Enough) -> Effort {
        Effort { enough, ..Effort::default() }
    }

    /// Begins a new step. The state of the step before is forgotten.
    #[inline]
    pub fn begin(&self) {
        self.over.set(false);
        self.held.set(0);
    }

    /// Records how many bytes of memory the running step holds.
    #[inline]
    pub fn hold(&self, bytes: u64) {
        self.held.set(bytes);
    }

    /// Adds to the work of the step. One unit is about one statement, or 64 bytes copied. Returns
    /// whether the step must be abandoned; once it must, the answer stays the same.
    #[inline]
    pub fn spend(&self, work: u64) -> bool {
        self.work.set(self.work.get() + work);
        if self.work.get() >= ASK_EVERY { self.ask() } else { self.over.get() }
    }

    /// Whether an earlier evaluation has said that the step must be abandoned.
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
