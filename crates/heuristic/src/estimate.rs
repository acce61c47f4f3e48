//! The estimate of a state: the fewest steps to any of the goals.

use crate::automata::Automaton;
use crate::formula::{Count, Formula, Maker, all};
use crate::goals::{Goals, Site};
use crate::steady::{Steady, moves_one_message};
use crate::view::{Parts, Process, View};
use bytecode::{AtomId, Layout, Mode, Op, ProcessId, Verified};
use contract::{FAR, Heuristic};
use std::collections::VecDeque;
use std::sync::Arc;
use stepgraph::{Facts, Pool, StepGraph, TooLarge};

/// How the distances of conditions that must all become true are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// By the greatest: a lower bound.
    Max,
    /// By the sum.
    Sum,
}

impl Combine {
    pub(crate) fn of(self, terms: impl Iterator<Item = u32>) -> u32 {
        match self {
            Combine::Max => terms.max().unwrap_or(0),
            Combine::Sum => terms.fold(0, u32::saturating_add),
        }
    }
}

/// The goal of a search.
#[derive(Clone, Debug)]
pub enum Goal {
    /// A deadlock, a failed assertion or a run-time error, as selected here.
    Safety {
        /// States in which nothing can move.
        deadlocks: bool,
        /// Assertions that fail.
        assertions: bool,
        /// Run-time errors.
        errors: bool,
    },
    /// An edge of an automaton that moves in step with the program. Its state follows that of the
    /// program, in two bytes.
    Automaton {
        /// Its edges.
        edges: Vec<Edge>,
    },
    /// A state of the program, followed by a tail of other bytes.
    State {
        /// The state, with its tail.
        state: Vec<u8>,
        /// The length of the tail.
        tail: usize,
    },
}

/// An edge of an automaton.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The state that it leaves.
    pub source: u16,
    /// The state that it leads to; nothing if everything is accepted after it.
    pub target: Option<u16>,
    /// The atoms that must hold.
    pub required: Vec<AtomId>,
    /// The atoms that must not hold.
    pub forbidden: Vec<AtomId>,
    /// Whether taking it is the goal.
    pub is_goal: bool,
}

/// Estimates states of a program.
#[derive(Clone)]
pub struct Estimator {
    pub(crate) inner: Arc<Inner>,
    parts: Parts,
}

pub(crate) struct Inner {
    pub program: Arc<Verified>,
    pub pool: Pool,
    pub automata: Vec<Automaton>,
    pub goals: Vec<Goals>,
    pub goal: Goal,
    pub combine: Combine,
    /// For each state of the goal's automaton, the goal edges: how many edges come before, and what
    /// must hold.
    pub claims: Vec<Vec<Claim>>,
    /// The goal edges, to be described.
    pub edges: Vec<GoalEdge>,
    /// For each process of the state that is the goal, its type and the transitions to its
    /// location.
    targets: Vec<(ProcessId, Vec<u32>)>,
    one_by_one: bool,
    /// For each type that can be started, the fewest transitions of a new process until it fails.
    newborn: Vec<Option<u32>>,
}

/// A goal edge, as seen from a state of the automaton.
pub(crate) struct Claim {
    pub edges_before: u32,
    /// The conditions of the edge, term by term, each over expressions of its own.
    pub label: Vec<(Arc<Pool>, Formula)>,
}

/// A goal edge, as it is described.
pub(crate) struct GoalEdge {
    pub source: u16,
    pub target: Option<u16>,
    /// For each term, its text and its condition.
    pub terms: Vec<(String, Formula)>,
    /// For each state of the automaton, how many edges come before this one.
    pub distances: Vec<u32>,
}

impl Estimator {
    /// Estimates the distance to `goal`.
    pub fn new(program: &Arc<Verified>, goal: Goal, combine: Combine) -> Result<Estimator, TooLarge> {
        let (graph, steady) = (StepGraph::of(program)?, Steady::of(program));
        let types = (0..program.program().processes.len()).filter_map(ProcessId::new);
        let automata: Vec<Automaton> = types.clone().map(|ty| Automaton::of(program, &graph, ty)).collect();
        let goals: Vec<Goals> = types.map(|ty| Goals::of(program, &graph, &automata, &steady, ty, combine == Combine::Sum)).collect();
        let code = &program.program().code;
        // A sequence within one transition may send and receive many messages.
        let bursts = |op: &Op| matches!(op, Op::Step { mode: Mode::Invisible | Mode::Deterministic });
        let one_by_one = !code.iter().any(bursts) && moves_one_message(&graph);
        let started = |ty: usize| goals.iter().any(|goals: &Goals| goals.starts[ty].is_some());
        let assertions_only = matches!(goal, Goal::Safety { errors: false, .. });
        let newborn =
            (0..automata.len()).map(|ty| started(ty).then(|| goals[ty].fewest_after_entry(&automata[ty], assertions_only))).collect();
        let (claims, edges) = match &goal {
            Goal::Automaton { edges } => claims(program, edges, &automata, &steady),
            Goal::Safety { .. } | Goal::State { .. } => Default::default(),
        };
        let targets = match &goal {
            Goal::State { state, tail } => {
                let mut parts = Parts::default();
                parts.read(program.layout(), &state[..state.len().saturating_sub(*tail)]);
                let target = |process: &Process| (process.ty, automata[process.ty.index()].distances_by_number(process.location));
                parts.processes.iter().map(target).collect()
            }
            _ => Vec::new(),
        };
        let pool = graph.pool().clone();
        let inner =
            Inner { program: Arc::clone(program), pool, automata, goals, goal, combine, claims, edges, targets, one_by_one, newborn };
        Ok(Estimator { inner: Arc::new(inner), parts: Parts::default() })
    }
}

impl Inner {
    pub fn layout(&self) -> &Layout {
        self.program.layout()
    }

    fn count<'a>(&'a self, state: &'a [u8], parts: &'a Parts, me: Option<usize>, pool: &'a Pool) -> Count<'a> {
        let view = View { state, layout: self.layout(), parts, me };
        Count { view, pool, combine: self.combine, one_by_one: self.one_by_one }
    }

    /// The fewest steps of a process to one of the sites, including those until its condition
    /// holds. If they are at most `enough`, any such number will do.
    fn nearest(&self, sites: &[Site], count: &Count<'_>, at: usize, enough: u32) -> u32 {
        let mut best = FAR;
        for site in sites {
            if best <= enough {
                break;
            }
            let way = site.distances.get(at).copied().unwrap_or(0);
            if way < best {
                best = best.min(self.combine.of([way, count.distance(&site.condition)].into_iter()));
            }
        }
        best
    }

    fn deadlock(&self, state: &[u8], parts: &Parts) -> u32 {
        let mut all = 0;
        for (me, process) in parts.processes.iter().enumerate() {
            let count = self.count(state, parts, Some(me), &self.pool);
            // A process that is nearer than the farthest one so far does not change the maximum.
            let enough = if self.combine == Combine::Max { all } else { 0 };
            let own = self.nearest(&self.goals[process.ty.index()].stuck, &count, process.location.index(), enough);
            all = self.combine.of([all, own].into_iter());
        }
        all
    }

    fn failure(&self, state: &[u8], parts: &Parts, assertions: bool, errors: bool) -> u32 {
        let mut best = FAR;
        for (me, process) in parts.processes.iter().enumerate() {
            let goals = &self.goals[process.ty.index()];
            let at = process.location.index();
            if errors {
                best = best.min(goals.errors[at]);
            }
            if assertions && !goals.assertions.is_empty() {
                let count = self.count(state, parts, Some(me), &self.pool);
                best = best.min(self.nearest(&goals.assertions, &count, at, 0));
            }
        }
        // Processes that do not exist yet can fail too.
        for (ty, newborn) in self.newborn.iter().enumerate() {
            let Some(steps) = newborn.filter(|&steps| steps != FAR) else { continue };
            let ways = parts.processes.iter().filter_map(|process| {
                let starts = self.goals[process.ty.index()].starts[ty].as_ref()?;
                starts.get(process.location.index()).copied()
            });
            let started = ways.min().unwrap_or(FAR);
            // If no existing process can start it, one that is started later may.
            let started = if started == FAR && self.can_come(parts, ty) { 0 } else { started };
            best = best.min(started.saturating_add(steps));
        }
        // The step that fails counts too.
        best.saturating_add(1)
    }

    /// Whether a process of a type can be started by one that is started by one that exists.
    fn can_come(&self, parts: &Parts, wanted: usize) -> bool {
        let mut open: Vec<usize> = Vec::new();
        let reachable = |ty: usize, at: Option<usize>, open: &mut Vec<usize>| {
            for (other, starts) in self.goals[ty].starts.iter().enumerate() {
                let way = starts.as_ref().map_or(FAR, |starts| at.map_or(0, |at| starts[at]));
                if way != FAR && !open.contains(&other) {
                    open.push(other);
                }
            }
        };
        parts.processes.iter().for_each(|process| reachable(process.ty.index(), Some(process.location.index()), &mut open));
        let mut next = 0;
        while next < open.len() {
            let ty = open[next];
            reachable(ty, self.automata[ty].entry.map(|entry| entry.index()), &mut open);
            next += 1;
        }
        open.contains(&wanted)
    }

    fn claim(&self, state: &[u8], parts: &Parts, at: usize) -> u32 {
        let mut best = FAR;
        for Claim { edges_before, label } in self.claims.get(at).map_or(&[][..], |claims| claims) {
            if *edges_before < best {
                let terms = label.iter().map(|(pool, term)| self.count(state, parts, None, pool).distance(term));
                let label = self.combine.of(terms);
                best = best.min((*edges_before).max(label));
            }
        }
        // The edge that is taken counts too.
        best.saturating_add(1)
    }

    pub fn estimate(&self, state: &[u8], parts: &mut Parts) -> u32 {
        let (state, tail) = match (&self.goal, state.split_last_chunk::<2>()) {
            (Goal::Automaton { .. }, Some((state, tail))) => (state, usize::from(u16::from_le_bytes(*tail))),
            (Goal::State { tail, .. }, _) => (&state[..state.len().saturating_sub(*tail)], 0),
            _ => (state, 0),
        };
        if !parts.read(self.layout(), state) {
            return 0;
        }
        match self.goal {
            Goal::Automaton { .. } => self.claim(state, parts, tail),
            // At least one step is needed to reach the state.
            Goal::State { .. } => self
                .combine
                .of(self.targets.iter().zip(&parts.processes).map(
                    |((ty, distances), process)| {
                        if process.ty == *ty { distances[process.location.index()] } else { 1 }
                    },
                ))
                .max(1),
            Goal::Safety { deadlocks, assertions, errors } => {
                let stuck = if deadlocks { self.deadlock(state, parts) } else { FAR };
                let failed = if assertions || errors { self.failure(state, parts, assertions, errors) } else { FAR };
                stuck.min(failed)
            }
        }
    }
}

/// For an automaton with more edges, the estimate is only that one edge must be taken.
const MOST_EDGES: usize = 512;

/// For each state of an automaton, the goal edges that can be reached from it; and all goal edges.
fn claims(program: &Verified, edges: &[Edge], automata: &[Automaton], steady: &Steady) -> (Vec<Vec<Claim>>, Vec<GoalEdge>) {
    let facts = Facts::of(program);
    let states = edges.iter().flat_map(|edge| [Some(edge.source), edge.target]).flatten().max().map_or(0, |most| usize::from(most) + 1);
    let mut claims: Vec<Vec<Claim>> = (0..states).map(|_| Vec::new()).collect();
    if edges.len() > MOST_EDGES {
        claims.iter_mut().for_each(|claims| claims.push(Claim { edges_before: 0, label: Vec::new() }));
        return (claims, Vec::new());
    }
    let mut goals = Vec::new();
    for goal in edges.iter().filter(|edge| edge.is_goal) {
        // Backwards from the state that the edge leaves.
        let mut distance = vec![FAR; states];
        distance[usize::from(goal.source)] = 0;
        let mut open = VecDeque::from([goal.source]);
        while let Some(at) = open.pop_front() {
            let next = distance[usize::from(at)] + 1;
            for edge in edges.iter().filter(|edge| edge.target == Some(at)) {
                let known = &mut distance[usize::from(edge.source)];
                if *known == FAR {
                    *known = next;
                    open.push_back(edge.source);
                }
            }
        }
        let term = |atom: AtomId, expected: bool| -> Option<(Arc<Pool>, Formula)> {
            let (graph, expr) = StepGraph::of_atom(program, &facts, atom).ok()?;
            let formula = Maker { pool: graph.pool(), automata, steady }.of_expr(expr, expected);
            Some((Arc::new(graph.pool().clone()), all(vec![formula])))
        };
        let all = goal.required.iter().map(|&atom| (atom, true)).chain(goal.forbidden.iter().map(|&atom| (atom, false)));
        let label: Vec<(Arc<Pool>, Formula)> = all.clone().filter_map(|(atom, expected)| term(atom, expected)).collect();
        let name = |atom: AtomId, expected: bool| {
            let name = program.program().atoms.get(atom.index()).map_or("?", |atom| atom.name.as_str());
            if expected { name.to_owned() } else { format!("!({name})") }
        };
        let texts = all.filter(|&(atom, expected)| term(atom, expected).is_some()).map(|(atom, expected)| name(atom, expected));
        let terms = texts.zip(label.iter().map(|(_, formula)| formula.clone())).collect();
        goals.push(GoalEdge { source: goal.source, target: goal.target, terms, distances: distance.clone() });
        for (state, &edges_before) in distance.iter().enumerate().filter(|(_, distance)| **distance != FAR) {
            claims[state].push(Claim { edges_before, label: label.clone() });
        }
    }
    (claims, goals)
}

impl Heuristic for Estimator {
    fn estimate(&mut self, state: &[u8]) -> u32 {
        let Estimator { inner, parts } = self;
        inner.estimate(state, parts)
    }

    fn is_lower_bound(&self) -> bool {
        self.inner.combine == Combine::Max
    }

    fn describe(&self) -> String {
        self.explain()
    }

    fn clone_heuristic(&self) -> Box<dyn Heuristic> {
        Box::new(self.clone())
    }
}
