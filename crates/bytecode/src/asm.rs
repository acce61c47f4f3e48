//! The text form of programs, `.epa`: written by hand for examples and tests, printed to see what a front-end made.
//!
//! The language is described in `docs/assembly.md`. It is line-oriented, so each line is understood, or complained about, by itself:
//! `lexer` cuts a line into tokens, `parser` turns lines into declarations and leaves the operands of instructions as tokens, and
//! `resolve` gives names their numbers, reading operands through the operation table. `print` goes the other way. For every program whose
//! tables the verifier accepts, assembling what was printed gives the same program.

mod lexer;
mod parser;
mod print;
mod resolve;

use crate::program::Program;
use source::{Diagnostic, FileId, SourceMap, Span};

/// After so many complaints the rest of a file is not worth reading.
const DIAGNOSTICS_MAX: usize = 100;

/// Makes a program of an assembly file. It is not yet verified. All errors that can be found are given, up to a hundred.
pub fn assemble(map: &SourceMap, file: FileId) -> Result<Program, Vec<Diagnostic>> {
    let mut complaints = Complaints::default();
    if map.get(file).is_none() {
        complaints.push(Diagnostic::error(Span::point(file, 0), "there is no such file"));
    }
    let unit = parser::parse(map.text(file), file, &mut complaints);
    let program = resolve::program(unit, map, file, &mut complaints);
    // In the order in which a reader meets them, not in the order of our passes.
    complaints.0.sort_by_key(|diagnostic| diagnostic.span.start);
    if complaints.0.is_empty() { Ok(program) } else { Err(complaints.0) }
}

/// The text of a program.
///
/// It is a text for every program; that it assembles to the same program holds for those whose tables are as rule V-TABLES demands.
pub fn disassemble(program: &Program) -> String {
    print::program(program)
}

/// What was found wrong so far.
#[derive(Default)]
struct Complaints(Vec<Diagnostic>);

impl Complaints {
    fn is_full(&self) -> bool {
        self.0.len() >= DIAGNOSTICS_MAX
    }

    fn push(&mut self, diagnostic: Diagnostic) {
        if !self.is_full() {
            self.0.push(diagnostic);
        }
    }

    /// The value, or nothing and a complaint.
    fn take<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(diagnostic) => {
                self.push(diagnostic);
                None
            }
        }
    }
}
