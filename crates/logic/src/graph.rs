//! Automata during the translation: guards are numbers of decision diagrams, and everything is a
//! table.
//!
//! This module has what every reduction needs: components, the removal of states that are not
//! reachable or accept nothing, the joining of edges, and the count of work, which bounds every
//! algorithm without a clock.

use crate::automaton::{Automaton, Component, Edge as OpenEdge, State, Strength, all_marks};
use crate::bdd::{Bdd, Bdds};

/// An edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub guard: Bdd,
    pub marks: u64,
    pub target: u32,
}

/// An automaton with generalised acceptance on its edges.
#[derive(Clone, Debug)]
pub struct Graph {
    pub edges: Vec<Vec<Edge>>,
    pub initial: u32,
    pub sets: u32,
}

/// The diagrams and how much work may still be done.
pub struct Work {
    pub bdds: Bdds,
    /// Steps left for optional reductions: at zero they stop.
    pub left: u64,
}

impl Work {
    pub fn new(nodes: usize, steps: u64) -> Work {
        Work { bdds: Bdds::new(nodes), left: steps }
    }

    /// Takes steps from the budget; false when it is used up.
    pub fn spend(&mut self, steps: u64) -> bool {
        self.left = self.left.saturating_sub(steps);
        self.left > 0
    }
}

/// Strongly connected components.
pub struct Components {
    /// The component of each state; numbered so that edges lead to the same or a smaller number.
    /// Unreachable states are in none, which is [`Components::NONE`].
    pub of: Vec<u32>,
    /// For each component, its kind.
    pub kind: Vec<Component>,
    /// For each component, whether it has a cycle.
    pub cyclic: Vec<bool>,
}

impl Components {
    pub const NONE: u32 = u32::MAX;

    /// Whether both states are in one component with an accepted cycle.
    pub fn inside_live(&self, from: usize, to: usize) -> bool {
        self.of[from] == self.of[to] && self.live(from)
    }

    /// Whether the state lies in a component with an accepted cycle.
    pub fn live(&self, state: usize) -> bool {
        self.of[state] != Components::NONE && self.kind[self.of[state] as usize] != Component::Rejecting
    }
}

impl Graph {
    /// The automaton of the empty language.
    pub fn empty() -> Graph {
        Graph { edges: vec![Vec::new()], initial: 0, sets: 0 }
    }

    pub fn len(&self) -> usize {
        self.edges.len()
    }

    pub fn edge_count(&self) -> usize {
        self.edges.iter().map(Vec::len).sum()
    }

    pub fn all_marks(&self) -> u64 {
        all_marks(self.sets)
    }

    /// The strongly connected components of the reachable states, by Tarjan's algorithm without
    /// recursion.
    pub fn partition(&self) -> (Vec<u32>, u32) {
        let count = self.len();
        let mut of = vec![Components::NONE; count];
        let (mut index, mut low) = (vec![0u32; count], vec![0u32; count]);
        let (mut next, mut found) = (1u32, 0u32);
        let mut path: Vec<usize> = Vec::new();
        let mut calls: Vec<(usize, usize)> = vec![(self.initial as usize, 0)];
        while let Some((state, at)) = calls.pop() {
            if at == 0 {
                (index[state], low[state]) = (next, next);
                next += 1;
                path.push(state);
            }
            let mut descended = false;
            for (offset, edge) in self.edges[state].iter().enumerate().skip(at.saturating_sub(1)) {
                let target = edge.target as usize;
                if index[target] == 0 {
                    calls.extend([(state, offset + 1), (target, 0)]);
                    descended = true;
                    break;
                }
                if of[target] == Components::NONE {
                    low[state] = low[state].min(low[target]);
                }
            }
            if descended {
                continue;
            }
            if low[state] == index[state] {
                while let Some(member) = path.pop() {
                    of[member] = found;
                    if member == state {
                        break;
                    }
                }
                found += 1;
            }
        }
        (of, found)
    }

    /// The components with their kinds.
    pub fn components(&self) -> Components {
        let (of, found) = self.partition();
        let all = self.all_marks();
        let mut marks: Vec<Option<u64>> = vec![None; found as usize];
        for (state, list) in self.edges.iter().enumerate().filter(|(state, _)| of[*state] != Components::NONE) {
            for edge in list.iter().filter(|edge| of[edge.target as usize] == of[state]) {
                let seen = &mut marks[of[state] as usize];
                *seen = Some(seen.unwrap_or(0) | edge.marks);
            }
        }
        let mut kind: Vec<Component> =
            marks.iter().map(|seen| if *seen == Some(all) { Component::Mixed } else { Component::Rejecting }).collect();
        // Every cycle of a component is accepted if, for each set, no cycle is left without the
        // edges of that set.
        let mut fully: Vec<bool> = kind.iter().map(|kind| *kind == Component::Mixed).collect();
        for set in 0..self.sets {
            let without = |from: usize, edge: &Edge| edge.marks >> set & 1 == 0 && of[edge.target as usize] == of[from];
            self.mark_cyclic(&of, &mut fully, without);
        }
        for (kind, _) in kind.iter_mut().zip(&fully).filter(|(_, fully)| **fully) {
            *kind = Component::Accepting;
        }
        Components { of, kind, cyclic: marks.iter().map(Option::is_some).collect() }
    }

    /// Clears the flag of each component that has a cycle of the chosen edges, by repeatedly
    /// removing states without successors.
    fn mark_cyclic(&self, of: &[u32], flags: &mut [bool], chosen: impl Fn(usize, &Edge) -> bool) {
        let mut degree = vec![0usize; self.len()];
        let mut back: Vec<Vec<u32>> = vec![Vec::new(); self.len()];
        let reached = |state: &usize| of[*state] != Components::NONE;
        for state in (0..self.len()).filter(reached) {
            for edge in self.edges[state].iter().filter(|edge| chosen(state, edge)) {
                degree[state] += 1;
                back[edge.target as usize].push(state as u32);
            }
        }
        let mut open: Vec<usize> = (0..self.len()).filter(|&state| reached(&state) && degree[state] == 0).collect();
        while let Some(state) = open.pop() {
            for &source in &back[state] {
                degree[source as usize] -= 1;
                if degree[source as usize] == 0 {
                    open.push(source as usize);
                }
            }
        }
        for state in (0..self.len()).filter(|&state| reached(&state) && degree[state] > 0) {
            flags[of[state] as usize] = false;
        }
    }

    /// Keeps only states that are reachable and from which something is accepted, renumbered in
    /// breadth-first order. Joins edges between the same states with the same marks.
    pub fn trim(&mut self, work: &mut Work) {
        for list in &mut self.edges {
            list.retain(|edge| !edge.guard.is_none());
        }
        let components = self.components();
        let mut useful = vec![false; components.kind.len()];
        // Components are numbered from the leaves up.
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); useful.len()];
        for state in (0..self.len()).filter(|&state| components.of[state] != Components::NONE) {
            members[components.of[state] as usize].push(state);
        }
        for number in 0..useful.len() {
            useful[number] = components.kind[number] != Component::Rejecting
                || members[number].iter().any(|&s| self.edges[s].iter().any(|e| useful[components.of[e.target as usize] as usize]));
        }
        if !useful[components.of[self.initial as usize] as usize] {
            *self = Graph { sets: self.sets, ..Graph::empty() };
            return;
        }
        let mut number = vec![u32::MAX; self.len()];
        let mut order = vec![self.initial as usize];
        number[self.initial as usize] = 0;
        let mut at = 0;
        while at < order.len() {
            let state = order[at];
            at += 1;
            self.edges[state].retain(|edge| useful[components.of[edge.target as usize] as usize]);
            for edge in &self.edges[state] {
                let target = edge.target as usize;
                if number[target] == u32::MAX {
                    number[target] = order.len() as u32;
                    order.push(target);
                }
            }
        }
        let mut edges = Vec::with_capacity(order.len());
        for &state in &order {
            let mut list = std::mem::take(&mut self.edges[state]);
            list.iter_mut().for_each(|edge| edge.target = number[edge.target as usize]);
            edges.push(join(list, &mut work.bdds));
        }
        self.edges = edges;
        self.initial = 0;
    }

    /// Gives every edge between components the marks `outside`, and none to edges inside components
    /// that accept nothing. The language does not change.
    pub fn clear_marks(&mut self, outside: u64) {
        let components = self.components();
        for state in 0..self.len() {
            for edge in &mut self.edges[state] {
                let target = edge.target as usize;
                if components.of[state] != components.of[target] {
                    edge.marks = outside;
                } else if !components.live(state) {
                    edge.marks = 0;
                }
            }
        }
    }

    /// The quotient: states of the same class become one. `class` numbers the classes from zero.
    pub fn quotient(&self, class: &[u32], bdds: &mut Bdds) -> Graph {
        let count = class.iter().max().map_or(0, |max| *max as usize + 1);
        let mut edges: Vec<Vec<Edge>> = vec![Vec::new(); count];
        for (state, list) in self.edges.iter().enumerate() {
            edges[class[state] as usize].extend(list.iter().map(|edge| Edge { target: class[edge.target as usize], ..*edge }));
        }
        let edges = edges.into_iter().map(|list| join(list, bdds)).collect();
        Graph { edges, initial: class[self.initial as usize], sets: self.sets }
    }

    /// Whether no state has two edges for one letter.
    pub fn deterministic(&self, bdds: &mut Bdds) -> bool {
        self.edges.iter().all(|list| {
            let mut read = Bdd::NONE;
            list.iter().all(|edge| {
                let again = bdds.meet(read, edge.guard);
                read = bdds.or(read, edge.guard);
                !again
            })
        })
    }

    /// Whether every state has an edge for every letter.
    pub fn complete(&self, bdds: &mut Bdds) -> bool {
        self.edges.iter().all(|list| list.iter().fold(Bdd::NONE, |all, edge| bdds.or(all, edge.guard)) == Bdd::ALL)
    }

    /// The kind of search that accepting runs need.
    pub fn strength(&self, bdds: &mut Bdds) -> Strength {
        let components = self.components();
        if components.kind.contains(&Component::Mixed) {
            return Strength::Strong;
        }
        let terminal = (0..self.len()).filter(|&state| components.live(state)).all(|state| {
            let inside = self.edges[state].iter().filter(|edge| components.live(edge.target as usize));
            inside.fold(Bdd::NONE, |all, edge| bdds.or(all, edge.guard)) == Bdd::ALL
        });
        if terminal {
            return Strength::Terminal;
        }
        let mut sizes = vec![0; components.kind.len()];
        components.of.iter().filter(|of| **of != Components::NONE).for_each(|of| sizes[*of as usize] += 1);
        if sizes.iter().all(|size| *size <= 1) { Strength::VeryWeak } else { Strength::Weak }
    }

    /// The automaton as plain data.
    pub fn open(&self, atoms: &[String], state_based: bool, bdds: &mut Bdds) -> Automaton {
        let states = self.edges.iter().map(|list| State {
            accepting: state_based && (self.sets == 0 || list.first().is_some_and(|edge| edge.marks & 1 == 1)),
            edges: list
                .iter()
                .map(|edge| OpenEdge { guard: bdds.cubes(edge.guard), marks: edge.marks, target: edge.target as usize })
                .collect(),
        });
        Automaton { atoms: atoms.to_vec(), states: states.collect(), initial: self.initial as usize, sets: self.sets, state_based }
    }

    /// The graph of plain data.
    pub fn from_open(automaton: &Automaton, bdds: &mut Bdds) -> Graph {
        let edge =
            |bdds: &mut Bdds, edge: &OpenEdge| Edge { guard: bdds.guard(&edge.guard), marks: edge.marks, target: edge.target as u32 };
        let edges = automaton.states.iter().map(|state| state.edges.iter().map(|e| edge(bdds, e)).collect()).collect();
        Graph { edges, initial: automaton.initial as u32, sets: automaton.sets }
    }

    /// Keeps only the states that are reachable through edges that some letter takes, in their
    /// order.
    pub fn keep_reachable(&mut self, bdds: &mut Bdds) {
        for list in &mut self.edges {
            list.retain(|edge| !edge.guard.is_none());
        }
        let (of, _) = self.partition();
        let mut number = vec![0u32; self.len()];
        let mut next = 0;
        for state in (0..self.len()).filter(|&state| of[state] != Components::NONE) {
            number[state] = next;
            next += 1;
        }
        let mut edges = Vec::with_capacity(next as usize);
        for (state, list) in std::mem::take(&mut self.edges).into_iter().enumerate() {
            if of[state] != Components::NONE {
                edges.push(join_equal(list.into_iter().map(|edge| Edge { target: number[edge.target as usize], ..edge }).collect(), bdds));
            }
        }
        self.edges = edges;
        self.initial = number[self.initial as usize];
    }
}

/// If there are more edges than this between two states, they are not compared with each other.
const COMPARED: usize = 256;

/// Joins edges with the same target and marks.
fn join_equal(mut list: Vec<Edge>, bdds: &mut Bdds) -> Vec<Edge> {
    list.sort_by_key(|edge| (edge.target, edge.marks));
    let mut joined: Vec<Edge> = Vec::with_capacity(list.len());
    for edge in list {
        match joined.last_mut() {
            Some(last) if last.target == edge.target && last.marks == edge.marks => last.guard = bdds.or(last.guard, edge.guard),
            _ => joined.push(edge),
        }
    }
    joined
}

/// Joins edges with the same target and marks, and removes from each the letters that another edge
/// to the same target reads with more marks.
pub fn join(list: Vec<Edge>, bdds: &mut Bdds) -> Vec<Edge> {
    let mut joined = join_equal(list, bdds);
    // Edges to one target lie together.
    let mut first = 0;
    while first < joined.len() {
        let target = joined[first].target;
        let end = first + joined[first..].iter().take_while(|edge| edge.target == target).count();
        if end - first <= COMPARED {
            for i in first..end {
                for j in first..end {
                    let (weak, strong) = (joined[i], joined[j]);
                    if weak.marks != strong.marks && weak.marks & !strong.marks == 0 {
                        joined[i].guard = bdds.minus(weak.guard, strong.guard);
                    }
                }
            }
        }
        first = end;
    }
    joined.retain(|edge| !edge.guard.is_none());
    joined
}
