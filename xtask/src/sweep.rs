//! Sweeps: against brute force on many random graphs, and against breadth-first search on models.

use crate::Failure;
use crate::models::{Corpus, Model};
use check::{Engine, Sampling, Subject};
use contract::{Answer, Interest, Limits, Outcome, Property, Quiet, Statistics, Verdict};
use search::Task;
use std::collections::HashSet;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::{Layers, Plain, hash_bytes};

/// `cargo xtask sweep`
#[derive(clap::Args)]
pub struct Arguments {
    /// Random graphs to compare with brute force
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    graphs: u64,
    /// Print the table of models instead: proposed measures, peak and time beside breadth first
    #[arg(long)]
    table: bool,
    /// Models whose names contain this; all if not given
    #[arg(long, value_name = "TEXT")]
    model: Vec<String>,
    /// Seconds for each search
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,
    /// Models with more states than this are left out
    #[arg(long, value_name = "N", default_value_t = 3_000_000)]
    states: u64,
    #[command(flatten)]
    corpus: Corpus,
}

/// Compares, or prints the table.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.table {
        return table(arguments);
    }
    let mut command = Command::new("cargo");
    command.args(["test", "--release", "-p", "search", "--test", "sweep_graphs"]).env("EVERYPATH_GRAPHS", arguments.graphs.to_string());
    let status = command.status().map_err(|error| format!("cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err("a sweep and brute force disagree".to_owned()) }
}

/// Remembers the hashes of all states it hears of.
#[derive(Default)]
struct Heard(Mutex<HashSet<u64>>);

impl Property for Heard {
    fn interest(&self) -> Interest {
        Interest { states: true, edges: false }
    }

    fn state(&self, state: &[u8]) -> Answer {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(hash_bytes(state));
        Answer::Continue
    }
}

impl Heard {
    fn states(self) -> HashSet<u64> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

fn table(arguments: &Arguments) -> Result<(), Failure> {
    println!("| model | states | measure | layers | peak | share | steps back | expansions | time, of breadth first |");
    println!("|---|---|---|---|---|---|---|---|---|");
    let (mut below, mut slow, mut wrong) = (0, Vec::new(), Vec::new());
    let wanted = |model: &Model| arguments.model.is_empty() || arguments.model.iter().any(|text| model.name.contains(text.as_str()));
    for model in arguments.corpus.models()?.iter().filter(|model| wanted(model)) {
        let Ok(program) = model.load() else { continue };
        let program = Arc::new(program);
        let limits = Limits { time: Some(Duration::from_secs(arguments.seconds)), memory: Some(4 << 30), ..Limits::default() };
        let bounded = Task { limits, states: Some(arguments.states), ..Task::default() };
        let system = ready(&program);
        let (breadth, taken) = timed(|| search::breadth_first(&system, &Plain::new(), &bounded));
        if breadth.verdict != Verdict::Holds {
            continue;
        }
        let Some(best) = check::propose(&program, &Sampling::default()).into_iter().next() else {
            println!("| {} | {} | none found | | | | | | |", model.name, breadth.statistics.states);
            continue;
        };
        let (atoms, system) = (best.measure.atoms(), ready(&best.program));
        let (swept, needed) =
            timed(|| search::sweep(&system, &mut Layers::new(Plain::new), atoms, &Task { states: None, ..bounded.clone() }));
        let (heard, again) = (Heard::default(), Heard::default());
        search::breadth_first(&system, &Plain::new(), &Task { property: &heard, ..bounded.clone() });
        search::sweep(&system, &mut Layers::new(Plain::new), atoms, &Task { property: &again, states: None, ..bounded.clone() });
        let Statistics { sweep: Some(sweep), .. } = swept.statistics else { continue };
        if swept.verdict != Verdict::Holds {
            println!("| {} | {} | `{}` | {} | | | | | not done in time |", model.name, breadth.statistics.states, best.text, sweep.layers);
            continue;
        }
        if heard.states() != again.states() {
            wrong.push(model.name.clone());
        }
        let share = sweep.peak_states as f64 / breadth.statistics.states as f64;
        let ratio = needed.as_secs_f64() / taken.as_secs_f64().max(1e-6);
        below += u64::from(share < 1.0 / 3.0);
        if sweep.regress_steps == 0 && ratio > 1.5 {
            slow.push(model.name.clone());
        }
        println!(
            "| {} | {} | `{}` | {} | {} | {:.1} % | {} | {} | {ratio:.2} |",
            model.name,
            breadth.statistics.states,
            best.text,
            sweep.layers,
            sweep.peak_states,
            share * 100.0,
            sweep.regress_steps,
            sweep.expanded_states,
        );
    }
    println!("\n{below} models with a peak under a third; monotonic but slower than 1.5 times: {slow:?}");
    if wrong.is_empty() { Ok(()) } else { Err(format!("other states than breadth first: {wrong:?}")) }
}

/// The program in native code, all of it.
fn ready(program: &Arc<bytecode::Verified>) -> Box<dyn contract::CloneSystem> {
    let mut system = program.system(Engine::default(), Arc::default(), &Quiet);
    contract::System::get_ready(&mut system, Duration::from_secs(60));
    system
}

/// The faster of two runs.
fn timed(run: impl Fn() -> Outcome) -> (Outcome, Duration) {
    let once = || {
        let begun = Instant::now();
        let outcome = run();
        (outcome, begun.elapsed())
    };
    let (first, second) = (once(), once());
    if second.1 < first.1 { second } else { first }
}
