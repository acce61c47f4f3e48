//! The programs in `models/lf`, explored with the reference interpreter: their headers contain the
//! numbers of states and transitions. A line `also:` has them for other values of constants.

mod common;

use common::{compile, explore, root};
use lf::Options;

#[test]
fn headers_are_true() {
    let mut wrong = Vec::new();
    let (mut seen, mut also) = (0, 0);
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
        for line in text.lines().filter_map(|line| line.trim().strip_prefix("also:")) {
            let mut words = line.split_whitespace();
            let mut defines = Vec::new();
            let mut stated = Vec::new();
            for word in words.by_ref() {
                let is_figure = ["states=", "transitions=", "verdict="].iter().any(|figure| word.starts_with(figure));
                if is_figure { stated.push(word) } else { defines.extend(word.split_once('=')) }
            }
            let program = compile(&text, &defines, Options::default()).unwrap_or_else(|why| panic!("{name}: {why}"));
            let graph = explore(&program);
            let verdict = if graph.faults.is_empty() && graph.deadlocks == 0 { "holds" } else { "violated" };
            let found = format!("states={} transitions={} verdict={verdict}", graph.states, graph.transitions);
            if stated.join(" ") != found {
                wrong.push(format!("{name}: {line}, found {found}, {:?}, {} deadlocks", graph.faults, graph.deadlocks));
            }
            also += 1;
        }
        seen += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen >= 13 && also >= 7);
}
