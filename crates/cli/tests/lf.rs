//! The commands on LF programs: graphs, walks, charts, pages, reductions, slices; and all programs
//! of `models/lf`, checked and run.

mod common;

use common::Folder;
use serde_json::Value;

/// The models of LF.
fn model(name: &str) -> String {
    format!("{}/../../models/lf/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn numbers(json: &Value) -> (u64, u64, u64) {
    let number = |key: &str| json[key].as_u64().unwrap_or_else(|| panic!("{key} in {json}"));
    (number("states"), number("transitions"), number("depth"))
}

#[test]
fn graphs_have_states_and_components() {
    let folder = Folder::with("none", "");
    for (name, define, states, transitions) in [("queue.lf", "N=4", 113, 465), ("peterson.lf", "N=2", 89, 177)] {
        folder.run(&["space", &model(name), "-D", define, "-o", "g.json"]).exits(0);
        let text = folder.read("g.json");
        let graph: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!((&graph["states"], graph["transitions"].as_array().map(Vec::len)), (&states.into(), Some(transitions)));
        // One state before the processes exist, one with all of them at their beginning, which is
        // never reached again, and so on; the loop of all of them is the last component.
        let of: Vec<u64> = graph["component"].as_array().expect("a list").iter().filter_map(Value::as_u64).collect();
        assert_eq!(of.len() as u64, states);
        assert_eq!(of.iter().max().map(|most| most + 1), graph["components"].as_u64());
        for edge in graph["transitions"].as_array().expect("a list") {
            let end = |key: &str| of[edge[key].as_u64().expect("a number") as usize];
            assert!(end("source") >= end("target"), "{edge}");
        }
        assert!(of.iter().filter(|component| **component == 0).count() > 1, "{name}: it ends in a loop");
        folder.run(&["space", &model(name), "-D", define, "-o", "g.dot"]).exits(0);
        assert!(folder.read("g.dot").contains("label=\"component 0\""));
        // The graph as a file is a model of the same size.
        folder.run(&["space", &model(name), "-D", define, "-o", "g.aut"]).exits(0);
        let again = folder.run(&["space", "g.aut", "--json"]).exits(0).json();
        assert_eq!((&again["states"], &again["transitions"]), (&states.into(), &(transitions as u64).into()));
    }
}

#[test]
fn a_walk_has_the_statements_of_the_program() {
    let folder = Folder::with("none", "");
    let json = folder.run(&["simulate", &model("prodcons.lf"), "-D", "LAST=3", "--seed", "1", "--json"]).exits(0).json();
    let trace = json["trace"].as_array().expect("a list");
    let statements: Vec<&str> = trace.iter().filter_map(|step| step["statement"].as_str()).collect();
    assert!(statements.iter().any(|statement| statement.contains("out!data(i)")), "{statements:?}");
    assert!(trace.iter().all(|step| step["line"].as_u64().is_some_and(|line| line > 0)), "{json}");
}

#[test]
fn charts_and_pages() {
    let folder = Folder::with("none", "");
    folder.run(&["check", &model("race.lf"), "--trace", "t", "--html", "check.html"]).exits(1);
    folder.run(&["replay", "t", "--svg", "t.svg", "--html", "t.html"]).exits(0);
    let (picture, pages) = (folder.read("t.svg"), [folder.read("t.html"), folder.read("check.html")]);
    assert!(picture.starts_with("<svg") && picture.contains("Adder"), "{picture}");
    for page in pages {
        assert!(page.contains("<html") && page.contains("race.lf"), "{}", &page[..page.len().min(400)]);
    }
}

/// The client does nothing with the sum. Its variable for the sum is removed, and the answer is the
/// same.
#[test]
fn a_slice_leaves_out_what_is_not_asked_about() {
    let text = std::fs::read_to_string(model("product_sum.lf")).expect("a text").replace("ASSERT s = N * (N + 1) DIV 2;", "");
    let folder = Folder::with("sliced.lf", text);
    let whole = folder.run(&["check", "sliced.lf", "--json", "--no-deadlock", "--no-unused"]).exits(0).json();
    let sliced = folder.run(&["check", "sliced.lf", "--json", "--no-deadlock", "--slice"]).exits(0).json();
    let cut = sliced["reduction"]["slice"]["cut"].as_array().expect("a list");
    assert!(cut.iter().any(|cut| cut["name"] == "Client.s"), "{sliced}");
    // Communications stay, so the graph is the same.
    assert_eq!((numbers(&whole), numbers(&sliced)), ((33, 36, 19), (33, 36, 19)));
}

/// The factorial does not depend on the sum: the slice has fewer states and is less deep. A formula
/// that is wrong is wrong in the slice too.
#[test]
fn a_slice_leaves_out_processes() {
    let folder = Folder::with("none", "");
    let formula = "[] (('factorial = 0') || ('factorial = 3628800'))";
    let check = |formula: &str, more: &[&str], exit: i32| {
        let factorial = model("factorial.lf");
        let arguments = ["check", &factorial, "--json", "--no-deadlock", "--ltl", formula];
        folder.run(&[&arguments, more].concat()).exits(exit).json()
    };
    let (whole, sliced) = (check(formula, &[], 0), check(formula, &["--slice"], 0));
    assert_eq!((numbers(&whole).0, numbers(&sliced).0), (761, 28));
    assert_eq!((numbers(&whole).2, numbers(&sliced).2), (30, 15));
    let cut = sliced["reduction"]["properties"][0]["slice"]["cut"].as_array().expect("a list");
    let processes: Vec<_> = cut.iter().filter(|cut| cut["kind"] == "process").map(|cut| cut["name"].clone()).collect();
    assert_eq!(processes, ["Sum", "SumClient"]);
    let wrong = check("[] 'factorial = 0'", &["--slice"], 1);
    assert!(wrong["trace"].as_array().is_some_and(|trace| !trace.is_empty()), "{wrong}");
}

/// How the work of a search divides is told if it is asked for, and only then.
#[test]
fn the_parts_of_the_work_are_counted() {
    let folder = Folder::with("none", "");
    let work = |more: &[&str]| {
        let semaphore = model("semaphore.lf");
        folder.run(&[&["check", &semaphore, "--json", "--no-por"], more].concat()).exits(0).json()
    };
    assert!(work(&[])["work"].is_null());
    let count = |json: &Value, part: &str| json["work"][part]["count"].as_u64().unwrap_or_else(|| panic!("{part} in {json}"));
    let depth = work(&["--search", "dfs", "--verbose"]);
    let (states, transitions, _) = numbers(&depth);
    assert_eq!((states, transitions), (653, 2301));
    for part in ["push", "select", "backtrack"] {
        assert_eq!(count(&depth, part), states, "{part}");
    }
    assert_eq!(count(&depth, "actions"), transitions);
    assert!(count(&depth, "insert") >= transitions);
    for threads in ["1", "2"] {
        let breadth = work(&["--search", "bfs", "--verbose", "--threads", threads]);
        assert_eq!(["push", "select", "backtrack"].map(|part| count(&breadth, part)), [states, states, 0]);
        assert_eq!(["actions", "insert"].map(|part| count(&breadth, part)), [transitions, transitions + 1]);
    }
    let text = folder.run(&["check", &model("semaphore.lf"), "--verbose"]).exits(0).out;
    assert!(text.lines().any(|line| line.starts_with("work: actions ")), "{text}");
}

/// Processes that communicate through ports of one type, but never through the same channel, are
/// independent of each other.
#[test]
fn channels_of_one_type_are_told_apart_by_the_reduction() {
    let folder = Folder::with("none", "");
    let states = |name: &str, more: &[&str]| {
        let model = model(name);
        let arguments = ["check", &model, "--json", "--no-merge", "--no-unused", "--no-dead"];
        let json = folder.run(&[&arguments, more].concat()).exits(0).json();
        assert_eq!(json["verdict"], "holds");
        numbers(&json).0
    };
    for (name, whole, left) in [("factorial.lf", 761, 276), ("product_and_sum.lf", 308, 77), ("sliding_window.lf", 1347, 970)] {
        assert_eq!((states(name, &["--no-por"]), states(name, &[])), (whole, left), "{name}");
        assert_eq!(states(name, &["--check-por"]), left, "{name}");
    }
}

/// Sum and product are computed in parallel: more than 70 % of the states are left out, as many as
/// the thesis (section 6.1) left out by hand. The verdicts are the same on all models.
#[test]
fn the_partial_order_reduction_leaves_states_out() {
    let folder = Folder::with("none", "");
    let counts = |more: &[&str]| {
        let source = model("product_and_sum.lf");
        let json = folder.run(&[&["check", source.as_str(), "--json", "--search", "dfs"], more].concat()).exits(0).json();
        let (states, transitions, _) = numbers(&json);
        (states, transitions)
    };
    assert_eq!(counts(&["--no-por"]), (308, 705));
    assert_eq!(counts(&[]), (77, 93));
}

/// Each program has the verdict of its header when it is checked, and a run of it behaves as that
/// verdict allows.
#[test]
fn every_model_is_checked_and_run() {
    let folder = Folder::with("none", "");
    let mut seen = 0;
    for entry in std::fs::read_dir(model("")).expect("the models").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(entry.path()).expect("a text");
        let line = text.lines().find_map(|line| line.trim().strip_prefix("expect:")).expect("what is expected");
        let violated = line.contains("verdict=violated");
        let checked = folder.run(&["check", &model(&name), "--json"]).exits(i32::from(violated)).json();
        if violated {
            let kind = checked["violation"]["kind"].as_str().expect("a kind");
            assert!(line.contains(&format!("violation=\"{kind}\"")), "{name}: {line}: {kind}");
        }
        let space = folder.run(&["space", &model(&name), "--json"]).exits(0).json();
        let (states, transitions, _) = numbers(&space);
        assert!(line.contains(&format!("states={states} transitions={transitions} ")), "{name}: {line}, not {states} and {transitions}");
        for engine in ["jit", "vm"] {
            let run = folder.run(&["run", &model(&name), "--steps", "3000", "--time", "2s", "--engine", engine, "--monitor", "--json"]);
            let end = run.json()["end"].as_str().expect("an end").to_owned();
            let fine = ["end", "steps", "time"].contains(&end.as_str());
            assert!(fine || violated, "{name}: a run ends with {end}, and the program holds");
            assert_eq!(run.code, i32::from(!fine), "{name}: {run:?}");
        }
        seen += 1;
    }
    assert!(seen >= 16, "{seen}");
}

/// A run with devices is recorded, and the trace is replayed.
#[test]
fn a_run_with_devices_is_replayed() {
    let text = "MODULE Wait; IMPORT Timer, Out;\nVAR n : INTEGER;\nPROCESS P(unit, ms : INTEGER);\nBEGIN Timer.Wait(unit, ms); INC(n); Out.Int(ms); Out.Ln\nEND P;\nBEGIN CREATE P(0, 30); CREATE P(1, 5) END Wait.\n";
    let folder = Folder::with("wait.lf", text);
    let run = folder.run(&["run", "wait.lf", "--trace", "t", "--json"]).exits(0).json();
    assert_eq!((&run["end"], &run["output"]), (&"end".into(), &"5\n30\n".into()), "{run}");
    // The checker knows these devices too: only the lines that the program uses interrupt, and the
    // clock names only units that are set.
    let checked = folder.run(&["check", "wait.lf", "-D", "devices=host", "--json"]).exits(0).json();
    assert_eq!(checked["verdict"], "holds", "{checked}");
    assert!(checked["states"].as_u64().is_some_and(|states| states < 5000), "{checked}");
    let told = folder.run(&["replay", "t", "--json"]).exits(0).json();
    assert_eq!(told["trace"].as_array().map(Vec::len), run["actions"].as_u64().map(|count| count as usize), "{told}");
}

/// A process still waits when all devices are quiet: the run names it and fails.
#[test]
fn who_waits_in_vain_among_devices_is_told() {
    let text = "MODULE Vain; IMPORT Timer;\nTYPE C = [s];\nPORT c : C;\nPROCESS P; BEGIN Timer.Wait(0, 1); c?s END P;\nBEGIN NEW(c); CREATE P END Vain.\n";
    let folder = Folder::with("vain.lf", text);
    let run = folder.run(&["run", "vain.lf", "--trace", "t", "--json"]).exits(1).json();
    assert_eq!(run["end"], "deadlock", "{run}");
    let waiting = run["waiting"].as_array().expect("a list");
    assert_eq!((waiting.len(), &waiting[0]["name"]), (1, &"P".into()), "{run}");
    folder.run(&["replay", "t"]).exits(0);
}

/// Typical first programs: a lock with a time limit, a ring, messages with records, nested
/// recursion, and a program that is closed.
#[test]
fn first_programs() {
    let orders = "MODULE Orders; IMPORT Out;\nTYPE Order = RECORD number : INTEGER; price : UINT16; urgent : BOOLEAN END; Mail = [order(Order), done];\nPORT mail : Mail;\nPROCESS Shop; VAR o : Order;\nBEGIN\n  FOR o.number := 1 TO 3 DO o.price := UINT16(o.number * 100); o.urgent := ODD(o.number); mail!order(o) END;\n  mail!done\nEND Shop;\nPROCESS Desk; VAR o : Order; total : INTEGER; more : BOOLEAN;\nBEGIN\n  more := TRUE;\n  WHILE more DO\n    SELECT\n      WHEN mail?order(o) & (o.price < 1000) THEN total := total + o.price; IF o.urgent THEN Out.Int(o.number) END\n      WHEN mail?done THEN more := FALSE\n    END\n  END;\n  ASSERT total = 600\nEND Desk;\nBEGIN NEW(mail); CREATE Shop; CREATE Desk END Orders.\n";
    let folder = Folder::with("orders.lf", orders);
    assert_eq!(folder.run(&["run", "orders.lf"]).exits(0).out, "13");
    folder.run(&["check", "orders.lf"]).exits(0);
    let queens = "MODULE Nest; IMPORT Out;\nVAR solutions : INTEGER;\nPROCESS Queens(n : INTEGER; VAR count : INTEGER);\nVAR b : ARRAY 6 OF INTEGER;\n  PROCESS Free(row, col : INTEGER; VAR ok : BOOLEAN);\n  VAR i : INTEGER;\n  BEGIN\n    ok := TRUE;\n    FOR i := 0 TO row - 1 DO IF (b[i] = col) OR (ABS(b[i] - col) = row - i) THEN ok := FALSE END END\n  END Free;\n  PROCESS Place(row : INTEGER);\n  VAR c : INTEGER; ok : BOOLEAN;\n  BEGIN\n    IF row = n THEN INC(count)\n    ELSE FOR c := 0 TO n - 1 DO Free(row, c, ok); IF ok THEN b[row] := c; Place(row + 1) END END\n    END\n  END Place;\nBEGIN count := 0; Place(0) END Queens;\nBEGIN Queens(6, solutions); ASSERT solutions = 4; Out.Int(solutions) END Nest.\n";
    let folder = Folder::with("nest.lf", queens);
    assert_eq!(folder.run(&["run", "nest.lf"]).exits(0).out, "4");
    folder.run(&["check", "nest.lf"]).exits(0);
    let counter = "MODULE Counter;\nTYPE Button = [press(BOOLEAN), reset]; Lamp = [show(INT8)];\nPORT button : Button; lamp : Lamp;\nVAR n : INT8;\nPROCESS Control; VAR up : BOOLEAN;\nBEGIN\n  WHILE TRUE DO\n    SELECT\n      WHEN button?press(up) THEN IF up & (n < 3) THEN INC(n) ELSIF ~up & (n > 0) THEN DEC(n) END\n      WHEN button?reset THEN n := 0\n    END;\n    ASSERT (n >= 0) & (n <= 3);\n    lamp!show(n)\n  END\nEND Control;\nBEGIN NEW(button); NEW(lamp); CREATE Control END Counter.\n";
    let folder = Folder::with("counter.lf", counter);
    folder.run(&["check", "counter.lf"]).exits(1);
    folder.run(&["check", "counter.lf", "--close"]).exits(0);
    let closed = folder.run(&["close", "counter.lf"]).exits(0).out;
    folder.write("closed.lf", &closed);
    folder.run(&["check", "closed.lf"]).exits(0);
    folder.run(&["run", "closed.lf", "--steps", "1000"]).exits(0);
}

/// The code of a process that calls itself ends after its last step, before that of another
/// process. A deadlock is explained all the same.
#[test]
fn a_deadlock_after_recursion_is_explained() {
    let text = "MODULE D; TYPE C = [v(INTEGER)]; PORT c : C; VAR g : INTEGER;\n\
        PROCESS R(VAR r : INTEGER; n : INTEGER); VAR a, b : INTEGER; BEGIN IF n = 0 THEN r := a ELSE a := n; R(b, n - 1); r := b END END R;\n\
        PROCESS P; VAR u, v, w, x : INTEGER; BEGIN R(g, 2); R(u, 1); SELECT WHEN c!v(u) THEN v := w END END P;\n\
        PROCESS Q; VAR x : INTEGER; BEGIN c?v(x); c?v(x) END Q;\n\
        BEGIN NEW(c); CREATE P; CREATE Q END D.\n";
    let folder = Folder::with("d.lf", text);
    let json = folder.run(&["check", "d.lf", "--json"]).exits(1).json();
    let waiting = json["waiting"].as_array().expect("a list");
    assert!(waiting.iter().any(|process| process["process"] == "Q"), "{json}");
}

/// A loop without the end of an action, at the head of another, does not hide that the program runs
/// for ever.
#[test]
fn merged_steps_leave_loops_visible() {
    let text = "MODULE Min; VAR p, y : INT8;\n\
        PROCESS P; VAR x : INT8; BEGIN WHILE TRUE DO WHILE y # p DO END; x := 1; RESCHEDULE END END P;\nBEGIN CREATE P END Min.\n";
    let folder = Folder::with("min.lf", text);
    for more in [&[][..], &["--no-merge"], &["--no-unused"], &["--no-por"]] {
        let json = folder.run(&[&["check", "min.lf", "--json", "--ltl", "<> 'p > 0'"], more].concat()).exits(1).json();
        assert_eq!(json["verdict"], "violated", "{more:?}: {json}");
    }
}

/// A property goes on observing a program that has stopped.
#[test]
fn properties_observe_a_program_that_has_stopped() {
    let moves = "RESCHEDULE; ".repeat(6);
    let text = format!("MODULE W; VAR n : INT8;\nPROPERTY Late;\nBEGIN {moves}ASSERT FALSE END Late;\nBEGIN n := 1 END W.\n");
    let folder = Folder::with("w.lf", text);
    for more in [&[][..], &["--threads", "2"], &["--cycles", "ndfs"], &["--no-por", "--engine", "vm"]] {
        let json = folder.run(&[&["check", "w.lf", "--json", "--no-deadlock"], more].concat()).exits(1).json();
        assert_eq!(json["verdict"], "violated", "{more:?}: {json}");
    }
}

/// A fault says what happened, in a search and in a run on both engines.
#[test]
fn faults_say_what_happened() {
    for (declarations, body, kind, line) in [
        ("VAR x, y : INTEGER;", "x := -2147483647 - 1; y := -1; x := x DIV y", "overflow", 3),
        ("PROCESS P(n : INTEGER); BEGIN P(n + 1) END P;", "P(0)", "more than 32 nested calls", 2),
        ("TYPE C = [s]; PORT c : C; VAR i : INTEGER;", "FOR i := 1 TO 256 DO NEW(c) END", "more than 255 channels", 3),
        ("VAR s : SET; i : INTEGER;", "i := 32; INCL(s, i)", "no element of a set", 3),
    ] {
        let folder = Folder::with("f.lf", format!("MODULE F;\n{declarations}\nBEGIN {body} END F.\n"));
        let checked = folder.run(&["check", "f.lf", "--json"]).exits(1).json();
        assert_eq!((&checked["violation"]["kind"], &checked["violation"]["line"]), (&kind.into(), &line.into()), "{checked}");
        for engine in ["jit", "vm"] {
            let run = folder.run(&["run", "f.lf", "--engine", engine]).exits(1);
            assert!(format!("{run:?}").contains(kind), "{engine}: {run:?}");
        }
    }
}

/// Values of the environment that nobody tries decide nothing by themselves.
#[test]
fn any_values_are_followed() {
    let text = "MODULE A;\nTYPE T = [cmd(INTEGER)];\nPORT p : T;\nVAR g : INTEGER;\nPROCESS S; VAR x : INTEGER;\nBEGIN WHILE TRUE DO p?cmd(x); IF (x > 2) & (g = 0) THEN ASSERT FALSE END END END S;\nBEGIN NEW(p); CREATE S END A.\n";
    let folder = Folder::with("a.lf", text);
    folder.run(&["check", "a.lf", "--close=2"]).exits(0);
    for close in ["--close=6", "--close=any"] {
        let json = folder.run(&["check", "a.lf", close, "--json"]).exits(1).json();
        assert_eq!(json["violation"]["kind"], "assertion violated", "{close}: {json}");
    }
}

/// A loop that never ends is reported where it is, not where its action began, by all engines and
/// in a run. Loops that end, before it and inside it, are not blamed.
#[test]
fn endless_loops_are_reported_where_they_are() {
    for (body, line, column) in [
        ("j := 2;\nFOR i := 0 TO 3 DO j := j + 1 END;\n WHILE i > 0 DO\nFOR j := 0 TO 9 DO g := j END; g := 0\nEND", 7, 2),
        ("REPEAT g := 3 - g\n  UNTIL g = 5", 6, 3),
        ("g := 1;\nFOR i := 0 TO 10 DO\nDown(3, j); i := 0\nEND", 6, 1),
        ("g := 1; CHOICE\nWHILE g = 1 DO END\nOR WHILE g = 1 DO END END", 6, 1),
    ] {
        let text = format!(
            "MODULE M; VAR g : INTEGER; PROCESS Down(n : INTEGER; VAR r : INTEGER); VAR i : INTEGER;\n\
             BEGIN FOR i := 0 TO n DO r := i END; IF n > 0 THEN Down(n - 1, r) END END Down;\n\
             PROCESS P; VAR i, j : INTEGER; BEGIN g := 1; RESCHEDULE; i := 0;\n\n{body}\nEND P;\nBEGIN CREATE P END M.\n"
        );
        let folder = Folder::with("m.lf", text);
        for arguments in [&["check", "m.lf", "--json"][..], &["check", "m.lf", "--json", "--engine", "vm"]] {
            let json = folder.run(arguments).exits(1).json();
            let found = &json["violation"];
            let place = (found["kind"].as_str(), found["line"].as_u64(), found["column"].as_u64());
            assert_eq!(place, (Some("endless sequence"), Some(line), Some(column)), "{body}: {found}");
        }
        let found = &folder.run(&["run", "m.lf", "--json"]).exits(1).json()["violation"];
        let is_choice = body.contains("CHOICE");
        assert_eq!(found["kind"], "endless sequence", "{found}");
        assert!(found["line"] == line || (is_choice && found["line"] == line + 1), "{body}: {found}");
        // The trace ends in the violation that it claims.
        folder.run(&["check", "m.lf", "--trace", "t"]).exits(1);
        folder.run(&["replay", "t"]).exits(0);
    }
}

/// A search knows what can be typed at the console, if it is told.
#[test]
fn the_console_gives_what_can_be_typed() {
    let text = "MODULE M; IMPORT In; CONST WRONG = 12; VAR x : INTEGER; more : BOOLEAN;
                BEGIN In.Int(x, more); ASSERT x # WRONG END M.";
    let folder = Folder::with("m.lf", text);
    let check = |arguments: &[&str]| folder.run(&[&["check", "m.lf", "--json"], arguments].concat()).json();
    let digits = ["-D", "console=0-9\\n", "-D", "console_length=2"];
    let found = check(&digits);
    assert_eq!(found["violation"]["kind"], "assertion violated", "{found}");
    for harmless in [
        &["-D", "console=0-1\\n", "-D", "console_length=2"][..],
        &["-D", "console=0-9", "-D", "console_length=1"],
        &["-D", "console_length=2", "-D", "console=0-9", "-D", "WRONG=100"],
        &["-D", "console=a-z"],
    ] {
        let held = check(harmless);
        assert_eq!(held["verdict"], "holds", "{harmless:?}: {held}");
        assert!(held["states"].as_u64().is_some_and(|states| states < 50_000), "{held}");
    }
    let negative = check(&["-D", "console=-0-9", "-D", "console_length=3", "-D", "WRONG=-12"]);
    assert_eq!(negative["verdict"], "violated", "{negative}");
    for wrong in ["console=", "console=z-a", "console=\\x", "console_length=256", "console_length=x"] {
        folder.run(&["check", "m.lf", "-D", wrong]).exits(2);
    }
    folder.run(&["run", "m.lf", "-D", "console=a"]).exits(2);
}
