//! The rules of `docs/bytecode.md`, tested one by one.
//!
//! Each [`Case`] names the rules it tests and fails if they are changed. Cases know an engine only
//! as a [`System`](contract::System), so the same cases test the reference interpreter, the naive
//! evaluator, its mutants (which show that the cases can fail), and every other engine.

mod bench;
mod channels;
mod choices;
mod instructions;
mod processes;
mod scheduler;
mod sequences;
mod state;

pub use bench::{Bench, Make, UnderTest, Verdict};

/// A test of one rule or a few.
#[derive(Clone, Copy)]
pub struct Case {
    /// The rules that it tests.
    pub rules: &'static [&'static str],
    /// Its name.
    pub name: &'static str,
    /// Tests an engine.
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

/// Tests an engine with all cases. Returns the failures.
pub fn failures(bench: &Bench<'_>) -> Vec<String> {
    cases()
        .filter_map(|case| (case.check)(bench).err().map(|error| format!("{} ({}): {error}", case.name, case.rules.join(", "))))
        .collect()
}
