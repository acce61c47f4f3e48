//! Native code gives the same successors as the reference interpreter, in the same order, state by state.

use bytecode::{Location, Op, Shape, StateMap, Verified};
use contract::{Action, FaultCode, Successors, System};
use jit::{CompileError, Describe, Native};
use std::sync::Arc;
use testkit::compare::Extent;
use vm::Interpreter;

const DESCRIBE: Describe = Describe { fault: vm::describe_fault, components: vm::component_ends };

/// How much was compared, or the first state in which the two differ and what they say there.
fn difference(program: &Arc<Verified>, most: usize) -> Result<Extent, String> {
    let mut native = match Native::compile(program.clone(), DESCRIBE) {
        Ok(native) => native,
        Err(CompileError::TooLarge | CompileError::NoTarget(_)) => return Ok(Extent::default()),
        Err(error) => return Err(error.to_string()),
    };
    let mut reference = Interpreter::new(program.clone());
    let compared = testkit::engines::compare(&mut reference, &mut native, most);
    compared.map_err(|difference| difference.to_string())
}

#[test]
fn random_programs() {
    let from: u64 = std::env::var("EVERYPATH_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    let count: u64 = std::env::var("EVERYPATH_CASES").ok().and_then(|s| s.parse().ok()).unwrap_or(300);
    let mut all = Extent::default();
    for seed in from..from + count {
        let Some(program) = testkit::random::verified(seed) else { continue };
        match difference(&Arc::new(program.clone()), 150) {
            Ok(compared) => {
                all.states += compared.states;
                all.stripes_named += compared.stripes_named;
                all.stripes_changed += compared.stripes_changed;
            }
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
    assert!(count < 300 || all.states > 1000, "the programs had only {} states together", all.states);
    // What is written without changing anything is all that may come on top.
    assert!(count < 300 || all.stripes_named * 2 < all.stripes_changed * 3, "steps name more than they need to: {all:?}");
}

/// What a system says of a state: who moves how, with what fault, and where to.
type Steps = Vec<(Action, Option<FaultCode>, Option<Vec<u8>>)>;

fn steps(system: &mut dyn System, state: &[u8]) -> Steps {
    let mut out = Successors::new();
    system.successors(state, &mut out);
    out.iter().map(|(step, state)| (step.action, step.fault(), state.map(<[u8]>::to_vec))).collect()
}

/// A random program with native code, both engines, and its initial state, from which states are made by hand.
struct Case {
    program: Arc<Verified>,
    native: Native,
    reference: Interpreter,
    state: Vec<u8>,
    map: StateMap,
}

impl Case {
    fn new(seed: u64) -> Option<Case> {
        let program = Arc::new(testkit::random::verified(seed)?);
        let native = Native::compile(program.clone(), DESCRIBE).ok()?;
        let mut reference = Interpreter::new(program.clone());
        let mut initial = Successors::new();
        reference.initial(&mut initial);
        let state = initial.iter().find_map(|(_, state)| state)?.to_vec();
        let mut map = StateMap::default();
        map.read(program.layout(), &state).expect("the interpreter gives states");
        Some(Case { program, native, reference, state, map })
    }
}

/// No search shows a process in the middle of a deterministic sequence, but a state made by hand can: code for it is made when needed.
#[test]
fn processes_wherever_they_may_stand() {
    let mut inside = 0;
    for seed in 0..60 {
        let Some(Case { program, mut native, mut reference, state, map }) = Case::new(seed) else { continue };
        let graph = stepgraph::StepGraph::of(&program).expect("what has native code has a step graph");
        for process in &map.processes {
            let Shape::Process(ty) = process.shape else { continue };
            for location in (0..program.locations().count(ty)).filter_map(Location::new) {
                let mut moved = state.clone();
                program.layout().processes[ty.index()].set_location(&mut moved[process.offset..], location);
                inside += !graph.rests(ty, location) as usize;
                assert_eq!(steps(&mut native, &moved), steps(&mut reference, &moved), "seed {seed}, {ty:?} at {location:?}");
            }
        }
    }
    assert!(inside > 20, "only {inside} places inside of sequences were tried");
}

/// Where nothing is ever created, code is made for states as long as the initial one; for longer ones made by hand there is other code.
#[test]
fn more_processes_than_a_search_meets() {
    let mut tried = 0;
    for seed in 0..150 {
        let Some(Case { program, mut native, mut reference, state, map }) = Case::new(seed) else { continue };
        if program.program().code.iter().any(|op| matches!(op, Op::Run { .. } | Op::Chnew { .. })) {
            continue;
        }
        let Some(last) = map.processes.last() else { continue };
        let mut longer = state.clone();
        for _ in 0..200 / (state.len() - last.offset) {
            longer.extend_from_slice(&state[last.offset..]);
        }
        assert_eq!(steps(&mut native, &longer), steps(&mut reference, &longer), "seed {seed}");
        assert_eq!(steps(&mut native, &state), steps(&mut reference, &state), "seed {seed}, after a longer state");
        tried += 1;
    }
    assert!(tried > 10, "only {tried} programs create nothing");
}
