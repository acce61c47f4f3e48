//! A reduction must change no verdict: on the models of the project and on random programs, in
//! every order.

mod common;

use bytecode::Verified;
use contract::{Outcome, Property, Reduction, Safety, StopReason, Verdict};
use reduction::{Off, Stubborn};
use search::{Active, Task, Weights, beam, best_first, breadth_first, depth_first, depth_first_shared};
use std::sync::Arc;
use store::Plain;
use vm::Interpreter;

/// Programs with more states are left out: the interpreter is slow.
const MOST_STATES: u64 = 1000;

fn run(order: usize, program: &Arc<Verified>, reduction: Option<&dyn Reduction>, property: &dyn Property) -> Outcome {
    let system = Interpreter::new(Arc::clone(program));
    let mut task = Task { states: Some(MOST_STATES), ..Task::new(property) };
    if let Some(reduction) = reduction {
        task.reduction = reduction;
        // A search may see some states more than its limit before it stops, so the full search may
        // complete with more states than the limit.
        task.states = Some(2 * MOST_STATES);
    }
    let store = Plain::new();
    match order {
        0 => breadth_first(&system, &store, &task),
        1 => breadth_first(&system, &store, &Task { threads: 2, ..task }),
        2 => depth_first(&system, &store, &task),
        3 => depth_first_shared(&system, &store, &Task { threads: 2, ..task }),
        // Directed orders without shortest paths; a wide beam leaves nothing out.
        4 => best_first(&system, &store, Weights::GREEDY, &Task { heuristic: &active(program), ..task }),
        _ => beam(&system, &store, usize::MAX, &Task { heuristic: &active(program), ..task }),
    }
}

/// Estimates that give another order than breadth first.
fn active(program: &Arc<Verified>) -> Active {
    Active::new(Box::new(Interpreter::new(Arc::clone(program))), 0)
}

#[derive(Debug, Default)]
struct Tally {
    compared: u64,
    violations: u64,
    full: u64,
    reduced: u64,
}

fn compare(name: &str, program: &Arc<Verified>, tally: &mut Tally) {
    let Ok(reduction) = Stubborn::of(program) else { return };
    for property in [Safety { deadlocks: true, faults: false }, Safety { deadlocks: false, faults: true }] {
        let full = run(0, program, None, &property);
        if matches!(full.verdict, Verdict::Unknown(StopReason::States)) {
            return;
        }
        for order in 0..6 {
            let found = run(order, program, Some(&reduction), &property);
            tally.compared += 1;
            match (&full.verdict, &found.verdict) {
                (Verdict::Holds, Verdict::Holds) => {
                    tally.full += full.statistics.states;
                    tally.reduced += found.statistics.states;
                }
                (Verdict::Violated(_), Verdict::Violated(_)) => tally.violations += 1,
                // A violation may be close to the initial state, and a depth-first search may visit
                // many states before it.
                (Verdict::Violated(_), Verdict::Unknown(StopReason::States)) if order >= 2 => {}
                (full, found) => panic!(
                    "{name}: order {order}, {property:?}: {full:?} became {found:?}\n{}",
                    bytecode::asm::disassemble(program.program())
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
    assert!(tally.violations > 100 && tally.reduced < tally.full, "{tally:?}");
}

#[test]
fn no_verdict_changes_on_random_byte_code() {
    let mut tally = Tally::default();
    for seed in 0..600 {
        let Some(program) = testkit::random::verified(seed) else { continue };
        compare(&format!("seed {seed}"), &Arc::new(program), &mut tally);
    }
    assert!(tally.violations > 100 && tally.reduced < tally.full, "{tally:?}");
}

#[test]
fn no_verdict_changes_on_random_models() {
    let mut tally = Tally::default();
    for seed in 0..200 {
        let text = testkit::promela_gen::model(seed).text();
        let Some(program) = languages::testing::promela(&text) else { continue };
        compare(&format!("seed {seed}\n{text}"), &program, &mut tally);
    }
    assert!(tally.violations > 100 && tally.reduced < tally.full, "{tally:?}");
}

fn states(text: &str) -> (u64, u64) {
    let program = languages::testing::promela(text).expect("a good model");
    let reduction = Stubborn::of(&program).expect("a reduction");
    let count = |reduction| run(0, &program, reduction, &contract::NoProperty).statistics.states;
    (count(None), count(Some(&reduction)))
}

/// Independent processes are executed one after the other.
#[test]
fn independent_processes_are_not_interleaved() {
    let (full, reduced) = states("active [4] proctype P() { byte i; i = 1; i = 2; i = 3 }");
    assert_eq!(reduced, 17);
    assert!(full > 250);
}

/// A sender and a receiver of a buffered channel do not influence each other.
#[test]
fn the_ends_of_a_channel_are_independent() {
    let (full, reduced) = states(
        "chan c = [4] of { byte }; byte x;\n\
         active proctype S() { c!1; c!2; c!3; c!4 }\n\
         active proctype R() { byte i; c?i; c?i; c?i; c?i }",
    );
    assert!(reduced * 3 < full * 2, "{reduced} of {full}");
}

/// Steps that use the same variable accord if their conditions exclude each other.
#[test]
fn steps_that_exclude_each_other_are_independent() {
    let (full, reduced) = states(
        "byte turn; byte x;\n\
         active proctype P() { byte i; do :: i < 5 -> i++; turn == 0; x = 1; turn = 1 :: else -> break od }\n\
         active proctype Q() { byte i; do :: i < 5 -> i++; turn == 1; x = 2; turn = 0 :: else -> break od }",
    );
    assert!(reduced * 3 < full * 2, "{reduced} of {full}");
}

#[test]
fn there_is_no_reduction_where_it_would_be_unsound() {
    for (text, off) in [
        ("byte x; active [2] proctype P() { x = _last }", Off::Last),
        ("active proctype P() priority 2 { skip }\nactive proctype Q() { skip }", Off::Priorities),
        ("active [2] proctype P() { enabled(1 - _pid); skip }", Off::Enabled),
    ] {
        let program = languages::testing::promela(text).expect("a good model");
        assert_eq!(Stubborn::of(&program).err(), Some(off), "{text}");
    }
}
