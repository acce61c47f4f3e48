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
    let marked = |warning: source::Diagnostic| {
        let span = map.shown(warning.span);
        (warning.name.expect("every warning has a name"), text.get(span.start as usize..span.end as usize).unwrap_or_default().to_owned())
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
    ("d-step-blocks", "q!1", "byte x; chan q = [1] of { byte };\ninit { d_step { x = 1; q!1 }; q?x }"),
    ("d-step-blocks", "if :: x == 2 -> skip fi", "byte x;\ninit { d_step { x = 1; if :: x == 2 -> skip fi } }"),
    ("d-step-blocks", "x == 2", "byte x;\ninit { d_step { x = 1; if :: x == 1 -> x = 3; x == 2 :: else fi } }"),
    ("d-step-blocks", "x == 2", "byte x;\ninit { byte i; d_step { for (i : 1 .. 3) { x == 2; x++ } } }"),
    ("value-does-not-fit", "300", "byte x;\ninit { x = 300 }"),
    ("value-does-not-fit", "-1", "init { byte x = -1; x++ }"),
    ("value-does-not-fit", "8", "unsigned u : 3 = 8;\ninit { u++ }"),
    ("value-does-not-fit", "300", "chan c = [1] of { byte };\ninit { byte x; c!300; c?x }"),
    ("value-does-not-fit", "2", "chan c = [1] of { short, bool };\ninit { short x; bool y; c!300,2; c?x,y }"),
    ("value-does-not-fit", "-1", "init { chan c = [1] of { byte }; byte x; c!!-1; c?x }"),
    ("value-does-not-fit", "256", "chan c = [1] of { byte };\ninit { c!1; c?256 }"),
    ("value-does-not-fit", "300", "proctype P(int a; byte b) { a = b }\ninit { run P(300, 300) }"),
    ("value-does-not-fit", "2", "proctype P(bool b) { b = !b }\ninit { byte x; x = run P(2) }"),
    ("value-does-not-fit", "40000", "short a[2];\ninit { a[1] = 40000 }"),
    ("value-does-not-fit", "2", "bool b[2] = { 1, 2 };\ninit { b[0] = 0 }"),
    ("deterministic-process", "P", "active D_proctype P() { skip }"),
    ("division-by-zero", "1 / 0", "byte x;\ninit { x = 1 / 0 }"),
    ("else-never-runs", "x++", "byte x;\ninit { do :: x++ :: else -> break od }"),
    ("else-inside-option", "else", "byte x;\ninit { if :: x == 1; else -> x = 2 fi }"),
    ("else-inside-option", "else", "byte x;\ninit { do :: x == 1 -> x = 0; else -> x = 2 od }"),
    ("few-values", "1, 2", "byte a[3] = { 1, 2 };\ninit { a[0] = 1 }"),
    ("hidden-in-state", "x", "hidden byte x;\ninit { x == 0; x = 1 }"),
    ("late-claim", "xs q", "chan q = [1] of { byte };\ninit { byte x; x = 1; xs q; q!x; q?x }"),
    ("message-fields", "q!1", "chan q = [1] of { byte, byte };\ninit { byte x, y; q!1; q?x, y }"),
    ("mixed-messages", "a == b", "mtype:one = { a }; mtype:two = { b };\ninit { if :: a == b -> skip :: else fi }"),
    ("mixed-messages", "b", "mtype:one = { a }; mtype:two = { b };\ninit { mtype:one m; m = b }"),
    ("mixed-messages", "b", "mtype:one = { a }; mtype:two = { b };\nmtype:one m = b;\ninit { m == a }"),
    ("mixed-messages", "b", "mtype:one = { a }; mtype:two = { b };\ninit { mtype:one m = b; m == a }"),
    ("mixed-messages", "a", "mtype:one = { a }; mtype:two = { b };\nchan q = [1] of { mtype:two };\ninit { q!a; q?b }"),
    (
        "mixed-messages",
        "m",
        "mtype:one = { a }; mtype:two = { b };\nchan q = [1] of { byte, mtype:two };\ninit { mtype:one m; q!1,b; q?1,m }",
    ),
    ("negated-channel-test", "!full(q)", "chan q = [1] of { byte };\ninit { !full(q); q!1; q?_ }"),
    ("own-warning", "#warning take care", "#warning take care\ninit { skip }"),
    ("printed-values", "printf(\"%d\\n\")", "init { printf(\"%d\\n\") }"),
    ("redefined-macro", "#define A 2", "#define A 1\n#define A 2\ninit { assert(A == 2 || false) }"),
    ("standard-input", "STDIN", "chan STDIN;\ninit { byte x; STDIN?x }"),
    ("stray-comment-end", "*/", "init { skip } */"),
    ("structure-value", "t = 1", "typedef T { byte a };\nT t = 1;\ninit { t.a = 1 }"),
    ("unless-in-d-step", "{ x = 2 } unless { x == 3 }", "byte x;\ninit { d_step { x = 1; { x = 2 } unless { x == 3 } } }"),
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
    let wrong = CASES.iter().filter_map(|(name, marked, text)| {
        let found = lints(text);
        (found != [(*name, (*marked).to_owned())]).then(|| format!("{text}\nexpected {name} at {marked}, found {found:?}\n"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Two warnings depend on more than the text of a model: on `-D`, and on embedded C code.
    let mut tested: BTreeSet<&str> = CASES.iter().map(|(name, _, _)| *name).collect();
    tested.extend(["unused-definition", "unmatched-in-state"]);
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
        "byte x;\ninit { d_step { x = 1; if :: x == 2 -> skip :: else fi; do :: x < 3 -> x++ :: x >= 3 -> break od } }",
        "byte x; short s;\ninit { x = 255; s = -32768; x = 0 }",
        "byte x;\ninit { if :: x == 1 -> skip :: byte y; else -> y = 2; x = y fi }",
        "byte x;\ninit { d_step { x == 0 -> if :: x < 3 -> x++ :: else fi } }",
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
