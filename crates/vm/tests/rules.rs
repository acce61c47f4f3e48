//! Every rule of the specification is tested on the reference interpreter, and every rule has a
//! test.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use testkit::rules::{Bench, failures};
use vm::Interpreter;

#[test]
fn the_interpreter_keeps_the_rules() {
    // The rule about following states only once is tested with a small number, which is reached
    // quickly; the default is the specification's number.
    assert_eq!(vm::FOLLOW_ONCE_AFTER, 4096);
    let failures = failures(&Bench::new(&|program| Box::new(Interpreter::following_once_after(program, 64))));
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n\n"));
}

#[test]
fn prints_are_told_to_an_observer() {
    // I-PRINT: the format and the values, in order, across the steps of a transition and of both
    // partners. The prints of abandoned paths are not reported.
    let text = "global int x | channel c = [0] of { byte }
        process p() { | LDC 1 | LDC 2 | PRINT \"%d %d\", 2 | STEP I | ELSE a | PRINT \"lost\", 0 | NEX | a: PRINT \"kept\", 0 | LDC c | LDC 5 | SEND 1 | STEP N | NEX | }
        process q() { | LDC c | RECV 1, {}, first | PUSH r0 | PRINT \"got %d\", 1 | STEP N | NEX | }
        start p, q";
    let program = Arc::new(testkit::assembly::verified(text));
    let naive = testkit::naive::Naive::new(program.program());
    let initial = naive.initial_state().expect("little work").state.expect("no fault");
    let told: Vec<Vec<(usize, u16, Vec<i32>)>> = naive
        .outcomes(&initial)
        .expect("little work")
        .into_iter()
        .map(|outcome| outcome.prints.into_iter().map(|print| (print.process, print.format.0, print.values)).collect())
        .collect();
    let format = |text: &str| program.program().formats.iter().position(|format| format == text).expect("it is used") as u16;
    assert_eq!(told, [[(0, format("%d %d"), vec![1, 2]), (0, format("kept"), vec![]), (1, format("got %d"), vec![5])]]);
    assert_eq!(prints(&Interpreter::new(program.clone()), &naive.encode(&initial)), told);
}

/// The events of each transition of a state.
fn prints(interpreter: &Interpreter, state: &[u8]) -> Vec<Vec<(usize, u16, Vec<i32>)>> {
    let printed = |event: &vm::Event| match event {
        vm::Event::Print { process, format, values } => Some((*process, format.0, values.clone())),
        _ => None,
    };
    interpreter
        .explain(state)
        .expect("nobody gives up")
        .iter()
        .map(|explained| explained.history.events().into_iter().filter_map(printed).collect())
        .collect()
}

/// The names of rules in a text: a capital letter, a hyphen, capitals.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_uppercase() || c == '-'));
    words.filter(|word| word.len() > 3 && "MAIESFV".contains(&word[..1]) && word[1..].starts_with('-')).map(str::to_owned).collect()
}

fn texts(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path: PathBuf = entry.path();
        if path.is_dir() {
            texts(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(std::fs::read_to_string(&path).expect("sources are readable"));
        }
    }
}

#[test]
fn every_rule_is_asked_about() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let specification = std::fs::read_to_string(root.join("docs/bytecode.md")).expect("the specification");
    // A rule begins with its name in bold.
    let rules: BTreeSet<String> = specification.split("**").skip(1).step_by(2).flat_map(names).collect();
    assert!(rules.len() > 70, "the rules were not found: {rules:?}");
    let cited: BTreeSet<String> = testkit::rules::cases().flat_map(|case| case.rules.iter().map(|rule| rule.to_string())).collect();
    // The verifier's rules are tested with the verifier.
    let mut verifier = Vec::new();
    for folder in ["crates/bytecode/src", "crates/bytecode/tests"] {
        texts(&root.join(folder), &mut verifier);
    }
    let tested: BTreeSet<String> = verifier.iter().filter(|text| text.contains("#[test]")).flat_map(|text| names(text)).collect();
    let missing: Vec<&String> =
        rules.iter().filter(|rule| if rule.starts_with("V-") { !tested.contains(*rule) } else { !cited.contains(*rule) }).collect();
    assert!(missing.is_empty(), "no test is about {missing:?}");
    let gone: Vec<&String> = cited.difference(&rules).collect();
    assert!(gone.is_empty(), "tests are about rules that do not exist: {gone:?}");
}
