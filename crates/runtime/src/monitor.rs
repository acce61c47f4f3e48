//! Watches the properties of a program during a run.
//!
//! A property is given as an automaton that accepts the runs that violate it. The monitor keeps the
//! states in which the automaton can be. It reports a violation when the automaton accepts every
//! continuation, and when the run has ended and the automaton can accept in its last state for
//! ever. A run without end cannot show that something never happens.

use bytecode::Verified;
use contract::System;
use std::sync::Arc;

/// An edge of an automaton over propositions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchedEdge {
    /// The propositions that must hold in the source state, one bit each.
    pub required: u64,
    /// The propositions that must not hold.
    pub forbidden: u64,
    /// The acceptance sets it is in, one bit each.
    pub marks: u64,
    /// The target; `None` if every continuation of the run is accepted.
    pub target: Option<u16>,
}

/// A property: an automaton that accepts the runs that violate it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Its name.
    pub name: String,
    /// The atoms of the program that are its propositions.
    pub atoms: Vec<u32>,
    /// The initial state.
    pub initial: u16,
    /// The edges of each state.
    pub edges: Vec<Vec<WatchedEdge>>,
    /// The bits of all acceptance sets.
    pub all_marks: u64,
}

/// Properties that are watched.
pub(crate) struct Monitor {
    system: vm::Interpreter,
    watched: Vec<(Watched, Vec<u16>)>,
    values: Vec<i64>,
}

impl Monitor {
    pub fn new(program: &Arc<Verified>, watched: Vec<Watched>) -> Monitor {
        let watched = watched.into_iter().map(|watched| (vec![watched.initial], watched)).map(|(at, watched)| (watched, at)).collect();
        Monitor { system: vm::Interpreter::new(Arc::clone(program)), watched, values: Vec::new() }
    }

    /// Records a state that is left, or in which the run ends. Returns the name of a violated
    /// property.
    pub fn sees(&mut self, state: &[u8], is_last: bool) -> Option<String> {
        for (watched, at) in &mut self.watched {
            self.values.clear();
            // A proposition that cannot be evaluated is false, as for a search that ignores the
            // fault.
            if self.system.values(state, &watched.atoms, &mut self.values).is_err() {
                self.values.clear();
            }
            let bits = self.values.iter().enumerate().map(|(number, value)| u64::from(*value != 0) << number).sum();
            let enabled = |edge: &&WatchedEdge| bits & edge.required == edge.required && bits & edge.forbidden == 0;
            let mut next: Vec<u16> = Vec::new();
            for state in at.iter() {
                for edge in watched.edges.get(*state as usize).into_iter().flatten().filter(enabled) {
                    match edge.target {
                        None => return Some(watched.name.clone()),
                        Some(target) if !next.contains(&target) => next.push(target),
                        Some(_) => {}
                    }
                }
            }
            if is_last && goes_on(watched, &next, bits) {
                return Some(watched.name.clone());
            }
            *at = next;
        }
        None
    }
}

/// Whether the automaton can accept if the propositions do not change.
fn goes_on(watched: &Watched, from: &[u16], bits: u64) -> bool {
    let count = watched.edges.len();
    let next = |state: usize| {
        let enabled = move |edge: &&WatchedEdge| bits & edge.required == edge.required && bits & edge.forbidden == 0;
        watched.edges[state].iter().filter(enabled)
    };
    let reach = |start: Vec<usize>| {
        let mut seen = vec![false; count];
        let mut open = start;
        while let Some(state) = open.pop() {
            if state < count && !std::mem::replace(&mut seen[state], true) {
                open.extend(next(state).filter_map(|edge| edge.target.map(usize::from)));
            }
        }
        seen
    };
    let ahead = reach(from.iter().map(|state| usize::from(*state)).collect());
    (0..count).filter(|state| ahead[*state]).any(|state| {
        // The component of a state: the states that it reaches and that reach it.
        let mine = reach(next(state).filter_map(|edge| edge.target.map(usize::from)).collect());
        if !mine[state] {
            return next(state).any(|edge| edge.target.is_none());
        }
        let mut marks = 0;
        for other in (0..count).filter(|other| mine[*other] && reach(vec![*other])[state]) {
            for edge in next(other) {
                match edge.target {
                    None => return true,
                    Some(target) if mine[usize::from(target)] && reach(vec![usize::from(target)])[state] => marks |= edge.marks,
                    Some(_) => {}
                }
            }
        }
        marks & watched.all_marks == watched.all_marks
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(required: u64, forbidden: u64, marks: u64, target: Option<u16>) -> WatchedEdge {
        WatchedEdge { required, forbidden, marks, target }
    }

    #[test]
    fn an_automaton_goes_on_if_it_has_an_accepting_cycle() {
        // Never p again: state 1 is accepting and needs p to be false.
        let edges = vec![vec![edge(0, 0, 0, Some(0)), edge(0, 1, 0, Some(1))], vec![edge(0, 1, 1, Some(1))]];
        let watched = Watched { name: "x".to_owned(), atoms: vec![0], initial: 0, edges, all_marks: 1 };
        assert!(goes_on(&watched, &[0], 0));
        assert!(!goes_on(&watched, &[0], 1));
        assert!(!goes_on(&watched, &[1], 1));
        assert!(!goes_on(&watched, &[], 0));
        // There are two sets, and the cycle has one of them.
        let half = Watched { all_marks: 3, ..watched.clone() };
        assert!(!goes_on(&half, &[0], 0));
    }
}
