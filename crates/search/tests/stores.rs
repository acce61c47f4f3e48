//! Each order over each kind of store, on graphs with known facts. `check` decides which
//! combinations users may choose.

use contract::testing::Graph;
use contract::{Outcome, Safety, StopReason, Store, Verdict};
use search::{Task, breadth_first, depth_first, depth_first_shared};
use store::{Bits, Cache, Compact, Hashes, Plain};

#[derive(Clone, Copy, Debug)]
enum Order {
    Breadth,
    Depth,
    DepthShared,
}

const ORDERS: [Order; 3] = [Order::Breadth, Order::Depth, Order::DepthShared];

fn run<T: Store>(order: Order, graph: &Graph, store: &T, threads: usize) -> Outcome {
    let task = Task { threads, ..Task::new(&Safety { deadlocks: true, faults: true }) };
    match order {
        Order::Breadth => breadth_first(graph, store, &task),
        Order::Depth => depth_first(graph, store, &task),
        Order::DepthShared => depth_first_shared(graph, store, &task),
    }
}

fn explore<T: Store>(order: Order, graph: &Graph, make: impl Fn() -> T) {
    let facts = graph.facts();
    for threads in [1, 2] {
        let outcome = run(order, graph, &make(), threads);
        let violated = matches!(outcome.verdict, Verdict::Violated(_));
        let numbers = (outcome.statistics.states, outcome.statistics.transitions);
        let complete = if !T::EXACT {
            assert!(facts.shortest_violation.is_some() || !violated, "a violation that is none");
            violated || outcome.verdict == Verdict::Unknown(StopReason::LossyStore)
        } else {
            assert_eq!(violated, facts.shortest_violation.is_some());
            // A forgotten state is counted again.
            violated || if T::FORGETS { numbers.0 >= facts.states } else { numbers == (facts.states, facts.transitions) }
        };
        assert!(complete, "{order:?}: {outcome:?}");
    }
}

#[test]
fn every_order_keeps_what_the_store_promises() {
    let mut graphs: Vec<Graph> = (0..20).map(|seed| Graph::random(seed, 300, 3)).collect();
    for graph in &mut graphs[10..] {
        graph.ends.extend(0..300);
    }
    for graph in &graphs {
        for order in ORDERS {
            explore(order, graph, Plain::new);
            explore(order, graph, || Compact::learning_from(u64::MAX, 40));
            explore(order, graph, || Compact::when_needed(1 << 20));
            explore(order, graph, || Hashes::new(16, 1, u64::MAX));
            explore(order, graph, || Bits::new(256, 3, 1));
        }
        // There is room for a fraction of the states only. Other orders need not terminate.
        explore(Order::Depth, graph, || Cache::new(200, u64::MAX));
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
