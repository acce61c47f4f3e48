//! Programs for the tests of passes.

#![allow(dead_code, reason = "each test uses a part of this")]

use bytecode::Verified;
use std::sync::Arc;

/// The models of the project, by name.
pub fn models() -> Vec<(String, Arc<Verified>)> {
    let texts = testkit::models::texts("", &["pml", "epa"]).into_iter();
    texts.filter_map(|(name, text)| languages::testing::compile(&name, &text, &[]).ok().map(|program| (name, program))).collect()
}
