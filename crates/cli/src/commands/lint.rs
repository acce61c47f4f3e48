//! `everypath lint`: warnings about valid models that probably do not mean what their author
//! wanted.

use super::{Asks, schema_of};
use crate::args::{ModelArguments, OutputArguments};
use crate::failure::Failure;
use crate::warnings::WarningArguments;
use crate::{Exit, input, say, terminal};
use clap::Args;
use report::json;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use source::{Diagnostic, Paint};

/// `everypath lint`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    pub model: ModelArguments,
    #[command(flatten)]
    pub warnings: WarningArguments,
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
    name: Option<&'static str>,
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
    let policy = &arguments.warnings;
    policy.refuse_unknown()?;
    let (map, warnings) =
        input::lint(&arguments.model.model, &arguments.model.lf.define(&arguments.model.model, &arguments.model.defines)?)?;
    let warnings = policy.given(warnings);
    let denied = warnings.iter().any(|warning| policy.is_denied(warning));
    let text = if arguments.output.json {
        let one = |warning: &Diagnostic| {
            let place = map.location(warning.span);
            LintJson {
                name: warning.name,
                message: warning.message.clone(),
                file: map.name(warning.span.file).to_owned(),
                line: place.line,
                column: place.column,
                hint: warning.hint.clone(),
                denied: policy.is_denied(warning),
            }
        };
        json::line(&LintsJson { warnings: warnings.iter().map(one).collect() })
    } else if warnings.is_empty() {
        "no warnings\n".to_owned()
    } else {
        source::render_all_in(&map, &warnings, Paint { color: terminal::look().color })
    };
    say(&text);
    Ok(if denied { Exit::Violated } else { Exit::Fine })
}
