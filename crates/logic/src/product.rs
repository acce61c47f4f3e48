//! Whether two automata have a word in common.
//!
//! With an automaton for a formula and one for its negation, this test decides every question about
//! languages in the reductions: after a change to one automaton, it must still have no word in
//! common with the other.

use crate::graph::{Graph, Work};

/// Two automata whose letters are compared once; states of the left one may be merged afterwards.
pub struct Product<'a> {
    left: &'a Graph,
    right: &'a Graph,
    /// For each left state, each right state: the pairs of edges with a letter in common.
    pairs: Vec<Vec<(u32, u32)>>,
}

impl<'a> Product<'a> {
    /// Compares the letters of all edges; nothing if the budget does not allow it.
    pub fn new(left: &'a Graph, right: &'a Graph, work: &mut Work) -> Option<Product<'a>> {
        if !work.spend((left.edge_count() as u64).saturating_mul(right.edge_count() as u64) + 1) {
            return None;
        }
        let mut pairs = Vec::with_capacity(left.len() * right.len());
        for from in &left.edges {
            for other in &right.edges {
                let mut list = Vec::new();
                for (i, a) in from.iter().enumerate() {
                    for (j, b) in other.iter().enumerate() {
                        if work.bdds.meet(a.guard, b.guard) {
                            list.push((i as u32, j as u32));
                        }
                    }
                }
                pairs.push(list);
            }
        }
        Some(Product { left, right, pairs })
    }

    /// Whether the quotient of the left automaton by `class` and the right automaton have no word
    /// in common. `marks` returns the marks of a left edge, which is given by its state and its
    /// index among the state's edges. Nothing when the budget is used up.
    pub fn empty(&self, class: &[u32], marks: &dyn Fn(usize, usize) -> u64, work: &mut Work) -> Option<bool> {
        let classes = class.iter().max().map_or(0, |max| *max as usize + 1);
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); classes];
        class.iter().enumerate().for_each(|(state, class)| members[*class as usize].push(state));
        let width = self.right.len();
        let all_left = self.left.all_marks();
        let all_right = self.right.all_marks();
        let start = class[self.left.initial as usize] as usize * width + self.right.initial as usize;

        // Tarjan's search; roots carry the marks of their component so far (Couvreur).
        struct Frame {
            node: usize,
            edges: Vec<(usize, u64, u64)>,
            at: usize,
        }
        struct Root {
            index: u32,
            left: u64,
            right: u64,
            /// Marks of the edge that led here, from the component before.
            by: (u64, u64),
        }
        const DONE: u32 = u32::MAX;
        let mut index: Vec<u32> = vec![0; classes * width];
        let (mut next, mut steps) = (1u32, 0u64);
        let mut live: Vec<usize> = Vec::new();
        let mut roots: Vec<Root> = Vec::new();
        let mut frames: Vec<Frame> = Vec::new();
        let expand = |node: usize, steps: &mut u64| {
            let (state, other) = (node / width, node % width);
            let mut edges = Vec::new();
            for &member in &members[state] {
                for &(i, j) in &self.pairs[member * width + other] {
                    let (a, b) = (&self.left.edges[member][i as usize], &self.right.edges[other][j as usize]);
                    let target = class[a.target as usize] as usize * width + b.target as usize;
                    edges.push((target, marks(member, i as usize), b.marks));
                }
            }
            *steps += edges.len() as u64 + 1;
            edges
        };
        let begin = |node: usize, by: (u64, u64), index: &mut Vec<u32>, next: &mut u32, live: &mut Vec<usize>, roots: &mut Vec<Root>| {
            index[node] = *next;
            roots.push(Root { index: *next, left: 0, right: 0, by });
            *next += 1;
            live.push(node);
        };
        begin(start, (0, 0), &mut index, &mut next, &mut live, &mut roots);
        frames.push(Frame { node: start, edges: expand(start, &mut steps), at: 0 });
        while let Some(frame) = frames.last_mut() {
            if steps > work.left {
                work.left = 0;
                return None;
            }
            let Some(&(target, left, right)) = frame.edges.get(frame.at) else {
                let node = frame.node;
                frames.pop();
                if roots.last().is_some_and(|root| root.index == index[node]) {
                    roots.pop();
                    while let Some(member) = live.pop() {
                        index[member] = DONE;
                        if member == node {
                            break;
                        }
                    }
                }
                continue;
            };
            frame.at += 1;
            if index[target] == 0 {
                begin(target, (left, right), &mut index, &mut next, &mut live, &mut roots);
                let edges = expand(target, &mut steps);
                frames.push(Frame { node: target, edges, at: 0 });
            } else if index[target] != DONE {
                let (mut l, mut r) = (left, right);
                while roots.last().is_some_and(|root| root.index > index[target]) {
                    if let Some(root) = roots.pop() {
                        l |= root.left | root.by.0;
                        r |= root.right | root.by.1;
                    }
                }
                if let Some(root) = roots.last_mut() {
                    root.left |= l;
                    root.right |= r;
                    if root.left == all_left && root.right == all_right {
                        work.left = work.left.saturating_sub(steps);
                        return Some(false);
                    }
                }
            }
        }
        work.left = work.left.saturating_sub(steps);
        Some(true)
    }
}

/// Whether the two automata have no word in common; nothing when the budget is used up.
pub fn disjoint(left: &Graph, right: &Graph, work: &mut Work) -> Option<bool> {
    let product = Product::new(left, right, work)?;
    let class: Vec<u32> = (0..left.len() as u32).collect();
    product.empty(&class, &|state, edge| left.edges[state][edge].marks, work)
}
