//! The memory of a process, compared with its limit.
//!
//! Workers account for their states. The rest of the process, such as native code, buffers of
//! connections, and freed memory that the allocator keeps, is only known by measuring the process.

use crate::shared::Shared;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Measures the memory of the process.
pub type Resident = Arc<dyn Fn() -> Option<u64> + Send + Sync>;

/// The interval between measurements.
const MEASURE_EVERY: Duration = Duration::from_millis(20);

/// The memory limit of a process, as one of its workers sees it.
pub(crate) struct Gauge {
    limit: Option<u64>,
    resident: Option<Resident>,
    measured: Option<Instant>,
    /// The memory that no worker accounts for: the greater one of the last two measurements, and
    /// the last one.
    outside: u64,
    last_outside: u64,
}

impl Gauge {
    pub fn new(limit: Option<u64>, resident: Option<Resident>) -> Gauge {
        Gauge { limit, resident, measured: None, outside: 0, last_outside: 0 }
    }

    /// The limit of the process.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// The memory that no worker of the process accounts for.
    pub fn outside(&mut self, shared: &Shared) -> u64 {
        if let Some(resident) = &self.resident
            && self.measured.is_none_or(|measured| measured.elapsed() >= MEASURE_EVERY)
        {
            self.measured = Some(Instant::now());
            // A buffer that exists only for a moment must not count for ever, and its absence for a
            // moment must not hide it.
            let outside = resident().unwrap_or(0).saturating_sub(shared.progress().bytes);
            self.outside = outside.max(std::mem::replace(&mut self.last_outside, outside));
        }
        self.outside
    }

    /// Whether the process has reached its limit.
    pub fn is_full(&mut self, shared: &Shared) -> bool {
        let Some(limit) = self.limit else { return false };
        shared.progress().bytes + self.outside(shared) > limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn the_whole_process_counts() {
        let shared = Shared::new(1);
        shared.published[0].bytes.store(600, Ordering::Relaxed);
        assert!(!Gauge::new(None, None).is_full(&shared));
        assert!(!Gauge::new(Some(600), None).is_full(&shared));
        assert!(Gauge::new(Some(599), None).is_full(&shared));
        let resident: Resident = Arc::new(|| Some(1000));
        assert!(!Gauge::new(Some(1000), Some(Arc::clone(&resident))).is_full(&shared));
        assert!(Gauge::new(Some(999), Some(resident)).is_full(&shared));
    }
}
