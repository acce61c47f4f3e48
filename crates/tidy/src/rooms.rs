//! Dependencies go one way. The map of rooms in `ARCHITECTURE.md` is the rule; this module compares
//! it with the dependencies that `cargo metadata` reports.
//!
//! The map is a table, one row for each room, in the order in which values flow: a room may use
//! only rooms above its own row, and only those that its row names. A second table names libraries
//! that only a few rooms may use. Dependencies of tests are free: an oracle may use anything.

use crate::Finding;
use serde_json::Value;
use std::collections::BTreeMap;

const DOCUMENT: &str = "ARCHITECTURE.md";

/// A row of the map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// The crate's name.
    pub name: String,
    /// The rooms it may use.
    pub may_use: Vec<String>,
    /// Line in the document.
    pub line: usize,
}

/// The dependencies of a crate outside its tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crate {
    /// The crate's name.
    pub name: String,
    /// Other crates of the workspace.
    pub rooms: Vec<String>,
    /// Crates from outside the workspace.
    pub libraries: Vec<String>,
}

/// The crates of the workspace, from the JSON text that `cargo metadata --no-deps` prints.
pub fn crates(metadata: &str) -> Result<Vec<Crate>, String> {
    let metadata: Value = serde_json::from_str(metadata).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("no packages in the metadata")?;
    let names: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let mut found = Vec::new();
    for package in packages {
        let name = package["name"].as_str().ok_or("a package without a name")?;
        let dependencies = package["dependencies"].as_array().ok_or("a package without dependencies")?;
        let used = dependencies
            .iter()
            .filter(|dependency| dependency["kind"].as_str() != Some("dev"))
            .filter_map(|dependency| dependency["name"].as_str());
        let (rooms, libraries) = used.map(str::to_owned).partition(|used| names.contains(&used.as_str()));
        found.push(Crate { name: name.to_owned(), rooms, libraries });
    }
    Ok(found)
}

/// The rows of the map of rooms: the table whose head begins with `Room`.
pub fn map(document: &str) -> Vec<Room> {
    rows(document, "Room").map(|(line, name, last)| Room { name, may_use: last, line }).collect()
}

/// The table of libraries that only a few rooms may use: its head begins with `Library`.
pub fn kept(document: &str) -> BTreeMap<String, Vec<String>> {
    rows(document, "Library").map(|(_, name, rooms)| (name, rooms)).collect()
}

/// The rows of a table: line number, the code word of the first column, the code words of the last.
fn rows(document: &str, title: &str) -> impl Iterator<Item = (usize, String, Vec<String>)> {
    let mut inside = false;
    let mut found = Vec::new();
    for (index, line) in document.lines().enumerate() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        if !line.starts_with('|') {
            inside = false;
        } else if cells[0] == title {
            inside = true;
        } else if inside && cells[0].starts_with('`') {
            let names = words(cells[0]);
            let last = words(cells[cells.len() - 1]);
            found.extend(names.into_iter().map(|name| (index + 1, name, last.clone())));
        }
    }
    found.into_iter()
}

fn words(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Compares the crates with the document.
pub fn check(document: &str, crates: &[Crate]) -> Vec<Finding> {
    let rooms = map(document);
    let kept = kept(document);
    let mut findings = Vec::new();
    for (index, room) in rooms.iter().enumerate() {
        if !crates.iter().any(|krate| krate.name == room.name) {
            let message = format!("the map names `{}`, which is not a crate", room.name);
            findings.push(Finding::new(DOCUMENT, room.line, message));
        }
        for used in &room.may_use {
            if !rooms[..index].iter().any(|above| above.name == *used) {
                let message = format!("`{}` may use `{used}`, which is not above it", room.name);
                findings.push(Finding::new(DOCUMENT, room.line, message));
            }
        }
    }
    for krate in crates {
        let manifest = format!("crates/{}/Cargo.toml", krate.name);
        let Some(room) = rooms.iter().find(|room| room.name == krate.name) else {
            let message = format!("`{}` has no row in the map of {DOCUMENT}", krate.name);
            findings.push(Finding::new(&manifest, 1, message));
            continue;
        };
        for used in krate.rooms.iter().filter(|used| !room.may_use.contains(used)) {
            let message = format!("`{}` must not use `{used}`: see the map in {DOCUMENT}", krate.name);
            findings.push(Finding::new(&manifest, 1, message));
        }
        for library in &krate.libraries {
            if kept.get(library).is_some_and(|rooms| !rooms.contains(&krate.name)) {
                let message = format!("`{library}` is kept out of `{}`: see {DOCUMENT}", krate.name);
                findings.push(Finding::new(&manifest, 1, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "\
| Room | What | May use |
|---|---|---|
| `low` | a | – |
| `high` | b | `low` |

| Library | Why | Only in |
|---|---|---|
| `clap` | c | `high` |
";

    fn metadata(low: &str, high: &str) -> Vec<Crate> {
        let package = |name: &str, used: &str| format!(r#"{{"name":"{name}","dependencies":[{used}]}}"#);
        let text = format!(r#"{{"packages":[{},{}]}}"#, package("low", low), package("high", high));
        crates(&text).expect("well-formed metadata")
    }

    #[test]
    fn the_way_down_is_allowed() {
        let used = r#"{"name":"low","kind":null},{"name":"clap","kind":null}"#;
        let tests = r#"{"name":"high","kind":"dev"}"#;
        assert_eq!(check(DOCUMENT, &metadata(tests, used)), Vec::new());
    }

    #[test]
    fn the_way_up_is_not() {
        let findings = check(DOCUMENT, &metadata(r#"{"name":"high","kind":null}"#, ""));
        assert_eq!(findings.len(), 1, "{findings:?}");
        let findings = check(DOCUMENT, &metadata(r#"{"name":"clap","kind":null}"#, ""));
        assert_eq!(findings.len(), 1, "{findings:?}");
    }

    #[test]
    fn map_and_crates_name_the_same_rooms() {
        let one = [metadata("", "").remove(0)];
        assert_eq!(check(DOCUMENT, &one).len(), 1);
        let unlisted = DOCUMENT.replace("| `high` | b | `low` |\n", "");
        assert_eq!(check(&unlisted, &metadata("", "")).len(), 1);
        let backwards = DOCUMENT.replace("| `low` | a | – |", "| `low` | a | `high` |");
        assert_eq!(check(&backwards, &metadata("", "")).len(), 1);
    }
}
