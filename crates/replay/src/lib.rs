//! States and steps in the user's words, and the confirmation of traces.
//!
//! A search knows states as bytes and steps as pairs of numbers. This crate says what they mean:
//! the values in a state and the statements in a step ([`Narrator`]), for every system that
//! implements [`Words`]. It also confirms traces: whichever engine found a violation,
//! [`Narrator::confirm`] executes its trace on the reference interpreter and accepts it only if the
//! violation is at its end.
#![forbid(unsafe_code)]

mod blame;
mod conform;
mod control;
mod essential;
mod graph;
mod knot;
mod moves;
mod narrator;
mod options;
mod program;
mod requests;
mod retold;
mod step;
mod trail;
mod values;
mod waiting;
mod words;

pub use conform::{Conformance, Departure, Event};
pub use control::{Control, ControlLocation, ControlStep, control};
pub use essential::{Essential, context_switches, essential};
pub use knot::{Knot, knot};
pub use narrator::{Moves, Narrator, ReplayError};
pub use options::Choice;
pub use retold::{Relation, Retold, retell};
pub use step::{LeftOut, Shown, Statement, Step};
pub use trail::{Numbered, Trail, TrailError};
pub use values::{Datum, Elements, Long, Named, ProcessView, View};
pub use waiting::{Wait, Waiting, WaitsOn, Why};
pub use words::{NotAState, Tell, Words};
