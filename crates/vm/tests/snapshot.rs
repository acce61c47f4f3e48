//! A state is written to a file and read by another process, where the exploration continues in the
//! same way.
//!
//! The test binary starts itself: the child has only the program's text and the state's bytes. It
//! must find the same successors as the parent.

use contract::{Successors, System};
use std::collections::{HashSet, VecDeque};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use vm::Interpreter;

const ROLE: &str = "EVERYPATH_SNAPSHOT";

/// A program with everything that a state can have: a holder of the privilege, the last process,
/// globals, messages, claims, processes and channels created at run time.
const PROGRAM: &str =
    "global short total | global byte spare[2] = {1, 2} | channel c = [2] of { byte, short } | channel r = [0] of { byte }
    process parent() {
        local chan d
        CHNEW r | STL d | LDL d | XR | STEP A
        LDL d | RUN 1, child | LDC 2 | SETPRIO | STEP N
        L: NDET b | LDC c | LDC 3 | LDC -5 | SENDS 2 | STEP N | JMP L
        b: LDL d | RECV 1, {}, first | LAST | PUSH r0 | ADD | STG total | STEP A | LDG total | LDC 6 | LT | NEXZ | STEP N | JMP L
    }
    process child(byte d) {
        L: PID | LDC 1 | SETPRIO | STEP N
        LDC c | RECV 2, {}, any | LDL d | PUSH r0 | SEND 1 | STEP N | JMP L
    }
    start parent";

fn expand(interpreter: &mut Interpreter, from: &[u8], most: usize) -> String {
    let mut text = String::new();
    let mut seen: HashSet<Vec<u8>> = HashSet::from([from.to_vec()]);
    let mut queue = VecDeque::from([from.to_vec()]);
    while let Some(state) = queue.pop_front() {
        let mut out = Successors::new();
        interpreter.successors(&state, &mut out);
        let _ = writeln!(text, "{state:?} {}", out.is_empty() && interpreter.is_valid_end(&state));
        for (entry, next) in out.iter() {
            let _ = writeln!(text, "  {:?} {:?} {next:?}", entry.action, entry.fault());
            if let Some(next) = next
                && seen.len() < most
                && seen.insert(next.to_vec())
            {
                queue.push_back(next.to_vec());
            }
        }
    }
    text
}

fn interpreter(text: &str) -> Interpreter {
    Interpreter::new(Arc::new(testkit::assembly::verified(text)))
}

fn child(folder: &Path) {
    let text = std::fs::read_to_string(folder.join("program")).expect("the parent wrote it");
    let state = std::fs::read(folder.join("state")).expect("the parent wrote it");
    let mut interpreter = interpreter(&text);
    interpreter.check_state(&state).expect("it is a state of the program");
    std::fs::write(folder.join("answer"), expand(&mut interpreter, &state, 200)).expect("the folder can be written");
}

#[test]
fn a_state_is_all_there_is_to_continue_from() {
    if let Some(folder) = std::env::var_os(ROLE) {
        return child(Path::new(&folder));
    }
    let mut here = interpreter(PROGRAM);
    // A reachable state that contains everything that a state can have.
    let mut out = Successors::new();
    here.initial(&mut out);
    let mut state = out.state(&out.entries()[0]).expect("it starts").to_vec();
    for choice in [0, 0, 0, 0, 1] {
        out.clear();
        here.successors(&state, &mut out);
        let entry = &out.entries()[choice % out.len()];
        state = out.state(entry).expect("no fault so early").to_vec();
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("snapshot-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    std::fs::write(folder.join("program"), PROGRAM).expect("it can be written");
    std::fs::write(folder.join("state"), &state).expect("it can be written");
    let status = Command::new(std::env::current_exe().expect("this test has a file"))
        .args(["--exact", "a_state_is_all_there_is_to_continue_from"])
        .env(ROLE, &folder)
        .stdout(std::process::Stdio::null())
        .status()
        .expect("this test can be started");
    assert!(status.success(), "the other process failed");
    let there = std::fs::read_to_string(folder.join("answer")).expect("the other process answered");
    std::fs::remove_dir_all(&folder).expect("what was written can be removed");
    assert!(there.lines().count() > 10, "the state is a dead end: {there}");
    assert_eq!(there, expand(&mut here, &state, 200));
}
