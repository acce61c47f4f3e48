//! The naive evaluator satisfies the rules, and each of its mutants breaks one.

use std::sync::Arc;
use testkit::compare::{Comparison, compare_with};
use testkit::naive::{Limits, Mutant, Naive};
use testkit::random;
use testkit::rules::{Bench, cases, failures};

/// Limits that a test can reach.
const SMALL: Limits = Limits { merge: 64, work: 200_000, recursion: 400 };

#[test]
fn the_naive_evaluator_keeps_the_rules() {
    let failures = failures(&Bench::new(&|program| Box::new(Naive::new(program.program()).with_limits(SMALL))));
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n\n"));
}

#[test]
fn every_mutant_is_noticed() {
    let mut survivors = Vec::new();
    for &(mutant, rule) in Mutant::ALL {
        let make = move |program: Arc<bytecode::Verified>| -> Box<dyn contract::System> {
            Box::new(Naive::mutated(program.program(), Some(mutant)).with_limits(SMALL))
        };
        let bench = Bench::new(&make);
        // A case about this rule must detect the mutant, not some other one by accident.
        let noticed = cases().filter(|case| case.rules.contains(&rule)).any(|case| (case.check)(&bench).is_err());
        if !noticed {
            survivors.push(format!("{mutant:?} ({rule})"));
        }
    }
    assert!(survivors.is_empty(), "no case notices {}", survivors.join(", "));
}

#[test]
fn random_programs_notice_mutants() {
    // Not all mutants: some need a program that is rarely generated. If these are not detected, the
    // generator has lost variety.
    let mutants = [
        Mutant::BigEndian,
        Mutant::NewestMessageFirst,
        Mutant::JumpsNotFollowed,
        Mutant::StoresWithoutTruncating,
        Mutant::NdetBackwards,
        Mutant::UnlessTakesBoth,
        Mutant::RetFallsThrough,
        Mutant::NoPrologue,
        Mutant::EnabledNests,
        Mutant::FullChannelsLose,
        Mutant::PeeksReceiveOffers,
        Mutant::UnansweredOffersSucceed,
        Mutant::LaterClaimsWin,
        Mutant::AnyProcessMayEnd,
        Mutant::AtomicGivesNoPrivilege,
        Mutant::BlockedKeepsThePrivilege,
        Mutant::DeterministicTriesAll,
        Mutant::OnlyTheFirstAnswers,
        Mutant::PrivilegeIsNeverLost,
        Mutant::TimeoutGoesOn,
        Mutant::PrioritiesIgnored,
        Mutant::EndlessInvisibleIsBlocked,
        Mutant::LastFaultIsCarried,
    ];
    let programs: Vec<_> = (0..300).filter_map(random::verified).collect();
    for mutant in mutants {
        let noticed = programs.iter().any(|program| {
            let rules = Naive::new(program.program());
            let mut mutated = Naive::mutated(program.program(), Some(mutant));
            matches!(compare_with(&rules, &mut mutated, 25), Comparison::Different(_))
        });
        assert!(noticed, "no random program notices {mutant:?}");
    }
}
