//! A record of how each state was first reached, in less than a byte per state. It is enough to
//! execute the path to any state again.
//!
//! Each worker writes a log of the new states it finds, in order. The number of a state in its
//! worker's log is its [`Link`]. States are expanded chunk by chunk, and the states of a
//! breadth-first chunk have consecutive links. So for each chunk the log contains once where the
//! sources begin. For each source, in order, it then contains which of its steps led to new states:
//! a bit for each new state, the difference to the last such step (in Elias' gamma code, which is
//! short for small numbers), and a bit that ends the source. A chunk whose states were collected in
//! any order names its sources one by one. A search that does not expand all parts of a state
//! cannot number its steps; its logs contain the action of each new state instead, as two such
//! codes.

use crate::checkpoint::{CheckpointError, Reader, Writer};
use crate::retrace::Choice;
use contract::Action;
use std::io;

const INDEX_BITS: u32 = 32;
const LINK_BITS: u32 = 40;
const BLOCK: usize = 1 << 12;
/// The most workers that a link can distinguish.
pub(crate) const MOST_WORKERS: usize = 250;

/// The number of a state in the log of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link(u64);

impl Link {
    /// The parent of initial states.
    pub const NONE: Link = Link((1 << LINK_BITS) - 1);
    /// Stands for a link that could not be made because there are too many.
    const LOST: Link = Link((1 << LINK_BITS) - 2);

    /// The link of the state `distance` states later in the same log.
    pub fn after(self, distance: usize) -> Link {
        let is_link = self != Link::NONE && self != Link::LOST;
        if is_link { Link(self.0 + distance as u64) } else { self }
    }

    pub fn to_bits(self) -> u64 {
        self.0
    }

    pub fn from_bits(bits: u64) -> Link {
        Link(bits & ((1 << LINK_BITS) - 1))
    }
}

/// The sources of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sources {
    /// Consecutive links from this one on.
    From(Link),
    /// Any links.
    Scattered,
}

/// A growing string of bits.
#[derive(Default)]
struct Bits {
    blocks: Vec<Vec<u64>>,
    /// The bits that do not fill a word yet.
    last: u64,
    len: u64,
}

impl Bits {
    /// Appends the lowest `count` bits of `value`, at most 64; its other bits are 0.
    #[inline(always)]
    fn put(&mut self, value: u64, count: u32) {
        let filled = (self.len % 64) as u32;
        self.last |= value << filled;
        self.len += u64::from(count);
        if filled + count >= 64 {
            let word = std::mem::replace(&mut self.last, if filled == 0 { 0 } else { value >> (64 - filled) });
            self.put_word(word);
        }
    }

    #[inline(never)]
    fn put_word(&mut self, word: u64) {
        if self.blocks.last().is_none_or(|block| block.len() == BLOCK) {
            // The first block grows like any vector, because many models are small; later blocks
            // have their full size at once.
            self.blocks.push(if self.blocks.is_empty() { Vec::new() } else { Vec::with_capacity(BLOCK) });
        }
        if let Some(block) = self.blocks.last_mut() {
            block.push(word);
        }
    }

    fn word(&self, index: usize) -> u64 {
        self.blocks.get(index / BLOCK).and_then(|block| block.get(index % BLOCK)).copied().unwrap_or(self.last)
    }

    fn bytes(&self) -> u64 {
        let first = self.blocks.first().map_or(0, Vec::capacity);
        (8 * (first + self.blocks.len().saturating_sub(1) * BLOCK)) as u64
    }
}

/// Reads a string of bits; returns `None` at its end.
struct BitReader<'b> {
    bits: &'b Bits,
    at: u64,
}

impl BitReader<'_> {
    fn bit(&mut self) -> Option<bool> {
        if self.at >= self.bits.len {
            return None;
        }
        let bit = self.bits.word((self.at / 64) as usize) >> (self.at % 64) & 1;
        self.at += 1;
        Some(bit != 0)
    }

    fn number(&mut self, count: u32) -> Option<u64> {
        (0..count).try_fold(0, |number, place| Some(number | u64::from(self.bit()?) << place))
    }

    fn gamma(&mut self) -> Option<u64> {
        let mut bits = 0;
        while !self.bit()? {
            bits += 1;
        }
        if bits > 32 { None } else { Some(1 << bits | self.number(bits)?) }
    }
}

/// Elias' gamma code of a positive number: as many zeros as it has bits after the first, a one, and
/// those bits. Returns the code, first bit lowest, and its length.
const fn gamma(number: u64) -> (u64, u32) {
    let bits = number.ilog2();
    (1 << bits | (number & ((1 << bits) - 1)) << (bits + 1), 2 * bits + 1)
}

/// The last step of a source that has had none. The wrapping difference counts the first step from
/// 1.
const NO_STEP: u32 = u32::MAX;

/// A chunk in the log.
#[derive(Clone, Copy)]
struct Record {
    /// The number of its first new state.
    first: u64,
    /// The position of its first bit.
    bit: u64,
    sources: Sources,
}

/// The log of one worker.
pub(crate) struct Links {
    worker: u64,
    /// The most states it can hold.
    most: u64,
    /// Steps are identified by their actions instead of their indices.
    by_action: bool,
    records: Vec<Record>,
    bits: Bits,
    /// The number of new states so far.
    len: u64,
    /// The chunk being expanded; its record is written with its first new state.
    chunk: Option<Sources>,
    /// The current source, and its last step that led to a new state.
    position: usize,
    last: u32,
    /// Whether there was such a step.
    any: bool,
    /// The sources of the chunk are named one by one.
    scattered: bool,
    /// Below this number of states, every state can be logged in the usual way.
    usual_below: u64,
}

/// The greatest distance of a source from the last one, and of a step from the last one of its
/// source, in the usual case.
const USUAL_GAP: usize = 16;
const USUAL_STEP: usize = 64;

/// The code of a small difference after the one that begins a step, with the number of bits.
const SHORT: [(u16, u8); USUAL_STEP] = {
    let mut codes = [(0, 0); USUAL_STEP];
    let mut number = 1;
    while number < USUAL_STEP {
        let (code, len) = gamma(number as u64);
        codes[number] = ((code << 1 | 1) as u16, len as u8 + 1);
        number += 1;
    }
    codes
};

impl Links {
    pub fn new(worker: usize, by_action: bool) -> Self {
        let worker = worker.min(MOST_WORKERS) as u64;
        Links {
            worker,
            by_action,
            most: if worker == MOST_WORKERS as u64 { 0 } else { 1 << INDEX_BITS },
            records: Vec::new(),
            bits: Bits::default(),
            len: 0,
            chunk: None,
            position: 0,
            last: 0,
            any: false,
            scattered: false,
            usual_below: 0,
        }
    }

    /// Begins a chunk.
    pub fn begin(&mut self, sources: Sources) {
        self.chunk = Some(sources);
        self.usual_below = 0;
    }

    /// Logs a new state, reached from source number `position` of the chunk, whose link is
    /// `parent`, by the step with index `choice`. Positions ascend, and so do the choices of a
    /// source. For logs of indices.
    #[inline(always)]
    pub fn push(&mut self, position: usize, choice: u32, parent: impl FnOnce() -> Link) -> Link {
        let gap = position.wrapping_sub(self.position);
        // The distance of the step from the last one of the source, or its number if it is the
        // first.
        let difference = choice.wrapping_sub(if gap == 0 { self.last } else { NO_STEP }) as usize;
        if self.len >= self.usual_below || gap > USUAL_GAP || difference >= USUAL_STEP {
            return self.push_slowly(position, parent(), choice);
        }
        // A zero ends each source before this one.
        let (code, len) = SHORT[difference];
        self.bits.put(u64::from(code) << gap, u32::from(len) + gap as u32);
        (self.position, self.last) = (position, choice);
        self.logged()
    }

    /// Like [`push`](Self::push), for all unusual cases.
    #[cold]
    fn push_slowly(&mut self, position: usize, parent: Link, choice: u32) -> Link {
        if self.len >= self.most {
            return Link::LOST;
        }
        if self.chunk.is_some() {
            self.record();
        }
        let gap = position - self.position;
        let same_source = gap == 0 && self.any;
        let difference = if same_source { u64::from(choice.wrapping_sub(self.last)) } else { u64::from(choice) + 1 };
        self.put_slowly(gap, (self.scattered && !same_source).then_some(parent), difference);
        (self.position, self.last, self.any) = (position, choice, true);
        self.logged()
    }

    /// The link of the state that was just logged.
    #[inline(always)]
    fn logged(&mut self) -> Link {
        let link = Link(self.worker << INDEX_BITS | self.len);
        self.len += 1;
        link
    }

    /// As [`push`](Self::push), by the step with this action, in any order. For logs of actions.
    #[inline(always)]
    pub fn push_action(&mut self, position: usize, action: Action, parent: impl FnOnce() -> Link) -> Link {
        let gap = position.wrapping_sub(self.position);
        let (process, choice) = (action.process as usize + 1, action.choice as usize + 1);
        if self.len >= self.usual_below || gap > USUAL_GAP || process >= USUAL_STEP || choice >= USUAL_STEP {
            return self.push_action_slowly(position, parent(), action);
        }
        let ((process, bits), (choice, more)) = (SHORT[process], SHORT[choice]);
        // Only one of the two codes begins a step.
        let code = u64::from(process) | u64::from(choice >> 1) << bits;
        self.bits.put(code << gap, u32::from(bits) + u32::from(more) - 1 + gap as u32);
        self.position = position;
        self.logged()
    }

    /// As [`push_action`](Self::push_action), whatever is unusual about it.
    #[cold]
    fn push_action_slowly(&mut self, position: usize, parent: Link, action: Action) -> Link {
        if self.len >= self.most {
            return Link::LOST;
        }
        if self.chunk.is_some() {
            self.record();
        }
        let gap = position - self.position;
        let parent = (self.scattered && (gap > 0 || !self.any)).then_some(parent);
        self.put_slowly(gap, parent, u64::from(action.process) + 1);
        self.put_gamma(u64::from(action.choice) + 1);
        (self.position, self.any) = (position, true);
        self.logged()
    }

    /// Writes the record of the current chunk, which has led to a new state.
    #[cold]
    fn record(&mut self) {
        if let Some(sources) = self.chunk.take() {
            self.records.push(Record { first: self.len, bit: self.bits.len, sources });
            self.scattered = sources == Sources::Scattered;
            (self.position, self.last, self.any) = (0, NO_STEP, false);
            self.usual_below = if self.scattered { 0 } else { self.most };
        }
    }

    /// Like the code in `push`, for numbers of any size.
    #[cold]
    fn put_slowly(&mut self, mut gap: usize, parent: Option<Link>, difference: u64) {
        while gap > 0 {
            let zeros = gap.min(64);
            self.bits.put(0, zeros as u32);
            gap -= zeros;
        }
        match parent {
            Some(parent) => self.bits.put(1 | parent.0 << 1, 1 + LINK_BITS),
            None => self.bits.put(1, 1),
        }
        self.put_gamma(difference);
    }

    fn put_gamma(&mut self, number: u64) {
        // The code is written in two parts, because it may have more than 64 bits.
        let bits = number.max(1).ilog2();
        self.bits.put(1 << bits, bits + 1);
        self.bits.put(number & ((1 << bits) - 1), bits);
    }

    /// The parent and step of the state with number `index`.
    fn origin(&self, index: u64) -> Option<(Link, Choice)> {
        let record = self.records[..self.records.partition_point(|record| record.first <= index)].last()?;
        let mut reader = BitReader { bits: &self.bits, at: record.bit };
        let mut state = record.first;
        for position in 0.. {
            let mut parent = None;
            let mut choice = 0u64;
            while reader.bit()? {
                if parent.is_none() {
                    parent = Some(match record.sources {
                        Sources::From(link) => link.after(position),
                        Sources::Scattered => Link(reader.number(LINK_BITS)?),
                    });
                }
                let number = reader.gamma()?;
                let step = if self.by_action {
                    let [process, choice] = [number, reader.gamma()?].map(|number| u32::try_from(number - 1).ok());
                    Choice::Action(Action::new(process?, choice?))
                } else {
                    // The first difference was counted from 1.
                    choice += number;
                    Choice::Index(u32::try_from(choice - 1).ok()?)
                };
                if state == index {
                    return Some((parent?, step));
                }
                state += 1;
            }
        }
        None
    }

    pub fn bytes(&self) -> u64 {
        self.bits.bytes() + (self.records.capacity() * size_of::<Record>()) as u64
    }

    pub fn save(&self, to: &mut Writer<'_>) -> io::Result<()> {
        to.number(self.len)?;
        to.number(self.by_action.into())?;
        to.number(self.records.len() as u64)?;
        for record in &self.records {
            to.number(record.first)?;
            to.number(record.bit)?;
            match record.sources {
                Sources::From(link) => to.number(link.0)?,
                Sources::Scattered => to.number(u64::MAX)?,
            }
        }
        to.number(self.bits.len)?;
        for index in 0..self.bits.len.div_ceil(64) {
            to.number(self.bits.word(index as usize))?;
        }
        Ok(())
    }

    /// Reads what [`save`](Self::save) wrote; the log cannot be continued.
    pub fn load(from: &mut Reader<'_>) -> Result<Links, CheckpointError> {
        let mut links = Links::new(MOST_WORKERS, false);
        links.len = from.number()?;
        links.by_action = from.number()? != 0;
        for _ in 0..from.number()? {
            let (first, bit) = (from.number()?, from.number()?);
            let sources = match from.number()? {
                u64::MAX => Sources::Scattered,
                bits => Sources::From(Link::from_bits(bits)),
            };
            links.records.push(Record { first, bit, sources });
        }
        let bits = from.number()?;
        for _ in 0..bits / 64 {
            links.bits.put(from.number()?, 64);
        }
        if !bits.is_multiple_of(64) {
            links.bits.last = from.number()?;
            links.bits.len = bits;
        }
        Ok(links)
    }
}

/// The choices that lead from the initial states to `link`, beginning with the choice among the
/// initial states, if the `logs` (by worker) contain them.
pub(crate) fn path(logs: &[Links], mut link: Link) -> Option<Vec<Choice>> {
    let mut choices = Vec::new();
    let states: u64 = logs.iter().map(|log| log.len).sum();
    while link != Link::NONE {
        // A path never visits a state twice; otherwise the log is invalid.
        if choices.len() as u64 > states {
            return None;
        }
        let (parent, choice) = logs.get((link.0 >> INDEX_BITS) as usize)?.origin(link.0 & ((1 << INDEX_BITS) - 1))?;
        choices.push(choice);
        link = parent;
    }
    choices.reverse();
    Some(choices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::testing::Random;

    #[test]
    fn bits_come_back_in_order() {
        let mut random = Random(2);
        let parts: Vec<(u64, u32)> = (0..100_000)
            .map(|_| {
                let count = random.below(65) as u32;
                (if count == 0 { 0 } else { random.number() >> (64 - count) }, count)
            })
            .collect();
        let mut bits = Bits::default();
        parts.iter().for_each(|&(value, count)| bits.put(value, count));
        let mut reader = BitReader { bits: &bits, at: 0 };
        for &(value, count) in &parts {
            assert_eq!(reader.number(count), Some(value));
        }
        assert_eq!(reader.bit(), None);
    }

    /// Two workers expand a random tree, chunk by chunk. Every path must be reconstructed.
    #[test]
    fn paths_lead_back_to_the_root() {
        for (scattered, by_action) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut random = Random(7);
            let mut logs = [Links::new(0, by_action), Links::new(1, by_action)];
            // In a log of actions the steps of a source may come in any order.
            let step = |choice: u32| {
                if by_action { Choice::Action(Action::new(choice % 7, choice ^ 5)) } else { Choice::Index(choice) }
            };
            let push = |log: &mut Links, position, parent, choice: u32| match step(choice) {
                Choice::Index(choice) => log.push(position, choice, || parent),
                Choice::Action(action) => log.push_action(position, action, || parent),
            };
            logs[0].begin(Sources::From(Link::NONE));
            let root = push(&mut logs[0], 0, Link::NONE, 2);
            let mut paths = vec![(root, vec![step(2)])];
            let mut level = vec![(root, vec![step(2)])];
            while paths.len() < 4_000 {
                let mut next = Vec::new();
                for chunk in level.chunks(50) {
                    let log = &mut logs[random.below(2) as usize];
                    log.begin(if scattered { Sources::Scattered } else { Sources::From(chunk[0].0) });
                    let mut children = Vec::new();
                    for (position, (link, path)) in chunk.iter().enumerate() {
                        let mut choice = random.below(3) as u32;
                        for _ in 0..1 + random.below(4) {
                            children.push((push(log, position, *link, choice), [&path[..], &[step(choice)]].concat()));
                            let most = if random.below(50) == 0 { 1 << 30 } else { 4 };
                            choice += 1 + random.below(most) as u32;
                        }
                    }
                    next.push(children);
                }
                // Only the links of the children of one chunk are consecutive, so a chunk must not
                // mix them.
                level = if scattered { next.concat() } else { next.into_iter().max_by_key(Vec::len).unwrap_or_default() };
                if level.len() > 200 {
                    level.truncate(200);
                }
                paths.extend(level.iter().cloned());
                if level.is_empty() {
                    break;
                }
            }
            for (link, path) in &paths {
                assert_eq!(super::path(&logs, *link).as_ref(), Some(path));
            }
            assert!(paths.len() > 1000);
            let saved = {
                let mut bytes = Vec::new();
                let mut writer = Writer::new(&mut bytes);
                logs.iter().try_for_each(|log| log.save(&mut writer)).unwrap();
                bytes
            };
            let mut from = &saved[..];
            let mut reader = Reader::new(&mut from, crate::patience::Patience::endless());
            let loaded = [Links::load(&mut reader).unwrap(), Links::load(&mut reader).unwrap()];
            for (link, path) in &paths {
                assert_eq!(super::path(&loaded, *link).as_ref(), Some(path));
            }
        }
    }

    #[test]
    fn links_cost_less_than_a_byte() {
        let mut links = Links::new(0, false);
        links.begin(Sources::From(Link::NONE));
        let mut first = links.push(0, 0, || Link::NONE);
        for _ in 0..1000 {
            links.begin(Sources::From(first));
            first = links.push(0, 1, || Link::NONE);
            for position in 1..500 {
                links.push(position, position as u32 % 6, || Link::NONE);
            }
        }
        assert!(links.bytes() < 500_000, "{}", links.bytes());
    }

    #[test]
    fn what_cannot_be_told_apart_is_lost_instead_of_wrong() {
        let mut links = Links::new(MOST_WORKERS + 3, false);
        links.begin(Sources::From(Link::NONE));
        assert_eq!(links.push(0, 0, || Link::NONE), Link::LOST);
        assert_eq!(path(&[links], Link::LOST), None);
        assert_eq!(path(&[], Link::NONE), Some(vec![]));
    }
}
