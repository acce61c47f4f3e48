//! A pass over many blocks that workers share. No worker leaves before the pass is complete.
//!
//! Moving a table is such a pass: every worker that needs the table takes part. A pass can fail, if
//! memory for the new table runs out or an entry does not fit there. Then all workers learn this,
//! and because the old table is unchanged, another pass can begin.

use crate::sync::{AtomicUsize, Ordering, wait_until};

/// The progress of a shared pass.
#[derive(Debug, Default)]
pub(crate) struct SharedPass {
    claimed: AtomicUsize,
    done: AtomicUsize,
    failed: AtomicUsize,
}

impl SharedPass {
    pub fn new() -> SharedPass {
        SharedPass { claimed: AtomicUsize::new(0), done: AtomicUsize::new(0), failed: AtomicUsize::new(0) }
    }

    /// Works on some of the blocks. Returns when all are done (`true`) or the pass has failed
    /// (`false`), here or in another worker.
    pub fn share(&self, blocks: usize, mut work: impl FnMut(usize) -> bool) -> bool {
        loop {
            // This cannot overflow: after the last block, each worker comes here once.
            let block = self.claimed.fetch_add(1, Ordering::Relaxed);
            if block >= blocks || self.has_failed() {
                break;
            }
            if !work(block) {
                self.fail();
                return false;
            }
            self.done.fetch_add(1, Ordering::Release);
        }
        wait_until(|| self.done.load(Ordering::Acquire) >= blocks || self.has_failed());
        !self.has_failed()
    }

    /// Makes the pass fail, even after its end.
    pub fn fail(&self) {
        self.failed.store(1, Ordering::Release);
    }

    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire) != 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn every_block_is_done_once_and_nobody_leaves_early() {
        let (pass, done) = (SharedPass::new(), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    assert!(pass.share(1000, |block| {
                        done.lock().unwrap().push(block);
                        true
                    }));
                    assert_eq!(done.lock().unwrap().len(), 1000);
                });
            }
        });
        let mut done = done.into_inner().unwrap();
        done.sort();
        assert!(done.into_iter().eq(0..1000));
    }

    #[test]
    fn a_failure_reaches_everyone() {
        let pass = SharedPass::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert!(!pass.share(1000, |block| block != 500)));
            }
        });
        assert!(pass.has_failed());
    }
}
