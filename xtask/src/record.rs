//! What a campaign prints, kept in a file if one is wanted.

use crate::Failure;
use std::path::PathBuf;

/// Lines that are printed as they come.
pub struct Record {
    text: String,
    path: Option<PathBuf>,
}

impl Record {
    /// A record that is written to a file at the end, if there is one.
    pub fn new(path: Option<PathBuf>) -> Record {
        Record { text: String::new(), path }
    }

    /// Adds a line.
    pub fn line(&mut self, text: impl AsRef<str>) {
        println!("{}", text.as_ref());
        self.text.push_str(text.as_ref());
        self.text.push('\n');
    }

    /// Writes the file.
    pub fn finish(self) -> Result<(), Failure> {
        let Some(path) = self.path else { return Ok(()) };
        std::fs::write(&path, self.text).map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// The value in the middle; 0 if there is none.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
