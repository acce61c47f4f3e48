//! Open programs, closed by an environment.

mod common;

use common::{compile, compile_with, explore, explore_within};
use lf::{Options, Values};
use testkit::lf::Program;

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
    // So can one that also depends on a variable of the program's own,
    let own = DOOR.replace("VAR n : INT8;", "VAR n, m : INT8;");
    assert!(reaches(&own.replace("IF n = 3", "IF n + m = 3"), Some(Values::Any)));
    // but a part of it that does not depend on the environment is computed.
    assert!(!reaches(&own.replace("IF n = 3", "IF (n = 3) & (m = 1)"), Some(Values::Any)));
    assert!(!reaches(&own.replace("IF n = 3", "IF (m = 1) & (n = 3)"), Some(Values::Any)));
    assert!(!reaches(&own.replace("IF n = 3", "IF ~((n = 3) OR (m = 0))"), Some(Values::Any)));
    assert!(reaches(&own.replace("IF n = 3", "IF (n = 3) OR (m = 1)"), Some(Values::Any)));
}

/// A process that receives numbers, Booleans, sets and characters from the environment.
fn server(body: &str) -> String {
    format!(
        "MODULE Server;
TYPE T = [cmd(INTEGER), small(UINT8), flag(BOOLEAN), set(SET), char(CHAR)]; I = [put(INTEGER)]; R = RECORD f, g : INTEGER END;
PORT p : T; q : I;
VAR n, g : INTEGER; a : ARRAY 4 OF INTEGER;
PROCESS Sub(v : INTEGER; VAR o : INTEGER); BEGIN IF v > 3 THEN o := 1 ELSE o := 0 END END Sub;
PROCESS Made(k : INTEGER); BEGIN IF k = 5 THEN ASSERT FALSE END END Made;
PROCESS Passed(k : INTEGER); VAR z : INTEGER; BEGIN q?put(z); IF z = 5 THEN ASSERT FALSE END END Passed;
PROCESS S; VAR x, y, z, i : INTEGER; u : UINT8; w : INT8; b : BOOLEAN; st : SET; ch : CHAR; r, r2 : R; t, t2 : ARRAY 3 OF INTEGER;
BEGIN WHILE TRUE DO {body} END END S;
BEGIN NEW(p); NEW(q); CREATE S END Server."
    )
}

/// The faults of a closed program, with a deadlock as one of them; or why it is refused.
fn wrong(text: &str, close: Values) -> Result<Vec<String>, String> {
    let program = compile(text, &[], Options { close: Some(close), ..Options::default() })?;
    let graph = explore_within(&program, 20_000).unwrap_or_else(|| panic!("too many states, {close:?}: {text}"));
    let deadlock = (graph.deadlocks > 0).then(|| "deadlock".to_owned());
    Ok(graph.faults.into_iter().chain(deadlock).collect())
}

/// Whatever is decided by a value of the environment is found with any values: each of these
/// violations needs a value that the environment does not send there.
#[test]
fn any_values_reach_what_some_values_reach() {
    for (body, fault) in [
        ("p?cmd(x); ASSERT x # 5", "Assertion"),
        ("p?cmd(x); IF x = 5 THEN ASSERT FALSE END", "Assertion"),
        ("p?cmd(x); IF (x > 2) & (g = 0) THEN ASSERT FALSE END", "Assertion"),
        ("p?cmd(x); IF (x = 1) OR (g = 3) THEN ASSERT FALSE END", "Assertion"),
        ("p?cmd(x); IF (g = 3) OR (x = 1) THEN ASSERT FALSE END", "Assertion"),
        ("p?cmd(x); IF x > 5 THEN g := 0 ELSIF ~(x < 3) THEN ASSERT FALSE END", "Assertion"),
        ("p?cmd(x); a[x] := 1", "IndexOutOfRange"),
        ("p?cmd(x); a[g] := x; ASSERT a[1] = 0; IF a[0] = 3 THEN ASSERT FALSE END", "Assertion"),
        ("p?cmd(x); y := a[x]", "IndexOutOfRange"),
        ("p?small(u); a[u MOD 4] := 1; IF a[2] = 1 THEN ASSERT FALSE END; a[2] := 0", "Assertion"),
        ("p?cmd(x); y := 10 DIV (x - 4)", "DivisionByZero"),
        ("p?cmd(x); y := 10 MOD (x - 4)", "DivisionByZero"),
        ("p?cmd(x); u := UINT8(x * 100)", "Other(\"overflow\")"),
        ("p?cmd(x); FOR i := 0 TO x DO INC(n) END; ASSERT n < 4; n := 0", "Assertion"),
        ("p?cmd(x); FOR i := x TO 5 DO INC(n) END; ASSERT n < 4; n := 0", "Assertion"),
        ("p?cmd(x); FOR i := 0 TO x DO RESCHEDULE; ASSERT i < 4 END", "Assertion"),
        ("p?cmd(x); FOR u := 250 TO x + 255 DO RESCHEDULE END; u := 0", "Other(\"overflow\")"),
        ("p?cmd(x); WHILE x > 0 DO DEC(x); INC(n) END; ASSERT n < 4; n := 0", "Assertion"),
        ("p?cmd(x); REPEAT INC(n) UNTIL n >= x; ASSERT n < 4; n := 0", "Assertion"),
        ("p?cmd(x); WHILE x > 0 DO RESCHEDULE; DEC(x); INC(w) END; ASSERT w < 4; w := 0", "Assertion"),
        ("p?cmd(5); ASSERT FALSE", "Assertion"),
        ("p?cmd(5); g := 1", "deadlock"),
        ("SELECT WHEN p?cmd(x) & x > 0 THEN ASSERT FALSE END", "Assertion"),
        ("SELECT WHEN p?cmd(x) & x > 0 THEN g := 1 - g END", "deadlock"),
        ("SELECT WHEN p?cmd(x) & x > 0 THEN IF x = 5 THEN ASSERT FALSE END WHEN p?flag(b) THEN g := 1 - g END", "Assertion"),
        ("p?cmd(x); SELECT WHEN p?cmd(y) & y = x + 3 THEN ASSERT FALSE END", ""),
        ("p?flag(b); SELECT WHEN p?cmd(y) & (b & (y = 3)) THEN ASSERT FALSE END", "Assertion"),
        ("p?cmd(x); y := x; n := y + 1; IF n = 5 THEN ASSERT FALSE END", "Assertion"),
        ("p?cmd(x); Sub(x, y); IF y = 1 THEN ASSERT FALSE END", "Assertion"),
        ("p?cmd(x); Sub(x, t[1]); IF t[1] = 1 THEN ASSERT FALSE END", "Assertion"),
        ("p?cmd(x); IF x > 2 THEN y := 1 ELSE y := 0 END; ASSERT y = 0", "Assertion"),
        ("p?cmd(x); b := x = 5; IF b THEN ASSERT FALSE END", "Assertion"),
        ("IF g = 0 THEN g := 1; p?cmd(x); CREATE Made(x) ELSE RESCHEDULE END", "Assertion"),
        ("IF g = 0 THEN g := 1; p?cmd(x); CREATE Passed(1); q!put(x) ELSE RESCHEDULE END", "Assertion"),
        ("p?cmd(x); r.f := x; r2 := r; IF r2.f = 5 THEN ASSERT FALSE END", "Assertion"),
        ("p?cmd(x); t[1] := x; t2 := t; IF t2[1] = 5 THEN ASSERT FALSE END", "Assertion"),
        ("p?cmd(x); INCL(st, x + 30); st := {}", "Other(\"no element of a set\")"),
        ("p?small(u); INCL(st, u MOD 8); IF 5 IN st THEN ASSERT FALSE END; st := {}", "Assertion"),
        ("p?set(st); ASSERT st # {0}", "Assertion"),
        ("p?char(ch); ASSERT ch < 4X", "Assertion"),
        ("p?flag(b); ASSERT ~b", "Assertion"),
    ] {
        let text = server(body);
        // The last of the values must be enough to show it without the abstraction.
        let some = wrong(&text, Values::Some(6)).unwrap_or_else(|why| panic!("{body}: {why}"));
        assert!(fault.is_empty() || some.iter().any(|found| found == fault), "{body}: {some:?}");
        match wrong(&text, Values::Any) {
            Ok(any) => assert!(some.iter().all(|found| any.contains(found)), "{body}: {some:?}, and with any values {any:?}"),
            Err(why) => assert!(fault.is_empty() && why.contains("--close=N"), "{body}: {why}"),
        }
    }
}

/// What does not depend on the environment keeps its value, and no value is tried.
#[test]
fn any_values_change_nothing_else() {
    for body in [
        "p?small(u); IF u > 3 THEN g := 1 ELSE g := 2 END; ASSERT g > 0",
        "p?small(u); y := u + 1; z := (u + 1) * 1000; ASSERT g = 0",
        "p?small(u); r.f := u; ASSERT r.g = 0; ASSERT r2.f = 0",
        "p?small(u); FOR i := 0 TO 3 DO IF a[i] = u THEN z := i END END; ASSERT i = 4",
        "p?small(u); FOR i := 0 TO u DO INC(n, 0) END; g := 1 - g; ASSERT g < 2",
        "p?small(u); SELECT WHEN p?flag(b) & (u > 3) & (g = 1) THEN ASSERT FALSE WHEN p?char(ch) THEN ASSERT g = 0 END",
        "p?small(u); i := 0; WHILE i < 30 DO IF u = i THEN z := 1 END; INC(i) END; ASSERT i = 30",
        "p?small(u); z := u MOD 5; a[u MOD 4] := 1; y := 7 DIV (u + 1)",
    ] {
        let graph = explore(&compile(&server(body), &[], Options { close: Some(Values::Any), ..Options::default() }).expect(body));
        assert_eq!((graph.faults.len(), graph.deadlocks), (0, 0), "{body}: {graph:?}");
        assert!(graph.states < 300, "{body}: {graph:?}");
    }
}

/// What cannot be left open is refused, at its position and with the option that helps.
#[test]
fn decisions_that_are_refused() {
    for (body, part) in [
        ("p?cmd(x); WHILE x # 0 DO x := x * 3 END", "whether this loop ends"),
        ("p?cmd(x); WHILE g = 0 DO IF x = 1 THEN g := 1 END END; g := 0", "whether this loop ends"),
        ("p?cmd(x); FOR i := 0 TO 5 DO IF x = 1 THEN i := 0 END END", "whether this loop ends"),
        ("SELECT WHEN p?cmd(x) & (10 DIV x > 2) THEN g := 0 END", "this guard"),
    ] {
        let why = wrong(&server(body), Values::Any).expect_err(body);
        assert!(why.contains(part) && why.contains("--close=N") && why.contains("closed:"), "{body}: {why}");
    }
    let ports = "MODULE M; TYPE T = [cmd(INTEGER)]; C = [s]; PORT p : T; c : ARRAY 2 OF C; VAR x, i : INTEGER; BEGIN NEW(p); NEW(c[0]); NEW(c[1]); p?cmd(x); c[x]!s END M.";
    assert!(wrong(ports, Values::Any).is_err_and(|why| why.contains("which port")));
    // Formulas and properties see no values that are not known.
    let property = "MODULE M; TYPE T = [cmd(INTEGER)]; PORT p : T; VAR x, y : INTEGER; PROPERTY Q; BEGIN WHILE TRUE DO ASSERT x # 5; RESCHEDULE END END Q; BEGIN NEW(p); p?cmd(x) END M.";
    assert!(wrong(property, Values::Any).is_err_and(|why| why.contains("--close=N")));
    assert!(wrong(&property.replace("ASSERT x", "ASSERT y"), Values::Any).is_ok());
}

#[test]
fn a_device_driver_is_closed_through_its_ports() {
    let text = "MODULE Reader; IMPORT SYSTEM; VAR x : INTEGER;\nBEGIN NEW(SYSTEM.Interrupt1); SYSTEM.Interrupt1?INTERRUPT; PORTIN(1, x); ASSERT x < 2 END Reader.\n";
    let graph = explore(&compile(text, &[], Options { close: Some(Values::Some(2)), ..Options::default() }).expect("it compiles"));
    assert_eq!((graph.deadlocks, graph.faults.len()), (0, 0), "{graph:?}");
    let graph = explore(&compile(text, &[], Options { close: Some(Values::Some(3)), ..Options::default() }).expect("it compiles"));
    assert_eq!(graph.faults, ["Assertion"], "{graph:?}");
}

/// The environment uses the elements of an array that have channels, and no name of its own hides a
/// port.
#[test]
fn ports_of_all_names_and_places_are_closed() {
    let text = "MODULE A; TYPE C = [m(INT8)]; PORT p : ARRAY 3 OF C; v0 : C; VAR x : INT8;
        BEGIN NEW(p[1]); NEW(v0); p[1]?m(x); v0?m(x); ASSERT x < 2 END A.\n";
    let found =
        |values| explore(&compile(text, &[], Options { close: Some(Values::Some(values)), ..Options::default() }).expect("it compiles"));
    assert_eq!((found(2).deadlocks, found(2).faults.len()), (0, 0));
    assert_eq!(found(3).faults, ["Assertion"]);
    let any = text.replace("NEW(p[1])", "x := 2; NEW(p[x]); x := 0").replace("p[1]?", "p[2]?");
    let program = compile(&any, &[], Options { close: Some(Values::Some(2)), ..Options::default() }).expect("it compiles");
    assert!(explore(&program).faults.contains(&"InvalidChannel".to_owned()), "the environment cannot know which element has a channel");
}

/// A filter receives a message on one port and sends the same message on another: both are open. So
/// are the two ends of a chain of filters, and nothing between them.
#[test]
fn each_port_is_closed_by_itself() {
    let filter = |body: &str| {
        format!(
            "MODULE F; TYPE C = [m(INT8)]; PORT a, b, c : C;
             PROCESS Filter(in, out : C); VAR x : INT8; BEGIN WHILE TRUE DO in?m(x); out!m(x); x := 0 END END Filter;
             BEGIN {body} END F.\n"
        )
    };
    let one = filter("NEW(a); NEW(b); CREATE Filter(a, b)");
    let chain = filter("NEW(a); NEW(b); NEW(c); CREATE Filter(a, b); CREATE Filter(b, c)");
    for (text, first, last) in [(&one, "a!m", "b?m"), (&chain, "a!m", "c?m")] {
        let closed = closed(text, Values::Some(2));
        assert_eq!(closed.matches("PROCESS Environment_").count(), 2, "{closed}");
        assert!(closed.contains(first) && closed.contains(last), "{closed}");
        for close in [Values::Some(2), Values::Any] {
            let graph = explore(&compile(text, &[], Options { close: Some(close), ..Options::default() }).expect("it compiles"));
            assert_eq!((graph.deadlocks, graph.faults.len()), (0, 0), "{text}: {graph:?}");
        }
    }
    // A port that holds the channels of two others is open where one of them is.
    let either = filter("NEW(a); NEW(b); c := a; c := b; CREATE Filter(a, b); CREATE Filter(c, a)");
    assert!(!closed(&either, Values::Some(2)).contains("PROCESS Environment_"));
}

/// Messages that carry arrays and records are chosen part by part.
#[test]
fn arrays_and_records_are_chosen() {
    let text = "MODULE A; TYPE R = RECORD f : BOOLEAN; g : ARRAY 2 OF INT8; END; C = [m(R, ARRAY 2, 1 OF INT8)];
        PORT p : C; VAR r : R; v : ARRAY 2, 1 OF INT8;
        BEGIN NEW(p); p?m(r, v); CONDITION END A.\n";
    for (condition, faults) in [
        ("ASSERT (r.g[1] < 2) & (v[0, 0] < 2)", 0),
        ("IF r.f & (r.g[0] = 0) & (r.g[1] = 1) & (v[0, 0] = 1) & (v[1, 0] = 0) THEN ASSERT FALSE END", 1),
    ] {
        let text = text.replace("CONDITION", condition);
        let graph = explore(&compile(&text, &[], Options { close: Some(Values::Some(2)), ..Options::default() }).expect("it compiles"));
        assert_eq!((graph.faults.len(), graph.deadlocks), (faults, 0), "{condition}: {graph:?}");
        assert_eq!(wrong(&text, Values::Any), Ok(vec!["Assertion".to_owned()]), "{condition}");
    }
    // The environment receives them too.
    let sent = "MODULE A; TYPE R = RECORD f : BOOLEAN; END; C = [m(R, ARRAY 2 OF INT8)]; PORT p : C; VAR r : R; v : ARRAY 2 OF INT8;
        BEGIN NEW(p); v[1] := 3; p!m(r, v) END A.\n";
    assert_eq!(wrong(sent, Values::Some(2)), Ok(Vec::new()));
}

#[test]
fn what_cannot_be_chosen_is_refused() {
    let other = "MODULE B; TYPE R = RECORD f : INT8; END; C* = [m(R)]; PORT p* : C; VAR r : R;
        PROCESS P; BEGIN p?m(r) END P; BEGIN NEW(p); CREATE P END B.\n";
    let refusal = |text: &str, other: &str| {
        let mut loader = |_: &str, _: &str| Ok(("B.lf".to_owned(), other.to_owned()));
        compile_with(text, &[], Options { close: Some(Values::Any), ..Options::default() }, &mut loader).err()
    };
    for carried in ["D", "ARRAY 2 OF D"] {
        let text = format!("MODULE A; TYPE D = [n]; C = [m({carried})]; PORT p : C; VAR a : {carried};\nBEGIN NEW(p); p?m(a) END A.\n");
        assert!(refusal(&text, other).is_some_and(|why| why.contains("cannot choose")), "{carried}");
    }
    let main = "MODULE A; IMPORT B; BEGIN END A.\n";
    assert!(refusal(main, other).is_some_and(|why| why.contains("a type without a name")));
    assert_eq!(refusal(main, &other.replace("R =", "R* =")), None);
}

/// What goes wrong in random open programs with some values also does so with any values, unless
/// the program is refused.
#[test]
fn random_open_programs() {
    let (mut compared, mut wrong, mut refused) = (0, 0, 0);
    for seed in 0_u64.. {
        let program = Program::random_open(seed);
        let text = program.text();
        let closed = |close| compile_with(&text, &[], Options { close: Some(close), ..Options::default() }, &mut program.loader());
        let some = closed(Values::Some(3)).unwrap_or_else(|why| panic!("program {seed}:\n{text}\n{why}"));
        let Some(some) = explore_within(&some, 1000) else { continue };
        let any = match closed(Values::Any) {
            Ok(any) => any,
            Err(why) => {
                assert!(why.contains("--close=N"), "program {seed}:\n{text}\n{why}");
                refused += 1;
                continue;
            }
        };
        let Some(any) = explore_within(&any, 5000) else { continue };
        assert!(some.faults.iter().all(|fault| any.faults.contains(fault)), "program {seed}:\n{text}\n{some:?}\n{any:?}");
        assert!(some.deadlocks == 0 || any.deadlocks > 0, "program {seed}:\n{text}\n{some:?}\n{any:?}");
        wrong += some.faults.len() + usize::from(some.deadlocks > 0);
        compared += 1;
        if compared == 400 {
            break;
        }
        assert!(seed < 20_000, "most programs are too large");
    }
    assert!(wrong > 100 && refused < compared, "{wrong} wrong, {refused} refused");
}

/// Programs that use the clock and the console have no deadlocks with the model of the devices, and
/// few states.
#[test]
fn programs_with_the_devices_of_a_run() {
    for (text, most) in [
        (
            "MODULE T; IMPORT Timer; VAR n : INTEGER; PROCESS W(u, ms : INTEGER); BEGIN Timer.Wait(u, ms); INC(n) END W;
             BEGIN CREATE W(0, 60); CREATE W(1, 20) END T.",
            5_000,
        ),
        ("MODULE T; IMPORT Timer; VAR i : INTEGER; BEGIN FOR i := 1 TO 3 DO Timer.Wait(0, 10) END END T.", 2_000),
        // The status of the console is 0, 1 or 2; a byte of its input is any.
        (
            "MODULE C; IMPORT SYSTEM; VAR x : INTEGER;
             BEGIN NEW(SYSTEM.Interrupt1); WHILE x # 2 DO SYSTEM.Interrupt1?INTERRUPT; PORTIN(11H, x); ASSERT x <= 2 END END C.",
            200,
        ),
        ("MODULE C; IMPORT In; BEGIN END C.", 20_000),
    ] {
        let program = compile(text, &[], Options { host: true, ..Options::default() }).unwrap_or_else(|why| panic!("{why}"));
        let graph = explore_within(&program, 200_000).expect("few states");
        assert_eq!((graph.deadlocks, graph.faults.len()), (0, 0), "{text}: {graph:?}");
        assert!(graph.states < most, "{text}: {graph:?}");
    }
}

/// A long chain of assignments against the order of the analysis, and calls that double with each
/// process, are answered soon.
#[test]
fn large_programs_are_answered() {
    let (count, mut chain) = (3000, String::from("MODULE M; TYPE T = [cmd(INTEGER)]; PORT p : T; VAR "));
    let names: Vec<String> = (0..=count).map(|number| format!("v{number}")).collect();
    chain += &format!("{} : INTEGER;\nBEGIN NEW(p);\n", names.join(", "));
    for number in 0..count {
        chain += &format!("v{number} := v{};\n", number + 1);
    }
    chain += &format!("p?cmd(v{count}); RESCHEDULE; ASSERT v0 = 0 END M.");
    match wrong(&chain, Values::Any) {
        Ok(faults) => assert_eq!(faults, ["Assertion"]),
        Err(why) => assert!(why.contains("too large"), "{why}"),
    }
    let mut doubling =
        String::from("MODULE M; TYPE T = [cmd(INTEGER)]; PORT p : T; VAR x, g : INTEGER;\nPROCESS P0; BEGIN INC(g) END P0;\n");
    for number in 1..60 {
        doubling += &format!("PROCESS P{number}; BEGIN P{0}; P{0} END P{number};\n", number - 1);
    }
    doubling += "BEGIN NEW(p); p?cmd(x); WHILE x > 0 DO P59; DEC(x) END END M.";
    assert!(wrong(&doubling, Values::Any).is_err_and(|why| why.contains("too large")));
}
