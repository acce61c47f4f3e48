//! Words that end in a loop, and the evaluation of formulas and automata on them.
//!
//! Two automata over the same letters have the same language exactly if they agree on all such
//! words, and a formula can be evaluated on one of them from its definition alone. So they are the
//! oracle for every translation and reduction in this crate. This module uses nothing that it
//! tests.

use crate::automaton::Automaton;
use crate::formula::{Formulas, Id, Node};

/// A letter: bit `i` is the value of atom `i`.
pub type Letter = u64;

/// The word `prefix` followed by `cycle` for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasso {
    prefix: usize,
    letters: Vec<Letter>,
}

impl Lasso {
    /// A word. An empty cycle is taken as one letter of false atoms.
    pub fn new(prefix: &[Letter], cycle: &[Letter]) -> Lasso {
        let cycle = if cycle.is_empty() { &[0] } else { cycle };
        Lasso { prefix: prefix.len(), letters: [prefix, cycle].concat() }
    }

    /// The different positions: the prefix and one round of the cycle.
    pub fn letters(&self) -> &[Letter] {
        &self.letters
    }

    /// The position at which the cycle begins.
    pub fn cycle_start(&self) -> usize {
        self.prefix
    }

    /// The position after `at`.
    pub fn next(&self, at: usize) -> usize {
        if at + 1 < self.letters.len() { at + 1 } else { self.prefix }
    }

    /// Whether the formula holds at the beginning of the word.
    pub fn satisfies(&self, formulas: &Formulas, root: Id) -> bool {
        let count = self.letters.len();
        let mut values: Vec<Vec<bool>> = vec![Vec::new(); formulas.count()];
        for id in formulas.below(root) {
            let of = |child: Id, at: usize| values[child.index()][at];
            let plain = |holds: &dyn Fn(usize) -> bool| (0..count).map(holds).collect::<Vec<bool>>();
            let value = match formulas.node(id) {
                Node::True => vec![true; count],
                Node::False => vec![false; count],
                Node::Atom(atom) => plain(&|at| self.letters[at] >> atom & 1 == 1),
                Node::Not(a) => plain(&|at| !of(*a, at)),
                Node::And(list) => plain(&|at| list.iter().all(|a| of(*a, at))),
                Node::Or(list) => plain(&|at| list.iter().any(|a| of(*a, at))),
                Node::Implies(a, b) => plain(&|at| !of(*a, at) || of(*b, at)),
                Node::Equivalent(a, b) => plain(&|at| of(*a, at) == of(*b, at)),
                Node::Next(a) => plain(&|at| of(*a, self.next(at))),
                Node::Eventually(a) => self.fixpoint(false, |at, later| of(*a, at) || later),
                Node::Always(a) => self.fixpoint(true, |at, later| of(*a, at) && later),
                Node::Until(a, b) => self.fixpoint(false, |at, later| of(*b, at) || of(*a, at) && later),
                Node::WeakUntil(a, b) => self.fixpoint(true, |at, later| of(*b, at) || of(*a, at) && later),
                Node::Release(a, b) => self.fixpoint(true, |at, later| of(*b, at) && (of(*a, at) || later)),
                Node::StrongRelease(a, b) => self.fixpoint(false, |at, later| of(*b, at) && (of(*a, at) || later)),
            };
            values[id.index()] = value;
        }
        values[root.index()][0]
    }

    /// The least (`start` false) or greatest solution of `value(at) = rule(at, value(next(at)))`.
    /// It goes backwards from the end, twice: after the first round the value at the beginning of
    /// the cycle is right, after the second all values are.
    fn fixpoint(&self, start: bool, rule: impl Fn(usize, bool) -> bool) -> Vec<bool> {
        let mut value = vec![start; self.letters.len()];
        for _ in 0..2 {
            for at in (0..value.len()).rev() {
                value[at] = rule(at, value[self.next(at)]);
            }
        }
        value
    }

    /// Whether the automaton accepts the word: whether, in its product with the word, some
    /// reachable component has a cycle with every acceptance set.
    pub fn accepted_by(&self, automaton: &Automaton) -> bool {
        let (count, states) = (self.letters.len(), automaton.states.len());
        let node = |state: usize, at: usize| state * count + at;
        // The edges of the product, with the acceptance sets they are in.
        let mut edges: Vec<Vec<(usize, u64)>> = vec![Vec::new(); states * count];
        for (state, from) in automaton.states.iter().enumerate() {
            for edge in &from.edges {
                for at in 0..count {
                    if edge.guard.allows(self.letters[at]) {
                        edges[node(state, at)].push((node(edge.target, self.next(at)), edge.marks));
                    }
                }
            }
        }
        let all = automaton.all_marks();
        let component = components(&edges, node(automaton.initial, 0));
        // The marks inside each component that has an edge inside.
        let mut marks: Vec<Option<u64>> = vec![None; edges.len()];
        for (from, list) in edges.iter().enumerate() {
            for &(to, here) in list.iter().filter(|(to, _)| component[from].is_some() && component[from] == component[*to]) {
                let seen = &mut marks[component[to].unwrap_or(0)];
                *seen = Some(seen.unwrap_or(0) | here);
            }
        }
        marks.contains(&Some(all))
    }
}

/// For each node that can be reached from `start` the number of its strongly connected component,
/// by Kosaraju's two searches.
fn components(edges: &[Vec<(usize, u64)>], start: usize) -> Vec<Option<usize>> {
    let mut seen = vec![false; edges.len()];
    let mut finished = Vec::new();
    let mut stack = vec![(start, 0)];
    seen[start] = true;
    while let Some((node, next)) = stack.pop() {
        match edges[node].get(next) {
            Some(&(to, _)) => {
                stack.push((node, next + 1));
                if !std::mem::replace(&mut seen[to], true) {
                    stack.push((to, 0));
                }
            }
            None => finished.push(node),
        }
    }
    let mut back = vec![Vec::new(); edges.len()];
    for &from in &finished {
        edges[from].iter().for_each(|&(to, _)| back[to].push(from));
    }
    let mut component = vec![None; edges.len()];
    for &root in finished.iter().rev() {
        let mut open = vec![root];
        while let Some(node) = open.pop() {
            if component[node].is_none() {
                component[node] = Some(root);
                open.extend(&back[node]);
            }
        }
    }
    component
}
