//! Compares the meaning of Promela with SPIN's: state counts, transitions and verdicts.
//!
//! SPIN's answers for the benchmark set are recorded (`expected.tsv` next to it). For any other
//! model, and for random ones, SPIN is run. SPIN counts one transition more than there are edges,
//! for the initial state. Differences are printed as they are found.

mod atoms;
pub mod claims;
mod events;
pub mod formulas;
mod random;
pub(crate) mod spin;

use crate::models::Model;
use crate::{Failure, root};
use bytecode::Verified;
use check::{Only, Plan, run};
use contract::{Cancel, Limits, Quiet, Safety, Successors, System, Verdict, ViolationKind};
use spin::{Compiler, KNOWN, Said};
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use testkit::promela_gen;

/// `cargo xtask conformance`
#[derive(clap::Args)]
pub struct Arguments {
    /// Compare random models with SPIN: this many [default without a number: 2000]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "2000")]
    random: Option<u64>,
    /// Compare random formulas over random models with SPIN: this many [default without a number:
    /// 1000]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1000", conflicts_with = "random")]
    formulas: Option<u64>,
    /// Compare random assertions on channel events over random models with SPIN: this many [default
    /// without a number: 1000]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1000", conflicts_with_all = ["random", "formulas"])]
    events: Option<u64>,
    /// Compare random never claims, accept labels and progress labels over random models with SPIN:
    /// this many [default without a number: 1000]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1000", conflicts_with_all = ["random", "formulas", "events"])]
    claims: Option<u64>,
    /// Print the random models instead of comparing them
    #[arg(long)]
    print: bool,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Skip models of the benchmark set with more states than this
    #[arg(long, value_name = "N")]
    states: Option<u64>,
    /// The number of models that are compared at a time
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
    /// Folder of the benchmark set, with `expected.tsv`
    #[arg(long, value_name = "FOLDER")]
    corpus: Option<PathBuf>,
    /// Compare only these models with SPIN
    models: Vec<PathBuf>,
}

/// The time limit for each step of SPIN on one model: its translator, the C compiler and its
/// verifier.
const PATIENCE: Duration = Duration::from_secs(60);

/// Carries out the command.
pub fn run_command(arguments: &Arguments) -> Result<(), Failure> {
    if !arguments.models.is_empty() {
        let models: Vec<Model> = arguments.models.iter().map(|path| Model::at(path)).collect();
        return report(&each(&models, arguments.jobs, beside_spin));
    }
    if let Some(count) = arguments.random {
        if arguments.print {
            (arguments.seed..arguments.seed + count).for_each(|seed| println!("// seed {seed}\n{}", promela_gen::model(seed).text()));
            return Ok(());
        }
        return report(&random_models(arguments, count, random::compare));
    }
    if let Some(count) = arguments.formulas {
        if arguments.print {
            (arguments.seed..arguments.seed + count).for_each(|seed| println!("// seed {seed}\n{}", formulas::text(seed)));
            return Ok(());
        }
        return report(&random_models(arguments, count, formulas::compare));
    }
    if let Some(count) = arguments.events {
        if arguments.print {
            (arguments.seed..arguments.seed + count).for_each(|seed| println!("// seed {seed}\n{}", events::text(seed)));
            return Ok(());
        }
        return report(&random_models(arguments, count, events::compare));
    }
    if let Some(count) = arguments.claims {
        if arguments.print {
            (arguments.seed..arguments.seed + count).for_each(|seed| println!("// seed {seed}\n{}", claims::text(seed)));
            return Ok(());
        }
        return report(&random_models(arguments, count, claims::compare));
    }
    report(&recorded(arguments)?)
}

/// The result of comparing one model.
enum Compared {
    Same,
    /// It was not compared, for this reason.
    Skipped(String),
    Different(String),
}

/// Prints how many models were compared, and why others were not; returns an error if any differ. A
/// comparison of no model at all is reported like a test that cannot run.
fn report(results: &[Compared]) -> Result<(), Failure> {
    let (mut same, mut different, mut skipped) = (0, 0, BTreeMap::new());
    for result in results {
        match result {
            Compared::Same => same += 1,
            Compared::Different(_) => different += 1,
            Compared::Skipped(why) => *skipped.entry(why.as_str()).or_insert(0) += 1,
        }
    }
    println!("{same} the same, {different} different, {} not compared", skipped.values().sum::<u32>());
    for (why, count) in &skipped {
        println!("  not compared, {count}: {why}");
    }
    if let (0, 0, Some(why)) = (same, different, skipped.keys().next()) {
        testkit::passed_over(&format!("no model was compared: {why}"));
    }
    if different == 0 { Ok(()) } else { Err(format!("{different} models differ from SPIN")) }
}

/// Compares all items, a few at a time.
fn each<T: Sync>(items: &[T], jobs: usize, compare: impl Fn(&T) -> (String, Compared) + Sync) -> Vec<Compared> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (name, result) = compare(item);
                    if let Compared::Different(how) = &result {
                        println!("{name}: {how}");
                    }
                    results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
                }
            });
        }
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Compares random models from the first seed on, until the requested number is reached.
fn random_models(arguments: &Arguments, count: u64, compare: fn(u64, Compiler) -> Compared) -> Vec<Compared> {
    let compiler = Compiler::quickest();
    let (mut results, mut next, mut missing) = (Vec::new(), arguments.seed, count);
    while missing > 0 {
        let seeds: Vec<u64> = (next..next + missing).collect();
        let answer = |seed: u64| match compare(seed, compiler) {
            // TinyCC translates some of SPIN's long conditions wrongly.
            Compared::Different(_) if compiler == Compiler::TinyCc => compare(seed, Compiler::Gcc),
            answer => answer,
        };
        let more = each(&seeds, arguments.jobs, |&seed| (format!("seed {seed}"), answer(seed)));
        let compared = more.iter().filter(|result| !matches!(result, Compared::Skipped(_))).count() as u64;
        results.extend(more);
        next += missing;
        missing -= compared;
        // Without SPIN no model can be compared.
        if missing == count {
            break;
        }
    }
    println!("random models, seeds {} to {}", arguments.seed, next.saturating_sub(1));
    results
}

/// Compares the benchmark set with the recorded answers of SPIN.
fn recorded(arguments: &Arguments) -> Result<Vec<Compared>, Failure> {
    let folder = arguments.corpus.clone().unwrap_or_else(|| root().join("../shared/models"));
    let table = folder.join("expected.tsv");
    let Ok(text) = fs::read_to_string(&table) else {
        testkit::passed_over(&format!("there is no {}; `--corpus FOLDER` names another folder", table.display()));
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
            Ok(program) => compare(&Arc::new(program), spin, Limits::default()),
            Err(why) => Compared::Different(format!("refused: {}", why.trim())),
        };
        (model.name, compared)
    }))
}

/// Compares a model in a file with SPIN itself.
fn beside_spin(model: &Model) -> (String, Compared) {
    let compared = match (model.load(), fs::read_to_string(&model.path)) {
        (Err(why), _) => Compared::Different(format!("refused: {}", why.trim())),
        (_, Err(error)) => Compared::Skipped(error.to_string()),
        (Ok(program), Ok(text)) => match spin::ask(&text, model.path.parent(), &model.name.replace('/', "-"), Compiler::Gcc, PATIENCE) {
            Ok(spin) => compare(&Arc::new(program), &spin, Limits::default()),
            Err(why) => Compared::Skipped(why),
        },
    };
    (model.name.clone(), compared)
}

/// Compares our answer with SPIN's.
fn compare(program: &Arc<Verified>, spin: &Said, limits: Limits) -> Compared {
    let explore = |plan: Plan| run(program, &Plan { limits, ..plan }, &Cancel::default(), &Quiet).map_err(|refusal| refusal.to_string());
    let space = match explore(Plan::space()) {
        Ok(checked) => checked.outcome,
        Err(why) => return Compared::Skipped(why),
    };
    if let Verdict::Unknown(why) = &space.verdict
        && spin.counts.is_none_or(|(states, _)| space.statistics.states <= states)
    {
        return Compared::Skipped(format!("our search: {}", why.name()));
    }
    let found = (space.statistics.states, space.statistics.transitions + 1);
    if let Some(counts) = spin.counts
        && counts != found
    {
        return Compared::Different(format!("{} states, {} transitions; SPIN {}, {}", found.0, found.1, counts.0, counts.1));
    }
    // SPIN stops at the first error it finds, which need not be the first that we find, so we look
    // for the kind that it found. If SPIN's words have no counterpart here, it is enough that both
    // find an error.
    let property = match spin.violation.as_deref() {
        None => Safety::default(),
        Some("invalid end state") => Safety { faults: false, ..Safety::default() },
        Some(_) => Safety { deadlocks: false, ..Safety::default() },
    };
    let ours = match explore(Plan { property: Some(property), only: Some(Only::Safety), ..Plan::check() }) {
        Ok(checked) => match checked.outcome.verdict {
            Verdict::Holds => None,
            Verdict::Violated(violation) => Some(violation.fault.kind.name()),
            Verdict::Unknown(why) => return Compared::Skipped(format!("our search: {}", why.name())),
        },
        Err(why) => return Compared::Skipped(why),
    };
    let same = match (ours, &spin.violation) {
        (Some(ours), Some(spin)) => !KNOWN.contains(&spin.as_str()) || ours == spin || kinds(program).contains(spin.as_str()),
        (ours, spin) => ours.is_some() == spin.is_some(),
    };
    if !same {
        return Compared::Different(format!("violation {ours:?}; SPIN {:?}", spin.violation));
    }
    Compared::Same
}

/// The kinds of violation in a state space, or in its first states if it is large.
fn kinds(program: &Arc<Verified>) -> BTreeSet<&'static str> {
    const STATES: usize = 100_000;
    let mut system = vm::Interpreter::new(Arc::clone(program));
    let (mut kinds, mut seen, mut waiting) = (BTreeSet::new(), HashSet::new(), VecDeque::new());
    let mut out = Successors::new();
    system.initial(&mut out);
    loop {
        for entry in out.entries() {
            kinds.extend(entry.fault().map(|fault| system.describe_fault(fault).kind.name()));
            if let Some(state) = out.state(entry)
                && seen.len() < STATES
                && seen.insert(state.to_vec())
            {
                waiting.push_back(state.to_vec());
            }
        }
        let Some(state) = waiting.pop_front() else { return kinds };
        out.clear();
        system.successors(&state, &mut out);
        if out.entries().is_empty() && !system.is_valid_end(&state) {
            kinds.insert(ViolationKind::Deadlock.name());
        }
    }
}
