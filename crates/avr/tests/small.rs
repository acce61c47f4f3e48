//! The programs in `models/avr/small`, built at several levels of optimisation and explored with
//! the reference interpreter. The head of each file says what must be found. The tests of the
//! command line check them too, with formulas.

use contract::{Successors, System};
use source::SourceMap;
use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use vm::Interpreter;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/avr/small")
}

fn value(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| line.trim_start_matches([' ', '*']).strip_prefix(key).map(|rest| rest.trim().to_owned()))
}

/// Builds a program; `None` if the compiler or avr-libc is missing.
fn build(name: &str, level: &str) -> Option<Vec<u8>> {
    let place = std::env::temp_dir().join(format!("everypath-avr-small-{name}{level}-{}.elf", std::process::id()));
    let made = Command::new("avr-gcc")
        .args(["-mmcu=atmega328p", level, "-std=gnu11", "-gdwarf-2", "-o"])
        .arg(&place)
        .arg(format!("{name}.c"))
        .current_dir(folder())
        .output()
        .ok()?;
    let told = String::from_utf8_lossy(&made.stderr);
    if told.contains("avr/io.h") || told.contains("crt") {
        return None;
    }
    assert!(made.status.success(), "{name}: {told}");
    let bytes = std::fs::read(&place).ok();
    let _ = std::fs::remove_file(&place);
    bytes
}

/// The definitions among the options of a head.
fn defines(options: &str) -> Vec<(String, String)> {
    let words: Vec<&str> = options.split(' ').collect();
    let pairs = words.windows(2).filter(|pair| pair[0] == "-D").filter_map(|pair| pair[1].split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The kinds of all violations, up to the one that is expected, and the number of states. A state
/// without successors in which the processor has not stopped is an invalid end state.
fn explore(bytes: &[u8], defines: &[(String, String)], expected: Option<&str>) -> (BTreeSet<String>, usize) {
    let mut map = SourceMap::new();
    let file = map.add("small.elf", "");
    let mut none = |_: &str| None;
    let request = avr::Request { defines, formulas: &[], expressions: &[], sources: &mut none };
    let compiled = avr::compile(&mut map, file, bytes, request);
    let program = compiled.program.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
    let program = Arc::new(bytecode::verify(program).unwrap_or_else(|error| panic!("{error}")));
    let mut machine = Interpreter::new(program);
    let mut violations = BTreeSet::new();
    let mut out = Successors::default();
    machine.initial(&mut out);
    let first = out.iter().next().expect("an initial state").1.expect("no fault").to_vec();
    let (mut known, mut open) = (BTreeSet::from([first.clone()]), VecDeque::from([first]));
    while let Some(state) = open.pop_front() {
        if expected.is_some_and(|kind| violations.contains(kind)) {
            break;
        }
        let mut out = Successors::default();
        machine.successors(&state, &mut out);
        if out.is_empty() && !machine.is_valid_end(&state) {
            violations.insert("invalid end state".to_owned());
        }
        for (entry, next) in out.iter() {
            violations.extend(entry.fault().map(|fault| machine.describe_fault(fault).kind.name().to_owned()));
            if let Some(next) = next.filter(|next| !known.contains(*next)) {
                known.insert(next.to_vec());
                open.push_back(next.to_vec());
            }
        }
        assert!(known.len() < 400_000, "too many states");
    }
    (violations, known.len())
}

#[test]
fn small_programs_have_the_violations_that_their_heads_say() {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .expect("the programs")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".c").map(str::to_owned))
        .collect();
    names.sort();
    assert!(names.len() > 20);
    testkit::in_parallel(&names, |name| {
        let text = std::fs::read_to_string(folder().join(format!("{name}.c"))).expect("the program");
        let expect = value(&text, "expect:").expect("what is expected");
        let levels = value(&text, "level:").map_or(vec!["-O0".to_owned(), "-Os".to_owned(), "-O2".to_owned()], |level| vec![level]);
        let defines = defines(&value(&text, "options:").unwrap_or_default());
        for level in levels {
            let Some(bytes) = build(name, &level) else {
                testkit::passed_over("avr-gcc or avr-libc is missing");
                return;
            };
            let (violations, states) = explore(&bytes, &defines, expect.split_once(' ').map(|(_, kind)| kind));
            println!("{name} {level}: {states} states, {violations:?}");
            match expect.split_once(' ') {
                // A property is checked by the tests of the command line.
                Some(("violated", "property")) => assert!(violations.is_empty(), "{name} {level}: {violations:?}"),
                Some(("violated", kind)) => assert!(violations.contains(kind), "{name} {level}: {violations:?}"),
                _ => assert!(violations.is_empty(), "{name} {level}: {violations:?}"),
            }
        }
    });
}
