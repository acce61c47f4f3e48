//! Merges several sorted sequences into one.
//!
//! The sequences play a tournament, and each match remembers its loser (Knuth, "The art of computer
//! programming", volume 3, section 5.4.1). States have long common prefixes, and comparing these
//! again and again would take most of the time. So each sequence remembers how many bytes its state
//! has in common with the state that it lost against, and the one with more of them is the lesser
//! (Conner, "Offset value coding", 1977). The blocks of runs already say how many bytes a state has
//! in common with the one before it. Only the bytes after that are compared, and equal states are
//! found without reading them.

use crate::codec::common;
use crate::run::{Cursor, Run};
use std::cmp::Ordering;
use std::io;
use std::sync::Arc;

/// Reads several runs in ascending order of their states. Equal states occur once, with all their
/// values.
#[derive(Default)]
pub struct Merge {
    cursors: Vec<Cursor>,
    /// For each cursor, how many bytes its state has in common with the one that it lost against;
    /// for the winner, with the last winner.
    same: Vec<usize>,
    /// The losers of the matches, from number 1 on, and the winner of all as number 0. The players
    /// of match `n` are the winners of the matches `2n` and `2n + 1`, and cursor `c` of `k` is the
    /// winner of number `k + c`.
    tree: Vec<usize>,
    state: Vec<u8>,
    /// The least value and the sum of the values of the current state.
    least: u64,
    sum: u64,
}

impl Merge {
    /// Merges all of `runs`, from the first state that is not less than `from`, if it is given.
    pub fn new(runs: &[Arc<Run>], from: Option<&[u8]>) -> io::Result<Merge> {
        let mut cursors = Vec::with_capacity(runs.len());
        for run in runs {
            let mut cursor = Cursor::new(Arc::clone(run))?;
            let there = match from {
                Some(from) => cursor.seek(from)? || !cursor.is_over(),
                None => cursor.advance()?,
            };
            if there {
                cursors.push(cursor);
            }
        }
        Ok(Merge::of(cursors))
    }

    /// The merge of runs that are at a state each.
    fn of(cursors: Vec<Cursor>) -> Merge {
        let mut merge = Merge { cursors, ..Merge::default() };
        merge.play_all();
        merge
    }

    /// Adds a run, from its first state on.
    pub fn add(&mut self, run: &Arc<Run>) -> io::Result<()> {
        let mut cursor = Cursor::new(Arc::clone(run))?;
        if cursor.advance()? {
            self.cursors.retain(|cursor| !cursor.is_over());
            self.cursors.push(cursor);
            self.play_all();
        }
        Ok(())
    }

    /// Plays all matches. At first nothing is known of common bytes.
    fn play_all(&mut self) {
        let players = self.cursors.len();
        self.same.clear();
        self.same.resize(players, 0);
        self.tree.clear();
        self.tree.resize(players, 0);
        let mut winners: Vec<usize> = (0..2 * players).map(|number| number.saturating_sub(players)).collect();
        for number in (1..players).rev() {
            (winners[number], self.tree[number]) = self.play(winners[2 * number], winners[2 * number + 1]);
        }
        if let (Some(first), Some(&winner)) = (self.tree.first_mut(), winners.get(1)) {
            *first = winner;
        }
    }

    /// Plays the matches of a cursor whose state has changed.
    #[inline]
    fn play_again(&mut self, mut winner: usize) {
        let mut number = (self.cursors.len() + winner) / 2;
        while number > 0 {
            (winner, self.tree[number]) = self.play(winner, self.tree[number]);
            number /= 2;
        }
        self.tree[0] = winner;
    }

    /// The winner, which has the lesser state, and the loser. Both have won against the same state
    /// before, or against none.
    #[inline]
    fn play(&mut self, one: usize, other: usize) -> (usize, usize) {
        if self.cursors[one].is_over() {
            return (other, one);
        }
        if self.cursors[other].is_over() {
            return (one, other);
        }
        let same = self.same[one];
        match same.cmp(&self.same[other]) {
            Ordering::Greater => (one, other),
            Ordering::Less => (other, one),
            Ordering::Equal => {
                let (first, second) = (&self.cursors[one].state()[same..], &self.cursors[other].state()[same..]);
                let more = common(first, second);
                let (winner, loser) = if first.get(more) <= second.get(more) { (one, other) } else { (other, one) };
                self.same[loser] = same + more;
                (winner, loser)
            }
        }
    }

    /// The cursor with the least state.
    #[inline]
    fn winner(&self) -> Option<usize> {
        self.tree.first().copied().filter(|&winner| !self.cursors[winner].is_over())
    }

    /// The state to which the merge moves next.
    pub fn next(&self) -> Option<&[u8]> {
        self.winner().map(|winner| self.cursors[winner].state())
    }

    /// The number of runs that are not read to their end.
    pub fn runs(&self) -> usize {
        self.cursors.iter().filter(|cursor| !cursor.is_over()).count()
    }

    /// Takes the rests of all runs but the `longest` longest ones, as a merge of their own.
    pub fn take_short(&mut self, longest: usize) -> Merge {
        self.cursors.retain(|cursor| !cursor.is_over());
        self.cursors.sort_by_key(|cursor| std::cmp::Reverse(cursor.run().states()));
        let taken = self.cursors.split_off(longest.min(self.cursors.len()));
        self.play_all();
        Merge::of(taken)
    }

    /// The current state.
    pub fn state(&self) -> &[u8] {
        &self.state
    }

    /// The least of its values.
    pub fn least(&self) -> u64 {
        self.least
    }

    /// The sum of its values.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Moves to the next state; returns whether there is one.
    pub fn advance(&mut self) -> io::Result<bool> {
        let Some(mut winner) = self.winner() else { return Ok(false) };
        self.state.clear();
        self.state.extend_from_slice(self.cursors[winner].state());
        (self.least, self.sum) = (u64::MAX, 0);
        loop {
            let cursor = &mut self.cursors[winner];
            let value = cursor.value();
            self.least = self.least.min(value);
            self.sum = self.sum.wrapping_add(value);
            match cursor.advance_from(&self.state)? {
                Some(same) => self.same[winner] = same,
                None => cursor.free(),
            }
            self.play_again(winner);
            match self.winner() {
                // All of its bytes are those of the state, so it is the same state.
                Some(next) if self.same[next] == self.state.len() && self.cursors[next].state().len() == self.state.len() => winner = next,
                _ => return Ok(true),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::InMemory;
    use crate::run::{RunWriter, Shelf};
    use std::collections::BTreeMap;

    /// States of different lengths, one the beginning of another, in runs of several blocks.
    #[test]
    fn beginnings_come_before_what_they_begin() {
        let folder = InMemory::default();
        let shelf = Shelf::new(&folder, 0);
        shelf.fit_cursors(0);
        let mut random = 3;
        for count in [2, 5, 8] {
            let mut expected: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
            let mut runs = Vec::new();
            for _ in 0..count {
                let mut states = std::collections::BTreeSet::new();
                for _ in 0..20_000 {
                    let len = splitmix::next(&mut random) as usize % 12;
                    states.insert((0..len).map(|_| splitmix::next(&mut random) as u8 % 3).collect::<Vec<u8>>());
                }
                let mut writer = RunWriter::new(&shelf, u64::MAX, 1).unwrap();
                for state in states {
                    writer.push(&state, 1).unwrap();
                    *expected.entry(state).or_default() += 1;
                }
                runs.extend(writer.finish().unwrap().map(Arc::new));
            }
            assert!(runs.iter().all(|run| run.blocks() > 1));
            let (mut merge, mut found) = (Merge::new(&runs, None).unwrap(), Vec::new());
            while merge.advance().unwrap() {
                found.push((merge.state().to_vec(), merge.sum()));
            }
            assert!(found == expected.into_iter().collect::<Vec<_>>());
            assert_eq!(merge.runs(), 0);
        }
    }

    #[test]
    fn several_runs_are_read_as_one() {
        let folder = InMemory::default();
        let shelf = Shelf::new(&folder, 0);
        let mut random = 5;
        for count in [0, 1, 2, 3, 9] {
            let mut expected: BTreeMap<Vec<u8>, (u64, u64)> = BTreeMap::new();
            let mut runs = Vec::new();
            for _ in 0..count {
                let mut states = BTreeMap::new();
                for _ in 0..splitmix::next(&mut random) % 4000 {
                    let state = (splitmix::next(&mut random) % 5000).to_be_bytes()[4..].to_vec();
                    states.insert(state, splitmix::next(&mut random) % 10);
                }
                let mut writer = RunWriter::new(&shelf, splitmix::next(&mut random) % 10_000, 1).unwrap();
                for (state, value) in states {
                    writer.push(&state, value).unwrap();
                    let (least, sum) = expected.entry(state).or_insert((u64::MAX, 0));
                    (*least, *sum) = ((*least).min(value), *sum + value);
                }
                runs.extend(writer.finish().unwrap().map(Arc::new));
            }
            // Runs may be added later, and taken out again.
            let (mut merge, mut least) = (Merge::new(&[], None).unwrap(), Vec::new());
            runs.iter().for_each(|run| merge.add(run).unwrap());
            while let Some(next) = merge.next().map(<[u8]>::to_vec) {
                assert!(merge.advance().unwrap() && merge.state() == next);
                least.push((next, merge.least()));
                if least.len() % 500 == 7 {
                    let count = merge.runs();
                    let mut short = merge.take_short(2);
                    assert_eq!((merge.runs(), short.runs()), (count.min(2), count.saturating_sub(2)));
                    let mut one = RunWriter::new(&shelf, 1000, 1).unwrap();
                    while short.advance().unwrap() {
                        one.push(short.state(), short.least()).unwrap();
                    }
                    one.finish().unwrap().into_iter().for_each(|run| merge.add(&Arc::new(run)).unwrap());
                }
            }
            assert_eq!(least, expected.iter().map(|(state, (least, _))| (state.clone(), *least)).collect::<Vec<_>>());
            for from in [None, Some(2500_u32.to_be_bytes())] {
                let mut merge = Merge::new(&runs, from.as_ref().map(|from| &from[..])).unwrap();
                for (state, (least, sum)) in expected.iter().filter(|(state, _)| from.is_none_or(|from| state[..] >= from[..])) {
                    assert!(merge.advance().unwrap());
                    assert_eq!((merge.state(), merge.least(), merge.sum()), (&state[..], *least, *sum));
                }
                assert!(!merge.advance().unwrap());
            }
        }
    }
}
