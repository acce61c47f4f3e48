//! Assembly in tests: several instructions on a line, and a panic after an error.

use bytecode::{Program, Verified, asm};
use source::SourceMap;

/// The program of an assembly text in which `|` ends a line.
///
/// # Panics
/// If the assembler refuses the text.
pub fn program(text: &str) -> Program {
    let mut map = SourceMap::new();
    let lines = text.replace('|', "\n");
    let file = map.add("test.epa", lines.clone());
    match asm::assemble(&map, file) {
        Ok(program) => program,
        Err(diagnostics) => {
            let messages: Vec<String> = diagnostics.iter().map(|d| source::render(&map, d)).collect();
            panic!("{}\nin\n{lines}", messages.join("\n"))
        }
    }
}

/// The verified program of such a text.
///
/// # Panics
/// If the assembler or the verifier refuses it.
pub fn verified(text: &str) -> Verified {
    bytecode::verify(program(text)).unwrap_or_else(|error| panic!("{error} in\n{text}"))
}
