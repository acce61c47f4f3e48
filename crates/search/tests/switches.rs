//! Compares the fewest context switches with a simple computation on random graphs.

use contract::testing::Random;
use contract::{Action, FaultCode, Limits, Safety, StopReason, Successor, Successors, System, Trace, Verdict};
use search::{Automaton, AutomatonEdge, Product, Refutation, Task, fewest_switches};
use std::collections::HashMap;
use std::sync::Arc;
use store::Plain;

/// A graph whose edges belong to processes. An edge may have a fault.
#[derive(Clone)]
struct Processes {
    edges: Arc<Vec<Vec<(u32, usize, bool)>>>,
}

impl System for Processes {
    fn initial(&mut self, out: &mut Successors) {
        out.push(&0_u16.to_le_bytes(), Action::default());
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let node = usize::from(u16::from_le_bytes([state[0], state[1]]));
        for (choice, &(process, target, fault)) in self.edges[node].iter().enumerate() {
            let action = Action::new(process, choice as u32);
            out.slot(2).copy_from_slice(&(target as u16).to_le_bytes());
            out.commit(2, action, FaultCode::new(1).filter(|_| fault), Successor::NO_STEP);
        }
    }

    fn is_valid_end(&mut self, _: &[u8]) -> bool {
        true
    }
}

fn random(seed: u64) -> Processes {
    let mut random = Random(seed);
    let nodes = 2 + random.below(30) as usize;
    let mut edges = vec![Vec::new(); nodes];
    for own in &mut edges {
        for _ in 0..random.below(5) {
            own.push((random.below(4) as u32, random.below(nodes as u64) as usize, random.below(25) == 0));
        }
    }
    Processes { edges: Arc::new(edges) }
}

/// The fewest switches to a fault, computed by repeated relaxation.
fn naive(graph: &Processes) -> Option<usize> {
    let mut least: HashMap<(usize, Option<u32>), usize> = HashMap::from([((0, None), 0)]);
    let mut best: Option<usize> = None;
    loop {
        let mut changed = false;
        for ((node, last), cost) in least.clone() {
            for &(process, target, fault) in &graph.edges[node] {
                let cost = cost + usize::from(last.is_some_and(|last| last != process));
                if fault && best.is_none_or(|best| cost < best) {
                    (best, changed) = (Some(cost), true);
                }
                let known = least.entry((target, Some(process))).or_insert(usize::MAX);
                if cost < *known {
                    (*known, changed) = (cost, true);
                }
            }
        }
        if !changed {
            return best;
        }
    }
}

fn switches(trace: &Trace) -> usize {
    trace.steps.windows(2).filter(|pair| pair[0].action.process != pair[1].action.process).count()
}

#[test]
fn no_path_has_fewer_switches() {
    let (mut found, mut none) = (0, 0);
    for seed in 0..2000 {
        let graph = random(seed);
        let outcome = fewest_switches(&graph, &Plain::new(), &Task::new(&Safety::default()));
        match (outcome.verdict, naive(&graph)) {
            (Verdict::Violated(violation), Some(least)) => {
                assert_eq!(switches(&violation.trace), least, "seed {seed}");
                found += 1;
            }
            (Verdict::Holds, None) => none += 1,
            (verdict, least) => panic!("seed {seed}: {verdict:?}, {least:?}"),
        }
    }
    assert!(found > 300 && none > 300, "{found} with a fault, {none} without");
}

/// Ends in a node without edges. The automaton sees an end only by standing still there.
#[test]
fn the_steps_of_an_automaton_are_no_switches() {
    // Node 3 is reached by process 0 alone in three steps, or by two processes in two.
    let edges = vec![vec![(0, 1, false), (1, 2, false)], vec![(0, 2, false), (1, 3, false)], vec![(0, 3, false)], vec![]];
    let graph = Processes { edges: Arc::new(edges) };
    // It accepts after four letters.
    let edge = |target| vec![AutomatonEdge { target, ..AutomatonEdge::default() }];
    for (letters, least) in [(1, 0), (3, 0), (4, 0), (9, 0)] {
        let states = (0..letters).map(|at| edge((at + 1 < letters).then_some(at + 1))).collect();
        let product = Product::new(graph.clone(), Arc::new(Automaton { initial: 0, edges: states, sets: 1 }));
        let outcome = fewest_switches(&product, &Plain::new(), &Task::new(&Refutation));
        let Verdict::Violated(violation) = outcome.verdict else { panic!("{letters}: {:?}", outcome.verdict) };
        assert_eq!(switches(&product.project(&violation.trace)), least, "{letters} letters");
    }
}

#[test]
fn limits_are_kept() {
    let graph = Processes { edges: Arc::new((0..1000).map(|node| vec![(node as u32 % 2, (node + 1) % 1000, node == 900)]).collect()) };
    let task = Task { limits: Limits { depth: Some(10), ..Limits::default() }, ..Task::new(&Safety { deadlocks: true, faults: true }) };
    let outcome = fewest_switches(&graph, &Plain::new(), &task);
    assert_eq!(outcome.verdict, Verdict::Unknown(StopReason::Depth));
}
