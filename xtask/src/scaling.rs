//! A simulation of one to a thousand workers: the actors of the distributed search over real
//! models, with a clock that counts the costs of a network; and, for comparison, measurements for
//! as many processes as this machine can start.

use crate::models::Model;
use crate::processes::{answer, find};
use crate::{Failure, root};
use check::{Engine, Owner, Subject};
use contract::Quiet;
use distribute::{Costs, Owners, Predicted, Thrift, predict};
use std::path::PathBuf;
use std::sync::Arc;

/// `cargo xtask scaling`
#[derive(clap::Args)]
pub struct Arguments {
    /// The models [default: three of the project's own]
    models: Vec<PathBuf>,
    /// Numbers of workers
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16, 64, 256, 1000])]
    workers: Vec<usize>,
    /// Owner functions
    #[arg(long, value_name = "PART", value_delimiter = ',', default_values_t = [Owner::State, Owner::Process(1)])]
    owners: Vec<Owner>,
    /// Seconds for a byte on the connection of a worker [default: 1 Gbit/s]
    #[arg(long, default_value_t = 8e-9)]
    byte: f64,
    /// Seconds for the end of a round, for each doubling of the number of workers
    #[arg(long, default_value_t = 100e-6)]
    latency: f64,
    /// Bytes of a message; 0 for the default
    #[arg(long, default_value_t = 0)]
    batch: usize,
    /// Compare with measurements of 1, 2 and 4 processes
    #[arg(long)]
    measured: bool,
    /// The command to measure, instead of the one next to this program
    #[arg(long, value_name = "FILE")]
    everypath: Option<PathBuf>,
}

/// The assumed costs of a worker on loopback: guesses of the right order of magnitude, not
/// measurements. Compare with `--measured`.
const STATE: f64 = 60e-9;
const STEP: f64 = 140e-9;
const PACKED: f64 = 45e-9;
const MESSAGE: f64 = 12e-6;

/// Prints a table for each model.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let own = ["models/promela/chains/peterson_n.pml"];
    let models: Vec<PathBuf> =
        if arguments.models.is_empty() { own.iter().map(|path| root().join(path)).collect() } else { arguments.models.clone() };
    for path in models {
        let model = Model::at(&path);
        let program = Arc::new(model.load()?);
        let system = program.system(Engine::default(), Arc::default(), &Quiet);
        println!("\n## {}\n", model.name);
        println!(
            "| owner | workers | states | seconds | speedup | cross steps | deviation | states sent | messages | MiB sent | MiB a worker |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|");
        let costs = Costs { state: STATE, step: STEP, packed: PACKED, message: MESSAGE, byte: arguments.byte, latency: arguments.latency };
        for &owner in &arguments.owners {
            let mut alone = None;
            for &workers in &arguments.workers {
                let owners = Owners::new(workers, check::part_of(owner, &program));
                let Predicted { seconds, traffic, memory, .. } =
                    predict(&*system, workers, &owners, Thrift::default(), arguments.batch, &costs);
                let first = *alone.get_or_insert(seconds);
                println!(
                    "| {owner} | {workers} | {} | {seconds:.3} | {:.1} | {:.1} % | {:.1} % | {} | {} | {:.1} | {:.2} |",
                    traffic.states_by_worker.iter().sum::<u64>(),
                    first / seconds,
                    traffic.cross_share() * 100.0,
                    traffic.load_deviation() * 100.0,
                    traffic.sent,
                    traffic.parcels,
                    traffic.bytes as f64 / (1 << 20) as f64,
                    memory as f64 / (1 << 20) as f64,
                );
            }
        }
        if arguments.measured {
            measure(arguments, &path, &*system, &program)?;
        }
    }
    Ok(())
}

/// Measures 1, 2 and 4 processes, and predicts 2 and 4 from the time of one.
fn measure(
    arguments: &Arguments,
    path: &std::path::Path,
    system: &dyn contract::CloneSystem,
    program: &Arc<bytecode::Verified>,
) -> Result<(), Failure> {
    let everypath = find(arguments.everypath.as_deref())?;
    let name = path.display().to_string();
    println!("\n| owner | processes | measured | predicted | ratio |\n|---|---|---|---|---|");
    for &owner in &arguments.owners {
        let text = owner.to_string();
        let mut scale = 1.0;
        for processes in [1, 2, 4] {
            let count = processes.to_string();
            let call = ["space", &name, "--threads", "1", "--code-first", "--owner", &text, "--processes", &count];
            let times = (0..3).filter_map(|_| answer(&everypath, &call)).filter_map(|answer| answer["seconds"].as_f64());
            let measured = times.fold(f64::MAX, f64::min);
            // On one machine the connections are memory, and sending is already counted as packing.
            let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
            let costs = Costs { state: STATE, step: STEP, packed: PACKED, message: MESSAGE, byte: 0.2e-9, latency: 60e-6 };
            let owners = Owners::new(processes, check::part_of(owner, program));
            let predicted = predict(system, processes, &owners, Thrift::default(), 0, &costs);
            // More processes than cores take turns.
            let turns = (processes as f64 / cores).max(1.0);
            if processes == 1 {
                scale = measured / predicted.seconds;
            }
            let seconds = predicted.seconds * turns * scale;
            println!("| {owner} | {processes} | {measured:.3} | {seconds:.3} | {:.2} |", measured / seconds);
        }
    }
    Ok(())
}
