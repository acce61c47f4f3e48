//! The interpreter obeys the laws of systems, on the models of the project and on random programs.

use bytecode::Verified;
use contract::testing::system_laws;
use std::sync::Arc;
use vm::Interpreter;

/// States of a program that are looked at.
const MOST: usize = 150;

fn lawful(program: Verified) {
    system_laws(&mut Interpreter::new(Arc::new(program)), MOST);
}

#[test]
fn models() {
    let mut seen = 0;
    for (name, text) in testkit::models::texts("asm", &["epa"]) {
        let mut map = source::SourceMap::new();
        let file = map.add(&name, &text);
        let Ok(program) = bytecode::asm::assemble(&map, file) else { continue };
        lawful(bytecode::verify(program).unwrap_or_else(|error| panic!("{name}: {error}")));
        seen += 1;
    }
    assert!(seen >= 5, "{seen}");
}

#[test]
fn random_programs() {
    let seeds = testkit::models::seeds(0..200);
    let programs = seeds.filter_map(testkit::random::verified).map(lawful).count();
    assert!(programs > 20, "{programs}");
}
