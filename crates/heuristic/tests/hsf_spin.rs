//! The measurements of HSF-SPIN (Edelkamp, Lluch Lafuente, Leue, "Directed explicit model checking
//! with HSF-SPIN", 2001) that are known to be right: states expanded, states generated, steps to
//! the violation.

mod common;

use bytecode::Verified;
use contract::{Blind, Heuristic, Outcome, Safety, Verdict};
use heuristic::{Combine, Estimator, Goal};
use search::{Active, Task, Weights, best_first};
use std::sync::Arc;
use store::Plain;
use vm::Interpreter;

type Numbers = (u64, u64, usize);

fn run(program: &Arc<Verified>, heuristic: &dyn Heuristic, weights: Weights, property: &Safety) -> Numbers {
    let task = Task { heuristic, ..Task::new(property) };
    let system = Interpreter::new(Arc::clone(program));
    let Outcome { verdict, statistics } = best_first(&system, &Plain::new(), weights, &task);
    let Verdict::Violated(violation) = verdict else { panic!("{verdict:?}") };
    let guided = statistics.guided.expect("numbers");
    (guided.expanded, guided.generated, violation.trace.steps.len())
}

/// HSF-SPIN counts the states inside an atomic sequence, which are not states here. So the
/// invisible steps of the sequence become atomic steps. The jump out of the loop and out of the
/// sequence stays one step.
fn visible(program: &Verified) -> Arc<Verified> {
    let text = bytecode::asm::disassemble(program.program());
    let changed = text.replace("STEP I", "STEP A").replace("\"break\"\n    STEP A", "\"break\"\n    STEP I");
    assert_ne!(text, changed);
    languages::testing::compile("model.epa", &changed, &[]).expect("a good program")
}

/// Table 5, with two misprints corrected: the heuristic of the last column is exact.
#[test]
fn philosophers() {
    let deadlocks = Safety { deadlocks: true, faults: false };
    type Row = (usize, Option<Numbers>, Numbers, Numbers, Numbers);
    let table: [Row; 6] = [
        (2, Some((10, 12, 10)), (10, 12, 10), (10, 12, 10), (10, 12, 10)),
        (3, Some((18, 30, 14)), (16, 22, 14), (14, 19, 14), (32, 52, 14)),
        (4, Some((33, 77, 18)), (21, 33, 18), (18, 27, 18), (69, 155, 26)),
        (8, Some((1801, 10336, 34)), (41, 97, 34), (34, 69, 34), (249, 646, 66)),
        (12, None, (61, 193, 50), (50, 127, 50), (539, 1468, 98)),
        (16, None, (81, 321, 66), (66, 201, 66), (941, 2626, 130)),
    ];
    for (count, breadth, astar_active, astar_danger, greedy_active) in table {
        let defines = [("N".to_owned(), count.to_string())];
        let program = visible(&common::model("promela/directed/philosophers.pml", &defines));
        let active = Active::new(Box::new(Interpreter::new(Arc::clone(&program))), 0);
        let goal = Goal::Safety { deadlocks: true, assertions: false, errors: false };
        let danger = Estimator::new(&program, goal, Combine::Sum).expect("a small program");
        if let Some(breadth) = breadth {
            assert_eq!(run(&program, &Blind, Weights::EQUAL, &deadlocks), breadth, "breadth-first, {count}");
        }
        assert_eq!(run(&program, &active, Weights::EQUAL, &deadlocks), astar_active, "A*, active processes, {count}");
        assert_eq!(run(&program, &danger, Weights::EQUAL, &deadlocks), astar_danger, "A*, marked places, {count}");
        assert_eq!(run(&program, &active, Weights::GREEDY, &deadlocks), greedy_active, "best-first, {count}");
    }
}

/// Table 7: all numbers of Relay, and those numbers of Mutex that could be reproduced.
#[test]
fn assertions() {
    let faults = Safety { deadlocks: false, faults: true };
    let goal = || Goal::Safety { deadlocks: false, assertions: true, errors: false };
    let relay = common::model("promela/directed/relay.pml", &[]);
    let estimator = Estimator::new(&relay, goal(), Combine::Sum).expect("a small program");
    assert_eq!(run(&relay, &Blind, Weights::EQUAL, &faults), (707, 2701, 12));
    assert_eq!(run(&relay, &estimator, Weights::EQUAL, &faults), (665, 2292, 12));
    assert_eq!(run(&relay, &estimator, Weights::GREEDY, &faults), (151, 1069, 120));

    let mutex = common::model("promela/directed/mutex.pml", &[]);
    let estimator = Estimator::new(&mutex, goal(), Combine::Sum).expect("a small program");
    // The paper has 349, 699 and 150, 300; the reason for the difference is not known. An
    // independent implementation of the same conventions has the numbers below.
    assert_eq!(run(&mutex, &Blind, Weights::EQUAL, &faults), (334, 668, 15));
    assert_eq!(run(&mutex, &estimator, Weights::EQUAL, &faults), (187, 374, 15));
    assert_eq!(run(&mutex, &estimator, Weights::GREEDY, &faults), (24, 48, 15));
}

/// With all the weight on the path the search is breadth first, with none it is greedy.
#[test]
fn weights() {
    let faults = Safety { deadlocks: false, faults: true };
    let relay = common::model("promela/directed/relay.pml", &[]);
    let goal = Goal::Safety { deadlocks: false, assertions: true, errors: false };
    let estimator = Estimator::new(&relay, goal, Combine::Sum).expect("a small program");
    let weighted = |path| run(&relay, &estimator, Weights { path, estimate: 100 - path }, &faults);
    assert_eq!((weighted(100), weighted(50), weighted(0)), ((707, 2701, 12), (665, 2292, 12), (151, 1069, 120)));
}
