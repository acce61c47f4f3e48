//! The warnings of the linter, and models without warnings.

mod common;

use promela::{LINTS, NoFiles};
use source::SourceMap;
use std::collections::BTreeSet;
use std::path::Path;

/// The names of the warnings about a model, each with the text that is marked.
fn lints(text: &str) -> Vec<(&'static str, String)> {
    let mut map = SourceMap::new();
    let file = map.add("model.pml", text);
    let warnings = promela::lint(&mut map, file, &mut NoFiles, &[]);
    let marked = |warning: promela::Warning| {
        let span = map.shown(warning.diagnostic.span);
        (warning.name, text.get(span.start as usize..span.end as usize).unwrap_or_default().to_owned())
    };
    warnings.into_iter().map(marked).collect()
}

/// Models with exactly one warning, and the text that it marks.
const CASES: &[(&str, &str, &str)] = &[
    ("unused-variable", "x", "byte x;\ninit { skip }"),
    ("unused-variable", "x", "init { byte x; skip }"),
    ("unused-variable", "c", "chan c = [1] of { byte };\ninit { skip }"),
    ("unused-variable", "a", "byte a[3], b;\ninit { b = 1 }"),
    ("unused-label", "L", "init { L: skip }"),
    ("unused-label", "again", "byte x;\ninit { again: x++; if :: x < 3 -> goto done :: else fi; done: skip }"),
    ("unused-process", "P", "proctype P() { skip }\ninit { skip }"),
    ("channel-without-receiver", "c", "chan c = [1] of { byte };\ninit { c!1 }"),
    ("channel-without-sender", "c", "chan c = [1] of { byte };\ninit { byte x; c?x }"),
    ("channel-without-sender", "c", "chan c = [1] of { byte };\ninit { c?1 }"),
    ("assignment-as-guard", "x = 1", "byte x;\ninit { if :: x = 1 -> skip :: x == 2 -> skip fi }"),
    ("assignment-as-guard", "x = 0", "byte x;\ninit { do :: x == 2 -> break :: x = 0 -> skip od }"),
    ("blocked-selection", "if :: x == 1 -> skip fi", "init { byte x; x = 2; if :: x == 1 -> skip fi }"),
    (
        "blocked-selection",
        "if :: x == 1 -> skip :: x + 1 == 3 -> skip fi",
        "init { byte x; x = 2; if :: x == 1 -> skip :: x + 1 == 3 -> skip fi }",
    ),
    ("constant-comparison", "x < 0", "byte x;\ninit { x = 1; x < 0 }"),
    ("constant-comparison", "x == 300", "byte x;\ninit { x = 1; x == 300 }"),
    ("constant-comparison", "(b != 2)", "bit b;\ninit { b = 1; assert(b != 2) }"),
    ("constant-comparison", "(x >= 0)", "init { byte x; x = 1; assert(x >= 0) }"),
    ("constant-comparison", "s > 40000", "short s;\ninit { s = 1; if :: s > 40000 -> skip :: else fi }"),
    ("d-step-blocks", "x == 2", "byte x;\ninit { d_step { x = 1; x == 2 } }"),
    ("d-step-blocks", "c?x", "byte x; chan c = [1] of { byte };\ninit { c!1; d_step { x = 1; c?x } }"),
    ("never-executable", "false", "init { if :: false -> skip :: else fi }"),
    ("never-executable", "0", "init { 0; skip }"),
    ("no-effect", "x = x", "byte x;\ninit { x = x }"),
    ("no-effect", "x == x", "byte x;\ninit { x = 1; x == x }"),
    ("no-effect", "a[1] = a[1]", "byte a[2];\ninit { a[1] = a[1] }"),
    ("trivial-assertion", "(true)", "init { assert(true) }"),
    ("unreachable", "x = 1", "byte x;\ninit { goto done; x = 1; done: skip }"),
    ("unreachable", "x = 2", "byte x;\ninit { do :: x == 1 -> break; x = 2 :: else -> x = 1 od }"),
];

#[test]
fn each_warning_is_given_where_it_belongs() {
    for (name, marked, text) in CASES {
        assert_eq!(lints(text), [(*name, (*marked).to_owned())], "{text}");
    }
    let tested: BTreeSet<&str> = CASES.iter().map(|(name, _, _)| *name).collect();
    let known: BTreeSet<&str> = LINTS.iter().map(|(name, _)| *name).collect();
    assert_eq!(tested, known);
    assert!(CASES.len() >= 25);
}

#[test]
fn what_is_meant_is_not_warned_of() {
    for text in [
        "byte x;\ninit { if :: x == 1 -> skip :: x == 2 -> skip fi }",
        "init { byte x; x = 1; if :: x < 3 -> skip :: x >= 3 -> skip fi }",
        "init { byte x; do :: x < 3 -> x++ :: x == 3 -> break od }",
        "chan c = [1] of { byte };\nproctype P(chan d) { d!1 }\ninit { byte x; run P(c); c?x }",
        "byte _spare;\ninit { skip }",
        "init { end: skip; progress_1: skip; accept: skip }",
        "byte x;\nltl p { <> (x == 0) }\ninit { skip }",
        "byte x;\ninit { goto done; again: x = 1; done: if :: x == 0 -> goto again :: else fi }",
        "active proctype P() { L: skip }\nltl p { <> P@L }",
        "byte x;\ninit { d_step { x == 0; x = 1 } }",
        "byte x;\ninit { if :: x = 1 :: x = 2 fi }",
        "init { assert(false) }",
    ] {
        assert_eq!(lints(text), [], "{text}");
    }
}

#[test]
fn the_classic_models_are_clean() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/promela/classic");
    for entry in std::fs::read_dir(&folder).expect("the models") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a text");
        assert_eq!(lints(&text), [], "{}", path.display());
    }
}
