//! File names as the user sees them: relative to the working folder.
//!
//! A model keeps the names under which its files were found. A trace is often read from another
//! folder, so the trace file contains the path from its own folder to the folder to which those
//! names are relative. If the files still exist, their names are shown relative to the working
//! folder.

use std::env;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// A path as it is shown: normalised, and relative to the working folder if it is inside it.
pub fn shown(path: &Path) -> String {
    let tidy = without_detours(path);
    let here = env::current_dir().ok();
    let below = here.as_deref().and_then(|here| tidy.strip_prefix(here).ok()).filter(|below| !below.as_os_str().is_empty());
    below.unwrap_or(&tidy).to_string_lossy().into_owned()
}

/// The path from the folder of the file `trace` to the working folder; `None` if they have only the
/// root in common.
pub fn way_here(trace: &Path) -> Option<String> {
    let here = fs::canonicalize(".").ok()?;
    let way = relative(&folder_of(trace)?, &here)?;
    Some(way.to_string_lossy().into_owned())
}

/// The name, relative to the working folder, of a file that the trace file `trace` calls `name`, if
/// the file exists. Names in the trace are relative to the folder `way`, which is relative to that
/// of the trace.
pub fn seen_from_here(trace: &Path, way: &str, name: &str) -> Option<String> {
    if Path::new(name).is_absolute() {
        return Path::new(name).is_file().then(|| shown(Path::new(name)));
    }
    let file = fs::canonicalize(folder_of(trace)?.join(way).join(name)).ok().filter(|file| file.is_file())?;
    let here = fs::canonicalize(".").ok()?;
    Some(relative(&here, &file).unwrap_or(file).to_string_lossy().into_owned())
}

fn folder_of(file: &Path) -> Option<PathBuf> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::canonicalize(folder).ok()
}

/// The relative path from one folder to another path, both normalised; `None` if they have only the
/// root in common.
fn relative(from: &Path, to: &Path) -> Option<PathBuf> {
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let rooted = from.components().take(common).any(|part| matches!(part, Component::Normal(_)));
    if !rooted && from != to {
        return None;
    }
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    Some(up.chain(to.components().skip(common)).collect())
}

/// The path without `.` and `folder/..`.
pub fn without_detours(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match (part, tidy.components().next_back()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => drop(tidy.pop()),
            (part, _) => tidy.push(part),
        }
    }
    if tidy.as_os_str().is_empty() { path.to_owned() } else { tidy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short() {
        for (path, expected) in [
            ("m.pml", "m.pml"),
            ("./m.pml", "m.pml"),
            ("a/../m.pml", "m.pml"),
            ("a/./b/../m.pml", "a/m.pml"),
            ("../m.pml", "../m.pml"),
            (".", "."),
        ] {
            assert_eq!(shown(Path::new(path)), expected);
        }
        let here = env::current_dir().expect("a folder");
        assert_eq!(shown(&here.join("sub/m.pml")), "sub/m.pml");
        assert_eq!(shown(Path::new("/nowhere/m.pml")), "/nowhere/m.pml");
    }

    #[test]
    fn ways_lead_from_folder_to_folder() {
        let way = |from: &str, to: &str| relative(Path::new(from), Path::new(to)).map(|way| way.to_string_lossy().into_owned());
        assert_eq!(way("/a/b", "/a/c/d"), Some("../c/d".to_owned()));
        assert_eq!(way("/a/b", "/a/b"), Some(String::new()));
        assert_eq!(way("/a", "/b"), None);
    }
}
