//! The rules of `docs/bytecode.md`, asked one by one.
//!
//! Each [`Case`] cites the rules it is about and fails if they are changed. Cases know an engine only as a
//! [`System`](contract::System), so the same cases are asked of the reference interpreter, of the naive evaluator, of its mutants, which show
//! that the cases can fail, and of every engine to come.

mod bench;
mod channels;
mod choices;
mod instructions;
mod processes;
mod scheduler;
mod sequences;
mod state;

pub use bench::{Bench, Loaded, Make, Verdict};

/// A question about one rule or a few.
#[derive(Clone, Copy)]
pub struct Case {
    /// The rules it is about.
    pub rules: &'static [&'static str],
    /// Its name.
    pub name: &'static str,
    /// Asks an engine.
    pub check: fn(&Bench<'_>) -> Verdict,
}

/// A case named after its function.
macro_rules! case {
    ($($rule:literal)+ => $check:ident) => {
        crate::rules::Case { rules: &[$($rule),+], name: stringify!($check), check: $check }
    };
}
use case;

/// All cases.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    [state::CASES, instructions::CASES, choices::CASES, processes::CASES, channels::CASES, scheduler::CASES, sequences::CASES]
        .into_iter()
        .flatten()
}

/// Asks an engine everything, and gives what it failed.
pub fn failures(bench: &Bench<'_>) -> Vec<String> {
    cases()
        .filter_map(|case| (case.check)(bench).err().map(|error| format!("{} ({}): {error}", case.name, case.rules.join(", "))))
        .collect()
}
