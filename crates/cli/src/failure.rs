//! Why a command failed. Every failure has exit code 2: the input or the call is wrong.

use check::{Refusal, ResumeError};
use replay::ReplayError;
use report::{WitnessError, json};
use serde_json::{Value, json as object};
use source::{Diagnostic, SourceMap};
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a command could not do its work.
#[derive(Debug)]
pub enum Failure {
    /// A file could not be read or written.
    File {
        /// The file.
        path: PathBuf,
        /// What was tried: `read` or `write`.
        action: &'static str,
        /// Why it did not work.
        error: io::Error,
    },
    /// The model is wrong.
    Model {
        /// The text the diagnostics point into.
        map: SourceMap,
        /// What is wrong, at least one error.
        diagnostics: Vec<Diagnostic>,
    },
    /// The options do not go together.
    Plan(Refusal),
    /// A trace file that cannot be read.
    Trace {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: WitnessError,
    },
    /// A trace or a state that does not belong to the program.
    Replay {
        /// The file it came from.
        path: PathBuf,
        /// What is wrong with it.
        error: ReplayError,
    },
    /// A saved search that cannot be continued.
    Resume {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: ResumeError,
    },
    /// Anything else that is wrong with the call: a sentence.
    Call(String),
}

impl Failure {
    /// A file that could not be read.
    pub fn read(path: impl Into<PathBuf>, error: io::Error) -> Failure {
        Failure::File { path: path.into(), action: "read", error }
    }

    /// A file that could not be written.
    pub fn write(path: impl Into<PathBuf>, error: io::Error) -> Failure {
        Failure::File { path: path.into(), action: "write", error }
    }

    /// The failure as the one object that `--json` prints.
    pub fn json(&self) -> String {
        let diagnostics: Vec<Value> = match self {
            Failure::Model { map, diagnostics } => diagnostics.iter().map(|diagnostic| diagnostic_json(map, diagnostic)).collect(),
            _ => Vec::new(),
        };
        let message = match self {
            Failure::Model { diagnostics, .. } => diagnostics
                .iter()
                .find(|diagnostic| diagnostic.is_error())
                .map_or_else(String::new, |diagnostic| diagnostic.message.clone()),
            other => other.to_string(),
        };
        json::line(&object!({ "error": message, "diagnostics": diagnostics }))
    }
}

fn diagnostic_json(map: &SourceMap, diagnostic: &Diagnostic) -> Value {
    let location = map.location(diagnostic.span);
    object!({
        "severity": diagnostic.severity.to_string(),
        "message": diagnostic.message,
        "file": map.name(diagnostic.span.file),
        "line": location.line,
        "column": location.column,
        "hint": diagnostic.hint,
    })
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::File { path, action, error } => write!(f, "cannot {action} {}: {error}", path.display()),
            Failure::Model { map, diagnostics } => f.write_str(source::render_all(map, diagnostics).trim_end()),
            Failure::Plan(refusal) => refusal.fmt(f),
            Failure::Trace { path, error } => write!(f, "{}: {error}", path.display()),
            Failure::Replay { path, error } => write!(f, "{}: {error}", path.display()),
            Failure::Resume { path, error } => write!(f, "{}: {error}", path.display()),
            Failure::Call(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure::Plan(refusal)
    }
}
