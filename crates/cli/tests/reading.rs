//! Options that make a trace easier to read: steps that do not matter are folded, repetitions are
//! shown once, context switches are few; and witnesses of properties that hold.

mod common;

use common::Folder;
use serde_json::Value;

/// Two processes lose an update while a third counts independently.
const NOISE: &str = "byte n, other;
active [2] proctype P() { byte t; t = n; n = t + 1 }
active proctype Noise() { byte i; do :: i < 9 -> i++; other = i :: else -> break od }
active proctype Q() { (n > 0) -> assert(n == 2) }
";

fn numbers(list: &Value) -> Vec<u64> {
    list.as_array().expect("a list").iter().filter_map(Value::as_u64).collect()
}

#[test]
fn steps_that_do_not_matter_are_folded() {
    let folder = Folder::with("model.pml", NOISE);
    let arguments = ["check", "model.pml", "--search", "dfs", "--no-por", "--no-merge", "--causal", "--trace", "t.json"];
    let json = folder.run(&[&arguments[..], &["--json"]].concat()).exits(1).json();
    let (trace, kept) = (json["trace"].as_array().expect("a trace"), numbers(&json["causal"]["kept"]));
    assert_eq!(json["causal"]["folded"].as_u64(), Some((trace.len() - kept.len()) as u64));
    assert_eq!(json["causal"]["complete"], true);
    // The noise does not matter. An increment does, and so does the process that checks it.
    assert!(!kept.is_empty() && kept.len() <= 6, "{kept:?}");
    for number in &kept {
        assert_ne!(trace[*number as usize - 1]["process"], "Noise", "{json}");
    }
    assert!(trace.iter().any(|step| step["process"] == "Noise"), "the trace has noise in it");
    // A trace in a file is folded in the same way.
    let again = folder.run(&["replay", "t.json", "--causal", "--json"]).exits(0).json();
    assert_eq!(again["causal"], json["causal"]);
    let text = folder.run(&["replay", "t.json", "--causal"]).exits(0).out;
    assert!(text.contains(" folded") && text.contains("context switch"), "{text}");
}

#[test]
fn who_waits_depends_on_the_steps_that_led_there() {
    let model = "bool a, b; byte noise;
active proctype Left() { atomic { !a -> a = true }; atomic { !b -> b = true }; a = false; b = false }
active proctype Right() { atomic { !b -> b = true }; atomic { !a -> a = true }; a = false; b = false }
active proctype Noise() { do :: noise < 5 -> noise++ :: else -> break od }
";
    let folder = Folder::with("model.pml", model);
    let json = folder.run(&["check", "model.pml", "--no-por", "--no-merge", "--causal", "--json"]).exits(1).json();
    let trace = json["trace"].as_array().expect("a trace");
    let kept: Vec<&Value> = numbers(&json["causal"]["kept"]).iter().map(|number| &trace[*number as usize - 1]["process"]).collect();
    assert_eq!(kept.len(), 2, "{json}");
    assert!(kept.contains(&&"Left".into()) && kept.contains(&&"Right".into()), "{json}");
}

#[test]
fn a_run_that_violates_a_formula_is_folded() {
    let model = "bool p; byte noise;
active proctype Off() { do :: p = false od }
active proctype Noise() { do :: noise < 5 -> noise++ :: else -> break od }
ltl live { <> p }
";
    let folder = Folder::with("model.pml", model);
    let json = folder.run(&["check", "model.pml", "--no-por", "--no-merge", "--no-unused", "--causal", "--json"]).exits(1).json();
    let trace = json["trace"].as_array().expect("a trace");
    let kept = numbers(&json["causal"]["kept"]);
    assert!(kept.len() <= 1, "{json}");
    assert!(kept.iter().all(|number| trace[*number as usize - 1]["process"] == "Off"), "{json}");
}

#[test]
fn repetitions_are_shown_once() {
    let model = "byte n;\nactive proctype P() { do :: n < 40 -> n++ :: else -> break od; assert(n == 7) }\n";
    let folder = Folder::with("model.pml", model);
    let text = folder.run(&["check", "model.pml", "--no-merge"]).exits(1).out;
    assert!(text.contains("these 2 steps 39 times more, to step 80\n        n = 40\n"), "{text}");
    assert!(text.lines().count() < 40, "{text}");
    let all = folder.run(&["check", "model.pml", "--no-merge", "--verbose"]).exits(1).out;
    assert!(all.contains("  79  P(0)  model.pml:2  n < 40"), "{all}");
}

#[test]
fn context_switches_are_counted_and_can_be_few() {
    let folder = Folder::with("model.pml", NOISE);
    let many = folder.run(&["check", "model.pml", "--search", "bfs", "--no-por", "--json"]).exits(1).json();
    let few = folder.run(&["check", "model.pml", "--search", "bfs", "--no-por", "--fewest-switches", "--json"]).exits(1).json();
    let count = |json: &Value| {
        let trace = json["trace"].as_array().expect("a trace");
        let switches = trace.windows(2).filter(|pair| pair[0]["pid"] != pair[1]["pid"]).count() as u64;
        assert_eq!(json["context_switches"].as_u64(), Some(switches), "{json}");
        switches
    };
    // One increment, and its check.
    assert_eq!(count(&few), 1);
    assert!(count(&many) >= 1);
    let text = folder.run(&["check", "model.pml", "--fewest-switches"]).exits(1).out;
    assert!(text.contains("no path to a violation has fewer than 1 context switch "), "{text}");
}

/// The shortest path to `[] !(a && b)`'s violation changes process at each step; with one switch
/// it is longer. The model also has a deadlock, which nobody asks for.
const FORMULA: &str =
    "byte x;\nbool stuck;\nactive proctype P() { x = 1; x = 2; x = 3 }\nactive proctype Q() { bool q; q = 1; q = 0; stuck }\n";

#[test]
fn a_formula_keeps_its_own_violation_with_few_switches() {
    let folder = Folder::with("model.pml", FORMULA);
    for (formula, least) in
        [("[] (x < 3)", 0), ("x == 0 W x == 5", 0), ("!<> (x == 3 && Q:q == 1)", 1), ("[] (x < 9) && X X true && !<> (x == 2)", 0)]
    {
        let plain = ["check", "model.pml", "--ltl", formula, "--no-merge", "--no-por", "--json"];
        let before = folder.run(&plain).exits(1).json();
        let few = folder.run(&[&plain[..], &["--fewest-switches"]].concat()).exits(1).json();
        assert_eq!(few["violation"], before["violation"], "{formula}: {few}");
        assert_eq!(few["properties"][0]["violation"], before["properties"][0]["violation"], "{formula}: {few}");
        assert_eq!(few["context_switches"], least, "{formula}: {few}");
        let text = folder.run(&["check", "model.pml", "--ltl", formula, "--fewest-switches"]).exits(1).out;
        assert!(text.contains("no path to a violation of `"), "{text}");
    }
    // Deadlocks and faults of the model are no violations of its formula.
    folder.write("fault.pml", "byte x;\nactive proctype P() { x = 1; assert(false) }\n");
    let json = folder.run(&["check", "fault.pml", "--ltl", "[] (x == 0)", "--fewest-switches", "--json"]).exits(1).json();
    assert_eq!(json["violation"]["kind"], "property", "{json}");
    // Infinite runs stay as they are, and so do formulas of branching time.
    let json = folder.run(&["check", "model.pml", "--ltl", "<> (x == 9)", "--fewest-switches", "--json"]).exits(1).json();
    assert!(json["loop_start"].is_u64(), "{json}");
    let text = folder.run(&["check", "model.pml", "--ctl", "AG (x < 3)", "--fewest-switches"]).exits(1).out;
    assert!(text.contains("are looked for in deadlocks"), "{text}");
}

const SERVED: &str = "mtype = { req, ack }; chan q = [3] of { mtype }; chan unused = [2] of { byte };
bool waiting, served, nope;
active proctype Client() { do :: waiting = true; q!req; q?ack -> waiting = false; served = true; served = false od }
active proctype Server() { end: do :: q?req -> q!ack od }
ltl live { [] (waiting -> <> served) }
ltl hollow { [] (nope -> <> served) }
";

#[test]
fn a_left_side_about_whole_runs_is_looked_for() {
    let folder = Folder::with("model.pml", SERVED);
    let told = |formula: &str| {
        let json = folder.run(&["check", "model.pml", "--ltl", formula, "--coverage", "--json"]).exits(0).json();
        let sentences = json["coverage"]["vacuous"].as_array().cloned().unwrap_or_default();
        sentences.iter().filter(|sentence| sentence.as_str().is_some_and(|text| text.contains("no run ever satisfies"))).count()
    };
    assert_eq!(told("([] <> nope) -> ([] <> served)"), 1);
    assert_eq!(told("[] ((waiting U nope) -> <> served)"), 1);
    assert_eq!(told("!([] <> nope) || ([] <> served)"), 1);
    assert_eq!(told("([] <> waiting) -> ([] <> served)"), 0);
    assert_eq!(told("[] (nope -> <> served)"), 0);
}

#[test]
fn what_holds_for_nothing_is_told() {
    let folder = Folder::with("model.pml", SERVED);
    let json = folder.run(&["check", "model.pml", "--coverage", "--no-por", "--json"]).exits(0).json();
    let vacuous: Vec<&str> = json["coverage"]["vacuous"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let told = |part: &str| vacuous.iter().any(|sentence| sentence.contains(part));
    assert!(told("`hollow` holds, but the left side of its implication never became true: `nope`"), "{vacuous:?}");
    assert!(!told("`live`"), "{vacuous:?}");
    assert!(told("nothing was ever sent to the channel `unused`"), "{vacuous:?}");
    assert!(told("the channel `q` was never full: it held at most 1 of 3 messages"), "{vacuous:?}");
}

#[test]
fn a_claim_that_never_moved_is_told() {
    let claim = |condition: &str| {
        format!(
            "byte x;\nactive proctype P() {{ do :: x < 5 -> x++ :: else -> x = 0 od }}\nnever {{ do :: {condition} -> break :: else od; accept: do :: x == 7 od }}\n"
        )
    };
    for (condition, moves) in [("x == 9", false), ("x == 3", true)] {
        let folder = Folder::with("model.pml", claim(condition));
        let json = folder.run(&["check", "model.pml", "--coverage", "--json"]).exits(0).json();
        let told = json["coverage"]["vacuous"].to_string().contains("never moved");
        assert_eq!(told, !moves, "{json}");
    }
}

#[test]
fn a_run_shows_what_holds() {
    let folder = Folder::with("model.pml", SERVED);
    let json = folder.run(&["check", "model.pml", "--witness", "--json", "--trace", "w.json"]).exits(0).json();
    let witness = |name: &str| {
        json["witnesses"].as_array().expect("a list").iter().find(|shown| shown["property"] == name).expect("it is there").clone()
    };
    let live = witness("live");
    assert_eq!(live["message"], "a run that satisfies `live`, and `waiting` becomes true");
    let steps = live["trace"].as_array().expect("a run");
    assert!(steps.iter().any(|step| step["changes"]["waiting"] == "1"), "{live}");
    assert!(live["loop_start"].is_u64(), "{live}");
    assert_eq!(witness("hollow")["message"], "a run that satisfies `hollow`, though no run makes `nope` true");
    assert_eq!(witness("end states")["trace"], Value::Null);
    // The run is kept, and it can be replayed.
    folder.run(&["replay", "w.json"]).exits(0);
    let ends = Folder::with("ends.pml", "byte n;\nactive proctype P() { n++; assert(n == 1) }\n");
    let json = ends.run(&["check", "ends.pml", "--witness", "--json"]).exits(0).json();
    let told: Vec<&str> = json["witnesses"].as_array().expect("a list").iter().filter_map(|shown| shown["message"].as_str()).collect();
    assert_eq!(told, ["a path that evaluates the assertion at ends.pml:2", "a shortest path to an accepted end"]);
}

#[test]
fn a_witness_evaluates_the_assertion_itself() {
    let told = |model: &str| {
        let json = Folder::with("model.pml", model).run(&["check", "model.pml", "--witness", "--json"]).exits(0).json();
        json["witnesses"].as_array().expect("a list").iter().find(|shown| shown["property"] == "assertions").expect("it is there").clone()
    };
    // Another statement of the same line is no witness, and neither is one of the same transition.
    for model in [
        "byte x; active proctype P() { if :: x == 1 -> assert(x == 1) :: else -> skip fi }\n",
        "byte x; active proctype P() { d_step { if :: x == 1 -> assert(x == 1) :: else -> skip fi; x = 2 } }\n",
    ] {
        let shown = told(model);
        assert_eq!((&shown["message"], &shown["trace"]), (&"no assertion was ever evaluated".into(), &Value::Null), "{shown}");
    }
    for model in [
        "byte x; active proctype P() { x = 1; if :: x == 1 -> assert(x == 1) :: else -> skip fi }\n",
        "byte x; active proctype P() { d_step { x = 1; if :: x == 1 -> assert(x == 1) :: else -> skip fi; x = 2 } }\n",
    ] {
        let shown = told(model);
        let last = shown["trace"].as_array().expect("a path").last().expect("a step");
        let rest = last["then"].as_array().cloned().unwrap_or_default();
        let all = rest.iter().chain([last]).filter_map(|told| told["statement"].as_str());
        assert!(all.into_iter().any(|statement| statement == "assert(x == 1)"), "{shown}");
    }
}
