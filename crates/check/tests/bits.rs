//! Tests a series of runs over bit arrays: runs find states that others overlook, the first
//! violation ends the series, and it can be saved in any of its runs.

use bytecode::Verified;
use check::{Checked, Checkpoints, Order, Plan, StoreKind, Surroundings};
use contract::{BitArray, Cancel, Limits, Quiet, StopReason, Verdict};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Three counters, and an assertion about their sum.
fn model(limit: u32, wrong: u32) -> Arc<Verified> {
    let text = format!(
        "int sum;\nactive [3] proctype C() {{ byte n; do :: n < {limit} -> n++; sum++ :: else -> break od; assert(sum != {wrong}) }}\n"
    );
    languages::testing::promela(&text).expect("a good model")
}

/// Runs over an array that is small for so many states.
fn plan(runs: u32) -> Plan {
    let limits = Limits { memory: Some(800 << 10), ..Limits::default() };
    Plan { order: Order::Depth, store: StoreKind::Bits, bit_functions: 1, bit_runs: runs, limits, ..Plan::check() }
}

fn run(wrong: u32, runs: u32) -> (Checked, BitArray) {
    let plan = plan(runs);
    let checked = check::run(&model(20, wrong), &plan, &Cancel::default(), &Quiet).expect("a sound plan");
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

/// Takes a checkpoint from time to time, and keeps all of them.
#[derive(Default)]
struct Album {
    asked: AtomicU64,
    saved: Mutex<Vec<Vec<u8>>>,
}

impl Checkpoints for Album {
    fn due(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) % 150 == 149
    }

    fn save(&self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut bytes = Vec::new();
        write(&mut bytes)?;
        self.saved.lock().expect("nobody panics").push(bytes);
        Ok(())
    }
}

/// The parts of a result that do not depend on time.
fn essence(checked: &Checked) -> Checked {
    let mut checked = checked.clone();
    let statistics = &mut checked.outcome.statistics;
    (statistics.elapsed, statistics.search_bytes) = Default::default();
    for statistics in checked.properties.iter_mut().filter_map(|judged| judged.statistics.as_mut()) {
        (statistics.elapsed, statistics.search_bytes) = Default::default();
    }
    checked
}

#[test]
fn a_series_is_resumed_from_any_of_its_runs() {
    let model = model(12, 1_000);
    for order in [Order::Depth, Order::Breadth] {
        let plan = Plan { order, ..plan(2) };
        let album = Album::default();
        let surroundings = Surroundings { checkpoints: Some(&album), ..Surroundings::default() };
        let whole = check::run_in(&model, &plan, &surroundings).expect("a sound plan");
        let saved = album.saved.into_inner().expect("nobody panics");
        assert!(saved.len() > 3, "{} checkpoints", saved.len());
        let array = whole.outcome.statistics.omission.as_ref().and_then(|omission| omission.bits.as_ref()).expect("numbers of the array");
        assert!(array.runs.len() == 2 && array.runs[0] != array.runs[1], "each must overlook others, or this shows little: {array:?}");
        // The array has its old size, even if a new one would be larger.
        let roomier = Limits { memory: Some(3 << 20), ..plan.limits };
        let other = Plan { limits: roomier, bit_functions: 5, ..plan };
        for bytes in &saved {
            let resumed = check::resume(&model, &other, &Surroundings::default(), &mut &bytes[..]).expect("a good checkpoint");
            assert_eq!(essence(&resumed), essence(&whole));
        }
        let too_little = Plan { limits: Limits { memory: Some(300 << 10), ..plan.limits }, ..plan };
        let refused = check::resume(&model, &too_little, &Surroundings::default(), &mut &saved[0][..]);
        assert!(matches!(refused, Err(check::ResumeError::Checkpoint(check::CheckpointError::Full(_)))), "{refused:?}");
    }
}
