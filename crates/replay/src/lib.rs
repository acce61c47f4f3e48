//! Byte strings back into the user's words, and proof that a trace is one.
//!
//! A search knows states as bytes and steps as pairs of numbers. This room says what they mean: the values in a state ([`view`]), the
//! statements in a step ([`Narrator`]). And it is the judge of traces: whatever engine found a violation, [`Narrator::confirm`] runs
//! its trace on the reference interpreter and accepts it only if the violation is at its end.
#![forbid(unsafe_code)]

mod moves;
mod narrator;
mod options;
mod step;
mod values;

pub use moves::Moves;
pub use narrator::{Narrator, ReplayError};
pub use options::{Choice, options};
pub use step::{LeftOut, Shown, Statement, Step};
pub use values::{Named, ProcessView, View, view};
