//! The waiting processes of a deadlock, for scripts.

use crate::waiting::why_text;
use replay::{Wait, Waiting, Why};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A process that cannot move.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct WaitingJson {
    /// The name of its type.
    pub process: String,
    /// Its number.
    pub pid: usize,
    /// Its options.
    pub options: Vec<WaitJson>,
}

/// An option that is not executable.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct WaitJson {
    /// The file.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The statement.
    pub statement: String,
    /// Why it is not executable: `condition`, `full`, `empty`, `no match`, `no partner` or
    /// `unknown`.
    pub why: &'static str,
    /// The reason as a sentence, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The channel, if the reason concerns one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The contents of the channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<String>,
    /// The values that a condition reads.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// The numbers of processes that could change this.
    pub waits_for: Vec<usize>,
}

/// The waiting processes at the end of a trace.
pub fn waiting(waiting: &[Waiting]) -> Vec<WaitingJson> {
    let option = |wait: &Wait| {
        let (why, channel, contents, values) = match &wait.why {
            Why::Condition(values) => ("condition", None, None, &values[..]),
            Why::Full { channel, contents } => ("full", Some(channel), Some(contents), &[][..]),
            Why::Empty { channel } => ("empty", Some(channel), None, &[][..]),
            Why::NoMatch { channel, contents } => ("no match", Some(channel), Some(contents), &[][..]),
            Why::NoPartner { channel, .. } => ("no partner", Some(channel), None, &[][..]),
            Why::Unknown => ("unknown", None, None, &[][..]),
        };
        WaitJson {
            file: wait.choice.position.as_ref().map(|at| at.file.clone()),
            line: wait.choice.position.as_ref().map(|at| at.line),
            statement: wait.choice.statement.clone(),
            why,
            message: why_text(&wait.why),
            channel: channel.cloned(),
            contents: contents.cloned(),
            values: values.iter().map(|named| (named.name.clone(), named.value.clone())).collect(),
            waits_for: wait.on.iter().map(|on| on.pid).collect(),
        }
    };
    let process =
        |told: &Waiting| WaitingJson { process: told.process.clone(), pid: told.pid, options: told.options.iter().map(option).collect() };
    waiting.iter().map(process).collect()
}
