//! Ranges of the values of expressions, derived within one step. This is enough to show that most
//! indices are inside their arrays.
//!
//! A variable has the values of its type, restricted by the conditions before.

use crate::steps::Relation;
use bytecode::{Layout, ProcessId};
use stepgraph::{Binary, Expr, ExprId, Pool, Var};

/// The least and the greatest value.
type Range = (i64, i64);

const ALL: Range = (i32::MIN as i64, i32::MAX as i64);

/// What is known about variables on a path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds {
    known: Vec<(Var, i64, i64)>,
}

/// Where expressions and variables are.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub pool: &'a Pool,
    pub layout: &'a Layout,
    pub ty: ProcessId,
}

impl Scope<'_> {
    fn slot(&self, var: Var) -> &bytecode::Slot {
        match var {
            Var::Global(id) => &self.layout.globals[id.index()],
            Var::Local(id) => &self.layout.processes[self.ty.index()].locals[id.index()],
        }
    }
}

impl Bounds {
    /// Records that a condition holds.
    pub fn assume(&mut self, expr: ExprId, expected: bool, scope: Scope<'_>) {
        let Expr::Binary(op, left, right) = scope.pool.get(expr) else { return };
        let relation = if expected { Some(*op) } else { crate::steps::opposite(*op) };
        let Some(relation) = relation else { return };
        if let (Expr::Load(var), Expr::Const(c)) = (scope.pool.get(*left), scope.pool.get(*right)) {
            self.narrow(*var, relation, i64::from(*c), scope);
        } else if let (Expr::Const(c), Expr::Load(var)) = (scope.pool.get(*left), scope.pool.get(*right))
            && let Some(relation) = crate::steps::mirrored(relation)
        {
            self.narrow(*var, relation, i64::from(*c), scope);
        }
    }

    fn narrow(&mut self, var: Var, relation: Relation, c: i64, scope: Scope<'_>) {
        let (low, high) = self.variable(var, scope);
        let (low, high) = match relation {
            Binary::Eq => (low.max(c), high.min(c)),
            Binary::Lt => (low, high.min(c - 1)),
            Binary::Le => (low, high.min(c)),
            Binary::Gt => (low.max(c + 1), high),
            Binary::Ge => (low.max(c), high),
            _ => return,
        };
        self.forget(var);
        self.known.push((var, low, high));
    }

    /// Records that the variable is written.
    pub fn forget(&mut self, var: Var) {
        self.known.retain(|(known, ..)| *known != var);
    }

    fn variable(&self, var: Var, scope: Scope<'_>) -> Range {
        let known = self.known.iter().find(|(known, ..)| *known == var);
        known.map_or_else(|| scope.slot(var).ty.range(), |(_, low, high)| (*low, *high))
    }

    /// Whether an index may lie outside a variable.
    pub fn misses(&self, var: Var, index: ExprId, scope: Scope<'_>) -> bool {
        let (low, high) = self.range(index, scope);
        low < 0 || high >= scope.slot(var).elements as i64
    }

    /// Whether evaluating an expression may be a fault. `channel` says whether a channel is known
    /// to exist.
    pub fn may_fault(&self, expr: ExprId, scope: Scope<'_>, channel: &dyn Fn(ExprId) -> bool) -> bool {
        if !scope.pool.traits(expr).faults {
            return false;
        }
        if scope.pool.weight(expr) > 256 {
            return true;
        }
        let within = |index: ExprId, length: usize| {
            let (low, high) = self.range(index, scope);
            low >= 0 && high < length as i64
        };
        let own = match scope.pool.get(expr) {
            Expr::Element(var, index, _) => !within(*index, scope.slot(*var).elements),
            Expr::Checked(index, length, _) => !within(*index, *length as usize),
            Expr::Ranged(value, least, greatest, _) => {
                let (low, high) = self.range(*value, scope);
                low < i64::from(*least) || high > i64::from(*greatest)
            }
            Expr::Fitting(op, a, b, _) => {
                let (low, high) = exact(*op, self.range(*a, scope), self.range(*b, scope));
                low < ALL.0 || high > ALL.1
            }
            Expr::Div(_, by, _) | Expr::Mod(_, by, _) => {
                let (low, high) = self.range(*by, scope);
                low <= 0 && high >= 0
            }
            Expr::Channel(_, of, _) => !channel(*of),
            Expr::Choose(c, a, b) => {
                // Each side is evaluated under its condition.
                let mut yes = self.clone();
                yes.assume(*c, true, scope);
                let mut no = self.clone();
                no.assume(*c, false, scope);
                return self.may_fault(*c, scope, channel) || yes.may_fault(*a, scope, channel) || no.may_fault(*b, scope, channel);
            }
            Expr::RemoteElement(..) | Expr::Poll { .. } => true,
            _ => false,
        };
        let mut operands = false;
        scope.pool.get(expr).operands(|operand| operands |= self.may_fault(operand, scope, channel));
        own || operands
    }

    /// The values of an expression.
    fn range(&self, expr: ExprId, scope: Scope<'_>) -> Range {
        if scope.pool.weight(expr) > 64 {
            return ALL;
        }
        let fits = |(low, high): Range| if low >= ALL.0 && high <= ALL.1 { (low, high) } else { ALL };
        match scope.pool.get(expr) {
            Expr::Const(value) => (i64::from(*value), i64::from(*value)),
            Expr::Load(var) => self.variable(*var, scope),
            Expr::Element(var, ..) => scope.slot(*var).ty.range(),
            Expr::Checked(index, ..) => self.range(*index, scope),
            Expr::Ranged(value, least, greatest, _) => {
                let (low, high) = self.range(*value, scope);
                let (low, high) = (low.max(i64::from(*least)), high.min(i64::from(*greatest)));
                if low <= high { (low, high) } else { ALL }
            }
            Expr::Fitting(op, a, b, _) => {
                let (low, high) = exact(*op, self.range(*a, scope), self.range(*b, scope));
                let (low, high) = (low.max(ALL.0), high.min(ALL.1));
                if low <= high { (low, high) } else { ALL }
            }
            Expr::Pid => (0, 254),
            Expr::ProcessCount => (0, 255),
            Expr::Unary(stepgraph::Unary::Lnot, _) => (0, 1),
            Expr::Choose(_, a, b) => {
                let (a, b) = (self.range(*a, scope), self.range(*b, scope));
                (a.0.min(b.0), a.1.max(b.1))
            }
            Expr::Mod(a, b, _) => {
                let (a, b) = (self.range(*a, scope), self.range(*b, scope));
                let most = b.0.abs().max(b.1.abs()) - 1;
                (if a.0 >= 0 { 0 } else { -most }, most.min(a.1.max(0)))
            }
            Expr::Div(a, b, _) => {
                let (a, b) = (self.range(*a, scope), self.range(*b, scope));
                if a.0 >= 0 && b.0 > 0 { (a.0 / b.1, a.1 / b.0) } else { ALL }
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.range(*a, scope), self.range(*b, scope));
                match op {
                    Binary::Add | Binary::Sub | Binary::Mul => fits(exact(*op, a, b)),
                    Binary::And if b.0 >= 0 => (0, b.1),
                    Binary::And if a.0 >= 0 => (0, a.1),
                    Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge => (0, 1),
                    _ => ALL,
                }
            }
            _ => ALL,
        }
    }
}

/// The values of a sum, difference or product of values in two ranges, before they are cut to 32
/// bits.
fn exact(op: Binary, a: Range, b: Range) -> Range {
    match op {
        Binary::Add => (a.0 + b.0, a.1 + b.1),
        Binary::Sub => (a.0 - b.1, a.1 - b.0),
        _ => {
            let all = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
            (all.into_iter().min().unwrap_or(ALL.0), all.into_iter().max().unwrap_or(ALL.1))
        }
    }
}
