//! Expressions whose value no step changes: those over constants, the number of the process itself,
//! and variables that are never stored into after they got their first value.

use bytecode::{GlobalId, LocalId, Op, Verified};
use std::collections::HashSet;
use stepgraph::{Effect, Expr, ExprId, Node, NodeId, Pool, StepGraph, Var};

/// The variables into which some instruction stores.
pub(crate) struct Steady {
    globals: HashSet<GlobalId>,
    /// Locals of any type, by their number alone.
    locals: HashSet<LocalId>,
}

/// Deeper expressions are taken to change.
const MOST_DEPTH: u32 = 32;

impl Steady {
    pub fn of(program: &Verified) -> Steady {
        let mut found = Steady { globals: HashSet::new(), locals: HashSet::new() };
        for op in &program.program().code {
            match *op {
                Op::Stg { var } | Op::Stgx { var } => drop(found.globals.insert(var)),
                Op::Stl { var } | Op::Stlx { var } => drop(found.locals.insert(var)),
                _ => {}
            }
        }
        found
    }

    /// Whether the expression has the same value in all states of a process.
    pub fn is_steady(&self, pool: &Pool, expr: ExprId) -> bool {
        self.look(pool, expr, MOST_DEPTH)
    }

    fn look(&self, pool: &Pool, expr: ExprId, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let known = |var: &Var| match var {
            Var::Global(id) => !self.globals.contains(id),
            Var::Local(id) => !self.locals.contains(id),
        };
        let own = match pool.get(expr) {
            Expr::Const(_) | Expr::Pid => true,
            Expr::Load(var) | Expr::Element(var, ..) => known(var),
            Expr::Checked(..)
            | Expr::Ranged(..)
            | Expr::Fitting(..)
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Div(..)
            | Expr::Mod(..)
            | Expr::Choose(..) => true,
            _ => false,
        };
        let mut operands = true;
        pool.get(expr).operands(|operand| operands = operands && self.look(pool, operand, depth));
        own && operands
    }
}

/// Whether no step sends or receives more than one message.
pub(crate) fn moves_one_message(graph: &StepGraph) -> bool {
    // For each node, whether a message is sent or received there or later in the same step.
    let is_message = |node: &Node| matches!(node, Node::Do(Effect::Send { .. } | Effect::Receive { .. }, _));
    let mut below: Vec<Option<bool>> = vec![None; graph.nodes().len()];
    let mut open: Vec<NodeId> = graph.locations().map(|(_, _, node)| node).collect();
    while let Some(&node) = open.last() {
        if below[node.0 as usize].is_some() {
            open.pop();
            continue;
        }
        let found = graph.node(node);
        let missing: Vec<NodeId> = found.following().filter(|next| below[next.0 as usize].is_none()).collect();
        if !missing.is_empty() {
            open.extend(missing);
            continue;
        }
        open.pop();
        let later = found.following().any(|next| below[next.0 as usize] == Some(true));
        if later && is_message(found) {
            return false;
        }
        below[node.0 as usize] = Some(later || is_message(found));
    }
    true
}
