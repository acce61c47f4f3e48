//! How fast, and how small: states per second and bytes per state, for the models of the project.
//!
//! The whole state space is explored with nothing to check, again and again until the clock can be trusted, and the fastest run counts:
//! whatever slows a run down is not the program under test.

use crate::{Failure, root};
use bytecode::Verified;
use check::{Engine, Order, Plan, StoreKind};
use contract::{Cancel, Outcome, Quiet, Verdict};
use languages::{NoFiles, Source};
use report::text;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// `cargo xtask bench`
#[derive(clap::Args)]
pub struct Arguments {
    /// What computes successors: jit, vm
    #[arg(long, default_value_t)]
    engine: Engine,
    /// Order of the search: bfs, dfs
    #[arg(long, default_value_t)]
    search: Order,
    /// How visited states are kept
    #[arg(long, default_value_t)]
    store: StoreKind,
    /// Workers
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Seconds to spend on each model, at least one run
    #[arg(long, default_value_t = 1)]
    seconds: u64,
    /// Models; all of models/asm if none is named
    models: Vec<PathBuf>,
}

/// Explores every model and prints a table.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let models = if arguments.models.is_empty() { examples()? } else { arguments.models.clone() };
    println!(
        "{:<28} {:>12} {:>12} {:>10} {:>12} {:>12} {:>12}",
        "model", "states", "transitions", "time", "states/s", "vector", "bytes/state"
    );
    for path in models {
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let program = load(&path)?;
        let outcome = fastest(&program, arguments)?;
        let numbers = &outcome.statistics;
        let rate = numbers.states as f64 / numbers.elapsed.as_secs_f64().max(1e-9);
        // Tables begin with a certain size, so for small models this says nothing.
        let per_state = (numbers.states >= 1_000).then(|| format!("{:.1}", numbers.store_bytes as f64 / numbers.states as f64));
        println!(
            "{name:<28} {:>12} {:>12} {:>10} {:>12} {:>12} {:>12}",
            text::count(numbers.states),
            text::count(numbers.transitions),
            text::duration(numbers.elapsed),
            text::count(rate as u64),
            initial_length(&program),
            per_state.as_deref().unwrap_or("–"),
        );
    }
    Ok(())
}

/// The models of the project, by name.
fn examples() -> Result<Vec<PathBuf>, Failure> {
    let folder = root().join("models/asm");
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.sort();
    Ok(found)
}

fn load(path: &PathBuf) -> Result<Arc<Verified>, Failure> {
    let name = path.display().to_string();
    let bytes = fs::read(path).map_err(|error| format!("{name}: {error}"))?;
    let source = Source { name: &name, bytes: &bytes, defines: &[], files: &mut NoFiles };
    let loaded = languages::load(source).map_err(|rejected| source::render_all(&rejected.map, &rejected.diagnostics))?;
    Ok(Arc::new(loaded.program))
}

fn fastest(program: &Arc<Verified>, arguments: &Arguments) -> Result<Outcome, Failure> {
    let plan =
        Plan { engine: arguments.engine, order: arguments.search, store: arguments.store, threads: arguments.threads, ..Plan::space() };
    let end = Instant::now() + Duration::from_secs(arguments.seconds);
    let mut best: Option<Outcome> = None;
    loop {
        let outcome = check::run(program, &plan, &Cancel::default(), &Quiet).map_err(|refusal| refusal.to_string())?.outcome;
        if let Verdict::Unknown(reason) = &outcome.verdict {
            return Err(format!("the state space is incomplete: {reason}"));
        }
        if best.as_ref().is_none_or(|best| outcome.statistics.elapsed < best.statistics.elapsed) {
            best = Some(outcome);
        }
        if let Some(best) = best.take_if(|_| Instant::now() >= end) {
            return Ok(best);
        }
    }
}

/// The length of the initial state: what a state takes without any compression.
fn initial_length(program: &Arc<Verified>) -> String {
    let (state, _) = replay::Narrator::new(Arc::clone(program)).initial();
    state.map_or_else(|| "–".to_owned(), |state| state.len().to_string())
}
