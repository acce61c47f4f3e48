//! Compares the breadth-first search for accepting cycles with the search by components: verdicts,
//! counts, and lassos step by step.

use contract::testing::{Graph, Random, Threads};
use contract::{Limits, Outcome, StopReason, Successors, System, Trace, Verdict};
use runs::Folder;
use search::{Automaton, AutomatonEdge, Fairness, Product, Refutation, Task, catch_them_young, components, cycles_on_disk, staged_shared};
use std::sync::Arc;
use std::time::Duration;
use store::{Compact, Plain};

fn random_graph(seed: u64) -> Graph {
    let mut random = Random(seed ^ 0x9a4);
    let states = 2 + random.below(300);
    let most = 1 + random.below(3);
    let edges = (0..states).map(|state| {
        // Most edges lead forward, so that there are states to remove.
        let mut targets: Vec<usize> = (0..random.below(most + 1)).map(|_| (state + 1 + random.below(states - state)) as usize).collect();
        targets.retain(|&target| target < states as usize);
        if random.below(40) == 0 {
            targets.push((state - random.below(state.min(20) + 1)) as usize);
        }
        targets.sort_unstable();
        targets.dedup();
        targets
    });
    Graph::new(edges.collect())
}

/// Some states accept, with all their edges, or some edges do; some automata are weak. Most begin
/// with a state in which they wait.
fn random_automaton(seed: u64, atoms: u64) -> Automaton {
    let mut random = Random(seed ^ 0xacce);
    let states = 1 + random.below(6);
    let weak = random.below(2) == 0;
    let by_edges = random.below(2) == 0;
    let waits = random.below(3) != 0;
    let edges = (0..states).map(|state| {
        let accepting = u64::from(random.below(3) == 0);
        if waits && state == 0 {
            let anything = |target: u64| AutomatonEdge { target: Some(target as u16), ..AutomatonEdge::default() };
            return vec![anything(0), anything(random.below(states)), anything(random.below(states))];
        }
        let edge = |random: &mut Random| {
            let accepting = if by_edges { u64::from(random.below(3) == 0) } else { accepting };
            let required = random.below(1 << atoms) & random.below(1 << atoms);
            let target = if weak { state + random.below(states - state) } else { random.below(states) };
            AutomatonEdge { required, marks: accepting, target: Some(target as u16), ..AutomatonEdge::default() }
        };
        (0..1 + random.below(3)).map(|_| edge(&mut random)).collect()
    });
    let edges = edges.collect();
    Automaton { initial: 0, edges, sets: 1 }
}

fn check_lasso<S: System>(product: &mut Product<S>, trace: &Trace) {
    let mut out = Successors::new();
    product.initial(&mut out);
    assert!(out.iter().any(|(_, state)| state == Some(&trace.initial[..])));
    let start = trace.loop_start.expect("a loop");
    assert!(start < trace.steps.len());
    for (index, step) in trace.steps.iter().enumerate() {
        out.clear();
        product.successors(trace.state_after(index).expect("a state"), &mut out);
        assert!(out.iter().any(|(entry, state)| entry.action == step.action && state == step.state.as_deref()), "step {index}");
    }
    assert_eq!(trace.state_after(start), Some(trace.last_state()));
    let automaton = product.automaton();
    let width = automaton.edges.iter().map(Vec::len).max().expect("a state");
    let accepts = |index: usize| {
        let tail = trace.state_after(index).and_then(|state| state.last_chunk()).expect("a state of the automaton");
        let edges = &automaton.edges[usize::from(u16::from_le_bytes(*tail))];
        edges[trace.steps[index].action.choice as usize % width].marks != 0
    };
    assert!((start..trace.steps.len()).any(accepts), "an accepting edge");
}

/// The search on disk, with hardly any memory, finds the same.
fn compare_on_disk<S: System + Clone>(product: &Product<S>, task: &Task<'_>, expected: &Outcome) {
    let folder = runs::InMemory::default();
    let limits = Limits { memory: Some(10_000), ..Limits::default() };
    let found = cycles_on_disk(product, &Task { disk: Some(&folder), limits, ..task.clone() });
    match (&expected.verdict, &found.verdict) {
        (Verdict::Violated(_), Verdict::Violated(violation)) => check_lasso(&mut product.clone(), &violation.trace),
        (expected, found) => assert_eq!(expected, found),
    }
    if expected.verdict == Verdict::Holds {
        assert_eq!(expected.statistics.states, found.statistics.states);
        // A search in stages leaves out steps that lead to no new state.
        assert!(expected.statistics.transitions <= found.statistics.transitions);
    }
    assert_eq!(folder.files().unwrap(), [0; 0], "nothing is left behind");
}

/// The search with one worker for each stage finds the same.
fn compare_in_stages<S: System + Clone>(product: &Product<S>, task: &Task<'_>, expected: &Outcome) {
    let found = staged_shared(product, &Plain::new(), task);
    match (&expected.verdict, &found.verdict) {
        (Verdict::Violated(_), Verdict::Violated(violation)) => check_lasso(&mut product.clone(), &violation.trace),
        (expected, found) => assert_eq!(expected, found),
    }
    if expected.verdict == Verdict::Holds {
        assert_eq!(expected.statistics.states, found.statistics.states);
    }
}

fn compare<S: System + Clone>(product: &Product<S>, threads: usize) -> bool {
    let task = Task { threads, ..Task::new(&Refutation) };
    let expected = components(product, Fairness::None, &Plain::new(), &task);
    let found = catch_them_young(product, &Plain::new(), &task);
    compare_in_stages(product, &task, &expected);
    // A search on disk needs an automaton that accepts by states.
    let by_states = product.automaton().edges.iter().all(|own| own.iter().all(|edge| edge.marks == own[0].marks));
    if by_states && product.automaton().edges.len() < 6 {
        compare_on_disk(product, &task, &found);
    }
    match (&expected.verdict, &found.verdict) {
        (Verdict::Violated(_), Verdict::Violated(violation)) => {
            check_lasso(&mut product.clone(), &violation.trace);
            true
        }
        (Verdict::Holds, Verdict::Holds) => {
            let [expected, found] = [&expected, &found].map(|outcome| &outcome.statistics);
            assert_eq!(expected.states, found.states);
            false
        }
        verdicts => panic!("{verdicts:?}"),
    }
}

#[test]
fn it_finds_what_components_find() {
    let (mut found, mut tried) = (0, 0);
    for seed in 0..2000_u64 {
        let threads = 1 + (seed % 3) as usize;
        found += u32::from(if seed.is_multiple_of(3) {
            let system = Threads::random(seed);
            let automaton = Arc::new(random_automaton(seed, system.variables as u64));
            compare(&Product::new(system, automaton), threads)
        } else {
            compare(&Product::new(random_graph(seed), Arc::new(random_automaton(seed, 0))), threads)
        });
        tried += 1;
    }
    assert!(found > 300 && tried - found > 300, "{found} of {tried}");
}

/// The levels are wide, so workers share them; the last states have an edge back, or have none.
#[test]
fn workers_share_a_level() {
    const SIDE: u64 = 200;
    for back in [false, true, false, true, false, true] {
        let grid = || {
            contract::testing::numbers(move |n, next| {
                if n % SIDE + 1 < SIDE {
                    next(n + 1);
                }
                if n / SIDE + 1 < SIDE {
                    next(n + SIDE);
                }
                if back && n == SIDE * SIDE - 1 {
                    next(n - SIDE - 1);
                }
            })
        };
        // The automaton accepts in every second state.
        let edge = |marks, target| AutomatonEdge { marks, target: Some(target), ..AutomatonEdge::default() };
        let edges = vec![vec![edge(0, 1)], vec![edge(1, 0)]];
        let product = Product::new(grid(), Arc::new(Automaton { initial: 0, edges, sets: 1 }));
        // A run that ends stays where it ended, so it is also accepting.
        assert!(compare(&product, 2));
        // The automaton accepts once.
        let edges = vec![vec![edge(0, 1)], vec![edge(0, 2)], vec![edge(1, 3)], vec![edge(0, 3)]];
        let product = Product::new(grid(), Arc::new(Automaton { initial: 0, edges, sets: 1 }));
        assert!(!compare(&product, 2));
    }
}

#[test]
fn limits_are_obeyed() {
    let line = contract::testing::numbers(|n, next| [n + 1, n + (1 << 32)].into_iter().for_each(next));
    let anything = AutomatonEdge { target: Some(0), ..AutomatonEdge::default() };
    let product = Product::new(line, Arc::new(Automaton { initial: 0, edges: vec![vec![anything]], sets: 1 }));
    let task = Task { threads: 2, ..Task::default() };
    let full = catch_them_young(&product, &Plain::with_budget(1 << 16), &task);
    assert_eq!(full.verdict, Verdict::Unknown(StopReason::Memory));
    let limits = Limits { time: Some(Duration::from_millis(50)), ..Limits::default() };
    let late = catch_them_young(&product, &Plain::new(), &Task { limits, ..task.clone() });
    assert_eq!(late.verdict, Verdict::Unknown(StopReason::Time));
    let limits = Limits { depth: Some(3), ..Limits::default() };
    let shallow = catch_them_young(&product, &Plain::new(), &Task { limits, ..task });
    assert_eq!(shallow.verdict, Verdict::Unknown(StopReason::Depth));
}

/// On disk, the space follows the number of states and not the number of levels: the only cycle is
/// as long as the graph is deep.
#[test]
fn a_long_cycle_takes_little_disk() {
    const LENGTH: u64 = 2000;
    // The numbers are far apart, so that they are not compressed.
    const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;
    let circle = contract::testing::numbers(|n, next| next(if n == STRIDE.wrapping_mul(LENGTH - 1) { 0 } else { n.wrapping_add(STRIDE) }));
    // The automaton counts along, and accepts in one of its states.
    let edge = |state: u64| AutomatonEdge {
        marks: u64::from(state == 0),
        target: Some(((state + 1) % LENGTH) as u16),
        ..AutomatonEdge::default()
    };
    let edges = (0..LENGTH).map(|state| vec![edge(state)]).collect();
    let product = Product::new(circle, Arc::new(Automaton { initial: 0, edges, sets: 1 }));
    let folder = runs::InMemory::with_room(200_000);
    let limits = Limits { memory: Some(10_000), ..Limits::default() };
    let found = cycles_on_disk(&product, &Task { disk: Some(&folder), limits, ..Task::new(&Refutation) });
    let Verdict::Violated(violation) = &found.verdict else { panic!("{:?}", found.verdict) };
    assert_eq!(violation.trace.steps.len() as u64, LENGTH);
    check_lasso(&mut product.clone(), &violation.trace);
    assert_eq!(folder.files().unwrap(), [0; 0], "nothing is left behind");
}

/// Many accepting states lie on no cycle, and the last ones do.
#[test]
fn searches_for_the_cycle_go_on_where_the_last_one_ended() {
    const LENGTH: u64 = 400;
    // Between two cycles there are states that the second round cannot remove.
    let graph = contract::testing::numbers(|n, next| {
        if n < LENGTH {
            next(n + 1);
        }
        if n == 0 || n == LENGTH {
            next(n);
        }
    });
    let edge = |marks, target| AutomatonEdge { marks, target: Some(target), ..AutomatonEdge::default() };
    // It accepts while it passes from its first state to its last, so the cycle at 0 does not
    // count.
    let edges = vec![vec![edge(0, 0), edge(0, 1)], vec![edge(1, 2)], vec![edge(0, 1)]];
    let product = Product::new(graph, Arc::new(Automaton { initial: 0, edges, sets: 1 }));
    assert!(compare(&product, 1));
}

#[test]
fn stores_whose_names_change_are_searched_by_components() {
    let product = Product::new(random_graph(7), Arc::new(random_automaton(7, 0)));
    let task = Task { threads: 2, ..Task::new(&Refutation) };
    let plain = catch_them_young(&product, &Plain::new(), &task);
    let compact = catch_them_young(&product, &Compact::with_budget(u64::MAX), &task);
    assert_eq!(matches!(plain.verdict, Verdict::Violated(_)), matches!(compact.verdict, Verdict::Violated(_)));
}

/// A state that one worker has inserted is found by every other, also after the table has grown
/// and before that worker has inserted anything into the larger one.
#[test]
fn no_edge_is_overlooked() {
    const WIDTH: u64 = 3000;
    // Each state of the middle level leads to one of the last level and back, so nothing can be
    // removed.
    let fan = contract::testing::numbers(|n, next| match n {
        0 => (1..=WIDTH).for_each(next),
        n if n <= WIDTH => next(n + WIDTH),
        n => next(n - WIDTH),
    });
    let edge = |marks, target| AutomatonEdge { marks, target: Some(target), ..AutomatonEdge::default() };
    let edges = vec![vec![edge(0, 1)], vec![edge(1, 2)], vec![edge(0, 1)]];
    let product = Product::new(fan, Arc::new(Automaton { initial: 0, edges, sets: 1 }));
    for _ in 0..20 {
        assert!(compare(&product, 3));
    }
}
