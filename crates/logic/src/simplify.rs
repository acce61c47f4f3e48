//! Rewrites formulas to smaller ones with the same meaning.
//!
//! The formula is built again from its leaves, and for each operator a rule that fits its operands
//! is applied: the rules of Somenzi and Bloem (2000), Etessami and Holzmann (2000), Babiak and
//! others (2012), and of Spot's documentation. `M` is strong release here: `a M b` is `b U (a &&
//! b)`. This file has no proofs of its rules: the audit tests each rule on random formulas and
//! words.

use crate::formula::{Formulas, Id, Node};
use crate::graph::Work;
use crate::implication::Implication;

/// Rewrites formulas in negation normal form.
pub struct Simplifier<'a> {
    formulas: &'a mut Formulas,
    work: &'a mut Work,
    known: Implication,
    /// How many more rules may be applied.
    fuel: u32,
}

/// The largest number of rules that are applied to one formula.
const FUEL: u32 = 20_000;
/// The largest number of rounds.
const ROUNDS: u32 = 6;
/// Longer conjunctions and disjunctions are not compared part by part.
const LONG: usize = 40;

impl<'a> Simplifier<'a> {
    /// `questions` of implication may be answered by automata.
    pub fn new(formulas: &'a mut Formulas, work: &'a mut Work, questions: u32) -> Self {
        Simplifier { formulas, work, known: Implication::new(questions), fuel: FUEL }
    }

    /// A formula with the same meaning.
    pub fn simplify(&mut self, root: Id) -> Id {
        let mut root = root;
        for _ in 0..ROUNDS {
            let next = self.round(root);
            if next == root || self.fuel == 0 {
                return next;
            }
            root = next;
        }
        root
    }

    fn round(&mut self, root: Id) -> Id {
        let mut made: rustc_hash::FxHashMap<Id, Id> = rustc_hash::FxHashMap::default();
        for id in self.formulas.below(root) {
            let node = self.formulas.node(id).clone();
            let result = match node {
                Node::And(list) => self.and(list.iter().map(|a| made[a]).collect()),
                Node::Or(list) => self.or(list.iter().map(|a| made[a]).collect()),
                Node::Next(a) => self.next(made[&a]),
                Node::Eventually(a) => self.eventually(made[&a]),
                Node::Always(a) => self.always(made[&a]),
                Node::Until(a, b) => self.until(made[&a], made[&b]),
                Node::WeakUntil(a, b) => self.weak(made[&a], made[&b]),
                Node::Release(a, b) => self.release(made[&a], made[&b]),
                Node::StrongRelease(a, b) => self.strong(made[&a], made[&b]),
                _ => id,
            };
            made.insert(id, result);
        }
        made[&root]
    }

    fn follows(&mut self, a: Id, b: Id) -> bool {
        self.known.holds(self.formulas, a, b, self.work)
    }

    fn exclude(&mut self, a: Id, b: Id) -> bool {
        self.known.exclude(self.formulas, a, b, self.work)
    }

    fn exhaust(&mut self, a: Id, b: Id) -> bool {
        self.known.exhaust(self.formulas, a, b, self.work)
    }

    /// Whether another rule may be applied.
    fn go_on(&mut self) -> bool {
        self.fuel = self.fuel.saturating_sub(1);
        self.fuel > 0
    }

    fn is_eventual(&self, id: Id) -> bool {
        self.formulas.shape(id).eventual
    }

    fn is_universal(&self, id: Id) -> bool {
        self.formulas.shape(id).universal
    }

    /// Holds at one position exactly if it holds at all.
    fn is_both(&self, id: Id) -> bool {
        self.is_eventual(id) && self.is_universal(id)
    }

    /// The parts of a conjunction or of a disjunction.
    fn parts(&self, id: Id, and: bool) -> Option<Vec<Id>> {
        match (self.formulas.node(id), and) {
            (Node::And(list), true) | (Node::Or(list), false) => Some(list.to_vec()),
            _ => None,
        }
    }

    /// The parts of a chain that are wanted, and the others. A formula of another kind is a chain
    /// of one.
    fn split(&self, id: Id, and: bool, wanted: impl Fn(Id) -> bool) -> (Vec<Id>, Vec<Id>) {
        let (yes, no): (Vec<Id>, Vec<Id>) = self.parts(id, and).unwrap_or_else(|| vec![id]).into_iter().partition(|part| wanted(*part));
        // If no other part is left, a split gains nothing.
        if no.is_empty() { (Vec::new(), yes) } else { (yes, no) }
    }

    fn next(&mut self, a: Id) -> Id {
        if self.is_both(a) { a } else { self.formulas.next(a) }
    }

    fn eventually(&mut self, a: Id) -> Id {
        if self.is_eventual(a) {
            return a;
        }
        if !self.go_on() {
            return self.formulas.eventually(a);
        }
        match self.formulas.node(a).clone() {
            Node::Next(b) => {
                let inner = self.eventually(b);
                self.next(inner)
            }
            Node::Until(_, b) => self.eventually(b),
            Node::StrongRelease(b, c) => {
                let both = self.and(vec![b, c]);
                self.eventually(both)
            }
            Node::Or(list) if list.iter().any(|part| matches!(self.formulas.node(*part), Node::Eventually(_))) => {
                let inner = |part: &Id| if let Node::Eventually(b) = self.formulas.node(*part) { *b } else { *part };
                let list = list.iter().map(inner).collect();
                let any = self.or(list);
                self.eventually(any)
            }
            Node::Or(_) => {
                // `<>(f || u)` is `<>f || <>u`, and with a universal `u` the second is one that
                // holds everywhere or nowhere.
                let (universal, rest) = self.split(a, false, |part| self.is_universal(part));
                if universal.is_empty() {
                    return self.formulas.eventually(a);
                }
                let rest = self.or(rest);
                let list = [rest].into_iter().chain(universal).map(|part| self.eventually(part)).collect();
                self.or(list)
            }
            Node::And(_) => {
                let (both, rest) = self.split(a, true, |part| self.is_both(part));
                if both.is_empty() {
                    return self.formulas.eventually(a);
                }
                let rest = self.and(rest);
                let mut list = both;
                list.push(self.eventually(rest));
                self.and(list)
            }
            // `<>[](f || u)` with a universal `u`.
            Node::Always(b) => {
                let (universal, rest) = self.split(b, false, |part| self.is_universal(part));
                if universal.is_empty() {
                    return self.formulas.eventually(a);
                }
                let rest = self.or(rest);
                let mut list = Vec::new();
                for part in [rest].into_iter().chain(universal) {
                    let inner = self.always(part);
                    list.push(self.eventually(inner));
                }
                self.or(list)
            }
            _ => self.formulas.eventually(a),
        }
    }

    fn always(&mut self, a: Id) -> Id {
        if self.is_universal(a) {
            return a;
        }
        if !self.go_on() {
            return self.formulas.always(a);
        }
        match self.formulas.node(a).clone() {
            Node::Next(b) => {
                let inner = self.always(b);
                self.next(inner)
            }
            Node::Release(_, b) => self.always(b),
            Node::WeakUntil(b, c) => {
                let any = self.or(vec![b, c]);
                self.always(any)
            }
            Node::And(list) if list.iter().any(|part| matches!(self.formulas.node(*part), Node::Always(_))) => {
                let inner = |part: &Id| if let Node::Always(b) = self.formulas.node(*part) { *b } else { *part };
                let list = list.iter().map(inner).collect();
                let all = self.and(list);
                self.always(all)
            }
            Node::And(_) => {
                let (eventual, rest) = self.split(a, true, |part| self.is_eventual(part));
                if eventual.is_empty() {
                    return self.formulas.always(a);
                }
                let rest = self.and(rest);
                let list = [rest].into_iter().chain(eventual).map(|part| self.always(part)).collect();
                self.and(list)
            }
            Node::Or(_) => {
                let (both, rest) = self.split(a, false, |part| self.is_both(part));
                if both.is_empty() {
                    return self.formulas.always(a);
                }
                let rest = self.or(rest);
                let mut list = both;
                list.push(self.always(rest));
                self.or(list)
            }
            // `[]<>(f && e)` with an eventuality `e`.
            Node::Eventually(b) => {
                let (eventual, rest) = self.split(b, true, |part| self.is_eventual(part));
                if eventual.is_empty() {
                    return self.formulas.always(a);
                }
                let rest = self.and(rest);
                let mut list = Vec::new();
                for part in [rest].into_iter().chain(eventual) {
                    let inner = self.eventually(part);
                    list.push(self.always(inner));
                }
                self.and(list)
            }
            _ => self.formulas.always(a),
        }
    }

    fn until(&mut self, a: Id, b: Id) -> Id {
        if self.is_eventual(b) || !self.go_on() || self.follows(a, b) {
            return if self.fuel > 0 { b } else { self.formulas.until(a, b) };
        }
        if a == Formulas::TRUE || self.exhaust(a, b) {
            return self.eventually(b);
        }
        if let (Node::Next(c), Node::Next(d)) = (self.formulas.node(a).clone(), self.formulas.node(b).clone()) {
            let inner = self.until(c, d);
            return self.next(inner);
        }
        if let Node::Until(c, _) = *self.formulas.node(b)
            && self.follows(a, c)
        {
            return b;
        }
        // `a U (g || e)` with an eventuality `e`.
        let (eventual, rest) = self.split(b, false, |part| self.is_eventual(part));
        if !eventual.is_empty() {
            let rest = self.or(rest);
            let mut list = eventual;
            list.push(self.until(a, rest));
            return self.or(list);
        }
        let (both, rest) = self.split(b, true, |part| self.is_both(part));
        if !both.is_empty() {
            let rest = self.and(rest);
            let mut list = both;
            list.push(self.until(a, rest));
            return self.and(list);
        }
        // `a U (g || []a)` is `a W g`, and `a U (a && g)` is `g M a`.
        let (held, rest) = self.split(b, false, |part| matches!(self.formulas.node(part), Node::Always(c) if *c == a));
        if !held.is_empty() {
            let rest = self.or(rest);
            return self.weak(a, rest);
        }
        let (same, rest) = self.split(b, true, |part| part == a);
        if !same.is_empty() {
            let rest = self.and(rest);
            return self.strong(rest, a);
        }
        match self.waiting(a, b) {
            Some(smaller) => self.until(smaller, b),
            None => self.formulas.until(a, b),
        }
    }

    /// The condition while the formula waits for `b`, without the parts that `b` makes
    /// unnecessary.
    fn waiting(&mut self, a: Id, b: Id) -> Option<Id> {
        match self.formulas.node(a).clone() {
            Node::Or(list) => {
                let kept: Vec<Id> = list.iter().copied().filter(|part| !self.follows(*part, b)).collect();
                (kept.len() < list.len()).then(|| self.or(kept))
            }
            Node::And(list) => {
                let kept: Vec<Id> = list.iter().copied().filter(|part| !self.exhaust(*part, b)).collect();
                (kept.len() < list.len()).then(|| self.and(kept))
            }
            // If `b` follows from `c`, then of `c U d` only `d` matters while the formula waits for
            // `b`.
            Node::Until(c, d) if self.follows(c, b) => Some(d),
            _ => None,
        }
    }

    fn weak(&mut self, a: Id, b: Id) -> Id {
        if a <= Formulas::FALSE || b <= Formulas::FALSE || !self.go_on() {
            return if b == Formulas::FALSE && self.fuel > 0 { self.always(a) } else { self.formulas.weak_until(a, b) };
        }
        if self.follows(a, b) {
            return b;
        }
        if self.exhaust(a, b) {
            return Formulas::TRUE;
        }
        if let (Node::Next(c), Node::Next(d)) = (self.formulas.node(a).clone(), self.formulas.node(b).clone()) {
            let inner = self.weak(c, d);
            return self.next(inner);
        }
        if let Node::WeakUntil(c, _) = *self.formulas.node(b)
            && self.follows(a, c)
        {
            return b;
        }
        if self.is_both(a) {
            return self.or(vec![a, b]);
        }
        let (both, rest) =
            self.split(b, false, |part| self.is_both(part) || matches!(self.formulas.node(part), Node::Always(c) if *c == a));
        if !both.is_empty() {
            let rest = self.or(rest);
            let mut list: Vec<Id> = both.into_iter().filter(|part| self.is_both(*part)).collect();
            list.push(self.weak(a, rest));
            return self.or(list);
        }
        match self.waiting(a, b) {
            Some(smaller) => self.weak(smaller, b),
            None => self.formulas.weak_until(a, b),
        }
    }

    fn release(&mut self, a: Id, b: Id) -> Id {
        if self.is_universal(b) || !self.go_on() || self.follows(b, a) {
            return if self.fuel > 0 { b } else { self.formulas.release(a, b) };
        }
        if a == Formulas::FALSE || self.exclude(a, b) {
            return self.always(b);
        }
        if let (Node::Next(c), Node::Next(d)) = (self.formulas.node(a).clone(), self.formulas.node(b).clone()) {
            let inner = self.release(c, d);
            return self.next(inner);
        }
        if let Node::Release(c, _) = *self.formulas.node(b)
            && self.follows(c, a)
        {
            return b;
        }
        let (universal, rest) = self.split(b, true, |part| self.is_universal(part));
        if !universal.is_empty() {
            let rest = self.and(rest);
            let mut list = universal;
            list.push(self.release(a, rest));
            return self.and(list);
        }
        let (both, rest) = self.split(b, false, |part| self.is_both(part));
        if !both.is_empty() {
            let rest = self.or(rest);
            let mut list = both;
            list.push(self.release(a, rest));
            return self.or(list);
        }
        // `a V (g && <>a)` is `a M g`, and `a V (a || g)` is `g W a`.
        let (reached, rest) = self.split(b, true, |part| matches!(self.formulas.node(part), Node::Eventually(c) if *c == a));
        if !reached.is_empty() {
            let rest = self.and(rest);
            return self.strong(a, rest);
        }
        let (same, rest) = self.split(b, false, |part| part == a);
        if !same.is_empty() {
            let rest = self.or(rest);
            return self.weak(rest, a);
        }
        match self.releasing(a, b) {
            Some(smaller) => self.release(smaller, b),
            None => self.formulas.release(a, b),
        }
    }

    /// The formula that releases `b`, without the parts that `b` makes unnecessary.
    fn releasing(&mut self, a: Id, b: Id) -> Option<Id> {
        match self.formulas.node(a).clone() {
            Node::And(list) => {
                let kept: Vec<Id> = list.iter().copied().filter(|part| !self.follows(b, *part)).collect();
                (kept.len() < list.len()).then(|| self.and(kept))
            }
            Node::Or(list) => {
                let kept: Vec<Id> = list.iter().copied().filter(|part| !self.exclude(*part, b)).collect();
                (kept.len() < list.len()).then(|| self.or(kept))
            }
            _ => None,
        }
    }

    fn strong(&mut self, a: Id, b: Id) -> Id {
        if a <= Formulas::FALSE || b <= Formulas::FALSE || !self.go_on() {
            return if b == Formulas::TRUE && self.fuel > 0 { self.eventually(a) } else { self.formulas.strong_release(a, b) };
        }
        if self.follows(b, a) {
            return b;
        }
        if self.exclude(a, b) {
            return Formulas::FALSE;
        }
        if let (Node::Next(c), Node::Next(d)) = (self.formulas.node(a).clone(), self.formulas.node(b).clone()) {
            let inner = self.strong(c, d);
            return self.next(inner);
        }
        if let Node::StrongRelease(c, _) = *self.formulas.node(b)
            && self.follows(c, a)
        {
            return b;
        }
        if self.is_both(a) {
            return self.and(vec![a, b]);
        }
        match self.releasing(a, b) {
            Some(smaller) => self.strong(smaller, b),
            None => self.formulas.strong_release(a, b),
        }
    }

    fn and(&mut self, list: Vec<Id>) -> Id {
        self.chain(list, true)
    }

    fn or(&mut self, list: Vec<Id>) -> Id {
        self.chain(list, false)
    }

    /// A conjunction or a disjunction. The rules for the one are those for the other, with true and
    /// false, and the two sides of an implication, exchanged.
    fn chain(&mut self, list: Vec<Id>, and: bool) -> Id {
        let whole = self.plain_chain(list, and);
        let Some(mut list) = self.parts(whole, and) else { return whole };
        if list.len() > LONG || !self.go_on() {
            return whole;
        }
        for i in (0..list.len()).rev() {
            for j in (0..list.len()).filter(|j| *j != i) {
                if self.settle(list[i], list[j], and) {
                    return if and { Formulas::FALSE } else { Formulas::TRUE };
                }
                let (stronger, weaker) = if and { (list[j], list[i]) } else { (list[i], list[j]) };
                if self.follows(stronger, weaker) {
                    list.remove(i);
                    break;
                }
            }
        }
        // In a conjunction, a part of a disjunction is removed if the other conjuncts exclude it.
        // In a disjunction, a part of a conjunction is removed if it holds wherever the other
        // disjuncts do not.
        for i in 0..list.len() {
            let Some(inner) = self.parts(list[i], !and) else { continue };
            let others: Vec<Id> = list.iter().copied().filter(|other| *other != list[i]).collect();
            let kept: Vec<Id> = inner.iter().copied().filter(|part| !others.iter().any(|other| self.settle(*other, *part, and))).collect();
            if kept.len() < inner.len() {
                list[i] = self.chain(kept, !and);
                return self.chain(list, and);
            }
        }
        match self.joined(&list, and) {
            Some(list) => self.chain(list, and),
            None => self.plain_chain(list, and),
        }
    }

    /// A conjunction or a disjunction to which no rule of this file is applied.
    fn plain_chain(&mut self, list: Vec<Id>, and: bool) -> Id {
        if and { self.formulas.all_of(list) } else { self.formulas.any_of(list) }
    }

    /// Whether two parts make a whole conjunction false, or a whole disjunction true.
    fn settle(&mut self, a: Id, b: Id, and: bool) -> bool {
        if and { self.exclude(a, b) } else { self.exhaust(a, b) }
    }

    /// A shorter list in which two parts of a conjunction or disjunction have become one.
    fn joined(&mut self, list: &[Id], and: bool) -> Option<Vec<Id>> {
        for i in 0..list.len() {
            for j in 0..list.len() {
                if i == j {
                    continue;
                }
                if let Some(one) = self.joined_pair(list[i], list[j], and) {
                    let mut rest: Vec<Id> = (0..list.len()).filter(|at| *at != i && *at != j).map(|at| list[at]).collect();
                    rest.push(one);
                    return Some(rest);
                }
            }
        }
        None
    }

    /// One formula that replaces two.
    fn joined_pair(&mut self, f: Id, g: Id, and: bool) -> Option<Id> {
        let (x, y) = (self.formulas.node(f).clone(), self.formulas.node(g).clone());
        Some(match (x, y) {
            (Node::Next(a), Node::Next(b)) => {
                let inner = self.chain(vec![a, b], and);
                self.next(inner)
            }
            (Node::Always(a), Node::Always(b)) if and && !self.is_both(f) && !self.is_both(g) => {
                let inner = self.and(vec![a, b]);
                self.always(inner)
            }
            (Node::Eventually(a), Node::Eventually(b)) if !and && !self.is_both(f) && !self.is_both(g) => {
                let inner = self.or(vec![a, b]);
                self.eventually(inner)
            }
            // `<>[]a && <>[]b`, and `[]<>a || []<>b`.
            (Node::Eventually(a), Node::Eventually(b)) if and => match (self.formulas.node(a), self.formulas.node(b)) {
                (Node::Always(c), Node::Always(d)) => {
                    let list = vec![*c, *d];
                    let inner = self.and(list);
                    let inner = self.always(inner);
                    self.eventually(inner)
                }
                _ => return None,
            },
            (Node::Always(a), Node::Always(b)) if !and => match (self.formulas.node(a), self.formulas.node(b)) {
                (Node::Eventually(c), Node::Eventually(d)) => {
                    let list = vec![*c, *d];
                    let inner = self.or(list);
                    let inner = self.eventually(inner);
                    self.always(inner)
                }
                _ => return None,
            },
            (Node::Until(a, b), Node::Until(c, d) | Node::WeakUntil(c, d)) if and && b == d => {
                let inner = self.and(vec![a, c]);
                self.until(inner, b)
            }
            (Node::WeakUntil(a, b), Node::WeakUntil(c, d)) if and && b == d => {
                let inner = self.and(vec![a, c]);
                self.weak(inner, b)
            }
            (Node::StrongRelease(a, b), Node::StrongRelease(c, d) | Node::Release(c, d)) if and && a == c => {
                let inner = self.and(vec![b, d]);
                self.strong(a, inner)
            }
            (Node::Release(a, b), Node::Release(c, d)) if and && a == c => {
                let inner = self.and(vec![b, d]);
                self.release(a, inner)
            }
            (Node::Until(a, b), Node::Until(c, d)) if !and && a == c => {
                let inner = self.or(vec![b, d]);
                self.until(a, inner)
            }
            (Node::WeakUntil(a, b), Node::Until(c, d) | Node::WeakUntil(c, d)) if !and && a == c => {
                let inner = self.or(vec![b, d]);
                self.weak(a, inner)
            }
            (Node::Release(a, b), Node::Release(c, d) | Node::StrongRelease(c, d)) if !and && b == d => {
                let inner = self.or(vec![a, c]);
                self.release(inner, b)
            }
            (Node::StrongRelease(a, b), Node::StrongRelease(c, d)) if !and && b == d => {
                let inner = self.or(vec![a, c]);
                self.strong(inner, b)
            }
            (Node::Eventually(b), Node::WeakUntil(a, c)) if and && b == c => self.until(a, b),
            (Node::Eventually(a), Node::Release(c, b)) if and && a == c => self.strong(a, b),
            (Node::Always(a), Node::Until(c, b)) if !and && a == c => self.weak(a, b),
            (Node::Always(b), Node::StrongRelease(a, c)) if !and && b == c => self.release(a, b),
            _ => return None,
        })
    }
}
