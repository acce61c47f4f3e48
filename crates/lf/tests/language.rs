//! The meaning of statements and types, tested by programs with assertions.

mod common;

use common::{Graph, counts, graph_of};
use lf::Options;

/// The program runs without faults and deadlocks, in every order.
fn good(text: &str) -> Graph {
    let graph = graph_of(text, &[], Options::default());
    assert!(graph.faults.is_empty(), "{:?} in {text}", graph.faults);
    assert_eq!(graph.deadlocks, 0, "{text}");
    graph
}

/// Like `good`, for a module with these declarations and this body.
fn holds(declarations: &str, body: &str) -> Graph {
    good(&format!("MODULE M;\n{declarations}\nBEGIN\n{body}\nEND M."))
}

/// The module has exactly these faults.
fn faults(declarations: &str, body: &str, expected: &[&str]) {
    let text = format!("MODULE M;\n{declarations}\nBEGIN\n{body}\nEND M.");
    assert_eq!(graph_of(&text, &[], Options::default()).faults, expected, "{text}");
}

#[test]
fn arithmetic() {
    holds("VAR a, b : INTEGER;", "a := 7; b := -2; ASSERT a DIV b = -3; ASSERT a MOD b = 1; ASSERT ABS(b) = 2; ASSERT ODD(a)");
    holds("VAR a : INT8; b : UINT8;", "a := 100; b := UINT8(a); ASSERT b = 100; a := a - 110; ASSERT a = -10");
    faults("VAR a : INTEGER;", "a := 7; a := a DIV (a - 7)", &["DivisionByZero"]);
    let overflow = "Other(\"overflow\")";
    faults("VAR a : INTEGER;", "a := 7FFFFFFFH; INC(a)", &[overflow]);
    faults("VAR a : INT8;", "a := 127; INC(a)", &[overflow]);
    faults("VAR a : INTEGER; b : UINT8;", "a := -1; b := UINT8(a)", &[overflow]);
    faults("VAR a : INTEGER;", "a := -7FFFFFFFH; a := a - 1; a := -a", &[overflow]);
    let least = "a := -7FFFFFFFH; a := a - 1;";
    for wrong in ["b := -1; a := a DIV b", "a := a DIV (-1)", "a := ABS(a)", "DEC(a)", "b := -1; a := a * b", "b := 1; DEC(a, b)"] {
        faults("VAR a, b : INTEGER;", &format!("{least} {wrong}"), &[overflow]);
    }
    holds("VAR a, b : INTEGER;", &format!("{least} b := -1; ASSERT a MOD b = 0; ASSERT a DIV 1 = a; b := a DIV 2; ASSERT b = -40000000H"));
    faults("VAR a : INT8;", "a := -128; a := a DIV (-1)", &[overflow]);
    faults("VAR a : INT8;", "a := -128; a := INT8(-a)", &[overflow]);
    faults("VAR a : INT16;", "a := INT16(-8000H); a := ABS(a)", &[overflow]);
    faults("VAR a : INT16; b : INTEGER;", "b := 70000; INC(a, b)", &[overflow]);
    faults("VAR a : UINT8;", "DEC(a)", &[overflow]);
    faults("VAR a : UINT31; b : INTEGER;", "b := -1; a := UINT31(b)", &[overflow]);
    faults("VAR a : UINT31;", "a := 7FFFFFFFH; INC(a)", &[overflow]);
}

/// A loop may count to the greatest and to the least number of its variable's type.
#[test]
fn loops_that_count_to_the_end_of_a_type() {
    for (ty, from, to, by) in [
        ("UINT8", "250", "255", "1"),
        ("UINT8", "5", "0", "-1"),
        ("UINT8", "5", "0", "-2"),
        ("INT8", "120", "127", "3"),
        ("INT8", "-120", "-128", "-1"),
        ("UINT16", "65530", "65535", "2"),
        ("INTEGER", "2147483640", "2147483647", "1"),
        ("INTEGER", "-2147483640", "-2147483647", "-3"),
        ("INTEGER", "-2147483647", "2147483647", "2000000000"),
        ("UINT32", "4294967290", "4294967295", "2"),
        ("UINT32", "5", "0", "-1"),
        ("UINT32", "4294967295", "4294967290", "-2"),
        ("UINT31", "5", "0", "-1"),
        ("UINT31", "2147483640", "2147483647", "1"),
    ] {
        let (first, last, step): (i64, i64, i64) = (from.parse().expect(from), to.parse().expect(to), by.parse().expect(by));
        let turns = (last - first) / step + 1;
        let v = format!("VAR i : {ty}; n : INTEGER; m : {};", if ty == "UINT32" { "UINT32" } else { "INTEGER" });
        for (limit, body) in [(to, ""), ("m", ""), (to, "; RESCHEDULE"), ("m", "; RESCHEDULE")] {
            holds(&v, &format!("m := {to}; FOR i := {from} TO {limit} BY {by} DO INC(n){body} END; ASSERT n = {turns}"));
        }
    }
    let overflow = "Other(\"overflow\")";
    faults("VAR i : UINT8;", "FOR i := 250 TO 256 DO END", &[overflow]);
    faults("VAR i : UINT8; m : INTEGER;", "m := 256; FOR i := 250 TO m DO RESCHEDULE END", &[overflow]);
    // After the last turn the variable has passed the limit, if that fits its type.
    holds(
        "VAR i : UINT8;",
        "FOR i := 1 TO 3 DO END; ASSERT i = 4; FOR i := 254 TO 255 DO END; ASSERT i = 255; FOR i := 3 TO 2 DO END; ASSERT i = 3",
    );
}

#[test]
fn sets_characters_and_booleans() {
    holds(
        "VAR s, t : SET; i : INTEGER;",
        "i := 3; s := {1, i..5}; t := {5, 6}; ASSERT s = {1, 3, 4, 5}; ASSERT s * t = {5}; ASSERT s - t = {1, 3, 4}; ASSERT s / t = {1, 3, 4, 6}; ASSERT ~(2 IN s); INCL(s, i - 1); ASSERT 2 IN s; EXCL(s, 1); ASSERT s + {} = {2..5}; ASSERT 0 IN -s",
    );
    let element = "Other(\"no element of a set\")";
    for wrong in ["i := 32; INCL(s, i)", "i := -1; EXCL(s, i)", "i := 32; s := {i}", "i := 32; s := {1..i}", "i := 99; ASSERT ~(i IN s)"] {
        faults("VAR s : SET; i : INTEGER;", wrong, &[element]);
    }
    holds("VAR c : CHAR;", "c := 'a'; ASSERT ORD(c) = 61H; c := CHR(ORD(c) + 1); ASSERT c = 'b'; ASSERT c > 0AX");
    // The right side is not evaluated if the left side decides.
    holds("VAR a : ARRAY 2 OF INTEGER; i : INTEGER;", "i := 5; ASSERT ~((i < 2) & (a[i] = 0)); ASSERT (i > 2) OR (a[i] = 0)");
}

#[test]
fn arrays_and_records() {
    let types = "TYPE P = RECORD x : INT8; y : ARRAY 2, 3 OF INTEGER END; VAR a : ARRAY 2 OF P; b : P; i, j : INTEGER;";
    holds(
        types,
        "FOR i := 0 TO 1 DO FOR j := 0 TO 2 DO a[1].y[i, j] := 10 * i + j END END; a[1].x := 7; b := a[1]; ASSERT b.x = 7; ASSERT b.y[1][2] = 12; ASSERT a[0].y[1, 2] = 0; ASSERT LEN(b.y) = 2; a[0] := b; ASSERT a[0].y[0][1] = 1",
    );
    faults(types, "i := 2; a[i].x := 1", &["IndexOutOfRange"]);
    faults(types, "i := -1; j := a[0].y[0, i]", &["IndexOutOfRange"]);
}

#[test]
fn loops_inside_an_action_are_one_step() {
    let (states, transitions) = counts("MODULE M; VAR i, n : INTEGER; BEGIN FOR i := 1 TO 50 DO n := n + i END; ASSERT n = 1275 END M.");
    assert_eq!((states, transitions), (2, 1));
    faults("VAR i : INTEGER;", "REPEAT i := 1 - i UNTIL i = 2", &["Other(\"endless sequence\")"]);
    holds(
        "VAR i, n : INTEGER;",
        "FOR i := 10 TO 1 BY -3 DO INC(n) END; ASSERT n = 4; WHILE n > 0 DO DEC(n, 2) END; REPEAT INC(n) UNTIL n = 3",
    );
}

#[test]
fn calls_run_to_completion() {
    let processes = "VAR g : ARRAY 3 OF INTEGER;
        PROCESS Add(a, b : INTEGER; VAR r : INTEGER); BEGIN r := a + b END Add;
        PROCESS Twice(VAR r : INTEGER); BEGIN Add(r, r, r) END Twice;";
    holds(processes, "Add(1, 2, g[1]); ASSERT g[1] = 3; Twice(g[1]); ASSERT g[1] = 6; ASSERT g[0] = 0");
    // A call does not end an action, and leaves no data behind.
    assert_eq!(counts(&format!("MODULE M; {processes} BEGIN Add(1, 2, g[0]); g[0] := 0 END M.")), (2, 1));
    let outer = "VAR r : INTEGER;
        PROCESS Outer(k : INTEGER; VAR done : INTEGER);
        VAR count : INTEGER;
          PROCESS Inner(d : INTEGER); BEGIN count := count + d * k END Inner;
        BEGIN Inner(1); Inner(2); done := count END Outer;";
    holds(outer, "Outer(10, r); ASSERT r = 30; Outer(1, r); ASSERT r = 3");
}

#[test]
fn recursion() {
    let fib = "VAR r : INTEGER;
        PROCESS Fib(n : INTEGER; VAR r : INTEGER);
        VAR a, b : INTEGER;
        BEGIN IF n < 2 THEN r := n ELSE Fib(n - 1, a); Fib(n - 2, b); r := a + b END END Fib;";
    let graph = holds(fib, "Fib(10, r); ASSERT r = 55");
    assert_eq!(graph.states, 2);
    let ackermann = "VAR r : INTEGER;
        PROCESS A(m, n : INTEGER; VAR r : INTEGER);
        VAR t : INTEGER;
        BEGIN IF m = 0 THEN r := n + 1 ELSIF n = 0 THEN A(m - 1, 1, r) ELSE A(m, n - 1, t); A(m - 1, t, r) END END A;";
    holds(ackermann, "A(2, 2, r); ASSERT r = 7");
    // At most 32 calls are within each other.
    let deep = "VAR d : INTEGER; PROCESS P(n : INTEGER); BEGIN IF n > 1 THEN INC(d); P(n - 1) END END P;";
    holds(deep, "P(32); ASSERT d = 31");
    faults(deep, "P(33)", &["Other(\"more than 32 nested calls\")"]);
    faults("PROCESS P(n : INTEGER); BEGIN P(n + 1) END P;", "P(0)", &["Other(\"more than 32 nested calls\")"]);
    let even = "VAR b : BOOLEAN;
        PROCESS Even(n : INTEGER; VAR r : BOOLEAN); BEGIN IF n = 0 THEN r := TRUE ELSE Odd(n - 1, r) END END Even;
        PROCESS Odd(n : INTEGER; VAR r : BOOLEAN); BEGIN IF n = 0 THEN r := FALSE ELSE Even(n - 1, r) END END Odd;";
    holds(even, "Even(8, b); ASSERT b; Even(7, b); ASSERT ~b");
}

#[test]
fn recursion_across_actions() {
    // Each call waits in the middle of its work.
    let sum = "VAR r : INTEGER;
        PROCESS Sum(n : INTEGER; VAR r : INTEGER);
        VAR t : INTEGER;
        BEGIN RESCHEDULE; IF n > 0 THEN Sum(n - 1, t); RESCHEDULE; r := t + n END END Sum;";
    let graph = holds(sum, "Sum(4, r); ASSERT r = 10");
    assert_eq!(graph.states, 1 + 5 + 4 + 1);
}

#[test]
fn a_created_process_calls_itself() {
    let text = "VAR n : INTEGER; PROCESS P(k : INTEGER); BEGIN IF k > 0 THEN INC(n); P(k - 1) ELSE ASSERT n = 4 END END P;";
    holds(text, "CREATE P(4)");
    faults("PROCESS P; BEGIN P END P;", "CREATE P", &["Other(\"more than 32 nested calls\")"]);
}

/// However a reference to a channel gets from one port to another, both mean the same channel.
#[test]
fn ports_that_get_their_channel_from_others_meet() {
    let types = "TYPE C = [m(INTEGER)]; D = [give(C)]; PORT a, b : C; d : D;
        PROCESS Send(p : C; k : INTEGER); BEGIN p!m(k) END Send;
        PROCESS Take(p : C; k : INTEGER); VAR x : INTEGER; BEGIN p?m(x); ASSERT x = k END Take;";
    // By assignment, and two channels of a type that have nothing to do with each other.
    holds(types, "NEW(a); NEW(b); CREATE Send(a, 1); CREATE Send(b, 2); CREATE Take(b, 2); CREATE Take(a, 1)");
    holds(types, "NEW(a); b := a; CREATE Send(a, 1); CREATE Take(b, 1)");
    // In a message.
    let given = format!(
        "{types} PROCESS Give; BEGIN d!give(a); a!m(7) END Give;
        PROCESS Get; VAR x : INTEGER; PORT mine : C; BEGIN d?give(mine); mine?m(x); ASSERT x = 7 END Get;"
    );
    holds(&given, "NEW(a); NEW(d); CREATE Give; CREATE Get");
    // In an array, by reference, in a record, at one address.
    let stored = format!(
        "{types} TYPE R = RECORD n : INTEGER; p : C; END; PORT all : ARRAY 2 OF C; VAR r, s : R; i : INTEGER;
        PROCESS Make(VAR p : C); BEGIN NEW(p) END Make;"
    );
    holds(&stored, "NEW(a); all[1] := a; i := 1; CREATE Send(all[i], 3); CREATE Take(a, 3)");
    holds(&stored, "Make(a); b := a; CREATE Send(b, 3); CREATE Take(a, 3)");
    holds(&stored, "NEW(r.p); s := r; CREATE Send(s.p, 3); CREATE Take(r.p, 3)");
    let placed = format!("{types} PORT e AT 100 : C; f AT 100 : C;");
    holds(&placed, "NEW(e); CREATE Send(e, 3); CREATE Take(f, 3)");
    // Who waits at a port keeps its channel, whatever name changes the port.
    holds(&placed, "NEW(e); a := e; CREATE Send(e, 3); RESCHEDULE; RESCHEDULE; NEW(f); CREATE Take(a, 3)");
}

/// A loop that counts is left by the value that the variable has next.
#[test]
fn loops_that_count_end_as_they_say() {
    for (how, last) in [("WHILE i < 3 DO RESCHEDULE; INC(i) END", 3), ("FOR i := 0 TO 3 DO RESCHEDULE END", 4)] {
        holds("VAR i : INTEGER;", &format!("{how}; ASSERT i = {last}"));
    }
    holds("VAR i, n : INTEGER;", "n := 2; WHILE i <= n DO RESCHEDULE; i := i + 2 END; ASSERT i = 4");
    // The bound is the variable itself, by another name.
    holds(
        "PROCESS P(VAR a, b : INTEGER); BEGIN WHILE a <= b DO RESCHEDULE; a := a + 5; IF a > 20 THEN b := 0 END END END P; VAR i, n : INTEGER;",
        "n := 30; P(i, n); ASSERT i = 25",
    );
    // The next value of a variable without sign has another type than the variable.
    holds(
        "VAR u : UINT32; n : INTEGER;",
        "WHILE u < 3000000000 DO RESCHEDULE; INC(n); IF n < 4 THEN u := 3 ELSE u := 3000000001 END END; ASSERT n = 4",
    );
    holds("VAR b, c : BOOLEAN;", "b := TRUE; c := TRUE; WHILE b & c DO RESCHEDULE; b := ~b END; ASSERT ~b");
    faults("VAR i : INT8;", "i := 125; WHILE i <= 127 DO RESCHEDULE; INC(i) END", &["Other(\"overflow\")"]);
}

#[test]
fn created_processes() {
    // A created process reads the variables around it.
    let outer = "PROCESS Outer(k : INTEGER);
        VAR count : INTEGER;
          PROCESS Watcher; BEGIN ASSERT (count = k) OR (count = k + 1) END Watcher;
        BEGIN count := k; CREATE Watcher; RESCHEDULE; INC(count) END Outer;";
    holds(outer, "CREATE Outer(3); CREATE Outer(5)");
    // A process creates others like itself.
    holds(
        "VAR n : INTEGER; PROCESS P(k : INTEGER); BEGIN INC(n); IF k > 0 THEN CREATE P(k - 1) ELSE ASSERT n = 4 END END P;",
        "CREATE P(3)",
    );
    // A parameter by reference denotes the variable while both processes run.
    holds(
        "VAR a, b : INTEGER; PROCESS P(VAR x : INTEGER; y : INTEGER); BEGIN x := y; RESCHEDULE; ASSERT x = y END P;",
        "CREATE P(a, 1); CREATE P(b, 2)",
    );
    // A called process passes the reference on, and the variable outlives the process that has it.
    let passed = "VAR n : INTEGER; PROCESS Reader(VAR v : INTEGER); BEGIN RESCHEDULE; ASSERT v = 5 END Reader;
        PROCESS Start(VAR r : INTEGER); BEGIN CREATE Reader(r) END Start;
        PROCESS P; VAR x : INTEGER; BEGIN x := 5; Start(x) END P;";
    holds(passed, "CREATE P; CREATE P");
}

/// Arrays and records are values of a created process: it has copies of its own.
#[test]
fn created_processes_take_arrays_and_records() {
    let types = "TYPE R = RECORD f : BOOLEAN; g : ARRAY 2 OF INT16; END; C = [n(INTEGER), end];
        PORT p : C; VAR r : R; a : ARRAY 2, 3 OF INT8; ps : ARRAY 2 OF C; k : INTEGER;";
    let process = "PROCESS P(x : INT8; b : ARRAY 2, 3 OF INT8; VAR out : ARRAY 2, 3 OF INT8; s : R; c : ARRAY 2 OF C);
        VAR i, j : INTEGER;
        BEGIN
          ASSERT (x = 7) & s.f & (s.g[0] = -300) & (s.g[1] = 5);
          FOR i := 0 TO 1 DO FOR j := 0 TO 2 DO ASSERT b[i, j] = 3 * i + j; b[i, j] := b[i, j] + 10 END END;
          RESCHEDULE;
          out := b; s.g[1] := 6;
          c[1]!n(b[1, 2] + s.g[1])
        END P;";
    let body = "NEW(p); ps[1] := p; r.f := TRUE; r.g[0] := -300; r.g[1] := 5;
        FOR k := 0 TO 5 DO a[k DIV 3, k MOD 3] := INT8(k) END;
        CREATE P(7, a, a, r, ps);
        a[0, 0] := 99; r.g[1] := 1;
        p?n(k); ASSERT (k = 21) & (a[0, 0] = 10) & (a[1, 2] = 15) & (r.g[1] = 1)";
    holds(&format!("{types}\n{process}"), body);
    // Each of several processes has its own, and one with a period takes them once.
    let process = "PROCESS Q(b : ARRAY 2, 3 OF INT8; by : INT8) PERIOD 5; BEGIN b[0, by] := b[0, by] + 1; ps[by]!n(b[0, by]) END Q;";
    let body = "NEW(ps[0]); NEW(ps[1]); a[0, 0] := 4; a[0, 1] := 6; CREATE Q(a, 0); CREATE Q(a, 1);
        ps[1]?n(k); ASSERT k = 7; ps[1]?n(k); ASSERT k = 8; ps[0]?n(k); ASSERT k = 5; ps[0]?n(k); ASSERT k = 6; k := 0; p?end";
    let text = format!("MODULE M;\n{types}\n{process}\nBEGIN\n{}\nEND M.", body.replace("p?end", "NEW(p); SELECT WHEN p?end THEN END"));
    assert_eq!(graph_of(&text, &[], Options::default()).faults, Vec::<String>::new());
    // In a process inside another one.
    let process = "PROCESS Outer(b : ARRAY 2, 3 OF INT8);
          PROCESS Inner(c : ARRAY 2, 3 OF INT8); BEGIN p!n(c[1, 0] + b[1, 0]) END Inner;
        BEGIN b[1, 0] := b[1, 0] + 1; CREATE Inner(b); b[1, 0] := b[1, 0] + 1 END Outer;";
    holds(&format!("{types}\n{process}"), "NEW(p); a[1, 0] := 5; CREATE Outer(a); p?n(k); ASSERT k = 13");
    // Too many values are refused, and not by a failure of the machine.
    let large = |count: usize| {
        format!("PROCESS L(b : ARRAY {count} OF INT8; x : INT8); BEGIN ASSERT b[{}] = x END L; VAR v : ARRAY {count} OF INT8;", count - 1)
    };
    holds(&large(127), "v[126] := 3; CREATE L(v, 3)");
    let text = format!("MODULE M;\n{}\nBEGIN CREATE L(v, 3) END M.", large(128));
    assert!(common::compile(&text, &[], Options::default()).is_err_and(|why| why.contains("at most 128 values")));
    // A call copies values too, and has fewer limits.
    let text = |count: usize, more: &str| {
        format!(
            "MODULE M; VAR v : ARRAY {count} OF INT8; x : INT8;
             PROCESS L(a : ARRAY {count} OF INT8; x : INT8; b, c : ARRAY {count} OF INT8);
             BEGIN {more} ASSERT (a[x] = 5) & (b[x] = 5) & (c[x] = 5); a[x] := 6; b[x] := 7 END L;
             BEGIN v[10] := 5; L(v, 10, v, v); ASSERT v[10] = 5 END M."
        )
    };
    for count in [11, 60, 90, 256] {
        good(&text(count, ""));
    }
    let again = "IF a[0] < 3 THEN a[0] := a[0] + 1; L(a, x, c, b) END;";
    good(&text(40, again));
    let refused = common::compile(&text(90, again), &[], Options::default());
    assert!(refused.is_err_and(|why| why.contains("a recursive call takes at most")));
}

#[test]
fn messages() {
    let types = "TYPE P = RECORD x : INT8; b : ARRAY 2 OF BOOLEAN END; C = [put(INTEGER, P), done]; PORT c : C;
        PROCESS S(out : C); VAR p : P; BEGIN p.x := 5; p.b[1] := TRUE; out!put(300, p); out!done END S;";
    let receive = "PROCESS R(in : C); VAR p : P; n : INTEGER; BEGIN in?put(n, p); ASSERT n = 300; ASSERT p.x = 5; ASSERT p.b[1] & ~p.b[0]; in?done END R;";
    holds(&format!("{types} {receive}"), "NEW(c); CREATE S(c); CREATE R(c)");
    holds(&format!("{types} {receive}"), "NEW(c); CREATE R(c); CREATE S(c)");
    // The values sent are those at the time when the sender reached the statement.
    holds(
        "TYPE C = [v(INTEGER)]; PORT c : C; VAR g : INTEGER; PROCESS S; BEGIN g := 1; c!v(g) END S;
         PROCESS R; VAR x : INTEGER; BEGIN RESCHEDULE; IF g = 1 THEN g := 2; c?v(x); ASSERT x = 1 ELSE c?v(x) END END R;",
        "NEW(c); CREATE S; CREATE R",
    );
    faults("TYPE C = [s]; PORT c : C;", "c!s", &["InvalidChannel"]);
    let many = "TYPE C = [s]; PORT c : C; VAR i : INTEGER;";
    holds(many, "FOR i := 1 TO 255 DO NEW(c) END");
    faults(many, "FOR i := 1 TO 256 DO NEW(c) END", &["Other(\"more than 255 channels\")"]);
    // Messages of one channel do not mix, nor do channels of one type.
    let graph = graph_of(
        "MODULE M; TYPE C = [s, t]; PORT c, d : C; PROCESS P; BEGIN c!s END P; PROCESS Q; BEGIN c?t END Q; PROCESS R; BEGIN d?s END R; BEGIN NEW(c); NEW(d); CREATE P; CREATE Q; CREATE R END M.",
        &[],
        Options::default(),
    );
    assert_eq!(graph.deadlocks, 1);
}

/// What a process has to send while it waits keeps its type, whatever it has sent before.
#[test]
fn values_that_wait_keep_their_types() {
    let types = "TYPE C = [b(BOOLEAN), c(CHAR), i(INTEGER), u(UINT32), m(BOOLEAN, INT16, SET)]; PORT c : C; VAR x : INTEGER; y : UINT32; s : SET;
        PROCESS R; VAR b : BOOLEAN; k : CHAR; i : INTEGER; u : UINT32; j : INT16; t : SET;
        BEGIN c?b(b); c?c(k); c?i(i); c?u(u); c?m(b, j, t); ASSERT b & (k = 'z') & (i = -70000) & (u = 4000000000) & (j = -300) & (t = {31});
              c?i(i); ASSERT i = 99999; c?c(k); ASSERT k = 'y' END R;";
    let send =
        "c!b(x = 0); x := 122; c!c(CHR(x)); x := -70000; c!i(x); y := 4000000000; c!u(y); s := {31}; c!m(y > 1, INT16(x DIV 233), s)";
    let select = "SELECT WHEN c!i(99999) THEN x := 121 END; SELECT WHEN c!c(CHR(x)) THEN x := 0 END";
    for order in ["CREATE R; RESCHEDULE", "CREATE R"] {
        holds(types, &format!("NEW(c); {order}; {send}; {select}"));
    }
}

/// Arrays of one element are copied, sent and passed like others.
#[test]
fn arrays_of_one_element() {
    holds(
        "TYPE A = ARRAY 1 OF INT8; R = RECORD f : A; g : INT8 END; C = [v(A), w(R)]; PORT c : C; VAR a, b : A; r, q : R; m : ARRAY 1, 1 OF A; n : INTEGER;
         PROCESS P(x : A; VAR y : A; VAR z : R); VAR l : A; BEGIN l := x; y := l; z.f := y END P;
         PROCESS D(k : INT8; x : A; VAR y : A); VAR l : A; BEGIN l := x; INC(l[0]); IF k > 0 THEN D(k - 1, l, y) ELSE y := l END END D;
         PROCESS W(x : A; y : R); VAR l : A; BEGIN l := x; ASSERT (l[0] = 7) & (y.f[0] = 5); c!v(l); c!w(y) END W;",
        "a[0] := 5; b := a; ASSERT b[0] = 5; r.f := a; r.g := 3; q := r; ASSERT (q.f[0] = 5) & (q.g = 3);
         m[0, 0] := a; a[0] := 6; m[0][0] := a; b := m[0, n]; ASSERT b[0] = 6;
         P(a, b, q); ASSERT (q.f[0] = 6) & (b[0] = 6); D(0, a, b); ASSERT b[0] = 7; D(3, a, m[0, 0]); ASSERT m[0, 0, 0] = 10;
         NEW(c); CREATE W(b, r); c?v(a); ASSERT a[0] = 7; c?w(q); ASSERT q.f[0] = 5",
    );
}

/// Where an array or a record is stored in, or taken from, does not change while it is copied.
#[test]
fn places_of_copies_are_computed_once() {
    holds(
        "TYPE A = ARRAY 2 OF INT8; R = RECORD x : INT8; y : A END; C = [v(A), w(R)]; B = ARRAY 2 OF A;
         PORT c : C; VAR m : B; e : ARRAY 2 OF R; b : A; r : R;
         PROCESS P(VAR z : B); BEGIN z[z[0][0]] := z[1] END P;
         PROCESS Q(n : INT8; VAR z : B; VAR y : A); BEGIN IF n > 0 THEN Q(n - 1, z, z[1]) ELSE z[y[0] - 1] := y; y := z[y[1] - 7] END END Q;
         PROCESS S; VAR a : A; q : R; BEGIN a[0] := 1; a[1] := 9; c!v(a); q.x := 1; q.y[1] := 4; c!w(q) END S;
         PROCESS Set; BEGIN m[0][0] := 0; m[0][1] := 5; m[1][0] := 1; m[1][1] := 7 END Set;",
        "Set; m[m[0][0]] := m[1]; ASSERT (m[0][0] = 1) & (m[0][1] = 7) & (m[1][1] = 7);
         Set; b[0] := 1; b := m[b[0] - 1]; ASSERT (b[0] = 0) & (b[1] = 5);
         Set; P(m); ASSERT (m[0][0] = 1) & (m[0][1] = 7) & (m[1][1] = 7);
         Set; Q(2, m, m[1]); ASSERT (m[0][0] = 1) & (m[0][1] = 7) & (m[1][0] = 1) & (m[1][1] = 7);
         e[1].x := 1; e[1].y[1] := 3; e[e[0].x] := e[1]; ASSERT (e[0].x = 1) & (e[0].y[1] = 3); r := e[1]; r.x := 0; e[1].y[1] := 2; r := e[r.x]; ASSERT r.y[1] = 3;
         Set; e[0].x := 0; NEW(c); CREATE S; c?v(m[m[0][0]]); ASSERT (m[0][0] = 1) & (m[0][1] = 9) & (m[1][1] = 7);
         SELECT WHEN c?w(e[e[0].x]) & (e[0].x = 1) THEN ASSERT (e[0].y[1] = 4) & (e[1].y[1] = 2) END",
    );
}

/// The body of `FOR` may change the variable: the loop ends where the variable has passed the
/// limit, and the variable keeps a value from which it cannot go on.
#[test]
fn the_body_of_for_may_change_its_variable() {
    holds(
        "VAR i : INT8; u : UINT8; k, n : INTEGER; PROCESS Last(VAR x : INT8); BEGIN x := 127 END Last; PROCESS End; BEGIN k := 2147483647 END End;
         PROCESS Down(d : INT8); BEGIN FOR u := 5 TO 2 BY -2 DO IF d > 0 THEN Down(d - 1) END; INC(n) END END Down;",
        "FOR i := 0 TO 9 DO INC(n); IF i = 3 THEN i := 127 END END; ASSERT (n = 4) & (i = 127);
         FOR i := 0 TO 9 DO Last(i); INC(n) END; ASSERT (n = 5) & (i = 127);
         FOR k := 0 TO 9 DO End; INC(n); RESCHEDULE END; ASSERT (n = 6) & (k = 2147483647);
         FOR u := 9 TO 3 BY -3 DO u := 1; INC(n) END; ASSERT (n = 7) & (u = 1); n := 0; Down(1); ASSERT (n = 3) & (u = 1)",
    );
}

#[test]
fn ports_travel_in_messages() {
    holds(
        "TYPE R = [v(INTEGER)]; C = [ask(R)]; PORT c : C;
         PROCESS Server; VAR back : R; BEGIN c?ask(back); back!v(7); c?ask(back); back!v(8) END Server;
         PROCESS Client; PORT mine : R; VAR x : INTEGER; BEGIN NEW(mine); c!ask(mine); mine?v(x); ASSERT (x = 7) OR (x = 8) END Client;",
        "NEW(c); CREATE Server; CREATE Client; CREATE Client",
    );
}

#[test]
fn guards_are_evaluated_after_the_communication() {
    let select = "TYPE C = [v(INTEGER), go]; PORT c : C; VAR open : BOOLEAN;
        PROCESS S(n : INTEGER); BEGIN c!v(n) END S;
        PROCESS R; VAR x, sum : INTEGER;
        BEGIN
          SELECT WHEN c?v(x) & (x > 1) THEN sum := x END;
          ASSERT x = 2;
          SELECT WHEN c?v(x) & (x <= 1) THEN sum := sum + x END;
          ASSERT sum = 3
        END R;";
    for order in ["CREATE S(1); CREATE S(2); CREATE R", "CREATE R; CREATE S(1); CREATE S(2)"] {
        holds(select, &format!("NEW(c); {order}"));
    }
    // Another process makes the guard true later.
    holds(
        "TYPE C = [s]; PORT c : C; VAR open : BOOLEAN; PROCESS S; BEGIN c!s END S; PROCESS R; BEGIN SELECT WHEN c?s & open THEN ASSERT open END END R; PROCESS O; BEGIN open := TRUE END O;",
        "NEW(c); CREATE S; CREATE R; CREATE O",
    );
    // Sending clauses, and a clause for each side.
    holds(
        "TYPE C = [v(INTEGER), w(INTEGER)]; PORT c : C;
         PROCESS B; VAR n, x : INTEGER; BEGIN WHILE n < 2 DO SELECT WHEN c!v(n) THEN INC(n) WHEN c?w(x) THEN n := x END END END B;
         PROCESS T; VAR x : INTEGER; BEGIN c?v(x); ASSERT x = 0; c?v(x); ASSERT x = 1 END T;",
        "NEW(c); CREATE B; CREATE T",
    );
    // A constant in place of a variable is a value that the message must have.
    holds(
        "TYPE C = [v(INTEGER, INTEGER)]; PORT c : C; PROCESS S(n : INTEGER); BEGIN c!v(n, 10 * n) END S; PROCESS R; VAR x : INTEGER; BEGIN c?v(2, x); ASSERT x = 20; c?v(1, x); ASSERT x = 10 END R;",
        "NEW(c); CREATE S(1); CREATE S(2); CREATE R",
    );
}

#[test]
fn select_does_not_meet_select() {
    let text = "MODULE M; TYPE C = [s]; PORT c : C; PROCESS P; BEGIN SELECT WHEN c!s THEN END END P; PROCESS Q; BEGIN SELECT WHEN c?s THEN END END Q; BEGIN NEW(c); CREATE P; CREATE Q END M.";
    assert_eq!(graph_of(text, &[], Options::default()).deadlocks, 1);
}

/// All branches of a choice, each with all partners.
#[test]
fn choices() {
    let graph = holds("VAR x : INTEGER;", "CHOICE x := 1 OR x := 2 OR x := 3 END; RESCHEDULE; ASSERT (x >= 1) & (x <= 3)");
    assert_eq!(graph.states, 1 + 1 + 3 + 3);
    let both = "TYPE C = [msg]; PORT ch : C; VAR sent, got : SET;
        PROCESS S(i : INTEGER); BEGIN ch!msg; INCL(sent, i) END S;
        PROCESS R(i : INTEGER); BEGIN ch?msg; INCL(got, i) END R;
        PROCESS P; BEGIN CHOICE ch?msg OR ch!msg END; ASSERT ~((sent = {0, 1}) & (got = {0, 1})) END P;";
    let text = format!("MODULE M; {both} BEGIN NEW(ch); CREATE S(0); CREATE S(1); CREATE P END M.");
    assert!(graph_of(&text, &[], Options::default()).states > 10);
}

#[test]
fn fine_actions_have_more_states() {
    let text = "MODULE M; VAR a : INTEGER; PROCESS P; BEGIN a := 1; a := 2; RESCHEDULE; a := 3 END P; BEGIN CREATE P; CREATE P END M.";
    let coarse = graph_of(text, &[], Options::default());
    let fine = graph_of(text, &[], Options { fine: true, ..Options::default() });
    assert!(fine.states > coarse.states, "{fine:?} {coarse:?}");
}

/// An assertion that holds changes nothing.
#[test]
fn true_assertions_are_not_seen() {
    let with = |statement: &str| {
        format!(
            "MODULE M; TYPE C = [s]; PORT c : C; VAR n : INTEGER; PROCESS P; BEGIN c!s; {statement} INC(n) END P; PROCESS Q; BEGIN c?s; c?s END Q; BEGIN NEW(c); CREATE P; CREATE P; CREATE Q END M."
        )
    };
    assert_eq!(counts(&with("ASSERT n >= 0;")), counts(&with("")));
    assert_eq!(graph_of(&with("ASSERT n > 0;"), &[], Options::default()).faults, ["Assertion"]);
}

#[test]
fn variables_at_one_address_are_one() {
    holds("VAR a AT 2FFH : UINT8; b AT 767 : UINT8;", "a := 7; ASSERT b = 7");
}

#[test]
fn numbers_without_sign() {
    let overflow = "Other(\"overflow\")";
    let v = "VAR a, b : UINT32; i : INTEGER; k : UINT16; s : SET; t : ARRAY 3 OF UINT32;";
    holds(v, "a := 4294967295; b := 0FFFFFFF0H; ASSERT a > b; ASSERT a - b = 15; ASSERT a DIV 2 = 2147483647; ASSERT a MOD 10 = 5");
    holds(v, "a := 80000000H; i := 7; k := 9; a := a + i + k; ASSERT a = 80000010H; ASSERT i < a; ASSERT ~(a <= k); INC(a, i); DEC(a)");
    holds(v, "a := 3000000000; t[1] := a; s := SET(a); ASSERT UINT32(s) = a; ASSERT ODD(a + 1); ASSERT ABS(a) = a; ASSERT t[1] # 0");
    holds(v, "FOR a := 4294967290 TO 4294967294 DO INC(b) END; ASSERT b = 5; i := INTEGER(b); k := UINT16(b); t[b - 4] := 1");
    holds(v, "i := -2147483648; ASSERT i < 0; a := 65535; a := a * 65537; ASSERT a = 0FFFFFFFFH");
    for wrong in [
        "a := 4294967295; INC(a)",
        "DEC(a)",
        "a := 65536; a := a * a",
        "a := 65537; b := 65536; a := a * b",
        "i := -1; a := UINT32(i)",
        "a := 80000000H; i := INTEGER(a)",
        "a := 80000000H; k := UINT16(a)",
        "i := -1; IF a < i THEN END",
    ] {
        faults(v, wrong, &[overflow]);
    }
    faults(v, "a := 5; a := a DIV b", &["DivisionByZero"]);
    faults(v, "a := 5; a := a MOD b", &["DivisionByZero"]);
    faults(v, "a := 80000000H; t[a] := 1", &["IndexOutOfRange"]);
}

/// Tests every operation on extreme numbers and on random ones.
#[test]
fn arithmetic_without_sign() {
    let mut numbers: Vec<u32> = vec![0, 1, 2, 3, 7, 65535, 65536, 65537, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_fffe, u32::MAX];
    let mut state = 1_u64;
    for _ in 0..8 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        numbers.push((state >> 33) as u32 * 2 + (state & 1) as u32);
    }
    let mut body = String::new();
    let mut failing = Vec::new();
    for &a in &numbers {
        for &b in &numbers {
            for (sign, result) in [
                ("+", a.checked_add(b)),
                ("-", a.checked_sub(b)),
                ("*", a.checked_mul(b)),
                ("DIV", a.checked_div(b)),
                ("MOD", a.checked_rem(b)),
            ] {
                match result {
                    Some(result) => body += &format!("a := {a}; b := {b}; ASSERT a {sign} b = {result};\n"),
                    None => failing.push((a, sign, b)),
                }
            }
            body += &format!(
                "a := {a}; b := {b}; ASSERT (a < b) = {}; ASSERT (a <= b) = {}; ASSERT (a > b) = {}; ASSERT (a >= b) = {};\n",
                bool(a < b),
                bool(a <= b),
                bool(a > b),
                bool(a >= b)
            );
        }
    }
    holds("VAR a, b : UINT32;", &body);
    for (a, sign, b) in failing.iter().step_by(7) {
        let kind = if matches!(*sign, "DIV" | "MOD") { "DivisionByZero" } else { "Other(\"overflow\")" };
        faults("VAR a, b : UINT32;", &format!("a := {a}; b := {b}; a := a {sign} b"), &[kind]);
    }
}

fn bool(value: bool) -> &'static str {
    if value { "TRUE" } else { "FALSE" }
}
