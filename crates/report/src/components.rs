//! The strongly connected components of a graph: the largest sets of states that can all reach each
//! other.
//!
//! Tarjan's algorithm with a stack of its own instead of recursion (Tarjan, "Depth-first search and
//! linear graph algorithms", 1972). The edges are kept by their sources, four bytes each.

/// The component of each state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Components {
    /// The number of components.
    pub count: u32,
    /// The number of each state's component. An edge never leads to a component with a larger
    /// number.
    pub of: Vec<u32>,
}

const UNSEEN: u32 = u32::MAX;

impl Components {
    /// The components of a graph with `states` states. The edges are read twice.
    pub fn of<E: Iterator<Item = (u32, u32)>>(states: u32, edges: impl Fn() -> E) -> Components {
        let count = states as usize;
        let mut first = vec![0_usize; count + 1];
        edges().for_each(|(source, _)| first[source as usize + 1] += 1);
        for state in 0..count {
            first[state + 1] += first[state];
        }
        let mut next = first.clone();
        let mut targets = vec![0_u32; first[count]];
        for (source, target) in edges() {
            let place = &mut next[source as usize];
            targets[*place] = target;
            *place += 1;
        }
        // From here on, `next` is the next edge of each state.
        next.copy_from_slice(&first);
        let mut found = Components { count: 0, of: vec![UNSEEN; count] };
        // The time at which each state was first reached, and the earliest state that it is known
        // to reach.
        let (mut met, mut low) = (vec![UNSEEN; count], vec![0_u32; count]);
        let (mut path, mut waiting, mut time) = (Vec::new(), Vec::new(), 0);
        for start in 0..count {
            if met[start] == UNSEEN {
                path.push(start);
            }
            while let Some(&state) = path.last() {
                if met[state] == UNSEEN {
                    (met[state], low[state]) = (time, time);
                    time += 1;
                    waiting.push(state);
                }
                if next[state] < first[state + 1] {
                    let target = targets[next[state]] as usize;
                    next[state] += 1;
                    if met[target] == UNSEEN {
                        path.push(target);
                    } else if found.of[target] == UNSEEN {
                        low[state] = low[state].min(met[target]);
                    }
                    continue;
                }
                path.pop();
                if let Some(&before) = path.last() {
                    low[before] = low[before].min(low[state]);
                }
                if low[state] == met[state] {
                    while let Some(member) = waiting.pop() {
                        found.of[member] = found.count;
                        if member == state {
                            break;
                        }
                    }
                    found.count += 1;
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two states are in one component if each reaches the other.
    fn by_definition(states: u32, edges: &[(u32, u32)]) -> Vec<Vec<bool>> {
        let n = states as usize;
        let mut reach = vec![vec![false; n]; n];
        (0..n).for_each(|state| reach[state][state] = true);
        edges.iter().for_each(|(a, b)| reach[*a as usize][*b as usize] = true);
        for k in 0..n {
            for i in 0..n {
                for j in 0..n {
                    reach[i][j] |= reach[i][k] && reach[k][j];
                }
            }
        }
        (0..n).map(|i| (0..n).map(|j| reach[i][j] && reach[j][i]).collect()).collect()
    }

    #[test]
    fn random_graphs() {
        let mut state = 7_u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        for _ in 0..2000 {
            let states = 1 + below(9) as u32;
            let edges: Vec<(u32, u32)> = (0..below(16)).map(|_| (below(states.into()) as u32, below(states.into()) as u32)).collect();
            let found = Components::of(states, || edges.iter().copied());
            let expected = by_definition(states, &edges);
            let together: Vec<Vec<bool>> = found.of.iter().map(|a| found.of.iter().map(|b| a == b).collect()).collect();
            assert_eq!(together, expected, "{states} {edges:?} {found:?}");
            // All numbers are used, and no edge leads to a larger one.
            assert_eq!(found.of.iter().collect::<std::collections::HashSet<_>>().len() as u32, found.count);
            assert!(edges.iter().all(|(a, b)| found.of[*a as usize] >= found.of[*b as usize]));
        }
    }

    #[test]
    fn a_long_way_needs_no_deep_stack() {
        let states = 300_000;
        let ring = Components::of(states, || (0..states).map(|state| (state, (state + 1) % states)));
        assert_eq!(ring.count, 1);
        let line = Components::of(states, || (1..states).map(|state| (state - 1, state)));
        assert_eq!(line.count, states);
    }
}
