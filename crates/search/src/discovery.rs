//! Records on external storage of how each state was discovered. A search that deletes states needs
//! them for its traces.
//!
//! Each worker appends a record for each state it discovers: the number of its predecessor's
//! record, and the index of the step. The records of a layer are written in one piece when the
//! layer is done. A trace is read backward from record to record. A state that was deleted and
//! discovered again has several records, and a record refers to the latest record that its
//! predecessor had when it was made. So the numbers decrease on the way back, and the way ends at
//! an initial state. (Looking up *any* record of a predecessor by its state, as the method was
//! first described, can loop.)

use crate::links::Link;
use crate::retrace::Choice;
use crate::spill::Spill;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// The size of a record: the link of the predecessor and the index of the step.
const RECORD: usize = 9;
const LINK_BYTES: usize = 5;

/// The bits of a link that number the record; the bits above number the worker.
const NUMBER_BITS: u32 = 34;

/// The most workers that a link can distinguish.
pub(crate) const MOST_WORKERS: usize = 60;

/// A shorter piece is written together with the next layer's.
const LEAST_PIECE: usize = 1 << 16;

/// One worker's records.
pub(crate) struct Discoveries {
    worker: u64,
    /// The pieces that were written: the number of the first record, and the number of the block.
    written: Vec<(u64, u64)>,
    /// The number of the first record that was not written, and all such records.
    first: u64,
    tail: Vec<u8>,
}

impl Discoveries {
    pub fn new(worker: usize) -> Discoveries {
        Discoveries { worker: worker as u64, written: Vec::new(), first: 0, tail: Vec::new() }
    }

    /// Appends a record and returns its link.
    #[inline]
    pub fn push(&mut self, parent: Link, index: u32) -> Link {
        let number = self.first + (self.tail.len() / RECORD) as u64;
        let mut record = [0; RECORD];
        record[..LINK_BYTES].copy_from_slice(&parent.to_bits().to_le_bytes()[..LINK_BYTES]);
        record[LINK_BYTES..].copy_from_slice(&index.to_le_bytes());
        self.tail.extend_from_slice(&record);
        Link::from_bits(self.worker << NUMBER_BITS | number)
    }

    /// Writes the records that the layer has added, if there is storage and they are enough for a
    /// piece; `blocks` counts the pieces of all workers.
    pub fn flush(&mut self, spill: Option<&Spill<'_>>, blocks: &AtomicU64) -> io::Result<()> {
        let Some(spill) = spill.filter(|_| self.tail.len() >= LEAST_PIECE) else { return Ok(()) };
        let block = blocks.fetch_add(1, Ordering::Relaxed);
        spill.blocks().write(block, &self.tail)?;
        self.written.push((self.first, block));
        self.first += (self.tail.len() / RECORD) as u64;
        self.tail.clear();
        Ok(())
    }

    /// The memory held.
    pub fn bytes(&self) -> u64 {
        (self.tail.capacity() + self.written.capacity() * 16) as u64
    }
}

/// The steps by which the state with this link was reached, from the initial state on; `None` if
/// the records cannot be read.
pub(crate) fn path(logs: &[Discoveries], spill: Option<&Spill<'_>>, at: Link) -> Option<Vec<Choice>> {
    let mut choices = Vec::new();
    let mut at = at;
    // The piece read last, with its worker and the number of its first record.
    let (mut piece, mut of) = (Vec::new(), None);
    while at != Link::NONE {
        let (worker, number) = ((at.to_bits() >> NUMBER_BITS) as usize, at.to_bits() & ((1 << NUMBER_BITS) - 1));
        let log = logs.get(worker)?;
        let record = if number >= log.first {
            record(&log.tail, number - log.first)?
        } else {
            let (first, block) = *log.written[..log.written.partition_point(|(first, _)| *first <= number)].last()?;
            if of != Some((worker, first)) {
                piece.clear();
                spill?.blocks().read(block, &mut piece).ok()?;
                of = Some((worker, first));
            }
            record(&piece, number - first)?
        };
        choices.push(Choice::Index(record.1));
        at = record.0;
    }
    choices.reverse();
    Some(choices)
}

fn record(piece: &[u8], number: u64) -> Option<(Link, u32)> {
    let at = usize::try_from(number).ok()?.checked_mul(RECORD)?;
    let (link, index) = piece.get(at..at + RECORD)?.split_at(LINK_BYTES);
    let mut bits = [0; 8];
    bits[..LINK_BYTES].copy_from_slice(link);
    Some((Link::from_bits(u64::from_le_bytes(bits)), u32::from_le_bytes(index.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spill::MemoryBlocks;
    use std::sync::Mutex;

    #[test]
    fn the_way_back_is_read_from_pieces() {
        let blocks = Mutex::new(MemoryBlocks::default());
        for spill in [None, Some(Spill { blocks: &blocks, keep: 0 })] {
            let count = AtomicU64::new(0);
            let mut logs = [Discoveries::new(0), Discoveries::new(1)];
            let mut at = Link::NONE;
            for n in 0..50_000_u32 {
                at = logs[n as usize % 2].push(at, n * 3);
                if n % 1000 == 999 {
                    logs.iter_mut().for_each(|log| log.flush(spill.as_ref(), &count).expect("room"));
                }
            }
            let expected: Vec<Choice> = (0..50_000).map(|n| Choice::Index(n * 3)).collect();
            assert_eq!(path(&logs, spill.as_ref(), at), Some(expected));
            assert_eq!(count.load(Ordering::Relaxed) > 4, spill.is_some());
        }
        let mut alone = [Discoveries::new(0)];
        let link = alone[0].push(Link::from_bits(7 << NUMBER_BITS), 0);
        assert_eq!(path(&alone, None, link), None, "a record of nobody");
    }
}
