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
