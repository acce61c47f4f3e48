//! What a step wrote, as far as a store or a hash wants to know: the stripes of the state in which it may differ from its source.
//!
//! A step changes a few bytes of a state of dozens. Who learns which need not look at the others: a store that cuts states into pieces
//! renumbers only those that changed, and a hash that is a sum over words takes the old ones out and puts the new ones in. A stripe is one
//! word of the state, so that a set of stripes is one number: fine enough to tell the processes and channels of common models apart, and
//! cheap enough to travel with every step.

/// A set of stripes of a state. Stripe *n* is the bytes from 8*n* to 8*n*+7; all from stripe 63 on count as one.
///
/// A step that makes a state longer or shorter wrote [`EVERYTHING`](Self::EVERYTHING).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Written(u64);

impl Written {
    /// The width of a stripe in bytes.
    pub const STRIPE: usize = 8;
    /// No stripe.
    pub const NOTHING: Written = Written(0);
    /// All stripes: nothing is known.
    pub const EVERYTHING: Written = Written(u64::MAX);

    /// The stripes that contain one of the bytes from `start` up to `end`.
    #[inline]
    pub const fn range(start: usize, end: usize) -> Written {
        if start >= end {
            return Written::NOTHING;
        }
        let (first, last) = (Self::stripe(start), Self::stripe(end - 1));
        Written(u64::MAX << first & u64::MAX >> (63 - last))
    }

    /// The stripe of the byte at `offset`.
    #[inline]
    const fn stripe(offset: usize) -> u32 {
        let stripe = offset / Self::STRIPE;
        if stripe < 63 { stripe as u32 } else { 63 }
    }

    /// Exactly the stripes in which two states differ.
    pub fn between(source: &[u8], target: &[u8]) -> Written {
        if source.len() != target.len() {
            return Written::EVERYTHING;
        }
        let stripes = source.chunks(Self::STRIPE).zip(target.chunks(Self::STRIPE)).enumerate();
        stripes.filter(|(_, (a, b))| a != b).map(|(n, _)| Written(1 << n.min(63))).fold(Written::NOTHING, Written::and)
    }

    /// The stripes of both.
    #[inline]
    #[must_use]
    pub const fn and(self, other: Written) -> Written {
        Written(self.0 | other.0)
    }

    /// Whether every stripe of `other` is in this set.
    #[inline]
    pub const fn covers(self, other: Written) -> bool {
        other.0 & !self.0 == 0
    }

    /// Whether some stripe is in both sets.
    #[inline]
    pub const fn meets(self, other: Written) -> bool {
        self.0 & other.0 != 0
    }

    /// The set as a number: bit *n* is stripe *n*.
    #[inline]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The set whose [`to_bits`](Self::to_bits) is `bits`.
    #[inline]
    pub const fn from_bits(bits: u64) -> Written {
        Written(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_the_stripes_of_their_bytes() {
        for (start, end) in [(0, 0), (5, 5), (0, 1), (7, 9), (8, 16), (500, 505), (503, 504), (504, 505), (600, 9000), (0, 9000)] {
            let one_by_one = (start..end).map(|at| Written::range(at, at + 1)).fold(Written::NOTHING, Written::and);
            assert_eq!(Written::range(start, end), one_by_one, "{start}..{end}");
        }
        assert_eq!(Written::range(0, 9000), Written::EVERYTHING);
        assert_eq!(Written::range(7, 9).to_bits(), 0b11);
    }

    #[test]
    fn differences_are_found_where_they_are() {
        let source = vec![0u8; 700];
        assert_eq!(Written::between(&source, &source), Written::NOTHING);
        assert_eq!(Written::between(&source, &source[1..]), Written::EVERYTHING);
        for at in 0..700 {
            let mut target = source.clone();
            target[at] = 1;
            let written = Written::between(&source, &target);
            assert_eq!(written, Written::range(at, at + 1));
            assert!(Written::range(0, at + 1).covers(written) && written.meets(Written::range(at, 700)));
        }
    }
}
