//! Explicit graphs on the command line: checked, explored, walked, replayed, saved, and written and
//! read again.

mod common;

use common::{DEADLOCK, Folder};

const COFFEE: &str = include_str!("../../../models/aut/coffee.aut");

#[test]
fn a_graph_is_checked_and_its_trace_replayed() {
    let folder = Folder::with("coffee.aut", COFFEE);
    let json = folder.run(&["check", "coffee.aut", "--json", "--trace", "trace"]).exits(1).json();
    assert_eq!((&json["verdict"], &json["violation"]["kind"]), (&"violated".into(), &"invalid end state".into()), "{json}");
    let told: Vec<_> = json["trace"].as_array().expect("a list").iter().map(|step| (&step["statement"], &step["line"])).collect();
    assert_eq!(told, [(&"coin".into(), &7.into()), (&"nothing".into(), &8.into())], "{json}");
    let run = folder.run(&["replay", "trace"]).exits(0);
    assert!(run.out.contains("nothing") && run.out.contains("state = 3") && run.out.contains("idle = false"), "{run:?}");
    folder.run(&["replay", "trace", "--svg", "picture.svg", "--html", "page.html"]).exits(0);
    let json = folder.run(&["check", "coffee.aut", "--no-deadlock", "--json"]).exits(0).json();
    assert_eq!((&json["states"], &json["transitions"]), (&4.into(), &5.into()), "{json}");
}

#[test]
fn a_graph_is_explored_and_written_as_it_was_read() {
    let folder = Folder::with("coffee.aut", COFFEE);
    folder.run(&["space", "coffee.aut", "-o", "again.aut"]).exits(0);
    let (one, two) = (folder.run(&["space", "coffee.aut", "--json"]).exits(0), folder.run(&["space", "again.aut", "--json"]).exits(0));
    assert_eq!((&one.json()["states"], &one.json()["transitions"]), (&two.json()["states"], &two.json()["transitions"]));
    // The labels and the atoms are the same, however often the graph is written.
    let labels = |text: &str| {
        let parts =
            text.lines().filter(|line| line.starts_with(['(', 's'])).map(|line| line.split('"').nth(1).unwrap_or_default().to_owned());
        let mut labels: Vec<String> = parts.collect();
        labels.sort();
        labels
    };
    assert_eq!(labels(COFFEE), ["coffee", "coin", "coin", "idle", "nothing", "tea"]);
    assert_eq!(labels(&folder.read("again.aut")), labels(COFFEE));
    folder.run(&["space", "again.aut", "-o", "third.aut"]).exits(0);
    assert_eq!(folder.read("third.aut"), folder.read("again.aut"));
    let run = folder.run(&["simulate", "coffee.aut", "--seed", "1", "--steps", "3", "--no-such"]);
    assert_eq!(run.code, 2);
    let run = folder.run(&["simulate", "coffee.aut", "--seed", "1", "--steps", "3"]);
    assert!(run.out.contains("coin"), "{run:?}");
}

/// The state space of a program, written as a graph, has the same size and the same violations as
/// the program.
#[test]
fn the_graph_of_a_program_is_a_model() {
    let folder = Folder::with("model.epa", DEADLOCK);
    let space = folder.run(&["space", "model.epa", "-o", "graph.aut", "--json"]).exits(0).json();
    let json = folder.run(&["check", "graph.aut", "--json"]).exits(1).json();
    assert_eq!(json["violation"]["kind"], "invalid end state");
    let again = folder.run(&["space", "graph.aut", "--json"]).exits(0).json();
    assert_eq!((&again["states"], &again["transitions"]), (&space["states"], &space["transitions"]));
}

/// An accepted end is one in the graph too, in both forms, and when several processes write it.
#[test]
fn the_graph_of_a_program_that_ends_holds() {
    let folder = Folder::with("ok.pml", "active proctype P() { skip }\n");
    folder.run(&["check", "ok.pml"]).exits(0);
    for graph in ["ok.aut", "ok.lts"] {
        folder.run(&["space", "ok.pml", "-o", graph]).exits(0);
        folder.run(&["check", graph]).exits(0);
    }
    folder.run(&["space", "ok.pml", "--processes", "2", "-o", "fragments"]).exits(0);
    for graph in ["merged.aut", "merged.lts"] {
        folder.run(&["merge", "fragments", "-o", graph]).exits(0);
        folder.run(&["check", graph]).exits(0);
    }
}

/// Faults are part of the graph: of steps that go on, and of steps that do not.
#[test]
fn the_graph_of_a_program_with_faults_is_violated() {
    let texts = [
        ("assertion violated", "byte x;\nactive proctype P() { x = 1; assert(x == 0); x = 2 }\n"),
        ("division by zero", "byte x;\nactive proctype P() { x = 1; x = 1 / (x - 1) }\n"),
    ];
    for (kind, text) in texts {
        let folder = Folder::with("model.pml", text);
        assert_eq!(folder.run(&["check", "model.pml", "--json"]).exits(1).json()["violation"]["kind"], kind);
        folder.run(&["space", "model.pml", "--processes", "2", "-o", "fragments"]).exits(0);
        folder.run(&["merge", "fragments", "-o", "merged.aut"]).exits(0);
        folder.run(&["space", "model.pml", "-o", "graph.aut"]).exits(0);
        for graph in ["graph.aut", "merged.aut"] {
            let json = folder.run(&["check", graph, "--json", "--trace", "trace"]).exits(1).json();
            assert_eq!(json["violation"]["kind"], kind, "{graph}: {json}");
            folder.run(&["replay", "trace"]).exits(0);
        }
    }
}

/// The atoms `progress` and `accept` have the meaning of such labels.
#[test]
fn labels_of_a_graph_are_checked() {
    let ring = |atoms: &str| Folder::with("ring.aut", format!("des (0, 2, 2)\n(0, \"a\", 1)\n(1, \"b\", 0)\n{atoms}"));
    ring("").run(&["check", "ring.aut", "--non-progress"]).exits(1);
    ring("state (1, \"progress\")\n").run(&["check", "ring.aut", "--non-progress"]).exits(0);
    ring("state (1, \"p\")\n").run(&["check", "ring.aut"]).exits(0);
    let json = ring("state (1, \"accept\")\n").run(&["check", "ring.aut", "--json"]).exits(1).json();
    assert_eq!(json["properties"][1]["kind"], "acceptance", "{json}");
}

#[test]
fn a_search_of_a_graph_is_saved_and_goes_on() {
    let edges = 60_000;
    let mut text = format!("des (0, {edges}, {})\n", edges + 1);
    (0..edges).for_each(|state| text.push_str(&format!("({state}, \"step\", {})\n", state + 1)));
    let folder = Folder::with("line.aut", text);
    let cut = folder.run(&["check", "line.aut", "--checkpoint", "saved", "--depth", "100", "--json"]).exits(3).json();
    assert_eq!(cut["reason"], "depth");
    let json = folder.run(&["check", "--resume", "saved", "--depth", "100000", "--json"]).exits(1).json();
    assert_eq!(json["states"].as_u64(), Some(edges + 1), "{json}");
}

#[test]
fn what_a_graph_cannot_do_is_said() {
    let folder = Folder::with("coffee.aut", COFFEE);
    let run = folder.run(&["compile", "coffee.aut", "--asm"]).exits(2);
    assert!(run.err.contains("a graph does not become byte-code"), "{run:?}");
    let run = folder.run(&["check", "coffee.aut", "--coverage"]).exits(2);
    assert!(run.err.contains("a graph has no statements"), "{run:?}");
    let run = folder.run(&["check", "coffee.aut", "--no-deadlock"]).exits(0);
    assert!(!run.out.contains("--coverage"), "{run:?}");
    let run = Folder::with("open.aut", "des (0, 1, 2)\n(0,\"unterminated,1)\n").run(&["check", "open.aut"]).exits(2);
    assert!(run.err.contains("open.aut:2:4") && run.err.contains("this quote is not closed"), "{run:?}");
    let run = Folder::with("bad.aut", "des (0, 1, 2)\n(0, \"a\", 5)\n").run(&["check", "bad.aut"]).exits(2);
    assert!(run.err.contains("bad.aut:2:10") && run.err.contains("there are only 2 states"), "{run:?}");
}
