//! Promela as SPIN means it: state counts, transitions and verdicts beside SPIN's.
//!
//! The benchmark set has SPIN's answers recorded (`expected.tsv` beside it). Any other model, and random ones, are shown to SPIN itself: `spin -o1
//! -o2 -o3 -a`, a verifier without reductions that passes over errors for the counts, and the same one that stops at the first error for the
//! verdict. SPIN counts one transition more than there are edges, for the initial state. A random model that differs is made small.

use crate::models::Model;
use crate::{Failure, root};
use bytecode::Verified;
use check::{Plan, run};
use contract::{Cancel, FaultKind, Quiet, Safety, Verdict};
use languages::{NoFiles, Source};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use testkit::promela_gen;

/// `cargo xtask conformance`
#[derive(clap::Args)]
pub struct Arguments {
    /// Compare random models with SPIN: this many [default without a number: 2000]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "2000")]
    random: Option<u64>,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Leave out models of the benchmark set with more states than this
    #[arg(long, value_name = "N")]
    states: Option<u64>,
    /// How many models are compared at a time
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
    /// Folder of the benchmark set, with `expected.tsv`
    #[arg(long, value_name = "FOLDER")]
    corpus: Option<PathBuf>,
    /// These models beside SPIN, and nothing else
    models: Vec<PathBuf>,
}

/// What somebody says of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    /// States and transitions; none where SPIN's verifier goes on after a fault that ends the step for us.
    counts: Option<(u64, u64)>,
    /// The kind of violation, if there is one.
    violation: Option<String>,
}

/// How long SPIN's verifier may take for one model.
const PATIENCE: Duration = Duration::from_secs(60);

/// Carries out the command.
pub fn run_command(arguments: &Arguments) -> Result<(), Failure> {
    if !arguments.models.is_empty() {
        let models: Vec<Model> = arguments.models.iter().map(|path| Model::at(path)).collect();
        return report(each(&models, arguments.jobs, beside_spin));
    }
    if let Some(count) = arguments.random {
        let seeds: Vec<u64> = (arguments.seed..arguments.seed + count).collect();
        println!("random models, seeds {} to {}", arguments.seed, arguments.seed + count - 1);
        return report(each(&seeds, arguments.jobs, |&seed| random(seed)));
    }
    report(recorded(arguments)?)
}

/// What comparing one model came to.
enum Compared {
    Same,
    /// No comparison: why.
    Skipped(String),
    Different(String),
}

/// Prints what differs; an error if anything does.
fn report(results: Vec<(String, Compared)>) -> Result<(), Failure> {
    let (mut same, mut different) = (0, 0);
    let mut skipped = Vec::new();
    for (name, result) in results {
        match result {
            Compared::Same => same += 1,
            Compared::Skipped(why) => skipped.push((name, why)),
            Compared::Different(how) => {
                different += 1;
                println!("{name}: {how}");
            }
        }
    }
    for (name, why) in skipped.iter().take(20) {
        println!("{name}: not compared: {why}");
    }
    println!("{same} the same, {different} different, {} not compared", skipped.len());
    if different == 0 { Ok(()) } else { Err(format!("{different} models differ from SPIN")) }
}

/// Compares all items, a few at a time, in order.
fn each<T: Sync>(items: &[T], jobs: usize, compare: impl Fn(&T) -> (String, Compared) + Sync) -> Vec<(String, Compared)> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    let result = compare(item);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The benchmark set, beside what is recorded of SPIN.
fn recorded(arguments: &Arguments) -> Result<Vec<(String, Compared)>, Failure> {
    let folder = arguments.corpus.clone().unwrap_or_else(|| root().join("../shared/models"));
    let table = folder.join("expected.tsv");
    let Ok(text) = fs::read_to_string(&table) else {
        println!("There is no {}: nothing to compare. `--corpus FOLDER` names another place.", table.display());
        return Ok(Vec::new());
    };
    let rows: Vec<(PathBuf, Said)> = text
        .lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let [model, "complete", states, transitions, verdict, violation, ..] = fields[..] else { return None };
            let violation = (verdict == "violated").then(|| violation.to_owned());
            Some((folder.join(model), Said { counts: Some((states.parse().ok()?, transitions.parse().ok()?)), violation }))
        })
        .filter(|(_, said)| said.counts.is_none_or(|(states, _)| arguments.states.is_none_or(|most| states <= most)))
        .collect();
    Ok(each(&rows, arguments.jobs, |(path, spin)| {
        let model = Model::at(path);
        let compared = match model.load() {
            Ok(program) => compare(&Arc::new(program), spin),
            Err(why) => Compared::Different(format!("refused: {}", why.trim())),
        };
        (model.name, compared)
    }))
}

/// A model in a file, beside SPIN itself.
fn beside_spin(model: &Model) -> (String, Compared) {
    let compared = match (model.load(), fs::read_to_string(&model.path)) {
        (Err(why), _) => Compared::Different(format!("refused: {}", why.trim())),
        (_, Err(error)) => Compared::Skipped(error.to_string()),
        (Ok(program), Ok(text)) => match ask_spin(&text, model.path.parent(), &model.name.replace('/', "-")) {
            Ok(spin) => compare(&Arc::new(program), &spin),
            Err(why) => Compared::Skipped(why),
        },
    };
    (model.name.clone(), compared)
}

/// A random model, made small if it differs.
fn random(seed: u64) -> (String, Compared) {
    let model = promela_gen::model(seed);
    let asked = |text: &str| -> Compared {
        match translate(text) {
            Err(why) => Compared::Different(format!("refused: {why}")),
            Ok(program) => match ask_spin(text, None, &format!("seed-{seed}")) {
                Ok(spin) => compare(&Arc::new(program), &spin),
                Err(why) => Compared::Skipped(why),
            },
        }
    };
    let compared = match asked(&model.text()) {
        Compared::Different(_) => {
            let small = promela_gen::shrink(&model, |candidate| matches!(asked(&candidate.text()), Compared::Different(_)));
            match asked(&small.text()) {
                Compared::Different(how) => Compared::Different(format!("{how}\n{}", small.text())),
                other => other,
            }
        }
        other => other,
    };
    (format!("seed {seed}"), compared)
}

fn translate(text: &str) -> Result<Verified, Failure> {
    let source = Source { name: "random.pml", bytes: text.as_bytes(), defines: &[], files: &mut NoFiles };
    let loaded = languages::load(source).map_err(|rejected| source::render_all(&rejected.map, &rejected.diagnostics))?;
    Ok(loaded.program)
}

/// Our answer beside SPIN's.
fn compare(program: &Arc<Verified>, spin: &Said) -> Compared {
    let explore = |plan: Plan| run(program, &plan, &Cancel::default(), &Quiet).map_err(|refusal| refusal.to_string());
    let space = match explore(Plan::space()) {
        Ok(checked) => checked.outcome,
        Err(why) => return Compared::Skipped(why),
    };
    let found = (space.statistics.states, space.statistics.transitions + 1);
    if let Some(counts) = spin.counts
        && counts != found
    {
        return Compared::Different(format!("{} states, {} transitions; SPIN {}, {}", found.0, found.1, counts.0, counts.1));
    }
    // SPIN stops at the first error it meets, which need not be the first we meet: look for the kind it found.
    let property = match spin.violation.as_deref() {
        None => Safety::default(),
        Some("invalid end state") => Safety { faults: false, ..Safety::default() },
        Some(_) => Safety { deadlocks: false, ..Safety::default() },
    };
    let ours = match explore(Plan { property: Some(property), ..Plan::check() }) {
        Ok(checked) => match checked.outcome.verdict {
            Verdict::Holds => None,
            Verdict::Violated(violation) => Some(spoken(violation.fault.kind).to_owned()),
            Verdict::Unknown(why) => return Compared::Skipped(why.to_string()),
        },
        Err(why) => return Compared::Skipped(why),
    };
    // Where SPIN has words of its own, that both find something must do.
    let same = match (&ours, &spin.violation) {
        (Some(ours), Some(spin)) if KNOWN.contains(&spin.as_str()) => ours == spin,
        (ours, spin) => ours.is_some() == spin.is_some(),
    };
    if !same {
        return Compared::Different(format!("violation {ours:?}; SPIN {:?}", spin.violation));
    }
    Compared::Same
}

/// SPIN's words for the kinds of violation that we name in the same words.
const KNOWN: [&str; 4] = ["invalid end state", "assertion violated", "invalid array index", "block in d_step"];

/// A kind of violation in SPIN's words.
fn spoken(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Deadlock => "invalid end state",
        FaultKind::Assertion => "assertion violated",
        FaultKind::IndexOutOfRange => "invalid array index",
        other => other.name(),
    }
}

/// What SPIN itself says of a model.
fn ask_spin(text: &str, beside: Option<&Path>, name: &str) -> Result<Said, String> {
    let folder = root().join("target/conformance").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let answer = ask_spin_in(&folder, text, beside);
    let _ = fs::remove_dir_all(&folder);
    answer
}

fn ask_spin_in(folder: &Path, text: &str, beside: Option<&Path>) -> Result<Said, String> {
    fs::write(folder.join("model.pml"), text).map_err(|error| error.to_string())?;
    // Included files are looked for beside the model.
    for entry in beside.into_iter().flat_map(fs::read_dir).flatten().flatten() {
        if entry.path().extension().is_some_and(|ending| ending == "h") {
            let _ = fs::copy(entry.path(), folder.join(entry.file_name()));
        }
    }
    let (code, made) = within_time(folder, "spin", &["-o1", "-o2", "-o3", "-a", "model.pml"])?;
    if code != Some(0) || !folder.join("pan.c").exists() {
        return Err(format!("SPIN refuses it: {}", made.lines().next().unwrap_or_default()));
    }
    let options = ["-O0", "-w", "-DNOREDUCE", "-DSAFETY", "-DNOCLAIM", "-DVECTORSZ=8192", "-o", "pan", "pan.c"];
    let (code, refused) = within_time(folder, "gcc", &options)?;
    if code != Some(0) {
        return Err(format!("gcc refuses it: {}", refused.lines().next().unwrap_or_default()));
    }
    let (_, all) = within_time(folder, "./pan", &["-c0", "-A", "-E", "-n", "-m100000"])?;
    let (_, first) = within_time(folder, "./pan", &["-n", "-m100000"])?;
    // What SPIN's verifier itself says it cannot do: two `else` in one control state, loops without an effect beside `enabled`, depth.
    for (sign, why) in
        [("inherits", "two else"), ("self-loop", "a loop without effect"), ("max search depth too small", "too deep for SPIN")]
    {
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

/// Runs a program in a folder for a bounded time; gives its exit code and what it prints.
fn within_time(folder: &Path, program: &str, arguments: &[&str]) -> Result<(Option<i32>, String), String> {
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
            None if began.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{program} did not end within {} s", PATIENCE.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}
