//! Properties are translated into automata.

mod common;

use bytecode::{EdgeLabel, PropertyBody};
use common::compile;
use lf::Options;

fn automaton(declarations: &str, property: &str) -> bytecode::Automaton {
    let text = format!("MODULE M; {declarations} PROPERTY Q; {property} END Q; BEGIN END M.");
    let program = compile(&text, &[], Options::default()).unwrap_or_else(|why| panic!("{why}"));
    match &program.program().properties[0].kind {
        PropertyBody::Never(automaton) => automaton.clone(),
        other => panic!("{other:?}"),
    }
}

/// Figure 7 of the thesis: two states that are visited for ever, one of them accepting.
#[test]
fn figure_7() {
    let found = automaton(
        "VAR p : BOOLEAN;",
        "VAR s : INTEGER;
         BEGIN
           WHILE TRUE DO
             IF s = 0 THEN CHOICE s := 0 OR IF (p) THEN s := 1; ACCEPT ELSE s := 0 END END
             ELSIF s = 1 THEN RESCHEDULE; s := 0
             END
           END",
    );
    let accepting: Vec<bool> = found.states.iter().map(|state| state.kind.accept).collect();
    assert_eq!(accepting.iter().filter(|accept| **accept).count(), 1, "{found:?}");
    // After p was seen, the accepting state is left for the one in which p is awaited again.
    let accept = accepting.iter().position(|accept| *accept).expect("an accepting state") as u32;
    let leaving: Vec<_> = found.edges.iter().filter(|edge| edge.source == accept).collect();
    assert!(leaving.iter().all(|edge| edge.label == EdgeLabel::True && edge.target != Some(accept)), "{found:?}");
    assert!(found.edges.iter().any(|edge| edge.target == Some(accept) && matches!(edge.label, EdgeLabel::When(_))));
}

#[test]
fn no_move_ends_a_way_and_an_assertion_is_a_violation() {
    let found = automaton("VAR n : INTEGER;", "BEGIN WHILE TRUE DO IF n = 3 THEN NOMOVE END; ASSERT n < 5; RESCHEDULE END");
    // The property stays where it is, or finds the violation; at three it does not move.
    assert!(found.edges.iter().all(|edge| matches!(edge.label, EdgeLabel::When(_))), "{found:?}");
    assert_eq!(found.edges.iter().filter(|edge| edge.target.is_none()).count(), found.states.len(), "{found:?}");
}

#[test]
fn what_properties_cannot_do() {
    for (property, part) in [
        ("VAR x : INTEGER; BEGIN x := n END", "keeps no values"),
        ("BEGIN n := 1 END", "only its own"),
        ("BEGIN WHILE TRUE DO END END", "has no end"),
        ("VAR x : INTEGER; BEGIN WHILE TRUE DO INC(x); RESCHEDULE END END", "states"),
        ("BEGIN c!s END", "cannot do this"),
    ] {
        let text = format!("MODULE M; TYPE C = [s]; PORT c : C; VAR n : INTEGER; PROPERTY Q; {property} Q; BEGIN END M.");
        let why = compile(&text, &[], Options::default()).expect_err("a refusal");
        assert!(why.contains(part), "{why}");
    }
}

/// The first action of a property takes no time before its first question, but a later return to
/// its beginning does.
#[test]
fn a_choice_ends_an_action_wherever_it_began() {
    // The property is at its beginning again, with the same values. It stops before the CHOICE.
    let found = automaton(
        "VAR n : INTEGER;",
        "VAR s : INTEGER; BEGIN WHILE TRUE DO s := 0; CHOICE s := 1 OR IF n = 1 THEN ACCEPT END END; RESCHEDULE; s := 0 END",
    );
    let questions = |state: u32| found.edges.iter().filter(|edge| edge.source == state && matches!(edge.label, EdgeLabel::When(_))).count();
    let after_reschedule = found.edges.iter().find(|edge| edge.source == 0 && edge.label == EdgeLabel::True).and_then(|edge| edge.target);
    assert!(questions(0) > 0 && questions(after_reschedule.expect("a state")) == 0, "{found:?}");
}

#[test]
fn values_of_properties_fit_their_variables() {
    for (property, part) in [
        ("VAR s : INT8; BEGIN WHILE TRUE DO s := INT8(s + 100); RESCHEDULE END", "no value"),
        ("VAR s : UINT8; BEGIN WHILE TRUE DO INC(s, 100); RESCHEDULE END", "does not fit"),
        ("VAR s : INTEGER; BEGIN IF 1 DIV s = 1 THEN RESCHEDULE END", "no value"),
        ("VAR s : INTEGER; m : SET; BEGIN s := 40; INCL(m, s)", "no value"),
        ("VAR a : ARRAY 2 OF INTEGER; s : INTEGER; BEGIN s := 2; a[s] := 1", "outside the array"),
    ] {
        let text = format!("MODULE M; VAR n : INTEGER; PROPERTY Q; {property} END Q; BEGIN END M.");
        let why = compile(&text, &[], Options::default()).expect_err("a refusal");
        assert!(why.contains(part), "{why}");
    }
    for property in [
        "VAR s : INTEGER; BEGIN IF (s # 0) & (1 DIV s = 1) THEN ASSERT FALSE END",
        "VAR a, b : ARRAY 2, 2 OF INTEGER; BEGIN a[1, 1] := 3; b := a; a[0] := b[1]; ASSERT a[0, 1] + b[1, 1] = 6",
        "VAR m : SET; s : INTEGER; BEGIN s := 3; m := {s .. 5}; INCL(m, s - 1); ASSERT (m = {2 .. 5}) & ~(6 IN m)",
        "VAR i : UINT8; s : INTEGER; BEGIN FOR i := 250 TO 255 DO INC(s) END; ASSERT (s = 6) & (i = 255)",
        "VAR s : INTEGER; BEGIN REPEAT INC(s) UNTIL s = 5; ASSERT s = 5",
    ] {
        let found = automaton("VAR n : INTEGER;", property);
        assert!(found.edges.iter().all(|edge| edge.target.is_some()), "{property}: {found:?}");
    }
}
