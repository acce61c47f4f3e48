//! The programs in `models/lf`, explored with the reference interpreter: their headers contain the
//! numbers of states and transitions.

mod common;

use common::{compile, explore, root};
use lf::Options;

#[test]
fn headers_are_true() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(root().join("models/lf")).expect("the models").flatten() {
        let text = std::fs::read_to_string(entry.path()).expect("a text");
        let name = entry.file_name().to_string_lossy().into_owned();
        let line = text.lines().find_map(|line| line.trim().strip_prefix("expect:")).unwrap_or_else(|| panic!("{name} expects nothing"));
        let program = compile(&text, &[], Options::default()).unwrap_or_else(|why| panic!("{name}: {why}"));
        let graph = explore(&program);
        let found = format!("states={} transitions={}", graph.states, graph.transitions);
        if !line.trim().starts_with(&format!("{found} ")) {
            wrong.push(format!("{name}: {line}, found {found}, {:?}, {} deadlocks", graph.faults, graph.deadlocks));
        }
        seen += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen >= 13);
}
