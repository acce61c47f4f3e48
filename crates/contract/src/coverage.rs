//! Which parts of a model a search has seen.
//!
//! A model that holds may hold because part of it never ran. Coverage says which statements were
//! executed, and which were not although a process was there.

use crate::fault::Position;

/// The coverage of a model by a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Each type of process, in the order of the model.
    pub processes: Vec<ProcessCoverage>,
    /// Whether every reachable state was visited, so that a statement that is not covered cannot be
    /// executed.
    pub complete: bool,
    /// Whether orders of independent steps were left out, so that a statement that is not covered
    /// may still be reachable.
    pub reduced: bool,
    /// Signs that a property says less than it seems to, one sentence each.
    pub vacuous: Vec<String>,
}

/// The coverage of the processes of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessCoverage {
    /// The name of the type.
    pub name: String,
    /// Whether any process of this type existed.
    pub started: bool,
    /// Its statements, in the order of the text.
    pub statements: Vec<StatementCoverage>,
}

/// The coverage of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementCoverage {
    /// Its position.
    pub position: Option<Position>,
    /// The statement as the user wrote it.
    pub text: String,
    /// Whether a process could have executed it next, if its guard had allowed.
    pub reached: bool,
    /// Whether it was executed.
    pub executed: bool,
}

impl Coverage {
    /// How many statements there are, and how many of them were executed.
    pub fn executed(&self) -> (usize, usize) {
        let all = || self.processes.iter().flat_map(|process| &process.statements);
        (all().count(), all().filter(|statement| statement.executed).count())
    }
}
