//! Automata of temporal formulas: their sizes compared with the best known ones, and random
//! formulas compared with the definition.
//!
//! The published collections with the best known sizes are next to the repository and may be
//! absent.

use crate::{Failure, root};
use logic::random::Random;
use logic::{Formulas, Lasso, audit};
use source::FileId;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// `cargo xtask ltl`
#[derive(clap::Args)]
pub struct Arguments {
    /// Compare every stage of the translation of N random formulas with the definition of the
    /// logic, on random words
    #[arg(long, value_name = "N")]
    random: Option<usize>,
    /// Translate N random formulas of 5 to 15 operators and atoms in several spellings, and print
    /// those of which another spelling has a smaller automaton
    #[arg(long, value_name = "N", conflicts_with = "random")]
    spellings: Option<usize>,
    /// The first seed of the random formulas
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Folder of the collections, with `formulas.tsv` and `best.tsv`
    #[arg(long, value_name = "FOLDER")]
    collections: Option<PathBuf>,
    /// Print every formula, not only those that differ from the best known size
    #[arg(long)]
    all: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match (arguments.random, arguments.spellings) {
        (Some(count), _) => random(count, arguments.seed),
        (_, Some(count)) => spellings(count, arguments.seed),
        _ => table(arguments.collections.as_deref(), arguments.all),
    }
}

/// Words for each random formula.
const WORDS: usize = 16;

fn random(count: usize, seed: u64) -> Result<(), Failure> {
    let mut random = Random::new(seed);
    let (mut states, mut generalised, mut automata, mut slowest) = (0, 0, 0, 0f64);
    for round in 0..count {
        let mut formulas = Formulas::new();
        let size = 3 + random.below(13);
        let formula = random.formula(&mut formulas, size, 3);
        let words: Vec<Lasso> = (0..WORDS).map(|_| random.lasso(3)).collect();
        let begun = Instant::now();
        logic::translate(&mut formulas, formula).map_err(|error| format!("{}: {error}", formulas.text(formula)))?;
        slowest = slowest.max(begun.elapsed().as_secs_f64());
        let audited = audit::audit(&mut formulas, formula, &words);
        let audited = audited.map_err(|error| format!("formula {round}, {}: {error}", formulas.text(formula)))?;
        states += audited.states;
        generalised += audited.generalised;
        automata += audited.automata;
    }
    println!(
        "{count} formulas, {automata} automata on {WORDS} words each: all agree with the definition. \
         States in all: {states}, with generalised acceptance {generalised}. The slowest translation took {slowest:.3} s."
    );
    Ok(())
}

/// Other spellings of each random formula.
const SPELLINGS: usize = 12;

/// Prints the random formulas of which another spelling has fewer states, and the sums.
fn spellings(count: usize, seed: u64) -> Result<(), Failure> {
    let mut random = Random::new(seed);
    let (mut states, mut best_states, mut larger, mut furthest, mut slowest) = (0, 0, 0, 0, 0f64);
    for _ in 0..count {
        let mut formulas = Formulas::new();
        let size = 5 + random.below(11);
        let formula = random.formula(&mut formulas, size, 3);
        let begun = Instant::now();
        let own = logic::translate(&mut formulas, formula).map_err(|error| format!("{}: {error}", formulas.text(formula)))?;
        let seconds = begun.elapsed().as_secs_f64();
        slowest = slowest.max(seconds);
        let size = own.buchi.state_count();
        let mut best = (size, formula);
        for _ in 0..SPELLINGS {
            let other = logic::spelling::respell(&mut formulas, formula, &mut random);
            if let Ok(translated) = logic::translate(&mut formulas, other)
                && translated.buchi.state_count() < best.0
            {
                best = (translated.buchi.state_count(), other);
            }
        }
        if best.0 < size {
            println!(
                "{size} states instead of {} ({seconds:.3} s): {}\n    as in {}",
                best.0,
                formulas.text(formula),
                formulas.text(best.1)
            );
            larger += 1;
        }
        states += size;
        best_states += best.0;
        furthest = furthest.max(size - best.0);
    }
    println!(
        "{count} formulas, {states} states, {best_states} with the best of {} spellings; {larger} have more than that, at most {furthest} \
         more. The slowest translation took {slowest:.3} s.",
        SPELLINGS + 1
    );
    Ok(())
}

/// A row of the table: one collection.
#[derive(Default)]
struct Sum {
    states: usize,
    transitions: usize,
    best_states: usize,
    best_transitions: usize,
    generalised: usize,
    worst: i64,
    slowest: f64,
}

/// Prints the sizes of the automata of the published collections, with the best known ones. It is a
/// failure if they miss the bars.
pub fn table(folder: Option<&Path>, all: bool) -> Result<(), Failure> {
    let folder = folder.map_or_else(|| root().join("../shared/ltl"), Path::to_path_buf);
    let read = |name: &str| fs::read_to_string(folder.join(name));
    let (Ok(formulas), Ok(best)) = (read("formulas.tsv"), read("best.tsv")) else {
        let why = format!("the collections of formulas are not in {}; `--collections FOLDER` names another folder", folder.display());
        testkit::passed_over(&why);
        return Ok(());
    };
    let best: Vec<Vec<&str>> = best.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    let mut sums: Vec<(String, Sum)> = Vec::new();
    for line in formulas.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [collection, name, text, ..] = cells.as_slice() else { return Err(format!("a row of too few cells: {line}")) };
        for negated in ["0", "1"] {
            let known = best.iter().find(|row| row.len() > 4 && row[0] == *collection && row[1] == *name && row[2] == negated);
            let known = known.ok_or_else(|| format!("{collection} {name} has no row in best.tsv"))?;
            let number = |cell: &str| cell.parse::<usize>().map_err(|error| format!("best.tsv, {collection} {name}: {error}"));
            let (best_states, best_transitions) = (number(known[3])?, number(known[4])?);
            let mut table = Formulas::new();
            let parsed = logic::parse(&mut table, text, FileId::default(), 0).map_err(|error| format!("{text}: {}", error.message))?;
            let formula = if negated == "1" { table.not(parsed.root) } else { parsed.root };
            let begun = Instant::now();
            let result = logic::translate(&mut table, formula).map_err(|error| format!("{text}: {error}"))?;
            let seconds = begun.elapsed().as_secs_f64();
            let (states, transitions) = (result.buchi.state_count(), result.buchi.transition_count());
            let title = format!("{collection}{}", if negated == "1" { ", negated" } else { "" });
            if all || states != best_states {
                println!(
                    "{title:<16} {name:<42} {states:>3}/{transitions:<4} best {best_states:>3}/{best_transitions:<4} generalised {:>3}  {}  {seconds:.3} s",
                    result.generalised.state_count(),
                    result.class.name()
                );
            }
            let place = sums.iter().position(|(known, _)| *known == title);
            let place = place.unwrap_or_else(|| {
                sums.push((title, Sum::default()));
                sums.len() - 1
            });
            let sum = &mut sums[place].1;
            sum.states += states;
            sum.transitions += transitions;
            sum.best_states += best_states;
            sum.best_transitions += best_transitions;
            sum.generalised += result.generalised.state_count();
            sum.worst = sum.worst.max(states as i64 - best_states as i64);
            sum.slowest = sum.slowest.max(seconds);
        }
    }
    let total = print_sums(&sums);
    let faults = total.faults();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
}

/// The states of all automata are at most this many times the best known ones.
const TOTAL_BAR: f64 = 1.05;
/// No automaton has more states than the best known one and these.
const FURTHEST_BAR: i64 = 2;
/// No translation takes longer than these seconds. Only an optimised build is held to it.
const SECONDS_BAR: f64 = 0.3;

impl Sum {
    fn ratio(&self) -> f64 {
        self.states as f64 / self.best_states.max(1) as f64
    }

    /// The bars that are missed, in sentences.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.ratio() > TOTAL_BAR {
            faults.push(format!("the automata have {:.3} times the best known states, and the bar is {TOTAL_BAR}", self.ratio()));
        }
        if self.worst > FURTHEST_BAR {
            faults.push(format!("an automaton has {} states more than the best known one, and the bar is {FURTHEST_BAR}", self.worst));
        }
        if self.slowest > SECONDS_BAR && !cfg!(debug_assertions) {
            faults.push(format!("a translation took {:.3} s, and the bar is {SECONDS_BAR} s", self.slowest));
        }
        faults
    }
}

/// Prints the rows and their sum, which is returned.
fn print_sums(sums: &[(String, Sum)]) -> Sum {
    println!("\n| collection | states/transitions | best known | ratio | generalised | furthest above the best | slowest |");
    println!("|---|---|---|---|---|---|---|");
    let mut total = Sum::default();
    for (title, sum) in sums {
        print_sum(title, sum);
        total.states += sum.states;
        total.transitions += sum.transitions;
        total.best_states += sum.best_states;
        total.best_transitions += sum.best_transitions;
        total.generalised += sum.generalised;
        total.worst = total.worst.max(sum.worst);
        total.slowest = total.slowest.max(sum.slowest);
    }
    print_sum("in all", &total);
    total
}

fn print_sum(title: &str, sum: &Sum) {
    println!(
        "| {title} | {}/{} | {}/{} | {:.3} | {} | {} | {:.3} s |",
        sum.states,
        sum.transitions,
        sum.best_states,
        sum.best_transitions,
        sum.ratio(),
        sum.generalised,
        sum.worst.max(0),
        sum.slowest
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_bar_is_a_failure() {
        let sum = |states, worst| Sum { states, best_states: 100, worst, ..Sum::default() };
        assert_eq!(sum(105, 2).faults(), Vec::<String>::new());
        assert_eq!(sum(106, 2).faults().len(), 1);
        assert_eq!(sum(105, 3).faults().len(), 1);
        assert_eq!(sum(120, 9).faults().len(), 2);
    }
}
