//! A series of runs over bit arrays: what one overlooks another finds, and the first violation ends it.

use bytecode::Verified;
use check::{Checked, Order, Plan, StoreKind};
use contract::{BitArray, Cancel, Limits, Quiet, StopReason, Verdict};
use languages::{NoFiles, Source};
use std::sync::Arc;

/// Three counters, and an assertion about their sum.
fn model(wrong: u32) -> Arc<Verified> {
    let text =
        format!("int sum;\nactive [3] proctype C() {{ byte n; do :: n < 20 -> n++; sum++ :: else -> break od; assert(sum != {wrong}) }}\n");
    let source = Source { name: "model.pml", bytes: text.as_bytes(), defines: &[], files: &mut NoFiles };
    Arc::new(languages::load(source).expect("a good model").program)
}

/// Runs over an array that is small for so many states.
fn run(wrong: u32, runs: u32) -> (Checked, BitArray) {
    let limits = Limits { memory: Some(800 << 10), ..Limits::default() };
    let plan = Plan { order: Order::Depth, store: StoreKind::Bits, bit_functions: 1, bit_runs: runs, limits, ..Plan::check() };
    let checked = check::run(&model(wrong), &plan, &Cancel::default(), &Quiet).expect("a sound plan");
    let array = checked.outcome.statistics.omission.clone().and_then(|omission| omission.bits).expect("numbers of the array");
    (checked, array)
}

#[test]
fn every_run_counts() {
    let (checked, array) = run(1_000, 4);
    assert_eq!(checked.outcome.verdict, Verdict::Unknown(StopReason::LossyStore));
    assert_eq!((array.functions, array.runs.len()), (1, 4));
    let most = array.runs.iter().copied().max().expect("runs");
    assert_eq!(checked.outcome.statistics.states, most, "the run that found the most is told");
    assert!(array.union > most, "{array:?}");
}

#[test]
fn a_violation_ends_the_series() {
    let (checked, array) = run(25, 6);
    assert!(matches!(checked.outcome.verdict, Verdict::Violated(_)));
    assert!(array.runs.len() < 6);
}
