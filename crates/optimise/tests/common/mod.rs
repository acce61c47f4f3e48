//! Programs for the tests of passes.

#![allow(dead_code, reason = "each test uses a part of this")]

use bytecode::Verified;
use std::path::Path;
use std::sync::Arc;

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
                _ => None,
            };
            found.extend(program.map(|program| (name, program)));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn assembly(text: &str) -> Option<Arc<Verified>> {
    let mut map = source::SourceMap::new();
    let file = map.add("model.epa", text);
    bytecode::verify(bytecode::asm::assemble(&map, file).ok()?).ok().map(Arc::new)
}
