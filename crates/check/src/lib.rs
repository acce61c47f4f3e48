//! Combines the parts of a check: a [`Plan`] says what to do, and [`run()`] builds the parts that
//! it names and runs them.
//!
//! This is the only crate that matches on options. It chooses once, dynamically, and everything
//! inside runs on concrete types. It also confirms traces: a violation that a search has found is
//! reported only if the reference interpreter finds it too.
#![forbid(unsafe_code)]

mod advice;
mod causal;
mod choice;
mod claim;
mod counted;
mod coverage;
mod ctl;
mod distributed;
mod edges;
mod events;
mod explore;
mod guide;
mod improve;
mod joint;
mod marker;
mod measure;
mod passes;
mod plan;
mod probe;
mod property;
mod propose;
mod race;
mod reach;
mod reduced;
mod run;
mod saved;
mod series;
mod shorter;
mod spread;
mod stores;
mod subject;
mod switches;
mod table;
mod temporal;
mod vacuity;
mod witness;

pub use ::measure::parse as parse_measure;
pub use advice::{advice, check_advice, graph_advice};
pub use causal::causal;
pub use choice::{Choosable, UnknownName};
pub use claim::{Claim, NotChecked, Refuted};
pub use ctl::{Ctl, CtlForm, CtlWitness};
pub use distributed::{Crew, Errand, Host, LevelFiles, Levels, Reply, fragment_name, fragments, part_of, refuse_several, serve};
pub use edges::{EdgeSink, run_with_edges};
pub use explore::{Exploration, explore};
pub use guide::{Guidance, Guide};
pub use improve::{Improved, improve};
pub use measure::{Measure, NoMeasure, expression_of, has_form_inside, measured};
pub use optimise::{Applied, Cut, Passes};
pub use passes::Shrunk;
pub use plan::{Engine, Fair, Only, Plan, Por};
pub use probe::Probe;
pub use propose::{Proposal, Sampling, propose};
pub use reach::{Reach, reach};
pub use reduced::Reduced;
pub use run::{Checked, Refusal, ResumeError, Surroundings, resume, run, run_in};
pub use runs::{FileReader, FileWriter, Folder};
pub use saved::Saved;
pub use search::{Blocks, CheckpointError, Checkpoints, Spill};
pub use spread::{FarCycles, FarStart, Owner, Spread};
pub use store::return_freed_memory;
pub use subject::{Enclosed, Selected, Subject, same_behaviour};
pub use switches::{FewestSwitches, fewest_switches};
pub use table::{Cycles, Order, StoreKind};
pub use witness::{ShownRun, witness};
