//! Programs for the tests of estimates.

#![allow(dead_code, reason = "each test uses a part of this")]

use bytecode::Verified;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Compiles a Promela text; nothing if it is refused.
pub fn promela(text: &str, defines: &[(String, String)]) -> Option<Arc<Verified>> {
    let mut map = source::SourceMap::new();
    let file = map.add("model.pml", text);
    let compiled = promela::compile(&mut map, file, &mut promela::NoFiles, defines);
    bytecode::verify(compiled.program?).ok().map(Arc::new)
}

/// Assembles a text; nothing if it is refused.
pub fn assembly(text: &str) -> Option<Arc<Verified>> {
    let mut map = source::SourceMap::new();
    let file = map.add("model.epa", text);
    bytecode::verify(bytecode::asm::assemble(&map, file).ok()?).ok().map(Arc::new)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models")
}

/// A model of the project.
pub fn model(name: &str, defines: &[(String, String)]) -> Arc<Verified> {
    let text = std::fs::read_to_string(root().join(name)).expect("a model");
    promela(&text, defines).expect("a good model")
}

/// The models of the project, by name.
pub fn models() -> Vec<(String, Arc<Verified>)> {
    let mut found = Vec::new();
    let mut open = vec![root()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("the models") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a text");
            let program = match path.extension().and_then(|ending| ending.to_str()) {
                Some("pml") => promela(&text, &[]),
                Some("epa") => assembly(&text),
                _ => None,
            };
            found.extend(program.map(|program| (path.display().to_string(), program)));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}
