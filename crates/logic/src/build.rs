//! Builds formulas with the simple simplifications, and pushes negation to the atoms.

use crate::formula::{Formulas, Id, Node};
use rustc_hash::FxHashMap;

impl Formulas {
    /// All of these: flat, sorted, each once; false if one contradicts another.
    pub(crate) fn all_of(&mut self, list: impl IntoIterator<Item = Id>) -> Id {
        self.chain(list, true)
    }

    /// One of these: flat, sorted, each once; true if one is the negation of another.
    pub(crate) fn any_of(&mut self, list: impl IntoIterator<Item = Id>) -> Id {
        self.chain(list, false)
    }

    fn chain(&mut self, list: impl IntoIterator<Item = Id>, and: bool) -> Id {
        let (neutral, absorbing) = if and { (Formulas::TRUE, Formulas::FALSE) } else { (Formulas::FALSE, Formulas::TRUE) };
        let mut parts: Vec<Id> = Vec::new();
        let mut open: Vec<Id> = list.into_iter().collect();
        while let Some(id) = open.pop() {
            match self.node(id) {
                Node::And(inner) if and => open.extend(inner.iter()),
                Node::Or(inner) if !and => open.extend(inner.iter()),
                _ if id == absorbing => return absorbing,
                _ if id == neutral => {}
                _ => parts.push(id),
            }
        }
        parts.sort_unstable();
        parts.dedup();
        let contradicted = |id: &Id| matches!(self.node(*id), Node::Not(inner) if parts.binary_search(inner).is_ok());
        if parts.iter().any(contradicted) {
            return absorbing;
        }
        match parts.as_slice() {
            [] => neutral,
            [one] => *one,
            _ if and => self.intern(Node::And(parts.into())),
            _ => self.intern(Node::Or(parts.into())),
        }
    }

    pub(crate) fn next(&mut self, a: Id) -> Id {
        if a <= Formulas::FALSE { a } else { self.intern(Node::Next(a)) }
    }

    pub(crate) fn eventually(&mut self, a: Id) -> Id {
        if a <= Formulas::FALSE || matches!(self.node(a), Node::Eventually(_)) { a } else { self.intern(Node::Eventually(a)) }
    }

    pub(crate) fn always(&mut self, a: Id) -> Id {
        if a <= Formulas::FALSE || matches!(self.node(a), Node::Always(_)) { a } else { self.intern(Node::Always(a)) }
    }

    pub(crate) fn until(&mut self, a: Id, b: Id) -> Id {
        match (a, b) {
            _ if b <= Formulas::FALSE || a == b => b,
            (Formulas::FALSE, _) => b,
            (Formulas::TRUE, _) => self.eventually(b),
            _ => self.intern(Node::Until(a, b)),
        }
    }

    pub(crate) fn release(&mut self, a: Id, b: Id) -> Id {
        match (a, b) {
            _ if b <= Formulas::FALSE || a == b => b,
            (Formulas::TRUE, _) => b,
            (Formulas::FALSE, _) => self.always(b),
            _ => self.intern(Node::Release(a, b)),
        }
    }

    pub(crate) fn weak_until(&mut self, a: Id, b: Id) -> Id {
        match (a, b) {
            (_, Formulas::TRUE) | (Formulas::TRUE, _) => Formulas::TRUE,
            (Formulas::FALSE, _) => b,
            (_, Formulas::FALSE) => self.always(a),
            _ if a == b => b,
            _ => self.intern(Node::WeakUntil(a, b)),
        }
    }

    pub(crate) fn strong_release(&mut self, a: Id, b: Id) -> Id {
        match (a, b) {
            (_, Formulas::FALSE) | (Formulas::FALSE, _) => Formulas::FALSE,
            (Formulas::TRUE, _) => b,
            (_, Formulas::TRUE) => self.eventually(a),
            _ if a == b => b,
            _ => self.intern(Node::StrongRelease(a, b)),
        }
    }

    /// The formula, or its negation, with `!` only before atoms and without `->` and `<->`.
    pub fn normal_form(&mut self, root: Id, negated: bool) -> Id {
        let mut made: FxHashMap<(Id, bool), Id> = FxHashMap::default();
        // Subformulas come first, in both polarities: an equivalence needs both.
        for id in self.below(root) {
            for negated in [false, true] {
                let node = self.node(id).clone();
                let of = |child: Id, not: bool| made[&(child, not)];
                let result = match (node, negated) {
                    (Node::True | Node::False, _) => {
                        if (id == Formulas::TRUE) != negated {
                            Formulas::TRUE
                        } else {
                            Formulas::FALSE
                        }
                    }
                    (Node::Atom(_), false) => id,
                    (Node::Atom(_), true) => self.not(id),
                    (Node::Not(a), _) => of(a, !negated),
                    (Node::And(list), false) => self.all_of(list.iter().map(|a| made[&(*a, false)])),
                    (Node::And(list), true) => self.any_of(list.iter().map(|a| made[&(*a, true)])),
                    (Node::Or(list), false) => self.any_of(list.iter().map(|a| made[&(*a, false)])),
                    (Node::Or(list), true) => self.all_of(list.iter().map(|a| made[&(*a, true)])),
                    (Node::Implies(a, b), false) => self.any_of([of(a, true), of(b, false)]),
                    (Node::Implies(a, b), true) => self.all_of([of(a, false), of(b, true)]),
                    (Node::Equivalent(a, b), _) => {
                        let same = self.all_of([made[&(a, false)], made[&(b, negated)]]);
                        let neither = self.all_of([made[&(a, true)], made[&(b, !negated)]]);
                        self.any_of([same, neither])
                    }
                    (Node::Next(a), _) => self.next(of(a, negated)),
                    (Node::Eventually(a), false) | (Node::Always(a), true) => self.eventually(of(a, negated)),
                    (Node::Always(a), false) | (Node::Eventually(a), true) => self.always(of(a, negated)),
                    (Node::Until(a, b), false) | (Node::Release(a, b), true) => self.until(of(a, negated), of(b, negated)),
                    (Node::Release(a, b), false) | (Node::Until(a, b), true) => self.release(of(a, negated), of(b, negated)),
                    (Node::WeakUntil(a, b), false) | (Node::StrongRelease(a, b), true) => self.weak_until(of(a, negated), of(b, negated)),
                    (Node::StrongRelease(a, b), false) | (Node::WeakUntil(a, b), true) => {
                        self.strong_release(of(a, negated), of(b, negated))
                    }
                };
                made.insert((id, negated), result);
            }
        }
        made[&(root, negated)]
    }
}
