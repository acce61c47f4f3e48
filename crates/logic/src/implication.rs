//! Whether one formula follows from another: by their shapes, and for small formulas by their
//! languages.
//!
//! The rules on shapes are those of Somenzi and Bloem (2000) and of Babiak and others (2012), with
//! pure eventualities and universal formulas (Etessami and Holzmann 2000). They are fast and sound,
//! but not complete. The automaton of `f && !g` is complete: it is empty exactly if `g` follows
//! from `f`.

use crate::convert::letters_of;
use crate::formula::{Formulas, Id, Node};
use crate::graph::Work;
use crate::tableau::{self, Bounds};
use rustc_hash::FxHashMap;

/// The implications that are known so far.
pub struct Implication {
    by_shape: FxHashMap<(Id, Id), bool>,
    by_language: FxHashMap<(Id, Id), bool>,
    negations: FxHashMap<Id, Id>,
    /// How many more questions may be answered by automata.
    questions: u32,
    /// How many more steps may be spent. At zero, only implications that are already known are
    /// found.
    steps: u64,
}

/// Steps for one formula.
const STEPS: u64 = 4_000_000;

/// Automata answer a question only if both formulas together have at most so many subformulas.
const SMALL: usize = 24;

impl Implication {
    /// Nothing is known; `questions` may be answered by automata.
    pub fn new(questions: u32) -> Implication {
        let (by_shape, by_language, negations) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        Implication { by_shape, by_language, negations, questions, steps: STEPS }
    }

    fn pay(&mut self, steps: usize) -> bool {
        self.steps = self.steps.saturating_sub(steps as u64 + 1);
        self.steps > 0
    }

    /// The negation in negation normal form.
    fn negation(&mut self, formulas: &mut Formulas, id: Id) -> Option<Id> {
        if let Some(known) = self.negations.get(&id) {
            return Some(*known);
        }
        if !self.pay(formulas.count() * 4) {
            return None;
        }
        let negation = formulas.normal_form(id, true);
        self.negations.insert(id, negation);
        self.negations.insert(negation, id);
        Some(negation)
    }

    /// Whether `g` follows from `f`.
    pub fn holds(&mut self, formulas: &mut Formulas, f: Id, g: Id, work: &mut Work) -> bool {
        self.by_shape(formulas, f, g, work) || self.questions > 0 && self.by_language(formulas, f, g, work)
    }

    /// Whether `f` and `g` exclude each other.
    pub fn exclude(&mut self, formulas: &mut Formulas, f: Id, g: Id, work: &mut Work) -> bool {
        let (Some(not_f), Some(not_g)) = (self.negation(formulas, f), self.negation(formulas, g)) else { return false };
        self.by_shape(formulas, f, not_g, work) || self.holds(formulas, g, not_f, work)
    }

    /// Whether one of `f` and `g` always holds.
    pub fn exhaust(&mut self, formulas: &mut Formulas, f: Id, g: Id, work: &mut Work) -> bool {
        let (Some(not_f), Some(not_g)) = (self.negation(formulas, f), self.negation(formulas, g)) else { return false };
        self.by_shape(formulas, not_f, g, work) || self.holds(formulas, not_g, f, work)
    }

    fn by_language(&mut self, formulas: &mut Formulas, f: Id, g: Id, work: &mut Work) -> bool {
        if let Some(known) = self.by_language.get(&(f, g)) {
            return *known;
        }
        let shapes = [formulas.shape(f), formulas.shape(g)];
        if shapes.iter().all(|shape| shape.boolean)
            || !self.pay(formulas.count())
            || formulas.below(f).len() + formulas.below(g).len() > SMALL
        {
            return false;
        }
        self.questions -= 1;
        let Some(not_g) = self.negation(formulas, g) else { return false };
        let both = formulas.all_of([f, not_g]);
        work.left = 100_000;
        let empty = tableau::translate(formulas, both, Bounds { states: 100, edges: 600 }, work).is_some_and(|mut graph| {
            graph.trim(work);
            graph.len() == 1 && graph.edges[0].is_empty()
        });
        let answer = empty && !work.bdds.overflowed();
        self.by_language.insert((f, g), answer);
        answer
    }

    fn by_shape(&mut self, formulas: &Formulas, f: Id, g: Id, work: &mut Work) -> bool {
        if f == g || f == Formulas::FALSE || g == Formulas::TRUE {
            return true;
        }
        if f == Formulas::TRUE || g == Formulas::FALSE {
            return false;
        }
        if let Some(known) = self.by_shape.get(&(f, g)) {
            return *known;
        }
        if !self.pay(0) {
            return false;
        }
        // Formulas have no cycles, and each rule makes one side smaller.
        let answer = self.rules(formulas, f, g, work);
        self.by_shape.insert((f, g), answer);
        answer
    }

    fn rules(&mut self, formulas: &Formulas, f: Id, g: Id, work: &mut Work) -> bool {
        let (shape_f, shape_g) = (formulas.shape(f), formulas.shape(g));
        if shape_f.boolean && shape_g.boolean {
            if !self.pay(formulas.count()) {
                return false;
            }
            let sets = (letters_of(formulas, f, &mut work.bdds), letters_of(formulas, g, &mut work.bdds));
            return matches!(sets, (Some(a), Some(b)) if work.bdds.within(a, b)) && !work.bdds.overflowed();
        }
        let mut follows = |a: Id, b: Id| self.by_shape(formulas, a, b, work);
        // Rules that split the question into equivalent parts come first.
        match (formulas.node(f), formulas.node(g)) {
            (Node::Or(list), _) => return list.iter().all(|a| follows(*a, g)),
            (_, Node::And(list)) => return list.iter().all(|b| follows(f, *b)),
            _ => {}
        }
        let pairs = match (formulas.node(f), formulas.node(g)) {
            (Node::Next(a), Node::Next(b)) => follows(*a, *b),
            (Node::Until(a, b), Node::Until(c, d) | Node::WeakUntil(c, d)) | (Node::WeakUntil(a, b), Node::WeakUntil(c, d)) => {
                follows(*a, *c) && follows(*b, *d)
            }
            (Node::Release(a, b), Node::Release(c, d)) | (Node::StrongRelease(a, b), Node::StrongRelease(c, d) | Node::Release(c, d)) => {
                follows(*a, *c) && follows(*b, *d)
            }
            // `a V b` is `b W (a && b)`, and `a M b` is `b U (a && b)`.
            (Node::Release(a, b), Node::WeakUntil(c, d)) | (Node::StrongRelease(a, b), Node::Until(c, d) | Node::WeakUntil(c, d)) => {
                follows(*b, *c) && (follows(*a, *d) || follows(*b, *d))
            }
            _ => false,
        };
        if pairs {
            return true;
        }
        let left = match formulas.node(f) {
            Node::And(list) => list.iter().any(|a| follows(*a, g)),
            Node::Always(a) => follows(*a, g),
            // An eventuality that follows from `a` also follows from a later `a`.
            Node::Eventually(a) | Node::Next(a) => shape_g.eventual && follows(*a, g),
            Node::Until(a, b) => follows(*b, g) && (shape_g.eventual || follows(*a, g)),
            Node::WeakUntil(a, b) => follows(*b, g) && follows(*a, g),
            Node::Release(_, b) => follows(*b, g),
            Node::StrongRelease(a, b) => follows(*b, g) || shape_g.eventual && follows(*a, g),
            _ => false,
        };
        if left {
            return true;
        }
        match formulas.node(g) {
            Node::Or(list) => list.iter().any(|b| follows(f, *b)),
            Node::Eventually(b) => follows(f, *b),
            Node::Always(b) | Node::Next(b) => shape_f.universal && follows(f, *b),
            Node::Until(_, d) => follows(f, *d),
            Node::WeakUntil(c, d) => follows(f, *d) || shape_f.universal && follows(f, *c),
            Node::Release(c, d) => follows(f, *d) && (shape_f.universal || follows(f, *c)),
            Node::StrongRelease(c, d) => follows(f, *c) && follows(f, *d),
            _ => false,
        }
    }
}
