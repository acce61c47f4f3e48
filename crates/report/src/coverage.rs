//! Coverage as text and as JSON: what was never executed, process by process.

use crate::look::{Detail, Look};
use crate::steps::Columns;
use contract::{Coverage, ProcessCoverage, StatementCoverage};
use schemars::JsonSchema;
use serde::Serialize;
use source::printable;
use std::fmt::Write as _;

/// The most statements of a process without an execution that are shown.
const SHOWN_MAX: usize = 12;

/// The statements that were never executed, in lines.
pub fn coverage_text(coverage: &Coverage, look: &Look) -> String {
    let (all, executed) = coverage.executed();
    let share = executed as f64 * 100.0 / all.max(1) as f64;
    let how = match (coverage.complete, coverage.reduced) {
        (true, false) => "",
        (true, true) => " (with partial-order reduction)\n  `--no-por` is exact, and tells which channels were never full",
        (false, _) => " (of what was searched)",
    };
    let mut out = format!("\n{} {executed} of {all} statements executed, {share:.0} %{how}\n", look.strong("coverage:"));
    for process in &coverage.processes {
        out.push_str(&process_text(process, look));
    }
    for sentence in &coverage.vacuous {
        // Writing to a `String` cannot fail.
        let _ = writeln!(out, "{} {}", look.doubtful("warning:"), printable(sentence));
    }
    out
}

fn process_text(process: &ProcessCoverage, look: &Look) -> String {
    let missing: Vec<&StatementCoverage> = process.statements.iter().filter(|statement| !statement.executed).collect();
    if !process.started {
        return format!("  {}: no such process was ever started\n", process.name);
    }
    if missing.is_empty() {
        return String::new();
    }
    let mut out = format!("  {}: {} of {} statements never executed\n", process.name, missing.len(), process.statements.len());
    let columns = Columns::of(std::iter::empty(), missing.iter().filter_map(|statement| statement.position.as_ref()));
    let most = if look.detail == Detail::Verbose { missing.len() } else { SHOWN_MAX };
    for statement in missing.iter().take(most) {
        let why = if statement.reached { "reached, but it could never be executed" } else { "never reached" };
        let line = columns.line("", statement.position.as_ref(), &format!("{}  {}", printable(&statement.text), look.faint(why)));
        let _ = writeln!(out, "  {line}");
    }
    if let Some(more @ 1..) = missing.len().checked_sub(most) {
        let _ = writeln!(out, "    … and {more} more; `--verbose` shows all");
    }
    out
}

/// Coverage, for scripts.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CoverageJson {
    /// The number of statements of all processes.
    pub statements: usize,
    /// The number of statements that were executed.
    pub executed: usize,
    /// Whether every reachable state was visited.
    pub complete: bool,
    /// Whether orders of independent steps were left out.
    pub reduced: bool,
    /// Each type of process.
    pub processes: Vec<ProcessCoverageJson>,
    /// Signs that a property says less than it seems to.
    pub vacuous: Vec<String>,
}

/// The coverage of a type of process.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ProcessCoverageJson {
    /// The name of the type.
    pub name: String,
    /// Whether any process of this type existed.
    pub started: bool,
    /// Its statements.
    pub statements: Vec<StatementCoverageJson>,
}

/// The coverage of a statement.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct StatementCoverageJson {
    /// The file.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// The statement.
    pub statement: String,
    /// Whether a process could have executed it next, if its guard had allowed.
    pub reached: bool,
    /// Whether it was executed.
    pub executed: bool,
}

impl From<&Coverage> for CoverageJson {
    fn from(coverage: &Coverage) -> CoverageJson {
        let (statements, executed) = coverage.executed();
        let statement = |told: &StatementCoverage| StatementCoverageJson {
            file: told.position.as_ref().map(|at| at.file.clone()),
            line: told.position.as_ref().map(|at| at.line),
            column: told.position.as_ref().map(|at| at.column).filter(|&column| column > 0),
            statement: told.text.clone(),
            reached: told.reached,
            executed: told.executed,
        };
        let process = |told: &ProcessCoverage| ProcessCoverageJson {
            name: told.name.clone(),
            started: told.started,
            statements: told.statements.iter().map(statement).collect(),
        };
        CoverageJson {
            statements,
            executed,
            complete: coverage.complete,
            reduced: coverage.reduced,
            processes: coverage.processes.iter().map(process).collect(),
            vacuous: coverage.vacuous.clone(),
        }
    }
}
