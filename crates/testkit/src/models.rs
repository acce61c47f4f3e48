//! The models of the project as files, and the seeds of random ones.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The folder of the models.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models")
}

/// The text of a model, by its path from the folder of the models.
///
/// # Panics
/// If there is no such text.
pub fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The names and texts of the models in a folder and in the folders inside it, by name. A name is
/// the path from the folder of the models; it ends with a dot and one of `endings`.
///
/// # Panics
/// If a folder or a file cannot be read.
pub fn texts(folder: &str, endings: &[&str]) -> Vec<(String, String)> {
    let root = root();
    let (mut found, mut open) = (Vec::new(), vec![root.join(folder)]);
    while let Some(folder) = open.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for path in entries.map(|entry| entry.expect("an entry").path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| endings.contains(&ending)) {
                let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
                let text = read(&name);
                found.push((name, text));
            }
        }
    }
    found.sort();
    found
}

/// The seeds of random programs: those in `EVERYPATH_SEEDS=from..to`, or `otherwise`.
pub fn seeds(otherwise: Range<u64>) -> Range<u64> {
    let given = std::env::var("EVERYPATH_SEEDS").ok();
    let range = given.as_deref().and_then(|text| text.split_once("..")).and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.unwrap_or(otherwise)
}
