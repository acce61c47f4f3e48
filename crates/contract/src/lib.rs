//! The seam of the model checker: what a system under test, a state store, a search, a reduction and a property must know of
//! each other, and nothing more.
//!
//! The big decision here is that a *state is a byte string* and a step produces whole byte strings into a reused buffer
//! ([`Successors`]). Everything else follows: a store needs no idea of programs, a search needs no idea of stores, a state can be
//! written to disk or sent to another machine as it is, and a toy graph of ten nodes is as good a [`System`] as compiled code.
//!
//! The second decision is *one value per worker, shared parts behind it*: a [`System`] value holds the scratch space of one worker
//! and shares an immutable program; a [`Store`] is shared and hands each worker its own [`StoreWorker`]. A search therefore becomes
//! parallel without any other part noticing.
//!
//! What is deliberately absent: algorithms, files, printing, time-outs of its own, and any dependency.

#![forbid(unsafe_code)]

mod effort;
mod fault;
mod outcome;
mod property;
mod reduction;
mod stated;
mod store;
mod successors;
mod system;
pub mod testing;
mod trace;
mod written;

pub use effort::{Effort, Enough};
pub use fault::{Fault, FaultCode, FaultKind, Position};
pub use outcome::{BitArray, Cancel, Limits, Observer, Omission, Outcome, Progress, Quiet, Statistics, StopReason, Verdict, Violation};
pub use property::{Answer, Edge, Finding, Interest, NoProperty, Property, Safety};
pub use reduction::{FullExpansion, Reduction, Selection};
pub use stated::{Judged, PropertyKind, Stated};
pub use store::{Inserted, NotRestored, StateId, Stop, Store, StoreFull, StoreWorker};
pub use successors::{Action, Mark, Room, Successor, Successors};
pub use system::System;
pub use trace::{Trace, TraceError, TraceStep};
pub use written::Written;
