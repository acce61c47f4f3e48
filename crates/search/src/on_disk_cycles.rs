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
//! cycle. (Barnat, Brim, Šimeček, "I/O efficient accepting cycle detection", 2007.)
//!
//! The cycle is then found by searching forward from one accepting state after the other. If the
//! search does not reach that state again, it is removed together with all states reached. Some
//! remaining accepting state leads to it and is not reached from it, so a cycle still remains. So
//! each state is visited once.

use crate::checkpoint::CheckpointError;
use crate::classes::Kind;
use crate::components::accepted_cycle;
use crate::monitor::Monitor;
use crate::on_disk::{visit_all, way_from_beginning};
use crate::patience::Patience;
use crate::product::Product;
use crate::retrace::violated;
use crate::task::Task;
use crate::visited_runs::{Patient, merged};
use contract::{Limits, Outcome, StopReason, Successors, System, Trace, TraceStep, Verdict};
use runs::{Cursor, Merge, Run, RunWriter, Shelf};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// The memory for states that are counted if there is no limit, and the minimum.
const COUNTED_BYTES: u64 = 1 << 28;
const LEAST_BYTES: u64 = 1 << 16;
/// The approximate size of a map entry without its state.
const BESIDE: u64 = 80;
/// If there are more runs than this, they are merged before they are read.
const TOGETHER: usize = 8;

/// Looks for a reachable cycle through an accepting state of the product, with all states in the
/// folder of the task. The automaton must accept by states. The trace is a trace of the product
/// ([`Product::project`]).
pub fn cycles_on_disk<S: System + Clone>(product: &Product<S>, task: &Task<'_>) -> Outcome {
    let patience = Patience::new(task);
    let mut visited = Vec::new();
    let mut outcome = match visit_all(product, task, &mut visited) {
        Ok(outcome) => outcome,
        Err(CheckpointError::GivenUp(outcome)) => *outcome,
        Err(error) => {
            let verdict = Verdict::Unknown(StopReason::Storage(error.to_string()));
            return Outcome { verdict, statistics: Default::default() };
        }
    };
    let (Verdict::Holds, Some(folder)) = (&outcome.verdict, task.disk) else { return outcome };
    let next = folder.files().ok().and_then(|files| files.into_iter().max()).map_or(0, |last| last + 1);
    let shelf = Shelf::new(folder, visited.iter().map(|run| run.number() + 1).max().unwrap_or(0).max(next));
    let stop = || patience.is_over();
    let memory = task.limits.memory.map_or(COUNTED_BYTES, |limit| (limit / 4).max(LEAST_BYTES));
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
    // All files in the folder belong to this search.
    for number in folder.files().unwrap_or_default() {
        let _ = folder.remove(number);
    }
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

    fn writer(&self) -> io::Result<RunWriter<'_>> {
        RunWriter::new(self.shelf, self.memory / 16, 1)
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
            set = self.closure(&left, accepting, &[], None)?.reached;
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
        let (mut merge, mut writer) = (Merge::new(set, None)?, self.writer()?);
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
        let mut writer = self.writer()?;
        for (state, count) in std::mem::take(counts) {
            writer.push(&state, count)?;
        }
        runs.extend(writer.finish()?.map(Arc::new));
        self.few(runs)
    }

    /// Merges runs of counts if there are many.
    fn few(&self, runs: &mut Set) -> io::Result<()> {
        if runs.len() <= TOGETHER {
            return Ok(());
        }
        let mut asked = Patient::new(self.stop);
        let (mut merge, mut writer) = (Merge::new(runs, None)?, self.writer()?);
        while merge.advance()? {
            asked.go_on()?;
            writer.push(merge.state(), merge.sum())?;
        }
        let one = writer.finish()?.map(Arc::new);
        self.drop_runs(runs);
        *runs = one.into_iter().collect();
        Ok(())
    }

    /// The rest of a set after the states without an edge from the set are removed, again and
    /// again.
    fn trim(&mut self, set: &[Arc<Run>]) -> io::Result<Set> {
        let counts = self.successors(set)?;
        // The states with the number of edges to them; those without any are removed first.
        let (mut gone, mut kept) = (self.writer()?, self.writer()?);
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
            let mut next = self.writer()?;
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
        let mut left = self.writer()?;
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

    /// The states of `within` but not of `without` that are reachable from `starts`. The starts
    /// count as reached, unless there is a `goal`: then the search ends when an edge leads to it.
    /// The levels are kept only if there is a goal.
    fn closure(&mut self, within: &[Arc<Run>], starts: Set, without: &[Arc<Run>], goal: Option<&[u8]>) -> io::Result<Closure> {
        let mut reached = if goal.is_some() { Vec::new() } else { starts.clone() };
        let mut levels = vec![starts];
        loop {
            let found = self.successors(levels.last().map_or(&[], Vec::as_slice))?;
            let mut next = self.writer()?;
            let mut met = false;
            let (mut inside, mut outside, mut known) = (Lookup::new(within)?, Lookup::new(without)?, Lookup::new(&reached)?);
            let (mut merge, mut asked) = (Merge::new(&found, None)?, Patient::new(self.stop));
            while merge.advance()? {
                asked.go_on()?;
                let state = merge.state();
                if !inside.has(state)? || outside.has(state)? || known.has(state)? {
                    continue;
                }
                met |= goal == Some(state);
                next.push(state, 1)?;
            }
            self.drop_runs(&found);
            let next = next.finish()?.map(Arc::new);
            let Some(next) = next.filter(|_| !met) else { return Ok(Closure { reached, levels, met }) };
            reached.push(Arc::clone(&next));
            if goal.is_none() {
                levels.clear();
            }
            levels.push(vec![next]);
            if reached.len() > TOGETHER {
                // The runs themselves may still be levels; their files are removed when the search
                // is over.
                let one = merged(&reached, self.shelf, self.memory / 16, 1, self.stop)?;
                reached = one.map(Arc::new).into_iter().collect();
            }
        }
    }

    /// A path to a cycle among the remaining states, and around it; `None` if the path cannot be
    /// made.
    fn lasso(&mut self, left: &Left, visited: &[Arc<Run>], task: &Task<'_>) -> io::Result<Option<Trace>> {
        let mut gone: Set = Vec::new();
        loop {
            let Some(start) = self.first_start(left, &gone)? else {
                return Err(io::Error::other("no accepting cycle was found where there must be one"));
            };
            let mut writer = self.writer()?;
            writer.push(&start, 1)?;
            let one: Set = writer.finish()?.map(Arc::new).into_iter().collect();
            let Closure { reached, levels, met } = self.closure(&left.states, one.clone(), &gone, Some(&start))?;
            if met {
                let Some(around) = self.around(&start, &levels)? else { return Ok(None) };
                let Some(mut trace) = way_from_beginning(&self.product, visited, &start, task)? else { return Ok(None) };
                trace.loop_start = Some(trace.steps.len());
                trace.steps.extend(around);
                return Ok(Some(trace));
            }
            gone.extend(one);
            gone.extend(reached);
            if gone.len() > TOGETHER {
                let all = merged(&gone, self.shelf, self.memory / 16, 1, self.stop)?;
                self.drop_runs(&gone);
                gone = all.map(Arc::new).into_iter().collect();
            }
        }
    }

    /// The first state from which a cycle may start and that was not removed.
    fn first_start(&self, left: &Left, gone: &[Arc<Run>]) -> io::Result<Option<Vec<u8>>> {
        let (mut merge, mut gone, mut asked) = (Merge::new(&left.states, None)?, Lookup::new(gone)?, Patient::new(self.stop));
        while merge.advance()? {
            asked.go_on()?;
            if self.kind(merge.state()) == left.starts && !gone.has(merge.state())? {
                return Ok(Some(merge.state().to_vec()));
            }
        }
        Ok(None)
    }

    /// The steps from `start` along the levels and back to it.
    fn around(&mut self, start: &[u8], levels: &[Set]) -> io::Result<Option<Vec<TraceStep>>> {
        let mut steps = Vec::new();
        let mut target = start.to_vec();
        let mut out = Successors::new();
        for level in levels.iter().rev() {
            let (mut merge, mut asked) = (Merge::new(level, None)?, Patient::new(self.stop));
            let mut found = None;
            while found.is_none() && merge.advance()? {
                asked.go_on()?;
                out.clear();
                self.product.successors(merge.state(), &mut out);
                found = out.iter().find(|(_, state)| *state == Some(&target[..])).map(|(entry, _)| entry.action);
            }
            let Some(action) = found else { return Ok(None) };
            steps.push(TraceStep { action, state: Some(std::mem::replace(&mut target, merge.state().to_vec())) });
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

/// The result of a forward search.
struct Closure {
    reached: Set,
    levels: Vec<Set>,
    /// Whether the goal was reached.
    met: bool,
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
