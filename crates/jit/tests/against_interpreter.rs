//! Native code gives the same successors as the reference interpreter, in the same order, state by state.

use bytecode::Verified;
use jit::{CompileError, Describe, Native};
use std::sync::Arc;
use vm::Interpreter;

const DESCRIBE: Describe = Describe { fault: vm::describe_fault, components: vm::component_ends };

/// How many states were compared, or the first in which the two differ and what they say there.
fn difference(program: &Arc<Verified>, most: usize) -> Result<usize, String> {
    let mut native = match Native::compile(program.clone(), DESCRIBE) {
        Ok(native) => native,
        Err(CompileError::TooLarge | CompileError::NoTarget(_)) => return Ok(0),
        Err(error) => return Err(error.to_string()),
    };
    let mut reference = Interpreter::new(program.clone());
    let compared = testkit::engines::compare(&mut reference, &mut native, most);
    compared.map(|extent| extent.states).map_err(|difference| difference.to_string())
}

#[test]
fn random_programs() {
    let from: u64 = std::env::var("EVERYPATH_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    let count: u64 = std::env::var("EVERYPATH_CASES").ok().and_then(|s| s.parse().ok()).unwrap_or(300);
    let mut states = 0;
    for seed in from..from + count {
        let Some(program) = testkit::random::verified(seed) else { continue };
        match difference(&Arc::new(program.clone()), 150) {
            Ok(compared) => states += compared,
            Err(_) => {
                let smaller = testkit::shrink::shrink(program.program(), 2000, &mut |candidate| {
                    difference(&Arc::new(candidate.clone()), 150).is_err()
                });
                let text = bytecode::asm::disassemble(&smaller);
                let verified = bytecode::verify(smaller).expect("shrinking keeps programs verified");
                let why = difference(&Arc::new(verified), 150).expect_err("still different");
                panic!("seed {seed}:\n{text}\n{why}");
            }
        }
    }
    assert!(count < 300 || states > 1000, "the programs had only {states} states together");
}
