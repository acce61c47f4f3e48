//! `everypath replay`: replays a trace step by step with values, and draws it as a chart.

use super::{Asks, schema_of};
use crate::args::{OutputArguments, define};
use crate::code::Code;
use crate::failure::Failure;
use crate::input::Model;
use crate::output::Output;
use crate::terminal::VerboseArguments;
use crate::{Exit, input, say};
use check::{Plan, Surroundings};
use clap::Args;
use contract::{Fault, Violation, ViolationKind};
use replay::{Essential, Step, context_switches};
use report::json::{self, CausalJson, ProcessJson, StepJson, ViolationJson};
use report::{Chart, Printer, Witness, length_text, processes_text, values_text, waiting_text};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use std::path::PathBuf;

/// `everypath replay`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The trace, or `-` for standard input: one of ours, or a `.trail` that SPIN has written
    pub trace: PathBuf,
    /// The model of a trail that SPIN has written [default: what its name tells]
    #[arg(long, value_name = "MODEL")]
    pub model: Option<PathBuf>,
    /// Define a name for the preprocessor, with a trail that SPIN has written
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = define)]
    pub defines: Vec<(String, String)>,
    /// Draw the trace to FILE as an SVG picture, with a lifeline for each process and a row for
    /// each step
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write the picture and a table of all steps with their values to FILE, as a page of HTML
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Fold the steps that the violation does not depend on
    #[arg(long)]
    pub causal: bool,
    /// Also show where the program in FOLDER, generated from the same text, executes each step
    #[arg(long, value_name = "FOLDER")]
    pub code: Option<PathBuf>,
    #[command(flatten)]
    pub detail: VerboseArguments,
    #[command(flatten)]
    pub output: OutputArguments,
}

const EXAMPLES: &str = "\
Examples:
  everypath replay path.json
  everypath replay path.json --svg path.svg
  everypath replay abp.json --code altbit        where the generated program is at each step
  everypath replay model.pml.trail";

impl Asks for Arguments {
    fn schema() -> Option<Schema> {
        schema_of::<ReplayJson>()
    }

    fn json(&self) -> bool {
        self.output.json
    }
}

/// The answer as JSON.
#[derive(JsonSchema, Serialize)]
struct ReplayJson {
    model: String,
    violation: Option<ViolationJson>,
    trace: Vec<StepJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loop_start: Option<usize>,
    /// The number of context switches: steps of another process than the step before.
    context_switches: usize,
    /// With `--causal`, the steps that the violation depends on.
    #[serde(skip_serializing_if = "Option::is_none")]
    causal: Option<CausalJson>,
    /// With `--code`, where the program executes each step: one entry for each statement of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Vec<Vec<CodeJson>>>,
    /// The location of each process at the end.
    processes: Vec<ProcessJson>,
}

/// A statement of a step in the generated program.
#[derive(JsonSchema, Serialize)]
struct CodeJson {
    /// The position in the text, as `LINE:COLUMN`.
    text: String,
    /// The positions in C. There is none if the statement belongs to the model alone.
    code: Vec<String>,
}

fn in_code(steps: &[Step], code: &Code) -> Vec<Vec<CodeJson>> {
    let of = |step: &Step| {
        let positions = step.statements.iter().filter_map(|statement| statement.position.as_ref());
        positions
            .map(|position| CodeJson {
                text: format!("{}:{}", position.line, position.column),
                code: code.at(position.line, position.column).into_iter().map(str::to_owned).collect(),
            })
            .collect()
    };
    steps.iter().map(of).collect()
}

/// The same as text: a line for each statement of each step.
fn in_code_text(steps: &[Step], code: &Code) -> String {
    let mut text = String::from("\nin the program:\n");
    for (number, step) in steps.iter().enumerate() {
        for statement in &step.statements {
            let Some(position) = &statement.position else { continue };
            let places = code.at(position.line, position.column);
            let places = if places.is_empty() { "only in the model".to_owned() } else { places.join(", ") };
            let (process, pid) = (&statement.process, statement.pid);
            text.push_str(&format!(
                "{:4}  {process}({pid})  {}:{}:{}  {places}\n",
                number + 1,
                position.file,
                position.line,
                position.column
            ));
        }
    }
    text
}

/// The steps that the violation of a trace depends on; `None` if the trace has no violation.
fn needed(model: &Model, witness: &Witness, steps: &[Step]) -> Option<Essential> {
    let claimed = witness.violation.as_ref()?;
    let found = model.narrator.faults_at_end(&witness.trace, steps).into_iter().find(|fault| fault.kind.name() == claimed.kind);
    let property = ViolationKind::Property;
    let fault = found.or_else(|| (claimed.kind == property.name()).then(|| Fault::new(property, property.name())))?;
    let violation = Violation { fault, trace: witness.trace.clone() };
    check::causal(&*model.subject, &violation, steps, &Plan::check(), &Surroundings::default())
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let path = &arguments.trace;
    let (witness, model) = match input::trail(path, arguments.model.as_deref(), &arguments.defines)? {
        Some(read) => read,
        None if !arguments.defines.is_empty() => {
            let why = "the trace contains its program, so there is nothing to define";
            return Err(Failure::Call(format!("{}: {why}", path.display())));
        }
        None => {
            let mut witness = input::witness(path)?;
            let model = input::traced(path, &mut witness)?;
            (witness, model)
        }
    };
    let narrator = model.narrator.clone();
    let wrong = |error| Failure::Replay { path: path.clone(), error };
    let steps = narrator.replay_from(&witness.trace).map_err(wrong)?;
    let property = witness.violation.as_ref().is_some_and(|claimed| claimed.kind == ViolationKind::Property.name());
    if property && !narrator.is_closed(&witness.trace) {
        return Err(Failure::Call(format!("{}: the loop of the trace does not return to where it begins", path.display())));
    }
    // The file does not contain the formula that the run violates.
    if let Some(claimed) = witness.violation.as_ref().filter(|_| !property) {
        let found = narrator.faults_at_end(&witness.trace, &steps);
        if found.iter().all(|fault| fault.kind.name() != claimed.kind) {
            return Err(Failure::Call(format!("{}: the trace does not end in the {} it claims", path.display(), claimed.kind)));
        }
    }
    if arguments.svg.is_some() || arguments.html.is_some() {
        let inputs: Vec<_> = [path].into_iter().chain(&model.files).collect();
        let outputs: Vec<_> = inputs.iter().copied().chain(&arguments.svg).collect();
        let svg = arguments.svg.as_deref().map(|svg| Output::new(svg, &inputs)).transpose()?;
        let html = arguments.html.as_deref().map(|html| Output::new(html, &outputs)).transpose()?;
        let chart = Chart::new(&narrator, &witness, &steps, !arguments.detail.verbose);
        if let Some(svg) = svg {
            svg.write(chart.svg())?;
        }
        if let Some(html) = html {
            html.write(chart.html())?;
        }
    }
    let essential = if arguments.causal { needed(&model, &witness, &steps) } else { None };
    let code = arguments.code.as_deref().map(Code::read).transpose()?;
    let text = if arguments.output.json {
        json::line(&ReplayJson {
            context_switches: context_switches(&steps),
            causal: essential.as_ref().map(CausalJson::from),
            code: code.as_ref().map(|code| in_code(&steps, code)),
            trace: json::steps(&steps, json::views(&narrator, &witness.trace)),
            loop_start: witness.trace.loop_start,
            processes: json::processes(&narrator, witness.trace.last_state()),
            model: witness.model,
            violation: witness.violation,
        })
    } else {
        // The trace of a long run has only its end.
        let is_initial = narrator.initial().0.is_none_or(|initial| initial == witness.trace.initial);
        let first = if is_initial { "initial state" } else { "state before the first step" };
        let mut text = format!("{}, {first}:\n{}\n", witness.model, values_text(&narrator, &witness.trace.initial));
        let look = arguments.detail.look();
        let kept = essential.as_ref().map(|essential| &essential.kept[..]);
        let mut printer = Printer::new(&narrator, &witness.trace.initial).looking(look).keeping(kept);
        text.push_str(&printer.trace(&steps, witness.trace.loop_start));
        if let Some(code) = &code {
            text.push_str(&in_code_text(&steps, code));
        }
        text.push_str(&length_text(&steps, essential.as_ref(), witness.trace.loop_start, &look));
        let deadlock = witness.violation.as_ref().is_some_and(|claimed| claimed.kind == ViolationKind::Deadlock.name());
        let waiting = if deadlock { waiting_text(&narrator, &witness.trace, &look) } else { String::new() };
        let end = if waiting.is_empty() { processes_text(&narrator, witness.trace.last_state(), &look) } else { waiting };
        text.push_str(&format!("\nat the end:\n{end}"));
        if let Some(violation) = &witness.violation {
            text.push_str(&format!("violated: {}\n", violation.message));
        }
        text
    };
    say(&text);
    Ok(Exit::Fine)
}
