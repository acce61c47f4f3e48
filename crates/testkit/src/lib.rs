//! What the tests of several crates share: oracles, and generators of programs.
//!
//! An engine is trusted because it agrees with an independent implementation. [`naive`] evaluates
//! the rules of `docs/bytecode.md` in the most obvious way; [`random`] makes programs that use
//! everything the byte-code has; [`compare`] explores such a program with both, and [`mod@shrink`]
//! reduces a program that shows a difference. [`engines`] compares two engines with each other;
//! [`rules`] tests any engine on each rule by name. [`mod@lf`] makes programs of LF and says what
//! they mean. [`models`] reads the models of the project, and [`states`] finds the first states of
//! a system.
#![forbid(unsafe_code)]

pub mod assembly;
pub mod compare;
pub mod engines;
pub mod large;
pub mod lf;
pub mod models;
pub mod naive;
pub mod promela_gen;
pub mod random;
pub mod rules;
pub mod shrink;
pub mod states;
