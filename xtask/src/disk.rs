//! Compares searches with their states on disk with searches in memory: the same numbers with a
//! half, a tenth and a fiftieth of the memory that the compact store needs, also of sweeps, and the
//! same answers for temporal properties; the space on disk and the time; and searches that are
//! killed at any moment and resumed.

use crate::models::{self, Corpus, Model};
use crate::processes::find;
use crate::record::{Record, median};
use crate::{Failure, disk_files};
use bytecode::Verified;
use check::{Order, Plan, Sampling, StoreKind, Surroundings};
use contract::{Limits, Outcome, Verdict};
use runs::InMemory;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The part of the compact store's memory that a search on disk gets.
const SHARES: [u64; 3] = [2, 10, 50];
/// The largest models of a quick run: larger ones need minutes.
const QUICK_STATES: u64 = 20_000;

/// The time for proposing a measure.
const PROPOSING: Duration = Duration::from_secs(5);
/// The time and memory of the search in memory; larger models are passed over.
const MOST_TIME: Duration = Duration::from_secs(20);
const MOST_MEMORY: u64 = 1 << 30;

/// `cargo xtask disk`
#[derive(clap::Args)]
pub struct Arguments {
    /// A short run, for every change: small models, few searches that are killed
    #[arg(long)]
    quick: bool,
    /// Skip models with more states
    #[arg(long, value_name = "N")]
    states: Option<u64>,
    /// Workers
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// Searches to kill and resume, with the command `everypath` [default: 100, quick: 0]
    #[arg(long, value_name = "N")]
    kills: Option<u32>,
    /// The model of the searches that are killed [default: one with a million states]
    #[arg(long, value_name = "FILE")]
    killed: Option<PathBuf>,
    /// The memory of the searches that are killed, in MiB, besides what the process itself takes
    #[arg(long, value_name = "MIB", default_value_t = 12)]
    kill_memory: u64,
    /// Also compare with files, by the command `everypath`, for every Nth model [default: 5, quick:
    /// none]
    #[arg(long, value_name = "N")]
    files: Option<usize>,
    /// Only measure the speed at a tenth of the memory, on N large models of the benchmark set
    #[arg(long, value_name = "N")]
    speed: Option<usize>,
    /// Write what is printed to FILE, too
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    corpus: Corpus,
    /// The command to test, instead of the one of this tree
    #[arg(long, value_name = "FILE")]
    everypath: Option<PathBuf>,
}

/// Runs everything; the first difference is a failure.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let most = arguments.states.unwrap_or(if arguments.quick { QUICK_STATES } else { u64::MAX });
    let mut all = arguments.corpus.models()?;
    if all.is_empty() || arguments.quick {
        all = models::examples()?;
    }
    let mut record = Record::new(arguments.record.clone());
    if let Some(count) = arguments.speed {
        let everypath = find(arguments.everypath.as_deref())?;
        disk_files::speed(&everypath, &all, count, arguments.threads, &mut record)?;
        return record.finish();
    }
    record.line("model\tstates\tshare\tbytes a state\twritten by final size\ttime by compact");
    let mut sizes = Vec::new();
    for model in &all {
        compare(model, most, arguments.threads, &mut sizes, &mut record)?;
    }
    if !sizes.is_empty() {
        record.line(format!("{} models, {:.2} bytes a state at the median", sizes.len(), median(&mut sizes)));
    }
    let kills = arguments.kills.unwrap_or(if arguments.quick { 0 } else { 100 });
    let every = arguments.files.unwrap_or(if arguments.quick { 0 } else { 5 });
    if kills > 0 || every > 0 {
        let everypath = find(arguments.everypath.as_deref())?;
        for model in all.iter().step_by(every.max(1)).take(if every > 0 { usize::MAX } else { 0 }) {
            disk_files::compare(&everypath, model, &SHARES, most, &mut record)?;
        }
        if kills > 0 {
            disk_files::kill(&everypath, arguments.killed.as_deref(), arguments.kill_memory << 20, kills, &mut record)?;
        }
    }
    record.finish()
}

fn search(program: &Arc<Verified>, plan: &Plan) -> Result<Outcome, Failure> {
    let folder = InMemory::default();
    let surroundings = Surroundings { disk: (plan.store == StoreKind::Disk).then_some(&folder as _), ..Surroundings::default() };
    check::run_in(program, plan, &surroundings).map(|checked| checked.outcome).map_err(|refusal| refusal.to_string())
}

fn numbers(outcome: &Outcome) -> (u64, u64, u64) {
    (outcome.statistics.states, outcome.statistics.transitions, outcome.statistics.depth)
}

/// Compares a model in memory and on disk. Appends the bytes per state, for models that are not
/// tiny.
fn compare(model: &Model, most: u64, threads: usize, sizes: &mut Vec<f64>, record: &mut Record) -> Result<(), Failure> {
    let program = Arc::new(model.load()?);
    let compact = Plan { order: Order::Breadth, store: StoreKind::Compact, threads, ..Plan::space() };
    let begun = Instant::now();
    // Some models have more states than any memory holds.
    let limits = Limits { time: Some(MOST_TIME), memory: Some(MOST_MEMORY), ..Limits::default() };
    let expected = search(&program, &Plan { limits, ..compact })?;
    let in_memory = begun.elapsed();
    if expected.statistics.states > most || matches!(expected.verdict, Verdict::Unknown(_)) {
        record.line(format!("{}\tpassed over, it is too large", model.name));
        return Ok(());
    }
    for share in SHARES {
        let memory = expected.statistics.store_bytes / share;
        let plan = Plan { store: StoreKind::Disk, limits: Limits { memory: Some(memory), ..Limits::default() }, ..compact };
        let begun = Instant::now();
        let found = search(&program, &plan)?;
        let time = begun.elapsed().as_secs_f64() / in_memory.as_secs_f64();
        if found.verdict != expected.verdict || numbers(&found) != numbers(&expected) {
            let (found, expected) = ((&found.verdict, numbers(&found)), (&expected.verdict, numbers(&expected)));
            return Err(format!("{}, a {share}th of the memory: {found:?}, in memory {expected:?}", model.name));
        }
        // The same verdict, and a shortest path if there is one.
        let check = |plan: Plan| search(&program, &Plan { property: Plan::check().property, only: Some(check::Only::Safety), ..plan });
        let [on_disk, in_memory] = [check(plan)?, check(compact)?].map(|outcome| match outcome.verdict {
            Verdict::Violated(violation) => {
                format!("{} after {} steps", violation.fault.kind.name(), violation.trace.steps.len())
            }
            verdict => format!("{verdict:?}"),
        });
        if on_disk != in_memory {
            return Err(format!("{}, a {share}th of the memory: {on_disk}, in memory {in_memory}", model.name));
        }
        compare_others(model, &program, memory, share, &compact)?;
        let disk = found.statistics.disk.unwrap_or_default();
        let each = disk.bytes as f64 / found.statistics.states.max(1) as f64;
        let written = disk.written as f64 / disk.bytes.max(1) as f64;
        record.line(format!("{}\t{}\t1/{share}\t{each:.2}\t{written:.1}\t{time:.1}", model.name, found.statistics.states));
        if share == 10 && found.statistics.states >= 10_000 {
            sizes.push(each);
        }
    }
    Ok(())
}

/// Compares a sweep by the best measure that is proposed, and the answers for temporal properties,
/// in memory and on disk.
fn compare_others(model: &Model, program: &Arc<Verified>, memory: u64, share: u64, compact: &Plan) -> Result<(), Failure> {
    let what = |which: &str| format!("{}, {which}, a {share}th of the memory", model.name);
    let limits = Limits { memory: Some(memory), ..Limits::default() };
    let how = Sampling { time: PROPOSING, ..Sampling::default() };
    if let Some(best) = check::propose(program, &how).into_iter().next() {
        let plan = Plan { order: Order::Sweep, measure: best.measure, threads: 1, ..*compact };
        let expected = search(&best.program, &plan)?;
        let found = search(&best.program, &Plan { store: StoreKind::Disk, limits, ..plan })?;
        // The depth is that of the paths by which states were found, and their order may differ.
        let numbers = |outcome: &Outcome| (outcome.statistics.states, outcome.statistics.transitions);
        if found.verdict != expected.verdict || numbers(&found) != numbers(&expected) {
            return Err(format!("{}: {:?}, in memory {:?}", what("a sweep"), numbers(&found), numbers(&expected)));
        }
    }
    let temporal = |plan: Plan| -> Result<Vec<(String, &'static str)>, Failure> {
        let folder = InMemory::default();
        let surroundings = Surroundings { disk: (plan.store == StoreKind::Disk).then_some(&folder as _), ..Surroundings::default() };
        let checked = check::run_in(program, &plan, &surroundings).map_err(|refusal| refusal.to_string())?;
        let verdict = |verdict: &Verdict| match verdict {
            Verdict::Holds => "holds",
            Verdict::Violated(_) => "violated",
            Verdict::Unknown(_) => "unknown",
        };
        Ok(checked.properties.iter().map(|judged| (judged.property.name.clone(), verdict(&judged.verdict))).collect())
    };
    let most = Limits { time: Some(MOST_TIME), memory: Some(MOST_MEMORY), ..Limits::default() };
    let plan = Plan { order: Order::Breadth, store: StoreKind::Compact, threads: compact.threads, limits: most, ..Plan::check() };
    let expected = temporal(plan)?;
    if expected.iter().all(|(_, verdict)| *verdict != "unknown") {
        let found = temporal(Plan { store: StoreKind::Disk, limits, ..plan })?;
        if found != expected {
            return Err(format!("{}: {found:?}, in memory {expected:?}", what("properties")));
        }
    }
    Ok(())
}
