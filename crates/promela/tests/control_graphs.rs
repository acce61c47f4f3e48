//! Control graphs of difficult models, as compared with SPIN's `pan -d`: same states, same numbers,
//! same transitions in the same order.
//!
//! `BLESS=1 cargo test -p promela --test control_graphs` writes the graphs; compare them with SPIN
//! before you keep them.

mod common;

use common::root;
use source::SourceMap;
use std::fmt::Write;

#[test]
fn graphs_are_those_of_spin() {
    let folder = root().join("crates/promela/tests/graphs");
    let mut compared = 0;
    for entry in std::fs::read_dir(&folder).expect("the folder of graphs").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|e| e != "pml") {
            continue;
        }
        let mut map = SourceMap::new();
        let file = map.add("model.pml", std::fs::read_to_string(&path).expect("readable"));
        let (analysed, diagnostics) = promela::analyse(&mut map, file, &mut promela::NoFiles, &[]);
        let Some(analysed) = analysed else { panic!("{}", source::render_all(&map, &diagnostics)) };
        let mut found = String::new();
        for (process, graph) in analysed.model.processes.iter().zip(&analysed.graphs) {
            write!(found, "proctype {}\n{graph}", process.name.text).expect("a string");
        }
        let expected = path.with_extension("txt");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&expected, &found).expect("writable");
        }
        let expected = std::fs::read_to_string(&expected).expect("a table for each model");
        assert_eq!(found, expected, "{}", path.display());
        compared += 1;
    }
    assert!(compared >= 14);
}
