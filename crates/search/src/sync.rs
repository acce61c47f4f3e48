//! Locks that survive a panic, and the operations of the parts that are checked in every
//! interleaving.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex even if another thread panicked while holding it: the data guarded in this crate
/// is valid at any moment.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Atomic operations. Under `--cfg loom` they are those of the model checker for Rust's memory
/// model, so the code that is checked is the code that is shipped.
pub(crate) mod atomics {
    #[cfg(loom)]
    pub(crate) use loom::{
        hint::spin_loop,
        sync::{
            Condvar, Mutex,
            atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        },
        thread::yield_now,
    };

    #[cfg(not(loom))]
    pub(crate) use std::{
        hint::spin_loop,
        sync::{
            Condvar, Mutex,
            atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        },
        thread::yield_now,
    };
}
