//! `everypath lint`: warnings about a model that is accepted but looks as if something else was
//! meant.

use super::Asks;
use crate::args::{ModelArguments, OutputArguments};
use crate::failure::Failure;
use crate::{Exit, input, say};
use clap::Args;
use report::json;
use serde_json::json as object;

/// `everypath lint`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    pub model: ModelArguments,
    /// Make this warning an error, or `all` of them: the exit code is then 1. Can be given several
    /// times
    #[arg(short = 'W', value_name = "NAME")]
    pub warn: Vec<String>,
    /// Allow this, or `all`: no such warning is given. Can be given several times
    #[arg(short = 'A', value_name = "NAME")]
    pub allow: Vec<String>,
    /// List the names of all warnings
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    pub output: OutputArguments,
}

const EXAMPLES: &str = "\
Examples:
  everypath lint model.pml
  everypath lint model.pml -A unused-label -W all
  everypath lint model.pml --list";

impl Asks for Arguments {
    fn json(&self) -> bool {
        self.output.json
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if arguments.list {
        let width = languages::LINTS.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        say(&languages::LINTS.iter().map(|(name, what)| format!("{name:<width$}  {what}\n")).collect::<String>());
        return Ok(Exit::Fine);
    }
    for name in arguments.warn.iter().chain(&arguments.allow) {
        if name != "all" && languages::LINTS.iter().all(|(known, _)| known != name) {
            return Err(Failure::Call(format!("there is no warning `{name}`; `everypath lint MODEL --list` lists all")));
        }
    }
    let named = |list: &[String], name: &str| list.iter().any(|given| given == name || given == "all");
    let (map, mut warnings) =
        input::lint(&arguments.model.model, &arguments.model.lf.define(&arguments.model.model, &arguments.model.defines)?)?;
    // A name that is given is stronger than `all`.
    warnings.retain(|warning| {
        let allowed = named(&arguments.allow, warning.name);
        !allowed || !arguments.allow.iter().any(|given| given == warning.name) && arguments.warn.iter().any(|given| given == warning.name)
    });
    let denied = warnings.iter().any(|warning| named(&arguments.warn, warning.name));
    let text = if arguments.output.json {
        let list: Vec<_> = warnings
            .iter()
            .map(|warning| {
                let place = map.location(warning.diagnostic.span);
                object!({
                    "name": warning.name,
                    "message": warning.diagnostic.message,
                    "file": map.name(warning.diagnostic.span.file),
                    "line": place.line,
                    "column": place.column,
                    "hint": warning.diagnostic.hint,
                    "denied": named(&arguments.warn, warning.name),
                })
            })
            .collect();
        json::line(&object!({ "warnings": list }))
    } else if warnings.is_empty() {
        "no warnings\n".to_owned()
    } else {
        let texts = warnings.iter().map(|warning| {
            let mut told = warning.diagnostic.clone();
            told.message = format!("{} [{}]", told.message, warning.name);
            source::render_all(&map, [&told])
        });
        texts.collect::<Vec<_>>().join("\n")
    };
    say(&text);
    Ok(if denied { Exit::Violated } else { Exit::Fine })
}
