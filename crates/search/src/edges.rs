//! Edges between numbered states, recorded by several workers while they visit the states.
//!
//! A worker records edges in a segment of its own. The segment can be read by all workers when it
//! is full, or when its worker has given it away. Where edges cannot be read, a search generates
//! them again.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The most edges in a segment.
const SEGMENT: usize = 1 << 16;
const SEGMENTS: usize = 1 << 16;
/// The bits of a position in a segment, and of a number of edges.
const BITS: u32 = 17;

/// Where the edges of a state are; 0 if they are not recorded.
pub(crate) type Place = u64;

/// An edge: the number of its target, and in the highest bit whether it is accepting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge(u32);

impl Edge {
    /// An edge to a state whose number is less than 2^31.
    pub fn new(target: u32, accepts: bool) -> Edge {
        Edge(target | u32::from(accepts) << 31)
    }

    pub fn target(self) -> u32 {
        self.0 & (u32::MAX >> 1)
    }

    pub fn accepts(self) -> bool {
        self.0 >> 31 != 0
    }
}

/// The segments of all workers.
pub(crate) struct Edges {
    segments: Box<[OnceLock<Box<[Edge]>>]>,
    taken: AtomicUsize,
}

/// The segment of a worker.
#[derive(Default)]
pub(crate) struct Recorder {
    /// Its number, plus one.
    number: usize,
    list: Vec<Edge>,
}

impl Edges {
    pub fn new() -> Self {
        Edges { segments: std::iter::repeat_with(OnceLock::new).take(SEGMENTS).collect(), taken: AtomicUsize::new(0) }
    }

    /// The memory of the segments.
    pub fn bytes(&self) -> u64 {
        (self.taken.load(Relaxed) * SEGMENT * size_of::<Edge>()) as u64
    }

    /// Records the edges of a state.
    pub fn record(&self, recorder: &mut Recorder, edges: &[Edge]) -> Place {
        if edges.len() > SEGMENT {
            return 0;
        }
        if recorder.number == 0 || recorder.list.len() + edges.len() > SEGMENT {
            self.give_away(recorder);
            let number = self.taken.fetch_add(1, Relaxed);
            if number >= SEGMENTS {
                self.taken.fetch_sub(1, Relaxed);
                return 0;
            }
            *recorder = Recorder { number: number + 1, list: Vec::with_capacity(SEGMENT) };
        }
        let start = recorder.list.len();
        recorder.list.extend_from_slice(edges);
        (recorder.number as u64) << (2 * BITS) | (start as u64) << BITS | edges.len() as u64
    }

    /// Lets all workers read what a worker has recorded.
    pub fn give_away(&self, recorder: &mut Recorder) {
        let Recorder { number, list } = std::mem::take(recorder);
        if let Some(segment) = number.checked_sub(1).and_then(|number| self.segments.get(number)) {
            // No other worker has this segment, so it is empty.
            let _ = segment.set(list.into());
        }
    }

    /// The edges at a place, if they can be read.
    pub fn at(&self, place: Place) -> Option<&[Edge]> {
        let number = ((place >> (2 * BITS)) as usize).checked_sub(1)?;
        let mask = (1 << BITS) - 1;
        let (start, len) = (place >> BITS & mask, place & mask);
        self.segments.get(number)?.get()?.get(start as usize..(start + len) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_read_as_they_were_recorded() {
        let edges = Edges::new();
        let of = |state: u32| -> Vec<Edge> { (0..state % 7).map(|edge| Edge::new(state * 8 + edge, edge == 3)).collect() };
        let record = |from: u32| -> Vec<Place> {
            let mut recorder = Recorder::default();
            let places = (from..from + 50_000).map(|state| edges.record(&mut recorder, &of(state))).collect();
            edges.give_away(&mut recorder);
            places
        };
        let places = std::thread::scope(|scope| {
            let record = &record;
            let workers = [0, 50_000].map(|from| scope.spawn(move || record(from)));
            workers.map(|worker| worker.join().expect("a worker")).concat()
        });
        for (state, place) in (0..).zip(places) {
            let read = edges.at(place).expect("recorded edges");
            assert_eq!(read, of(state));
            assert!(read.iter().enumerate().all(|(edge, read)| read.target() == state * 8 + edge as u32 && read.accepts() == (edge == 3)));
        }
        assert!(edges.bytes() > 1 << 20);
    }

    #[test]
    fn what_was_not_given_away_cannot_be_read() {
        let (edges, mut recorder) = (Edges::new(), Recorder::default());
        let place = edges.record(&mut recorder, &[Edge::new(1, false)]);
        assert_eq!((edges.at(place), edges.at(0)), (None, None));
        edges.give_away(&mut recorder);
        assert_eq!(edges.at(place), Some(&[Edge::new(1, false)][..]));
        assert_eq!(edges.record(&mut recorder, &vec![Edge::new(1, false); SEGMENT + 1]), 0);
    }
}
