//! Passes arbitrary bytes to the binary reader.
#![no_main]

use bytecode::binary::{MAGIC, VERSION};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    bytecode::testing::check_decoder(bytes);
    // The head is added here, so that the fuzzer need not find a valid one.
    let headed: Vec<u8> = MAGIC.into_iter().chain(VERSION.to_le_bytes()).chain(bytes.iter().copied()).collect();
    bytecode::testing::check_decoder(&headed);
});
