//! Compares coverage with SPIN: the statements that no process reaches, on models that both explore
//! completely and without reductions.
//!
//! SPIN lists the states of a process that it never reached, we list statements. Both are compared
//! by process and line. A statement from an inline has two positions; SPIN names that of the
//! inline. Two differences are explained, and counted separately:
//!
//! - SPIN has no states inside a `d_step`, so it does not list its statements; we do.
//! - SPIN lists statements after a `goto`, which our translator leaves out, because no step leads
//!   there. `everypath lint` warns about them.

use crate::bench::ours::Everypath;
use crate::conformance::spin::{self, Compiler};
use crate::models::{self, Corpus, Model};
use crate::{Failure, root};
use check::Plan;
use contract::{Cancel, Coverage, Limits, Position, Quiet, StatementCoverage, Verdict};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// `cargo xtask coverage`
#[derive(clap::Args)]
pub struct Arguments {
    /// The models [default: the project's own and the benchmark set]
    models: Vec<PathBuf>,
    #[command(flatten)]
    corpus: Corpus,
    /// Skip models with more states than this
    #[arg(long, default_value_t = 200_000)]
    states: u64,
    /// The time limit for each step of SPIN, in seconds
    #[arg(long, default_value_t = 60)]
    patience: u64,
    /// Count the instructions of searches with and without coverage instead, under valgrind
    #[arg(long)]
    cost: bool,
    /// Count those of this program instead of the one of this tree
    #[arg(long, value_name = "FILE", requires = "cost")]
    everypath: Option<PathBuf>,
}

/// Models whose searches are counted if none are given.
const COUNTED: &[&str] = &["beem/iprotocol.2", "beem/lamport.2", "beem/peg_solitaire.5", "classic/sliding_window", "classic/peterson"];

/// What a search may cost more if coverage is recorded.
const COST_MAX: f64 = 1.05;

/// Prints how many instructions a search takes with coverage, in terms of one without it. The
/// reference interpreter examines some states of every model, which is a cost of its own; it does
/// not grow with the number of states.
fn cost(arguments: &Arguments, models: &[Model]) -> Result<(), Failure> {
    let everypath = Everypath::new(arguments.everypath.as_deref(), &[])?;
    let folder = root().join("target/bench");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let counted = |model: &&Model| !arguments.models.is_empty() || COUNTED.contains(&model.name.as_str());
    let mut above = 0;
    println!("{:<26} {:>12} {:>12} {:>7}", "model", "without", "with", "ratio");
    for model in models.iter().filter(counted) {
        let without = instructions(&everypath, model, &folder, &[])?;
        let with = instructions(&everypath, model, &folder, &["--coverage"])?;
        let ratio = with as f64 / without.max(1) as f64;
        above += usize::from(ratio > COST_MAX);
        println!("{:<26} {without:>12} {with:>12} {ratio:>7.3}", model.name);
    }
    if above == 0 { Ok(()) } else { Err(format!("{above} searches take more than {COST_MAX} times as many instructions")) }
}

/// The instructions of a breadth-first search, without reading and translating the model.
fn instructions(everypath: &Everypath, model: &Model, folder: &Path, more: &[&str]) -> Result<u64, Failure> {
    let file = folder.join("coverage.out");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--collect-atstart=no", "--toggle-collect=search::breadth_first::search"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(&everypath.program)
        .arg("check")
        .arg(&model.path)
        .args(["--search", "bfs", "--threads", "1", "--code-first", "--only", "safety", "--json"])
        .args(["--no-por", "--no-merge", "--no-dead", "--no-unused"])
        .args(more)
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    if output.status.code() != Some(0) {
        return Err(format!("{} does not hold under valgrind: {}", model.name, String::from_utf8_lossy(&output.stderr)));
    }
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let summary = text.lines().find_map(|line| line.strip_prefix("summary: "));
    summary.and_then(|number| number.trim().parse().ok()).ok_or_else(|| format!("{} has no summary", file.display()))
}

/// For a statement with a jump after it, SPIN keeps the state to which the jump leads (`mapstate`),
/// and does not list the statement if that state is reached in another way.
const JUMPS: &str = "SPIN takes a statement for reached if the state is to which the jump behind it leads";
const OTHER_STATES: &str = "SPIN visits other states, which is what the model is about";

/// Models whose lists differ, and the reasons.
const KNOWN: &[(&str, &str)] = &[
    ("language/atomic_goto", "a line has a statement that is reached and one that no step leads to"),
    ("language/inline_return", "SPIN gives a `return` the line of the call"),
    ("beem/sorter.1", "SPIN takes the start of a `d_step` for reached because a state that it maps it to is"),
    ("progress/stop_and_wait", "the statements of a `d_step` in a macro all have the place of the macro"),
    ("beem/public_subscribe.1", JUMPS),
    ("differences/assertion_in_rendezvous", OTHER_STATES),
    ("differences/enabled_and_provided", OTHER_STATES),
    ("differences/enabled_at_else", OTHER_STATES),
    ("differences/enabled_of_itself", OTHER_STATES),
];

/// A process and a line.
type Places = BTreeSet<(String, u32)>;

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let models: Vec<Model> = if arguments.models.is_empty() {
        models::own()?.into_iter().chain(arguments.corpus.models()?).collect()
    } else {
        arguments.models.iter().map(|path| Model::at(path)).collect()
    };
    if arguments.cost {
        return cost(arguments, &models);
    }
    let (mut same, mut different, mut skipped, mut inside, mut without_code) = (0, 0, 0, 0, 0);
    for model in models.iter().filter(|model| model.is_promela()) {
        match compare(model, arguments) {
            Ok(found) => {
                inside += found.inside;
                without_code += found.without_code;
                let known = KNOWN.iter().find(|(name, _)| *name == model.name).map(|(_, why)| *why);
                if let (false, Some(why)) = (found.difference.is_empty(), known) {
                    println!("{}: {}; {why}", model.name, found.difference);
                    continue;
                }
                if found.difference.is_empty() {
                    same += 1;
                } else {
                    different += 1;
                    println!("{}: {}", model.name, found.difference);
                }
            }
            Err(why) => {
                skipped += 1;
                println!("{}: passed over, {why}", model.name);
            }
        }
    }
    println!("{same} models with the same lists, {different} with others, {skipped} passed over");
    println!("explained: {inside} lines inside a d_step in our lists alone, {without_code} lines that no step leads to in SPIN's alone");
    if different > 0 { Err(format!("{different} models differ")) } else { Ok(()) }
}

/// The result of a comparison.
struct Found {
    /// The differences, as text; empty if there is none.
    difference: String,
    /// Lines inside a `d_step` that only we list.
    inside: usize,
    /// Lines without any code that only SPIN lists.
    without_code: usize,
}

fn compare(model: &Model, arguments: &Arguments) -> Result<Found, String> {
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
    let coverage = checked.coverage.unwrap_or_default();
    let origins = origins(&program);
    let visible = visible(&program);
    let is_visible = |process: &str, at: &Position| visible.contains(&(process.to_owned(), at.line, at.column));
    let ours = places(&coverage, &origins, |process, at, told| !told.reached && is_statement(told) && is_visible(process, at));
    let inner = places(&coverage, &origins, |process, at, told| !told.reached && !is_visible(process, at));
    let code = places(&coverage, &origins, |_, _, _| true);
    let text = fs::read_to_string(&model.path).map_err(|error| error.to_string())?;
    let patience = Duration::from_secs(arguments.patience);
    let theirs = spin::ask_unreached(&text, model.path.parent(), "coverage", Compiler::quickest(), patience)?;
    let mut theirs: Places = theirs.into_iter().collect();
    let before = theirs.len();
    theirs.retain(|place| code.contains(place));
    let (inside, without_code) = (inner.difference(&ours).count(), before - theirs.len());
    let list = |a: &Places, b: &Places| a.difference(b).map(|(process, line)| format!("{process}:{line}")).collect::<Vec<_>>().join(" ");
    let difference = format!("only ours: [{}], only SPIN's: [{}]", list(&ours, &theirs), list(&theirs, &ours));
    Ok(Found { difference: if ours == theirs { String::new() } else { difference }, inside, without_code })
}

/// The positions of statements at which a process can be between two transitions.
fn visible(program: &bytecode::Verified) -> BTreeSet<(String, u32, u32)> {
    let tables = program.program();
    let mut places = BTreeSet::new();
    for (index, declared) in tables.processes.iter().enumerate() {
        let Some(ty) = bytecode::ProcessId::new(index) else { continue };
        let resting = stepgraph::resting(program, ty);
        for (&address, _) in program.locations().addresses(ty).iter().zip(resting).filter(|(_, rests)| *rests) {
            // The options of a location follow it, up to its steps.
            let mut waiting = vec![address];
            let mut seen = BTreeSet::new();
            while let Some(at) = waiting.pop() {
                let Some(op) = tables.code.get(at.index()).filter(|_| seen.insert(at)) else { continue };
                if let Some(span) = tables.span_at(at) {
                    places.insert((declared.name.clone(), span.line, span.column));
                }
                if !matches!(op, bytecode::Op::Step { .. }) {
                    waiting.extend(op.target());
                    if !op.ends_path() {
                        waiting.push(at.next());
                    }
                }
            }
        }
    }
    places
}

/// Whether SPIN would list it: it is neither the end of a process nor only a jump.
fn is_statement(told: &StatementCoverage) -> bool {
    told.text != "}" && told.text != "break" && !told.text.starts_with("goto ")
}

/// The position of the own text of a statement, if it is in an inline.
fn origins(program: &bytecode::Verified) -> Vec<((u32, u32), u32)> {
    let tables = program.program();
    let own = |span: &bytecode::Span| Some(((span.line, span.column), tables.origin_at(span.addr)?.line));
    tables.spans.iter().filter_map(own).collect()
}

/// The positions of the wanted statements.
fn places(coverage: &Coverage, origins: &[((u32, u32), u32)], wanted: impl Fn(&str, &Position, &StatementCoverage) -> bool) -> Places {
    let mut places = Places::new();
    for process in &coverage.processes {
        for statement in &process.statements {
            let Some(at) = statement.position.as_ref().filter(|at| wanted(&process.name, at, statement)) else { continue };
            let own = origins.iter().find(|(place, _)| *place == (at.line, at.column)).map(|(_, line)| *line);
            places.insert((process.name.clone(), own.unwrap_or(at.line)));
        }
    }
    places
}
