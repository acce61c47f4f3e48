//! `everypath measure`: proposes measures of progress for a sweep, and tries them on a sample.

use super::{Asks, schema_of};
use crate::alternatives::one_of;
use crate::args::{ModelArguments, OutputArguments};
use crate::failure::Failure;
use crate::{Exit, input, interrupt, quantity, say};
use check::{Engine, Proposal, Sampling};
use clap::Args;
use report::json::{self, SweepJson};
use report::text::{count, counted};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use std::fmt::Write as _;
use std::time::Duration;

/// `everypath measure`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    pub model: ModelArguments,
    /// The time limit for the search for measures
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration)]
    pub time: Option<Duration>,
    /// The approximate number of states that a trial of a measure visits
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub states: Option<u64>,
    /// How successors are computed
    #[arg(long, value_name = "NAME", value_parser = one_of::<Engine>(), default_value_t)]
    pub engine: Engine,
    #[command(flatten)]
    pub output: OutputArguments,
}

const EXAMPLES: &str = "\
Examples:
  everypath measure model.pml
  everypath check model.pml --measure 'x'    a sweep with a measure that was proposed";

impl Asks for Arguments {
    fn schema() -> Option<Schema> {
        schema_of::<AnswerJson>()
    }

    fn json(&self) -> bool {
        self.output.json
    }
}

#[derive(JsonSchema, Serialize)]
struct AnswerJson {
    measures: Vec<ProposalJson>,
}

#[derive(JsonSchema, Serialize)]
struct ProposalJson {
    #[serde(flatten)]
    sweep: SweepJson,
    reason: String,
    states: u64,
    complete: bool,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let defines = arguments.model.lf.define(&arguments.model.model, &arguments.model.defines)?;
    let model = input::model(&arguments.model.model, &defines)?;
    let Some(program) = model.subject.byte_code() else {
        return Err(Failure::Call(format!("{}: measures are proposed for programs, and this is a graph", model.name)));
    };
    let usual = Sampling { cancel: interrupt::on_signal(), engine: arguments.engine, ..Sampling::default() };
    let how = Sampling { time: arguments.time.unwrap_or(usual.time), trial: arguments.states.unwrap_or(usual.trial), ..usual };
    let found = check::propose(program, &how);
    if arguments.output.json {
        let measures = found.iter().map(|proposal| ProposalJson {
            sweep: SweepJson { measure: Some(proposal.text.clone()), ..SweepJson::from(&proposal.sweep) },
            reason: proposal.reason.clone(),
            states: proposal.states,
            complete: proposal.complete,
        });
        say(&json::line(&AnswerJson { measures: measures.collect() }));
    } else {
        say(&text(&found));
    }
    Ok(Exit::Fine)
}

fn text(found: &[Proposal]) -> String {
    if found.is_empty() {
        return "no measure of progress was found: nothing in the model rises or falls often enough\n".to_owned();
    }
    let mut out = String::new();
    for (index, proposal) in found.iter().enumerate() {
        let Proposal { text, reason, complete, states, sweep, .. } = proposal;
        let all = if *complete { "all" } else { "the first" };
        // Writing to a `String` cannot fail.
        let _ = writeln!(out, "{}. --measure '{text}'\n   {reason}", index + 1);
        let _ = writeln!(
            out,
            "   on {all} {}: at most {} stored at a time ({:.1} %), {}, {} back, {}",
            counted(*states, "state"),
            count(sweep.peak_states),
            proposal.share() * 100.0,
            counted(sweep.layers, "layer"),
            counted(sweep.regress_steps, "step"),
            counted(sweep.sweeps, "sweep"),
        );
    }
    out
}
