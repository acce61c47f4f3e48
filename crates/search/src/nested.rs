//! Search for accepting cycles by two nested depth-first searches, sequential.
//!
//! The first search visits all states. When it leaves an accepting state, the second search looks
//! for a path from there back to a state on the path of the first search. The second search never
//! enters a state twice over the whole run: a mark in the store says that it was there
//! (Courcoubetis, Vardi, Wolper, Yannakakis, "Memory-efficient algorithms for the verification of
//! temporal properties", 1992; closing the cycle at any state of the path is the improvement of
//! Holzmann, Peled and Yannakakis, "On nested depth first search", 1996). A cycle through an
//! accepting state that the first search closes itself is reported at once. So the second search is
//! unnecessary where all states accept or none does, and it stays within one region of the claim
//! where some do ([`Acceptance::region`]). A weak claim needs no second search.
//!
//! The search follows every step and asks the property about faults alone. The path is kept
//! together with the steps still to be followed, so a trace is available when a cycle is found.

use crate::monitor::{Monitor, WorkerCounts};
use crate::retrace::{unviolated, violated};
use crate::rounds::initial_fault;
use crate::task::Task;
use crate::watch::{ACTIONS, BACKTRACK, INSERT, PUSH, SELECT, Watch};
use contract::{
    Action, Annotated, Answer, Fault, Finding, Marks, Outcome, Statistics, StopReason, StoreFull, Successors, System, Trace, TraceStep,
    ViolationKind,
};
use std::collections::HashMap;
use std::time::Duration;

/// The mark of a state that the second search has entered.
const RED: u32 = 1;

/// The number of steps between two checks of the limits.
const POLL_EVERY: u64 = 256;

/// Which states accept, and where a second search is needed to find an accepting cycle.
pub trait Acceptance {
    /// Whether a state accepts.
    fn is_accepting(&self, state: &[u8]) -> bool;

    /// The region that every cycle through the state stays in, if some of its states accept and
    /// some do not. `None` if all of them accept, or none.
    fn region(&self, state: &[u8]) -> Option<u32>;
}

/// Only the accepting states are known.
impl<F: Fn(&[u8]) -> bool> Acceptance for F {
    fn is_accepting(&self, state: &[u8]) -> bool {
        self(state)
    }

    fn region(&self, _: &[u8]) -> Option<u32> {
        Some(0)
    }
}

/// Looks for a reachable cycle through a state that is `accepting`. The store must be empty.
pub fn nested_depth_first<S: System + Clone, T: Annotated>(system: &S, accepting: &dyn Acceptance, store: &T, task: &Task<'_>) -> Outcome {
    let monitor = Monitor::new(task, 1, store);
    let mut nested = Nested {
        system: system.clone(),
        accepting,
        store: store.annotator(),
        task,
        monitor: &monitor,
        out: Successors::new(),
        path: Vec::new(),
        places: HashMap::new(),
        bytes: 0,
        until_poll: 0,
        truncated: false,
        given_up: false,
        statistics: Statistics::default(),
        watch: Watch::new(task),
    };
    nested.system.give_up_when(monitor.enough(0));
    let found = nested.search(store);
    let Nested { system, mut statistics, truncated, given_up, mut watch, .. } = nested;
    statistics.profile = watch.stop();
    let verdict = match found {
        Ok((finding, trace)) => violated(&system, finding, Some(trace)),
        Err(End::Complete) if !given_up => unviolated(monitor.reason(), truncated, T::EXACT),
        Err(End::Refused) => {
            monitor.refused();
            unviolated(monitor.reason(), false, T::EXACT)
        }
        Err(End::Complete | End::Stopped) => unviolated(monitor.reason().or(Some(StopReason::Interrupted)), false, T::EXACT),
    };
    monitor.conclude(&mut statistics, store, Duration::ZERO);
    Outcome { verdict, statistics }
}

/// Why a search ends without a finding.
enum End {
    Complete,
    Stopped,
    Refused,
}

impl From<StoreFull> for End {
    fn from(_: StoreFull) -> End {
        End::Refused
    }
}

/// A state on a path, the action that led to it, and the steps still to be followed from it, the
/// next one last.
struct Frame {
    state: Vec<u8>,
    action: Action,
    steps: Steps,
    /// The number of accepting states on the path up to here.
    accepting: u64,
}

impl Frame {
    fn bytes(&self) -> u64 {
        let steps: usize = self.steps.iter().map(|(_, state)| state.capacity() + size_of::<(Action, Vec<u8>)>()).sum();
        (2 * self.state.capacity() + steps + size_of::<Frame>()) as u64
    }
}

type Found = (Finding, Trace);

/// Steps with the states they lead to.
type Steps = Vec<(Action, Vec<u8>)>;

struct Nested<'a, S, W> {
    system: S,
    accepting: &'a dyn Acceptance,
    store: W,
    task: &'a Task<'a>,
    monitor: &'a Monitor<'a>,
    out: Successors,
    /// The path of the first search, and the position of each of its states.
    path: Vec<Frame>,
    places: HashMap<Vec<u8>, usize>,
    /// The memory of both.
    bytes: u64,
    until_poll: u64,
    /// Some state was not expanded because of the depth limit.
    truncated: bool,
    /// The successors of some state are unknown, because computing them was given up.
    given_up: bool,
    statistics: Statistics,
    watch: Watch,
}

impl<S: System, W: Marks> Nested<'_, S, W> {
    fn search<T: Annotated>(&mut self, store: &T) -> Result<Found, End> {
        self.system.initial(&mut self.out);
        let entries: Vec<_> = self.out.iter().map(|(entry, state)| (*entry, state.map(<[u8]>::to_vec))).collect();
        for (entry, state) in entries {
            match initial_fault(self.task.property, &entry) {
                Answer::Continue => {}
                Answer::Prune => continue,
                Answer::Stop(finding) => return Ok((finding, Trace { initial: state.unwrap_or_default(), ..Trace::default() })),
            }
            if let Some(state) = state
                && let Some(found) = self.first_search(state, store)?
            {
                return Ok(found);
            }
        }
        Err(End::Complete)
    }

    fn first_search<T: Annotated>(&mut self, root: Vec<u8>, store: &T) -> Result<Option<Found>, End> {
        if let Some(found) = self.enter(root, Action::default())? {
            return Ok(Some(found));
        }
        while !self.path.is_empty() {
            self.poll(store)?;
            let Some(frame) = self.path.last_mut() else { break };
            let Some((action, state)) = frame.steps.pop() else {
                if self.accepting.is_accepting(&frame.state)
                    && let Some(region) = self.accepting.region(&frame.state)
                    && let Some(found) = self.second_search(region, store)?
                {
                    return Ok(Some(found));
                }
                self.watch.turn(BACKTRACK);
                if let Some(frame) = self.path.pop() {
                    self.watch.count(BACKTRACK, 1);
                    self.places.remove(&frame.state);
                    self.bytes -= frame.bytes();
                }
                self.watch.turn(SELECT);
                continue;
            };
            self.bytes -= (state.capacity() + size_of::<(Action, Vec<u8>)>()) as u64;
            self.statistics.transitions += 1;
            if let Some(&place) = self.places.get(&state) {
                let before = place.checked_sub(1).map_or(0, |before| self.path[before].accepting);
                if self.path.last().is_some_and(|frame| frame.accepting > before) {
                    return Ok(Some(self.lasso(place, vec![(action, state)])));
                }
                continue;
            }
            if let Some(found) = self.enter(state, action)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Puts a state on the path, if it is new.
    fn enter(&mut self, state: Vec<u8>, action: Action) -> Result<Option<Found>, End> {
        self.watch.turn(INSERT);
        self.watch.count(INSERT, 1);
        let hash = self.store.hash(&state);
        let new = self.store.insert(hash, &state)?.new;
        self.watch.turn(SELECT);
        if !new {
            return Ok(None);
        }
        self.statistics.states += 1;
        let too_deep = self.task.limits.depth.is_some_and(|limit| self.path.len() as u64 >= limit);
        self.truncated |= too_deep;
        let steps = match if too_deep { Ok(Vec::new()) } else { self.expand(&state) } {
            Ok(steps) => steps,
            Err((finding, step)) => {
                let mut trace = self.prefix();
                if !self.path.is_empty() {
                    trace.steps.push(TraceStep { action, state: Some(state) });
                } else {
                    trace.initial = state;
                }
                trace.steps.push(step);
                return Ok(Some((finding, trace)));
            }
        };
        self.watch.turn(PUSH);
        self.watch.count(PUSH, 1);
        let before = self.path.last().map_or(0, |frame| frame.accepting);
        let accepting = before + u64::from(self.accepting.is_accepting(&state));
        let frame = Frame { state, action, steps, accepting };
        self.bytes += frame.bytes();
        self.places.insert(frame.state.clone(), self.path.len());
        self.path.push(frame);
        self.statistics.depth = self.statistics.depth.max(self.path.len() as u64 - 1);
        self.watch.turn(SELECT);
        Ok(None)
    }

    /// The steps that leave a state, the first one last; or a step with a fault that violates the
    /// property.
    fn expand(&mut self, state: &[u8]) -> Result<Steps, (Finding, TraceStep)> {
        self.out.clear();
        self.watch.turn(ACTIONS);
        self.system.successors(state, &mut self.out);
        self.watch.turn(SELECT);
        self.watch.count(SELECT, 1);
        self.watch.count(ACTIONS, self.out.len());
        self.given_up |= self.out.is_cut_short();
        let mut steps = Vec::with_capacity(self.out.len());
        for (entry, target) in self.out.iter() {
            match entry.fault().map_or(Answer::Continue, |code| self.task.property.fault(code, target.is_some())) {
                Answer::Continue => steps.extend(target.map(|target| (entry.action, target.to_vec()))),
                Answer::Prune => {}
                Answer::Stop(finding) => {
                    return Err((finding, TraceStep { action: entry.action, state: target.map(<[u8]>::to_vec) }));
                }
            }
        }
        steps.reverse();
        Ok(steps)
    }

    /// Looks for a path from the last state of the path, which is accepting, back to the path,
    /// within its region.
    fn second_search<T: Annotated>(&mut self, region: u32, store: &T) -> Result<Option<Found>, End> {
        let Some(seed) = self.path.last() else { return Ok(None) };
        let seed = seed.state.clone();
        // The first search handled the faults.
        let steps = self.expand(&seed).unwrap_or_default();
        let mut way = vec![Frame { state: seed, action: Action::default(), steps, accepting: 0 }];
        while let Some(frame) = way.last_mut() {
            self.poll(store)?;
            let Some((action, state)) = frame.steps.pop() else {
                way.pop();
                continue;
            };
            if let Some(&place) = self.places.get(&state) {
                let mut back: Vec<_> = way.drain(1..).map(|frame| (frame.action, frame.state)).collect();
                back.push((action, state));
                return Ok(Some(self.lasso(place, back)));
            }
            if self.accepting.region(&state) != Some(region) {
                continue;
            }
            self.watch.turn(INSERT);
            self.watch.count(INSERT, 1);
            let hash = self.store.hash(&state);
            let marked = self.store.or(hash, &state, RED)? & RED != 0;
            self.watch.turn(SELECT);
            if !marked {
                let steps = self.expand(&state).unwrap_or_default();
                way.push(Frame { state, action, steps, accepting: 0 });
            }
        }
        Ok(None)
    }

    /// The path of the first search as a trace.
    fn prefix(&self) -> Trace {
        let mut frames = self.path.iter();
        let initial = frames.next().map(|frame| frame.state.clone()).unwrap_or_default();
        let steps = frames.map(|frame| TraceStep { action: frame.action, state: Some(frame.state.clone()) }).collect();
        Trace { initial, steps, loop_start: None }
    }

    /// The cycle that leads along `back` from the end of the path to its state number `place`.
    fn lasso(&self, place: usize, back: Steps) -> Found {
        let mut trace = self.prefix();
        trace.steps.extend(back.into_iter().map(|(action, state)| TraceStep { action, state: Some(state) }));
        trace.loop_start = Some(place);
        let message = "a cycle through an accepting state can be repeated for ever";
        (Finding::Explained(Fault::new(ViolationKind::Property, message)), trace)
    }

    fn poll<T: Annotated>(&mut self, store: &T) -> Result<(), End> {
        if self.given_up {
            self.monitor.refused();
            return Err(End::Stopped);
        }
        if self.until_poll > 0 {
            self.until_poll -= 1;
            return Ok(());
        }
        self.until_poll = POLL_EVERY;
        let standing = WorkerCounts {
            states: self.statistics.states,
            transitions: self.statistics.transitions,
            waiting: self.path.len() as u64,
            depth: self.path.len() as u64,
            search_bytes: self.bytes,
        };
        if self.monitor.poll(0, &standing, store) { Ok(()) } else { Err(End::Stopped) }
    }
}
