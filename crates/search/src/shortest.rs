//! The shortest lasso, once some lasso is known: the fewest steps in the path and the loop
//! together.
//!
//! The states near the initial states are expanded in breadth-first order, and each is numbered
//! when it is first seen. In rounds, lassos below a bound are looked for, and the bound grows until
//! there is one. So the time depends on the length of the answer, not on the size of the
//! product or on the length of the lasso that is known. A round computes the strongly connected
//! components of the expanded part, and looks for loops in those that have edges of every
//! acceptance set. A shortest loop is searched from each of their states, in a graph whose nodes
//! are a state and the acceptance sets passed so far. A loop is counted from its first state in the
//! numbering, since the path to that state is the shortest. So the loop from a state needs only
//! states with higher numbers. The best lasso so far bounds everything that follows.
//!
//! The work, the memory and the time are limited in any case.

use crate::product::Product;
use contract::{Action, Successors, System, Trace, TraceStep};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// The first bound on the number of steps.
const FIRST_BOUND: usize = 4;

/// Work between two looks at the clock.
const LOOK_EVERY: u64 = 1024;

/// Memory of a state in addition to its bytes: its entries in the tables.
const PER_STATE: u64 = 96;

/// Memory of a node in the search for a loop.
const PER_NODE: u64 = 128;

/// The limits of the search for the shortest lasso.
pub struct LassoLimits<'a> {
    /// States and edges that are expanded and followed.
    pub work: u64,
    /// Bytes of memory for states and edges.
    pub bytes: u64,
    /// Whether to stop now.
    pub stop: &'a dyn Fn() -> bool,
}

/// The result of a search for the shortest lasso.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortest {
    /// The shortest lasso that was found, as a trace of the product; nothing if there is none below
    /// the bound, or none was found within the limits.
    pub trace: Option<Trace>,
    /// Whether everything that could be shorter was examined.
    pub exact: bool,
    /// The number of states that were seen.
    pub states: u64,
}

/// Looks for a shortest lasso with fewer than `most` steps whose loop has an edge of every
/// acceptance set.
pub fn shortest_lasso<S: System + Clone>(product: &Product<S>, most: usize, limits: &LassoLimits<'_>) -> Shortest {
    let mut graph = Graph::new(product.clone(), limits);
    let mut bound = FIRST_BOUND.min(most);
    let mut lasso = None;
    let found = loop {
        match graph.below(bound, &mut lasso) {
            Ok(()) if lasso.is_some() || bound >= most => break Ok(()),
            // The whole product is known, so a higher bound costs nothing more.
            Ok(()) if graph.ends.len() == graph.states.len() => bound = most,
            Ok(()) => bound = bound.saturating_add(bound / 4 + 1).min(most),
            Err(Enough) => break Err(Enough),
        }
    };
    let states = graph.states.len() as u64;
    Shortest { trace: lasso.map(|(start, cycle)| graph.trace(start, cycle)), exact: found.is_ok(), states }
}

/// A limit was reached.
struct Enough;

/// An edge of the product.
#[derive(Clone, Copy)]
struct Edge {
    action: Action,
    marks: u64,
    target: u32,
}

/// A state and the acceptance sets that were passed before it.
type Node = (u32, u64);

/// The first state of a loop, and its edges.
type Cycle = (u32, Vec<Edge>);

/// The part of the product that was examined.
struct Graph<'a, S> {
    product: Product<S>,
    /// The states in breadth-first order.
    states: Vec<Rc<[u8]>>,
    numbers: HashMap<Rc<[u8]>, u32>,
    /// For each state, its distance, and the state and the action by which it was reached first.
    distances: Vec<usize>,
    before: Vec<Option<(u32, Action)>>,
    /// The edges of the states that were expanded, which are the first ones, and where those of
    /// each state end.
    edges: Vec<Edge>,
    ends: Vec<usize>,
    all_marks: u64,
    limits: &'a LassoLimits<'a>,
    work: u64,
    look: u64,
    bytes: u64,
}

impl<'a, S: System + Clone> Graph<'a, S> {
    fn new(product: Product<S>, limits: &'a LassoLimits<'a>) -> Self {
        let all_marks = product.automaton().all_marks();
        let mut graph = Graph {
            product,
            states: Vec::new(),
            numbers: HashMap::new(),
            distances: Vec::new(),
            before: Vec::new(),
            edges: Vec::new(),
            ends: Vec::new(),
            all_marks,
            limits,
            work: 0,
            look: 0,
            bytes: 0,
        };
        let mut out = Successors::new();
        graph.product.initial(&mut out);
        for (_, state) in out.iter() {
            if let Some(state) = state {
                graph.number(state, 0, None);
            }
        }
        graph
    }

    fn number(&mut self, state: &[u8], distance: usize, before: Option<(u32, Action)>) -> u32 {
        if let Some(&number) = self.numbers.get(state) {
            return number;
        }
        let number = self.states.len() as u32;
        let state: Rc<[u8]> = state.into();
        self.bytes += state.len() as u64 + PER_STATE;
        self.numbers.insert(Rc::clone(&state), number);
        self.states.push(state);
        self.distances.push(distance);
        self.before.push(before);
        number
    }

    fn spend(&mut self, work: u64) -> Result<(), Enough> {
        self.work += work;
        if self.work > self.limits.work || self.bytes > self.limits.bytes {
            return Err(Enough);
        }
        if self.work >= self.look {
            self.look = self.work + LOOK_EVERY;
            if (self.limits.stop)() {
                return Err(Enough);
            }
        }
        Ok(())
    }

    /// Looks for the shortest lasso with fewer than `bound` steps. What was found before a limit is
    /// in `lasso`.
    fn below(&mut self, bound: usize, lasso: &mut Option<Cycle>) -> Result<(), Enough> {
        // No state of such a lasso is further away.
        while self.ends.len() < self.states.len() && self.distances[self.ends.len()] + 1 < bound {
            self.expand_next()?;
        }
        let components = self.components()?;
        let mut best = bound;
        for start in 0..self.ends.len() as u32 {
            let distance = self.distances[start as usize];
            if distance + 1 >= best {
                break;
            }
            if components[start as usize] == NOWHERE {
                continue;
            }
            if let Some(cycle) = self.cycle(start, best - distance - 1, &components)? {
                best = distance + cycle.len();
                *lasso = Some((start, cycle));
            }
        }
        Ok(())
    }

    /// Expands the first state that is not expanded.
    fn expand_next(&mut self) -> Result<(), Enough> {
        let number = self.ends.len();
        let state = Rc::clone(&self.states[number]);
        let mut out = Successors::new();
        self.product.successors(&state, &mut out);
        // A step may take long, and the system that makes it gives up by itself.
        if out.is_cut_short() {
            return Err(Enough);
        }
        let (at, distance) = (self.product.automaton_state(&state), self.distances[number]);
        for (entry, target) in out.iter() {
            if let Some(target) = target {
                let marks = self.product.marks(at, entry.action) & self.all_marks;
                let target = self.number(target, distance + 1, Some((number as u32, entry.action)));
                self.edges.push(Edge { action: entry.action, marks, target });
            }
        }
        self.ends.push(self.edges.len());
        self.bytes += (out.len() * size_of::<Edge>()) as u64;
        self.spend(1 + out.len() as u64)
    }

    /// The range of the edges of a state; empty if the state is not expanded.
    fn leaving(&self, number: u32) -> std::ops::Range<usize> {
        let number = number as usize;
        match self.ends.get(number) {
            Some(&end) => number.checked_sub(1).map_or(0, |before| self.ends[before])..end,
            None => 0..0,
        }
    }

    /// For each expanded state, the strongly connected component that it lies in, if that has edges
    /// of every acceptance set between its states; otherwise [`NOWHERE`]. By Tarjan's algorithm.
    fn components(&mut self) -> Result<Vec<u32>, Enough> {
        let count = self.ends.len();
        let mut component = vec![NOWHERE; count];
        // The order in which states are entered, from 1 on; the lowest that each can reach.
        let (mut entered, mut lowest) = (vec![0_u32; count], vec![0_u32; count]);
        let (mut clock, mut open): (u32, Vec<u32>) = (0, Vec::new());
        let mut path: Vec<(u32, usize)> = Vec::new();
        for root in 0..count as u32 {
            if entered[root as usize] != 0 {
                continue;
            }
            path.push((root, self.leaving(root).start));
            while let Some((at, next)) = path.last_mut() {
                let (number, place) = (*at, *next);
                let index = number as usize;
                if entered[index] == 0 {
                    clock += 1;
                    (entered[index], lowest[index]) = (clock, clock);
                    open.push(number);
                    component[index] = OPEN;
                }
                if place < self.leaving(number).end {
                    *next += 1;
                    let target = self.edges[place].target as usize;
                    if target < count && entered[target] == 0 {
                        path.push((target as u32, self.leaving(target as u32).start));
                    } else if target < count && component[target] == OPEN {
                        lowest[index] = lowest[index].min(entered[target]);
                    }
                    continue;
                }
                self.spend(1)?;
                path.pop();
                if let Some(&(before, _)) = path.last() {
                    lowest[before as usize] = lowest[before as usize].min(lowest[index]);
                }
                if lowest[index] == entered[index] {
                    let first = open.iter().rposition(|&member| member == number).unwrap_or(0);
                    let members = open.split_off(first);
                    members.iter().for_each(|&member| component[member as usize] = number);
                    if !self.is_accepting(&members, number, &component) {
                        members.iter().for_each(|&member| component[member as usize] = NOWHERE);
                    }
                }
            }
        }
        Ok(component)
    }

    /// Whether a component has an edge between its states, and its edges are in all acceptance
    /// sets.
    fn is_accepting(&self, members: &[u32], name: u32, component: &[u32]) -> bool {
        let edges = members.iter().flat_map(|&member| &self.edges[self.leaving(member)]);
        let inside = edges.filter(|edge| component.get(edge.target as usize) == Some(&name));
        inside.fold(None, |marks: Option<u64>, edge| Some(marks.unwrap_or(0) | edge.marks)).is_some_and(|marks| marks == self.all_marks)
    }

    /// A shortest loop of at most `most` steps from `start` through states with higher numbers in
    /// its component, with an edge of every acceptance set.
    fn cycle(&mut self, start: u32, most: usize, components: &[u32]) -> Result<Option<Vec<Edge>>, Enough> {
        let (first, component) = ((start, 0), components[start as usize]);
        // The node before each node, and the edge from it.
        let mut reached: HashMap<Node, (Node, Edge)> = HashMap::new();
        let mut waiting = VecDeque::from([(first, 0)]);
        while let Some((at, length)) = waiting.pop_front() {
            if length >= most {
                break;
            }
            let places = self.leaving(at.0);
            self.spend(1 + places.len() as u64)?;
            for place in places {
                let edge = self.edges[place];
                if edge.target < start || components.get(edge.target as usize) != Some(&component) {
                    continue;
                }
                let next = (edge.target, at.1 | edge.marks);
                if next == (start, self.all_marks) {
                    let mut cycle = vec![edge];
                    let mut back = at;
                    while let Some(&(before, edge)) = reached.get(&back) {
                        cycle.push(edge);
                        back = before;
                    }
                    cycle.reverse();
                    return Ok(Some(cycle));
                }
                if next != first && !reached.contains_key(&next) {
                    if self.bytes + reached.len() as u64 * PER_NODE > self.limits.bytes {
                        return Err(Enough);
                    }
                    reached.insert(next, (at, edge));
                    waiting.push_back((next, length + 1));
                }
            }
        }
        Ok(None)
    }

    /// The trace of a lasso.
    fn trace(&self, start: u32, cycle: Vec<Edge>) -> Trace {
        let step = |action, number: u32| TraceStep { action, state: Some(self.states[number as usize].to_vec()) };
        let (mut steps, mut at) = (Vec::new(), start);
        while let Some((before, action)) = self.before[at as usize] {
            steps.push(step(action, at));
            at = before;
        }
        steps.reverse();
        let loop_start = Some(steps.len());
        steps.extend(cycle.into_iter().map(|edge| step(edge.action, edge.target)));
        Trace { initial: self.states[at as usize].to_vec(), steps, loop_start }
    }
}

/// The mark of a state that is in no component with an accepting loop.
const NOWHERE: u32 = u32::MAX;

/// The mark of a state whose component is not complete.
const OPEN: u32 = u32::MAX - 1;
