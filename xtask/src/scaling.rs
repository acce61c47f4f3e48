//! A simulation of one to a thousand workers: the actors of the distributed search over real
//! models, with a clock that counts the costs of a network; and, for comparison, measurements for
//! as many processes as this machine can start.

use crate::models::Model;
use crate::processes::{answer, find};
use crate::record::Record;
use crate::{Failure, root};
use check::{Engine, Owner, Subject};
use contract::{CloneSystem, Quiet};
use distribute::{Costs, Owners, Predicted, Thrift, predict};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

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
    /// Write what is printed to FILE, too
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
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

/// The part of the time of a search that is spent with new states, and not with steps. Models
/// differ little in the number of steps of a state, so the division hardly matters.
const FOR_STATES: f64 = 0.3;
/// The number of exchanges that are measured.
const EXCHANGES: u32 = 2000;

/// Measures the costs of this machine: those of states and steps by the actors of the search
/// themselves, on this model, with one worker; those of packing by the additional time of two
/// workers in one thread; those of messages by a connection on loopback.
fn calibrate(system: &dyn CloneSystem) -> Result<Costs, Failure> {
    let none = Costs { state: 0.0, step: 0.0, packed: 0.0, message: 0.0, byte: 0.0, latency: 0.0 };
    let timed = |workers: usize| {
        let run = || {
            let begun = Instant::now();
            let predicted = predict(system, workers, &Owners::new(workers, None), Thrift::default(), 0, &none);
            (begun.elapsed().as_secs_f64(), predicted.traffic)
        };
        (0..3).map(|_| run()).min_by(|one, other| one.0.total_cmp(&other.0)).ok_or_else(|| "nothing was measured".to_owned())
    };
    let ((alone, traffic), (shared, sent)) = (timed(1)?, timed(2)?);
    let states = traffic.states_by_worker.iter().sum::<u64>().max(1) as f64;
    // A state is packed by its sender and unpacked by its receiver.
    let packed = (shared - alone).max(0.0) / (2 * sent.sent.max(1)) as f64;
    let (message, byte) = loopback().map_err(|error| format!("the loopback interface: {error}"))?;
    let step = alone * (1.0 - FOR_STATES) / traffic.steps.max(1) as f64;
    Ok(Costs { state: alone * FOR_STATES / states, step, packed, message, byte, latency: 2.0 * message })
}

/// The seconds for a small message, and for a byte of a large one.
fn loopback() -> io::Result<(f64, f64)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut near = TcpStream::connect(listener.local_addr()?)?;
    let (mut far, _) = listener.accept()?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let echo = std::thread::spawn(move || -> io::Result<()> {
        let mut head = [0; 4];
        let mut body = Vec::new();
        loop {
            if far.read_exact(&mut head).is_err() {
                return Ok(());
            }
            body.resize(u32::from_le_bytes(head) as usize, 0);
            far.read_exact(&mut body)?;
            far.write_all(&[1])?;
        }
    });
    let mut exchange = |bytes: usize| -> io::Result<f64> {
        let body = vec![7; bytes];
        let begun = Instant::now();
        for _ in 0..EXCHANGES {
            near.write_all(&(bytes as u32).to_le_bytes())?;
            near.write_all(&body)?;
            near.read_exact(&mut [0])?;
        }
        Ok(begun.elapsed().as_secs_f64() / f64::from(EXCHANGES))
    };
    let (small, large) = (exchange(8)?, exchange(1 << 15)?);
    drop(near);
    echo.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
    Ok((small / 2.0, (large - small).max(0.0) / f64::from(1 << 15)))
}

/// Prints a table for each model.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut record = Record::new(arguments.record.clone());
    let own = ["chains/peterson_n.pml", "chains/snoop.pml", "chains/transfer.pml"];
    let models: Vec<PathBuf> = if arguments.models.is_empty() {
        own.iter().map(|path| root().join("models/promela").join(path)).collect()
    } else {
        arguments.models.clone()
    };
    for path in models {
        let model = Model::at(&path);
        let program = Arc::new(model.load()?);
        let system = program.system(Engine::default(), Arc::default(), &Quiet);
        record.line(format!("\n## {}\n", model.name));
        let here = calibrate(&*system)?;
        let nano = |seconds: f64| seconds * 1e9;
        record.line(format!(
            "Measured on this machine, in nanoseconds: {:.0} a state, {:.0} a step, {:.0} to pack or unpack a state, {:.0} a message, {:.2} a \
             byte on loopback.\n",
            nano(here.state),
            nano(here.step),
            nano(here.packed),
            nano(here.message),
            nano(here.byte)
        ));
        record.line(
            "| owner | workers | states | seconds | speedup | cross steps | deviation | states sent | messages | MiB sent | MiB a worker |",
        );
        record.line("|---|---|---|---|---|---|---|---|---|---|---|");
        let costs = Costs { byte: arguments.byte, latency: arguments.latency, ..here };
        for &owner in &arguments.owners {
            let mut alone = None;
            for &workers in &arguments.workers {
                let owners = Owners::new(workers, check::part_of(owner, &program));
                let Predicted { seconds, traffic, memory, .. } =
                    predict(&*system, workers, &owners, Thrift::default(), arguments.batch, &costs);
                let first = *alone.get_or_insert(seconds);
                record.line(format!(
                    "| {owner} | {workers} | {} | {seconds:.3} | {:.1} | {:.1} % | {:.1} % | {} | {} | {:.1} | {:.2} |",
                    traffic.states_by_worker.iter().sum::<u64>(),
                    first / seconds,
                    traffic.cross_share() * 100.0,
                    traffic.load_deviation() * 100.0,
                    traffic.sent,
                    traffic.parcels,
                    traffic.bytes as f64 / (1 << 20) as f64,
                    memory as f64 / (1 << 20) as f64,
                ));
            }
        }
        if arguments.measured {
            measure(arguments, &path, &*system, &program, &here, &mut record)?;
        }
    }
    record.finish()
}

/// Measures 1, 2 and 4 processes beside the predictions.
fn measure(
    arguments: &Arguments,
    path: &std::path::Path,
    system: &dyn CloneSystem,
    program: &Arc<bytecode::Verified>,
    costs: &Costs,
    record: &mut Record,
) -> Result<(), Failure> {
    let everypath = find(arguments.everypath.as_deref())?;
    let name = path.display().to_string();
    record.line("\n| owner | processes | measured | predicted | ratio |\n|---|---|---|---|---|");
    for &owner in &arguments.owners {
        let text = owner.to_string();
        for processes in [1, 2, 4] {
            let count = processes.to_string();
            let call = ["space", &name, "--threads", "1", "--code-first", "--owner", &text, "--processes", &count];
            let times = (0..3).filter_map(|_| answer(&everypath, &call)).filter_map(|answer| answer["seconds"].as_f64());
            let measured = times.fold(f64::MAX, f64::min);
            let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
            let owners = Owners::new(processes, check::part_of(owner, program));
            let predicted = predict(system, processes, &owners, Thrift::default(), 0, costs);
            // More processes than cores take turns.
            let turns = (processes as f64 / cores).max(1.0);
            let seconds = predicted.seconds * turns;
            record.line(format!("| {owner} | {processes} | {measured:.3} | {seconds:.3} | {:.2} |", measured / seconds));
        }
    }
    Ok(())
}
