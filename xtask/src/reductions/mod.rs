//! Compares reductions with the full search: the verdicts must be the same, and the choices must
//! satisfy their conditions.
//!
//! Each program is searched with and without reduction, in every order, with one worker and with
//! two, for deadlocks alone and for faults alone, and for violations of its temporal properties by
//! each search for cycles. In its first states every choice is also checked by brute force. A
//! difference is reduced before it is shown. Seeds are plain numbers, so that a finding can be
//! repeated: `--seed N --random 1`.

pub mod chains;
pub mod corpus;
mod formulas;
pub mod table;

use crate::models::{self, Corpus, Model};
use crate::{Failure, root};
use bytecode::Verified;
use check::{Engine, Order, Plan, Por, StoreKind};
use contract::{Cancel, Limits, Quiet, Safety, Verdict};
use languages::testing::promela;
use reduction::{Examined, Examiner, Stubborn};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use testkit::{promela_gen, random, shrink};
use vm::Interpreter;

/// The number of smaller programs that are tried when a random program shows a difference.
const SHRINKING: usize = 2_000;

/// The number of states that are examined from one choice.
const FROM_ONE_CHOICE: usize = 200;

/// `cargo xtask reductions`
#[derive(clap::Args)]
pub struct Arguments {
    /// A short run, for every change: fewer random models
    #[arg(long)]
    quick: bool,
    /// Random Promela models; those the front-end refuses are not counted [default: 5000, quick:
    /// 200]
    #[arg(long, value_name = "N")]
    random: Option<u64>,
    /// Random byte-code programs [default: 5000, quick: 500]
    #[arg(long, value_name = "N")]
    programs: Option<u64>,
    /// Random models with temporal properties [default: 5000, quick: 300]
    #[arg(long, value_name = "N")]
    formulas: Option<u64>,
    /// States in which choices are verified by brute force, for each program
    #[arg(long, value_name = "N", default_value_t = 60)]
    states: usize,
    /// Seconds for each search: longer ones are not compared, and counted
    #[arg(long, value_name = "N", default_value_t = 3)]
    seconds: u64,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Only models whose name contains this, and no random ones
    #[arg(long, value_name = "PATTERN")]
    only: Option<String>,
    /// Compare on the benchmark set, too
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    corpus: Corpus,
    /// Only these models
    models: Vec<PathBuf>,
}

/// The result of a series of comparisons.
#[derive(Default)]
struct Tally {
    programs: u64,
    off: u64,
    too_long: u64,
    violated: u64,
    choices: u64,
    full: u64,
    reduced: u64,
    wrong: u64,
}

/// The result for one program.
enum Compared {
    Same(Tally),
    Wrong(String),
}

/// Compares everything that the arguments request. A difference is a failure, but the rest is
/// compared first.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let or = |given: Option<u64>, long: u64, quick: u64| given.unwrap_or(if arguments.quick { quick } else { long });
    let (models, programs) = (or(arguments.random, 5_000, 200), or(arguments.programs, 5_000, 500));
    let mut wrong = corpus(arguments)?;
    if arguments.only.is_none() && arguments.models.is_empty() {
        wrong += random_models(arguments, models);
        wrong += random_programs(arguments, programs);
        wrong += random_formulas(arguments, or(arguments.formulas, 5_000, 300));
    }
    if wrong == 0 { Ok(()) } else { Err(format!("{wrong} programs are not reduced as they should be")) }
}

fn corpus(arguments: &Arguments) -> Result<u64, Failure> {
    let mut all: Vec<Model> = arguments.models.iter().map(|path| Model::at(path)).collect();
    if all.is_empty() {
        all = models::own()?;
        if arguments.all {
            all.extend(arguments.corpus.models()?);
        }
    }
    let (mut tally, mut temporal) = (Tally::default(), Tally::default());
    for model in all.iter().filter(|model| arguments.only.as_ref().is_none_or(|only| model.name.contains(only.as_str()))) {
        // Models that are not programs have no reduction.
        let Ok(program) = model.load() else { continue };
        let program = Arc::new(program);
        let mut how = vec![tally.add(compare(&program, arguments)), temporal.add(formulas::compare(&program, arguments.seconds))];
        // The benchmark set states no formulas.
        if let Some(formula) = crate::bench::formula(&model.name).filter(|_| model.is_promela()) {
            let text = fs::read_to_string(&model.path).map_err(|error| format!("{}: {error}", model.path.display()))?;
            let stated = model.translate(format!("{text}\nltl property {{ {formula} }}\n").as_bytes())?;
            how.push(temporal.add(formulas::compare(&Arc::new(stated), arguments.seconds)));
        }
        how.into_iter().flatten().for_each(|how| println!("{}: {how}", model.name));
    }
    tally.tell("models");
    temporal.tell("models with temporal properties");
    Ok(tally.wrong + temporal.wrong)
}

fn random_formulas(arguments: &Arguments, count: u64) -> u64 {
    let mut tally = Tally::default();
    let mut seed = arguments.seed;
    while tally.programs < count && seed - arguments.seed < 3 * count {
        let text = formulas::text(seed);
        if let Some(program) = promela(&text)
            && let Some(how) = tally.add(formulas::compare(&program, arguments.seconds))
        {
            keep("ltl.pml", seed, &text, &how);
        }
        seed += 1;
    }
    tally.tell("random models with temporal properties");
    tally.wrong
}

fn random_models(arguments: &Arguments, count: u64) -> u64 {
    let mut tally = Tally::default();
    let mut seed = arguments.seed;
    let wrong = |model: &promela_gen::Model| {
        let compared = promela(&model.text()).map(|program| compare(&program, arguments));
        matches!(compared, Some(Compared::Wrong(_)))
    };
    while tally.programs < count && seed - arguments.seed < 3 * count {
        let model = promela_gen::model(seed);
        if let Some(program) = promela(&model.text())
            && tally.add(compare(&program, arguments)).is_some()
        {
            let small = promela_gen::shrink(&model, wrong);
            let how = promela(&small.text()).map(|program| match compare(&program, arguments) {
                Compared::Wrong(how) => how,
                Compared::Same(_) => String::new(),
            });
            keep("pml", seed, &small.text(), &how.unwrap_or_default());
        }
        seed += 1;
    }
    tally.tell("random models");
    tally.wrong
}

fn random_programs(arguments: &Arguments, count: u64) -> u64 {
    let mut tally = Tally::default();
    let mut seed = arguments.seed;
    while tally.programs < count && seed - arguments.seed < 3 * count {
        if let Some(program) = random::verified(seed)
            && let Some(how) = tally.add(compare(&Arc::new(program.clone()), arguments))
        {
            let mut shows = |program: &Verified| matches!(compare(&Arc::new(program.clone()), arguments), Compared::Wrong(_));
            let small = shrink::shrink(program.program(), SHRINKING, &mut shows);
            keep("epa", seed, &bytecode::asm::disassemble(&small), &how);
        }
        seed += 1;
    }
    tally.tell("random byte-code");
    tally.wrong
}

/// Prints a finding, and keeps it in a file.
fn keep(ending: &str, seed: u64, text: &str, how: &str) {
    let folder = root().join("target/reductions");
    let path = folder.join(format!("seed-{seed}.{ending}"));
    let kept = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, text)).is_ok();
    println!("seed {seed}: {how}\n{text}{}", if kept { format!("kept in {}\n", path.display()) } else { String::new() });
}

impl Tally {
    /// Adds a result. Returns the difference, if there is one.
    fn add(&mut self, compared: Compared) -> Option<String> {
        match compared {
            Compared::Same(one) => {
                self.programs += one.programs;
                self.off += one.off;
                self.too_long += one.too_long;
                self.violated += one.violated;
                self.choices += one.choices;
                self.full += one.full;
                self.reduced += one.reduced;
                None
            }
            Compared::Wrong(how) => {
                self.programs += 1;
                self.wrong += 1;
                Some(how)
            }
        }
    }

    fn tell(&self, what: &str) {
        println!(
            "{} {what}: {} wrong, {} more without reduction, {} not compared in time, {} violations, {} choices examined, {} states of {}",
            self.programs, self.wrong, self.off, self.too_long, self.violated, self.choices, self.reduced, self.full
        );
    }
}

/// Searches a program with and without reduction, and verifies its first choices.
fn compare(program: &Arc<Verified>, arguments: &Arguments) -> Compared {
    let mut tally = Tally::default();
    let reduction = match Stubborn::of(program) {
        Ok(reduction) => reduction,
        Err(_) => return Compared::Same(Tally { off: 1, ..tally }),
    };
    tally.programs = 1;
    match examine(program, &reduction, arguments.states) {
        Ok(choices) => tally.choices = choices,
        Err(how) => return Compared::Wrong(how),
    }
    let limits = Limits { time: Some(Duration::from_secs(arguments.seconds)), memory: Some(1 << 30), ..Limits::default() };
    let search = |plan: Plan| check::run(program, &Plan { limits, store: StoreKind::Plain, ..plan }, &Cancel::default(), &Quiet);
    for safety in [Safety { deadlocks: true, faults: false }, Safety { deadlocks: false, faults: true }] {
        let plan = Plan {
            engine: Engine::Interpreter,
            property: Some(safety),
            por: Por::Off,
            order: Order::Breadth,
            only: Some(check::Only::Safety),
            ..Plan::check()
        };
        let Ok(full) = search(plan) else { continue };
        if matches!(full.outcome.verdict, Verdict::Unknown(_)) {
            tally.too_long += 1;
            continue;
        }
        // Compiling native code takes longer than most of these searches.
        let native = [(Engine::Native, Order::Auto, 2)];
        let all = Order::ALL.iter().copied().flat_map(|order| [1, 2].map(|threads| (Engine::Interpreter, order, threads)));
        for (engine, order, threads) in all.chain(native) {
            let Ok(found) = search(Plan { por: Por::On, engine, order, threads, ..plan }) else { continue };
            match (&full.outcome.verdict, &found.outcome.verdict) {
                (Verdict::Holds, Verdict::Holds) => {
                    tally.full += full.outcome.statistics.states;
                    tally.reduced += found.outcome.statistics.states;
                }
                (Verdict::Violated(_), Verdict::Violated(_)) => tally.violated += 1,
                (_, Verdict::Unknown(_)) => tally.too_long += 1,
                (full, found) => {
                    return Compared::Wrong(format!(
                        "{safety:?}, {engine}, {order}, {threads} workers: {} became {}",
                        word(full),
                        word(found)
                    ));
                }
            }
        }
    }
    Compared::Same(tally)
}

fn word(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Holds => "holds".to_owned(),
        Verdict::Violated(violation) => format!("violated ({})", violation.fault),
        Verdict::Unknown(reason) => format!("unknown ({reason})"),
    }
}

/// Verifies the choices in the first states of a program; returns the number of choices that left
/// something out.
fn examine(program: &Arc<Verified>, reduction: &Stubborn, most: usize) -> Result<u64, String> {
    let mut system = Interpreter::new(Arc::clone(program));
    let mut choices = 0;
    for state in testkit::states::first(&mut system, most) {
        let examined = Examiner::new(&mut system, reduction, program.layout().exclusive, FROM_ONE_CHOICE).examine(&state);
        choices += u64::from(matches!(examined.map_err(|flaw| flaw.to_string())?, Examined::Kept { .. }));
    }
    Ok(choices)
}
