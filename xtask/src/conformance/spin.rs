//! SPIN itself, asked about a model: its translator, a C compiler, and its verifier run twice.
//!
//! `spin -o1 -o2 -o3 -a` switches off what would change the number of states; a verifier without reductions that passes over errors gives the
//! counts, the same one that stops at the first error gives the verdict. TinyCC, where it is installed, translates a verifier twenty times as fast
//! as gcc does; a difference it shows is asked again with gcc before anybody believes it.

use crate::root;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What somebody says of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// States and transitions; none where SPIN's verifier goes on after a fault that ends the step for us.
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
    /// The quickest one installed.
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

/// What SPIN itself says of a model.
pub fn ask(text: &str, beside: Option<&Path>, name: &str, compiler: Compiler, patience: Duration) -> Result<Said, String> {
    let folder = root().join("target/conformance").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let answer = ask_in(&folder, text, beside, compiler, patience);
    let _ = fs::remove_dir_all(&folder);
    answer
}

fn ask_in(folder: &Path, text: &str, beside: Option<&Path>, compiler: Compiler, patience: Duration) -> Result<Said, String> {
    fs::write(folder.join("model.pml"), text).map_err(|error| error.to_string())?;
    // Included files are looked for beside the model.
    for entry in beside.into_iter().flat_map(fs::read_dir).flatten().flatten() {
        if entry.path().extension().is_some_and(|ending| ending == "h") {
            let _ = fs::copy(entry.path(), folder.join(entry.file_name()));
        }
    }
    let (code, made) = within_time(folder, "spin", &["-o1", "-o2", "-o3", "-a", "model.pml"], patience)?;
    if code != Some(0) || !folder.join("pan.c").exists() {
        return Err(format!("SPIN refuses it: {}", refusal(&made)));
    }
    let name = compiler.name();
    let options = ["-O0", "-w", "-DNOREDUCE", "-DSAFETY", "-DNOCLAIM", "-DVECTORSZ=8192", "-o", "pan", "pan.c"];
    let (code, refused) = within_time(folder, name, &options, patience)?;
    if code != Some(0) {
        return Err(format!("{name} refuses it: {}", refused.lines().next().unwrap_or_default()));
    }
    let (_, all) = within_time(folder, "./pan", &["-c0", "-A", "-E", "-n", "-m100000", "-w20"], patience)?;
    let (_, first) = within_time(folder, "./pan", &["-n", "-m100000", "-w20"], patience)?;
    // What SPIN's verifier itself says it cannot do: two `else` in one control state, loops without an effect beside `enabled`, depth.
    for (sign, why) in [
        ("inherits", "two else"),
        ("self-loop", "a loop without effect"),
        ("max search depth too small", "too deep for SPIN"),
        ("rv-attempt in d_step", "a rendezvous offer in a d_step, which SPIN gives up at"),
        ("too many processes", "more processes than SPIN's search survives"),
        ("used: enabled(pid=thisproc)", "a process that asks whether itself is enabled, which SPIN gives up at"),
    ] {
        if all.contains(sign) {
            return Err(why.to_owned());
        }
    }
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

/// The sentence of a refusal, without its place.
fn refusal(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    let sentence = line.split_once("rror: ").map_or(line, |(_, sentence)| sentence);
    let sentence = sentence.split_once(") ").map_or(sentence, |(_, sentence)| sentence);
    sentence.split([',', '\t']).next().unwrap_or(sentence)
}

/// Runs a program in a folder for a bounded time; gives its exit code and what it prints.
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
