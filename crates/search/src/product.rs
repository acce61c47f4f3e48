//! The product of a system and an automaton over its atomic propositions, as a system.
//!
//! The automaton's state is a tail of the state vector. The system writes its successors as usual,
//! with room after each ([`Successors::set_tail`]), and the product fills that room. The edges that
//! the automaton can take depend on the source state. So the propositions are evaluated once per
//! state, before its successors are made, and a state in which the automaton is stuck is not
//! expanded at all. Successors are copied only if the automaton has a second enabled edge.
//!
//! An edge to acceptance of every continuation is not followed; the step has a fault that the
//! [`Refutation`] reports. A formula that a finite run can refute is therefore a safety property,
//! and every search order and every store can check it.
//!
//! A finite run counts as one that stays in its last state for ever (stutter extension), so a
//! deadlock satisfies or violates a property as any other run does.

use crate::classes::Classes;
use crate::nested::Acceptance;
use crate::region::Regions;
use crate::stages::{Stage, Stages};
use contract::{Action, Answer, Fault, FaultCode, Finding, Property, Successor, Successors, System, Trace, TraceStep, ViolationKind};
use std::sync::Arc;

/// The size of the automaton's state.
pub const TAIL: usize = 2;

/// The process of a step in which the system does not move.
pub(crate) const NOBODY: u32 = u32::MAX;

/// The part of a state for the step in which the system does not move.
const STUTTER: u32 = u32::MAX - 2;

/// The fault of a step that refutes the formula. Systems use small codes.
const REFUTED: u32 = u32::MAX;

/// The number of an expression over a product: the rank of the automaton's state, which never
/// decreases.
pub const AUTOMATON: u32 = u32::MAX;

/// Set in the fault of a proposition, in addition to the code that the system knows.
const OF_PROPOSITION: u32 = 1 << 31;

/// An edge of an automaton.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AutomatonEdge {
    /// The propositions that must hold in the source state.
    pub required: u64,
    /// The propositions that must not hold.
    pub forbidden: u64,
    /// The acceptance sets it is in, one bit each.
    pub marks: u64,
    /// The state it leads to; `None` if every continuation of the run is accepted.
    pub target: Option<u16>,
}

impl AutomatonEdge {
    /// Whether the edge can be taken where these propositions hold.
    pub fn is_enabled(&self, atoms: u64) -> bool {
        atoms & self.required == self.required && atoms & self.forbidden == 0
    }
}

/// A generalised Büchi automaton with acceptance on edges: it accepts the runs that take an edge of
/// each set infinitely often.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Automaton {
    /// The initial state.
    pub initial: u16,
    /// The edges of each state.
    pub edges: Vec<Vec<AutomatonEdge>>,
    /// The number of acceptance sets, at most 64. Without any, every infinite run is accepted.
    pub sets: u32,
}

impl Automaton {
    /// The marks of all acceptance sets.
    pub fn all_marks(&self) -> u64 {
        if self.sets >= 64 { u64::MAX } else { (1 << self.sets) - 1 }
    }

    /// Whether all edges of a state are in all sets. If this holds for each state that has an edge
    /// in any set, the automaton accepts by states.
    pub fn is_accepting(&self, state: u16) -> bool {
        let edges = self.leaving(state);
        !edges.is_empty() && edges.iter().all(|edge| edge.marks == self.all_marks())
    }

    /// Whether the automaton accepts by finite runs alone: none of its cycles is accepting.
    pub fn is_terminal(&self) -> bool {
        self.sets > 0 && self.edges.iter().flatten().all(|edge| edge.marks == 0 || edge.target.is_none())
    }

    /// A rank of each state: edges never lead to a state of lower rank.
    fn ranks(&self) -> Vec<i64> {
        let count = self.edges.len();
        // The fewer states can be reached, the higher the rank.
        let others = |from: usize| {
            let mut reached = self.reachable(from);
            reached[from] = true;
            reached.into_iter().filter(|reached| !reached).count() as i64
        };
        (0..count).map(others).collect()
    }

    /// For each state, whether it lies on a cycle that could be accepting: its strongly connected
    /// component has edges of every acceptance set.
    pub fn accepting_components(&self) -> Vec<bool> {
        let reached: Vec<Vec<bool>> = (0..self.edges.len()).map(|state| self.reachable(state)).collect();
        let together = |a: usize, b: usize| reached[a][b] && reached[b][a];
        let accepting = |state: usize| {
            let members = (0..self.edges.len()).filter(|&other| together(state, other));
            let inside = members.flat_map(|member| {
                let edges = self.edges[member].iter();
                edges.filter(move |edge| edge.target.is_some_and(|target| together(state, usize::from(target))))
            });
            let marks: Vec<u64> = inside.map(|edge| edge.marks).collect();
            !marks.is_empty() && marks.iter().fold(0, |all, marks| all | marks) == self.all_marks()
        };
        (0..self.edges.len()).map(accepting).collect()
    }

    /// Whether every cycle on which the automaton can accept is accepting.
    pub fn is_weak(&self) -> bool {
        Regions::of(self, &Classes::of(self)).are_weak()
    }

    /// Whether the automaton waits in its initial state before it can accept.
    pub fn begins_early(&self) -> bool {
        Stages::of(self).stage(self.initial) == Stage::Early
    }

    /// The states that can be reached by at least one edge.
    fn reachable(&self, from: usize) -> Vec<bool> {
        let mut reached = vec![false; self.edges.len()];
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            for target in self.edges[at].iter().filter_map(|edge| edge.target).map(usize::from) {
                if reached.get(target) == Some(&false) {
                    reached[target] = true;
                    open.push(target);
                }
            }
        }
        reached
    }

    fn leaving(&self, state: u16) -> &[AutomatonEdge] {
        self.edges.get(usize::from(state)).map_or(&[], |edges| edges)
    }
}

/// The property of a search in a product: no step refutes the formula, and every proposition can be
/// evaluated. Faults of the system itself are ignored, because they belong to another property.
#[derive(Clone, Copy, Debug, Default)]
pub struct Refutation;

impl Property for Refutation {
    fn fault(&self, code: FaultCode, _: bool) -> Answer {
        if code.get() & OF_PROPOSITION != 0 { Answer::Stop(Finding::Fault(code)) } else { Answer::Continue }
    }
}

/// The number of states that are expanded at once.
const AT_ONCE: usize = 16;

/// A system that moves in step with an automaton. A state is a state of the system followed by that
/// of the automaton.
#[derive(Clone)]
pub struct Product<S> {
    system: S,
    automaton: Arc<Automaton>,
    classes: Arc<Classes>,
    regions: Arc<Regions>,
    stages: Arc<Stages>,
    /// The only stage to which the automaton is followed, if it is restricted.
    to: Option<Stage>,
    /// The most edges that leave a state of the automaton; the numbers of actions depend on it.
    width: u32,
    /// The edges that the automaton can take from the state being expanded: their numbers and
    /// targets.
    edges: Vec<(u32, u16)>,
    /// The steps of the system, if each is combined with several edges.
    steps: Successors,
    /// The rank of each state of the automaton.
    ranks: Arc<[i64]>,
    /// Whether a system that cannot move stays where it is.
    stutters: bool,
}

impl<S: System> Product<S> {
    /// The product of a system that has the propositions and an automaton over them.
    pub fn new(system: S, automaton: Arc<Automaton>) -> Self {
        let width = automaton.edges.iter().map(Vec::len).max().unwrap_or(0).max(1) as u32;
        let (classes, stages) = (Arc::new(Classes::of(&automaton)), Arc::new(Stages::of(&automaton)));
        let regions = Arc::new(Regions::of(&automaton, &classes));
        let ranks = automaton.ranks().into();
        let (edges, steps) = (Vec::new(), Successors::new());
        Product { system, automaton, classes, regions, stages, to: None, width, edges, steps, ranks, stutters: true }
    }

    /// The product without the steps to the other stage. Steps that refute the formula belong to
    /// the early stage.
    pub(crate) fn only_to(self, stage: Stage) -> Self {
        Product { to: Some(stage), ..self }
    }

    /// Whether the automaton waits before it can accept, so that a search has two stages.
    pub(crate) fn begins_early(&self) -> bool {
        self.stages.stage(self.automaton.initial) == Stage::Early
    }

    /// The product in which only infinite runs of the system count.
    pub fn without_stutter(self) -> Self {
        Product { stutters: false, ..self }
    }

    /// The automaton.
    pub fn automaton(&self) -> &Automaton {
        &self.automaton
    }

    /// Whether the automaton accepts in a state of the product.
    pub fn is_accepting(&self, state: &[u8]) -> bool {
        self.automaton.is_accepting(split(state).1)
    }

    /// The system's part of a state of the product.
    pub fn system_state<'s>(&self, state: &'s [u8]) -> &'s [u8] {
        split(state).0
    }

    /// The system's action in an action of the product; `None` if the system did not move.
    pub fn system_action(&self, action: Action) -> Option<Action> {
        (action.process != NOBODY).then(|| Action::new(action.process, action.choice / self.width))
    }

    /// The regions of the states of the automaton.
    pub(crate) fn regions(&self) -> &Regions {
        &self.regions
    }

    /// The classes of the states of the automaton.
    pub(crate) fn classes(&self) -> &Classes {
        &self.classes
    }

    /// The automaton's part of a state of the product.
    pub(crate) fn automaton_state(&self, state: &[u8]) -> u16 {
        split(state).1
    }

    /// Replaces the automaton's part of an early state by its twin; returns `false` if it has none.
    pub(crate) fn make_twin(&self, state: &mut [u8]) -> bool {
        let place = state.last_chunk_mut::<TAIL>();
        let Some((place, twin)) = place.and_then(|place| self.stages.twin(u16::from_le_bytes(*place)).map(|twin| (place, twin))) else {
            return false;
        };
        *place = twin.to_le_bytes();
        true
    }

    /// Projects a trace of the product to the system: without the states of the automaton, and
    /// without the steps in which the system does not move or that only refute the formula. If the
    /// loop has no other steps, the last state is repeated.
    pub fn project(&self, trace: &Trace) -> Trace {
        let mut projected = Trace { initial: split(&trace.initial).0.to_vec(), ..Trace::default() };
        for (index, step) in trace.steps.iter().enumerate() {
            if trace.loop_start == Some(index) {
                projected.loop_start = Some(projected.steps.len());
            }
            if let Some(action) = self.system_action(step.action) {
                let state = step.state.as_deref().map(|state| split(state).0.to_vec());
                projected.steps.push(TraceStep { action, state });
            }
        }
        roll_back(&mut projected);
        projected
    }

    /// The acceptance sets, one bit each, of the step with `action` from a state with the automaton
    /// in `at`.
    pub(crate) fn marks(&self, at: u16, action: Action) -> u64 {
        let edges = self.automaton.leaving(at);
        edges.get((action.choice % self.width) as usize).map_or(0, |edge| edge.marks)
    }

    /// Puts the edges that the automaton can take from a state into `self.edges`. If one of them
    /// refutes the formula, appends that step instead and returns `false`.
    fn find_edges(&mut self, state: &[u8], at: u16, out: &mut Successors) -> bool {
        self.edges.clear();
        if self.to == Some(Stage::Early)
            && let Some(edge) = self.stages.only_early_edge(at)
        {
            self.edges.push(edge);
            return true;
        }
        let atoms = match self.system.atoms(state) {
            Ok(atoms) => atoms,
            Err(fault) => {
                settle(out, 0, fault.get() | OF_PROPOSITION);
                return false;
            }
        };
        let leaving = self.automaton.leaving(at);
        for (number, edge) in leaving.iter().enumerate().filter(|(_, edge)| edge.is_enabled(atoms)) {
            let stage = edge.target.map_or(Stage::Early, |target| self.stages.stage(target));
            if self.to.is_some_and(|to| to != stage) {
                continue;
            }
            match edge.target {
                // Edges that come from one guard may overlap.
                Some(target) if self.edges.iter().any(|&(known, to)| to == target && leaving[known as usize].marks == edge.marks) => {}
                Some(target) => self.edges.push((number as u32, target)),
                None => {
                    settle(out, number as u32, REFUTED);
                    return false;
                }
            }
        }
        true
    }

    /// Calls `generate` to append steps of the system, and combines each with the automaton's
    /// edges.
    fn in_step(&mut self, state: &[u8], out: &mut Successors, generate: impl FnOnce(&mut S, &[u8], &mut Successors)) {
        let (state, at) = split(state);
        if !self.find_edges(state, at, out) || self.edges.is_empty() {
            return;
        }
        let before = out.set_tail(out.tail() + TAIL);
        let first = out.len();
        if let [(number, target)] = self.edges[..] {
            generate(&mut self.system, state, out);
            let width = self.width;
            out.change_tails(first, |_, action, tail| {
                *action = numbered(*action, width, number);
                write_state(tail, target);
            });
        } else {
            self.steps.clear();
            self.steps.set_tail(out.tail());
            generate(&mut self.system, state, &mut self.steps);
            if self.steps.is_cut_short() {
                out.cut_short();
            }
            for index in 0..self.steps.len() {
                let action = self.steps.entries()[index].action;
                for &(number, target) in &self.edges {
                    fill(&mut self.steps, index, target);
                    out.push_from(&self.steps, index, numbered(action, self.width, number));
                }
            }
        }
        out.set_tail(before);
    }

    /// Expands, all at once, the first of `states` from which the automaton has exactly one edge.
    /// Returns their number, which is 0 if one of them has no steps.
    fn expand_at_once(&mut self, states: &[&[u8]], source: u32, out: &mut Successors) -> usize {
        let (mut inner, mut edges): ([&[u8]; AT_ONCE], _) = ([&[]; AT_ONCE], [(0, 0); AT_ONCE]);
        let (mark, first, mut count) = (out.mark(), out.len(), 0);
        for (state, (place, edge)) in states.iter().zip(inner.iter_mut().zip(&mut edges)) {
            let (state, at) = split(state);
            let unsettled = self.find_edges(state, at, out);
            let [only] = self.edges[..] else {
                out.rollback(mark);
                break;
            };
            if !unsettled {
                out.rollback(mark);
                break;
            }
            (*place, *edge) = (state, only);
            count += 1;
        }
        let before = out.set_tail(out.tail() + TAIL);
        let expanded = self.system.successors_of_all(&inner[..count], source, out);
        let (width, mut sources, mut last) = (self.width, 0, None);
        out.change_tails(first, |from, action, tail| {
            let (number, target) = edges[(from - source) as usize];
            *action = numbered(*action, width, number);
            write_state(tail, target);
            sources += usize::from(last.replace(from) != Some(from));
        });
        out.set_tail(before);
        if sources == expanded || !self.stutters {
            return expanded;
        }
        // A state without steps stutters, which is handled when states are expanded one at a time.
        out.rollback(mark);
        0
    }
}

impl<S: System> Acceptance for Product<S> {
    fn is_accepting(&self, state: &[u8]) -> bool {
        Product::is_accepting(self, state)
    }

    fn region(&self, state: &[u8]) -> Option<u32> {
        self.classes.mixed(split(state).1)
    }
}

/// Moves the start of the loop of a lasso as far forward as possible: the run is the same if the
/// last step before the loop equals the last step of the loop. The automaton may have needed a step
/// to enter its own loop.
fn roll_back(trace: &mut Trace) {
    while let Some(start @ 1..) = trace.loop_start {
        let last = trace.steps.len() - 1;
        if start > last || trace.steps[start - 1] != trace.steps[last] || trace.state_after(start - 1) != trace.state_after(last) {
            return;
        }
        trace.steps.pop();
        trace.loop_start = Some(start - 1);
    }
}

/// Appends the step that ends the run.
fn settle(out: &mut Successors, edge: u32, code: u32) {
    if let Some(code) = FaultCode::new(code) {
        out.fail(Action::new(NOBODY, edge), code, Successor::NO_STEP);
    }
}

/// The action of the product for an action of the system combined with edge number `edge`.
fn numbered(action: Action, width: u32, edge: u32) -> Action {
    Action::new(action.process, action.choice.saturating_mul(width).saturating_add(edge))
}

/// Writes the state of the automaton into the tail of an entry.
fn fill(out: &mut Successors, index: usize, target: u16) {
    if let Some(tail) = out.tail_mut(index) {
        write_state(tail, target);
    }
}

/// Writes the state of the automaton to the beginning of a tail, if there is one.
#[inline]
fn write_state(tail: &mut [u8], target: u16) {
    if let Some(place) = tail.first_chunk_mut::<TAIL>() {
        *place = target.to_le_bytes();
    }
}

/// The two parts of a state.
fn split(state: &[u8]) -> (&[u8], u16) {
    match state.split_last_chunk::<TAIL>() {
        Some((state, tail)) => (state, u16::from_le_bytes(*tail)),
        None => (state, 0),
    }
}

/// Appends the step in which a system that cannot move stays where it is.
fn stand_still<S: System>(system: &mut S, state: &[u8], out: &mut Successors) {
    let mark = out.mark();
    let first = out.len();
    system.successors(state, out);
    if out.len() > first {
        out.rollback(mark);
    } else if !out.is_cut_short() {
        out.push(state, Action::new(NOBODY, 0));
    }
}

impl<S: System> System for Product<S> {
    contract::forward_system!(system: give_up_when, get_ready);

    fn initial(&mut self, out: &mut Successors) {
        let before = out.set_tail(out.tail() + TAIL);
        let first = out.len();
        self.system.initial(out);
        for index in first..out.len() {
            fill(out, index, self.automaton.initial);
        }
        out.set_tail(before);
    }

    fn successors(&mut self, state: &[u8], out: &mut Successors) {
        let stutters = self.stutters;
        self.in_step(state, out, |system, state, out| {
            let first = out.len();
            system.successors(state, out);
            if stutters && out.len() == first && !out.is_cut_short() {
                out.push(state, Action::new(NOBODY, 0));
            }
        });
    }

    fn successors_of_all(&mut self, states: &[&[u8]], source: u32, out: &mut Successors) -> usize {
        let mut number = 0;
        while number < states.len() {
            number += self.expand_at_once(&states[number..], source + number as u32, out);
            if out.is_cut_short() {
                break;
            }
            let Some(state) = states.get(number) else { break };
            out.begin_source(source + number as u32);
            self.successors(state, out);
            if out.is_cut_short() {
                break;
            }
            number += 1;
        }
        number
    }

    /// In a state without steps, the automaton is stuck; this is not a deadlock of the system.
    fn is_valid_end(&mut self, _: &[u8]) -> bool {
        true
    }

    fn parts(&mut self, state: &[u8], out: &mut Vec<u32>) {
        self.system.parts(split(state).0, out);
        out.push(STUTTER);
    }

    fn expand_part(&mut self, state: &[u8], part: u32, out: &mut Successors) {
        let stutters = self.stutters;
        self.in_step(state, out, |system, state, out| match part {
            STUTTER if !stutters => {}
            STUTTER => stand_still(system, state, out),
            part => system.expand_part(state, part, out),
        });
    }

    fn values(&mut self, state: &[u8], atoms: &[u32], out: &mut Vec<i64>) -> Result<(), FaultCode> {
        let (state, at) = split(state);
        if !atoms.contains(&AUTOMATON) {
            return self.system.values(state, atoms, out);
        }
        for atom in atoms {
            match *atom {
                AUTOMATON => out.push(self.ranks.get(usize::from(at)).copied().unwrap_or(0)),
                atom => self.system.values(state, &[atom], out)?,
            }
        }
        Ok(())
    }

    fn describe_fault(&self, code: FaultCode) -> Fault {
        match code.get() {
            REFUTED => Fault::new(ViolationKind::Property, "the run so far violates the property, whatever comes"),
            code => FaultCode::new(code & !OF_PROPOSITION)
                .map_or_else(|| Fault::new(ViolationKind::Property, ""), |code| self.system.describe_fault(code)),
        }
    }
}
