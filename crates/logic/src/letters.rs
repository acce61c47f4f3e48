//! Classes of letters that an automaton does not distinguish.
//!
//! The guards of an automaton divide the letters into classes. A guard is then a set of classes, a
//! few machine words, and the inner loops of the simulations need no diagrams.

use crate::bdd::Bdd;
use crate::graph::{Graph, Work};
use rustc_hash::FxHashMap;

/// The largest number of classes.
pub const CLASSES: usize = 256;

/// A set of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask([u64; CLASSES / 64]);

impl Mask {
    pub const NONE: Mask = Mask([0; CLASSES / 64]);

    pub fn minus(self, other: Mask) -> Mask {
        Mask(std::array::from_fn(|i| self.0[i] & !other.0[i]))
    }

    pub fn is_none(self) -> bool {
        self.0 == Mask::NONE.0
    }

    pub fn has(self, class: usize) -> bool {
        self.0[class / 64] >> (class % 64) & 1 == 1
    }

    fn add(&mut self, class: usize) {
        self.0[class / 64] |= 1 << (class % 64);
    }
}

/// The classes of an automaton's letters.
pub struct Letters {
    masks: FxHashMap<Bdd, Mask>,
    /// One set of letters for each class.
    pub classes: Vec<Bdd>,
}

impl Letters {
    /// The classes; nothing if there are too many.
    pub fn of(graphs: &[&Graph], work: &mut Work) -> Option<Letters> {
        let mut classes = vec![Bdd::ALL];
        let mut masks: FxHashMap<Bdd, Mask> = FxHashMap::default();
        let edges = || graphs.iter().flat_map(|graph| graph.edges.iter().flatten());
        for edge in edges() {
            if masks.insert(edge.guard, Mask::NONE).is_some() {
                continue;
            }
            let mut split = Vec::with_capacity(classes.len() * 2);
            for class in classes {
                let (inside, outside) = (work.bdds.and(class, edge.guard), work.bdds.minus(class, edge.guard));
                split.extend([inside, outside].into_iter().filter(|part| !part.is_none()));
            }
            classes = split;
            if classes.len() > CLASSES || work.bdds.overflowed() {
                return None;
            }
        }
        for (guard, mask) in &mut masks {
            for (number, class) in classes.iter().enumerate() {
                if work.bdds.within(*class, *guard) {
                    mask.add(number);
                }
            }
        }
        Some(Letters { masks, classes })
    }

    pub fn mask(&self, guard: Bdd) -> Mask {
        self.masks.get(&guard).copied().unwrap_or(Mask::NONE)
    }
}
