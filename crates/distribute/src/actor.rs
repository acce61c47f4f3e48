//! One worker's part of a computation in rounds.
//!
//! Messages sent in a round arrive before the next one begins, and not before the receiver has
//! begun the current one. An actor works on a round when all messages of the round before have
//! arrived, and receives the messages of this round at any time between two pieces of work. It does
//! not know what carries its messages: a dataflow over processes, or a test that delays and
//! reorders them ([`rehearse`](crate::rehearse)).

/// The result of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// More work is left in this round.
    More,
    /// The round is done here. This worker takes part in the next one only if it receives a
    /// message.
    Rest,
    /// The round is done here, and this worker takes part in the next one in any case.
    Again,
}

/// One worker's part of a computation.
pub trait Actor {
    /// Receives bytes that worker `from` has sent in the round before `round`.
    fn receive(&mut self, round: u64, from: usize, bytes: &[u8]);

    /// Does a piece of the work of a round: some milliseconds, so that arriving messages need not
    /// wait.
    fn work(&mut self, out: &mut Outbox) -> Turn;
}

/// The number of bytes for a receiver after which they are sent without waiting for more.
const PARCEL: usize = 1 << 15;

/// The outgoing messages of a worker. Records for one receiver are collected and sent together.
#[derive(Debug)]
pub struct Outbox {
    me: usize,
    open: Vec<Vec<u8>>,
    /// The size of the last parcel for each receiver. The next one gets that much room at once.
    last: Vec<usize>,
    closed: Vec<(usize, Vec<u8>)>,
    most: usize,
    /// The current round, from 0.
    pub round: u64,
    /// The number of parcels sent so far.
    pub parcels: u64,
    /// The number of bytes sent so far.
    pub bytes: u64,
}

impl Outbox {
    /// An empty outbox of worker `me` of `workers`. Parcels are closed when they have `most` bytes,
    /// usually [`Outbox::usual`].
    pub fn new(me: usize, workers: usize, most: usize) -> Outbox {
        Outbox { me, open: vec![Vec::new(); workers], last: vec![0; workers], closed: Vec::new(), most, round: 0, parcels: 0, bytes: 0 }
    }

    /// The usual size of a parcel among this many workers: all open parcels together stay small.
    pub fn usual(workers: usize) -> usize {
        (PARCEL * 32 / workers.max(32)).max(1 << 10)
    }

    /// The number of the worker that sends.
    pub fn me(&self) -> usize {
        self.me
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.open.len()
    }

    /// Appends a record for worker `to`, written by `write`.
    #[inline]
    pub fn send(&mut self, to: usize, write: impl FnOnce(&mut Vec<u8>)) {
        let parcel = &mut self.open[to];
        if parcel.capacity() == 0 {
            // Parcels for one receiver are about equally long.
            parcel.reserve(self.last[to] + self.last[to] / 8);
        }
        write(parcel);
        if parcel.len() >= self.most {
            self.close(to);
        }
    }

    /// Appends the same record for every worker, this one included.
    pub fn send_to_all(&mut self, record: &[u8]) {
        for to in 0..self.open.len() {
            self.send(to, |parcel| parcel.extend_from_slice(record));
        }
    }

    fn close(&mut self, to: usize) {
        let bytes = std::mem::take(&mut self.open[to]);
        self.last[to] = bytes.len();
        self.parcels += 1;
        self.bytes += bytes.len() as u64;
        self.closed.push((to, bytes));
    }

    /// Takes the closed parcels; at the end of a round, all.
    pub fn take(&mut self, end_of_round: bool) -> std::vec::Drain<'_, (usize, Vec<u8>)> {
        if end_of_round {
            for to in 0..self.open.len() {
                if !self.open[to].is_empty() {
                    self.close(to);
                }
            }
        }
        self.closed.drain(..)
    }
}
