//! `everypath close`: an open LF program with processes for its environment, as LF text that the
//! user can refine by hand.

use super::{Asks, schema_of};
use crate::args::OutputArguments;
use crate::failure::Failure;
use crate::output::Output;
use crate::{Exit, input, say};
use clap::Args;
use report::json;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use std::path::PathBuf;

/// `everypath close`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The main module of the program
    pub program: PathBuf,
    /// The number of values of each type that the environment sends, or `any` for one that
    /// represents all
    #[arg(long, value_name = "N", default_value = "2")]
    pub values: String,
    /// Write the text to FILE
    #[arg(short, long, value_name = "FILE")]
    pub output_file: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// The answer as JSON.
#[derive(JsonSchema, Serialize)]
struct CloseJson {
    /// The program with its environment.
    text: String,
}

const EXAMPLES: &str = "\
Examples:
  everypath close open.lf                    two values of each type
  everypath close open.lf --values 3 -o closed.lf
  everypath check open.lf --close";

impl Asks for Arguments {
    fn schema() -> Option<Schema> {
        schema_of::<CloseJson>()
    }

    fn json(&self) -> bool {
        self.output.json
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if arguments.values != "any" && !arguments.values.parse::<u8>().is_ok_and(|count| count > 0) {
        return Err(Failure::Call(format!("`--values {}`: it is a number from 1 to 255, or `any`", arguments.values)));
    }
    let text = input::closed(&arguments.program, &arguments.values)?;
    if let Some(path) = &arguments.output_file {
        Output::new(path, &[&arguments.program])?.write(text.clone())?;
    }
    match (arguments.output.json, &arguments.output_file) {
        (true, _) => say(&json::line(&CloseJson { text })),
        (false, None) => say(&text),
        (false, Some(_)) => {}
    }
    Ok(Exit::Fine)
}
