//! Kills a process of a search by several, at random, and resumes the search with another number of
//! processes; and measures two processes beside two threads.

use crate::Failure;
use crate::disk_files::same;
use crate::models::{Model, spread};
use crate::processes::answer;
use crate::record::{Record, median};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Enough levels to be saved in between.
const MODEL: &str = "byte a, b, c;
active proctype A() { do :: a < 50 -> a++ :: a > 40 -> a-- od }
active proctype B() { do :: b < 50 -> b++ od }
active proctype C() { do :: c < 40 -> c++ od }
";

/// The child processes of a process.
fn children(process: &Child) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{}/task", process.id())).into_iter().flatten().flatten();
    let texts = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    texts.flat_map(|text| text.split_whitespace().filter_map(|number| number.parse().ok()).collect::<Vec<u32>>()).collect()
}

fn is_there(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|text| !text.contains(") Z "))
}

/// A folder that is removed at the end.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Kills worker processes and rank 0 at random moments; the final numbers must be those of one
/// process.
pub fn kill(everypath: &Path, kills: u32, record: &mut Record) -> Result<(), Failure> {
    let wrong = |error: &dyn std::fmt::Display| error.to_string();
    let folder = Temporary(std::env::temp_dir().join(format!("everypath-team-{}", std::process::id())));
    fs::create_dir_all(&folder.0).map_err(|error| wrong(&error))?;
    let (model, saved) = (folder.0.join("levels.pml"), folder.0.join("saved"));
    fs::write(&model, MODEL).map_err(|error| wrong(&error))?;
    let mut random = 11;
    let mut below = |bound: u64| splitmix::next(&mut random) % bound.max(1);
    let call = |again: bool, processes: u64| {
        let mut command = Command::new(everypath);
        command.args(["space", "--json", "--threads", "1", "--checkpoint-every", "100ms", "--processes", &processes.to_string()]);
        command.arg("--checkpoint").arg(&saved);
        if again {
            command.arg("--resume").arg(&saved);
        } else {
            command.arg(&model);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command
    };
    let alone = answer(everypath, &["space", &model.display().to_string()]).ok_or("no answer of one process")?;
    let begun = Instant::now();
    let first = call(false, 3).output().map_err(|error| wrong(&error))?;
    let whole = begun.elapsed();
    same(&serde_json::from_slice(&first.stdout).map_err(|error| wrong(&error))?, &alone, "three processes")?;
    let (mut killed, mut leaders, mut resumed, mut searches) = (0, 0, 0, 0);
    while killed < kills {
        for entry in fs::read_dir(&folder.0).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("saved") {
                let _ = fs::remove_file(entry.path());
            }
        }
        let mut again = false;
        loop {
            let mut child = call(again, 2 + below(3)).spawn().map_err(|error| wrong(&error))?;
            std::thread::sleep(Duration::from_micros(below(whole.as_micros() as u64 * 5 / 4)));
            let workers = children(&child);
            if child.try_wait().map_err(|error| wrong(&error))?.is_none() && killed < kills {
                let victim = below(workers.len() as u64 + 1) as usize;
                match workers.get(victim) {
                    Some(worker) => drop(Command::new("kill").args(["-KILL", &worker.to_string()]).status()),
                    None => {
                        leaders += 1;
                        child.kill().map_err(|error| wrong(&error))?;
                    }
                }
                killed += 1;
                let _ = child.wait();
                let begun = Instant::now();
                while workers.iter().any(|&worker| is_there(worker)) {
                    if begun.elapsed() > Duration::from_secs(20) {
                        return Err("a process stays after another one was killed".to_owned());
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
                again = saved.is_file();
                resumed += u32::from(again);
                continue;
            }
            let output = child.wait_with_output().map_err(|error| wrong(&error))?;
            let found: Value = serde_json::from_slice(&output.stdout).map_err(|error| wrong(&error))?;
            same(&found, &alone, &format!("after {killed} kills"))?;
            searches += 1;
            break;
        }
    }
    record.line(format!(
        "{killed} kills, {leaders} of them of rank 0, {resumed} resumed from a saved level, {searches} searches completed: the numbers are \
         those of one process"
    ));
    Ok(())
}

/// The least number of states of a model whose speed is measured.
const LARGE: u64 = 1_000_000;
const TURNS: usize = 3;

/// Measures two processes beside two threads, in turns.
pub fn speed(everypath: &Path, models: &[Model], count: usize, record: &mut Record) -> Result<(), Failure> {
    record.line("| model | states | two threads, s | two processes, s | throughput |\n|---|---|---|---|---|");
    let mut ratios = Vec::new();
    for model in spread(models) {
        if ratios.len() >= count {
            break;
        }
        let name = model.path.display().to_string();
        let threads = ["space", &name, "--threads", "2", "--time", "60s", "--memory", "2G"];
        let processes = ["space", &name, "--threads", "1", "--processes", "2", "--memory", "1G"];
        let Some(first) = answer(everypath, &threads).filter(|first| first["complete"] == true && first["states"].as_u64() >= Some(LARGE))
        else {
            continue;
        };
        let seconds = |answer: &Value| answer["seconds"].as_f64().unwrap_or(f64::MAX);
        let (mut by_threads, mut by_processes) = (seconds(&first), f64::MAX);
        for _ in 0..TURNS {
            let shared = answer(everypath, &processes).ok_or_else(|| format!("{name}: no answer"))?;
            same(&shared, &first, &model.name)?;
            by_processes = by_processes.min(seconds(&shared));
            by_threads = by_threads.min(answer(everypath, &threads).as_ref().map_or(f64::MAX, seconds));
        }
        let ratio = by_threads / by_processes;
        record.line(format!("| {} | {} | {by_threads:.2} | {by_processes:.2} | {ratio:.2} |", model.name, first["states"]));
        ratios.push(ratio);
    }
    let middle = median(&mut ratios);
    record.line(format!(
        "{} models above a million states: {middle:.2} of the throughput of two threads at the median, {:.2} at least",
        ratios.len(),
        ratios.first().copied().unwrap_or(0.0)
    ));
    Ok(())
}
