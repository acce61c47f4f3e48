//! Names of files as the user sees them: relative to the folder the user is in.
//!
//! A model keeps the names under which its files were found when it was read. A trace is often looked at from elsewhere, so its file says
//! how to get from its own folder to the one those names start from; if the files are still there, they are shown as seen from here.

use std::env;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// A path as it is shown: without detours, and relative to the working folder if it lies below it.
pub fn shown(path: &Path) -> String {
    let tidy = without_detours(path);
    let here = env::current_dir().ok();
    let below = here.as_deref().and_then(|here| tidy.strip_prefix(here).ok()).filter(|below| !below.as_os_str().is_empty());
    below.unwrap_or(&tidy).to_string_lossy().into_owned()
}

/// How to get from the folder of the file `trace` to the working folder; nothing if there is no way but from the root.
pub fn way_here(trace: &Path) -> Option<String> {
    let here = fs::canonicalize(".").ok()?;
    let way = relative(&folder_of(trace)?, &here)?;
    Some(way.to_string_lossy().into_owned())
}

/// What a file that is called `name` in the trace file `trace` is called from here, if it is there. The names start from the folder that is
/// `way` from that of the trace.
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

/// The way from one folder to another place, both without detours; nothing if they have only the root in common.
fn relative(from: &Path, to: &Path) -> Option<PathBuf> {
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let rooted = from.components().take(common).any(|part| matches!(part, Component::Normal(_)));
    if !rooted && from != to {
        return None;
    }
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    Some(up.chain(to.components().skip(common)).collect())
}

/// The path with `.` and `folder/..` left out, which is how people write it.
fn without_detours(path: &Path) -> PathBuf {
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
