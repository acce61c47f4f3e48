//! Translates a formula to an automaton with generalised acceptance on edges.
//!
//! A state is a set of formulas that must hold from here on. Each formula has a list of moves:
//! letters that may come next, formulas for the next position, and promises. A conjunction combines
//! the moves of its parts, a disjunction lists them all. A postponed `a U b` is a promise of `b`;
//! in an accepted run, each promise is absent again and again. This is Couvreur's construction
//! (1999) with the lists of moves of Gastin and Oddoux (2001) instead of one large decision
//! diagram: a move that requires and promises more than another is left out at once.
//!
//! Formulas are in negation normal form.

use crate::bdd::{Bdd, Bdds};
use crate::convert::letters_of;
use crate::formula::{Formulas, Id, Node};
use crate::graph::{Edge, Graph, Work};
use rustc_hash::FxHashMap;

/// One way to satisfy a set of formulas at one position.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Move {
    letters: Bdd,
    /// The formulas that must hold at the next position, sorted.
    next: Vec<Id>,
    /// The promises of this move, a bit for each.
    promises: u64,
}

/// How large an automaton may become.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// States.
    pub states: usize,
    /// Edges in all.
    pub edges: usize,
}

/// The largest number of pairs of moves that are combined.
const PAIRS: usize = 400_000;

struct Tableau<'a> {
    formulas: &'a Formulas,
    work: &'a mut Work,
    moves: FxHashMap<Id, Vec<Move>>,
    /// The promises, by number.
    owed: Vec<Id>,
    bounds: Bounds,
}

/// The automaton of `root`, or nothing if it would be too large.
pub fn translate(formulas: &Formulas, root: Id, bounds: Bounds, work: &mut Work) -> Option<Graph> {
    let mut tableau = Tableau { formulas, work, moves: FxHashMap::default(), owed: Vec::new(), bounds };
    for id in formulas.below(root) {
        if let Some(owed) = tableau.promise_of(id)
            && !tableau.owed.contains(&owed)
        {
            tableau.owed.push(owed);
        }
    }
    if tableau.owed.len() > 64 {
        return None;
    }
    let sets = tableau.owed.len() as u32;
    let all = crate::automaton::all_marks(sets);
    let mut number: FxHashMap<Vec<Id>, u32> = FxHashMap::default();
    let first = tableau.conjuncts(&[root]);
    let mut order = vec![first.clone()];
    number.insert(first, 0);
    let mut graph = Graph { edges: Vec::new(), initial: 0, sets };
    let (mut at, mut count) = (0, 0);
    while at < order.len() {
        let state = order[at].clone();
        at += 1;
        let moves = tableau.moves_of_all(&state)?;
        count += moves.len();
        if count > bounds.edges || tableau.work.bdds.overflowed() {
            return None;
        }
        let mut edges = Vec::with_capacity(moves.len());
        for step in moves {
            let target = *number.entry(step.next.clone()).or_insert_with(|| {
                order.push(step.next);
                order.len() as u32 - 1
            });
            edges.push(Edge { guard: step.letters, marks: all & !step.promises, target });
        }
        if order.len() > bounds.states {
            return None;
        }
        graph.edges.push(edges);
    }
    Some(graph)
}

impl Tableau<'_> {
    /// The promise of a formula that is postponed. Formulas that wait for the same formula share
    /// the promise: it is fulfilled for all at the same position.
    fn promise_of(&self, id: Id) -> Option<Id> {
        match *self.formulas.node(id) {
            Node::Eventually(b) | Node::Until(_, b) => Some(b),
            Node::StrongRelease(a, _) => Some(a),
            _ => None,
        }
    }

    fn promise(&self, id: Id) -> u64 {
        let owed = self.promise_of(id).and_then(|owed| self.owed.iter().position(|known| *known == owed));
        owed.map_or(0, |at| 1 << at)
    }

    /// The parts of a conjunction of formulas, without those that another part implies at every
    /// position: `<>p` next to `[]<>p`. (A part that follows from another only now must stay, or
    /// promises would be lost.)
    fn conjuncts(&self, list: &[Id]) -> Vec<Id> {
        let mut parts = Vec::with_capacity(list.len());
        let mut open: Vec<Id> = list.to_vec();
        while let Some(id) = open.pop() {
            match self.formulas.node(id) {
                Node::True => {}
                Node::And(inner) => open.extend(inner.iter()),
                _ => parts.push(id),
            }
        }
        parts.sort_unstable();
        parts.dedup();
        let again = |part: Id, other: Id| match *self.formulas.node(other) {
            Node::Always(inner) => inner == part || matches!(self.formulas.node(inner), Node::And(list) if list.contains(&part)),
            _ => false,
        };
        if parts.iter().any(|part| matches!(self.formulas.node(*part), Node::Always(_))) {
            let kept: Vec<Id> = parts.iter().copied().filter(|part| !parts.iter().any(|other| again(*part, *other))).collect();
            return kept;
        }
        parts
    }

    fn moves_of_all(&mut self, state: &[Id]) -> Option<Vec<Move>> {
        let mut moves = vec![Move { letters: Bdd::ALL, next: Vec::new(), promises: 0 }];
        for &id in state {
            let of = self.moves_of(id)?;
            moves = self.both(&moves, &of)?;
        }
        Some(moves)
    }

    fn moves_of(&mut self, id: Id) -> Option<Vec<Move>> {
        if let Some(known) = self.moves.get(&id) {
            return Some(known.clone());
        }
        let node = self.formulas.node(id).clone();
        let moves = match node {
            _ if self.formulas.shape(id).boolean => {
                let letters = letters_of(self.formulas, id, &mut self.work.bdds)?;
                if letters.is_none() { Vec::new() } else { vec![Move { letters, next: Vec::new(), promises: 0 }] }
            }
            Node::And(list) => self.moves_of_all(&list)?,
            Node::Or(list) => {
                let mut moves = Vec::new();
                for part in list {
                    moves.extend(self.moves_of(part)?);
                }
                self.without_worse(moves)?
            }
            Node::Next(inner) => vec![Move { letters: Bdd::ALL, next: self.conjuncts(&[inner]), promises: 0 }],
            Node::Eventually(b) => {
                let mut moves = self.moves_of(b)?;
                moves.push(self.postponed(id));
                self.without_worse(moves)?
            }
            Node::Always(b) => {
                let (now, later) = (self.moves_of(b)?, [self.postponed(id)]);
                self.both(&now, &later)?
            }
            Node::Until(a, b) | Node::WeakUntil(a, b) => {
                let (waiting, later) = (self.moves_of(a)?, [self.postponed(id)]);
                let mut moves = self.both(&waiting, &later)?;
                moves.extend(self.moves_of(b)?);
                self.without_worse(moves)?
            }
            Node::Release(a, b) | Node::StrongRelease(a, b) => {
                let mut released = self.moves_of(a)?;
                released.push(self.postponed(id));
                let held = self.moves_of(b)?;
                self.both(&held, &released)?
            }
            // Constants and literals are Boolean, and the others do not occur in a negation normal
            // form.
            _ => return None,
        };
        self.moves.insert(id, moves.clone());
        Some(moves)
    }

    fn postponed(&self, id: Id) -> Move {
        Move { letters: Bdd::ALL, next: vec![id], promises: self.promise(id) }
    }

    fn both(&mut self, left: &[Move], right: &[Move]) -> Option<Vec<Move>> {
        let pairs = left.len().saturating_mul(right.len());
        if pairs > PAIRS || !self.work.spend(pairs as u64) {
            return None;
        }
        let mut moves = Vec::new();
        for a in left {
            for b in right {
                let letters = self.work.bdds.and(a.letters, b.letters);
                if !letters.is_none() {
                    let next = self.conjuncts(&[a.next.as_slice(), &b.next].concat());
                    if next.first() != Some(&Formulas::FALSE) {
                        moves.push(Move { letters, next, promises: a.promises | b.promises });
                    }
                }
            }
        }
        self.without_worse(moves)
    }

    /// Joins moves that differ only in their letters, and removes from each the letters for which
    /// another move requires less.
    fn without_worse(&mut self, moves: Vec<Move>) -> Option<Vec<Move>> {
        if moves.len() > self.bounds.edges {
            return None;
        }
        let mut joined: Vec<Move> = Vec::with_capacity(moves.len());
        let mut known: FxHashMap<(Vec<Id>, u64), usize> = FxHashMap::default();
        for step in moves {
            match known.get(&(step.next.clone(), step.promises)) {
                Some(&at) => joined[at].letters = self.work.bdds.or(joined[at].letters, step.letters),
                None => {
                    known.insert((step.next.clone(), step.promises), joined.len());
                    joined.push(step);
                }
            }
        }
        // This loop is quadratic, so its bound is tighter than the others.
        self.work.left = self.work.left.saturating_sub((joined.len() * joined.len()) as u64);
        if self.work.left == 0 {
            return None;
        }
        for i in 0..joined.len() {
            for j in 0..joined.len() {
                let better = i != j && joined[j].promises & !joined[i].promises == 0 && subset(&joined[j].next, &joined[i].next);
                if better {
                    joined[i].letters = minus(&mut self.work.bdds, joined[i].letters, joined[j].letters);
                }
            }
        }
        joined.retain(|step| !step.letters.is_none());
        Some(joined)
    }
}

fn minus(bdds: &mut Bdds, a: Bdd, b: Bdd) -> Bdd {
    bdds.minus(a, b)
}

/// Whether all of `a` are in `b`; both are sorted.
fn subset(a: &[Id], b: &[Id]) -> bool {
    a.len() <= b.len() && a.iter().all(|id| b.binary_search(id).is_ok())
}
