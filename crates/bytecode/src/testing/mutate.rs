//! Small random damage to input, from a seed: a simple fuzzer for machines without a real one.

use crate::ops::TABLE;

/// Random numbers and choices from a seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        splitmix::next(&mut self.0)
    }

    /// A number below `limit`; 0 if `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next_u64() % limit.max(1) as u64) as usize
    }

    /// `count` random bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next_u64() as u8).collect()
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// A random part of a sequence of `length` elements.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length);
        start..start + self.below((length - start).min(16) + 1)
    }
}

/// Damages bytes; pieces may come from `other`.
pub fn mutate_bytes(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(8) {
            0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            2 if !bytes.is_empty() => bytes[at] = random.one_of(&[0, 1, 0x7f, 0x80, 0xff, 0x38, 0x0a, 0x20]),
            3 if !bytes.is_empty() => bytes[at] = bytes[at].wrapping_add(random.one_of(&[1, 2, 255, 254])),
            4 => bytes.insert(at, random.next_u64() as u8),
            5 => drop(bytes.drain(random.range(bytes.len()))),
            6 => {
                let piece = other[random.range(other.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            7 if random.below(4) == 0 => bytes.truncate(at),
            _ => {}
        }
    }
}

/// Damages a text: drops, doubles, exchanges and replaces words, moves lines, inserts characters.
pub fn mutate_text(random: &mut Random, text: &str, other: &str) -> String {
    const STRANGE: [&str; 24] = [
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        ":",
        ".",
        "=",
        "\"",
        "'",
        "\\",
        "@",
        "-",
        ";:",
        "\u{0}",
        "é",
        "99999999999",
        "-1",
        "0x",
        "process",
        "local",
        "\n",
    ];
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let others: Vec<&str> = other.lines().collect();
    for _ in 0..=random.below(4) {
        let at = random.below(lines.len());
        match random.below(9) {
            0 if !lines.is_empty() => drop(lines.remove(at)),
            1 if !lines.is_empty() => {
                let line = lines[random.below(lines.len())].clone();
                lines.insert(at, line);
            }
            2 if !others.is_empty() => lines.insert(at, random.one_of(&others).to_owned()),
            3 if !lines.is_empty() => {
                let to = random.below(lines.len());
                lines.swap(at, to);
            }
            4 => lines.insert(at, format!("    {}", random.one_of(TABLE).1)),
            _ if !lines.is_empty() => {
                let mut words: Vec<&str> = lines[at].split(' ').collect();
                let word = random.below(words.len());
                match random.below(5) {
                    0 => drop(words.remove(word)),
                    1 => words.insert(word, random.one_of(&STRANGE)),
                    2 => words[word] = random.one_of(&STRANGE),
                    3 => words.insert(word, words[random.below(words.len())]),
                    _ => {
                        let to = random.below(words.len());
                        words.swap(word, to);
                    }
                }
                lines[at] = words.join(" ");
            }
            _ => {}
        }
    }
    lines.join("\n")
}
