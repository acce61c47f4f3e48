//! The step graph: for each control location the alternative steps that leave it, as guards and effects.
//!
//! It is derived once from a verified program. Native code, reductions, heuristics, slicing and translations read this one structure; the
//! reference interpreter does not, so that the two can be compared state by state.

#![forbid(unsafe_code)]

mod build;
mod expr;
mod footprint;
mod node;
mod text;

pub use build::TooLarge;
pub use expr::{Binary, ChannelQuery, Expr, ExprId, Pool, Temp, Traits, Unary, Var};
pub use footprint::{Alternative, Channels, Footprint, Place};
pub use node::{Effect, Node, NodeId};

use bytecode::{Addr, Location, Mode, Op, ProcessId, Verified};

/// The steps of a program.
#[derive(Clone, Debug)]
pub struct StepGraph {
    pool: Pool,
    nodes: Vec<Node>,
    locations: Vec<Vec<NodeId>>,
    /// For each location, whether a process can be seen there.
    rests: Vec<Vec<bool>>,
    prologues: Vec<Option<NodeId>>,
}

impl StepGraph {
    /// Derives the steps of a program.
    pub fn of(program: &Verified) -> Result<StepGraph, TooLarge> {
        let mut builder = build::Builder::new(program);
        let mut locations = Vec::new();
        let mut rests = Vec::new();
        let mut prologues = Vec::new();
        for (i, process) in program.program().processes.iter().enumerate() {
            let id = ProcessId::new(i).ok_or(TooLarge)?;
            let nodes = program.locations().addresses(id).iter().map(|&at| builder.location(at));
            locations.push(nodes.collect::<Result<_, _>>()?);
            rests.push(resting(program, id));
            prologues.push(process.prologue.map(|at| builder.prologue(at)).transpose()?);
        }
        Ok(StepGraph { pool: builder.pool, nodes: builder.nodes, locations, rests, prologues })
    }

    /// The expressions.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The node of a location.
    pub fn location(&self, process: ProcessId, location: Location) -> NodeId {
        self.locations[process.index()][location.index()]
    }

    /// Whether a process can be seen at a location: it is the entry, or a step leads there that does not go on at once. At the others a
    /// process is only in the middle of a deterministic sequence.
    pub fn rests(&self, process: ProcessId, location: Location) -> bool {
        self.rests[process.index()][location.index()]
    }

    /// The node of a type's prologue.
    pub fn prologue(&self, process: ProcessId) -> Option<NodeId> {
        self.prologues[process.index()]
    }
}

fn resting(program: &Verified, ty: ProcessId) -> Vec<bool> {
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
