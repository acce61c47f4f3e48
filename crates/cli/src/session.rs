//! A search from the command line: a model or a saved search in, an outcome out. What `check` and `space` share.

use crate::args::{EngineArguments, SavingArguments, SubjectArguments};
use crate::checkpoint::CheckpointFile;
use crate::failure::Failure;
use crate::input::{self, Model};
use crate::patience::Patience;
use crate::progress::Ticker;
use crate::spill::SpillFile;
use crate::{Exit, engine, interrupt, memory, say};
use check::{Blocks, Checked, Checkpoints, EdgeSink, Order, Plan, Saved, Spill, StoreKind, Surroundings};
use contract::{Cancel, Limits, Observer, Outcome, Statistics, StopReason, Verdict};
use report::Measured;
use report::json::{self, CheckJson, SpaceJson};
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// How much of a memory budget a stack may take before it goes to disk, as one part in so many; and how much if there is no budget.
const STACK_SHARE: u64 = 4;
const STACK_BYTES: u64 = 1 << 30;

/// A search that is about to begin or to go on.
pub struct Session {
    /// What is searched.
    pub model: Model,
    /// How.
    pub plan: Plan,
    /// How to interrupt it.
    cancel: Cancel,
    /// How long it may take.
    pub patience: Patience,
    /// Shows how far it is.
    ticker: Ticker,
    from: Option<BufReader<File>>,
}

/// A search that has ended.
pub struct Ended {
    /// Verdict, numbers, steps.
    pub checked: Checked,
    /// What to try if the answer is not known.
    pub advice: Option<String>,
}

impl Session {
    /// Reads what the search is about. `base` says whether it is a check or the whole state space.
    pub fn new(
        base: Plan,
        subject: &SubjectArguments,
        engine: &EngineArguments,
        saving: &SavingArguments,
        json: bool,
    ) -> Result<Session, Failure> {
        let plan = engine::plan(base, engine);
        let patience = Patience::new(plan.limits.time);
        let watch = patience.watch(move || unread(Plan { limits: plan.limits, ..base }, json));
        let given = subject.model.as_deref().map(|path| input::model(path, &subject.defines)).transpose()?;
        // Whoever is tired of waiting for the model has nothing to lose: until here a signal ends everything.
        let (cancel, ticker) = (interrupt::on_signal(), Ticker::new(json));
        let (model, plan, from) = match (&saving.resume, given) {
            (Some(path), given) => {
                let (model, plan, from) = saved(path, base, plan, engine, given)?;
                (model, plan, Some(from))
            }
            (None, Some(model)) => (model, plan, None),
            (None, None) => return Err(Failure::Call("a MODEL or `--resume FILE` is needed".to_owned())),
        };
        drop(watch);
        if plan.store != StoreKind::Bits && (engine.bits_functions.is_some() || engine.bits_runs.is_some()) {
            return Err(Failure::Call("`--bits-functions` and `--bits-runs` are for `--store bits`".to_owned()));
        }
        if plan.order == Order::Depth && engine.threads.is_some_and(|threads| threads > 1) {
            ticker.notice("a strict depth-first search has one worker; `--search dfs-shared` is for more");
        }
        Ok(Session { model, plan, patience: patience.with(cancel.clone()), cancel, ticker, from })
    }

    /// The files that are read.
    pub fn inputs<'a>(&'a self, saving: &'a SavingArguments) -> Vec<&'a Path> {
        self.model.files.iter().chain(&saving.resume).map(PathBuf::as_path).collect()
    }

    /// Searches to the end, and hands the edges of the state space to whoever wants them.
    pub fn run(mut self, saving: &SavingArguments, edges: Option<&mut dyn EdgeSink>) -> Result<(Session, Ended), Failure> {
        let checkpoints = match &saving.checkpoint {
            Some(path) => {
                self.plan.refuse_saving()?;
                let saved = Saved::new(&self.model.name, &self.model.warnings, &self.model.program, &self.plan);
                Some(CheckpointFile::new(path, saving.checkpoint_every, &saved)?)
            }
            None => None,
        };
        // The model took part of the time.
        self.plan.limits.time = self.patience.left();
        let folder = saving.spill.clone().unwrap_or_else(std::env::temp_dir);
        let blocks = Mutex::new(SpillFile::within(folder));
        let spill = Spill {
            blocks: &blocks as &Mutex<dyn Blocks>,
            keep: self.plan.limits.memory.map_or(STACK_BYTES, |budget| budget / STACK_SHARE),
        };
        let surroundings = Surroundings {
            cancel: self.cancel.clone(),
            observer: &self.ticker,
            checkpoints: checkpoints.as_ref().map(|file| file as &dyn Checkpoints),
            spill: (self.plan.order == Order::Depth).then_some(spill),
            resident: Some(&memory::resident),
        };
        let (program, graph) = (&self.model.program, edges.is_some());
        let checked = match (self.from.take(), &saving.resume, edges) {
            (Some(mut from), Some(path), _) => {
                check::resume(program, &self.plan, &surroundings, &mut from).map_err(|error| Failure::Resume { path: path.clone(), error })
            }
            (_, _, Some(edges)) => check::run_with_edges(program, &self.plan, edges, &surroundings).map_err(Failure::from),
            _ => check::run_in(program, &self.plan, &surroundings).map_err(Failure::from),
        };
        self.ticker.finish();
        let checked = checked?;
        // A search that came to its end may not know the answer either, but there is nothing to go on with.
        let unfinished = matches!(&checked.outcome.verdict, Verdict::Unknown(reason) if !reason.is_complete());
        // Nor does a depth-first search know any more where it was cut off.
        let cut_off = checked.outcome.verdict == Verdict::Unknown(StopReason::Depth) && self.plan.order == Order::Depth;
        let there = checkpoints.as_ref().is_some_and(CheckpointFile::is_there);
        let file = saving.checkpoint.as_deref().filter(|_| unfinished && !cut_off && there);
        if let Some(path) = saving.checkpoint.as_deref().filter(|_| cut_off) {
            let before = if there { ", and what is there was saved before its end" } else { "" };
            let path = path.display();
            self.ticker.notice(&format!(
                "{path}: the search ended at its depth limit and is not saved{before}: a depth-first search does not know where it was cut off, so \
                 it cannot go deeper from a checkpoint; `--search bfs` can"
            ));
        }
        if let Some(path) = file {
            // Nobody may be listening; the answer does not depend on it.
            let _ = writeln!(std::io::stderr(), "note: the search is saved; `--resume {}` goes on with it", path.display());
        }
        let advice = match graph {
            true => check::graph_advice(&self.plan, &checked.outcome),
            false => check::advice(&self.plan, &checked.outcome, file.is_some()),
        };
        Ok((self, Ended { checked, advice }))
    }
}

/// The time was up before the model was read: the answer, and the end of the process.
fn unread(base: Plan, json: bool) {
    let reason = StopReason::Time;
    let statistics = Statistics { elapsed: base.limits.time.unwrap_or_default(), ..Statistics::default() };
    let outcome = Outcome { verdict: Verdict::Unknown(reason.clone()), statistics };
    let measured = Measured { peak_memory_bytes: memory::peak() };
    let advice = Some("give it more time (`--time`): the model was not read to its end".to_owned());
    say(&match (json, base.property) {
        (false, Some(_)) => format!("unknown: {reason} while the model was read\n"),
        (false, None) => format!("incomplete: {reason} while the model was read\n"),
        (true, Some(_)) => json::line(&CheckJson::new(&outcome, base.order.of_search().name(), Vec::new(), advice, measured)),
        (true, None) => json::line(&SpaceJson::new(&outcome, advice, measured)),
    });
    std::process::exit(Exit::Unknown as i32);
}

/// The search saved in the file `path`: its model, its plan with what the user wants otherwise, and where its states follow.
fn saved(
    path: &Path,
    base: Plan,
    plan: Plan,
    engine: &EngineArguments,
    given: Option<Model>,
) -> Result<(Model, Plan, BufReader<File>), Failure> {
    let mut from = BufReader::with_capacity(1 << 20, File::open(path).map_err(|error| Failure::read(path, error))?);
    let saved = Saved::read(&mut from).map_err(|error| Failure::Resume { path: path.to_owned(), error: error.into() })?;
    let foreign = |why: &str| Failure::Call(format!("{}: {why}", path.display()));
    match (saved.property, base.property) {
        (None, Some(_)) => return Err(foreign("this is a search of the whole state space: `everypath space` goes on with it")),
        (Some(_), None) => return Err(foreign("this is a search for violations: `everypath check` goes on with it")),
        _ => {}
    }
    let model = input::saved_model(path, &saved)?;
    match given {
        Some(given) if !check::same_behaviour(&given.program, &model.program) => {
            return Err(foreign(&format!("this is a search of another model, or of `{}` before it was changed", saved.model)));
        }
        Some(_) => {}
        // Whoever resumes a search was perhaps not there when it began.
        None => model.warnings.iter().for_each(|warning| drop(writeln!(std::io::stderr(), "warning: {warning}"))),
    }
    let limits = Limits { depth: plan.limits.depth.or(saved.depth), ..plan.limits };
    let store = engine.store.unwrap_or(saved.store);
    let bit_runs = engine.bits_runs.unwrap_or(saved.bit_runs);
    Ok((model, Plan { limits, store, bit_runs, ..saved.plan(plan) }, from))
}
