//! The numbers below a bound, each once, in an order that separates neighbours.
//!
//! If a table is read from beginning to end and its entries are inserted into another table with
//! the same hash function, the new table is also filled from beginning to end: all entries go to
//! the same few buckets until it grows, and each insertion takes longer than the one before.
//! Reading a table in this order fills the other one evenly.

/// The numbers below `bound`, in steps of about the golden section of `bound`.
pub(crate) fn permuted(bound: u64) -> impl Iterator<Item = u64> {
    let mut step = (bound as f64 * 0.618_033_988_75) as u64 | 1;
    while common_divisor(step, bound) > 1 {
        step += 2;
    }
    let mut number = 0;
    (0..bound).map(move |_| {
        let this = number;
        number = ((u128::from(number) + u128::from(step)) % u128::from(bound)) as u64;
        this
    })
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once() {
        for bound in (0..200).chain([1 << 12, 3 << 10, 5041, 7919]) {
            let mut numbers: Vec<u64> = permuted(bound).collect();
            if bound > 100 {
                assert!(numbers.windows(2).all(|pair| pair[0].abs_diff(pair[1]) > bound / 4), "{bound}");
            }
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..bound), "{bound}");
        }
    }
}
