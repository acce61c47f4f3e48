//! A sorted sequence of states, written once and read forward.
//!
//! A run is a sequence of blocks and, at its end, an index with the first state of each block and
//! the range of its values. The index stays in memory, so a [`Cursor`] reads only the blocks that
//! can contain the wanted states. A short run stays in memory; a longer one is a file.

use crate::codec::{BlockDecoder, BlockEncoder, common, damaged, get, put};
use crate::folder::{FileReader, FileWriter, Folder};
use std::cell::RefCell;
use std::cmp::Ordering;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// The usual size of a block before it is compressed, and the least.
const BLOCK_BYTES: usize = 1 << 15;
const LEAST_BLOCK_BYTES: usize = 1 << 12;
/// The most states in a block.
const BLOCK_STATES: u64 = 1 << 13;

/// The buffers of a cursor, as a multiple of a block.
const BUFFERS: u64 = 2;
/// The memory that a folder may use for a file that is being written.
const FILE_BUFFER: u64 = 1 << 17;

/// The memory of a thread for compressing and uncompressing blocks of the usual size.
pub const PACKING_BYTES: u64 = 3 << 18;

/// The end of a file: the offset and the length of the index, and these bytes.
const MAGIC: &[u8; 8] = b"ep-run-1";
const TRAILER: usize = 24;

/// A folder and the number of the next file.
pub struct Shelf<'f> {
    folder: &'f dyn Folder,
    next: AtomicU64,
    /// The approximate size of a block of a new run before it is compressed.
    block_bytes: AtomicUsize,
}

impl<'f> Shelf<'f> {
    /// The files of `folder`, in which new ones are numbered from `next` on.
    pub fn new(folder: &'f dyn Folder, next: u64) -> Shelf<'f> {
        Shelf { folder, next: AtomicU64::new(next), block_bytes: AtomicUsize::new(BLOCK_BYTES) }
    }

    /// Makes the blocks of new runs smaller if there is little memory: a cursor should take no more
    /// than `bytes` bytes. Smaller blocks are compressed less well.
    pub fn fit_cursors(&self, bytes: u64) {
        let block = (bytes / BUFFERS).clamp(LEAST_BLOCK_BYTES as u64, BLOCK_BYTES as u64);
        self.block_bytes.store(block as usize, Relaxed);
    }

    /// The memory of a cursor: the unpacked block and the packed block.
    pub fn cursor_bytes(&self) -> u64 {
        BUFFERS * self.block_bytes.load(Relaxed) as u64
    }

    /// The memory of a writer besides a run that stays in memory: the block, its packed form, and
    /// the buffer of the file.
    pub fn writer_bytes(&self) -> u64 {
        4 * self.block_bytes.load(Relaxed) as u64 + FILE_BUFFER
    }

    /// The folder.
    pub fn folder(&self) -> &'f dyn Folder {
        self.folder
    }

    /// The number that the next file gets.
    pub fn next(&self) -> u64 {
        self.next.load(Relaxed)
    }
}

/// The storage of a run.
pub enum Place {
    /// In memory.
    Memory(Vec<u8>),
    /// In a file.
    File(Box<dyn FileReader>),
}

struct BlockEntry {
    offset: u64,
    len: u32,
    states: u32,
    /// The start of its first state in [`Index::firsts`].
    first: usize,
    least: u64,
    most: u64,
}

#[derive(Default)]
struct Index {
    blocks: Vec<BlockEntry>,
    firsts: Vec<u8>,
}

impl Index {
    fn first(&self, block: usize) -> &[u8] {
        let end = self.blocks.get(block + 1).map_or(self.firsts.len(), |next| next.first);
        &self.firsts[self.blocks[block].first..end]
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put(&mut bytes, self.blocks.len() as u64);
        let mut before: &[u8] = &[];
        for (number, block) in self.blocks.iter().enumerate() {
            let first = self.first(number);
            let same = common(before, first);
            for part in [u64::from(block.len), u64::from(block.states), block.least, block.most - block.least, same as u64] {
                put(&mut bytes, part);
            }
            put(&mut bytes, (first.len() - same) as u64);
            bytes.extend_from_slice(&first[same..]);
            before = first;
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Index> {
        let mut at = 0;
        let mut index = Index::default();
        let mut before = 0..0;
        let mut offset = 0_u64;
        for _ in 0..get(bytes, &mut at)? {
            let mut number = || get(bytes, &mut at);
            let (len, states, least, range, same) = (number()?, number()?, number()?, number()?, number()?);
            let rest = number()? as usize;
            if same as usize > before.len() {
                return None;
            }
            let first = index.firsts.len();
            index.firsts.extend_from_within(before.start..before.start + same as usize);
            index.firsts.extend_from_slice(bytes.get(at..at.checked_add(rest)?)?);
            at += rest;
            before = first..index.firsts.len();
            let (len, states) = (u32::try_from(len).ok()?, u32::try_from(states).ok()?);
            index.blocks.push(BlockEntry { offset, len, states, first, least, most: least.checked_add(range)? });
            offset += u64::from(len);
        }
        (at == bytes.len()).then_some(index)
    }
}

/// A sorted sequence of different states with a number each.
pub struct Run {
    number: u64,
    place: Place,
    index: Index,
    states: u64,
    bytes: u64,
}

impl Run {
    /// The run in the file with this number.
    pub fn open(folder: &dyn Folder, number: u64) -> io::Result<Run> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("file {number}: {error}"));
        let file = folder.open(number).map_err(named)?;
        let bytes = file.len().map_err(named)?;
        let index = read_index(&*file, bytes, number).map_err(named)?;
        Ok(Run::new(number, Place::File(file), index, bytes))
    }

    fn new(number: u64, place: Place, index: Index, bytes: u64) -> Run {
        let states = index.blocks.iter().map(|block| u64::from(block.states)).sum();
        Run { number, place, index, states, bytes }
    }

    /// Its number, which is that of its file if it has one.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether it is in a file.
    pub fn is_file(&self) -> bool {
        matches!(self.place, Place::File(_))
    }

    /// The number of states.
    pub fn states(&self) -> u64 {
        self.states
    }

    /// Its length, in memory or in its file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The memory it takes.
    pub fn memory(&self) -> u64 {
        let place = if let Place::Memory(bytes) = &self.place { bytes.capacity() } else { 0 };
        (place + self.index.firsts.capacity() + self.index.blocks.capacity() * size_of::<BlockEntry>()) as u64
    }

    /// The number of blocks.
    pub fn blocks(&self) -> usize {
        self.index.blocks.len()
    }

    /// The first state of a block.
    pub fn first(&self, block: usize) -> &[u8] {
        self.index.first(block)
    }

    /// The number of states in a block.
    pub fn states_in(&self, block: usize) -> u64 {
        self.index.blocks.get(block).map_or(0, |block| block.states.into())
    }

    /// The least and the greatest number that a state of a block has.
    pub fn range_of(&self, block: usize) -> (u64, u64) {
        self.index.blocks.get(block).map_or((u64::MAX, 0), |block| (block.least, block.most))
    }

    /// The same run as a file; returns itself if it is one.
    pub fn in_file(self: &Arc<Run>, folder: &dyn Folder) -> io::Result<Arc<Run>> {
        let Place::Memory(bytes) = &self.place else { return Ok(Arc::clone(self)) };
        let mut file = folder.create(self.number)?;
        file.append(bytes)?;
        let index = with_compressor(1, |zstd| zstd.compress(&self.index.to_bytes()))?;
        end_file(file, self.number, bytes.len() as u64, &index)?;
        Run::open(folder, self.number).map(Arc::new)
    }

    fn read(&self, block: usize, buffer: &mut Vec<u8>, decoder: &mut BlockDecoder) -> io::Result<()> {
        let entry = &self.index.blocks[block];
        let packed = match &self.place {
            Place::Memory(bytes) => {
                let start = entry.offset as usize;
                bytes.get(start..start + entry.len as usize).ok_or_else(|| damaged("it is not there"))?
            }
            Place::File(file) => {
                buffer.resize(entry.len as usize, 0);
                file.read_at(entry.offset, buffer).map_err(|error| self.error(error, block))?;
                buffer
            }
        };
        with_decompressor(|zstd| decoder.begin(packed, self.number, block as u64, zstd)).map_err(|error| self.error(error, block))
    }

    fn error(&self, error: io::Error, block: usize) -> io::Error {
        io::Error::new(error.kind(), format!("file {}, block {block}: {error}", self.number))
    }
}

fn read_index(file: &dyn FileReader, bytes: u64, number: u64) -> io::Result<Index> {
    let wrong = || damaged("the end of the file is not that of a run");
    let body = bytes.checked_sub(TRAILER as u64).ok_or_else(wrong)?;
    let mut trailer = [0; TRAILER];
    file.read_at(body, &mut trailer)?;
    let word = |at: usize| trailer[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
    let (start, own) = (word(0), word(8));
    if trailer[16..] != *MAGIC || own != number || start > body {
        return Err(wrong());
    }
    let mut packed = vec![0; (body - start) as usize];
    file.read_at(start, &mut packed)?;
    let len = zstd::zstd_safe::get_frame_content_size(&packed).ok().flatten().unwrap_or(u64::MAX);
    if len > bytes.saturating_mul(1 << 10) {
        return Err(wrong());
    }
    let unpacked = with_decompressor(|zstd| zstd.decompress(&packed, len as usize)).map_err(|error| damaged(&error.to_string()))?;
    let index = Index::from_bytes(&unpacked).ok_or_else(wrong)?;
    let end = index.blocks.last().map_or(0, |block| block.offset + u64::from(block.len));
    if end == start { Ok(index) } else { Err(wrong()) }
}

/// Ends a file whose blocks end at `offset`.
fn end_file(mut file: Box<dyn FileWriter>, number: u64, offset: u64, index: &[u8]) -> io::Result<()> {
    file.append(index)?;
    file.append(&[&offset.to_le_bytes()[..], &number.to_le_bytes(), MAGIC].concat())?;
    file.finish()
}

thread_local! {
    /// A thread has one decompressor for all its cursors and one compressor for all its writers,
    /// because these are larger than a block.
    static DECOMPRESSOR: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
    static COMPRESSOR: RefCell<Option<(i32, zstd::bulk::Compressor<'static>)>> = const { RefCell::new(None) };
}

fn with_compressor<T>(effort: i32, work: impl FnOnce(&mut zstd::bulk::Compressor<'static>) -> io::Result<T>) -> io::Result<T> {
    COMPRESSOR.with_borrow_mut(|compressor| {
        let (level, zstd) = match compressor {
            Some(both) => both,
            None => {
                let mut zstd = zstd::bulk::Compressor::new(effort)?;
                zstd.include_checksum(true)?;
                compressor.insert((effort, zstd))
            }
        };
        if *level != effort {
            zstd.set_compression_level(effort)?;
            *level = effort;
        }
        work(zstd)
    })
}

fn with_decompressor<T>(work: impl FnOnce(&mut zstd::bulk::Decompressor<'static>) -> io::Result<T>) -> io::Result<T> {
    DECOMPRESSOR.with_borrow_mut(|decompressor| match decompressor {
        Some(decompressor) => work(decompressor),
        None => work(decompressor.insert(zstd::bulk::Decompressor::new()?)),
    })
}

/// Writes a run, state after state in ascending order.
pub struct RunWriter<'s> {
    shelf: &'s Shelf<'s>,
    number: u64,
    /// The number of bytes beyond which the run goes to a file.
    in_memory: u64,
    memory: Vec<u8>,
    file: Option<Box<dyn FileWriter>>,
    offset: u64,
    block: BlockEncoder,
    block_bytes: usize,
    effort: i32,
    index: Index,
    least: u64,
    most: u64,
}

impl<'s> RunWriter<'s> {
    /// A run that stays in memory up to `in_memory` bytes. A greater `effort`, which is a zstd
    /// level, compresses better and takes longer.
    pub fn new(shelf: &'s Shelf<'s>, in_memory: u64, effort: i32) -> io::Result<RunWriter<'s>> {
        let number = shelf.next.fetch_add(1, Relaxed);
        let (block, index) = (BlockEncoder::default(), Index::default());
        let block_bytes = shelf.block_bytes.load(Relaxed);
        let (memory, file, offset) = (Vec::new(), None, 0);
        Ok(RunWriter { shelf, number, in_memory, memory, file, offset, block, block_bytes, effort, index, least: u64::MAX, most: 0 })
    }

    /// Appends a state that is greater than all before it.
    pub fn push(&mut self, state: &[u8], value: u64) -> io::Result<()> {
        if self.block.entries() == 0 {
            let first = self.index.firsts.len();
            self.index.firsts.extend_from_slice(state);
            self.index.blocks.push(BlockEntry { offset: self.offset, len: 0, states: 0, first, least: 0, most: 0 });
            (self.least, self.most) = (u64::MAX, 0);
        }
        self.block.push(state, value);
        (self.least, self.most) = (self.least.min(value), self.most.max(value));
        if self.block.len() >= self.block_bytes || self.block.entries() >= BLOCK_STATES {
            self.end_block()?;
        }
        Ok(())
    }

    fn end_block(&mut self) -> io::Result<()> {
        let Some(entry) = self.index.blocks.last_mut().filter(|_| self.block.entries() > 0) else { return Ok(()) };
        entry.states = self.block.entries() as u32;
        (entry.least, entry.most) = (self.least, self.most);
        let number = self.index.blocks.len() as u64 - 1;
        let packed = with_compressor(self.effort, |zstd| self.block.finish(self.number, number, zstd))?;
        if let Some(entry) = self.index.blocks.last_mut() {
            entry.len = packed.len() as u32;
        }
        self.offset += packed.len() as u64;
        self.append(&packed)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            return file.append(bytes);
        }
        let after = self.memory.len() + bytes.len();
        if after > self.memory.capacity() {
            // The capacity does not exceed the room by more than a block.
            let room = usize::try_from(self.in_memory).unwrap_or(usize::MAX);
            self.memory.reserve_exact((2 * after).min(room.max(after)) - self.memory.len());
        }
        self.memory.extend_from_slice(bytes);
        if self.memory.len() as u64 > self.in_memory {
            let mut file = self.shelf.folder.create(self.number)?;
            let written = file.append(&self.memory);
            self.memory = Vec::new();
            self.file = Some(file);
            return written;
        }
        Ok(())
    }

    /// The number of states so far.
    pub fn states(&self) -> u64 {
        self.index.blocks.iter().map(|block| u64::from(block.states)).sum::<u64>() + self.block.entries()
    }

    /// The memory it takes.
    pub fn memory(&self) -> u64 {
        (self.memory.capacity() + self.index.firsts.capacity()) as u64 + self.shelf.writer_bytes()
    }

    /// The finished run; `None` if it has no states.
    pub fn finish(mut self) -> io::Result<Option<Run>> {
        self.end_block()?;
        if self.index.blocks.is_empty() {
            return Ok(None);
        }
        let (number, bytes) = (self.number, self.offset);
        let Some(file) = self.file.take() else {
            self.memory.shrink_to_fit();
            return Ok(Some(Run::new(number, Place::Memory(self.memory), self.index, bytes)));
        };
        let index = with_compressor(self.effort, |zstd| zstd.compress(&self.index.to_bytes()))?;
        end_file(file, number, self.offset, &index)?;
        let file = self.shelf.folder.open(number)?;
        Ok(Some(Run::new(number, Place::File(file), self.index, bytes + index.len() as u64 + TRAILER as u64)))
    }
}

/// Reads a run, or a part of it, forward.
pub struct Cursor {
    run: Arc<Run>,
    block: BlockDecoder,
    buffer: Vec<u8>,
    /// The current block, and the block after the last one to read.
    number: usize,
    end: usize,
    begun: bool,
    over: bool,
}

impl Cursor {
    /// A cursor before the first state.
    pub fn new(run: Arc<Run>) -> io::Result<Cursor> {
        let end = run.blocks();
        Cursor::within(run, 0, end)
    }

    /// A cursor before the first state of block `first`, which ends before block `end`.
    pub fn within(run: Arc<Run>, first: usize, end: usize) -> io::Result<Cursor> {
        let (block, end) = (BlockDecoder::default(), end.min(run.blocks()));
        Ok(Cursor { run, block, buffer: Vec::new(), number: first, end, begun: false, over: first >= end })
    }

    /// The run that is read.
    pub fn run(&self) -> &Arc<Run> {
        &self.run
    }

    /// The current state.
    #[inline]
    pub fn state(&self) -> &[u8] {
        &self.block.state
    }

    /// The value of the current state.
    #[inline]
    pub fn value(&self) -> u64 {
        self.block.value
    }

    /// Whether the cursor is after the last state.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// The block of the current state, and its position in the block.
    pub fn place(&self) -> (usize, u64) {
        (self.number, self.run.states_in(self.number) - self.block.left() - 1)
    }

    /// Moves to the next state; returns whether there is one.
    #[inline]
    pub fn advance(&mut self) -> io::Result<bool> {
        if self.begun && self.block.advance()? {
            return Ok(true);
        }
        self.next_block()
    }

    /// Like [`advance`](Cursor::advance), from the current state, `before`. Returns how many bytes
    /// the two states have in common; `None` at the end.
    #[inline]
    pub(crate) fn advance_from(&mut self, before: &[u8]) -> io::Result<Option<usize>> {
        if self.begun && self.block.advance()? {
            return Ok(Some(self.block.same));
        }
        Ok(self.next_block()?.then(|| common(before, self.state())))
    }

    /// Gives back the memory of a cursor that has come to its end.
    pub(crate) fn free(&mut self) {
        (self.block, self.buffer) = Default::default();
    }

    #[cold]
    fn next_block(&mut self) -> io::Result<bool> {
        if self.begun {
            self.number += 1;
        }
        self.load()
    }

    /// Loads the current block.
    fn load(&mut self) -> io::Result<bool> {
        self.begun = true;
        if self.number >= self.end {
            self.over = true;
            return Ok(false);
        }
        self.run.read(self.number, &mut self.buffer, &mut self.block)?;
        self.block.advance()
    }

    /// Moves forward to the first state that is not less than `state`, unless it is there already.
    /// Returns whether it is `state` itself.
    #[inline]
    pub fn seek(&mut self, state: &[u8]) -> io::Result<bool> {
        if self.over {
            return Ok(false);
        }
        let last = self.begun && self.number + 1 >= self.end;
        if !last && (!self.begun || self.run.first(self.number + 1) <= state) {
            self.skip(state)?;
            if self.over {
                return Ok(false);
            }
        }
        let mut equal = common(self.state(), state);
        loop {
            match order(self.state(), state, equal) {
                Ordering::Less => {}
                Ordering::Equal => return Ok(true),
                Ordering::Greater => return Ok(false),
            }
            // A state that has more in common with the current one than the wanted state has is
            // also less than the wanted state.
            loop {
                if self.block.left() == 0 {
                    // The wanted state lies before the next block, or is its first state.
                    if !self.next_block()? {
                        return Ok(false);
                    }
                    equal = common(self.state(), state);
                    break;
                }
                self.block.advance()?;
                if self.block.same < equal {
                    return Ok(false);
                }
                if self.block.same == equal {
                    equal += common(&self.state()[equal..], &state[equal..]);
                    break;
                }
            }
        }
    }

    /// Skips the blocks that end before `state`.
    #[cold]
    fn skip(&mut self, state: &[u8]) -> io::Result<()> {
        let from = self.number + usize::from(self.begun);
        let (mut low, mut high) = (from, self.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.run.first(middle) <= state { low = middle + 1 } else { high = middle }
        }
        if self.begun && low == from {
            return Ok(());
        }
        self.number = low.saturating_sub(1).max(from);
        self.load().map(drop)
    }
}

/// Compares `a` with `b`, which agree in exactly their first `equal` bytes.
#[inline]
fn order(a: &[u8], b: &[u8], equal: usize) -> Ordering {
    a.get(equal).cmp(&b.get(equal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::InMemory;
    use std::collections::BTreeMap;

    fn states(seed: u64, count: usize) -> BTreeMap<Vec<u8>, u64> {
        let mut random = seed;
        let mut below = |bound: u64| splitmix::next(&mut random) % bound;
        let mut state = || {
            let len = 10 + below(6) as usize;
            let bytes = (0..len).map(|at| below(if at < 8 { 3 } else { 40 }) as u8).collect();
            (bytes, below(100))
        };
        (0..count).map(|_| state()).collect()
    }

    fn written(shelf: &Shelf<'_>, states: &BTreeMap<Vec<u8>, u64>, in_memory: u64) -> Run {
        let mut writer = RunWriter::new(shelf, in_memory, 1).unwrap();
        states.iter().for_each(|(state, &value)| writer.push(state, value).unwrap());
        assert_eq!(writer.states(), states.len() as u64);
        writer.finish().unwrap().unwrap()
    }

    #[test]
    fn runs_are_read_and_searched() {
        let folder = InMemory::default();
        let shelf = Shelf::new(&folder, 5);
        let states = states(1, 60_000);
        let file = written(&shelf, &states, 0);
        let runs = [written(&shelf, &states, u64::MAX), Run::open(&folder, file.number()).unwrap(), file];
        assert_eq!(runs.each_ref().map(Run::is_file), [false, true, true]);
        let (present, absent) = (states.keys().step_by(7), self::states(2, 3000));
        let mut wanted: Vec<&Vec<u8>> = present.chain(absent.keys()).collect();
        wanted.sort();
        for run in runs {
            assert!(run.blocks() > 4 && run.states() == states.len() as u64);
            let run = Arc::new(run);
            let mut cursor = Cursor::new(Arc::clone(&run)).unwrap();
            for (state, &value) in &states {
                assert!(cursor.advance().unwrap());
                assert_eq!((cursor.state(), cursor.value()), (&state[..], value));
                let (block, _) = cursor.place();
                assert!(run.range_of(block).0 <= value && value <= run.range_of(block).1);
            }
            assert!(!cursor.advance().unwrap());
            for step in [1, 50, 5000] {
                let mut cursor = Cursor::new(Arc::clone(&run)).unwrap();
                for state in wanted.iter().step_by(step) {
                    let found = cursor.seek(state).unwrap();
                    assert_eq!(found, states.contains_key(*state));
                    if found {
                        assert_eq!(cursor.value(), states[*state]);
                    }
                }
            }
        }
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        let folder = InMemory::default();
        let shelf = Shelf::new(&folder, 0);
        let states = states(3, 8_000);
        let number = written(&shelf, &states, 0).number();
        let len = folder.open(number).unwrap().len().unwrap() as usize;
        for position in (0..len).step_by(997).chain(len - 60..len) {
            let damaged = folder.copy();
            damaged.damage(number, |bytes| bytes[position] ^= 0x10);
            let all = Run::open(&damaged, number).and_then(|run| {
                let mut cursor = Cursor::new(Arc::new(run))?;
                let mut all = BTreeMap::new();
                while cursor.advance()? {
                    all.insert(cursor.state().to_vec(), cursor.value());
                }
                Ok(all)
            });
            // Some bits of a frame's header have no effect.
            assert!(all.is_err() || all.is_ok_and(|all| all == states), "byte {position}");
            damaged.damage(number, |bytes| bytes.truncate(position));
            assert!(Run::open(&damaged, number).is_err());
        }
    }
}
