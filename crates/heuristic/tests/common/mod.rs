//! Programs for the tests of estimates.

#![allow(dead_code, reason = "each test uses a part of this")]

use bytecode::Verified;
use languages::testing::compile;
use std::sync::Arc;

/// A model of the project.
pub fn model(name: &str, defines: &[(String, String)]) -> Arc<Verified> {
    compile(name, &testkit::models::read(name), defines).unwrap_or_else(|error| panic!("{error}"))
}

/// The models of the project, by name.
pub fn models() -> Vec<(String, Arc<Verified>)> {
    let texts = testkit::models::texts("", &["pml", "epa"]).into_iter();
    texts.filter_map(|(name, text)| compile(&name, &text, &[]).ok().map(|program| (name, program))).collect()
}
