//! Checks a model and prints the path to a violation, if there is one: `cargo run --example check
//! -- MODEL`. Without a model it checks a built-in one.

use everypath::{Error, Plan, Program, Verdict};
use std::process::ExitCode;

/// Two clients that take two locks in different orders.
const MODEL: &str = "
bool a, b;
active proctype First()  { atomic { !a -> a = true }; atomic { !b -> b = true }; a = false; b = false }
active proctype Second() { atomic { !b -> b = true }; atomic { !a -> a = true }; a = false; b = false }
";

fn main() -> ExitCode {
    let (name, contents) = match std::env::args_os().nth(1).map(std::path::PathBuf::from) {
        Some(path) => match std::fs::read(&path) {
            Ok(contents) => (path.display().to_string(), contents),
            Err(error) => {
                eprintln!("{}: {error}", path.display());
                return ExitCode::from(2);
            }
        },
        None => ("locks.pml".to_owned(), MODEL.as_bytes().to_vec()),
    };
    match check(&name, &contents) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn check(name: &str, contents: &[u8]) -> Result<u8, Error> {
    let program = Program::load(name, contents)?;
    let checked = program.check(&Plan::usual())?;
    println!("{} states, {} transitions", checked.outcome.statistics.states, checked.outcome.statistics.transitions);
    match checked.outcome.verdict {
        Verdict::Holds => {
            println!("holds");
            Ok(0)
        }
        Verdict::Violated(violation) => {
            println!("violated: {}", violation.fault.message);
            for step in &checked.steps {
                println!("  {}", step.label());
            }
            Ok(1)
        }
        Verdict::Unknown(reason) => {
            println!("unknown: {reason}");
            Ok(3)
        }
    }
}
