//! Random formulas and words, the same for the same seed.

use crate::formula::{Formulas, Id, Node};
use crate::lasso::Lasso;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A stream.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        splitmix::next(&mut self.0)
    }

    /// A number below `bound`; zero if the bound is zero.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.number() % bound as u64) as usize }
    }

    /// A formula with `size` operators and atoms over the atoms `p0`, `p1`, …
    pub fn formula(&mut self, formulas: &mut Formulas, size: usize, atoms: usize) -> Id {
        if size <= 1 {
            return match self.below(20) {
                0 => Formulas::TRUE,
                1 => Formulas::FALSE,
                _ => {
                    let atom = self.below(atoms);
                    formulas.atom(&format!("p{atom}"))
                }
            };
        }
        let unary = size == 2 || self.below(3) == 0;
        if unary {
            let a = self.formula(formulas, size - 1, atoms);
            return formulas.intern(match self.below(4) {
                0 => Node::Not(a),
                1 => Node::Next(a),
                2 => Node::Eventually(a),
                _ => Node::Always(a),
            });
        }
        let left = 1 + self.below(size - 2);
        let a = self.formula(formulas, left, atoms);
        let b = self.formula(formulas, size - 1 - left, atoms);
        formulas.intern(match self.below(9) {
            0 | 1 => Node::And([a, b].into()),
            2 | 3 => Node::Or([a, b].into()),
            4 => Node::Implies(a, b),
            5 => Node::Equivalent(a, b),
            6 => Node::Until(a, b),
            7 => Node::WeakUntil(a, b),
            _ => Node::Release(a, b),
        })
    }

    /// A word over so many atoms: a short prefix and a short cycle.
    pub fn lasso(&mut self, atoms: usize) -> Lasso {
        let mut letters = |count: usize| (0..count).map(|_| self.number() & ((1 << atoms) - 1)).collect::<Vec<u64>>();
        let (prefix, cycle) = (letters(4), letters(4));
        let (prefix_length, cycle_length) = (self.below(5), 1 + self.below(4));
        Lasso::new(&prefix[..prefix_length], &cycle[..cycle_length])
    }
}
