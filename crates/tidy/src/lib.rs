//! The rules of the project as code, so that reviewers need not remember them.
//!
//! Each rule is a function from text to findings and does not use the disk, so that a small example
//! can show that it fails. `tests/repository.rs` runs all of them on this repository. The idea
//! comes from TigerBeetle and rust-analyzer: rules that are not checked are soon broken.
#![forbid(unsafe_code)]

pub mod documents;
pub mod exports;
pub mod recipes;
pub mod rooms;
pub mod sources;
pub mod tree;

use std::fmt;

/// A breach of a rule: its position, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Path from the repository's root.
    pub path: String,
    /// Line, counted from one.
    pub line: usize,
    /// What is wrong, in a sentence that also says what would be right.
    pub message: String,
}

impl Finding {
    /// A finding at a line of a file.
    pub fn new(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}
