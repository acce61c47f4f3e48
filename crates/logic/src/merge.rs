//! States merged wherever the language allows it.
//!
//! Merging states of an automaton, or letting more of its states accept, can only add words. With
//! an automaton for the complement at hand, whether a word was added is a question of emptiness,
//! and for automata as small as these it is cheap enough to ask for every pair of states. This
//! finds whatever any quotient by simulation would find, and more, and no step is believed without
//! that check.

use crate::graph::{Graph, Work};
use crate::product::Product;

/// Merges states of `graph` as far as it has no word in common with `complement` afterwards. The
/// order in which pairs are tried decides what is found: `backwards` tries the last states first.
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
                // States before this one were tried with it already, but the class is new: go on
                // with the next state.
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
