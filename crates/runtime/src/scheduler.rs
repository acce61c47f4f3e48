//! Chooses the process that runs next.
//!
//! A scheduler keeps the processes that can run and chooses one of them after each action. It sees
//! numbers and deadlines, and nothing of the program. Any order is allowed, because the checked
//! graph contains all of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A process that can run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ready {
    /// The time at which it should wait again, in nanoseconds since the run began; the largest
    /// number if it has no deadline.
    pub deadline: u64,
    /// Its number.
    pub process: u8,
}

/// Chooses the process whose action is next, and its partner.
pub trait Scheduler: Send {
    /// Adds a process that can run now. It has not been added already.
    fn add(&mut self, ready: Ready);

    /// The process that runs next.
    fn next(&mut self) -> Option<u8>;

    /// The index of the process that receives a message, among several that wait for it in the
    /// order of their arrival.
    fn partner(&mut self, waiting: &[u8]) -> usize {
        let _ = waiting;
        0
    }
}

/// Round-robin.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    // A ring with room for all processes: no process is in it twice.
    ring: Box<[u8; 256]>,
    first: u8,
    count: u16,
}

impl Default for RoundRobin {
    fn default() -> Self {
        RoundRobin { ring: Box::new([0; 256]), first: 0, count: 0 }
    }
}

impl Scheduler for RoundRobin {
    fn add(&mut self, ready: Ready) {
        self.ring[usize::from(self.first.wrapping_add(self.count as u8))] = ready.process;
        self.count += 1;
    }

    fn next(&mut self) -> Option<u8> {
        self.count = self.count.checked_sub(1)?;
        let process = self.ring[usize::from(self.first)];
        self.first = self.first.wrapping_add(1);
        Some(process)
    }
}

/// The process with the earliest deadline; among equals, the one that has waited longest.
#[derive(Clone, Debug, Default)]
pub struct EarliestDeadline {
    queue: BinaryHeap<Reverse<(u64, u64, u8)>>,
    count: u64,
}

impl Scheduler for EarliestDeadline {
    fn add(&mut self, ready: Ready) {
        self.count += 1;
        self.queue.push(Reverse((ready.deadline, self.count, ready.process)));
    }

    fn next(&mut self) -> Option<u8> {
        self.queue.pop().map(|Reverse((_, _, process))| process)
    }
}

/// Any process and any partner, by pseudo-random numbers.
#[derive(Clone, Debug)]
pub struct Shuffled {
    queue: Vec<u8>,
    numbers: u64,
}

impl Shuffled {
    /// The order of a seed.
    pub fn new(seed: u64) -> Self {
        Shuffled { queue: Vec::new(), numbers: seed }
    }
}

impl Scheduler for Shuffled {
    fn add(&mut self, ready: Ready) {
        self.queue.push(ready.process);
    }

    fn next(&mut self) -> Option<u8> {
        if self.queue.is_empty() {
            return None;
        }
        let at = splitmix::next(&mut self.numbers) as usize % self.queue.len();
        Some(self.queue.swap_remove(at))
    }

    fn partner(&mut self, waiting: &[u8]) -> usize {
        splitmix::next(&mut self.numbers) as usize % waiting.len().max(1)
    }
}
