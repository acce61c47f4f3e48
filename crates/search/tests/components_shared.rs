//! Compares the search by components with several workers with that of a single worker: verdicts,
//! counts, and lassos step by step.

use contract::testing::{Graph, Random, Threads};
use contract::{Cancel, Limits, Outcome, StopReason, Successors, System, Trace, Verdict};
use search::{Automaton, AutomatonEdge, Fairness, Product, Refutation, Task, components, components_shared};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{Compact, Hashes, Plain};

/// A random graph: some are sparse, some are nearly one component, some have a long cycle.
fn random_graph(seed: u64, most_states: u64) -> Graph {
    let mut random = Random(seed ^ 0x9a4);
    let states = 2 + random.below(most_states);
    let most = 1 + random.below(4);
    let edges = (0..states).map(|state| {
        let mut targets: Vec<u64> = (0..random.below(most + 1)).map(|_| random.below(states)).collect();
        if seed.is_multiple_of(3) && state + 1 < states {
            targets.push(state + 1);
        }
        // A few edges lead far back.
        if random.below(16) == 0 {
            targets.push(state / 2);
        }
        targets.sort_unstable();
        targets.dedup();
        targets.into_iter().map(|target| target as _).collect()
    });
    Graph::new(edges.collect())
}

/// An automaton that chooses nondeterministically when to begin counting edges in its sets. There
/// are few marks, so that a lost one would show.
fn random_automaton(seed: u64) -> Automaton {
    let mut random = Random(seed ^ 0xacce);
    let (states, sets) = (1 + random.below(6), random.below(5));
    let edges = (0..states).map(|_| {
        let edge = |random: &mut Random| {
            let marks = (0..sets).filter(|_| random.below(6) == 0).fold(0, |marks, set| marks | 1 << set);
            AutomatonEdge { marks, target: Some(random.below(states) as u16), ..AutomatonEdge::default() }
        };
        (0..1 + random.below(3)).map(|_| edge(&mut random)).collect()
    });
    let edges = edges.collect();
    Automaton { initial: 0, edges, sets: sets as u32 }
}

/// Checks that the trace is a path of the product, that its end is the beginning of its loop, and
/// that the loop has an edge of each set.
fn check_lasso<S: System>(product: &mut Product<S>, trace: &Trace) {
    let mut out = Successors::new();
    product.initial(&mut out);
    assert!(out.iter().any(|(_, state)| state == Some(&trace.initial[..])));
    let start = trace.loop_start.expect("a loop");
    assert!(start < trace.steps.len());
    let automaton = product.automaton().clone();
    let width = automaton.edges.iter().map(Vec::len).max().expect("edges") as u32;
    let mut marks = 0;
    for (index, step) in trace.steps.iter().enumerate() {
        out.clear();
        let source = trace.state_after(index).expect("a state");
        product.successors(source, &mut out);
        assert!(out.iter().any(|(entry, state)| entry.action == step.action && state == step.state.as_deref()), "step {index}");
        let at = u16::from_le_bytes(*source.last_chunk().expect("an automaton's state"));
        if index >= start {
            marks |= automaton.edges[usize::from(at)][(step.action.choice % width) as usize].marks;
        }
    }
    assert_eq!(trace.state_after(start), Some(trace.last_state()));
    assert_eq!(marks & automaton.all_marks(), automaton.all_marks());
}

fn compare<S: System + Clone>(product: &Product<S>, threads: usize) -> bool {
    let task = Task { threads, ..Task::new(&Refutation) };
    let alone = components(product, Fairness::None, &Plain::new(), &task);
    let shared = components_shared(product, &Plain::new(), &task);
    match (&alone.verdict, &shared.verdict) {
        (Verdict::Violated(_), Verdict::Violated(violation)) => {
            check_lasso(&mut product.clone(), &violation.trace);
            true
        }
        (Verdict::Holds, Verdict::Holds) => {
            let numbers = |outcome: &Outcome| (outcome.statistics.states, outcome.statistics.transitions);
            assert_eq!(numbers(&alone), numbers(&shared));
            assert_eq!(shared.statistics.expanded_by_worker.len(), threads);
            false
        }
        verdicts => panic!("{verdicts:?}"),
    }
}

#[test]
fn workers_find_what_one_finds_alone() {
    let (mut found, mut tried) = (0, 0);
    for seed in 0..1200_u64 {
        let threads = 2 + (seed % 3) as usize;
        let automaton = Arc::new(random_automaton(seed));
        found += u32::from(match seed % 4 {
            0 => compare(&Product::new(Threads::random(seed), automaton), threads),
            _ => compare(&Product::new(random_graph(seed, 400), automaton), threads),
        });
        tried += 1;
    }
    assert!(found > 200 && tried - found > 200, "{found} of {tried}");
}

/// The graphs are large enough for all workers to work at once.
#[test]
fn workers_meet_in_large_graphs() {
    let mut found = 0;
    for seed in 0..80 {
        let product = Product::new(random_graph(seed, 20_000), Arc::new(random_automaton(seed)));
        found += u32::from(compare(&product, 2 + (seed % 4) as usize));
    }
    assert!((10..70).contains(&found), "{found}");
}

/// One long cycle with marks far apart: workers meet in the middle of one component.
#[test]
fn a_large_component_is_found_together() {
    const LEN: u64 = 20_000;
    for (back, expected) in [(0, true), (LEN / 2, false)] {
        // Two ways through each diamond, and an edge back to `back`.
        let graph = contract::testing::numbers(move |n, next| match n {
            n if n >= LEN => next(back),
            n if n.is_multiple_of(2) => [n + 1, n + 2].into_iter().for_each(next),
            n => next(n + 1),
        });
        let edge = |marks, target| AutomatonEdge { marks, target: Some(target), ..AutomatonEdge::default() };
        // The automaton counts to five, and the marks are on different edges.
        let edges = (0..5).map(|at| vec![edge(u64::from(at == 1) | u64::from(at == 3) << 1, (at + 1) % 5)]).collect();
        let automaton = Automaton { initial: 0, edges, sets: if expected { 2 } else { 3 } };
        assert_eq!(compare(&Product::new(graph, Arc::new(automaton)), 2), expected);
    }
}

#[test]
fn stores_whose_names_change_have_one_worker() {
    let product = Product::new(random_graph(7, 400), Arc::new(random_automaton(7)));
    let task = Task { threads: 4, ..Task::new(&Refutation) };
    let alone = components(&product, Fairness::None, &Plain::new(), &task);
    for outcome in [
        components_shared(&product, &Compact::with_budget(u64::MAX), &task),
        components_shared(&product, &Hashes::new(64, 1, u64::MAX), &task),
    ] {
        assert_eq!(outcome.statistics.expanded_by_worker.len(), 1);
        assert_eq!(outcome.statistics.states, alone.statistics.states);
    }
}

#[test]
fn limits_are_obeyed() {
    let line = contract::testing::numbers(|n, next| [n + 1, n + (1 << 32)].into_iter().for_each(next));
    let anything = AutomatonEdge { target: Some(0), ..AutomatonEdge::default() };
    let product = Product::new(line, Arc::new(Automaton { initial: 0, edges: vec![vec![anything]], sets: 1 }));
    let task = Task { threads: 2, ..Task::default() };
    let full = components_shared(&product, &Plain::with_budget(1 << 16), &task);
    assert_eq!(full.verdict, Verdict::Unknown(StopReason::Memory));
    let begun = Instant::now();
    let limits = Limits { time: Some(Duration::from_millis(50)), ..Limits::default() };
    let late = components_shared(&product, &Plain::new(), &Task { limits, ..task.clone() });
    assert_eq!(late.verdict, Verdict::Unknown(StopReason::Time));
    assert!(begun.elapsed() < Duration::from_secs(20));
    let cancel = Cancel::default();
    cancel.cancel();
    let cancelled = components_shared(&product, &Plain::new(), &Task { cancel, ..task });
    assert_eq!(cancelled.verdict, Verdict::Unknown(StopReason::Interrupted));
}
