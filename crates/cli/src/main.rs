//! The command `everypath`: parses arguments, reads files, prints an answer, returns an exit code.
//!
//! All decisions are made in the library crates; this crate does only what a library must not do.
//! An answer is printed with [`say`], which accepts that the reader has gone away. The work is done
//! on a thread whose stack is always large enough.
#![forbid(unsafe_code)]

mod alternatives;
mod args;
mod checkpoint;
mod clearer;
mod code;
mod commands;
mod devices;
mod dialogue;
mod directed;
mod disk;
mod failure;
mod hints;
mod input;
mod interrupt;
mod memory;
mod next;
mod output;
mod paths;
mod patience;
mod plan;
mod progress;
mod quantity;
mod reach;
mod reports;
mod session;
mod spill;
mod team;
mod terminal;
mod warnings;
mod watch;

use args::Arguments;
use clap::Parser;
use contract::Verdict;
use failure::Failure;
use source::printable;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

/// The exit codes of commands.
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

/// The stack size of the thread that does the work, independent of the system's limit for the main
/// thread. Only the used part takes memory.
const STACK_BYTES: usize = 16 << 20;

fn main() -> ExitCode {
    interrupt::outlive_file_limits();
    // If no thread can be created, the work is done on the present stack.
    match thread::Builder::new().stack_size(STACK_BYTES).spawn(work) {
        // A panic was reported by the thread.
        Ok(worker) => worker.join().unwrap_or(ExitCode::from(PANICKED)),
        Err(_) => work(),
    }
}

/// The exit code that Rust gives to a program that panics. It differs from all of ours, because a
/// panic is a bug.
const PANICKED: u8 = 101;

fn work() -> ExitCode {
    let command = match Arguments::try_parse() {
        Ok(arguments) => arguments.command,
        Err(error) => return usage(&error),
    };
    let json = command.json();
    let exit = command.run().unwrap_or_else(|failure| {
        complain(&failure);
        if json {
            say(&failure.json());
        }
        Exit::Wrong
    });
    said(exit)
}

/// The exit code: an answer that could not be written is not a success.
fn said(exit: Exit) -> ExitCode {
    let Some(error) = UNSAID.get() else { return ExitCode::from(exit as u8) };
    let _ = writeln!(io::stderr(), "error: cannot write the answer: {error}");
    ExitCode::from(Exit::Wrong as u8)
}

/// Prints help or an error in the options, as JSON if the user asked for JSON.
fn usage(error: &clap::Error) -> ExitCode {
    let printed = error.print().and_then(|()| io::stdout().flush());
    if !error.use_stderr() {
        printed.unwrap_or_else(unsaid);
        return said(Exit::Fine);
    }
    if std::env::args_os().any(|argument| asks_for_json(&argument)) {
        let text = error.render().to_string();
        // The usage line and the hint about help are for people, so JSON leaves them out.
        let message = text.split("\n\nUsage:").next().and_then(|text| text.split("\n\nFor more").next()).unwrap_or(&text);
        let message = message.trim().trim_start_matches("error: ");
        say(&Failure::Call(message.to_owned()).json());
    }
    said(Exit::Wrong)
}

/// Whether an argument asks for JSON, even in a wrong form such as `--json=1`.
fn asks_for_json(argument: &OsStr) -> bool {
    argument == "--json" || argument.as_encoded_bytes().starts_with(b"--json=")
}

/// Tells the user on standard error what went wrong.
fn complain(failure: &Failure) {
    let text = match failure {
        // Diagnostics begin with their own severity.
        Failure::Model { .. } => failure.to_string(),
        // It may quote the names of files.
        other => format!("error: {other}").lines().map(printable).collect::<Vec<_>>().join("\n"),
    };
    // If standard error is closed too, the exit code still has the answer.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints an answer on standard output. The reader may close it at any time.
fn say(text: &str) {
    *lock(&SPOKEN) = true;
    write_answer(text);
}

/// Whether an answer has been begun. While a thread holds the lock, no other can begin one.
static SPOKEN: Mutex<bool> = Mutex::new(false);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write_answer(text: &str) {
    let mut out = io::stdout().lock();
    let newline = if text.ends_with('\n') { "" } else { "\n" };
    write!(out, "{text}{newline}").and_then(|()| out.flush()).unwrap_or_else(unsaid);
}

/// Records that writing to standard output failed, unless the reader closed it.
fn unsaid(error: io::Error) {
    if error.kind() == io::ErrorKind::BrokenPipe {
        UNHEARD.store(true, Relaxed);
    } else {
        // The first error counts.
        let _ = UNSAID.set(error);
    }
}

/// Whether the reader of standard output has closed it.
static UNHEARD: AtomicBool = AtomicBool::new(false);

/// Whether nobody reads what is printed. A command that prints as long as it runs then ends.
fn is_unheard() -> bool {
    UNHEARD.load(Relaxed)
}

/// Why an answer could not be written to standard output.
static UNSAID: OnceLock<io::Error> = OnceLock::new();
