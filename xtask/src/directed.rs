//! `cargo xtask directed`: how many states a directed search visits before it finds a violation, as
//! a share of breadth-first search, and whether A* finds shortest paths.
//!
//! One pass over the violated models of the benchmark set makes both tables and one record of them.
//! Each model is searched breadth first, best first, and by A* with the estimate that is a lower
//! bound. A breadth-first search that comes to its limit has met no violation among the states it
//! visited, so it would visit at least these; and it has at least seen that no path is shorter than
//! the levels that it has completed.

use crate::bench;
use crate::models::{Corpus, Model};
use crate::{Failure, root};
use bytecode::Verified;
use check::{Guide, Only, Order, Plan, StoreKind};
use contract::{Cancel, Limits, Quiet, Verdict};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// `cargo xtask directed`
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    corpus: Corpus,
    /// Only models whose name contains one of these
    only: Vec<String>,
    /// The smallest number of states of a model whose share counts, or of states that a
    /// breadth-first search has visited when it ended
    #[arg(long, default_value_t = 100_000)]
    least: u64,
    /// The time limit for a search, in seconds
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Gigabytes a search may take
    #[arg(long, default_value_t = 3)]
    memory: u64,
    /// Write no record to bench/runs
    #[arg(long)]
    no_record: bool,
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

/// Lines that are printed when they are known, and kept for the record.
#[derive(Default)]
struct Record(String);

impl Record {
    fn line(&mut self, text: &str) {
        println!("{text}");
        // Writing to a `String` cannot fail.
        let _ = writeln!(self.0, "{text}");
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let begun = Instant::now();
    let mut record = Record::default();
    record.line(&format!(
        "Violated models of the benchmark set, one worker, native code; {} seconds and {} GiB for each search. `>`: the search was not done.\n",
        arguments.seconds, arguments.memory
    ));
    record.line("| model | states | breadth first | steps | best first | steps | share | A* | steps | length |");
    record.line("|---|---|---|---|---|---|---|---|---|---|");
    let mut results = Results::default();
    for model in arguments.models()? {
        let violated = known(&model);
        if violated == Some(false) {
            continue;
        }
        let Ok(program) = model.load().map(Arc::new) else { continue };
        if let Some(row) = row(arguments, &model.name, violated, &program, &mut results) {
            record.line(&row);
        }
    }
    let Results { mut shares, same, wrong, partly, open, by_size } = results;
    shares.sort_by(f64::total_cmp);
    record.line("");
    if let Some(median) = shares.get(shares.len() / 2) {
        record.line(&format!(
            "{} models above {} states; the median of the states that best-first search visits, as a share of breadth first: {median:.5}",
            shares.len(),
            arguments.least
        ));
        record.line(&format!("of these, visited at most a tenth: {by_size}"));
    }
    record.line(&format!("A* and breadth-first search: {same} lengths the same, {} different: {wrong:?}", wrong.len()));
    record.line(&format!("breadth first not done, and no path shorter than the levels it completed: {}: {partly:?}", partly.len()));
    record.line(&format!("A* not done: {}: {open:?}", open.len()));
    record.line(&format!("{} seconds", begun.elapsed().as_secs()));
    if !arguments.no_record {
        let place = root().join(format!("bench/runs/{}-directed.md", bench::output("date", &["-u", "+%Y-%m-%dT%H%M"])));
        std::fs::write(&place, &record.0).map_err(|error| format!("{}: {error}", place.display()))?;
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// What the models gave.
#[derive(Default)]
struct Results {
    /// The states that best-first search visits, as a share of breadth-first search, on large
    /// models.
    shares: Vec<f64>,
    /// How many of them are at most a tenth.
    by_size: usize,
    /// Lengths of A*'s paths: the same as breadth first, different, not shorter than completed
    /// levels, and not found.
    same: usize,
    wrong: Vec<String>,
    partly: Vec<String>,
    open: Vec<String>,
}

/// Searches a model in three ways. Returns its row, unless it is not known that it is violated.
fn row(arguments: &Arguments, name: &str, violated: Option<bool>, program: &Arc<Verified>, results: &mut Results) -> Option<String> {
    let search = |order, guide, base| arguments.search(program, order, guide, base);
    let breadth = search(Order::Breadth, Guide::Auto, Plan::check())?;
    let directed = search(Order::BestFirst, Guide::Auto, Plan::check())?;
    let astar = search(Order::AStar, Guide::Formula, Plan::check())?;
    // A model that is known to be violated counts even if no search finds the violation.
    if is_left_out(violated, [&breadth, &directed, &astar].map(|found| found.steps.is_some())) {
        return None;
    }
    let all = if breadth.states >= arguments.least { None } else { search(Order::Breadth, Guide::Auto, Plan::space()) };
    let states = all.as_ref().map_or(breadth.states, |all| all.states);
    let all_states = match &all {
        Some(all) => format!("{}{}", all.least(), all.states),
        None => format!("> {}", breadth.states),
    };
    let mut share = "–".to_owned();
    if states >= arguments.least {
        // A violation that was not found counts as no gain.
        let part = if directed.steps.is_some() { directed.states as f64 / breadth.states as f64 } else { 1.0 };
        share = format!("{part:.5}");
        results.by_size += usize::from(part <= 0.1);
        results.shares.push(part);
    }
    let length = match (breadth.steps, astar.steps) {
        (Some(shortest), Some(steps)) if shortest == steps => {
            results.same += 1;
            "the same".to_owned()
        }
        // No violation has been seen on the levels before the one that was not completed.
        (None, Some(steps)) if !breadth.complete && breadth.depth <= steps as u64 => {
            results.partly.push(format!("{name} ({}, at depth {})", breadth.reason, breadth.depth));
            format!("none shorter than {}", breadth.depth)
        }
        (_, None) if !astar.complete => {
            results.open.push(format!("{name} (A*: {}, breadth first: {})", astar.reason, shown(breadth.steps)));
            format!("A* not done: {}", astar.reason)
        }
        _ => {
            results.wrong.push(format!("{name}: {} steps instead of {}", shown(astar.steps), shown(breadth.steps)));
            "different".to_owned()
        }
    };
    let cells = [&breadth, &directed, &astar].map(|found| format!("{}{} | {}", found.least(), found.states, shown(found.steps)));
    Some(format!("| {name} | {all_states} | {} | {} | {share} | {} | {length} |", cells[0], cells[1], cells[2]))
}

/// Whether a model has no row: nobody knows a violation of it.
fn is_left_out(violated: Option<bool>, found: [bool; 3]) -> bool {
    violated != Some(true) && !found.contains(&true)
}

impl Found {
    /// What precedes a number that is too small, because the search was not done.
    fn least(&self) -> &'static str {
        if self.complete { "" } else { "> " }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A share of 1 must not disappear because no search has found anything.
    #[test]
    fn a_violation_that_no_search_finds_counts() {
        assert!(!is_left_out(Some(true), [false; 3]));
        assert!(is_left_out(None, [false; 3]) && is_left_out(Some(false), [false; 3]));
        assert!(!is_left_out(None, [false, true, false]));
    }
}
