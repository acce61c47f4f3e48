//! The command `everypath`: arguments in, files read, an answer printed, an exit code.
//!
//! Everything that decides anything lives in the rooms below; here are only the things a library must not do. An answer is printed
//! with [`say`], which does not mind a reader that has gone away. The work is done on a thread whose stack is always large enough.
#![forbid(unsafe_code)]

mod args;
mod checkpoint;
mod commands;
mod dialogue;
mod engine;
mod failure;
mod input;
mod interrupt;
mod memory;
mod output;
mod paths;
mod patience;
mod progress;
mod quantity;
mod session;
mod spill;

use args::{Arguments, Command};
use clap::Parser;
use contract::Verdict;
use failure::Failure;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::thread;

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

/// The stack of the thread that does the work, whatever the system allows the first one. Only what is used of it takes memory.
const STACK_BYTES: usize = 16 << 20;

fn main() -> ExitCode {
    interrupt::outlive_file_limits();
    // Where no thread is to be had, the stack we are on must do.
    match thread::Builder::new().stack_size(STACK_BYTES).spawn(work) {
        // A panic was reported by the thread.
        Ok(worker) => worker.join().unwrap_or(ExitCode::from(PANICKED)),
        Err(_) => work(),
    }
}

/// The exit code that Rust gives to a program that panics: none of ours, because it is a bug.
const PANICKED: u8 = 101;

fn work() -> ExitCode {
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
        Command::Ltl(arguments) => commands::ltl::run(arguments),
    };
    let exit = result.unwrap_or_else(|failure| {
        complain(&failure);
        if json {
            say(&failure.json());
        }
        Exit::Wrong
    });
    said(exit)
}

/// The exit code: an answer that did not reach its reader is not a success.
fn said(exit: Exit) -> ExitCode {
    let Some(error) = UNSAID.get() else { return ExitCode::from(exit as u8) };
    let _ = writeln!(io::stderr(), "error: cannot write the answer: {error}");
    ExitCode::from(Exit::Wrong as u8)
}

/// Help, or what is wrong with the options. Whoever asked for JSON gets it then too.
fn usage(error: &clap::Error) -> ExitCode {
    let printed = error.print().and_then(|()| io::stdout().flush());
    if !error.use_stderr() {
        printed.unwrap_or_else(unsaid);
        return said(Exit::Fine);
    }
    if std::env::args_os().any(|argument| asks_for_json(&argument)) {
        let text = error.render().to_string();
        // The usage and the hint where to find help are for people.
        let message = text.split("\n\nUsage:").next().and_then(|text| text.split("\n\nFor more").next()).unwrap_or(&text);
        let message = message.trim().trim_start_matches("error: ");
        say(&Failure::Call(message.to_owned()).json());
    }
    said(Exit::Wrong)
}

/// Whether an argument asks for JSON, although perhaps not as it should: `--json=1`.
fn asks_for_json(argument: &OsStr) -> bool {
    argument == "--json" || argument.as_encoded_bytes().starts_with(b"--json=")
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
    write!(out, "{text}{newline}").and_then(|()| out.flush()).unwrap_or_else(unsaid);
}

/// Remembers that standard output took no more, unless whoever read it has had enough.
fn unsaid(error: io::Error) {
    if error.kind() != io::ErrorKind::BrokenPipe {
        // The first reason counts.
        let _ = UNSAID.set(error);
    }
}

/// Why an answer did not reach standard output, although somebody was to read it.
static UNSAID: OnceLock<io::Error> = OnceLock::new();
