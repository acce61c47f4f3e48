//! Speed, memory and time to the answer: Everypath compared with SPIN, on the same models, in the
//! same run.
//!
//! Both search the whole state space with one thread, without reduction, with an exact store, and
//! must count the same states. Ratios are made of processor time (user and system), because on a
//! shared machine the wall-clock time depends on others. It is recorded too. Two threads are the
//! exception: they reduce wall-clock time. So they are compared with two searches that run at the
//! same time and share the same machine, caches and memory. `docs/performance.md` explains the
//! columns and has the latest table.

mod callgrind;
pub mod child;
mod compile_times;
mod lf;
pub mod ours;
mod properties;
mod row;
mod set;
pub mod spin;
mod table;

use crate::models::Corpus;
use crate::{Failure, root};
use child::Cost;
use ours::{Everypath, Found, Manner};
pub use properties::formula;
use row::{Number, Row, Who};
use set::{Entry, Extent, Group};
use spin::Verifier;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// `cargo xtask bench`
#[derive(clap::Args)]
pub struct Arguments {
    /// Only a few small models: two minutes
    #[arg(long)]
    quick: bool,
    /// Only the sizes of automata of temporal formulas, compared with the best known ones
    #[arg(long)]
    ltl: bool,
    /// Only the number of states that reductions leave, compared with SPIN's: on seven models, or
    /// on those of `--only`
    #[arg(long)]
    reductions: bool,
    /// Only the number of states that passes over the byte-code leave of models that are chains of
    /// small steps, compared with the shares in table 5 of Weber's paper on the machine
    #[arg(long)]
    chains: bool,
    /// Only the run time of LF compared with Go: messages per second, and requests to the echo
    /// server
    #[arg(long)]
    lf: bool,
    /// With `--reductions`: on the whole benchmark set, only the counts
    #[arg(long, requires = "reductions")]
    all: bool,
    /// With `--reductions`: seconds for each search
    #[arg(long, value_name = "N", default_value_t = 60, requires = "reductions")]
    seconds: u64,
    /// Measure a temporal property, and the reduction, on both sides: the time, also in relation to
    /// plain exploration
    #[arg(long, conflicts_with_all = ["own", "callgrind", "compile_times"])]
    properties: bool,
    /// The project's own models only
    #[arg(long, conflicts_with = "quick")]
    own: bool,
    /// Only models whose name contains one of these
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    only: Vec<String>,
    /// Runs of each search; the fastest counts
    #[arg(long, value_name = "N", default_value_t = 2)]
    runs: usize,
    /// Without SPIN, even if it is installed
    #[arg(long)]
    no_spin: bool,
    /// Without the column for SPIN's compression
    #[arg(long)]
    no_collapse: bool,
    /// Without the column for depth-first search
    #[arg(long)]
    no_dfs: bool,
    /// Without the column for two threads, which is for models with more than a million states
    #[arg(long)]
    no_threads: bool,
    /// Give SPIN's verifier a hash table as large as the model needs, from its second run on,
    /// instead of its default
    #[arg(long)]
    fit_table: bool,
    /// Count instructions under valgrind, by the part of the program they belong to
    #[arg(long, conflicts_with_all = ["quick", "own", "compile_times"])]
    callgrind: bool,
    /// Measure only translation, on all available models
    #[arg(long, conflicts_with_all = ["quick", "own"])]
    compile_times: bool,
    /// Measure this program instead of the one built from this tree
    #[arg(long, value_name = "FILE")]
    everypath: Option<PathBuf>,
    /// Save the result even if the run is not a full one
    #[arg(long)]
    save: bool,
    /// Add to this result file the models that are not in it yet: for a long run in parts
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
    #[command(flatten)]
    corpus: Corpus,
    /// Further arguments for `everypath space`
    #[arg(last = true)]
    more: Vec<String>,
}

/// Measures what the arguments request.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.ltl {
        return crate::ltl::table(None, false);
    }
    if arguments.reductions && arguments.all {
        return crate::reductions::corpus::print(&arguments.corpus, &arguments.only, arguments.seconds, arguments.into.as_deref());
    }
    if arguments.reductions {
        return crate::reductions::table::print(&arguments.corpus, &arguments.only, !arguments.no_spin, arguments.seconds);
    }
    if arguments.chains {
        return crate::reductions::chains::print();
    }
    if arguments.compile_times {
        return compile_times::run(&arguments.corpus, &arguments.only);
    }
    let everypath = Everypath::new(arguments.everypath.as_deref(), &arguments.more)?;
    if arguments.lf {
        return lf::run(&everypath, arguments.runs, arguments.save);
    }
    let extent = match (arguments.callgrind, arguments.quick, arguments.own) {
        (true, ..) if arguments.only.is_empty() => Extent::Profiled,
        (_, true, _) => Extent::Quick,
        (.., true) => Extent::Own,
        _ => Extent::Full,
    };
    let mut entries = set::entries(extent, &arguments.corpus)?;
    entries.retain(|entry| arguments.only.is_empty() || arguments.only.iter().any(|pattern| entry.model.name.contains(pattern.as_str())));
    let versions = spin::versions().filter(|_| !arguments.no_spin);
    if versions.is_none() && !arguments.no_spin {
        eprintln!("SPIN or gcc is not installed: its columns stay empty.");
    }
    if arguments.callgrind {
        return callgrind::run(&everypath, &entries, versions.is_some());
    }
    compare(arguments, extent, &everypath, &entries, versions)
}

fn compare(
    arguments: &Arguments,
    extent: Extent,
    everypath: &Everypath,
    entries: &[Entry],
    versions: Option<(String, String)>,
) -> Result<(), Failure> {
    let (mut remarks, mut rows) = match &arguments.into {
        Some(file) if file.exists() => read(file)?,
        _ => (String::new(), Vec::new()),
    };
    if remarks.is_empty() {
        remarks = circumstances(versions.as_ref(), everypath, arguments);
    } else {
        let date = output("date", &["-u", "+%Y-%m-%d %H:%M UTC"]);
        remarks += &format!("\ncontinued: {date}, fastest of {} runs", arguments.runs);
    }
    remarks += &format!("; load at the beginning {}", load());
    let blocks = if arguments.properties { &properties::BLOCKS[..] } else { &table::BLOCKS };
    println!("{remarks}\n\n{}", table::head(blocks));
    for row in &rows {
        println!("{}", table::line(blocks, row));
    }
    let sides = Sides {
        everypath,
        spin: versions.is_some(),
        collapse: versions.is_some() && !arguments.no_collapse,
        compact: everypath.has_store("compact"),
        depth: !arguments.no_dfs,
        team: !arguments.no_threads,
        fit_table: arguments.fit_table,
        runs: arguments.runs.max(1),
    };
    for entry in entries {
        if rows.iter().any(|row| row.model == entry.model.name) {
            continue;
        }
        let mut row = Row::new(&entry.model.name, entry.group);
        let measured = if arguments.properties { sides.measure_properties(entry, &mut row) } else { sides.measure(entry, &mut row) };
        if let Err(failure) = measured {
            row.error = failure;
        }
        println!("{}", table::line(blocks, &row));
        rows.push(row);
    }
    remarks += &format!(", at the end {}", load());
    println!("\n{}", if arguments.properties { properties::summary(&rows) } else { table::summary(&rows) });
    let place = match &arguments.into {
        Some(file) => Some(file.clone()),
        None if arguments.save || (extent == Extent::Full && arguments.only.is_empty()) => Some(root().join(format!(
            "bench/runs/{}{}.tsv",
            output("date", &["-u", "+%Y-%m-%dT%H%M"]),
            if arguments.properties { "-properties" } else { "" }
        ))),
        None => None,
    };
    if let Some(place) = place {
        fs::write(&place, row::to_text(&remarks, &rows)).map_err(|error| format!("{}: {error}", place.display()))?;
        println!("Kept in {}", place.display());
    }
    match rows.iter().filter(|row| !row.error.is_empty()).count() {
        0 => Ok(()),
        n => Err(format!("{n} rows are in error")),
    }
}

fn read(file: &PathBuf) -> Result<(String, Vec<Row>), Failure> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    row::from_text(&text).ok_or_else(|| format!("{}: not a result file of this version", file.display()))
}

/// The programs that are measured, and the number of runs.
struct Sides<'a> {
    everypath: &'a Everypath,
    spin: bool,
    collapse: bool,
    compact: bool,
    depth: bool,
    team: bool,
    fit_table: bool,
    runs: usize,
}

/// Two threads are measured on long searches: only on models with more states than this.
const TEAM_STATES: u64 = 1_000_000;
/// Wall-clock times need at least this many runs.
const TEAM_RUNS: usize = 6;

impl Sides<'_> {
    /// Fills a row. The runs of both sides alternate, so that changes of the machine's load affect
    /// both.
    fn measure(&self, entry: &Entry, row: &mut Row) -> Result<(), Failure> {
        let promela = entry.model.is_promela();
        let mut verifier = if self.spin && promela { Some(Verifier::build(&entry.model.path, &[], self.fit_table)?) } else { None };
        // Smaller models only measure the time to the verdict; the second store and the second
        // verifier are skipped.
        let thorough = entry.group == Group::Search;
        let compiled = ours::compile(&entry.model)?;
        let translation = compiled.native.unwrap_or(compiled.bytecode);
        // Models that are searched very quickly use hardly any memory.
        let prepare = || if thorough { child::recall_memory() } else { Ok(()) };
        for _ in 0..self.runs {
            if let Some(verifier) = &mut verifier {
                prepare()?;
                spin_run(row, Who::Spin, verifier)?;
            }
            for (who, manner, wanted) in [
                (Who::Plain, Manner::PLAIN, true),
                (Who::Compact, Manner::COMPACT, thorough && self.compact),
                (Who::Depth, Manner::DEPTH, thorough && self.depth),
            ] {
                if wanted {
                    prepare()?;
                    our_run(row, who, self.everypath.run(&entry.model, manner)?, translation)?;
                }
            }
        }
        if self.collapse && promela && thorough {
            let mut verifier = Verifier::build(&entry.model.path, &["-DCOLLAPSE"], self.fit_table)?;
            for _ in 0..self.runs {
                prepare()?;
                spin_run(row, Who::Collapse, &mut verifier)?;
            }
        }
        if self.team && thorough && row.states().is_some_and(|states| states > TEAM_STATES) {
            self.measure_team(entry, row, translation)?;
        }
        agree(entry, row)
    }

    /// Two threads on one search, and two searches with one thread each. The order changes from run
    /// to run.
    fn measure_team(&self, entry: &Entry, row: &mut Row, translation: f64) -> Result<(), Failure> {
        for run in 0..self.runs.max(TEAM_RUNS) {
            for team in [run % 2 == 0, run % 2 != 0] {
                child::recall_memory()?;
                if team {
                    our_run(row, Who::Team, self.everypath.run(&entry.model, Manner::TEAM)?, translation)?;
                } else {
                    let [this, that] = self.everypath.run_pair(&entry.model, Manner::PLAIN)?;
                    row.count(Who::Pair, that.0.states)?;
                    our_run(row, Who::Pair, mean_speed(this, that), translation)?;
                }
            }
        }
        Ok(())
    }
}

/// A run at the mean of the speeds of two runs; a number that is not a time is the larger of
/// theirs.
fn mean_speed((this, cost): (Found, Cost), (that, other): (Found, Cost)) -> (Found, Cost) {
    let mean = |a: f64, b: f64| 2.0 / (1.0 / a.max(1e-9) + 1.0 / b.max(1e-9));
    let found =
        Found { search_wall: mean(this.search_wall, that.search_wall), store_bytes: this.store_bytes.max(that.store_bytes), ..this };
    (found, Cost { cpu: mean(cost.cpu, other.cpu), wall: mean(cost.wall, other.wall), peak: cost.peak.max(other.peak) })
}

fn our_run(row: &mut Row, who: Who, (found, cost): (Found, Cost), translation: f64) -> Result<(), Failure> {
    row.count(who, found.states)?;
    row.least(who, Number::SearchCpu, (cost.cpu - translation).max(0.0));
    row.least(who, Number::SearchWall, found.search_wall);
    row.least(who, Number::TotalCpu, cost.cpu);
    row.least(who, Number::TotalWall, cost.wall);
    row.set(who, Number::StateBytes, found.store_bytes / found.states.max(1) as f64);
    row.set(who, Number::Peak, cost.peak as f64);
    Ok(())
}

fn spin_run(row: &mut Row, who: Who, verifier: &mut Verifier) -> Result<spin::Found, Failure> {
    let (found, cost) = verifier.run()?;
    row.count(who, found.states)?;
    row.least(who, Number::SearchCpu, cost.cpu);
    row.least(who, Number::SearchWall, cost.wall);
    row.least(who, Number::TotalCpu, verifier.built.cpu + cost.cpu);
    row.least(who, Number::TotalWall, verifier.built.wall + cost.wall);
    if let Some(bytes) = found.state_bytes {
        row.set(who, Number::StateBytes, bytes / found.states.max(1) as f64);
    }
    row.set(who, Number::Peak, cost.peak as f64);
    Ok(found)
}

/// Requires that all sides, and the recorded count of the model, agree.
fn agree(entry: &Entry, row: &Row) -> Result<(), Failure> {
    let whole = Who::ALL.into_iter().filter(|who| who.visits_the_whole_space());
    let told: Vec<u64> = whole.filter_map(|who| row.get(who, Number::States)).map(|states| states as u64).collect();
    let all: Vec<u64> = told.iter().copied().chain(entry.states).collect();
    if all.windows(2).all(|pair| pair[0] == pair[1]) {
        return Ok(());
    }
    let known = entry.states.map_or_else(String::new, |states| format!(", known are {states}"));
    Err(format!("the counts differ: {told:?}{known}"))
}

/// The circumstances of the measurement that a reader of the numbers must know.
fn circumstances(versions: Option<&(String, String)>, everypath: &Everypath, arguments: &Arguments) -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':')).map_or("?", |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let fitted = if arguments.fit_table { ", hash table fitted to the model" } else { "" };
    let (spin, gcc) = versions.map_or(("not measured", "–"), |(spin, gcc)| (spin, gcc));
    format!(
        "machine: {cpu}, {cores} cores, {} {}\neverypath: {}{}, {}\nspin: {spin}{fitted}; {gcc}\n\
         times: processor seconds (user and system), fastest of {} runs; two threads: of {}; memory at hand\ndate: {}",
        output("uname", &["-s"]),
        output("uname", &["-r"]),
        if everypath.given { "a program built earlier, the tree now at " } else { "" },
        output("git", &["describe", "--always", "--dirty"]),
        output("rustc", &["--version"]),
        arguments.runs,
        arguments.runs.max(TEAM_RUNS),
        output("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
    )
}

/// The numbers of processes that wanted to run in the last one, five and fifteen minutes.
fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().take(3).collect();
    if words.is_empty() { "?".to_owned() } else { words.join(" ") }
}

/// The first line a program prints.
pub fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(root()).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("?").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::Model;
    use std::path::Path;

    #[test]
    fn counts_must_agree() {
        let model = Model::at(Path::new("beem/x.1.pm"));
        let entry = |states| Entry { model: model.clone(), group: Group::Search, states };
        let mut row = Row::new("beem/x.1", Group::Search);
        row.set(Who::Plain, Number::States, 7.0);
        assert!(agree(&entry(None), &row).is_ok());
        assert!(agree(&entry(Some(8)), &row).is_err());
        row.set(Who::Spin, Number::States, 7.0);
        assert!(agree(&entry(Some(7)), &row).is_ok());
        row.set(Who::Collapse, Number::States, 6.0);
        assert!(agree(&entry(None), &row).is_err());
    }

    #[test]
    fn the_mean_of_two_speeds() {
        let run = |wall| (Found { states: 6, search_wall: wall, store_bytes: 1.0 }, Cost { cpu: wall, wall, peak: 1 });
        let (found, cost) = mean_speed(run(1.0), run(3.0));
        // The mean of six states a second and two a second is four a second.
        assert_eq!((found.search_wall, cost.cpu), (1.5, 1.5));
    }
}
