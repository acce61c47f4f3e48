//! The memory account of a store: what it may use, and what it has.
//!
//! Memory is taken before it is touched and given back when it is unmapped, so the number a store reports is the number it really
//! uses, and a budget is kept rather than hoped for. A part of a store may have an account of its own within that of the whole.

use crate::sync::{Arc, AtomicU64, Ordering};
use contract::StoreFull;

#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    used: AtomicU64,
    whole: Option<Arc<Budget>>,
}

impl Budget {
    pub fn new(limit: u64) -> Self {
        Budget { limit, used: AtomicU64::new(0), whole: None }
    }

    /// An account within another.
    pub fn part_of(whole: Arc<Budget>, limit: u64) -> Self {
        Budget { limit: limit.min(whole.limit), used: AtomicU64::new(0), whole: Some(whole) }
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes `bytes`, or says what would have been needed.
    pub fn take(&self, bytes: u64) -> Result<(), StoreFull> {
        if let Some(whole) = &self.whole {
            whole.take(bytes)?;
        }
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        let needed = before.saturating_add(bytes);
        if needed > self.limit {
            self.give_back(bytes);
            return Err(StoreFull { needed, budget: self.limit });
        }
        Ok(())
    }

    pub fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.give_back(bytes);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn parts_count_towards_the_whole() {
        let whole = Arc::new(Budget::new(100));
        let part = Budget::part_of(whole.clone(), 70);
        assert!(part.take(60).is_ok());
        assert_eq!(part.take(20), Err(StoreFull { needed: 80, budget: 70 }));
        assert!(whole.take(30).is_ok());
        assert_eq!(part.take(10), Ok(()));
        assert_eq!(part.take(0), Ok(()));
        assert!(whole.take(1).is_err());
        part.give_back(70);
        assert_eq!((part.used(), whole.used()), (0, 30));
    }
}
