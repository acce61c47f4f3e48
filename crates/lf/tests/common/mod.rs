//! Compiles LF programs, and explores them with the reference interpreter.

#![allow(dead_code)] // Not every test needs all of it.

use bytecode::Verified;
use contract::{Successors, System};
use lf::{Options, Request};
use source::SourceMap;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The folder of the project.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compiles a text, which may import the modules of `models/lf`; the error is the text that users
/// see.
pub fn compile(text: &str, defines: &[(&str, &str)], options: Options) -> Result<Arc<Verified>, String> {
    let mut loader = |wanted: &str, _: &str| {
        let text = std::fs::read_to_string(root().join("models/lf").join(wanted)).map_err(|error| error.to_string())?;
        Ok((wanted.to_owned(), text))
    };
    compile_with(text, defines, options, &mut loader)
}

/// The same, with imported modules from elsewhere.
pub fn compile_with(text: &str, defines: &[(&str, &str)], options: Options, loader: &mut dyn lf::Loader) -> Result<Arc<Verified>, String> {
    let defines: Vec<(String, String)> = defines.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    let mut map = SourceMap::new();
    let file = map.add("test.lf", text);
    let compiled = lf::compile(&mut map, file, loader, Request { defines: &defines, options, ..Request::default() });
    match compiled.program {
        Some(program) => bytecode::verify(program.clone())
            .map(Arc::new)
            .map_err(|error| format!("not verified: {error}\n{}", bytecode::asm::disassemble(&program))),
        None => Err(source::render_all(&map, &compiled.diagnostics)),
    }
}

/// A graph of states.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Graph {
    pub states: usize,
    pub transitions: usize,
    pub deadlocks: usize,
    /// The faults by their kinds.
    pub faults: Vec<String>,
}

/// Explores all states.
pub fn explore(program: &Arc<Verified>) -> Graph {
    explore_within(program, 2_000_000).expect("too many states")
}

/// Explores all states; `None` if there are more.
pub fn explore_within(program: &Arc<Verified>, most: usize) -> Option<Graph> {
    let mut system = vm::Interpreter::new(Arc::clone(program));
    let mut seen: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut graph = Graph::default();
    let mut out = Successors::new();
    system.initial(&mut out);
    let mut open: Vec<Vec<u8>> = out.iter().filter_map(|(_, state)| state.map(<[u8]>::to_vec)).collect();
    for state in &open {
        seen.insert(state.clone(), 0);
    }
    while let Some(state) = open.pop() {
        if seen.len() > most {
            return None;
        }
        out.clear();
        system.successors(&state, &mut out);
        if out.is_empty() && !system.is_valid_end(&state) {
            graph.deadlocks += 1;
        }
        for (entry, next) in out.iter() {
            if let Some(code) = entry.fault() {
                graph.faults.push(format!("{:?}", system.describe_fault(code).kind));
            }
            let Some(next) = next else { continue };
            graph.transitions += 1;
            if !seen.contains_key(next) {
                seen.insert(next.to_vec(), seen.len());
                open.push(next.to_vec());
            }
        }
    }
    graph.states = seen.len();
    graph.faults.sort();
    graph.faults.dedup();
    Some(graph)
}

/// The graph of a text.
pub fn graph_of(text: &str, defines: &[(&str, &str)], options: Options) -> Graph {
    match compile(text, defines, options) {
        Ok(program) => explore(&program),
        Err(why) => panic!("{why}"),
    }
}

/// States and transitions of a text.
pub fn counts(text: &str) -> (usize, usize) {
    let graph = graph_of(text, &[], Options::default());
    (graph.states, graph.transitions)
}
