//! Reduces the acceptance sets to those that the components of an automaton need.
//!
//! A set matters only inside a component, and not there if it contains another set. So each
//! component gets its own numbering of the sets that it needs, and the automaton has as many sets
//! as the component that needs most (as in Spot's `scc_filter`).

use crate::automaton::{Component, all_marks};
use crate::graph::{Components, Graph};

/// Leaves out sets that no component needs.
pub fn simplify(graph: &mut Graph) {
    let components = graph.components();
    let count = components.kind.len();
    // For each component, the marks of the edges inside.
    let mut seen: Vec<Vec<u64>> = vec![Vec::new(); count];
    for (state, list) in graph.edges.iter().enumerate().filter(|(state, _)| components.of[*state] != Components::NONE) {
        for edge in list.iter().filter(|edge| components.inside_live(state, edge.target as usize)) {
            let marks = &mut seen[components.of[state] as usize];
            if !marks.contains(&edge.marks) {
                marks.push(edge.marks);
            }
        }
    }
    let needed: Vec<Vec<u32>> = seen.iter().map(|marks| needed(marks, graph.sets)).collect();
    // Without any set a rejecting cycle would be accepted.
    let rejecting = components.kind.iter().zip(&components.cyclic).any(|(kind, cyclic)| *cyclic && *kind == Component::Rejecting);
    let sets = (needed.iter().map(Vec::len).max().unwrap_or(0) as u32).max(u32::from(rejecting));
    for state in 0..graph.len() {
        for edge in 0..graph.edges[state].len() {
            let edge = &mut graph.edges[state][edge];
            if !components.inside_live(state, edge.target as usize) {
                edge.marks = 0;
                continue;
            }
            let needed = &needed[components.of[state] as usize];
            let old = edge.marks;
            // In a component that needs fewer sets, all edges are in the other sets.
            edge.marks = all_marks(sets) & !all_marks(needed.len() as u32);
            for (new, set) in needed.iter().enumerate() {
                edge.marks |= (old >> set & 1) << new;
            }
        }
    }
    graph.sets = sets;
}

/// The sets that are not implied. A set that contains another one is implied by it.
fn needed(marks: &[u64], sets: u32) -> Vec<u32> {
    let contains = |large: u32, small: u32| marks.iter().all(|m| m >> small & 1 == 0 || m >> large & 1 == 1);
    let mut kept: Vec<u32> = Vec::new();
    for set in 0..sets {
        let everywhere = marks.iter().all(|m| m >> set & 1 == 1);
        // Of two equal sets the first is kept.
        let implied = (0..sets).any(|other| other != set && contains(set, other) && (!contains(other, set) || other < set));
        if !everywhere && !implied {
            kept.push(set);
        }
    }
    kept
}
