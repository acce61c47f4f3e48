//! A trace in a file, together with the program, so that it can be replayed.
//!
//! The file is one JSON object. `program` is the byte-code as assembly text, or the graph that was
//! checked; `language` is the ending of that language; `trace` is the trace in its own text form.
//! Both can be read and extracted without this tool. A reader trusts neither: the program is
//! verified and the trace is replayed.

use crate::json::ViolationJson;
use contract::{Trace, TraceError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The value of `format`: what the file is, and its version.
const FORMAT: &str = "everypath trace file 1";

/// The contents of a trace file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The name of the model, as the user gave it.
    pub model: String,
    /// The violation at the end of the trace; `None` for a simulated run.
    pub violation: Option<ViolationJson>,
    /// The path from the folder of the trace file to the folder to which file names are relative,
    /// if it is known.
    pub folder: Option<String>,
    /// The file ending of the language of `program`.
    pub ending: String,
    /// The program as text: assembly, or a graph.
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
    #[serde(default = "assembly", skip_serializing_if = "is_assembly")]
    language: String,
    program: String,
}

/// Files without a language contain assembly, as older versions wrote them.
fn assembly() -> String {
    "epa".to_owned()
}

fn is_assembly(language: &str) -> bool {
    language == "epa"
}

/// Why a file is not a trace file.
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
            language: self.ending.clone(),
            program: self.program.clone(),
        };
        // There are only string keys and strings, so serialisation cannot fail.
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
        let File { model, violation, folder, language: ending, program, .. } = file;
        Ok(Witness { model, violation, folder, ending, program, trace })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::{Action, TraceStep};

    fn witness() -> Witness {
        Witness {
            model: "m.epa".to_owned(),
            violation: Some(ViolationJson {
                kind: "invalid end state".to_owned(),
                message: "stuck".to_owned(),
                file: None,
                line: Some(3),
                column: None,
            }),
            folder: Some("..".to_owned()),
            ending: "aut".to_owned(),
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
