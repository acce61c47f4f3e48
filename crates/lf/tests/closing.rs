//! Open programs, closed by an environment.

mod common;

use common::{compile, explore};
use lf::{Options, Values};

/// A door that opens for the right number and closes on request. No process uses it.
const DOOR: &str = "MODULE Door;
TYPE Panel = [key(INT8), close, lamp(BOOLEAN)];
PORT panel : Panel;
VAR open : BOOLEAN;

PROCESS Control;
VAR n : INT8;
BEGIN
  WHILE TRUE DO
    panel?key(n);
    IF n = 3 THEN open := TRUE; panel!lamp(TRUE); panel?close; open := FALSE; panel!lamp(FALSE) END;
    n := 0
  END
END Control;

BEGIN
  NEW(panel); CREATE Control
END Door.
";

fn closed(text: &str, close: Values) -> String {
    let mut loader = |_: &str, _: &str| Err("there are no files here".to_owned());
    lf::closed("test.lf", text, &mut loader, Options { close: Some(close), ..Options::default() }).expect("it can be closed")
}

fn reaches(text: &str, close: Option<Values>) -> bool {
    // A false assertion shows that the door was opened.
    let text = text.replace("open := TRUE", "open := TRUE; ASSERT FALSE");
    let program = compile(&text, &[], Options { close, ..Options::default() }).expect("it compiles");
    !explore(&program).faults.is_empty()
}

#[test]
fn an_open_program_deadlocks_and_a_closed_one_does_not() {
    let graph = |close| explore(&compile(DOOR, &[], Options { close, ..Options::default() }).expect("it compiles"));
    assert_eq!(graph(None).deadlocks, 1);
    for close in [Values::Some(2), Values::Some(5), Values::Any] {
        let graph = graph(Some(close));
        assert_eq!(graph.deadlocks, 0, "{close:?}");
        assert!(graph.states > 5, "{close:?}: {graph:?}");
    }
}

#[test]
fn the_environment_is_text_that_compiles_to_the_same() {
    for close in [Values::Some(2), Values::Some(4)] {
        let text = closed(DOOR, close);
        assert!(text.contains("panel!key(v0)") && text.contains("panel?lamp(v0)") && text.contains("panel!close"), "{text}");
        let own = explore(&compile(&text, &[], Options::default()).expect("it compiles"));
        let added = explore(&compile(DOOR, &[], Options { close: Some(close), ..Options::default() }).expect("it compiles"));
        assert_eq!((own.states, own.transitions), (added.states, added.transitions));
    }
}

#[test]
fn values_are_tried_or_decide_nothing() {
    assert!(!reaches(DOOR, Some(Values::Some(2))), "the number 3 is not among the first two");
    assert!(reaches(DOOR, Some(Values::Some(4))));
    // A condition that depends on the environment alone can be true and false, without trying
    // values.
    assert!(reaches(DOOR, Some(Values::Any)));
    // A condition over a variable that also depends on one of the program's own is computed.
    let own = DOOR.replace("IF n = 3", "IF n + m = 3").replace("VAR n : INT8;", "VAR n, m : INT8;");
    assert!(!reaches(&own, Some(Values::Any)));
}

#[test]
fn a_device_driver_is_closed_through_its_ports() {
    let text = "MODULE Reader; IMPORT SYSTEM; VAR x : INTEGER;\nBEGIN NEW(SYSTEM.Interrupt1); SYSTEM.Interrupt1?INTERRUPT; PORTIN(1, x); ASSERT x < 2 END Reader.\n";
    let graph = explore(&compile(text, &[], Options { close: Some(Values::Some(2)), ..Options::default() }).expect("it compiles"));
    assert_eq!((graph.deadlocks, graph.faults.len()), (0, 0), "{graph:?}");
    let graph = explore(&compile(text, &[], Options { close: Some(Values::Some(3)), ..Options::default() }).expect("it compiles"));
    assert_eq!(graph.faults, ["Assertion"], "{graph:?}");
}

#[test]
fn what_cannot_be_chosen_is_refused() {
    let text = "MODULE A; TYPE C = [m(ARRAY 2 OF INT8)]; PORT p : C; VAR a : ARRAY 2 OF INT8;\nBEGIN NEW(p); p?m(a) END A.\n";
    let why = compile(text, &[], Options { close: Some(Values::Any), ..Options::default() }).expect_err("it is refused");
    assert!(why.contains("cannot choose"), "{why}");
}
