//! The costs of a program: its processor time, its wall-clock time, its peak memory.
//!
//! The system adds these numbers up for all children of a process, and keeps only the largest peak.
//! So each program is started by a fresh copy of this command (`cargo xtask measure`), which has no
//! other child and reports the system's numbers in its last line. Processor time includes
//! everything the program waited for, such as the passes that a compiler driver starts.
//!
//! The host of a virtual machine takes back memory that has not been used for a second or two.
//! Getting it again is slow, and slows down the first program that touches it. Whether this happens
//! to a program depends on what ran before, and it can add half to the time of a search of some
//! hundred thousand states. So before each search of such a model, as much memory as any of them
//! needs is touched and returned: [`recall_memory`].

use crate::Failure;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The mark before the line of numbers.
const MARK: &str = "measured:";

/// The costs of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// User and system time, in seconds.
    pub cpu: f64,
    /// Wall-clock time, in seconds.
    pub wall: f64,
    /// Largest resident memory, in bytes.
    pub peak: u64,
}

impl Cost {
    /// The costs of two programs, one after the other.
    pub fn then(self, next: Cost) -> Cost {
        Cost { cpu: self.cpu + next.cpu, wall: self.wall + next.wall, peak: self.peak.max(next.peak) }
    }
}

/// The output of a program and its costs.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its standard output.
    pub stdout: String,
    /// Its error output.
    pub stderr: String,
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// Its costs.
    pub cost: Cost,
}

/// Runs a program in a folder, and measures it.
pub fn run<I, A>(folder: &Path, program: &Path, arguments: I) -> Result<Finished, Failure>
where
    I: IntoIterator<Item = A>,
    A: Into<OsString>,
{
    let this = std::env::current_exe().map_err(|error| format!("cannot find this program again: {error}"))?;
    let output = Command::new(this)
        .arg("measure")
        .arg("--")
        .arg(program)
        .args(arguments.into_iter().map(Into::into))
        .current_dir(folder)
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let (stderr, numbers) = stderr.rsplit_once(MARK).ok_or_else(|| format!("{}: {stderr}", program.display()))?;
    let (code, cost) = parse(numbers).ok_or_else(|| format!("{}: cannot read `{numbers}`", program.display()))?;
    Ok(Finished { stdout: String::from_utf8_lossy(&output.stdout).into_owned(), stderr: stderr.to_owned(), code, cost })
}

fn parse(numbers: &str) -> Option<(Option<i32>, Cost)> {
    let mut words = numbers.split_whitespace();
    let code = words.next()?.parse().ok();
    let cost = Cost { cpu: words.next()?.parse().ok()?, wall: words.next()?.parse().ok()?, peak: words.next()?.parse().ok()? };
    Some((code, cost))
}

/// `cargo xtask measure`
#[derive(clap::Args)]
pub struct Arguments {
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// The counterpart of [`run`]: starts the program as the only child and reports its costs.
pub fn measure(arguments: &Arguments) -> Result<(), Failure> {
    let (program, rest) = arguments.command.split_first().ok_or("nothing to measure")?;
    let begun = Instant::now();
    let status = Command::new(program).args(rest).status().map_err(|error| format!("{}: {error}", program.display()))?;
    let wall = begun.elapsed().as_secs_f64();
    let (cpu, peak) = system::children().unwrap_or((wall, 0));
    let code = status.code().map_or_else(|| "signal".to_owned(), |code| code.to_string());
    eprintln!("{MARK} {code} {cpu:.6} {wall:.6} {peak}");
    Ok(())
}

/// The amount of memory touched before a search starts: more than any of the set needs.
const RECALLED: usize = 768 << 20;

/// Makes sure that the machine has memory available; see above. It runs in a process of its own
/// (`cargo xtask recall-memory`), because the system charges a program with the memory of the
/// process that starts it.
pub fn recall_memory() -> Result<(), Failure> {
    let status = std::env::current_exe().and_then(|this| Command::new(this).arg("recall-memory").status());
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("memory for the searches could not be touched: {status}")),
        Err(error) => Err(format!("cannot start this program again: {error}")),
    }
}

/// The counterpart of [`recall_memory`]: touches memory and returns it.
pub fn touch_memory() -> Result<(), Failure> {
    let mut memory = memmap2::MmapOptions::new().len(RECALLED).map_anon().map_err(|error| error.to_string())?;
    #[cfg(target_os = "linux")]
    let _ = memory.advise(memmap2::Advice::HugePage);
    for at in (0..RECALLED).step_by(4096) {
        memory[at] = 1;
    }
    Ok(())
}

/// Processor time of this process so far, in seconds; wall-clock time if the system does not report
/// it.
pub fn process_seconds() -> f64 {
    system::process().unwrap_or_else(|| {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0.0, |since| since.as_secs_f64())
    })
}

#[cfg(unix)]
mod system {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::time::{ClockId, clock_gettime};

    /// Processor time in seconds, and the largest peak in bytes, of all children that have ended.
    pub fn children() -> Option<(f64, u64)> {
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
        let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
        // Apple counts bytes, all other systems count kilobytes.
        let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
        Some((seconds(usage.user_time()) + seconds(usage.system_time()), usage.max_rss() as u64 * unit))
    }

    /// Processor time of this process.
    pub fn process() -> Option<f64> {
        let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).ok()?;
        Some(time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
    }
}

#[cfg(not(unix))]
mod system {
    pub fn children() -> Option<(f64, u64)> {
        None
    }

    pub fn process() -> Option<f64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_numbers_is_read_back() {
        let cost = Cost { cpu: 1.5, wall: 2.25, peak: 4096 };
        assert_eq!(parse(" 0 1.500000 2.250000 4096\n"), Some((Some(0), cost)));
        assert_eq!(parse(" signal 1.5 2.25 4096\n"), Some((None, cost)));
        assert_eq!(parse("nothing"), None);
    }
}
