//! The components of a claim's automaton, classified by what a nested search must do in them.
//!
//! A cycle of the product stays within one component of the automaton. If all states of the
//! component accept, the first search closes such a cycle itself; if none accepts, no cycle is
//! accepting. Only if some accept and some do not is a second search needed, and it need not leave
//! the component (Černá and Pelánek, "Relating hierarchy of temporal properties to model checking",
//! 2003; Edelkamp, Leue and Lluch-Lafuente, "Directed explicit-state model checking in the
//! validation of communication protocols", 2004). A weak automaton has no such component.

use crate::product::Automaton;

/// The class of a state of the automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No state of its component accepts.
    Rejecting,
    /// All states of its component accept.
    Accepting,
    /// Some states of its component accept and some do not.
    Mixed {
        /// Whether this state accepts.
        accepts: bool,
    },
}

/// The component and the class of each state of an automaton.
#[derive(Clone, Debug)]
pub(crate) struct Classes(Vec<(u32, Kind)>);

impl Classes {
    pub fn of(automaton: &Automaton) -> Classes {
        let components = components(automaton);
        let accepts: Vec<bool> = (0..automaton.edges.len()).map(|state| automaton.is_accepting(state as u16)).collect();
        let mut seen = vec![[false; 2]; automaton.edges.len()];
        for (&component, &accepts) in components.iter().zip(&accepts) {
            seen[component as usize][usize::from(accepts)] = true;
        }
        let kind = |(component, accepts): (u32, bool)| match seen[component as usize] {
            [_, false] => (component, Kind::Rejecting),
            [false, true] => (component, Kind::Accepting),
            [true, true] => (component, Kind::Mixed { accepts }),
        };
        Classes(components.into_iter().zip(accepts).map(kind).collect())
    }

    pub fn kind(&self, state: u16) -> Kind {
        self.0.get(usize::from(state)).map_or(Kind::Rejecting, |&(_, kind)| kind)
    }

    /// The component of a state, named by one of its states.
    pub fn component(&self, state: u16) -> u32 {
        self.0.get(usize::from(state)).map_or(u32::from(state), |&(component, _)| component)
    }

    /// The component of a state, if it is mixed.
    pub fn mixed(&self, state: u16) -> Option<u32> {
        self.0.get(usize::from(state)).filter(|(_, kind)| matches!(kind, Kind::Mixed { .. })).map(|&(component, _)| component)
    }

    /// The component of a state, if it contains accepting states.
    pub fn accepting(&self, state: u16) -> Option<u32> {
        self.0.get(usize::from(state)).filter(|(_, kind)| *kind != Kind::Rejecting).map(|&(component, _)| component)
    }
}

/// The component of each state, named by one of its states. A forward search gives the order in
/// which states are left, and a backward search in the opposite order gives the components
/// (Kosaraju; Sharir, 1981).
fn components(automaton: &Automaton) -> Vec<u32> {
    let count = automaton.edges.len();
    let mut backwards = vec![Vec::new(); count];
    let targets = |state: usize| automaton.edges[state].iter().filter_map(|edge| edge.target).map(usize::from).filter(|&to| to < count);
    for state in 0..count {
        targets(state).for_each(|target| backwards[target].push(state));
    }
    let (mut left, mut seen) = (Vec::with_capacity(count), vec![false; count]);
    for root in 0..count {
        let mut path = vec![(root, false)];
        while let Some((state, done)) = path.pop() {
            if done {
                left.push(state);
            } else if !std::mem::replace(&mut seen[state], true) {
                path.push((state, true));
                path.extend(targets(state).filter(|&target| !seen[target]).map(|target| (target, false)));
            }
        }
    }
    let mut component = vec![u32::MAX; count];
    for &root in left.iter().rev() {
        let mut waiting = vec![root];
        while let Some(state) = waiting.pop() {
            if component[state] == u32::MAX {
                component[state] = root as u32;
                waiting.extend(&backwards[state]);
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product::AutomatonEdge;
    use contract::testing::Random;

    fn automaton(targets: &[Vec<u16>], accepting: &[bool]) -> Automaton {
        let edge =
            |target, state: usize| AutomatonEdge { marks: accepting[state].into(), target: Some(target), ..AutomatonEdge::default() };
        let edges = targets.iter().enumerate().map(|(state, own)| own.iter().map(|&target| edge(target, state)).collect());
        Automaton { initial: 0, edges: edges.collect(), sets: 1 }
    }

    #[test]
    fn only_components_of_both_kinds_are_mixed() {
        // 0 and 1 form a cycle, 2 has a self-loop, 3 and 4 form a cycle.
        let targets = [vec![1], vec![0, 2], vec![2, 3], vec![4], vec![3]];
        let classes = Classes::of(&automaton(&targets, &[true, false, true, false, false]));
        let kinds: Vec<Kind> = (0..6).map(|state| classes.kind(state)).collect();
        let mixed = |accepts| Kind::Mixed { accepts };
        assert_eq!(kinds, [mixed(true), mixed(false), Kind::Accepting, Kind::Rejecting, Kind::Rejecting, Kind::Rejecting]);
        assert!(classes.mixed(0).is_some() && classes.mixed(0) == classes.mixed(1) && classes.mixed(0) == classes.accepting(0));
        assert!(classes.accepting(2).is_some() && (2..6).all(|state| classes.mixed(state).is_none()));
        assert!((3..6).all(|state| classes.accepting(state).is_none()));
    }

    /// Compares with reachability in both directions.
    #[test]
    fn components_are_those_of_brute_force() {
        for seed in 0..300 {
            let mut random = Random(seed);
            let count = 1 + random.below(9);
            let targets: Vec<Vec<u16>> = (0..count).map(|_| (0..random.below(3)).map(|_| random.below(count) as u16).collect()).collect();
            let found = components(&automaton(&targets, &vec![false; count as usize]));
            let reaches = |from: usize| {
                let (mut seen, mut waiting) = (vec![false; count as usize], vec![from]);
                while let Some(state) = waiting.pop() {
                    if !std::mem::replace(&mut seen[state], true) {
                        waiting.extend(targets[state].iter().map(|&target| usize::from(target)));
                    }
                }
                seen
            };
            let reached: Vec<Vec<bool>> = (0..count as usize).map(reaches).collect();
            for (a, b) in (0..count as usize).flat_map(|a| (0..count as usize).map(move |b| (a, b))) {
                assert_eq!(found[a] == found[b], reached[a][b] && reached[b][a], "{targets:?}");
            }
        }
    }
}
