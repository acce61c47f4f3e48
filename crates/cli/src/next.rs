//! The command that a user will want to type next.

use crate::input::Model;
use contract::Verdict;
use std::ffi::OsStr;
use std::path::Path;

/// The command to type after a check of `model`: it shows or keeps the path that was found.
pub fn command(verdict: &Verdict, model: &Model, trace: Option<&Path>) -> Option<String> {
    let from_input = model.name == "-" || std::env::args_os().any(|argument| argument == "-");
    let violation = match verdict {
        Verdict::Violated(violation) if !violation.trace.steps.is_empty() => violation,
        // Only a program has statements that could be covered.
        Verdict::Holds if !from_input && model.subject.byte_code().is_some() && !has_any(&NOT_COVERED) => {
            return Some(format!("everypath {} --coverage  # what never happened, and what holds for nothing", typed()));
        }
        _ => return None,
    };
    if let Some(trace) = trace {
        let (file, page) = (quoted(trace.as_os_str()), quoted(trace.with_extension("html").as_os_str()));
        return Some(format!("everypath replay {file} --html {page}"));
    }
    // A model from standard input cannot be read twice, and a path of one step was already shown.
    if from_input || violation.trace.steps.len() == 1 {
        return None;
    }
    let stem = Path::new(&model.name).file_stem()?;
    let file = quoted(Path::new(stem).with_extension("trace").as_os_str());
    Some(format!("everypath {} --trace {file}; everypath replay {file}", typed()))
}

/// Options with which `--coverage` is refused, and itself.
const NOT_COVERED: [&str; 6] = ["--coverage", "--resume", "--checkpoint", "--slice", "--processes", "--hosts"];

/// Whether the user has given one of these options.
fn has_any(options: &[&str]) -> bool {
    std::env::args_os().any(|argument| is_one(&argument.to_string_lossy(), options))
}

/// Whether an argument is one of these options, with its value or without.
fn is_one(argument: &str, options: &[&str]) -> bool {
    options.contains(&argument.split('=').next().unwrap_or(argument))
}

/// The command line of the user.
fn typed() -> String {
    let words: Vec<String> = std::env::args_os().skip(1).map(|argument| quoted(&argument)).collect();
    words.join(" ")
}

/// A word in the syntax of a shell.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_recognised_with_their_values() {
        assert!(is_one("--resume", &NOT_COVERED) && is_one("--resume=saved", &NOT_COVERED));
        assert!(!is_one("--resumed", &NOT_COVERED) && !is_one("resume", &NOT_COVERED));
    }

    #[test]
    fn a_shell_reads_what_was_meant() {
        assert_eq!(quoted(OsStr::new("models/a.pml")), "models/a.pml");
        assert_eq!(quoted(OsStr::new("[] p")), "'[] p'");
        assert_eq!(quoted(OsStr::new("it's")), r"'it'\''s'");
        assert_eq!(quoted(OsStr::new("")), "''");
    }
}
