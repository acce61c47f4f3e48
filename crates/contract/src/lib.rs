//! The seam of the model checker: everything that a system under test, a state store, a search, a
//! reduction and a property must know of each other, and nothing more.
//!
//! The first decision is that a *state is a byte string* and a step writes whole byte strings into
//! a reused buffer ([`Successors`]). Everything else follows: a store needs no knowledge of
//! programs, a search needs no knowledge of stores, a state can be written to disk or sent to
//! another machine as it is, and a toy graph of ten nodes is a [`System`] like compiled code.
//!
//! The second decision is *one value per worker, with shared parts behind it*: a [`System`] value
//! holds the scratch space of one worker and shares an immutable program; a [`Store`] is shared and
//! gives each worker its own [`StoreWorker`]. So a search can become parallel without changes to
//! any other part.
//!
//! This crate deliberately contains no algorithms, files, printing or time limits. Only the random
//! toy systems for tests use another crate.

#![forbid(unsafe_code)]

mod coverage;
mod effort;
mod fault;
mod heuristic;
mod outcome;
mod property;
mod proposition;
mod reduction;
mod roles;
mod stated;
mod store;
mod successors;
mod system;
pub mod testing;
mod trace;

pub use coverage::{Coverage, ProcessCoverage, StatementCoverage};
pub use effort::{Effort, Enough};
pub use fault::{Fault, FaultCode, Position, UNSUPPORTED, ViolationKind};
pub use heuristic::{Blind, FAR, Heuristic};
pub use outcome::{
    BitArray, Cancel, Disk, Guided, Limits, Observer, Omission, Outcome, Profile, Progress, Quiet, Share, Statistics, StopReason, Sweep,
    Traffic, Verdict, Violation,
};
pub use property::{Answer, Edge, Finding, Interest, NoProperty, Property, Safety};
pub use proposition::{PROPOSITIONS_MAX, Proposition};
pub use reduction::{FullExpansion, LeftOut, Reduction, by_source};
pub use roles::{Annotated, Budgeted, Layered, Marks, NotRestored, Saveable, Stop};
pub use stated::{Judged, PropertyKind, Stated};
pub use store::{Fresh, Inserted, StateId, Store, StoreFull, StoreWorker};
pub use successors::{Action, EntryLayout, Mark, Room, Successor, Successors};
pub use system::{CloneSystem, System};
pub use trace::{Trace, TraceError, TraceStep};
