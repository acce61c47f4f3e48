//! Why a command failed. Every failure has exit code 2: the input or the call is wrong.

use crate::terminal;
use check::{Refusal, ResumeError};
use replay::ReplayError;
use report::{WitnessError, json};
use schemars::JsonSchema;
use serde::Serialize;
use source::{Diagnostic, Fix, Label, SourceMap};
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a command could not do its work.
#[derive(Debug)]
pub enum Failure {
    /// A file could not be read or written.
    File {
        /// The file.
        path: PathBuf,
        /// The action that failed: `read` or `write`.
        action: &'static str,
        /// The reason.
        error: io::Error,
    },
    /// The model has errors.
    Model {
        /// The text that the diagnostics refer to.
        map: SourceMap,
        /// The diagnostics, at least one of them an error.
        diagnostics: Vec<Diagnostic>,
    },
    /// The options contradict each other.
    Plan(Refusal),
    /// A trace file that cannot be read.
    Trace {
        /// The file.
        path: PathBuf,
        /// The error.
        error: WitnessError,
    },
    /// A trace or a state that does not belong to the program.
    Replay {
        /// The file it came from.
        path: PathBuf,
        /// The error.
        error: ReplayError,
    },
    /// A saved search that cannot be continued.
    Resume {
        /// The file.
        path: PathBuf,
        /// The error.
        error: ResumeError,
    },
    /// Any other error in the call, as a sentence.
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

/// The JSON output of every command if the input or the call is wrong.
#[derive(JsonSchema, Serialize)]
pub struct FailureJson {
    /// The error, in a sentence.
    error: String,
    /// The errors of the model, one for each position.
    diagnostics: Vec<DiagnosticJson>,
}

/// A message about a position.
#[derive(JsonSchema, Serialize)]
pub struct DiagnosticJson {
    /// `error`, `warning` or `note`.
    severity: String,
    /// The name of a warning, for `-A` and `-W`.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    message: String,
    file: String,
    /// From 1.
    line: usize,
    /// From 1.
    column: usize,
    /// A hint how to mend it.
    hint: Option<String>,
    /// Further remarks.
    notes: Vec<String>,
    /// Further positions.
    labels: Vec<LabelJson>,
    /// The change that would mend it, if one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<FixJson>,
}

/// A further position.
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
    /// The line at which the replaced text begins, from 1.
    line: usize,
    /// From 1.
    column: usize,
    /// The text that is replaced.
    old: String,
    /// The new text.
    new: String,
}

fn diagnostic_json(map: &SourceMap, diagnostic: &Diagnostic) -> DiagnosticJson {
    let location = map.location(diagnostic.span);
    DiagnosticJson {
        severity: diagnostic.severity.to_string(),
        name: diagnostic.name,
        message: diagnostic.message.clone(),
        file: map.name(diagnostic.span.file).to_owned(),
        line: location.line,
        column: location.column,
        hint: diagnostic.hint.clone(),
        notes: diagnostic.notes.to_vec(),
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

/// A change of the text, as JSON.
pub fn fix_json(map: &SourceMap, fix: &Fix) -> FixJson {
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
            Failure::File { path, action, error } => {
                let hint = if error.kind() == io::ErrorKind::NotFound { similar(path) } else { None };
                let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
                write!(f, "cannot {action} {}: {error}{hint}", path.display())
            }
            Failure::Model { map, diagnostics } => f.write_str(source::render_all_in(map, diagnostics, terminal::paint()).trim_end()),
            Failure::Plan(refusal) => refusal.fmt(f),
            Failure::Trace { path, error } => write!(f, "{}: {error}", path.display()),
            Failure::Replay { path, error } => write!(f, "{}: {error}", path.display()),
            Failure::Resume { path, error } => write!(f, "{}: {error}", path.display()),
            Failure::Call(message) => f.write_str(message),
        }
    }
}

/// A hint if a file in the same folder has a similar name.
fn similar(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names = std::fs::read_dir(folder).ok()?.take(FILES_MAX).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    // The order of a folder depends on the system.
    let names: BTreeSet<String> = names.collect();
    source::did_you_mean(name, names.iter().map(String::as_str))
}

/// The most files that are looked at for a hint.
const FILES_MAX: usize = 10_000;

impl std::error::Error for Failure {}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure::Plan(refusal)
    }
}
