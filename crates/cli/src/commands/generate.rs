//! `everypath generate`: generates the program from a text that contains both a model and a
//! program.

use super::{Asks, schema_of};
use crate::args::{ModelArguments, OutputArguments};
use crate::failure::Failure;
use crate::output::Output;
use crate::{Exit, input, next, say};
use clap::{Args, ValueEnum};
use generate::{Options, ProgramLayout, Transport};
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
    /// The language of the program, and of its own pieces
    #[arg(long, value_enum, default_value_t = Target::C)]
    pub target: Target,
    /// Where the processes of the model live
    #[arg(long, value_enum, default_value_t = LayoutName::Processes)]
    pub layout: LayoutName,
    /// What carries messages: `memory`, `sysv`, `posix`, `unix` or `tcp`; `CHANNEL=NAME` chooses
    /// for one channel
    #[arg(long, value_name = "[CHANNEL=]NAME")]
    pub transport: Vec<String>,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// The language of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// C, with a Makefile
    C,
    /// Rust, as a Cargo project; every process is a thread
    Rust,
}

/// Where the processes of the model live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LayoutName {
    /// Each is a process of the system
    Processes,
    /// All are in one process, with an event loop
    Loop,
}

const EXAMPLES: &str = "\
Examples:
  everypath check altbit.pch                     the model, as any other
  everypath generate altbit.pch -o altbit        the program, with a Makefile
  make -C altbit
  cd altbit && EP_TRACE=trace ./init             run it, with a trace of its steps
  everypath conform altbit.pch altbit/trace      was that a path of the model?
  everypath generate altbit.pch -o one --layout loop --transport posix";

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

impl Arguments {
    fn options(&self) -> Result<Options, Failure> {
        let mut options = Options::default();
        if self.layout == LayoutName::Loop {
            options.layout = ProgramLayout::Loop;
        }
        for given in &self.transport {
            let (channel, name) = given.split_once('=').map_or((None, given.as_str()), |(channel, name)| (Some(channel), name));
            let transport = match name {
                "memory" => Transport::Memory,
                "sysv" => Transport::SystemV,
                "posix" => Transport::Posix,
                "unix" => Transport::Unix,
                "tcp" => Transport::Tcp,
                other => return Err(Failure::Call(format!("`{other}` is no transport: memory, sysv, posix, unix, tcp"))),
            };
            match channel {
                Some(channel) => drop(options.channels.insert(channel.to_owned(), transport)),
                None => options.transport = transport,
            }
        }
        if self.target == Target::Rust && (self.layout == LayoutName::Loop || !self.transport.is_empty()) {
            return Err(Failure::Call("in Rust the processes are threads of one process, and channels are in its memory".to_owned()));
        }
        match options.refusal() {
            Some(reason) => Err(Failure::Call(reason.to_owned())),
            None => Ok(options),
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let path = &arguments.model.model;
    let defines = arguments.model.lf.define(path, &arguments.model.defines)?;
    // The model must be valid: its errors are reported first.
    input::model(path, &defines)?;
    let (hybrid, map, mut warnings) = input::hybrid(path, &defines, arguments.comments)?;
    let name = path.file_name().map_or_else(|| "model".into(), |name| name.to_string_lossy().into_owned());
    let options = arguments.options()?;
    let made = match arguments.target {
        Target::C => generate::program(&hybrid, &map, &name, &options),
        Target::Rust => generate::rust_program(&hybrid, &map, &name),
    };
    let made = made.map_err(|diagnostics| Failure::Model { map: map.clone(), diagnostics })?;
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
        // The names are those of process types, which have no separators in them, and our own.
        let place = folder.join(Path::new(&name));
        if let Some(inner) = place.parent() {
            std::fs::create_dir_all(inner).map_err(|error| Failure::write(inner, error))?;
        }
        Output::new(&place, &[path])?.write(text)?;
        written.push(name);
    }
    match arguments.output.json {
        true => say(&json::line(&GenerateJson { folder: folder.display().to_string(), files: written })),
        false => {
            let how = match arguments.target {
                Target::C => format!("`make -C {}` builds it, `./init` in that folder starts it", next::file(folder)),
                Target::Rust => "`cargo run` in that folder builds and starts it".to_owned(),
            };
            say(&format!("{}: {}\n{how}\n", folder.display(), written.join(", ")))
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
