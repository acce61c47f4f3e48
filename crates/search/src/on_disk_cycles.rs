//! Search for accepting cycles with all states on disk: the algorithm "one way catch them young",
//! by linear passes.
//!
//! The algorithm is that of [`crate::young`]. Here a set of states is a sorted run, and every
//! question about many states is one pass over it. First the product is visited level by level.
//! Then rounds follow. A round counts, for each remaining state, the edges from other remaining
//! states. It removes states without such edges, and with them the edges that leave them, until
//! there are none. (What is subtracted from a count is kept in separate runs and added up when it
//! is read, so no run is ever changed.) Of the rest it keeps the states that are reachable from
//! accepting states. If a round changes nothing and some states remain, there is an accepting
//! cycle. (Barnat, Brim, Šimeček, "I/O efficient accepting cycle detection", 2007.) Runs of about
//! the same size are merged, as those of the visited states are ([`crate::visited_runs`]), and
//! files that were merged are removed at once. So the disk space follows the number of states,
//! however many levels there are.
//!
//! The cycle is then found by searching forward from one accepting state after the other. If the
//! search does not reach that state again, it is removed together with all states reached. Some
//! remaining accepting state leads to it and is not reached from it, so a cycle still remains. So
//! each state is visited once. The states of such a search are also written in the order of their
//! levels, one level after the other in one run, from which the way back is read.

use crate::classes::Kind;
use crate::components::accepted_cycle;
use crate::monitor::Monitor;
use crate::on_disk::{failed, visit_all, way_from_beginning};
use crate::on_disk_saved::remove_files;
use crate::patience::Patience;
use crate::product::Product;
use crate::retrace::violated;
use crate::task::Task;
use crate::visited_runs::{Patient, crowded};
use contract::{Limits, Outcome, StopReason, Successors, System, Trace, TraceStep, Verdict};
use runs::{Cursor, Folder, Merge, Run, RunWriter, Shelf};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// The memory for states that are counted if there is no limit, and the minimum.
const COUNTED_BYTES: u64 = 1 << 28;
const LEAST_BYTES: u64 = 1 << 16;
/// The approximate size of a map entry without its state.
const BESIDE: u64 = 80;
/// The parts of that memory for the runs of one kind that stay in memory, and for a cursor: one in
/// so many.
const RUN_SHARE: u64 = 16;
const CURSOR_SHARE: u64 = 128;

/// Looks for a reachable cycle through an accepting state of the product, with all states in the
/// folder of the task. The automaton must accept by states. The trace is a trace of the product
/// ([`Product::project`]).
pub fn cycles_on_disk<S: System + Clone>(product: &Product<S>, task: &Task<'_>) -> Outcome {
    let patience = Patience::new(task);
    let mut visited = Vec::new();
    let last = |folder: &dyn Folder| folder.files().ok().and_then(|files| files.into_iter().max());
    // Another search may be saved in the folder.
    let first = task.disk.and_then(last).map_or(0, |last| last + 1);
    let mut outcome = match visit_all(product, task, &mut visited) {
        Ok(outcome) => outcome,
        Err(error) => return failed(error),
    };
    let (Verdict::Holds, Some(folder)) = (&outcome.verdict, task.disk) else { return outcome };
    let next = last(folder).map_or(0, |last| last + 1);
    let shelf = Shelf::new(folder, visited.iter().map(|run| run.number() + 1).max().unwrap_or(0).max(next));
    let stop = || patience.is_over();
    // The memory that the program itself takes is not available.
    let held = task.resident.and_then(|resident| resident()).unwrap_or(0);
    let available = |limit: u64| limit.saturating_sub(held).max(limit / 16);
    let memory = task.limits.memory.map_or(COUNTED_BYTES, |limit| (available(limit) / 4).max(LEAST_BYTES));
    shelf.fit_cursors(memory / CURSOR_SHARE);
    let mut system = product.clone();
    let limits = Limits { time: patience.left(), ..task.limits };
    let rest = Task { limits, checkpoints: None, ..task.clone() };
    let monitor = Monitor::alone(&rest);
    system.give_up_when(monitor.enough(0));
    let mut young = Young { product: system, shelf: &shelf, memory, stop: &stop, out: Successors::new() };
    let written = folder.written();
    let found = young.decide(&visited).and_then(|left| match left {
        Some(left) => young.lasso(&left, &visited, &rest).map(Some),
        None => Ok(None),
    });
    outcome.verdict = match found {
        Ok(None) => Verdict::Holds,
        Ok(Some(trace)) => violated(product, accepted_cycle(), trace),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            Verdict::Unknown(patience.now().or(monitor.reason()).unwrap_or(StopReason::Memory))
        }
        Err(error) => Verdict::Unknown(StopReason::Storage(error.to_string())),
    };
    outcome.statistics.elapsed = patience.start().elapsed();
    if let Some(disk) = &mut outcome.statistics.disk {
        disk.written += folder.written() - written;
    }
    remove_files(folder, |number| number >= first);
    outcome
}

type Set = Vec<Arc<Run>>;

struct Young<'y, S> {
    product: Product<S>,
    shelf: &'y Shelf<'y>,
    /// The memory for states that are counted.
    memory: u64,
    stop: &'y dyn Fn() -> bool,
    out: Successors,
}

impl<S: System + Clone> Young<'_, S> {
    fn counted(&self, state: &[u8]) -> Option<u32> {
        self.product.classes().accepting(self.product.automaton_state(state))
    }

    fn kind(&self, state: &[u8]) -> Kind {
        self.product.classes().kind(self.product.automaton_state(state))
    }

    /// A writer of a run that stays in memory if it fits there together with those `beside` it.
    fn writer(&self, beside: &[Arc<Run>]) -> io::Result<RunWriter<'_>> {
        let held = beside.iter().filter(|run| !run.is_file()).map(|run| run.memory()).sum();
        RunWriter::new(self.shelf, (self.memory / RUN_SHARE).saturating_sub(held), 1)
    }

    /// The states that remain when nothing changes any more, and whether some component accepts in
    /// all its states; `None` if no state remains.
    fn decide(&mut self, visited: &[Arc<Run>]) -> io::Result<Option<Left>> {
        let mut set = self.select(visited, |young, state| young.counted(state).is_some())?;
        let mut before = None;
        loop {
            let left = self.trim(&set)?;
            self.drop_runs(&set);
            let states: u64 = left.iter().map(|run| run.states()).sum();
            if states == 0 {
                return Ok(None);
            }
            let decided = self.select(&left, |young, state| young.kind(state) == Kind::Accepting)?;
            if !decided.is_empty() {
                self.drop_runs(&left);
                return Ok(Some(Left { states: decided, starts: Kind::Accepting }));
            }
            let starts = Kind::Mixed { accepts: true };
            if before == Some(states) {
                return Ok(Some(Left { states: left, starts }));
            }
            before = Some(states);
            let accepting = self.select(&left, |young, state| young.kind(state) == starts)?;
            set = self.closure(&left, accepting)?;
            self.drop_runs(&left);
        }
    }

    /// Removes files that are no longer needed.
    fn drop_runs(&self, runs: &[Arc<Run>]) {
        for run in runs.iter().filter(|run| run.is_file()) {
            let _ = self.shelf.folder().remove(run.number());
        }
    }

    /// The states of a set that satisfy a condition, as one run.
    fn select(&self, set: &[Arc<Run>], wanted: impl Fn(&Self, &[u8]) -> bool) -> io::Result<Set> {
        let mut asked = Patient::new(self.stop);
        let (mut merge, mut writer) = (Merge::new(set, None)?, self.writer(&[])?);
        while merge.advance()? {
            asked.go_on()?;
            if wanted(self, merge.state()) {
                writer.push(merge.state(), 0)?;
            }
        }
        Ok(writer.finish()?.map(Arc::new).into_iter().collect())
    }

    /// The number of edges from states of `from` to each state, within its component.
    fn successors(&mut self, from: &[Arc<Run>]) -> io::Result<Set> {
        let mut counts: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        let (mut bytes, mut runs) = (0, Vec::new());
        let mut out = std::mem::take(&mut self.out);
        for run in from {
            let mut cursor = Cursor::new(Arc::clone(run))?;
            let mut expanded = 0_u32;
            while cursor.advance()? {
                expanded += 1;
                if expanded.is_multiple_of(64) && (self.stop)() {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                let component = self.counted(cursor.state());
                out.clear();
                self.product.successors(cursor.state(), &mut out);
                if out.is_cut_short() {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                for (_, state) in out.iter() {
                    let Some(state) = state.filter(|state| self.counted(state) == component) else { continue };
                    match counts.get_mut(state) {
                        Some(count) => *count += 1,
                        None => {
                            bytes += BESIDE + state.len() as u64;
                            counts.insert(state.to_vec(), 1);
                        }
                    }
                }
                if bytes > self.memory {
                    self.spill(&mut counts, &mut runs)?;
                    bytes = 0;
                }
            }
        }
        self.spill(&mut counts, &mut runs)?;
        self.out = out;
        Ok(runs)
    }

    fn spill(&self, counts: &mut BTreeMap<Vec<u8>, u64>, runs: &mut Set) -> io::Result<()> {
        let mut writer = self.writer(runs)?;
        for (state, count) in std::mem::take(counts) {
            writer.push(&state, count)?;
        }
        runs.extend(writer.finish()?.map(Arc::new));
        self.few(runs)
    }

    /// Merges runs of about the same size if there are many, and adds up the values of a state.
    fn few(&self, runs: &mut Set) -> io::Result<()> {
        while let Some(some) = crowded(runs) {
            runs.retain(|run| !some.iter().any(|old| Arc::ptr_eq(old, run)));
            let mut asked = Patient::new(self.stop);
            let (mut merge, mut writer) = (Merge::new(&some, None)?, self.writer(runs)?);
            while merge.advance()? {
                asked.go_on()?;
                writer.push(merge.state(), merge.sum())?;
            }
            runs.extend(writer.finish()?.map(Arc::new));
            self.drop_runs(&some);
        }
        Ok(())
    }

    /// The rest of a set after the states without an edge from the set are removed, again and
    /// again.
    fn trim(&mut self, set: &[Arc<Run>]) -> io::Result<Set> {
        let counts = self.successors(set)?;
        // The states with the number of edges to them; those without any are removed first.
        let (mut gone, mut kept) = (self.writer(&[])?, self.writer(&[])?);
        let mut asked = Patient::new(self.stop);
        let mut edges = Lookup::new(&counts)?;
        let mut merge = Merge::new(set, None)?;
        while merge.advance()? {
            asked.go_on()?;
            match edges.sum(merge.state())? {
                0 => gone.push(merge.state(), 0)?,
                count => kept.push(merge.state(), count)?,
            }
        }
        let mut gone: Set = gone.finish()?.map(Arc::new).into_iter().collect();
        let kept: Set = kept.finish()?.map(Arc::new).into_iter().collect();
        self.drop_runs(&counts);
        let mut taken: Set = Vec::new();
        while !gone.is_empty() {
            let less = self.successors(&gone)?;
            self.drop_runs(&gone);
            let mut next = self.writer(&[])?;
            let (mut merge, mut had, mut lost) = (Merge::new(&less, None)?, Lookup::new(&kept)?, Lookup::new(&taken)?);
            let mut asked = Patient::new(self.stop);
            while merge.advance()? {
                asked.go_on()?;
                let state = merge.state();
                let had = had.sum(state)?;
                // A state that is not in the set has no edges to lose.
                if had > 0 && had == lost.sum(state)? + merge.sum() {
                    next.push(state, 0)?;
                }
            }
            gone = next.finish()?.map(Arc::new).into_iter().collect();
            taken.extend(less);
            self.few(&mut taken)?;
        }
        let mut left = self.writer(&[])?;
        let (mut merge, mut lost) = (Merge::new(&kept, None)?, Lookup::new(&taken)?);
        let mut asked = Patient::new(self.stop);
        while merge.advance()? {
            asked.go_on()?;
            if lost.sum(merge.state())? < merge.sum() {
                left.push(merge.state(), 0)?;
            }
        }
        let left = left.finish()?.map(Arc::new).into_iter().collect();
        self.drop_runs(&kept);
        self.drop_runs(&taken);
        Ok(left)
    }

    /// The new states among the successors of a level: those of `within` that no run of `without`
    /// contains. Also whether `goal` is one of them.
    fn next_level(
        &mut self,
        level: &[Arc<Run>],
        within: &[Arc<Run>],
        without: &[&[Arc<Run>]],
        goal: Option<&[u8]>,
    ) -> io::Result<(Set, bool)> {
        let found = self.successors(level)?;
        let (mut next, mut met) = (self.writer(&[])?, false);
        let (mut inside, mut outside) = (Lookup::new(within)?, Lookup::new(&without.concat())?);
        let (mut merge, mut asked) = (Merge::new(&found, None)?, Patient::new(self.stop));
        while merge.advance()? {
            asked.go_on()?;
            let state = merge.state();
            if inside.has(state)? && !outside.has(state)? {
                met |= goal == Some(state);
                next.push(state, 1)?;
            }
        }
        let next = next.finish()?.map(Arc::new).into_iter().collect();
        self.drop_runs(&found);
        Ok((next, met))
    }

    /// The states of `within` that are reachable from `starts`, including `starts`.
    fn closure(&mut self, within: &[Arc<Run>], starts: Set) -> io::Result<Set> {
        let (mut reached, mut level) = (Vec::new(), starts);
        while !level.is_empty() {
            let (next, _) = self.next_level(&level, within, &[&reached, &level], None)?;
            // The level may be merged now, because it was expanded.
            reached.append(&mut level);
            self.few(&mut reached)?;
            level = next;
        }
        Ok(reached)
    }

    /// Searches from `start` among the states of `within` but not of `without` until an edge leads
    /// back to it.
    fn circle(&mut self, start: &[u8], within: &[Arc<Run>], without: &[Arc<Run>]) -> io::Result<Circle> {
        let mut one = self.writer(&[])?;
        one.push(start, 1)?;
        let mut level: Set = one.finish()?.map(Arc::new).into_iter().collect();
        // The start is not among them, so that an edge to it is found.
        let mut reached: Set = Vec::new();
        let shelf = self.shelf;
        let (mut log, mut depth) = (RunWriter::new(shelf, self.memory / RUN_SHARE, 1)?, 0);
        let met = loop {
            let here: &[Arc<Run>] = if depth > 0 { &level } else { &[] };
            let (next, met) = self.next_level(&level, within, &[without, &reached, here], Some(start))?;
            if depth > 0 {
                reached.append(&mut level);
                self.few(&mut reached)?;
            } else {
                self.drop_runs(&level);
            }
            level = next;
            if met || level.is_empty() {
                break met;
            }
            depth += 1;
            let (mut merge, mut asked) = (Merge::new(&level, None)?, Patient::new(self.stop));
            while merge.advance()? {
                asked.go_on()?;
                log.push(&logged(depth, merge.state()), 1)?;
            }
        };
        self.drop_runs(&level);
        Ok(Circle { reached, log: log.finish()?.map(Arc::new), depth, met })
    }

    /// A path to a cycle among the remaining states, and around it; `None` if the path cannot be
    /// made.
    fn lasso(&mut self, left: &Left, visited: &[Arc<Run>], task: &Task<'_>) -> io::Result<Option<Trace>> {
        let (mut gone, mut from): (Set, _) = (Vec::new(), None);
        loop {
            let Some(start) = self.first_start(left, &gone, from.as_deref())? else {
                return Err(io::Error::other("no accepting cycle was found where there must be one"));
            };
            let circle = self.circle(&start, &left.states, &gone)?;
            if circle.met {
                let Some(around) = self.around(&start, &circle)? else { return Ok(None) };
                let Some(mut trace) = way_from_beginning(&self.product, visited, &start, task)? else { return Ok(None) };
                trace.loop_start = Some(trace.steps.len());
                trace.steps.extend(around);
                return Ok(Some(trace));
            }
            self.drop_runs(circle.log.as_slice());
            let mut one = self.writer(&gone)?;
            one.push(&start, 1)?;
            gone.extend(one.finish()?.map(Arc::new));
            gone.extend(circle.reached);
            self.few(&mut gone)?;
            from = Some(start);
        }
    }

    /// The first state from which a cycle may start and that was not removed. There is none before
    /// `from`.
    fn first_start(&self, left: &Left, gone: &[Arc<Run>], from: Option<&[u8]>) -> io::Result<Option<Vec<u8>>> {
        let (mut merge, mut gone, mut asked) = (Merge::new(&left.states, from)?, Lookup::new(gone)?, Patient::new(self.stop));
        while merge.advance()? {
            asked.go_on()?;
            if self.kind(merge.state()) == left.starts && !gone.has(merge.state())? {
                return Ok(Some(merge.state().to_vec()));
            }
        }
        Ok(None)
    }

    /// The steps from `start` along the levels and back to it.
    fn around(&mut self, start: &[u8], circle: &Circle) -> io::Result<Option<Vec<TraceStep>>> {
        let mut steps = Vec::new();
        let mut target = start.to_vec();
        let mut out = Successors::new();
        for depth in (0..=circle.depth).rev() {
            let mut level = Level::new(circle, depth, start)?;
            let mut asked = Patient::new(self.stop);
            let found = loop {
                let Some(state) = level.next()? else { return Ok(None) };
                asked.go_on()?;
                out.clear();
                self.product.successors(state, &mut out);
                if let Some((entry, _)) = out.iter().find(|(_, state)| *state == Some(&target[..])) {
                    break (entry.action, state.to_vec());
                }
            };
            let (action, state) = found;
            steps.push(TraceStep { action, state: Some(std::mem::replace(&mut target, state)) });
        }
        steps.reverse();
        Ok((target == start).then_some(steps))
    }
}

/// The states that contain a cycle, and the class of the states from which it is searched.
struct Left {
    states: Set,
    starts: Kind,
}

/// The result of a search from a state back to itself.
struct Circle {
    /// The states, without the first one.
    reached: Set,
    /// The same states in the order of their levels, unless there are none.
    log: Option<Arc<Run>>,
    /// The last level that was expanded; the first state is level 0.
    depth: u64,
    /// Whether an edge leads back.
    met: bool,
}

/// A state as it is written in the order of levels: states of later levels are greater.
fn logged(depth: u64, state: &[u8]) -> Vec<u8> {
    [&depth.to_be_bytes(), state].concat()
}

/// The states of one level of a circle.
enum Level<'c> {
    First(Option<&'c [u8]>),
    Logged { cursor: Cursor, depth: u64, begun: bool },
}

impl<'c> Level<'c> {
    fn new(circle: &Circle, depth: u64, start: &'c [u8]) -> io::Result<Level<'c>> {
        let Some(log) = circle.log.as_ref().filter(|_| depth > 0) else { return Ok(Level::First(Some(start))) };
        let mut cursor = Cursor::new(Arc::clone(log))?;
        cursor.seek(&depth.to_be_bytes())?;
        Ok(Level::Logged { cursor, depth, begun: false })
    }

    fn next(&mut self) -> io::Result<Option<&[u8]>> {
        match self {
            Level::First(state) => Ok(state.take()),
            Level::Logged { cursor, depth, begun } => {
                let there = if std::mem::replace(begun, true) { cursor.advance()? } else { !cursor.is_over() };
                Ok(if there { cursor.state().strip_prefix(&depth.to_be_bytes()) } else { None })
            }
        }
    }
}

/// Looks states up in runs, in ascending order.
struct Lookup(Vec<Cursor>);

impl Lookup {
    fn new(runs: &[Arc<Run>]) -> io::Result<Lookup> {
        runs.iter().map(|run| Cursor::new(Arc::clone(run))).collect::<io::Result<_>>().map(Lookup)
    }

    /// The sum of all values of a state.
    fn sum(&mut self, state: &[u8]) -> io::Result<u64> {
        let mut sum = 0;
        for cursor in &mut self.0 {
            if cursor.seek(state)? {
                sum += cursor.value();
            }
        }
        Ok(sum)
    }

    fn has(&mut self, state: &[u8]) -> io::Result<bool> {
        for cursor in &mut self.0 {
            if cursor.seek(state)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
