//! Native code against the interpreter, state by state: on the models there are, on random Promela models, on random byte-code.
//!
//! Both must give the same successors in the same order, with the same faults, and agree on valid ends. What differs is made small before
//! it is shown. Seeds are plain numbers, so that a finding can be repeated: `--seed N --random 1`.

use crate::models::{self, Corpus, Model};
use crate::{Failure, root};
use bytecode::Verified;
use jit::{CompileError, Describe, Native};
use languages::{NoFiles, Source};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use testkit::compare::Extent;
use testkit::{engines, promela_gen, random, shrink};
use vm::Interpreter;

const DESCRIBE: Describe = Describe { fault: vm::describe_fault, components: vm::component_ends };

/// How many smaller programs are tried when a random program shows a difference.
const SHRINKING: usize = 2_000;

/// `cargo xtask engines`
#[derive(clap::Args)]
pub struct Arguments {
    /// A short run, for every change: fewer states and fewer random models
    #[arg(long)]
    quick: bool,
    /// States to compare for each model that is in a file, breadth first [default: 20000, quick: 1000]
    #[arg(long, value_name = "N")]
    states: Option<usize>,
    /// Random Promela models to compare; those the front-end refuses are not counted [default: 5000, quick: 200]
    #[arg(long, value_name = "N")]
    random: Option<u64>,
    /// Random byte-code programs [default: 5000, quick: 500]
    #[arg(long, value_name = "N")]
    programs: Option<u64>,
    /// States to compare for each random model or program
    #[arg(long, value_name = "N", default_value_t = 500)]
    random_states: usize,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Only models whose name contains this, and nothing random
    #[arg(long, value_name = "PATTERN")]
    only: Option<String>,
    #[command(flatten)]
    corpus: Corpus,
    /// These models, and nothing else
    models: Vec<PathBuf>,
}

/// What one program came to.
enum Compared {
    /// No difference.
    Same(Extent),
    /// There is no native code for it: the machine or its size forbid it, and the interpreter runs it.
    NoCode(CompileError),
    /// The first difference.
    Different(String),
}

/// Compares everything that was asked for; a difference is a failure, after all the rest was looked at.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let or = |given: Option<u64>, long: u64, quick: u64| given.unwrap_or(if arguments.quick { quick } else { long });
    let states = or(arguments.states.map(|n| n as u64), 20_000, 1_000) as usize;
    let (models, programs) = (or(arguments.random, 5_000, 200), or(arguments.programs, 5_000, 500));
    let mut different = corpus(arguments, states)?;
    if arguments.only.is_none() && arguments.models.is_empty() {
        different += random_models(arguments.seed, models, arguments.random_states);
        different += random_programs(arguments.seed, programs, arguments.random_states);
    }
    match different {
        0 => Ok(()),
        n => Err(format!("native code and interpreter differ on {n} of the programs")),
    }
}

fn compare(program: &Arc<Verified>, most: usize) -> Compared {
    let mut native = match Native::compile(Arc::clone(program), DESCRIBE) {
        Ok(native) => native,
        Err(error @ (CompileError::TooLarge | CompileError::NoTarget(_))) => return Compared::NoCode(error),
        Err(error) => return Compared::Different(error.to_string()),
    };
    match engines::compare(&mut Interpreter::new(Arc::clone(program)), &mut native, most) {
        Ok(extent) => Compared::Same(extent),
        Err(difference) => Compared::Different(difference.to_string()),
    }
}

fn differ(program: &Verified, most: usize) -> Option<String> {
    match compare(&Arc::new(program.clone()), most) {
        Compared::Different(how) => Some(how),
        Compared::Same(_) | Compared::NoCode(_) => None,
    }
}

/// What a series of comparisons came to.
#[derive(Default)]
struct Tally {
    programs: u64,
    extent: Extent,
    no_code: u64,
    refused: u64,
    different: usize,
}

impl Tally {
    /// Adds a result; gives the difference, if it is one.
    fn add(&mut self, compared: Compared) -> Option<String> {
        self.programs += 1;
        match compared {
            Compared::Same(extent) => {
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
        for (count, why) in [(self.no_code, "without native code"), (self.refused, "refused by the front-end")] {
            if count > 0 {
                print!("; {count} {why}");
            }
        }
        println!("; {:.1} s", begun.elapsed().as_secs_f64());
    }
}

/// The models in files. One that the front-end refuses is counted, not compared: whether it should be is another test's question.
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
        let compared = compare(&Arc::new(program), most);
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

fn random_models(from: u64, count: u64, most: usize) -> usize {
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
        if tally.add(compare(&Arc::new(program), most)).is_some() {
            let shows = |candidate: &promela_gen::Model| promela(&candidate.text()).and_then(|program| differ(&program, most));
            let small = promela_gen::shrink(&model, |candidate| shows(candidate).is_some());
            let how = shows(&small).unwrap_or_default();
            finding(&format!("promela-{seed}.pml"), &small.text(), &how);
        }
    }
    tally.print(&format!("random Promela models, seeds {from} to {}", seeds.start), begun);
    tally.different
}

/// Seeds whose program is refused are passed over, but not for ever.
fn last_seed(from: u64, count: u64) -> u64 {
    from.saturating_add(count.saturating_mul(2))
}

/// The program of a text that the front-end accepts.
fn promela(text: &str) -> Option<Verified> {
    let source = Source { name: "random.pml", bytes: text.as_bytes(), defines: &[], files: &mut NoFiles };
    languages::load(source).ok().map(|loaded| loaded.program)
}

fn random_programs(from: u64, count: u64, most: usize) -> usize {
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
        if tally.add(compare(&Arc::new(program.clone()), most)).is_some() {
            let small = shrink::shrink(program.program(), SHRINKING, &mut |candidate| differ(candidate, most).is_some());
            let text = bytecode::asm::disassemble(&small);
            let how = bytecode::verify(small).ok().and_then(|program| differ(&program, most)).unwrap_or_default();
            finding(&format!("bytecode-{seed}.epa"), &text, &how);
        }
    }
    tally.print(&format!("random byte-code, seeds {from} to {}", seeds.start), begun);
    tally.different
}

/// Shows a difference and keeps the program that shows it where it can be looked at.
fn finding(name: &str, text: &str, how: &str) {
    let folder = root().join("target/engines");
    let kept = fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join(name), text));
    let place = if kept.is_ok() { format!(" (in target/engines/{name})") } else { String::new() };
    println!("difference, made small{place}:\n{text}\n{how}");
}
