//! Programs for the tests of reductions.

#![allow(dead_code, reason = "each test uses a part of this")]

use bytecode::Verified;
use contract::{Reduction, Safety, Successors, System, Verdict};
use reduction::{Examiner, Stubborn};
use search::{Task, breadth_first};
use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use store::Plain;
use vm::Interpreter;

/// The numbers of random models: those that `EVERYPATH_SEEDS=from..to` asks for, or these.
pub fn seeds(otherwise: Range<u64>) -> Range<u64> {
    let given = std::env::var("EVERYPATH_SEEDS").ok();
    let range = given.as_deref().and_then(|text| text.split_once("..")).and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.unwrap_or(otherwise)
}

/// Whether a search finds a violation.
pub fn violated(program: &Arc<Verified>, property: Safety, reduction: Option<&dyn Reduction>) -> bool {
    let mut task = Task::new(&property);
    if let Some(reduction) = reduction {
        task.reduction = reduction;
    }
    let outcome = breadth_first(&Interpreter::new(Arc::clone(program)), &Plain::new(), &task);
    matches!(outcome.verdict, Verdict::Violated(_))
}

/// Examines the choices in the first states of a program by brute force.
pub fn examine(name: &str, program: &Arc<Verified>, reduction: &Stubborn) {
    let mut system = Interpreter::new(Arc::clone(program));
    let mut out = Successors::new();
    system.initial(&mut out);
    let mut open: VecDeque<Vec<u8>> = out.iter().filter_map(|(_, state)| state.map(<[u8]>::to_vec)).collect();
    let mut seen: HashSet<Vec<u8>> = open.iter().cloned().collect();
    while let Some(state) = open.pop_front() {
        let examined = Examiner::new(&mut system, reduction, program.layout().exclusive, 200).examine(&state);
        assert!(examined.is_ok(), "{name}: {}", examined.expect_err("a flaw"));
        out.clear();
        system.successors(&state, &mut out);
        for next in out.iter().filter_map(|(_, next)| next) {
            if seen.len() < 60 && seen.insert(next.to_vec()) {
                open.push_back(next.to_vec());
            }
        }
    }
}

/// Compiles a Promela text; nothing if it is refused.
pub fn promela(text: &str) -> Option<Arc<Verified>> {
    let mut map = source::SourceMap::new();
    let file = map.add("model.pml", text);
    let compiled = promela::compile(&mut map, file, &mut promela::NoFiles, &[]);
    bytecode::verify(compiled.program?).ok().map(Arc::new)
}

/// The models of the project, by name.
pub fn models() -> Vec<(String, Arc<Verified>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("the models") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.display().to_string();
            let text = std::fs::read_to_string(&path).expect("a text");
            let program = match path.extension().and_then(|ending| ending.to_str()) {
                Some("pml") => promela(&text),
                Some("epa") => assembly(&text),
                Some("lf") => lf(&text),
                _ => None,
            };
            found.extend(program.map(|program| (name, program)));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// Assembles a text; nothing if it is refused.
pub fn assembly(text: &str) -> Option<Arc<Verified>> {
    let mut map = source::SourceMap::new();
    let file = map.add("model.epa", text);
    bytecode::verify(bytecode::asm::assemble(&map, file).ok()?).ok().map(Arc::new)
}

fn lf(text: &str) -> Option<Arc<Verified>> {
    let input = languages::Input { name: "model.lf", bytes: text.as_bytes(), defines: &[], formulas: &[], files: &mut languages::NoFiles };
    languages::load(input).ok()?.model.into_program().map(Arc::new)
}
