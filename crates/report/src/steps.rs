//! Steps and states as text.

use crate::outcome::fault_text;
use crate::text::count;
use bytecode::Verified;
use contract::Position;
use replay::{Statement, Step, View, options, view};
use std::fmt::Write as _;

/// Of a step with more statements than this, the first and the last ones are shown.
const STATEMENTS_MAX: usize = 100;
/// Of a step with more warnings than this, the first ones are shown.
const WARNINGS_MAX: usize = 50;

/// Writes steps one after the other and remembers the state between them, so that it can say what each one changed.
pub struct Printer<'p> {
    program: &'p Verified,
    view: Option<View>,
    number: usize,
}

impl<'p> Printer<'p> {
    /// A printer for steps that begin in `state`.
    pub fn new(program: &'p Verified, state: &[u8]) -> Printer<'p> {
        Printer { program, view: view(program, state).ok(), number: 0 }
    }

    /// A printer for steps that go on in `state`, after so many others.
    pub fn after(program: &'p Verified, state: &[u8], steps: usize) -> Printer<'p> {
        Printer { number: steps, ..Printer::new(program, state) }
    }

    /// All steps of a trace; a loop is marked where it begins.
    pub fn trace(&mut self, steps: &[Step], loop_start: Option<usize>) -> String {
        let mut out = String::new();
        if steps.is_empty() {
            out.push_str("in the initial state, before any step\n");
        }
        for (index, step) in steps.iter().enumerate() {
            if loop_start == Some(index) {
                out.push_str("from here on, again and again:\n");
            }
            out.push_str(&self.step(step));
        }
        out
    }

    /// The next step: its statements, what it printed, what it changed, what went wrong.
    pub fn step(&mut self, step: &Step) -> String {
        self.number += 1;
        let mut out = String::new();
        let shown = step.shown(STATEMENTS_MAX);
        for (index, statement) in shown.first.iter().chain(shown.last).enumerate() {
            // Writing to a `String` cannot fail.
            if index == shown.first.len() {
                let _ = writeln!(out, "      … {} more statements …", count(shown.hidden));
            }
            let number = if index == 0 { format!("{:>4}", self.number) } else { " ".repeat(4) };
            let _ = writeln!(out, "{number}  {}", statement_text(statement));
        }
        for line in step.printed.lines() {
            let _ = writeln!(out, "        prints: {}", printable(line));
        }
        for warning in step.warnings.iter().take(WARNINGS_MAX) {
            let _ = writeln!(out, "        warning: {}", printable(warning));
        }
        if let Some(more @ 1..) = step.warnings.len().checked_sub(WARNINGS_MAX) {
            let _ = writeln!(out, "        … {} more warnings …", count(more as u64));
        }
        if let Some(fault) = &step.fault {
            let _ = writeln!(out, "        {}", fault_text(fault));
        }
        let after = step.state.as_deref().and_then(|state| view(self.program, state).ok());
        if let (Some(before), Some(after)) = (&self.view, &after) {
            for change in after.changes(before) {
                let _ = writeln!(out, "        {} = {}", change.name, change.value);
            }
        }
        if after.is_some() {
            self.view = after;
        }
        out
    }
}

/// A statement in a line: who, where, what.
fn statement_text(statement: &Statement) -> String {
    let who = format!("{}({})", statement.process, statement.pid);
    let place = statement.position.as_ref().map(|at| format!("{}:{}", at.file, at.line)).unwrap_or_default();
    let origin = match (&statement.origin, &statement.position) {
        (Some(from), Some(at)) if from.file == at.file => format!("  (from line {})", from.line),
        (Some(from), _) => format!("  (from {}:{})", from.file, from.line),
        (None, _) => String::new(),
    };
    format!("{who:<16} {place:<24} {}{origin}", printable(&statement.text))
}

/// Text from a model, without anything that could play with the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// Where each process of a state stands, and among which statements it chooses there or for which it waits.
pub fn processes_text(program: &Verified, state: &[u8]) -> String {
    let Ok(view) = view(program, state) else { return String::new() };
    let options = options(program, state).unwrap_or_default();
    let mut out = String::new();
    for process in &view.processes {
        let who = format!("{}({})", process.name, process.pid);
        let end = if process.may_end { "  (may end here)" } else { "" };
        let mut line = |who: &str, at: Option<&Position>, statement: &str, end: &str| {
            let place = at.map(|at| format!("{}:{}", at.file, at.line)).unwrap_or_default();
            // Writing to a `String` cannot fail.
            let _ = writeln!(out, "      {who:<16} {place:<24} {}{end}", printable(statement));
        };
        match options.get(process.pid).map(Vec::as_slice) {
            Some([first, others @ ..]) => {
                line(&who, first.position.as_ref(), &first.statement, end);
                others.iter().for_each(|other| line("  or", other.position.as_ref(), &other.statement, ""));
            }
            _ => line(&who, process.position.as_ref(), &process.statement, end),
        }
    }
    if view.processes.is_empty() {
        out.push_str("      no process is left\n");
    }
    out
}

/// All values of a state, one a line.
pub fn values_text(program: &Verified, state: &[u8]) -> String {
    let Ok(view) = view(program, state) else { return String::new() };
    let mut out = String::new();
    for named in view.values() {
        let _ = writeln!(out, "        {} = {}", named.name, named.value);
    }
    out
}
