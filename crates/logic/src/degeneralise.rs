//! Converts generalised acceptance on edges to one set, on states or on edges.
//!
//! The classic construction goes through the sets in some order: there is a copy of each state for
//! each level, and a state that has passed all levels accepts. Two ideas keep the automaton small
//! (Babiak, Badie, Duret-Lutz, Křetínský, Strejček 2013). Levels matter only inside components that
//! accept something. On entering such a component any level is right, so a level that exists
//! already is taken.

use crate::graph::{Edge, Graph, Work};
use rustc_hash::FxHashMap;

/// The place at which acceptance is marked: states or edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On states: all edges of a state agree.
    States,
    /// On edges.
    Edges,
}

/// One automaton with one acceptance set. `order` is the order in which the sets are waited for.
/// Nothing if it has more than `limit` states.
pub fn degeneralise(graph: &Graph, order: &[u32], place: Place, limit: usize, work: &mut Work) -> Option<Graph> {
    let components = graph.components();
    let sets = order.len();
    let mut known: FxHashMap<(u32, usize), u32> = FxHashMap::default();
    // The levels at which a state exists already, the oldest first.
    let mut levels: Vec<Vec<usize>> = vec![Vec::new(); graph.len()];
    let mut open: Vec<(u32, usize)> = Vec::new();
    let mut result = Graph { edges: Vec::new(), initial: 0, sets: 1 };
    let mut visit = |state: u32, level: usize, levels: &mut Vec<Vec<usize>>, open: &mut Vec<(u32, usize)>| {
        *known.entry((state, level)).or_insert_with(|| {
            levels[state as usize].push(level);
            open.push((state, level));
            open.len() as u32 - 1
        })
    };
    visit(graph.initial, 0, &mut levels, &mut open);
    let mut at = 0;
    while at < open.len() {
        let (state, level) = open[at];
        at += 1;
        let from = state as usize;
        let mut edges = Vec::new();
        let accepting = place == Place::States && components.live(from) && level == sets;
        for edge in &graph.edges[from] {
            let to = edge.target as usize;
            let (target, marks) = if components.inside_live(from, to) {
                let mut reached = if level == sets { 0 } else { level };
                while reached < sets && edge.marks >> order[reached] & 1 == 1 {
                    reached += 1;
                }
                match place {
                    Place::States => ((edge.target, reached), u64::from(accepting)),
                    Place::Edges if reached == sets => {
                        // Sets of this edge that come later in the order count for the next round,
                        // but no set counts twice.
                        let mut next = 0;
                        while next < level && edge.marks >> order[next] & 1 == 1 {
                            next += 1;
                        }
                        ((edge.target, next), 1)
                    }
                    Place::Edges => ((edge.target, reached), 0),
                }
            } else {
                let level = levels[to].first().copied().unwrap_or(0);
                ((edge.target, level), u64::from(accepting))
            };
            let target = visit(target.0, target.1, &mut levels, &mut open);
            edges.push(Edge { guard: edge.guard, marks, target });
        }
        if open.len() > limit {
            return None;
        }
        result.edges.push(edges);
    }
    result.trim(work);
    Some(result)
}
