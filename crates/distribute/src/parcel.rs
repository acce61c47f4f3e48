//! The messages between workers: bytes for one receiver.
//!
//! A parcel counts as one record for progress tracking, however many states it contains. It is
//! already addressed, so the exchange computes nothing; a parcel that came over the network is read
//! in place.

use timely::bytes::arc::Bytes;
use timely::communication::Push;
use timely::container::Accountable;
use timely::dataflow::channels::pushers::exchange::Distributor;
use timely::dataflow::channels::{ContainerBytes, Message};

/// Bytes on their way from one worker to another.
#[derive(Clone, Default)]
pub(crate) struct Parcel {
    pub to: u32,
    pub from: u32,
    body: Body,
}

#[derive(Clone)]
enum Body {
    Made(Vec<u8>),
    Received(Bytes, usize),
}

impl Default for Body {
    fn default() -> Self {
        Body::Made(Vec::new())
    }
}

/// Receiver, sender and length come first.
const HEAD: usize = 16;

impl Parcel {
    pub fn new(from: usize, to: usize, bytes: Vec<u8>) -> Parcel {
        Parcel { from: from as u32, to: to as u32, body: Body::Made(bytes) }
    }

    pub fn bytes(&self) -> &[u8] {
        match &self.body {
            Body::Made(bytes) => bytes,
            Body::Received(bytes, len) => &bytes[..*len],
        }
    }
}

impl Accountable for Parcel {
    fn record_count(&self) -> i64 {
        i64::from(!self.bytes().is_empty())
    }
}

fn padded(len: usize) -> usize {
    len.next_multiple_of(8)
}

impl ContainerBytes for Parcel {
    fn from_bytes(mut bytes: Bytes) -> Self {
        // Both ends are this program and have proved it; a length beyond the message is reduced.
        let mut head = [0; HEAD];
        let known = HEAD.min(bytes.len());
        head[..known].copy_from_slice(&bytes[..known]);
        bytes.extract_to(known);
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let len = (word(8) as usize).min(bytes.len());
        Parcel { to: word(0), from: word(4), body: Body::Received(bytes, len) }
    }

    fn length_in_bytes(&self) -> usize {
        HEAD + padded(self.bytes().len())
    }

    fn into_bytes<W: std::io::Write>(&self, writer: &mut W) {
        let bytes = self.bytes();
        let mut head = [0; HEAD];
        for (place, word) in head.chunks_exact_mut(4).zip([self.to, self.from, bytes.len() as u32, 0]) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        // The writer is a buffer in memory that timely has made large enough.
        let _ = writer.write_all(&head);
        let _ = writer.write_all(bytes);
        let _ = writer.write_all(&[0; 8][..padded(bytes.len()) - bytes.len()]);
    }
}

/// Delivers each parcel to its address.
pub(crate) struct Addressed;

impl Distributor<Parcel> for Addressed {
    fn partition<T: Clone, P: Push<Message<T, Parcel>>>(&mut self, parcel: &mut Parcel, time: &T, pushers: &mut [P]) {
        if let Some(pusher) = pushers.get_mut(parcel.to as usize) {
            Message::push_at(parcel, time.clone(), pusher);
        }
    }

    fn flush<T: Clone, P: Push<Message<T, Parcel>>>(&mut self, _: &T, _: &mut [P]) {}
}
