//! The command line as data: its options, without their effects. This file has the options that
//! several commands share; the options of one command are in the file of that command.
//!
//! The verbs and the common options are fixed, because scripts and other tools rely on them.

use crate::alternatives::one_of;
use crate::commands::Command;
use crate::failure::Failure;
use crate::progress::ProgressForm;
use crate::quantity;
use check::{Engine, Order, StoreKind};
use clap::{Args, Parser};
use std::path::PathBuf;
use std::time::Duration;

/// Tries every path a concurrent program can take, and shows a path that violates a property.
#[derive(Debug, Parser)]
#[command(name = "everypath", version = env!("EVERYPATH_VERSION"), propagate_version = true, after_help = EXIT_CODES)]
pub struct Arguments {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Examples:
  everypath new first                       write a first model, first.pml
  everypath check first.pml                 look for errors in it
  everypath check first.pml --trace t.json  keep the path to an error
  everypath replay t.json --svg t.svg       look at that path again

Exit code: 0 holds, or the command did its work; 1 violated; 2 the input or the call is wrong; 3 unknown.";

/// The program to work on.
#[derive(Debug, Args)]
pub struct ModelArguments {
    /// The program, or `-` for standard input. The language is recognised by the file's ending or
    /// its content
    pub model: PathBuf,
    /// Define a name for the preprocessor
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = define)]
    pub defines: Vec<(String, String)>,
    #[command(flatten)]
    pub lf: LfArguments,
}

/// The program to search. A saved search contains it.
#[derive(Debug, Args)]
pub struct SubjectArguments {
    /// The program, or `-` for standard input. The language is recognised by the file's ending or
    /// its content. With `--resume` it may be given to make sure that it is the same program
    #[arg(required_unless_present_any = ["resume", "rank"])]
    pub model: Option<PathBuf>,
    /// Define a name for the preprocessor
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = define)]
    pub defines: Vec<(String, String)>,
    #[command(flatten)]
    pub lf: LfArguments,
}

/// Options of LF programs.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "LF")]
pub struct LfArguments {
    /// How waiting processes are paired: with every partner, or with the one that has waited
    /// longest
    #[arg(long, value_name = "ORDER", value_parser = ["sorted", "fifo"])]
    pub queues: Option<String>,
    /// Close an open program: processes for its environment do the sends and receives that have no
    /// partner in the program. VALUES of each type are tried; with `any`, conditions that depend on
    /// them alone can be true and false. `everypath close` prints the environment
    #[arg(long, value_name = "VALUES", num_args = 0..=1, require_equals = true, default_missing_value = "2")]
    pub close: Option<String>,
}

impl LfArguments {
    /// The definitions of a program, extended by these options.
    pub fn define(&self, model: &std::path::Path, defines: &[(String, String)]) -> Result<Vec<(String, String)>, Failure> {
        let mut all = defines.to_vec();
        for (name, value) in [("queues", &self.queues), ("close", &self.close)] {
            let Some(value) = value else { continue };
            if crate::input::language_of(model)?.is_some_and(|language| language != "LF") {
                return Err(Failure::Call(format!("`--{name}` is only for LF programs; {} is not one", model.display())));
            }
            all.push((name.to_owned(), value.clone()));
        }
        Ok(all)
    }
}

/// Files that a search writes and reads.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files")]
pub struct SavingArguments {
    /// Save the search to FILE from time to time, and when it is interrupted or reaches a limit
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// How often to save [default: every ten minutes, or less often if saving takes long]
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration, requires = "checkpoint")]
    pub checkpoint_every: Option<Duration>,
    /// Continue the search saved in FILE, or in a folder that was given with `--disk`
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Move states to files in FOLDER when memory is used up, with at most SIZE in total. The
    /// search is saved there too: `--resume FOLDER` continues it
    #[arg(long, value_name = "FOLDER[:SIZE]", value_parser = quantity::place)]
    pub disk: Option<quantity::Place>,
    /// The folder for a depth-first stack that is too large for memory [default: the system's
    /// folder for temporary files]
    #[arg(long, value_name = "FOLDER", value_parser = quantity::folder)]
    pub spill: Option<PathBuf>,
}

/// Options common to all engines.
#[derive(Debug, Args)]
#[command(next_help_heading = "Engine")]
pub struct EngineArguments {
    /// Workers; all cores if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Memory budget, as in 512M or 4G. If it is reached, the verdict is unknown [default: most of
    /// the free memory]
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    pub memory: Option<u64>,
    /// Time limit, as in 90s or 1h30m. If it is reached, the verdict is unknown
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration)]
    pub time: Option<Duration>,
    /// How progress is shown, on standard error
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    pub progress: ProgressForm,
    /// Do not search deeper than N steps from the initial state
    #[arg(long, value_name = "N")]
    pub depth: Option<u64>,
    /// Order of the search [default: auto]
    #[arg(long, value_name = "NAME", value_parser = one_of::<Order>(), conflicts_with = "resume")]
    pub search: Option<Order>,
    /// The measure of progress for a sweep: an expression over the model's variables, or several
    /// separated by commas, compared from the first to the last; `sum(ARRAY)` and `order(PROCESS)`
    /// may be part of a sum. Alone, it means `--search sweep`; `everypath measure` proposes
    /// measures
    #[arg(long, value_name = "EXPR", conflicts_with = "resume", allow_hyphen_values = true)]
    pub measure: Option<String>,
    /// How successors are computed
    #[arg(long, value_name = "NAME", value_parser = one_of::<Engine>(), default_value_t)]
    pub engine: Engine,
    /// Begin the search after all native code is compiled, instead of using the code as it becomes
    /// available. Measurements then do not depend on a second thread
    #[arg(long)]
    pub code_first: bool,
    /// How visited states are stored [default: auto, or that of the saved search]
    #[arg(long, value_name = "NAME", value_parser = one_of::<StoreKind>())]
    pub store: Option<StoreKind>,
    /// Bits to set for each state, with the store `bits` [default: 3]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=8), conflicts_with = "resume")]
    pub bits_functions: Option<u32>,
    /// Runs with different hash functions, with the store `bits`; the first violation ends them
    /// [default: 1, or that of the saved search]
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

/// `NAME=VALUE`, or `NAME` alone, which means 1 as it does for C compilers.
pub fn define(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, "1"));
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts_well || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!("`{name}` is not a name; write -D NAME=VALUE"));
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
