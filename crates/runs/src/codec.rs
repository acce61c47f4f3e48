//! A block of a run: states as differences to their neighbours, compressed, with a checksum.
//!
//! In a sorted sequence, a state differs from the one before in a few bytes. It is stored as the
//! number of bytes that differ, the distance from each to the next, and the differences. Each kind
//! of number has its own stream, because similar data compresses better together. The block is then
//! compressed as a whole (zstd, whose frames contain a checksum of their contents). A block begins
//! with the numbers of its run and of itself, so that a block in the wrong place is also detected.

use std::io;

/// The streams of a block: how many bytes differ, the distances, the differences, the change of the
/// length, the change of the value.
const STREAMS: usize = 5;
const COUNTS: usize = 0;
const GAPS: usize = 1;
const BYTES: usize = 2;
const LENS: usize = 3;
const VALUES: usize = 4;

/// The most bytes of a decompressed block; a longer one is damaged.
pub(crate) const MOST_BYTES: usize = 1 << 28;

pub(crate) fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a damaged block: {what}"))
}

/// Appends a number, seven bits a byte, lowest first.
#[inline]
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a number at `at` and advances `at`.
#[inline]
pub(crate) fn get(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    *at += 1;
    if first < 0x80 {
        return Some(first.into());
    }
    let mut number = u64::from(first & 0x7f);
    for shift in (7..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn zigzag(difference: i64) -> u64 {
    (difference << 1 ^ difference >> 63) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// The length of the common prefix of two strings.
#[inline]
pub(crate) fn common(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let mut at = 0;
    while at + 8 <= len {
        let word = |s: &[u8]| u64::from_le_bytes(s[at..at + 8].try_into().unwrap_or_default());
        let different = word(a) ^ word(b);
        if different != 0 {
            return at + (different.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while at < len && a[at] == b[at] {
        at += 1;
    }
    at
}

/// Fills a block.
#[derive(Default)]
pub(crate) struct BlockEncoder {
    last: Vec<u8>,
    value: u64,
    streams: [Vec<u8>; STREAMS],
    entries: u64,
    packed: Vec<u8>,
}

impl BlockEncoder {
    pub fn len(&self) -> usize {
        self.streams.iter().map(Vec::len).sum()
    }

    pub fn entries(&self) -> u64 {
        self.entries
    }

    pub fn push(&mut self, state: &[u8], value: u64) {
        let BlockEncoder { last, streams, .. } = self;
        put(&mut streams[LENS], zigzag(state.len() as i64 - last.len() as i64));
        // After its end a state counts as zeros.
        last.resize(state.len(), 0);
        let (mut count, mut after, mut at) = (0, 0, 0);
        loop {
            at += common(&last[at..], &state[at..]);
            if at == state.len() {
                break;
            }
            put(&mut streams[GAPS], (at - after) as u64);
            streams[BYTES].push(state[at].wrapping_sub(last[at]));
            count += 1;
            at += 1;
            after = at;
        }
        put(&mut streams[COUNTS], count);
        last.copy_from_slice(state);
        put(&mut streams[VALUES], zigzag(value.wrapping_sub(self.value) as i64));
        self.value = value;
        self.entries += 1;
    }

    /// The compressed block, as number `block` of run `run`; the encoder starts a new block.
    pub fn finish(&mut self, run: u64, block: u64, zstd: &mut zstd::bulk::Compressor<'_>) -> io::Result<Vec<u8>> {
        self.packed.clear();
        [run, block, self.entries].into_iter().for_each(|number| put(&mut self.packed, number));
        self.streams.iter().for_each(|stream| put(&mut self.packed, stream.len() as u64));
        for stream in &mut self.streams {
            self.packed.append(stream);
        }
        self.last.clear();
        (self.value, self.entries) = (0, 0);
        zstd.compress(&self.packed)
    }
}

/// Reads a block, entry by entry.
#[derive(Default)]
pub(crate) struct BlockDecoder {
    bytes: Vec<u8>,
    at: [usize; STREAMS],
    left: u64,
    pub state: Vec<u8>,
    pub value: u64,
    /// The number of bytes that the state has in common with the one before.
    pub same: usize,
}

impl BlockDecoder {
    /// Begins with the compressed block `packed`, which must be number `block` of run `run`.
    pub fn begin(&mut self, packed: &[u8], run: u64, block: u64, zstd: &mut zstd::bulk::Decompressor<'_>) -> io::Result<()> {
        self.left = 0;
        let len = zstd::zstd_safe::get_frame_content_size(packed).ok().flatten().unwrap_or(u64::MAX);
        if len > MOST_BYTES as u64 {
            return Err(damaged("its length is missing or impossible"));
        }
        self.bytes.clear();
        self.bytes.reserve(len as usize);
        zstd.decompress_to_buffer(packed, &mut self.bytes).map_err(|error| damaged(&error.to_string()))?;
        let mut at = 0;
        let mut number = || get(&self.bytes, &mut at).ok_or_else(|| damaged("its head ends too early"));
        if (number()?, number()?) != (run, block) {
            return Err(damaged("it belongs elsewhere"));
        }
        self.left = number()?;
        let mut lens = [0; STREAMS];
        for len in &mut lens {
            *len = number()? as usize;
        }
        for (start, len) in self.at.iter_mut().zip(lens) {
            *start = at;
            at = at.saturating_add(len);
        }
        if at != self.bytes.len() {
            self.left = 0;
            return Err(damaged("its parts do not add up"));
        }
        self.state.clear();
        self.value = 0;
        Ok(())
    }

    pub fn left(&self) -> u64 {
        self.left
    }

    /// Moves to the next entry; returns whether there is one.
    #[inline]
    pub fn advance(&mut self) -> io::Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        match self.step() {
            Some(()) => {
                self.left -= 1;
                Ok(true)
            }
            None => {
                self.left = 0;
                Err(damaged("an entry makes no sense"))
            }
        }
    }

    #[inline]
    fn step(&mut self) -> Option<()> {
        let BlockDecoder { bytes, at, state, .. } = self;
        let before = state.len();
        let change = unzigzag(get(bytes, &mut at[LENS])?);
        if change != 0 {
            let len = before.checked_add_signed(change as isize).filter(|&len| len <= MOST_BYTES)?;
            state.resize(len, 0);
        }
        let mut same = before.min(state.len());
        let mut place = 0;
        let count = get(bytes, &mut at[COUNTS])?;
        for number in 0..count {
            place += get(bytes, &mut at[GAPS])? as usize;
            let byte = state.get_mut(place)?;
            *byte = byte.wrapping_add(*bytes.get(at[BYTES])?);
            at[BYTES] += 1;
            if number == 0 {
                same = same.min(place);
            }
            place += 1;
        }
        self.same = same;
        self.value = self.value.wrapping_add(unzigzag(get(bytes, &mut at[VALUES])?) as u64);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(states: &[(Vec<u8>, u64)], checksum: bool) -> Vec<u8> {
        let mut zstd = zstd::bulk::Compressor::new(1).unwrap();
        zstd.include_checksum(checksum).unwrap();
        let mut block = BlockEncoder::default();
        states.iter().for_each(|(state, value)| block.push(state, *value));
        block.finish(7, 3, &mut zstd).unwrap()
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(mut states: Vec<(Vec<u8>, u64)>) {
            states.sort();
            states.dedup_by(|a, b| a.0 == b.0);
            let packed = packed(&states, true);
            let mut zstd = zstd::bulk::Decompressor::new().unwrap();
            let mut block = BlockDecoder::default();
            block.begin(&packed, 7, 3, &mut zstd).unwrap();
            let mut before: Vec<u8> = Vec::new();
            for (state, value) in &states {
                prop_assert!(block.advance().unwrap());
                prop_assert_eq!((&block.state, block.value), (state, *value));
                prop_assert_eq!(block.same, common(&before, state));
                before.clone_from(state);
            }
            prop_assert!(!block.advance().unwrap());
            prop_assert!(block.begin(&packed, 7, 4, &mut zstd).is_err());
        }
    }

    /// With the checksum all damage is detected; without it nothing panics.
    #[test]
    fn damage_is_noticed() {
        let states: Vec<(Vec<u8>, u64)> = (0..500_u64).map(|n| ((n * n).to_be_bytes().to_vec(), n % 7)).collect();
        for checksum in [true, false] {
            let good = packed(&states, checksum);
            let mut zstd = zstd::bulk::Decompressor::new().unwrap();
            for position in 0..good.len() {
                let mut bad = good.clone();
                bad[position] ^= 1 << (position % 8);
                let mut block = BlockDecoder::default();
                let mut read = block.begin(&bad, 7, 3, &mut zstd);
                let mut found = Vec::new();
                while read.is_ok() {
                    match block.advance() {
                        Ok(true) => found.push((block.state.clone(), block.value)),
                        Ok(false) => break,
                        Err(error) => read = Err(error),
                    }
                }
                // Some bits of a frame's header have no effect.
                assert!(!checksum || read.is_err() || found == states, "byte {position}");
            }
        }
    }
}
