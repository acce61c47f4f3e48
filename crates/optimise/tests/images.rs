//! Cutting parts that are not needed changes nothing else: the state graph of the smaller program
//! is that of the original one with states replaced by their images, step by step.

mod common;

use bytecode::Verified;
use contract::{Successors, System};
use optimise::{Goal, Optimised, Passes};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use vm::Interpreter;

/// Programs with more states are left out.
const MOST_STATES: usize = 1500;

/// A step: process, fault and target.
type Step = (u32, Option<String>, Option<Vec<u8>>);

/// The states of a program, each with its steps; nothing if there are too many.
fn graph(program: &Arc<Verified>) -> Option<HashMap<Vec<u8>, BTreeSet<Step>>> {
    let mut system = Interpreter::new(Arc::clone(program));
    let mut out = Successors::new();
    system.initial(&mut out);
    let mut open: Vec<Vec<u8>> = out.iter().filter_map(|(_, state)| state.map(<[u8]>::to_vec)).collect();
    let mut graph = HashMap::new();
    while let Some(state) = open.pop() {
        if graph.contains_key(&state) {
            continue;
        }
        out.clear();
        system.successors(&state, &mut out);
        let mut steps = BTreeSet::new();
        for (entry, next) in out.iter() {
            let kind = entry.fault().map(|fault| program_fault(&system, fault));
            steps.insert((entry.action.process, kind, next.map(<[u8]>::to_vec)));
            open.extend(next.map(<[u8]>::to_vec));
        }
        graph.insert(state, steps);
        if graph.len() > MOST_STATES {
            return None;
        }
    }
    Some(graph)
}

fn program_fault(system: &Interpreter, fault: contract::FaultCode) -> String {
    format!("{:?}", system.describe_fault(fault).kind)
}

/// Compares the two graphs; returns their numbers of states.
fn compare(name: &str, program: &Arc<Verified>) -> Option<(usize, usize)> {
    let passes = Passes { unused: true, ..Passes::default() };
    let optimised = Optimised::of(program, Goal::Faults, passes).ok()?;
    let full = graph(program)?;
    let smaller = graph(&optimised.program)?;
    let image = |state: &[u8]| optimised.image(state);
    let mut images: HashMap<Vec<u8>, BTreeSet<Step>> = HashMap::new();
    for (state, steps) in &full {
        let steps: BTreeSet<Step> = steps.iter().map(|(who, fault, next)| (*who, fault.clone(), next.as_deref().map(image))).collect();
        let same = images.entry(image(state)).or_insert_with(|| steps.clone());
        assert_eq!(*same, steps, "{name}: states with the same image differ");
    }
    assert_eq!(
        images,
        smaller,
        "{name}\n{}\n{}",
        bytecode::asm::disassemble(program.program()),
        bytecode::asm::disassemble(optimised.program.program())
    );
    Some((full.len(), smaller.len()))
}

#[test]
fn the_smaller_graph_is_made_of_images() {
    let (mut compared, mut full, mut smaller) = (0, 0, 0);
    let mut one = |name: &str, program: &Arc<Verified>| {
        if let Some((before, after)) = compare(name, program) {
            compared += 1;
            full += before;
            smaller += after;
        }
    };
    for (name, program) in common::models() {
        one(&name, &program);
    }
    for seed in 0..300 {
        if let Some(program) = testkit::random::verified(seed) {
            one(&format!("byte-code {seed}"), &Arc::new(program));
        }
        let text = testkit::promela_gen::model(seed).text();
        if let Some(program) = languages::testing::promela(&text) {
            one(&format!("model {seed}\n{text}"), &program);
        }
    }
    println!("{compared} programs, {smaller} states of {full}");
    assert!(compared > 250 && smaller < full, "{compared}: {smaller} of {full}");
}
