//! Nested depth-first search by several workers, in the order of dependency structures (Barnat,
//! Brim and Stříbrná, 2001), with corrections of the published procedures.
//!
//! Each worker searches depth-first below the states that it was requested to search, and sends
//! requests to the owners of other states. It records which of its accepting states (seeds), and
//! which requested states, still wait for answers. A seed whose answers are all there goes to the
//! queue of seeds. A second, nested search from each seed in the queue, one after the other, looks
//! for a path back to it. If all states wait for each other, the components of the waiting relation
//! are examined. A component that waits for nothing outside has an accepting cycle if a seed is
//! among its states; otherwise its members are answered.
//!
//! In the published procedure, a seed below a state that was visited before seems to wait for
//! nothing, is queued too early, and cycles are missed. Here a seed is searched with a new set of
//! visited states, so everything it depends on is recorded under it. Two more corrections: the root
//! of a request is treated like any other state, and an answer goes to the worker that sent the
//! request.
//!
//! Only seeds and requested states are kept; other states are visited again.

use crate::actor::{Actor, Outbox, Turn};
use crate::flow::Abandoned;
use crate::gauge::Gauge;
use crate::owner::Owners;
use crate::seat::Seat;
use crate::shared::Shared;
use crate::wire::{Cursor, put_bytes, put_number};
use crate::young::tally;
use contract::{Enough, StopReason, Successors, System};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

type State = Vec<u8>;

/// A state that waits.
#[derive(Default)]
struct Waiting {
    before: BTreeSet<State>,
    after: BTreeSet<State>,
    /// The search has backtracked from it.
    gone: bool,
    /// The workers that have requested it.
    asked_by: Vec<usize>,
    /// Whether another worker owns it.
    remote: bool,
    parent: Option<State>,
}

/// No worker is to be answered: the request is the first one, or that of a seed.
const NOBODY: usize = usize::MAX;

struct Request {
    state: State,
    /// The seed of a nested search.
    seed: Option<State>,
    from: usize,
}

/// A state whose successors are being visited.
struct Frame {
    state: State,
    successors: Vec<State>,
    next: usize,
    /// Whether it opened a set of visited states.
    scope: bool,
}

struct Nested<'a> {
    me: usize,
    local: usize,
    shared: Arc<Shared>,
    system: &'a mut dyn System,
    accepts: &'a (dyn Fn(&[u8]) -> bool + Sync),
    owners: Owners,
    waiting: HashMap<State, Waiting>,
    /// Seeds and requested states, of the first search and of nested ones.
    kept: [HashSet<State>; 2],
    requests: VecDeque<Request>,
    answers: VecDeque<State>,
    /// Answers that this worker sends.
    answering: Vec<(usize, State)>,
    /// Seeds that are ready, by round and order.
    seeds: Vec<(u64, u64, State)>,
    counted: u64,
    round: u64,
    found: Option<State>,
    fault: bool,
    visits: u64,
    transitions: u64,
    cross: u64,
    /// The approximate memory of kept and waiting states, and the limit.
    bytes: u64,
    gauge: Gauge,
    out: Successors,
}

/// The approximate memory of a state in a set, in addition to its bytes, and that of a waiting
/// state in addition to its bytes in the sets of others.
const IN_SET: u64 = 48;
const IN_RELATION: u64 = 3 * IN_SET;
/// The number of visits between two measurements of memory.
const MEASURE_EVERY: u64 = 1 << 10;

/// Kinds of records.
const REQUEST: u8 = 0;
const NESTED: u8 = 1;
const ANSWER: u8 = 2;

/// The first byte of a waiting relation.
const COMPLETE: u8 = 1;
const CUT_SHORT: u8 = 0;

impl Nested<'_> {
    fn successors(&mut self, state: &[u8]) -> Vec<State> {
        self.out.clear();
        self.system.successors(state, &mut self.out);
        if self.out.is_cut_short() {
            self.shared.stop(StopReason::Memory);
        }
        self.visits += 1;
        self.fault |= self.out.entries().iter().any(|entry| entry.fault().is_some());
        let whole = self.out.iter().filter(|(entry, _)| entry.fault().is_none());
        let states: Vec<State> = whole.filter_map(|(_, state)| state.map(<[u8]>::to_vec)).collect();
        self.transitions += states.len() as u64;
        states
    }

    /// Removes a state that no longer waits for anything, and those that waited for it alone.
    fn remove(&mut self, state: &[u8]) {
        let mut gone = vec![state.to_vec()];
        while let Some(state) = gone.pop() {
            let Some(waiting) = self.waiting.remove(&state) else { continue };
            if !waiting.remote {
                if (self.accepts)(&state) {
                    self.counted += 1;
                    self.seeds.push((self.round, self.counted, state.clone()));
                }
                self.answering.extend(waiting.asked_by.iter().map(|&to| (to, state.clone())));
            }
            for before in &waiting.before {
                let Some(other) = self.waiting.get_mut(before) else { continue };
                other.after.remove(&state);
                if other.after.is_empty() && other.gone {
                    gone.push(before.clone());
                }
            }
        }
    }

    fn keep(&mut self, nested: usize, state: &State) {
        if self.kept[nested].insert(state.clone()) {
            self.bytes += state.len() as u64 + IN_SET;
        }
    }

    /// Records that a state waits for another one.
    fn add(&mut self, before: Option<&State>, state: &State) {
        if !self.waiting.contains_key(state) {
            let remote = self.owners.owner(state) != self.me;
            self.waiting.insert(state.clone(), Waiting { remote, parent: before.cloned(), ..Waiting::default() });
        }
        if let Some(before) = before
            && before != state
            && let Some(other) = self.waiting.get_mut(before)
        {
            other.after.insert(state.clone());
            if let Some(waiting) = self.waiting.get_mut(state) {
                waiting.before.insert(before.clone());
            }
        }
    }

    fn visit(&mut self, request: Request, out: &mut Outbox) {
        let Request { state: root, seed, from } = request;
        let nested = usize::from(seed.is_some());
        if self.kept[nested].contains(&root) {
            if seed.is_none() {
                match self.waiting.get_mut(&root) {
                    Some(waiting) => waiting.asked_by.push(from),
                    None => self.answering.push((from, root)),
                }
            }
            return;
        }
        self.keep(nested, &root);
        let mut last = None;
        if seed.is_none() {
            let asked_by = vec![from];
            self.waiting.insert(root.clone(), Waiting { asked_by, ..Waiting::default() });
            last = Some(root.clone());
        }
        // Visited states: one set for each seed that is being searched; states on the stack count
        // as visited in all of them.
        let mut visited: Vec<HashSet<State>> = vec![HashSet::new()];
        let mut on_stack: HashSet<State> = HashSet::new();
        let mut stack: Vec<Frame> = Vec::new();
        let accepting = seed.is_none() && (self.accepts)(&root);
        if accepting {
            visited.push(HashSet::new());
        }
        on_stack.insert(root.clone());
        let successors = self.successors(&root);
        stack.push(Frame { state: root.clone(), successors, next: 0, scope: accepting });
        let mut turns = 0_u64;
        while !stack.is_empty() {
            if self.found.is_some() || self.shared.is_stopped() {
                return;
            }
            turns += 1;
            if turns.is_multiple_of(MEASURE_EVERY) {
                let here: usize = visited.iter().map(HashSet::len).sum::<usize>() + stack.len();
                self.publish(here as u64 * (root.len() as u64 + IN_SET));
            }
            let Some(frame) = stack.last_mut() else { break };
            let Some(next) = frame.successors.get_mut(frame.next).map(std::mem::take) else {
                let Some(Frame { state, scope, .. }) = stack.pop() else { return };
                on_stack.remove(&state);
                if scope {
                    // A state in the seed's own set also counts as visited outside it.
                    if let Some(inside) = visited.pop()
                        && let Some(outside) = visited.last_mut()
                    {
                        outside.insert(state.clone());
                        drop(inside);
                    }
                    if let Some(waiting) = self.waiting.get_mut(&state) {
                        last = waiting.parent.clone();
                        waiting.gone = true;
                        if waiting.after.is_empty() {
                            self.remove(&state);
                        }
                    }
                } else if let Some(visited) = visited.last_mut() {
                    visited.insert(state);
                }
                continue;
            };
            frame.next += 1;
            if seed.as_ref() == Some(&next) {
                self.found = Some(next);
                return;
            }
            let known = visited.last().is_some_and(|visited| visited.contains(&next)) || on_stack.contains(&next);
            if known || seed.is_none() && self.waiting.contains_key(&next) || self.kept[nested].contains(&next) {
                if seed.is_none() && self.waiting.contains_key(&next) && !on_stack.contains(&next) {
                    self.add(last.as_ref(), &next);
                }
                continue;
            }
            let owner = self.owners.owner(&next);
            if owner != self.me {
                self.cross += 1;
                out.send(owner, |record| {
                    record.push(if seed.is_some() { NESTED } else { REQUEST });
                    put_bytes(record, &next);
                    if let Some(seed) = &seed {
                        put_bytes(record, seed);
                    }
                });
                if seed.is_none() {
                    self.add(last.as_ref(), &next);
                } else if let Some(visited) = visited.last_mut() {
                    // The state was requested before; another request would change nothing.
                    visited.insert(next);
                }
                continue;
            }
            let accepting = seed.is_none() && (self.accepts)(&next);
            if accepting {
                self.add(last.as_ref(), &next);
                if let Some(waiting) = self.waiting.get_mut(&next) {
                    waiting.parent = last.clone();
                }
                last = Some(next.clone());
                self.keep(0, &next);
                visited.push(HashSet::new());
            }
            on_stack.insert(next.clone());
            let successors = self.successors(&next);
            stack.push(Frame { state: next, successors, next: 0, scope: accepting });
        }
        if seed.is_none()
            && let Some(waiting) = self.waiting.get_mut(&root)
        {
            waiting.gone = true;
            if waiting.after.is_empty() {
                self.remove(&root);
            }
        }
    }

    /// Publishes the progress, and stops if the memory is used up; `here` is the memory of the
    /// search from one state.
    fn publish(&mut self, here: u64) {
        let published = &self.shared.published[self.local];
        let kept = self.kept.iter().map(HashSet::len).sum::<usize>() as u64;
        published.states.store(kept, Ordering::Relaxed);
        published.transitions.store(self.transitions, Ordering::Relaxed);
        published.waiting.store(self.waiting.len() as u64, Ordering::Relaxed);
        let one = self.bytes.checked_div(kept).unwrap_or(0);
        let requests = (self.requests.len() + self.answers.len()) as u64;
        published.bytes.store(self.bytes + self.waiting.len() as u64 * (one + IN_RELATION) + requests * one + here, Ordering::Relaxed);
        if self.gauge.is_full(&self.shared) {
            self.shared.stop(StopReason::Memory);
        }
    }

    /// The waiting relation: states that were requested here, the states that they wait for at
    /// other workers, and a seed on the path, if there is one. The first byte says whether it is
    /// complete.
    fn dependencies(&self) -> Vec<u8> {
        let mut bytes = vec![COMPLETE];
        for (state, waiting) in &self.waiting {
            if waiting.remote || waiting.asked_by.is_empty() {
                continue;
            }
            if self.shared.is_stopped() {
                bytes[0] = CUT_SHORT;
                break;
            }
            let seed = |state: &State| (self.accepts)(state).then(|| state.clone());
            let mut seen: HashSet<(&State, bool)> = HashSet::new();
            let mut open = vec![(state, seed(state))];
            while let Some((at, label)) = open.pop() {
                if !seen.insert((at, label.is_some())) {
                    continue;
                }
                let Some(waiting) = self.waiting.get(at) else { continue };
                if waiting.remote {
                    put_bytes(&mut bytes, state);
                    put_bytes(&mut bytes, at);
                    bytes.push(u8::from(label.is_some()));
                    put_bytes(&mut bytes, label.as_deref().unwrap_or_default());
                    continue;
                }
                for after in &waiting.after {
                    let remote = self.waiting.get(after).is_some_and(|waiting| waiting.remote);
                    let label = label.clone().or_else(|| if remote { None } else { seed(after) });
                    open.push((after, label));
                }
            }
        }
        bytes
    }
}

impl Actor for Nested<'_> {
    fn receive(&mut self, _: u64, from: usize, bytes: &[u8]) {
        let mut cursor = Cursor(bytes);
        while let (Some(kind), Some(state)) = (cursor.byte(), cursor.bytes()) {
            match kind {
                REQUEST => self.requests.push_back(Request { state: state.to_vec(), seed: None, from }),
                NESTED => {
                    let Some(seed) = cursor.bytes() else { return };
                    self.requests.push_back(Request { state: state.to_vec(), seed: Some(seed.to_vec()), from: NOBODY });
                }
                _ => self.answers.push_back(state.to_vec()),
            }
        }
    }

    fn work(&mut self, out: &mut Outbox) -> Turn {
        self.round = self.round.max(out.round);
        while let Some(state) = self.answers.pop_front() {
            if self.waiting.get(&state).is_some_and(|waiting| waiting.remote) {
                self.remove(&state);
            }
        }
        if let Some(request) = self.requests.pop_front() {
            self.visit(request, out);
        }
        for (to, state) in std::mem::take(&mut self.answering) {
            if to == self.me {
                self.answers.push_back(state);
            } else if to != NOBODY {
                out.send(to, |record| {
                    record.push(ANSWER);
                    put_bytes(record, &state);
                });
            }
        }
        self.publish(0);
        let done = self.found.is_some() || self.shared.is_stopped();
        if done || self.requests.is_empty() && self.answers.is_empty() { Turn::Rest } else { Turn::More }
    }
}

/// The result of a search.
pub(crate) struct Searched {
    /// A state on an accepting cycle.
    pub found: Option<State>,
    /// Whether a step was a fault of the property.
    pub fault: bool,
    /// The number of states kept here, of expansions, of steps, and of steps to other workers.
    pub kept: u64,
    pub visits: u64,
    pub transitions: u64,
    pub cross: u64,
}

/// Looks for an accepting cycle.
pub(crate) fn dependencies(
    seat: &mut Seat<'_>,
    system: &mut dyn System,
    accepts: &(dyn Fn(&[u8]) -> bool + Sync),
    owners: Owners,
    gauge: Gauge,
) -> Result<Searched, Abandoned> {
    let shared = Arc::clone(seat.shared());
    let asked = Arc::clone(&shared);
    system.give_up_when(Enough::when(move |_| asked.is_stopped() || asked.is_abandoned()));
    let mut search = Nested {
        me: seat.me(),
        local: seat.local(),
        shared,
        system,
        accepts,
        owners,
        waiting: HashMap::new(),
        kept: Default::default(),
        requests: VecDeque::new(),
        answers: VecDeque::new(),
        answering: Vec::new(),
        seeds: Vec::new(),
        counted: 0,
        round: 0,
        found: None,
        fault: false,
        visits: 0,
        transitions: 0,
        cross: 0,
        bytes: 0,
        gauge,
        out: Successors::new(),
    };
    let mut out = Successors::new();
    search.system.initial(&mut out);
    for state in out.iter().filter_map(|(_, state)| state) {
        if search.owners.owner(state) == search.me {
            search.requests.push_back(Request { state: state.to_vec(), seed: None, from: NOBODY });
        }
    }
    let found = search_all(seat, &mut search)?;
    let kept = search.kept.iter().map(HashSet::len).sum::<usize>() as u64;
    Ok(Searched { found, fault: search.fault, kept, visits: search.visits, transitions: search.transitions, cross: search.cross })
}

fn search_all(seat: &mut Seat<'_>, search: &mut Nested<'_>) -> Result<Option<State>, Abandoned> {
    loop {
        // Rounds continue from pass to pass, because seeds are ordered by them.
        seat.drive(search)?;
        let seeds = agree_on_seeds(seat, search)?;
        for seed in seeds {
            if search.owners.owner(&seed) == search.me {
                search.requests.push_back(Request { state: seed.clone(), seed: Some(seed), from: NOBODY });
            }
            seat.drive(search)?;
            search.requests.clear();
            if let Some(found) = agree_on(seat, search.found.as_deref())? {
                return Ok(Some(found));
            }
            if tally(seat, 0)?.1 {
                return Ok(None);
            }
        }
        let (waiting, stopped) = tally(seat, search.waiting.len() as u64)?;
        if waiting == 0 || stopped {
            return Ok(None);
        }
        let all = seat.gather(&search.dependencies())?;
        // A relation that a worker did not complete must not be examined.
        if all.iter().any(|bytes| bytes.first() != Some(&COMPLETE)) {
            return Ok(None);
        }
        match resolve(&all) {
            Deadlock::Cycle(seed) => return Ok(Some(seed)),
            Deadlock::Answer(states) => {
                for state in states {
                    if search.owners.owner(&state) == search.me
                        && let Some(waiting) = search.waiting.get_mut(&state)
                    {
                        let asked_by = std::mem::take(&mut waiting.asked_by);
                        search.answering.extend(asked_by.into_iter().map(|to| (to, state.clone())));
                    }
                }
            }
            // A waiting state must wait for another; otherwise the answer is unknown.
            Deadlock::None => {
                search.shared.stop(StopReason::Storage("the dependency structures are inconsistent".to_owned()));
                return Ok(None);
            }
        }
    }
}

/// The seeds of all workers that are ready, in an order that respects their dependencies.
fn agree_on_seeds(seat: &mut Seat<'_>, search: &mut Nested<'_>) -> Result<Vec<State>, Abandoned> {
    let mut bytes = Vec::new();
    for (round, order, seed) in search.seeds.drain(..) {
        put_number(&mut bytes, round);
        put_number(&mut bytes, order);
        put_bytes(&mut bytes, &seed);
    }
    search.round = 0;
    let mut seeds = Vec::new();
    for (worker, bytes) in seat.gather(&bytes)?.iter().enumerate() {
        let mut cursor = Cursor(bytes);
        while let (Some(round), Some(order), Some(seed)) = (cursor.number(), cursor.number(), cursor.bytes()) {
            seeds.push((round, worker, order, seed.to_vec()));
        }
    }
    seeds.sort();
    Ok(seeds.into_iter().map(|(.., seed)| seed).collect())
}

/// The first state that a worker proposes.
fn agree_on(seat: &mut Seat<'_>, mine: Option<&[u8]>) -> Result<Option<State>, Abandoned> {
    let mut bytes = Vec::new();
    mine.iter().for_each(|state| put_bytes(&mut bytes, state));
    let all = seat.gather(&bytes)?;
    Ok(all.iter().find_map(|bytes| Cursor(bytes).bytes()).map(<[u8]>::to_vec))
}

enum Deadlock {
    Cycle(State),
    Answer(Vec<State>),
    None,
}

/// Examines the waiting relation for components that wait for nothing outside.
fn resolve(all: &[Vec<u8>]) -> Deadlock {
    let mut edges: BTreeMap<State, BTreeMap<State, Option<State>>> = BTreeMap::new();
    for bytes in all {
        let mut cursor = Cursor(bytes.get(1..).unwrap_or_default());
        while let (Some(from), Some(to), Some(labelled), Some(seed)) = (cursor.bytes(), cursor.bytes(), cursor.byte(), cursor.bytes()) {
            let seed = (labelled != 0).then(|| seed.to_vec());
            let label = edges.entry(from.to_vec()).or_default().entry(to.to_vec()).or_default();
            *label = label.take().or(seed);
            edges.entry(to.to_vec()).or_default();
        }
    }
    let names: Vec<&State> = edges.keys().collect();
    let number: HashMap<&State, usize> = names.iter().enumerate().map(|(index, &name)| (name, index)).collect();
    let graph: Vec<Vec<usize>> = edges.values().map(|targets| targets.keys().filter_map(|to| number.get(to).copied()).collect()).collect();
    let component = components(&graph);
    let count = component.iter().copied().max().map_or(0, |most| most + 1);
    let mut closed = vec![true; count];
    for (at, targets) in graph.iter().enumerate() {
        closed[component[at]] &= targets.iter().all(|&to| component[to] == component[at]);
    }
    for (at, targets) in edges.values().enumerate().filter(|(at, _)| closed[component[*at]]) {
        for (to, label) in targets {
            if let (Some(seed), Some(&to)) = (label, number.get(to))
                && component[to] == component[at]
            {
                return Deadlock::Cycle(seed.clone());
            }
        }
    }
    // Their searches are complete, and no seed lies between them. So all of them are answered at
    // once: one at a time would take as many turns as there are states.
    let answered: Vec<State> = (0..graph.len()).filter(|&at| closed[component[at]]).map(|at| names[at].clone()).collect();
    if answered.is_empty() { Deadlock::None } else { Deadlock::Answer(answered) }
}

/// The strongly connected components, numbered in the order in which Tarjan's search completes
/// them.
fn components(graph: &[Vec<usize>]) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    let (mut index, mut low) = (vec![NONE; graph.len()], vec![0; graph.len()]);
    let (mut component, mut stack) = (vec![NONE; graph.len()], Vec::new());
    let (mut met, mut completed) = (0, 0);
    for root in 0..graph.len() {
        if index[root] != NONE {
            continue;
        }
        let mut path = vec![(root, 0)];
        while let Some((at, edge)) = path.last_mut() {
            let at = *at;
            if *edge == 0 {
                index[at] = met;
                low[at] = met;
                met += 1;
                stack.push(at);
            }
            if let Some(&to) = graph[at].get(*edge) {
                *edge += 1;
                if index[to] == NONE {
                    path.push((to, 0));
                } else if component[to] == NONE {
                    low[at] = low[at].min(index[to]);
                }
                continue;
            }
            path.pop();
            if let Some(&(before, _)) = path.last() {
                low[before] = low[before].min(low[at]);
            }
            if low[at] == index[at] {
                while let Some(member) = stack.pop() {
                    component[member] = completed;
                    if member == at {
                        break;
                    }
                }
                completed += 1;
            }
        }
    }
    component
}
