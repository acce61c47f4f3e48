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

/// The log of a worker.
#[derive(Clone, Debug, Default)]
pub struct Log {
    from: Vec<u64>,
    choices: Vec<u32>,
}

impl Log {
    /// Appends a state that was reached from `from` by the step with this index.
    #[inline]
    pub fn push(&mut self, from: Link, choice: u32) {
        self.from.push(from.0);
        self.choices.push(choice);
    }

    /// The number of states.
    pub fn len(&self) -> u64 {
        self.from.len() as u64
    }

    /// The predecessor and the step of a state.
    pub fn get(&self, place: u64) -> Option<(Link, u32)> {
        let place = usize::try_from(place).ok()?;
        Some((Link(*self.from.get(place)?), self.choices[place]))
    }

    /// Memory, in bytes.
    pub fn bytes(&self) -> u64 {
        (self.from.capacity() * 8 + self.choices.capacity() * 4) as u64
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
