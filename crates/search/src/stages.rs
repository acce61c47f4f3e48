//! The two stages of an automaton: before it can accept, and after.
//!
//! Most automata for negated formulas wait for any number of steps and then move to a component in
//! which they can accept. While they wait no cycle is accepting, so the states of the product can
//! be visited in any order. Only from there on is a search for cycles needed. Dividing an automaton
//! by what its components accept is due to Renault, Duret-Lutz, Kordon and Poitrenaud,
//! "Strength-based decomposition of the property Büchi automaton for faster model checking" (2013);
//! this module uses the part that pays without a second search.

use crate::product::{Automaton, AutomatonEdge};

/// The stage in which a state of the automaton is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Before the automaton has reached a component in which it can accept.
    Early,
    /// After that.
    Late,
}

/// Facts about a state of the automaton.
#[derive(Clone, Copy, Debug)]
struct Known {
    stage: Stage,
    /// The only edge to an early state, if it can always be taken: its number and target.
    early_edge: Option<(u32, u16)>,
    /// See [`Stages::twin`].
    twin: Option<u16>,
}

/// The states of an automaton by their stages.
#[derive(Clone, Debug)]
pub(crate) struct Stages(Vec<Known>);

impl Stages {
    pub fn of(automaton: &Automaton) -> Stages {
        let late = late(automaton);
        let stage = |state: u16| if late.get(usize::from(state)) == Some(&true) { Stage::Late } else { Stage::Early };
        let to = |edge: &AutomatonEdge| edge.target.map_or(Stage::Early, stage);
        let known = |(number, own): (usize, &Vec<AutomatonEdge>)| {
            let mut early = (0..).zip(own).filter(|(_, edge)| to(edge) == Stage::Early);
            let early_edge = match (early.next(), early.next()) {
                (Some((number, edge)), None) if edge.required | edge.forbidden == 0 => edge.target.map(|target| (number, target)),
                _ => None,
            };
            let doors: Vec<&AutomatonEdge> = own.iter().filter(|edge| to(edge) == Stage::Late).collect();
            let is_twin = |&other: &usize| late[other] && doors.iter().all(|door| cover(&automaton.edges[other], door));
            let twin = if doors.is_empty() { None } else { (0..automaton.edges.len()).find(is_twin) };
            Known { stage: stage(number as u16), early_edge, twin: twin.map(|twin| twin as u16) }
        };
        Stages(automaton.edges.iter().enumerate().map(known).collect())
    }

    fn known(&self, state: u16) -> Option<&Known> {
        self.0.get(usize::from(state))
    }

    /// The stage of a state.
    #[inline]
    pub fn stage(&self, state: u16) -> Stage {
        self.known(state).map_or(Stage::Early, |known| known.stage)
    }

    /// The only edge from a state to early states, if it can always be taken: its number and
    /// target.
    #[inline]
    pub fn only_early_edge(&self, state: u16) -> Option<(u32, u16)> {
        self.known(state)?.early_edge
    }

    /// A late state whose edges cover all edges from `state` to late states, for all values of the
    /// propositions. If the product has visited this late state with the same state of the system,
    /// the steps from `state` to late states lead to nothing new.
    #[inline]
    pub fn twin(&self, state: u16) -> Option<u16> {
        self.known(state)?.twin
    }
}

/// The most propositions for which all values are tried.
const MOST_TRIED: u32 = 10;

/// Whether, for all values of the propositions that enable `edge`, one of `others` with the same
/// target is enabled. With many propositions the answer `false` may be wrong.
fn cover(others: &[AutomatonEdge], edge: &AutomatonEdge) -> bool {
    let others: Vec<&AutomatonEdge> = others.iter().filter(|other| other.target == edge.target).collect();
    let given = edge.required | edge.forbidden;
    let open = others.iter().fold(0, |all, other| all | other.required | other.forbidden) & !given;
    if open.count_ones() > MOST_TRIED {
        return false;
    }
    // Enumerates all subsets of `open`, each from the one before.
    let mut more = 0_u64;
    loop {
        if !others.iter().any(|other| other.is_enabled(edge.required | more)) {
            return false;
        }
        more = more.wrapping_sub(open) & open;
        if more == 0 {
            return true;
        }
    }
}

/// For each state, whether it can be reached from a component in which the automaton can accept.
fn late(automaton: &Automaton) -> Vec<bool> {
    let mut late = automaton.accepting_components();
    let mut open: Vec<usize> = (0..late.len()).filter(|&state| late[state]).collect();
    while let Some(state) = open.pop() {
        for target in automaton.edges[state].iter().filter_map(|edge| edge.target).map(usize::from) {
            if late.get(target) == Some(&false) {
                late[target] = true;
                open.push(target);
            }
        }
    }
    late
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::testing::Random;

    fn edge(required: u64, forbidden: u64, marks: u64, target: Option<u16>) -> AutomatonEdge {
        AutomatonEdge { required, forbidden, marks, target }
    }

    /// The automaton of `[]<>p && <>[]!q`, with `p` and `q` in this order.
    #[test]
    fn what_waits_is_early_and_has_a_twin() {
        let waiting = vec![edge(0, 0, 0, Some(0)), edge(0, 2, 0, Some(1))];
        let accepting = vec![edge(1, 2, 1, Some(1)), edge(0, 3, 0, Some(1))];
        let stages = Stages::of(&Automaton { initial: 0, edges: vec![waiting, accepting], sets: 1 });
        assert_eq!([0, 1].map(|state| stages.stage(state)), [Stage::Early, Stage::Late]);
        assert_eq!((stages.only_early_edge(0), stages.twin(0), stages.twin(1)), (Some((0, 0)), Some(1), Some(1)));
    }

    #[test]
    fn an_edge_that_can_be_taken_less_often_covers_nothing() {
        let waiting = vec![edge(1, 0, 0, Some(0)), edge(0, 2, 0, Some(1))];
        let accepting = vec![edge(1, 2, 1, Some(1))];
        let stages = Stages::of(&Automaton { initial: 0, edges: vec![waiting, accepting], sets: 1 });
        assert_eq!((stages.only_early_edge(0), stages.twin(0)), (None, None));
        // An edge that refutes the formula is taken early.
        let edges = vec![vec![edge(0, 0, 0, Some(0)), edge(1, 0, 0, None)]];
        assert_eq!(Stages::of(&Automaton { initial: 0, edges, sets: 1 }).only_early_edge(0), None);
    }

    /// No early state is reachable from a state on a cycle with edges of all sets.
    #[test]
    fn nothing_is_accepted_before_the_late_stage() {
        for seed in 0..300 {
            let mut random = Random(seed);
            let count = 1 + random.below(6);
            let edges: Vec<Vec<AutomatonEdge>> = (0..count)
                .map(|_| (0..random.below(4)).map(|_| edge(0, 0, random.below(4), Some(random.below(count) as u16))).collect())
                .collect();
            let automaton = Automaton { initial: 0, edges, sets: 2 };
            let (stages, accepting) = (Stages::of(&automaton), automaton.accepting_components());
            for (state, own) in automaton.edges.iter().enumerate() {
                let stage = stages.stage(state as u16);
                assert!(stage == Stage::Late || !accepting[state], "{automaton:?}");
                let leads_back = own.iter().filter_map(|edge| edge.target).any(|target| stages.stage(target) == Stage::Early);
                assert!(stage == Stage::Early || !leads_back, "{automaton:?}");
            }
        }
    }
}
