//! Features of the language that make steps depend on each other. For each feature, all choices in
//! its models are examined by brute force. For a feature without reduction, the test checks that
//! there is none.

mod common;

use contract::{Successors, System};
use reduction::{Examined, Examiner, Stubborn};
use std::collections::HashSet;
use std::sync::Arc;
use vm::Interpreter;

/// The number of states of a model that are examined, and of states that are explored from one
/// choice.
const MOST_STATES: usize = 400;
const FROM_ONE_CHOICE: usize = 150;

/// The feature, a part of the names of its models, the least number of models (that are reduced, if
/// it has a reduction), and whether it has a reduction.
const FEATURES: &[(&str, &str, usize, bool)] = &[
    ("exclusive use of channels", "language/exclusive", 1, true),
    ("rendezvous", "language/rendezvous", 5, true),
    ("timeout", "language/timeout", 2, true),
    ("priorities", "language/priorit", 3, false),
    ("provided", "language/provided", 1, true),
    ("unless", "language/unless", 6, true),
    ("processes that start others", "language/processes_recursive", 1, true),
    ("the number of a new process", "language/death", 2, true),
    ("channels in messages", "language/channel_in_message", 1, true),
    ("channels of processes", "language/channel_dies", 1, true),
    ("atomic sequences", "language/atomic", 9, true),
    ("deterministic steps", "language/d_step", 6, true),
    ("enabled", "language/enabled", 3, false),
    ("the process that moved last", "language/last", 9, false),
    ("remote references", "language/remote", 2, true),
];

#[test]
fn every_choice_keeps_its_promise() {
    let models = common::models();
    for &(feature, pattern, least, reduced) in FEATURES {
        let mut count = 0;
        for (name, program) in models.iter().filter(|(name, _)| name.contains(pattern)) {
            let reduction = Stubborn::of(program);
            count += usize::from(reduction.is_ok() == reduced);
            if let Ok(reduction) = reduction {
                assert!(reduced, "{name}: reduced in spite of {feature}");
                examine(name, program, &reduction);
            }
        }
        assert!(count >= least, "{feature}: {count} models");
    }
}

fn examine(name: &str, program: &Arc<bytecode::Verified>, reduction: &Stubborn) {
    let mut system = Interpreter::new(Arc::clone(program));
    let mut out = Successors::new();
    system.initial(&mut out);
    let mut open: Vec<Vec<u8>> = out.iter().filter_map(|(_, state)| state.map(<[u8]>::to_vec)).collect();
    let mut seen: HashSet<Vec<u8>> = open.iter().cloned().collect();
    while let Some(state) = open.pop() {
        let examined = Examiner::new(&mut system, reduction, program.layout().exclusive, FROM_ONE_CHOICE).examine(&state);
        assert!(matches!(examined, Ok(Examined::Whole | Examined::Kept { .. })), "{name}: {examined:?}");
        out.clear();
        system.successors(&state, &mut out);
        for next in out.iter().filter_map(|(_, next)| next) {
            if seen.len() < MOST_STATES && seen.insert(next.to_vec()) {
                open.push(next.to_vec());
            }
        }
    }
}
