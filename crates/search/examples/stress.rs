//! Repeats whole searches with several workers. Their counts must be those of one worker, and
//! violations must be found at their depth. `cargo run --release -p search --example stress --
//! [RUNS] [THREADS]`

use contract::testing::{Graph, numbers};
use contract::{Safety, Store, System, Verdict};
use search::{Task, breadth_first, depth_first_shared};
use std::process::ExitCode;
use store::{Compact, Plain, stress};

fn counts<S: System + Clone, T: Store>(system: &S, store: &T, threads: usize, shared: bool) -> (u64, u64, Option<usize>) {
    let task = Task { threads, ..Task::new(&Safety { deadlocks: true, faults: true }) };
    let outcome = if shared { depth_first_shared(system, store, &task) } else { breadth_first(system, store, &task) };
    match outcome.verdict {
        Verdict::Violated(violation) => (0, 0, Some(violation.trace.steps.len())),
        _ => (outcome.statistics.states, outcome.statistics.transitions, None),
    }
}

fn check<S: System + Clone>(name: &str, system: &S, runs: usize, threads: usize) -> Result<(), String> {
    let expected = counts(system, &Plain::new(), 1, false);
    for run in 0..runs {
        let got = [
            counts(system, &Plain::new(), threads, false),
            counts(system, &Compact::learning_from(u64::MAX, 2000), threads, false),
            counts(system, &Compact::when_needed(1 << 21), threads, false),
        ];
        if let Some(other) = got.iter().find(|&&got| got != expected) {
            return Err(format!("{name}, run {run}: {other:?}, expected {expected:?}"));
        }
        // The shared depth-first order guarantees the verdict and, without a violation, the counts.
        let shared = counts(system, &Plain::new(), threads, true);
        if (shared.0, shared.1, shared.2.is_some()) != (expected.0, expected.1, expected.2.is_some()) {
            return Err(format!("{name}, run {run}, shared depth-first: {shared:?}, expected {expected:?}"));
        }
    }
    println!("{name}: {expected:?}, {runs} runs");
    Ok(())
}

fn all(runs: usize, threads: usize) -> Result<(), String> {
    let report = stress(runs as u64, threads, 200_000, 1).map_err(|failure| failure.to_string())?;
    println!("stores: {} histories, {} insertions", report.histories, report.insertions);
    for side in [20u64, 35] {
        let grid = numbers(move |n, next| {
            for factor in [1, side, side * side] {
                if n / factor % side + 1 < side {
                    next(n + factor);
                }
            }
        });
        check(&format!("grid {side}"), &grid, runs, threads)?;
    }
    for (seed, degree, ends) in [(1, 2, true), (2, 3, true), (3, 4, true), (4, 8, true), (5, 3, false), (6, 5, false)] {
        let mut graph = Graph::random(seed, 30_000, degree);
        if ends {
            graph.ends.extend(0..30_000);
        }
        check(&format!("random {seed}"), &graph, runs, threads)?;
    }
    check("cube", &numbers(|n, next| (0..16).for_each(|bit| next(n ^ 1 << bit))), runs, threads)?;
    check(
        "ladder",
        &numbers(|n, next| {
            if n < 40_000 {
                next(n + 1);
                next(n ^ 3)
            }
        }),
        runs,
        threads,
    )
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).map(|word| word.parse().unwrap_or(1));
    let (runs, threads) = (words.next().unwrap_or(10), words.next().unwrap_or(4));
    match all(runs, threads) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
