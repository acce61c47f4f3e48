//! A bounded fuzz run that needs no fuzzer: seeded damage to the example programs, checked with the
//! oracles of `bytecode::testing`.

use bytecode::testing::{Random, check_assembler, check_decoder, check_verifier, mutate_bytes, mutate_text};
use bytecode::{asm, binary};
use source::SourceMap;
use std::path::Path;

/// The texts of all examples, and a text that is not a program.
fn examples() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/asm");
    let mut paths: Vec<_> = std::fs::read_dir(&folder).expect("the examples").map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "epa"));
    paths.sort();
    assert!(!paths.is_empty());
    paths.iter().map(|path| std::fs::read_to_string(path).expect("an example")).collect()
}

fn binaries() -> Vec<Vec<u8>> {
    let read = |text: &String| {
        let mut map = SourceMap::new();
        let file = map.add("example.epa", text.as_str());
        let mut bytes = binary::encode(&asm::assemble(&map, file).expect("examples are well-formed"));
        // The checksum (the six bytes before the two of the end) is removed, so that damage gets
        // past it.
        bytes.drain(bytes.len() - 8..bytes.len() - 2);
        bytes
    };
    examples().iter().map(read).collect()
}

#[test]
fn damaged_text() {
    let texts = examples();
    let mut random = Random::new(0x5eed);
    for _ in 0..10_000 {
        let (text, other) = (&texts[random.below(texts.len())], &texts[random.below(texts.len())]);
        check_assembler(&mutate_text(&mut random, text, other));
    }
}

#[test]
fn damaged_bytes() {
    let programs = binaries();
    let mut random = Random::new(0xb17e5);
    let mut read = 0;
    for _ in 0..20_000 {
        let mut bytes = programs[random.below(programs.len())].clone();
        let other = &programs[random.below(programs.len())];
        mutate_bytes(&mut random, &mut bytes, other);
        check_decoder(&bytes);
        read += usize::from(binary::decode(&bytes).is_ok());
    }
    assert!(read > 1000, "only {read} of 20000 damaged programs can still be read: the damage is too crude to find anything");
}

#[test]
fn made_up_programs() {
    let mut random = Random::new(0x9e11);
    for _ in 0..10_000 {
        let count = random.below(300);
        check_verifier(bytecode::testing::program(&random.bytes(count)));
    }
}
