//! Merges states wherever the language stays the same.
//!
//! Merging states of an automaton, or letting more of its states accept, can only add words.
//! Whether a word was added is decided by a test of emptiness with an automaton for the complement.
//! For automata as small as these the test is cheap enough to be made for every pair of states.
//! This finds every quotient that simulation would find, and more.

use crate::graph::{Graph, Work};
use crate::product::Product;

/// Merges states of `graph` as long as it has no word in common with `complement`. The result
/// depends on the order in which pairs are tried: `backwards` tries the last states first.
pub fn merge(graph: &Graph, complement: &Graph, state_based: bool, backwards: bool, work: &mut Work) -> Option<Graph> {
    let count = graph.len();
    let product = Product::new(graph, complement, work)?;
    let mut class: Vec<u32> = (0..count as u32).collect();
    let order: Vec<usize> = if backwards { (0..count).rev().collect() } else { (0..count).collect() };
    let mut marked = graph.clone();
    let mut merged = false;
    for i in 1..count {
        for j in 0..i {
            let (p, q) = (order[i], order[j]);
            if class[p] == class[q] {
                continue;
            }
            let trial = joined(&class, class[p], class[q]);
            let accepts = state_based.then(|| accepting(graph, &trial));
            let marks = |state: usize, edge: usize| match &accepts {
                Some(accepts) => accepts[trial[state] as usize],
                None => graph.edges[state][edge].marks,
            };
            if product.empty(&trial, &marks, work)? {
                class = trial;
                merged = true;
                // Earlier states were tried with this one already. The class is new, so the loop
                // continues with the next state.
                break;
            }
        }
    }
    if !merged {
        return None;
    }
    if state_based {
        let accepts = accepting(graph, &class);
        for (state, list) in marked.edges.iter_mut().enumerate() {
            list.iter_mut().for_each(|edge| edge.marks = accepts[class[state] as usize]);
        }
    }
    let mut reduced = marked.quotient(&class, &mut work.bdds);
    reduced.trim(work);
    Some(reduced)
}

/// The classes with two of them joined, numbered without gaps.
fn joined(class: &[u32], a: u32, b: u32) -> Vec<u32> {
    let (low, high) = (a.min(b), a.max(b));
    let renumber = |c: &u32| {
        if *c == high {
            low
        } else if *c > high {
            *c - 1
        } else {
            *c
        }
    };
    class.iter().map(renumber).collect()
}

/// The marks of each class: it accepts if one of its states does.
fn accepting(graph: &Graph, class: &[u32]) -> Vec<u64> {
    let mut accepts = vec![0; class.len()];
    for (state, list) in graph.edges.iter().enumerate() {
        accepts[class[state] as usize] |= list.first().map_or(0, |edge| edge.marks);
    }
    accepts
}
