//! Maximal accepting predecessors (Brim, Černá, Moravec and Šimša, 2004), backward: each state
//! learns the largest accepting state that it can reach. An accepting state that learns of itself
//! is on a cycle. If there is none, no state that another one has learnt of is on an accepting
//! cycle. These states are then no longer accepting, and the computation is repeated until no state
//! learns of another.

use crate::actor::{Actor, Outbox, Turn};
use crate::flow::Abandoned;
use crate::seat::Seat;
use crate::share::{Share, Vertex};
use crate::wire::{Cursor, put_number};
use crate::young::{choose, tally};

const PIECE: usize = 1 << 12;

struct Values<'s, 'a> {
    share: &'s Share<'a>,
    /// The states that take part.
    alive: &'s [bool],
    accepting: Vec<bool>,
    /// The largest accepting state that is known to be reachable, plus one; 0 if there is none.
    value: Vec<u64>,
    queued: Vec<bool>,
    queue: Vec<usize>,
    found: Option<usize>,
    /// Whether the values are sent to the states that they name, or from state to state.
    telling: bool,
}

impl Values<'_, '_> {
    fn name(&self, number: usize) -> u64 {
        self.share.vertex(number).0 + 1
    }

    fn meet(&mut self, number: usize, value: u64) {
        if self.telling {
            self.accepting[number] = false;
            return;
        }
        if !self.alive[number] || value <= self.value[number] {
            return;
        }
        self.value[number] = value;
        if self.accepting[number] && value == self.name(number) {
            self.found.get_or_insert(number);
        }
        if !self.queued[number] {
            self.queued[number] = true;
            self.queue.push(number);
        }
    }
}

impl Actor for Values<'_, '_> {
    fn receive(&mut self, _: u64, _: usize, bytes: &[u8]) {
        let mut cursor = Cursor(bytes);
        while let (Some(number), Some(value)) = (cursor.number(), cursor.number()) {
            if (number as usize) < self.value.len() {
                self.meet(number as usize, value);
            }
        }
    }

    fn work(&mut self, out: &mut Outbox) -> Turn {
        let share = self.share;
        for _ in 0..PIECE {
            let Some(number) = self.queue.pop() else { return Turn::Rest };
            let value = if self.accepting[number] { self.value[number].max(self.name(number)) } else { self.value[number] };
            if self.telling {
                let named = Vertex(self.value[number] - 1);
                out.send(named.worker(), |record| {
                    put_number(record, named.number() as u64);
                    put_number(record, 0);
                });
                continue;
            }
            self.queued[number] = false;
            for source in share.sources(number) {
                if source.worker() == out.me() {
                    self.meet(source.number(), value);
                } else {
                    out.send(source.worker(), |record| {
                        put_number(record, source.number() as u64);
                        put_number(record, value);
                    });
                }
            }
        }
        Turn::More
    }
}

/// A state on an accepting cycle among the `alive` states, if there is one.
pub(crate) fn predecessors(seat: &mut Seat<'_>, share: &Share<'_>, alive: &[bool]) -> Result<Option<Vertex>, Abandoned> {
    let len = share.len();
    let mut values = Values {
        share,
        alive,
        accepting: share.accepting.clone(),
        value: vec![0; len],
        queued: vec![false; len],
        queue: Vec::new(),
        found: None,
        telling: false,
    };
    loop {
        values.telling = false;
        values.value.fill(0);
        values.queued.fill(false);
        values.queue = (0..len).filter(|&number| values.accepting[number] && alive[number]).collect();
        values.queue.iter().for_each(|&number| values.queued[number] = true);
        seat.drive(&mut values)?;
        values.queue.clear();
        if let Some(found) = choose(seat, values.found.map(|number| share.vertex(number)))? {
            return Ok(Some(found));
        }
        values.telling = true;
        values.queue = (0..len).filter(|&number| values.value[number] > 0).collect();
        let mine = values.queue.len() as u64;
        seat.drive(&mut values)?;
        values.queue.clear();
        let (all, stopped) = tally(seat, mine)?;
        if all == 0 || stopped {
            return Ok(None);
        }
    }
}
