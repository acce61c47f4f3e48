//! Directed searches on graphs with known distances: A* and iterative deepening A* find shortest
//! paths with any lower bound, and all of them visit all states.

use contract::testing::{Graph, Random};
use contract::{Blind, FAR, FaultCode, Heuristic, Limits, Outcome, Safety, StopReason, Successors, System, Trace, Verdict, ViolationKind};
use search::{Task, Weights, beam, best_first, ida_star};
use std::collections::HashMap;
use std::sync::Arc;
use store::{Bits, Compact, Hashes, Plain};

/// Estimates by node.
#[derive(Clone)]
struct Table(Arc<HashMap<usize, u32>>, bool);

impl Heuristic for Table {
    fn estimate(&mut self, state: &[u8]) -> u32 {
        self.0.get(&Graph::decode(state)).copied().unwrap_or(FAR)
    }

    fn is_lower_bound(&self) -> bool {
        self.1
    }

    fn clone_heuristic(&self) -> Box<dyn Heuristic> {
        Box::new(self.clone())
    }
}

fn guided<'a>(task: &Task<'a>, heuristic: &'a dyn Heuristic) -> Task<'a> {
    Task { heuristic, ..task.clone() }
}

/// The number of steps from each node to a violation; a node that cannot reach one has no entry.
fn distances(graph: &Graph) -> HashMap<usize, u32> {
    let own = |node: usize| {
        let faulty = graph.fatal.contains_key(&node) || (0..graph.edges[node].len()).any(|i| graph.faults.contains_key(&(node, i)));
        let stuck = graph.edges[node].is_empty() && !graph.fatal.contains_key(&node) && !graph.ends.contains(&node);
        if stuck { Some(0) } else { faulty.then_some(1) }
    };
    let mut distance: HashMap<usize, u32> = (0..graph.edges.len()).filter_map(|node| Some((node, own(node)?))).collect();
    loop {
        let mut changed = false;
        for (node, targets) in graph.edges.iter().enumerate() {
            let Some(best) = targets.iter().filter_map(|target| distance.get(target)).min().map(|best| best + 1) else { continue };
            if distance.get(&node).is_none_or(|&known| best < known) {
                distance.insert(node, best);
                changed = true;
            }
        }
        if !changed {
            return distance;
        }
    }
}

/// A graph with deadlocks, faults and accepted ends.
fn graph(seed: u64) -> Graph {
    let mut random = Random(seed);
    let nodes = 2 + random.below(60) as usize;
    let mut graph = Graph::random(random.number(), nodes, 1 + random.below(4));
    if seed % 2 == 1 {
        // A long graph: steps lead a little forward, and sometimes back.
        let target = |node: usize, random: &mut Random| match random.below(8) {
            0 => node.saturating_sub(2),
            ahead => (node + ahead as usize).min(nodes - 1),
        };
        graph.edges = (0..nodes).map(|node| (0..1 + random.below(3)).map(|_| target(node, &mut random)).collect()).collect();
        graph.fatal.insert(nodes - 1, FaultCode::new(9).expect("not 0"));
        return graph;
    }
    for node in 0..nodes {
        if graph.edges[node].is_empty() && random.below(10) < 8 {
            graph.ends.insert(node);
        }
        if !graph.edges[node].is_empty() && random.below(40) == 0 {
            graph.faults.insert((node, 0), FaultCode::new(1 + random.below(5) as u32).expect("not 0"));
        }
        if random.below(60) == 0 {
            graph.fatal.insert(node, FaultCode::new(9).expect("not 0"));
        }
    }
    graph
}

fn replay(graph: &Graph, trace: &Trace) {
    let mut system = graph.clone();
    let mut out = Successors::new();
    system.initial(&mut out);
    assert!(out.iter().any(|(_, state)| state == Some(&trace.initial[..])));
    let mut current = trace.initial.clone();
    for (index, step) in trace.steps.iter().enumerate() {
        out.clear();
        system.successors(&current, &mut out);
        assert!(out.iter().any(|(entry, state)| entry.action == step.action && state == step.state.as_deref()), "step {index}");
        match &step.state {
            Some(state) => current.clone_from(state),
            None => assert_eq!(index + 1, trace.steps.len()),
        }
    }
}

/// The length of the trace of a violation, which is executed again; `None` if there is none.
fn length(graph: &Graph, outcome: &Outcome) -> Option<u64> {
    match &outcome.verdict {
        Verdict::Holds => None,
        Verdict::Violated(violation) => {
            replay(graph, &violation.trace);
            if violation.fault.kind == ViolationKind::Deadlock {
                let last = Graph::decode(violation.trace.last_state());
                assert!(graph.edges[last].is_empty() && !graph.ends.contains(&last));
            }
            Some(violation.trace.steps.len() as u64)
        }
        verdict => panic!("{verdict:?}: {graph:?}"),
    }
}

#[test]
fn distances_are_what_a_search_finds() {
    for seed in 0..200 {
        let graph = graph(seed);
        assert_eq!(distances(&graph).get(&0).copied().map(u64::from), graph.facts().shortest_violation, "{graph:?}");
    }
}

#[test]
fn lower_bounds_lead_to_shortest_paths() {
    let safety = Safety::default();
    let task = Task::new(&safety);
    let mut reopened = 0;
    for seed in 0..3000 {
        let graph = graph(seed);
        let facts = graph.facts();
        let mut random = Random(!seed);
        // A lower bound that is not consistent, so that states must be re-opened.
        let bound =
            |distance: u32, random: &mut Random| if random.below(2) == 0 { distance } else { random.below(u64::from(distance) + 1) as u32 };
        let table: HashMap<usize, u32> = {
            let mut distances: Vec<(usize, u32)> = distances(&graph).into_iter().collect();
            distances.sort_unstable();
            distances.into_iter().map(|(node, distance)| (node, bound(distance, &mut random))).collect()
        };
        let table = Table(Arc::new(table), true);
        for heuristic in [&Blind as &dyn Heuristic, &table] {
            let found = best_first(&graph, &Plain::new(), Weights::EQUAL, &guided(&task, heuristic));
            assert_eq!(length(&graph, &found), facts.shortest_violation, "A*: {graph:?}");
            reopened += found.statistics.guided.expect("numbers").reopened;
            // More weight on the path also gives a shortest path.
            let found = best_first(&graph, &Plain::new(), Weights { path: 3, estimate: 1 }, &guided(&task, heuristic));
            assert_eq!(length(&graph, &found), facts.shortest_violation, "{graph:?}");
            let found = ida_star(&graph, &Plain::new, &guided(&task, heuristic));
            assert_eq!(length(&graph, &found), facts.shortest_violation, "IDA*: {graph:?}");
            // Searches that do not guarantee a shortest path find some path.
            let greedy = best_first(&graph, &Plain::new(), Weights::GREEDY, &guided(&task, heuristic));
            assert_eq!(length(&graph, &greedy).is_some(), facts.shortest_violation.is_some());
            let compact = ida_star(&graph, &Compact::new, &guided(&task, heuristic));
            assert_eq!(length(&graph, &compact).is_some(), facts.shortest_violation.is_some());
        }
    }
    assert!(reopened > 100, "{reopened}");
}

#[test]
fn all_states_are_seen_once_whatever_the_estimate_says() {
    let mut kinds = [0; 2];
    for seed in 0..500 {
        let graph = graph(seed);
        let facts = graph.facts();
        let mut random = Random(seed);
        let wild: HashMap<usize, u32> = (0..graph.edges.len()).map(|node| (node, random.below(20) as u32)).collect();
        let wild = Table(Arc::new(wild), false);
        let task = Task::default();
        let weights = [Weights::EQUAL, Weights::GREEDY, Weights { path: 1, estimate: 5 }];
        let mut outcomes: Vec<Outcome> =
            weights.iter().map(|&weights| best_first(&graph, &Plain::new(), weights, &guided(&task, &wild))).collect();
        outcomes.push(beam(&graph, &Plain::new(), 1000, &guided(&task, &wild)));
        outcomes.push(ida_star(&graph, &Plain::new, &guided(&task, &wild)));
        for outcome in outcomes {
            assert_eq!(outcome.verdict, Verdict::Holds);
            assert_eq!((outcome.statistics.states, outcome.statistics.transitions), (facts.states, facts.transitions));
        }
        // Greedy search needs no particular store.
        let greedy = best_first(&graph, &Compact::new(), Weights::GREEDY, &guided(&task, &wild));
        assert_eq!((greedy.statistics.states, greedy.statistics.transitions), (facts.states, facts.transitions));
        let hashed = best_first(&graph, &Hashes::new(56, 0, u64::MAX), Weights::GREEDY, &guided(&task, &wild));
        assert_eq!((hashed.verdict, hashed.statistics.states), (Verdict::Unknown(StopReason::LossyStore), facts.states));
        let bits = || Bits::new(1 << 16, 3, 0);
        let in_bits = ida_star(&graph, &bits, &guided(&task, &wild));
        assert_eq!(in_bits.verdict, Verdict::Unknown(StopReason::LossyStore));
        // A beam of one state leaves states out and reports that.
        let narrow = beam(&graph, &Plain::new(), 1, &guided(&Task::new(&Safety::default()), &wild));
        match narrow.verdict {
            Verdict::Unknown(StopReason::Narrow) => kinds[0] += 1,
            _ => kinds[1] += usize::from(length(&graph, &narrow).is_some()),
        }
    }
    assert!(kinds.iter().all(|&count| count > 20), "{kinds:?}");
}

#[test]
fn limits_are_kept() {
    let chain = Graph::new((0..100).map(|node| if node < 99 { vec![node + 1] } else { vec![] }).collect());
    let safety = Safety::default();
    for depth in [10, 98, 99, 100] {
        let task = Task { limits: Limits { depth: Some(depth), ..Limits::default() }, ..Task::new(&safety) };
        let outcomes = [
            best_first(&chain, &Plain::new(), Weights::EQUAL, &guided(&task, &Blind)),
            best_first(&chain, &Plain::new(), Weights::GREEDY, &guided(&task, &Blind)),
            ida_star(&chain, &Plain::new, &guided(&task, &Blind)),
            beam(&chain, &Plain::new(), 5, &guided(&task, &Blind)),
        ];
        for outcome in outcomes {
            match depth {
                // The last state is checked when it is generated.
                99.. => assert_eq!(length(&chain, &outcome), Some(99)),
                _ => assert_eq!(outcome.verdict, Verdict::Unknown(StopReason::Depth), "{depth}"),
            }
        }
    }
    let task = Task { limits: Limits { memory: Some(1), ..Limits::default() }, ..Task::new(&safety) };
    assert_eq!(best_first(&chain, &Plain::new(), Weights::EQUAL, &guided(&task, &Blind)).verdict, Verdict::Unknown(StopReason::Memory));
    let task = Task::new(&safety);
    task.cancel.cancel();
    assert_eq!(
        best_first(&chain, &Plain::new(), Weights::EQUAL, &guided(&task, &Blind)).verdict,
        Verdict::Unknown(StopReason::Interrupted)
    );
    assert_eq!(ida_star(&chain, &Plain::new, &guided(&task, &Blind)).verdict, Verdict::Unknown(StopReason::Interrupted));
    assert_eq!(beam(&chain, &Plain::new(), 5, &guided(&task, &Blind)).verdict, Verdict::Unknown(StopReason::Interrupted));
}
