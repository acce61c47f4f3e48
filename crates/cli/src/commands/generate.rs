//! `everypath generate`: generates the program from a text that contains both a model and a
//! program.

use super::{Asks, schema_of};
use crate::args::{ModelArguments, OutputArguments};
use crate::failure::Failure;
use crate::output::Output;
use crate::{Exit, input, say};
use clap::Args;
use report::json;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// `everypath generate`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    pub model: ModelArguments,
    /// Write the program to FOLDER, which is created if it does not exist
    #[arg(short, long, value_name = "FOLDER")]
    pub output_folder: PathBuf,
    /// Write the model again, without empty lines between its statements
    #[arg(long)]
    pub tidy: bool,
    /// Keep the comments in the model
    #[arg(long)]
    pub comments: bool,
    #[command(flatten)]
    pub output: OutputArguments,
}

const EXAMPLES: &str = "\
Examples:
  everypath check altbit.pch                     the model, as any other
  everypath generate altbit.pch -o altbit        the program, with a Makefile
  make -C altbit
  cd altbit && EP_TRACE=trace ./init             run it, with a trace of its steps
  everypath conform altbit.pch altbit/trace      was that a path of the model?";

/// The answer as JSON.
#[derive(JsonSchema, Serialize)]
struct GenerateJson {
    /// The folder of the program.
    folder: String,
    /// Its files.
    files: Vec<String>,
}

impl Asks for Arguments {
    fn schema() -> Option<Schema> {
        schema_of::<GenerateJson>()
    }

    fn json(&self) -> bool {
        self.output.json
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let path = &arguments.model.model;
    let defines = arguments.model.lf.define(path, &arguments.model.defines)?;
    // The model must be valid: its errors are reported first.
    input::model(path, &defines)?;
    let (hybrid, map, mut warnings) = input::hybrid(path, &defines, arguments.comments)?;
    let name = path.file_name().map_or_else(|| "model".into(), |name| name.to_string_lossy().into_owned());
    let made = generate::program(&hybrid, &map, &name).map_err(|diagnostics| Failure::Model { map: map.clone(), diagnostics })?;
    warnings.extend(made.warnings);
    warnings.extend(generate::check_mapping(&hybrid));
    if !warnings.is_empty() {
        // Standard error may be closed; the answer does not depend on it.
        let _ = writeln!(std::io::stderr(), "{}", source::render_all(&map, &warnings));
    }
    let folder = &arguments.output_folder;
    std::fs::create_dir_all(folder).map_err(|error| Failure::write(folder, error))?;
    let stem = name.strip_suffix(".pch").unwrap_or(&name);
    let mut files = made.files;
    if arguments.tidy {
        files.push((format!("{stem}_tidy.prom"), tidy(&hybrid.promela)));
    }
    files.push((format!("{stem}.prom"), hybrid.promela));
    let mut written = Vec::new();
    for (name, text) in files {
        // The names are those of process types, which contain no separators.
        let place = folder.join(Path::new(&name));
        Output::new(&place, &[path])?.write(text)?;
        written.push(name);
    }
    match arguments.output.json {
        true => say(&json::line(&GenerateJson { folder: folder.display().to_string(), files: written })),
        false => {
            say(&format!("{}: {}\n`make -C {0}` builds it, `./init` in that folder starts it\n", folder.display(), written.join(", ")))
        }
    }
    Ok(Exit::Fine)
}

/// A text in which no two empty lines follow each other.
fn tidy(text: &str) -> String {
    let mut out = String::new();
    let mut empty = true;
    for line in text.lines() {
        let blank = line.trim().is_empty();
        if !(blank && empty) {
            out.push_str(line.trim_end());
            out.push('\n');
        }
        empty = blank;
    }
    out
}
