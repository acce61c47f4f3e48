//! What the tests of several crates share: oracles and the programs they are asked about.
//!
//! An engine is trusted because it agrees with something that was written apart from it. [`naive`] evaluates the rules of `docs/bytecode.md`
//! in the most obvious way.
#![forbid(unsafe_code)]

pub mod naive;
pub mod text;
