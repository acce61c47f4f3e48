//! Answers as JSON objects: one struct for each object, whose fields are the keys.

mod deadlock;

pub use deadlock::{WaitJson, WaitingJson, waiting};

use crate::coverage::CoverageJson;
use crate::outcome::Measured;
use contract::{
    Disk, FAR, Fault, Guided, Judged, Omission, Outcome, Position, Profile, Stated, Statistics, Sweep, Trace, Traffic, Verdict,
};
use replay::{Choice, Essential, Named, Narrator, ProcessView, Statement, Step, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A violation and its position.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ViolationJson {
    /// A short, stable name.
    pub kind: String,
    /// One sentence.
    pub message: String,
    /// The file, if the violation has a position.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1, if it is known.
    pub column: Option<u32>,
}

impl From<&Fault> for ViolationJson {
    fn from(fault: &Fault) -> ViolationJson {
        ViolationJson {
            kind: fault.kind.name().to_owned(),
            message: fault.message.clone(),
            file: fault.position.as_ref().map(|at| at.file.clone()),
            line: fault.position.as_ref().map(|at| at.line),
            column: fault.position.as_ref().map(|at| at.column).filter(|&column| column > 0),
        }
    }
}

/// A statement executed by a process.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StatementJson {
    /// The name of the process's type.
    pub process: String,
    /// The number of the process.
    pub pid: usize,
    /// The file.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The statement as the user wrote it, with actual names if it came out of a macro or an
    /// inline.
    pub statement: String,
    /// Its own position, if it came out of a macro or an inline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<OriginJson>,
}

/// A position in a macro or an inline.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct OriginJson {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

impl From<&Position> for OriginJson {
    fn from(at: &Position) -> OriginJson {
        OriginJson { file: at.file.clone(), line: at.line }
    }
}

impl From<&Statement> for StatementJson {
    fn from(statement: &Statement) -> StatementJson {
        StatementJson {
            process: statement.process.clone(),
            pid: statement.pid,
            file: statement.position.as_ref().map(|at| at.file.clone()),
            line: statement.position.as_ref().map(|at| at.line),
            column: statement.position.as_ref().map(|at| at.column).filter(|&column| column > 0),
            statement: statement.text.clone(),
            origin: statement.origin.as_ref().map(OriginJson::from),
        }
    }
}

/// A step of a trace: its first statement, and further events.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StepJson {
    /// The statement that represents the step.
    #[serde(flatten)]
    pub first: StatementJson,
    /// Further statements that are part of the same step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<StatementJson>,
    /// The statements that are omitted from a very long step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOutJson>,
    /// What was printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub printed: String,
    /// Values that were truncated to their type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The values that led to the fault of the step, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Variables and channels whose values changed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changes: BTreeMap<String, String>,
}

/// Statements that were executed and are not listed.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LeftOutJson {
    /// The number of statements of the step that are listed before them.
    pub after: usize,
    /// Their number.
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
            because: step.because.clone(),
            changes: changes.into_iter().map(|named| (named.name, named.value)).collect(),
        }
    }
}

/// The location of a process.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct OptionJson {
    /// The file.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The statement as the user wrote it, with actual names if it came out of a macro or an
    /// inline.
    pub statement: String,
    /// Its own position, if it came out of a macro or an inline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<OriginJson>,
}

/// The location of each process of a state.
pub fn processes(narrator: &Narrator, state: &[u8]) -> Vec<ProcessJson> {
    let Ok(view) = narrator.view(state) else { return Vec::new() };
    let mut options = narrator.options(state);
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
        let origin = choice.origin.as_ref().map(OriginJson::from);
        OptionJson { file: choice.position.map(|at| at.file), line, statement: choice.statement, origin }
    }
}

/// The answer of `space`, and the numbers in the answer of `check`.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct NumbersJson {
    /// Distinct states.
    pub states: u64,
    /// Steps between them.
    pub transitions: u64,
    /// The depth of the search.
    pub depth: u64,
    /// Wall-clock time.
    pub seconds: f64,
    /// The peak memory of the process.
    pub peak_memory_bytes: u64,
    /// The memory of the state store at the end.
    pub store_bytes: u64,
    /// The peak memory of the state store, which needs more while it grows.
    pub store_peak_bytes: u64,
    /// The peak memory of queues, stacks and links.
    pub search_bytes: u64,
    /// What a store that is not exact may have overlooked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omission: Option<OmissionJson>,
    /// The numbers of a search that deletes states.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepJson>,
    /// The traffic, if several workers shared the search by messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<TrafficJson>,
    /// The disk usage, if states were on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskJson>,
    /// The numbers of a directed search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directed: Option<DirectedJson>,
    /// With `--verbose`: how the work divides, if the search can tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkJson>,
}

/// How the work of a search divides into parts, all workers together.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct WorkJson {
    /// Execution: the steps that were computed.
    pub actions: ShareJson,
    /// The states that the store was asked for.
    pub insert: ShareJson,
    /// The states that were put on the stack or in the queue.
    pub push: ShareJson,
    /// The states that were taken to be expanded.
    pub select: ShareJson,
    /// The states that were left on a depth-first path.
    pub backtrack: ShareJson,
}

/// A part of the work of a search.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ShareJson {
    /// How many states or steps.
    pub count: u64,
    /// The time they took.
    pub seconds: f64,
}

impl From<Profile> for WorkJson {
    fn from(profile: Profile) -> WorkJson {
        let Profile { actions, insert, push, select, backtrack } = profile;
        let [actions, insert, push, select, backtrack] =
            [actions, insert, push, select, backtrack].map(|share| ShareJson { count: share.count, seconds: share.time.as_secs_f64() });
        WorkJson { actions, insert, push, select, backtrack }
    }
}

/// The numbers of a search that deletes states layer by layer.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct SweepJson {
    /// The measure of progress, as a user can write it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// The most states that were stored at a time.
    pub peak_states: u64,
    /// The number of different values of the measure.
    pub layers: u64,
    /// The number of passes over the layers.
    pub sweeps: u64,
    /// The number of states that are never deleted.
    pub persistent_states: u64,
    /// The number of expansions of states.
    pub expanded_states: u64,
    /// The number of steps on which the measure decreased.
    pub regress_steps: u64,
    /// Whether there were no such steps.
    pub monotonic: bool,
}

/// The disk usage of states on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DiskJson {
    /// The bytes of all states at the end.
    pub bytes: u64,
    /// The bytes that were written in all.
    pub written_bytes: u64,
    /// The number of sorted pieces that contain them.
    pub runs: u64,
}

impl From<&Sweep> for SweepJson {
    fn from(sweep: &Sweep) -> SweepJson {
        let Sweep { peak_states, layers, sweeps, persistent_states, expanded_states, regress_steps } = *sweep;
        let monotonic = regress_steps == 0;
        SweepJson { measure: None, peak_states, layers, sweeps, persistent_states, expanded_states, regress_steps, monotonic }
    }
}

/// The work and traffic of a search that several workers shared by messages.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct TrafficJson {
    /// The number of states that each worker owns.
    pub states_by_worker: Vec<u64>,
    /// The share of steps whose target another worker owns.
    pub cross_share: f64,
    /// The standard deviation of the states of a worker, as a share of their mean.
    pub load_deviation: f64,
    /// The number of states that were sent.
    pub states_sent: u64,
    /// The number of states that were not sent because they had been sent before.
    pub states_spared: u64,
    /// The number of states that a worker short of memory passed on to another one.
    pub states_passed_on: u64,
    /// The number of messages that contained the sent states.
    pub messages: u64,
    /// The number of bytes in these messages.
    pub bytes: u64,
}

impl From<&Traffic> for TrafficJson {
    fn from(traffic: &Traffic) -> TrafficJson {
        TrafficJson {
            states_by_worker: traffic.states_by_worker.clone(),
            cross_share: traffic.cross_share(),
            load_deviation: traffic.load_deviation(),
            states_sent: traffic.sent,
            states_spared: traffic.spared,
            states_passed_on: traffic.passed_on,
            messages: traffic.parcels,
            bytes: traffic.bytes,
        }
    }
}

/// What a store that is not exact may have overlooked.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct OmissionJson {
    /// The probability that any state was overlooked.
    pub probability: f64,
    /// For the store of bits, how well the array was used.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub bits: Option<BitsJson>,
}

/// How well a bit array was used.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BitsJson {
    /// The number of bits for each state.
    pub functions: u32,
    /// Bits of the array for each state found.
    pub hash_factor: f64,
    /// The share of bits that are set.
    pub fill: f64,
    /// The estimated share of the reached states that were recognised as new.
    pub coverage: f64,
    /// The number of states that each run found.
    pub runs: Vec<u64>,
    /// The number of states that all runs found together, estimated if there were several.
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
    /// Sets the measure of a sweep.
    pub fn by_measure(&mut self, text: Option<&str>) {
        if let Some(sweep) = &mut self.sweep {
            sweep.measure = text.map(str::to_owned);
        }
    }

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
            sweep: statistics.sweep.as_ref().map(SweepJson::from),
            traffic: statistics.traffic.as_ref().map(TrafficJson::from),
            disk: statistics.disk.map(|Disk { bytes, written, runs }| DiskJson { bytes, written_bytes: written, runs }),
            directed: statistics.guided.as_ref().map(DirectedJson::from),
            work: statistics.profile.map(WorkJson::from),
        }
    }
}

/// A property and the answer for it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct PropertyJson {
    /// Its name.
    pub name: String,
    /// Its kind: a short, stable name.
    pub kind: &'static str,
    /// For a property of kind `ltl`, the formula that the search tried to refute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formula: Option<String>,
    /// The file in which it is stated.
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
    /// The violation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violation: Option<ViolationJson>,
    /// The path to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Vec<StepJson>>,
    /// For an infinite path, the number of steps before its loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_start: Option<usize>,
    /// The kind of search for this property, if it had one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<&'static str>,
    /// The other properties that the same search decided.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<String>,
    /// What the user should know about this answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The number of states of the search that decided this property. For a temporal property, a
    /// state is a pair of a state of the model and one of the automaton.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub states: Option<u64>,
    /// The number of steps between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transitions: Option<u64>,
    /// Wall-clock time of that search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// A property that the model states.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct StatedJson {
    /// Its name.
    pub name: String,
    /// Its kind: a short, stable name.
    pub kind: &'static str,
}

impl From<&Stated> for StatedJson {
    fn from(stated: &Stated) -> StatedJson {
        StatedJson { name: stated.name.clone(), kind: stated.kind.name() }
    }
}

/// The properties of a run. `narrator` describes their traces; without it they are left out.
pub fn properties(judged: &[Judged], narrator: Option<&Narrator>) -> Vec<PropertyJson> {
    let json = |judged: &Judged| {
        let Stated { name, kind, position, formula } = &judged.property;
        let (verdict, reason, violation) = match &judged.verdict {
            Verdict::Holds => ("holds", None, None),
            Verdict::Violated(violation) => ("violated", None, Some(violation)),
            Verdict::Unknown(reason) => ("unknown", Some(reason.name()), None),
        };
        let told = |trace: &Trace| {
            let narrator = narrator?;
            narrator.replay(trace).ok().map(|told| steps(&told, views(narrator, trace)))
        };
        PropertyJson {
            name: name.clone(),
            kind: kind.name(),
            formula: formula.clone(),
            file: position.as_ref().map(|at| at.file.clone()),
            line: position.as_ref().map(|at| at.line),
            verdict,
            reason,
            violation: violation.map(|violation| (&violation.fault).into()),
            trace: violation.and_then(|violation| told(&violation.trace)),
            loop_start: violation.and_then(|violation| violation.trace.loop_start),
            search: judged.search,
            together: judged.together.clone(),
            notes: judged.notes.clone(),
            states: judged.statistics.as_ref().map(|own| own.states),
            transitions: judged.statistics.as_ref().map(|own| own.transitions),
            seconds: judged.statistics.as_ref().map(|own| own.elapsed.as_secs_f64()),
        }
    };
    judged.iter().map(json).collect()
}

/// The result of a depth-first probe before the search.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ProbeJson {
    /// The number of states it visited.
    pub states: u64,
    /// The number of steps between them.
    pub transitions: u64,
    /// Wall-clock time, which is part of the total time.
    pub seconds: f64,
    /// The number of steps to the violation it found, if it found one.
    pub found: Option<u64>,
    /// Whether the answer and the numbers are those of the probe.
    pub answers: bool,
}

/// The reductions of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ReductionJson {
    /// Whether orders of independent steps were left out of the search for deadlocks and faults.
    pub por: bool,
    /// Why not, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off: Option<String>,
    /// The reduction for each property that had a search of its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<PropertyReductionJson>,
    /// The passes that made the program smaller before the search.
    pub passes: Vec<PassJson>,
    /// Why steps were not merged, or no pass ran, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passes_off: Option<String>,
    /// The parts that were cut, if a slice was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<SliceJson>,
}

/// The parts that a slice left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct SliceJson {
    /// The parts that were cut.
    pub cut: Vec<CutJson>,
    /// Why no processes were cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
}

/// A part that was cut.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct CutJson {
    /// Its kind: `process`, `variable`, `field` and so on.
    pub kind: &'static str,
    /// Its name, or the text of the statement.
    pub name: String,
    /// The file of the statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// The reductions of the search for one property.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PropertyReductionJson {
    /// The property.
    pub name: String,
    /// Whether orders of independent steps were left out.
    pub por: bool,
    /// Why not, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off: Option<String>,
    /// The parts that were cut, if a slice was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<SliceJson>,
}

/// The estimates behind a directed search.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct HeuristicJson {
    /// The property whose search it guided; absent for the search for deadlocks and faults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub property: Option<String>,
    /// Its name; `expression` for an expression of the user.
    pub name: String,
    /// Whether it is a lower bound.
    pub lower_bound: bool,
    /// The data from which the estimates are made, as text.
    pub tables: String,
    /// The estimate of each state of the trace; null if no violation seems reachable.
    pub along: Vec<Option<u32>>,
}

/// The numbers of a directed search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct DirectedJson {
    /// The number of expansions, including those of states that were later reached by a shorter
    /// path.
    pub expanded: u64,
    /// The number of initial states and results of steps, up to the one that ended the search.
    pub generated: u64,
    /// The number of states that were expanded and then reached by a shorter path.
    pub reopened: u64,
    /// The estimate of the initial state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<u32>,
}

impl From<&Guided> for DirectedJson {
    fn from(guided: &Guided) -> DirectedJson {
        let Guided { expanded, generated, reopened, estimate } = *guided;
        DirectedJson { expanded, generated, reopened, estimate: estimate.filter(|&estimate| estimate != FAR) }
    }
}

/// A pass over the program.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PassJson {
    /// Its name.
    pub name: &'static str,
    /// The number of places that it changed.
    pub changes: usize,
}

/// The answer of `check`.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CheckJson {
    /// `holds`, `violated` or `unknown`.
    pub verdict: &'static str,
    /// Why the verdict is `unknown`: a short, stable name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// The reason as a sentence; or why there is no trace, if there was no time to describe it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Advice for that case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// Warnings about the model, such as properties that were not checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The search order to which the numbers belong: `bfs`, `dfs` or `dfs-shared`.
    pub search: &'static str,
    /// The depth-first probe before the search, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeJson>,
    /// The reductions of the search.
    pub reduction: ReductionJson,
    /// The estimates of a directed search, if they are to be explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heuristic: Option<HeuristicJson>,
    /// The numbers.
    #[serde(flatten)]
    pub numbers: NumbersJson,
    /// The properties, with the answer for each.
    pub properties: Vec<PropertyJson>,
    /// The properties that the model states and that were not asked for, so they were not checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_asked: Vec<StatedJson>,
    /// The violation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violation: Option<ViolationJson>,
    /// The path to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Vec<StepJson>>,
    /// For an infinite path, the number of steps before its loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_start: Option<usize>,
    /// The number of context switches in the trace: how often the moving process changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_switches: Option<usize>,
    /// With `--causal`, the steps that the violation depends on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub causal: Option<CausalJson>,
    /// A path that shows that a formula of branching time holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness: Option<Vec<StepJson>>,
    /// With `--witness`, a run for each property that holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub witnesses: Vec<WitnessJson>,
    /// The location of each process at the end of the trace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessJson>,
    /// In a deadlock, the processes that wait and what they wait for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<WaitingJson>,
    /// In a deadlock, the numbers of processes each of which waits for the next, in a cycle.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_cycle: Vec<usize>,
    /// The numbers of the other processes for which those of the cycle could wait. They wait for
    /// the cycle or for each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_others: Vec<usize>,
    /// The statements that were executed, if coverage was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<CoverageJson>,
}

/// The steps that a violation depends on.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct CausalJson {
    /// Their numbers, from 1.
    pub kept: Vec<usize>,
    /// The number of the other steps.
    pub folded: usize,
    /// Whether leaving out was tried for every step.
    pub complete: bool,
}

impl From<&Essential> for CausalJson {
    fn from(essential: &Essential) -> CausalJson {
        let kept = essential.kept.iter().enumerate().filter(|(_, kept)| **kept).map(|(index, _)| index + 1).collect();
        let folded = essential.kept.iter().filter(|kept| !**kept).count();
        CausalJson { kept, folded, complete: essential.complete }
    }
}

/// A run that shows a property.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct WitnessJson {
    /// The name of the property.
    pub property: String,
    /// What the run shows, or why there is none.
    pub message: String,
    /// The steps of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Vec<StepJson>>,
    /// For an infinite run, the number of steps before its loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_start: Option<usize>,
}

impl CheckJson {
    /// The answer of `check`, from a search in the order of that name. `steps` belong to the
    /// outcome's trace.
    pub fn new(outcome: &Outcome, search: &'static str, steps: Vec<StepJson>, advice: Option<String>, measured: Measured) -> CheckJson {
        let mut json = CheckJson {
            verdict: "holds",
            reason: None,
            message: None,
            advice,
            warnings: Vec::new(),
            search,
            probe: None,
            reduction: ReductionJson::default(),
            heuristic: None,
            numbers: NumbersJson::new(&outcome.statistics, measured),
            properties: Vec::new(),
            not_asked: Vec::new(),
            violation: None,
            trace: None,
            loop_start: None,
            context_switches: None,
            causal: None,
            witness: None,
            witnesses: Vec::new(),
            processes: Vec::new(),
            waiting: Vec::new(),
            waiting_cycle: Vec::new(),
            waiting_others: Vec::new(),
            coverage: None,
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

/// The answer of `space`. It says whether the state space is complete.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SpaceJson {
    /// The numbers.
    #[serde(flatten)]
    pub numbers: NumbersJson,
    /// Whether everything was explored.
    pub complete: bool,
    /// Why not: a short, stable name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Advice for that case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// Warnings about the model.
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

/// The steps of a trace with the values they change; `views` are the states from the initial one
/// on, as far as the trace has states.
pub fn steps(steps: &[Step], views: impl IntoIterator<Item = View>) -> Vec<StepJson> {
    let mut views = views.into_iter();
    let mut before = views.next();
    let mut told = Vec::with_capacity(steps.len());
    for step in steps {
        let after = views.next();
        let changes = before.as_ref().zip(after.as_ref()).map(|(before, after)| after.changes(before));
        told.push(StepJson::new(step, changes.unwrap_or_default()));
        before = after;
    }
    told
}

/// The states of a trace in words, from the initial one on, made one at a time. They end where the
/// trace has no state.
pub fn views<'a>(narrator: &'a Narrator, trace: &'a Trace) -> impl Iterator<Item = View> + 'a {
    let states = (0..=trace.steps.len()).map_while(|steps| trace.state_after(steps));
    states.map_while(|state| narrator.view(state).ok()).fuse()
}

/// A value as one line of JSON.
pub fn line(value: &impl Serialize) -> String {
    // Our structs have string keys and finite numbers only, so serialisation cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}
