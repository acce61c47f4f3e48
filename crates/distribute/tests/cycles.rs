//! Searches for accepting cycles by several workers, on random graphs of two kinds and on the
//! graphs for which the published algorithms fail. The order in which messages arrive depends on a
//! seed.

use contract::testing::{Graph, Random};
use contract::{Limits, NoProperty, Trace, Verdict};
use distribute::{Method, PartOf, Search, act, cycles};
use std::sync::Arc;

const METHODS: [Method; 4] = [Method::Young { weak: false }, Method::Predecessors, Method::Levels, Method::Dependencies];

struct Case {
    graph: Graph,
    accepting: Vec<bool>,
    /// The worker of each node.
    owner: Vec<usize>,
    workers: usize,
}

/// Whether a reachable accepting node can reach itself.
fn has_cycle(case: &Case) -> bool {
    let reached = |from: &[usize]| {
        let mut seen = vec![false; case.graph.edges.len()];
        let mut open = from.to_vec();
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut seen[node], true) {
                open.extend(&case.graph.edges[node]);
            }
        }
        seen
    };
    let reachable = reached(&[0]);
    (0..reachable.len()).any(|node| reachable[node] && case.accepting[node] && reached(&case.graph.edges[node])[node])
}

/// Uniform random graphs, and acyclic ones with one or two edges back.
fn case(seed: u64) -> Case {
    let mut random = Random(seed);
    let workers = 1 + random.below(4) as usize;
    let edges: Vec<Vec<usize>> = if seed.is_multiple_of(2) {
        let nodes = 3 + random.below(7);
        (0..nodes).map(|_| (0..random.below(4)).map(|_| random.below(nodes) as usize).collect()).collect()
    } else {
        let nodes = 5 + random.below(6) as usize;
        let mut edges: Vec<Vec<usize>> = (0..nodes).map(|from| (from + 1..nodes).filter(|_| random.below(10) < 4).collect()).collect();
        for _ in 0..1 + random.below(2) {
            let to = 1 + random.below(nodes as u64 - 1) as usize;
            let from = to + random.below((nodes - to) as u64) as usize;
            edges[from].push(to);
        }
        for targets in &mut edges {
            for last in (1..targets.len()).rev() {
                targets.swap(last, random.below(last as u64 + 1) as usize);
            }
        }
        edges
    };
    let nodes = edges.len();
    let accepting = (0..nodes).map(|_| random.below(100) < 35).collect();
    let owner = (0..nodes).map(|_| random.below(workers as u64) as usize).collect();
    Case { graph: Graph::new(edges), accepting, owner, workers }
}

/// The part of a state that makes a worker its owner: bytes that hash to it.
fn part(case: &Case) -> PartOf {
    let words: Vec<Vec<u8>> = (0..case.workers as u32)
        .map(|worker| {
            (0_u32..)
                .map(|word| word.to_le_bytes().to_vec())
                .find(|word| store::owner_of_hash(store::owner_hash(word), case.workers as u32) == worker)
        })
        .map(Option::unwrap)
        .collect();
    let owner = case.owner.clone();
    Arc::new(move |state, out| out.extend_from_slice(&words[owner[Graph::decode(state)]]))
}

fn check_trace(case: &Case, trace: &Trace, seed: u64) {
    let mut at = Graph::decode(&trace.initial);
    assert_eq!(at, 0);
    let start = trace.loop_start.unwrap();
    let mut passed = false;
    let mut first = at;
    for (index, step) in trace.steps.iter().enumerate() {
        if index == start {
            first = at;
        }
        passed |= index >= start && case.accepting[at];
        let next = Graph::decode(step.state.as_ref().unwrap());
        assert_eq!(case.graph.edges[at][step.action.choice as usize], next, "seed {seed}");
        at = next;
    }
    assert!(passed && at == first && start < trace.steps.len(), "seed {seed}: {trace:?}");
}

fn run(case: &Case, method: Method, seed: u64) -> Verdict {
    let answers = act(case.workers, seed, |seat| {
        let mut system = case.graph.clone();
        let accepts = |state: &[u8]| case.accepting[Graph::decode(state)];
        let search = Search {
            system: &mut system,
            accepts: &accepts,
            property: &NoProperty,
            part: Some(part(case)),
            limits: Limits::default(),
            resident: None,
        };
        cycles(seat, search, method).unwrap()
    });
    answers.into_iter().next().unwrap().verdict
}

fn compare(case: &Case, seed: u64) {
    let truth = has_cycle(case);
    for method in METHODS {
        match run(case, method, seed) {
            Verdict::Holds => assert!(!truth, "seed {seed}: {method:?} misses a cycle"),
            Verdict::Violated(violation) => {
                assert!(truth, "seed {seed}: {method:?} finds a cycle that is none");
                check_trace(case, &violation.trace, seed);
            }
            verdict => panic!("seed {seed}: {method:?}: {verdict:?}"),
        }
    }
}

#[test]
fn cycles_are_found_and_nothing_else() {
    // EVERYPATH_GRAPHS=20000 gives the long form.
    let graphs = std::env::var("EVERYPATH_GRAPHS").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    (0..graphs).for_each(|seed| compare(&case(seed), seed));
}

fn by_hand(edges: &[&[usize]], accepting: &[usize], owner: &[usize]) -> Case {
    let graph = Graph::new(edges.iter().map(|targets| targets.to_vec()).collect());
    let accepting = (0..edges.len()).map(|node| accepting.contains(&node)).collect();
    Case { graph, accepting, owner: owner.to_vec(), workers: 2 }
}

/// The graph on which the published nested search misses the cycle of node 4 under every schedule.
#[test]
fn a_seed_below_a_visited_state_waits_for_what_is_below_it() {
    let case = by_hand(&[&[1, 2], &[3], &[3], &[4], &[4]], &[2, 4], &[0, 0, 0, 0, 1]);
    (0..50).for_each(|seed| compare(&case, seed));
    let case = by_hand(&[&[1, 2, 3], &[4], &[1], &[1], &[3]], &[2, 3], &[0, 0, 0, 0, 1]);
    (0..50).for_each(|seed| compare(&case, seed));
}

/// Two seeds that share a state, and seeds that are reached in an order that is not depth-first.
#[test]
fn nested_searches_do_not_disturb_each_other() {
    let shared = by_hand(&[&[1, 2], &[3], &[3], &[2]], &[1, 2], &[0, 1, 0, 1]);
    (0..50).for_each(|seed| compare(&shared, seed));
    let order = by_hand(&[&[1], &[2], &[3], &[2]], &[0, 2], &[0, 1, 1, 0]);
    (0..50).for_each(|seed| compare(&order, seed));
}

/// If components are accepting as a whole, one turn is enough.
#[test]
fn one_turn_is_enough_for_weak_automata() {
    for (accepting, truth) in [(vec![1, 2], true), (vec![3], false), (vec![], false)] {
        let case = by_hand(&[&[1], &[2, 3], &[1], &[]], &accepting, &[0, 1, 0, 1]);
        let found = matches!(run(&case, Method::Young { weak: true }, 1), Verdict::Violated(_));
        assert_eq!(found, truth, "{accepting:?}");
    }
}
