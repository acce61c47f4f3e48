//! The table of combinations, walked: each row is run on graphs whose facts are known, and must be what it says.

use contract::testing::Graph;
use contract::{Outcome, Safety, StopReason, Store, Verdict};
use search::{Order, Promise, Soundness, TABLE, Task, breadth_first, depth_first, depth_first_shared, soundness};
use std::collections::HashSet;
use store::{Bits, Cache, Compact, Hashes, Plain};

fn run<T: Store>(order: Order, graph: &Graph, store: &T, threads: usize) -> Outcome {
    let task = Task { threads, ..Task::new(&Safety { deadlocks: true, faults: true }) };
    match order {
        Order::Breadth => breadth_first(graph, store, &task),
        Order::Depth => depth_first(graph, store, &task),
        Order::DepthShared => depth_first_shared(graph, store, &task),
    }
}

fn walk<T: Store>(row: (Order, Promise, Soundness), graph: &Graph, make: impl Fn() -> T) {
    let (order, promise, expected) = row;
    assert_eq!(Promise::of::<T>(), promise);
    let facts = graph.facts();
    for threads in [1, 2] {
        let outcome = run(order, graph, &make(), threads);
        let violated = matches!(outcome.verdict, Verdict::Violated(_));
        let complete = match expected {
            Soundness::Sound => {
                assert_eq!(violated, facts.shortest_violation.is_some());
                violated || (outcome.statistics.states, outcome.statistics.transitions) == (facts.states, facts.transitions)
            }
            Soundness::SoundWithRevisits => {
                assert_eq!(violated, facts.shortest_violation.is_some());
                violated || outcome.statistics.states >= facts.states
            }
            Soundness::FindsOnly => {
                assert!(facts.shortest_violation.is_some() || !violated, "a violation that is none");
                violated || outcome.verdict == Verdict::Unknown(StopReason::LossyStore)
            }
            Soundness::Refused { .. } => unreachable!("refused combinations are not run"),
        };
        assert!(complete, "{row:?}: {outcome:?}");
    }
}

#[test]
fn every_combination_is_what_the_table_says() {
    let mut graphs: Vec<Graph> = (0..20).map(|seed| Graph::random(seed, 300, 3)).collect();
    for graph in &mut graphs[10..] {
        graph.ends.extend(0..300);
    }
    for &row in &TABLE {
        if let Soundness::Refused { reason, instead } = row.2 {
            assert!(reason.len() > 20 && instead.len() > 10);
            continue;
        }
        for graph in &graphs {
            match row.1 {
                Promise::Remembers => {
                    walk(row, graph, Plain::new);
                    walk(row, graph, || Compact::learning_from(u64::MAX, 40));
                    walk(row, graph, || Compact::when_needed(1 << 20));
                }
                // Room for a fraction of the states only.
                Promise::Forgets => walk(row, graph, || Cache::new(200, u64::MAX)),
                Promise::Omits => {
                    walk(row, graph, || Hashes::new(16, 1, u64::MAX));
                    walk(row, graph, || Bits::new(256, 3, 1));
                }
            }
        }
    }
}

#[test]
fn the_table_is_complete() {
    let rows: HashSet<(Order, Promise)> = TABLE.iter().map(|row| (row.0, row.1)).collect();
    assert_eq!(rows.len(), 9);
    for &(order, promise, expected) in &TABLE {
        assert_eq!(soundness(order, promise), expected);
    }
}

#[test]
fn a_cache_smaller_than_the_state_space_suffices_for_a_depth_first_search() {
    // A diamond of diamonds: many paths, few states, short path.
    let mut graph = Graph::new(Vec::new());
    for layer in 0..10usize {
        let next = 3 * layer + 3;
        graph.edges.extend([vec![next - 2, next - 1], vec![next], vec![next]]);
    }
    graph.edges.push(vec![]);
    graph.ends.insert(30);
    let cache = Cache::new(16, u64::MAX);
    let outcome = run(Order::Depth, &graph, &cache, 1);
    assert_eq!(outcome.verdict, Verdict::Holds);
    assert!(cache.forgotten() > 0 && outcome.statistics.states > 31, "{outcome:?}");
}
