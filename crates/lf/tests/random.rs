//! Random programs: the compiled program has the graph that an independent evaluator finds.

mod common;

use common::{compile_with, explore};
use lf::{Options, Queues};
use testkit::lf::Program;

/// Programs with more states are left out.
const MOST: usize = 600;

fn compare(seed: u64, queues: Queues) -> bool {
    let program = Program::random(seed);
    let Some(expected) = program.graph(queues == Queues::Fifo, MOST) else { return false };
    let found = found(&program, seed, Options { queues, ..Options::default() });
    assert_eq!(found, expected, "program {seed}, {queues:?}:\n{}", program.text());
    true
}

/// The graph of the compiled program.
fn found(program: &Program, seed: u64, options: Options) -> testkit::lf::Graph {
    let text = program.text();
    let compiled = compile_with(&text, &[], options, &mut program.loader()).unwrap_or_else(|why| panic!("program {seed}:\n{text}\n{why}"));
    let found = explore(&compiled);
    testkit::lf::Graph { states: found.states, transitions: found.transitions, deadlocks: found.deadlocks, faults: found.faults }
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
        assert_eq!(
            found(&program, seed, Options { queues, fine: true, ..Options::default() }),
            expected,
            "program {seed}:\n{}",
            program.text()
        );
        compared += 1;
    }
    println!("{compared} compared");
    assert!(compared > 100, "{compared}");
}

#[test]
fn programs_with_queues_in_order() {
    compare_many(Queues::Fifo, 300, 1_000_000);
}
