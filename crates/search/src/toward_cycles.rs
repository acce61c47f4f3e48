//! Directed search for accepting cycles: A* to where the automaton can accept, and a nested
//! depth-first search there (Edelkamp, Lluch Lafuente, Leue, "Directed explicit model checking with
//! HSF-SPIN", 2001, section 4).
//!
//! A cycle of the product stays within one strongly connected component of the automaton. So the
//! search follows path and estimate to states whose automaton is in a component with an accepting
//! state, and from each such state a nested search looks for a cycle inside that component. The
//! nested searches share the states they have visited: each is exhaustive, so a state that one has
//! left leads to no cycle. If every cycle of a component passes an accepting state, one depth-first
//! search is enough. If edges leave a component, its states are also expanded by the outer search.
//!
//! The loop that is found is closed again, by A* from its accepting state back to it, which makes
//! it short. The loop is known by then, so the closing gets only a share of the time and of the
//! work.

use crate::best_first::{Weights, best_first};
use crate::buckets::Buckets;
use crate::guided::Walk;
use crate::monitor::{Monitor, WorkerCounts};
use crate::product::Product;
use crate::retrace::{explain, violated};
use crate::task::Task;
use contract::{
    Action, Annotated, Answer, Budgeted, Fault, FaultCode, Finding, Heuristic, Limits, Marks, Outcome, Property, Store, Successor,
    Successors, System, Trace, TraceStep, Verdict, ViolationKind,
};
use std::collections::HashMap;
use std::time::Instant;

/// The mark of a state that a second search has entered.
const RED: u32 = 1;

/// The fault of a step that closes the loop.
const CLOSED: u32 = 1;

/// The closing may take this part of the time that is left. The rest is for confirming the run.
const PART_OF_TIME: u32 = 4;

/// The closing may visit as many states as the search before it, and these in any case.
const LEAST_WORK: u64 = 1 << 16;

/// Makes an estimate of the distance to a state of the product.
pub type Closing<'a> = dyn Fn(&[u8]) -> Box<dyn Heuristic> + 'a;

/// Looks for a reachable cycle through an accepting state of the product. The automaton must accept
/// by states. Both stores must be empty. `fresh` makes a store for the closing.
pub fn toward_cycles<S: System + Clone, T: Store, M: Annotated>(
    product: &Product<S>,
    stores: (&T, &M),
    fresh: &dyn Fn() -> T,
    weights: Weights,
    closing: &Closing<'_>,
    task: &Task<'_>,
) -> Outcome {
    let (store, inner) = stores;
    let monitor = Monitor::new(task, 1, store);
    let mut walk = Walk::new(product, store, task, &monitor, weights.path > 0);
    let mut waiting = Buckets::default();
    let components = Components::of(product);
    let mut inside = Inside {
        product: product.clone(),
        marks: inner.annotator(),
        components: &components,
        task,
        path: Vec::new(),
        places: HashMap::new(),
        bytes: 0,
        states: 0,
        transitions: 0,
        before: 0,
        outside: 0,
        truncated: false,
    };
    inside.product.give_up_when(monitor.enough(0));
    let mut found = None;
    let mut go_on = walk.initial().is_ok();
    let mut state = Vec::new();
    'search: while go_on {
        for number in walk.reached.clone() {
            walk.read(number, &mut state);
            let at = product.automaton_state(&state);
            if components.accepts(at) {
                (inside.before, inside.outside) = (walk.nodes[number as usize].depth.into(), walk.nodes.len() as u64);
                match inside.search(&state, &monitor, inner) {
                    Ok(()) => {}
                    Err(End::Found(lasso)) => {
                        found = Some((number, lasso));
                        break 'search;
                    }
                    Err(End::Stopped) => break 'search,
                }
                if !components.can_be_left(at) {
                    continue;
                }
            }
            let node = &walk.nodes[number as usize];
            waiting.push(weights.key(node.depth, node.estimate), number);
        }
        let next = loop {
            match waiting.pop() {
                Some(number) if walk.nodes[number as usize].closed => {}
                next => break next,
            }
        };
        go_on = next.is_some_and(|number| walk.expand(number).is_ok());
    }
    let (more_states, more_transitions, truncated) = (inside.states, inside.transitions, inside.truncated);
    drop(inside);
    walk.truncated |= truncated;
    let Some((root, lasso)) = found else {
        let mut outcome = walk.conclude();
        outcome.statistics.states += more_states;
        outcome.statistics.transitions += more_transitions;
        return outcome;
    };
    let prefix = walk.trace_to(root);
    let mut outcome = walk.conclude();
    outcome.statistics.states += more_states;
    outcome.statistics.transitions += more_transitions;
    let fault = explain(product, lasso.finding.clone());
    let trace = prefix.map(|prefix| {
        let seed = lasso.seed.clone();
        let trace = join(prefix.clone(), *lasso);
        let held: u64 = [store.budgeted(), inner.budgeted()].into_iter().flatten().map(Budgeted::bytes).sum();
        let left = Left {
            until: monitor.patience().left().map(|left| Instant::now() + left / PART_OF_TIME),
            states: outcome.statistics.states.max(LEAST_WORK),
            // If the memory of the process is measured, that of the stores is part of it.
            memory: task.limits.memory.map(|limit| if task.resident.is_some() { limit } else { limit.saturating_sub(held) }),
        };
        let mut closer = Closer { product, components: &components, closing, fresh, task, left };
        match seed.and_then(|seed| closer.close(prefix, &seed)) {
            Some(shorter) if shorter.steps.len() < trace.steps.len() => shorter,
            _ => trace,
        }
    });
    outcome.verdict = violated(product, Finding::Explained(fault), trace);
    outcome.statistics.elapsed = monitor.elapsed();
    outcome
}

/// The path inside a component, after a prefix.
fn join(mut prefix: Trace, lasso: Lasso) -> Trace {
    let start = prefix.steps.len();
    prefix.steps.extend(lasso.steps.into_iter().map(|(action, state)| TraceStep { action, state }));
    prefix.loop_start = lasso.loop_start.map(|place| start + place);
    prefix
}

/// The strongly connected components of an automaton.
struct Components {
    /// For each state, the least state of its component.
    of: Vec<usize>,
    accepting: Vec<bool>,
    /// For each state, whether every cycle of its component passes an accepting state.
    full: Vec<bool>,
    /// For each state, whether edges leave its component.
    left: Vec<bool>,
}

impl Components {
    fn of<S: System>(product: &Product<S>) -> Components {
        let automaton = product.automaton();
        let count = automaton.edges.len();
        let targets = |state: usize| automaton.edges[state].iter().filter_map(|edge| edge.target).map(usize::from);
        let reach = |from: usize, passes: &dyn Fn(usize) -> bool| {
            let (mut seen, mut open) = (vec![false; count], vec![from]);
            while let Some(at) = open.pop() {
                for target in targets(at).filter(|&target| target < count && passes(target)) {
                    if !std::mem::replace(&mut seen[target], true) {
                        open.push(target);
                    }
                }
            }
            seen
        };
        let reached: Vec<Vec<bool>> = (0..count).map(|state| reach(state, &|_| true)).collect();
        let together = |a: usize, b: usize| a == b || reached[a][b] && reached[b][a];
        let of: Vec<usize> = (0..count).map(|state| (0..count).find(|&other| together(state, other)).unwrap_or(state)).collect();
        let accepting = automaton.accepting_components();
        let accepts = |state: usize| automaton.is_accepting(state as u16);
        // Whether a cycle within the component avoids accepting states.
        let avoids = |state: usize| !accepts(state) && reach(state, &|target| !accepts(target) && of[target] == of[state])[state];
        let full = (0..count).map(|state| (0..count).filter(|&other| of[other] == of[state]).all(|other| !avoids(other))).collect();
        let leaves = |state: usize| targets(state).any(|target| of.get(target) != Some(&of[state]));
        let left = (0..count).map(|state| (0..count).filter(|&other| of[other] == of[state]).any(leaves)).collect();
        Components { accepting, full, left, of }
    }

    fn accepts(&self, state: u16) -> bool {
        self.accepting.get(usize::from(state)).copied().unwrap_or(false)
    }

    fn is_full(&self, state: u16) -> bool {
        self.full.get(usize::from(state)).copied().unwrap_or(false)
    }

    fn can_be_left(&self, state: u16) -> bool {
        self.left.get(usize::from(state)).copied().unwrap_or(true)
    }

    fn same(&self, a: u16, b: u16) -> bool {
        self.of.get(usize::from(a)) == self.of.get(usize::from(b))
    }
}

/// How a nested search ended early.
enum End {
    Found(Box<Lasso>),
    Stopped,
}

/// Steps of the product; the last may have no target.
type Steps = Vec<(Action, Option<Vec<u8>>)>;

/// The finding of a nested search, as steps from the state at which the search began.
struct Lasso {
    finding: Finding,
    steps: Steps,
    /// The step before which the loop begins; `None` if the last step refutes the formula.
    loop_start: Option<usize>,
    /// An accepting state of the loop.
    seed: Option<Vec<u8>>,
}

/// A state on the path of the first search.
struct Frame {
    state: Vec<u8>,
    /// The step that led to it; `None` where the search began.
    by: Option<Action>,
    accepting: bool,
    /// Its steps inside the component, the next one last.
    steps: Vec<(Action, Vec<u8>)>,
    /// The memory of this frame.
    bytes: u64,
}

/// The approximate memory of the steps of a state.
fn memory_of(steps: &[(Action, Vec<u8>)]) -> u64 {
    steps.iter().map(|(_, state)| state.len() as u64 + 32).sum::<u64>() + 96
}

/// The nested search inside components.
struct Inside<'a, S, W> {
    product: Product<S>,
    marks: W,
    components: &'a Components,
    task: &'a Task<'a>,
    path: Vec<Frame>,
    /// The position of each state on the path.
    places: HashMap<Vec<u8>, usize>,
    bytes: u64,
    states: u64,
    transitions: u64,
    /// The number of steps to the state at which the search begins, and the number of states of the
    /// outer search. Both count towards the limits.
    before: u64,
    outside: u64,
    /// The depth limit cut something off.
    truncated: bool,
}

impl<S: System + Clone, W: Marks> Inside<'_, S, W> {
    /// Looks for a cycle from a state, unless it was visited before.
    fn search<M: Store>(&mut self, root: &[u8], monitor: &Monitor<'_>, store: &M) -> Result<(), End> {
        self.path.clear();
        self.places.clear();
        self.bytes = 0;
        if !self.enter(root.to_vec(), None, monitor)? {
            return Ok(());
        }
        while let Some(top) = self.path.len().checked_sub(1) {
            self.poll(monitor, store)?;
            let Some((action, state)) = self.path[top].steps.pop() else {
                self.leave(monitor, store)?;
                continue;
            };
            if let Some(&place) = self.places.get(&state) {
                if let Some(seed) = self.path[place..].iter().find(|frame| frame.accepting) {
                    let seed = seed.state.clone();
                    return Err(End::Found(Box::new(self.lasso(place, vec![(action, Some(state))], seed))));
                }
                continue;
            }
            self.enter(state, Some(action), monitor)?;
        }
        Ok(())
    }

    /// Continues from a state, if it is new.
    fn enter(&mut self, state: Vec<u8>, by: Option<Action>, monitor: &Monitor<'_>) -> Result<bool, End> {
        let hash = self.marks.hash(&state);
        let Ok(inserted) = self.marks.insert(hash, &state) else {
            monitor.refused();
            return Err(End::Stopped);
        };
        if !inserted.new {
            return Ok(false);
        }
        self.states += 1;
        let mut steps = Vec::new();
        if self.task.limits.depth.is_some_and(|limit| self.before + self.path.len() as u64 >= limit) {
            self.truncated = true;
        } else {
            steps = self.steps(&state, monitor).map_err(|end| self.complete(end, by, &state))?;
        }
        self.transitions += steps.len() as u64;
        steps.reverse();
        let bytes = 2 * state.len() as u64 + memory_of(&steps);
        self.bytes += bytes;
        self.places.insert(state.clone(), self.path.len());
        let accepting = self.product.is_accepting(&state);
        self.path.push(Frame { state, by, accepting, steps, bytes });
        Ok(true)
    }

    /// Adds `state`, which is not on the path yet, to a violation in one of its steps.
    fn complete(&self, end: End, by: Option<Action>, state: &[u8]) -> End {
        match end {
            End::Found(mut lasso) => {
                let mut steps: Steps = self.prefix();
                steps.extend(by.map(|action| (action, Some(state.to_vec()))));
                steps.append(&mut lasso.steps);
                End::Found(Box::new(Lasso { steps, ..*lasso }))
            }
            End::Stopped => End::Stopped,
        }
    }

    /// The steps from a state that stay in its component, and those that refute the formula.
    fn steps(&mut self, state: &[u8], monitor: &Monitor<'_>) -> Result<Vec<(Action, Vec<u8>)>, End> {
        let mut out = Successors::new();
        self.product.successors(state, &mut out);
        if out.is_cut_short() {
            monitor.refused();
            return Err(End::Stopped);
        }
        let at = self.product.automaton_state(state);
        let mut steps = Vec::new();
        for (entry, next) in out.iter() {
            if let Some(code) = entry.fault() {
                match self.task.property.fault(code, entry.has_state()) {
                    Answer::Continue => {}
                    Answer::Prune => continue,
                    Answer::Stop(finding) => {
                        let steps = vec![(entry.action, next.map(<[u8]>::to_vec))];
                        return Err(End::Found(Box::new(Lasso { finding, steps, loop_start: None, seed: None })));
                    }
                }
            }
            if let Some(next) = next
                && self.components.same(at, self.product.automaton_state(next))
            {
                steps.push((entry.action, next.to_vec()));
            }
        }
        Ok(steps)
    }

    /// Leaves the last state of the first search. If it accepts, a second search looks for a path
    /// back to the path of the first.
    fn leave<M: Store>(&mut self, monitor: &Monitor<'_>, store: &M) -> Result<(), End> {
        let Some(frame) = self.path.last() else { return Ok(()) };
        let (state, accepting, bytes) = (frame.state.clone(), frame.accepting, frame.bytes);
        if accepting && !self.components.is_full(self.product.automaton_state(&state)) {
            self.second(&state, monitor, store)?;
        }
        self.places.remove(&state);
        self.path.pop();
        self.bytes -= bytes;
        Ok(())
    }

    fn second<M: Store>(&mut self, seed: &[u8], monitor: &Monitor<'_>, store: &M) -> Result<(), End> {
        let first = self.steps(seed, monitor).map_err(|_| End::Stopped)?;
        let mut way: Steps = Vec::new();
        let before = self.bytes;
        self.bytes += memory_of(&first);
        // The steps that are left, and the memory of all.
        let mut stack = vec![(memory_of(&first), first)];
        while let Some((bytes, steps)) = stack.last_mut() {
            self.poll(monitor, store)?;
            let Some((action, state)) = steps.pop() else {
                self.bytes -= *bytes;
                stack.pop();
                way.pop();
                continue;
            };
            if let Some(&place) = self.places.get(&state) {
                way.push((action, Some(state)));
                return Err(End::Found(Box::new(self.lasso(place, way, seed.to_vec()))));
            }
            let hash = self.marks.hash(&state);
            match self.marks.or(hash, &state, RED) {
                Ok(before) if before & RED == 0 => {}
                Ok(_) => continue,
                Err(_) => {
                    monitor.refused();
                    return Err(End::Stopped);
                }
            }
            let next = self.steps(&state, monitor).map_err(|_| End::Stopped)?;
            self.transitions += next.len() as u64;
            let bytes = memory_of(&next) + state.len() as u64;
            self.bytes += bytes;
            way.push((action, Some(state)));
            stack.push((bytes, next));
        }
        self.bytes = before;
        Ok(())
    }

    /// The steps of the path.
    fn prefix(&self) -> Steps {
        self.path.iter().filter_map(|frame| Some((frame.by?, Some(frame.state.clone())))).collect()
    }

    /// The path, and the way back to a position of it.
    fn lasso(&self, place: usize, back: Steps, seed: Vec<u8>) -> Lasso {
        let mut steps = self.prefix();
        steps.extend(back);
        let message = "a cycle through an accepting state can be repeated for ever";
        let finding = Finding::Explained(Fault::new(ViolationKind::Property, message));
        Lasso { finding, steps, loop_start: Some(place), seed: Some(seed) }
    }

    fn poll<M: Store>(&self, monitor: &Monitor<'_>, store: &M) -> Result<(), End> {
        let standing = WorkerCounts {
            states: self.outside + self.states,
            transitions: self.transitions,
            waiting: self.path.len() as u64,
            depth: self.before + self.path.len() as u64,
            search_bytes: self.bytes,
        };
        if monitor.poll(0, &standing, store) { Ok(()) } else { Err(End::Stopped) }
    }
}

/// Closes a loop by A*.
struct Closer<'a, S, T> {
    product: &'a Product<S>,
    components: &'a Components,
    closing: &'a Closing<'a>,
    fresh: &'a dyn Fn() -> T,
    task: &'a Task<'a>,
    left: Left,
}

/// What the closing may still use.
struct Left {
    until: Option<Instant>,
    states: u64,
    memory: Option<u64>,
}

impl<S: System + Clone, T: Store> Closer<'_, S, T> {
    /// A lasso from the end of a prefix through an accepting state, by the shortest paths that are
    /// found; nothing if one of them is not found with what is left.
    fn close(&mut self, prefix: Trace, seed: &[u8]) -> Option<Trace> {
        let root = prefix.last_state().to_vec();
        let mut trace = prefix;
        if root != seed {
            trace.steps.extend(self.way(&root, seed)?);
        }
        trace.loop_start = Some(trace.steps.len());
        trace.steps.extend(self.way(seed, seed)?);
        Some(trace)
    }

    /// The steps from one state to another inside their component.
    fn way(&mut self, from: &[u8], to: &[u8]) -> Option<Vec<TraceStep>> {
        let back = Back { product: self.product.clone(), same: &self.components.of, from: from.to_vec(), to: to.to_vec() };
        let heuristic = (self.closing)(to);
        let time = self.left.until.map(|until| until.saturating_duration_since(Instant::now()));
        let limits = Limits { time, memory: self.left.memory, ..self.task.limits };
        let states = Some(self.left.states);
        let task = Task { property: &Arrival, heuristic: &*heuristic, checkpoints: None, limits, states, ..self.task.clone() };
        let outcome = best_first(&back, &(self.fresh)(), Weights::EQUAL, &task);
        self.left.states = self.left.states.saturating_sub(outcome.statistics.states);
        let Verdict::Violated(violation) = outcome.verdict else { return None };
        let mut steps = violation.trace.steps;
        // The step that reaches the goal has no target in [`Back`].
        steps.last_mut()?.state = Some(to.to_vec());
        Some(steps)
    }
}

/// The property that is violated when the target is reached.
struct Arrival;

impl Property for Arrival {
    fn fault(&self, code: FaultCode, _: bool) -> Answer {
        if code.get() == CLOSED { Answer::Stop(Finding::Fault(code)) } else { Answer::Continue }
    }
}

/// A product that starts in one of its states and in which reaching another state is a fault.
#[derive(Clone)]
struct Back<'a, S> {
    product: Product<S>,
    same: &'a [usize],
    from: Vec<u8>,
    to: Vec<u8>,
}

impl<S: System> System for Back<'_, S> {
    contract::forward_system!(product: give_up_when, get_ready);

    fn initial(&mut self, out: &mut Successors) {
        out.push(&self.from, Action::default());
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let mut all = Successors::new();
        self.product.successors(state, &mut all);
        if all.is_cut_short() {
            return out.cut_short();
        }
        let component = |state: u16| self.same.get(usize::from(state));
        let at = component(self.product.automaton_state(state));
        for (entry, next) in all.iter() {
            let Some(next) = next.filter(|next| component(self.product.automaton_state(next)) == at) else { continue };
            match FaultCode::new(CLOSED).filter(|_| next == self.to) {
                Some(code) => out.fail(entry.action, code, Successor::NO_STEP),
                None => out.push(next, entry.action),
            }
        }
    }

    fn is_valid_end(&mut self, _: &[u8]) -> bool {
        true
    }
}
