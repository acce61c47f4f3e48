//! Permits: they limit what threads take from outside before the program has taken it in.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// A number of permits that threads share.
#[derive(Clone)]
pub struct Permits(Arc<(Mutex<usize>, Condvar)>);

impl Permits {
    pub fn new(count: usize) -> Permits {
        Permits(Arc::new((Mutex::new(count), Condvar::new())))
    }

    /// Takes a permit; waits until there is one.
    pub fn take(&self) {
        let free = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.0.1.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
    }

    /// Gives a permit back.
    pub fn give(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.1.notify_one();
    }

    /// Takes a permit that is given back when the last copy of it is gone.
    pub fn hold(&self) -> Arc<Held> {
        self.take();
        Arc::new(Held(self.clone()))
    }
}

/// A permit that was taken.
pub struct Held(Permits);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.give();
    }
}
