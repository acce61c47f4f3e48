//! Random programs: the compiled program has the graph that an independent evaluator finds.

use bytecode::Verified;
use contract::{Successors, System};
use lf::{Options, Queues, Request};
use source::SourceMap;
use std::collections::HashMap;
use std::sync::Arc;
use testkit::lf::{Edge, Graph, Node, Program};

/// Programs with more states are left out.
const MOST: usize = 600;

fn compare(seed: u64, queues: Queues) -> bool {
    let program = Program::random(seed);
    let Some(expected) = program.graph(queues == Queues::Fifo, MOST) else { return false };
    check(&program, seed, Options { queues, ..Options::default() }, &expected);
    true
}

/// Compares the graph of the compiled program with the expected one: first the numbers, then state
/// by state.
fn check(program: &Program, seed: u64, options: Options, expected: &Graph) {
    let found = found(program, seed, options);
    let numbers = |graph: &Graph| (graph.states, graph.transitions, graph.deadlocks, graph.faults.clone());
    assert_eq!(numbers(&found), numbers(expected), "program {seed}, {options:?}:\n{}", program.text());
    if let Err(why) = testkit::lf::compare(&found.nodes, &expected.nodes) {
        panic!("program {seed}, {options:?}: {why}\n{}", program.text());
    }
}

/// The graph of the compiled program, with the values of what can be seen in its states.
fn found(program: &Program, seed: u64, options: Options) -> Graph {
    let text = program.text();
    let mut map = SourceMap::new();
    let file = map.add("test.lf", text.as_str());
    let seen = [testkit::lf::visible().join(", ")];
    let compiled = lf::compile(&mut map, file, &mut program.loader(), Request { options, expressions: &seen, ..Request::default() });
    let told = || format!("program {seed}:\n{text}\n{}", source::render_all(&map, &compiled.diagnostics));
    let code = compiled.program.clone().unwrap_or_else(|| panic!("{}", told()));
    let verified = bytecode::verify(code).unwrap_or_else(|error| panic!("{error}\n{}", told()));
    let atoms: Vec<u32> = compiled.values[0].iter().map(|atom| atom.0.into()).collect();
    explore(&Arc::new(verified), &atoms)
}

fn explore(program: &Arc<Verified>, atoms: &[u32]) -> Graph {
    let mut system = vm::Interpreter::new(Arc::clone(program));
    let mut graph = Graph::default();
    let mut out = Successors::new();
    system.initial(&mut out);
    let mut states: Vec<Vec<u8>> = out.iter().filter_map(|(_, state)| state.map(<[u8]>::to_vec)).collect();
    let mut known: HashMap<Vec<u8>, usize> = states.iter().cloned().map(|state| (state, 0)).collect();
    while let Some(state) = states.get(graph.nodes.len()).cloned() {
        let mut values = Vec::new();
        system.values(&state, atoms, &mut values).expect("the values");
        // The machine stores numbers without a sign as those with the same bits.
        values.iter_mut().for_each(|value| *value = i64::from(*value as u32));
        out.clear();
        system.successors(&state, &mut out);
        let is_deadlock = out.is_empty() && !system.is_valid_end(&state);
        graph.deadlocks += usize::from(is_deadlock);
        let mut edges = Vec::new();
        for (entry, next) in out.iter() {
            let fault = entry.fault().map(|code| format!("{:?}", system.describe_fault(code).kind));
            graph.faults.extend(fault.clone());
            graph.transitions += usize::from(next.is_some());
            let target = next.map(|next| {
                *known.entry(next.to_vec()).or_insert_with(|| {
                    states.push(next.to_vec());
                    states.len() - 1
                })
            });
            edges.push(Edge { process: entry.action.process as usize, fault, target });
        }
        graph.nodes.push(Node { values, is_deadlock, edges });
    }
    graph.states = states.len();
    graph.faults.sort();
    graph.faults.dedup();
    graph
}

/// Compares programs until enough of them were small enough, or those with the seeds that are asked
/// for.
fn compare_many(queues: Queues, wanted: usize, first: u64) {
    let seeds = testkit::models::seeds(first..first + 20 * wanted as u64);
    let asked = seeds.start != first;
    let mut compared = 0;
    for seed in seeds {
        compared += usize::from(compare(seed, queues));
        if compared == wanted && !asked {
            return;
        }
    }
    println!("{compared} compared");
    assert!(asked, "most programs are too large");
}

#[test]
fn a_thousand_programs() {
    compare_many(Queues::Sorted, 1000, 0);
}

#[test]
fn programs_with_fine_actions() {
    let mut compared = 0;
    for seed in testkit::models::seeds(0..1500) {
        let program = Program::random(seed);
        let fifo = seed % 2 == 1;
        let Some(expected) = program.fine_graph(fifo, MOST) else { continue };
        let queues = if fifo { Queues::Fifo } else { Queues::Sorted };
        check(&program, seed, Options { queues, fine: true, ..Options::default() }, &expected);
        compared += 1;
    }
    println!("{compared} compared");
    assert!(compared > 100, "{compared}");
}

#[test]
fn programs_with_queues_in_order() {
    compare_many(Queues::Fifo, 300, 1_000_000);
}
