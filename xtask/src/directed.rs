//! `cargo xtask directed`: how many states a directed search visits before it finds a violation, as
//! a share of breadth-first search, and whether A* finds shortest paths.
//!
//! The models are those of the benchmark set that have a violation and many states. A breadth-first
//! search that reaches its limit has found no violation among the states it visited, so it would
//! visit at least these.

use crate::Failure;
use crate::models::Corpus;
use check::{Guide, Only, Order, Plan, StoreKind};
use contract::{Cancel, Limits, Quiet, Verdict};
use std::sync::Arc;
use std::time::Duration;

/// `cargo xtask directed`
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    corpus: Corpus,
    /// Only models whose name contains one of these
    only: Vec<String>,
    /// The smallest number of states of a model, or of states that a breadth-first search has
    /// visited when it ended
    #[arg(long, default_value_t = 100_000)]
    least: u64,
    /// The time limit for a search, in seconds
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Also compare the lengths of A*'s paths with those of breadth-first search, on all models
    #[arg(long)]
    lengths: bool,
}

/// The result of a search.
struct Found {
    states: u64,
    /// The steps of the trace, if there is a violation.
    steps: Option<usize>,
    /// Whether the search was complete.
    complete: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    println!("| model | breadth first | steps | best first | steps | share |");
    println!("|---|---|---|---|---|---|");
    let (mut shares, mut wrong, mut compared) = (Vec::new(), Vec::new(), 0);
    for model in arguments.corpus.models()? {
        let wanted = arguments.only.is_empty() || arguments.only.iter().any(|part| model.name.contains(part.as_str()));
        let Some(program) = wanted.then(|| model.load().ok()).flatten().map(Arc::new) else { continue };
        let search = |order: Order, guide: Guide, property: bool| {
            let limits = Limits { time: Some(Duration::from_secs(arguments.seconds)), memory: Some(3 << 30), ..Limits::default() };
            let base = if property { Plan::check() } else { Plan::space() };
            let plan = Plan { order, guide, limits, store: StoreKind::Plain, only: Some(Only::Safety), ..base };
            let outcome = check::run(&program, &plan, &Cancel::default(), &Quiet).ok()?.outcome;
            let steps = if let Verdict::Violated(violation) = &outcome.verdict { Some(violation.trace.steps.len()) } else { None };
            Some(Found { states: outcome.statistics.states, complete: !matches!(outcome.verdict, Verdict::Unknown(_)), steps })
        };
        let (Some(breadth), Some(directed)) = (search(Order::Breadth, Guide::Auto, true), search(Order::BestFirst, Guide::Auto, true))
        else {
            continue;
        };
        if arguments.lengths
            && breadth.steps.is_some()
            && let Some(astar) = search(Order::AStar, Guide::Formula, true).filter(|astar| astar.complete)
        {
            compared += 1;
            if astar.steps != breadth.steps {
                wrong.push(format!("{}: {:?} steps instead of {:?}", model.name, astar.steps, breadth.steps));
            }
        }
        let violated = breadth.steps.is_some() || directed.steps.is_some();
        let large = || search(Order::Breadth, Guide::Auto, false).is_some_and(|all| all.states >= arguments.least);
        if !violated || breadth.states < arguments.least && !large() {
            continue;
        }
        // A violation that was not found counts as no gain.
        let share = if directed.steps.is_some() { directed.states as f64 / breadth.states as f64 } else { 1.0 };
        shares.push(share);
        let shown = |found: &Found| found.steps.map_or_else(|| "–".to_owned(), |steps| steps.to_string());
        let least = if breadth.complete { "" } else { "> " };
        println!(
            "| {} | {least}{} | {} | {} | {} | {share:.5} |",
            model.name,
            breadth.states,
            shown(&breadth),
            directed.states,
            shown(&directed)
        );
    }
    shares.sort_by(f64::total_cmp);
    if let Some(median) = shares.get(shares.len() / 2) {
        println!("\n{} models; the median share is {median:.5}", shares.len());
    }
    if arguments.lengths {
        println!("A* and breadth-first search: {compared} lengths compared, {} different", wrong.len());
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}
