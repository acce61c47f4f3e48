//! The step graph: for each control location the alternative steps that leave it, as guards and
//! effects.
//!
//! The graph is derived once from a verified program. Native code, reductions, heuristics, slicing
//! and translations read this one structure. The reference interpreter does not, so that the two
//! can be compared state by state.

#![forbid(unsafe_code)]

mod build;
mod expr;
mod facts;
mod footprint;
mod node;
mod text;

pub use build::TooLarge;
pub use expr::{Binary, ChannelQuery, Expr, ExprId, Pool, Temp, Traits, Unary, Var};
pub use facts::Facts;
pub use footprint::{Alternative, Channels, Footprint, Place};
pub use node::{Effect, Node, NodeId};

use build::Builder;
use bytecode::{Addr, AtomId, Location, Mode, Op, ProcessId, Verified};
use std::collections::{HashMap, VecDeque};

/// The steps of a program, or of a part of it.
#[derive(Clone, Debug, Default)]
pub struct StepGraph {
    pool: Pool,
    nodes: Vec<Node>,
    weights: Vec<u32>,
    locations: HashMap<(ProcessId, Location), NodeId>,
    prologues: HashMap<ProcessId, NodeId>,
    is_cut: bool,
    scheduler: footprint::Scheduler,
}

impl StepGraph {
    /// Derives the steps of a program.
    pub fn of(program: &Verified) -> Result<StepGraph, TooLarge> {
        let facts = Facts::of(program);
        let mut builder = Builder::new(program, &facts);
        let mut locations = HashMap::new();
        let mut prologues = HashMap::new();
        for (i, process) in program.program().processes.iter().enumerate() {
            let id = ProcessId::new(i).ok_or(TooLarge)?;
            for (l, &at) in program.locations().addresses(id).iter().enumerate() {
                locations.insert((id, Location::new(l).ok_or(TooLarge)?), builder.location(at)?);
            }
            if let Some(at) = process.prologue {
                prologues.insert(id, builder.prologue(at)?);
            }
        }
        Ok(StepGraph::from(builder, locations, prologues))
    }

    /// Derives the steps of one location, and of the locations to which deterministic sequences
    /// lead from there. No location is added when the weight of the graph exceeds `most`; then the
    /// graph [is cut](Self::is_cut).
    pub fn at(program: &Verified, facts: &Facts, ty: ProcessId, location: Location, most: u64) -> Result<StepGraph, TooLarge> {
        let mut builder = Builder::new(program, facts);
        let mut locations = HashMap::new();
        let mut open = VecDeque::from([location]);
        let mut weight = 0;
        while let Some(location) = open.pop_front() {
            if locations.contains_key(&(ty, location)) {
                continue;
            }
            if weight > most {
                return Ok(StepGraph { is_cut: true, ..StepGraph::from(builder, locations, HashMap::new()) });
            }
            let before = builder.nodes.len();
            let node = builder.location(program.locations().address(ty, location).ok_or(TooLarge)?)?;
            locations.insert((ty, location), node);
            weight += builder.weights[node.0 as usize] as u64;
            for node in &builder.nodes[before..] {
                if let Node::Step(Mode::Deterministic, step) = node {
                    open.extend(program.locations().after_step(*step));
                }
            }
        }
        Ok(StepGraph::from(builder, locations, HashMap::new()))
    }

    /// Derives the prologue of a type that has one.
    pub fn of_prologue(program: &Verified, facts: &Facts, ty: ProcessId) -> Result<StepGraph, TooLarge> {
        let mut builder = Builder::new(program, facts);
        let start = program.program().processes[ty.index()].prologue.ok_or(TooLarge)?;
        let prologues = HashMap::from([(ty, builder.prologue(start)?)]);
        Ok(StepGraph::from(builder, HashMap::new(), prologues))
    }

    /// Derives the value of an atom as one expression. Returns an error if it does not fit into one
    /// expression.
    pub fn of_atom(program: &Verified, facts: &Facts, atom: AtomId) -> Result<(StepGraph, ExprId), TooLarge> {
        let mut builder = Builder::new(program, facts);
        let start = program.program().atoms.get(atom.index()).ok_or(TooLarge)?.start;
        let node = builder.atom(start)?;
        let graph = StepGraph::from(builder, HashMap::new(), HashMap::new());
        match *graph.node(node) {
            Node::Value(expr) => Ok((graph, expr)),
            _ => Err(TooLarge),
        }
    }

    fn from(builder: Builder<'_>, locations: HashMap<(ProcessId, Location), NodeId>, prologues: HashMap<ProcessId, NodeId>) -> StepGraph {
        let scheduler = footprint::Scheduler::of(builder.program);
        StepGraph { pool: builder.pool, nodes: builder.nodes, weights: builder.weights, locations, prologues, is_cut: false, scheduler }
    }

    /// The expressions.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// All nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How many nodes and operations there are below a node, each counted as often as a path leads
    /// to it.
    pub fn weight(&self, id: NodeId) -> u32 {
        self.weights[id.0 as usize]
    }

    /// The node of a location.
    pub fn location(&self, process: ProcessId, location: Location) -> NodeId {
        self.locations[&(process, location)]
    }

    /// The node of a location, if it is part of this graph.
    pub fn find(&self, process: ProcessId, location: Location) -> Option<NodeId> {
        self.locations.get(&(process, location)).copied()
    }

    /// The locations of this graph, in no order.
    pub fn locations(&self) -> impl Iterator<Item = (ProcessId, Location, NodeId)> + '_ {
        self.locations.iter().map(|(&(process, location), &node)| (process, location, node))
    }

    /// Whether deterministic sequences lead to locations that are not part of this graph.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The node of a type's prologue.
    pub fn prologue(&self, process: ProcessId) -> Option<NodeId> {
        self.prologues.get(&process).copied()
    }
}

/// For each location of a type, whether a process can be there in a visible state: it is the entry,
/// or some step to it ends the transition. At the other locations a process is only in the middle
/// of a deterministic sequence.
pub fn resting(program: &Verified, ty: ProcessId) -> Vec<bool> {
    let (code, locations) = (&program.program().code, program.locations());
    let entry = program.program().follow_jumps(program.program().processes[ty.index()].entry);
    let mut rests = vec![false; locations.count(ty)];
    let steps = program.program().code_of(ty).filter(|&at| match code.get(at as usize) {
        Some(Op::Step { mode }) => *mode != Mode::Deterministic,
        _ => false,
    });
    let targets = steps.filter_map(|at| locations.after_step(Addr(at)));
    for location in targets.chain(entry.and_then(|at| locations.at(ty, at))) {
        rests[location.index()] = true;
    }
    rests
}
