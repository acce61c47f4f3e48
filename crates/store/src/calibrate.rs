//! Learns from a sample how to divide state vectors into pieces that are worth sharing.
//!
//! A state is stored as the numbers of its pieces. Long pieces need fewer bits in all, because
//! related bytes vary together, but a piece with many different contents needs a large dictionary.
//! Which bytes are related is not known, so it is measured: starting from single bytes, neighbours
//! are joined as long as the estimated memory shrinks. The final number of contents of a piece is
//! extrapolated from the growth between half of the sample and the whole.

use rustc_hash::FxHashMap;

/// The bytes of dictionary that one content costs.
const ENTRY_BYTES: f64 = 24.0;
/// A dictionary up to this size stays in the first caches. Beyond it, each doubling costs time,
/// which is expressed in bytes per state.
const CACHED_ENTRIES: f64 = 1024.0;
const SLOW_BYTES: f64 = 0.3;
/// Columns with fewer possible values than this are numbered through a direct table.
const DIRECT: u64 = 1 << 16;
/// How much larger than now the state space is expected to become.
const EXPECTED_GROWTH: f64 = 64.0;

/// One piece over the whole sample: equal contents have equal numbers.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// Empty if all contents are equal. Most bytes of most states never change, and learning should
    /// take little memory.
    contents: Vec<u32>,
    distinct: usize,
    /// The number of contents expected among the states found so far.
    present: f64,
    /// The number of contents expected at the end of the search.
    expected: f64,
}

impl Column {
    /// A column of values below `limit`, from a sample of `population` states.
    pub fn new(values: impl Iterator<Item = u64>, limit: u64, population: u64) -> Column {
        let mut contents = Vec::with_capacity(values.size_hint().0);
        // Contents are numbered in the order of their arrival. Most columns have few possible
        // values, which need no hashing.
        if limit <= DIRECT {
            let mut numbers = vec![u32::MAX; limit as usize];
            let mut next = 0;
            for value in values {
                let number = &mut numbers[value as usize];
                if *number == u32::MAX {
                    *number = next;
                    next += 1;
                }
                contents.push(*number);
            }
        } else {
            let mut numbers: FxHashMap<u64, u32> = FxHashMap::default();
            for value in values {
                let next = numbers.len() as u32;
                contents.push(*numbers.entry(value).or_insert(next));
            }
        }
        let count = |contents: &[u32]| contents.iter().max().map_or(0, |&last| last as usize + 1);
        let (distinct, half) = (count(&contents), count(&contents[..contents.len().div_ceil(2)]));
        let exponent = (distinct as f64 / half.max(1) as f64).log2().clamp(0.0, 1.0);
        let among = |states: f64| (distinct as f64 * (states / contents.len().max(1) as f64).powf(exponent)).min(states);
        let (present, expected) = (among(population.max(1) as f64), among((population as f64 * EXPECTED_GROWTH).max(1.0)));
        if distinct <= 1 {
            contents = Vec::new();
        }
        Column { contents, distinct, present, expected }
    }

    fn join(&self, other: &Column, population: u64) -> Column {
        if self.is_constant() || other.is_constant() {
            return if self.is_constant() { other.clone() } else { self.clone() };
        }
        let (width, pairs) = (other.distinct as u64, self.contents.iter().zip(&other.contents));
        Column::new(pairs.map(|(&a, &b)| u64::from(a) * width + u64::from(b)), self.distinct as u64 * width, population)
    }

    /// Whether all states of the sample agree here.
    fn is_constant(&self) -> bool {
        self.distinct <= 1
    }

    /// The bytes that this piece costs for each state at the end of the search.
    fn cost(&self, population: u64) -> f64 {
        let total = (population as f64 * EXPECTED_GROWTH).max(1.0);
        let slow = (self.expected / CACHED_ENTRIES).max(1.0).log2() * SLOW_BYTES;
        self.expected.max(1.0).log2() / 8.0 + ENTRY_BYTES * self.expected / total + slow
    }

    /// The number of bits that the numbers of the contents will soon need.
    pub fn bits(&self) -> u32 {
        let present = self.present.max(self.distinct as f64);
        bits_for(present.ceil() as u64) + u32::from(self.expected > 1.5 * present)
    }
}

/// The bits to tell `values` values apart.
pub(crate) fn bits_for(values: u64) -> u32 {
    u64::BITS - values.saturating_sub(1).leading_zeros()
}

/// Joins neighbouring columns as long as that saves memory and `may_join` (of their sizes, 1 for
/// each column at the beginning) allows it, and further until their bits fit into `most_bits`. Each
/// join saves `bonus` bytes of each state in addition. Returns the joined columns, and the
/// positions that were joined with the one after them, in order.
pub(crate) fn join_neighbours(
    mut columns: Vec<Column>,
    population: u64,
    bonus: f64,
    most_bits: u32,
    may_join: impl Fn(usize, usize) -> bool,
) -> (Vec<usize>, Vec<Column>) {
    let mut sizes = vec![1usize; columns.len()];
    let mut joins = Vec::new();
    let mut join = |columns: &mut Vec<Column>, sizes: &mut Vec<usize>, at: usize, joined: Column| {
        columns[at] = joined;
        columns.remove(at + 1);
        sizes[at] += sizes.remove(at + 1);
        joins.push(at);
    };
    // Constant neighbours are joined first if each join has a bonus, because there may be many.
    let mut at = 0;
    while bonus > 0.0 && at + 1 < columns.len() {
        if columns[at].is_constant() && columns[at + 1].is_constant() && may_join(sizes[at], sizes[at + 1]) {
            let joined = columns[at].clone();
            join(&mut columns, &mut sizes, at, joined);
        } else {
            at += 1;
        }
    }
    let candidate = |columns: &[Column], sizes: &[usize], at: usize| {
        may_join(sizes[at], sizes[at + 1]).then(|| {
            let joined = columns[at].join(&columns[at + 1], population);
            let saved = columns[at].cost(population) + columns[at + 1].cost(population) - joined.cost(population) + bonus;
            (saved, joined)
        })
    };
    let mut candidates: Vec<_> = (0..columns.len().saturating_sub(1)).map(|at| candidate(&columns, &sizes, at)).collect();
    loop {
        let bits: u32 = columns.iter().map(Column::bits).sum();
        let best = candidates.iter().enumerate().filter_map(|(at, c)| c.as_ref().map(|c| (at, c.0)));
        let Some((at, saved)) = best.max_by(|a, b| a.1.total_cmp(&b.1)) else { break };
        if saved <= 0.0 && bits <= most_bits {
            break;
        }
        if let Some((_, joined)) = candidates[at].take() {
            join(&mut columns, &mut sizes, at, joined);
        }
        candidates.remove(at);
        for neighbour in [at.checked_sub(1), Some(at)].into_iter().flatten() {
            if neighbour < candidates.len() {
                candidates[neighbour] = candidate(&columns, &sizes, neighbour);
            }
        }
    }
    (joins, columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::testing::Random;

    #[test]
    fn bits_tell_values_apart() {
        assert_eq!([0, 1, 2, 3, 4, 5, 1 << 20, (1 << 20) + 1].map(bits_for), [0, 0, 1, 2, 2, 3, 20, 21]);
    }

    #[test]
    fn what_varies_together_is_joined_and_what_does_not_is_not() {
        let mut random = Random(8);
        // Bytes 0 and 1 agree; 2 and 3 agree; each pair has many contents of its own.
        let sample: Vec<[u64; 4]> = (0..4000).map(|_| [random.below(200), random.below(200)]).map(|[a, b]| [a, a ^ 1, b, b ^ 3]).collect();
        let columns = (0..4).map(|i| Column::new(sample.iter().map(|s| s[i]), 256, 4000)).collect();
        let (joins, columns) = join_neighbours(columns, 4000, 0.01, 64, |_, _| true);
        assert_eq!(columns.len(), 2, "{joins:?}");
        assert!(columns.iter().all(|c| c.distinct == 200));
    }

    #[test]
    fn constants_are_joined_up_to_the_allowed_size_and_bits_are_made_to_fit() {
        let columns = vec![Column::new((0..100).map(|_| 0), 1, 100); 20];
        let (_, columns) = join_neighbours(columns, 100, 0.01, 64, |a, b| a + b <= 8);
        assert_eq!(columns.len(), 3);
        let mut random = Random(1);
        let noise: Vec<Column> = (0..8).map(|_| Column::new((0..5000).map(|_| random.below(256)), 256, 5000)).collect();
        let (_, columns) = join_neighbours(noise, 5000, 0.01, 56, |_, _| true);
        assert!(columns.iter().map(Column::bits).sum::<u32>() <= 56);
    }
}
