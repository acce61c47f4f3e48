//! Common parts of the tests: compiling a model, exploring it, reading its expectations.

#![allow(dead_code, reason = "each test uses a part of this")]

use bytecode::Verified;
use contract::{Successors, System, ViolationKind};
use source::{Diagnostic, SourceMap, render_all};
use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder of the whole project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compiles a file; included files are looked for next to it.
pub fn compile_file(path: &Path) -> (SourceMap, promela::Compiled) {
    let text = std::fs::read_to_string(path).expect("readable");
    let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
    let mut loader = move |wanted: &str, _: &str| {
        let text = std::fs::read_to_string(folder.join(wanted)).map_err(|e| e.to_string())?;
        Ok(promela::Included { name: wanted.to_owned(), text })
    };
    let mut map = SourceMap::new();
    let file = map.add(path.display().to_string(), text);
    let compiled = promela::compile(&mut map, file, &mut loader, &[]);
    (map, compiled)
}

/// Compiles a text that includes nothing.
pub fn compile_text(text: &str) -> (SourceMap, promela::Compiled) {
    let mut map = SourceMap::new();
    let file = map.add("model.pml", text);
    let compiled = promela::compile(&mut map, file, &mut promela::NoFiles, &[]);
    (map, compiled)
}

/// The messages of a text's diagnostics, rendered.
pub fn findings(text: &str) -> String {
    let (map, compiled) = compile_text(text);
    render_all(&map, &compiled.diagnostics)
}

/// The verified program of a model that must be correct.
pub fn verified(map: &SourceMap, compiled: promela::Compiled) -> Verified {
    let errors: Vec<&Diagnostic> = compiled.diagnostics.iter().filter(|d| d.is_error()).collect();
    assert!(errors.is_empty(), "{}", render_all(map, errors));
    match bytecode::verify(compiled.program.expect("a program")) {
        Ok(program) => program,
        Err(error) => panic!("{}: {error}", map.name(source::FileId::default())),
    }
}

/// The result of an exploration.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Space {
    pub states: usize,
    /// The number of edges, without the arrival at the initial state.
    pub transitions: usize,
    /// Names of the kinds of violations, sorted.
    pub violations: Vec<String>,
}

/// The whole state space of a program; `None` beyond `limit` states.
pub fn explore(program: Verified, limit: usize) -> Option<Space> {
    let mut system = vm::Interpreter::new(Arc::new(program));
    let mut space = Space::default();
    let mut violations: HashSet<String> = HashSet::new();
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    let mut queue = VecDeque::new();
    let mut out = Successors::new();
    system.initial(&mut out);
    let mut initial = true;
    loop {
        for entry in out.entries() {
            if let Some(fault) = entry.fault() {
                violations.insert(system.describe_fault(fault).kind.name().to_owned());
            }
            if let Some(state) = out.state(entry) {
                space.transitions += usize::from(!initial);
                if seen.insert(state.to_vec()) {
                    queue.push_back(state.to_vec());
                }
            }
        }
        initial = false;
        if seen.len() > limit {
            return None;
        }
        let Some(state) = queue.pop_front() else { break };
        out.clear();
        system.successors(&state, &mut out);
        if out.is_empty() && !system.is_valid_end(&state) {
            violations.insert(ViolationKind::Deadlock.name().to_owned());
        }
    }
    space.states = seen.len();
    space.violations = violations.into_iter().collect();
    space.violations.sort();
    Some(space)
}

/// The expectations in a model's header: `// expect: states=… transitions=… verdict=… violation=…`.
#[derive(Debug, Default)]
pub struct Expected {
    pub states: Option<usize>,
    pub transitions: Option<usize>,
    pub verdict: String,
    pub violation: Option<String>,
}

pub fn expected(text: &str) -> Option<Expected> {
    let line = text.lines().find_map(|l| l.trim().strip_prefix("// expect:"))?;
    let mut expected = Expected::default();
    // A value in quotes may contain blanks.
    let mut rest = line.trim();
    while let Some((key, after)) = rest.split_once('=') {
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(' ').unwrap_or((after, "")),
        };
        match key.trim() {
            "states" => expected.states = value.parse().ok(),
            "transitions" => expected.transitions = value.parse().ok(),
            "verdict" => expected.verdict = value.to_owned(),
            "violation" => expected.violation = Some(value.to_owned()),
            _ => return None,
        }
        rest = next.trim();
    }
    Some(expected)
}
