//! `everypath space`: the numbers, and the graph in its three formats.

mod common;

use common::{DEADLOCK, ENDLESS, FINE, Folder, LOST_UPDATE};
use serde_json::Value;
use std::collections::BTreeSet;

/// Source, label, target.
type Edge = (u64, String, u64);

fn aut(text: &str) -> (u64, BTreeSet<Edge>) {
    let mut lines = text.lines();
    let head = lines.next().expect("a header");
    let numbers: Vec<u64> =
        head.trim_start_matches("des (").trim_end_matches(')').split(", ").map(|n| n.parse().expect("a number")).collect();
    // What the states mean comes after the edges.
    let edges: Vec<Edge> = lines
        .take_while(|line| line.starts_with('('))
        .map(|line| {
            let inside = line.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).expect("parentheses");
            let (source, rest) = inside.split_once(", \"").expect("a label");
            let (label, target) = rest.rsplit_once("\", ").expect("a target");
            (source.parse().expect("a number"), label.to_owned(), target.parse().expect("a number"))
        })
        .collect();
    assert_eq!(numbers[0], 0);
    assert_eq!(numbers[1] as usize, edges.len());
    (numbers[2], edges.into_iter().collect())
}

#[test]
fn both_orders_count_the_same() {
    for model in [LOST_UPDATE, DEADLOCK, FINE] {
        let folder = Folder::with("model.epa", model);
        let count = |order: &str| {
            let json = folder.run(&["space", "model.epa", "--json", "--search", order]).exits(0).json();
            assert_eq!(json["complete"], true);
            (json["states"].clone(), json["transitions"].clone())
        };
        assert_eq!(count("bfs"), count("dfs"));
    }
}

#[test]
fn a_violation_does_not_end_the_exploration() {
    let folder = Folder::with("model.epa", LOST_UPDATE);
    let all = folder.run(&["space", "model.epa", "--json"]).exits(0).json();
    let until_violation = folder.run(&["check", "model.epa", "--json"]).exits(1).json();
    assert!(all["states"].as_u64() > until_violation["states"].as_u64());
}

#[test]
fn the_graph_has_the_numbers_in_every_format() {
    let folder = Folder::with("model.epa", LOST_UPDATE);
    let mut graphs = Vec::new();
    for order in ["bfs", "dfs"] {
        let name = format!("graph.{order}.aut");
        let json = folder.run(&["space", "model.epa", "--json", "--search", order, "-o", &name]).exits(0).json();
        let (states, edges) = aut(&folder.read(&name));
        assert_eq!(json["states"], states);
        assert_eq!(json["transitions"], edges.len());
        // Every state but the first is the target of an edge.
        let targets: BTreeSet<u64> = edges.iter().map(|edge| edge.2).chain([0]).collect();
        assert_eq!(targets.len() as u64, states);
        assert!(edges.iter().any(|edge| edge.0 == 0 && edge.1 == "P(0): copy = x"));
        graphs.push((states, edges));
    }
    let (states, edges) = &graphs[0];

    folder.run(&["space", "model.epa", "-o", "graph.json"]).exits(0);
    let graph: Value = serde_json::from_str(&folder.read("graph.json")).expect("JSON");
    assert_eq!(graph["states"], *states);
    let same: BTreeSet<Edge> = graph["transitions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|edge| {
            let number = |key: &str| edge[key].as_u64().expect("a number");
            (number("source"), edge["label"].as_str().expect("text").to_owned(), number("target"))
        })
        .collect();
    assert_eq!(same, *edges);

    folder.run(&["space", "model.epa", "-o", "graph.dot"]).exits(0);
    let dot = folder.read("graph.dot");
    assert!(dot.starts_with("digraph") && dot.trim_end().ends_with('}'));
    assert_eq!(dot.matches(" -> ").count(), edges.len());
}

#[test]
fn half_a_graph_is_not_written() {
    let folder = Folder::with("model.epa", ENDLESS);
    let run = folder.run(&["space", "model.epa", "--depth", "10", "-o", "graph.aut"]).exits(3);
    assert!(!folder.has("graph.aut"));
    assert!(run.err.contains("graph.aut"), "{run:?}");
    // The graph itself counts against the budget.
    let json = folder.run(&["space", "model.epa", "--memory", "8M", "-o", "graph.aut", "--json"]).exits(3).json();
    assert_eq!(json["reason"], "memory");
    assert!(!folder.has("graph.aut"));
}

#[test]
fn a_reader_that_goes_away_is_no_crash() {
    let folder = Folder::with("model.epa", FINE);
    let mut command = folder.command(&["space", "model.epa"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().expect("the program starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("the program ends").code(), Some(0));
}

/// States are numbered by their names in the store, so a store without names, or with changing
/// names, is refused.
#[test]
fn a_graph_is_made_in_the_plain_store() {
    let folder = Folder::with("model.epa", FINE);
    for store in ["compact", "hash", "bits"] {
        let run = folder.run(&["space", "model.epa", "-o", "graph.aut", "--store", store]).exits(2);
        assert!(run.err.contains("--store plain"), "{run:?}");
    }
    folder.run(&["space", "model.epa", "-o", "graph.aut", "--store", "plain"]).exits(0);
}

/// A picture shows the values of a state, besides its number.
#[test]
fn the_nodes_of_a_picture_carry_values() {
    let folder = Folder::with("model.epa", LOST_UPDATE);
    folder.run(&["space", "model.epa", "-o", "graph.dot"]).exits(0);
    let text = folder.read("graph.dot");
    let node = |number: u32| text.lines().find(|line| line.starts_with(&format!("  {number} ["))).expect("a node").to_owned();
    assert!(node(0).contains(r"0\nx = 0\ndone = 0\nP(0).copy = 0") && node(0).contains("P(0) at line 7"), "{}", node(0));
    assert!(text.contains(r"\nx = 2\ndone = 2\n"), "{text}");
    // One state, no edge.
    folder.write("one.pml", "byte x = 7; active proctype P() { end: x == 3 }\n");
    folder.run(&["space", "one.pml", "-o", "one.dot"]).exits(0);
    assert!(folder.read("one.dot").contains(r"0\nx = 7"), "{}", folder.read("one.dot"));
}
