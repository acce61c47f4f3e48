//! Passes arbitrary text to the assembler.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| bytecode::testing::check_assembler(text));
