//! Runs the built program like a user, in a temporary folder, and checks its output.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod browser;

use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Two processes increment a counter without protection; a third detects the lost update. An
/// assertion fails after eight steps.
pub const LOST_UPDATE: &str = r#"program "lost update"
global byte x
global byte done

process P() {
    local byte copy
    ;: copy = x
    LDG x
    STL copy
    STEP N
    ;: x = copy + 1
    LDL copy
    LDC 1
    ADD
    STG x
    STEP N
    ;: done = done + 1
    LDG done
    LDC 1
    ADD
    STG done
    STEP N
    ;: end
    STEP T
}

process Watch() {
    ;: done == 2
    LDG done
    LDC 2
    EQ
    NEXZ
    STEP N
    ;: assert(x == 2)
    LDG x
    LDC 2
    EQ
    ASSERT
    STEP N
    ;: printf(x)
    LDG x
    PRINT "x is %d\n", 1
    STEP N
    ;: end
    STEP T
}

start P, P, Watch
"#;

/// Two processes wait for each other's token: a deadlock after two steps.
pub const DEADLOCK: &str = r#"global bit a = 1
global bit b = 1

process Left() {
    ;: take a
    LDG a
    NEXZ
    LDC 0
    STG a
    STEP N
    ;: take b
    LDG b
    NEXZ
    LDC 0
    STG b
    STEP N
    ;: give both
    LDC 1
    STG a
    LDC 1
    STG b
    STEP N
    STEP T
}

process Right() {
    ;: take b
    LDG b
    NEXZ
    LDC 0
    STG b
    STEP N
    ;: take a
    LDG a
    NEXZ
    LDC 0
    STG a
    STEP N
    ;: give both
    LDC 1
    STG a
    LDC 1
    STG b
    STEP N
    STEP T
}

start Left, Right
"#;

/// Two processes count to three independently: nothing can go wrong, in 5 × 5 states less the one
/// order of terminating that is not allowed.
pub const FINE: &str = r#"process Counter() {
    local byte count
again:
    NDET stop
    ;: count < 3 -> count++
    LDL count
    LDC 3
    LT
    NEXZ
    LDL count
    LDC 1
    ADD
    STL count
    STEP N
    JMP again
stop:
    ;: count == 3
    LDL count
    LDC 3
    EQ
    NEXZ
    STEP N
    STEP T
}

start Counter, Counter
"#;

/// A process that counts for ever: four thousand million states, so that every limit is reached
/// before the end.
pub const ENDLESS: &str = r#"global int n
process Counter() {
again:
    ;: n++
    LDG n
    LDC 1
    ADD
    STG n
    LDG n
    ASSERT
    STEP N
    JMP again
}
start Counter
"#;

/// A folder that only this test uses.
///
/// The second field says whether its checks explore all orders.
pub struct Folder(PathBuf, bool);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).expect("the target folder can be written");
        Folder(path, false)
    }

    /// A folder with one file in it.
    pub fn with(name: &str, contents: impl AsRef<[u8]>) -> Folder {
        let folder = Folder::new();
        folder.write(name, contents);
        folder
    }

    /// The same folder, in which a check explores all orders and merges nothing, unless its
    /// arguments say otherwise. Tests of limits use simple models, of which reductions leave
    /// nothing.
    pub fn all_orders(mut self) -> Folder {
        self.1 = true;
        self
    }

    /// A memory budget with this many megabytes for the search. The resident part of the program
    /// itself differs by several megabytes between machines, so it is measured and added.
    pub fn budget(&self, megabytes: u64) -> String {
        self.write("small.pml", "active proctype P() { skip }");
        let json = self.run(&["check", "small.pml", "--json", "--threads", "1"]).exits(0).json();
        let program = json["peak_memory_bytes"].as_u64().expect("a number");
        format!("{}M", program.div_ceil(1 << 20) + megabytes)
    }

    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), contents).expect("the folder can be written");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).expect("the file was written")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.join(name).exists()
    }

    /// A command that is about to run in this folder. A check uses the default reductions, unless
    /// the folder is one of [`Folder::all_orders`].
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_everypath"));
        command.current_dir(&self.0).args(arguments).stdin(Stdio::null());
        let says = |argument: &&str| ["--resume", "--no-por", "--check-por"].contains(argument);
        if self.1 && arguments.first() == Some(&"check") && !arguments.iter().any(says) {
            command.args(["--no-por", "--no-unused"]);
        }
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        Run::new(self.command(arguments).output().expect("the program starts"))
    }

    /// Runs the program and types `input`.
    pub fn run_with(&self, arguments: &[&str], input: &str) -> Run {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        // The program may end before it has read everything.
        let _ = child.stdin.take().expect("piped").write_all(input.as_bytes());
        Run::new(child.wait_with_output().expect("the program ends"))
    }
}

/// Sends a signal to a program that runs.
pub fn signal(child: &Child, name: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).status().expect("a shell");
    assert!(sent.success());
}

/// Waits until the handler for interrupts is installed, if the system tells; otherwise for a fixed
/// time.
pub fn await_handler(child: &Child) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        let Ok(status) = fs::read_to_string(format!("/proc/{}/status", child.id())) else {
            return thread::sleep(Duration::from_millis(500));
        };
        let caught =
            status.lines().find_map(|line| line.strip_prefix("SigCgt:")).and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        // Signal 2, counted from 1.
        if caught.is_some_and(|mask| mask & 0b10 != 0) {
            return;
        }
        thread::sleep(Duration::from_millis(2));
    }
    panic!("no handler came");
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The output and the exit code of the program.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Run {
    pub fn new(output: Output) -> Run {
        Run {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).expect("standard output is text"),
            err: String::from_utf8(output.stderr).expect("standard error is text"),
        }
    }

    /// Requires this exit code.
    pub fn exits(self, code: i32) -> Run {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    /// Standard output as the one JSON object it must be.
    pub fn json(&self) -> Value {
        let value: Value = serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        assert!(value.is_object(), "{self:?}");
        value
    }
}
