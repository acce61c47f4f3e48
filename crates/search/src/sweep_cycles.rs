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
use crate::layer_walk::{Component, End, Judge, Map, Walk};
use crate::links::Link;
use crate::monitor::Monitor;
use crate::retrace::{Choice, retrace, unviolated, violated};
use crate::sweep::Value;
use crate::task::Task;
use contract::{
    Fault, FaultCode, Outcome, Statistics, StopReason, Successors, System, Trace, TraceStep, Verdict, Violation, ViolationKind,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Looks for a reachable cycle through an `accepting` state, by the measure whose expressions have
/// these numbers.
pub fn sweep_cycles<S: System + Clone>(system: &S, accepting: &dyn Fn(&[u8]) -> bool, measure: &[u32], task: &Task<'_>) -> Outcome {
    let monitor = Monitor::alone(task);
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
        end = match across.run(&monitor) {
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
    Statistics {
        states: walk.states,
        transitions: walk.transitions,
        depth: walk.depth,
        elapsed: monitor.elapsed(),
        search_bytes: walk.bytes(),
        expanded_by_worker: vec![walk.sweep.expanded_states],
        sweep: Some(walk.sweep),
        ..Statistics::default()
    }
}

/// A component with an accepting cycle: its states, and its first accepting state with its link.
struct Cyclic {
    members: BTreeSet<Vec<u8>>,
    accepting: Vec<u8>,
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
        let members = component.members.iter().map(|member| member.state.to_vec()).collect();
        self.found = Some(Cyclic { members, accepting: member.state.to_vec(), link: member.link });
        true
    }
}

/// The shortest path within a component from its accepting state back to it, as indices of steps.
fn close<S: System>(system: &mut S, found: &Cyclic) -> Option<Vec<u32>> {
    let mut came: BTreeMap<Vec<u8>, (Vec<u8>, u32)> = BTreeMap::new();
    let mut queue = VecDeque::from([found.accepting.clone()]);
    let mut out = Successors::new();
    while let Some(state) = queue.pop_front() {
        out.clear();
        system.successors(&state, &mut out);
        for (step, (_, target)) in out.iter().enumerate() {
            let Some(target) = target.filter(|target| found.members.contains(*target)) else { continue };
            if came.contains_key(target) {
                continue;
            }
            came.insert(target.to_vec(), (state.clone(), step as u32));
            if target == found.accepting {
                let (mut way, mut at) = (Vec::new(), found.accepting.clone());
                loop {
                    let (from, step) = came.get(&at)?.clone();
                    way.push(step);
                    at = from;
                    if at == found.accepting {
                        way.reverse();
                        return Some(way);
                    }
                }
            }
            queue.push_back(target.to_vec());
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
    /// The numbers of the persistent states.
    persistent: Map<Box<[u8]>, u32>,
    waiting: BTreeMap<Value, BTreeSet<Box<[u8]>>>,
}

/// The last record of a cycle, and the step that closes it.
type Way = (Link, u32);

impl<'w, 'a, S: System> Across<'w, 'a, S> {
    fn new(walk: &'w mut Walk<'a, S>, accepting: &'w dyn Fn(&[u8]) -> bool) -> Self {
        let persistent = walk.persistent.iter().enumerate().map(|(number, one)| (one.state.clone(), number as u32)).collect();
        // The records have another worker's number, so that links distinguish the logs.
        Across { walk, accepting, log: Discoveries::new(1), known: Map::default(), persistent, waiting: BTreeMap::new() }
    }

    /// Runs rounds until no candidate is left; returns a persistent state with a cycle and the path
    /// around it.
    fn run(&mut self, monitor: &Monitor<'_>) -> Result<Option<(u32, Way)>, End> {
        let mut candidates: BTreeSet<u32> = (0..self.walk.persistent.len() as u32).collect();
        while !candidates.is_empty() {
            let mut done = candidates.clone();
            if let Some(found) = self.round(&candidates, &mut done, monitor)? {
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

    fn round(&mut self, candidates: &BTreeSet<u32>, done: &mut BTreeSet<u32>, monitor: &Monitor<'_>) -> Result<Option<(u32, Way)>, End> {
        self.known.clear();
        for (number, one) in self.walk.persistent.iter().enumerate() {
            let candidate = candidates.contains(&(number as u32));
            self.known.insert(one.state.clone(), candidate.then_some((number as u32, false, Link::NONE)));
            if candidate {
                self.waiting.entry(one.value).or_default().insert(one.state.clone());
            }
        }
        let mut out = Successors::new();
        while let Some((&value, _)) = self.waiting.first_key_value() {
            let mut behind = Vec::new();
            while let Some(state) = self.waiting.get_mut(&value).and_then(BTreeSet::pop_first) {
                self.walk.look_now()?;
                let Some((greatest, accepted, link)) = self.known.get(&state).copied().flatten() else { continue };
                let own = self.persistent.get(&state).copied();
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
                    monitor.refused();
                    self.walk.look_now()?;
                }
                for (step, (_, target)) in out.iter().enumerate() {
                    let Some(target) = target else { continue };
                    if accepted && self.persistent.get(target) == Some(&greatest) {
                        return Ok(Some((greatest, (link, step as u32))));
                    }
                    let before = self.known.get(target).copied().flatten();
                    let more = before.is_none_or(|(known, with, _)| (greatest, accepted) > (known, with));
                    if !more {
                        if !self.known.contains_key(target) {
                            self.known.insert(target.into(), None);
                        }
                        continue;
                    }
                    let record = self.log.push(link, step as u32);
                    self.known.insert(target.into(), Some((greatest, accepted, record)));
                    let stopped = |system: &S, fault| End::Stopped(crate::sweep::unmeasured(system, fault));
                    let value = self.walk.value(target).map_err(|fault| stopped(&self.walk.system, fault))?;
                    self.waiting.entry(value).or_default().insert(target.into());
                }
                if own.is_none() {
                    behind.push(state);
                }
                let held = self.known.len() as u64;
                self.walk.sweep.peak_states = self.walk.sweep.peak_states.max(held);
            }
            self.waiting.remove(&value);
            for state in behind {
                self.known.remove(&state);
            }
            if let Err(error) = self.log.flush(self.walk.spill().as_ref(), &self.walk.blocks) {
                return Err(End::Stopped(StopReason::Storage(error.to_string())));
            }
        }
        Ok(None)
    }
}
