//! The temporal models of the project: the verdict of each property is what the header says,
//! whatever engine, store and search for cycles.
//!
//! A header has lines `// expect [progress] [weak|strong]: name=verdict …`.

use bytecode::Verified;
use check::{Cycles, Engine, Fair, Plan, StoreKind, Subject};
use contract::{Cancel, Judged, Quiet, StopReason, Verdict};
use std::collections::BTreeMap;
use std::sync::Arc;

fn program(name: &str, text: &str) -> Arc<Verified> {
    languages::testing::compile(name, text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn verdicts(subject: &dyn Subject, plan: &Plan) -> BTreeMap<String, Verdict> {
    let checked = check::run(subject, plan, &Cancel::default(), &Quiet).expect("a sound plan");
    let temporal = checked.properties.into_iter().filter(|judged| !judged.property.kind.is_safety());
    temporal.map(|Judged { property, verdict, .. }| (property.name, verdict)).collect()
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Violated(_) => "violated",
        Verdict::Unknown(_) => "unknown",
    }
}

#[test]
fn every_model_has_the_verdicts_its_header_says() {
    let results = testkit::in_parallel(&testkit::models::texts("promela/temporal", &["pml"]), |(name, text)| {
        let mut compared = 0;
        let mut wrong = Vec::new();
        let program = program(name, text);
        for line in text.lines().filter_map(|line| line.strip_prefix("// expect")) {
            let (how, expected) = line.split_once(':').unwrap_or_else(|| panic!("{name}: {line}"));
            let fairness = if how.contains("weak") { Fair::Weak } else { Fair::Any };
            let fairness = if how.contains("strong") { Fair::Strong } else { fairness };
            let plan = Plan { fairness, non_progress: how.contains("progress"), ..Plan::check() };
            let expected: BTreeMap<String, String> =
                expected.split_whitespace().filter_map(|pair| pair.split_once('=')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
            for (engine, store, cycles, threads) in [
                (Engine::Native, StoreKind::Auto, Cycles::Components, 1),
                (Engine::Native, StoreKind::Plain, Cycles::Components, 2),
                (Engine::Interpreter, StoreKind::Compact, Cycles::Components, 2),
                (Engine::Native, StoreKind::Plain, Cycles::Nested, 1),
                (Engine::Native, StoreKind::Auto, Cycles::Young, 2),
                (Engine::Interpreter, StoreKind::Compact, Cycles::Nested, 1),
            ] {
                let fair = cycles == Cycles::Components;
                if !fair && fairness != Fair::Any {
                    continue;
                }
                // Several workers begin at once, although the models are small.
                let alone = if threads > 1 { 0 } else { plan.alone };
                let found = verdicts(&program, &Plan { engine, store, cycles, threads, alone, ..plan });
                let told: BTreeMap<String, String> = found.iter().map(|(name, verdict)| (name.clone(), word(verdict).to_owned())).collect();
                compared += told.len();
                if told != expected {
                    wrong.push(format!("{name}{how} {engine} {store} {cycles}: {told:?}, expected {expected:?}"));
                }
            }
        }
        (compared, wrong)
    });
    let compared: usize = results.iter().map(|(compared, _)| compared).sum();
    let wrong: Vec<String> = results.into_iter().flat_map(|(_, wrong)| wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 80, "{compared}");
}

/// With a store of hashes, a search for cycles finds violations but never says *holds*.
#[test]
fn a_store_that_may_overlook_states_finds_only() {
    let text = "byte x; active proctype P() { do :: x = 1 - x od }\nltl a { [] <> (x == 1) }\nltl b { <> [] (x == 1) }\n";
    let found = verdicts(&program("p.pml", text), &Plan { store: StoreKind::Hashes, ..Plan::check() });
    assert_eq!(found["a"], Verdict::Unknown(StopReason::LossyStore));
    assert!(matches!(found["b"], Verdict::Violated(_)));
}

/// Combinations that cannot look for cycles are refused, unless a finite run decides the property.
#[test]
fn what_cannot_look_for_cycles_is_refused() {
    let with = |formula: &str| {
        program("p.pml", &format!("byte x; active proctype P() {{ do :: x < 2 -> x++ :: else -> x = 0 od }}\nltl f {{ {formula} }}\n"))
    };
    let run =
        |formula: &str, plan: &Plan| check::run(&with(formula), plan, &Cancel::default(), &Quiet).map(|checked| checked.outcome.verdict);
    for (store, cycles, fairness) in [
        (StoreKind::Bits, Cycles::Components, Fair::Any),
        (StoreKind::Hashes, Cycles::Nested, Fair::Any),
        (StoreKind::Plain, Cycles::Nested, Fair::Weak),
        (StoreKind::Plain, Cycles::Young, Fair::Strong),
        (StoreKind::Compact, Cycles::Young, Fair::Any),
    ] {
        let plan =
            Plan { store, cycles, fairness, limits: contract::Limits { memory: Some(64 << 20), ..Default::default() }, ..Plan::check() };
        assert!(run("[] <> (x == 1)", &plan).is_err(), "{plan:?}");
        assert!(matches!(run("[] (x < 2)", &plan), Ok(Verdict::Violated(_))), "{plan:?}");
    }
}

/// A proposition that cannot be evaluated is reported as an error of the property.
#[test]
fn a_proposition_can_fail() {
    let text = "byte x; active proctype P() { do :: x < 5 -> x++ :: else -> x = 0 od }\nltl f { [] (10 / (x - 3) < 100) }\n";
    for engine in [Engine::Native, Engine::Interpreter] {
        let found = verdicts(&program("p.pml", text), &Plan { engine, ..Plan::check() });
        let Verdict::Violated(violation) = &found["f"] else { panic!("{:?}", found["f"]) };
        assert!(violation.fault.message.contains("division by zero in `f`"), "{:?}", violation.fault);
        assert_eq!(violation.trace.steps.len(), 6);
    }
}

fn judged(text: &str, plan: &Plan) -> Judged {
    let checked = check::run(&program("p.pml", text), plan, &Cancel::default(), &Quiet).expect("a sound plan");
    checked.properties.into_iter().find(|judged| !judged.property.kind.is_safety()).expect("a temporal property")
}

/// The report says how the workers searched, which also depends on what one worker has met.
#[test]
fn the_report_says_how_workers_searched() {
    let text = "short n; active proctype P() { do :: n < 3000 -> n++ :: else -> n = 1000 od }\n\
                ltl f { [] (n == 1500 -> <> [] (n == 1)) }\n";
    let search = |threads, alone| judged(text, &Plan { threads, alone, ..Plan::check() }).search;
    assert_eq!(search(1, 0), Some("components"));
    assert_eq!(search(2, 0), Some("in two stages, shared by two workers"));
    // No accepting edge is among the first states.
    let breadth = Some("breadth first, one way catch them young, shared by workers");
    assert_eq!(search(2, 1), breadth);
    assert_eq!(search(3, 0), breadth);
}

/// The store `auto` compresses the states of a search for cycles when memory is used up.
#[test]
fn memory_that_is_used_up_makes_states_smaller() {
    let text = "byte a, b; int m[200]; active proctype P() { do :: a < 150 -> a++; m[a % 50] = a :: else -> break od }\n\
                active proctype Q() { do :: b < 150 -> b++ :: else -> break od }\nltl f { <> [] (a == 150 && b == 150) }\n";
    let with = |store, memory| {
        let limits = contract::Limits { memory, ..contract::Limits::default() };
        judged(text, &Plan { store, limits, cycles: Cycles::Components, ..Plan::check() }).verdict
    };
    assert_eq!(with(StoreKind::Auto, None), Verdict::Holds);
    let memory = (20..30).map(|bits| 1 << bits).find(|&memory| {
        let too_little = with(StoreKind::Plain, Some(memory)) == Verdict::Unknown(StopReason::Memory);
        too_little && with(StoreKind::Compact, Some(memory)) == Verdict::Holds
    });
    let memory = memory.expect("enough memory for compressed states, and not for whole ones");
    assert_eq!(with(StoreKind::Auto, Some(memory)), Verdict::Holds);
}

/// A never claim that does not count steps is searched with the reduction and the passes, and one
/// that counts them is not.
#[test]
fn a_claim_that_ignores_repetition_is_reduced() {
    let model = "byte x, y; bool done; active [2] proctype P() { byte i; do :: i < 3 -> i++; x = x + i - i :: else -> break od; done = true }\n\
                 active proctype Q() { byte i; do :: i < 5 -> i++ :: else -> break od; y = 1 }\n";
    let settled = "never { T0: do :: done && !y -> goto accept :: true od; accept: do :: done && !y od }\n";
    let formula = "ltl f { ! <> [] (done && !y) }\n";
    let counting = "never { T0: if :: !y -> goto T1 fi; T1: if :: !y -> goto T0 :: y -> goto accept fi; accept: do :: true od }\n";
    let run = |property: &str, por| {
        let passes = if por == check::Por::On { check::Passes::ALL } else { check::Passes::default() };
        let text = format!("{model}{property}");
        let plan = Plan { por, passes, ..Plan::check() };
        let checked = check::run(&program("p.pml", &text), &plan, &Cancel::default(), &Quiet).expect("a sound plan");
        let judged = checked.properties.into_iter().find(|judged| !judged.property.kind.is_safety()).expect("a temporal property");
        let states = judged.statistics.as_ref().map_or(0, |statistics| statistics.states);
        (word(&judged.verdict), states, checked.reduced_for.into_iter().map(|(_, reduced)| reduced).next())
    };
    let (whole, reduced) = (run(settled, check::Por::Off), run(settled, check::Por::On));
    assert_eq!((whole.0, reduced.0, &reduced.2), ("holds", "holds", &Some(check::Reduced::Yes)));
    assert!(reduced.1 < whole.1, "{reduced:?} {whole:?}");
    assert_eq!((run(formula, check::Por::On).0, run(formula, check::Por::Off).0), ("holds", "holds"));
    let (whole, reduced) = (run(counting, check::Por::Off), run(counting, check::Por::On));
    assert_eq!(whole.0, reduced.0);
    assert!(matches!(reduced.2, Some(check::Reduced::Not(_))), "{reduced:?}");
}
