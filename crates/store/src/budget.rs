//! The memory account of a store: its budget and its use.
//!
//! Memory is accounted before it is touched and released when it is unmapped, so a store reports
//! the memory it really uses and keeps its budget. A part of a store may have an account of its own
//! within the account of the whole. Memory for other uses (the queues of a search, the program
//! itself) can be reserved.

use crate::sync::{Arc, AtomicU64, Ordering};
use contract::StoreFull;

#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    used: AtomicU64,
    most: AtomicU64,
    others: AtomicU64,
    whole: Option<Arc<Budget>>,
}

impl Budget {
    pub fn new(limit: u64) -> Self {
        Budget { limit, used: AtomicU64::new(0), most: AtomicU64::new(0), others: AtomicU64::new(0), whole: None }
    }

    /// An account within another.
    pub fn part_of(whole: Arc<Budget>, limit: u64) -> Self {
        Budget { whole: Some(whole.clone()), ..Budget::new(limit.min(whole.limit)) }
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// The most bytes that were ever used.
    pub fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }

    /// Reserves `bytes` of the limit for other uses from now on.
    pub fn leave_room(&self, bytes: u64) {
        self.others.store(bytes, Ordering::Relaxed);
    }

    /// The bytes that may be used: the limit without the reserved bytes; for a part, in proportion.
    fn allowed(&self) -> u64 {
        match &self.whole {
            None => self.limit.saturating_sub(self.others.load(Ordering::Relaxed)),
            Some(whole) => (u128::from(self.limit) * u128::from(whole.allowed()) / u128::from(whole.limit.max(1))) as u64,
        }
    }

    /// Takes `bytes`, or returns an error that says how many would have been needed.
    pub fn take(&self, bytes: u64) -> Result<(), StoreFull> {
        if let Some(whole) = &self.whole {
            whole.take(bytes)?;
        }
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        let needed = before.saturating_add(bytes);
        let allowed = self.allowed();
        if needed > allowed {
            self.give_back(bytes);
            return Err(StoreFull { needed, budget: allowed });
        }
        self.most.fetch_max(needed, Ordering::Relaxed);
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
        assert_eq!((part.most(), whole.most()), (70, 100));
    }

    #[test]
    fn others_get_their_share() {
        let whole = Arc::new(Budget::new(100));
        let part = Budget::part_of(whole.clone(), 70);
        whole.leave_room(50);
        assert_eq!(part.take(40), Err(StoreFull { needed: 40, budget: 35 }));
        assert_eq!(part.take(35), Ok(()));
        assert!(whole.take(20).is_err() && whole.take(15).is_ok());
        whole.leave_room(0);
        assert_eq!(part.take(35), Ok(()));
        assert_eq!(Budget::new(u64::MAX).take(u64::MAX), Ok(()));
    }
}
