//! Checkpoints of a distributed search. At the beginning of a level each worker writes its states,
//! its log and the states of the level to a part of its own. When all parts of a level are written,
//! worker 0 declares them the checkpoint. A worker that continues reads all parts and takes the
//! states it owns, so the number of workers may be different then.

use crate::links::{Link, Log};
use crate::reach::Counts;
use crate::wire::{Cursor, put_bytes, put_number};
use contract::{Saveable, StoreFull};
use std::fmt;
use std::io::{self, Read, Write};
use std::time::Duration;

/// Writes a part of the checkpoint at a level, by calling the function it is given.
pub type WritePart<'a> = dyn Fn(u64, &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> + 'a;
/// Opens a part of a checkpoint, by the number of the worker that has written it.
pub type OpenPart<'a> = dyn Fn(u64) -> io::Result<Box<dyn Read>> + 'a;

/// The saving of a search.
#[derive(Clone, Copy)]
pub struct Saving<'a> {
    /// The interval.
    pub every: Duration,
    /// Writes a part.
    pub write: &'a WritePart<'a>,
    /// Declares all parts of a level complete. Called by worker 0.
    pub complete: &'a (dyn Fn(u64) -> io::Result<()> + 'a),
}

/// The point from which a search continues.
#[derive(Clone, Copy)]
pub struct Resume<'a> {
    /// The level.
    pub depth: u64,
    /// The number of workers that have written it.
    pub parts: u64,
    /// Opens a part.
    pub open: &'a OpenPart<'a>,
}

/// Why a part cannot be used.
#[derive(Debug)]
pub(crate) enum PartError {
    Io(io::Error),
    Damaged,
    Full(StoreFull),
}

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartError::Io(error) => write!(f, "the checkpoint cannot be read: {error}"),
            PartError::Damaged => f.write_str("the checkpoint is damaged"),
            PartError::Full(full) => full.fmt(f),
        }
    }
}

impl From<io::Error> for PartError {
    fn from(error: io::Error) -> PartError {
        if error.kind() == io::ErrorKind::UnexpectedEof { PartError::Damaged } else { PartError::Io(error) }
    }
}

const MAGIC: &[u8; 16] = b"everypath-level1";
/// Whether a file that begins with these bytes, at most sixteen of them, may be a part of a
/// checkpoint, perhaps one that was not written to its end.
pub fn may_be_part(head: &[u8]) -> bool {
    MAGIC.starts_with(head)
}

/// The longest record.
const RECORD_MAX: u64 = 1 << 28;

/// Writes records: bytes after their length; all of them are part of the checksum.
struct Records<'w> {
    to: &'w mut dyn Write,
    sum: u64,
}

impl Records<'_> {
    fn put(&mut self, record: &[u8]) -> io::Result<()> {
        let mut head = Vec::new();
        put_number(&mut head, record.len() as u64 + 1);
        self.sum = store::hash_seeded(record, self.sum);
        self.to.write_all(&head)?;
        self.to.write_all(record)
    }

    fn end_of_list(&mut self) -> io::Result<()> {
        self.to.write_all(&[0])
    }
}

/// Receives a state of a level, with its predecessor and the choice there.
pub(crate) type TakeState<'a> = dyn FnMut(Link, u32, &[u8]) -> io::Result<()> + 'a;

/// The data that a worker saves.
pub(crate) struct Standing<'a> {
    pub depth: u64,
    pub counts: Counts,
    /// The logs that this worker has, by their numbers.
    pub logs: Vec<(usize, &'a Log)>,
    pub store: &'a dyn Saveable,
    /// Visited states that are not in the store.
    pub beside: Vec<&'a [u8]>,
    /// The states of the level, with their predecessors.
    pub level: &'a mut dyn FnMut(&mut TakeState<'_>) -> io::Result<()>,
}

/// Writes a part.
pub(crate) fn write(standing: &mut Standing<'_>, to: &mut dyn Write) -> io::Result<()> {
    to.write_all(MAGIC)?;
    let mut records = Records { to, sum: 0 };
    let Counts { states, transitions, depth, expanded, cross, sent, spared, .. } = standing.counts;
    let mut head = Vec::new();
    for number in [standing.depth, states, transitions, depth, expanded, cross, sent, spared] {
        put_number(&mut head, number);
    }
    records.put(&head)?;
    records.end_of_list()?;
    for (number, log) in &standing.logs {
        let mut record = Vec::new();
        for (place, (from, choice)) in (0_u64..).zip(log.entries()) {
            if record.is_empty() {
                put_number(&mut record, *number as u64);
                put_number(&mut record, place);
            }
            record.extend_from_slice(&from.0.to_le_bytes());
            put_number(&mut record, u64::from(choice));
            if record.len() > 1 << 16 {
                records.put(&record)?;
                record.clear();
            }
        }
        if !record.is_empty() {
            records.put(&record)?;
        }
    }
    records.end_of_list()?;
    let mut failed = Ok(());
    let saved = standing.store.save(states, &mut |state| {
        failed = records.put(state);
        failed.is_ok()
    });
    failed?;
    if !saved {
        return Err(io::Error::other("the states could not be saved"));
    }
    standing.beside.iter().try_for_each(|state| records.put(state))?;
    records.end_of_list()?;
    let mut record = Vec::new();
    (standing.level)(&mut |from, choice, state| {
        record.clear();
        record.extend_from_slice(&from.0.to_le_bytes());
        put_number(&mut record, u64::from(choice));
        put_bytes(&mut record, state);
        records.put(&record)
    })?;
    records.end_of_list()?;
    let sum = records.sum;
    to.write_all(&sum.to_le_bytes())?;
    to.flush()
}

/// Reads records one after the other.
struct Reading<'r> {
    from: &'r mut dyn Read,
    sum: u64,
    record: Vec<u8>,
}

impl Reading<'_> {
    /// The next record of a list; `None` at its end.
    fn next(&mut self) -> Result<Option<&[u8]>, PartError> {
        let mut len = 0;
        for index in 0..10 {
            let mut byte = [0];
            self.from.read_exact(&mut byte)?;
            len |= u64::from(byte[0] & 0x7f) << (7 * index);
            if byte[0] < 0x80 {
                break;
            }
        }
        let Some(len) = len.checked_sub(1) else { return Ok(None) };
        if len > RECORD_MAX {
            return Err(PartError::Damaged);
        }
        self.record.clear();
        let read = (&mut *self.from).take(len).read_to_end(&mut self.record)?;
        if read as u64 != len {
            return Err(PartError::Damaged);
        }
        self.sum = store::hash_seeded(&self.record, self.sum);
        Ok(Some(&self.record))
    }
}

/// Receives the contents of a part as it is read.
pub(crate) trait Reader {
    fn counts(&mut self, counts: Counts);
    fn link(&mut self, log: usize, place: u64, from: Link, choice: u32) -> Result<(), PartError>;
    fn state(&mut self, state: &[u8]) -> Result<(), PartError>;
    fn waiting(&mut self, from: Link, choice: u32, state: &[u8]) -> Result<(), PartError>;
}

/// Reads a part of the checkpoint at a level.
pub(crate) fn read(depth: u64, from: &mut dyn Read, to: &mut dyn Reader) -> Result<(), PartError> {
    let mut magic = [0; 16];
    from.read_exact(&mut magic)?;
    if &magic != MAGIC {
        return Err(PartError::Damaged);
    }
    let mut records = Reading { from, sum: 0, record: Vec::new() };
    let mut head = [0; 8];
    {
        let mut cursor = Cursor(records.next()?.ok_or(PartError::Damaged)?);
        for number in &mut head {
            *number = cursor.number().ok_or(PartError::Damaged)?;
        }
    }
    let [at, states, transitions, deepest, expanded, cross, sent, spared] = head;
    if at != depth || records.next()?.is_some() {
        return Err(PartError::Damaged);
    }
    to.counts(Counts { states, transitions, depth: deepest, expanded, cross, sent, spared, passed_on: 0, truncated: false });
    let link = |cursor: &mut Cursor<'_>| -> Option<(Link, u32)> {
        let from = u64::from_le_bytes(*cursor.take(8)?.first_chunk()?);
        Some((Link(from), cursor.number()? as u32))
    };
    while let Some(record) = records.next()? {
        let mut cursor = Cursor(record);
        let (Some(log), Some(first)) = (cursor.number(), cursor.number()) else { return Err(PartError::Damaged) };
        let mut place = first;
        while !cursor.is_empty() {
            let (from, choice) = link(&mut cursor).ok_or(PartError::Damaged)?;
            to.link(log as usize, place, from, choice)?;
            place += 1;
        }
    }
    while let Some(state) = records.next()? {
        to.state(state)?;
    }
    while let Some(record) = records.next()? {
        let mut cursor = Cursor(record);
        let (from, choice) = link(&mut cursor).ok_or(PartError::Damaged)?;
        to.waiting(from, choice, cursor.bytes().ok_or(PartError::Damaged)?)?;
    }
    let sum = records.sum;
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    if u64::from_le_bytes(bytes) == sum { Ok(()) } else { Err(PartError::Damaged) }
}
