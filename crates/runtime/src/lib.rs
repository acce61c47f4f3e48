//! The run time: executes a program once, instead of trying all its possible runs.
//!
//! It takes the same verified byte-code as the searches. There is one state, which is changed in
//! place. A program passes through these modules:
//!
//! | module | what it is |
//! |---|---|
//! | `insn` | instructions over the slots of a frame |
//! | `code` | from byte-code to these instructions |
//! | `rests` | the resting places of processes, and what they wait for there |
//! | `pairs` | communications that only move values |
//! | `machine` | the state, and the tables of waiting processes |
//! | `execute` | one path through the code |
//! | `action` | one action, including partners: a transition of the checked graph |
//! | `quick` | the usual action, without unnecessary work |
//! | `scheduler` | the choice of the next process |
//! | `times` | periods and deadlines |
//! | `device` | the devices |
//! | `run` | the main loop |
//! | `monitor` | properties, watched during the run |
//! | `record` | the run as a trace that `everypath replay` shows |
//!
//! (Gerber, "A model checker for the LF system", 2007, section 2.2, describes the run time with
//! these rules: actions run to their end, interrupts are handled between them, and partners are
//! paired in the order in which they arrived.)

#![forbid(unsafe_code)]

mod action;
mod code;
mod device;
mod execute;
mod insn;
mod machine;
mod monitor;
mod pairs;
mod quick;
mod record;
mod rests;
mod run;
mod scheduler;
mod times;

pub use code::NotRunnable;
pub use device::{Devices, NoDevices};
pub use insn::{Array, Code, Comparison, Insn, NOWHERE, Native, Slot};
pub use monitor::{Watched, WatchedEdge};
pub use run::{RunEnd, RunFigures, RunLimits, Runner, Stuck};
pub use scheduler::{EarliestDeadline, Ready, RoundRobin, Scheduler, Shuffled};
pub use times::TimeSource;
