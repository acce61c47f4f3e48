//! Long runs with real threads: histories on the lock-free stores, and whole searches by several
//! workers, repeatedly, whose numbers must be those of one worker every time. Also limits from the
//! point of view of a user: memory budgets that are kept, a model twenty million steps deep.

use crate::bench::ours::Everypath;
use crate::models::{self, Corpus, Model};
use crate::{Failure, root};
use bytecode::Verified;
use check::{Only, Order, Plan, StoreKind};
use contract::{Cancel, Limits, Outcome, Quiet, Verdict};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

/// Ten models of ten thousand to half a million states, with and without violations, with and
/// without rendezvous.
const MODELS: [&str; 10] = [
    "anderson.4",
    "bridge.1",
    "elevator_planning.1",
    "fischer.2",
    "iprotocol.2",
    "lamport_nonatomic.2",
    "msmie.3",
    "peterson.2",
    "protocols.3",
    "sorter.5",
];
/// Models too large for their budgets.
const LARGE: [&str; 3] = ["at.4", "iprotocol.3", "schedule_world.2"];
const BUDGETS_MIB: [u64; 2] = [48, 128];
/// The orders and stores for several workers; each repetition takes the next.
const WAYS: [(Order, StoreKind); 6] = [
    (Order::Breadth, StoreKind::Plain),
    (Order::Breadth, StoreKind::Compact),
    (Order::Breadth, StoreKind::Auto),
    (Order::DepthShared, StoreKind::Plain),
    (Order::DepthShared, StoreKind::Compact),
    (Order::Breadth, StoreKind::Hashes),
];

/// `cargo xtask stress`
#[derive(clap::Args)]
pub struct Arguments {
    /// A short run, for every change: two repetitions and a few histories, without the parts that
    /// need minutes
    #[arg(long)]
    quick: bool,
    /// Searches of each model to compare with that of one worker [default: 100, quick: 2]
    #[arg(long, value_name = "N")]
    repeat: Option<u32>,
    /// Workers
    #[arg(long, value_name = "N", default_value_t = 2)]
    threads: usize,
    /// Histories on each store [default: 200, quick: 10]
    #[arg(long, value_name = "N")]
    histories: Option<u64>,
    /// Also check that budgets are kept on three large models, and search a model twenty million
    /// steps deep
    #[arg(long)]
    limits: bool,
    #[command(flatten)]
    corpus: Corpus,
    /// The command to test for `--limits`, instead of the one of this tree
    #[arg(long, value_name = "FILE")]
    everypath: Option<PathBuf>,
}

/// Runs everything; the first difference is a failure.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let begun = Instant::now();
    let histories = arguments.histories.unwrap_or(if arguments.quick { 10 } else { 200 });
    let report = store::stress(histories, arguments.threads.max(4), 20_000, 1).map_err(|failure| failure.to_string())?;
    println!(
        "stores: {} histories, {} insertions, nothing lost and nothing twice; {:.1} s",
        report.histories,
        report.insertions,
        begun.elapsed().as_secs_f64()
    );
    let repeat = arguments.repeat.unwrap_or(if arguments.quick { 2 } else { 100 });
    let corpus = arguments.corpus.models()?;
    let mut models = named(&corpus, &MODELS);
    if models.is_empty() {
        models = models::examples()?;
    }
    for model in &models {
        repeat_model(model, repeat, arguments.threads)?;
    }
    if arguments.limits {
        let everypath = Everypath::new(arguments.everypath.as_deref(), &[])?;
        for model in named(&corpus, &LARGE) {
            for budget in BUDGETS_MIB {
                keep_budget(&everypath, &model, budget)?;
            }
        }
        go_deep(&everypath)?;
    }
    Ok(())
}

fn named(corpus: &[Model], names: &[&str]) -> Vec<Model> {
    corpus.iter().filter(|model| names.iter().any(|name| model.name.ends_with(&format!("/{name}")))).cloned().collect()
}

/// The values that must be the same in every search of a model: states, transitions, verdict.
type Essence = (u64, u64, String);

fn essence(outcome: &Outcome) -> Essence {
    let verdict = match &outcome.verdict {
        Verdict::Holds => "holds".to_owned(),
        Verdict::Violated(violation) => format!("violated: {}", violation.fault.kind.name()),
        Verdict::Unknown(reason) => format!("unknown: {}", reason.name()),
    };
    (outcome.statistics.states, outcome.statistics.transitions, verdict)
}

fn repeat_model(model: &Model, repeat: u32, threads: usize) -> Result<(), Failure> {
    let begun = Instant::now();
    let program = Arc::new(model.load()?);
    let one_space = search(&program, &Plan::space())?;
    // The question for several workers below: temporal properties have searches of their own.
    let one_check = search(&program, &Plan { only: Some(Only::Safety), ..Plan::check() })?;
    let (states, transitions, _) = essence(&one_space);
    let (_, _, verdict) = essence(&one_check);
    for number in 0..repeat {
        let (order, store) = WAYS[number as usize % WAYS.len()];
        // Small enough that the `auto` store becomes compact on some models.
        let limits = Limits { memory: (store == StoreKind::Auto).then_some(16 << 20), ..Limits::default() };
        let several = Plan { order, store, threads, limits, ..Plan::space() };
        let differs = |what: String| format!("{}, repetition {number}, {order}, {store}: {what}", model.name);
        let found = essence(&search(&program, &several)?);
        if (found.0, found.1) != (states, transitions) {
            let (many, steps, why) = found;
            return Err(differs(format!("{many} states and {steps} transitions, with one worker {states} and {transitions} ({why})")));
        }
        let check = Plan { property: Plan::check().property, only: Some(Only::Safety), ..several };
        let (_, _, found) = essence(&search(&program, &check)?);
        // A lossy store does not say *holds*; everything else must be the same.
        let same = found == verdict || !store.is_exact() && verdict == "holds" && found == "unknown: lossy-store";
        // Which of several violations is found first is random if the order is not breadth-first.
        let both_violated = order == Order::DepthShared && found.starts_with("violated") && verdict.starts_with("violated");
        if !same && !both_violated {
            return Err(differs(format!("{found}, with one worker {verdict}")));
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{}: {states} states, {transitions} transitions, {verdict}; {repeat} repetitions with {threads} workers agree; {seconds:.1} s",
        model.name
    );
    Ok(())
}

fn search(program: &Arc<Verified>, plan: &Plan) -> Result<Outcome, Failure> {
    check::run(program, plan, &Cancel::default(), &Quiet).map(|checked| checked.outcome).map_err(|refusal| refusal.to_string())
}

fn call(everypath: &Everypath, arguments: &[&str]) -> Result<Value, Failure> {
    let output = Command::new(&everypath.program).args(arguments).arg("--json").output().map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{}: {error}", arguments.join(" ")))
}

const MIB: f64 = (1 << 20) as f64;

fn keep_budget(everypath: &Everypath, model: &Model, budget: u64) -> Result<(), Failure> {
    let (path, size) = (model.path.display().to_string(), format!("{budget}M"));
    for store in ["plain", "compact"] {
        let json = call(everypath, &["space", &path, "--store", store, "--memory", &size])?;
        let number = |key: &str| json[key].as_f64().unwrap_or(f64::NAN);
        let peak = number("peak_memory_bytes") / MIB;
        let end = json["reason"].as_str().unwrap_or("complete");
        println!(
            "{}, {store}, budget {budget} MiB: peak {peak:.1} MiB ({:.1} store, {:.1} search), {} states, {end}",
            model.name,
            number("store_peak_bytes") / MIB,
            number("search_bytes") / MIB,
            number("states"),
        );
        if peak.is_nan() || peak > budget as f64 {
            return Err(format!("{}: the budget of {budget} MiB was not kept", model.name));
        }
    }
    Ok(())
}

/// A counter to twenty million, depth first, in a quarter of the memory that its stack would take.
fn go_deep(everypath: &Everypath) -> Result<(), Failure> {
    let path = root().join("target/twenty-million.pml");
    let text = "int n;\nactive proctype Count() { do :: n < 20000000 -> n++ :: else -> break od }\n";
    std::fs::create_dir_all(root().join("target")).and_then(|()| std::fs::write(&path, text)).map_err(|error| error.to_string())?;
    let begun = Instant::now();
    let json = call(everypath, &["check", &path.display().to_string(), "--search", "dfs", "--store", "compact", "--memory", "512M"])?;
    let _ = std::fs::remove_file(&path);
    let peak = json["peak_memory_bytes"].as_f64().unwrap_or(f64::NAN) / MIB;
    println!("a counter: {}, depth {}, peak {peak:.1} MiB, {:.1} s", json["verdict"], json["depth"], begun.elapsed().as_secs_f64());
    if json["verdict"] != "holds" || json["depth"].as_u64() < Some(20_000_000) || peak > 512.0 {
        return Err(format!("a model twenty million deep was not searched: {json}"));
    }
    Ok(())
}
