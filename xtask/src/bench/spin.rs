//! SPIN, the reference of the measurements: a model becomes a verifier in C, which is compiled and
//! searches the whole state space.
//!
//! SPIN does the same work as Everypath: every reachable state, no partial-order reduction, no
//! checks, every error ignored. Its optimisations that merge or drop states are off, so that the
//! counts can be compared. The verifier is compiled with `-O3`. Its depth-first stack is allocated
//! and filled before the search begins, so a stack that is far too large would count against it: a
//! first run finds the depth, and the other runs get the stack they need. The same can be done for
//! its hash table.

use super::child::{self, Cost};
use crate::{Failure, root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Options for the whole state space. The memory limit, in megabytes, is above the needs of every
/// model of the set.
const FULL: [&str; 6] = ["-O3", "-w", "-DNOREDUCE", "-DSAFETY", "-DNOCLAIM", "-DMEMLIM=12000"];

/// Options for a search for accepting cycles, without reduction.
const CYCLES: [&str; 5] = ["-O3", "-w", "-DNOREDUCE", "-DNOFAIR", "-DMEMLIM=12000"];

/// Arguments of a verifier that ignores every error and writes no trails.
const PASS_OVER: [&str; 4] = ["-c0", "-A", "-E", "-n"];

/// Options for the number of states that SPIN's defaults leave.
const COUNTING: [&str; 5] = ["-O1", "-w", "-DSAFETY", "-DNOCLAIM", "-DMEMLIM=3000"];

/// Arguments of a verifier that ignores every error, for at most a minute.
const COUNT: [&str; 5] = ["-c0", "-A", "-E", "-n", "-Q1"];

/// Arguments of a verifier that ends with the first accepting cycle.
const ACCEPTING: [&str; 4] = ["-a", "-A", "-E", "-n"];

/// The depth limit of the first run, and the largest one that is tried.
const DEPTH_FIRST: u64 = 1_000_000;
const DEPTH_LAST: u64 = 100_000_000;

/// The versions of SPIN and of the C compiler it needs; `None` if one is missing.
pub fn versions() -> Option<(String, String)> {
    let line = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_owned())
    };
    Some((line("spin", "-V")?, line("gcc", "--version")?))
}

/// A verifier, ready to run.
pub struct Verifier {
    folder: PathBuf,
    flags: &'static [&'static str],
    /// The costs from the source to the program.
    pub built: Cost,
    depth: u64,
    fit_table: bool,
    /// The logarithm of the hash table's size, once it is known; the verifier's default before.
    table: Option<u32>,
}

/// The result of a verifier.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Found {
    /// States stored.
    pub states: u64,
    /// The deepest point of the depth-first search.
    pub depth: u64,
    /// Memory for the states, in bytes, without the hash table.
    pub state_bytes: Option<f64>,
    /// The number of errors found, with which a search for accepting cycles ends.
    pub errors: u64,
}

impl Verifier {
    /// Builds the verifier of a model, with further options for the C compiler. With `fit_table`
    /// its runs after the first get a hash table with as many slots as there are states.
    pub fn build(model: &Path, options: &[&str], fit_table: bool) -> Result<Verifier, Failure> {
        let folder = root().join("target/bench").join(if options.is_empty() { "spin" } else { "spin-options" });
        let compiler: Vec<&str> = FULL.iter().chain(options).copied().collect();
        let built = make(&read(model)?, &folder, &UNCHANGED, &compiler)?;
        Ok(Verifier { folder, flags: &PASS_OVER, built, depth: DEPTH_FIRST, fit_table, table: None })
    }

    /// Builds a verifier with SPIN's reductions, with these options of SPIN.
    pub fn reduced(model: &Path, options: &[&str]) -> Result<Verifier, Failure> {
        let compiler: Vec<&str> = FULL.into_iter().filter(|option| *option != "-DNOREDUCE").collect();
        let folder = root().join("target/bench/spin-reduced");
        let built = make(&read(model)?, &folder, options, &compiler)?;
        Ok(Verifier { folder, flags: &PASS_OVER, built, depth: DEPTH_FIRST, fit_table: false, table: None })
    }

    /// Builds a verifier with SPIN's defaults for a run of at most a minute. Only its count is
    /// wanted, so it is compiled quickly.
    pub fn counting(model: &Path) -> Result<Verifier, Failure> {
        let folder = root().join("target/bench/spin-counting");
        let built = make(&read(model)?, &folder, &[], &COUNTING)?;
        Ok(Verifier { folder, flags: &COUNT, built, depth: DEPTH_FIRST, fit_table: false, table: None })
    }

    /// Builds a verifier that refutes a temporal formula, without reduction.
    pub fn refuting(model: &Path, formula: &str) -> Result<Verifier, Failure> {
        let folder = root().join("target/bench/spin-property");
        let mut text = read(model)?;
        text.extend(format!("\nltl property {{ {formula} }}\n").bytes());
        let built = make(&text, &folder, &UNCHANGED, &CYCLES)?;
        Ok(Verifier { folder, flags: &ACCEPTING, built, depth: DEPTH_FIRST, fit_table: false, table: None })
    }

    /// Builds a verifier that refutes a temporal formula, with SPIN's reductions.
    pub fn refuting_reduced(model: &Path, formula: &str) -> Result<Verifier, Failure> {
        let folder = root().join("target/bench/spin-property-reduced");
        let mut text = read(model)?;
        text.extend(format!("\nltl property {{ {formula} }}\n").bytes());
        let compiler: Vec<&str> = CYCLES.into_iter().filter(|option| *option != "-DNOREDUCE").collect();
        let built = make(&text, &folder, &[], &compiler)?;
        Ok(Verifier { folder, flags: &ACCEPTING, built, depth: DEPTH_FIRST, fit_table: false, table: None })
    }

    /// The program.
    pub fn program(&self) -> PathBuf {
        self.folder.join("pan")
    }

    /// Its arguments.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments: Vec<String> = self.flags.iter().map(|&flag| flag.to_owned()).collect();
        arguments.push(format!("-m{}", self.depth));
        arguments.extend(self.table.map(|logarithm| format!("-w{logarithm}")));
        arguments
    }

    /// One search of the whole state space.
    pub fn run(&mut self) -> Result<(Found, Cost), Failure> {
        loop {
            let finished = child::run(&self.folder, &self.program(), self.arguments())?;
            let too_small = finished.stdout.contains("max search depth too small");
            if too_small && self.depth < DEPTH_LAST {
                self.depth *= 10;
                continue;
            }
            if too_small || finished.stdout.contains("Search not completed") || finished.stdout.contains("MEMLIM") {
                return Err("SPIN's verifier did not finish".to_owned());
            }
            let found = parse(&finished.stdout).ok_or_else(|| format!("SPIN's verifier says: {}", first_line(&finished.stdout)))?;
            self.depth = found.depth + 1_000;
            self.table = self.fit_table.then(|| found.states.max(2).next_power_of_two().ilog2());
            return Ok((found, finished.cost));
        }
    }
}

/// Options with which SPIN does not merge or drop states.
const UNCHANGED: [&str; 3] = ["-o1", "-o2", "-o3"];

fn read(model: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(model).map_err(|error| format!("{}: {error}", model.display()))
}

/// Builds a verifier in a folder, with options for SPIN and for the C compiler; returns the costs.
fn make(model: &[u8], folder: &Path, options: &[&str], compiler: &[&str]) -> Result<Cost, Failure> {
    // The files there belong to another model.
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    fs::write(folder.join("model.pml"), model).map_err(|error| format!("{}: {error}", folder.display()))?;
    let made = child::run(folder, Path::new("spin"), options.iter().copied().chain(["-a", "model.pml"]))?;
    if made.code != Some(0) || !folder.join("pan.c").exists() {
        return Err(format!("SPIN refuses the model: {}", first_line(&made.stdout)));
    }
    let compiled = child::run(folder, Path::new("gcc"), compiler.iter().copied().chain(["-o", "pan", "pan.c"]))?;
    if compiled.code != Some(0) {
        return Err(format!("gcc refuses the verifier: {}", first_line(&compiled.stderr)));
    }
    Ok(made.cost.then(compiled.cost))
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing").trim()
}

/// Reads the numbers a verifier prints.
fn parse(text: &str) -> Option<Found> {
    let before = |mark: &str| {
        let line = text.lines().find(|line| line.contains(mark))?;
        line.split(mark).next()?.split_whitespace().last()?.parse::<f64>().ok()
    };
    let after = |mark: &str| text.split(mark).nth(1)?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    let (depth, errors) = (after("depth reached ")?, after("errors: ")?);
    let state_bytes = before("actual memory usage for states").map(|megabytes| megabytes * 1_048_576.0);
    Some(Found { states: before("states, stored")? as u64, depth, state_bytes, errors })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = "
State-vector 44 byte, depth reached 199348, errors: 0
   362882 states, stored
   604802 states, matched
Stats on memory usage (in Megabytes):
   22.149	equivalent memory usage for states (stored*(State-vector + overhead))
   14.500	actual memory usage for states (compression: 67.04%)
  128.000	memory used for hash table (-w24)
";

    #[test]
    fn numbers_of_a_verifier() {
        let found = Found { states: 362_882, depth: 199_348, state_bytes: Some(14.5 * 1_048_576.0), errors: 0 };
        assert_eq!(parse(TOLD), Some(found));
        assert_eq!(parse("pan: out of memory"), None);
        let large = TOLD.replace("362882 states", "1.2345678e+08 states");
        assert_eq!(parse(&large).map(|found| found.states), Some(123_456_780));
    }
}
