//! Random programs: the compiled program has the graph that an independent evaluator finds.

mod common;

use common::{compile, explore};
use lf::{Options, Queues};
use testkit::lf::Program;

/// Programs with more states are left out.
const MOST: usize = 600;

fn compare(seed: u64, queues: Queues) -> bool {
    let program = Program::random(seed);
    let Some(expected) = program.graph(queues == Queues::Fifo, MOST) else { return false };
    let text = program.text();
    let compiled =
        compile(&text, &[], Options { queues, ..Options::default() }).unwrap_or_else(|why| panic!("program {seed}:\n{text}\n{why}"));
    let found = explore(&compiled);
    let found =
        testkit::lf::Graph { states: found.states, transitions: found.transitions, deadlocks: found.deadlocks, faults: found.faults };
    assert_eq!(found, expected, "program {seed}, {queues:?}:\n{text}");
    true
}

/// Compares programs until enough of them were small enough.
fn compare_many(queues: Queues, wanted: usize, first: u64) {
    let mut compared = 0;
    for seed in first.. {
        compared += usize::from(compare(seed, queues));
        if compared == wanted {
            return;
        }
        assert!(seed - first < 20 * wanted as u64, "most programs are too large");
    }
}

#[test]
fn a_thousand_programs() {
    compare_many(Queues::Sorted, 1000, 0);
}

#[test]
fn programs_with_queues_in_order() {
    compare_many(Queues::Fifo, 300, 1_000_000);
}
