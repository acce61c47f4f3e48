//! How each state was reached: its predecessor, on whichever worker, and the step.
//!
//! Each worker has a log of the states it owns. A link names a log and a position in it. The log of
//! a worker has the worker's number; the logs of a saved search follow.

use crate::actor::{Actor, Outbox, Turn};
use crate::flow::Abandoned;
use crate::seat::Seat;
use crate::wire::{Cursor, put_number};
use std::collections::BTreeMap;

/// The number of bits for a position in a log.
const PLACE_BITS: u32 = 40;

/// Names a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link(pub u64);

impl Link {
    /// No state: the predecessor of an initial state.
    pub const NONE: Link = Link(u64::MAX);

    /// The state at a position of a log.
    pub fn new(log: usize, place: u64) -> Link {
        Link((log as u64) << PLACE_BITS | place)
    }

    /// The number of the log.
    pub fn log(self) -> usize {
        (self.0 >> PLACE_BITS) as usize
    }

    /// The position in the log.
    pub fn place(self) -> u64 {
        self.0 & ((1 << PLACE_BITS) - 1)
    }
}

/// The number of entries of a log that are read together.
const BLOCK: u64 = 64;
/// The size of a piece of memory, and the most bytes of a block.
const PIECE: usize = 1 << 16;
const BLOCK_BYTES: usize = BLOCK as usize * 25;

/// The log of a worker. States that are found one after the other have predecessors near each
/// other. So an entry is the number of the log plus one, or 0 for none, then the distance to the
/// place before, then the step: four bytes are usual. Memory is taken piece by piece, because a log
/// is a large part of the memory of a search.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pieces: Vec<Vec<u8>>,
    /// The piece of each block, and where it begins there.
    blocks: Vec<(u32, u32)>,
    len: u64,
    /// The place in the last entry.
    last: u64,
}

impl Log {
    /// Appends a state that was reached from `from` by the step with this index.
    #[inline]
    pub fn push(&mut self, from: Link, choice: u32) {
        if self.len.is_multiple_of(BLOCK) {
            self.begin_block();
        }
        self.len += 1;
        let Some(piece) = self.pieces.last_mut() else { return };
        if from == Link::NONE {
            piece.push(0);
        } else {
            put_number(piece, from.log() as u64 + 1);
            let distance = from.place().wrapping_sub(self.last) as i64;
            put_number(piece, (distance << 1 ^ distance >> 63) as u64);
            self.last = from.place();
        }
        put_number(piece, u64::from(choice));
    }

    #[cold]
    fn begin_block(&mut self) {
        if self.pieces.last().is_none_or(|piece| piece.len() + BLOCK_BYTES > PIECE) {
            // A log with few entries stays small.
            self.pieces.push(if self.pieces.is_empty() { Vec::new() } else { Vec::with_capacity(PIECE) });
        }
        let at = self.pieces.last().map_or(0, Vec::len);
        self.blocks.push((self.pieces.len() as u32 - 1, at as u32));
        self.last = 0;
    }

    /// The number of states.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The predecessor and the step of a state.
    pub fn get(&self, place: u64) -> Option<(Link, u32)> {
        self.block(place / BLOCK).nth((place % BLOCK) as usize)
    }

    /// All entries in order.
    pub fn entries(&self) -> impl Iterator<Item = (Link, u32)> + '_ {
        (0..self.blocks.len() as u64).flat_map(|block| self.block(block))
    }

    fn block(&self, number: u64) -> impl Iterator<Item = (Link, u32)> + '_ {
        let bytes = usize::try_from(number).ok().and_then(|number| {
            let &(piece, at) = self.blocks.get(number)?;
            self.pieces.get(piece as usize)?.get(at as usize..)
        });
        let mut cursor = Cursor(bytes.unwrap_or_default());
        let mut last = 0_u64;
        let left = self.len.saturating_sub(number.saturating_mul(BLOCK)).min(BLOCK);
        (0..left).map_while(move |_| {
            let from = match cursor.number()?.checked_sub(1) {
                None => Link::NONE,
                Some(log) => {
                    let distance = cursor.number()?;
                    last = last.wrapping_add((distance >> 1) ^ (distance & 1).wrapping_neg());
                    Link::new(log as usize, last)
                }
            };
            Some((from, cursor.number()? as u32))
        })
    }

    /// Memory, in bytes.
    pub fn bytes(&self) -> u64 {
        let pieces = self.pieces.len().saturating_sub(1) * PIECE + self.pieces.last().map_or(0, Vec::capacity);
        (pieces + self.blocks.capacity() * size_of::<(u32, u32)>()) as u64
    }
}

/// The steps from an initial state to the state of link `end`; only worker 0 gets them. Every
/// worker calls this with its logs; `end` is the same everywhere.
pub fn path(seat: &mut Seat<'_>, logs: &BTreeMap<usize, &Log>, end: Link) -> Result<Option<Vec<u32>>, Abandoned> {
    let me = seat.me();
    let mut walk = Walk { logs, workers: seat.workers(), token: None, answer: None, begin: logs.contains_key(&end.log()).then_some(end) };
    seat.drive_to_the_end(&mut walk)?;
    let answer = if me == 0 { walk.answer } else { None };
    Ok(answer.map(|mut steps| {
        steps.reverse();
        steps
    }))
}

/// A token that passes from log to log, backward along the path, and collects the steps.
struct Walk<'a> {
    logs: &'a BTreeMap<usize, &'a Log>,
    workers: usize,
    begin: Option<Link>,
    token: Option<(Link, Vec<u32>)>,
    answer: Option<Vec<u32>>,
}

const TOKEN: u8 = 0;
const ANSWER: u8 = 1;

impl Actor for Walk<'_> {
    fn receive(&mut self, _: u64, _: usize, bytes: &[u8]) {
        let mut cursor = Cursor(bytes);
        let (Some(kind), Some(at)) = (cursor.byte(), cursor.number()) else { return };
        let mut steps = Vec::new();
        while let Some(step) = cursor.number() {
            steps.push(step as u32);
        }
        match kind {
            ANSWER => self.answer = Some(steps),
            // The log belongs to no worker, so the path is lost.
            _ if self.logs.contains_key(&Link(at).log()) => self.token = Some((Link(at), steps)),
            _ => {}
        }
    }

    fn work(&mut self, out: &mut Outbox) -> Turn {
        if let Some(begin) = self.begin.take() {
            self.token = Some((begin, Vec::new()));
        }
        let Some((mut at, mut steps)) = self.token.take() else { return Turn::Rest };
        while let Some((from, choice)) = self.logs.get(&at.log()).and_then(|log| log.get(at.place())) {
            steps.push(choice);
            at = from;
            if at == Link::NONE {
                break;
            }
        }
        let (to, kind) = if at == Link::NONE { (0, ANSWER) } else { (at.log() % self.workers, TOKEN) };
        if kind == TOKEN && self.logs.contains_key(&at.log()) {
            // The position does not exist: the log is damaged, and the path is lost.
            return Turn::Rest;
        }
        out.send(to, |record| {
            record.push(kind);
            put_number(record, at.0);
            steps.iter().for_each(|&step| put_number(record, u64::from(step)));
        });
        Turn::Rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_gives_back_what_it_was_given_in_a_few_bytes() {
        let (mut log, mut random) = (Log::default(), 3);
        let mut below = |bound: u64| splitmix::next(&mut random) % bound;
        let entries: Vec<(Link, u32)> = (0..100_000_u64)
            .map(|number| match below(50) {
                0 => (Link::NONE, below(1 << 32) as u32),
                1 => (Link::new(below(1 << 20) as usize, below(1 << PLACE_BITS)), u32::MAX),
                other => (Link::new(other as usize % 4, number / 2 + below(100)), other as u32 % 5),
            })
            .collect();
        entries.iter().for_each(|&(from, choice)| log.push(from, choice));
        assert_eq!(log.len(), entries.len() as u64);
        assert!(log.entries().eq(entries.iter().copied()));
        assert!((0..entries.len()).step_by(37).all(|place| log.get(place as u64) == Some(entries[place])));
        assert!(log.get(log.len()).is_none() && log.get(u64::MAX).is_none());
        assert!(log.bytes() < 6 * log.len(), "{}", log.bytes());
        assert!(Log::default().get(0).is_none());
    }
}
