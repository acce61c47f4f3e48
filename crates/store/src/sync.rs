//! The atomic operations the stores are built of; under `--cfg loom` those of the model checker for Rust's memory model, so that the
//! very code that ships is what gets checked.

#[cfg(loom)]
pub(crate) use loom::{
    hint::spin_loop,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread::yield_now,
};

#[cfg(not(loom))]
pub(crate) use std::{
    hint::spin_loop,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread::yield_now,
};

/// Locks, and does not care whether someone panicked while holding the lock: what the mutexes here guard is valid at any moment.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> impl std::ops::DerefMut<Target = T> + '_ {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Waits for `done` without hurry: spins a little, then lets others run.
pub(crate) fn wait_until(done: impl Fn() -> bool) {
    let mut tries = 0u32;
    while !done() {
        tries += 1;
        if tries < 64 && cfg!(not(loom)) {
            spin_loop();
        } else {
            yield_now();
        }
    }
}
