//! The number of states that reductions leave, with and without, compared with SPIN's.

use crate::Failure;
use crate::bench::spin::{self, Verifier};
use crate::models::{Corpus, Model};
use check::{Order, Passes, Plan, Por, StoreKind};
use contract::{Cancel, Limits, Quiet, Verdict};
use std::sync::Arc;
use std::time::Duration;

/// The models of the table, if none are named.
const SEVEN: [&str; 7] = ["extinction.1", "at.3", "adding.4", "fischer.3", "lamport.5", "iprotocol.3", "protocols.4"];

/// The states that LTSmin's stubborn sets leave of some of them when they preserve deadlocks: the
/// smaller number of `--por=heur` and `--por=del`. They were measured once, on another machine.
const LTSMIN: [(&str, u64); 7] = [
    ("extinction.1", 233_211),
    ("at.3", 1_281_959),
    ("adding.4", 3_370_680),
    ("fischer.3", 2_138_024),
    ("lamport.5", 980_040),
    ("iprotocol.3", 343_478),
    ("protocols.4", 69_113),
];

/// States of a search, and the nanoseconds it took for each.
struct Explored {
    states: u64,
    nanoseconds: f64,
}

/// Prints the table.
pub fn print(corpus: &Corpus, only: &[String], with_spin: bool, seconds: u64) -> Result<(), Failure> {
    let wanted = |model: &Model| match only {
        [] => SEVEN.iter().any(|name| model.name.ends_with(name)),
        only => only.iter().any(|pattern| model.name.contains(pattern.as_str())),
    };
    let with_spin = with_spin && spin::versions().is_some();
    println!(
        "| model | full | breadth first | depth first | passes | passes, breadth first | cost of a state | SPIN's defaults | SPIN, POR alone | LTSmin |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut means = [Mean::default(); 8];
    // Passes and reduction divided by SPIN's defaults, and by the better of these and LTSmin's.
    let (mut of_spin, mut of_both) = (Mean::default(), Mean::default());
    for model in corpus.models()?.iter().filter(|model| wanted(model)) {
        let Ok(program) = model.load() else { continue };
        let program = Arc::new(program);
        let explore = |por: Por, order: Order, passes: Passes| {
            let limits = Limits { time: Some(Duration::from_secs(seconds)), memory: Some(3 << 30), ..Limits::default() };
            let plan = Plan { por, order, passes, limits, store: StoreKind::Plain, ..Plan::space() };
            let outcome = check::run(&program, &plan, &Cancel::default(), &Quiet).ok()?.outcome;
            let states = outcome.statistics.states;
            let nanoseconds = outcome.statistics.elapsed.as_nanos() as f64 / states.max(1) as f64;
            (outcome.verdict == Verdict::Holds).then_some(Explored { states, nanoseconds })
        };
        let (none, all) = (Passes::default(), Passes::ALL);
        let Some(full) = explore(Por::Off, Order::Breadth, none) else { continue };
        let (breadth, depth) = (explore(Por::On, Order::Breadth, none), explore(Por::On, Order::Depth, none));
        let (passes, both) = (explore(Por::Off, Order::Breadth, all), explore(Por::On, Order::Breadth, all));
        let counted = |options: &[&str]| -> Option<u64> {
            let mut verifier = Verifier::reduced(&model.path, options).ok()?;
            Some(verifier.run().ok()?.0.states)
        };
        let spin = if with_spin { [counted(&[]), counted(&["-o1", "-o2", "-o3"])] } else { [None, None] };
        let states = |explored: &Option<Explored>| explored.as_ref().map(|explored| explored.states);
        let ltsmin = LTSMIN.iter().find(|(name, _)| model.name.ends_with(name)).map(|(_, states)| *states);
        let numbers = [states(&breadth), states(&depth), states(&passes), states(&both), spin[0], spin[1], ltsmin];
        let over = |other: Option<u64>| Some(states(&both)? as f64 / other? as f64);
        of_spin.add(over(spin[0]));
        of_both.add(over(ltsmin.and_then(|ltsmin| Some(ltsmin.min(spin[0]?)))));
        for (mean, number) in means.iter_mut().zip(numbers) {
            mean.add(number.map(|number| number as f64 / full.states as f64));
        }
        let cost = breadth.as_ref().map(|breadth| breadth.nanoseconds / full.nanoseconds);
        means[7].add(cost);
        println!(
            "| {} | {} | {} | {} | {} | {} | {:.2} | {} | {} | {} |",
            model.name,
            full.states,
            show(numbers[0]),
            show(numbers[1]),
            show(numbers[2]),
            show(numbers[3]),
            cost.unwrap_or(f64::NAN),
            show(numbers[4]),
            show(numbers[5]),
            show(numbers[6])
        );
    }
    let [breadth, depth, passes, both, defaults, alone, ltsmin, cost] = means;
    println!("| geometric mean | 1 | {breadth} | {depth} | {passes} | {both} | {cost} | {defaults} | {alone} | {ltsmin} |");
    println!("\nPasses, breadth first: {of_spin} of SPIN's defaults over {} models;", of_spin.count());
    println!("{of_both} of the better of SPIN's defaults and LTSmin's stubborn sets over {} models.", of_both.count());
    Ok(())
}

/// A number of states, if it is known.
pub fn show(number: Option<u64>) -> String {
    number.map_or_else(|| "–".to_owned(), |number| number.to_string())
}

/// A geometric mean.
#[derive(Clone, Copy, Default)]
pub struct Mean {
    logarithms: f64,
    count: u32,
}

impl Mean {
    /// Adds a number, if there is one.
    pub fn add(&mut self, number: Option<f64>) {
        if let Some(number) = number {
            self.logarithms += number.ln();
            self.count += 1;
        }
    }

    /// The number of numbers.
    pub fn count(&self) -> u32 {
        self.count
    }
}

impl std::fmt::Display for Mean {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.count == 0 { write!(f, "–") } else { write!(f, "{:.3}", (self.logarithms / f64::from(self.count)).exp()) }
    }
}
