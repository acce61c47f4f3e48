//! One worker's part of a computation that goes on in rounds.
//!
//! What is sent in a round arrives before the next one begins, and not before the receiver has
//! begun the present one. An actor works on a round when everything that was sent in the round
//! before has arrived, and takes what others send in this round at any time between two pieces of
//! work. It does not know what carries its messages: a dataflow over processes, or a test that
//! delays and reorders them ([`rehearse`](crate::rehearse)).

/// How a piece of work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// There is more to do in this round.
    More,
    /// The round is done here. The next one concerns this worker only if something is sent to it.
    Rest,
    /// The round is done here, and this worker takes part in the next one whatever is sent.
    Again,
}

/// One worker's part of a computation.
pub trait Actor {
    /// Takes bytes that worker `from` has sent in the round before `round`.
    fn receive(&mut self, round: u64, from: usize, bytes: &[u8]);

    /// Does a piece of the work of a round: some milliseconds, so that what arrives is not kept
    /// waiting.
    fn work(&mut self, out: &mut Outbox) -> Turn;
}

/// Bytes for a receiver that are sent without waiting for more.
const PARCEL: usize = 1 << 15;

/// What a worker sends. Records for one receiver are gathered and travel together.
#[derive(Debug)]
pub struct Outbox {
    me: usize,
    open: Vec<Vec<u8>>,
    closed: Vec<(usize, Vec<u8>)>,
    most: usize,
    /// The round that is worked on, from 0.
    pub round: u64,
    /// Parcels sent so far.
    pub parcels: u64,
    /// Bytes sent so far.
    pub bytes: u64,
}

impl Outbox {
    /// Nothing yet, from worker `me` of so many. Parcels are closed when they have `most` bytes;
    /// usually that is [`Outbox::usual`].
    pub fn new(me: usize, workers: usize, most: usize) -> Outbox {
        Outbox { me, open: vec![Vec::new(); workers], closed: Vec::new(), most, round: 0, parcels: 0, bytes: 0 }
    }

    /// The usual size of a parcel among so many workers: all open ones together stay small.
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
        self.parcels += 1;
        self.bytes += bytes.len() as u64;
        self.closed.push((to, bytes));
    }

    /// Takes the parcels that are closed; at the end of a round, all.
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
