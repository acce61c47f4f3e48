//! Counts the reachable states of models: `count_states [-l LIMIT] [-a] MODEL…`, one line each.
//!
//! With `-a` prints the byte-code as assembly instead.

use contract::{Successors, System};
use source::{SourceMap, render_all};
use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mut limit, mut assembly) = (usize::MAX, false);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-l" => limit = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(limit),
            "-a" => assembly = true,
            path => println!("{path}\t{}", count(path, limit, assembly)),
        }
    }
}

fn count(path: &str, limit: usize, assembly: bool) -> String {
    let text = match std::fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => return format!("unreadable\t{error}"),
    };
    let mut map = SourceMap::new();
    let file = map.add(path, text);
    let folder = Path::new(path).parent().map(Path::to_path_buf).unwrap_or_default();
    let mut loader = |wanted: &str, _: &str| {
        let text = std::fs::read_to_string(folder.join(wanted)).map_err(|e| e.to_string())?;
        Ok(promela::Loaded { name: wanted.to_owned(), text })
    };
    let compiled = promela::compile(&mut map, file, &mut loader, &[]);
    eprint!("{}", render_all(&map, &compiled.diagnostics));
    let Some(program) = compiled.program else { return "refused".to_owned() };
    if assembly {
        return bytecode::asm::disassemble(&program);
    }
    let program = match bytecode::verify(program) {
        Ok(program) => program,
        Err(error) => return format!("unverified\t{error}"),
    };
    let mut system = vm::Interpreter::new(Arc::new(program));
    explore(&mut system, limit)
}

fn explore(system: &mut vm::Interpreter, limit: usize) -> String {
    let mut out = Successors::new();
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    let mut queue = VecDeque::new();
    let (mut transitions, mut deadlocks) = (0, 0);
    let mut faults: Vec<String> = Vec::new();
    system.initial(&mut out);
    loop {
        for entry in out.entries() {
            if let Some(fault) = entry.fault() {
                let fault = system.describe_fault(fault);
                let line = fault.position.as_ref().map_or(0, |p| p.line);
                let text = format!("{:?}@{line}", fault.kind);
                if !faults.contains(&text) {
                    faults.push(text);
                }
            }
            if let Some(state) = out.state(entry) {
                transitions += 1;
                if seen.insert(state.to_vec()) {
                    queue.push_back(state.to_vec());
                }
            }
        }
        if seen.len() > limit {
            return format!("more\t{}", seen.len());
        }
        let Some(state) = queue.pop_front() else { break };
        out.clear();
        system.successors(&state, &mut out);
        if out.entries().is_empty() && !system.is_valid_end(&state) {
            deadlocks += 1;
        }
    }
    faults.sort();
    format!("ok\t{}\t{transitions}\t{deadlocks}\t{}", seen.len(), faults.join(","))
}
