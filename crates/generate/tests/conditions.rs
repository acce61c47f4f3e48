//! Tests of pieces of a program that are made from their conditions: right pieces pass, and one
//! that has another outcome than the model, breaks its condition, crashes or does not end is found.

mod common;

use common::{Folder, generate, has};
use std::process::Command;

/// Builds the tests of a text and runs them: whether they pass, and what they print.
fn tested(name: &str, text: &str) -> Option<(bool, String)> {
    if !has("cc") || !has("make") {
        testkit::passed_over("no C compiler");
        return None;
    }
    let made = generate(text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let folder = Folder::new(name);
    folder.write(&made);
    let out = Command::new("make").args(["-s", "CFLAGS=-O1", "test"]).current_dir(&folder.0).output().expect("make");
    let said = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    Some((out.status.success(), said))
}

/// A process with one pair, the model's piece first; the program's is on the seventh line.
fn pair(model: &str, program: &str, conditions: &str) -> String {
    pairs(&[(model, program, conditions)])
}

/// A process for each pair; the program's pieces are on the lines 7, 11, 15 and so on.
fn pairs(all: &[(&str, &str, &str)]) -> String {
    let mut text = "c_decl_IS { static int calls; static int next(void) { return calls++; } };\n\n\nbyte shared;\n".to_owned();
    for (number, (model, program, conditions)) in all.iter().enumerate() {
        text.push_str(&format!(
            "active proctype P{number}() {{ int x, y; bool ok;\n\tpromela_MS {{ {model} }};\n\tc_code_IS {{ {program} }}; {conditions}\n\tx = 0 }}\n"
        ));
    }
    text
}

#[test]
fn right_pieces_pass() {
    let cases = [
        ("if :: x = 0 :: x = 1 fi", "x = next() % 2;", "ensures_IS { x == 0 || x == 1 };"),
        ("x = y / 2", "x = y; x /= 2;", "requires_IS { y >= 0 }; ensures_IS { 2 * x <= y };"),
        ("if :: y > 3 -> ok = true :: else -> ok = false fi", "ok = !(y <= 3);", "ensures_IS { ok == (y > 3) };"),
        ("do :: x > 0 -> x = x - 1 :: else -> break od", "x = 0;", "requires_IS { x >= 0 && x < 20 }; ensures_IS { x <= old(x) };"),
        ("shared = shared + 1", "shared++;", "requires_IS { shared < 200 }; ensures_IS { shared == old(shared) + 1 };"),
        ("select (x : 3 .. 5)", "x = 3 + next() % 3;", "ensures_IS { x >= 3 };"),
    ];
    let Some((passed, said)) = tested("right", &pairs(&cases)) else { return };
    assert!(passed && said.matches("inputs, right").count() == cases.len(), "{said}");
}

#[test]
fn wrong_pieces_are_found() {
    let cases = [
        // Figure 15 of the thesis: the model has two outcomes, and the program four.
        ("if :: x = 0 :: x = 1 fi", "x = next() % 4;", "requires_IS { 1 };", "no outcome of the model"),
        ("if :: x = 0 :: x = 1 fi", "x = next() % 4;", "ensures_IS { x <= 1 };", "does not ensure"),
        ("if :: x = 0 :: x = 9 fi", "x = 0;", "ensures_IS { x <= 1 };", "an outcome of the model does not satisfy"),
        ("x = y + 1", "x = y;", "requires_IS { y > 0 && y < 100 };", "no outcome of the model"),
        ("x = 1", "x = 1 / (y - y);", "requires_IS { y > 0 };", "the piece crashes"),
        ("x = 1", "x = *(volatile int *) 8;", "requires_IS { y > 0 };", "the piece crashes"),
        ("x = 1", "for (volatile int stay = 1; stay;) ; x = 1;", "requires_IS { y > 0 };", "the piece does not end"),
        ("x = 1", "x = 1;", "requires_IS { y > 0 && y < 0 };", "no values were found"),
        ("x = 1", "x = 1;", "ensures_IS { x == 1 };", "inputs, right"),
    ];
    let all: Vec<(&str, &str, &str)> = cases.iter().map(|(model, program, conditions, _)| (*model, *program, *conditions)).collect();
    let Some((passed, said)) = tested("wrong", &pairs(&all)) else { return };
    assert!(!passed);
    // One that crashes ends nothing else.
    for (number, (_, program, _, wanted)) in cases.iter().enumerate() {
        let place = format!("model.pch:{}:", 7 + 4 * number);
        let line = said.lines().find(|line| line.starts_with(&place)).unwrap_or_else(|| panic!("{place} in {said}"));
        assert!(line.contains(wanted), "{program}: {line}");
    }
}

#[test]
fn conditions_are_in_neither_side() {
    let made = generate(&pair("x = 1", "x = 1;", "requires_IS { y > 4321 }; ensures_IS { x == 1 };")).expect("right");
    assert!(!made.promela.contains("4321") && !made.promela.contains("requires"), "{}", made.promela);
    assert!(!made.file("P0.c").contains("4321"), "{}", made.file("P0.c"));
    assert!(made.file("Makefile").contains("test: tests"));
    // Without conditions and outcomes there are no tests.
    let made = generate(&pair("skip", "next();", "")).expect("right");
    assert!(!made.files.iter().any(|(name, _)| name == "tests.c"));
    let errors = generate("active proctype P() { skip; requires_IS { 1 }; skip }").err().expect("wrong");
    assert!(errors.iter().any(|error| error.contains("behind the piece")), "{errors:?}");
}

/// Figure 15 as it is printed: the model chooses through a process of its environment.
#[test]
fn outcomes_through_a_channel_are_followed() {
    let text = |piece: &str, conditions: &str| {
        format!(
            "env proctype rand_ms(chan res)\n{{ if :: res!0 :: res!1 fi }}\nc_decl_IS {{\n\\#include <stdlib.h>\n}};\n#define RAND(var) promela_MS {{ run rand_ms(res); res?var; }}; \
             c_code_IS {{ var = {piece}; }}; {conditions}\nactive proctype A()\n{{ int x; promela_MS {{ chan res = [1] of {{ int }}; }}\n RAND(x) printf(\"%d\\n\", x) }}\n"
        )
    };
    for (number, conditions) in ["", "ensures_IS { var >= 0 };"].into_iter().enumerate() {
        let Some((passed, said)) = tested(&format!("figure15-{number}"), &text("rand() % 4", conditions)) else { return };
        assert!(!passed && said.contains("no outcome of the model"), "{said}");
        let Some((passed, said)) = tested(&format!("figure15-right-{number}"), &text("rand() % 2", conditions)) else { return };
        assert!(passed && said.contains("inputs, right"), "{said}");
    }
}

#[test]
fn pieces_without_conditions_are_tried_if_they_only_compute() {
    let text = "c_decl_IS {\n\\#include <stdlib.h>\nstatic int pick(void) { return rand() % 3; }\nstatic int harm(void) { return system(\"touch harm\"); }\n};\n\
                active proctype A() { int x;\n promela_MS { if :: x = 0 :: x = 1 fi };\n c_code_IS { x = rand() % 3; };\n\
                promela_MS { x = 1 };\n c_code_IS { x = system(\"touch harm\"); };\n skip }";
    let Some((passed, said)) = tested("every-pair", text) else { return };
    assert!(!passed && said.contains("model.pch:8:") && said.contains("no outcome of the model"), "{said}");
    assert!(said.contains("model.pch:10:") && said.contains("not tried"), "{said}");
}
