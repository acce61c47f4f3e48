//! The shortest lasso, once some lasso is known: the fewest steps in the path and the loop
//! together.
//!
//! States are taken in breadth-first order. From each, a shortest cycle back to itself through an
//! accepting state is searched, in a graph that contains every state twice: before and after an
//! accepting state was passed. The best lasso so far bounds both: no state further away is
//! examined, and no cycle longer than the remaining steps. So the time depends on the length of the
//! answer more than on the size of the product. The work is limited in any case.

use crate::product::Product;
use contract::{Action, Successors, System, Trace, TraceStep};
use std::collections::{HashMap, VecDeque};

/// A lasso, and whether no shorter one exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortest {
    /// The lasso, as a trace of the product.
    pub trace: Trace,
    /// Whether everything that could be shorter was examined within the limit on the work.
    pub exact: bool,
}

/// Looks for a lasso with fewer than `most` steps that passes an accepting state of the product in
/// its loop. Expands and follows at most `work` states and edges, and stops when `stop` is true.
/// `None` if there is none.
pub fn shortest_lasso<S: System + Clone>(product: &Product<S>, most: usize, work: u64, stop: &dyn Fn() -> bool) -> Option<Shortest> {
    let mut graph = Graph { product: product.clone(), states: Vec::new(), numbers: HashMap::new(), edges: Vec::new(), left: work, stop };
    let mut out = Successors::new();
    graph.product.initial(&mut out);
    // The predecessor and action by which each state was reached first, and its distance.
    let mut reached: HashMap<u32, (Option<(u32, Action)>, usize)> = HashMap::new();
    let mut waiting = VecDeque::new();
    for (_, state) in out.iter() {
        if let Some(state) = state {
            let number = graph.number(state);
            if reached.insert(number, (None, 0)).is_none() {
                waiting.push_back(number);
            }
        }
    }
    let (mut best, mut lasso, mut exact) = (most, None, true);
    while let Some(number) = waiting.pop_front() {
        let distance = reached[&number].1;
        if distance + 1 >= best {
            break;
        }
        match graph.cycle(number, best - distance - 1) {
            Ok(Some(cycle)) => {
                best = distance + cycle.len();
                lasso = Some((number, cycle));
            }
            Ok(None) => {}
            Err(Enough) => {
                exact = false;
                break;
            }
        }
        let Ok(()) = graph.expand(number) else {
            exact = false;
            break;
        };
        for &(action, target) in &graph.edges[number as usize].clone().unwrap_or_default() {
            if let std::collections::hash_map::Entry::Vacant(entry) = reached.entry(target) {
                entry.insert((Some((number, action)), distance + 1));
                waiting.push_back(target);
            }
        }
    }
    let (start, cycle) = lasso?;
    let step = |action, number: u32| TraceStep { action, state: Some(graph.states[number as usize].clone()) };
    let (mut steps, mut at) = (Vec::new(), start);
    while let Some((before, action)) = reached[&at].0 {
        steps.push(step(action, at));
        at = before;
    }
    steps.reverse();
    let loop_start = Some(steps.len());
    steps.extend(cycle.into_iter().map(|(action, number)| step(action, number)));
    Some(Shortest { trace: Trace { initial: graph.states[at as usize].clone(), steps, loop_start }, exact })
}

/// The bound on the work is reached.
struct Enough;

/// Edges of the product: the action and the target.
type Edges = Vec<(Action, u32)>;

/// The part of the product that was examined.
struct Graph<'a, S> {
    product: Product<S>,
    states: Vec<Vec<u8>>,
    numbers: HashMap<Vec<u8>, u32>,
    /// The edges of states that were expanded.
    edges: Vec<Option<Edges>>,
    left: u64,
    stop: &'a dyn Fn() -> bool,
}

impl<S: System + Clone> Graph<'_, S> {
    fn number(&mut self, state: &[u8]) -> u32 {
        if let Some(&number) = self.numbers.get(state) {
            return number;
        }
        let number = self.states.len() as u32;
        self.states.push(state.to_vec());
        self.numbers.insert(state.to_vec(), number);
        self.edges.push(None);
        number
    }

    fn spend(&mut self, work: u64) -> Result<(), Enough> {
        self.left = self.left.checked_sub(work).ok_or(Enough)?;
        if self.left.is_multiple_of(1024) && (self.stop)() { Err(Enough) } else { Ok(()) }
    }

    fn expand(&mut self, number: u32) -> Result<(), Enough> {
        if self.edges[number as usize].is_some() {
            return Ok(());
        }
        self.spend(1)?;
        let mut out = Successors::new();
        let state = self.states[number as usize].clone();
        self.product.successors(&state, &mut out);
        if out.is_cut_short() || (self.stop)() {
            return Err(Enough);
        }
        let mut edges = Vec::new();
        for (entry, target) in out.iter() {
            if let Some(target) = target {
                edges.push((entry.action, self.number(target)));
            }
        }
        self.edges[number as usize] = Some(edges);
        Ok(())
    }

    /// A shortest cycle of at most `most` steps from `start` to itself through an accepting state.
    fn cycle(&mut self, start: u32, most: usize) -> Result<Option<Edges>, Enough> {
        let accepting = |graph: &Self, number: u32| graph.product.is_accepting(&graph.states[number as usize]);
        let first = (start, accepting(self, start));
        // The predecessor of each pair of a state and whether an accepting state was passed.
        let mut reached: HashMap<(u32, bool), ((u32, bool), Action)> = HashMap::new();
        let mut waiting = VecDeque::from([(first, 0)]);
        while let Some((at, length)) = waiting.pop_front() {
            if length >= most {
                break;
            }
            self.expand(at.0)?;
            let edges = self.edges[at.0 as usize].clone().unwrap_or_default();
            self.spend(edges.len() as u64)?;
            for (action, target) in edges {
                let passed = at.1 || accepting(self, target);
                if target == start && passed {
                    let (mut cycle, mut back) = (vec![(action, target)], at);
                    while back != first || cycle.len() <= length {
                        let Some(&(before, action)) = reached.get(&back) else { break };
                        cycle.push((action, back.0));
                        back = before;
                    }
                    cycle.reverse();
                    return Ok(Some(cycle));
                }
                let next = (target, passed);
                if next != first && !reached.contains_key(&next) {
                    reached.insert(next, (at, action));
                    waiting.push_back((next, length + 1));
                }
            }
        }
        Ok(None)
    }
}
