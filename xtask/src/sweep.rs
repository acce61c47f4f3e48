//! Compares sweeps with brute force on many random graphs, and with breadth-first search on models;
//! also measures of the automaton.

use crate::Failure;
use crate::bench::child::{self, process_seconds};
use crate::models::{self, Corpus, Model};
use check::{Engine, Sampling, Subject};
use contract::{Answer, Interest, Limits, Outcome, Property, Quiet, Verdict};
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

/// What the models gave.
#[derive(Default)]
struct Summary {
    /// Models whose visited states were compared, by a proposed measure and by another one.
    proposed: u64,
    other: u64,
    /// Models with a peak under a third.
    below: u64,
    /// Monotonic, and slower than 1.5 times breadth first: those with a peak under a third, and
    /// others.
    slow: Vec<String>,
    slow_others: Vec<String>,
    wrong: Vec<String>,
    /// Not compared: too many states, no program, or the sweep took too long.
    large: Vec<String>,
    unread: Vec<String>,
    late: Vec<String>,
}

fn table(arguments: &Arguments) -> Result<(), Failure> {
    let resident = arguments.everypath.is_some();
    let more = if resident { (" MiB, of breadth first |", "---|") } else { ("", "") };
    println!("| model | states | measure | layers | peak | share | steps back | expansions | time, of breadth first |{}", more.0);
    println!("|---|---|---|---|---|---|---|---|---|{}", more.1);
    let mut summary = Summary::default();
    for model in chosen(arguments)? {
        compare(arguments, &model, &mut summary)?;
    }
    let Summary { proposed, other, below, slow, slow_others, wrong, large, unread, late } = summary;
    println!("\nThe same states as breadth first: {} models, {} other states: {wrong:?}", proposed + other, wrong.len());
    println!("{proposed} by a proposed measure, {other} by `{ANY}` because none was proposed");
    println!("peak under a third: {below}; of these monotonic and slower than 1.5 times: {slow:?}; others so: {slow_others:?}");
    println!("not compared: more than {} states or {} seconds: {large:?}", arguments.states, arguments.seconds);
    println!("not compared: the sweep was not done in time: {late:?}; no program: {unread:?}");
    if wrong.is_empty() { Ok(()) } else { Err(format!("other states than breadth first: {wrong:?}")) }
}

/// A measure that every program has. It need not be a good one: any measure visits all states.
const ANY: &str = "order(0)";

/// Compares the states that a sweep visits with those of breadth-first search. Where the measure
/// was proposed, and saves enough or is monotonic, prints a row with the times of both.
fn compare(arguments: &Arguments, model: &Model, summary: &mut Summary) -> Result<(), Failure> {
    let Ok(program) = model.load() else {
        summary.unread.push(model.name.clone());
        return Ok(());
    };
    let program = Arc::new(program);
    let limits = Limits { time: Some(Duration::from_secs(arguments.seconds)), memory: Some(4 << 30), ..Limits::default() };
    let bounded = Task { limits, states: Some(arguments.states), ..Task::default() };
    let swept = Task { states: None, ..bounded.clone() };
    let heard = Heard::default();
    let breadth = search::breadth_first(&ready(&program), &Plain::new(), &Task { property: &heard, ..bounded.clone() });
    if breadth.verdict != Verdict::Holds {
        summary.large.push(model.name.clone());
        return Ok(());
    }
    let best = check::propose(&program, &Sampling::default()).into_iter().next();
    let any = || check::measured(&program, &check::parse_measure(ANY), &[]).map_err(|error| error.to_string());
    let (measured, measure) = match &best {
        Some(best) => (Arc::clone(&best.program), best.measure),
        None => any()?,
    };
    let (atoms, system) = (measure.atoms(), ready(&measured));
    let again = Heard::default();
    let outcome = search::sweep(&system, &mut layers(), atoms, &Task { property: &again, ..swept.clone() });
    let (Verdict::Holds, Some(sweep)) = (&outcome.verdict, outcome.statistics.sweep) else {
        summary.late.push(model.name.clone());
        return Ok(());
    };
    if heard.states() != again.states() {
        summary.wrong.push(model.name.clone());
    }
    let Some(best) = best else {
        summary.other += 1;
        return Ok(());
    };
    summary.proposed += 1;
    let states = breadth.statistics.states;
    let share = sweep.peak_states as f64 / states as f64;
    let (small, monotonic) = (share < 1.0 / 3.0, sweep.regress_steps == 0);
    summary.below += u64::from(small);
    if !small && !monotonic {
        return Ok(());
    }
    let ratio = ratio(
        || search::sweep(&system, &mut layers(), atoms, &swept),
        // With the same atoms, so that both have the same program.
        || search::breadth_first(&system, &Plain::new(), &bounded),
    );
    if monotonic && ratio > 1.5 {
        if small { &mut summary.slow } else { &mut summary.slow_others }.push(model.name.clone());
    }
    let memory = arguments.everypath.as_deref().map(|program| memory(program, model, &best.text)).transpose()?;
    println!(
        "| {} | {states} | `{}` | {} | {} | {:.1} % | {} | {} | {ratio:.2} |{}",
        model.name,
        best.text,
        sweep.layers,
        sweep.peak_states,
        share * 100.0,
        sweep.regress_steps,
        sweep.expanded_states,
        memory.unwrap_or_default(),
    );
    Ok(())
}

/// The address space that one layer may use; see `check`.
const LAYER_BYTES: u64 = 1 << 38;

fn layers() -> Layers<Plain> {
    Layers::new(|| Plain::with_budget(LAYER_BYTES))
}

/// The peak resident memory of both searches as a user runs them, in a process each.
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

/// How many times as long the first takes, in seconds of the processor: the fastest of several runs
/// of each, in turn, since others may use the machine too.
fn ratio(first: impl Fn() -> Outcome, second: impl Fn() -> Outcome) -> f64 {
    let once = |run: &dyn Fn() -> Outcome| {
        let begun = process_seconds();
        run();
        (process_seconds() - begun).max(1e-9)
    };
    let (mut best, mut spent, mut rounds) = ((f64::MAX, f64::MAX), 0.0, 0);
    while rounds < 3 || rounds < 200 && spent < 1.0 {
        let (one, other) = (once(&first), once(&second));
        best = (best.0.min(one), best.1.min(other));
        spent += one + other;
        rounds += 1;
    }
    best.0 / best.1
}
