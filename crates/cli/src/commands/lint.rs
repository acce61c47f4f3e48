//! `everypath lint`: warnings about valid models that probably do not mean what their author
//! wanted.

use super::{Asks, schema_of};
use crate::args::{LfArguments, OutputArguments, define};
use crate::failure::{Failure, FixJson, fix_json};
use crate::warnings::WarningArguments;
use crate::{Exit, input, say, terminal};
use clap::Args;
use report::json;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use source::{Diagnostic, Paint};
use std::path::PathBuf;

/// `everypath lint`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The program, or `-` for standard input. The language is recognised by the file's ending or
    /// its content
    #[arg(required_unless_present = "list")]
    pub model: Option<PathBuf>,
    /// Define a name for the preprocessor
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = define)]
    pub defines: Vec<(String, String)>,
    #[command(flatten)]
    pub lf: LfArguments,
    #[command(flatten)]
    pub warnings: WarningArguments,
    /// List the names of all warnings; no model is read
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    pub output: OutputArguments,
}

const EXAMPLES: &str = "\
Examples:
  everypath lint model.pml
  everypath lint model.pml -A unused-label -W all
  everypath lint --list";

/// The answer as JSON.
#[derive(JsonSchema, Serialize)]
struct LintsJson {
    warnings: Vec<LintJson>,
    /// With `--list`, all warnings that there are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    names: Vec<NameJson>,
}

/// The name of a warning.
#[derive(JsonSchema, Serialize)]
struct NameJson {
    name: &'static str,
    /// What the warning is about.
    about: &'static str,
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
    /// The change that would mend it, if one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<FixJson>,
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
        if arguments.output.json {
            let names = languages::LINTS.iter().map(|&(name, about)| NameJson { name, about }).collect();
            say(&json::line(&LintsJson { warnings: Vec::new(), names }));
            return Ok(Exit::Fine);
        }
        let width = languages::LINTS.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        say(&languages::LINTS.iter().map(|(name, what)| format!("{name:<width$}  {what}\n")).collect::<String>());
        return Ok(Exit::Fine);
    }
    let policy = &arguments.warnings;
    policy.refuse_unknown()?;
    let Some(model) = &arguments.model else { return Err(Failure::Call("a MODEL or `--list` is needed".to_owned())) };
    let (map, warnings) = input::lint(model, &arguments.lf.define(model, &arguments.defines)?)?;
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
                fix: warning.fix.as_ref().map(|fix| fix_json(&map, fix)),
                denied: policy.is_denied(warning),
            }
        };
        json::line(&LintsJson { warnings: warnings.iter().map(one).collect(), names: Vec::new() })
    } else if warnings.is_empty() {
        "no warnings\n".to_owned()
    } else {
        let look = terminal::look();
        source::render_all_in(&map, &warnings, Paint { color: look.color, width: look.width })
    };
    say(&text);
    Ok(if denied { Exit::Violated } else { Exit::Fine })
}
