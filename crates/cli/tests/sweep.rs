//! Sweeps, measures and branching time from the command line: options, answers and refusals. The
//! file formats are those of the thesis that `docs/sweepline.md` refers to.

mod common;

use common::Folder;
use serde_json::Value;

/// Packets that are sent and received; no counter ever falls.
const PROGRESS: &str = "byte sent, received; chan c = [3] of { byte };
active proctype Sender() { do :: sent < 20 -> c!sent; sent++ :: else -> break od }
active proctype Receiver() { byte x; do :: received < 20 -> c?x; received++ :: else -> break od }
";

/// A counter that starts again.
const AGAIN: &str = "byte n;
active proctype P() {
	do
	:: n < 9 -> n++
	:: n == 9 -> n = 0
	od
}
";

const STOP_AND_WAIT: &str = include_str!("../../../models/promela/progress/stop_and_wait.pml");

fn number(json: &Value, key: &str) -> u64 {
    json[key].as_u64().unwrap_or_else(|| panic!("{key}: {json}"))
}

#[test]
fn measures_are_proposed_with_their_reasons() {
    let folder = Folder::with("m.pml", PROGRESS);
    let json = folder.run(&["measure", "m.pml", "--json"]).exits(0).json();
    let measures = json["measures"].as_array().expect("a list");
    let best = &measures[0];
    assert!(best["complete"] == true && best["monotonic"] == true, "{json}");
    assert!(number(best, "peak_states") * 3 < number(best, "states"), "{json}");
    assert!(measures.iter().all(|one| one["reason"].as_str().is_some_and(|reason| !reason.is_empty())), "{json}");
    // A proposed measure can be given unchanged, and has the promised effect.
    let text = best["measure"].as_str().expect("a measure");
    let swept = folder.run(&["check", "m.pml", "--measure", text, "--json"]).exits(0).json();
    for key in ["peak_states", "layers", "sweeps", "persistent_states", "expanded_states", "regress_steps"] {
        assert_eq!(swept[key], best[key], "{key}: {swept}");
    }
    assert!(swept["search"] == "sweep" && swept["measure"] == text, "{swept}");
    assert!(number(&swept, "peak_memory_bytes") > 0, "{swept}");
    // Without a measure, the best is used and named.
    let run = folder.run(&["check", "m.pml", "--search", "sweep", "--json"]).exits(0);
    assert_eq!(run.json()["measure"], text);
    assert!(run.err.contains("the measure of progress is"), "{run:?}");
    let run = folder.run(&["measure", "m.pml"]).exits(0);
    assert!(run.out.contains("1. --measure '") && run.out.contains("stored at a time"), "{run:?}");
    // No value keeps rising, so no measure is proposed.
    let folder = Folder::with("m.pml", "bool x; active proctype P() { do :: x = !x od }");
    let run = folder.run(&["measure", "m.pml"]).exits(0);
    assert!(run.out.contains("no measure of progress was found"), "{run:?}");
    let run = folder.run(&["check", "m.pml", "--search", "sweep"]).exits(0);
    assert!(run.err.contains("no measure of progress was found"), "{run:?}");
}

/// A model whose first steps leave no choice is sampled as deeply as any other.
#[test]
fn the_sample_goes_beyond_a_chain_of_first_steps() {
    let text = "byte a, b; int steps;
active proctype First() { a = 1; a = 2; a = 3; a = 4; a = 5; a = 6; a = 7; a = 8 }
active proctype Then() { a == 8; do :: steps < 500 -> steps++ :: b < 20 -> b++ :: b > 0 -> b-- :: steps == 500 && b == 0 -> break od }
";
    let folder = Folder::with("m.pml", text);
    let json = folder.run(&["measure", "m.pml", "--json"]).exits(0).json();
    let text = json.to_string();
    assert!(text.contains("steps only ever rises, by the code"), "{json}");
    assert!(!text.contains("b only ever rises"), "the sample has seen `b` go back: {json}");
}

#[test]
fn all_threads_and_both_stores_agree() {
    let folder = Folder::with("sw.pml", STOP_AND_WAIT);
    let whole = folder.run(&["space", "sw.pml", "--json"]).exits(0).json();
    for store in ["plain", "compact", "auto"] {
        for threads in ["1", "2"] {
            let arguments = ["space", "sw.pml", "--measure", "progress", "--store", store, "--threads", threads, "--json"];
            let json = folder.run(&arguments).exits(0).json();
            assert_eq!((&json["states"], &json["transitions"]), (&whole["states"], &whole["transitions"]), "{json}");
            assert_eq!((number(&json, "sweeps"), number(&json, "persistent_states")), (1, 0), "{json}");
            assert!(number(&json, "peak_states") * 3 < number(&json, "states") && json["monotonic"] == true, "{json}");
        }
    }
}

#[test]
fn branching_time_with_and_without_a_measure() {
    let folder = Folder::with("sw.pml", STOP_AND_WAIT);
    let ask = |defines: &str, formula: &str, more: &[&str]| {
        let defines: Vec<&str> = defines.split_whitespace().flat_map(|define| ["-D", define]).collect();
        folder.run(&[&["check", "sw.pml", "--ctl", formula, "--json"], &defines[..], more].concat())
    };
    let sweep = ["--measure", "progress"];
    for more in [&[][..], &sweep] {
        // A path is a witness if the formula holds and a counterexample if not.
        let json = ask("LOSS=1", "EF received", more).exits(0).json();
        assert!(json["witness"].as_array().is_some_and(|steps| !steps.is_empty()), "{json}");
        let json = ask("LOSS=1", "EF ahead", more).exits(1).json();
        assert_eq!(json["trace"].as_array().map(Vec::len), Some(0), "{json}");
        ask("LOSS=1", "AG !ahead", more).exits(0);
        let json = ask("LOSS=1", "AG nr < 4", more).exits(1).json();
        assert!(json["trace"].as_array().is_some_and(|steps| !steps.is_empty()), "{json}");
        ask("LOSS=1", "AG EF received", more).exits(0);
        let json = ask("LOSS=1 ALL=0", "AG EF received", more).exits(1).json();
        assert!(json["violation"]["message"].as_str().is_some_and(|message| message.contains("component")), "{}", json["violation"]);
        // Only a sweep has layers.
        assert_eq!(json.get("layers").is_some(), !more.is_empty());
        let json = ask("LOSS=1", "EF AG received", more).exits(0).json();
        assert!(json["witness"].as_array().is_some_and(|steps| !steps.is_empty()), "{json}");
        ask("LOSS=1", "EF AG (nr < 4)", more).exits(1);
    }
    // The sender goes back, so the measure falls; this does not matter for single states.
    ask("LOSS=1 MAX=0", "EF received", &sweep).exits(0);
    ask("LOSS=1 MAX=0", "AG !ahead", &sweep).exits(0);
    let json = ask("LOSS=1 MAX=0", "AG EF received", &sweep).exits(3).json();
    assert_eq!(json["properties"][0]["reason"], "measure", "{json}");
    let why = json["message"].as_str().unwrap_or_default();
    assert!(why.contains("falls from") && why.contains("sw.pml:") && why.contains("leave out `--search sweep`"), "{json}");
    ask("LOSS=1 MAX=0", "AG EF received", &[]).exits(0);
    let run = ask("LOSS=1", "AX received", &[]).exits(2);
    assert!(run.out.contains("EF AG p") || run.err.contains("EF AG p"), "{run:?}");
}

/// The files of the thesis: a state space, an automaton, formulas.
#[test]
fn files_of_the_thesis_run_as_they_are() {
    let folder = Folder::new();
    folder.write("ApImpEqComplement.txt", "0\n1\n0 true 0 p!q 1\n1 !q 1\n");
    folder.write("pPred.txt", "0\n1\n0 true 0 p 1\n1 true 1\n");
    for (name, formula) in [("EF-p.txt", "EF p\n"), ("AG-p.txt", "AG p\n"), ("AGEF-p.txt", "AGEF p\n"), ("EFAG-p.txt", "EFAG p\n")] {
        folder.write(name, formula);
    }
    folder.write("path.ss", "1 0 2 !p !q * 2\n2 0 2 !p !q * 3\n3 1 2 p !q RP2 4\n4 1 2 p !q * 5\n5 1 2 p !q * 3\n");
    folder.write("back.ss", "1 0 2 !p !q * 2\n2 1 2 !p q * 3 * 4\n3 1 2 !p !q * 5\n4 1 2 p !q * 5\n5 2 2 !p !q * 1\n");
    let ask = |model: &str, more: &[&str]| folder.run(&[&["check", model, "--search", "sweep", "--json"], more].concat());
    assert!(ask("path.ss", &["--ctl", "EF-p.txt"]).exits(0).json()["witness"].is_array());
    ask("path.ss", &["--ctl", "AG-p.txt"]).exits(1);
    ask("path.ss", &["--ctl", "AGEF-p.txt"]).exits(0);
    ask("path.ss", &["--ctl", "EFAG-p.txt"]).exits(0);
    ask("path.ss", &["--automaton", "pPred.txt", "--finite"]).exits(1);
    // A packet that is never acknowledged, in one layer.
    let json = ask("path.ss", &["--automaton", "ApImpEqComplement.txt"]).exits(1).json();
    assert!(json["loop_start"].is_u64(), "{json}");
    // Here each round passes `q` and goes through all layers.
    let json = ask("back.ss", &["--automaton", "ApImpEqComplement.txt"]).exits(0).json();
    assert_eq!(json["verdict"], "holds", "{json}");
    let json = folder.run(&["space", "back.ss", "--search", "sweep", "--json"]).exits(0).json();
    assert_eq!((number(&json, "sweeps"), number(&json, "persistent_states"), number(&json, "layers")), (2, 1, 3), "{json}");
    let json = ask("back.ss", &["--ctl", "AGEF-p.txt"]).exits(3).json();
    assert_eq!(json["properties"][0]["reason"], "measure", "{json}");
    folder.run(&["check", "back.ss", "--ctl", "AGEF-p.txt"]).exits(0);
}

#[test]
fn wrong_measures_are_told_as_they_were_given() {
    let folder = Folder::with("m.pml", PROGRESS);
    let told = |arguments: &[&str], why: &[&str]| {
        let run = folder.run(&[&["check", "m.pml"], arguments].concat()).exits(2);
        assert!(why.iter().all(|why| run.err.contains(why)), "{arguments:?}: {run:?}");
        assert!(!run.err.contains("ltl =") && !run.err.contains("panicked"), "{run:?}");
    };
    told(&["--measure", "sent + lost"], &["--measure:1:8", "sent + lost", "`lost` is not declared"]);
    told(&["--measure", "sent +"], &["--measure:1:7", "sent +"]);
    told(&["--measure", ""], &["--measure:1:1"]);
    told(&["--measure", "sent, received,"], &["--measure"]);
    told(&["--measure", "sent }"], &["--measure:1:6", "braces"]);
    told(&["--measure", "a, b, c, d, e"], &["not declared"]);
    told(&["--measure", "sent, sent, sent, sent, sent"], &["at most 4"]);
    told(&["--measure", "order(Nobody)"], &["Nobody"]);
    told(&["--measure", "sum(sent)"], &["no global array `sent`"]);
    told(&["--measure", "sent + order(Nobody)"], &["Nobody"]);
    told(&["--measure", "order(Sender)*2"], &["can only be added and subtracted"]);
    told(&["--measure", "sent, order(Sender)*2 - order(Receiver)"], &["can only be added and subtracted"]);
    told(&["--measure", "sent", "--spill", "nowhere/at/all"], &["--spill", "nowhere/at/all"]);
    told(&["--measure", "sent", "--spill", "m.pml"], &["--spill", "not a folder"]);
    told(&["--measure", "sent", "--search", "bfs"], &["`--measure` is for `--search sweep`"]);
    told(&["--measure", "sent", "--store", "bits"], &["a sweep deletes states"]);
    told(&["--measure", "sent", "--checkpoint", "c"], &["saved"]);
    told(&["--search", "best-first", "--heuristic", "20 - lost"], &["--heuristic:1:6", "20 - lost", "`lost` is not declared"]);
    told(&["--ctl", "EF (lost > 0)"], &["--ctl:1:", "`lost` is not declared"]);
    told(&["--ltl", "[] (lost == 0)"], &["--ltl:1:5", "`lost` is not declared"]);
    told(&["--ctl", "AF sent"], &["EF AG p"]);
    // A measure without a value in some state.
    let json = folder.run(&["check", "m.pml", "--measure", "20 / sent", "--json"]).exits(3).json();
    assert_eq!(json["reason"], "measure", "{json}");
}

/// `AG EF p` without a measure takes one that never falls, or none. Options that would be ignored
/// are refused.
#[test]
fn formulas_about_components_take_what_they_need() {
    let folder = Folder::with("m.pml", AGAIN);
    let run = folder.run(&["check", "m.pml", "--search", "sweep", "--ctl", "AG EF (n == 3)", "--json"]).exits(0);
    assert!(run.err.contains("never falls") && run.json()["properties"][0]["verdict"] == "holds", "{run:?}");
    // The trial of a measure sees that `n` rises, and the search sees later that it falls.
    folder.write("far.pml", "int n; active proctype P() { do :: n < 60000 -> n++ :: n == 60000 -> n = 0 od }");
    let run = folder.run(&["check", "far.pml", "--search", "sweep", "--ctl", "AG EF (n == 3)", "--json"]).exits(0);
    assert!(run.err.contains("falls") && run.json()["properties"][0]["verdict"] == "holds", "{run:?}");
    folder.write("p.pml", PROGRESS);
    let json = folder.run(&["check", "p.pml", "--search", "sweep", "--ctl", "AG EF (received == 20)", "--json"]).exits(0).json();
    assert!(number(&json, "layers") > 2 && json["monotonic"] == true, "{json}");
    let refused: [&[&str]; 5] =
        [&["--search", "astar"], &["--search", "race"], &["--search", "beam", "--width", "1"], &["--store", "bits"], &["--store", "hash"]];
    for more in refused {
        for formula in ["AG EF (n == 3)", "EF AG (n < 10)"] {
            let run = folder.run(&[&["check", "m.pml", "--ctl", formula], more].concat()).exits(2);
            assert!(run.err.contains("by components"), "{more:?}: {run:?}");
        }
        // Questions about single states are answered in any order.
        folder.run(&[&["check", "m.pml", "--ctl", "EF (n == 3)"], more].concat()).exits(0);
    }
}

#[test]
fn contradictions_and_single_things_are_told() {
    let folder = Folder::with("m.pml", AGAIN);
    folder.write("wrong.ss", "1 0 2 p !p * 1\n");
    let run = folder.run(&["check", "wrong.ss"]).exits(2);
    assert!(run.err.contains("wrong.ss:1:9") && run.err.contains("holds and does not hold"), "{run:?}");
    folder.write("one.ss", "1 0 2 p p * 1\n");
    let run = folder.run(&["check", "one.ss", "--search", "sweep"]).exits(0);
    assert!(run.out.contains("at most 1 state stored at a time") && run.out.contains("1 layer,"), "{run:?}");
    let run = folder.run(&["check", "m.pml", "--measure", "n"]).exits(0);
    assert!(run.out.contains("back to 1 state kept"), "{run:?}");
}

#[test]
fn steps_back_are_counted_and_change_no_verdict() {
    let folder = Folder::with("m.pml", AGAIN);
    let json = folder.run(&["check", "m.pml", "--measure", "n", "--json"]).exits(0).json();
    // The regress step occurs in both sweeps, and its target is kept once.
    assert_eq!((number(&json, "sweeps"), number(&json, "regress_steps"), number(&json, "persistent_states")), (2, 2, 1), "{json}");
    assert_eq!(json["monotonic"], false, "{json}");
    // The cycle goes through all ten layers.
    let json = folder.run(&["check", "m.pml", "--measure", "n", "--ltl", "<> [] (n < 5)", "--json"]).exits(1).json();
    assert!(json["loop_start"].is_u64(), "{json}");
    folder.run(&["check", "m.pml", "--measure", "n", "--ltl", "[] <> (n == 3)"]).exits(0);
}

/// A trace with a loop becomes shorter too: the path to the loop and the loop together.
#[test]
fn a_lasso_gets_shorter() {
    let text = "byte x, detour;
active proctype P() {
	do
	:: detour < 30 -> detour++
	:: detour > 0 -> detour--
	:: x < 3 -> x++
	:: x == 3 -> x = 1
	od
}
ltl f { <> [] (x == 0) }
";
    let folder = Folder::with("m.pml", text);
    folder.run(&["check", "m.pml", "--search", "dfs", "--cycles", "ndfs", "--ltl", "f", "--trace", "long.trace"]).exits(1);
    let before = folder.run(&["replay", "long.trace", "--json"]).exits(0).json();
    let length = before["trace"].as_array().map(Vec::len).expect("steps");
    let shortest = folder.run(&["check", "m.pml", "--ltl", "f", "--shortest", "--json"]).exits(1).json();
    let best = shortest["trace"].as_array().map(Vec::len).expect("steps");
    assert!(length > 2 * best, "{length} and {best}");
    let json = folder.run(&["shorten", "long.trace", "-o", "short.trace", "--json"]).exits(0).json();
    assert_eq!((number(&json, "steps_before"), number(&json, "steps")), (length as u64, best as u64), "{json}");
    assert!(json["loop_start"].is_u64(), "{json}");
    // The result is a trace of the same violation, and cannot be made shorter.
    let after = folder.run(&["replay", "short.trace", "--json"]).exits(0).json();
    assert_eq!(after["trace"].as_array().map(Vec::len), Some(best), "{after}");
    assert!(after["loop_start"].is_u64(), "{after}");
    let json = folder.run(&["shorten", "short.trace", "--json"]).exits(0).json();
    assert_eq!((number(&json, "steps"), &json["shortest"]), (best as u64, &Value::Bool(true)), "{json}");
    let run = folder.run(&["shorten", "short.trace"]).exits(0);
    assert!(run.out.contains("no trace is shorter than"), "{run:?}");
}

/// The length of a channel is an expression like any other; a counter that may wrap around is told
/// as such; and a measure that must never fall is one that the code shows, not only the sample.
#[test]
fn lengths_of_channels_measure_and_the_code_is_asked() {
    let pool = "chan pool = [9] of { byte }; byte pads[2];
active proctype Filler() { byte i; do :: i < 9 -> pool!i; i++ :: else -> break od }
active [2] proctype Other() { byte n; do :: n < 9 -> n++ :: n > 0 -> n-- :: break od }
";
    let folder = Folder::with("pool.pml", pool);
    let whole = folder.run(&["space", "pool.pml", "--json"]).exits(0).json();
    for measure in ["len(pool)", "2 * len(pool) + sum(pads)"] {
        let json = folder.run(&["space", "pool.pml", "--measure", measure, "--json"]).exits(0).json();
        assert_eq!((&json["states"], number(&json, "sweeps")), (&whole["states"], 1), "{measure}: {json}");
        assert!(number(&json, "layers") >= 10 && number(&json, "peak_states") * 2 < number(&json, "states"), "{measure}: {json}");
    }
    // Messages that are taken away are steps back.
    folder.write("both.pml", PROGRESS);
    let json = folder.run(&["space", "both.pml", "--measure", "len(c)", "--json"]).exits(0).json();
    assert!(number(&json, "layers") == 4 && number(&json, "regress_steps") > 0, "{json}");

    folder.write("wraps.pml", "short n; bool done; active proctype P() { do :: n++ od } active proctype Q() { done = 1 }");
    let json = folder.run(&["measure", "wraps.pml", "--json"]).exits(0).json().to_string();
    assert!(json.contains("n only ever rises, by the code until it wraps around"), "{json}");
    assert!(!json.contains("n only ever rises, by the code\""), "{json}");

    // `steps` goes back after the trial has ended, and `certain` never does.
    let late = "int steps, certain;
active proctype P() {
	do
	:: certain < 50000 && steps < 40000 -> atomic { steps++; certain++ }
	:: certain < 50000 && steps == 40000 -> steps = 0
	:: certain == 50000 -> break
	od
}
";
    folder.write("late.pml", late);
    let run = folder.run(&["check", "late.pml", "--search", "sweep", "--ctl", "AG EF (certain == 50000)", "--json"]).exits(0);
    let json = run.json();
    assert!(!json["measure"].to_string().contains("steps") && json["monotonic"] == true, "{run:?}");
}
