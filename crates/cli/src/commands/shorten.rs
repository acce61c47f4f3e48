//! `everypath shorten`: a shorter trace to the same violation.

use super::{Asks, schema_of};
use crate::args::OutputArguments;
use crate::failure::Failure;
use crate::output::Output;
use crate::patience::Patience;
use crate::progress::{ProgressForm, Ticker};
use crate::terminal::VerboseArguments;
use crate::{Exit, input, interrupt, memory, paths, quantity, say};
use bytecode::{FaultKind, VIOLATIONS};
use check::{Improved, Plan, Surroundings};
use clap::Args;
use contract::{Limits, ViolationKind};
use report::Printer;
use report::json::{self, StepJson, ViolationJson};
use report::text::counted;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// `everypath shorten`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The trace written by `check --trace FILE`, or `-` for standard input
    pub trace: PathBuf,
    /// Write the shorter trace to FILE
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Memory budget, as in 512M or 4G [default: most of the free memory]
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    pub memory: Option<u64>,
    /// Time limit, as in 90s or 1h30m
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration)]
    pub time: Option<Duration>,
    #[command(flatten)]
    pub detail: VerboseArguments,
    #[command(flatten)]
    pub answer: OutputArguments,
}

const EXAMPLES: &str = "\
Examples:
  everypath shorten path.json -o shorter.json";

impl Asks for Arguments {
    fn schema() -> Option<Schema> {
        schema_of::<ShortenJson>()
    }

    fn json(&self) -> bool {
        self.answer.json
    }
}

/// The answer as JSON.
#[derive(JsonSchema, Serialize)]
struct ShortenJson {
    /// The number of steps before.
    steps_before: usize,
    /// The number of steps now.
    steps: usize,
    /// Whether it is known that no trace is shorter.
    shortest: bool,
    /// The number of states that the search visited.
    states: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<Vec<StepJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loop_start: Option<usize>,
}

/// The kinds of violation that a trace file can claim, beside those that byte-code names.
const KINDS: [ViolationKind; 8] = [
    ViolationKind::Deadlock,
    ViolationKind::Assertion,
    ViolationKind::DivisionByZero,
    ViolationKind::IndexOutOfRange,
    ViolationKind::InvalidChannel,
    ViolationKind::InvalidProcess,
    ViolationKind::MachineLimit,
    ViolationKind::Property,
];

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let path = &arguments.trace;
    let limits = Limits { time: arguments.time, memory: arguments.memory.or_else(memory::budget), depth: None };
    let plan = Plan { limits, ..Plan::check() };
    let patience = Patience::new(plan.limits.time);
    let mut witness = input::witness(path)?;
    let model = input::traced(path, &mut witness)?;
    let file = arguments.output.as_deref().map(|output| Output::new(output, &model.files)).transpose()?;
    // A trace that cannot be replayed cannot be shortened.
    model.narrator.replay_from(&witness.trace).map_err(|error| Failure::Replay { path: path.clone(), error })?;
    let claimed = witness.violation.as_ref().map(|violation| violation.kind.clone());
    let others = FaultKind::ALL.iter().map(|kind| kind.word()).chain(VIOLATIONS.iter().map(|(_, words)| *words));
    let mut kinds = KINDS.into_iter().chain(others.map(ViolationKind::Other));
    let Some(kind) = kinds.find(|kind| claimed.as_deref() == Some(kind.name())) else {
        return Err(Failure::Call(format!("{}: the trace claims no violation, so there is nothing to shorten", path.display())));
    };
    let (cancel, ticker) = (interrupt::on_signal(), Ticker::new(arguments.answer.json, ProgressForm::Auto));
    patience.until(&cancel);
    let plan = Plan { limits: Limits { time: patience.left(), ..plan.limits }, ..plan };
    let surroundings = Surroundings { cancel, observer: &ticker, resident: Some(&memory::resident), ..Surroundings::default() };
    let improved = check::improve(&model.subject, &witness.trace, kind, &plan, &surroundings);
    ticker.finish();
    let Improved { shorter, shortest, states } = improved?;
    let before = witness.trace.steps.len();
    let (trace, steps) = match &shorter {
        Some((violation, steps)) => (&violation.trace, Some(steps)),
        None => (&witness.trace, None),
    };
    if let (Some(file), Some(output)) = (&file, &arguments.output) {
        let folder = paths::way_here(output);
        // A violation of the same kind may be another one: a different assertion, for example.
        let violation = match &shorter {
            Some((violation, _)) => Some(ViolationJson::from(&violation.fault)),
            None => witness.violation.clone(),
        };
        file.write(model.witness(trace.clone(), violation, folder).to_text())?;
    }
    let text = if arguments.answer.json {
        json::line(&ShortenJson {
            steps_before: before,
            steps: trace.steps.len(),
            shortest,
            states,
            trace: steps.map(|steps| json::steps(steps, json::views(&model.narrator, trace))),
            loop_start: steps.and(trace.loop_start),
        })
    } else {
        let known = if shortest { "; no trace is shorter" } else { "" };
        match steps {
            Some(steps) => {
                let told = Printer::new(&model.narrator, &trace.initial).looking(arguments.detail.look()).trace(steps, trace.loop_start);
                format!("{} instead of {before}{known}\n\n{told}", counted(trace.steps.len() as u64, "step"))
            }
            None if shortest => format!("no trace is shorter than {}\n", counted(before as u64, "step")),
            None => format!("no trace shorter than {} was found, but not all were examined\n", counted(before as u64, "step")),
        }
    };
    say(&text);
    Ok(Exit::Fine)
}
