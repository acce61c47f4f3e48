//! Several formulas in one search: each has the verdict that it has alone.

use bytecode::Verified;
use check::{Cycles, Fair, Plan};
use contract::{Cancel, Judged, Quiet, Verdict};
use languages::{Input, NoFiles};
use std::sync::Arc;

const MODEL: &str = "byte x, y; bool b;
active proctype P() { do :: x < 3 -> x++ :: x == 3 -> x = 0; b = !b od }
active proctype Q() { do :: y < 2 -> y++ :: y == 2 && x == 2 -> y = 0 od }
";

/// Formulas of all classes: some hold, some do not.
const FORMULAS: [&str; 14] = [
    "[](x <= 3)",
    "[](y <= 2)",
    "[](x < 3)",
    "[](x == 3 -> <>(x == 0))",
    "[](x == 3 -> <>(x != 3))",
    "[](y == 2 -> <>(y == 0))",
    "<>(x == 3)",
    "<>(y == 2)",
    "[]<>(x == 0)",
    "<>[](y == 2)",
    "(x == 0) U (x == 1)",
    "[](b -> []b)",
    "[]((x == 0) -> ((x < 2) W (x == 2)))",
    "[](y == 1 -> (y == 1 U (y == 2 || x == 7)))",
];

fn program(formulas: &[&str]) -> Arc<Verified> {
    let mut text = MODEL.to_owned();
    for (number, formula) in formulas.iter().enumerate() {
        text += &format!("ltl f{number} {{ {formula} }}\n");
    }
    let source = Input { name: "model.pml", bytes: text.as_bytes(), defines: &[], formulas: &[], files: &mut NoFiles };
    let loaded = languages::load(source).unwrap_or_else(|r| panic!("{}", source::render_all(&r.map, &r.diagnostics)));
    Arc::new(loaded.model.into_program().expect("a program"))
}

fn judged(formulas: &[&str], plan: &Plan) -> Vec<Judged> {
    let checked = check::run(&program(formulas), plan, &Cancel::default(), &Quiet).expect("a sound plan");
    checked.properties.into_iter().filter(|judged| !judged.property.kind.is_safety()).collect()
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Violated(_) => "violated",
        Verdict::Unknown(_) => "unknown",
    }
}

#[test]
fn each_formula_has_the_verdict_it_has_alone() {
    for (cycles, threads, fairness) in [
        (Cycles::Components, 1, Fair::Any),
        (Cycles::Components, 2, Fair::Any),
        (Cycles::Nested, 1, Fair::Any),
        (Cycles::Components, 1, Fair::Weak),
    ] {
        let plan = Plan { cycles, threads, fairness, ..Plan::check() };
        let alone: Vec<&str> = FORMULAS.iter().map(|formula| word(&judged(&[formula], &plan)[0].verdict)).collect();
        assert!(alone.contains(&"holds") && alone.contains(&"violated"));
        assert!(!alone.contains(&"unknown"));
        let mut shared = 0;
        // All of them, and each with its neighbours at some distance.
        let mut groups: Vec<Vec<usize>> = vec![(0..FORMULAS.len()).collect()];
        groups.extend(
            (0..FORMULAS.len()).flat_map(|first| [1, 3, 4].map(|step| (0..3).map(|i| (first + i * step) % FORMULAS.len()).collect())),
        );
        for group in groups {
            let formulas: Vec<&str> = group.iter().map(|&number| FORMULAS[number]).collect();
            let found = judged(&formulas, &plan);
            let words: Vec<&str> = found.iter().map(|judged| word(&judged.verdict)).collect();
            assert_eq!(words, group.iter().map(|&number| alone[number]).collect::<Vec<_>>(), "{formulas:?}");
            for one in &found {
                assert!(one.statistics.as_ref().is_some_and(|own| own.states > 0));
                // A trace belongs to the formula that it violates.
                if let Verdict::Violated(violation) = &one.verdict {
                    assert!(violation.fault.message.contains(&one.property.name), "{}", violation.fault.message);
                }
            }
            shared += found.iter().filter(|judged| !judged.together.is_empty()).count();
        }
        assert!(shared > 0);
    }
}

#[test]
fn formulas_that_hold_share_one_search() {
    let plan = Plan { threads: 1, ..Plan::check() };
    let holding = ["[](x <= 3)", "[](y <= 2)", "[](x + y <= 5)"];
    let states = |judged: &Judged| judged.statistics.as_ref().expect("a search").states;
    let (alone, found) = (states(&judged(&holding[..1], &plan)[0]), judged(&holding, &plan));
    let others: Vec<usize> = found.iter().map(|judged| judged.together.len()).collect();
    assert_eq!(others, [2, 2, 2]);
    assert!(found.iter().all(|judged| judged.verdict == Verdict::Holds && states(judged) == alone));
    // A formula with *next* is searched alone, and so is one that begins to accept at once.
    let found = judged(&["[](x <= 3)", "[](y <= 2)", "[](x == 1 -> X(x <= 2))", "<>(x == 3)"], &plan);
    let others: Vec<usize> = found.iter().map(|judged| judged.together.len()).collect();
    assert_eq!(others, [1, 1, 0, 0]);
}

#[test]
fn what_a_run_does_not_violate_is_searched_again() {
    let plan = Plan { threads: 1, ..Plan::check() };
    let found = judged(&["[](x <= 3)", "[](x < 3)", "[](y <= 2)", "[](y < 2)"], &plan);
    let words: Vec<&str> = found.iter().map(|judged| word(&judged.verdict)).collect();
    assert_eq!(words, ["holds", "violated", "holds", "violated"]);
}
