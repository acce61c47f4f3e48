//! Builds programs from arbitrary decisions and passes them to the verifier.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|decisions: &[u8]| bytecode::testing::check_verifier(bytecode::testing::program(decisions)));
