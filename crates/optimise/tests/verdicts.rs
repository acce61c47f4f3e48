//! A smaller program has the same answer: on the models of the project, on random byte-code, on
//! random models.

mod common;

use bytecode::Verified;
use contract::{Outcome, Safety, StopReason, Verdict};
use optimise::{Goal, Optimised, Passes};
use search::{Task, breadth_first};
use std::sync::Arc;
use store::Plain;
use vm::Interpreter;

/// Programs with more states are left out: the interpreter is slow.
const MOST_STATES: u64 = 2000;

fn explore(program: &Arc<Verified>, deadlocks: bool, most: u64) -> Outcome {
    let property = Safety { deadlocks, faults: true };
    breadth_first(&Interpreter::new(Arc::clone(program)), &Plain::new(), &Task { states: Some(most), ..Task::new(&property) })
}

#[derive(Debug, Default)]
struct Tally {
    compared: u64,
    violations: u64,
    full: u64,
    smaller: u64,
    cut: usize,
}

/// Each pass alone, those that are applied by default, and all.
fn passes() -> [Passes; 6] {
    let none = Passes::default();
    [
        Passes { unused: true, ..none },
        Passes { slice: true, ..none },
        Passes { merge: true, ..none },
        Passes { dead: true, ..none },
        Passes::ALL,
        Passes { slice: true, ..Passes::ALL },
    ]
}

fn compare(name: &str, program: &Arc<Verified>, tally: &mut Tally) {
    for (deadlocks, goal) in [(true, Goal::Faults), (false, Goal::Errors)] {
        let full = explore(program, deadlocks, MOST_STATES);
        if matches!(full.verdict, Verdict::Unknown(StopReason::States)) {
            return;
        }
        for passes in passes() {
            let Ok(optimised) = Optimised::of(program, goal, passes) else { return };
            let found = explore(&optimised.program, deadlocks, 2 * MOST_STATES);
            tally.compared += 1;
            tally.cut += optimised.cuts.len();
            match (&full.verdict, &found.verdict) {
                (Verdict::Holds, Verdict::Holds) => {
                    tally.full += full.statistics.states;
                    tally.smaller += found.statistics.states;
                    assert!(found.statistics.states <= full.statistics.states, "{name}");
                }
                (Verdict::Violated(_), Verdict::Violated(_)) => tally.violations += 1,
                (full, found) => panic!(
                    "{name}: {passes:?}, deadlocks {deadlocks}: {full:?} became {found:?}\n{}\n{}",
                    bytecode::asm::disassemble(program.program()),
                    bytecode::asm::disassemble(optimised.program.program())
                ),
            }
        }
    }
}

#[test]
fn no_verdict_changes_on_the_models() {
    let mut tally = Tally::default();
    for (name, program) in common::models() {
        compare(&name, &program, &mut tally);
    }
    assert!(tally.violations > 20 && 10 * tally.smaller < 9 * tally.full, "{tally:?}");
}

#[test]
fn no_verdict_changes_on_random_byte_code() {
    let mut tally = Tally::default();
    for seed in 0..500 {
        let Some(program) = testkit::random::verified(seed) else { continue };
        compare(&format!("seed {seed}"), &Arc::new(program), &mut tally);
    }
    assert!(tally.violations > 100 && tally.smaller < tally.full, "{tally:?}");
}

#[test]
fn no_verdict_changes_on_random_models() {
    let mut tally = Tally::default();
    for seed in 0..500 {
        let text = testkit::promela_gen::model(seed).text();
        let Some(program) = languages::testing::promela(&text) else { continue };
        compare(&format!("seed {seed}\n{text}"), &program, &mut tally);
    }
    assert!(tally.violations > 100 && tally.smaller < tally.full, "{tally:?}");
}

fn states(text: &str) -> (u64, u64) {
    let program = languages::testing::promela(text).expect("a good model");
    let smaller = Optimised::of(&program, Goal::Faults, Passes::ALL).expect("a smaller program");
    (explore(&program, true, MOST_STATES).statistics.states, explore(&smaller.program, true, MOST_STATES).statistics.states)
}

/// Steps on local variables are merged with the steps before them.
#[test]
fn local_steps_are_merged() {
    let (full, smaller) = states("byte x; active [2] proctype P() { byte i; x = x + 1; i = 1; i = 2; i = 3; x = x - 1 }");
    assert!(3 * smaller < full, "{smaller} of {full}");
}
