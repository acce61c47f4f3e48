//! Passes arbitrary bytes to the AVR front-end, as an ELF file and as the code of a program. The
//! verifier must accept every program that the front-end accepts.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // For the device that the file names, and for one that it need not name.
    let named = [("device".to_owned(), "atmega16".to_owned())];
    let program = [&[][..], &named].into_iter().find_map(|defines| {
        let mut map = source::SourceMap::new();
        let file = map.add("fuzz.elf", "");
        let mut none = |_: &str| None;
        let request = avr::Request { defines, formulas: &[], expressions: &[], sources: &mut none };
        avr::compile(&mut map, file, bytes, request).program
    });
    let words: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).take(512).collect();
    let code = avr::testing::program("atmega328p", &words);
    for program in program.into_iter().chain(code) {
        if let Err(error) = bytecode::verify(program) {
            panic!("{error}");
        }
    }
});
