//! Arbitrary bytes to the binary reader.
#![no_main]

use bytecode::binary::{MAGIC, VERSION};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    bytecode::testing::check_decoder(bytes);
    // The head is a lock that a fuzzer should not have to pick again and again.
    let headed: Vec<u8> = MAGIC.into_iter().chain(VERSION.to_le_bytes()).chain(bytes.iter().copied()).collect();
    bytecode::testing::check_decoder(&headed);
});
