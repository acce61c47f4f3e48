//! One way catch them young (Fisler and others, 2001; Černá and Pelánek, 2003), backward: states
//! that cannot reach an accepting state are removed, then states without a remaining successor, and
//! so on in turns. If any states remain at the end, they contain an accepting cycle. If all states
//! of a component are accepting or none is, it is enough to keep the accepting states and to
//! remove, once, those without a successor among them.

use crate::actor::{Actor, Outbox, Turn};
use crate::flow::Abandoned;
use crate::seat::Seat;
use crate::share::{Share, Vertex};
use crate::wire::{Cursor, put_number};

/// The number of vertices that are processed between two receptions of messages.
const PIECE: usize = 1 << 12;

/// A worker's view of the remaining states.
struct Left<'s, 'a> {
    share: &'s Share<'a>,
    alive: Vec<bool>,
    /// The states that were found to stay; in the second half of a turn, the remaining states.
    stay: Vec<bool>,
    /// The number of successors of each state that stay.
    out: Vec<u32>,
    queue: Vec<usize>,
    half: Half,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    /// States that reach an accepting one are marked.
    Reach,
    /// States without successors are removed.
    Eliminate,
}

impl Left<'_, '_> {
    fn meet(&mut self, number: usize) {
        match self.half {
            Half::Reach if self.alive[number] => {
                self.out[number] += 1;
                if !self.stay[number] {
                    self.stay[number] = true;
                    self.queue.push(number);
                }
            }
            Half::Eliminate if self.stay[number] => {
                self.out[number] -= 1;
                if self.out[number] == 0 {
                    self.stay[number] = false;
                    self.queue.push(number);
                }
            }
            _ => {}
        }
    }

    fn reach(&mut self) {
        self.half = Half::Reach;
        self.stay.fill(false);
        self.out.fill(0);
        for number in 0..self.alive.len() {
            if self.alive[number] && self.share.accepting[number] {
                self.stay[number] = true;
                self.queue.push(number);
            }
        }
    }

    fn eliminate(&mut self) {
        self.half = Half::Eliminate;
        for number in 0..self.stay.len() {
            if self.stay[number] && self.out[number] == 0 {
                self.stay[number] = false;
                self.queue.push(number);
            }
        }
    }
}

impl Actor for Left<'_, '_> {
    fn receive(&mut self, _: u64, _: usize, bytes: &[u8]) {
        let mut cursor = Cursor(bytes);
        while let Some(number) = cursor.number() {
            if (number as usize) < self.alive.len() {
                self.meet(number as usize);
            }
        }
    }

    fn work(&mut self, out: &mut Outbox) -> Turn {
        let share = self.share;
        for _ in 0..PIECE {
            let Some(number) = self.queue.pop() else { return Turn::Rest };
            for source in share.sources(number) {
                if source.worker() == out.me() {
                    self.meet(source.number());
                } else {
                    out.send(source.worker(), |record| put_number(record, source.number() as u64));
                }
            }
        }
        Turn::More
    }
}

/// The remaining states of this worker; `None` if no state remains anywhere. `weak` says that all
/// states of a component are accepting, or none is.
pub(crate) fn young(seat: &mut Seat<'_>, share: &Share<'_>, weak: bool) -> Result<Option<Vec<bool>>, Abandoned> {
    let len = share.len();
    let alive = if weak { share.accepting.clone() } else { vec![true; len] };
    let mut left = Left { share, alive, stay: vec![false; len], out: vec![0; len], queue: Vec::new(), half: Half::Reach };
    let mut before = u64::MAX;
    loop {
        left.reach();
        seat.drive(&mut left)?;
        left.queue.clear();
        left.eliminate();
        seat.drive(&mut left)?;
        left.queue.clear();
        left.alive.clone_from(&left.stay);
        let mine = left.alive.iter().filter(|&&alive| alive).count() as u64;
        let (all, stopped) = tally(seat, mine)?;
        if all == 0 || stopped {
            return Ok(None);
        }
        if all == before || weak {
            return Ok(Some(left.alive));
        }
        before = all;
    }
}

/// The sum of the workers' numbers, and whether any worker was told to stop; all get the same
/// answer.
pub(crate) fn tally(seat: &mut Seat<'_>, mine: u64) -> Result<(u64, bool), Abandoned> {
    let mut bytes = mine.to_le_bytes().to_vec();
    bytes.push(u8::from(seat.shared().is_stopped()));
    let all = seat.gather(&bytes)?;
    let sum = all.iter().filter_map(|bytes| bytes.first_chunk()).map(|bytes| u64::from_le_bytes(*bytes)).sum();
    Ok((sum, all.iter().any(|bytes| bytes.last() == Some(&1))))
}

/// One of the states that the workers propose; it is the same everywhere.
pub(crate) fn choose(seat: &mut Seat<'_>, mine: Option<Vertex>) -> Result<Option<Vertex>, Abandoned> {
    let bytes = mine.map_or(Vec::new(), |vertex| vertex.0.to_le_bytes().to_vec());
    let all = seat.gather(&bytes)?;
    Ok(all.iter().filter_map(|bytes| bytes.first_chunk()).map(|bytes| Vertex(u64::from_le_bytes(*bytes))).min())
}
