//! Oracles and generators of programs that the tests of several crates share.
//!
//! An engine is trusted because it agrees with an independent implementation. [`naive`] evaluates
//! the rules of `docs/bytecode.md` in the most obvious way; [`random`] generates programs that use
//! every feature of the byte-code; [`compare`] explores such a program with both, and
//! [`mod@shrink`] reduces a program that shows a difference. [`engines`] compares two engines with
//! each other; [`rules`] tests any engine on each rule by name. [`mod@lf`] generates LF programs
//! and evaluates them. [`models`] reads the models of the project, [`states`] finds the first
//! states of a system, [`in_parallel`] uses all processors, and [`passed_over`] reports tests that
//! cannot run.
#![forbid(unsafe_code)]

pub mod assembly;
pub mod compare;
pub mod engines;
pub mod large;
pub mod lf;
pub mod models;
pub mod naive;
mod parallel;
mod passed_over;
pub mod promela_gen;
pub mod random;
pub mod rules;
pub mod shrink;
pub mod states;

pub use parallel::in_parallel;
pub use passed_over::passed_over;
