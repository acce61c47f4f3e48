//! The memory account of a store: what it may use, and what it has.
//!
//! Memory is taken before it is touched and given back when it is unmapped, so the number a store reports is the number it really
//! uses, and a budget is kept rather than hoped for.

use crate::sync::{AtomicU64, Ordering};
use contract::StoreFull;

#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    used: AtomicU64,
}

impl Budget {
    pub fn new(limit: u64) -> Self {
        Budget { limit, used: AtomicU64::new(0) }
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes `bytes`, or says what would have been needed.
    pub fn take(&self, bytes: u64) -> Result<(), StoreFull> {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        let needed = before.saturating_add(bytes);
        if needed > self.limit {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            return Err(StoreFull { needed, budget: self.limit });
        }
        Ok(())
    }

    pub fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}
