//! Compares native code with the interpreter, state by state: on all available models, on random
//! Promela models, on random byte-code.
//!
//! Both must give the same successors in the same order, with the same faults, and agree on valid
//! ends. A difference is reduced before it is shown. Seeds are plain numbers, so that a finding can
//! be repeated: `--seed N --random 1`.

use crate::models::{self, Corpus, Model};
use crate::{Failure, root};
use bytecode::Verified;
use jit::{CompileError, Native};
use languages::testing::promela;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::compare::Extent;
use testkit::{engines, promela_gen, random, shrink};
use vm::Interpreter;

/// The number of smaller programs that are tried when a random program shows a difference.
const SHRINKING: usize = 2_000;

/// `cargo xtask engines`
#[derive(clap::Args)]
pub struct Arguments {
    /// A short run, for every change: fewer states and fewer random models
    #[arg(long)]
    quick: bool,
    /// States to compare for each model that is in a file, breadth first [default: 20000, quick:
    /// 1000]
    #[arg(long, value_name = "N")]
    states: Option<usize>,
    /// Random Promela models to compare; those the front-end refuses are not counted [default:
    /// 5000, quick: 200]
    #[arg(long, value_name = "N")]
    random: Option<u64>,
    /// Random byte-code programs [default: 5000, quick: 500]
    #[arg(long, value_name = "N")]
    programs: Option<u64>,
    /// States to compare for each random model or program
    #[arg(long, value_name = "N", default_value_t = 500)]
    random_states: usize,
    /// Seconds for each random model or program: those that take longer are compared in fewer
    /// states, and counted
    #[arg(long, value_name = "N", default_value_t = 2.0)]
    random_seconds: f64,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Only models whose name contains this, and no random ones
    #[arg(long, value_name = "PATTERN")]
    only: Option<String>,
    #[command(flatten)]
    corpus: Corpus,
    /// Only these models
    models: Vec<PathBuf>,
}

/// The result for one program.
enum Compared {
    /// No difference.
    Same(Extent),
    /// No difference until the time limit was reached.
    CutShort(Extent),
    /// There is no native code for it, because of the machine or of its size, so the interpreter
    /// executes it.
    NoCode(CompileError),
    /// The first difference.
    Different(String),
}

/// Compares everything that the arguments request. A difference is a failure, but the rest is
/// compared first.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let or = |given: Option<u64>, long: u64, quick: u64| given.unwrap_or(if arguments.quick { quick } else { long });
    let states = or(arguments.states.map(|n| n as u64), 20_000, 1_000) as usize;
    let (models, programs) = (or(arguments.random, 5_000, 200), or(arguments.programs, 5_000, 500));
    let mut different = corpus(arguments, states)?;
    if arguments.only.is_none() && arguments.models.is_empty() {
        // A longer time would overflow the clock.
        let patience = Duration::try_from_secs_f64(arguments.random_seconds).unwrap_or(Duration::MAX);
        let bound = Bound { states: arguments.random_states, patience };
        different += random_models(arguments.seed, models, bound);
        different += random_programs(arguments.seed, programs, bound);
    }
    match different {
        0 => Ok(()),
        n => Err(format!("native code and interpreter differ on {n} of the programs")),
    }
}

/// The limits of the comparison of a program.
#[derive(Clone, Copy)]
struct Bound {
    states: usize,
    patience: Duration,
}

fn compare(program: &Arc<Verified>, bound: Bound) -> Compared {
    let mut native = match Native::compile(Arc::clone(program)) {
        Ok(native) => native.watching(engines::propositions(program)),
        Err(error @ CompileError::NoTarget(_)) => return Compared::NoCode(error),
        Err(error) => return Compared::Different(error.to_string()),
    };
    let begun = Instant::now();
    let mut cut = false;
    let mut go_on = || {
        cut = begun.elapsed() > bound.patience;
        !cut
    };
    match engines::compare_while(
        &mut Interpreter::new(Arc::clone(program)).watching(engines::propositions(program)),
        &mut native,
        bound.states,
        &mut go_on,
    ) {
        Ok(extent) if cut => Compared::CutShort(extent),
        Ok(extent) => Compared::Same(extent),
        Err(difference) => Compared::Different(difference.to_string()),
    }
}

fn differ(program: &Verified, bound: Bound) -> Option<String> {
    match compare(&Arc::new(program.clone()), bound) {
        Compared::Different(how) => Some(how),
        Compared::Same(_) | Compared::CutShort(_) | Compared::NoCode(_) => None,
    }
}

/// The result of a series of comparisons.
#[derive(Default)]
struct Tally {
    programs: u64,
    extent: Extent,
    cut_short: u64,
    no_code: u64,
    refused: u64,
    different: usize,
}

impl Tally {
    /// Adds a result. Returns the difference, if there is one.
    fn add(&mut self, compared: Compared) -> Option<String> {
        self.programs += 1;
        let cut_short = matches!(compared, Compared::CutShort(_));
        match compared {
            Compared::Same(extent) | Compared::CutShort(extent) => {
                self.cut_short += u64::from(cut_short);
                self.extent.states += extent.states;
                self.extent.transitions += extent.transitions;
                self.extent.faults += extent.faults;
                self.extent.ends += extent.ends;
                None
            }
            Compared::NoCode(_) => {
                self.no_code += 1;
                None
            }
            Compared::Different(how) => {
                self.different += 1;
                Some(how)
            }
        }
    }

    fn print(&self, what: &str, begun: Instant) {
        let Extent { states, transitions, faults, ends } = self.extent;
        print!("{what}: {} compared, {} different; ", self.programs, self.different);
        print!("{states} states, {transitions} steps, {faults} with a fault, {ends} ends");
        let also = [
            (self.cut_short, "cut short, their steps being long"),
            (self.no_code, "without native code"),
            (self.refused, "refused by the front-end"),
        ];
        for (count, why) in also {
            if count > 0 {
                print!("; {count} {why}");
            }
        }
        println!("; {:.1} s", begun.elapsed().as_secs_f64());
    }
}

/// The models in files. A model that the front-end refuses is counted and not compared; other tests
/// check whether it should be refused.
fn corpus(arguments: &Arguments, most: usize) -> Result<usize, Failure> {
    let begun = Instant::now();
    let mut tally = Tally::default();
    let mut models: Vec<Model> = arguments.models.iter().map(|path| Model::at(path)).collect();
    if models.is_empty() {
        models = models::own()?;
        models.extend(arguments.corpus.models()?);
    }
    models.retain(|model| arguments.only.as_deref().is_none_or(|pattern| model.name.contains(pattern)));
    for model in models {
        let Ok(program) = model.load() else {
            tally.refused += 1;
            println!("{}: refused by the front-end", model.name);
            continue;
        };
        let compared = compare(&Arc::new(program), Bound { states: most, patience: Duration::MAX });
        if let Compared::NoCode(why) = &compared {
            println!("{}: no native code: {why}", model.name);
        }
        if let Some(how) = tally.add(compared) {
            println!("{}: {how}", model.name);
        }
    }
    tally.print(&format!("models, up to {most} states each"), begun);
    Ok(tally.different)
}

fn random_models(from: u64, count: u64, bound: Bound) -> usize {
    let begun = Instant::now();
    let mut tally = Tally::default();
    let mut seeds = from..last_seed(from, count);
    while tally.programs < count
        && let Some(seed) = seeds.next()
    {
        let model = promela_gen::model(seed);
        let Some(program) = promela(&model.text()) else {
            tally.refused += 1;
            continue;
        };
        if tally.add(compare(&program, bound)).is_some() {
            let shows = |candidate: &promela_gen::Model| promela(&candidate.text()).and_then(|program| differ(&program, bound));
            let small = promela_gen::shrink(&model, |candidate| shows(candidate).is_some());
            let how = shows(&small).unwrap_or_default();
            finding(&format!("promela-{seed}.pml"), &small.text(), &how);
        }
    }
    tally.print(&format!("random Promela models, seeds {from} to {}", seeds.start), begun);
    tally.different
}

/// Seeds whose program is refused are skipped, but only up to this one.
fn last_seed(from: u64, count: u64) -> u64 {
    from.saturating_add(count.saturating_mul(2))
}

fn random_programs(from: u64, count: u64, bound: Bound) -> usize {
    let begun = Instant::now();
    let mut tally = Tally::default();
    let mut seeds = from..last_seed(from, count);
    while tally.programs < count
        && let Some(seed) = seeds.next()
    {
        let Some(program) = random::verified(seed) else {
            tally.refused += 1;
            continue;
        };
        if tally.add(compare(&Arc::new(program.clone()), bound)).is_some() {
            let small = shrink::shrink(program.program(), SHRINKING, &mut |candidate| differ(candidate, bound).is_some());
            let text = bytecode::asm::disassemble(&small);
            let how = bytecode::verify(small).ok().and_then(|program| differ(&program, bound)).unwrap_or_default();
            finding(&format!("bytecode-{seed}.epa"), &text, &how);
        }
    }
    tally.print(&format!("random byte-code, seeds {from} to {}", seeds.start), begun);
    tally.different
}

/// Shows a difference and writes the program to a file.
fn finding(name: &str, text: &str, how: &str) {
    let folder = root().join("target/engines");
    let kept = fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join(name), text));
    let place = if kept.is_ok() { format!(" (in target/engines/{name})") } else { String::new() };
    println!("difference, made small{place}:\n{text}\n{how}");
}
