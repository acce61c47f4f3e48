//! Compares sweeps with brute force on many random graphs, and with breadth-first search on models;
//! also measures of the automaton.

use crate::Failure;
use crate::bench::child::{self, process_seconds};
use crate::models::{self, Corpus, Model};
use check::{Engine, Sampling, Subject};
use contract::{Answer, Interest, Limits, Outcome, Property, Quiet, Statistics, Verdict};
use search::{AUTOMATON, Product, Refutation, Task};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::{Layers, Plain, hash_bytes};

/// `cargo xtask sweep`
#[derive(clap::Args)]
pub struct Arguments {
    /// Random graphs to compare with brute force
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    graphs: u64,
    /// Print the table of models instead: proposed measures, peak and time compared with breadth
    /// first
    #[arg(long)]
    table: bool,
    /// The table of the project's own models: short enough for every change
    #[arg(long, conflicts_with = "table")]
    quick: bool,
    /// Print instead the effect of adding a measure of the automaton to one of the model
    #[arg(long, conflicts_with_all = ["table", "quick"])]
    products: bool,
    /// The program `everypath`: also print its peak resident memory in the table
    #[arg(long, value_name = "FILE")]
    everypath: Option<PathBuf>,
    /// Models whose names contain this [default: all]
    #[arg(long, value_name = "TEXT")]
    model: Vec<String>,
    /// Seconds for each search
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,
    /// Skip models with more states than this
    #[arg(long, value_name = "N", default_value_t = 3_000_000)]
    states: u64,
    #[command(flatten)]
    corpus: Corpus,
}

/// Compares, or prints the table.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.table || arguments.quick {
        return table(arguments);
    }
    if arguments.products {
        return products(arguments);
    }
    let mut command = Command::new("cargo");
    command.args(["test", "--release", "-p", "search", "--test", "sweep_graphs"]).env("EVERYPATH_GRAPHS", arguments.graphs.to_string());
    let status = command.status().map_err(|error| format!("cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err("a sweep and brute force disagree".to_owned()) }
}

/// Collects the hashes of all states that are reported.
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

/// The requested models.
fn chosen(arguments: &Arguments) -> Result<Vec<Model>, Failure> {
    let mut all = models::examples()?;
    if !arguments.quick {
        all.extend(arguments.corpus.models()?);
    }
    let wanted = |model: &Model| arguments.model.is_empty() || arguments.model.iter().any(|text| model.name.contains(text.as_str()));
    all.retain(wanted);
    Ok(all)
}

fn table(arguments: &Arguments) -> Result<(), Failure> {
    let resident = arguments.everypath.is_some();
    let more = if resident { (" MiB, of breadth first |", "---|") } else { ("", "") };
    println!("| model | states | measure | layers | peak | share | steps back | expansions | time, of breadth first |{}", more.0);
    println!("|---|---|---|---|---|---|---|---|---|{}", more.1);
    let (mut below, mut slow, mut wrong, mut compared) = (0, Vec::new(), Vec::new(), 0);
    for model in chosen(arguments)? {
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
            if !arguments.quick {
                println!("| {} | {} | none found | | | | | | |", model.name, breadth.statistics.states);
            }
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
        compared += 1;
        if heard.states() != again.states() {
            wrong.push(model.name.clone());
        }
        let share = sweep.peak_states as f64 / breadth.statistics.states as f64;
        let ratio = needed / taken.max(1e-6);
        below += u64::from(share < 1.0 / 3.0);
        if sweep.regress_steps == 0 && ratio > 1.5 {
            slow.push(model.name.clone());
        }
        let memory = arguments.everypath.as_deref().map(|program| memory(program, &model, &best.text)).transpose()?;
        println!(
            "| {} | {} | `{}` | {} | {} | {:.1} % | {} | {} | {ratio:.2} |{}",
            model.name,
            breadth.statistics.states,
            best.text,
            sweep.layers,
            sweep.peak_states,
            share * 100.0,
            sweep.regress_steps,
            sweep.expanded_states,
            memory.unwrap_or_default(),
        );
    }
    println!("\n{compared} models swept; {below} with a peak under a third; monotonic but slower than 1.5 times: {slow:?}");
    if wrong.is_empty() { Ok(()) } else { Err(format!("other states than breadth first: {wrong:?}")) }
}

/// The peak resident memory of both searches, each in a process of its own.
fn memory(program: &Path, model: &Model, measure: &str) -> Result<String, Failure> {
    let run = |how: &[&str]| {
        let path = model.path.display().to_string();
        let all = ["space", &path, "--store", "plain", "--threads", "1", "--json"].into_iter().chain(how.iter().copied());
        child::run(&crate::root(), program, all.map(str::to_owned)).map(|finished| finished.cost.peak as f64 / f64::from(1 << 20))
    };
    let (breadth, sweep) = (run(&["--search", "bfs"])?, run(&["--search", "sweep", "--measure", measure])?);
    Ok(format!(" {sweep:.1}, of {breadth:.1} |"))
}

/// The effect of adding a measure of the automaton to one of the model: the peak of a search for
/// accepting cycles by the model's measure alone, with the automaton after it, and with the
/// automaton before it.
fn products(arguments: &Arguments) -> Result<(), Failure> {
    println!("| model | property | product | measure | model alone | then the automaton | automaton first | automaton alone |");
    println!("|---|---|---|---|---|---|---|---|");
    let limits = Limits { time: Some(Duration::from_secs(arguments.seconds)), memory: Some(4 << 30), ..Limits::default() };
    let task = Task { limits, states: Some(arguments.states), ..Task::new(&Refutation) };
    for model in chosen(arguments)? {
        let Ok(program) = model.load() else { continue };
        let program = Arc::new(program);
        let best = check::propose(&program, &Sampling::default()).into_iter().next();
        let (program, atoms, text) = match &best {
            Some(best) => (Arc::clone(&best.program), best.measure.atoms(), best.text.as_str()),
            None => (Arc::clone(&program), &[][..], "none found"),
        };
        for stated in program.stated() {
            let Some(Ok(claim)) = program.claim(&stated) else { continue };
            let mut system = program.system(Engine::default(), Arc::clone(&claim.propositions), &Quiet);
            contract::System::get_ready(&mut system, Duration::from_secs(60));
            let product = Product::new(system, Arc::clone(&claim.buchi));
            let product = if claim.stutters { product } else { product.without_stutter() };
            let run = |measure: &[u32]| {
                let outcome = search::sweep_cycles(&product, &|state| product.is_accepting(state), measure, &task);
                (outcome.verdict == Verdict::Holds).then_some(outcome.statistics)
            };
            let peak = |measure: &[u32]| {
                let sweep = run(measure).and_then(|statistics| statistics.sweep);
                sweep.map_or_else(|| "–".to_owned(), |sweep| sweep.peak_states.to_string())
            };
            // The whole product is visited only if the property holds.
            let Some(whole) = run(&[]) else { continue };
            let (behind, before) = ([atoms, &[AUTOMATON]].concat(), [&[AUTOMATON], atoms].concat());
            println!(
                "| {} | {} | {} | `{text}` | {} | {} | {} | {} |",
                model.name,
                stated.name,
                whole.states,
                peak(atoms),
                peak(&behind),
                peak(&before),
                peak(&[AUTOMATON]),
            );
        }
    }
    Ok(())
}

/// The program, completely compiled to native code.
fn ready(program: &Arc<bytecode::Verified>) -> Box<dyn contract::CloneSystem> {
    let mut system = program.system(Engine::default(), Arc::default(), &Quiet);
    contract::System::get_ready(&mut system, Duration::from_secs(60));
    system
}

/// The fastest of three runs, in processor seconds: the machine may have other users.
fn timed(run: impl Fn() -> Outcome) -> (Outcome, f64) {
    let once = || {
        let begun = process_seconds();
        let outcome = run();
        (outcome, process_seconds() - begun)
    };
    let mut best = once();
    for _ in 0..2 {
        let next = once();
        if next.1 < best.1 {
            best = next;
        }
    }
    best
}
