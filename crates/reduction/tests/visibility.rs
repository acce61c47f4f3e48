//! With a temporal property, a choice that leaves something out changes no proposition of the
//! property.

mod common;

use bytecode::Verified;
use contract::{LeftOut, Proposition, Reduction, Successors, System};
use reduction::{Examiner, Off, Stubborn};
use std::sync::Arc;
use vm::Interpreter;

/// Examines the choices in the first states: those that leave something out must not change the
/// propositions. Returns their number.
fn examine(name: &str, program: &Arc<Verified>, propositions: &[Proposition]) -> usize {
    let Ok(reduction) = Stubborn::invisible(program, propositions) else { return 0 };
    let mut system = Interpreter::new(Arc::clone(program)).watching(propositions.into());
    let mut out = Successors::new();
    let mut reduced = 0;
    for state in testkit::states::first(&mut system, 100) {
        out.clear();
        system.successors(&state, &mut out);
        let processes = reduction.leave_out(&state, out.entries()).processes;
        if processes != 0 {
            reduced += 1;
            out.retain(0, |step| !LeftOut::has(processes, step));
            let before = system.atoms(&state);
            for (entry, next) in out.iter() {
                if let Some(next) = next {
                    assert_eq!(system.atoms(next), before, "{name}: {state:?}, {:?}", entry.action);
                }
            }
            let examined = Examiner::new(&mut system, &reduction, program.layout().exclusive, 100).examine(&state);
            assert!(examined.is_ok(), "{name}: {examined:?}");
        }
    }
    reduced
}

#[test]
fn choices_are_invisible() {
    let mut reduced = 0;
    for (name, program) in common::models() {
        let atoms: Vec<Proposition> = (0..program.program().atoms.len().min(60) as u32).map(Proposition::Atom).collect();
        for proposition in &atoms {
            reduced += examine(&name, &program, &[*proposition]);
        }
        reduced += examine(&name, &program, &[Proposition::Accepting, Proposition::NonProgress]);
        reduced += examine(&name, &program, &atoms);
    }
    for seed in 0..200 {
        let text = testkit::promela_gen::model(seed).text();
        if let Some(program) = languages::testing::promela(&text) {
            reduced += examine(&text, &program, &[Proposition::Accepting, Proposition::NonProgress]);
        }
    }
    assert!(reduced > 500, "{reduced}");
}

const TWO: &str = "byte x; byte y;\n\
    active proctype P() { x = 1; x = 2; x = 3 }\n\
    active proctype Q() { y = 1; y = 2; y = 3 }\n";

#[test]
fn what_is_asked_about_decides_what_is_visible() {
    let asks = |formula: &str| {
        let program = languages::testing::promela(&format!("{TWO}ltl p {{ {formula} }}")).expect("a good model");
        let atoms: Vec<Proposition> = (0..program.program().atoms.len() as u32).map(Proposition::Atom).collect();
        (examine(formula, &program, &atoms), program, atoms)
    };
    let (one, ..) = asks("[] (x < 3)");
    let (both, ..) = asks("[] (x < 3 || y < 3)");
    assert!(one > 0 && both < one, "{one}, {both}");
    let (_, program, atoms) = asks("[] (timeout || x < 3)");
    assert_eq!(Stubborn::invisible(&program, &atoms).err(), Some(Off::Property));
}
