//! Where the parts meet: a [`Plan`] says what to do, [`run()`] builds the parts it names and drives them to an answer.
//!
//! This is the only crate that matches on options. It chooses once, dynamically, and everything inside runs on concrete types. And it
//! is the gate for traces: what a search calls a violation becomes one only when the reference interpreter agrees.
#![forbid(unsafe_code)]

mod advice;
mod edges;
mod plan;
mod probe;
mod property;
mod run;
mod saved;
mod series;
mod stores;

pub use advice::{advice, graph_advice};
pub use edges::{EdgeSink, run_with_edges};
pub use plan::{Engine, Only, Order, Plan, StoreKind, UnknownName};
pub use probe::Probe;
pub use run::{Checked, Refusal, ResumeError, Surroundings, resume, run, run_in};
pub use saved::{Saved, same_behaviour};
pub use search::{Blocks, CheckpointError, Checkpoints, Spill};
