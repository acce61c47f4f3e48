//! `everypath schema`: the JSON schemas of the `--json` output.

use super::{Asks, Command, schema_of};
use crate::failure::{Failure, FailureJson};
use crate::progress::ProgressJson;
use crate::reach::ReachJson;
use crate::{Exit, say};
use clap::Args;
use schemars::Schema;

/// `everypath schema`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The command whose answer is described; `reach` for `check --reach`, `error` for the output
    /// of every command if the input or the call is wrong, `progress` for the lines of `--progress
    /// json`. Without a name, all names are listed
    pub name: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  everypath schema
  everypath schema check";

impl Asks for Arguments {
    fn json(&self) -> bool {
        false
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut all: Vec<(String, Schema)> = Command::schemas();
    let others = [("reach", schema_of::<ReachJson>()), ("error", schema_of::<FailureJson>()), ("progress", schema_of::<ProgressJson>())];
    all.extend(others.into_iter().filter_map(|(name, schema)| Some((name.to_owned(), schema?))));
    let Some(name) = &arguments.name else {
        say(&all.iter().map(|(name, _)| format!("{name}\n")).collect::<String>());
        return Ok(Exit::Fine);
    };
    let Some((_, schema)) = all.iter().find(|(known, _)| known == name) else {
        let known: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        return Err(Failure::Call(format!("`{name}` prints no JSON; these do: {}", known.join(", "))));
    };
    // A schema is JSON, so writing it cannot fail.
    say(&serde_json::to_string_pretty(schema).unwrap_or_default());
    Ok(Exit::Fine)
}
