//! Everypath as a library: load a concurrent program, look at its states, or have all of them checked.
//!
//! ```
//! use everypath::{Plan, Program, Verdict};
//!
//! # let text = include_bytes!("../../../models/asm/peterson.epa");
//! let program = Program::load("peterson.epa", text)?;
//!
//! // One step at a time: states are byte strings, steps are told in the words of the source.
//! let initial = program.initial()?;
//! for step in program.successors(&initial)? {
//!     println!("{}", step.label());
//! }
//!
//! // Or everything at once.
//! let checked = program.check(&Plan::check())?;
//! assert_eq!(checked.outcome.verdict, Verdict::Holds);
//! # Ok::<(), everypath::Error>(())
//! ```
//!
//! A state is complete in itself: it can be kept in a file and continued in another process. Whoever writes a search of their own
//! takes [`Program::system`]: the same successors without words, into a buffer that is used again and again.
//!
//! A program that includes other files is read with [`Program::load_with`], which gets them from [`Includes`] or whatever else implements
//! [`Files`]. `examples/` has a small program for each of these uses.
//!
//! Two kinds of types: [`Program`], [`Cancel`] and [`Successors`] are handles, which have methods and no fields; all others are plain data,
//! whose contents are fields. A method of plain data computes something that is not there as a field.
//!
//! Nothing here prints, reads files or ends the process, and no input makes it panic: whatever is wrong with a program, a state or a
//! plan is an [`Error`].
#![forbid(unsafe_code)]

mod error;
mod includes;
mod program;

pub use error::Error;
pub use includes::Includes;
pub use program::Program;

pub use check::{Checked, Engine, Only, Order, Plan, Probe, Refusal, StoreKind, UnknownName};
pub use contract::{
    Action, Cancel, Fault, FaultKind, Judged, Limits, Observer, Outcome, Position, Progress, PropertyKind, Quiet, Safety, Stated,
    Statistics, StopReason, Successors, System, Trace, TraceStep, Verdict, Violation,
};
pub use languages::Files;
pub use replay::{Choice, Named, ProcessView, ReplayError, Statement, Step, View};
