//! Reductions by simulation: states that simulate each other become one, and edges that another
//! edge makes unnecessary are removed.
//!
//! *Direct* simulation: whatever one state can read, the other can read with at least the same
//! marks, for ever. *Reverse* simulation is the same backwards, from the initial state (Somenzi and
//! Bloem 2000). Both allow quotients. Both also allow the removal of an edge if another edge leads
//! to, or comes from, a strictly better state (Clemente and Mayr 2013). *Delayed* simulation lets
//! the answer to an accepting state come later (Etessami, Wilke, Schuller 2001); it allows only
//! quotients.

use crate::graph::{Edge, Graph, Work};
use crate::letters::{Letters, Mask};

/// An edge for the simulations.
#[derive(Clone, Copy)]
struct Step {
    mask: Mask,
    marks: u64,
    to: u32,
}

/// A relation between states: `self.0[p][q]` says that `q` simulates `p`.
struct Relation(Vec<Vec<bool>>);

impl Relation {
    /// For each state the number of its class of mutual simulation, and how many classes there are.
    fn classes(&self) -> (Vec<u32>, u32) {
        let count = self.0.len();
        let mut class = vec![u32::MAX; count];
        let mut found = 0;
        for p in 0..count {
            if class[p] != u32::MAX {
                continue;
            }
            for (q, class) in class.iter_mut().enumerate().skip(p) {
                if *class == u32::MAX && self.0[p][q] && self.0[q][p] {
                    *class = found;
                }
            }
            found += 1;
        }
        (class, found)
    }
}

/// The largest relation within `start` such that each step of the left state is answered, letter by
/// letter, by steps of the right one. Nothing when the budget is used up.
fn largest(steps: &[Vec<Step>], mut relation: Relation, work: &mut Work) -> Option<Relation> {
    let count = steps.len();
    loop {
        let mut changed = false;
        for p in 0..count {
            for q in 0..count {
                if p == q || !relation.0[p][q] {
                    continue;
                }
                if !work.spend(((steps[p].len() * steps[q].len()) as u64 + 1) / 4 + 1) {
                    return None;
                }
                let answered = steps[p].iter().all(|step| {
                    let mut rest = step.mask;
                    for answer in &steps[q] {
                        if step.marks & !answer.marks == 0 && relation.0[step.to as usize][answer.to as usize] {
                            rest = rest.minus(answer.mask);
                        }
                    }
                    rest.is_none()
                });
                if !answered {
                    relation.0[p][q] = false;
                    changed = true;
                }
            }
        }
        if !changed {
            return Some(relation);
        }
    }
}

fn forward_steps(graph: &Graph, letters: &Letters) -> Vec<Vec<Step>> {
    let step = |edge: &Edge| Step { mask: letters.mask(edge.guard), marks: edge.marks, to: edge.target };
    graph.edges.iter().map(|list| list.iter().map(step).collect()).collect()
}

/// The quotient by direct simulation, without edges that a better one makes unnecessary.
pub fn direct(graph: &Graph, work: &mut Work) -> Option<Graph> {
    let letters = Letters::of(&[graph], work)?;
    let steps = forward_steps(graph, &letters);
    let count = graph.len();
    let relation = largest(&steps, Relation(vec![vec![true; count]; count]), work)?;
    let (class, found) = relation.classes();
    let mut reduced = graph.quotient(&class, &mut work.bdds);
    let first: Vec<usize> = (0..found).map(|number| class.iter().position(|c| *c == number).unwrap_or(0)).collect();
    for list in &mut reduced.edges {
        for i in 0..list.len() {
            for j in 0..list.len() {
                let (weak, strong) = (list[i], list[j]);
                let better = weak.target != strong.target
                    && weak.marks & !strong.marks == 0
                    && relation.0[first[weak.target as usize]][first[strong.target as usize]];
                if better {
                    list[i].guard = work.bdds.minus(weak.guard, strong.guard);
                }
            }
        }
    }
    reduced.trim(work);
    Some(reduced)
}

/// The quotient by reverse simulation, without edges that a better source makes unnecessary. If
/// acceptance is on states, accepting and other states are kept apart.
pub fn reverse(graph: &Graph, state_based: bool, work: &mut Work) -> Option<Graph> {
    let letters = Letters::of(&[graph], work)?;
    let count = graph.len();
    let mut steps: Vec<Vec<Step>> = vec![Vec::new(); count];
    for (state, list) in graph.edges.iter().enumerate() {
        for edge in list {
            steps[edge.target as usize].push(Step { mask: letters.mask(edge.guard), marks: edge.marks, to: state as u32 });
        }
    }
    let marks = |state: usize| graph.edges[state].first().map_or(0, |edge| edge.marks);
    let may = |p: usize, q: usize| (p != graph.initial as usize || q == p) && (!state_based || marks(p) == marks(q));
    let start = (0..count).map(|p| (0..count).map(|q| may(p, q)).collect()).collect();
    let relation = largest(&steps, Relation(start), work)?;
    let (class, found) = relation.classes();
    let mut reduced = graph.quotient(&class, &mut work.bdds);
    let first: Vec<usize> = (0..found).map(|number| class.iter().position(|c| *c == number).unwrap_or(0)).collect();
    for weak in 0..found as usize {
        for strong in (0..found as usize).filter(|&strong| strong != weak && relation.0[first[weak]][first[strong]]) {
            for i in 0..reduced.edges[weak].len() {
                for j in 0..reduced.edges[strong].len() {
                    let (a, b) = (reduced.edges[weak][i], reduced.edges[strong][j]);
                    if a.target == b.target && a.marks & !b.marks == 0 {
                        reduced.edges[weak][i].guard = work.bdds.minus(a.guard, b.guard);
                    }
                }
            }
        }
    }
    reduced.trim(work);
    Some(reduced)
}

/// The largest number of states for which the simulation game is solved.
const PLAYED: usize = 60;

/// The quotient by delayed simulation of an automaton whose states accept or do not.
pub fn delayed(graph: &Graph, work: &mut Work) -> Option<Graph> {
    let count = graph.len();
    let letters = Letters::of(&[graph], work)?;
    if count > PLAYED {
        return None;
    }
    let steps = forward_steps(graph, &letters);
    let accepting: Vec<bool> = graph.edges.iter().map(|list| list.first().is_some_and(|edge| edge.marks == 1)).collect();
    // A position is (left, right, debt): with a debt, the left run has accepted and the right one
    // has not since.
    let at = |p: usize, q: usize, debt: bool| (p * count + q) * 2 + usize::from(debt);
    let debt_after = |p: usize, q: usize, debt: bool| (debt || accepting[p]) && !accepting[q];
    // The duplicator wins where it can reach a position without debt again and again. This is the
    // largest set from which it can reach such a position of the set, whatever the spoiler does.
    let mut winning = vec![true; count * count * 2];
    loop {
        // Positions from which the duplicator reaches, in one step or more, a position without debt
        // that is still winning.
        let mut reached = vec![false; count * count * 2];
        loop {
            let mut changed = false;
            for p in 0..count {
                for q in 0..count {
                    for debt in [false, true] {
                        if reached[at(p, q, debt)] {
                            continue;
                        }
                        if !work.spend((steps[p].len() * steps[q].len()) as u64 / 2 + 1) {
                            return None;
                        }
                        let answered = steps[p].iter().all(|step| {
                            let mut rest = step.mask;
                            for answer in &steps[q] {
                                let (p, q) = (step.to as usize, answer.to as usize);
                                let after = debt_after(p, q, debt);
                                let good = if after { reached[at(p, q, true)] } else { winning[at(p, q, false)] };
                                if good {
                                    rest = rest.minus(answer.mask);
                                }
                            }
                            rest.is_none()
                        });
                        if answered {
                            reached[at(p, q, debt)] = true;
                            changed = true;
                        }
                    }
                }
            }
            if !changed {
                break;
            }
        }
        if reached == winning {
            break;
        }
        winning = reached;
    }
    let start = |p: usize, q: usize| winning[at(p, q, accepting[p] && !accepting[q])];
    let relation = Relation((0..count).map(|p| (0..count).map(|q| p == q || start(p, q)).collect()).collect());
    let (class, found) = relation.classes();
    // A class accepts if one of its states does.
    let mut accepts = vec![0; found as usize];
    (0..count).filter(|&state| accepting[state]).for_each(|state| accepts[class[state] as usize] = 1);
    let mut marked = graph.clone();
    for (state, list) in marked.edges.iter_mut().enumerate() {
        list.iter_mut().for_each(|edge| edge.marks = accepts[class[state] as usize]);
    }
    let mut reduced = marked.quotient(&class, &mut work.bdds);
    reduced.trim(work);
    Some(reduced)
}

/// Removes the marks of states that lie on no accepted cycle; acceptance stays on states.
pub fn clear_states(graph: &mut Graph) {
    let components = graph.components();
    for state in 0..graph.len() {
        if !components.live(state) {
            graph.edges[state].iter_mut().for_each(|edge| edge.marks = 0);
        }
    }
}

/// Applies direct and reverse simulation as long as they help. If the budget is used up, returns
/// the automaton reached so far.
pub fn reduce(mut graph: Graph, state_based: bool, work: &mut Work) -> Graph {
    loop {
        let before = (graph.len(), graph.edge_count());
        for outside in [0, graph.all_marks()] {
            if state_based {
                clear_states(&mut graph);
            } else {
                graph.clear_marks(outside);
            }
            match direct(&graph, work) {
                Some(reduced) => graph = reduced,
                None => return graph,
            }
            match reverse(&graph, state_based, work) {
                Some(reduced) => graph = reduced,
                None => return graph,
            }
        }
        if (graph.len(), graph.edge_count()) == before {
            return graph;
        }
    }
}
