//! The control-flow automata of processes, and pictures of graphs.

mod common;

use common::Folder;
use serde_json::Value;

const MODEL: &str = "byte n;
active proctype P() {
end:	do
	:: n < 3 -> n++
	:: n > 0 -> n--
	:: break
	od;
	n = 0
}
proctype Never() { skip }
";

#[test]
fn automata_are_told_in_every_form() {
    let folder = Folder::with("model.pml", MODEL);
    let text = folder.run(&["automata", "model.pml"]).exits(0).out;
    assert!(text.contains("P: ") && text.contains("Never: ") && text.contains("n < 3"), "{text}");
    let json = folder.run(&["automata", "model.pml", "--json", "--process", "P"]).exits(0).json();
    let processes = json["processes"].as_array().expect("a list");
    assert_eq!(processes.len(), 1);
    let (locations, steps) = (processes[0]["locations"].as_array().expect("a list"), processes[0]["steps"].as_array().expect("a list"));
    assert_eq!(locations[0]["end"], true, "{json}");
    let leaving: Vec<&str> = steps.iter().filter(|step| step["source"] == 0).filter_map(|step| step["statement"].as_str()).collect();
    assert_eq!(leaving, ["n < 3", "n > 0", "break"], "{json}");
    assert!(steps.iter().any(|step| step["target"] == Value::Null), "it ends: {json}");
    for step in steps {
        assert!(step["target"].as_u64().is_none_or(|target| (target as usize) < locations.len()), "{json}");
    }
    folder.run(&["automata", "model.pml", "-o", "a.svg"]).exits(0);
    let svg = folder.read("a.svg");
    assert!(svg.starts_with("<svg ") && svg.contains("n &lt; 3") && svg.ends_with("</svg>\n"), "{svg}");
    folder.run(&["automata", "model.pml", "-o", "a.dot"]).exits(0);
    assert!(folder.read("a.dot").starts_with("digraph automata {"));
    let wrong = folder.run(&["automata", "model.pml", "--process", "Q"]).exits(2);
    assert!(wrong.err.contains("there is no type of process `Q`"), "{}", wrong.err);
    folder.run(&["automata", "model.pml", "-o", "a.png"]).exits(2);
}

#[test]
fn small_state_spaces_are_drawn_and_large_ones_refused() {
    let folder = Folder::with("model.pml", MODEL);
    folder.run(&["space", "model.pml", "-o", "s.svg"]).exits(0);
    let svg = folder.read("s.svg");
    assert!(svg.contains("n = 3") && svg.contains("P(0): n++"), "{svg}");
    folder.write("large.pml", "int n;\nactive proctype P() { do :: n < 2000 -> n++ od }\n");
    let refused = folder.run(&["space", "large.pml", "-o", "l.svg"]).exits(2);
    assert!(refused.err.contains("too many for a picture"), "{}", refused.err);
    assert!(!folder.has("l.svg"));
}
