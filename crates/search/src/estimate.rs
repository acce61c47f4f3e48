//! An estimate of the remaining states of a breadth-first search, if one is possible.
//!
//! In nearly all models the levels grow, then shrink. While they grow, there is no estimate. Once a
//! few levels in a row were each smaller than the one before, the rest is summed up as if levels
//! went on shrinking at the slowest of the recent rates. If the levels grow again, there is no
//! estimate until they shrink again.

/// The number of levels in a row that must shrink before there is an estimate.
const SHRINKING: usize = 3;

/// The sizes of the latest levels.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    latest: Vec<u64>,
}

impl Levels {
    /// Announces a level with `size` states that is about to be expanded. Returns an estimate of
    /// the number of states in all later levels.
    pub fn next(&mut self, size: u64) -> Option<u64> {
        if self.latest.len() > SHRINKING {
            self.latest.remove(0);
        }
        self.latest.push(size);
        if self.latest.len() <= SHRINKING {
            return None;
        }
        let rates = self.latest.windows(2).map(|pair| pair[1] as f64 / (pair[0] as f64).max(1.0));
        let slowest = rates.fold(0.0, f64::max);
        (slowest < 1.0).then(|| (size as f64 * slowest / (1.0 - slowest)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_while_levels_grow() {
        let mut levels = Levels::default();
        for size in [1, 3, 9, 20, 18, 16, 17, 12, 10] {
            assert_eq!(levels.next(size), None, "{size}");
        }
        // 17, 12, 10, 8: the slowest rate is 10 to 12.
        assert_eq!(levels.next(8), Some(40));
        assert_eq!(levels.next(9), None);
    }

    #[test]
    fn a_model_that_ends_evenly_is_estimated_well() {
        let mut levels = Levels::default();
        let sizes: Vec<u64> = (0..20).map(|level| 1 << (20 - level)).collect();
        for (level, &size) in sizes.iter().enumerate() {
            let estimate = levels.next(size);
            if level >= SHRINKING {
                let rest: u64 = sizes[level + 1..].iter().sum();
                let estimate = estimate.unwrap();
                assert!(estimate.abs_diff(rest) <= 2, "{estimate} {rest}");
            }
        }
    }
}
