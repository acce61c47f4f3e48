//! Toy systems and the laws that every system and every store must obey, for tests of all
//! implementations of this contract.
//!
//! Searches are tested on graphs about which every fact is known, without any language or machine.
//! Systems are tested by [`system_laws`], stores by [`store_laws`] or [`lossy_store_laws`] and by
//! the laws of their roles, the same for each implementation. Failures panic, as in tests.

mod roles;
mod stores;
mod threads;

pub use roles::{layer_laws, mark_laws};
pub use stores::{LayerSets, LayerSetsWorker};
pub use threads::{LocalFirst, ThreadStep, Threads, system_laws};

use crate::fault::FaultCode;
use crate::store::{StateId, Store, StoreWorker};
use crate::successors::{Action, Successor, Successors};
use crate::system::System;
use std::collections::{HashMap, HashSet, VecDeque};

/// Random numbers from a seed.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number of the sequence.
    pub fn number(&mut self) -> u64 {
        splitmix::next(&mut self.0)
    }

    /// A number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound
    }
}

/// An explicit graph. Node `n` is the state [`Graph::encode`]`(n)`. States deliberately have
/// different lengths.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The targets of each node, in order; the action of a step is (node, index).
    pub edges: Vec<Vec<usize>>,
    /// The initial nodes.
    pub initial: Vec<usize>,
    /// A fault of the first initial node.
    pub initial_fault: Option<FaultCode>,
    /// Nodes without successors that are accepted ends.
    pub ends: HashSet<usize>,
    /// Faults of steps, by (node, index).
    pub faults: HashMap<(usize, usize), FaultCode>,
    /// Fatal faults by node: after its other steps, the node has a step without a target.
    pub fatal: HashMap<usize, FaultCode>,
    /// The value of each atom in each node; as a proposition, an atom holds if its value is not 0.
    pub values: Vec<Vec<i64>>,
}

impl Graph {
    /// A graph with node 0 as the only initial node.
    pub fn new(edges: Vec<Vec<usize>>) -> Self {
        Graph { edges, initial: vec![0], ..Graph::default() }
    }

    /// A pseudo-random graph of `nodes` nodes with up to `degree` steps each.
    pub fn random(seed: u64, nodes: usize, degree: u64) -> Self {
        let mut random = Random(seed);
        let edges = (0..nodes).map(|_| (0..random.below(degree + 1)).map(|_| random.below(nodes as u64) as usize).collect()).collect();
        Graph::new(edges)
    }

    /// The state of a node.
    pub fn encode(node: usize) -> Vec<u8> {
        let mut bytes = (node as u32).to_le_bytes().to_vec();
        bytes.resize(4 + node % 11, 0xa5);
        bytes
    }

    /// The node of a state.
    pub fn decode(state: &[u8]) -> usize {
        u32::from_le_bytes([state[0], state[1], state[2], state[3]]) as usize
    }

    /// The facts that a search must find, computed in the most naive way.
    pub fn facts(&self) -> Facts {
        let mut distance: HashMap<usize, u64> = HashMap::new();
        let mut queue = VecDeque::new();
        let mut facts = Facts::default();
        for &node in &self.initial {
            if distance.insert(node, 0).is_none() {
                queue.push_back(node);
            }
        }
        let shorter = |best: Option<u64>, length: u64| Some(best.map_or(length, |b| b.min(length)));
        while let Some(node) = queue.pop_front() {
            let depth = distance[&node];
            facts.states += 1;
            facts.transitions += self.edges[node].len() as u64;
            facts.depth = facts.depth.max(depth);
            if self.edges[node].is_empty() && !self.fatal.contains_key(&node) && !self.ends.contains(&node) {
                facts.shortest_violation = shorter(facts.shortest_violation, depth);
            }
            if self.fatal.contains_key(&node) || (0..self.edges[node].len()).any(|i| self.faults.contains_key(&(node, i))) {
                facts.shortest_violation = shorter(facts.shortest_violation, depth + 1);
            }
            for &target in &self.edges[node] {
                if let std::collections::hash_map::Entry::Vacant(entry) = distance.entry(target) {
                    entry.insert(depth + 1);
                    queue.push_back(target);
                }
            }
        }
        facts
    }
}

/// The facts about a [`Graph`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Reachable nodes.
    pub states: u64,
    /// Steps leaving reachable nodes.
    pub transitions: u64,
    /// The greatest distance of a reachable node.
    pub depth: u64,
    /// The fewest steps to a deadlock or through a fault, if there is one.
    pub shortest_violation: Option<u64>,
}

impl System for Graph {
    fn initial(&mut self, out: &mut Successors) {
        for (index, &node) in self.initial.iter().enumerate() {
            match self.initial_fault {
                Some(fault) if index == 0 => out.push_faulty(&Graph::encode(node), Action::default(), fault),
                _ => out.push(&Graph::encode(node), Action::default()),
            }
        }
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let node = Graph::decode(state);
        for (index, &target) in self.edges[node].iter().enumerate() {
            let action = Action::new(node as u32, index as u32);
            match self.faults.get(&(node, index)) {
                Some(&fault) => out.push_faulty(&Graph::encode(target), action, fault),
                None => out.push(&Graph::encode(target), action),
            }
        }
        if let Some(&fault) = self.fatal.get(&node) {
            out.fail(Action::new(node as u32, self.edges[node].len() as u32), fault, Successor::NO_STEP);
        }
    }

    fn is_valid_end(&mut self, state: &[u8]) -> bool {
        self.ends.contains(&Graph::decode(state))
    }

    fn atoms(&mut self, state: &[u8]) -> Result<u64, FaultCode> {
        let node = Graph::decode(state);
        let holds = |atom: &Vec<i64>| u64::from(atom.get(node).is_some_and(|&value| value != 0));
        Ok(self.values.iter().enumerate().fold(0, |bits, (number, atom)| bits | holds(atom) << number))
    }

    fn values(&mut self, state: &[u8], atoms: &[u32], out: &mut Vec<i64>) -> Result<(), FaultCode> {
        let node = Graph::decode(state);
        let value = |atom: u32| self.values.get(atom as usize).and_then(|values| values.get(node)).copied().unwrap_or(0);
        out.extend(atoms.iter().map(|&atom| value(atom)));
        Ok(())
    }
}

/// A system given by its first state and a function that appends the successors of a state. Every
/// end is accepted.
#[derive(Clone, Debug)]
pub struct Implicit<F> {
    /// The initial state.
    pub initial: Vec<u8>,
    /// Appends the successors of a state.
    pub next: F,
}

impl<F: FnMut(&[u8], &mut Successors) + Send> System for Implicit<F> {
    fn initial(&mut self, out: &mut Successors) {
        out.push(&self.initial, Action::default());
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        (self.next)(state, out);
    }

    fn is_valid_end(&mut self, _: &[u8]) -> bool {
        true
    }
}

/// States as 8 bytes, successors by a function on numbers: `0, 1, …, last` in a row is
/// `numbers(|n, next| if n < last { next(n + 1) })`.
pub fn numbers<F>(next: F) -> Implicit<impl FnMut(&[u8], &mut Successors) + Send + Clone>
where
    F: Fn(u64, &mut dyn FnMut(u64)) + Send + Clone,
{
    Implicit {
        initial: 0u64.to_le_bytes().to_vec(),
        next: move |state: &[u8], out: &mut Successors| {
            let number = u64::from_le_bytes(state.try_into().expect("states of this system have 8 bytes"));
            let mut choice = 0;
            next(number, &mut |target| {
                out.push(&target.to_le_bytes(), Action::new(0, choice));
                choice += 1;
            });
        },
    }
}

/// Three counters that step independently: levels wide enough to be shared, every state reached in
/// several ways.
pub fn grid(side: u64) -> impl System + Clone {
    numbers(move |n, next| {
        for factor in [1, side, side * side] {
            if n / factor % side + 1 < side {
                next(n + factor);
            }
        }
    })
}

/// Inserts `states` in order and compares every answer with a plain hash set, then reads everything
/// back (if the store can). The store must be empty, exact, and large enough.
pub fn compare_with_hash_set<S: Store>(store: &S, states: impl IntoIterator<Item = Vec<u8>>) {
    assert!(S::EXACT, "only an exact store equals a set");
    let mut reference: HashMap<Vec<u8>, StateId> = HashMap::new();
    let mut kept: HashMap<StateId, Vec<u8>> = HashMap::new();
    let mut buffer = Vec::new();
    {
        let mut worker = store.worker();
        for state in states {
            let hash = worker.hash(&state);
            worker.prefetch(hash);
            assert!(reference.contains_key(&state) || worker.find(hash, &state).is_none(), "{state:?} is found before it is inserted");
            let answer = worker.insert(hash, &state).expect("the store is large enough");
            let found = worker.find(hash, &state);
            assert!(found.is_some(), "{state:?} is not found after it was inserted");
            assert!(!S::STABLE_NAMES || found == Some(answer.id));
            assert_eq!(answer.new, !reference.contains_key(&state), "newness of {state:?}");
            if worker.keeps(answer.id) {
                assert!(worker.read(answer.id, &mut buffer));
                assert_eq!(buffer, state, "reading {state:?} back at once");
                assert!(worker.view(answer.id).is_none_or(|view| view == state), "seeing {state:?} where it lies");
                kept.insert(answer.id, state.clone());
            }
            let known = *reference.entry(state.clone()).or_insert(answer.id);
            if S::STABLE_NAMES {
                assert!(worker.keeps(answer.id));
                assert_eq!(known, answer.id, "the name of {state:?} changed");
            }
        }
        for (state, &id) in &reference {
            let hash = worker.hash(state);
            let answer = worker.insert(hash, state).expect("a state that is there needs no room");
            assert!(!answer.new, "{state:?} was forgotten");
            assert!(!S::STABLE_NAMES || answer.id == id);
        }
        for (&id, state) in &kept {
            assert!(worker.read(id, &mut buffer), "a name that was to be kept cannot be read");
            assert_eq!(&buffer, state, "reading {state:?} back at the end");
        }
    }
    let mut visited = HashSet::new();
    if let Some(saveable) = store.saveable().filter(|saveable| saveable.own_form().is_none()) {
        assert!(saveable.save(store.len(), &mut |state| visited.insert(state.to_vec())), "a state is saved twice");
        assert_eq!(visited.len(), reference.len(), "not every state is saved");
        assert!(visited.iter().all(|state| reference.contains_key(state)));
    }
    assert_eq!(store.len(), reference.len() as u64);
    assert_eq!(store.is_empty(), reference.is_empty());
}

/// The laws of an exact store: it is a set of byte strings of all lengths, for one worker and for
/// several.
pub fn store_laws<S: Store>(make: impl Fn() -> S) {
    // No state at all.
    compare_with_hash_set(&make(), []);
    // Every length, twice; the empty state too.
    let lengths = || (0..200usize).map(|n| vec![7; n]);
    compare_with_hash_set(&make(), lengths().chain(lengths()));
    // States that are prefixes or zero-extensions of each other.
    compare_with_hash_set(&make(), (0..64usize).flat_map(|n| [vec![0; n], [vec![0; n], vec![1]].concat()]));
    // Differences in one bit, at each place of a long state.
    compare_with_hash_set(
        &make(),
        (0..8 * 75usize).map(|bit| {
            let mut state = vec![0u8; 75];
            state[bit / 8] ^= 1 << (bit % 8);
            state
        }),
    );
    // Many states of random lengths with few distinct bytes, so that some repeat; enough for tables
    // to grow several times.
    let mut random = Random(1);
    compare_with_hash_set(
        &make(),
        (0..60_000).map(|_| {
            let len = random.below(24) as usize;
            (0..len).map(|_| random.below(3) as u8).collect()
        }),
    );
    // Many distinct states of one length.
    compare_with_hash_set(&make(), (0..100_000u64).map(|n| [n.to_le_bytes(), (n / 7).to_le_bytes(), [5; 8]].concat()));
    // A few very long states.
    compare_with_hash_set(&make(), (0..20u8).map(|n| vec![n; 70_000 + n as usize]));
    store_laws_of_workers(&make());
}

/// Several workers at once insert overlapping sets: exactly one is told that a state is new, and
/// all learn the same name.
fn store_laws_of_workers<S: Store>(store: &S) {
    const WORKERS: u64 = 4;
    const STATES: u64 = 30_000;
    let state = |n: u64| [n.to_le_bytes().as_slice(), &vec![n as u8; (n % 13) as usize]].concat();
    let answers: Vec<Vec<(u64, StateId, bool)>> = std::thread::scope(|scope| {
        let run = |w: u64| {
            let mut worker = store.worker();
            let mut random = Random(w);
            (0..STATES)
                .map(|_| {
                    let n = random.below(STATES);
                    let bytes = state(n);
                    let hash = worker.hash(&bytes);
                    let answer = worker.insert(hash, &bytes).expect("the store is large enough");
                    (n, answer.id, answer.new)
                })
                .collect()
        };
        let handles: Vec<_> = (0..WORKERS).map(|w| scope.spawn(move || run(w))).collect();
        handles.into_iter().map(|handle| handle.join().expect("no worker fails")).collect()
    });
    let mut names: HashMap<u64, StateId> = HashMap::new();
    let mut news: HashSet<u64> = HashSet::new();
    for &(n, id, new) in answers.iter().flatten() {
        let name = *names.entry(n).or_insert(id);
        assert!(!S::STABLE_NAMES || name == id, "workers disagree on the name of state {n}");
        assert!(!new || news.insert(n), "state {n} was new twice");
    }
    assert_eq!(news.len(), names.len(), "some state was never new");
    assert_eq!(store.len(), names.len() as u64);
    let mut worker = store.worker();
    let mut buffer = Vec::new();
    for (&n, &id) in names.iter().filter(|_| S::STABLE_NAMES) {
        assert!(worker.read(id, &mut buffer));
        assert_eq!(buffer, state(n));
    }
}

/// The laws of a store that is not exact: a state that was inserted is never new again; the number
/// of states equals the number of answers "new"; and of `states` distinct states at most
/// `most_omitted` are taken for known ones.
pub fn lossy_store_laws<S: Store>(store: &S, states: u64, most_omitted: u64) {
    assert!(!S::EXACT);
    let state = |n: u64| [n.to_le_bytes().as_slice(), &vec![1; (n % 9) as usize]].concat();
    let mut new = 0;
    {
        let mut worker = store.worker();
        for _ in 0..2 {
            for n in 0..states {
                let bytes = state(n);
                let hash = worker.hash(&bytes);
                worker.prefetch(hash);
                let answer = worker.insert(hash, &bytes).expect("the store is large enough");
                new += u64::from(answer.new);
                assert!(worker.find(hash, &bytes).is_some());
                assert!(!worker.keeps(answer.id) && !worker.read(answer.id, &mut Vec::new()));
            }
            assert!(new <= states && new + most_omitted >= states, "{new} of {states} were new");
        }
    }
    assert_eq!(store.len(), new);
    assert!((0.0..=1.0).contains(&store.omission()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_a_diamond() {
        let mut diamond = Graph::new(vec![vec![1, 2], vec![3], vec![3], vec![]]);
        assert_eq!(diamond.facts(), Facts { states: 4, transitions: 4, depth: 2, shortest_violation: Some(2) });
        diamond.ends.insert(3);
        assert_eq!(diamond.facts().shortest_violation, None);
        diamond.fatal.insert(0, FaultCode::new(1).unwrap());
        assert_eq!(diamond.facts().shortest_violation, Some(1));
    }

    #[test]
    fn names_of_nodes_are_kept() {
        for node in [0, 1, 10, 11, 70_000] {
            assert_eq!(Graph::decode(&Graph::encode(node)), node);
        }
    }
}
