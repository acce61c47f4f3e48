//! The house rules, applied to this repository.

use std::process::Command;
use tidy::{Finding, documents, rooms, sources, tree};

fn none(findings: Vec<Finding>) {
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}

#[test]
fn crates_use_only_what_the_architecture_allows() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(tree::root())
        .output()
        .expect("cargo runs: it started this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let crates = rooms::crates(&String::from_utf8_lossy(&output.stdout)).expect("cargo's metadata");
    let document = tree::files(&tree::root(), &["ARCHITECTURE.md"]).expect("readable tree");
    assert!(!rooms::map(&document[0].text).is_empty(), "the map of rooms was not found");
    none(rooms::check(&document[0].text, &crates));
}

#[test]
fn paths_named_in_documents_exist() {
    let root = tree::root();
    let documents = tree::files(&root, &[".md"]).expect("readable tree");
    assert!(documents.iter().any(|file| file.path == "README.md"));
    let exists = |path: &str| root.join(path).exists();
    let findings = documents.iter().flat_map(|file| documents::check(&file.path, &file.text, &exists));
    none(findings.collect());
}

#[test]
fn sources_follow_the_rules() {
    let files = tree::files(&tree::root(), &[".rs"]).expect("readable tree");
    assert!(files.len() > 5, "the sources were not found");
    none(files.iter().flat_map(|file| sources::check(&file.path, &file.text)).collect());
}

#[test]
fn nothing_names_a_place_on_one_machine() {
    let endings = [".rs", ".md", ".toml", ".sh", ".pml", ".epa", ".c", ".h", ".py", "run"];
    let files = tree::files(&tree::root(), &endings).expect("readable tree");
    let findings = files.iter().flat_map(|file| sources::machine_paths(&file.path, &file.text));
    none(findings.collect());
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    let manifests = tree::files(&tree::root(), &["Cargo.toml"]).expect("readable tree");
    let ours = manifests.iter().filter(|file| file.path.starts_with("crates/") || file.path.starts_with("xtask/"));
    let findings = ours
        .filter(|file| !file.text.contains("[lints]\nworkspace = true"))
        .map(|file| Finding::new(&file.path, 1, "add `[lints]` with `workspace = true`"));
    none(findings.collect());
}

#[test]
fn ci_runs_the_commands_of_the_readme() {
    let read = |name: &str| std::fs::read_to_string(tree::root().join(name)).expect("it is there");
    let (readme, ci) = (read("README.md"), read(".ci/run"));
    let commands: Vec<&str> = readme.lines().filter(|line| line.starts_with("cargo ")).collect();
    assert_eq!(commands.len(), 2, "one command checks an example, one runs the tests");
    for command in commands {
        // What comes behind the command's own options is the same in both; CI only asks for less noise.
        let asked = command.replace("cargo run ", "cargo run --quiet ");
        assert!(ci.contains(command) || ci.contains(&asked), ".ci/run does not run `{command}`");
    }
}
