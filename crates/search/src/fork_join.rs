//! Fork and join for the leader of a search and its helpers: they share one piece of work after the
//! other, without waiting for late helpers.
//!
//! The leader opens the work and begins at once. Helpers that are awake join, and the others are
//! woken. When nothing is left to take, the leader closes the work and waits for the helpers that
//! have joined. A helper that comes later, because the operating system ran another thread, finds
//! the work closed and has missed nothing.

use crate::sync::atomics::{AtomicBool, AtomicU64, AtomicUsize, Condvar, Mutex, Ordering, spin_loop, yield_now};
use std::sync::PoisonError;

/// How often a helper looks for work before it sleeps: for a fraction of a millisecond, because
/// waking a thread takes about as long. The model checker of interleavings needs no more than one
/// look.
const SPINS: u32 = if cfg!(loom) { 1 } else { 8000 };

/// Set in the counter while the work is open; the other bits count the helpers inside.
const OPEN: u64 = 1 << 63;

/// The shared state of a leader and its helpers.
pub(crate) struct ForkJoin {
    door: AtomicU64,
    /// Counts the calls. Helpers wait for it to change.
    calls: AtomicUsize,
    finished: AtomicBool,
    /// A helper has panicked, and its part of the work is lost.
    lost: AtomicBool,
    sleepers: Mutex<usize>,
    wake: Condvar,
}

impl Default for ForkJoin {
    fn default() -> ForkJoin {
        ForkJoin {
            door: AtomicU64::new(0),
            calls: AtomicUsize::new(0),
            finished: AtomicBool::new(false),
            lost: AtomicBool::new(false),
            sleepers: Mutex::new(0),
            wake: Condvar::new(),
        }
    }
}

/// A helper that has joined. The leader waits until this value is dropped, which happens even if
/// the helper panics.
pub(crate) struct Joined<'a>(&'a ForkJoin);

impl Drop for Joined<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lost.store(true, Ordering::Relaxed);
        }
        self.0.door.fetch_sub(1, Ordering::Release);
    }
}

impl ForkJoin {
    /// Opens work that is ready, and wakes sleeping helpers.
    pub fn call(&self) {
        self.door.fetch_or(OPEN, Ordering::Release);
        let sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        self.calls.fetch_add(1, Ordering::Release);
        if *sleepers > 0 {
            self.wake.notify_all();
        }
    }

    /// Closes the work and waits until no helper is inside.
    pub fn close(&self) {
        let mut inside = self.door.fetch_and(!OPEN, Ordering::Acquire) & !OPEN;
        let mut spins = 0;
        while inside != 0 {
            spins += 1;
            if spins < SPINS {
                spin_loop()
            } else {
                yield_now()
            }
            inside = self.door.load(Ordering::Acquire);
        }
    }

    /// Dismisses all helpers.
    pub fn finish(&self) {
        let _guard = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        self.finished.store(true, Ordering::Release);
        self.wake.notify_all();
    }

    /// Whether a helper has panicked, and its part of the work is lost.
    pub fn has_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Waits for a call after number `seen` and joins it; `None` if there will be none.
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
            spin_loop();
        }
        if !ready(*seen) {
            let mut sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sync::lock;

    /// Each call is for one more round of taking numbers. No helper takes a number after the work
    /// was closed, and the leader waits for all helpers.
    #[test]
    fn the_leader_waits_for_all_who_joined_and_for_no_one_else() {
        const ROUNDS: usize = 2000;
        let fork_join = ForkJoin::default();
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
                    while let Some(_joined) = fork_join.join(&mut seen) {
                        inside.fetch_add(1, Ordering::Relaxed);
                        work();
                        inside.fetch_sub(1, Ordering::Relaxed);
                    }
                });
            }
            for round in 1..=ROUNDS {
                left.store(50, Ordering::Relaxed);
                fork_join.call();
                work();
                fork_join.close();
                assert_eq!(inside.load(Ordering::Relaxed), 0);
                assert_eq!(taken.load(Ordering::Relaxed), 50 * round as u64);
                // From time to time the helpers must be woken.
                while round % 500 == 0 && *lock(&fork_join.sleepers) < 3 {
                    std::thread::yield_now();
                }
            }
            fork_join.finish();
        });
        assert!(!fork_join.has_lost());
    }

    #[test]
    fn a_helper_that_panics_does_not_hold_the_leader_up() {
        let fork_join = ForkJoin::default();
        std::thread::scope(|scope| {
            let helper = scope.spawn(|| {
                let _joined = fork_join.join(&mut 0);
                std::panic::resume_unwind(Box::new(()));
            });
            fork_join.call();
            assert!(helper.join().is_err());
            fork_join.close();
        });
        assert!(fork_join.has_lost());
    }
}

/// Small histories in every interleaving that Rust's memory model allows. Run them with
/// `RUSTFLAGS="--cfg loom" cargo test --release -p search --lib loom_tests`.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// Explores interleavings with at most this many preemptions.
    fn check(preemptions: usize, history: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(preemptions);
        builder.max_branches = 10_000;
        builder.check(history);
    }

    /// The work is to take numbers, with operations that order nothing themselves. So only
    /// [`ForkJoin`] makes the work of a helper visible to the leader.
    #[derive(Clone)]
    struct Shared {
        fork_join: Arc<ForkJoin>,
        left: Arc<AtomicU64>,
        taken: Arc<[AtomicU64; 2]>,
    }

    impl Shared {
        fn new() -> Shared {
            let taken = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
            Shared { fork_join: Arc::new(ForkJoin::default()), left: Arc::new(AtomicU64::new(0)), taken }
        }

        fn work(&self, me: usize) {
            while self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
                // Only this worker writes here, so a lost update would be a lost number.
                let before = self.taken[me].load(Ordering::Relaxed);
                self.taken[me].store(before + 1, Ordering::Relaxed);
            }
        }

        fn help(&self, me: usize) {
            let mut seen = 0;
            while let Some(_joined) = self.fork_join.join(&mut seen) {
                self.work(me);
            }
        }
    }

    /// After `close` the leader sees everything that helpers did, and a helper that sleeps is
    /// woken: a history in which it is not would never end.
    #[test]
    fn nothing_is_lost_and_nobody_sleeps_for_ever() {
        check(3, || {
            let shared = Shared::new();
            let helper = shared.clone();
            let handle = thread::spawn(move || helper.help(1));
            for round in 1..=2 {
                shared.left.store(1, Ordering::Relaxed);
                shared.fork_join.call();
                shared.work(0);
                shared.fork_join.close();
                let taken: u64 = shared.taken.iter().map(|taken| taken.load(Ordering::Relaxed)).sum();
                assert_eq!(taken, round, "the leader sees what was taken");
            }
            shared.fork_join.finish();
            handle.join().expect("the helper ends");
            assert!(!shared.fork_join.has_lost());
        });
    }

    /// A helper that comes late finds the work closed and takes nothing.
    #[test]
    fn two_helpers_are_dismissed() {
        check(2, || {
            let shared = Shared::new();
            let handles: Vec<_> = [0, 1]
                .map(|me| {
                    let helper = shared.clone();
                    thread::spawn(move || helper.help(me))
                })
                .into();
            shared.left.store(1, Ordering::Relaxed);
            shared.fork_join.call();
            shared.fork_join.close();
            let taken: u64 = shared.taken.iter().map(|taken| taken.load(Ordering::Relaxed)).sum();
            let left = shared.left.load(Ordering::Relaxed);
            assert_eq!(taken + left, 1, "what is not taken is left");
            shared.fork_join.finish();
            handles.into_iter().for_each(|handle| handle.join().expect("the helper ends"));
            let after: u64 = shared.taken.iter().map(|taken| taken.load(Ordering::Relaxed)).sum();
            assert_eq!(after, taken, "nobody takes anything after the work was closed");
        });
    }
}
