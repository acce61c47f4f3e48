//! Why a command failed. Every failure has exit code 2: the input or the call is wrong.

use crate::terminal;
use check::{Refusal, ResumeError};
use replay::ReplayError;
use report::{WitnessError, json};
use schemars::JsonSchema;
use serde::Serialize;
use source::{Diagnostic, Fix, Label, SourceMap};
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
        let diagnostics: Vec<DiagnosticJson> = match self {
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
        json::line(&FailureJson { error: message, diagnostics })
    }
}

/// What every command prints as JSON if the input or the call is wrong.
#[derive(JsonSchema, Serialize)]
pub struct FailureJson {
    /// What is wrong, in a sentence.
    error: String,
    /// What is wrong with the model, one for each place.
    diagnostics: Vec<DiagnosticJson>,
}

/// A message about a place.
#[derive(JsonSchema, Serialize)]
pub struct DiagnosticJson {
    /// `error`, `warning` or `note`.
    severity: String,
    message: String,
    file: String,
    /// From 1.
    line: usize,
    /// From 1.
    column: usize,
    /// What to do about it.
    hint: Option<String>,
    /// What else is to be said.
    notes: Vec<String>,
    /// Further places.
    labels: Vec<LabelJson>,
    /// The change that would mend it, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<FixJson>,
}

/// A further place.
#[derive(JsonSchema, Serialize)]
pub struct LabelJson {
    message: String,
    file: String,
    /// From 1.
    line: usize,
    /// From 1.
    column: usize,
}

/// A change of the text.
#[derive(JsonSchema, Serialize)]
pub struct FixJson {
    file: String,
    /// Where the text begins that is replaced, from 1.
    line: usize,
    /// From 1.
    column: usize,
    /// The text that is replaced.
    old: String,
    /// The text instead.
    new: String,
}

fn diagnostic_json(map: &SourceMap, diagnostic: &Diagnostic) -> DiagnosticJson {
    let location = map.location(diagnostic.span);
    DiagnosticJson {
        severity: diagnostic.severity.to_string(),
        message: diagnostic.message.clone(),
        file: map.name(diagnostic.span.file).to_owned(),
        line: location.line,
        column: location.column,
        hint: diagnostic.hint.clone(),
        notes: diagnostic.notes.clone(),
        labels: diagnostic.labels.iter().map(|label| label_json(map, label)).collect(),
        fix: diagnostic.fix.as_ref().map(|fix| fix_json(map, fix)),
    }
}

fn label_json(map: &SourceMap, label: &Label) -> LabelJson {
    let location = map.location(label.span);
    LabelJson {
        message: label.message.clone(),
        file: map.name(map.shown(label.span).file).to_owned(),
        line: location.line,
        column: location.column,
    }
}

fn fix_json(map: &SourceMap, fix: &Fix) -> FixJson {
    let location = map.location(fix.span);
    FixJson {
        file: map.name(map.shown(fix.span).file).to_owned(),
        line: location.line,
        column: location.column,
        old: map.snippet(fix.span).to_owned(),
        new: fix.text.clone(),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::File { path, action, error } => write!(f, "cannot {action} {}: {error}", path.display()),
            Failure::Model { map, diagnostics } => f.write_str(source::render_all_in(map, diagnostics, terminal::paint()).trim_end()),
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
