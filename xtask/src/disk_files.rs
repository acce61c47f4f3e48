//! Searches on disk by the command `everypath`, with real files: the same numbers as in memory, the
//! speed at a tenth of the memory, and searches that are killed and resumed.

use crate::Failure;
use crate::models::{Model, spread};
use crate::processes::answer;
use crate::record::{Record, median};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The numbers that must be equal.
pub const NUMBERS: [&str; 3] = ["states", "transitions", "depth"];

/// The time for the search in memory; models that need more are passed over.
const MOST_TIME: &str = "60s";
/// Speed is measured on models with at least so many states.
const LARGE: u64 = 1_000_000;

fn in_memory(everypath: &Path, model: &Model, threads: &str) -> Option<Value> {
    let name = model.path.display().to_string();
    let call = ["space", &name, "--store", "compact", "--threads", threads, "--time", MOST_TIME, "--memory", "2G"];
    answer(everypath, &call).filter(|answer| answer["complete"] == true)
}

fn on_disk(everypath: &Path, model: &Model, threads: &str, memory: u64) -> Option<Value> {
    let (name, memory) = (model.path.display().to_string(), memory.to_string());
    answer(everypath, &["space", &name, "--store", "disk", "--threads", threads, "--memory", &memory])
}

/// Fails if an answer differs.
pub fn same(found: &Value, expected: &Value, what: &str) -> Result<(), Failure> {
    match NUMBERS.iter().find(|number| found[**number] != expected[**number]) {
        // An answer without numbers says why it has none.
        Some(number) => Err(format!("{what}: {number} is {}, and in memory {}: {}", found[*number], expected[*number], found["error"])),
        None => Ok(()),
    }
}

/// Compares a model in memory and in files, with parts of the memory that the compact store needs.
pub fn compare(everypath: &Path, model: &Model, shares: &[u64], most: u64, record: &mut Record) -> Result<(), Failure> {
    let Some(expected) = in_memory(everypath, model, "1").filter(|answer| answer["states"].as_u64() <= Some(most)) else {
        record.line(format!("{}\tpassed over, it is too large", model.name));
        return Ok(());
    };
    let needed = expected["store_peak_bytes"].as_u64().unwrap_or(0);
    for share in shares {
        let what = format!("{}, files, a {share}th of the memory", model.name);
        let found = on_disk(everypath, model, "1", (needed / share).max(1024)).ok_or_else(|| format!("{what}: no answer"))?;
        same(&found, &expected, &what)?;
    }
    record.line(format!("{}\t{}\tequal in files", model.name, expected["states"]));
    Ok(())
}

/// Measures models that are ten times as large as the memory for their states: speed beside the
/// compact store, bytes a state, bytes written. The process itself needs some memory, too.
pub fn speed(everypath: &Path, models: &[Model], count: usize, threads: usize, record: &mut Record) -> Result<(), Failure> {
    let threads = threads.to_string();
    let own = own_memory(everypath)?;
    record.line(format!("The process itself takes {} MiB.", own >> 20));
    record.line("| model | states | compact, s | disk, s | speed | bytes a state | written by final size | limit, MiB | peak, MiB |");
    record.line("|---|---|---|---|---|---|---|---|---|");
    let (mut speeds, mut sizes, mut writes) = (Vec::new(), Vec::new(), Vec::new());
    for model in spread(models) {
        if speeds.len() >= count {
            break;
        }
        let Some(expected) = in_memory(everypath, model, &threads).filter(|answer| answer["states"].as_u64() >= Some(LARGE)) else {
            continue;
        };
        let memory = own + expected["store_peak_bytes"].as_u64().unwrap_or(0) / 10;
        let found = on_disk(everypath, model, &threads, memory).ok_or_else(|| format!("{}: no answer", model.name))?;
        same(&found, &expected, &model.name)?;
        let number = |answer: &Value, name: &str| answer[name].as_f64().unwrap_or(0.0);
        let disk = |name: &str| found["disk"][name].as_f64().unwrap_or(0.0);
        let (fast, slow) = (number(&expected, "seconds"), number(&found, "seconds"));
        let (each, written) = (disk("bytes") / number(&found, "states"), disk("written_bytes") / disk("bytes").max(1.0));
        record.line(format!(
            "| {} | {} | {fast:.2} | {slow:.2} | {:.2} | {each:.2} | {written:.1} | {} | {} |",
            model.name,
            found["states"],
            fast / slow,
            memory >> 20,
            found["peak_memory_bytes"].as_u64().unwrap_or(0) >> 20,
        ));
        speeds.push(fast / slow);
        sizes.push(each);
        writes.push(written);
    }
    if speeds.is_empty() {
        return Err(format!("no model has {LARGE} states"));
    }
    let (speed, size) = (median(&mut speeds), median(&mut sizes));
    record.line(format!(
        "{} models: speed {speed:.2} at the median and {:.2} at least, {size:.2} bytes a state at the median, at most {:.1} times the final \
         size written",
        speeds.len(),
        speeds[0],
        writes.iter().copied().fold(0.0, f64::max),
    ));
    Ok(())
}

/// The memory of the process for a model that has hardly any states.
fn own_memory(everypath: &Path) -> Result<u64, Failure> {
    let path = std::env::temp_dir().join(format!("everypath-tiny-{}.pml", std::process::id()));
    fs::write(&path, "byte x; active proctype P() { do :: x < 3 -> x++ :: else -> break od }").map_err(|error| error.to_string())?;
    let tiny = answer(everypath, &["space", &path.display().to_string(), "--store", "compact"]);
    let _ = fs::remove_file(&path);
    tiny.and_then(|tiny| tiny["peak_memory_bytes"].as_u64()).ok_or_else(|| "the command does not run".to_owned())
}

/// A million states that are hardly compressed.
const SCATTERED: &str = "int x[3]; byte n[3];
active [3] proctype P() {
  do :: d_step { n[_pid] < 100 -> n[_pid]++; x[_pid] = (x[_pid] * 75 + 74) % 65537 } :: else -> break od
}
";

/// Kills searches at random moments and resumes them; the result must always be the same. The
/// searches have `memory` bytes besides what the process itself takes: less than all states need,
/// so that they are on disk, and enough that files are merged in the background.
pub fn kill(everypath: &Path, model: Option<&Path>, memory: u64, kills: u32, record: &mut Record) -> Result<(), Failure> {
    let scattered = std::env::temp_dir().join(format!("everypath-scattered-{}.pml", std::process::id()));
    if model.is_none() {
        fs::write(&scattered, SCATTERED).map_err(|error| error.to_string())?;
    }
    let killed = kill_model(everypath, model.unwrap_or(&scattered), memory, kills, record);
    let _ = fs::remove_file(&scattered);
    killed
}

fn kill_model(everypath: &Path, model: &Path, memory: u64, kills: u32, record: &mut Record) -> Result<(), Failure> {
    let memory = (own_memory(everypath)? + memory).to_string();
    let folder: PathBuf = std::env::temp_dir().join(format!("everypath-kill-{}", std::process::id()));
    let call = |resumed: bool| {
        let mut command = Command::new(everypath);
        command.args(["space", "--json", "--store", "disk", "--memory", &memory, "--threads", "2", "--checkpoint-every", "50ms"]);
        command.arg("--checkpoint").arg(folder.join("search.saved")).arg("--disk").arg(&folder);
        if resumed {
            command.arg("--resume").arg(&folder)
        } else {
            command.arg(model)
        };
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command
    };
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", model.display());
    let clean = || drop(fs::remove_dir_all(&folder));
    clean();
    let finished = |output: std::process::Output| -> Result<Value, Failure> {
        serde_json::from_slice::<Value>(&output.stdout).map_err(|error| wrong(&error))
    };
    let begun = Instant::now();
    let expected = finished(call(false).output().map_err(|error| wrong(&error))?)?;
    let whole = begun.elapsed();
    if expected["disk"]["runs"].as_u64() < Some(1) {
        return Err(wrong(&"the search stays in memory: choose a larger model or less memory"));
    }
    let (mut killed, mut resumed, mut random) = (0, 0, 7);
    while killed < kills {
        clean();
        let mut again = false;
        loop {
            let mut child = call(again).spawn().map_err(|error| wrong(&error))?;
            std::thread::sleep(Duration::from_micros(splitmix::next(&mut random) % (whole.as_micros() as u64 * 3 / 2).max(1)));
            if child.try_wait().map_err(|error| wrong(&error))?.is_none() && killed < kills {
                child.kill().and_then(|()| child.wait()).map_err(|error| wrong(&error))?;
                killed += 1;
                // Before the first checkpoint there is nothing to resume.
                again = folder.join("search.saved").is_file();
                resumed += u32::from(again);
                continue;
            }
            let found = finished(child.wait_with_output().map_err(|error| wrong(&error))?)?;
            same(&found, &expected, &format!("{} after {killed} kills", model.display()))?;
            break;
        }
    }
    clean();
    record.line(format!(
        "{killed} searches of {} on disk were killed, {resumed} resumed: the numbers are those of an undisturbed one",
        model.display()
    ));
    Ok(())
}
