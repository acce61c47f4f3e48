//! `--search race`: each member can be the one that answers, a violation or not; limits, signals,
//! temporal properties, traces, and what is refused.

mod common;

use common::{Folder, await_handler, signal};
use serde_json::Value;
use std::process::Stdio;

/// A violation four steps away, beside a count that leads nowhere. The count is the first choice
/// and the last, so that a depth-first search follows it, whichever it begins with.
const NEAR: &str = "int n; byte near;
active proctype P() {
	do
	:: n++
	:: d_step { near < 2 -> near++ }
	:: near == 2 -> assert(false)
	:: n = n + 2
	od
}
";

/// A violation far away in a wide model. The first choice and the last lead away from it.
const FAR: &str = "int n; byte a, b;
active proctype P() {
	do
	:: n++
	:: d_step { a < 200 -> a++ }
	:: d_step { b < 200 -> b++ }
	:: d_step { a == 200 && b == 200 -> assert(false) }
	:: n = n + 2
	od
}
";

/// A violation at the end of a path that a depth-first search takes at once, whichever choice it
/// begins with, in a wide model.
const STRAIGHT: &str = "int n, m; short far;
active proctype P() {
	do
	:: d_step { far < 3000 -> far++ }
	:: d_step { far == 3000 -> assert(false) }
	:: n++
	:: m++
	:: d_step { far == 3000 -> assert(false) }
	:: d_step { far < 3000 -> far++ }
	od
}
";

/// More states than fit into any memory.
const VAST: &str = "active [6] proctype P() { byte i; do :: i < 200 -> i++ :: i > 0 -> i-- od }\n";

/// Two counters that go up and down; nothing is wrong.
const FINE: &str = "byte x, y;
active proctype P() { do :: x < 12 -> x++ :: x > 0 -> x-- od }
active proctype Q() { do :: y < 12 -> y++ :: y > 0 -> y-- od }
ltl low { [] (x < 9) }
ltl down { [] <> (x == 0) }
ltl bounded { [] (x <= 12) }
ltl settles { <> [] (x == 0) || [] <> (x != 0) || [] <> (x == 0) }
";

fn race(folder: &Folder, more: &[&str]) -> common::Run {
    folder.run(&[&["check", "m.pml", "--search", "race", "--json"], more].concat())
}

fn steps(json: &Value) -> usize {
    json["trace"].as_array().map_or(0, Vec::len)
}

/// The others would not find these violations in any time that a test has.
#[test]
fn each_member_can_win() {
    for (text, heuristic, winner) in
        [(NEAR, "1000000 - n", "bfs"), (FAR, "401 - a - b", "best-first"), (STRAIGHT, "1000000 - n - m", "dfs")]
    {
        let folder = Folder::with("m.pml", text);
        let json = race(&folder, &["--heuristic", heuristic, "--no-por", "--trace", "t.json"]).exits(1).json();
        assert_eq!((&json["verdict"], &json["search"]), (&"violated".into(), &winner.into()), "{json}");
        assert_eq!(json["violation"]["kind"], "assertion violated", "{json}");
        // The numbers are those of the winner.
        assert_eq!(json.get("directed").is_some(), winner == "best-first", "{json}");
        assert!(json["states"].as_u64() > Some(0) && json["transitions"].as_u64() > Some(0), "{json}");
        let least = match winner {
            "bfs" => 4,
            "best-first" => 401,
            _ => 3001,
        };
        if winner == "bfs" {
            assert_eq!(steps(&json), least, "breadth first finds a shortest one: {json}");
        }
        assert!(steps(&json) >= least, "{json}");
        // The trace in the file is the one that was told, and it can be executed.
        let replayed = folder.run(&["replay", "t.json", "--json"]).exits(0).json();
        assert_eq!(steps(&replayed), steps(&json), "{winner}");
    }
}

#[test]
fn a_model_that_holds_is_visited_whole() {
    let folder = Folder::with("m.pml", FINE);
    let whole = folder.run(&["space", "m.pml", "--json"]).exits(0).json();
    for threads in [&[][..], &["--threads", "1"], &["--threads", "2"], &["--threads", "8"]] {
        for store in ["auto", "plain", "compact"] {
            let more = [&["--only", "safety", "--no-por", "--no-unused", "--store", store], threads].concat();
            let run = race(&folder, &more).exits(0);
            let json = run.json();
            assert!(["bfs", "dfs", "best-first"].iter().any(|order| json["search"] == *order), "{json}");
            assert_eq!((&json["verdict"], &json["states"]), (&"holds".into(), &whole["states"]), "{json}");
            assert_eq!(json["transitions"], whole["transitions"], "{json}");
            assert!(!run.err.contains("one worker"), "a race has several: {run:?}");
        }
    }
    // With the reduction that is used by default, and over stores that may overlook states.
    race(&folder, &["--only", "safety"]).exits(0);
    for store in ["hash", "bits"] {
        let json = race(&folder, &["--only", "safety", "--store", store, "--memory", "256M"]).exits(3).json();
        assert_eq!(json["reason"], "lossy-store", "{json}");
    }
    let text = folder.run(&["check", "m.pml", "--search", "race", "--only", "safety", "--quiet"]).exits(0);
    assert!(text.out.starts_with("holds"), "{text:?}");
}

#[test]
fn limits_end_all_members() {
    let folder = Folder::with("m.pml", VAST).all_orders();
    let json = race(&folder, &["--time", "300ms"]).exits(3).json();
    assert_eq!((&json["verdict"], &json["reason"]), (&"unknown".into(), &"time".into()), "{json}");
    assert!(json["states"].as_u64() > Some(0), "{json}");
    // The members share the memory.
    let json = race(&folder, &["--memory", "96M"]).exits(3).json();
    assert_eq!(json["reason"], "memory", "{json}");
    assert!(json["peak_memory_bytes"].as_u64() < Some(104 << 20), "{}", json["peak_memory_bytes"]);
    let json = race(&folder, &["--depth", "3", "--time", "20s"]).exits(3).json();
    assert_eq!(json["reason"], "depth", "{json}");
}

/// A member that comes to its limit does not end the others.
#[test]
fn the_violation_counts_although_others_ran_out_of_memory() {
    let folder = Folder::with("m.pml", FAR);
    let json = race(&folder, &["--heuristic", "401 - a - b", "--no-por", "--memory", "64M"]).exits(1).json();
    assert_eq!(json["search"], "best-first", "{json}");
}

#[test]
#[cfg(unix)]
fn an_interrupt_ends_all_members() {
    let folder = Folder::with("m.pml", VAST).all_orders();
    let mut command = folder.command(&["check", "m.pml", "--search", "race", "--memory", "1G", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    await_handler(&child);
    std::thread::sleep(std::time::Duration::from_millis(200));
    signal(&child, "INT");
    let run = common::Run::new(child.wait_with_output().expect("it ends")).exits(3);
    assert_eq!(run.json()["reason"], "interrupted", "{run:?}");
}

/// Where a finite run decides, the members race in the product; cycles are looked for as usual.
#[test]
fn temporal_properties_are_decided() {
    let folder = Folder::with("m.pml", FINE);
    for (name, code) in [("low", 1), ("down", 1), ("bounded", 0), ("settles", 0)] {
        let json = race(&folder, &["--ltl", name, "--trace", "t.json"]).exits(code).json();
        let property = &json["properties"][0];
        assert_eq!((&property["name"], &property["verdict"]), (&name.into(), &(if code == 1 { "violated" } else { "holds" }).into()));
        if code == 1 {
            assert_eq!(json["loop_start"].is_u64(), name == "down", "{json}");
            folder.run(&["replay", "t.json"]).exits(0);
        }
    }
    // Safety and all formulas together, each with its own answer.
    let json = race(&folder, &[]).exits(1).json();
    let verdicts: Vec<_> = json["properties"].as_array().into_iter().flatten().filter(|one| one["verdict"] == "violated").collect();
    assert_eq!(verdicts.len(), 2, "{json}");
}

#[test]
fn what_a_race_cannot_do_is_refused() {
    let folder = Folder::with("m.pml", FINE);
    for (arguments, why) in [
        (&["--store", "cache"][..], "forgets"),
        (&["--store", "disk", "--disk", "d"], "bfs"),
        (&["--checkpoint", "c"], "not saved"),
        (&["--weight", "0.3"], "--search astar"),
        (&["--width", "5"], "--search beam"),
        (&["--measure", "x"], "--search sweep"),
        (&["--heuristic", "x, y"], "one expression"),
    ] {
        let run = folder.run(&[&["check", "m.pml", "--search", "race"], arguments].concat()).exits(2);
        assert!(run.err.contains(why), "{arguments:?}: {run:?}");
    }
}
