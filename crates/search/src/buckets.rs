//! A queue of nodes by small integer keys. It has a bucket for each key that occurs, and each
//! bucket is a stack (Dial, "Shortest-path forest with topological ordering", 1969).
//!
//! The keys of a directed search lie close together, so there are few buckets, and a tree finds the
//! least key fast. Single keys far away, which weights can cause, cost nothing extra.

use std::collections::BTreeMap;

/// Nodes by key.
#[derive(Default)]
pub(crate) struct Buckets {
    by_key: BTreeMap<u64, Vec<u32>>,
    /// A bucket that became empty, reused for the next new key.
    spare: Vec<u32>,
}

impl Buckets {
    /// Adds a node under a key.
    pub fn push(&mut self, key: u64, node: u32) {
        let spare = &mut self.spare;
        self.by_key.entry(key).or_insert_with(|| std::mem::take(spare)).push(node);
    }

    /// Removes the node with the least key; among several, the one added last.
    pub fn pop(&mut self) -> Option<u32> {
        let mut first = self.by_key.first_entry()?;
        let node = first.get_mut().pop();
        if first.get().is_empty() {
            self.spare = first.remove();
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::testing::Random;

    #[test]
    fn the_least_key_comes_first_and_of_equals_the_last() {
        let mut random = Random(3);
        let (mut buckets, mut naive) = (Buckets::default(), Vec::new());
        for node in 0..5000 {
            let key = if random.below(50) == 0 { random.number() } else { random.below(30) };
            buckets.push(key, node);
            naive.push((key, node));
            if random.below(3) == 0 {
                let best = (0..naive.len()).min_by_key(|&at| (naive[at].0, std::cmp::Reverse(naive[at].1)));
                assert_eq!(buckets.pop(), best.map(|at| naive.remove(at).1));
            }
        }
        naive.sort_by_key(|&(key, node)| (key, std::cmp::Reverse(node)));
        naive.into_iter().for_each(|(_, node)| assert_eq!(buckets.pop(), Some(node)));
        assert_eq!(buckets.pop(), None);
    }
}
