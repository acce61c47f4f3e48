//! Native code gives the same successors as the reference interpreter, in the same order, state by
//! state.

use bytecode::{Location, Op, Shape, StateMap, Verified};
use contract::{Action, FaultCode, Successors, System};
use jit::{Native, Selection};
use std::sync::Arc;
use testkit::compare::Extent;
use testkit::large::Family;
use vm::Interpreter;

/// Code for everything, for two locations of three, for one of three, for none.
const SELECTIONS: [Selection; 4] = [
    |_, _| true,
    |ty, location| !(ty.index() + location.index()).is_multiple_of(3),
    |ty, location| (ty.index() + location.index()).is_multiple_of(3),
    |_, _| false,
];

/// How much was compared, or the first state in which the two differ, with their successors.
fn difference(program: &Arc<Verified>, most: usize, selection: Selection) -> Result<Extent, String> {
    let asked = testkit::engines::propositions(program);
    let mut native = Native::selected(program.clone(), selection).map_err(|error| error.to_string())?.watching(Arc::clone(&asked));
    native.wait();
    let mut reference = Interpreter::new(program.clone()).watching(asked);
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
        let selection = SELECTIONS[if seed % 2 == 0 { 0 } else { seed as usize / 2 % 4 }];
        match difference(&Arc::new(program.clone()), 150, selection) {
            Ok(compared) => all.states += compared.states,
            Err(_) => {
                let smaller = testkit::shrink::shrink(program.program(), 2000, &mut |candidate| {
                    difference(&Arc::new(candidate.clone()), 150, selection).is_err()
                });
                let text = bytecode::asm::disassemble(&smaller);
                let verified = bytecode::verify(smaller).expect("shrinking keeps programs verified");
                let why = difference(&Arc::new(verified), 150, selection).expect_err("still different");
                panic!("seed {seed}:\n{text}\n{why}");
            }
        }
    }
    assert!(count < 300 || all.states > 1000, "the programs had only {} states together", all.states);
}

/// The successors of a state: action, fault and target.
type Steps = Vec<(Action, Option<FaultCode>, Option<Vec<u8>>)>;

fn steps(system: &mut dyn System, state: &[u8]) -> Steps {
    let mut out = Successors::new();
    system.successors(state, &mut out);
    out.iter().map(|(step, state)| (step.action, step.fault(), state.map(<[u8]>::to_vec))).collect()
}

/// A random program with native code, both engines, and its initial state, from which states are
/// made by hand.
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
        let native = Native::compile(program.clone()).expect("native code for this machine");
        let mut reference = Interpreter::new(program.clone());
        let mut initial = Successors::new();
        reference.initial(&mut initial);
        let state = initial.iter().find_map(|(_, state)| state)?.to_vec();
        let mut map = StateMap::default();
        map.read(program.layout(), &state).expect("the interpreter gives states");
        Some(Case { program, native, reference, state, map })
    }
}

/// In a search no process is in the middle of a deterministic sequence, but in a state made by hand
/// it can be. There is no code for it.
#[test]
fn processes_wherever_they_may_stand() {
    let mut inside = 0;
    for seed in 0..60 {
        let Some(Case { program, mut native, mut reference, state, map }) = Case::new(seed) else { continue };
        for process in &map.processes {
            let Shape::Process(ty) = process.shape else { continue };
            let resting = stepgraph::resting(&program, ty);
            for location in (0..program.locations().count(ty)).filter_map(Location::new) {
                let mut moved = state.clone();
                program.layout().processes[ty.index()].set_location(&mut moved[process.offset..], location);
                inside += !resting[location.index()] as usize;
                assert_eq!(steps(&mut native, &moved), steps(&mut reference, &moved), "seed {seed}, {ty:?} at {location:?}");
            }
        }
    }
    assert!(inside > 20, "only {inside} places inside of sequences were tried");
}

/// If a program creates nothing, its code is made for states as long as the initial one, and not
/// for longer ones made by hand.
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

/// Atoms about other processes, some of which end, about channels and arrays, and one that has no
/// value in some states.
const ATOMS: &str = "byte g; byte a[3]; chan c = [2] of { byte };
active proctype A() { byte i; do :: i < 5 -> i++; c!i; a[i % 3] = i :: else -> break od }
active proctype B() { byte x, n; do :: n < 5 -> c?x; n++; g = x; here: skip :: else -> break od }
ltl first { [] (A[0]:i + B[1]:n <= len(c) + a[1]) }
ltl second { [] !(B[1]@here && g / (g - 2) > 1) }
ltl third { [] (B[1]@here -> A[0]:i > 2) }
";

/// The values of atoms in all states of a batch, one by one and together, with and without code.
#[test]
fn values_of_batches() {
    let program = languages::testing::compile("atoms.pml", ATOMS, &[]).unwrap_or_else(|error| panic!("{error}"));
    let all: Vec<u32> = (0..program.program().atoms.len() as u32).collect();
    assert!(all.len() >= 4, "{} atoms", all.len());
    let (mut valued, mut faulty) = (0, 0);
    for selection in SELECTIONS {
        let mut native = Native::selected(program.clone(), selection).expect("native code for this machine");
        native.wait();
        let mut reference = Interpreter::new(program.clone());
        let mut batch = Successors::new();
        reference.initial(&mut batch);
        for _ in 0..40 {
            let states: Vec<Vec<u8>> = batch.iter().filter_map(|(_, state)| Some(state?.to_vec())).take(40).collect();
            for atoms in std::iter::once(&all[..]).chain(all.chunks(1)).chain([&[][..]]) {
                let (mut known, mut found, mut single) = (Vec::new(), Vec::new(), Vec::new());
                let answer = reference.values_of_all(&batch, atoms, &mut known);
                assert_eq!(native.values_of_all(&batch, atoms, &mut found), answer);
                if answer.is_err() {
                    faulty += 1;
                    continue;
                }
                assert_eq!(found, known);
                assert_eq!(found.len(), batch.len() * atoms.len());
                batch.iter().filter_map(|(_, state)| state).for_each(|state| {
                    assert_eq!(native.values(state, atoms, &mut single), Ok(()));
                });
                assert_eq!(single, known);
                valued += known.len();
            }
            batch.clear();
            states.iter().for_each(|state| reference.successors(state, &mut batch));
        }
    }
    assert!(valued > 1000 && faulty > 0, "{valued} values, {faulty} faults");
}

fn large(family: Family, instructions: usize) -> Arc<Verified> {
    languages::testing::compile(family.file_name(), &family.text(instructions), &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// Programs whose functions are divided into parts. Nothing is left to the interpreter, and the
/// successors are the same.
#[test]
fn large_programs() {
    for family in Family::ALL {
        let program = large(family, 30_000);
        let size = program.program().code.len();
        assert!((20_000..45_000).contains(&size), "{} has {size} instructions", family.name());
        let mut native = Native::compile(program.clone()).expect("native code for this machine");
        let progress = native.wait();
        assert_eq!((progress.translated, progress.left_out), (progress.total, 0), "{}", family.name());
        let mut reference = Interpreter::new(program.clone());
        let compared = testkit::engines::compare(&mut reference, &mut native, 60);
        compared.unwrap_or_else(|difference| panic!("{}: {difference}", family.name()));
    }
}

/// When a search ends, its code is no longer made: the thread ends after the last system is
/// dropped.
#[test]
fn translation_ends_with_its_last_holder() {
    let program = large(Family::Body, 100_000);
    let native = Native::selected(program.clone(), |_, _| true).expect("native code for this machine");
    let other = native.clone();
    drop(native);
    drop(other);
    // The thread holds the program as long as it runs.
    while Arc::strong_count(&program) > 1 {
        std::thread::yield_now();
    }
}

/// Code is made up to a budget. The interpreter does the rest, with the same successors.
#[test]
fn code_has_a_budget() {
    let mut left_out = 0;
    for family in Family::ALL {
        let program = large(family, 30_000);
        let mut native = Native::within(program.clone(), |_, _| true, 20_000).expect("native code for this machine");
        let progress = native.wait();
        assert_eq!(progress.translated + progress.left_out, progress.total, "{}", family.name());
        assert!(progress.translated > 0, "{}: {progress:?}", family.name());
        left_out += progress.left_out;
        let compared = testkit::engines::compare(&mut Interpreter::new(program.clone()), &mut native, 60);
        compared.unwrap_or_else(|difference| panic!("{}: {difference}", family.name()));
    }
    assert!(left_out > 100, "{left_out} locations were left out");
    for seed in 0..60 {
        let Some(program) = testkit::random::verified(seed).map(Arc::new) else { continue };
        let mut native = Native::within(program.clone(), |_, _| true, 3_000).expect("native code for this machine");
        native.wait();
        let compared = testkit::engines::compare(&mut Interpreter::new(program), &mut native, 60);
        compared.unwrap_or_else(|difference| panic!("seed {seed}: {difference}"));
    }
}
