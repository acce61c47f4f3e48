//! `everypath worker`: a process of a rank other than 0, started by the process of rank 0.

use super::Asks;
use crate::failure::Failure;
use crate::{Exit, team};
use clap::Args;

/// `everypath worker`
#[derive(Debug, Args)]
pub struct Arguments {
    /// The address of the process of rank 0
    #[arg(long, value_name = "HOST:PORT")]
    pub leader: String,
    /// The rank of this process
    #[arg(long, value_name = "I")]
    pub rank: u32,
}

impl Asks for Arguments {
    fn json(&self) -> bool {
        false
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    team::work_for(&arguments.leader, arguments.rank)?;
    Ok(Exit::Fine)
}
