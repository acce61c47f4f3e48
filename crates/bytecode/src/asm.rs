//! The text form of programs, `.epa`. People write it for examples and tests, and the program
//! prints it to show what a front-end has made.
//!
//! The language is described in `docs/assembly.md`. It is line-oriented, so each line is parsed, or
//! reported as wrong, by itself: `lexer` cuts a line into tokens, `parser` turns lines into
//! declarations and leaves the operands of instructions as tokens, and `resolve` replaces names by
//! numbers and reads operands through the operation table. `print` does the reverse. For every
//! program whose tables the verifier accepts, assembling the printed text gives the same program.

mod lexer;
mod parser;
mod print;
mod resolve;

use crate::program::Program;
use source::{Diagnostic, FileId, SourceMap, Span};

/// After this many errors the rest of a file is not read.
const DIAGNOSTICS_MAX: usize = 100;

/// Makes a program of an assembly file. The program is not yet verified. All errors are reported,
/// up to a hundred.
pub fn assemble(map: &SourceMap, file: FileId) -> Result<Program, Vec<Diagnostic>> {
    let mut complaints = Complaints::default();
    if map.get(file).is_none() {
        complaints.push(Diagnostic::error(Span::point(file, 0), "there is no such file"));
    }
    let unit = parser::parse(map.text(file), file, &mut complaints);
    let program = resolve::program(unit, map, file, &mut complaints);
    // Errors are sorted by their position in the file, not by the pass that found them.
    complaints.0.sort_by_key(|diagnostic| diagnostic.span.start);
    if complaints.0.is_empty() { Ok(program) } else { Err(complaints.0) }
}

/// The text of a program.
///
/// Every program can be printed. Assembling the text gives the same program if the tables satisfy
/// rule V-TABLES.
pub fn disassemble(program: &Program) -> String {
    print::program(program)
}

/// The errors found so far.
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

    /// The value; `None` after an error, which is recorded.
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
