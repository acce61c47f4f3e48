//! A search from the command line: reads a model or a saved search and returns an outcome. `check`
//! and `space` share it.

use crate::args::{EngineArguments, SavingArguments, SubjectArguments};
use crate::checkpoint::CheckpointFile;
use crate::disk::{self, DiskFolder};
use crate::failure::Failure;
use crate::input::{self, Model, Wanted};
use crate::next;
use crate::patience::{Over, Patience};
use crate::progress::{Known, Ticker};
use crate::quantity::Place;
use crate::spill::SpillFile;
use crate::team::{self, Gathered, TeamArguments};
use crate::watch::{Answer, Watch};
use crate::{Exit, interrupt, memory, paths, plan};
use check::{
    Blocks, Checked, Checkpoints, EdgeSink, FewestSwitches, Folder, Levels, Order, Plan, Reach, Sampling, Saved, ShownRun, Spill,
    StoreKind, Surroundings,
};
use contract::{Cancel, Judged, Limits, Observer, Outcome, Stated, Statistics, StopReason, Trace, Verdict, Violation};
use replay::{Essential, Step};
use report::json::{self, CheckJson, SpaceJson};
use report::{Measured, Timeline, Told, check_text, space_text};
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A stack is moved to disk when it takes one part in this many of the memory budget; the second
/// number is the limit in bytes if there is no budget.
const STACK_SHARE: u64 = 4;
const STACK_BYTES: u64 = 1 << 30;

/// How often several processes save a level by default.
const LEVELS_EVERY: Duration = Duration::from_secs(120);

/// A search that is about to begin or to be resumed.
pub struct Session {
    /// The model to search.
    pub model: Model,
    /// The plan of the search.
    pub plan: Plan,
    /// The request to stop.
    cancel: Cancel,
    /// The time limit.
    pub patience: Patience,
    /// Answers in place of the main thread if that is too late.
    pub watch: Watch,
    /// Shows the progress.
    ticker: Arc<Ticker>,
    /// The processes that share the search.
    crew: Option<Gathered>,
    from: Option<BufReader<File>>,
}

/// A search that has ended.
pub struct Ended {
    /// The verdict, the numbers and the steps.
    pub checked: Checked,
    /// Advice if the verdict is unknown.
    pub advice: Option<String>,
}

impl Session {
    /// Reads the model of the search. `base` says whether it is a check or the whole state space.
    pub fn new(
        base: Plan,
        subject: &SubjectArguments,
        wanted: Wanted<'_>,
        engine: &EngineArguments,
        saving: &SavingArguments,
        team: &TeamArguments,
        json: bool,
    ) -> Result<Session, Failure> {
        let wanted = Wanted { measure: engine.measure.as_deref(), ..wanted };
        let plan = plan::with_options(base, engine);
        let patience = Patience::new(plan.limits.time);
        let watch = Watch::new(&patience, move |over| unread(over, Plan { limits: plan.limits, ..base }, json));
        let read = |path: &Path| input::model_with(path, &subject.lf.define(path, &subject.defines)?, &wanted);
        let given = subject.model.as_deref().map(read).transpose()?;
        // While the model is read nothing can be lost, so a signal ends the process at once.
        let (cancel, ticker) = (interrupt::on_signal(), Arc::new(Ticker::new(json, engine.progress)));
        patience.until(&cancel);
        let (model, plan, from) = match (&saving.resume, given) {
            (Some(path), given) => {
                let (model, plan, from) = saved(path, base, plan, engine, given)?;
                (model, plan, Some(from))
            }
            (None, Some(model)) => (model, plan, None),
            (None, None) => return Err(Failure::Call("a MODEL or `--resume FILE` is needed".to_owned())),
        };
        if let Some(path) = saving.resume.as_ref().filter(|_| !team.is_several())
            && team::read_level(path).is_ok_and(|level| level.is_some())
        {
            return Err(Failure::Call(format!(
                "{}: this search was saved by several processes: resume it with `--processes`",
                path.display()
            )));
        }
        if engine.measure.is_some() && plan.order != Order::Sweep {
            return Err(Failure::Call(format!("`--measure` is for `--search sweep`, and this is `--search {}`", plan.order)));
        }
        let (model, plan) = if plan.order == Order::Sweep { by_measure(model, plan, &cancel, &ticker) } else { (model, plan) };
        let shown = Arc::clone(&ticker);
        watch.reply(move |over| unfinished(over, &plan, json, &shown));
        if plan.store != StoreKind::Bits && (engine.bits_functions.is_some() || engine.bits_runs.is_some()) {
            return Err(Failure::Call("`--bits-functions` and `--bits-runs` are for `--store bits`".to_owned()));
        }
        if plan.order == Order::Depth && engine.threads.is_some_and(|threads| threads > 1) {
            ticker.notice("a strict depth-first search has one worker; `--search dfs-shared` is for more");
        }
        if plan.order.is_directed() && plan.order != Order::Race && engine.threads.is_some_and(|threads| threads > 1) {
            ticker.notice("a directed search has one worker");
        }
        let mut plan = plan;
        let crew = team.crew(&mut plan, engine, &ticker)?;
        if crew.is_some() {
            watch.wait_for_others();
        }
        Ok(Session { model, plan, patience, cancel, watch, ticker, crew, from })
    }

    /// The files that are read.
    pub fn inputs<'a>(&'a self, saving: &'a SavingArguments) -> Vec<&'a Path> {
        self.model.files.iter().chain(&saving.resume).map(PathBuf::as_path).collect()
    }

    /// Runs the search to its end, and passes the edges of the state space to `edges`, if given.
    pub fn run(mut self, saving: &SavingArguments, edges: Option<&mut dyn EdgeSink>) -> Result<(Session, Ended), Failure> {
        let levels = match &self.crew {
            Some(_) => self.levels(saving)?,
            None => None,
        };
        if self.crew.is_some() {
            check::refuse_several(&self.plan, levels.is_some(), saving.disk.is_some())?;
        }
        let disk = self.disk(saving)?;
        // A saved search is resumed without the options of this call, so it must say all that is
        // asked for. A selection of properties is not part of it.
        let complete = !self.model.is_selection() && self.plan.refuse(true).is_ok();
        let own = disk.as_ref().filter(|_| complete).and_then(DiskFolder::checkpoint);
        let checkpoint = saving.checkpoint.clone().or(own);
        let checkpoints = match &checkpoint {
            _ if self.crew.is_some() => None,
            Some(path) => {
                self.plan.refuse(true)?;
                let folder = paths::way_here(path).map(|way| if way.is_empty() { ".".to_owned() } else { way }).unwrap_or_default();
                let saved = Saved { folder, ..Saved::new(&self.model.name, &self.model.warnings, &*self.model.subject, &self.plan) };
                Some(CheckpointFile::new(path, saving.checkpoint_every, &saved)?)
            }
            None => None,
        };
        if checkpoints.is_some() {
            // If the search is to be saved, it is saved before the process ends, however long that
            // takes.
            self.watch.rest();
        }
        // Reading the model took a part of the time.
        self.plan.limits.time = self.patience.left();
        let folder = saving.spill.clone().unwrap_or_else(std::env::temp_dir);
        let blocks = Mutex::new(SpillFile::within(folder));
        let spill = Spill {
            blocks: &blocks as &Mutex<dyn Blocks>,
            keep: self.plan.limits.memory.map_or(STACK_BYTES, |budget| budget / STACK_SHARE),
        };
        let surroundings = Surroundings {
            cancel: self.cancel.clone(),
            observer: &*self.ticker,
            checkpoints: checkpoints.as_ref().map(|file| file as &dyn Checkpoints),
            spill: matches!(self.plan.order, Order::Depth | Order::Sweep).then_some(spill),
            disk: disk.as_ref().map(|folder| folder as &dyn Folder),
            resident: Some(&memory::resident),
            crew: self.crew.as_ref().map(|gathered| &gathered.crew),
            levels: levels.as_ref(),
        };
        let (subject, graph) = (&*self.model.subject, edges.is_some());
        let checked = match (self.from.take(), &saving.resume, edges) {
            (Some(mut from), Some(path), _) if self.crew.is_none() => {
                check::resume(subject, &self.plan, &surroundings, &mut from).map_err(|error| Failure::Resume { path: path.clone(), error })
            }
            (_, _, Some(edges)) => check::run_with_edges(subject, &self.plan, edges, &surroundings).map_err(Failure::from),
            _ => check::run_in(subject, &self.plan, &surroundings).map_err(Failure::from),
        };
        self.ticker.finish();
        let checked = checked?;
        // A complete search with an unknown verdict cannot be continued.
        let unfinished = matches!(&checked.outcome.verdict, Verdict::Unknown(reason) if !reason.is_complete());
        // A depth-first search does not know where it was cut off.
        let cut_off = checked.outcome.verdict == Verdict::Unknown(StopReason::Depth) && self.plan.order == Order::Depth;
        let there = match &saving.checkpoint {
            Some(path) if self.crew.is_some() => team::read_level(path).is_ok_and(|level| level.is_some()),
            _ => checkpoints.as_ref().is_some_and(CheckpointFile::is_there),
        };
        if let Some(disk) = disk.as_ref().filter(|_| !unfinished) {
            disk.finish();
        }
        // When a process is lost, threads that were given up may still be saving a level.
        let all_have_ended = !matches!(&checked.outcome.verdict, Verdict::Unknown(StopReason::WorkerLost(_)));
        if let Some(levels) = levels.as_ref().filter(|_| all_have_ended) {
            team::tidy_levels(Path::new(&levels.path), !unfinished);
        }
        let file = checkpoint.as_deref().filter(|_| unfinished && !cut_off && there);
        if let Some(path) = saving.checkpoint.as_deref().filter(|_| cut_off) {
            let before = if there { ", and the file there was saved before its end" } else { "" };
            let path = path.display();
            self.ticker.notice(&format!(
                "{path}: the search ended at its depth limit and is not saved{before}: a depth-first search does not know where it was cut off, so \
                 it cannot go deeper from a checkpoint; `--search bfs` can"
            ));
        }
        if let Some(path) = file {
            // Standard error may be closed; the answer does not depend on it.
            let _ = writeln!(std::io::stderr(), "note: the search is saved; resume it with `--resume {}`", next::file(path));
        }
        let advice = match graph {
            true => check::graph_advice(&self.plan, &checked.outcome),
            false => check::check_advice(&self.plan, &checked, file.is_some()),
        };
        Ok((self, Ended { checked, advice }))
    }
}

/// The files and the progress of a search.
impl Session {
    /// The folder for states, if one is needed.
    fn disk(&self, saving: &SavingArguments) -> Result<Option<DiskFolder>, Failure> {
        let resumed = saving.resume.as_deref().map(disk::saved_in);
        let old = resumed.as_deref().and_then(Path::parent).filter(|folder| DiskFolder::is_one(folder));
        let saving_to = disk::Savings { resumed: resumed.as_deref(), elsewhere: saving.checkpoint.as_deref() };
        let folder = match (&saving.disk, old) {
            (Some(Place { folder, most }), _) => DiskFolder::new(folder, *most, saving_to)?,
            (None, Some(folder)) => DiskFolder::new(folder, None, saving_to)?,
            (None, None) if self.plan.store == StoreKind::Disk => DiskFolder::temporary()?,
            (None, None) => return Ok(None),
        };
        // When memory is used up, the search must become smaller.
        check::return_freed_memory();
        if folder.is_in_memory() {
            self.ticker.notice(&format!(
                "{} is a file system in memory: what is written there takes memory beyond the limit; `--disk FOLDER` names a folder on a disk",
                folder.path().display()
            ));
        }
        Ok(Some(folder))
    }

    /// The checkpoints of several processes, if they are written or resumed from.
    fn levels(&self, saving: &SavingArguments) -> Result<Option<Levels>, Failure> {
        let Some(path) = saving.checkpoint.as_ref().or(saving.resume.as_ref()) else { return Ok(None) };
        let resume = match &saving.resume {
            None => None,
            Some(from) if saving.checkpoint.as_ref().is_some_and(|path| path != from) => {
                let both =
                    "several processes continue to save to the file that they resume from: leave out `--checkpoint`, or name the same file";
                return Err(Failure::Call(format!("{}: {both}", from.display())));
            }
            Some(from) => match team::read_level(from).map_err(|error| Failure::read(from, error))? {
                Some(level) => Some(level),
                None => {
                    let why = "this search was saved by one process: resume it without `--processes`";
                    return Err(Failure::Call(format!("{}: {why}", from.display())));
                }
            },
        };
        let folder = paths::way_here(path).map(|way| if way.is_empty() { ".".to_owned() } else { way }).unwrap_or_default();
        let saved = Saved { folder, ..Saved::new(&self.model.name, &self.model.warnings, &*self.model.subject, &self.plan) };
        let every = saving.checkpoint_every.unwrap_or(LEVELS_EVERY);
        let absolute = std::path::absolute(path).map_err(|error| Failure::write(path, error))?;
        let name = absolute.to_str().ok_or_else(|| Failure::Call(format!("{}: this name is not valid text", path.display())))?;
        if saving.resume.is_none() {
            // The rules for replacing a file are the same.
            drop(CheckpointFile::new(path, None, &saved)?);
        }
        Ok(Some(Levels { path: name.to_owned(), every: Some(every), head: saved.to_bytes(), resume }))
    }

    /// Several processes write the state space in fragments.
    pub fn fragments(mut self, folder: &str, saving: &SavingArguments) -> Result<(Session, Outcome), Failure> {
        check::refuse_several(&self.plan, false, saving.disk.is_some())?;
        self.plan.limits.time = self.patience.left();
        let crew = self.crew.as_ref().map(|gathered| &gathered.crew);
        let surroundings = Surroundings { cancel: self.cancel.clone(), observer: &*self.ticker, crew, ..Surroundings::default() };
        let outcome = check::fragments(&*self.model.subject, &self.plan, folder, &surroundings);
        self.ticker.finish();
        let outcome = outcome?;
        Ok((self, outcome))
    }

    /// The progress of the search over time.
    pub fn timeline(&self) -> Timeline {
        self.ticker.timeline()
    }
}

/// Questions that are asked after the search, or instead of it.
impl Session {
    /// Answers a question within the time that is left.
    fn ask<T>(&self, question: impl FnOnce(&Plan, &Surroundings<'_>) -> T) -> T {
        let plan = Plan { limits: Limits { time: self.patience.left(), ..self.plan.limits }, ..self.plan };
        let cancel = self.cancel.clone();
        let surroundings = Surroundings { cancel, observer: &*self.ticker, resident: Some(&memory::resident), ..Surroundings::default() };
        let answer = question(&plan, &surroundings);
        self.ticker.finish();
        answer
    }

    /// Looks for a path that executes a statement on a line.
    pub fn reach(&self, file: Option<&str>, line: u32) -> Result<(Reach, Statistics), Failure> {
        Ok(self.ask(|plan, around| check::reach(&*self.model.subject, file, line, plan, around))?)
    }

    /// Looks for a violation of the same property that is reached with the fewest context
    /// switches. `None` if there is no such search for this violation.
    pub fn fewest_switches(&self, violated: &Judged) -> Option<FewestSwitches> {
        self.ask(|plan, around| check::fewest_switches(&*self.model.subject, violated, plan, around))
    }

    /// The steps that a violation depends on.
    pub fn causal(&self, violation: &Violation, steps: &[Step]) -> Option<Essential> {
        self.ask(|plan, around| check::causal(&*self.model.subject, violation, steps, plan, around))
    }

    /// A run that is a witness of a property.
    pub fn shown(&self, stated: &Stated) -> Result<Result<ShownRun, String>, Failure> {
        Ok(self.ask(|plan, around| check::witness(&self.model.subject, stated, plan, around))?)
    }
}

/// The longest time for proposing measures, absolute and as a share of the time limit.
const PROPOSING: Duration = Duration::from_secs(10);
const PROPOSING_SHARE: u32 = 4;

/// The model with the requested measure, or with the best that is found.
fn by_measure(mut model: Model, plan: Plan, cancel: &Cancel, ticker: &Ticker) -> (Model, Plan) {
    if let Some((measure, _)) = model.measure {
        return (model, Plan { measure, ..plan });
    }
    if let Some((measure, text)) = model.subject.own_measure() {
        model.measure = Some((measure, text));
        return (model, Plan { measure, ..plan });
    }
    let time = plan.limits.time.map_or(PROPOSING, |limit| PROPOSING.min(limit / PROPOSING_SHARE));
    let subject = &*model.subject;
    let monotonic = subject.stated().iter().filter_map(|stated| subject.branching(stated)).any(|ctl| ctl.form.needs_components());
    let how = Sampling { time, cancel: cancel.clone(), engine: plan.engine, monotonic, ..Sampling::default() };
    match model.subject.byte_code().and_then(|program| check::propose(program, &how).into_iter().next()) {
        Some(best) => {
            ticker.notice(&format!("the measure of progress is `{}`: {}", best.text, best.reason));
            (model.measured(best.program, best.measure, best.text), Plan { measure: best.measure, ..plan })
        }
        None => {
            let none = if monotonic { "no measure of progress was found that never falls" } else { "no measure of progress was found" };
            ticker.notice(&format!("{none}: all states are one layer, and none is deleted; `--measure EXPR` gives one"));
            (model, plan)
        }
    }
}

/// The answer if the time limit was reached before the model was read.
fn unread(over: Over, base: Plan, json: bool) -> Answer {
    let reason = StopReason::from(over);
    let statistics = Statistics { elapsed: base.limits.time.unwrap_or_default(), ..Statistics::default() };
    let outcome = Outcome { verdict: Verdict::Unknown(reason.clone()), statistics };
    let measured = Measured { peak_memory_bytes: memory::peak() };
    let advice = Some("give it more time (`--time`): the model was not read to its end".to_owned());
    let text = match (json, base.property) {
        (false, Some(_)) => format!("unknown: {reason} while the model was read\n"),
        (false, None) => format!("incomplete: {reason} while the model was read\n"),
        (true, Some(_)) => json::line(&CheckJson::new(&outcome, base.order.of_search().name(), Vec::new(), advice, measured)),
        (true, None) => json::line(&SpaceJson::new(&outcome, advice, measured)),
    };
    Answer { text, complaint: String::new(), exit: Exit::Unknown }
}

/// The answer if a search has not ended some time after it should have. Its statistics are the last
/// ones reported.
fn unfinished(over: Over, plan: &Plan, json: bool, ticker: &Ticker) -> Answer {
    ticker.finish();
    let last = ticker.last();
    let statistics = Statistics {
        states: last.states,
        transitions: last.transitions,
        depth: last.depth,
        elapsed: last.elapsed,
        store_bytes: last.bytes,
        store_peak_bytes: last.bytes,
        ..Statistics::default()
    };
    // A violation that is known remains one, even if there is no time for its trace.
    let (verdict, untold) = match ticker.known() {
        Some(Known { fault, steps, state }) => {
            let trace = Trace { initial: state, ..Trace::default() };
            let untold = format!("the trace of {} steps is not shown: {over}", report::text::count(steps as u64));
            (Verdict::Violated(Box::new(Violation { fault, trace })), Some(untold))
        }
        None => (Verdict::Unknown(over.into()), None),
    };
    let outcome = Outcome { verdict, statistics };
    let measured = Measured { peak_memory_bytes: memory::peak() };
    let text = match plan.property {
        Some(_) => {
            let advice = check::advice(plan, &outcome, false);
            match json {
                true => {
                    let answer = CheckJson::new(&outcome, plan.order.of_search().name(), Vec::new(), advice, measured);
                    let (message, trace) = match untold {
                        Some(untold) => (Some(untold), None),
                        None => (answer.message.clone(), answer.trace.clone()),
                    };
                    json::line(&CheckJson { message, trace, ..answer })
                }
                false => {
                    let told = Told { advice: advice.as_deref(), untold: untold.as_deref(), ..Told::default() };
                    check_text(None, &outcome, &told, measured)
                }
            }
        }
        None => {
            let advice = check::graph_advice(plan, &outcome);
            match json {
                true => json::line(&SpaceJson::new(&outcome, advice, measured)),
                false => space_text(&outcome, advice.as_deref(), measured),
            }
        }
    };
    let exit = if plan.property.is_some() { Exit::from(&outcome.verdict) } else { Exit::Unknown };
    Answer { text, complaint: String::new(), exit }
}

/// The search saved in the file `path`: its model, its plan with the user's changes, and the reader
/// of its states.
fn saved(
    path: &Path,
    base: Plan,
    plan: Plan,
    engine: &EngineArguments,
    given: Option<Model>,
) -> Result<(Model, Plan, BufReader<File>), Failure> {
    let path = &disk::saved_in(path);
    let mut from = BufReader::with_capacity(1 << 20, File::open(path).map_err(|error| Failure::read(path, error))?);
    let saved = Saved::read(&mut from).map_err(|error| Failure::Resume { path: path.to_owned(), error: error.into() })?;
    let foreign = |why: &str| Failure::Call(format!("{}: {why}", path.display()));
    match (saved.property, base.property) {
        (None, Some(_)) => return Err(foreign("this is a search of the whole state space: resume it with `everypath space`")),
        (Some(_), None) => return Err(foreign("this is a search for violations: resume it with `everypath check`")),
        _ => {}
    }
    let model = input::saved_model(path, &saved)?;
    match given {
        Some(given) if !check::same_behaviour(&*given.subject, &*model.subject) => {
            return Err(foreign(&format!("this is a search of another model, or of `{}` before it was changed", saved.model)));
        }
        Some(_) => {}
        // The user who resumes a search may not have seen the warnings when it began.
        None => model.warnings.iter().for_each(|warning| drop(writeln!(std::io::stderr(), "warning: {warning}"))),
    }
    let limits = Limits { depth: plan.limits.depth.or(saved.depth), ..plan.limits };
    let store = engine.store.unwrap_or(saved.store);
    let bit_runs = engine.bits_runs.unwrap_or(saved.bit_runs);
    Ok((model, Plan { limits, store, bit_runs, ..saved.plan(plan) }, from))
}
