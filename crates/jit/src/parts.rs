//! The parts into which a large function is divided.
//!
//! Three kinds of code can become functions of their own: alternatives that are tried before
//! anything was written, expressions, and the continuation of a deterministic sequence at a
//! location. Functions of the usual size are not divided, because a call costs time. An expression
//! that a large graph needs in several places is compiled once and called there.

use crate::emit::Kind;
use bytecode::{Location, ProcessId};
use cranelift_module::FuncId;
use std::collections::HashMap;
use stepgraph::{ExprId, Node, NodeId, StepGraph};

/// A part of the code of a location.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Part {
    /// Everything below a node: nothing is moved out yet.
    Whole(NodeId),
    /// These alternatives, one after the other; whether an offer is not yet received.
    Alternatives { nodes: Vec<NodeId>, answering: bool },
    /// An expression; whether the copy is to be read.
    Value { expr: ExprId, dirty: bool },
    /// A deterministic sequence from a location on; how many copies were kept when it began.
    Sequence { location: Location, saves: u32 },
}

/// The point at which a deterministic sequence continues in another function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Sequence {
    pub ty: ProcessId,
    pub location: Location,
    pub saves: u32,
}

/// The parts of the code that is made from one graph.
pub(crate) struct Parts {
    pub ty: ProcessId,
    /// Functions that are called and not made yet.
    pub open: Vec<(Part, Kind, FuncId)>,
    values: HashMap<Part, FuncId>,
    /// For each expression, whether it is worth a function because it is needed several times;
    /// empty if nothing is large.
    shared: Vec<bool>,
}

impl Parts {
    /// The largest number of nodes and operations of a function that is not divided.
    pub const LIMIT: u32 = 3000;
    /// The least weight of a part.
    pub const LEAST: u32 = 64;
    /// The least weight of an expression that is compiled once for several places.
    const LEAST_SHARED: u32 = 100;

    pub fn of(graph: &StepGraph, ty: ProcessId) -> Parts {
        let weight: u64 = graph.locations().map(|(_, _, node)| graph.weight(node) as u64).sum();
        let shared = if weight > Parts::LIMIT as u64 { shared(graph) } else { Vec::new() };
        Parts { ty, open: Vec::new(), values: HashMap::new(), shared }
    }

    pub fn known(&self, part: &Part) -> Option<FuncId> {
        self.values.get(part).copied()
    }

    pub fn add(&mut self, part: Part, kind: Kind, id: FuncId) {
        if kind == Kind::Value {
            self.values.insert(part.clone(), id);
        }
        self.open.push((part, kind, id));
    }

    /// Whether an expression is worth a function of its own because it is needed several times.
    pub fn is_shared(&self, expr: ExprId) -> bool {
        self.shared.get(expr.0 as usize).copied().unwrap_or(false)
    }
}

/// For each expression, whether it is large and needed several times.
fn shared(graph: &StepGraph) -> Vec<bool> {
    let pool = graph.pool();
    let mut uses = vec![0_u8; pool.len()];
    let mut count = |expr: ExprId| uses[expr.0 as usize] = uses[expr.0 as usize].saturating_add(1);
    for node in graph.nodes() {
        node.exprs(&mut count);
    }
    for i in 0..pool.len() as u32 {
        pool.get(ExprId(i)).operands(&mut count);
    }
    let is_shared = |(i, uses): (usize, u8)| {
        let expr = ExprId(i as u32);
        uses > 1 && pool.weight(expr) >= Parts::LEAST_SHARED && !pool.traits(expr).depends_on_path
    };
    uses.into_iter().enumerate().map(is_shared).collect()
}

/// The alternatives of a node in groups, each for a function of its own.
pub(crate) fn groups(graph: &StepGraph, start: NodeId) -> Vec<Vec<NodeId>> {
    let mut groups: Vec<Vec<NodeId>> = Vec::new();
    let mut weight = u32::MAX;
    let mut add = |node: NodeId| {
        weight = weight.saturating_add(graph.weight(node));
        match groups.last_mut() {
            Some(group) if weight <= Parts::LIMIT / 2 => group.push(node),
            _ => {
                weight = graph.weight(node);
                groups.push(vec![node]);
            }
        }
    };
    let mut id = start;
    while let Node::Choice(first, second) = graph.node(id) {
        add(*first);
        id = *second;
    }
    add(id);
    groups
}
