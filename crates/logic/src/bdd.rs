//! Sets of letters as reduced ordered binary decision diagrams (Bryant 1986).
//!
//! Guards are often compared, joined and subtracted, and equal guards must have equal numbers.
//! These diagrams provide that. There are few atoms and small guards, so a table and two caches are
//! enough. The table has a limit. Operations return no errors: beyond the limit their results are
//! meaningless, and [`Bdds::overflowed`] says so. Callers must ask for it before they use a result.

use crate::automaton::{Cube, Guard};
use rustc_hash::FxHashMap;

/// A set of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bdd(u32);

impl Bdd {
    /// No letter.
    pub const NONE: Bdd = Bdd(0);
    /// All letters.
    pub const ALL: Bdd = Bdd(1);

    /// Whether there is no letter in it.
    pub fn is_none(self) -> bool {
        self == Bdd::NONE
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Node {
    atom: u32,
    low: Bdd,
    high: Bdd,
}

/// The number of steps of work for each node of the limit.
const STEPS_A_NODE: usize = 4;
/// A guard of more cubes than this counts as an overflow.
const CUBES: usize = 20_000;

/// The atom of the two constants; it comes after all others.
const LEAF: u32 = u32::MAX;

/// The diagrams.
pub struct Bdds {
    nodes: Vec<Node>,
    unique: FxHashMap<Node, Bdd>,
    ands: FxHashMap<(Bdd, Bdd), Bdd>,
    nots: FxHashMap<Bdd, Bdd>,
    limit: usize,
    overflowed: bool,
}

impl Bdds {
    /// Empty tables; at most `limit` nodes.
    pub fn new(limit: usize) -> Bdds {
        let leaf = |value| Node { atom: LEAF, low: value, high: value };
        Bdds {
            nodes: vec![leaf(Bdd::NONE), leaf(Bdd::ALL)],
            unique: FxHashMap::default(),
            ands: FxHashMap::default(),
            nots: FxHashMap::default(),
            limit,
            overflowed: false,
        }
    }

    /// Whether the limit was reached: results since then are meaningless.
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Clears the overflow and raises the limit. Sets from before the overflow are still right,
    /// later ones are not.
    pub fn recover(&mut self) {
        if self.overflowed {
            self.overflowed = false;
            self.limit += self.limit / 2;
        }
    }

    /// Counts a step of work. Each step is an entry of the cache, so the limit also bounds the
    /// work.
    fn remember(&mut self) {
        if self.ands.len() >= self.limit.saturating_mul(STEPS_A_NODE) {
            self.overflowed = true;
        }
    }

    fn make(&mut self, atom: u32, low: Bdd, high: Bdd) -> Bdd {
        if low == high {
            return low;
        }
        let node = Node { atom, low, high };
        if let Some(&known) = self.unique.get(&node) {
            return known;
        }
        if self.nodes.len() >= self.limit {
            self.overflowed = true;
            return Bdd::NONE;
        }
        let made = Bdd(self.nodes.len() as u32);
        self.nodes.push(node);
        self.unique.insert(node, made);
        made
    }

    fn node(&self, set: Bdd) -> Node {
        self.nodes[set.0 as usize]
    }

    /// The letters in which the atom is true, or false.
    pub fn literal(&mut self, atom: u32, positive: bool) -> Bdd {
        if positive { self.make(atom, Bdd::NONE, Bdd::ALL) } else { self.make(atom, Bdd::ALL, Bdd::NONE) }
    }

    /// The letters in both.
    pub fn and(&mut self, a: Bdd, b: Bdd) -> Bdd {
        if a == b || b == Bdd::ALL {
            return a;
        }
        if a == Bdd::ALL {
            return b;
        }
        if a == Bdd::NONE || b == Bdd::NONE || self.overflowed {
            return Bdd::NONE;
        }
        let key = (a.min(b), a.max(b));
        if let Some(&known) = self.ands.get(&key) {
            return known;
        }
        let (x, y) = (self.node(a), self.node(b));
        let atom = x.atom.min(y.atom);
        let (a0, a1) = if x.atom == atom { (x.low, x.high) } else { (a, a) };
        let (b0, b1) = if y.atom == atom { (y.low, y.high) } else { (b, b) };
        let low = self.and(a0, b0);
        let high = self.and(a1, b1);
        let result = self.make(atom, low, high);
        self.remember();
        if !self.overflowed {
            self.ands.insert(key, result);
        }
        result
    }

    /// The letters that are not in it.
    pub fn not(&mut self, a: Bdd) -> Bdd {
        if a == Bdd::NONE {
            return Bdd::ALL;
        }
        if a == Bdd::ALL || self.overflowed {
            return Bdd::NONE;
        }
        if let Some(&known) = self.nots.get(&a) {
            return known;
        }
        let node = self.node(a);
        let low = self.not(node.low);
        let high = self.not(node.high);
        let result = self.make(node.atom, low, high);
        if !self.overflowed {
            self.nots.insert(a, result);
            self.nots.insert(result, a);
        }
        result
    }

    /// The letters in one of them.
    pub fn or(&mut self, a: Bdd, b: Bdd) -> Bdd {
        if a == b || b == Bdd::NONE {
            return a;
        }
        if a == Bdd::NONE {
            return b;
        }
        let (na, nb) = (self.not(a), self.not(b));
        let neither = self.and(na, nb);
        self.not(neither)
    }

    /// The letters of `a` that are not in `b`.
    pub fn minus(&mut self, a: Bdd, b: Bdd) -> Bdd {
        let outside = self.not(b);
        self.and(a, outside)
    }

    /// Whether all letters of `a` are in `b`.
    pub fn within(&mut self, a: Bdd, b: Bdd) -> bool {
        self.minus(a, b).is_none()
    }

    /// Whether they have a letter in common.
    pub fn meet(&mut self, a: Bdd, b: Bdd) -> bool {
        !self.and(a, b).is_none()
    }

    /// Whether the letter is in the set.
    #[cfg(test)]
    pub fn has(&self, set: Bdd, letter: u64) -> bool {
        let mut at = set;
        while at > Bdd::ALL {
            let node = self.node(at);
            at = if letter >> (node.atom & 63) & 1 == 1 { node.high } else { node.low };
        }
        at == Bdd::ALL
    }

    /// The set as a short list of cubes, of which none can be left out (Minato 1992).
    pub fn cubes(&mut self, set: Bdd) -> Guard {
        let mut cubes = Vec::new();
        let covered = self.between(set, set, Cube::default(), &mut cubes);
        debug_assert!(self.overflowed || covered == set);
        cubes.sort_unstable_by_key(|cube: &Cube| (cube.negative, cube.positive));
        Guard { cubes }
    }

    /// Appends cubes whose union lies between `least` and `most`; returns the union.
    fn between(&mut self, least: Bdd, most: Bdd, prefix: Cube, cubes: &mut Vec<Cube>) -> Bdd {
        if cubes.len() > CUBES {
            self.overflowed = true;
        }
        if least == Bdd::NONE || self.overflowed {
            return Bdd::NONE;
        }
        if most == Bdd::ALL {
            cubes.push(prefix);
            return Bdd::ALL;
        }
        let (l, m) = (self.node(least), self.node(most));
        let atom = l.atom.min(m.atom);
        let (l0, l1) = if l.atom == atom { (l.low, l.high) } else { (least, least) };
        let (m0, m1) = if m.atom == atom { (m.low, m.high) } else { (most, most) };
        let bit = 1u64 << (atom & 63);
        let only0 = self.minus(l0, m1);
        let only1 = self.minus(l1, m0);
        let with0 = self.between(only0, m0, Cube { negative: prefix.negative | bit, ..prefix }, cubes);
        let with1 = self.between(only1, m1, Cube { positive: prefix.positive | bit, ..prefix }, cubes);
        let rest0 = self.minus(l0, with0);
        let rest1 = self.minus(l1, with1);
        let rest = self.or(rest0, rest1);
        let both = self.and(m0, m1);
        let without = self.between(rest, both, prefix, cubes);
        let (low, high) = (self.or(with0, without), self.or(with1, without));
        self.make(atom, low, high)
    }

    /// The set of letters of a list of cubes.
    pub fn guard(&mut self, guard: &Guard) -> Bdd {
        let mut set = Bdd::NONE;
        for cube in &guard.cubes {
            let mut letters = Bdd::ALL;
            for atom in (0..64u32).rev() {
                for (mask, positive) in [(cube.positive, true), (cube.negative, false)] {
                    if mask >> atom & 1 == 1 {
                        let literal = self.literal(atom, positive);
                        letters = self.and(letters, literal);
                    }
                }
            }
            set = self.or(set, letters);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_agree_with_truth_tables() {
        let mut bdds = Bdds::new(10_000);
        let mut sets = vec![(Bdd::NONE, 0u16), (Bdd::ALL, u16::MAX)];
        for atom in 0..4 {
            let table = (0..16).filter(|letter| letter >> atom & 1 == 1).fold(0, |table, letter| table | 1 << letter);
            sets.push((bdds.literal(atom, true), table));
        }
        let mut seed = 7usize;
        for _ in 0..300 {
            let mut pick = || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                sets[(seed >> 33) % sets.len()]
            };
            let ((a, x), (b, y)) = (pick(), pick());
            let made = [(bdds.and(a, b), x & y), (bdds.or(a, b), x | y), (bdds.minus(a, b), x & !y), (bdds.not(a), !x)];
            sets.extend(made);
        }
        for &(set, table) in &sets {
            let read = |bdds: &Bdds, set| (0..16).filter(|&letter| bdds.has(set, letter)).fold(0u16, |table, letter| table | 1 << letter);
            assert_eq!(read(&bdds, set), table);
            let guard = bdds.cubes(set);
            assert_eq!((0..16).filter(|&letter| guard.allows(letter)).fold(0u16, |table, letter| table | 1 << letter), table);
            assert_eq!(bdds.guard(&guard), set, "equal sets are equal numbers");
        }
        assert!(!bdds.overflowed());
    }

    #[test]
    fn the_limit_is_told() {
        let mut bdds = Bdds::new(10);
        let mut all = Bdd::ALL;
        for atom in 0..30 {
            let literal = bdds.literal(atom, atom % 2 == 0);
            all = bdds.and(all, literal);
        }
        assert!(bdds.overflowed());
    }
}
