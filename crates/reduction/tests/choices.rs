//! Every choice is examined by brute force, on the models of the project and on random programs.

mod common;

use bytecode::Verified;
use contract::{Successors, System};
use reduction::{Examined, Examiner, Stubborn};
use std::sync::Arc;
use vm::Interpreter;

#[derive(Default, Debug)]
struct Tally {
    programs: usize,
    off: usize,
    states: usize,
    reduced: usize,
}

/// Examines the choices in the first states of a program.
fn examine(name: &str, program: &Arc<Verified>, most: usize, tally: &mut Tally) {
    let reduction = match Stubborn::of(program) {
        Ok(reduction) => reduction,
        Err(_) => {
            tally.off += 1;
            return;
        }
    };
    tally.programs += 1;
    let mut system = Interpreter::new(Arc::clone(program));
    for state in testkit::states::first(&mut system, most) {
        tally.states += 1;
        let exclusive = program.layout().exclusive;
        match Examiner::new(&mut system, &reduction, exclusive, 200).examine(&state) {
            Ok(Examined::Whole) => {}
            Ok(Examined::Kept { .. }) => tally.reduced += 1,
            Err(flaw) => panic!("{name}: {flaw}\nstate {:?}\n{}", flaw.state, bytecode::asm::disassemble(program.program())),
        }
    }
}

#[test]
fn choices_keep_their_promise_on_the_models() {
    let mut tally = Tally::default();
    for (name, program) in common::models() {
        examine(&name, &program, 150, &mut tally);
    }
    assert!(tally.programs > 100 && tally.reduced > tally.states / 20, "{tally:?}");
    println!("{tally:?}");
}

#[test]
fn choices_keep_their_promise_on_random_byte_code() {
    let mut tally = Tally::default();
    for seed in 0..1500 {
        let Some(program) = testkit::random::verified(seed) else { continue };
        examine(&format!("seed {seed}"), &Arc::new(program), 60, &mut tally);
    }
    println!("{tally:?}");
    assert!(tally.reduced > 300, "{tally:?}");
}

#[test]
fn choices_keep_their_promise_on_random_models() {
    let mut tally = Tally::default();
    for seed in 0..300 {
        let text = testkit::promela_gen::model(seed).text();
        let Some(program) = languages::testing::promela(&text) else { continue };
        examine(&format!("seed {seed}\n{text}"), &program, 60, &mut tally);
    }
    println!("{tally:?}");
    assert!(tally.reduced > 300, "{tally:?}");
}

/// The examination finds a choice that is not a stubborn set.
#[test]
fn careless_choices_are_found() {
    struct Youngest;
    impl contract::Reduction for Youngest {
        fn leave_out(&self, _: &[u8], steps: &[contract::Successor]) -> contract::LeftOut {
            let youngest = steps.iter().map(|step| step.action.process).max().unwrap_or(0);
            contract::LeftOut { processes: !(1 << youngest), postponed: 0 }
        }
    }
    let mut flaws = 0;
    for text in [
        "byte x; active proctype P() { x = 1 }\nactive proctype Q() { x = 2 }",
        "byte x; active proctype P() { x = 1 }\nactive proctype Q() { if :: x == 0 :: x == 1 fi }",
        "byte x; active proctype P() { x = 1 }\nactive proctype Q() { x == 0 }",
        "byte x; active proctype P() { x = 1; x = 0 }\nactive proctype Q() { byte i; i = x }",
        "chan c = [1] of { byte }; active proctype P() { c!1 }\nactive proctype Q() { c!2 }",
        "byte x; active proctype P() { x = 1 }\nactive proctype Q() { atomic { skip; x == 1 } }",
    ] {
        let program = languages::testing::promela(text).expect("a good model");
        let mut system = Interpreter::new(Arc::clone(&program));
        let mut out = Successors::new();
        system.initial(&mut out);
        let state = out.state(&out.entries()[0]).expect("a state").to_vec();
        let examined = Examiner::new(&mut system, &Youngest, program.layout().exclusive, 100).examine(&state);
        assert!(examined.is_err(), "{text}: {examined:?}");
        flaws += 1;
    }
    assert_eq!(flaws, 6);
}
