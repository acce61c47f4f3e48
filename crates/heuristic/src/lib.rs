//! Estimates the distance of a state to a violation from the program, for directed search.
//!
//! The parts are those of HSF-SPIN (Edelkamp, Lluch Lafuente, Leue, "Directed explicit model
//! checking with HSF-SPIN", 2001, section 5). Each process type is an automaton of control
//! locations, in which the distance to a location is known (`automata`). The goal is a formula over
//! values, channels and locations (`formula`), and the number of steps until it can hold follows
//! its structure. An assertion fails if its process is at it and the asserted expression is false;
//! in a deadlock every process is at a location all of whose steps are blocked (`goals`). Terms
//! that must all hold are combined by their maximum, which gives a lower bound, or by their sum,
//! which is often nearer to the true distance but may exceed it.

#![forbid(unsafe_code)]

mod automata;
mod estimate;
mod explain;
mod formula;
mod goals;
mod steady;
mod view;

pub use estimate::{Combine, Edge, Estimator, Goal};
pub use stepgraph::TooLarge;
