//! `cargo xtask ftpd`: the FTP server of `examples/ftpd`, generated, built and tried: random
//! sessions whose traces must be paths of the model, many clients, hostile ones, a fuzz campaign,
//! and throughput beside vsftpd and proftpd.

mod client;
mod fuzz;
mod hostile;
mod record;
mod server;
mod sessions;
mod throughput;

use crate::Failure;
use crate::bench::ours::Everypath;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Options of `cargo xtask ftpd`.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
    /// The command that generates the server, instead of the one of this tree
    #[arg(long, value_name = "FILE", global = true)]
    everypath: Option<PathBuf>,
    /// Keep what was found in a file of `bench/runs`
    #[arg(long, global = true)]
    save: bool,
}

#[derive(Subcommand)]
enum What {
    /// Random sessions with tracing on; each must be a path of the model
    Sessions {
        /// How many
        #[arg(long, default_value_t = 1000)]
        count: u64,
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Many clients at once, malformed commands, half-open connections, slow readers, a full disk
    Hostile {
        /// Clients at once
        #[arg(long, default_value_t = 200)]
        clients: usize,
    },
    /// Random and broken commands against a server with checks of memory and arithmetic
    Fuzz {
        /// For how long
        #[arg(long, default_value_t = 3600)]
        seconds: u64,
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Throughput of retrieval beside vsftpd and proftpd
    Bench {
        /// Retrievals of each file from each server
        #[arg(long, default_value_t = 10)]
        runs: usize,
        /// Leave out files above this many megabytes
        #[arg(long, default_value_t = 1024)]
        most: u64,
    },
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let everypath = Everypath::new(arguments.everypath.as_deref(), &[])?;
    let built = |checks| server::Built::new(&everypath.program, checks);
    let mut record = record::Record::new(match arguments.what {
        What::Sessions { .. } => "sessions",
        What::Hostile { .. } => "hostile",
        What::Fuzz { .. } => "fuzz",
        What::Bench { .. } => "bench",
    });
    match arguments.what {
        What::Sessions { count, seed } => sessions::run(&built(false)?, &everypath.program, count, seed, &mut record),
        What::Hostile { clients } => hostile::run(&built(false)?, clients, &mut record),
        What::Fuzz { seconds, seed } => fuzz::run(&built(true)?, seconds, seed, &mut record),
        What::Bench { runs, most } => throughput::run(&built(false)?, runs, most, &mut record),
    }?;
    if arguments.save {
        record.keep()?;
    }
    record.result()
}
