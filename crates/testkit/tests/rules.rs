//! The naive evaluator keeps the rules, and each of its mutants breaks one.

use testkit::naive::{Limits, Mutant, Naive};
use testkit::rules::{Bench, cases, failures};

/// Limits that a test can reach.
const SMALL: Limits = Limits { deterministic: 300, invisible: 300, merge: 64, work: 200_000, recursion: 400 };

#[test]
fn the_naive_evaluator_keeps_the_rules() {
    let failures = failures(&Bench::with_limits(&|program| Box::new(Naive::new(program.program()).with_limits(SMALL)), SMALL));
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n\n"));
}

#[test]
fn every_mutant_is_noticed() {
    let mut survivors = Vec::new();
    for &(mutant, rule) in Mutant::ALL {
        let make = move |program: std::sync::Arc<bytecode::Verified>| -> Box<dyn contract::System> {
            Box::new(Naive::mutated(program.program(), Some(mutant)).with_limits(SMALL))
        };
        let bench = Bench::with_limits(&make, SMALL);
        // A case about the very rule must notice, not some other one by accident.
        let noticed = cases().filter(|case| case.rules.contains(&rule)).any(|case| (case.check)(&bench).is_err());
        if !noticed {
            survivors.push(format!("{mutant:?} ({rule})"));
        }
    }
    assert!(survivors.is_empty(), "no case notices {}", survivors.join(", "));
}
