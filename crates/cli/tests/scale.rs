//! Large searches from the command line: depth, memory, lossy stores, progress.
#![cfg(unix)]

mod common;

use common::{ENDLESS, FINE, Folder, Run};
use std::process::Command;

/// Counts to a limit, one state after the other.
fn chain(limit: u32) -> String {
    format!("int n;\nactive proctype Count() {{ do :: n < {limit} -> n++ :: else -> break od }}\n")
}

#[test]
fn a_deep_stack_goes_to_disk() {
    let folder = Folder::with("chain.pml", chain(500_000)).all_orders();
    let run = folder.run(&["check", "chain.pml", "--json", "--search", "dfs", "--store", "compact", "--memory", "48M"]).exits(0);
    let json = run.json();
    assert_eq!(json["verdict"], "holds");
    assert!(json["depth"].as_u64() >= Some(500_000), "{json}");
    assert!(run.err.contains("the stack goes to disk"), "{run:?}");
    assert!(json["search_bytes"].as_u64() < Some(14 << 20), "{json}");
}

#[test]
fn a_stack_that_cannot_go_to_disk_stays_in_memory() {
    let folder = Folder::with("chain.pml", chain(300_000)).all_orders();
    let go = |memory: &str, code| {
        // In this folder, which exists, nobody can create a file.
        folder.run(&["check", "chain.pml", "--json", "--search", "dfs", "--spill", "/proc", "--memory", memory, "--no-merge"]).exits(code)
    };
    folder.run(&["check", "chain.pml", "--search", "dfs", "--spill", "nowhere"]).exits(2);
    // Enough for everything, but the stack reaches its share.
    let run = go("56M", 0);
    assert!(run.err.contains("could not be written") && run.err.contains("/proc"), "{run:?}");
    let run = go("24M", 3);
    assert_eq!(run.json()["reason"], "memory");
}

#[test]
fn the_budget_is_kept_and_advice_given() {
    let folder = Folder::with("model.epa", ENDLESS).all_orders();
    let memory = folder.budget(12);
    let limit = memory.trim_end_matches('M').parse::<u64>().expect("megabytes") << 20;
    for (store, order) in [("plain", "bfs"), ("auto", "dfs"), ("compact", "bfs")] {
        let options = ["--store", store, "--search", order, "--memory", &memory, "--spill", "."];
        let json = folder.run(&[&["check", "model.epa", "--json"], &options[..]].concat()).exits(3).json();
        assert_eq!(json["reason"], "memory", "{store} {order}");
        let peak = json["peak_memory_bytes"].as_u64().expect("a number");
        assert!(peak <= limit, "{store} {order}: {peak}");
        let advice = json["advice"].as_str().expect("a sentence");
        assert!(advice.contains("--memory") && advice.contains("--store"), "{advice}");
    }
}

/// A model whose first step is a sequence of the given kind.
fn sequence(body: &str) -> Folder {
    Folder::with("long.pml", format!("int x;\ninit {{ {body} }}\n")).all_orders()
}

/// The number of statements that the first step of a trace lists or leaves out.
fn statements(json: &serde_json::Value) -> u64 {
    let step = &json["trace"][0];
    1 + step["then"].as_array().map_or(0, |then| then.len() as u64) + step["left_out"]["statements"].as_u64().unwrap_or(0)
}

#[test]
fn a_step_of_many_statements_is_told_in_little_memory() {
    let cases = [
        ("atomic { do :: x < 10000 -> x++ :: else -> assert(false); break od }", 20_002),
        ("atomic { do :: x < 10000 -> x++ :: else -> break od }; assert(false)", 20_002),
        ("d_step { do :: x < 10000 -> x++ :: else -> break od }; assert(false)", 20_002),
        // More statements than a trace lists: it shows the first and the last ones, and the number
        // of those left out.
        ("d_step { do :: x < 100000 -> x++ :: else -> break od }; assert(false)", 200_002),
        // As many exits as iterations.
        ("atomic { do :: x < 3000 -> x++ :: break od }; assert(x != 2999)", 6_000),
    ];
    for (body, expected) in cases {
        let folder = sequence(body);
        for engine in ["jit", "vm"] {
            let json = folder.run(&["check", "long.pml", "--json", "--engine", engine]).exits(1).json();
            assert_eq!(json["violation"]["kind"], "assertion violated", "{body}");
            assert!(statements(&json).abs_diff(expected) <= 2, "{body}: {}", statements(&json));
            let peak = json["peak_memory_bytes"].as_u64().expect("a number");
            assert!(peak < 64 << 20, "{body} {engine}: {peak}");
        }
        let text = folder.run(&["check", "long.pml"]).exits(1).out;
        assert!(text.contains(" more statements …") && text.lines().count() < 200, "{text}");
    }
}

#[test]
fn a_graph_with_long_steps_is_written_in_little_memory() {
    let folder = sequence("atomic { do :: x < 3000 -> x++ :: break od }");
    let json = folder.run(&["space", "long.pml", "--json", "-o", "long.aut"]).exits(0).json();
    assert!(json["peak_memory_bytes"].as_u64() < Some(64 << 20), "{json}");
}

#[test]
fn an_endless_sequence_is_found() {
    // A state comes back when the counter overflows.
    let folder = Folder::with("long.pml", "short x; active proctype P() { atomic { do :: x++ od } }").all_orders();
    for engine in ["jit", "vm"] {
        let json = folder.run(&["check", "long.pml", "--json", "--engine", engine]).exits(1).json();
        assert_eq!(json["violation"]["kind"], "endless sequence");
        assert!(json["peak_memory_bytes"].as_u64() < Some(160 << 20), "{engine}: {json}");
    }
    let json = folder.run(&["simulate", "long.pml", "--json"]).exits(1).json();
    assert_eq!(json["violation"]["kind"], "endless sequence");
}

#[test]
fn a_long_sequence_keeps_to_its_limits() {
    let folder = sequence("atomic { do :: x++ od }");
    for engine in ["jit", "vm"] {
        let json = folder.run(&["check", "long.pml", "--json", "--engine", engine, "--time", "300ms"]).exits(3).json();
        assert_eq!(json["reason"], "time");
        // If there is a choice, the states inside the step are kept.
        let folder = sequence("atomic { do :: x++ :: x = x + 3 od }");
        let json = folder.run(&["check", "long.pml", "--json", "--engine", engine, "--memory", "64M"]).exits(3).json();
        assert_eq!(json["reason"], "memory");
        assert!(json["peak_memory_bytes"].as_u64() < Some(96 << 20), "{engine}: {json}");
        assert!(json["advice"].as_str().is_some_and(|advice| advice.contains("one step")), "{json}");
    }
}

#[test]
fn lossy_stores_tell_what_they_may_have_lost() {
    let folder = Folder::with("model.epa", FINE).all_orders();
    let json = folder.run(&["check", "model.epa", "--json", "--store", "hash"]).exits(3).json();
    let probability = json["omission"]["probability"].as_f64().expect("a number");
    assert!(probability > 0.0 && probability < 1e-9, "{json}");

    let bits = |more: &[&str]| folder.run(&[&["check", "model.epa", "--json", "--store", "bits"], more].concat());
    let json = bits(&["--bits-functions", "2"]).exits(3).json();
    assert_eq!(json["omission"]["functions"], 2);
    assert_eq!(json["omission"]["union_states"], json["states"]);
    for key in ["hash_factor", "coverage", "fill"] {
        assert!(json["omission"][key].as_f64().is_some_and(|value| value > 0.0), "{key}: {json}");
    }
    let json = bits(&["--bits-runs", "5"]).exits(3).json();
    assert_eq!(json["omission"]["runs"].as_array().map(Vec::len), Some(5));
    assert_eq!(json["omission"]["union_states"], json["states"], "so few states collide with none");
    let text = folder.run(&["check", "model.epa", "--store", "bits", "--bits-runs", "2"]).exits(3).out;
    assert!(text.contains("hash factor") && text.contains("2 runs") && text.contains("estimated coverage"), "{text}");
    let refused = folder.run(&["check", "model.epa", "--bits-runs", "2"]).exits(2);
    assert!(refused.err.contains("--store bits"), "{refused:?}");
}

#[test]
fn progress_is_shown_on_a_terminal_only() {
    let folder = Folder::with("model.epa", ENDLESS).all_orders();
    let program = env!("CARGO_BIN_EXE_everypath");
    let call = format!("{program} check model.epa --time 700ms");
    let Ok(output) = Command::new("script").args(["-qec", &call, "/dev/null"]).current_dir(folder.path(".")).output() else {
        // Without the command `script` there is no terminal; the line itself is tested elsewhere.
        testkit::passed_over("there is no command `script`");
        return;
    };
    let run = Run::new(output);
    assert!(run.out.contains("\r\u{1b}[2K") && run.out.contains(" waiting, depth "), "{run:?}");
    let run = folder.run(&["check", "model.epa", "--time", "300ms"]).exits(3);
    assert_eq!(run.err, "");
    assert!(!run.out.contains('\u{1b}'), "{run:?}");
}

/// States of half a kilobyte, most of whose bytes change rarely: the store stays within the budget
/// while it learns how to cut them, and while it cuts them again because the sample was not
/// representative.
#[test]
fn large_states_keep_the_budget_while_they_turn_compact() {
    let folder = Folder::with("model.pml", "active [255] proctype p() { skip }\n").all_orders();
    for options in [&["--search", "dfs"][..], &["--store", "compact", "--threads", "1"]] {
        let json = folder.run(&[&["check", "model.pml", "--json", "--memory", "48M", "--time", "8s"], options].concat()).exits(3).json();
        let peak = json["peak_memory_bytes"].as_u64().expect("a number");
        assert!(peak < 60 << 20, "{options:?}: {json}");
        assert!(json["states"].as_u64() > Some(10_000), "{json}");
    }
}
