//! Finds the send that belongs to each receive.
//!
//! A trace does not contain this information, but the contents of the channels before and after
//! each step do. So this module does not depend on the syntax of send and receive in any language.

use replay::Narrator;

/// A process in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The step, from 1.
    pub step: usize,
    /// The number of the process.
    pub pid: usize,
}

/// A message that was sent and, later, received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The sender, with the step.
    pub sent: Event,
    /// The receiver, with the step.
    pub received: Event,
}

/// The messages that are on their way.
pub struct Mailbox {
    queues: Vec<Queue>,
}

/// A channel: its messages, oldest first, and their senders, if known.
#[derive(Default)]
struct Queue {
    contents: Vec<Vec<u8>>,
    senders: Vec<Option<Event>>,
}

impl Mailbox {
    /// The messages in a state. Their senders are unknown.
    pub fn new(narrator: &Narrator, state: &[u8]) -> Mailbox {
        let queues = narrator.queues(state).into_iter().map(|contents| Queue { senders: vec![None; contents.len()], contents });
        Mailbox { queues: queues.collect() }
    }

    /// Advances to the state after a step. Returns the messages that it received.
    pub fn step(&mut self, narrator: &Narrator, state: &[u8], at: Event) -> Vec<Message> {
        let after = narrator.queues(state);
        self.queues.resize_with(after.len(), Queue::default);
        let removed = self.queues.iter_mut().zip(after).flat_map(|(queue, after)| queue.turn_into(after, at));
        removed.map(|sent| Message { sent, received: at }).collect()
    }
}

impl Queue {
    /// Replaces the contents. Returns the senders of the messages that are gone.
    fn turn_into(&mut self, after: Vec<Vec<u8>>, at: Event) -> Vec<Event> {
        let (removed, inserted) = difference(&self.contents, &after);
        let gone = self.senders.splice(removed, vec![]).flatten().collect();
        // Positions of insertion are positions in the new contents.
        self.senders.splice(inserted.start..inserted.start, vec![Some(at); inserted.len()]);
        self.contents = after;
        gone
    }
}

type Range = std::ops::Range<usize>;

/// The messages that were removed from `before`, and those inserted to make `after`: the smallest
/// change that explains the difference. A queue loses its oldest message and grows at its end; only
/// sorted sends and random receives change the middle.
fn difference(before: &[Vec<u8>], after: &[Vec<u8>]) -> (Range, Range) {
    let (b, a) = (before.len(), after.len());
    let kept = |removed: usize| b - removed <= a && before[removed..] == after[..b - removed];
    let oldest = (0..=b).find(|&removed| kept(removed)).unwrap_or(b);
    let tail = before.iter().rev().zip(after.iter().rev()).take_while(|(x, y)| x == y).count();
    let head = before[..b - tail].iter().zip(&after[..a - tail]).take_while(|(x, y)| x == y).count();
    let (queue, middle) = (oldest + (a + oldest - b), (b - tail - head) + (a - tail - head));
    if queue <= middle { (0..oldest, b - oldest..a) } else { (head..b - tail, head..a - tail) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<u8>> {
        text.bytes().map(|byte| vec![byte]).collect()
    }

    #[test]
    fn the_smallest_change() {
        let change = |before, after| difference(&words(before), &words(after));
        assert_eq!(change("", "a"), (0..0, 0..1));
        assert_eq!(change("ab", "abc"), (0..0, 2..3));
        assert_eq!(change("aa", "aaa"), (0..0, 2..3));
        assert_eq!(change("aa", "a"), (0..1, 1..1));
        assert_eq!(change("ab", "ba"), (0..1, 1..2));
        // A random receive and a sorted send.
        assert_eq!(change("abc", "ac"), (1..2, 1..1));
        assert_eq!(change("ac", "abc"), (1..1, 1..2));
        assert_eq!(change("abc", "abc"), (0..0, 3..3));
        assert_eq!(change("abc", ""), (0..3, 0..0));
    }

    #[test]
    fn receivers_learn_who_sent() {
        let at = |step| Event { step, pid: step };
        let mut queue = Queue::default();
        assert_eq!(queue.turn_into(words("a"), at(1)), []);
        assert_eq!(queue.turn_into(words("ac"), at(2)), []);
        assert_eq!(queue.turn_into(words("abc"), at(3)), []);
        assert_eq!(queue.turn_into(words("ab"), at(4)), [at(2)]);
        assert_eq!(queue.turn_into(words("bd"), at(5)), [at(1)]);
        assert_eq!(queue.turn_into(words(""), at(6)), [at(3), at(5)]);
    }
}
