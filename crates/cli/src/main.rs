//! The command `everypath`: arguments in, files read, an answer printed, an exit code.
//!
//! Everything that decides anything lives in the rooms below; here are only the things a library must not do. An answer is printed
//! with [`say`], which does not mind a reader that has gone away.
#![forbid(unsafe_code)]

mod args;
mod checkpoint;
mod commands;
mod engine;
mod failure;
mod input;
mod interrupt;
mod memory;
mod output;
mod progress;
mod quantity;
mod session;
mod spill;

use args::{Arguments, Command};
use clap::Parser;
use contract::Verdict;
use failure::Failure;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

/// What a command that did its work tells the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    /// The property holds, or the command did its work.
    Fine = 0,
    /// The property is violated.
    Violated = 1,
    /// The input or the call is wrong.
    Wrong = 2,
    /// The answer is unknown.
    Unknown = 3,
}

impl From<&Verdict> for Exit {
    fn from(verdict: &Verdict) -> Exit {
        match verdict {
            Verdict::Holds => Exit::Fine,
            Verdict::Violated(_) => Exit::Violated,
            Verdict::Unknown(_) => Exit::Unknown,
        }
    }
}

fn main() -> ExitCode {
    interrupt::outlive_file_limits();
    let command = match Arguments::try_parse() {
        Ok(arguments) => arguments.command,
        Err(error) => return usage(&error),
    };
    let json = command.json();
    let result = match &command {
        Command::Check(arguments) => commands::check::run(arguments),
        Command::Space(arguments) => commands::space::run(arguments),
        Command::Simulate(arguments) => commands::simulate::run(arguments),
        Command::Replay(arguments) => commands::replay::run(arguments),
        Command::Compile(arguments) => commands::compile::run(arguments),
    };
    let mut exit = result.unwrap_or_else(|failure| {
        complain(&failure);
        if json {
            say(&failure.json());
        }
        Exit::Wrong
    });
    if let Some(error) = UNSAID.get() {
        let _ = writeln!(io::stderr(), "error: cannot write the answer: {error}");
        exit = Exit::Wrong;
    }
    ExitCode::from(exit as u8)
}

/// Help, or what is wrong with the options. Whoever asked for JSON gets it then too.
fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if !error.use_stderr() {
        return ExitCode::from(Exit::Fine as u8);
    }
    if std::env::args_os().any(|argument| argument == "--json") {
        let text = error.render().to_string();
        // The usage and the hint where to find help are for people.
        let message = text.split("\n\nUsage:").next().and_then(|text| text.split("\n\nFor more").next()).unwrap_or(&text);
        let message = message.trim().trim_start_matches("error: ");
        say(&Failure::Call(message.to_owned()).json());
    }
    ExitCode::from(Exit::Wrong as u8)
}

/// Tells the user on standard error what went wrong.
fn complain(failure: &Failure) {
    let text = match failure {
        // Diagnostics begin with their own severity.
        Failure::Model { .. } => failure.to_string(),
        other => format!("error: {other}"),
    };
    // If even standard error is gone, the exit code still tells.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints an answer on standard output. Whoever reads it may stop reading at any time.
fn say(text: &str) {
    let mut out = io::stdout().lock();
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    match write!(out, "{text}{newline}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => drop(UNSAID.set(error)),
        _ => {}
    }
}

/// Why an answer did not reach standard output, although somebody was to read it.
static UNSAID: OnceLock<io::Error> = OnceLock::new();
