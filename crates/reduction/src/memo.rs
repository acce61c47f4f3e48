//! Choices that were made before.
//!
//! A choice depends on the nodes of the processes, on the steps they can take, and on the answers
//! to some questions: whether a condition of a blocked step holds. Many states agree in all of this
//! and differ only in values that are not asked for. So a choice is kept with the questions that it
//! took and the answers they had. It is made again in another state if the same questions have the
//! same answers there. This is right because the choice asks its questions one after the other, and
//! each depends only on the answers before.

use crate::evaluate::Standing;
use contract::{LeftOut, Successor};

/// Words of the longest key that is kept: a word has four nodes, or two steps.
const KEY: usize = 20;
/// Most questions of a choice that is kept.
const QUESTIONS: usize = 16;
/// Most places where a choice is looked for.
const PROBES: usize = 16;
/// Words of choices that are kept at once: they stay in the cache of a core.
const WORDS: usize = 1 << 17;
/// After so many searches the share of those that found nothing is looked at; if it is too large,
/// the next ones are not made.
const SAMPLE: u32 = 1 << 13;
const PAUSE: u32 = 1 << 14;

/// The nodes of processes and the steps that they can take.
pub(crate) struct Key {
    words: [u64; KEY],
    len: usize,
    hash: u64,
}

impl Key {
    /// The key of a state with these steps; nothing if it is too long to be kept.
    #[inline]
    pub fn of(standing: &[Standing], steps: &[Successor]) -> Option<Key> {
        let nodes = standing.len().div_ceil(4);
        let len = 1 + nodes + steps.len().div_ceil(2);
        if len > KEY {
            return None;
        }
        let mut words = [0; KEY];
        // The numbers tell where nodes end and steps begin, and whether the last word is full.
        words[0] = (standing.len() as u64) << 32 | steps.len() as u64;
        let mut hash = words[0];
        for (word, four) in words[1..=nodes].iter_mut().zip(standing.chunks(4)) {
            *word = four.iter().fold(0, |word, standing| word << 16 | u64::from(standing.node));
            hash = mix(hash, *word);
        }
        let mut large = 0;
        for (word, two) in words[1 + nodes..len].iter_mut().zip(steps.chunks(2)) {
            *word = two.iter().fold(0, |word, step| {
                large |= step.step >> 24 | step.action.process >> 8;
                word << 32 | u64::from(step.action.process << 24 | step.step)
            });
            hash = mix(hash, *word);
        }
        (large == 0).then_some(Key { words, len, hash: hash ^ hash >> 29 })
    }
}

#[inline(always)]
fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The questions of a choice, with their answers.
#[derive(Default)]
pub(crate) struct Questions {
    list: [u64; QUESTIONS],
    count: usize,
}

impl Questions {
    /// Notes that there is a question that cannot be noted.
    pub fn give_up(&mut self) {
        self.count = QUESTIONS + 1;
    }

    /// Notes what a test gave that a process was asked.
    #[inline]
    pub fn ask(&mut self, test: u32, process: usize, answer: Option<bool>) {
        if let Some(place) = self.list.get_mut(self.count) {
            *place = u64::from(test) << 32 | (process as u64) << 8 | code(answer);
        }
        self.count += 1;
    }
}

#[inline(always)]
fn code(answer: Option<bool>) -> u64 {
    answer.map_or(2, u64::from)
}

/// The choices that a worker has made: a table of places in a list of words. A choice takes a word
/// with the lengths, two words for what is left out, then its key and its questions.
#[derive(Default)]
pub(crate) struct Memo {
    /// The upper half of a hash, and where the choice begins; 0 if there is none.
    table: Vec<u64>,
    words: Vec<u64>,
    count: usize,
    /// Searches since the last look, those that found nothing, and how many are not made.
    asked: u32,
    missed: u32,
    pause: u32,
}

impl Memo {
    /// Whether it is worth looking for a choice.
    #[inline]
    pub fn is_useful(&mut self) -> bool {
        if self.pause > 0 {
            self.pause -= 1;
            return false;
        }
        self.asked += 1;
        if self.asked == SAMPLE {
            // A choice that is found takes a sixth of the time of one that is made.
            if self.missed > SAMPLE / 8 * 5 {
                self.pause = PAUSE;
            }
            (self.asked, self.missed) = (0, 0);
        }
        true
    }

    /// What was chosen before under these circumstances. `holds` answers questions.
    #[inline]
    pub fn find(&self, key: &Key, holds: impl Fn(u32, usize) -> Option<bool>) -> Option<LeftOut> {
        let mask = self.table.len().wrapping_sub(1);
        for probe in 0..PROBES {
            let &slot = self.table.get(((key.hash >> 32) as usize + probe) & mask)?;
            if slot == 0 {
                return None;
            }
            if slot >> 32 != key.hash >> 32 {
                continue;
            }
            let entry = &self.words[slot as u32 as usize..];
            let [lengths, processes, postponed, rest @ ..] = entry else { return None };
            let (len, questions) = (*lengths as u32 as usize, (lengths >> 32) as usize);
            let (Some(words), Some(asked)) = (rest.get(..len), rest.get(len..len + questions)) else { return None };
            if len == key.len
                && words.iter().zip(&key.words).all(|(a, b)| a == b)
                && asked.iter().all(|asked| code(holds((asked >> 32) as u32, (asked >> 8) as u8 as usize)) == asked & 0xff)
            {
                return Some(LeftOut { processes: *processes, postponed: *postponed });
            }
        }
        None
    }

    /// Keeps a choice, if it did not take too many questions.
    #[inline(never)]
    pub fn keep(&mut self, key: &Key, questions: &Questions, left: LeftOut) {
        self.missed += 1;
        let Some(asked) = questions.list.get(..questions.count) else { return };
        if self.words.len() + 3 + key.len + asked.len() > WORDS {
            // What is needed again comes again.
            self.table.fill(0);
            self.words.clear();
            self.words.push(0);
            self.count = 0;
        }
        if self.count * 2 >= self.table.len() {
            self.grow();
        }
        let at = self.words.len() as u64;
        if self.put(key.hash >> 32 << 32 | at) {
            self.count += 1;
            self.words.extend([(asked.len() as u64) << 32 | key.len as u64, left.processes, left.postponed]);
            self.words.extend(&key.words[..key.len]);
            self.words.extend(asked);
        }
    }

    /// Puts a slot into the table, if there is a free place near where it belongs.
    fn put(&mut self, slot: u64) -> bool {
        let mask = self.table.len() - 1;
        for probe in 0..PROBES {
            let place = &mut self.table[((slot >> 32) as usize + probe) & mask];
            if *place == 0 {
                *place = slot;
                return true;
            }
        }
        false
    }

    fn grow(&mut self) {
        if self.words.is_empty() {
            // No choice begins at 0.
            self.words.push(0);
        }
        let more = (self.table.len() * 4).max(256);
        for slot in std::mem::replace(&mut self.table, vec![0; more]) {
            // One that finds no place is forgotten.
            let _ = slot != 0 && self.put(slot);
        }
    }
}
