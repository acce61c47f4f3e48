//! `everypath automata`: the control-flow automaton of each type of process.

use super::{Asks, schema_of};
use crate::args::{ModelArguments, OutputArguments};
use crate::failure::Failure;
use crate::output::Output;
use crate::{Exit, input, say};
use clap::Args;
use replay::{Control, control};
use report::{AutomataJson, automata_dot, automata_svg, automata_text, json};
use schemars::Schema;
use std::path::PathBuf;

/// `everypath automata`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    pub model: ModelArguments,
    /// Only this type of process. Can be given several times
    #[arg(long, value_name = "NAME")]
    pub process: Vec<String>,
    /// Write the automata to FILE: as a picture (`.svg`), for Graphviz (`.dot`) or as `.json`, by
    /// its ending
    #[arg(short, long, value_name = "FILE")]
    pub output_file: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArguments,
}

const EXAMPLES: &str = "\
Examples:
  everypath automata model.pml
  everypath automata model.pml -o model.svg";

impl Asks for Arguments {
    fn json(&self) -> bool {
        self.output.json
    }

    fn schema() -> Option<Schema> {
        schema_of::<AutomataJson>()
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let ending = arguments.output_file.as_ref().map(|path| path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase());
    if let Some(ending) = ending.as_deref().filter(|ending| !["svg", "dot", "gv", "json"].contains(ending)) {
        return Err(Failure::Call(format!("automata cannot be written as `.{ending}`; use `.svg`, `.dot` or `.json`")));
    }
    let defines = arguments.model.lf.define(&arguments.model.model, &arguments.model.defines)?;
    let model = input::model(&arguments.model.model, &defines)?;
    let Some(program) = model.subject.byte_code() else {
        return Err(Failure::Call(format!("{}: a graph is one automaton already; `everypath space` shows it", model.name)));
    };
    let mut automata: Vec<Control> = control(program);
    for name in &arguments.process {
        if automata.iter().all(|automaton| automaton.name != *name) {
            let known: Vec<&str> = automata.iter().map(|automaton| automaton.name.as_str()).collect();
            let hint = source::did_you_mean(name, known.iter().copied()).map(|hint| format!("; {hint}")).unwrap_or_default();
            return Err(Failure::Call(format!("there is no type of process `{name}`{hint}; there is: {}", known.join(", "))));
        }
    }
    automata.retain(|automaton| arguments.process.is_empty() || arguments.process.contains(&automaton.name));
    if let (Some(path), Some(ending)) = (&arguments.output_file, ending) {
        let file = Output::new(path, &model.files)?;
        match ending.as_str() {
            "svg" => file.write(automata_svg(&automata).map_err(|error| Failure::Call(format!("{}: {error}", path.display())))?)?,
            "json" => file.write(json::line(&AutomataJson::from(&automata[..])) + "\n")?,
            _ => file.write(automata_dot(&automata))?,
        }
    }
    match (arguments.output.json, &arguments.output_file) {
        (true, _) => say(&json::line(&AutomataJson::from(&automata[..]))),
        (false, None) => say(&automata_text(&automata)),
        (false, Some(_)) => {}
    }
    Ok(Exit::Fine)
}
