//! Sorts states by their contents.
//!
//! States have long common prefixes, and comparing them byte by byte would read these again and
//! again. So eight bytes of each are compared at a time, after the common prefix of a group, and
//! groups that are still equal are sorted by the next eight (multikey quicksort: Bentley and
//! Sedgewick, "Fast algorithms for sorting and searching strings", 1997).

use crate::codec::common;

/// A group of at most this size is sorted by comparisons.
const FEW: usize = 12;

/// An item to be sorted: its number, and some of its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Item {
    word: u64,
    pub number: u32,
}

impl Item {
    pub fn new(number: u32) -> Item {
        Item { word: 0, number }
    }
}

/// Sorts `items` by their states; `state` gives the state of a number.
pub(crate) fn sort<'a>(items: &mut [Item], state: &impl Fn(u32) -> &'a [u8]) {
    let mut groups = vec![(0, items.len(), 0)];
    while let Some((start, end, depth)) = groups.pop() {
        let group = &mut items[start..end];
        if group.len() <= FEW {
            group.sort_unstable_by(|a, b| state(a.number)[depth..].cmp(&state(b.number)[depth..]));
            continue;
        }
        let first = &state(group[0].number)[depth..];
        let same = group[1..].iter().fold(first.len(), |same, item| common(&first[..same], &state(item.number)[depth..]));
        let depth = depth + same;
        for item in &mut *group {
            item.word = word(&state(item.number)[depth..]);
        }
        group.sort_unstable_by_key(|item| item.word);
        let mut from = 0;
        while from < group.len() {
            let equal = group[from..].iter().take_while(|item| item.word == group[from].word).count();
            if equal > 1 {
                sort_ends(&mut group[from..from + equal], depth + 8, state, start + from, &mut groups);
            }
            from += equal;
        }
    }
}

/// Sorts a group of states that are equal up to `depth`: those that end before it come first, the
/// shortest first. The others form a group that is still to be sorted.
fn sort_ends<'a>(
    group: &mut [Item],
    depth: usize,
    state: &impl Fn(u32) -> &'a [u8],
    start: usize,
    groups: &mut Vec<(usize, usize, usize)>,
) {
    let short = group.iter().filter(|item| state(item.number).len() < depth).count();
    if short > 0 {
        group.sort_unstable_by_key(|item| state(item.number).len().min(depth));
    }
    if group.len() - short > 1 {
        groups.push((start + short, start + group.len(), depth));
    }
}

/// The first eight bytes, as a number of the same order, padded with zeros.
fn word(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => bytes.iter().enumerate().fold(0, |word, (at, &byte)| word | u64::from(byte) << (56 - 8 * at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_order_of_slices(states in prop::collection::vec(prop::collection::vec(0_u8..3, 0..30), 0..200)) {
            let mut items: Vec<Item> = (0..states.len() as u32).map(Item::new).collect();
            sort(&mut items, &|number| &states[number as usize]);
            let sorted: Vec<&Vec<u8>> = items.iter().map(|item| &states[item.number as usize]).collect();
            let mut expected: Vec<&Vec<u8>> = states.iter().collect();
            expected.sort();
            prop_assert_eq!(sorted, expected);
        }
    }
}
