//! How the leader of a search and its helpers meet: for one piece of shared work after the other, without waiting for anyone who is late.
//!
//! The leader calls and begins at once; helpers that are awake join, others are woken. When there is nothing left to take, the leader
//! closes the door and waits for those who have joined. A helper that comes later, because the system ran something else, finds the door
//! closed and has missed nothing.

use crate::sync::lock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// How often a helper looks for work before it goes to sleep: for a fraction of a millisecond, since being woken takes a good part of one.
const SPINS: u32 = 8000;

/// Set in the door while it is open; the rest counts who is inside.
const OPEN: u64 = 1 << 63;

/// The meeting of a leader and its helpers.
#[derive(Default)]
pub(crate) struct Team {
    door: AtomicU64,
    /// Counts the calls. Helpers wait for it to move.
    calls: AtomicUsize,
    finished: AtomicBool,
    /// A helper has panicked, and nobody knows what it had in hand.
    lost: AtomicBool,
    sleepers: Mutex<usize>,
    wake: Condvar,
}

/// A helper's presence. The leader waits for its end, which comes even if the helper panics.
pub(crate) struct Joined<'a>(&'a Team);

impl Drop for Joined<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lost.store(true, Ordering::Relaxed);
        }
        self.0.door.fetch_sub(1, Ordering::Release);
    }
}

impl Team {
    /// Opens the door for work that is ready, and wakes who sleeps.
    pub fn call(&self) {
        self.door.fetch_or(OPEN, Ordering::Release);
        let sleepers = lock(&self.sleepers);
        self.calls.fetch_add(1, Ordering::Release);
        if *sleepers > 0 {
            self.wake.notify_all();
        }
    }

    /// Closes the door and waits until nobody is inside.
    pub fn close(&self) {
        let mut inside = self.door.fetch_and(!OPEN, Ordering::Acquire) & !OPEN;
        let mut spins = 0;
        while inside != 0 {
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop()
            } else {
                std::thread::yield_now()
            }
            inside = self.door.load(Ordering::Acquire);
        }
    }

    /// Sends all helpers home.
    pub fn finish(&self) {
        let _guard = lock(&self.sleepers);
        self.finished.store(true, Ordering::Release);
        self.wake.notify_all();
    }

    /// Whether a helper was lost, and with it what it had in hand.
    pub fn has_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Waits for a call after number `seen` and joins; nothing if there will be none.
    pub fn join(&self, seen: &mut usize) -> Option<Joined<'_>> {
        while self.await_call(seen) {
            let enter = |door: u64| (door & OPEN != 0).then(|| door + 1);
            if self.door.fetch_update(Ordering::Acquire, Ordering::Relaxed, enter).is_ok() {
                return Some(Joined(self));
            }
        }
        None
    }

    fn await_call(&self, seen: &mut usize) -> bool {
        let ready = |seen: usize| self.calls.load(Ordering::Acquire) != seen || self.finished.load(Ordering::Acquire);
        for _ in 0..SPINS {
            if ready(*seen) {
                break;
            }
            std::hint::spin_loop();
        }
        if !ready(*seen) {
            let mut sleepers = lock(&self.sleepers);
            *sleepers += 1;
            while !ready(*seen) {
                sleepers = self.wake.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
            }
            *sleepers -= 1;
        }
        let calls = self.calls.load(Ordering::Acquire);
        std::mem::replace(seen, calls) != calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each call is for one more round of taking numbers; nobody takes after the door closed, and nobody is left behind.
    #[test]
    fn the_leader_waits_for_all_who_joined_and_for_no_one_else() {
        const ROUNDS: usize = 2000;
        let team = Team::default();
        let (left, taken, inside) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let work = || {
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
                taken.fetch_add(1, Ordering::Relaxed);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut seen = 0;
                    while let Some(_joined) = team.join(&mut seen) {
                        inside.fetch_add(1, Ordering::Relaxed);
                        work();
                        inside.fetch_sub(1, Ordering::Relaxed);
                    }
                });
            }
            for round in 1..=ROUNDS {
                left.store(50, Ordering::Relaxed);
                team.call();
                work();
                team.close();
                assert_eq!(inside.load(Ordering::Relaxed), 0);
                assert_eq!(taken.load(Ordering::Relaxed), 50 * round as u64);
                // Now and then they have to be woken.
                while round % 500 == 0 && *lock(&team.sleepers) < 3 {
                    std::thread::yield_now();
                }
            }
            team.finish();
        });
        assert!(!team.has_lost());
    }

    #[test]
    fn a_helper_that_panics_does_not_hold_the_leader_up() {
        let team = Team::default();
        std::thread::scope(|scope| {
            let helper = scope.spawn(|| {
                let _joined = team.join(&mut 0);
                std::panic::resume_unwind(Box::new(()));
            });
            team.call();
            assert!(helper.join().is_err());
            team.close();
        });
        assert!(team.has_lost());
    }
}
