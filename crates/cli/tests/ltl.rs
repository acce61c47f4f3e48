//! `everypath ltl`: the automaton of a formula, and automata from files.

mod common;

use common::Folder;
use std::process::Command;

#[test]
fn json_tells_size_and_class() {
    let folder = Folder::new();
    for (formula, states, transitions, deterministic, class) in [
        ("[]p", 1, 1, true, "safety"),
        ("<>p", 2, 3, true, "guarantee"),
        ("[](p -> <>q)", 2, 4, true, "recurrence"),
        ("<>[]p", 2, 3, false, "persistence"),
        ("[]<>p -> []<>q", 3, 6, false, "reactivity"),
        ("true", 1, 1, true, "bounded"),
        ("false", 1, 0, true, "bounded"),
        ("p && X !p", 3, 3, true, "bounded"),
    ] {
        let json = folder.run(&["ltl", formula, "--format", "json"]).exits(0).json();
        assert_eq!(json["states"], states, "{formula}");
        assert_eq!(json["transitions"], transitions, "{formula}");
        assert_eq!(json["deterministic"], deterministic, "{formula}");
        assert_eq!(json["class"], class, "{formula}");
        assert!(json["generalised"]["states"].as_u64() <= json["states"].as_u64());
        assert_eq!(folder.run(&["ltl", formula, "--json"]).exits(0).json(), json);
    }
    let json = folder.run(&["ltl", "[](x==0 -> <>P[1]@crit)", "--negate", "--json"]).exits(0).json();
    assert_eq!(json["atoms"], serde_json::json!(["x == 0", "P[1]@crit"]));
    assert_eq!(json["negated"], true);
    assert_eq!(json["strength"], "very weak");
}

#[test]
fn what_is_written_is_read() {
    let folder = Folder::new();
    let formula = "[](p -> <>q) && <>r";
    let sizes = folder.run(&["ltl", formula, "--json"]).exits(0).json();
    for (format, file) in [("hoa", "a.hoa"), ("never", "a.never")] {
        let text = folder.run(&["ltl", formula, "--format", format]).exits(0).out;
        folder.write(file, text);
        let read = folder.run(&["ltl", "--file", file, "--json"]).exits(0).json();
        for field in ["states", "transitions", "deterministic", "strength"] {
            assert_eq!(read[field], sizes[field], "{format}: {field}");
        }
        for other in ["text", "hoa", "never", "dot", "svg"] {
            folder.run(&["ltl", "--file", file, "--format", other]).exits(0);
        }
    }
    let generalised = folder.run(&["ltl", formula, "--format", "hoa", "--generalised"]).exits(0).out;
    folder.write("g.hoa", generalised);
    let read = folder.run(&["ltl", "--file", "g.hoa", "--json"]).exits(0).json();
    assert_eq!(read["generalised"]["states"], sizes["generalised"]["states"]);
}

#[test]
fn wrong_input_is_refused_with_its_place() {
    let folder = Folder::with("bad.hoa", "HOA: v1\nStates: 1\nAcceptance: 1 Fin(0)\n--BODY--\n--END--\n");
    let json = folder.run(&["ltl", "[](p U", "--json"]).exits(2).json();
    assert_eq!(json["diagnostics"][0]["column"], 7);
    let json = folder.run(&["ltl", "[] x == 0", "--json"]).exits(2).json();
    assert!(json["diagnostics"][0]["hint"].is_string());
    let json = folder.run(&["ltl", "--file", "bad.hoa", "--json"]).exits(2).json();
    assert_eq!(json["diagnostics"][0]["line"], 3);
    folder.run(&["ltl"]).exits(2);
    folder.run(&["ltl", "p", "--file", "bad.hoa"]).exits(2);
    folder.run(&["ltl", "--file", "absent.hoa"]).exits(2);
    folder.run(&["ltl", "p", "--generalised", "--format", "never"]).exits(2);
    let many: Vec<String> = (0..100).map(|n| format!("<>p{n}")).collect();
    folder.run(&["ltl", &many.join(" && ")]).exits(2);
    let large: Vec<String> = (0..20).map(|n| format!("([]<>p{n} -> []<>q{n})")).collect();
    folder.run(&["ltl", &large.join(" && ")]).exits(2);
}

/// Each predicate that a formula can have becomes a claim that SPIN reads, where it is installed.
#[test]
fn spin_reads_the_claims() {
    if Command::new("spin").arg("-V").output().is_err() {
        testkit::passed_over("SPIN is missing");
        return;
    }
    let model = "mtype = { m1 };\nmtype m; typedef T { byte f }; T s; byte a[3]; bool x; byte v;\n\
                 chan q = [2] of { byte }; chan many[2] = [2] of { byte };\n\
                 active proctype W() { byte w; l: do :: q!1 :: q?v :: m = m1 :: s.f = 1 :: a[1] = 2 :: w = 1 :: many[1]!1 od }\n";
    let folder = Folder::new();
    for atom in [
        "empty(q)",
        "nempty(q)",
        "full(q)",
        "nfull(q)",
        "full(many[1])",
        "empty(many[0])",
        "len(q) == 1",
        "q?[1]",
        "q??[1]",
        "enabled(0)",
        "timeout",
        "np_",
        "_last == 0",
        "W@l",
        "W[0]@l",
        "W[0]:w == 1",
        "W:w",
        "pc_value(0) == 1",
        "_nr_pr == 1",
        "a[1] == 2",
        "s.f == 1",
        "m == m1",
        "get_priority(0) == 1",
        "-v == 1",
        "x",
        "!x",
        "!!x",
    ] {
        for formula in [format!("[]<>({atom})"), format!("[](({atom}) -> <>(v == 1))"), format!("(v == 2) U !({atom})")] {
            for negate in [&["--negate"][..], &[]] {
                let arguments = [&["ltl", &formula, "--format", "never"], negate].concat();
                let claim = folder.run(&arguments).exits(0).out;
                folder.write("m.pml", format!("{model}{claim}"));
                let made = Command::new("spin").args(["-a", "m.pml"]).current_dir(folder.path("")).output().expect("it runs");
                let told = String::from_utf8_lossy(&made.stdout).into_owned() + &String::from_utf8_lossy(&made.stderr);
                assert!(made.status.success() && !told.contains("rror"), "{formula} {negate:?}: {told}\n{claim}");
                // Our own reader takes it too.
                folder.write("claim", &claim);
                folder.run(&["ltl", "--file", "claim"]).exits(0);
            }
        }
    }
}

/// `ltl` and `check --ltl` read the same formulas.
#[test]
fn both_commands_read_the_same_formulas() {
    let processes = ["R", "W", "U", "V", "X"].map(|name| format!("active proctype {name}() {{ byte v; l: do :: v = 1 - v od }}\n"));
    let folder = Folder::with("m.pml", format!("byte v; bool p, q;\n{}", processes.concat()));
    for formula in [
        "<>!!p",
        "!!!p",
        "[](p && !!p)",
        "[](!!p -> p)",
        "p U !!p",
        "[]<>(R:v == 0)",
        "[]<>(W[1]:v == 0)",
        "[]<>U[2]:v",
        "[]<>V@l",
        "[]<>X[4]@l",
        "X X:v",
        "X []p",
        "X[]p",
        "p U U:v",
        "p W W:v",
        "p V V:v",
        "p R q",
        "[](v == !p)",
        "[](!p == v)",
        "[]((p || q) == 1)",
        "[](v == (p && q))",
        "[](-v == 0)",
    ] {
        folder.run(&["ltl", formula]).exits(0);
        let run = folder.run(&["check", "m.pml", "--ltl", formula]);
        assert!(run.code == 0 || run.code == 1, "{formula}: {run:?}");
    }
    for formula in ["p !!q", "[]<>(R:)", "W[1] p", "p U", "[](<>p == q)"] {
        folder.run(&["ltl", formula]).exits(2);
        folder.run(&["check", "m.pml", "--ltl", formula]).exits(2);
    }
}

/// A model in which `p` holds again and again or from some point on not, and which may end.
const SWITCH: &str = "bool p, q, stop\nactive proctype switch() {\n  do\n  :: !stop -> p = !p\n  :: !p -> q = true\n  :: stop = true; break\n  \
                      od\n}\n";

/// The automaton of the negation, in each form, has the verdict of the formula.
#[test]
fn an_automaton_of_another_tool_is_checked_as_its_formula() {
    let folder = Folder::with("switch.pml", SWITCH);
    let formulas = [
        "[]<>p",
        "<>[]!p",
        "[](q -> []q)",
        "[](p -> <>!p)",
        "!q U p",
        "<>stop",
        "[]!q",
        "[](stop -> [](p == p))",
        "[](p -> X p)",
        "<>[](p || !p)",
    ];
    for formula in formulas {
        let formula = formula.replace("p == p", "p || !p");
        let own = folder.run(&["check", "switch.pml", "--ltl", &formula, "--json"]).json();
        assert_eq!(own["properties"][0]["formula"], formula.as_str(), "{own}");
        for (file, options) in
            [("a.hoa", &["--format", "hoa"][..]), ("g.hoa", &["--format", "hoa", "--generalised"]), ("a.never", &["--format", "never"])]
        {
            let text = folder.run(&[&["ltl", &formula, "--negate"], options].concat()).exits(0).out;
            folder.write(file, text);
            for more in [&[][..], &["--no-por", "--no-merge"], &["--cycles", "ndfs"], &["--cycles", "owcty"], &["--search", "sweep"]] {
                let json = folder.run(&[&["check", "switch.pml", "--automaton", file, "--json"], more].concat()).json();
                assert_eq!(json["verdict"], own["verdict"], "{formula} {file} {more:?}: {json}");
            }
        }
    }
}

#[test]
fn automata_that_cannot_be_used_are_refused() {
    let folder = Folder::with("switch.pml", SWITCH);
    let header = "HOA: v1\nStates: 2\nStart: 0\nAP: 1 \"p\"\n";
    folder.write(
        "edges.hoa",
        format!("{header}Acceptance: 1 Inf(0)\n--BODY--\nState: 0\n[0] 1 {{0}}\n[!0] 0\nState: 1\n[t] 1 {{0}}\n[0] 0\n--END--\n"),
    );
    let run = folder.run(&["check", "switch.pml", "--automaton", "edges.hoa", "--finite"]).exits(2);
    assert!(run.err.contains("accepting states"), "{run:?}");
    folder
        .write("states.hoa", format!("{header}Acceptance: 1 Inf(0)\n--BODY--\nState: 0\n[0] 1\n[!0] 0\nState: 1 {{0}}\n[t] 1\n--END--\n"));
    folder.run(&["check", "switch.pml", "--automaton", "states.hoa", "--finite"]).exits(1);
    folder.write("bad.hoa", format!("{header}Acceptance: 1 Fin(0)\n--BODY--\n--END--\n"));
    folder.run(&["check", "switch.pml", "--automaton", "bad.hoa"]).exits(2);
    // Far more states than a search is made for: an answer at once.
    let states: String = (0..60_000).map(|state| format!("State: {state}\n[t] {}\n", (state + 1) % 60_000)).collect();
    let large = format!("HOA: v1\nStates: 60000\nStart: 0\nAP: 0\nAcceptance: 1 Inf(0)\n--BODY--\n{states}--END--\n");
    folder.write("large.hoa", large);
    folder.run(&["check", "switch.pml", "--automaton", "large.hoa"]).exits(2);
    let plain: String = (0..60_000).map(|state| format!("{state} true {}\n", (state + 1) % 60_000)).collect();
    folder.write("large.txt", format!("0\n1\n{plain}"));
    folder.run(&["check", "switch.pml", "--automaton", "large.txt"]).exits(2);
}
