//! Merges several sorted sequences into one.

use crate::run::{Cursor, Run};
use std::cmp::Ordering;
use std::io;
use std::sync::Arc;

/// Reads several runs in ascending order of their states. Equal states occur once, with all their
/// values.
#[derive(Default)]
pub struct Merge {
    /// A heap: each cursor is at a state that is not greater than those of its two children.
    heap: Vec<Cursor>,
    state: Vec<u8>,
    /// The least value and the sum of the values of the current state.
    least: u64,
    sum: u64,
}

impl Merge {
    /// Merges all of `runs`, from the first state that is not less than `from`, if it is given.
    pub fn new(runs: &[Arc<Run>], from: Option<&[u8]>) -> io::Result<Merge> {
        let mut heap = Vec::with_capacity(runs.len());
        for run in runs {
            let mut cursor = Cursor::new(Arc::clone(run))?;
            let there = match from {
                Some(from) => cursor.seek(from)? || !cursor.is_over(),
                None => cursor.advance()?,
            };
            if there {
                heap.push(cursor);
            }
        }
        let mut merge = Merge { heap, ..Merge::default() };
        (0..merge.heap.len()).rev().for_each(|at| merge.sink(at));
        Ok(merge)
    }

    /// Adds a run, from its first state on.
    pub fn add(&mut self, run: &Arc<Run>) -> io::Result<()> {
        let mut cursor = Cursor::new(Arc::clone(run))?;
        if cursor.advance()? {
            self.put(cursor);
        }
        Ok(())
    }

    fn put(&mut self, cursor: Cursor) {
        self.heap.push(cursor);
        let mut at = self.heap.len() - 1;
        while at > 0 && self.heap[at].state() < self.heap[(at - 1) / 2].state() {
            self.heap.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    /// The state to which the merge moves next.
    pub fn next(&self) -> Option<&[u8]> {
        self.heap.first().map(Cursor::state)
    }

    /// The number of runs that are not read to their end.
    pub fn runs(&self) -> usize {
        self.heap.len()
    }

    /// Takes the rests of all runs but the `longest` longest ones, as a merge of their own.
    pub fn take_short(&mut self, longest: usize) -> Merge {
        let mut all = std::mem::take(&mut self.heap);
        all.sort_by_key(|cursor| std::cmp::Reverse(cursor.run().states()));
        let mut taken = Merge::default();
        for (number, cursor) in all.into_iter().enumerate() {
            if number < longest { self.put(cursor) } else { taken.put(cursor) }
        }
        taken
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
        if self.heap.is_empty() {
            return Ok(false);
        }
        self.state.clear();
        self.state.extend_from_slice(self.heap[0].state());
        (self.least, self.sum) = (u64::MAX, 0);
        while let Some(first) = self.heap.first_mut()
            && first.state() == self.state
        {
            let value = first.value();
            self.least = self.least.min(value);
            self.sum = self.sum.wrapping_add(value);
            if !first.advance()? {
                self.heap.swap_remove(0);
            }
            self.sink(0);
        }
        Ok(true)
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.heap[child].state().cmp(self.heap[least].state()) == Ordering::Less {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::InMemory;
    use crate::run::{RunWriter, Shelf};
    use std::collections::BTreeMap;

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
