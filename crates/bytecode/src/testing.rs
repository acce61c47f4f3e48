//! For tests: programs made of arbitrary bytes, mutations of input, and properties that every input
//! must satisfy.
//!
//! The oracles are here and not in the fuzz targets, so that a fuzzer, a property test and a
//! bounded run in CI check the same thing. Each accepts any input and panics if the code under test
//! has a bug; wrong input is not a failure.

mod generate;
mod mutate;

pub use generate::program;
pub use mutate::{Random, mutate_bytes, mutate_text};

use crate::program::Program;
use crate::{asm, binary, verify};
use source::SourceMap;

/// The binary reader returns an error or a program, and programs can be written and read back.
///
/// # Panics
/// If that does not hold.
pub fn check_decoder(bytes: &[u8]) {
    let Ok(program) = binary::decode(bytes) else { return };
    check_binary(&program);
    // Printing must work for every program. Reading the text back is promised only for programs
    // with correct tables.
    let text = asm::disassemble(&program);
    if let Ok(verified) = verify(program) {
        check_text(verified.program(), &text);
    }
}

/// The assembler returns errors or a program, and its programs can be printed and read back in both
/// forms.
///
/// # Panics
/// If that does not hold.
pub fn check_assembler(text: &str) {
    let mut map = SourceMap::new();
    let file = map.add("input.epa", text);
    match asm::assemble(&map, file) {
        Err(errors) => {
            assert!(!errors.is_empty(), "no program and no error");
            for error in &errors {
                assert!(error.is_error() && error.span.file == file && error.span.end as usize <= text.len(), "{error:?}");
                source::render(&map, error);
            }
        }
        Ok(program) => {
            check_text(&program, &asm::disassemble(&program));
            check_binary(&program);
            if let Err(error) = verify(program) {
                source::render(&map, &error.diagnostic(&map));
            }
        }
    }
}

/// The verifier decides about every program in reasonable time, and an accepted program can be
/// written and read back in both forms.
///
/// # Panics
/// If that does not hold.
pub fn check_verifier(program: Program) {
    check_binary(&program);
    match verify(program.clone()) {
        Ok(verified) => {
            assert_eq!(*verified.program(), program);
            check_text(&program, &asm::disassemble(&program));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// The binary form of a program represents exactly this program.
///
/// # Panics
/// If it does not.
pub fn check_binary(program: &Program) {
    let bytes = binary::encode(program);
    assert_eq!(binary::decode(&bytes).as_ref(), Ok(program));
}

/// The text of a program represents exactly this program.
///
/// # Panics
/// If it does not.
pub fn check_text(program: &Program, text: &str) {
    let mut map = SourceMap::new();
    let file = map.add("printed.epa", text);
    match asm::assemble(&map, file) {
        Ok(read) => assert_eq!(read, *program, "another program was read from\n{text}"),
        Err(errors) => panic!("{}\nin\n{text}", source::render_all(&map, &errors)),
    }
}
