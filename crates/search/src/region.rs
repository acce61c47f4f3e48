//! The components of an automaton in which a cycle of the product can be accepting.

use crate::classes::Classes;
use crate::product::Automaton;

/// A component of the automaton in which it can accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    component: u32,
    /// Every edge within the component is in every acceptance set, so every cycle is accepting.
    pub weak: bool,
}

/// The region of each state of an automaton.
#[derive(Clone, Debug)]
pub(crate) struct Regions(Vec<Option<Region>>);

impl Regions {
    pub fn of(automaton: &Automaton, classes: &Classes) -> Regions {
        let accepting = automaton.accepting_components();
        let component = |state: usize| classes.component(state as u16);
        let mut weak = vec![true; automaton.edges.len()];
        for (state, own) in automaton.edges.iter().enumerate() {
            let inside = own.iter().filter(|edge| edge.target.is_some_and(|target| component(usize::from(target)) == component(state)));
            if inside.into_iter().any(|edge| edge.marks & automaton.all_marks() != automaton.all_marks()) {
                weak[component(state) as usize] = false;
            }
        }
        let region = |(state, accepts): (usize, bool)| {
            let component = component(state);
            accepts.then(|| Region { component, weak: weak[component as usize] })
        };
        Regions(accepting.into_iter().enumerate().map(region).collect())
    }

    /// The region of a state, if it is in one.
    #[inline]
    pub fn region(&self, state: u16) -> Option<Region> {
        self.0.get(usize::from(state)).copied().flatten()
    }

    /// Whether every accepting cycle lies in a weak region.
    pub fn are_weak(&self) -> bool {
        self.0.iter().flatten().all(|region| region.weak)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product::AutomatonEdge;

    #[test]
    fn only_components_that_can_accept_are_regions() {
        let edge = |marks, target| AutomatonEdge { marks, target: Some(target), ..AutomatonEdge::default() };
        // 0 waits, 1 is weak, 2 and 3 form a cycle with one accepting edge, 4 never accepts.
        let edges = vec![
            vec![edge(0, 0), edge(0, 1), edge(0, 2)],
            vec![edge(1, 1), edge(0, 4)],
            vec![edge(1, 3)],
            vec![edge(0, 2), edge(0, 4)],
            vec![edge(0, 4)],
        ];
        let automaton = Automaton { initial: 0, edges, sets: 1 };
        let regions = Regions::of(&automaton, &Classes::of(&automaton));
        let weak: Vec<Option<bool>> = (0..6).map(|state| regions.region(state).map(|region| region.weak)).collect();
        assert_eq!(weak, [None, Some(true), Some(false), Some(false), None, None]);
        assert_eq!(regions.region(2), regions.region(3));
        assert!(!regions.are_weak());
    }
}
