//! Native code gives the same successors as the reference interpreter, in the same order, state by state.

use bytecode::Verified;
use contract::{Successors, System};
use jit::{CompileError, Describe, Native};
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use vm::Interpreter;

const DESCRIBE: Describe = Describe { fault: vm::describe_fault, components: vm::component_ends };

/// Initiator, fault, state: all a search can see of a transition.
type Seen = (u32, u32, Option<u32>, Option<Vec<u8>>);

fn seen(out: &Successors) -> Vec<Seen> {
    out.iter()
        .map(|(entry, state)| (entry.action.process, entry.action.choice, entry.fault().map(|f| f.get()), state.map(<[u8]>::to_vec)))
        .collect()
}

/// The first state in which the two differ, and what they say there.
fn difference(program: &Arc<Verified>, most: usize) -> Result<usize, String> {
    let mut reference = Interpreter::new(program.clone());
    let mut native = match Native::compile(program.clone(), DESCRIBE) {
        Ok(native) => native,
        Err(CompileError::TooLarge | CompileError::NoTarget(_)) => return Ok(0),
        Err(error) => return Err(error.to_string()),
    };
    let (mut expected, mut found) = (Successors::new(), Successors::new());
    reference.initial(&mut expected);
    native.initial(&mut found);
    if seen(&expected) != seen(&found) {
        return Err(format!("initially:\n{:?}\nnative:\n{:?}", seen(&expected), seen(&found)));
    }
    let mut known = HashSet::new();
    let mut queue: VecDeque<Vec<u8>> = seen(&expected).into_iter().filter_map(|s| s.3).collect();
    while let Some(state) = queue.pop_front() {
        expected.clear();
        found.clear();
        reference.successors(&state, &mut expected);
        native.successors(&state, &mut found);
        let expected = seen(&expected);
        let found = seen(&found);
        if expected != found {
            let lines = |all: &[Seen]| all.iter().map(|s| format!("  {s:?}\n")).collect::<String>();
            return Err(format!("in {state:?}\ninterpreter:\n{}native:\n{}", lines(&expected), lines(&found)));
        }
        if expected.is_empty() && reference.is_valid_end(&state) != native.is_valid_end(&state) {
            return Err(format!("valid end in {state:?}"));
        }
        for next in expected.into_iter().filter_map(|s| s.3) {
            if known.len() < most && known.insert(next.clone()) {
                queue.push_back(next);
            }
        }
    }
    Ok(known.len())
}

#[test]
fn random_programs() {
    let from: u64 = std::env::var("EVERYPATH_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    let count: u64 = std::env::var("EVERYPATH_CASES").ok().and_then(|s| s.parse().ok()).unwrap_or(1500);
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
    assert!(states > 1000, "the programs had only {states} states together");
}
