//! A cache of the choices that a reduction has made.
//!
//! A choice depends on the locations of the processes, on the steps they can take, and on the
//! answers to some questions: whether a condition of a blocked step holds. Many states agree in all
//! of this and differ only in values that no question depends on. So the cache keeps a choice with
//! its questions and their answers, and reuses it in another state if the same questions have the
//! same answers there. This is correct because a choice asks its questions one after the other, and
//! each question depends only on the answers before it.

use crate::evaluate::Roster;
use contract::{LeftOut, Successor};

/// A key with more steps or more processes than this is not kept.
const STEPS: usize = 24;
const PROCESSES: usize = 16;
/// A choice with more questions than this is not kept.
const QUESTIONS: usize = 16;
/// A lookup examines this many slots of the table at most.
const PROBES: usize = 16;
/// The choices together have at most this many words, so that they fit into the cache of a core.
const WORDS: usize = 1 << 18;
/// The share of misses is computed after this many lookups.
const SAMPLE: u32 = 1 << 13;
/// If that share is too large, this many lookups are not made.
const PAUSE: u32 = 1 << 14;

/// The key of a choice: the steps that processes can take, their types and their locations. It has
/// a word for each step and each process, and one word for the types.
pub(crate) struct Key {
    words: [u32; STEPS + PROCESSES + 1],
    len: usize,
    hash: u64,
}

impl Default for Key {
    fn default() -> Self {
        Key { words: [0; STEPS + PROCESSES + 1], len: 0, hash: 0 }
    }
}

impl Key {
    /// Begins the key of source number `source`, whose steps are the first of `steps`. Returns
    /// their number.
    #[inline(always)]
    pub fn begin(&mut self, source: u32, steps: &[Successor]) -> usize {
        let (mut count, mut hash, mut large) = (0, 0, 0);
        for step in steps {
            if step.source != source {
                break;
            }
            let word = step.action.process << 24 | step.step;
            large |= step.step >> 24 | step.action.process >> 8;
            hash = mix(hash, word.into());
            if let Some(place) = self.words.get_mut(count) {
                *place = word;
            }
            count += 1;
        }
        // `end` refuses a key of this length.
        self.len = if large == 0 && count <= STEPS { count } else { usize::MAX };
        self.hash = hash;
        count
    }

    /// Adds the types and locations of the processes. Returns whether the key is short enough to be
    /// kept.
    #[inline(always)]
    pub fn end(&mut self, roster: &Roster, state: &[u8]) -> bool {
        if self.len > STEPS || roster.len() > PROCESSES {
            return false;
        }
        let mut at = self.len;
        // This word alone has the highest bit, so it marks where the steps end.
        let Some(formation) = roster.formation() else { return false };
        let types = formation | 1 << 31;
        self.words[at] = types;
        let mut hash = mix(self.hash, types.into());
        for location in roster.locations(state) {
            at += 1;
            self.words[at] = location;
            hash = mix(hash, location.into());
        }
        self.len = at + 1;
        self.hash = hash ^ hash >> 29;
        true
    }
}

#[inline(always)]
fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The questions of a choice, with their answers.
#[derive(Default)]
pub(crate) struct Questions {
    /// The first word is the test. The second has the answer in its lowest byte and the process
    /// above it.
    list: [[u32; 2]; QUESTIONS],
    count: usize,
}

impl Questions {
    /// Records that there is a question that cannot be recorded, so the choice is not kept.
    pub fn give_up(&mut self) {
        self.count = QUESTIONS + 1;
    }

    /// Records the answer of a test for a process.
    #[inline]
    pub fn ask(&mut self, test: u32, process: usize, answer: Option<bool>) {
        if let Some(place) = self.list.get_mut(self.count) {
            *place = [test, (process as u32) << 8 | code(answer)];
        }
        self.count += 1;
    }
}

#[inline(always)]
fn code(answer: Option<bool>) -> u32 {
    answer.map_or(2, u32::from)
}

/// The choices that a worker has made: a hash table of positions in a list of words. A choice has a
/// word with the lengths, four words for what is left out, its key, and two words for each of its
/// questions.
#[derive(Default)]
pub(crate) struct Memo {
    /// A slot has the upper half of a hash and the position of the choice. It is 0 if it is empty.
    table: Vec<u64>,
    words: Vec<u32>,
    count: usize,
    /// The number of lookups since the share of misses was computed.
    asked: u32,
    /// The number of these lookups that found nothing.
    missed: u32,
    /// The number of lookups that are not made from now on.
    pause: u32,
}

/// The words of a choice before its key.
const HEAD: usize = 5;

impl Memo {
    /// Whether lookups are not made at present.
    #[inline]
    pub fn is_paused(&self) -> bool {
        self.pause > 0
    }

    /// Whether a lookup should be made. This counts the lookup.
    #[inline]
    pub fn is_useful(&mut self) -> bool {
        if self.pause > 0 {
            self.pause -= 1;
            return false;
        }
        self.asked += 1;
        if self.asked == SAMPLE {
            // A hit takes a sixth of the time of making the choice.
            if self.missed > SAMPLE / 8 * 5 {
                self.pause = PAUSE;
            }
            (self.asked, self.missed) = (0, 0);
        }
        true
    }

    /// The choice that was made before for this key and these answers. `holds` answers questions.
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
            let ([lengths, left @ ..], rest) = self.words[slot as u32 as usize..].split_first_chunk::<HEAD>()?;
            let (len, questions) = ((lengths & 0xffff) as usize, 2 * (lengths >> 16) as usize);
            if len != key.len || rest.get(..len) != Some(&key.words[..len]) {
                continue;
            }
            let (asked, _) = rest.get(len..len + questions)?.as_chunks::<2>();
            if asked.iter().all(|[test, asked]| code(holds(*test, (asked >> 8) as usize)) == asked & 0xff) {
                let [low, high, first, second] = left.map(u64::from);
                return Some(LeftOut { processes: high << 32 | low, postponed: second << 32 | first });
            }
        }
        None
    }

    /// Keeps a choice, unless it has too many questions.
    #[inline(never)]
    pub fn keep(&mut self, key: &Key, questions: &Questions, left: LeftOut) {
        self.missed += 1;
        let Some(asked) = questions.list.get(..questions.count) else { return };
        if self.words.len() + HEAD + key.len + 2 * asked.len() > WORDS {
            // The cache is full, so all choices are dropped. Those that are still needed are made
            // and kept again.
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
            let halves = |word: u64| [word as u32, (word >> 32) as u32];
            self.words.push((asked.len() as u32) << 16 | key.len as u32);
            self.words.extend([halves(left.processes), halves(left.postponed)].as_flattened());
            self.words.extend(&key.words[..key.len]);
            self.words.extend(asked.as_flattened());
        }
    }

    /// Inserts a slot into the table. Returns whether one of the slots that a lookup examines was
    /// empty.
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
            // Position 0 means an empty slot, so no choice begins there.
            self.words.push(0);
        }
        let more = (self.table.len() * 4).max(256);
        for slot in std::mem::replace(&mut self.table, vec![0; more]) {
            // A choice for which no slot is empty is dropped.
            let _ = slot != 0 && self.put(slot);
        }
    }
}
