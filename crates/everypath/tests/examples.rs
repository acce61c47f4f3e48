//! The examples work: cargo builds them before the tests, and the tests run them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The path of an example, derived from the path of a test.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let folder = test.parent().and_then(Path::parent).expect("tests are in a folder of their own");
    folder.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

fn run(name: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, .. } = Command::new(example(name)).args(arguments).output().expect("the example was built");
    (status.code(), String::from_utf8(stdout).expect("text"))
}

#[test]
fn check() {
    let (code, out) = run("check", &[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("violated: no process can move") && out.contains("First(0): "), "{out}");
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/promela/classic/dekker.pml");
    let (code, out) = run("check", &[&model.to_string_lossy()]);
    assert_eq!((code, out.as_str()), (Some(0), "134 states, 226 transitions\nholds\n"));
    assert_eq!(run("check", &["missing.pml"]).0, Some(2));
}

#[test]
fn own_search() {
    let (code, out) = run("own_search", &[]);
    assert_eq!(code, Some(0), "{out}");
    let total = out.lines().last().and_then(|line| line.split(' ').next()).and_then(|number| number.parse::<u64>().ok());
    let levels = out.lines().filter_map(|line| line.split_once(": ")?.1.split(' ').next()?.parse::<u64>().ok());
    assert_eq!(Some(levels.sum()), total, "{out}");
}

#[test]
fn includes() {
    let (code, out) = run("includes", &[]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("queue!i") && out.contains("may end here: "), "{out}");
}
