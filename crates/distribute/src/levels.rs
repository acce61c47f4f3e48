//! Back-level edges (Barnat, Brim and Chaloupka, 2003): every cycle has an edge that leads no
//! deeper into the breadth-first levels. After each level, the cycles through the targets of such
//! edges are searched among the known states. So an accepting cycle is found as soon as its deepest
//! level was expanded. Thirty-two targets are followed at the same time, with two bits each:
//! whether a state reaches the target, and whether it does so past an accepting state.

use crate::actor::{Actor, Outbox, Turn};
use crate::flow::Abandoned;
use crate::seat::Seat;
use crate::share::{Share, Vertex};
use crate::wire::{Cursor, put_number};
use crate::young::{choose, tally};

const PIECE: usize = 1 << 12;
/// The number of targets that are followed at the same time.
const TOGETHER: usize = 32;

struct Marks<'s, 'a> {
    share: &'s Share<'a>,
    /// For each state the targets that it reaches, and in the upper half those reached past an
    /// accepting state.
    mark: Vec<u64>,
    touched: Vec<usize>,
    queued: Vec<bool>,
    queue: Vec<usize>,
    targets: Vec<Vertex>,
    found: Option<Vertex>,
}

const UPPER: u32 = 32;

impl Marks<'_, '_> {
    fn meet(&mut self, number: usize, mark: u64) {
        let mark = if self.share.accepting[number] { mark | mark << UPPER } else { mark };
        let all = self.mark[number] | mark;
        if all == self.mark[number] {
            return;
        }
        if self.mark[number] == 0 {
            self.touched.push(number);
        }
        self.mark[number] = all;
        let vertex = self.share.vertex(number);
        if let Some(bit) = self.targets.iter().position(|&target| target == vertex)
            && all >> (UPPER as usize + bit) & 1 != 0
        {
            self.found.get_or_insert(vertex);
        }
        if !self.queued[number] {
            self.queued[number] = true;
            self.queue.push(number);
        }
    }

    fn pass(&mut self, number: usize, mark: u64, out: &mut Outbox) {
        let share = self.share;
        for source in share.sources(number) {
            if source.worker() == out.me() {
                self.meet(source.number(), mark);
            } else {
                out.send(source.worker(), |record| {
                    put_number(record, source.number() as u64);
                    put_number(record, mark);
                });
            }
        }
    }
}

impl Actor for Marks<'_, '_> {
    fn receive(&mut self, _: u64, _: usize, bytes: &[u8]) {
        let mut cursor = Cursor(bytes);
        while let (Some(number), Some(mark)) = (cursor.number(), cursor.number()) {
            if (number as usize) < self.mark.len() {
                self.meet(number as usize, mark);
            }
        }
    }

    fn work(&mut self, out: &mut Outbox) -> Turn {
        if out.round == 0 && self.touched.is_empty() && self.queue.is_empty() {
            // A source of an edge to a target reaches it; the target itself has not been reached
            // again yet.
            for bit in 0..self.targets.len() {
                let target = self.targets[bit];
                if target.worker() == out.me() {
                    let accepting = self.share.accepting[target.number()];
                    self.pass(target.number(), 1 << bit | u64::from(accepting) << (UPPER as usize + bit), out);
                }
            }
        }
        for _ in 0..PIECE {
            let Some(number) = self.queue.pop() else { return Turn::Rest };
            self.queued[number] = false;
            self.pass(number, self.mark[number], out);
        }
        Turn::More
    }
}

/// Explores level by level, and returns a state on an accepting cycle as soon as there is one.
pub(crate) fn levels(seat: &mut Seat<'_>, share: &mut Share<'_>) -> Result<Option<Vertex>, Abandoned> {
    share.by_level();
    loop {
        share.back.clear();
        seat.drive(share)?;
        share.back.sort_unstable();
        share.back.dedup();
        let mine: Vec<u8> = share.back.iter().flat_map(|&number| share.vertex(number).0.to_le_bytes()).collect();
        let mut targets: Vec<Vertex> = Vec::new();
        for bytes in seat.gather(&mine)? {
            targets.extend(bytes.chunks_exact(8).filter_map(|word| word.first_chunk()).map(|word| Vertex(u64::from_le_bytes(*word))));
        }
        // Without accepting states there is no accepting cycle, and other cycles are of no
        // interest.
        let (accepting, _) = tally(seat, u64::from(share.accepting.iter().any(|&accepting| accepting)))?;
        if accepting == 0 {
            targets.clear();
        }
        let len = share.len();
        let mut marks = Marks {
            share,
            mark: vec![0; if targets.is_empty() { 0 } else { len }],
            touched: Vec::new(),
            queued: vec![false; len],
            queue: Vec::new(),
            targets: Vec::new(),
            found: None,
        };
        for some in targets.chunks(TOGETHER) {
            marks.targets = some.to_vec();
            seat.drive(&mut marks)?;
            if let Some(found) = choose(seat, marks.found)? {
                return Ok(Some(found));
            }
            for number in std::mem::take(&mut marks.touched) {
                marks.mark[number] = 0;
                marks.queued[number] = false;
            }
            marks.queue.clear();
            if tally(seat, 0)?.1 {
                return Ok(None);
            }
        }
        let (waiting, stopped) = tally(seat, u64::from(share.waits()))?;
        if waiting == 0 || stopped {
            return Ok(None);
        }
    }
}
