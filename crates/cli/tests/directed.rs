//! Directed search from the command line: orders, heuristics, a race, shorter traces, and
//! refused options.

mod common;

use common::Folder;

/// Philosophers who take their left fork first.
const PHILOSOPHERS: &str = "#define N 6
chan fork[N] = [1] of { bit };
active [N] proctype P() {
	do
	:: fork[_pid]!1 ->
danger:		fork[(_pid + 1) % N]!1;
		fork[_pid]?_;
		fork[(_pid + 1) % N]?_
	od
}
";

/// Two counters; the assertion fails when both are at their end.
const COUNTERS: &str = "byte x, y;
active proctype P() { do :: x < 12 -> x++ :: x > 0 -> x-- od }
active proctype Q() { do :: y < 12 -> y++ :: y > 0 -> y-- od }
active proctype R() { do :: assert(!(x == 12 && y == 12)) od }
";

#[test]
fn every_order_finds_a_deadlock_and_tells_its_numbers() {
    let folder = Folder::with("p.pml", PHILOSOPHERS);
    for order in ["best-first", "astar", "ida-star", "beam"] {
        let json = folder.run(&["check", "p.pml", "--search", order, "--json"]).exits(1).json();
        assert_eq!(json["search"], order, "{json}");
        assert!(json["directed"]["expanded"].as_u64() > Some(0) && json["directed"]["generated"].as_u64() > Some(0), "{json}");
        assert!(json["trace"].as_array().map(Vec::len) >= Some(6), "{json}");
    }
    // The marked positions lead straight to the deadlock: one state is expanded for each
    // philosopher.
    let json = folder.run(&["check", "p.pml", "--search", "astar", "--heuristic", "sum", "--json"]).exits(1).json();
    assert_eq!((&json["directed"]["expanded"], json["trace"].as_array().map(Vec::len)), (&6.into(), Some(6)), "{json}");
    let json = folder.run(&["check", "p.pml", "--search", "race", "--json"]).exits(1).json();
    assert!(["bfs", "dfs", "best-first"].iter().any(|order| json["search"] == *order), "{json}");
    let json = folder.run(&["check", "p.pml", "--search", "bfs", "--json"]).exits(1).json();
    assert!(json.get("directed").is_none() && json.get("heuristic").is_none(), "{json}");
}

#[test]
fn estimates_are_explained() {
    let folder = Folder::with("p.pml", PHILOSOPHERS);
    let run = folder.run(&["check", "p.pml", "--search", "astar", "--heuristic", "sum", "--explain-heuristic"]).exits(1);
    assert!(run.out.contains("as marked") && run.out.contains("estimates along the trace: 12 10 8 6 4 2 0"), "{run:?}");
    let json = folder.run(&["check", "p.pml", "--search", "astar", "--explain-heuristic", "--json"]).exits(1).json();
    assert_eq!((&json["heuristic"]["name"], &json["heuristic"]["lower_bound"]), (&"formula".into(), &true.into()), "{json}");
}

/// The same for temporal properties: the edges of the automaton, and the locations in its labels.
#[test]
fn estimates_for_formulas_are_explained() {
    let text = "byte n;\nactive proctype P() { n = 1; n = 2;\nthere: n = 3; do :: n == 3 -> n = 4 :: n == 4 -> n = 3 od }\n";
    let folder = Folder::with("m.pml", text);
    let ask = |order: &str, formula: &[&str]| {
        let arguments = [&["check", "m.pml", "--search", order, "--explain-heuristic", "--json"], formula].concat();
        folder.run(&arguments).exits(1).json()
    };
    for (order, formula) in [("astar", "[] !(P@there)"), ("best-first", "[] !(P@there)"), ("astar", "<> (n == 7)")] {
        let json = ask(order, &["--ltl", formula]);
        let heuristic = &json["heuristic"];
        assert_eq!(heuristic["property"], "formula", "{json}");
        assert!(heuristic["tables"].as_str().is_some_and(|tables| tables.contains("automaton, from state")), "{json}");
        let (along, steps) = (heuristic["along"].as_array().expect("estimates"), json["trace"].as_array().expect("steps"));
        assert!(along.len() > 1 && along.len() <= steps.len() + 1, "{json}");
        if formula.contains("there") {
            assert!(
                heuristic["tables"].as_str().is_some_and(|tables| tables.contains("P to location 2, line 3") && tables.contains(": 2 1 0"))
            );
            assert_eq!(along.iter().map(|one| one.as_u64()).collect::<Vec<_>>(), [Some(3), Some(2), Some(1)], "{json}");
        }
    }
    let json = ask("astar", &["--ctl", "AG (n < 3)"]);
    assert_eq!((&json["heuristic"]["lower_bound"], &json["heuristic"]["property"]), (&true.into(), &"AG (n < 3)".into()), "{json}");
    // The usual search for cycles is not guided.
    let json = ask("beam", &["--ltl", "<> (n == 7)"]);
    assert!(json.get("heuristic").is_none() && json["properties"][0]["notes"].to_string().contains("no estimate"), "{json}");
}

#[test]
fn an_expression_is_a_heuristic() {
    let folder = Folder::with("c.pml", COUNTERS);
    let blind = folder.run(&["check", "c.pml", "--search", "bfs", "--json"]).exits(1).json();
    let own = ["check", "c.pml", "--search", "best-first", "--heuristic", "24 - x - y", "--json"];
    let json = folder.run(&own).exits(1).json();
    assert!(json["states"].as_u64() < blind["states"].as_u64().map(|states| states / 3), "{json}");
    let run = folder.run(&["check", "c.pml", "--search", "best-first", "--heuristic", "24 - z"]).exits(2);
    assert!(run.err.contains("`z` is not declared"), "{run:?}");
    let run = folder.run(&["check", "c.pml", "--search", "best-first", "--heuristic", "x, y"]).exits(2);
    assert!(run.err.contains("one expression"), "{run:?}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = Folder::with("p.pml", PHILOSOPHERS);
    let refused = |arguments: &[&str], why: &str| {
        let run = folder.run(&[&["check", "p.pml"], arguments].concat()).exits(2);
        assert!(run.err.contains(why), "{arguments:?}: {run:?}");
    };
    refused(&["--heuristic", "active"], "directed search");
    refused(&["--search", "best-first", "--weight", "0.3"], "--search astar");
    refused(&["--search", "astar", "--width", "5"], "--search beam");
    refused(&["--search", "astar", "--weight", "1.5"], "from 0 to 1");
    refused(&["--search", "astar", "--store", "compact"], "names");
    refused(&["--search", "astar", "--store", "bits"], "names");
    refused(&["--search", "best-first", "--store", "cache"], "forgets");
    refused(&["--search", "astar", "--checkpoint", "c"], "not saved");
    folder.run(&["check", "p.pml", "--search", "best-first", "--store", "bits", "--memory", "64M"]).exits(1);
    folder.run(&["check", "p.pml", "--search", "ida-star", "--store", "bits", "--memory", "64M"]).exits(1);
}

/// Partial-order reduction is used where it costs no guarantee, and told where not. Over an array
/// of bits a directed search finds violations and never says that there are none.
#[test]
fn reductions_and_arrays_of_bits_are_used_where_they_are_sound() {
    let folder = Folder::with("p.pml", PHILOSOPHERS);
    for (order, reduced) in [("best-first", true), ("beam", true), ("race", true), ("astar", false), ("ida-star", false)] {
        let json = folder.run(&["check", "p.pml", "--search", order, "--json"]).exits(1).json();
        assert_eq!(json["reduction"]["por"], reduced, "{json}");
        assert_eq!(json["reduction"]["off"].as_str().is_some_and(|why| why.contains("shortest path")), !reduced, "{json}");
        let full = folder.run(&["check", "p.pml", "--search", order, "--no-por", "--json"]).exits(1).json();
        assert_eq!((&full["reduction"]["por"], &full["violation"]["kind"]), (&false.into(), &json["violation"]["kind"]), "{full}");
    }
    // Both forks are taken together, so nobody starves.
    let both = "atomic { empty(fork[_pid]) && empty(fork[(_pid + 1) % N]) -> fork[_pid]!1; fork[(_pid + 1) % N]!1 } ->";
    let fine = PHILOSOPHERS.replace("fork[_pid]!1 ->", both).replace("danger:\t\tfork[(_pid + 1) % N]!1;\n", "");
    folder.write("fine.pml", fine);
    for order in ["best-first", "ida-star", "beam", "race"] {
        folder.run(&["check", "p.pml", "--search", order, "--store", "bits", "--memory", "64M"]).exits(1);
        let json = folder.run(&["check", "fine.pml", "--search", order, "--store", "bits", "--memory", "64M", "--json"]).exits(3).json();
        assert_eq!(json["reason"], "lossy-store", "{order}: {json}");
    }
    for order in ["best-first", "astar", "race"] {
        folder.run(&["check", "fine.pml", "--search", order]).exits(0);
    }
}

#[test]
fn weights_and_widths_count() {
    let folder = Folder::with("c.pml", COUNTERS);
    let states = |arguments: &[&str]| {
        let json = folder.run(&[&["check", "c.pml", "--json", "--no-deadlock"], arguments].concat()).json();
        (json["verdict"].as_str().unwrap_or_default().to_owned(), json["states"].as_u64().unwrap_or_default())
    };
    let own = ["--heuristic", "24 - x - y", "--search"];
    let greedy = states(&[&own[..], &["astar", "--weight", "0"]].concat());
    let breadth = states(&[&own[..], &["astar", "--weight", "1"]].concat());
    assert!(greedy.0 == "violated" && breadth.0 == "violated" && greedy.1 < breadth.1, "{greedy:?} {breadth:?}");
    // A beam of one state goes straight up. Without guidance it finds nothing and says so.
    assert_eq!(states(&[&own[..], &["beam", "--width", "2"]].concat()).0, "violated");
    let json = folder.run(&["check", "c.pml", "--json", "--search", "beam", "--width", "1", "--heuristic", "x + y"]).exits(3).json();
    assert_eq!(json["reason"], "narrow-beam", "{json}");
}

#[test]
fn a_run_for_ever_is_found_by_going_to_where_it_can_be_accepted() {
    let text =
        "byte x;\nactive proctype P() { do :: x < 20 -> x++ :: x == 20 -> skip :: x > 0 && x < 20 -> x-- od }\nltl f { <> [] (x < 20) }\n";
    let folder = Folder::with("m.pml", text);
    for order in ["astar", "best-first"] {
        let json = folder.run(&["check", "m.pml", "--search", order, "--ltl", "f", "--json"]).exits(1).json();
        assert!(json["loop_start"].as_u64().is_some(), "{json}");
        folder.run(&["check", "m.pml", "--search", order, "--ltl", "[] (x <= 20)"]).exits(0);
        folder.run(&["check", "m.pml", "--search", order, "--ltl", "[] (x < 20)"]).exits(1);
    }
}

/// A shorter trace may lead to another violation of the same kind, and then it tells of that one.
#[test]
fn a_shorter_trace_tells_of_its_own_violation() {
    let folder = Folder::with("p.pml", PHILOSOPHERS);
    folder.run(&["check", "p.pml", "--search", "dfs", "--trace", "long.trace"]).exits(1);
    let mut long: serde_json::Value = serde_json::from_str(&folder.read("long.trace")).expect("JSON");
    long["violation"]["message"] = "the message of the long trace".into();
    folder.write("long.trace", long.to_string());
    folder.run(&["shorten", "long.trace", "-o", "short.trace"]).exits(0);
    let message = |name: &str| {
        let file: serde_json::Value = serde_json::from_str(&folder.read(name)).expect("JSON");
        (file["violation"]["kind"].clone(), file["violation"]["message"].as_str().expect("a message").to_owned())
    };
    let (kind, told) = message("short.trace");
    assert!(kind == long["violation"]["kind"] && told != "the message of the long trace", "{told}");
    // A trace that does not become shorter keeps its violation.
    folder.run(&["shorten", "short.trace", "-o", "same.trace"]).exits(0);
    assert_eq!(message("same.trace"), (kind, told));
}

#[test]
fn a_trace_gets_shorter() {
    let folder = Folder::with("p.pml", PHILOSOPHERS);
    folder.run(&["check", "p.pml", "--search", "dfs", "--trace", "long.trace"]).exits(1);
    let before = folder.run(&["replay", "long.trace", "--json"]).exits(0).json();
    let json = folder.run(&["shorten", "long.trace", "-o", "short.trace", "--json"]).exits(0).json();
    assert_eq!(json["steps_before"].as_u64(), before["trace"].as_array().map(|steps| steps.len() as u64), "{json}");
    assert_eq!((&json["steps"], &json["shortest"]), (&6.into(), &true.into()), "{json}");
    let after = folder.run(&["replay", "short.trace", "--json"]).exits(0).json();
    assert_eq!(after["trace"].as_array().map(Vec::len), Some(6), "{after}");
    // No shorter trace exists.
    let run = folder.run(&["shorten", "short.trace"]).exits(0);
    assert!(run.out.contains("no trace is shorter than 6 steps"), "{run:?}");
    folder.run(&["shorten", "p.pml"]).exits(2);
    folder.run(&["shorten", "nothing.trace"]).exits(2);
    folder.run(&["shorten", "long.trace", "--search", "bfs"]).exits(2);
}
