//! The command line as data: what can be typed, and nothing about what it does.
//!
//! The verbs and the common options are fixed: scripts and other people's tools rely on them.

use crate::quantity;
use check::{Engine, Only, Order, StoreKind};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// Tries every path a concurrent program can take, and shows the one that goes wrong.
#[derive(Debug, Parser)]
#[command(name = "everypath", version, propagate_version = true, after_help = EXIT_CODES)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit code: 0 holds, or the command did its work; 1 violated; 2 the input or the call is wrong; 3 unknown.";

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Look for deadlocks, failed assertions and invalid end states
    Check(CheckArguments),
    /// Explore the whole reachable state space, without reductions or properties
    Space(SpaceArguments),
    /// Make one run: random, or chosen step by step
    Simulate(SimulateArguments),
    /// Walk through a trace that `check --trace FILE` has written
    Replay(ReplayArguments),
    /// Translate to byte-code
    Compile(CompileArguments),
    /// Show the Büchi automaton of a temporal formula
    Ltl(LtlArguments),
}

/// `everypath check`
#[derive(Debug, Args)]
pub struct CheckArguments {
    #[command(flatten)]
    pub subject: SubjectArguments,
    #[command(flatten)]
    pub engine: EngineArguments,
    #[command(flatten)]
    pub saving: SavingArguments,
    /// Do not report deadlocks and invalid end states
    #[arg(long, conflicts_with = "resume")]
    pub no_deadlock: bool,
    /// Ask for this part of what the model states alone: safety (assertions, end states, run-time errors) [default: everything]
    #[arg(long, value_name = "PART", conflicts_with = "resume")]
    pub only: Option<Only>,
    /// Write the trace of a violation to FILE; `everypath replay FILE` shows it again
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// `everypath space`
#[derive(Debug, Args)]
pub struct SpaceArguments {
    #[command(flatten)]
    pub subject: SubjectArguments,
    #[command(flatten)]
    pub engine: EngineArguments,
    #[command(flatten)]
    pub saving: SavingArguments,
    /// Write the graph to FILE: `.aut`, `.dot` or `.json` by its ending. One worker numbers the states, in the plain store
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["checkpoint", "resume"])]
    pub output_file: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// `everypath simulate`
#[derive(Debug, Args)]
pub struct SimulateArguments {
    #[command(flatten)]
    pub model: ModelArguments,
    /// Begin the random choices here; the same seed gives the same run
    #[arg(long, value_name = "N", conflicts_with = "interactive")]
    pub seed: Option<u64>,
    /// Choose each step yourself
    #[arg(long, short)]
    pub interactive: bool,
    /// Stop after N steps
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub steps: u64,
    /// Begin at the state in FILE instead of the initial one
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Write the last state to FILE; `--from FILE` continues there
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Show the values of variables and the contents of channels after each step
    #[arg(long)]
    pub values: bool,
    /// Write the run as a trace to FILE
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// `everypath replay`
#[derive(Debug, Args)]
pub struct ReplayArguments {
    /// The trace, or `-` for standard input
    pub trace: PathBuf,
    /// Draw the trace to FILE as an SVG picture: a lifeline for each process, a row for each step
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write the picture and a table of all steps with their values to FILE, as a page of HTML
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// `everypath compile`
#[derive(Debug, Args)]
pub struct CompileArguments {
    #[command(flatten)]
    pub model: ModelArguments,
    /// Print the byte-code as assembly text
    #[arg(long)]
    pub asm: bool,
    /// Write the byte-code to FILE: binary, or text with `--asm`
    #[arg(short, long, value_name = "FILE")]
    pub output_file: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// `everypath ltl`
#[derive(Debug, Args)]
pub struct LtlArguments {
    /// The formula, in SPIN's syntax: [] <> ! U W V X -> <-> && ||
    #[arg(required_unless_present = "file", allow_hyphen_values = true)]
    pub formula: Option<String>,
    /// Translate the negation, as a search does
    #[arg(long, conflicts_with = "file")]
    pub negate: bool,
    /// What to print
    #[arg(long, value_enum, default_value = "text")]
    pub format: AutomatonFormat,
    /// Print the automaton with generalised acceptance on edges
    #[arg(long)]
    pub generalised: bool,
    /// Read an automaton instead, in the Hanoi format or as a never claim; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "formula")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArguments,
}

/// How an automaton is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum AutomatonFormat {
    /// A table
    Text,
    /// The Hanoi format, version 1
    Hoa,
    /// A never claim, as SPIN reads it
    Never,
    /// One JSON object, as with `--json`
    Json,
    /// A graph for `dot`
    Dot,
}

/// The program to work on.
#[derive(Debug, Args)]
pub struct ModelArguments {
    /// The program, or `-` for standard input: its language is known by its ending or its content
    pub model: PathBuf,
    /// Define a name for the preprocessor
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = define)]
    pub defines: Vec<(String, String)>,
}

/// The program to search, which a saved search brings along.
#[derive(Debug, Args)]
pub struct SubjectArguments {
    /// The program, or `-` for standard input: its language is known by its ending or its content. With `--resume` it may be given to make sure it is the same
    #[arg(required_unless_present = "resume")]
    pub model: Option<PathBuf>,
    /// Define a name for the preprocessor
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = define)]
    pub defines: Vec<(String, String)>,
}

/// What a search may leave on disk.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files")]
pub struct SavingArguments {
    /// Save the search to FILE from time to time, and when it is interrupted or reaches a limit
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// How often to save; every ten minutes if not given, or less often if that takes long
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration, requires = "checkpoint")]
    pub checkpoint_every: Option<Duration>,
    /// Go on with the search saved in FILE
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Where a depth-first stack that is too large for memory goes; the system's folder for temporary files if not given
    #[arg(long, value_name = "FOLDER")]
    pub spill: Option<PathBuf>,
}

/// Options common to all engines.
#[derive(Debug, Args)]
#[command(next_help_heading = "Engine")]
pub struct EngineArguments {
    /// Workers; all cores if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Memory budget, as in 512M or 4G; reaching it ends with verdict unknown. Most of what is free if not given
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    pub memory: Option<u64>,
    /// Time limit, as in 90s or 1h30m; reaching it ends with verdict unknown
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration)]
    pub time: Option<Duration>,
    /// Do not look further than N steps from the initial state
    #[arg(long, value_name = "N")]
    pub depth: Option<u64>,
    /// Order of the search: auto (a short depth-first probe, then bfs), bfs, dfs (strict, one worker), dfs-shared [default: auto]
    #[arg(long, value_name = "NAME", conflicts_with = "resume")]
    pub search: Option<Order>,
    /// What computes successors: jit (native code), vm (the reference interpreter)
    #[arg(long, value_name = "NAME", default_value_t)]
    pub engine: Engine,
    /// How visited states are kept: auto, plain, compact, hash, bits, cache [default: auto, or that of the saved search]
    #[arg(long, value_name = "NAME")]
    pub store: Option<StoreKind>,
    /// Bits to set for each state, with the store `bits` [default: 3]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=8), conflicts_with = "resume")]
    pub bits_functions: Option<u32>,
    /// Runs with other hash functions, with the store `bits`; the first violation ends them [default: 1, or as many as the saved search had to make]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub bits_runs: Option<u32>,
}

/// How the answer is printed.
#[derive(Debug, Args)]
pub struct OutputArguments {
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub json: bool,
}

impl Command {
    /// Whether the answer, or the reason why there is none, is wanted as JSON.
    pub fn json(&self) -> bool {
        match self {
            Command::Check(arguments) => arguments.output.json,
            Command::Space(arguments) => arguments.output.json,
            Command::Simulate(arguments) => arguments.output.json,
            Command::Replay(arguments) => arguments.output.json,
            Command::Compile(arguments) => arguments.output.json,
            Command::Ltl(arguments) => arguments.output.json || arguments.format == AutomatonFormat::Json,
        }
    }
}

/// `NAME=VALUE`, or `NAME` alone, which means 1 as it does for C compilers.
fn define(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, "1"));
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts_well || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!("`{name}` is no name; write -D NAME=VALUE"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn definitions() {
        assert_eq!(define("N=3"), Ok(("N".to_owned(), "3".to_owned())));
        assert_eq!(define("FAST"), Ok(("FAST".to_owned(), "1".to_owned())));
        assert!(define("3=N").is_err());
        assert!(define("").is_err());
    }
}
