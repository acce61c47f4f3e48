//! `everypath lint`: warnings about valid models that probably do not mean what their author
//! wanted.

use super::{Asks, schema_of};
use crate::args::{ModelArguments, OutputArguments};
use crate::failure::Failure;
use crate::{Exit, input, say, terminal};
use clap::Args;
use report::json;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use source::Paint;

/// `everypath lint`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    pub model: ModelArguments,
    /// Turn this warning into an error, or `all` of them: the exit code is then 1. Can be given
    /// several times
    #[arg(short = 'W', value_name = "NAME")]
    pub warn: Vec<String>,
    /// Allow this, or `all`: the warning is not given. Can be given several times
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

/// The answer as JSON.
#[derive(JsonSchema, Serialize)]
struct LintsJson {
    warnings: Vec<LintJson>,
}

/// A warning.
#[derive(JsonSchema, Serialize)]
struct LintJson {
    /// Its name, for `-A` and `-W`.
    name: &'static str,
    message: String,
    file: String,
    /// From 1.
    line: usize,
    /// From 1.
    column: usize,
    /// A hint how to mend it.
    hint: Option<String>,
    /// Whether it makes the command fail.
    denied: bool,
}

impl Asks for Arguments {
    fn schema() -> Option<Schema> {
        schema_of::<LintsJson>()
    }

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
    // A name takes precedence over `all`.
    warnings.retain(|warning| {
        let allowed = named(&arguments.allow, warning.name);
        !allowed || !arguments.allow.iter().any(|given| given == warning.name) && arguments.warn.iter().any(|given| given == warning.name)
    });
    let denied = warnings.iter().any(|warning| named(&arguments.warn, warning.name));
    let text = if arguments.output.json {
        let one = |warning: &languages::Warning| {
            let place = map.location(warning.diagnostic.span);
            LintJson {
                name: warning.name,
                message: warning.diagnostic.message.clone(),
                file: map.name(warning.diagnostic.span.file).to_owned(),
                line: place.line,
                column: place.column,
                hint: warning.diagnostic.hint.clone(),
                denied: named(&arguments.warn, warning.name),
            }
        };
        json::line(&LintsJson { warnings: warnings.iter().map(one).collect() })
    } else if warnings.is_empty() {
        "no warnings\n".to_owned()
    } else {
        let texts = warnings.iter().map(|warning| {
            let mut told = warning.diagnostic.clone();
            told.message = format!("{} [{}]", told.message, warning.name);
            source::render_in(&map, &told, Paint { color: terminal::look().color })
        });
        texts.collect::<Vec<_>>().join("\n")
    };
    say(&text);
    Ok(if denied { Exit::Violated } else { Exit::Fine })
}
