//! Properties of a model in its program: formulas over atoms, claims as automata.

mod common;

use bytecode::{AtomId, EdgeLabel, Program, PropertyBody};
use common::{compile_text, findings, verified};

fn program(text: &str) -> Program {
    let (map, compiled) = compile_text(text);
    verified(&map, compiled).program().clone()
}

/// The formula of a property in assembly.
fn formula(text: &str) -> String {
    let assembly = bytecode::asm::disassemble(&program(text));
    let line = assembly.lines().find_map(|line| line.trim().strip_prefix("formula "));
    line.expect("a formula").trim_matches('"').to_owned()
}

/// The lines of the first claim of a model, without origins.
fn claim(text: &str) -> Vec<String> {
    let assembly = bytecode::asm::disassemble(&program(text));
    let lines =
        assembly.lines().skip_while(|line| !line.starts_with("never ") && !line.starts_with("trace ") && !line.starts_with("notrace "));
    let inside = lines.skip(1).take_while(|line| *line != "}").map(str::trim).filter(|line| !line.starts_with(".line"));
    inside.map(str::to_owned).collect()
}

const P: &str = "byte x, y; chan q = [2] of { byte, byte }; active proctype P() { byte z; at: do :: x < 3 -> x++ :: else -> x = 0 od }\n";

fn with(text: &str) -> String {
    format!("{P}{text}")
}

#[test]
fn formulas_speak_of_atoms_by_their_text() {
    assert_eq!(formula(&with("ltl p { [] (x <= 3 -> <> (y == 0)) }")), "[] ('x <= 3' -> <> 'y == 0')");
    assert_eq!(formula(&with("ltl p { (x) U true && !(x == 1) }")), "((x U true) && ! 'x == 1')");
    assert_eq!(formula(&with("ltl p { <> P[0]@at && [] (P:z == 0) && len(q) <= 2 && q?[1,2] }")).matches('\'').count(), 8);
    // Equal expressions give one atom.
    let twice = program(&with("ltl p { [] (x == 1) } ltl q { <> (x == 1) }"));
    assert_eq!((twice.atoms.len(), twice.properties.len()), (1, 2));
    let origin = twice.properties[1].origin.as_ref().expect("an origin");
    assert_eq!((origin.line, origin.column, origin.text.as_str()), (2, 27, "<> (x == 1)"));
    let span = twice.span_at(twice.atoms[0].start).expect("a place");
    assert_eq!((span.line, span.text.as_str()), (2, "x == 1"));
}

#[test]
fn claims_are_automata() {
    let lines = claim(&with("never { do :: x == 1 -> break :: else od; accept: do :: y == 0 od }"));
    assert!(lines.iter().any(|line| line.starts_with("state 'accept ") && line.ends_with("' accept")), "{lines:?}");
    assert!(lines.iter().any(|line| line.ends_with(" when 'x == 1'")) && lines.iter().any(|line| line.ends_with(" else")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with("exit")), "it never ends: {lines:?}");
    // The end of a claim, an assertion in it, an atomic sequence, an escape.
    let lines = claim(&with("never { atomic { x == 1; assert(y == 0) }; { skip } unless { x == 2 } }"));
    assert!(lines.iter().any(|line| line.ends_with(" when 'x == 1' atomic")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains(" assert 'y == 0'")), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("exit ") && line.ends_with(" rank 1")), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("exit ") && line.ends_with(" when 'x == 2'")), "{lines:?}");
}

#[test]
fn traces_are_automata_over_events() {
    let program = program(&with("trace { do :: q!1,_ ; q?x,2 od }"));
    let PropertyBody::Trace(automaton) = &program.properties[0].kind else { panic!("a trace") };
    let events: Vec<_> = automaton.edges.iter().filter_map(|edge| edge.label.event().map(|event| (&edge.label, event))).collect();
    assert!(matches!(events[0].0, EdgeLabel::Send(_)) && matches!(events[1].0, EdgeLabel::Receive(_)), "{events:?}");
    let name = |atom: &Option<AtomId>| atom.map(|atom| program.atoms[atom.index()].name.as_str());
    assert_eq!(events[0].1.fields.iter().map(name).collect::<Vec<_>>(), [Some("1"), None]);
    assert_eq!(events[1].1.fields.iter().map(name).collect::<Vec<_>>(), [None, Some("2")]);
    assert_eq!(program.atoms[events[0].1.channel.index()].name, "q");
}

#[test]
fn what_no_property_can_say_is_refused_at_its_place() {
    for (text, message) in [
        ("ltl p { [] (_pid == 0) }", "`_pid` has no meaning in a property"),
        ("ltl p { <> (run P() == 1) }", "`run` has no meaning in a property"),
        ("never { x = 1 }", "a `never` claim must not change anything"),
        ("never { q?x,y }", "a `never` claim must not change anything"),
        ("never { byte z; skip }", "a `never` automaton has no variables of its own"),
        ("never { d_step { x == 1; x == 2 } }", "a `d_step` in a `never` automaton"),
        ("trace { x == 1 }", "this is not an event of a `trace` automaton"),
        ("ltl p { [] (x == 0) } ltl p { [] (x == 1) }", "another property is called `p`"),
    ] {
        let found = findings(&with(text));
        assert!(found.contains(message) && found.contains("model.pml:2:"), "{text}: {found}");
    }
}
