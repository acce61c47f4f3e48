//! Temporal properties from the command line: formulas by name and by text, lassos in text and
//! JSON, traces that are replayed.

mod common;

use common::Folder;

const TOGGLE: &str = "#define one (x == 1)\nbyte x;\nactive proctype P() { do :: x = 1 - x od }\nactive proctype Q() { do :: skip od }\n\
ltl again { [] <> one }\nltl small { [] (x < 2) }\n";

#[test]
fn every_property_is_checked_and_has_a_verdict_of_its_own() {
    let folder = Folder::with("toggle.pml", TOGGLE);
    let run = folder.run(&["check", "toggle.pml"]).exits(1);
    assert!(run.out.starts_with("violated: property: `again` does not hold (toggle.pml:5:5)"), "{run:?}");
    assert!(run.out.contains("from here on, again and again:"), "{run:?}");
    assert!(run.out.contains("  violated again (ltl) toggle.pml:5") && run.out.contains("  holds    small (ltl) toggle.pml:6"), "{run:?}");
    let json = folder.run(&["check", "toggle.pml", "--json"]).exits(1).json();
    let again = json["properties"].as_array().expect("a list").iter().find(|p| p["name"] == "again").expect("the property");
    assert_eq!((&again["kind"], &again["verdict"]), (&"ltl".into(), &"violated".into()), "{json}");
    let (start, steps) = (again["loop_start"].as_u64().expect("a loop"), again["trace"].as_array().expect("a trace").len() as u64);
    assert!(start < steps && again["states"].as_u64() > Some(0), "{json}");
    assert_eq!(json["loop_start"], again["loop_start"], "{json}");
    folder.run(&["check", "toggle.pml", "--fair", "weak"]).exits(0);
}

/// What is stated and not asked for is named, in the text and in the JSON, whatever leaves it out.
#[test]
fn what_is_not_asked_for_is_named() {
    let folder = Folder::with("toggle.pml", TOGGLE);
    let names = |options: &[&str]| {
        let json = folder.run(&[&["check", "toggle.pml", "--json"], options].concat()).exits(0).json();
        let list = json["not_asked"].as_array().cloned().unwrap_or_default();
        let names: Vec<String> =
            list.iter().filter_map(|left| Some(format!("{} {}", left["name"].as_str()?, left["kind"].as_str()?))).collect();
        let text = folder.run(&[&["check", "toggle.pml"], options].concat()).exits(0).out;
        assert!(list.iter().all(|left| text.contains(&format!("`{}`", left["name"].as_str().unwrap_or("?")))), "{text}");
        names
    };
    assert_eq!(names(&["--fair", "weak"]), [""; 0]);
    assert_eq!(names(&["--only", "safety"]), ["again ltl", "small ltl"]);
    assert_eq!(names(&["--only", "safety", "--no-deadlock"]), ["end states end states", "again ltl", "small ltl"]);
    let chosen = names(&["--ltl", "small"]);
    assert!(chosen.contains(&"again ltl".to_owned()) && !chosen.contains(&"small ltl".to_owned()), "{chosen:?}");
}

/// `--only safety` does not leave out what another option asks for.
#[test]
fn progress_is_no_part_of_safety() {
    let folder = Folder::with("loop.pml", "active proctype P() { do :: skip od }\n");
    folder.run(&["check", "loop.pml", "--non-progress"]).exits(1);
    folder.run(&["check", "loop.pml", "--only", "safety"]).exits(0);
    let run = folder.run(&["check", "loop.pml", "--non-progress", "--only", "safety"]).exits(2);
    assert!(run.err.contains("--only safety"), "{run:?}");
}

/// A property that is stated and cannot be checked makes the verdict unknown. A violation of
/// another property is still one.
#[test]
fn what_cannot_be_checked_is_unknown() {
    let parts: Vec<String> = (0..65).map(|value| format!("x != {value}")).collect();
    let text = |first: &str| format!("byte x = 100;\nactive proctype P() {{ {first} }}\nltl many {{ [] ({}) }}\n", parts.join(" && "));
    let folder = Folder::with("many.pml", text("skip"));
    let run = folder.run(&["check", "many.pml", "--json"]).exits(3);
    let json = run.json();
    assert_eq!((&json["verdict"], &json["reason"]), (&"unknown".into(), &"unchecked".into()), "{json}");
    let verdicts: Vec<_> = json["properties"].as_array().expect("a list").iter().map(|each| (&each["name"], &each["verdict"])).collect();
    assert!(verdicts.contains(&(&"many".into(), &"unknown".into())), "{json}");
    assert!(verdicts.contains(&(&"end states".into(), &"holds".into())), "{json}");
    assert!(run.err.contains("65 different expressions"), "{run:?}");
    folder.run(&["check", "many.pml", "--only", "safety"]).exits(0);
    let json = Folder::with("many.pml", text("assert(false)")).run(&["check", "many.pml", "--json"]).exits(1).json();
    assert_eq!(json["violation"]["kind"], "assertion violated", "{json}");
}

#[test]
fn a_formula_can_be_named_or_written() {
    let folder = Folder::with("toggle.pml", TOGGLE);
    folder.run(&["check", "toggle.pml", "--ltl", "small"]).exits(0);
    folder.run(&["check", "toggle.pml", "--ltl", "again"]).exits(1);
    folder.run(&["check", "toggle.pml", "--ltl", "again", "--ltl", "small"]).exits(1);
    // With the macros of the model, and remote references.
    let json = folder.run(&["check", "toggle.pml", "--ltl", "<> one", "--fair", "weak", "--json"]).exits(0).json();
    assert_eq!(json["properties"].as_array().map(Vec::len), Some(1), "{json}");
    folder.run(&["check", "toggle.pml", "--ltl", "[] !one"]).exits(1);
    let run = folder.run(&["check", "toggle.pml", "--ltl", "[] (y == 1)"]).exits(2);
    assert!(run.err.contains("`y` is not declared") && run.err.contains("--ltl:1"), "{run:?}");
    let run = folder.run(&["check", "toggle.pml", "--ltl", "[] (x =="]).exits(2);
    assert!(run.err.contains("--ltl:"), "{run:?}");
}

#[test]
fn a_lasso_is_written_and_replayed() {
    let folder = Folder::with("toggle.pml", TOGGLE);
    folder.run(&["check", "toggle.pml", "--trace", "lasso.trace"]).exits(1);
    let run = folder.run(&["replay", "lasso.trace"]).exits(0);
    assert!(run.out.contains("from here on, again and again:"), "{run:?}");
}

#[test]
fn progress_is_asked_for() {
    let text = "byte x;\nactive proctype P() { do :: x = 1 - x od }\n";
    let folder = Folder::with("still.pml", text);
    folder.run(&["check", "still.pml"]).exits(0);
    let run = folder.run(&["check", "still.pml", "--non-progress"]).exits(1);
    assert!(run.out.starts_with("violated: property: a cycle without progress"), "{run:?}");
}

#[test]
fn graphs_and_assembly_have_formulas_too() {
    let graph = "des (0, 3, 3)\n(0, \"a\", 1)\n(1, \"b\", 0)\n(1, \"c\", 2)\nstate (2, \"end\", \"stop\")\nstate (1, \"mid\")\n";
    let folder = Folder::with("small.aut", graph);
    folder.run(&["check", "small.aut", "--ltl", "<> stop"]).exits(1);
    folder.run(&["check", "small.aut", "--ltl", "[] (mid -> X !mid)"]).exits(0);
    let run = folder.run(&["check", "small.aut", "--ltl", "[] nothing"]).exits(2);
    assert!(run.err.contains("no state of the graph has the atom `nothing`") && run.err.contains("end, stop, mid"), "{run:?}");
}

#[test]
fn what_cannot_be_done_is_said() {
    let folder = Folder::with("toggle.pml", TOGGLE);
    let run = folder.run(&["check", "toggle.pml", "--store", "bits", "--memory", "64M"]).exits(2);
    assert!(run.err.contains("a search for cycles needs a store"), "{run:?}");
    let run = folder.run(&["check", "toggle.pml", "--cycles", "ndfs", "--fair", "strong"]).exits(2);
    assert!(run.err.contains("`--cycles scc`"), "{run:?}");
    let run = folder.run(&["check", "toggle.pml", "--fair", "perfect"]).exits(2);
    assert!(run.err.contains("none, weak, strong"), "{run:?}");
}

#[test]
fn the_shortest_lasso_is_shown() {
    let text = "byte x;\nactive proctype P() { do :: x < 9 -> x++ :: x > 0 -> x-- :: x == 9 -> x = 0 od }\nltl f { <> [] (x == 0) }\n";
    let folder = Folder::with("count.pml", text);
    let json = folder.run(&["check", "count.pml", "--shortest", "--json"]).exits(1).json();
    // Up and down again, with a step for each guard.
    assert_eq!((json["trace"].as_array().map(Vec::len), json["loop_start"].as_u64()), (Some(4), Some(0)), "{json}");
}
