//! `everypath compile`: byte-code, as text or as a binary.

use super::{Asks, schema_of};
use crate::args::{ModelArguments, OutputArguments};
use crate::failure::Failure;
use crate::output::Output;
use crate::{Exit, input, say};
use clap::Args;
use report::json;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use std::path::PathBuf;

/// `everypath compile`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    pub model: ModelArguments,
    /// Print the byte-code as assembly text
    #[arg(long)]
    pub asm: bool,
    /// Write the byte-code to FILE: text if it ends in `.epa` or with `--asm`, binary otherwise
    #[arg(short, long, value_name = "FILE")]
    pub output_file: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArguments,
}

const EXAMPLES: &str = "\
Examples:
  everypath compile model.pml --asm
  everypath compile model.pml -o model.epb";

/// The answer as JSON.
#[derive(JsonSchema, Serialize)]
struct CompileJson {
    model: String,
    instructions: usize,
    /// Types of processes.
    processes: usize,
    /// Global variables.
    globals: usize,
    /// With `--asm`: the program as assembly.
    #[serde(skip_serializing_if = "Option::is_none")]
    asm: Option<String>,
}

impl Asks for Arguments {
    fn schema() -> Option<Schema> {
        schema_of::<CompileJson>()
    }

    fn json(&self) -> bool {
        self.output.json
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let defines = arguments.model.lf.define(&arguments.model.model, &arguments.model.defines)?;
    let model = input::model(&arguments.model.model, &defines)?;
    let Some(verified) = model.subject.byte_code() else {
        return Err(Failure::Call(format!("{}: a graph does not become byte-code", model.name)));
    };
    let program = verified.program();
    let assembly = || bytecode::asm::disassemble(program);
    let is_text = |path: &PathBuf| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("epa"));
    match (&arguments.output_file, arguments.asm || arguments.output_file.as_ref().is_some_and(is_text)) {
        (Some(path), true) => Output::new(path, &model.files)?.write(assembly())?,
        (Some(path), false) => Output::new(path, &model.files)?.write(bytecode::binary::encode(program))?,
        (None, true) if !arguments.output.json => say(&assembly()),
        (None, _) => {}
    }
    if arguments.output.json {
        say(&json::line(&CompileJson {
            model: model.name.clone(),
            instructions: program.code.len(),
            processes: program.processes.len(),
            globals: program.globals.len(),
            asm: (arguments.asm && arguments.output_file.is_none()).then(assembly),
        }));
    } else if arguments.output_file.is_none() && !arguments.asm {
        say(&format!(
            "{}: {} instructions, {} process types, {} global variables; print them with --asm, or write them with -o FILE",
            model.name,
            program.code.len(),
            program.processes.len(),
            program.globals.len()
        ));
    }
    Ok(Exit::Fine)
}
