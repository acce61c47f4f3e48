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
    let run = Folder::with("bad.aut", "des (0, 1, 2)\n(0, \"a\", 5)\n").run(&["check", "bad.aut"]).exits(2);
    assert!(run.err.contains("bad.aut:2:10") && run.err.contains("there are only 2 states"), "{run:?}");
}
