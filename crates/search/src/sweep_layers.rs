//! The layers of a sweep on disk that wait: sets in memory, and a queue of sorted runs.

use crate::gather::Gathering;
use crate::links::Link;
use crate::sweep::{MEASURE_MAX, Value};
use runs::{ITEM, Merge, Run, RunWriter, Set};
use std::io;
use std::sync::Arc;

/// The bits of a state's value that number its record; the bits above are its depth.
const RECORD_BITS: u32 = 34;
/// States of this depth are not expanded. The greatest value has a meaning of its own.
pub(crate) const MOST_DEPTH: u64 = (1 << (64 - RECORD_BITS)) - 2;
/// The value of a state that is not to be expanded.
pub(crate) const KNOWN: u64 = u64::MAX;

/// The record and the depth of a state in one number. A worker of its own needs no more of a link.
pub(crate) fn pack(link: Link, depth: u64) -> u64 {
    depth.min(MOST_DEPTH) << RECORD_BITS | link.to_bits() & ((1 << RECORD_BITS) - 1)
}

pub(crate) fn unpack(value: u64) -> (Link, u64) {
    (Link::from_bits(value & ((1 << RECORD_BITS) - 1)), value >> RECORD_BITS)
}

/// The first `parts` numbers of a measure's value, as bytes of the same order.
pub(crate) fn prefix_of(value: &Value, parts: usize) -> Vec<u8> {
    value[..parts].iter().flat_map(|&part| (part as u64 ^ 1 << 63).to_be_bytes()).collect()
}

/// The value at the beginning of a key.
pub(crate) fn value_of(key: &[u8], parts: usize) -> Value {
    let mut value = [0; MEASURE_MAX];
    for (part, bytes) in value[..parts].iter_mut().zip(key.chunks_exact(8)) {
        *part = (u64::from_be_bytes(bytes.try_into().unwrap_or_default()) ^ 1 << 63) as i64;
    }
    value
}

/// The bytes that a state takes beside the set: its value, and its place in a sorted list.
const BESIDE: u64 = 8 + ITEM;
/// The approximate size of a layer without its states.
const LAYER_BYTES: u64 = 256;
/// The zstd level for runs that are read once.
const BRIEF: i32 = 1;

/// States of one layer in memory, with a value each.
#[derive(Default)]
pub(crate) struct Layer {
    set: Set,
    values: Vec<u64>,
}

impl Layer {
    pub fn len(&self) -> usize {
        self.set.len()
    }

    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    pub fn state(&self, number: usize) -> &[u8] {
        self.set.state(number)
    }

    pub fn value(&self, number: usize) -> u64 {
        self.values[number]
    }

    pub fn set_value(&mut self, number: usize, value: u64) {
        self.values[number] = value;
    }

    /// Whether it contains the state, which has this hash.
    pub fn has(&self, hash: u64, state: &[u8]) -> bool {
        self.set.find(hash, state).is_ok()
    }

    /// The memory that it takes, including that for sorting it.
    pub fn charge(&self) -> u64 {
        match self.set.capacity() {
            0 => 0,
            capacity => self.set.memory() + BESIDE * capacity as u64 + LAYER_BYTES,
        }
    }

    /// The least memory of a layer with states of this length.
    pub fn least(len: usize) -> u64 {
        Set::least_memory(len) + BESIDE * Set::FEW + LAYER_BYTES
    }

    /// Adds a state that is not there, if the whole layer then takes no more than `room` bytes, or
    /// has no states yet. Returns whether it was added.
    pub fn add(&mut self, hash: u64, state: &[u8], value: u64, room: u64) -> bool {
        if !self.set.has_place(state.len()) {
            if !self.set.make_place(state.len(), room.saturating_sub(LAYER_BYTES), BESIDE) {
                return false;
            }
            self.values.reserve_exact(self.set.capacity() - self.values.len());
        }
        if let Err(at) = self.set.find(hash, state) {
            self.set.add(at, hash, state);
            self.values.push(value);
        }
        true
    }

    pub fn clear(&mut self) {
        self.set.clear();
        self.values.clear();
    }

    /// The numbers of the states in the order of the states.
    pub fn in_order(&self) -> impl Iterator<Item = usize> + use<> {
        self.set.in_order(0)
    }

    /// The states as a sorted run, with their values.
    pub fn written(&self, gathering: &Gathering<'_>) -> io::Result<Option<Arc<Run>>> {
        let mut writer = RunWriter::new(gathering.shelf, gathering.for_runs(0) / 4, BRIEF)?;
        self.in_order().try_for_each(|number| writer.push(self.state(number), self.values[number]))?;
        Ok(writer.finish()?.map(Arc::new))
    }
}

/// The states of layers ahead that are in runs.
#[derive(Default)]
pub(crate) struct Waiting {
    /// What is left of the runs. A state comes after the value of its layer.
    pub merge: Merge,
    runs: Vec<Arc<Run>>,
}

impl Waiting {
    /// Writes layers, which are in ascending order, as one run.
    pub fn spill(&mut self, layers: &[(Value, Layer)], parts: usize, gathering: &Gathering<'_>) -> io::Result<()> {
        if layers.is_empty() {
            return Ok(());
        }
        let mut writer = RunWriter::new(gathering.shelf, gathering.for_runs(self.run_memory()), BRIEF)?;
        let mut key = Vec::new();
        for (value, layer) in layers {
            let prefix = prefix_of(value, parts);
            for number in layer.in_order() {
                key.clear();
                key.extend_from_slice(&prefix);
                key.extend_from_slice(layer.state(number));
                writer.push(&key, layer.value(number))?;
            }
        }
        self.put(writer)?;
        let most = gathering.most_spills();
        if self.merge.runs() > most {
            // The shortest runs are merged, so that no state is written again and again.
            let mut short = self.merge.take_short(most / 4);
            let mut writer = RunWriter::new(gathering.shelf, 0, BRIEF)?;
            while short.advance()? {
                writer.push(short.state(), short.least())?;
            }
            drop(short);
            self.put(writer)?;
            self.retire(gathering);
        }
        Ok(())
    }

    fn put(&mut self, writer: RunWriter<'_>) -> io::Result<()> {
        if let Some(run) = writer.finish()?.map(Arc::new) {
            self.merge.add(&run)?;
            self.runs.push(run);
        }
        Ok(())
    }

    /// Retires the runs that were read to their end.
    pub fn retire(&mut self, gathering: &Gathering<'_>) {
        self.runs.retain(|run| {
            let is_read = Arc::strong_count(run) > 1;
            if !is_read {
                gathering.retire(run);
            }
            is_read
        });
    }

    /// The number of states in runs that were not read to their end.
    pub fn states(&self) -> u64 {
        self.runs.iter().map(|run| run.states()).sum()
    }

    pub fn runs(&self) -> &[Arc<Run>] {
        &self.runs
    }

    pub fn run_memory(&self) -> u64 {
        self.runs.iter().map(|run| run.memory()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_prefixes_have_the_same_order() {
        let mut random = contract::testing::Random(9);
        let mut some = || [random.below(3) as i64 - 1, random.below(5) as i64 - 2, i64::MIN, 0];
        for parts in 0..=MEASURE_MAX {
            for _ in 0..500 {
                let (mut one, mut other) = (some(), some());
                one[parts..].fill(0);
                other[parts..].fill(0);
                assert_eq!(one.cmp(&other), prefix_of(&one, parts).cmp(&prefix_of(&other, parts)));
                assert_eq!(value_of(&prefix_of(&one, parts), parts), one);
            }
        }
        assert_eq!(unpack(pack(Link::from_bits(77), 5)), (Link::from_bits(77), 5));
    }
}
