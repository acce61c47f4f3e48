//! Native code obeys the laws of systems, on Promela models and on random programs, whole and mixed
//! with the interpreter.

use bytecode::Verified;
use contract::testing::system_laws;
use jit::{Native, Selection};
use std::sync::Arc;

/// States of a program that are looked at.
const MOST: usize = 150;

/// Code for everything, and for every other location.
const SELECTIONS: [Selection; 2] = [|_, _| true, |ty, location| (ty.index() + location.index()).is_multiple_of(2)];

fn lawful(program: Verified) {
    let program = Arc::new(program);
    for selection in SELECTIONS {
        // There is no native code on some machines, and none for very large programs.
        let Ok(mut native) = Native::selected(Arc::clone(&program), selection) else { continue };
        native.wait();
        system_laws(&mut native, MOST);
    }
}

#[test]
fn models() {
    let mut seen = 0;
    for (name, text) in testkit::models::texts("promela/classic", &["pml"]) {
        let Ok(program) = languages::testing::compile(&name, &text, &[]) else { continue };
        lawful((*program).clone());
        seen += 1;
    }
    assert!(seen >= 5, "{seen}");
}

#[test]
fn random_programs() {
    let seeds = testkit::models::seeds(0..60);
    let programs = seeds.filter_map(testkit::random::verified).map(lawful).count();
    assert!(programs > 5, "{programs}");
}
