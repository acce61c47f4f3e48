//! Development commands: `cargo xtask NAME`. Each module is one command; nothing here is part of
//! the product.
#![forbid(unsafe_code)]

mod avr;
mod bench;
mod conformance;
mod coverage;
mod directed;
mod disk;
mod disk_files;
mod engines;
mod ftpd;
mod fuzz;
mod install;
mod ltl;
mod models;
mod package;
mod processes;
mod processes_kills;
mod recipes;
mod record;
mod reductions;
mod scaling;
mod stress;
mod sweep;

use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Development commands of Everypath.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compare AVR instructions with simavr on random sequences
    Avr(avr::Arguments),
    /// Measure time and memory compared with SPIN: search, translation, instructions
    Bench(bench::Arguments),
    /// Compare state counts and verdicts with SPIN's: the benchmark set, random models, any model
    Conformance(conformance::Arguments),
    /// Compare the statements that are never reached with those that SPIN lists
    Coverage(coverage::Arguments),
    /// Compare directed search with breadth-first search: states visited, lengths of paths
    Directed(directed::Arguments),
    /// Compare searches with their states on disk with searches in memory, and kill and resume some
    Disk(disk::Arguments),
    /// Compare native code with the interpreter, state by state
    Engines(engines::Arguments),
    /// Run a program and report its costs
    #[command(hide = true)]
    Measure(bench::child::Arguments),
    /// Touch memory and return it, for `bench`
    #[command(hide = true)]
    RecallMemory,
    /// Try the generated FTP server: traces against the model, hostile clients, noise, throughput
    Ftpd(ftpd::Arguments),
    /// Run every fuzz target for a bounded time
    Fuzz(fuzz::Arguments),
    /// Install the program and the library for C, with its header and its `pkg-config` file
    Install(install::Arguments),
    /// Compare automata of temporal formulas with the best known sizes, and random ones with the
    /// definition
    Ltl(ltl::Arguments),
    /// Make a Debian package, or an archive with a statically linked program
    Package(package::Arguments),
    /// Compare several processes with one on the project's models: every owner function, every
    /// algorithm for cycles
    Processes(processes::Arguments),
    /// Add a toy order, store, language and command to a copy of the tree by the recipes of
    /// ARCHITECTURE.md, and compile it
    Recipes(recipes::Arguments),
    /// Compare searches with and without partial-order reduction, and verify its choices by brute
    /// force
    Reductions(reductions::Arguments),
    /// Predict how a search scales to a thousand workers, and compare with measurements
    Scaling(scaling::Arguments),
    /// Repeat searches with several workers and compare them with one; stress the lock-free stores;
    /// try the limits
    Stress(stress::Arguments),
    /// Compare sweeps with brute force on random graphs, and with breadth-first search on models
    Sweep(sweep::Arguments),
}

/// Why a command failed: a sentence for the developer who typed it.
type Failure = String;

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Avr(arguments) => avr::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Conformance(arguments) => conformance::run_command(&arguments),
        Command::Coverage(arguments) => coverage::run(&arguments),
        Command::Directed(arguments) => directed::run(&arguments),
        Command::Disk(arguments) => disk::run(&arguments),
        Command::Engines(arguments) => engines::run(&arguments),
        Command::Measure(arguments) => bench::child::measure(&arguments),
        Command::RecallMemory => bench::child::touch_memory(),
        Command::Ftpd(arguments) => ftpd::run(&arguments),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Install(arguments) => install::run(&arguments),
        Command::Ltl(arguments) => ltl::run(&arguments),
        Command::Package(arguments) => package::run(&arguments),
        Command::Processes(arguments) => processes::run(&arguments),
        Command::Recipes(arguments) => recipes::run(&arguments),
        Command::Reductions(arguments) => reductions::run(&arguments),
        Command::Scaling(arguments) => scaling::run(&arguments),
        Command::Stress(arguments) => stress::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// The repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_path_buf()
}
