//! The order of the control flow of a process type: the rank of each location.

use bytecode::{Location, ProcessId, Verified};
use std::collections::BTreeSet;
use stepgraph::StepGraph;

/// The rank of each location of a type. Steps between locations that lie on no common cycle lead to
/// a higher rank. Within a cycle, ranks grow along a depth-first walk from its entry, so that only
/// the steps that close it lead to a lower rank.
pub(crate) fn ranks(program: &Verified, ty: ProcessId) -> Vec<i32> {
    let count = program.locations().count(ty);
    let Ok(graph) = StepGraph::of(program) else { return vec![0; count] };
    let mut next: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); count];
    for (number, next) in next.iter_mut().enumerate() {
        let Some(location) = Location::new(number) else { continue };
        let steps = graph.alternatives(ty, location).into_iter().filter_map(|alternative| alternative.end);
        let targets = steps.filter_map(|(_, step)| program.locations().after_step(step));
        next.extend(targets.map(Location::index));
    }
    let entry = program.program().follow_jumps(program.program().processes[ty.index()].entry);
    let entry = entry.and_then(|at| program.locations().addresses(ty).iter().position(|&known| known == at)).unwrap_or(0);
    number(&next, entry)
}

/// The rank of each node of a graph. The numbers of the nodes are their ranks if no more edges lead
/// to a lower one than with the ranks of a walk. Locations are numbered in the order of the text,
/// so this is usual, and then the rank costs no computation.
fn number(next: &[BTreeSet<usize>], entry: usize) -> Vec<i32> {
    let walked = walked(next, entry);
    let back = |rank: &dyn Fn(usize) -> i32| {
        let edges = next.iter().enumerate().flat_map(|(from, targets)| targets.iter().map(move |&to| (from, to)));
        edges.filter(|&(from, to)| rank(to) < rank(from)).count()
    };
    if back(&|node| node as i32) <= back(&|node| walked[node]) { (0..next.len() as i32).collect() } else { walked }
}

/// The ranks in the reverse of the order in which a depth-first walk leaves the nodes.
fn walked(next: &[BTreeSet<usize>], entry: usize) -> Vec<i32> {
    let count = next.len();
    let mut left = Vec::with_capacity(count);
    let mut seen = vec![false; count];
    for start in std::iter::once(entry).chain(0..count) {
        if start >= count || std::mem::replace(&mut seen[start], true) {
            continue;
        }
        let mut path = vec![(start, next[start].iter().rev())];
        while let Some((at, targets)) = path.last_mut() {
            match targets.next() {
                Some(&target) if !std::mem::replace(&mut seen[target], true) => path.push((target, next[target].iter().rev())),
                Some(_) => {}
                None => {
                    left.push(*at);
                    path.pop();
                }
            }
        }
    }
    let mut ranks = vec![0; count];
    for (rank, location) in left.into_iter().rev().enumerate() {
        ranks[location] = rank as i32;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks_of(edges: &[&[usize]]) -> Vec<i32> {
        number(&edges.iter().map(|targets| targets.iter().copied().collect()).collect::<Vec<_>>(), 0)
    }

    #[test]
    fn the_order_of_the_text_is_taken_where_it_is_as_good() {
        // A loop with two branches, and a way out.
        assert_eq!(ranks_of(&[&[1, 2, 4], &[3], &[3], &[0], &[]]), [0, 1, 2, 3, 4]);
        // A jump back in the text that closes no loop.
        let ranks = ranks_of(&[&[2], &[], &[1]]);
        assert!(ranks[0] < ranks[2] && ranks[2] < ranks[1], "{ranks:?}");
    }
}
