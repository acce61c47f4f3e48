//! The examples in `models/asm` are well-formed and verified, survive both forms, and have a header
//! with the expected result.
//!
//! Whether the result is as expected is tested where there is a machine to run them.

use bytecode::ops::TABLE;
use bytecode::testing::{check_binary, check_text};
use bytecode::{Program, asm, verify};
use source::SourceMap;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn examples() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/asm");
    let files = std::fs::read_dir(&folder).expect("the examples").map(|entry| entry.expect("an entry").path());
    let mut found: Vec<_> = files
        .map(|path| (path.file_name().expect("a name").to_string_lossy().into_owned(), std::fs::read_to_string(&path).expect("a text")))
        .collect();
    found.sort();
    found
}

fn program(name: &str, text: &str) -> Program {
    let mut map = SourceMap::new();
    let file = map.add(name, text);
    asm::assemble(&map, file).unwrap_or_else(|errors| panic!("{}", source::render_all(&map, &errors)))
}

#[test]
fn examples_are_verified_and_survive_both_forms() {
    for (name, text) in examples() {
        let program = program(&name, &text);
        assert_eq!(Some(program.name.as_str()), name.strip_suffix(".epa"));
        check_binary(&program);
        check_text(&program, &asm::disassemble(&program));
        if let Err(error) = verify(program) {
            panic!("{name}: {error}");
        }
    }
}

#[test]
fn examples_use_every_instruction() {
    let mut unused: BTreeSet<&str> = TABLE.iter().map(|row| row.1).collect();
    for (name, text) in examples() {
        for op in program(&name, &text).code {
            unused.remove(op.mnemonic());
        }
    }
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn headers_say_what_to_expect() {
    for (name, text) in examples() {
        let header = text.lines().take_while(|line| line.starts_with(';'));
        let lines: Vec<&str> = header.filter_map(|line| line.strip_prefix("; expect: ")).collect();
        assert_eq!(lines.len(), 1, "{name} must have one line `; expect: …` in its header");
        let pairs = pairs(lines[0]);
        let known = ["states", "transitions", "verdict", "violation"];
        assert!(pairs.keys().all(|key| known.contains(&key.as_str())), "{name}: {pairs:?}");
        assert!(pairs["states"].parse::<u64>().is_ok_and(|n| n > 0), "{name}");
        assert!(pairs["transitions"].parse::<u64>().is_ok(), "{name}");
        match pairs["verdict"].as_str() {
            "holds" => assert!(!pairs.contains_key("violation"), "{name}"),
            "violated" => assert!(!pairs["violation"].is_empty(), "{name}"),
            other => panic!("{name}: a verdict of {other}"),
        }
    }
}

/// The pairs `key=value` of a line; a value with blanks is in quotes.
fn pairs(line: &str) -> BTreeMap<String, String> {
    let mut pairs = BTreeMap::new();
    let mut rest = line.trim();
    while let Some((key, behind)) = rest.split_once('=') {
        let (value, behind) = match behind.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').expect("a closing quote"),
            None => behind.split_once(' ').unwrap_or((behind, "")),
        };
        pairs.insert(key.to_owned(), value.to_owned());
        rest = behind.trim_start();
    }
    assert!(rest.is_empty(), "{line}");
    pairs
}
