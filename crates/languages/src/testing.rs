//! For tests and development commands: programs from texts.
//!
//! The front-ends are here in one call, so that tests of other crates do not repeat it.

use crate::{Files, Input, NoFiles, load};
use bytecode::Verified;
use std::sync::Arc;

/// The program of a text without included files. The language is that of the name. An error is the
/// text that users see.
pub fn compile(name: &str, text: &str, defines: &[(String, String)]) -> Result<Arc<Verified>, String> {
    compile_with(name, text, defines, &mut NoFiles)
}

/// Like [`compile`], for a text that may include files.
pub fn compile_with(name: &str, text: &str, defines: &[(String, String)], files: &mut dyn Files) -> Result<Arc<Verified>, String> {
    let input = Input { name, bytes: text.as_bytes(), defines, formulas: &[], files };
    let loaded = load(input).map_err(|rejected| source::render_all(&rejected.map, &rejected.diagnostics))?;
    loaded.model.into_program().map(Arc::new).ok_or_else(|| format!("{name} is not a program"))
}

/// The program of a Promela text; nothing if it is refused.
pub fn promela(text: &str) -> Option<Arc<Verified>> {
    compile("model.pml", text, &[]).ok()
}
