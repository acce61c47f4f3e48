//! Compares several processes with one: the same numbers and verdicts on the project's models, with
//! every owner function, every beginning and every algorithm for cycles, and with every algorithm
//! for cycles together with every owner function.

use crate::models::Corpus;
use crate::record::Record;
use crate::{Failure, processes_kills, root};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `cargo xtask processes`
#[derive(clap::Args)]
pub struct Arguments {
    /// A short run, for every change: every tenth model, two and three processes
    #[arg(long)]
    quick: bool,
    /// Skip models with more states than this
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    states: u64,
    /// Use only every Nth model
    #[arg(long, value_name = "N")]
    every: Option<usize>,
    /// Only kill processes at random, N times in all, and resume the searches
    #[arg(long, value_name = "N", conflicts_with = "speed")]
    kills: Option<u32>,
    /// Only measure two processes beside two threads, on N large models of the benchmark set
    #[arg(long, value_name = "N")]
    speed: Option<usize>,
    /// Write what is printed to FILE, too
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    corpus: Corpus,
    /// The command to test, instead of the one next to this program
    #[arg(long, value_name = "FILE")]
    everypath: Option<PathBuf>,
}

const OWNERS: [&[&str]; 7] = [
    &["--owner", "state"],
    &["--owner", "counters"],
    &["--owner", "process:0"],
    &["--owner", "process:1"],
    &["--lookahead", "--remember", "16"],
    &["--start", "one"],
    &["--start", "all", "--lookahead"],
];
/// The owner functions come first; searches for cycles have no other beginnings.
const CYCLE_OWNERS: usize = 4;
const CYCLES: [&str; 5] = ["auto", "young", "predecessors", "levels", "dependencies"];

/// Runs everything; differences are counted and printed.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let everypath = find(arguments.everypath.as_deref())?;
    let mut record = Record::new(arguments.record.clone());
    if let Some(kills) = arguments.kills {
        processes_kills::kill(&everypath, kills, &mut record)?;
        return record.finish();
    }
    if let Some(count) = arguments.speed {
        processes_kills::speed(&everypath, &arguments.corpus.models()?, count, &mut record)?;
        return record.finish();
    }
    let mut models = Vec::new();
    collect(&root().join("models"), &mut models);
    models.sort();
    let every = arguments.every.unwrap_or(if arguments.quick { 10 } else { 1 });
    let processes: &[&str] = if arguments.quick { &["2", "3"] } else { &["1", "2", "3", "4"] };
    let (mut compared, mut skipped, mut different) = (0, 0, 0);
    for (index, model) in models.iter().step_by(every).enumerate() {
        let name = model.display().to_string();
        let alone = answer(&everypath, &["space", &name, "--time", "20s"]);
        let Some(alone) = alone.filter(|alone| alone["complete"] == true && alone["states"].as_u64() <= Some(arguments.states)) else {
            skipped += 1;
            continue;
        };
        let mut differs = |what: &str, one: &Value, other: &Value| {
            different += 1;
            record.line(format!("different: {name}: {what}: {one} alone, {other}"));
        };
        let checked = answer(&everypath, &["check", &name, "--time", "20s"]).unwrap_or_default();
        for (turn, &count) in processes.iter().enumerate() {
            for (which, owner) in OWNERS.iter().enumerate() {
                if arguments.quick && (index + turn + which) % 5 != 0 {
                    continue;
                }
                let mut call = vec!["space", &name, "--threads", "1", "--processes", count];
                call.extend(*owner);
                let shared = answer(&everypath, &call).unwrap_or_default();
                // A process that never exists owns nothing, which is refused.
                if owner.last() == Some(&"process:1") && shared["error"].is_string() {
                    continue;
                }
                for number in ["states", "transitions", "depth"] {
                    if shared[number] != alone[number] {
                        differs(&format!("{number} with {count} processes, {}", owner.join(" ")), &alone[number], &shared[number]);
                    }
                }
                compared += 1;
            }
            // Only models with temporal properties look for cycles.
            let own = checked["properties"].as_array().is_some_and(|all| all.iter().any(|property| property["search"].is_string()));
            let owners = if own { &OWNERS[..CYCLE_OWNERS] } else { &OWNERS[..1] };
            for (which, (cycles, owner)) in CYCLES.iter().flat_map(|cycles| owners.iter().map(move |owner| (cycles, owner))).enumerate() {
                if arguments.quick && (index + turn + which) % 5 != 0 {
                    continue;
                }
                let mut call =
                    vec!["check", &name, "--threads", "1", "--processes", count, "--distributed-cycles", cycles, "--time", "60s"];
                call.extend(*owner);
                let shared = answer(&everypath, &call).unwrap_or_default();
                if owner.last() == Some(&"process:1") && shared["error"].is_string() {
                    continue;
                }
                let cycles = format!("{cycles}, {}", owner.join(" "));
                if shared["verdict"] != checked["verdict"] {
                    differs(&format!("verdict with {count} processes, {cycles}"), &checked["verdict"], &shared["verdict"]);
                }
                let lists = (checked["properties"].as_array(), shared["properties"].as_array());
                if let (Some(one), Some(other)) = lists {
                    for (one, other) in one.iter().zip(other) {
                        if one["verdict"] != other["verdict"] && checked["verdict"] != "violated" {
                            differs(&format!("{} with {count} processes, {cycles}", one["name"]), &one["verdict"], &other["verdict"]);
                        }
                    }
                }
                compared += 1;
            }
        }
    }
    record.line(format!("{compared} comparisons, {different} different, {skipped} models left out"));
    record.finish()?;
    if different == 0 { Ok(()) } else { Err(format!("{different} differences")) }
}

/// The command next to this one.
pub fn find(given: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = given {
        return std::path::absolute(path).map_err(|error| error.to_string());
    }
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let release = root().join("target/release/everypath");
    let beside = this.with_file_name("everypath");
    [release, beside].into_iter().find(|path| path.exists()).ok_or_else(|| "build it first: cargo build --release -p cli".to_owned())
}

fn collect(folder: &Path, models: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, models);
        } else if path.extension().is_some_and(|ending| ["pml", "epa", "lf", "aut"].iter().any(|known| ending == *known)) {
            models.push(path);
        }
    }
}

/// The JSON answer of a call.
pub fn answer(everypath: &Path, call: &[&str]) -> Option<Value> {
    let output = Command::new(everypath).args(call).arg("--json").output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}
