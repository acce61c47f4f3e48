//! The atomic operations of the stores. Under `--cfg loom` they are those of the model checker for
//! Rust's memory model, so the code that is checked is exactly the code that is shipped.

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

/// Locks a mutex even if another thread panicked while holding it: the guarded data is valid at any
/// moment.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> impl std::ops::DerefMut<Target = T> + '_ {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Waits for `done`: spins for a while, then yields.
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
