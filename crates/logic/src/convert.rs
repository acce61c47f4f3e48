//! Analyses automata that were read from files, and converts them to automata with accepting
//! states.

use crate::automaton::{Automaton, Component, Strength};
use crate::bdd::{Bdd, Bdds};
use crate::degeneralise::{Place, degeneralise};
use crate::formula::{Formulas, Id, Node};
use crate::graph::{Components, Graph, Work};
use crate::translate::TooLarge;

/// The largest number of nodes of the guards of an automaton that is analysed.
const NODES_MAX: usize = 1 << 20;
/// The largest number of states of a converted automaton.
const STATES_MAX: usize = 100_000;

/// The properties of an automaton.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// It has at most one run for each word.
    pub deterministic: bool,
    /// Every state has an edge for every letter.
    pub complete: bool,
    /// The kind of search that it needs.
    pub strength: Strength,
    /// For each state the number of its component; edges lead to the same or a smaller number.
    /// Nothing for a state that cannot be reached.
    pub component: Vec<Option<usize>>,
    /// For each component, how it takes part in acceptance.
    pub kinds: Vec<Component>,
}

/// Analyses an automaton.
pub fn facts(automaton: &Automaton) -> Result<Facts, TooLarge> {
    let mut bdds = Bdds::new(NODES_MAX);
    let graph = Graph::from_open(automaton, &mut bdds);
    let components = graph.components();
    let facts = Facts {
        deterministic: graph.deterministic(&mut bdds),
        complete: graph.complete(&mut bdds),
        strength: graph.strength(&mut bdds),
        component: components.of.iter().map(|of| (*of != Components::NONE).then_some(*of as usize)).collect(),
        kinds: components.kind,
    };
    if bdds.overflowed() { Err(TooLarge::guards()) } else { Ok(facts) }
}

/// The same automaton without edges that no letter takes, and without states that are then not
/// reached. Edges between the same states with the same marks become one.
pub fn tidy(automaton: &Automaton) -> Result<Automaton, TooLarge> {
    let mut bdds = Bdds::new(NODES_MAX);
    let mut graph = Graph::from_open(automaton, &mut bdds);
    graph.keep_reachable(&mut bdds);
    let result = graph.open(&automaton.atoms, automaton.state_based, &mut bdds);
    if bdds.overflowed() { Err(TooLarge::guards()) } else { Ok(result) }
}

/// The automaton with one set of accepting states.
pub fn to_buchi(automaton: &Automaton) -> Result<Automaton, TooLarge> {
    if automaton.state_based && automaton.sets == 1 {
        return Ok(automaton.clone());
    }
    let mut work = Work::new(NODES_MAX, u64::MAX);
    let graph = Graph::from_open(automaton, &mut work.bdds);
    let order: Vec<u32> = (0..graph.sets).collect();
    let states = degeneralise(&graph, &order, Place::States, STATES_MAX, &mut work)
        .ok_or_else(|| TooLarge::of("the automaton has too many states with acceptance on states"))?;
    let result = states.open(&automaton.atoms, true, &mut work.bdds);
    if work.bdds.overflowed() { Err(TooLarge::guards()) } else { Ok(result) }
}

/// The letters for which a formula without temporal operators is true; nothing if there are any.
pub(crate) fn letters_of(formulas: &Formulas, root: Id, bdds: &mut Bdds) -> Option<Bdd> {
    let mut made: rustc_hash::FxHashMap<Id, Bdd> = rustc_hash::FxHashMap::default();
    for id in formulas.below(root) {
        let of = |child: &Id| made[child];
        let set = match formulas.node(id) {
            Node::True => Bdd::ALL,
            Node::False => Bdd::NONE,
            Node::Atom(atom) => bdds.literal(*atom, true),
            Node::Not(a) => bdds.not(of(a)),
            Node::And(list) => list.iter().fold(Bdd::ALL, |all, a| bdds.and(all, of(a))),
            Node::Or(list) => list.iter().fold(Bdd::NONE, |all, a| bdds.or(all, of(a))),
            Node::Implies(a, b) => {
                let outside = bdds.not(of(a));
                bdds.or(outside, of(b))
            }
            Node::Equivalent(a, b) => {
                let (both, either) = (bdds.and(of(a), of(b)), bdds.or(of(a), of(b)));
                let neither = bdds.not(either);
                bdds.or(both, neither)
            }
            _ => return None,
        };
        made.insert(id, set);
    }
    made.get(&root).copied()
}
