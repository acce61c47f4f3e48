//! Positions in generated C: where a program executes the statements of its text.

use crate::failure::Failure;
use crate::input;
use std::path::{Path, PathBuf};

/// The statements of a generated program: line and column in the text, and the position in C.
#[derive(Debug, Default)]
pub struct Code {
    places: Vec<(u32, u32, String)>,
}

impl Code {
    /// Reads the C files of a folder. Each step of the text has a call there that records it.
    pub fn read(folder: &Path) -> Result<Code, Failure> {
        let mut places = Vec::new();
        let files = std::fs::read_dir(folder).map_err(|error| Failure::read(folder, error))?;
        let mut files: Vec<PathBuf> = files.filter_map(|file| file.ok().map(|file| file.path())).collect();
        files.sort();
        for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "c")) {
            for (number, line) in input::text(file)?.lines().enumerate() {
                let arguments = line.split_once("EP_STEP(").or_else(|| line.split_once("ep_try_send(")).map(|(_, rest)| rest);
                let Some(arguments) = arguments.and_then(|rest| rest.rsplit_once(')').map(|(inner, _)| inner.trim_end_matches(')'))) else {
                    continue;
                };
                let mut words = arguments.rsplit(',').map(|word| word.trim().trim_end_matches(')').parse::<u32>().ok());
                if let (Some(Some(column)), Some(Some(at))) = (words.next(), words.next()) {
                    places.push((at, column, format!("{}:{}", file.display(), number + 1)));
                }
            }
        }
        Ok(Code { places })
    }

    /// The positions in C at which the statement at this line and column of the text is executed.
    pub fn at(&self, line: u32, column: u32) -> Vec<&str> {
        self.places.iter().filter(|(l, c, _)| (*l, *c) == (line, column)).map(|(_, _, place)| place.as_str()).collect()
    }
}
