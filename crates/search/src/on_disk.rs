//! Breadth-first search with its states on disk. Memory limits its speed, but not the number of
//! states.
//!
//! A level is a set of sorted runs. Workers take its blocks and expand the states in them. A
//! successor is known from memory, or it is gathered ([`crate::gather`]). At the end of the level
//! all gathered states are looked up among the visited states in one pass
//! ([`crate::visited_runs`]), and the new ones are the next level. So depths are exact, whatever
//! the memory and the number of workers. Each state is stored with its level, from which traces are
//! made ([`crate::on_disk_trace`]).
//!
//! A checkpoint names the runs and the rest of the level ([`crate::on_disk_saved`]); the states are
//! on disk already.

use crate::checkpoint::{CheckpointError, Reader, SavedCounts};
use crate::expand::{Best, Expander, Found};
use crate::fork_join::ForkJoin;
use crate::frontier::{Frontier, Sink};
use crate::gather::Gathering;
use crate::links::{Link, MOST_WORKERS};
use crate::monitor::{Monitor, WorkerCounts};
use crate::on_disk_saved::{Manifest, read, remove_files};
use crate::on_disk_trace::{Levels, way_to};
use crate::parts::together;
use crate::retrace::{unviolated, violated};
use crate::rounds::initial_fault;
use crate::sync::lock;
use crate::task::Task;
use crate::visited_runs::{Fate, Filtered, VisitedRuns};
use contract::{
    Answer, Disk, Fault, Finding, FullExpansion, Limits, NoProperty, Outcome, StateId, Statistics, StopReason, StoreWorker, Successors,
    System, Trace, TraceStep, Verdict, ViolationKind,
};
use runs::{Cursor, Run, Shelf};
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// The bytes of states that a worker takes from a block at a time.
const PIECE_BYTES: usize = 1 << 17;
/// Levels with fewer states than this are not shared.
const SHARED_STATES: u64 = 1 << 12;
/// Files kept only for the last checkpoint may take one part in this many of the disk space; then
/// the next checkpoint is written.
const RETIRED_SHARE: u64 = 4;
/// Fewer bytes than this are no reason to write a checkpoint, unless the folder has little room
/// left. A checkpoint waits for the disk, and a deep graph has many short levels.
const RETIRED_LEAST: u64 = 1 << 24;
/// The time after which a search with checkpoints is saved at the end of a level, and within a long
/// level, even if no checkpoint is due, because saving costs little.
const SAVE_EVERY: Duration = Duration::from_secs(5);
const SAVE_WITHIN: Duration = Duration::from_secs(30);

/// The value of states that were visited in memory before the search moved to disk. Their levels
/// are unknown.
pub(crate) const FROM_MEMORY: u64 = 0;

/// The value of states at `depth` steps from an initial state.
pub(crate) fn value_of(depth: u64) -> u64 {
    depth + 1
}

/// Explores `system` level by level, with its states in the folder of the task.
pub fn on_disk<S: System + Clone>(system: &S, task: &Task<'_>) -> Outcome {
    search(system, task, &mut |_, _| Ok(Beginning::Anew), &|_| false, None).unwrap_or_else(failed)
}

/// Like [`on_disk`]. If the search is complete and finds no violation, all states stay on disk and
/// are returned in `visited`.
pub(crate) fn visit_all<S: System + Clone>(system: &S, task: &Task<'_>, visited: &mut Vec<Arc<Run>>) -> Result<Outcome, CheckpointError> {
    search(system, task, &mut |_, _| Ok(Beginning::Anew), &|_| false, Some(visited))
}

/// A shortest path to a state among the `visited` ones.
pub(crate) fn way_from_beginning<S: System + Clone>(
    system: &S,
    visited: &[Arc<Run>],
    state: &[u8],
    task: &Task<'_>,
) -> io::Result<Option<Trace>> {
    let monitor = Monitor::alone(task);
    for run in visited {
        let mut cursor = Cursor::new(Arc::clone(run))?;
        if !cursor.seek(state)? {
            continue;
        }
        let enough = |_: usize| monitor.enough(0);
        let levels = Levels { visited, base: None, workers: task.threads.max(1), patience: monitor.patience(), enough: &enough };
        return Ok(way_to(system, &levels, state.to_vec(), cursor.value().saturating_sub(value_of(0)), &|_| None));
    }
    Ok(None)
}

/// Continues from a checkpoint of a search on disk, or of a breadth-first search in memory, whose
/// states then move to disk.
pub fn resume_on_disk<S: System + Clone>(system: &S, task: &Task<'_>, from: &mut dyn Read) -> Result<Outcome, CheckpointError> {
    let mut from = Some(from);
    let mut begin = |gathering: &Gathering<'_>, monitor: &Monitor<'_>| match from.take() {
        Some(from) => {
            let manifest = read(Reader::new(from, monitor.patience().clone()), task.label, gathering)?;
            // The results of files written after the checkpoint are computed again.
            let known = manifest.files();
            remove_files(gathering.shelf.folder(), |number| !known.contains(&number));
            Ok(Beginning::From(manifest))
        }
        None => Ok(Beginning::Anew),
    };
    search(system, task, &mut begin, &|_| false, None)
}

/// The outcome of a search that could not begin on disk.
pub(crate) fn failed(error: CheckpointError) -> Outcome {
    let why = match error {
        CheckpointError::GivenUp(outcome) => return *outcome,
        CheckpointError::Read(error) => error.to_string(),
        error => error.to_string(),
    };
    let statistics = Statistics { disk: Some(Disk::default()), ..Statistics::default() };
    Outcome { verdict: Verdict::Unknown(StopReason::Storage(why)), statistics }
}

/// The point at which a search begins.
pub(crate) enum Beginning {
    Anew,
    From(Manifest),
}

/// A part of a level: the states of a block, from a number on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub run: usize,
    pub block: usize,
    pub from: u64,
}

/// The states of a level.
#[derive(Default)]
pub(crate) struct OneLevel {
    pub runs: Vec<Arc<Run>>,
}

impl OneLevel {
    pub fn states(&self) -> u64 {
        self.runs.iter().map(|run| run.states()).sum()
    }

    fn units(&self) -> Vec<Unit> {
        let blocks = self.runs.iter().enumerate().flat_map(|(run, blocks)| (0..blocks.blocks()).map(move |block| (run, block)));
        blocks.map(|(run, block)| Unit { run, block, from: 0 }).collect()
    }

    /// The number, within the level, of the first state of a block.
    fn first(&self, unit: Unit) -> u64 {
        let before: u64 = self.runs[..unit.run].iter().map(|run| run.states()).sum();
        before + (0..unit.block).map(|block| self.runs[unit.run].states_in(block)).sum::<u64>()
    }

    /// The state with a number within the level.
    fn state(&self, mut number: u64) -> io::Result<Option<Vec<u8>>> {
        for run in &self.runs {
            for block in 0..run.blocks() {
                let states = run.states_in(block);
                if number >= states {
                    number -= states;
                    continue;
                }
                let mut cursor = Cursor::within(Arc::clone(run), block, block + 1)?;
                while cursor.advance()? {
                    if number == 0 {
                        return Ok(Some(cursor.state().to_vec()));
                    }
                    number -= 1;
                }
            }
        }
        Ok(None)
    }
}

/// A sink that drops waiting states, because they wait in the runs.
struct Elsewhere;

impl Sink for Elsewhere {
    #[inline(always)]
    fn push(&mut self, _: StateId, _: Link, _: u64, _: Option<&[u8]>) {}
}

/// Determines the point at which a search begins, from the shared data and the monitor.
pub(crate) type Begin<'b> = dyn FnMut(&Gathering<'_>, &Monitor<'_>) -> Result<Beginning, CheckpointError> + 'b;

/// A state that is looked for.
pub(crate) type Goal<'g> = dyn Fn(&[u8]) -> bool + Sync + 'g;

/// Searches until all states are visited, a violation is found, or `goal` accepts a state, which
/// then counts as a violation. If the search is complete and finds nothing, the states stay on disk
/// in `visited`.
pub(crate) fn search<S: System + Clone>(
    system: &S,
    task: &Task<'_>,
    begin: &mut Begin<'_>,
    goal: &Goal<'_>,
    visited: Option<&mut Vec<Arc<Run>>>,
) -> Result<Outcome, CheckpointError> {
    let Some(folder) = task.disk else {
        let verdict = Verdict::Unknown(StopReason::Storage("there is no folder for the states".to_owned()));
        return Ok(Outcome { verdict, statistics: Statistics::default() });
    };
    let next = folder.files()?.into_iter().max().map_or(0, |last| last + 1);
    let (shelf, written) = (Shelf::new(folder, next), folder.written());
    let workers = task.threads.clamp(1, MOST_WORKERS - 1);
    let gathering = Gathering::new(&shelf, task.limits.memory, workers);
    let monitor = Monitor::new(task, workers, &gathering);
    let start = match begin(&gathering, &monitor)? {
        Beginning::Anew => None,
        Beginning::From(manifest) => Some(manifest),
    };
    // From the beginning, the memory that the program itself takes is not available.
    monitor.measure_now(&gathering);
    gathering.fit_blocks();
    let old = start.as_ref().map(|start| start.counts.clone()).unwrap_or_default();
    let known = start.as_ref().map(|start| start.visited.clone()).unwrap_or_default();
    let base = start.as_ref().and_then(|start| start.base);
    let set = match VisitedRuns::of(known, gathering.for_filter(), &|| gathering.is_over()) {
        Ok(set) => set,
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            let reason = monitor.patience().now().unwrap_or(StopReason::Interrupted);
            return Ok(Outcome { verdict: Verdict::Unknown(reason), statistics: old.statistics() });
        }
        Err(error) => return Err(error.into()),
    };
    let best = Best::new();
    let search = Search {
        task,
        monitor: &monitor,
        best: &best,
        gathering: &gathering,
        fork_join: &ForkJoin::default(),
        level: &RwLock::default(),
        units: &Mutex::default(),
        pause: &AtomicBool::new(false),
        depth: &AtomicU64::new(0),
        states: &AtomicU64::new(set.states),
        piece: &AtomicU64::new(0),
        goal,
        goal_met: &AtomicBool::new(false),
        saved: &Mutex::new(Instant::now()),
        before: old.elapsed,
        base,
    };
    let mut end = None;
    let lead = |workers: usize, system: S| {
        let _home = SendHome(search.fork_join, &monitor);
        let mut leader = Expander::new(system, &gathering, task, &best, MOST_WORKERS);
        (leader.transitions, leader.expanded) = (old.transitions, old.expanded);
        end = Some(std::thread::scope(|scope| search.lead(&mut leader, workers, start, set, scope)));
        WorkerPart::of(leader)
    };
    let help = |number: usize, system: S| {
        let mut expander = Expander::new(system, &gathering, task, &best, MOST_WORKERS);
        search.help(&mut expander, number);
        WorkerPart::of(expander)
    };
    let parts = together(workers, system, &monitor, lead, help);
    let lost = parts.iter().any(Option::is_none);
    let mut statistics = Statistics::default();
    let mut found: Option<Found> = None;
    for part in parts.into_iter().flatten() {
        statistics.transitions += part.transitions;
        statistics.expanded_by_worker.push(part.expanded);
        if let Some(candidate) = part.found
            && found.as_ref().is_none_or(|best| candidate.length < best.length)
        {
            found = Some(candidate);
        }
    }
    let Some(End { set, depth, truncated, initial }) = end else {
        return Ok(Outcome { verdict: Verdict::Unknown(StopReason::Interrupted), statistics: old.statistics() });
    };
    (statistics.depth, statistics.states) = (depth, set.states);
    if let Some(error) = gathering.trouble() {
        monitor.stop(StopReason::Storage(error));
    }
    let verdict = match (found, initial) {
        (_, Some((finding, state))) => {
            let trace = Trace { initial: state.unwrap_or_default(), ..Trace::default() };
            violated(system, finding, Some(trace))
        }
        (Some(found), _) => {
            let trace = search.trace(system, &set.runs, &found);
            violated(system, found.finding, trace)
        }
        _ if search.goal_met.load(Relaxed) => Verdict::Violated(Box::new(contract::Violation {
            fault: Fault::new(ViolationKind::Other("goal"), "the state that was looked for"),
            trace: search.trace_to_goal(system, &set.runs, depth).unwrap_or_default(),
        })),
        _ if lost => unviolated(Some(StopReason::Interrupted), truncated, true),
        _ => unviolated(monitor.reason(), truncated, true),
    };
    monitor.conclude(&mut statistics, &gathering, Duration::ZERO);
    statistics.disk = Some(Disk {
        bytes: set.runs.iter().map(|run| run.bytes()).sum(),
        written: folder.written() - written,
        runs: set.runs.len() as u64,
    });
    // The files of a saved search are left to the caller, who has to remove the saved search first.
    // Otherwise a process that is killed in between would leave a saved search without files.
    if let Some(visited) = visited.filter(|_| verdict == Verdict::Holds) {
        gathering.sweep_up(&set.runs.iter().map(|run| run.number()).collect());
        *visited = set.runs;
    } else if task.checkpoints.is_none() {
        let level = search.level.read().unwrap_or_else(PoisonError::into_inner).clone();
        set.runs.iter().chain(&level.runs).for_each(|run| gathering.retire(run));
        gathering.clear_spills();
        gathering.sweep_up(&BTreeSet::new());
    }
    Ok(Outcome { verdict, statistics })
}

/// The result of a worker.
struct WorkerPart {
    found: Option<Found>,
    transitions: u64,
    expanded: u64,
}

impl WorkerPart {
    fn of<S: System>(expander: Expander<'_, S, Gathering<'_>>) -> WorkerPart {
        WorkerPart { found: expander.found, transitions: expander.transitions, expanded: expander.expanded }
    }
}

/// How a search ended.
struct End {
    set: VisitedRuns,
    depth: u64,
    truncated: bool,
    /// The fault of an initial state.
    initial: Option<(Finding, Option<Vec<u8>>)>,
}

/// Dismisses the helpers when the leader is done, and at once if it panics.
struct SendHome<'a>(&'a ForkJoin, &'a Monitor<'a>);

impl Drop for SendHome<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.1.stop(StopReason::Interrupted);
        }
        self.0.finish();
    }
}

/// What the workers share.
#[derive(Clone, Copy)]
struct Search<'a> {
    task: &'a Task<'a>,
    monitor: &'a Monitor<'a>,
    best: &'a Best,
    gathering: &'a Gathering<'a>,
    fork_join: &'a ForkJoin,
    level: &'a RwLock<Arc<OneLevel>>,
    /// The rest of the level; the next unit is at the end.
    units: &'a Mutex<Vec<Unit>>,
    pause: &'a AtomicBool,
    depth: &'a AtomicU64,
    states: &'a AtomicU64,
    /// The most memory of a piece of a block. It counts from then on, so that the memory of the
    /// states found last does not change with every piece.
    piece: &'a AtomicU64,
    goal: &'a Goal<'a>,
    goal_met: &'a AtomicBool,
    /// The time of the last checkpoint.
    saved: &'a Mutex<Instant>,
    /// The time of earlier runs of the search.
    before: Duration,
    base: Option<u64>,
}

/// Runs that are merged while the search continues.
struct Merging<'scope> {
    inputs: Vec<Arc<Run>>,
    result: ScopedJoinHandle<'scope, io::Result<Option<Filtered>>>,
}

type Worker<'a, S> = Expander<'a, S, Gathering<'a>>;

impl<'a> Search<'a> {
    /// Runs all levels.
    fn lead<'scope, S: System>(
        &self,
        expander: &mut Worker<'a, S>,
        workers: usize,
        start: Option<Manifest>,
        mut set: VisitedRuns,
        scope: &'scope Scope<'scope, 'a>,
    ) -> End {
        let mut merging = None;
        let (mut depth, mut carry, mut rest) = (0, Vec::new(), None);
        let (mut truncated, mut initial) = (false, None);
        match start {
            Some(start) => {
                depth = start.counts.depth;
                self.set_level(OneLevel { runs: start.level });
                self.gathering.set_spills(start.spills);
                (carry, rest) = (start.carry, Some(start.rest));
            }
            None => match self.begin(expander, &mut set) {
                Ok(Ok(level)) => self.set_level(level),
                Ok(Err(found)) => initial = Some(found),
                Err(error) => self.fail(error),
            },
        }
        while initial.is_none() && !self.monitor.stopped() {
            let level = self.present();
            if level.runs.is_empty() && carry.is_empty() && self.gathering.spills().is_empty() {
                depth = depth.saturating_sub(1);
                break;
            }
            if self.task.limits.depth.is_some_and(|limit| depth >= limit) {
                truncated = true;
                self.lay_out(&level, Some(level.units()));
                self.save(expander, &mut set, depth, &carry, &mut merging);
                break;
            }
            self.lay_out(&level, rest.take());
            self.run_level(expander, workers, &mut set, depth, &carry, &mut merging);
            if self.monitor.stopped() || self.best.length() != u64::MAX {
                break;
            }
            match self.end_level(&mut set, depth + 1, workers, &mut carry) {
                Ok(next) => {
                    self.gathering.clear_spills();
                    self.set_level(next);
                }
                Err(error) => {
                    self.fail(error);
                    self.save(expander, &mut set, depth, &carry, &mut merging);
                    break;
                }
            }
            depth += 1;
            if self.goal_met.load(Relaxed) {
                break;
            }
            if let Err(error) = self.tidy_up(&mut set, workers, &mut merging, scope) {
                self.fail(error);
            }
            self.gathering.runs_take(set.memory());
            let due = self.task.checkpoints.is_some() && self.has_many_retired() || self.is_due(SAVE_EVERY);
            if due || self.monitor.had_enough() {
                self.lay_out(&self.present(), Some(self.present().units()));
                self.save(expander, &mut set, depth, &carry, &mut merging);
            } else if self.task.checkpoints.is_none() {
                self.gathering.sweep_up(&self.kept(&set, &carry));
            }
        }
        self.finish_merging(&mut set, &mut merging, true);
        carry.iter().for_each(|run| self.gathering.retire(run));
        End { set, depth, truncated, initial }
    }

    /// The initial states, or the fault of one of them.
    #[allow(clippy::type_complexity)]
    fn begin<S: System>(
        &self,
        expander: &mut Worker<'a, S>,
        set: &mut VisitedRuns,
    ) -> io::Result<Result<OneLevel, (Finding, Option<Vec<u8>>)>> {
        let mut out = Successors::new();
        expander.system.initial(&mut out);
        for (entry, state) in out.iter() {
            match initial_fault(self.task.property, entry) {
                Answer::Stop(finding) => return Ok(Err((finding, state.map(<[u8]>::to_vec)))),
                Answer::Prune => continue,
                Answer::Continue => {}
            }
            let Some(state) = state else { continue };
            if let Answer::Stop(finding) = self.fate_of(state) {
                return Ok(Err((finding, Some(state.to_vec()))));
            }
            let hash = expander.store.hash(state);
            if expander.store.insert(hash, state).is_err() {
                self.monitor.refused();
            }
        }
        expander.store.settle()?;
        let level = self.end_level(set, 0, 1, &mut Vec::new())?;
        self.gathering.clear_spills();
        Ok(Ok(level))
    }

    /// The answer of the property to a state.
    fn fate_of(&self, state: &[u8]) -> Answer {
        if self.task.property.interest().states { self.task.property.state(state) } else { Answer::Continue }
    }

    /// Determines which of the gathered states are new, at this depth.
    fn end_level(&self, set: &mut VisitedRuns, depth: u64, workers: usize, carry: &mut Vec<Arc<Run>>) -> io::Result<OneLevel> {
        let fate = |state: &[u8]| {
            if (self.goal)(state) {
                self.goal_met.store(true, Relaxed);
            }
            if self.fate_of(state) == Answer::Continue { Fate::Expand } else { Fate::Keep }
        };
        let mut runs = set.resolve(&self.gathering.spills(), value_of(depth), workers, self.gathering, &fate)?;
        self.states.store(set.states, Relaxed);
        runs.append(carry);
        Ok(OneLevel { runs })
    }

    fn present(&self) -> Arc<OneLevel> {
        Arc::clone(&self.level.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set_level(&self, level: OneLevel) {
        let level = std::mem::replace(&mut *self.level.write().unwrap_or_else(PoisonError::into_inner), Arc::new(level));
        // Runs of visited states are kept; the others were for this level only.
        if self.base.is_some() {
            level.runs.iter().filter(|run| run.range_of(0).0 == FROM_MEMORY).for_each(|run| self.gathering.retire(run));
        }
    }

    /// Makes `rest` of a level, or all of it, the work to be done.
    fn lay_out(&self, level: &OneLevel, rest: Option<Vec<Unit>>) {
        let mut units = rest.unwrap_or_else(|| level.units());
        units.reverse();
        *lock(self.units) = units;
    }

    /// Stops the search because of an error of the disk, or for the reason that ended the work
    /// there.
    fn fail(&self, error: io::Error) {
        if error.kind() != io::ErrorKind::Interrupted || !self.monitor.had_enough() {
            self.monitor.stop(StopReason::Storage(error.to_string()));
        }
    }

    /// Expands the rest of a level and pauses for each checkpoint that is due.
    fn run_level<S: System>(
        &self,
        expander: &mut Worker<'a, S>,
        workers: usize,
        set: &mut VisitedRuns,
        depth: u64,
        carry: &[Arc<Run>],
        merging: &mut Option<Merging<'_>>,
    ) {
        self.depth.store(depth, Relaxed);
        let shared = workers > 1 && self.present().states() >= SHARED_STATES;
        loop {
            if shared {
                self.fork_join.call();
            }
            self.work_off(expander, 0);
            if shared {
                self.fork_join.close();
                if self.fork_join.has_lost() {
                    self.monitor.stop(StopReason::Interrupted);
                }
            }
            if let Some(error) = self.gathering.trouble() {
                self.monitor.stop(StopReason::Storage(error));
            }
            let over = self.monitor.stopped() || self.best.length() != u64::MAX;
            if self.pause.swap(false, Relaxed) || self.monitor.stopped() {
                self.save(expander, set, depth, carry, merging);
                self.monitor.had_enough();
            }
            if over || lock(self.units).is_empty() {
                return;
            }
        }
    }

    fn help<S: System>(&self, expander: &mut Worker<'a, S>, number: usize) {
        let mut seen = 0;
        while let Some(_joined) = self.fork_join.join(&mut seen) {
            self.work_off(expander, number);
            self.monitor.rest(number, 0);
        }
    }

    /// Takes blocks of the current level and expands their states until there are none left or the
    /// search stops; then writes the gathered states.
    fn work_off<S: System>(&self, expander: &mut Worker<'a, S>, number: usize) {
        let level = self.present();
        loop {
            let Some(unit) = lock(self.units).pop() else { break };
            match self.expand_unit(expander, number, &level, unit) {
                Ok(None) => {}
                Ok(Some(rest)) => {
                    lock(self.units).push(rest);
                    break;
                }
                Err(error) => {
                    lock(self.units).push(unit);
                    self.fail(error);
                    break;
                }
            }
        }
        if let Err(error) = expander.store.settle() {
            self.gathering.report(error);
        }
    }

    /// Expands the states of a block; returns the rest of it if the search must stop.
    fn expand_unit<S: System>(
        &self,
        expander: &mut Worker<'a, S>,
        number: usize,
        level: &OneLevel,
        unit: Unit,
    ) -> io::Result<Option<Unit>> {
        let depth = self.depth.load(Relaxed);
        let mut cursor = Cursor::within(Arc::clone(&level.runs[unit.run]), unit.block, unit.block + 1)?;
        let (mut position, first, last) = (0, level.first(unit), level.runs[unit.run].states_in(unit.block));
        // A block is expanded in pieces, because its states take more memory unpacked.
        while position < last {
            let (mut waiting, mut bytes, mut done) = (Frontier::default(), 0, position.max(unit.from));
            while bytes < PIECE_BYTES && position < last {
                if !cursor.advance()? {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "a block has fewer states than it should have"));
                }
                if position >= unit.from {
                    bytes += cursor.state().len();
                    waiting.push(StateId(0), Link::from_bits(first + position), depth, Some(cursor.state()));
                }
                position += 1;
            }
            let bytes = self.piece.fetch_max(waiting.bytes(), Relaxed).max(waiting.bytes());
            for chunk in waiting.take() {
                expander.begin(&chunk);
                let mut index = 0;
                while index < chunk.waiting.len() {
                    match expander.expand(&chunk, index, depth, &mut Elsewhere) {
                        Ok(end) => index = end,
                        Err(cut_short) => {
                            index = cut_short.at;
                            match self.gathering.trouble() {
                                Some(error) => self.monitor.stop(StopReason::Storage(error)),
                                None => self.monitor.refused(),
                            }
                        }
                    }
                    let leads = number == 0;
                    let standing = WorkerCounts {
                        states: if leads { self.states.load(Relaxed) } else { 0 },
                        transitions: expander.transitions,
                        waiting: if leads { level.states() } else { 0 },
                        depth,
                        search_bytes: bytes,
                    };
                    if leads && self.is_due(SAVE_WITHIN) {
                        self.pause.store(true, Relaxed);
                    }
                    let go_on = self.monitor.poll(number, &standing, self.gathering) && self.best.length() > depth;
                    expander.store.adapt();
                    if !go_on || self.pause.load(Relaxed) {
                        let from = done + index as u64;
                        return Ok((from < last || !go_on).then_some(Unit { from, ..unit }));
                    }
                }
                done += chunk.waiting.len() as u64;
            }
        }
        Ok(None)
    }

    /// Merges runs if there are many: in a thread of its own if the search has several.
    fn tidy_up<'scope>(
        &self,
        set: &mut VisitedRuns,
        workers: usize,
        merging: &mut Option<Merging<'scope>>,
        scope: &'scope Scope<'scope, 'a>,
    ) -> io::Result<()> {
        self.finish_merging(set, merging, false);
        if merging.is_some() {
            return Ok(());
        }
        while let Some(mut inputs) = set.crowd(self.gathering) {
            let (in_memory, gathering) = (set.room_for(&inputs, self.gathering), self.gathering);
            let files = inputs.iter().filter(|run| run.is_file()).count();
            let aside = workers > 1 && files > 1 && gathering.helpers() > 0;
            if aside {
                // Runs in memory may have to be written to a file meanwhile.
                inputs.retain(|run| run.is_file());
            }
            let runs = inputs.clone();
            let filter = if aside { gathering.for_new_filters() } else { set.drop_filters(&inputs, gathering) };
            let merge = move || VisitedRuns::merge(&runs, in_memory, filter, gathering);
            if aside {
                // If no thread can be started, merging can wait.
                *merging = std::thread::Builder::new().spawn_scoped(scope, merge).ok().map(|result| Merging { inputs, result });
                return Ok(());
            }
            let one = merge()?;
            set.replace(&inputs, one, self.gathering);
        }
        Ok(())
    }

    /// Takes over the merged run, if it is ready or if the search must `wait` for it.
    fn finish_merging(&self, set: &mut VisitedRuns, merging: &mut Option<Merging<'_>>, wait: bool) {
        if !merging.as_ref().is_some_and(|merging| wait || merging.result.is_finished()) {
            return;
        }
        let Some(Merging { inputs, result }) = merging.take() else { return };
        match result.join() {
            Ok(Ok(one)) => set.replace(&inputs, one, self.gathering),
            Ok(Err(error)) => self.fail(error),
            Err(_) => self.monitor.stop(StopReason::Interrupted),
        }
    }

    /// Whether files that only the last checkpoint needs take too much of the disk space.
    fn has_many_retired(&self) -> bool {
        let (retired, folder) = (self.gathering.retired_bytes(), self.gathering.shelf.folder());
        let occupied = folder.occupied();
        retired > occupied / RETIRED_SHARE && (retired > RETIRED_LEAST || folder.left().is_some_and(|left| left < occupied))
    }

    /// Whether a checkpoint is due, or the last one is at least `old`.
    fn is_due(&self, old: Duration) -> bool {
        self.task.checkpoints.is_some_and(|checkpoints| checkpoints.due() || lock(self.saved).elapsed() >= old)
    }

    /// The files that are needed to continue the search.
    fn kept(&self, set: &VisitedRuns, carry: &[Arc<Run>]) -> BTreeSet<u64> {
        let (level, spills) = (self.present(), self.gathering.spills());
        set.runs.iter().chain(&level.runs).chain(carry).chain(&spills).map(|run| run.number()).collect()
    }

    /// Takes a checkpoint, if checkpoints are wanted, while the helpers are idle.
    fn save<S: System>(
        &self,
        expander: &Worker<'a, S>,
        set: &mut VisitedRuns,
        depth: u64,
        carry: &[Arc<Run>],
        merging: &mut Option<Merging<'_>>,
    ) {
        let Some(checkpoints) = self.task.checkpoints else { return };
        self.finish_merging(set, merging, false);
        if self.best.length() != u64::MAX || self.fork_join.has_lost() {
            return;
        }
        *lock(self.saved) = Instant::now();
        let saved = set.keep(self.gathering).and_then(|()| {
            let folder = self.gathering.shelf.folder();
            let in_files = |runs: &[Arc<Run>]| runs.iter().map(|run| run.in_file(folder)).collect::<io::Result<Vec<_>>>();
            let level = self.present();
            let mut rest = lock(self.units).clone();
            rest.reverse();
            let left = |unit: &Unit| level.runs[unit.run].states_in(unit.block).saturating_sub(unit.from);
            let waiting = rest.iter().map(left).sum::<u64>() + carry.iter().map(|run| run.states()).sum::<u64>();
            let (_, helped) = self.monitor.totals_of_helpers();
            let spills = in_files(&self.gathering.spills())?;
            self.gathering.set_spills(spills.clone());
            let manifest = Manifest {
                counts: SavedCounts {
                    depth,
                    states: set.states,
                    transitions: expander.transitions + helped,
                    expanded: set.states.saturating_sub(waiting),
                    elapsed: self.before + self.monitor.elapsed(),
                    cut: None,
                },
                base: self.base,
                visited: set.runs.clone(),
                level: in_files(&level.runs)?,
                carry: in_files(carry)?,
                spills,
                rest,
            };
            self.set_level(OneLevel { runs: manifest.level.clone() });
            manifest.sync(folder)?;
            let reason = self.monitor.reason();
            checkpoints.save_because(reason.as_ref(), &mut |to| manifest.write(to, self.task.label))?;
            self.gathering.sweep_up(&manifest.files());
            Ok(())
        });
        if let Err(error) = saved {
            if error.kind() != io::ErrorKind::Interrupted {
                self.monitor.notice(&format!("no checkpoint could be written: {error}"));
            }
            self.monitor.had_enough();
        }
    }

    /// The trace of a violation.
    fn trace<S: System + Clone>(&self, system: &S, visited: &[Arc<Run>], found: &Found) -> Option<Trace> {
        let depth = found.length - u64::from(found.step.is_some());
        let state = self.present().state(found.at.to_bits()).ok()??;
        let mut trace = self.way(system, visited, state, depth)?;
        if let Some(step) = found.step {
            let mut system = system.clone();
            let mut out = Successors::new();
            system.successors(trace.last_state(), &mut out);
            let entry = out.entries().get(step.position(&out)?)?;
            trace.steps.push(TraceStep { action: entry.action, state: out.state(entry).map(<[u8]>::to_vec) });
        }
        Some(trace)
    }

    /// The trace to the goal.
    fn trace_to_goal<S: System + Clone>(&self, system: &S, visited: &[Arc<Run>], depth: u64) -> Option<Trace> {
        for run in &self.present().runs {
            let mut cursor = Cursor::new(Arc::clone(run)).ok()?;
            while cursor.advance().ok()? {
                if (self.goal)(cursor.state()) {
                    return self.way(system, visited, cursor.state().to_vec(), depth);
                }
            }
        }
        None
    }

    /// A shortest path to a state of a level.
    fn way<S: System + Clone>(&self, system: &S, visited: &[Arc<Run>], state: Vec<u8>, depth: u64) -> Option<Trace> {
        let workers = self.task.threads.clamp(1, MOST_WORKERS - 1);
        let enough = |number: usize| self.monitor.enough(number);
        let levels = Levels { visited, base: self.base, workers, patience: self.monitor.patience(), enough: &enough };
        // For states that were visited in memory, the search is repeated from the beginning.
        let first = |state: &[u8]| {
            let left = self.monitor.patience().left();
            let limits = Limits { time: left, ..self.task.limits };
            let task = Task { property: &NoProperty, reduction: &FullExpansion, checkpoints: None, limits, ..self.task.clone() };
            let outcome = search(system, &task, &mut |_, _| Ok(Beginning::Anew), &|other| other == state, None).ok()?;
            if let Verdict::Violated(violation) = outcome.verdict { Some(violation.trace) } else { None }
        };
        way_to(system, &levels, state, depth, &first)
    }
}
