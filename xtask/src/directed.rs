//! `cargo xtask directed`: how many states a directed search visits before it finds a violation, as
//! a share of breadth-first search, and whether A* finds shortest paths.
//!
//! The models are those of the benchmark set that are violated and have many states. A
//! breadth-first search that comes to its limit has met no violation among the states it visited,
//! so it would visit at least these.
//!
//! With `--lengths` the lengths of shortest paths are compared on all violated models. Where
//! breadth-first search comes to its limit, it has at least seen that no path is shorter than the
//! levels that it has completed.

use crate::Failure;
use crate::models::{Corpus, Model};
use bytecode::Verified;
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
    /// Compare the lengths of A*'s paths with those of breadth-first search instead, on all
    /// violated models
    #[arg(long)]
    lengths: bool,
    /// Gigabytes a search may take
    #[arg(long, default_value_t = 3)]
    memory: u64,
}

/// The result of a search.
struct Found {
    states: u64,
    /// The steps of the trace, if there is a violation.
    steps: Option<usize>,
    /// Whether the search was complete.
    complete: bool,
    /// The deepest level that a breadth-first search was at.
    depth: u64,
    /// Why it did not come to its end.
    reason: String,
}

impl Arguments {
    /// The models that are asked for.
    fn models(&self) -> Result<Vec<Model>, Failure> {
        let wanted = |model: &Model| self.only.is_empty() || self.only.iter().any(|part| model.name.contains(part.as_str()));
        let mut models = self.corpus.models()?;
        models.retain(wanted);
        Ok(models)
    }

    fn search(&self, program: &Arc<Verified>, order: Order, guide: Guide, base: Plan) -> Option<Found> {
        let limits = Limits { time: Some(Duration::from_secs(self.seconds)), memory: Some(self.memory << 30), ..Limits::default() };
        let store = if order == Order::Breadth && base.property.is_some() { StoreKind::Auto } else { StoreKind::Plain };
        let plan = Plan { order, guide, limits, store, only: Some(Only::Safety), ..base };
        let outcome = check::run(program, &plan, &Cancel::default(), &Quiet).ok()?.outcome;
        let steps = if let Verdict::Violated(violation) = &outcome.verdict { Some(violation.trace.steps.len()) } else { None };
        let reason = if let Verdict::Unknown(reason) = &outcome.verdict { reason.name().to_owned() } else { String::new() };
        let (states, depth) = (outcome.statistics.states, outcome.statistics.depth);
        Some(Found { states, complete: reason.is_empty(), steps, depth, reason })
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.lengths {
        return lengths(arguments);
    }
    println!("| model | breadth first | steps | best first | steps | share |");
    println!("|---|---|---|---|---|---|");
    let mut shares = Vec::new();
    for model in arguments.models()? {
        let Ok(program) = model.load().map(Arc::new) else { continue };
        let search = |order, base| arguments.search(&program, order, Guide::Auto, base);
        let (Some(breadth), Some(directed)) = (search(Order::Breadth, Plan::check()), search(Order::BestFirst, Plan::check())) else {
            continue;
        };
        let violated = breadth.steps.is_some() || directed.steps.is_some();
        let large = || search(Order::Breadth, Plan::space()).is_some_and(|all| all.states >= arguments.least);
        if !violated || breadth.states < arguments.least && !large() {
            continue;
        }
        // A violation that was not found counts as no gain.
        let share = if directed.steps.is_some() { directed.states as f64 / breadth.states as f64 } else { 1.0 };
        shares.push(share);
        let least = if breadth.complete { "" } else { "> " };
        println!(
            "| {} | {least}{} | {} | {} | {} | {share:.5} |",
            model.name,
            breadth.states,
            shown(breadth.steps),
            directed.states,
            shown(directed.steps)
        );
    }
    shares.sort_by(f64::total_cmp);
    if let Some(median) = shares.get(shares.len() / 2) {
        println!("\n{} models; the median share is {median:.5}", shares.len());
    }
    Ok(())
}

fn shown(steps: Option<usize>) -> String {
    steps.map_or_else(|| "–".to_owned(), |steps| steps.to_string())
}

/// The models that SPIN found to be violated, by the table beside the benchmark set; nothing if
/// there is no table.
fn known(model: &Model) -> Option<bool> {
    let (folder, file) = (model.path.parent()?, model.path.file_name()?.to_str()?);
    let table = std::fs::read_to_string(folder.parent()?.join("expected.tsv")).ok()?;
    let row = table.lines().find(|row| row.split('\t').next().is_some_and(|name| name.ends_with(&format!("/{file}"))))?;
    Some(row.split('\t').nth(4) == Some("violated"))
}

/// Compares the lengths of A*'s paths, by the estimate that is a lower bound, with those of
/// breadth-first search.
fn lengths(arguments: &Arguments) -> Result<(), Failure> {
    println!("| model | breadth first | steps | A* | steps | |");
    println!("|---|---|---|---|---|---|");
    let (mut same, mut wrong, mut partly, mut open) = (0, Vec::new(), Vec::new(), Vec::new());
    for model in arguments.models()? {
        if known(&model) == Some(false) {
            continue;
        }
        let Ok(program) = model.load().map(Arc::new) else { continue };
        let search = |order, guide| arguments.search(&program, order, guide, Plan::check());
        let Some(astar) = search(Order::AStar, Guide::Formula) else { continue };
        let Some(breadth) = search(Order::Breadth, Guide::Auto) else { continue };
        if astar.complete && breadth.complete && astar.steps.is_none() && breadth.steps.is_none() {
            continue;
        }
        let name = &model.name;
        let told = match (breadth.steps, astar.steps) {
            (Some(shortest), Some(steps)) if shortest == steps => {
                same += 1;
                "the same".to_owned()
            }
            // No violation has been seen on the levels before the one that was not completed.
            (None, Some(steps)) if !breadth.complete && breadth.depth <= steps as u64 => {
                partly.push(format!("{name} ({}, at depth {})", breadth.reason, breadth.depth));
                format!("none shorter than {}", breadth.depth)
            }
            (_, None) if !astar.complete => {
                open.push(format!("{name} (A*: {}, breadth first: {})", astar.reason, shown(breadth.steps)));
                format!("A* not done: {}", astar.reason)
            }
            _ => {
                wrong.push(format!("{name}: {} steps instead of {}", shown(astar.steps), shown(breadth.steps)));
                "different".to_owned()
            }
        };
        let least = |found: &Found| if found.complete { "" } else { "> " };
        println!(
            "| {name} | {}{} | {} | {}{} | {} | {told} |",
            least(&breadth),
            breadth.states,
            shown(breadth.steps),
            least(&astar),
            astar.states,
            shown(astar.steps)
        );
    }
    println!("\nA* and breadth-first search: {same} lengths the same, {} different", wrong.len());
    println!("breadth first too large, and no path shorter than the levels it completed: {}: {partly:?}", partly.len());
    println!("A* not done: {}: {open:?}", open.len());
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}
