//! Everypath as called by a user: the command, on the whole state space.

use super::child::{self, Cost, process_seconds};
use crate::models::Model;
use crate::{Failure, root};
use jit::Native;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;

/// The command under test.
pub struct Everypath {
    /// The program.
    pub program: PathBuf,
    /// Whether the user has named it, instead of building it from this tree.
    pub given: bool,
    /// Further arguments for each call.
    pub more: Vec<String>,
}

/// How the state space is searched.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// The name of the order; `None` for the default of the command.
    search: Option<&'static str>,
    store: &'static str,
    threads: usize,
}

impl Manner {
    /// One thread, breadth-first, with the fastest store.
    pub const PLAIN: Manner = Manner { search: None, store: "plain", threads: 1 };
    /// Like [`Manner::PLAIN`], with the compact store.
    pub const COMPACT: Manner = Manner { store: "compact", ..Manner::PLAIN };
    /// Strictly depth-first.
    pub const DEPTH: Manner = Manner { search: Some("dfs"), ..Manner::PLAIN };
    /// Two threads.
    pub const TEAM: Manner = Manner { threads: 2, ..Manner::PLAIN };
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// States.
    pub states: u64,
    /// Wall-clock seconds from the beginning of the search to its end.
    pub search_wall: f64,
    /// Memory of the store, in bytes: states and table.
    pub store_bytes: f64,
}

impl Everypath {
    /// The given program, or the one of this tree, rebuilt if necessary: a measurement of an old
    /// program would be misleading.
    pub fn new(given: Option<&Path>, more: &[String]) -> Result<Everypath, Failure> {
        let more = more.to_vec();
        if let Some(program) = given {
            let program = fs::canonicalize(program).map_err(|error| format!("{}: {error}", program.display()))?;
            return Ok(Everypath { program, given: true, more });
        }
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--release", "--package", "cli"])
            .current_dir(root())
            .status()
            .map_err(|error| format!("cargo: {error}"))?;
        if !built.success() {
            return Err("the command `everypath` does not build; `--everypath FILE` measures another one".to_owned());
        }
        // This program and the command are built in the same workspace with the same profile.
        let this = std::env::current_exe().map_err(|error| format!("cannot find this program again: {error}"))?;
        Ok(Everypath { program: this.with_file_name(format!("everypath{}", std::env::consts::EXE_SUFFIX)), given: false, more })
    }

    /// Whether it has the store of this name.
    pub fn has_store(&self, name: &str) -> bool {
        let help = self.help();
        let line = help.lines().find(|line| line.trim_start().starts_with("--store"));
        line.is_some_and(|line| line.split(|c: char| !c.is_alphanumeric()).any(|word| word == name))
    }

    /// Whether it has the option of this name.
    pub fn has_option(&self, name: &str) -> bool {
        self.help().split_whitespace().any(|word| word == name)
    }

    fn help(&self) -> String {
        let help = Command::new(&self.program).args(["space", "--help"]).output();
        help.map_or_else(|_| String::new(), |help| String::from_utf8_lossy(&help.stdout).into_owned())
    }

    /// The arguments for a model.
    pub fn arguments(&self, model: &Path, manner: Manner) -> Vec<String> {
        let mut arguments = vec!["space".to_owned(), model.display().to_string()];
        arguments.extend(["--json", "--threads", &manner.threads.to_string(), "--store", manner.store].map(str::to_owned));
        arguments.extend(manner.search.iter().flat_map(|name| ["--search", *name]).map(str::to_owned));
        arguments.extend(self.more.iter().cloned());
        arguments
    }

    /// One exploration of the whole state space.
    pub fn run(&self, model: &Model, manner: Manner) -> Result<(Found, Cost), Failure> {
        let finished = child::run(&root(), &self.program, self.arguments(&model.path, manner))?;
        let found = parse(&finished.stdout).ok_or_else(|| {
            let told = if finished.stdout.trim().is_empty() { &finished.stderr } else { &finished.stdout };
            format!("everypath says: {}", told.lines().next().unwrap_or("nothing"))
        })?;
        Ok((found, finished.cost))
    }

    /// One check with these arguments, with the plain store, that ends with *holds*.
    pub fn check(&self, model: &Model, threads: usize, how: &[&str]) -> Result<(Found, Cost), Failure> {
        let mut arguments = vec!["check".to_owned(), model.path.display().to_string()];
        let threads = threads.to_string();
        arguments.extend(["--json", "--threads", &threads, "--store", "plain"].iter().chain(how).map(|argument| (*argument).to_owned()));
        arguments.extend(self.more.iter().cloned());
        let finished = child::run(&root(), &self.program, arguments)?;
        let told = if finished.stdout.trim().is_empty() { &finished.stderr } else { &finished.stdout };
        let found = parse_holds(&finished.stdout).ok_or_else(|| format!("everypath says: {}", told.lines().next().unwrap_or("nothing")))?;
        Ok((found, finished.cost))
    }

    /// Two explorations at the same time.
    pub fn run_pair(&self, model: &Model, manner: Manner) -> Result<[(Found, Cost); 2], Failure> {
        at_once(|| self.run(model, manner))
    }

    /// Two checks at the same time, with one thread each.
    pub fn check_pair(&self, model: &Model, how: &[&str]) -> Result<[(Found, Cost); 2], Failure> {
        at_once(|| self.check(model, 1, how))
    }
}

/// Does something twice at the same time.
fn at_once<T: Send>(act: impl Fn() -> Result<T, Failure> + Sync) -> Result<[T; 2], Failure> {
    thread::scope(|scope| {
        let other = scope.spawn(&act);
        let this = act();
        let other = other.join().map_err(|_| "the second of two searches was not measured")?;
        Ok([this?, other?])
    })
}

/// Reads the numbers of `everypath space --json`; `None` for an incomplete space.
fn parse(text: &str) -> Option<Found> {
    let json: Value = serde_json::from_str(text.trim()).ok()?;
    if json["complete"] != true {
        return None;
    }
    Some(Found { states: json["states"].as_u64()?, search_wall: json["seconds"].as_f64()?, store_bytes: json["store_bytes"].as_f64()? })
}

/// Reads the numbers of `everypath check --json`, if the verdict is *holds*.
fn parse_holds(text: &str) -> Option<Found> {
    let json: Value = serde_json::from_str(text.trim()).ok()?;
    if json["verdict"] != "holds" {
        return None;
    }
    // A temporal property has a search of its own.
    let searched = json["properties"].as_array().and_then(|properties| properties.iter().find_map(|property| property["states"].as_u64()));
    let states = searched.or_else(|| json["states"].as_u64())?;
    Some(Found { states, search_wall: json["seconds"].as_f64()?, store_bytes: json["store_bytes"].as_f64()? })
}

/// The costs of translation, in processor seconds: the smaller of two attempts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compiled {
    /// From source to verified byte-code.
    pub bytecode: f64,
    /// From source to native code; `None` if there is none for this program.
    pub native: Option<f64>,
}

/// Measures translation in this process, by its processor time: a thread of its own compiles native
/// code.
pub fn compile(model: &Model) -> Result<Compiled, Failure> {
    let bytes = fs::read(&model.path).map_err(|error| format!("{}: {error}", model.path.display()))?;
    let once = || -> Result<Compiled, Failure> {
        let begun = process_seconds();
        let program = Arc::new(model.translate(&bytes)?);
        let bytecode = process_seconds() - begun;
        let native = Native::compile(program).ok().map(|_native| process_seconds() - begun);
        Ok(Compiled { bytecode, native })
    };
    let (first, second) = (once()?, once()?);
    let native = first.native.zip(second.native).map(|(a, b)| a.min(b));
    Ok(Compiled { bytecode: first.bytecode.min(second.bytecode), native })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_run() {
        let text = r#"{"states":7,"transitions":9,"seconds":0.5,"store_bytes":64,"complete":true}"#;
        assert_eq!(parse(text), Some(Found { states: 7, search_wall: 0.5, store_bytes: 64.0 }));
        assert_eq!(parse(&text.replace("true", "false")), None);
        assert_eq!(parse("error"), None);
    }
}
