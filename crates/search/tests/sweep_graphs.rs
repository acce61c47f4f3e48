//! Compares sweeps with brute force on random graphs: the states visited, acceptance cycles, and
//! formulas about terminal components. `cargo xtask sweep` tries many more graphs than a test does.

use contract::testing::{Graph, Random};
use contract::{Answer, Interest, Property, Safety, Successors, System, Trace, Verdict};
use search::{Branching, Task, Unanswered, sweep, sweep_cycles, terminal_components};
use std::collections::BTreeSet;
use std::sync::Mutex;
use store::{Layers, Plain};

/// The number of graphs, unless the environment says otherwise.
const GRAPHS: u64 = 1500;

fn graphs() -> u64 {
    std::env::var("EVERYPATH_GRAPHS").ok().and_then(|count| count.parse().ok()).unwrap_or(GRAPHS)
}

/// A random graph with values of progress, accepting nodes and nodes where `p` holds.
struct Random3 {
    graph: Graph,
    accepting: Vec<bool>,
    holds: Vec<bool>,
}

fn random(seed: u64) -> Random3 {
    let mut random = Random(seed.wrapping_mul(0x1234_5677));
    let nodes = 2 + random.below(13) as usize;
    let degree = 1 + random.below(3);
    let mut edges: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for from in &mut edges {
        for _ in 0..random.below(degree + 1) {
            from.push(random.below(nodes as u64) as usize);
        }
    }
    let layers = 1 + random.below(6);
    let value: Vec<i64> = (0..nodes).map(|_| random.below(layers) as i64 - 2).collect();
    if seed.is_multiple_of(2) {
        // Monotonic: no step back.
        for (node, edges) in edges.iter_mut().enumerate() {
            edges.retain(|&to| value[to] >= value[node]);
        }
    }
    let chance = 1 + random.below(4);
    let some = |random: &mut Random| (0..nodes).map(|_| random.below(4) < chance).collect::<Vec<bool>>();
    let (accepting, holds) = (some(&mut random), some(&mut random));
    let mut graph = Graph::new(edges);
    if random.below(3) == 0 {
        graph.initial.push(random.below(nodes as u64) as usize);
    }
    graph.values = vec![holds.iter().map(|&holds| holds.into()).collect(), value];
    Random3 { graph, accepting, holds }
}

/// The nodes that can be reached from some nodes, including these.
fn reachable(graph: &Graph, from: &[usize]) -> BTreeSet<usize> {
    let (mut seen, mut open) = (BTreeSet::new(), from.to_vec());
    while let Some(node) = open.pop() {
        if seen.insert(node) {
            open.extend(&graph.edges[node]);
        }
    }
    seen
}

/// Executes a trace and returns its nodes.
fn walk(graph: &Graph, trace: &Trace) -> Vec<usize> {
    let mut graph = graph.clone();
    let mut out = Successors::new();
    graph.initial(&mut out);
    assert!(out.iter().any(|(_, state)| state == Some(&trace.initial)), "it begins somewhere");
    let mut nodes = vec![Graph::decode(&trace.initial)];
    for step in &trace.steps {
        out.clear();
        graph.successors(&Graph::encode(nodes[nodes.len() - 1]), &mut out);
        let (_, target) = out.iter().find(|(entry, _)| entry.action == step.action).expect("the step is there");
        assert_eq!(target, step.state.as_deref());
        nodes.push(Graph::decode(target.expect("a state")));
    }
    nodes
}

/// Records every state.
#[derive(Default)]
struct Heard(Mutex<BTreeSet<usize>>);

impl Property for Heard {
    fn interest(&self) -> Interest {
        Interest { states: true, edges: false }
    }

    fn state(&self, state: &[u8]) -> Answer {
        self.0.lock().expect("nobody panics").insert(Graph::decode(state));
        Answer::Continue
    }
}

#[test]
fn the_states_are_those_that_can_be_reached() {
    for seed in 0..graphs() {
        let Random3 { graph, .. } = random(seed);
        let heard = Heard::default();
        sweep(&graph, &mut Layers::new(Plain::new), &[1], &Task::new(&heard));
        assert_eq!(heard.0.into_inner().expect("nobody panics"), reachable(&graph, &graph.initial), "graph {seed}");
    }
}

#[test]
fn traces_of_deadlocks_are_paths() {
    let mut found = 0;
    for seed in 0..graphs() {
        let Random3 { graph, .. } = random(seed);
        let dead = reachable(&graph, &graph.initial).into_iter().any(|node| graph.edges[node].is_empty());
        let verdict = sweep(&graph, &mut Layers::new(Plain::new), &[1], &Task::new(&Safety::default())).verdict;
        match verdict {
            Verdict::Violated(violation) => {
                let nodes = walk(&graph, &violation.trace);
                assert!(graph.edges[nodes[nodes.len() - 1]].is_empty(), "graph {seed}");
                found += 1;
            }
            verdict => assert_eq!((dead, verdict), (false, Verdict::Holds), "graph {seed}"),
        }
    }
    assert!(found * 5 > graphs(), "{found}");
}

#[test]
fn acceptance_cycles_are_found_wherever_they_are() {
    let (mut cycles, mut across) = (0, 0);
    for seed in 0..graphs() {
        let Random3 { graph, accepting, .. } = random(seed);
        let value = &graph.values[1];
        let on_cycle = |node: usize| reachable(&graph, &graph.edges[node]).contains(&node);
        let expected = reachable(&graph, &graph.initial).into_iter().any(|node| accepting[node] && on_cycle(node));
        for measure in [&[][..], &[1], &[1, 0]] {
            let outcome = sweep_cycles(&graph, &|state| accepting[Graph::decode(state)], measure, &Task::default());
            match &outcome.verdict {
                Verdict::Violated(violation) => {
                    assert!(expected, "graph {seed}: a cycle that is none");
                    let nodes = walk(&graph, &violation.trace);
                    let start = violation.trace.loop_start.expect("a loop");
                    assert_eq!(nodes[start], nodes[nodes.len() - 1], "graph {seed}");
                    assert!(start < nodes.len() - 1 && nodes[start..].iter().any(|&node| accepting[node]), "graph {seed}");
                    cycles += 1;
                    across += u64::from(measure.len() == 1 && nodes[start..].iter().any(|&node| value[node] != value[nodes[start]]));
                }
                verdict => assert_eq!((expected, verdict), (false, &Verdict::Holds), "graph {seed}, {measure:?}"),
            }
        }
    }
    assert!(cycles * 3 > graphs() && across * 50 > graphs(), "{cycles} cycles, {across} across layers");
}

#[test]
fn terminal_components_decide() {
    let mut seen = [[0; 2]; 2];
    let mut refused = 0;
    for seed in 0..graphs() {
        let Random3 { graph, holds, .. } = random(seed);
        let all = reachable(&graph, &graph.initial);
        let possible = |node: &usize| reachable(&graph, &[*node]).into_iter().any(|node| holds[node]);
        let for_ever = |node: &usize| reachable(&graph, &[*node]).into_iter().all(|node| holds[node]);
        let expected = [all.iter().all(possible), all.iter().any(for_ever)];
        let value = &graph.values[1];
        let falls = all.iter().any(|&node| graph.edges[node].iter().any(|&to| value[to] < value[node]));
        for (index, form) in [Branching::AlwaysPossibly, Branching::PossiblyAlways].into_iter().enumerate() {
            for measure in [&[][..], &[1]] {
                let answer = terminal_components(&graph, form, measure, &Task::default());
                match &answer.holds {
                    Ok(found) => {
                        assert_eq!(*found, expected[index], "graph {seed}, {form:?}, {measure:?}");
                        seen[index][usize::from(*found)] += 1;
                        let Some((trace, states)) = &answer.shown else {
                            assert_eq!(*found, form == Branching::AlwaysPossibly, "what can be shown is shown");
                            continue;
                        };
                        let end = *walk(&graph, trace).last().expect("a node");
                        let component = reachable(&graph, &[end]);
                        assert_eq!(component.len() as u64, *states, "graph {seed}: all that can be reached is the component");
                        let wanted = form == Branching::PossiblyAlways;
                        assert!(component.into_iter().all(|node| holds[node] == wanted), "graph {seed}");
                    }
                    Err(Unanswered::Falls(trace, from, to)) => {
                        assert!(falls && !measure.is_empty(), "graph {seed}");
                        let nodes = walk(&graph, trace.as_ref().expect("a path"));
                        let [.., before, after] = nodes[..] else { panic!("a step") };
                        assert_eq!((value[before], value[after]), (from[0], to[0]));
                        assert!(from > to);
                        refused += 1;
                    }
                    Err(other) => panic!("graph {seed}: {other:?}"),
                }
            }
        }
    }
    assert!(seen.iter().flatten().all(|&count| count * 20 > graphs()) && refused * 10 > graphs(), "{seen:?}, {refused} refused");
}

/// A graph on which following the last update of each state gives a cycle without acceptance.
#[test]
fn the_way_round_is_the_one_that_was_taken() {
    let nodes = [(0, 2), (1, 0), (2, 4), (3, 1), (4, 0), (5, 1), (6, 4)];
    let mut graph = Graph::new(vec![vec![1, 3], vec![6, 0], vec![1], vec![4], vec![0, 5], vec![2], vec![1, 3]]);
    graph.values = vec![nodes.iter().map(|&(_, value)| value).collect()];
    let accepting = [false, false, false, true, true, false, true];
    let Verdict::Violated(violation) = sweep_cycles(&graph, &|state| accepting[Graph::decode(state)], &[0], &Task::default()).verdict
    else {
        panic!("there is a cycle")
    };
    let nodes = walk(&graph, &violation.trace);
    let start = violation.trace.loop_start.expect("a loop");
    assert_eq!(nodes[start], nodes[nodes.len() - 1]);
    assert!(nodes[start..].iter().any(|&node| accepting[node]), "{nodes:?}");
}

/// A cycle that a greater persistent state hides is found in a later round.
#[test]
fn hidden_cycles_are_found() {
    // 1 -> 2 -> 3 -> 4 -> 2, accepting 3; steps back lead to 1 and to 2.
    let mut graph = Graph::new(vec![vec![1], vec![2], vec![3], vec![4], vec![2]]);
    graph.values = vec![vec![9, 5, 4, 6, 7]];
    let Verdict::Violated(violation) = sweep_cycles(&graph, &|state| Graph::decode(state) == 3, &[0], &Task::default()).verdict else {
        panic!("there is a cycle")
    };
    let nodes = walk(&graph, &violation.trace);
    assert!(nodes[violation.trace.loop_start.expect("a loop")..].contains(&3));
}

/// A component of a layer with two entries is not split.
#[test]
fn a_component_with_two_entries_is_one() {
    let mut graph = Graph::new(vec![vec![1, 2], vec![2], vec![1]]);
    graph.values = vec![vec![0, 0, 0], vec![0, 1, 1]];
    let answer = terminal_components(&graph, Branching::AlwaysPossibly, &[1], &Task::default());
    assert_eq!((answer.holds, answer.components), (Ok(false), 1));
    assert_eq!(answer.shown.map(|(_, states)| states), Some(2));
}
