//! The program in Rust: a Cargo project in which every process is a thread.
//!
//! Rust has no jumps, so a process is not written by its structure but as a graph. Each place where
//! the process can be is a node, with the choices that the process has there. Pieces of the program
//! are Rust.

mod expression;
mod graph;
mod write;

use crate::{Generated, Generator};

const RUNTIME: &str = include_str!("../runtime/everypath.rs.in");

impl Generator<'_> {
    /// The files of the project.
    pub(crate) fn rust_files(&mut self, name: &str) -> Vec<(String, String)> {
        let stem: String =
            name.split('.').next().unwrap_or("program").chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let stem = if stem.starts_with(|c: char| c.is_ascii_alphabetic()) { stem } else { format!("program_{stem}") };
        let manifest = format!(
            "# Generated from {name}; `cargo run` builds and starts it. Libraries of the pieces in Rust go below.\n\
             [package]\nname = \"{stem}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n\n[dependencies]\n"
        );
        vec![
            ("Cargo.toml".to_owned(), manifest),
            ("src/main.rs".to_owned(), self.rust_main()),
            ("src/everypath.rs".to_owned(), RUNTIME.to_owned()),
        ]
    }
}

/// Generates the program in Rust. The errors name the constructs that have no translation, with
/// positions.
pub fn program(hybrid: &promela::Hybrid, map: &source::SourceMap, name: &str) -> Result<Generated, Vec<source::Diagnostic>> {
    let options = crate::Options::default();
    let mut generator = Generator::new(hybrid, map, &options);
    generator.source = name.to_owned();
    let files = generator.rust_files(name);
    generator.finish(files)
}
