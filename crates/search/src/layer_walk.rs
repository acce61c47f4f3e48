//! A sweep that explores each layer depth-first and finds the strongly connected components of the
//! layer.
//!
//! Two searches need this. Acceptance cycles within one layer lie in components of the layer. And
//! if the measure is monotonic, every component of the whole system lies in one layer, so the
//! terminal components can be recognised without keeping any other layer. The components are found
//! by Tarjan's algorithm, restricted to steps within the layer; states of later layers wait.
//!
//! A waiting state of the layer that was not visited yet is entered like a new state. If it were
//! treated as known, components with two entries would be split.
//!
//! The method is that of Lilleskare, "Model checking with the sweep-line method" (2017), sections
//! 3.4 and 5.3, with the corrections that `docs/sweepline.md` lists.

use crate::discovery::Discoveries;
use crate::links::Link;
use crate::monitor::{Monitor, WorkerCounts};
use crate::quick::BuildQuick;
use crate::rounds::initial_fault;
use crate::spill::Spill;
use crate::sweep::{Value, unmeasured};
use crate::task::Task;
use contract::{Answer, FaultCode, Finding, StopReason, Successors, Sweep, System};
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault};
use std::sync::atomic::AtomicU64;

/// A map whose order is the same in every run.
pub(crate) type Map<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// The number of expansions between two checks of the limits.
const LOOK_EVERY: u64 = 64;

/// The approximate size of an entry of a state, of a step that is still to be followed, and of a
/// layer in which states wait, each without the bytes of states.
pub(crate) const STATE_BYTES: u64 = 96;
const STEP_BYTES: u64 = 40;
const LAYER_BYTES: u64 = 256;

/// The memory of a state and of its entry.
pub(crate) fn memory_of(state: &[u8]) -> u64 {
    state.len() as u64 + STATE_BYTES
}

/// A component with more states than this is compared with the memory limit before it is examined.
const LARGE: usize = 1 << 10;

/// A state of a component.
pub(crate) struct Member<'w> {
    pub state: &'w [u8],
    pub link: Link,
    /// The result of [`Judge::mark`] for it.
    pub mark: bool,
}

/// A component of a layer.
pub(crate) struct Component<'w> {
    pub members: Vec<Member<'w>>,
    /// Whether a step leaves it, to the same layer or a later one.
    pub exits: bool,
    /// Whether it has a cycle: several states, or a step from its only state to itself.
    pub cyclic: bool,
}

/// The part of a search that examines states and components.
pub(crate) trait Judge<S> {
    /// Whether regress steps are allowed; if not, the first one ends the walk.
    const REGRESSES: bool;

    /// Computes a mark of a state.
    fn mark(&mut self, system: &mut S, state: &[u8]) -> Result<bool, FaultCode>;

    /// Examines a component; returns whether the walk is to end.
    fn component(&mut self, component: &Component<'_>) -> bool;
}

/// Why a walk ended.
pub(crate) enum End {
    /// All states were visited.
    Complete,
    /// The judge ended it.
    Judged,
    /// A finding at the state with this link, or in one of its steps.
    Found(Finding, Link, Option<u32>),
    /// The measure decreases: the step, and the two values.
    Regress(Link, u32, Value, Value),
    /// A limit, a fault of the measure, or a request to stop.
    Stopped(StopReason),
}

/// A target of regress steps.
pub(crate) struct Persistent {
    pub state: Box<[u8]>,
    pub value: Value,
    pub link: Link,
    depth: u32,
}

/// Waiting states, each with its discovery and its depth.
type Waiting = Map<Box<[u8]>, (Link, u32)>;

/// A sweep with components.
pub(crate) struct Walk<'a, S> {
    pub system: S,
    measure: &'a [u32],
    task: &'a Task<'a>,
    monitor: &'a Monitor<'a>,
    pub log: Discoveries,
    pub blocks: AtomicU64,
    /// Waiting states, by their value.
    waiting: BTreeMap<Value, Waiting>,
    waiting_states: u64,
    /// The numbers of the persistent states.
    pub numbers: Map<Box<[u8]>, u32>,
    pub persistent: Vec<Persistent>,
    roots: Vec<u32>,
    values: Vec<i64>,
    out: Successors,
    /// The memory of the waiting and the persistent states, of the layer that is being explored,
    /// and of everything that the caller keeps; and the most that all took.
    held: u64,
    present: u64,
    pub beside: u64,
    peak: u64,
    until_look: u64,
    pub sweep: Sweep,
    pub states: u64,
    pub transitions: u64,
    pub depth: u64,
    pub truncated: bool,
    /// The hashes of the values of all layers. There may be very many.
    layers: HashSet<u64, BuildQuick>,
}

/// A visited state of the current layer.
struct Entered {
    low: u32,
    on_stack: bool,
    exits: bool,
    loops: bool,
    mark: bool,
    link: Link,
    depth: u32,
    state: Box<[u8]>,
}

/// A state on the path, and its steps within the layer that are still to be followed, last first.
struct Frame {
    node: u32,
    steps: Vec<(u32, Box<[u8]>)>,
}

impl<'a, S: System> Walk<'a, S> {
    pub fn new(mut system: S, measure: &'a [u32], task: &'a Task<'a>, monitor: &'a Monitor<'a>) -> Self {
        system.give_up_when(monitor.enough(0));
        Walk {
            system,
            measure,
            task,
            monitor,
            log: Discoveries::new(0),
            blocks: AtomicU64::new(0),
            waiting: BTreeMap::new(),
            waiting_states: 0,
            numbers: Map::default(),
            persistent: Vec::new(),
            roots: Vec::new(),
            values: Vec::new(),
            out: Successors::new(),
            held: 0,
            present: 0,
            beside: 0,
            peak: 0,
            until_look: 0,
            sweep: Sweep::default(),
            states: 0,
            transitions: 0,
            depth: 0,
            truncated: false,
            layers: HashSet::default(),
        }
    }

    /// The value of a state.
    pub fn value(&mut self, state: &[u8]) -> Result<Value, FaultCode> {
        let mut value = Value::default();
        if !self.measure.is_empty() {
            self.values.clear();
            self.system.values(state, self.measure, &mut self.values)?;
            value.iter_mut().zip(&self.values).for_each(|(to, from)| *to = *from);
        }
        Ok(value)
    }

    /// Runs the walk to its end.
    pub fn run<J: Judge<S>>(&mut self, judge: &mut J) -> End {
        if let Err(end) = self.initial() {
            return end;
        }
        loop {
            self.sweep.sweeps += 1;
            while let Some((value, layer)) = self.waiting.pop_first() {
                self.layers.insert(BuildQuick::default().hash_one(value));
                self.sweep.layers = self.layers.len() as u64;
                if let Err(end) = self.layer(judge, value, layer) {
                    return end;
                }
                if let Err(error) = self.log.flush(self.task.spill.as_ref(), &self.blocks) {
                    return End::Stopped(StopReason::Storage(error.to_string()));
                }
            }
            let roots = std::mem::take(&mut self.roots);
            if roots.is_empty() {
                return End::Complete;
            }
            for number in roots {
                let Persistent { state, value, link, depth } = &self.persistent[number as usize];
                let layer = self.waiting.entry(*value).or_default();
                self.held += memory_of(state) + if layer.is_empty() { LAYER_BYTES } else { 0 };
                layer.insert(state.clone(), (*link, *depth));
                self.waiting_states += 1;
            }
        }
    }

    fn initial(&mut self) -> Result<(), End> {
        let mut out = std::mem::take(&mut self.out);
        self.system.initial(&mut out);
        for (index, (entry, state)) in out.iter().enumerate() {
            let link = self.log.push(Link::NONE, index as u32);
            if let Answer::Stop(finding) = initial_fault(self.task.property, entry) {
                return Err(End::Found(finding, link, None));
            }
            if let Some(state) = state {
                let value = self.value(state).map_err(|fault| End::Stopped(unmeasured(&self.system, fault)))?;
                self.wait(value, state, link, 0);
            }
        }
        out.clear();
        self.out = out;
        Ok(())
    }

    /// Adds a waiting state, unless it waits already.
    fn wait(&mut self, value: Value, state: &[u8], link: Link, depth: u32) {
        let layer = self.waiting.entry(value).or_default();
        if !layer.contains_key(state) {
            self.held += memory_of(state) + if layer.is_empty() { LAYER_BYTES } else { 0 };
            layer.insert(state.into(), (link, depth));
            self.waiting_states += 1;
            self.states += 1;
        }
    }

    /// Explores a layer from the states that wait there.
    fn layer<J: Judge<S>>(&mut self, judge: &mut J, value: Value, roots: Map<Box<[u8]>, (Link, u32)>) -> Result<(), End> {
        // The waiting states of this layer now belong to it.
        let waited = roots.keys().map(|state| memory_of(state)).sum::<u64>() + LAYER_BYTES;
        self.held = self.held.saturating_sub(waited);
        self.present = waited;
        let mut visited: Vec<Entered> = Vec::new();
        let mut index: Map<Box<[u8]>, u32> = Map::default();
        let (mut stack, mut path): (Vec<u32>, Vec<Frame>) = (Vec::new(), Vec::new());
        self.waiting_states -= roots.len() as u64;
        for (root, &(link, depth)) in &roots {
            if index.contains_key(root) {
                continue;
            }
            let held = self.waiting_states + self.persistent.len() as u64 + roots.len() as u64;
            path.push(self.enter(judge, value, root.clone(), link, depth, &mut visited, &mut index)?);
            stack.push(visited.len() as u32 - 1);
            while let Some(frame) = path.last_mut() {
                let at = frame.node;
                if let Some((step, target)) = frame.steps.pop() {
                    self.present -= target.len() as u64 + STEP_BYTES;
                    if let Some(&known) = index.get(&target) {
                        let low = known;
                        let onto = visited[known as usize].on_stack;
                        let source = &mut visited[at as usize];
                        source.loops |= known == at;
                        match onto {
                            true => source.low = source.low.min(low),
                            false => source.exits = true,
                        }
                        continue;
                    }
                    let (link, depth) = match roots.get(&target) {
                        Some(&waiting) => waiting,
                        // A root of an earlier sweep: all states that it leads to were visited
                        // then.
                        None if self.numbers.contains_key(&target) => {
                            visited[at as usize].exits = true;
                            continue;
                        }
                        None => {
                            let Entered { link, depth, .. } = visited[at as usize];
                            self.states += 1;
                            (self.log.push(link, step), depth + 1)
                        }
                    };
                    path.push(self.enter(judge, value, target, link, depth, &mut visited, &mut index)?);
                    stack.push(visited.len() as u32 - 1);
                    continue;
                }
                path.pop();
                let low = visited[at as usize].low;
                if low == at {
                    let first = stack.iter().rposition(|&node| node == at).unwrap_or(0);
                    let members = stack.split_off(first);
                    self.sweep.peak_states = self.sweep.peak_states.max(self.held(&visited, &roots));
                    self.component(judge, &mut visited, &members)?;
                    if let Some(parent) = path.last() {
                        visited[parent.node as usize].exits = true;
                    }
                } else if let Some(parent) = path.last() {
                    let parent = &mut visited[parent.node as usize];
                    parent.low = parent.low.min(low);
                }
            }
            self.sweep.peak_states = self.sweep.peak_states.max(held.max(self.held(&visited, &roots)));
        }
        self.note();
        self.present = 0;
        Ok(())
    }

    /// The number of states in memory while a layer is explored.
    fn held(&self, visited: &[Entered], roots: &Map<Box<[u8]>, (Link, u32)>) -> u64 {
        self.waiting_states + self.persistent.len() as u64 + (visited.len().max(roots.len())) as u64
    }

    /// Enters a state: examines it and distributes its steps.
    #[allow(clippy::too_many_arguments)]
    fn enter<J: Judge<S>>(
        &mut self,
        judge: &mut J,
        present: Value,
        state: Box<[u8]>,
        link: Link,
        depth: u32,
        visited: &mut Vec<Entered>,
        index: &mut Map<Box<[u8]>, u32>,
    ) -> Result<Frame, End> {
        self.look()?;
        let node = visited.len() as u32;
        let mark = judge.mark(&mut self.system, &state).map_err(|fault| End::Found(Finding::Fault(fault), link, None))?;
        index.insert(state.clone(), node);
        self.present += 2 * memory_of(&state);
        let mut frame = Frame { node, steps: Vec::new() };
        let mut exits = false;
        self.depth = self.depth.max(depth.into());
        if self.task.limits.depth.is_some_and(|most| u64::from(depth) >= most) {
            self.truncated = true;
            // The successors are unknown, so a path may lead out of the component.
            exits = true;
        } else {
            let mut out = std::mem::take(&mut self.out);
            out.clear();
            self.system.successors(&state, &mut out);
            self.sweep.expanded_states += 1;
            let taken = self.steps::<J>(present, link, depth, &out, &mut frame, &mut exits);
            let given_up = out.is_cut_short();
            if out.is_empty() && !given_up {
                let valid = self.system.is_valid_end(&state);
                if let Answer::Stop(finding) = self.task.property.terminal(&state, valid) {
                    return Err(End::Found(finding, link, None));
                }
            }
            self.out = out;
            taken?;
            if given_up {
                return Err(self.given_up());
            }
        }
        visited.push(Entered { low: node, on_stack: true, exits, loops: false, mark, link, depth, state });
        Ok(frame)
    }

    /// Distributes the steps of a state: those within the layer go to the frame.
    fn steps<J: Judge<S>>(
        &mut self,
        present: Value,
        link: Link,
        depth: u32,
        out: &Successors,
        frame: &mut Frame,
        exits: &mut bool,
    ) -> Result<(), End> {
        for (step, (entry, target)) in out.iter().enumerate() {
            let step = step as u32;
            if let Some(code) = entry.fault() {
                match self.task.property.fault(code, entry.has_state()) {
                    Answer::Continue => {}
                    Answer::Prune => continue,
                    Answer::Stop(finding) => return Err(End::Found(finding, link, Some(step))),
                }
            }
            let Some(target) = target else { continue };
            self.transitions += 1;
            let value = self.value(target).map_err(|fault| End::Stopped(unmeasured(&self.system, fault)))?;
            if value == present {
                self.present += target.len() as u64 + STEP_BYTES;
                frame.steps.push((step, target.into()));
                continue;
            }
            *exits = true;
            if value < present {
                self.sweep.regress_steps += 1;
                if !J::REGRESSES {
                    return Err(End::Regress(link, step, present, value));
                }
            }
            if self.numbers.contains_key(target) {
                continue;
            }
            if value < present {
                let number = self.persistent.len() as u32;
                let link = self.log.push(link, step);
                self.numbers.insert(target.into(), number);
                self.persistent.push(Persistent { state: target.into(), value, link, depth: depth + 1 });
                self.roots.push(number);
                self.states += 1;
                self.sweep.persistent_states += 1;
                self.held += 2 * memory_of(target);
            } else if self.waiting.get(&value).is_none_or(|layer| !layer.contains_key(target)) {
                let link = self.log.push(link, step);
                self.wait(value, target, link, depth + 1);
            }
        }
        // The first step is followed first.
        frame.steps.reverse();
        Ok(())
    }

    fn component<J: Judge<S>>(&mut self, judge: &mut J, visited: &mut [Entered], members: &[u32]) -> Result<(), End> {
        let own = (members.len() * size_of::<Member<'_>>()) as u64;
        self.present += own;
        if members.len() > LARGE {
            self.look_now()?;
        }
        let mut exits = false;
        for &member in members {
            let member = &mut visited[member as usize];
            member.on_stack = false;
            exits |= member.exits;
        }
        let all = members.iter().map(|&member| &visited[member as usize]);
        let component = Component {
            cyclic: members.len() > 1 || all.clone().any(|member| member.loops),
            members: all.map(|member| Member { state: &member.state, link: member.link, mark: member.mark }).collect(),
            exits,
        };
        let decided = judge.component(&component);
        self.present -= own;
        if decided { Err(End::Judged) } else { Ok(()) }
    }

    /// Looks at the limits from time to time.
    pub fn look(&mut self) -> Result<(), End> {
        self.until_look += 1;
        if self.until_look.is_multiple_of(LOOK_EVERY) { self.look_now() } else { Ok(()) }
    }

    /// Reports the progress, and ends the walk if a limit is reached.
    fn look_now(&mut self) -> Result<(), End> {
        let standing = WorkerCounts {
            states: self.states,
            transitions: self.transitions,
            waiting: self.waiting_states,
            depth: self.depth,
            search_bytes: self.note(),
        };
        self.monitor.poll_alone(&standing);
        if self.task.limits.memory.is_some_and(|limit| standing.search_bytes > limit) {
            self.monitor.stop(StopReason::Memory);
        }
        if self.task.states.is_some_and(|most| self.states >= most) {
            self.monitor.stop(StopReason::States);
        }
        match self.monitor.had_enough().then(|| self.monitor.reason()).flatten() {
            Some(reason) => Err(End::Stopped(reason)),
            None => Ok(()),
        }
    }

    /// Ends the walk because the system gave up a step.
    pub fn given_up(&mut self) -> End {
        self.monitor.refused();
        End::Stopped(self.monitor.reason().unwrap_or(StopReason::Interrupted))
    }

    /// The external storage of logs.
    pub fn spill(&self) -> Option<Spill<'a>> {
        self.task.spill
    }

    /// The approximate memory in use.
    fn bytes(&self) -> u64 {
        self.held + self.present + self.beside + self.log.bytes() + self.layers.capacity() as u64 * 9
    }

    /// The same, which is remembered if it is the most.
    fn note(&mut self) -> u64 {
        let bytes = self.bytes();
        self.peak = self.peak.max(bytes);
        bytes
    }

    /// The most memory that was in use.
    pub fn peak(&self) -> u64 {
        self.peak.max(self.bytes())
    }
}
