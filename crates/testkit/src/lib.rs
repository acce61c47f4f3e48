//! What the tests of several crates share: oracles, and the programs they are asked about.
//!
//! An engine is trusted because it agrees with something that was written apart from it. [`naive`] evaluates the rules of `docs/bytecode.md`
//! in the most obvious way; [`random`] makes programs that use everything the byte-code has; [`compare`] explores such a program with both and
//! [`mod@shrink`] makes a program that shows a difference small. [`engines`] compares two engines with each other; [`rules`] asks any engine
//! about each rule by name.
#![forbid(unsafe_code)]

pub mod assembly;
pub mod compare;
pub mod engines;
pub mod large;
pub mod naive;
pub mod promela_gen;
pub mod random;
pub mod rules;
pub mod shrink;
