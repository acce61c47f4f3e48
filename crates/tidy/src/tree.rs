//! The repository as a list of files. Only this module accesses the disk.
//!
//! It walks through the folder instead of asking git, because a source archive without history must
//! pass the same tests.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file of the repository.
#[derive(Clone, Debug)]
pub struct File {
    /// Path from the root, with `/` between components.
    pub path: String,
    /// The file's text.
    pub text: String,
}

/// The root of the repository, two folders above this crate.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the crate lives in a workspace")
}

/// All text files below `root` whose name ends with one of `endings`, sorted by path. Build
/// products and version control are left out.
pub fn files(root: &Path, endings: &[&str]) -> io::Result<Vec<File>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type()?;
            if kind.is_dir() {
                if !matches!(name.as_str(), "target" | ".git" | "corpus" | "artifacts") {
                    folders.push(entry.path());
                }
            } else if kind.is_file() && endings.iter().any(|ending| name.ends_with(ending)) {
                let path = entry.path();
                let relative = path.strip_prefix(root).expect("found below the root");
                found.push(File {
                    path: relative.to_string_lossy().replace('\\', "/"),
                    text: String::from_utf8_lossy(&fs::read(&path)?).into_owned(),
                });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}
