//! Coverage beside SPIN: the statements that no process reaches, on models that both explore
//! completely and without reductions.
//!
//! SPIN lists the states of a process that it never reached, we list statements. Both are compared
//! by process and line. A statement that came out of an inline has two places; SPIN names that of
//! the inline.

use crate::Failure;
use crate::conformance::spin::{self, Compiler};
use crate::models::{self, Corpus, Model};
use check::Plan;
use contract::{Cancel, Coverage, Limits, Quiet, Verdict};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// `cargo xtask coverage`
#[derive(clap::Args)]
pub struct Arguments {
    /// The models; the project's own and the benchmark set if not given
    models: Vec<PathBuf>,
    #[command(flatten)]
    corpus: Corpus,
    /// Models with more states than this are left out
    #[arg(long, default_value_t = 200_000)]
    states: u64,
    /// How long SPIN may take for a step, in seconds
    #[arg(long, default_value_t = 60)]
    patience: u64,
}

/// A process and a line.
type Places = BTreeSet<(String, u32)>;

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let models: Vec<Model> = if arguments.models.is_empty() {
        models::own()?.into_iter().chain(arguments.corpus.models()?).collect()
    } else {
        arguments.models.iter().map(|path| Model::at(path)).collect()
    };
    let (mut same, mut different, mut passed_over) = (0, 0, 0);
    for model in models.iter().filter(|model| model.is_promela()) {
        match compare(model, arguments) {
            Ok(None) => same += 1,
            Ok(Some(difference)) => {
                different += 1;
                println!("{}: {difference}", model.name);
            }
            Err(why) => {
                passed_over += 1;
                println!("{}: passed over, {why}", model.name);
            }
        }
    }
    println!("{same} models with the same lists, {different} with others, {passed_over} passed over");
    if different > 0 { Err(format!("{different} models differ")) } else { Ok(()) }
}

fn compare(model: &Model, arguments: &Arguments) -> Result<Option<String>, String> {
    let program = Arc::new(model.load().map_err(|_| "we refuse it".to_owned())?);
    let limits = Limits { time: Some(Duration::from_secs(arguments.patience)), memory: Some(1 << 31), ..Limits::default() };
    let checked = check::run(&program, &Plan { coverage: true, limits, ..Plan::space() }, &Cancel::default(), &Quiet);
    let checked = checked.map_err(|refusal| refusal.to_string())?;
    if !matches!(checked.outcome.verdict, Verdict::Holds | Verdict::Unknown(contract::StopReason::Unchecked(_))) {
        return Err("we do not explore it completely".to_owned());
    }
    if checked.outcome.statistics.states > arguments.states {
        return Err("it has too many states".to_owned());
    }
    let ours = unreached(&checked.coverage.unwrap_or_default(), &origins(&program));
    let text = fs::read_to_string(&model.path).map_err(|error| error.to_string())?;
    let patience = Duration::from_secs(arguments.patience);
    let theirs = spin::ask_unreached(&text, model.path.parent(), "coverage", Compiler::quickest(), patience)?;
    let theirs: Places = theirs.into_iter().collect();
    if ours == theirs {
        return Ok(None);
    }
    let list = |a: &Places, b: &Places| a.difference(b).map(|(process, line)| format!("{process}:{line}")).collect::<Vec<_>>().join(" ");
    Ok(Some(format!("only ours: [{}], only SPIN's: [{}]", list(&ours, &theirs), list(&theirs, &ours))))
}

/// Where the statement at a position has its own text, if it is in an inline.
fn origins(program: &bytecode::Verified) -> Vec<((u32, u32), u32)> {
    let tables = program.program();
    let own = |span: &bytecode::Span| Some(((span.line, span.column), tables.origin_at(span.addr)?.line));
    tables.spans.iter().filter_map(own).collect()
}

fn unreached(coverage: &Coverage, origins: &[((u32, u32), u32)]) -> Places {
    let mut places = Places::new();
    for process in &coverage.processes {
        for statement in process.statements.iter().filter(|statement| !statement.reached && statement.text != "}") {
            let Some(at) = &statement.position else { continue };
            let own = origins.iter().find(|(place, _)| *place == (at.line, at.column)).map(|(_, line)| *line);
            places.insert((process.name.clone(), own.unwrap_or(at.line)));
        }
    }
    places
}
