//! Acceptance cycles by sweeps, in two phases.
//!
//! The first phase sweeps over all states and finds cycles within one layer: in a component of a
//! layer with an accepting state. Any other cycle has a regress step, hence a persistent state, and
//! the first phase has found all persistent states.
//!
//! The second phase propagates each persistent state along all steps, the greatest first. A state
//! remembers the greatest persistent state that leads to it, and whether an accepting state lies in
//! between. A persistent state that reaches itself in this way has a cycle. If a greater one
//! reached it through an accepting state, the greater one may have hidden a cycle, and the smaller
//! one is propagated again in the next round. All others are finished, but they are kept too: if
//! they were deleted between rounds, the rounds might never end. Only states that are not
//! persistent are deleted, with their layer.
//!
//! The memory of a state contains the number of a record in a log, which says from which record and
//! by which step it came. The way back through these records is the cycle, with acceptance on it,
//! even if states on it were deleted and visited again since.
//!
//! From Evangelista and Kristensen, "Hybrid on-the-fly LTL model checking with the sweep-line
//! method" (2012), as described by Lilleskare (2017), with the corrections that `docs/sweepline.md`
//! lists.

use crate::discovery::{Discoveries, path};
use crate::layer_walk::{Component, End, Judge, Map, Walk, memory_of};
use crate::links::Link;
use crate::monitor::Monitor;
use crate::retrace::{Choice, retrace, unviolated, violated};
use crate::sweep::Value;
use crate::task::Task;
use contract::{
    Fault, FaultCode, Outcome, Statistics, StopReason, Successors, System, Trace, TraceStep, Verdict, Violation, ViolationKind,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Looks for a reachable cycle through an `accepting` state, by the measure whose expressions have
/// these numbers.
pub fn sweep_cycles<S: System + Clone>(system: &S, accepting: &dyn Fn(&[u8]) -> bool, measure: &[u32], task: &Task<'_>) -> Outcome {
    let unbounded = Task { states: None, ..task.clone() };
    let monitor = Monitor::alone(&unbounded);
    let mut walk = Walk::new(system.clone(), measure, task, &monitor);
    let mut judge = InLayer { accepting, found: None };
    let mut end = walk.run(&mut judge);
    let mut trace = None;
    if let (End::Judged, Some(found)) = (&end, judge.found.take()) {
        let cycle = close(&mut walk.system, &found);
        let logs = [std::mem::replace(&mut walk.log, Discoveries::new(0))];
        trace = path(&logs, task.spill.as_ref(), found.link).and_then(|path| lasso(&mut walk.system, &path, &cycle?, &monitor));
    } else if matches!(end, End::Complete) && !walk.truncated {
        let mut across = Across::new(&mut walk, accepting);
        end = match across.run() {
            Ok(None) => End::Complete,
            Ok(Some((root, way))) => {
                let Across { log, .. } = across;
                let link = walk.persistent[root as usize].link;
                let logs = [std::mem::replace(&mut walk.log, Discoveries::new(0)), log];
                let prefix = path(&logs, task.spill.as_ref(), link);
                let cycle = path(&logs, task.spill.as_ref(), way.0).map(|mut cycle| {
                    cycle.push(Choice::Index(way.1));
                    cycle
                });
                trace = prefix.zip(cycle).and_then(|(mut prefix, cycle)| {
                    let start = prefix.len() - 1;
                    prefix.extend(cycle);
                    let trace = retrace(&mut walk.system, &prefix, monitor.patience())?;
                    Some(Trace { loop_start: Some(start), ..trace })
                });
                End::Judged
            }
            Err(end) => end,
        };
    }
    let verdict = match end {
        End::Judged => {
            let fault = Fault::new(ViolationKind::Property, "an accepting state is passed again and again");
            match trace {
                Some(trace) => Verdict::Violated(Box::new(Violation { fault, trace })),
                None => Verdict::Unknown(monitor.reason().unwrap_or(StopReason::TraceLost(fault))),
            }
        }
        End::Found(finding, link, step) => {
            let logs = [std::mem::replace(&mut walk.log, Discoveries::new(0))];
            let trace = path(&logs, task.spill.as_ref(), link).and_then(|mut path| {
                path.extend(step.map(Choice::Index));
                retrace(&mut walk.system, &path, monitor.patience())
            });
            violated(&walk.system, finding, trace)
        }
        End::Stopped(reason) => Verdict::Unknown(reason),
        End::Complete => unviolated(monitor.reason(), walk.truncated, true),
        // Regress steps are allowed here.
        End::Regress(..) => Verdict::Unknown(StopReason::Measure("the measure falls".to_owned())),
    };
    Outcome { verdict, statistics: statistics(&walk, &monitor) }
}

/// The statistics of a walk.
pub(crate) fn statistics<S: System>(walk: &Walk<'_, S>, monitor: &Monitor<'_>) -> Statistics {
    let mut statistics = Statistics {
        states: walk.states,
        transitions: walk.transitions,
        depth: walk.depth,
        expanded_by_worker: vec![walk.sweep.expanded_states],
        sweep: Some(walk.sweep),
        ..Statistics::default()
    };
    monitor.conclude_alone(&mut statistics, Duration::ZERO);
    // The monitor looks now and then, and the walk knows the end of every layer.
    statistics.search_bytes = statistics.search_bytes.max(walk.peak());
    statistics
}

/// A component with an accepting cycle: its states in order, and its first accepting state with its
/// link.
struct Cyclic {
    members: Vec<Box<[u8]>>,
    accepting: Box<[u8]>,
    link: Link,
}

/// Looks for accepting cycles within a layer.
struct InLayer<'a> {
    accepting: &'a dyn Fn(&[u8]) -> bool,
    found: Option<Cyclic>,
}

impl<S> Judge<S> for InLayer<'_> {
    const REGRESSES: bool = true;

    fn mark(&mut self, _: &mut S, state: &[u8]) -> Result<bool, FaultCode> {
        Ok((self.accepting)(state))
    }

    fn component(&mut self, component: &Component<'_>) -> bool {
        let Some(member) = component.members.iter().find(|member| member.mark).filter(|_| component.cyclic) else { return false };
        let mut members: Vec<Box<[u8]>> = component.members.iter().map(|member| member.state.into()).collect();
        members.sort_unstable();
        self.found = Some(Cyclic { members, accepting: member.state.into(), link: member.link });
        true
    }
}

/// The shortest path within a component from its accepting state back to it, as indices of steps.
fn close<S: System>(system: &mut S, found: &Cyclic) -> Option<Vec<u32>> {
    let number = |state: &[u8]| found.members.binary_search_by(|member| (**member).cmp(state)).ok();
    let start = number(&found.accepting)?;
    // How each state was reached first: from which one, and by which step.
    let mut came: Vec<Option<(u32, u32)>> = vec![None; found.members.len()];
    let (mut queue, mut next) = (vec![start as u32], 0);
    let mut out = Successors::new();
    while let Some(&from) = queue.get(next) {
        next += 1;
        out.clear();
        system.successors(&found.members[from as usize], &mut out);
        for (step, (_, target)) in out.iter().enumerate() {
            let Some(target) = target.and_then(number) else { continue };
            if came[target].is_some() {
                continue;
            }
            came[target] = Some((from, step as u32));
            if target == start {
                let (mut way, mut at) = (Vec::new(), start);
                loop {
                    let (from, step) = came[at]?;
                    way.push(step);
                    at = from as usize;
                    if at == start {
                        way.reverse();
                        return Some(way);
                    }
                }
            }
            queue.push(target as u32);
        }
    }
    None
}

/// The run along `path` and then around the cycle.
fn lasso<S: System>(system: &mut S, path: &[Choice], cycle: &[u32], monitor: &Monitor<'_>) -> Option<Trace> {
    let mut trace = retrace(system, path, monitor.patience())?;
    trace.loop_start = Some(trace.steps.len());
    let mut out = Successors::new();
    for &step in cycle {
        out.clear();
        system.successors(trace.last_state(), &mut out);
        let entry = out.entries().get(step as usize)?;
        trace.steps.push(TraceStep { action: entry.action, state: Some(out.state(entry)?.to_vec()) });
    }
    Some(trace)
}

/// The memory of a state: the greatest persistent state before it, whether an accepting state lies
/// in between, and the record that says how it came.
type Memory = Option<(u32, bool, Link)>;

/// The second phase.
struct Across<'w, 'a, S> {
    walk: &'w mut Walk<'a, S>,
    accepting: &'w dyn Fn(&[u8]) -> bool,
    log: Discoveries,
    known: Map<Box<[u8]>, Memory>,
    waiting: BTreeMap<Value, BTreeSet<Box<[u8]>>>,
    /// The memory of the known states, and that of the waiting ones.
    known_bytes: u64,
    waiting_bytes: u64,
}

/// The last record of a cycle, and the step that closes it.
type Way = (Link, u32);

impl<'w, 'a, S: System> Across<'w, 'a, S> {
    fn new(walk: &'w mut Walk<'a, S>, accepting: &'w dyn Fn(&[u8]) -> bool) -> Self {
        // The records have another worker's number, so that links distinguish the logs.
        let log = Discoveries::new(1);
        Across { walk, accepting, log, known: Map::default(), waiting: BTreeMap::new(), known_bytes: 0, waiting_bytes: 0 }
    }

    /// Sets what a state remembers.
    fn remember(&mut self, state: &[u8], memory: Memory) {
        match self.known.get_mut(state) {
            Some(known) => *known = memory,
            None => {
                self.known_bytes += memory_of(state);
                self.known.insert(state.into(), memory);
            }
        }
    }

    /// Adds a waiting state.
    fn wait(&mut self, value: Value, state: &[u8]) {
        if self.waiting.entry(value).or_default().insert(state.into()) {
            self.waiting_bytes += memory_of(state);
        }
    }

    /// Looks at the limits from time to time.
    fn look(&mut self) -> Result<(), End> {
        self.walk.beside = self.known_bytes + self.waiting_bytes + self.log.bytes();
        self.walk.look()
    }

    /// Runs rounds until no candidate is left; returns a persistent state with a cycle and the path
    /// around it.
    fn run(&mut self) -> Result<Option<(u32, Way)>, End> {
        let mut candidates: BTreeSet<u32> = (0..self.walk.persistent.len() as u32).collect();
        while !candidates.is_empty() {
            let mut done = candidates.clone();
            if let Some(found) = self.round(&candidates, &mut done)? {
                return Ok(Some(found));
            }
            candidates.retain(|candidate| !done.contains(candidate));
            candidates.retain(|candidate| {
                let state = &self.walk.persistent[*candidate as usize].state;
                self.known.get(state).copied().flatten().is_some_and(|(_, accepted, _)| accepted)
            });
        }
        Ok(None)
    }

    fn round(&mut self, candidates: &BTreeSet<u32>, done: &mut BTreeSet<u32>) -> Result<Option<(u32, Way)>, End> {
        self.known.clear();
        self.known_bytes = 0;
        for number in 0..self.walk.persistent.len() as u32 {
            self.look()?;
            let one = &self.walk.persistent[number as usize];
            let (state, value) = (one.state.clone(), one.value);
            let candidate = candidates.contains(&number);
            self.remember(&state, candidate.then_some((number, false, Link::NONE)));
            if candidate {
                self.wait(value, &state);
            }
        }
        let mut out = Successors::new();
        while let Some((&value, _)) = self.waiting.first_key_value() {
            let mut behind = Vec::new();
            while let Some(state) = self.waiting.get_mut(&value).and_then(BTreeSet::pop_first) {
                self.look()?;
                let Some((greatest, accepted, link)) = self.known.get(&state).copied().flatten() else {
                    self.waiting_bytes -= memory_of(&state);
                    continue;
                };
                let own = self.walk.numbers.get(&state).copied();
                if own.is_some_and(|own| greatest > own) {
                    // The greater state may hide a cycle of this one.
                    if let Some(own) = own {
                        done.remove(&own);
                    }
                }
                let accepted = accepted || (self.accepting)(&state);
                out.clear();
                self.walk.system.successors(&state, &mut out);
                self.walk.sweep.expanded_states += 1;
                if out.is_cut_short() {
                    return Err(self.walk.given_up());
                }
                for (step, (_, target)) in out.iter().enumerate() {
                    let Some(target) = target else { continue };
                    if accepted && self.walk.numbers.get(target) == Some(&greatest) {
                        return Ok(Some((greatest, (link, step as u32))));
                    }
                    let before = self.known.get(target).copied().flatten();
                    let more = before.is_none_or(|(known, with, _)| (greatest, accepted) > (known, with));
                    if !more {
                        if !self.known.contains_key(target) {
                            self.remember(target, None);
                        }
                        continue;
                    }
                    let record = self.log.push(link, step as u32);
                    self.remember(target, Some((greatest, accepted, record)));
                    let stopped = |system: &S, fault| End::Stopped(crate::sweep::unmeasured(system, fault));
                    let value = self.walk.value(target).map_err(|fault| stopped(&self.walk.system, fault))?;
                    self.wait(value, target);
                }
                if own.is_none() {
                    behind.push(state);
                } else {
                    self.waiting_bytes -= memory_of(&state);
                }
                let held = self.known.len() as u64;
                self.walk.sweep.peak_states = self.walk.sweep.peak_states.max(held);
            }
            self.waiting.remove(&value);
            // A state may have waited twice.
            for state in behind {
                self.waiting_bytes -= memory_of(&state);
                if self.known.remove(&state).is_some() {
                    self.known_bytes -= memory_of(&state);
                }
            }
            if let Err(error) = self.log.flush(self.walk.spill().as_ref(), &self.walk.blocks) {
                return Err(End::Stopped(StopReason::Storage(error.to_string())));
            }
        }
        Ok(None)
    }
}
