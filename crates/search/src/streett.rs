//! Strong fairness inside one complete component: finds a part of it that treats every process
//! fairly.
//!
//! If a process is enabled and never moves, a fair run must stay in states where it is not enabled.
//! So the other states are removed, the rest is divided into components again, and so on until a
//! component is fair or nothing remains (Emerson and Lei, 1987). The component is made explicit
//! first: each state gets a number, and the edges between the states are stored. That takes several
//! times the memory of the states, so the caller is told how many bytes are held.

use crate::components::{Fairness, Processes, Traits};
use crate::product::Product;
use contract::{Successors, System};
use std::collections::{HashMap, HashSet, VecDeque};

/// A part of a component that contains an accepting and strongly fair run.
pub(crate) struct Part {
    /// The numbers of its states.
    pub states: HashSet<u32>,
    /// The processes that are enabled in it somewhere.
    pub ever: Processes,
}

#[derive(Clone, Copy)]
struct Edge {
    target: usize,
    marks: u64,
    process: u32,
}

struct State {
    number: u32,
    enabled: Processes,
    edges: Vec<Edge>,
}

/// The memory of a state in addition to its bytes and edges: its entry in the table of positions.
const PER_STATE: u64 = 64;

/// The memory of a state while its component is looked for: its entries in four tables.
const PER_MEMBER: u64 = 160;

/// A fair part of the component of `start`, whose states are those that have a `number`. `None` if
/// there is none, or if `stop`, which is told how many bytes are held, says so.
pub(crate) fn fair_part<S: System>(
    product: &mut Product<S>,
    start: &[u8],
    number: &mut dyn FnMut(&[u8]) -> Option<u32>,
    all_marks: u64,
    stop: &dyn Fn(u64) -> bool,
) -> Option<Part> {
    let Explicit { states, bytes } = explicit(product, start, number, stop)?;
    let mut waiting = vec![(0..states.len()).collect::<Vec<_>>()];
    while let Some(part) = waiting.pop() {
        // The tables are as large as the part, so they are counted before they are made.
        let bytes = bytes + part.len() as u64 * PER_MEMBER;
        if stop(bytes) {
            return None;
        }
        for component in cyclic_components(&states, &part, &|| stop(bytes))? {
            let inside: HashSet<usize> = component.iter().copied().collect();
            let traits = component.iter().map(|&at| traits(&states[at], &inside)).reduce(Traits::and)?;
            if traits.marks & all_marks != all_marks {
                continue;
            }
            let starved = traits.starved(Fairness::Strong);
            if starved.is_empty() {
                return Some(Part { states: component.iter().map(|&at| states[at].number).collect(), ever: traits.ever });
            }
            waiting.push(component.into_iter().filter(|&at| states[at].enabled.and(starved).is_empty()).collect());
        }
    }
    None
}

/// The facts of a state and its edges inside a part.
fn traits(state: &State, inside: &HashSet<usize>) -> Traits {
    let edges = state.edges.iter().filter(|edge| inside.contains(&edge.target));
    edges.fold(Traits::of_state(state.enabled), |traits, edge| traits.with_edge(edge.marks, edge.process))
}

/// A component with the bytes that it takes.
struct Explicit {
    states: Vec<State>,
    bytes: u64,
}

fn explicit<S: System>(
    product: &mut Product<S>,
    start: &[u8],
    number: &mut dyn FnMut(&[u8]) -> Option<u32>,
    stop: &dyn Fn(u64) -> bool,
) -> Option<Explicit> {
    let mut out = Successors::new();
    let mut positions = HashMap::from([(number(start)?, 0)]);
    let mut waiting = VecDeque::from([(number(start)?, start.to_vec())]);
    let mut states = Vec::new();
    // The bytes of the states that wait and those of the edges.
    let (mut texts, mut edges_bytes) = (start.len() as u64, 0);
    while let Some((own, state)) = waiting.pop_front() {
        let each = PER_STATE + size_of::<State>() as u64;
        if stop(positions.len() as u64 * each + texts + edges_bytes) {
            return None;
        }
        texts -= state.len() as u64;
        out.clear();
        product.successors(&state, &mut out);
        if out.is_cut_short() {
            return None;
        }
        let at = product.automaton_state(&state);
        let mut edges = Vec::new();
        for (entry, target) in out.iter() {
            let Some(target) = target else { continue };
            let Some(other) = number(target) else { continue };
            let next = positions.len();
            let position = *positions.entry(other).or_insert_with(|| {
                texts += target.len() as u64;
                waiting.push_back((other, target.to_vec()));
                next
            });
            edges.push(Edge { target: position, marks: product.marks(at, entry.action), process: entry.action.process });
        }
        edges.shrink_to_fit();
        edges_bytes += size_of_val(&edges[..]) as u64;
        states.push(State { number: own, enabled: Processes::enabled(&out), edges });
    }
    let bytes = positions.len() as u64 * size_of::<State>() as u64 + edges_bytes;
    Some(Explicit { states, bytes })
}

/// The number of states between two looks at the limits.
const LOOK_EVERY: usize = 1024;

/// The strongly connected components of a part that contain a cycle (Tarjan, without recursion).
/// `None` if `stop` says so.
fn cyclic_components(states: &[State], part: &[usize], stop: &dyn Fn() -> bool) -> Option<Vec<Vec<usize>>> {
    const UNSEEN: usize = usize::MAX;
    let inside: HashSet<usize> = part.iter().copied().collect();
    let mut order: HashMap<usize, (usize, usize)> = HashMap::new();
    let (mut live, mut on_live) = (Vec::new(), HashSet::new());
    let mut found = Vec::new();
    for &root in part {
        if order.contains_key(&root) {
            continue;
        }
        // A state, and the number of its edges that were followed; `UNSEEN` when it is entered.
        let mut path = vec![(root, UNSEEN)];
        while let Some((at, followed)) = path.last_mut() {
            let at = *at;
            if *followed == UNSEEN {
                *followed = 0;
                let number = order.len();
                if number % LOOK_EVERY == LOOK_EVERY - 1 && stop() {
                    return None;
                }
                order.insert(at, (number, number));
                live.push(at);
                on_live.insert(at);
            }
            let next = states[at].edges[*followed..].iter().position(|edge| inside.contains(&edge.target));
            if let Some(skipped) = next {
                let target = states[at].edges[*followed + skipped].target;
                *followed += skipped + 1;
                match order.get(&target) {
                    None => path.push((target, UNSEEN)),
                    Some(&(number, _)) if on_live.contains(&target) => lower(&mut order, at, number),
                    Some(_) => {}
                }
                continue;
            }
            path.pop();
            let (number, low) = order[&at];
            if let Some(&(before, _)) = path.last() {
                lower(&mut order, before, low);
            }
            if number == low {
                let first = live.iter().rposition(|&state| state == at).unwrap_or(0);
                let component = live.split_off(first);
                component.iter().for_each(|state| _ = on_live.remove(state));
                let cyclic = component.len() > 1 || states[at].edges.iter().any(|edge| edge.target == at);
                if cyclic {
                    found.push(component);
                }
            }
        }
    }
    Some(found)
}

fn lower(order: &mut HashMap<usize, (usize, usize)>, state: usize, low: usize) {
    if let Some((_, known)) = order.get_mut(&state) {
        *known = low.min(*known);
    }
}
