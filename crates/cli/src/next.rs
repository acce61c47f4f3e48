//! The command that a user will want to type next.

use crate::args::Arguments;
use crate::input::{self, Model};
use check::Plan;
use clap::Parser;
use contract::Verdict;
use source::printable;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::OnceLock;

/// The command to type after a check of `model` by `plan`: it shows or keeps the path that was
/// found, or looks for what never happened. `several` processes may have shared the search.
pub fn command(verdict: &Verdict, model: &Model, plan: &Plan, several: bool, trace: Option<&Path>) -> Option<String> {
    if words().any(|word| !can_be_typed(&word)) {
        return None;
    }
    if let (Verdict::Violated(violation), Some(trace)) = (verdict, trace) {
        let shown = !violation.trace.steps.is_empty();
        return shown.then(|| format!("everypath replay {}", file(trace)));
    }
    // A model from standard input cannot be read twice, and a saved search may be gone.
    if model.given.is_some() || words().any(|word| input::is_standard_input(Path::new(&word)) || is_option(&word, "--resume")) {
        return None;
    }
    match verdict {
        // Only a program has statements that could be covered.
        Verdict::Holds if model.subject.byte_code().is_some() => {
            let covering = Plan { coverage: true, ..*plan };
            let possible = !plan.coverage && covering.refuse(false).is_ok() && !several && is_accepted(&["--coverage".into()]);
            possible.then(|| format!("everypath {} --coverage  # what never happened, and what holds vacuously", typed()))
        }
        // A path of one step was already shown.
        Verdict::Violated(violation) if violation.trace.steps.len() > 1 => {
            let mut trace = Path::new(Path::new(&model.name).file_stem()?).to_owned();
            trace.as_mut_os_string().push(".trace");
            if trace.as_os_str().as_encoded_bytes().first() == Some(&b'-') {
                trace = Path::new(".").join(trace);
            }
            let possible = is_accepted(&["--trace".into(), trace.clone().into_os_string()]);
            let trace = file(&trace);
            possible.then(|| format!("everypath {} --trace {trace}; everypath replay {trace}", typed()))
        }
        _ => None,
    }
}

/// Whether a user can type a word as it is shown: a name that is not text, or that has control
/// characters, cannot be shown.
fn can_be_typed(word: &OsStr) -> bool {
    word.to_str().is_some_and(|text| printable(text) == text)
}

/// Whether the command of the user is accepted with further words.
fn is_accepted(more: &[OsString]) -> bool {
    Arguments::try_parse_from(std::env::args_os().chain(more.iter().cloned())).is_ok()
}

fn is_option(word: &OsStr, option: &str) -> bool {
    word.as_encoded_bytes().strip_prefix(option.as_bytes()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"="))
}

fn words() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip(1)
}

/// The command line of the user.
pub fn typed() -> String {
    words().map(|argument| quoted(&argument)).collect::<Vec<_>>().join(" ")
}

/// The command line of the user with `--verbose`, if it gives the same answer once more: nothing
/// was read from standard input, and no seed was chosen by chance.
pub fn in_full() -> Option<&'static str> {
    static COMMAND: OnceLock<Option<String>> = OnceLock::new();
    let command = || {
        let by_chance = words().next().is_some_and(|verb| verb == "simulate") && !words().any(|word| is_option(&word, "--seed"));
        let again = !by_chance && !words().any(|word| !can_be_typed(&word) || input::is_standard_input(Path::new(&word)));
        again.then(|| format!("everypath {} --verbose", typed()))
    };
    COMMAND.get_or_init(command).as_deref()
}

/// A word in the syntax of a shell.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// The name of a file in the syntax of a shell. It is not taken for an option.
pub fn file(path: &Path) -> String {
    let is_like_option = path.as_os_str().as_encoded_bytes().first() == Some(&b'-') && !input::is_standard_input(path);
    let path = if is_like_option { Path::new(".").join(path) } else { path.to_owned() };
    printable(&quoted(path.as_os_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_what_was_meant() {
        assert_eq!(quoted(OsStr::new("models/a.pml")), "models/a.pml");
        assert_eq!(quoted(OsStr::new("[] p")), "'[] p'");
        assert_eq!(quoted(OsStr::new("it's")), r"'it'\''s'");
        assert_eq!(quoted(OsStr::new("")), "''");
        assert_eq!(file(Path::new("my model.pml")), "'my model.pml'");
        assert_eq!(file(Path::new("-m.pml")), "./-m.pml");
        assert_eq!(file(Path::new("-")), "-");
        assert_eq!(file(Path::new("a/-m.pml")), "a/-m.pml");
    }
}
