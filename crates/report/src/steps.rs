//! Steps and states as text.

use crate::outcome::fault_text;
use crate::text::count;
use contract::Position;
use replay::{Choice, Narrator, Statement, Step, View};
use std::fmt::Write as _;

/// If a step has more statements than this, the first and the last ones are shown.
const STATEMENTS_MAX: usize = 100;
/// If a step has more warnings than this, the first ones are shown.
const WARNINGS_MAX: usize = 50;

/// Writes steps one after the other and remembers the state between them, so that it can show what
/// each step changed.
pub struct Printer<'p> {
    narrator: &'p Narrator,
    view: Option<View>,
    number: usize,
}

impl<'p> Printer<'p> {
    /// A printer for steps that begin in `state`.
    pub fn new(narrator: &'p Narrator, state: &[u8]) -> Printer<'p> {
        Printer { narrator, view: narrator.view(state).ok(), number: 0 }
    }

    /// A printer for steps that continue from `state`, after a number of other steps.
    pub fn after(narrator: &'p Narrator, state: &[u8], steps: usize) -> Printer<'p> {
        Printer { number: steps, ..Printer::new(narrator, state) }
    }

    /// Writes all steps of a trace and marks the beginning of a loop.
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

    /// Writes the next step: its statements, what it printed, what it changed, its fault.
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
        let after = step.state.as_deref().and_then(|state| self.narrator.view(state).ok());
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
    let origin = origin_text(statement.origin.as_ref(), statement.position.as_ref());
    format!("{who:<16} {place:<24} {}{origin}", printable(&statement.text))
}

/// The own position of a statement from a macro or an inline, in words after it.
fn origin_text(origin: Option<&Position>, position: Option<&Position>) -> String {
    match (origin, position) {
        (Some(from), Some(at)) if from.file == at.file => format!("  (from line {})", from.line),
        (Some(from), _) => format!("  (from {}:{})", from.file, from.line),
        (None, _) => String::new(),
    }
}

/// Text from a model, without control characters that could disturb the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// The location of each process of a state, and the statements among which it chooses there or for
/// which it waits.
pub fn processes_text(narrator: &Narrator, state: &[u8]) -> String {
    let Ok(view) = narrator.view(state) else { return String::new() };
    let options = narrator.options(state);
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
                let mut option = |who: &str, choice: &Choice, end: &str| {
                    let origin = origin_text(choice.origin.as_ref(), choice.position.as_ref());
                    line(who, choice.position.as_ref(), &choice.statement, &format!("{origin}{end}"));
                };
                option(&who, first, end);
                others.iter().for_each(|other| option("  or", other, ""));
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
pub fn values_text(narrator: &Narrator, state: &[u8]) -> String {
    let Ok(view) = narrator.view(state) else { return String::new() };
    let mut out = String::new();
    for named in view.values() {
        let _ = writeln!(out, "        {} = {}", named.name, named.value);
    }
    out
}
