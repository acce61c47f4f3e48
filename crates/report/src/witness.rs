//! A trace in a file, with everything needed to run it again: the program itself travels along.
//!
//! The file is one JSON object. `program` is the byte-code as assembly text, `trace` the trace in its own text form, so both can be
//! read, and taken out, without this tool. Whoever loads it trusts neither: the program is verified and the trace replayed.

use crate::json::ViolationJson;
use contract::{Trace, TraceError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The value of `format`: what the file is, and its version.
const FORMAT: &str = "everypath trace file 1";

/// The contents of a trace file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The model the trace was made from, as the user named it.
    pub model: String,
    /// What is at the end of the trace; nothing for a mere run.
    pub violation: Option<ViolationJson>,
    /// The way from the folder of the trace file to the one that names of files start from, if it is known.
    pub folder: Option<String>,
    /// The program as assembly text.
    pub program: String,
    /// The trace.
    pub trace: Trace,
}

#[derive(Serialize, Deserialize)]
struct File {
    format: String,
    model: String,
    #[serde(default)]
    violation: Option<ViolationJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    trace: String,
    program: String,
}

/// Why a file holds no trace.
#[derive(Debug)]
pub enum WitnessError {
    /// Not the JSON we write.
    Json(serde_json::Error),
    /// Another format, or a later version.
    Format(String),
    /// The trace in it is malformed.
    Trace(TraceError),
}

impl fmt::Display for WitnessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WitnessError::Json(error) => write!(f, "not a trace file: {error}"),
            WitnessError::Format(found) => write!(f, "not a trace file of this version: it says `{found}`, expected `{FORMAT}`"),
            WitnessError::Trace(error) => write!(f, "the trace in it is malformed: {error}"),
        }
    }
}

impl std::error::Error for WitnessError {}

impl Witness {
    /// The file's text.
    pub fn to_text(&self) -> String {
        let file = File {
            format: FORMAT.to_owned(),
            model: self.model.clone(),
            violation: self.violation.clone(),
            folder: self.folder.clone(),
            trace: self.trace.to_string(),
            program: self.program.clone(),
        };
        // String keys and strings only: nothing that could fail.
        let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads a file's text.
    pub fn from_text(text: &str) -> Result<Witness, WitnessError> {
        let file: File = serde_json::from_str(text).map_err(WitnessError::Json)?;
        if file.format != FORMAT {
            return Err(WitnessError::Format(file.format.chars().take(80).collect()));
        }
        let trace = file.trace.parse().map_err(WitnessError::Trace)?;
        Ok(Witness { model: file.model, violation: file.violation, folder: file.folder, program: file.program, trace })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::{Action, TraceStep};

    fn witness() -> Witness {
        Witness {
            model: "m.epa".to_owned(),
            violation: Some(ViolationJson { kind: "invalid end state".to_owned(), message: "stuck".to_owned(), file: None, line: Some(3) }),
            folder: Some("..".to_owned()),
            program: "line one\n\"two\"\n".to_owned(),
            trace: Trace {
                initial: vec![1, 2],
                steps: vec![
                    TraceStep { action: Action::new(1, 0), state: Some(vec![3]) },
                    TraceStep { action: Action::new(0, 2), state: None },
                ],
                loop_start: None,
            },
        }
    }

    #[test]
    fn text_round_trips() {
        let witness = witness();
        assert_eq!(Witness::from_text(&witness.to_text()).expect("well-formed"), witness);
    }

    #[test]
    fn other_files_are_refused() {
        let text = witness().to_text();
        for wrong in [
            "",
            "{}",
            "[1]",
            "des (0, 1, 2)",
            &text[..text.len() / 2],
            &text.replace("file 1", "file 2"),
            &text.replace("initial", "final"),
        ] {
            assert!(Witness::from_text(wrong).is_err(), "{wrong}");
        }
    }
}
