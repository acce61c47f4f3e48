//! Compares two graphs as graphs, not only by their numbers.
//!
//! The states of both graphs are divided into blocks: at first by what can be seen in them, then
//! again and again by the blocks to which their steps lead, until nothing changes (P. Kanellakis
//! and S. Smolka, "CCS expressions, finite state processes, and three problems of equivalence",
//! 1990). The initial states must be in one block. Steps are counted, and each block must have as
//! many states of one graph as of the other. So a step that leads to a wrong state with the same
//! values is found, unless everything that can happen after it is the same too.

use std::collections::HashMap;

/// A step of a state.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Edge {
    /// The process that moves.
    pub process: usize,
    /// The kind of the fault that occurs.
    pub fault: Option<String>,
    /// The state that is reached; `None` after a fatal fault.
    pub target: Option<usize>,
}

/// A state, as far as it can be seen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Node {
    /// The values of the variables.
    pub values: Vec<i64>,
    /// Whether it is a deadlock.
    pub is_deadlock: bool,
    /// Its steps.
    pub edges: Vec<Edge>,
}

/// Compares two graphs whose first state is the initial one; the error is a difference.
pub fn compare(left: &[Node], right: &[Node]) -> Result<(), String> {
    let of = |number: usize| left.get(number).or_else(|| right.get(number.wrapping_sub(left.len())));
    let count = left.len() + right.len();
    let nodes: Vec<&Node> = (0..count).filter_map(of).collect();
    let mut seen = HashMap::new();
    let mut blocks: Vec<usize> = nodes.iter().map(|node| number_of(&mut seen, (node.values.clone(), node.is_deadlock))).collect();
    let mut different = seen.len();
    loop {
        let mut signatures = HashMap::new();
        let next: Vec<usize> = nodes
            .iter()
            .enumerate()
            .map(|(number, node)| {
                let start = if number < left.len() { 0 } else { left.len() };
                let lead = |edge: &Edge| (edge.process, edge.fault.clone(), edge.target.map(|target| blocks[start + target]));
                let mut leads: Vec<_> = node.edges.iter().map(lead).collect();
                leads.sort();
                number_of(&mut signatures, (blocks[number], leads))
            })
            .collect();
        let now = signatures.len();
        blocks = next;
        if now == different {
            break;
        }
        different = now;
    }
    let mut balance: HashMap<usize, (i64, usize)> = HashMap::new();
    for (number, block) in blocks.iter().enumerate() {
        balance.entry(*block).or_insert((0, number)).0 += if number < left.len() { 1 } else { -1 };
    }
    if let Some((_, number)) = balance.values().filter(|(more, _)| *more != 0).min_by_key(|(_, number)| number) {
        return Err(format!("the graphs do not have the same number of states like {:?}", nodes[*number]));
    }
    if left.is_empty() || blocks[0] == blocks[left.len()] { Ok(()) } else { Err("the initial states differ".to_owned()) }
}

/// The number of a key, counted from its first occurrence.
fn number_of<K: Eq + std::hash::Hash>(known: &mut HashMap<K, usize>, key: K) -> usize {
    let next = known.len();
    *known.entry(key).or_insert(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(value: i64, targets: &[usize]) -> Node {
        let edge = |target: &usize| Edge { process: 0, fault: None, target: Some(*target) };
        Node { values: vec![value], is_deadlock: false, edges: targets.iter().map(edge).collect() }
    }

    #[test]
    fn graphs_with_the_same_numbers_differ() {
        let line = [node(0, &[1, 2]), node(1, &[3]), node(1, &[4]), node(2, &[]), node(3, &[])];
        assert_eq!(compare(&line, &line), Ok(()));
        // The states have other numbers.
        let other = [node(0, &[4, 3]), node(3, &[]), node(2, &[]), node(1, &[2]), node(1, &[1])];
        assert_eq!(compare(&line, &other), Ok(()));
        // The same values and as many steps, but one path leads to both ends.
        let crossed = [node(0, &[1, 2]), node(1, &[3, 4]), node(1, &[]), node(2, &[]), node(3, &[])];
        assert!(compare(&line, &crossed).is_err());
        // Another process moves; a fault occurs; a state is a deadlock.
        let mut changed = line.clone();
        changed[1].edges[0].process = 1;
        assert!(compare(&line, &changed).is_err());
        changed = line.clone();
        changed[1].edges[0].fault = Some("Assertion".to_owned());
        assert!(compare(&line, &changed).is_err());
        changed = line.clone();
        changed[4].is_deadlock = true;
        assert!(compare(&line, &changed).is_err());
        // A graph with one state twice.
        let twice = [node(0, &[1, 1]), node(1, &[0])];
        let single = [node(0, &[1, 2]), node(1, &[0]), node(1, &[0])];
        assert!(compare(&twice, &single).is_err());
    }
}
