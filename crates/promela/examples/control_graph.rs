//! Prints the control graphs of a model, in the order and with the numbers of `pan -d`.

use promela::graph::{Effect, Graph};
use source::{SourceMap, render_all};
use std::collections::BTreeSet;

fn main() {
    let mut failed = false;
    for path in std::env::args().skip(1) {
        let text = match std::fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => {
                eprintln!("{path}: {error}");
                failed = true;
                continue;
            }
        };
        let mut map = SourceMap::new();
        let file = map.add(path.clone(), text);
        let folder = std::path::Path::new(&path).parent().map(std::path::Path::to_path_buf);
        let mut loader = |wanted: &str, _: &str| {
            let found = folder.clone().unwrap_or_default().join(wanted);
            let text = std::fs::read_to_string(&found).map_err(|e| e.to_string())?;
            Ok(promela::Loaded { name: wanted.to_owned(), text })
        };
        let (analysed, diagnostics) = promela::analyse(&mut map, file, &mut loader, &[]);
        eprint!("{}", render_all(&map, &diagnostics));
        let Some(analysed) = analysed else {
            failed = true;
            continue;
        };
        for (process, graph) in analysed.model.processes.iter().zip(&analysed.graphs) {
            println!("proctype {}", process.name.text);
            print(&map, graph);
        }
    }
    std::process::exit(i32::from(failed));
}

fn print(map: &SourceMap, graph: &Graph) {
    let mut seen = BTreeSet::new();
    let mut todo = vec![graph.start];
    while let Some(number) = todo.pop() {
        let Some(state) = graph.state(number).filter(|_| seen.insert(number)) else { continue };
        for t in &state.transitions {
            let mode = match &t.effect {
                Effect::Deterministic(_) if !t.atomic => 'D',
                _ if t.atomic => 'A',
                _ => '-',
            };
            let mark = |set: bool, c: char| if set { c } else { '-' };
            println!(
                "\tstate {number} -> state {} [{mode}{}{}{}] org {} {}",
                t.target,
                mark(state.accept, 'a'),
                mark(state.end, 'e'),
                mark(state.progress, 'p'),
                t.escape,
                map.snippet(t.span).replace('\n', " ")
            );
        }
        todo.extend(state.transitions.iter().rev().map(|t| t.target));
    }
}
