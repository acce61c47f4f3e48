//! Makes a plan from the common options.

use crate::args::EngineArguments;
use crate::memory;
use check::{Order, Plan};
use contract::Limits;
use std::thread;

/// The plan `base`, changed by the user's options.
pub fn with_options(base: Plan, arguments: &EngineArguments) -> Plan {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    Plan {
        engine: arguments.engine,
        code_first: arguments.code_first,
        order: arguments.search.unwrap_or(if arguments.measure.is_some() { Order::Sweep } else { Order::default() }),
        store: arguments.store.unwrap_or_default(),
        bit_functions: arguments.bits_functions.unwrap_or(base.bit_functions),
        bit_runs: arguments.bits_runs.unwrap_or(base.bit_runs),
        threads: arguments.threads.map_or_else(cores, usize::from),
        limits: Limits { time: arguments.time, memory: arguments.memory.or_else(memory::budget), depth: arguments.depth },
        ..base
    }
}
