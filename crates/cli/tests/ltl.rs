//! `everypath ltl`: the automaton of a formula, and automata from files.

mod common;

use common::Folder;

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
