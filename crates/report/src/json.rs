//! Answers as JSON objects: one struct for each shape, its fields the keys.

use crate::outcome::Measured;
use contract::{Fault, Judged, Omission, Outcome, Stated, Statistics, Trace, Verdict};
use replay::{Choice, Named, ProcessView, Statement, Step, View};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What went wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViolationJson {
    /// A short, stable name.
    pub kind: String,
    /// One sentence.
    pub message: String,
    /// The file, if the violation has a place.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
}

impl From<&Fault> for ViolationJson {
    fn from(fault: &Fault) -> ViolationJson {
        ViolationJson {
            kind: fault.kind.name().to_owned(),
            message: fault.message.clone(),
            file: fault.position.as_ref().map(|at| at.file.clone()),
            line: fault.position.as_ref().map(|at| at.line),
        }
    }
}

/// A statement executed by a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementJson {
    /// The name of the process's type.
    pub process: String,
    /// The number of the process.
    pub pid: usize,
    /// The file.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The statement as the user wrote it, with actual names where it came out of a macro or an inline.
    pub statement: String,
    /// Where it stands itself, if it came out of a macro or an inline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<OriginJson>,
}

/// A place in a macro or an inline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OriginJson {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

impl From<&Statement> for StatementJson {
    fn from(statement: &Statement) -> StatementJson {
        StatementJson {
            process: statement.process.clone(),
            pid: statement.pid,
            file: statement.position.as_ref().map(|at| at.file.clone()),
            line: statement.position.as_ref().map(|at| at.line),
            statement: statement.text.clone(),
            origin: statement.origin.as_ref().map(|at| OriginJson { file: at.file.clone(), line: at.line }),
        }
    }
}

/// A step of a trace: its first statement, and what else happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepJson {
    /// The statement that stands for the step.
    #[serde(flatten)]
    pub first: StatementJson,
    /// Further statements that are part of the same step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<StatementJson>,
    /// What a step of very many statements does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOutJson>,
    /// What was printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub printed: String,
    /// Values that were cut to their type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Variables and channels with another value than before.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changes: BTreeMap<String, String>,
}

/// Statements that were executed and are not told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutJson {
    /// How many statements of the step are told before them.
    pub after: usize,
    /// How many they are.
    pub statements: u64,
}

impl StepJson {
    /// A step, with the values it changed.
    pub fn new(step: &Step, changes: Vec<Named>) -> StepJson {
        StepJson {
            first: step.first().into(),
            then: step.statements.iter().skip(1).map(|statement| StatementJson::from(&**statement)).collect(),
            left_out: step.left_out.map(|gap| LeftOutJson { after: gap.after, statements: gap.statements }),
            printed: step.printed.clone(),
            warnings: step.warnings.clone(),
            changes: changes.into_iter().map(|named| (named.name, named.value)).collect(),
        }
    }
}

/// Where a process stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProcessJson {
    /// The name of its type.
    pub process: String,
    /// Its number.
    pub pid: usize,
    /// Whether it may stay there for ever.
    pub may_end: bool,
    /// The statements among which it chooses there, or for which it waits.
    pub options: Vec<OptionJson>,
}

/// A statement that a process could execute next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OptionJson {
    /// The file.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The statement as the user wrote it.
    pub statement: String,
}

/// Where each process of a state stands.
pub fn processes(program: &bytecode::Verified, state: &[u8]) -> Vec<ProcessJson> {
    let Ok(view) = replay::view(program, state) else { return Vec::new() };
    let mut options = replay::options(program, state).unwrap_or_default();
    let one = |process: &ProcessView| ProcessJson {
        process: process.name.clone(),
        pid: process.pid,
        may_end: process.may_end,
        options: options.get_mut(process.pid).map(std::mem::take).unwrap_or_default().into_iter().map(OptionJson::from).collect(),
    };
    view.processes.iter().map(one).collect()
}

impl From<Choice> for OptionJson {
    fn from(choice: Choice) -> OptionJson {
        let line = choice.position.as_ref().map(|at| at.line);
        OptionJson { file: choice.position.map(|at| at.file), line, statement: choice.statement }
    }
}

/// The answer of `space`, and the numbers in the answer of `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumbersJson {
    /// Distinct states.
    pub states: u64,
    /// Steps between them.
    pub transitions: u64,
    /// How deep the search went.
    pub depth: u64,
    /// Wall-clock time.
    pub seconds: f64,
    /// The most memory the process held.
    pub peak_memory_bytes: u64,
    /// The memory of the state store at the end.
    pub store_bytes: u64,
    /// The most memory of the state store; it needs more while it grows.
    pub store_peak_bytes: u64,
    /// The most memory of queues, stacks and links.
    pub search_bytes: u64,
    /// What a store that is not exact may have overlooked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omission: Option<OmissionJson>,
}

/// What a store that is not exact may have overlooked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OmissionJson {
    /// The probability that any state was overlooked.
    pub probability: f64,
    /// For the store of bits, how well the array was used.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub bits: Option<BitsJson>,
}

/// How well a bit array was used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BitsJson {
    /// Bits for each state.
    pub functions: u32,
    /// Bits of the array for each state found.
    pub hash_factor: f64,
    /// The share of bits that are set.
    pub fill: f64,
    /// The estimated share of the states met that were recognised as new.
    pub coverage: f64,
    /// The states each run found.
    pub runs: Vec<u64>,
    /// The states all runs found together, estimated if there were several.
    pub union_states: u64,
}

impl From<&Omission> for OmissionJson {
    fn from(omission: &Omission) -> OmissionJson {
        let bits = omission.bits.as_ref().map(|bits| BitsJson {
            functions: bits.functions,
            hash_factor: bits.hash_factor,
            fill: bits.fill,
            coverage: bits.coverage,
            runs: bits.runs.clone(),
            union_states: bits.union,
        });
        OmissionJson { probability: omission.probability, bits }
    }
}

impl NumbersJson {
    fn new(statistics: &Statistics, measured: Measured) -> NumbersJson {
        NumbersJson {
            states: statistics.states,
            transitions: statistics.transitions,
            depth: statistics.depth,
            seconds: statistics.elapsed.as_secs_f64(),
            peak_memory_bytes: measured.peak_memory_bytes.unwrap_or(statistics.store_peak_bytes + statistics.search_bytes),
            store_bytes: statistics.store_bytes,
            store_peak_bytes: statistics.store_peak_bytes,
            search_bytes: statistics.search_bytes,
            omission: statistics.omission.as_ref().map(OmissionJson::from),
        }
    }
}

/// A property and the answer for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PropertyJson {
    /// Its name.
    pub name: String,
    /// Its kind: a short, stable name.
    pub kind: &'static str,
    /// Where it is stated: the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// `holds`, `violated` or `unknown`.
    pub verdict: &'static str,
    /// Why the verdict is `unknown`: a short, stable name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// What is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violation: Option<ViolationJson>,
    /// How to get there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Vec<StepJson>>,
}

/// The properties of a run. `trace` is that of its violation.
pub fn properties(judged: &[Judged], trace: Option<&[StepJson]>) -> Vec<PropertyJson> {
    let json = |judged: &Judged| {
        let Stated { name, kind, position } = &judged.property;
        let (verdict, reason, violation) = match &judged.verdict {
            Verdict::Holds => ("holds", None, None),
            Verdict::Violated(violation) => ("violated", None, Some((&violation.fault).into())),
            Verdict::Unknown(reason) => ("unknown", Some(reason.name()), None),
        };
        PropertyJson {
            name: name.clone(),
            kind: kind.name(),
            file: position.as_ref().map(|at| at.file.clone()),
            line: position.as_ref().map(|at| at.line),
            verdict,
            reason,
            trace: trace.filter(|_| violation.is_some()).map(<[StepJson]>::to_vec),
            violation,
        }
    };
    judged.iter().map(json).collect()
}

/// What a depth-first probe before the search has done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProbeJson {
    /// States it visited.
    pub states: u64,
    /// Steps between them.
    pub transitions: u64,
    /// Wall-clock time, which is part of that of the whole.
    pub seconds: f64,
    /// The number of steps to the violation it found, if it found one.
    pub found: Option<u64>,
    /// Whether the answer and the numbers are its own.
    pub answers: bool,
}

/// The answer of `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckJson {
    /// `holds`, `violated` or `unknown`.
    pub verdict: &'static str,
    /// Why the verdict is `unknown`: a short, stable name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// The same as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What to try then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// What is worth knowing about the model, such as properties that were not checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The order of the search that the numbers are about: `bfs`, `dfs` or `dfs-shared`.
    pub search: &'static str,
    /// The depth-first probe before the search, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeJson>,
    /// The numbers.
    #[serde(flatten)]
    pub numbers: NumbersJson,
    /// What was asked for, with the answer for each.
    pub properties: Vec<PropertyJson>,
    /// What is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violation: Option<ViolationJson>,
    /// How to get there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Vec<StepJson>>,
    /// For an infinite path, the number of steps before its loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_start: Option<usize>,
    /// Where each process stands at the end of the trace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessJson>,
}

impl CheckJson {
    /// The answer to `check`, from a search in the order of that name. `steps` belong to the outcome's trace.
    pub fn new(outcome: &Outcome, search: &'static str, steps: Vec<StepJson>, advice: Option<String>, measured: Measured) -> CheckJson {
        let mut json = CheckJson {
            verdict: "holds",
            reason: None,
            message: None,
            advice,
            warnings: Vec::new(),
            search,
            probe: None,
            numbers: NumbersJson::new(&outcome.statistics, measured),
            properties: Vec::new(),
            violation: None,
            trace: None,
            loop_start: None,
            processes: Vec::new(),
        };
        match &outcome.verdict {
            Verdict::Holds => {}
            Verdict::Violated(violation) => {
                json.verdict = "violated";
                json.violation = Some((&violation.fault).into());
                json.trace = Some(steps);
                json.loop_start = violation.trace.loop_start;
            }
            Verdict::Unknown(reason) => {
                json.verdict = "unknown";
                json.reason = Some(reason.name());
                json.message = Some(reason.to_string());
            }
        }
        json
    }
}

/// The answer of `space`. A state space that was cut short says so.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpaceJson {
    /// The numbers.
    #[serde(flatten)]
    pub numbers: NumbersJson,
    /// Whether everything was explored.
    pub complete: bool,
    /// Why not: a short, stable name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// What to try then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// What is worth knowing about the model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl SpaceJson {
    /// The answer to `space`.
    pub fn new(outcome: &Outcome, advice: Option<String>, measured: Measured) -> SpaceJson {
        let reason = match &outcome.verdict {
            Verdict::Unknown(reason) => Some(reason.name()),
            Verdict::Holds | Verdict::Violated(_) => None,
        };
        let complete = outcome.verdict == Verdict::Holds;
        SpaceJson { numbers: NumbersJson::new(&outcome.statistics, measured), complete, reason, advice, warnings: Vec::new() }
    }
}

/// The steps of a trace with the values they change; `views` are the states from the initial one on, as many as the trace has.
pub fn steps(steps: &[Step], views: &[View]) -> Vec<StepJson> {
    let changes = |index: usize| match (views.get(index), views.get(index + 1)) {
        (Some(before), Some(after)) => after.changes(before),
        _ => Vec::new(),
    };
    steps.iter().enumerate().map(|(index, step)| StepJson::new(step, changes(index))).collect()
}

/// The states of a trace in words, from the initial one on. It ends early where the trace has no state.
pub fn views(program: &bytecode::Verified, trace: &Trace) -> Vec<View> {
    let states = (0..=trace.steps.len()).map_while(|steps| trace.state_after(steps));
    states.map_while(|state| replay::view(program, state).ok()).collect()
}

/// A value as one line of JSON.
pub fn line(value: &impl Serialize) -> String {
    // Our shapes have string keys and finite numbers only, so there is nothing that could fail.
    serde_json::to_string(value).unwrap_or_default()
}
