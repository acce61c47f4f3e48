//! Numbers for the states of a store, each with a value, found by the state's name and shared by
//! all workers.
//!
//! It needs a store whose names never change. States with close names share a bucket. All parts are
//! allocated a chunk at a time, when one of their entries is needed, and never move.

use contract::StateId;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

const CHUNK: usize = 1 << 16;
const ENTRY_CHUNKS: usize = 1 << 14;
const BUCKET_CHUNKS: usize = 1 << 16;

/// The number of names that share a bucket: in a store of whole states, a state uses up a few
/// names.
const NAMES_PER_BUCKET: u64 = 8;

/// The number of state numbers that a worker takes at a time.
const RANGE: u32 = 256;

/// There is no room for another state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

struct Entry<N> {
    name: AtomicU64,
    /// The number of the next entry of the bucket, plus one.
    next: AtomicU32,
    value: N,
}

/// Items that are allocated a chunk at a time.
type Chunks<T> = Box<[OnceLock<Box<[T]>>]>;

/// A table of numbered states, each with a value.
pub(crate) struct Numbered<N> {
    entries: Chunks<Entry<N>>,
    buckets: Chunks<AtomicU32>,
    taken: AtomicU32,
    entry_chunks: AtomicU64,
    bucket_chunks: AtomicU64,
}

/// The numbers that a worker may assign to states.
#[derive(Default)]
pub(crate) struct Numbers {
    next: u32,
    end: u32,
}

impl<N: Default> Numbered<N> {
    pub fn new() -> Self {
        Numbered {
            entries: std::iter::repeat_with(OnceLock::new).take(ENTRY_CHUNKS).collect(),
            buckets: std::iter::repeat_with(OnceLock::new).take(BUCKET_CHUNKS).collect(),
            taken: AtomicU32::new(0),
            entry_chunks: AtomicU64::new(0),
            bucket_chunks: AtomicU64::new(0),
        }
    }

    /// The memory held.
    pub fn bytes(&self) -> u64 {
        self.entry_chunks.load(Relaxed) * (CHUNK * size_of::<Entry<N>>()) as u64
            + self.bucket_chunks.load(Relaxed) * (CHUNK * size_of::<AtomicU32>()) as u64
    }

    /// All numbers are less than this.
    pub fn end(&self) -> u32 {
        self.taken.load(SeqCst)
    }

    #[inline]
    fn entry(&self, number: u32) -> &Entry<N> {
        let chunk = self.entries[number as usize / CHUNK].get_or_init(|| {
            self.entry_chunks.fetch_add(1, Relaxed);
            let entry = || Entry { name: AtomicU64::new(u64::MAX), next: AtomicU32::new(0), value: N::default() };
            std::iter::repeat_with(entry).take(CHUNK).collect()
        });
        &chunk[number as usize % CHUNK]
    }

    /// The value of a state.
    #[inline]
    pub fn value(&self, number: u32) -> &N {
        &self.entry(number).value
    }

    /// The name of a state; `None` if no state has this number.
    #[inline]
    pub fn name(&self, number: u32) -> Option<StateId> {
        let name = self.entry(number).name.load(SeqCst);
        (name != u64::MAX).then_some(StateId(name))
    }

    #[inline]
    fn bucket(&self, name: StateId) -> Result<&AtomicU32, Full> {
        let bucket = usize::try_from(name.0 / NAMES_PER_BUCKET).map_err(|_| Full)?;
        let chunk = self.buckets.get(bucket / CHUNK).ok_or(Full)?.get_or_init(|| {
            self.bucket_chunks.fetch_add(1, Relaxed);
            std::iter::repeat_with(AtomicU32::default).take(CHUNK).collect()
        });
        Ok(&chunk[bucket % CHUNK])
    }

    /// Assigns a number to a state. `prepare` initialises its value before other workers can see
    /// it. Only the worker that found the state new calls this, once.
    pub fn add(&self, numbers: &mut Numbers, name: StateId, prepare: impl FnOnce(u32, &N)) -> Result<u32, Full> {
        let bucket = self.bucket(name)?;
        if numbers.next == numbers.end {
            let first = self.taken.fetch_add(RANGE, SeqCst);
            if first as usize + RANGE as usize > ENTRY_CHUNKS * CHUNK {
                self.taken.fetch_sub(RANGE, SeqCst);
                return Err(Full);
            }
            *numbers = Numbers { next: first, end: first + RANGE };
        }
        let number = numbers.next;
        numbers.next += 1;
        let entry = self.entry(number);
        prepare(number, &entry.value);
        entry.name.store(name.0, SeqCst);
        let mut first = bucket.load(SeqCst);
        loop {
            entry.next.store(first, Relaxed);
            match bucket.compare_exchange_weak(first, number + 1, SeqCst, SeqCst) {
                Ok(_) => return Ok(number),
                Err(other) => first = other,
            }
        }
    }

    /// The number of a state, if it has one.
    #[inline]
    pub fn number(&self, name: StateId) -> Option<u32> {
        self.number_from(self.first_of_bucket(name).ok()?, name)
    }

    /// Where the search for the number of a state begins ([`Self::number_from`]).
    #[inline]
    pub fn first_of_bucket(&self, name: StateId) -> Result<u32, Full> {
        Ok(self.bucket(name)?.load(SeqCst))
    }

    /// The number of a state, if it has one, from where the search for it begins.
    #[inline]
    pub fn number_from(&self, mut next: u32, name: StateId) -> Option<u32> {
        while let Some(number) = next.checked_sub(1) {
            let entry = self.entry(number);
            if entry.name.load(Relaxed) == name.0 {
                return Some(number);
            }
            next = entry.next.load(Relaxed);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_state_has_a_number_of_its_own() {
        let table: Numbered<AtomicU64> = Numbered::new();
        let name = |index: u64| StateId(index * 5 + 1);
        std::thread::scope(|scope| {
            for worker in 0..3 {
                let table = &table;
                scope.spawn(move || {
                    let mut numbers = Numbers::default();
                    for index in (0..30_000).filter(|index| index % 3 == worker) {
                        let number = table.add(&mut numbers, name(index), |_, value| value.store(index, Relaxed)).expect("room");
                        assert_eq!(table.number(name(index)), Some(number));
                    }
                });
            }
        });
        let numbers: HashSet<u32> = (0..30_000).map(|index| table.number(name(index)).expect("a number")).collect();
        assert_eq!(numbers.len(), 30_000);
        for index in 0..30_000 {
            let number = table.number(name(index)).expect("a number");
            assert_eq!((table.name(number), table.value(number).load(Relaxed)), (Some(name(index)), index));
            assert!(number < table.end());
        }
        assert_eq!((table.number(StateId(0)), table.number(StateId(u64::MAX))), (None, None));
        assert_eq!(table.add(&mut Numbers::default(), StateId(u64::MAX - 1), |_, _| {}), Err(Full));
    }
}
