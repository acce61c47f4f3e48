//! The system that a reduction for a temporal property leaves has an accepted run if the whole
//! system has one. This is tested with components and nested searches and, if a finite run is
//! enough, with every order.

mod common;

use bytecode::Verified;
use contract::{Outcome, Proposition, StopReason, System, Verdict};
use reduction::Stubborn;
use search::{
    Automaton, AutomatonEdge, Fairness, Product, Reduced, Refutation, Task, breadth_first, components, depth_first_shared,
    nested_depth_first,
};
use std::sync::Arc;
use store::{Marked, Plain};
use vm::Interpreter;

const MOST_STATES: u64 = 600;

fn edge(required: u64, forbidden: u64, marks: u64, target: Option<u16>) -> AutomatonEdge {
    AutomatonEdge { required, forbidden, marks, target }
}

/// Automata with accepting states that do not count steps: 0 again and again; 0 for ever from some
/// point on; 0 at some point and never 1 afterwards; 0 at some point.
fn automata() -> Vec<Automaton> {
    let of = |edges| Automaton { initial: 0, edges, sets: 1 };
    let (yes, no) = (|marks, target| edge(1, 0, marks, Some(target)), |marks, target| edge(0, 1, marks, Some(target)));
    vec![
        of(vec![vec![yes(0, 1), no(0, 0)], vec![yes(1, 1), no(1, 0)]]),
        of(vec![vec![edge(0, 0, 0, Some(0)), yes(0, 1)], vec![yes(1, 1)]]),
        of(vec![vec![edge(0, 0, 0, Some(0)), edge(1, 2, 0, Some(1))], vec![edge(0, 2, 1, Some(1))]]),
        of(vec![vec![yes(0, 1), no(0, 0)], vec![edge(0, 0, 0, None)]]),
    ]
}

/// How a product is searched; nothing if that takes too long.
fn searches<S: System + Clone>(product: &Product<S>) -> Option<Vec<bool>> {
    let task = Task { states: Some(MOST_STATES), ..Task::new(&Refutation) };
    let violated = |outcome: Outcome| match outcome.verdict {
        Verdict::Violated(_) => Some(true),
        Verdict::Holds => Some(false),
        Verdict::Unknown(StopReason::States) => None,
        Verdict::Unknown(why) => panic!("{why}"),
    };
    let whole = violated(breadth_first(product, &Plain::new(), &task));
    if product.automaton().is_terminal() {
        let two = Task { threads: 2, ..task.clone() };
        return Some(vec![whole?, violated(depth_first_shared(product, &Plain::new(), &two))?]);
    }
    // The product has few states, so the other searches complete.
    whole?;
    let store = Marked::new(Plain::new(), Plain::new());
    let accepting = |state: &[u8]| product.is_accepting(state);
    Some(vec![
        violated(components(product, Fairness::None, &Plain::new(), &Task::new(&Refutation)))?,
        violated(nested_depth_first(product, &accepting, &store, &Task::new(&Refutation)))?,
    ])
}

#[derive(Debug, Default)]
struct Tally {
    compared: u64,
    violated: u64,
    full: u64,
    reduced: u64,
}

fn compare(name: &str, program: &Arc<Verified>, propositions: &[Proposition], tally: &mut Tally) {
    let Ok(reduction) = Stubborn::invisible(program, propositions) else { return };
    let system = Interpreter::new(Arc::clone(program)).watching(propositions.into());
    for (number, automaton) in automata().into_iter().enumerate() {
        let automaton = Arc::new(automaton);
        let full = Product::new(system.clone(), Arc::clone(&automaton));
        let left = Product::new(Reduced::new(system.clone(), &reduction), automaton);
        let (Some(expected), Some(found)) = (searches(&full), searches(&left)) else { continue };
        tally.compared += 1;
        tally.violated += u64::from(expected[0]);
        assert!(found.iter().chain(&expected).all(|found| *found == expected[0]), "{name}: automaton {number}: {expected:?}, {found:?}");
        let states = |outcome: Outcome| outcome.statistics.states;
        tally.full += states(breadth_first(&full, &Plain::new(), &Task::new(&Refutation)));
        tally.reduced += states(breadth_first(&left, &Plain::new(), &Task::new(&Refutation)));
    }
}

#[test]
fn no_verdict_changes_on_the_models() {
    let mut tally = Tally::default();
    for (name, program) in common::models() {
        let atoms: Vec<Proposition> = (0..program.program().atoms.len().min(4) as u32).map(Proposition::Atom).collect();
        for (number, &atom) in atoms.iter().enumerate() {
            let other = atoms[(number + 1) % atoms.len()];
            compare(&name, &program, &[atom, other], &mut tally);
        }
        compare(&name, &program, &[Proposition::Accepting, Proposition::NonProgress], &mut tally);
    }
    assert!(tally.compared > 100 && tally.violated > 20 && tally.reduced < tally.full, "{tally:?}");
}

#[test]
fn no_verdict_changes_on_random_models() {
    let mut tally = Tally::default();
    for seed in 0..150 {
        let text = testkit::promela_gen::model(seed).text();
        let Some(program) = languages::testing::promela(&text) else { continue };
        compare(&format!("seed {seed}\n{text}"), &program, &[Proposition::NonProgress, Proposition::Accepting], &mut tally);
    }
    assert!(tally.compared > 100 && tally.violated > 50 && tally.reduced < tally.full, "{tally:?}");
}

/// A process in a loop of its own must not postpone a process that the property waits for. Steps
/// that the property does not depend on are not interleaved.
#[test]
fn nobody_is_put_off_for_ever() {
    let text = "byte x; byte y; byte z;\n\
        active proctype P() { do :: y = 1 - y od }\n\
        active proctype Q() { z = 1; z = 2; z = 3; x = 1 }\n\
        ltl p { [] (x == 0) }\n";
    let program = languages::testing::promela(text).expect("a good model");
    let mut tally = Tally::default();
    compare("two", &program, &[Proposition::Atom(0), Proposition::Atom(0)], &mut tally);
    assert!(tally.violated > 0 && tally.reduced < tally.full, "{tally:?}");
}
