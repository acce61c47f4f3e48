//! Tests that cannot run on this machine say so, even though they pass.
//!
//! The test harness captures what the macros print and shows it only if a test fails. So the
//! message goes to the standard error of the process itself. `.ci/run` names a file in which the
//! messages are collected, and shows and counts them at the end.

use std::fs::OpenOptions;
use std::io::Write;

/// The environment variable with the name of the file in which the messages are collected.
const FILE: &str = "EVERYPATH_PASSED_OVER";

/// Says that the test that calls this is passed over, in whole or in part, and why.
pub fn passed_over(why: &str) {
    let thread = std::thread::current();
    // A reason may be the output of a program. A test has one line.
    let why: String = why.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect();
    let line = format!("passed over, {why}: {}\n", thread.name().unwrap_or("a test"));
    // A message that cannot be shown does not make a test fail.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(file) = std::env::var_os(FILE) {
        // One call appends a line as a whole, even if several tests do so.
        let _ = OpenOptions::new().create(true).append(true).open(file).and_then(|mut file| file.write_all(line.as_bytes()));
    }
}
