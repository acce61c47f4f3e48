//! Runs SPIN on a model: its translator, a C compiler, and its verifier, twice.
//!
//! `spin -o1 -o2 -o3 -a` disables all optimisations that would change the number of states. A
//! verifier without reductions that ignores errors gives the counts; the same verifier stopping at
//! the first error gives the verdict. TinyCC, if it is installed, compiles a verifier twenty times
//! as fast as gcc; a difference is confirmed with gcc.

use crate::root;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The answer about a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// States and transitions; `None` if SPIN's verifier continues after a fault that ends the step
    /// for us.
    pub counts: Option<(u64, u64)>,
    /// The kind of violation, if there is one.
    pub violation: Option<String>,
}

/// The C compilers that can translate SPIN's verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiler {
    Gcc,
    TinyCc,
}

impl Compiler {
    /// The fastest compiler that is installed.
    pub fn quickest() -> Self {
        let there = Command::new("tcc").arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if there.is_ok_and(|status| status.success()) { Compiler::TinyCc } else { Compiler::Gcc }
    }

    fn name(self) -> &'static str {
        match self {
            Compiler::Gcc => "gcc",
            Compiler::TinyCc => "tcc",
        }
    }
}

/// SPIN's words for the kinds of violation that we name in the same words.
pub const KNOWN: [&str; 4] = ["invalid end state", "assertion violated", "invalid array index", "block in d_step"];

/// SPIN's answer for a model.
pub fn ask(text: &str, beside: Option<&Path>, name: &str, compiler: Compiler, patience: Duration) -> Result<Said, String> {
    in_folder(name, |folder| ask_in(folder, text, beside, compiler, patience))
}

/// The cycles that SPIN looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycle {
    /// Through accepting states of a claim, or accept labels of the model.
    Accepted,
    /// Without progress labels.
    WithoutProgress,
}

/// Whether SPIN finds a run that violates the formula or the claim of a model, or such a cycle,
/// with or without weak fairness.
pub fn ask_for_cycles(text: &str, name: &str, compiler: Compiler, cycle: Cycle, fair: bool, patience: Duration) -> Result<bool, String> {
    in_folder(name, |folder| {
        fs::write(folder.join("model.pml"), text).map_err(|error| error.to_string())?;
        let (define, option) = match cycle {
            Cycle::Accepted => (&[][..], "-a"),
            Cycle::WithoutProgress => (&["-DNP"][..], "-l"),
        };
        make_verifier(folder, compiler, &[&["-DNOREDUCE", "-DVECTORSZ=8192", "-DNFAIR=3"], define].concat(), patience)?;
        // Assertions are not ignored, because SPIN's claims of safety formulas contain some.
        let options = [option, "-E", "-n", "-m100000", "-w20"];
        let fairness = if fair { &["-f"][..] } else { &[] };
        let (_, told) = within_time(folder, "./pan", &[&options[..], fairness].concat(), patience)?;
        cannot(&told)?;
        let Some(message) = told.lines().find_map(|line| line.strip_prefix("pan:1: ")) else {
            let errors = told.lines().find_map(|line| line.split_once("errors: ")).map(|(_, count)| count.trim());
            return if errors == Some("0") { Ok(false) } else { Err("SPIN's verifier does not end as it should".to_owned()) };
        };
        let known =
            ["acceptance cycle", "accept stutter", "non-progress cycle", "claim violated", "end state in claim", "assertion violated"];
        if known.iter().any(|kind| message.contains(kind)) {
            Ok(true)
        } else {
            Err(format!("SPIN finds another fault: {}", first_words(message)))
        }
    })
}

/// Whether SPIN finds a run whose channel events violate the model's assertion.
pub fn ask_for_events(text: &str, name: &str, compiler: Compiler, patience: Duration) -> Result<bool, String> {
    in_folder(name, |folder| {
        fs::write(folder.join("model.pml"), text).map_err(|error| error.to_string())?;
        make_verifier(folder, compiler, &["-DNOREDUCE", "-DSAFETY", "-DVECTORSZ=8192"], patience)?;
        let (_, told) = within_time(folder, "./pan", &["-c0", "-A", "-E", "-n", "-m100000", "-w20"], patience)?;
        cannot(&told)?;
        if told.contains("non-determinism in event-trace") {
            return Err("SPIN stops at an event that matches in two ways".to_owned());
        }
        if told.contains("event_trace error") {
            return Ok(true);
        }
        if told.contains(" states, stored") && !told.contains("Search not completed") {
            Ok(false)
        } else {
            Err("SPIN's verifier does not end as it should".to_owned())
        }
    })
}

/// The states of each process that SPIN never reaches, by process and line. A state that only jumps
/// is not a statement, and is left out; so is the end of a process, which a process that never ends
/// does not have in our byte-code.
pub fn ask_unreached(
    text: &str,
    beside: Option<&Path>,
    name: &str,
    compiler: Compiler,
    patience: Duration,
) -> Result<Vec<(String, u32)>, String> {
    in_folder(name, |folder| {
        fs::write(folder.join("model.pml"), text).map_err(|error| error.to_string())?;
        copy_headers(folder, beside);
        make_verifier(folder, compiler, &["-DNOREDUCE", "-DSAFETY", "-DNOCLAIM", "-DVECTORSZ=8192"], patience)?;
        let (_, told) = within_time(folder, "./pan", &["-c0", "-A", "-E", "-m100000", "-w20"], patience)?;
        cannot(&told)?;
        let (mut process, mut all) = (None, Vec::new());
        for line in told.lines() {
            if let Some(header) = line.strip_prefix("unreached in ") {
                // `proctype P`, `init`, or a claim, which is not a process.
                process = header.strip_prefix("proctype ").map(str::to_owned).or((header == "init").then(|| "init".to_owned()));
            } else if let (Some(process), Some((place, state))) = (&process, line.trim().split_once(", state "))
                && let Some(number) = place.rsplit_once(':').and_then(|(_, number)| number.parse().ok())
                && !state.contains("(goto)")
                && !state.contains("-end-")
            {
                all.push((process.clone(), number));
            }
        }
        Ok(all)
    })
}

fn first_words(message: &str) -> &str {
    message.split_once(" (").map_or(message, |(words, _)| words)
}

/// Runs a function in a folder of its own.
fn in_folder<T>(name: &str, act: impl FnOnce(&Path) -> Result<T, String>) -> Result<T, String> {
    let folder = root().join("target/conformance").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let answer = act(&folder);
    let _ = fs::remove_dir_all(&folder);
    answer
}

/// Builds the verifier of `model.pml`, without optimisations that would change the number of
/// states.
fn make_verifier(folder: &Path, compiler: Compiler, defines: &[&str], patience: Duration) -> Result<(), String> {
    let (code, made) = within_time(folder, "spin", &["-o1", "-o2", "-o3", "-a", "model.pml"], patience)?;
    if code != Some(0) || !folder.join("pan.c").exists() {
        return Err(format!("SPIN refuses it: {}", refusal(&made)));
    }
    let name = compiler.name();
    let options = [&["-O0", "-w"], defines, &["-o", "pan", "pan.c"]].concat();
    let (code, refused) = within_time(folder, name, &options, patience)?;
    match code {
        Some(0) => Ok(()),
        _ => Err(format!("{name} refuses it: {}", refused.lines().next().unwrap_or_default())),
    }
}

/// Copies the files next to the model, because it may include them.
fn copy_headers(folder: &Path, beside: Option<&Path>) {
    for entry in beside.into_iter().flat_map(fs::read_dir).flatten().flatten() {
        if entry.path().extension().is_some_and(|ending| ending == "h") {
            let _ = fs::copy(entry.path(), folder.join(entry.file_name()));
        }
    }
}

fn ask_in(folder: &Path, text: &str, beside: Option<&Path>, compiler: Compiler, patience: Duration) -> Result<Said, String> {
    fs::write(folder.join("model.pml"), text).map_err(|error| error.to_string())?;
    copy_headers(folder, beside);
    make_verifier(folder, compiler, &["-DNOREDUCE", "-DSAFETY", "-DNOCLAIM", "-DVECTORSZ=8192"], patience)?;
    let (_, all) = within_time(folder, "./pan", &["-c0", "-A", "-E", "-n", "-m100000", "-w20"], patience)?;
    let (_, first) = within_time(folder, "./pan", &["-n", "-m100000", "-w20"], patience)?;
    cannot(&all)?;
    let number = |mark: &str| -> Option<u64> {
        let line = all.lines().find(|line| line.contains(mark))?;
        Some(line.split_whitespace().next()?.parse::<f64>().ok()? as u64)
    };
    let (Some(states), Some(transitions)) = (number(" states, stored"), number(" transitions (=")) else {
        return Err(format!("SPIN's verifier says: {}", all.lines().next().unwrap_or("nothing")));
    };
    let goes_on = ["block in d_step", "bad queue", "uninit"].iter().any(|message| all.contains(message));
    let counts = (!goes_on).then_some((states, transitions));
    let violation = first
        .lines()
        .find_map(|line| line.strip_prefix("pan:1: "))
        .map(|message| KNOWN.into_iter().find(|kind| message.contains(kind)).unwrap_or(message).to_owned());
    Ok(Said { counts, violation })
}

/// Messages in which SPIN's verifier says that it cannot work: two `else` in one control state,
/// loops without an effect together with `enabled`, depth.
fn cannot(told: &str) -> Result<(), String> {
    for (sign, why) in [
        ("inherits", "two else"),
        ("self-loop", "a loop without effect"),
        ("max search depth too small", "too deep for SPIN"),
        ("rv-attempt in d_step", "a rendezvous offer in a d_step, which SPIN gives up at"),
        ("too many processes", "more processes than SPIN's search survives"),
        ("used: enabled(pid=thisproc)", "a process that asks whether itself is enabled, which SPIN gives up at"),
    ] {
        if told.contains(sign) {
            return Err(why.to_owned());
        }
    }
    Ok(())
}

/// The sentence of a refusal, without its position.
fn refusal(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    let sentence = line.split_once("rror: ").map_or(line, |(_, sentence)| sentence);
    let sentence = sentence.split_once(") ").map_or(sentence, |(_, sentence)| sentence);
    sentence.split([',', '\t']).next().unwrap_or(sentence)
}

/// Runs a program in a folder for a limited time; returns its exit code and its output.
fn within_time(folder: &Path, program: &str, arguments: &[&str], patience: Duration) -> Result<(Option<i32>, String), String> {
    let path = folder.join("out.txt");
    let out = fs::File::create(&path).map_err(|error| error.to_string())?;
    let errors = out.try_clone().map_err(|error| error.to_string())?;
    // A relative program is looked for in our folder, not in its own.
    let place = if let Some(local) = program.strip_prefix("./") { folder.join(local) } else { PathBuf::from(program) };
    let mut command = Command::new(place);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(out).stderr(errors);
    let mut child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
    let began = Instant::now();
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => {
                let text = fs::read(&path).map_err(|error| error.to_string())?;
                return Ok((status.code(), String::from_utf8_lossy(&text).into_owned()));
            }
            None if began.elapsed() > patience => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{program} did not end within {} s", patience.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}
