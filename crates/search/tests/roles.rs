//! The roles of stores, each used by a small search on systems with known numbers.

use contract::testing::{LayerSets, grid, mark_laws};
use contract::{Action, Layered, Store, StoreWorker, Successors, System};
use search::{Task, breadth_first};
use std::collections::BTreeMap;
use store::{Compact, Marked, Plain, owner_hash, owner_of_hash};

/// Each state is kept by its owner alone, and the owners have about equal shares.
#[test]
fn every_state_has_one_owner() {
    for owners in [1, 2, 3, 7] {
        let mut system = grid(12);
        let stores: Vec<Plain> = (0..owners).map(|_| Plain::new()).collect();
        let mut workers: Vec<_> = stores.iter().map(Store::worker).collect();
        let mut out = Successors::new();
        let mut waiting: Vec<Vec<u8>> = Vec::new();
        system.initial(&mut out);
        loop {
            for state in out.iter().filter_map(|(_, state)| state) {
                let worker = &mut workers[owner_of_hash(owner_hash(state), owners) as usize];
                let hash = worker.hash(state);
                if worker.insert(hash, state).unwrap().new {
                    waiting.push(state.to_vec());
                }
            }
            let Some(state) = waiting.pop() else { break };
            out.clear();
            system.successors(&state, &mut out);
        }
        // A worker updates the count of its store when it is dropped.
        drop(workers);
        let shares: Vec<u64> = stores.iter().map(Store::len).collect();
        assert_eq!(shares.iter().sum::<u64>(), 1728);
        // No owner has more than one and a half fair shares.
        assert!(shares.iter().all(|&share| share * 2 * u64::from(owners) < 1728 * 3), "{shares:?}");
    }
}

/// A search that goes layer by layer, by a measure that never decreases, and drops the layers
/// behind it.
#[test]
fn layers_that_are_done_with_can_be_dropped() {
    let mut system = grid(12);
    let measure = |state: &[u8]| {
        let n = u64::from_le_bytes(state.try_into().unwrap());
        n % 12 + n / 12 % 12 + n / 144
    };
    let mut layers = LayerSets::default();
    let mut out = Successors::new();
    system.initial(&mut out);
    let mut waiting: BTreeMap<u64, Vec<Vec<u8>>> = BTreeMap::new();
    let (mut states, mut peak, mut dropped) = (0, 0, 0);
    let mut layer = 0;
    loop {
        let mut worker = layers.worker();
        let level = waiting.remove(&layer).unwrap_or_default();
        for index in 0..level.len().max(1) {
            if layer > 0 || index < level.len() {
                out.clear();
                system.successors(&level[index], &mut out);
            }
            for state in out.iter().filter_map(|(_, state)| state) {
                let at = measure(state);
                if LayerSets::layer(&mut worker, at).insert(0, state).unwrap().new {
                    states += 1;
                    waiting.entry(at).or_default().push(state.to_vec());
                }
            }
        }
        peak = peak.max(layers.len());
        let Some((&next, _)) = waiting.first_key_value() else { break };
        layer = next;
        dropped += layers.drop_layers(&mut |other| other < layer);
    }
    assert_eq!((states, layers.drop_layers(&mut |_| true) + dropped), (1728, 1728));
    assert!(peak * 4 < states, "{peak} of {states} states at a time");
    assert_eq!(breadth_first(&system, &Plain::new(), &Task::default()).statistics.states, states);
}

#[test]
fn marks_are_kept() {
    mark_laws(&Marked::new(Plain::new(), Plain::new()), 3000);
    mark_laws(&Marked::new(Compact::learning_from(u64::MAX, 100), Compact::learning_from(u64::MAX, 100)), 3000);
}

/// A system with interchangeable counters, whose states are replaced by a canonical one.
#[derive(Clone)]
struct Sorted<S>(S);

impl<S: System> System for Sorted<S> {
    fn initial(&mut self, out: &mut Successors) {
        self.0.initial(out);
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let first = out.len();
        self.0.successors(state, out);
        for index in first..out.len() {
            if let Some(state) = out.state_mut(index) {
                state.sort_unstable();
            }
        }
    }

    fn is_valid_end(&mut self, state: &[u8]) -> bool {
        self.0.is_valid_end(state)
    }
}

/// A wrapper of a system can replace states by a canonical form in place: three equal counters up
/// to 9 have as many states as there are multisets of three of ten values.
#[test]
fn states_can_be_brought_to_a_canonical_form_in_place() {
    let counters = contract::testing::Implicit {
        initial: vec![0; 3],
        next: |state: &[u8], out: &mut Successors| {
            for index in 0..3 {
                if state[index] < 9 {
                    out.slot_from(state)[index] += 1;
                    out.commit(3, Action::new(index as u32, 0), None, 0);
                }
            }
        },
    };
    let mut sorted = Sorted(counters.clone());
    contract::testing::system_laws(&mut sorted, 10_000);
    let states = |outcome: contract::Outcome| outcome.statistics.states;
    assert_eq!(states(breadth_first(&counters, &Plain::new(), &Task::default())), 1000);
    assert_eq!(states(breadth_first(&sorted, &Plain::new(), &Task::default())), 220);
}
