//! `everypath examples`: models that are part of the program.

use super::Asks;
use crate::failure::Failure;
use crate::{Exit, say};
use clap::Args;
use std::io::Write;
use std::process::{Command, Stdio};

/// `everypath examples`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Print this example; without a name, list all
    pub name: Option<String>,
    /// Check the example instead of printing it, with these options of `everypath check`
    #[arg(long, requires = "name", value_name = "OPTIONS", num_args = 0.., allow_hyphen_values = true)]
    pub check: Option<Vec<String>>,
}

const EXAMPLES: &str = "\
Examples:
  everypath examples
  everypath examples peterson > peterson.pml
  everypath examples philosophers --check
  everypath examples philosophers --check -DPOLITE --coverage
  everypath examples traffic_light.lf > traffic_light.lf";

macro_rules! models {
    ($($name:literal,)* programs: $($program:literal,)*) => {
        /// Names and texts.
        const MODELS: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../../../models/promela/classic/", $name, ".pml"))),)*
            $(($program, include_str!(concat!("../../../../models/lf/", $program))),)*
        ];
    };
}

models! {
    "alternating_bit",
    "bakery",
    "dekker",
    "leader_election",
    "needham_schroeder",
    "peterson",
    "philosophers",
    "producers_consumers",
    "readers_writers",
    "sieve",
    "sliding_window",
    "snooping_cache",
    "szymanski",
    "token_ring",
    "two_phase_commit",
    // Those in LF have the ending of their files.
    programs:
    "bounded_buffer.lf",
    "driver.lf",
    "elevator.lf",
    "peterson.lf",
    "philosophers.lf",
    "prodcons.lf",
    "semaphore.lf",
    "sieve.lf",
    "sliding_window.lf",
    "traffic_light.lf",
}

impl Asks for Arguments {
    fn json(&self) -> bool {
        false
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let Some(name) = &arguments.name else {
        let width = MODELS.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let lines = MODELS.iter().map(|(name, text)| format!("{name:<width$}  {}\n", summary(text)));
        say(&lines.collect::<String>());
        return Ok(Exit::Fine);
    };
    let Some((_, text)) = MODELS.iter().find(|(known, _)| known == name) else {
        let names: Vec<&str> = MODELS.iter().map(|(name, _)| *name).collect();
        return Err(Failure::Call(format!("there is no example `{name}`; there are {}", names.join(", "))));
    };
    match &arguments.check {
        None => {
            say(text);
            Ok(Exit::Fine)
        }
        Some(options) => check(text, options),
    }
}

/// Checks a model like `everypath check -`.
fn check(text: &str, options: &[String]) -> Result<Exit, Failure> {
    let failed = |error| Failure::Call(format!("everypath cannot start itself: {error}"));
    let itself = std::env::current_exe().map_err(failed)?;
    let mut child = Command::new(itself).args(["check", "-"]).args(options).stdin(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        // If the options are wrong, the process does not read the model.
        let _ = input.write_all(text.as_bytes());
    }
    match child.wait().map_err(failed)?.code() {
        Some(0) => Ok(Exit::Fine),
        Some(1) => Ok(Exit::Violated),
        Some(3) => Ok(Exit::Unknown),
        _ => Ok(Exit::Wrong),
    }
}

/// The first sentence of the comment with which a model begins.
fn summary(text: &str) -> String {
    let lines = text.lines().map(|line| line.strip_prefix("(*").unwrap_or(line));
    let comment = lines.take_while(|line| line.starts_with("//") || line.starts_with(' ')).map(|line| line.trim_start_matches('/').trim());
    let comment = comment.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let end = comment.find(". ").or_else(|| comment.find(": ")).unwrap_or(comment.len());
    comment[..end].trim_end_matches(['.', ':']).to_owned()
}
