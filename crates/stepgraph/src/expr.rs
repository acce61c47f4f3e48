//! Expressions: what a guard or an effect computes, as a tree instead of stack operations.
//!
//! Expressions are hash-consed: equal ones have the same [`ExprId`]. Constants are folded when an
//! expression is made. An operation that can fault keeps the address of its instruction and is
//! never folded away.

use bytecode::{Addr, FieldMask, GlobalId, LocalId, Location, ProcessId, Receive};
use std::collections::HashMap;

/// An expression in a [`Pool`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ExprId(pub u32);

/// A value computed earlier on the same path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Temp(pub u16);

/// Operations on one value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Unary {
    Neg,
    Not,
    Lnot,
}

/// Operations on two values that cannot fault.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// A question to a channel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum ChannelQuery {
    Length,
    Empty,
    Full,
}

/// A variable of the state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Var {
    /// A global.
    Global(GlobalId),
    /// A local of the process that executes.
    Local(LocalId),
}

/// An expression. Operands are evaluated from left to right.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Expr {
    /// A constant.
    Const(i32),
    /// A value computed earlier.
    Temp(Temp),
    /// A scalar variable.
    Load(Var),
    /// An element of an array; a fault if the index is outside.
    Element(Var, ExprId, Addr),
    /// A local of another process of a given type; 0 if there is no such process.
    Remote(ExprId, ProcessId, LocalId),
    /// An element of a local array of another process.
    RemoteElement(ExprId, ProcessId, LocalId, ExprId, Addr),
    /// The value itself, after a check that it is an index below the length.
    Checked(ExprId, u32, Addr),
    /// The value itself, after a check that it lies between two others.
    Ranged(ExprId, i32, i32, Addr),
    /// A sum, difference or product; faults if it does not fit.
    Fitting(Binary, ExprId, ExprId, Addr),
    /// An operation on one value.
    Unary(Unary, ExprId),
    /// An operation on two values.
    Binary(Binary, ExprId, ExprId),
    /// A quotient; faults at 0.
    Div(ExprId, ExprId, Addr),
    /// A remainder; faults at 0.
    Mod(ExprId, ExprId, Addr),
    /// The second if the first is not zero, otherwise the third. Only one of them is evaluated.
    Choose(ExprId, ExprId, ExprId),
    /// The number of the process that executes.
    Pid,
    /// How many processes there are.
    ProcessCount,
    /// The process that moved last.
    Last,
    /// Whether nothing else can move.
    Timeout,
    /// Whether no process is at a progress location.
    NoProgress,
    /// Whether a process can move.
    Enabled(ExprId),
    /// The location number of a process.
    LocationOf(ExprId),
    /// Whether a process of a type is at a location.
    IsAt(ExprId, ProcessId, Option<Location>),
    /// The priority of a process; 0 if there is none.
    Priority(ExprId),
    /// A question to a channel.
    Channel(ChannelQuery, ExprId, Addr),
    /// Whether a receive would find a message.
    Poll {
        /// The channel.
        channel: ExprId,
        /// Fields of a message.
        fields: u8,
        /// Fields that must match.
        mask: FieldMask,
        /// The values that they must match.
        wanted: Vec<ExprId>,
        /// Which messages to look at.
        how: Receive,
        /// The instruction.
        addr: Addr,
    },
}

/// Expressions, each once.
#[derive(Clone, Default, Debug)]
pub struct Pool {
    exprs: Vec<Expr>,
    /// Whether evaluating it can fault, or reads the state.
    traits: Vec<Traits>,
    /// How many operations it takes.
    weights: Vec<u32>,
    index: HashMap<Expr, ExprId>,
}

/// The properties of the evaluation of an expression.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Traits {
    /// It can fault.
    pub faults: bool,
    /// It depends on the state.
    pub reads: bool,
    /// Whether it is more than a constant, a temporary or a scalar variable.
    pub compound: bool,
    /// Whether it depends on the path that leads to it and not on the state alone: on a temporary,
    /// or on TIMEOUT, which ENABLED passes on.
    pub depends_on_path: bool,
}

impl Pool {
    /// The expression with an id.
    #[inline]
    pub fn get(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    /// The properties of its evaluation.
    pub fn traits(&self, id: ExprId) -> Traits {
        self.traits[id.0 as usize]
    }

    /// The greatest number of operations that an evaluation takes, counted as often as they are
    /// evaluated.
    pub fn weight(&self, id: ExprId) -> u32 {
        self.weights[id.0 as usize]
    }

    /// How many expressions there are.
    pub fn len(&self) -> usize {
        self.exprs.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.exprs.is_empty()
    }

    /// The value, if it is a constant.
    pub fn constant(&self, id: ExprId) -> Option<i32> {
        match self.get(id) {
            Expr::Const(value) => Some(*value),
            _ => None,
        }
    }

    /// The id of an expression, folded.
    pub fn add(&mut self, expr: Expr) -> ExprId {
        let expr = self.fold(expr);
        if let Some(&id) = self.index.get(&expr) {
            return id;
        }
        let id = ExprId(self.exprs.len() as u32);
        self.traits.push(self.traits_of(&expr));
        let mut weight = 1_u32;
        expr.operands(|operand| weight = weight.saturating_add(self.weights[operand.0 as usize]));
        self.weights.push(weight);
        self.index.insert(expr.clone(), id);
        self.exprs.push(expr);
        id
    }

    fn fold(&self, expr: Expr) -> Expr {
        match expr {
            Expr::Unary(op, a) => match self.constant(a) {
                Some(a) => Expr::Const(op.apply(a)),
                None => expr,
            },
            Expr::Binary(op, a, b) => match (self.constant(a), self.constant(b)) {
                (Some(a), Some(b)) => Expr::Const(op.apply(a, b)),
                _ => expr,
            },
            Expr::Div(a, b, _) => match (self.constant(a), self.constant(b)) {
                (Some(a), Some(b)) if b != 0 => Expr::Const(a.wrapping_div(b)),
                _ => expr,
            },
            Expr::Mod(a, b, _) => match (self.constant(a), self.constant(b)) {
                (Some(a), Some(b)) if b != 0 => Expr::Const(a.wrapping_rem(b)),
                _ => expr,
            },
            Expr::Choose(c, a, b) => match self.constant(c) {
                Some(0) => self.get(b).clone(),
                Some(_) => self.get(a).clone(),
                None => expr,
            },
            Expr::Checked(a, length, _) => match self.constant(a) {
                Some(index) if index >= 0 && (index as u32) < length => Expr::Const(index),
                _ => expr,
            },
            Expr::Ranged(a, least, greatest, _) => match self.constant(a) {
                Some(value) if (least..=greatest).contains(&value) => Expr::Const(value),
                _ => expr,
            },
            Expr::Fitting(op, a, b, _) => match (self.constant(a), self.constant(b)) {
                (Some(a), Some(b)) => op.fitting(a, b).map_or(expr, Expr::Const),
                _ => expr,
            },
            other => other,
        }
    }

    fn traits_of(&self, expr: &Expr) -> Traits {
        let own = match expr {
            Expr::Const(_) | Expr::Pid => Traits::default(),
            Expr::Temp(_) => Traits { depends_on_path: true, ..Traits::default() },
            Expr::Timeout | Expr::Enabled(_) => Traits { reads: true, compound: true, depends_on_path: true, ..Traits::default() },
            Expr::Load(_) => Traits { reads: true, ..Traits::default() },
            Expr::Element(..) | Expr::RemoteElement(..) | Expr::Channel(..) | Expr::Poll { .. } => {
                Traits { faults: true, reads: true, compound: true, ..Traits::default() }
            }
            Expr::Checked(..) | Expr::Ranged(..) | Expr::Fitting(..) | Expr::Div(..) | Expr::Mod(..) => {
                Traits { faults: true, compound: true, ..Traits::default() }
            }
            Expr::Unary(..) | Expr::Binary(..) | Expr::Choose(..) => Traits { compound: true, ..Traits::default() },
            _ => Traits { reads: true, compound: true, ..Traits::default() },
        };
        let mut all = own;
        expr.operands(|id| {
            let t = self.traits(id);
            all.faults |= t.faults;
            all.reads |= t.reads;
            all.depends_on_path |= t.depends_on_path;
        });
        all
    }
}

impl Expr {
    /// Calls `each` with every operand, in the order of evaluation.
    pub fn operands(&self, mut each: impl FnMut(ExprId)) {
        match self {
            Expr::Const(_)
            | Expr::Temp(_)
            | Expr::Load(_)
            | Expr::Pid
            | Expr::ProcessCount
            | Expr::Last
            | Expr::Timeout
            | Expr::NoProgress => {}
            Expr::Element(_, a, _)
            | Expr::Remote(a, _, _)
            | Expr::Checked(a, _, _)
            | Expr::Ranged(a, _, _, _)
            | Expr::Unary(_, a)
            | Expr::Enabled(a)
            | Expr::LocationOf(a)
            | Expr::IsAt(a, _, _)
            | Expr::Priority(a)
            | Expr::Channel(_, a, _) => each(*a),
            Expr::RemoteElement(a, _, _, b, _)
            | Expr::Binary(_, a, b)
            | Expr::Fitting(_, a, b, _)
            | Expr::Div(a, b, _)
            | Expr::Mod(a, b, _) => {
                each(*a);
                each(*b);
            }
            Expr::Choose(c, a, b) => {
                each(*c);
                each(*a);
                each(*b);
            }
            Expr::Poll { channel, wanted, .. } => {
                each(*channel);
                wanted.iter().copied().for_each(each);
            }
        }
    }
}

impl Unary {
    /// The operation on a known value.
    #[inline]
    pub fn apply(self, a: i32) -> i32 {
        match self {
            Unary::Neg => a.wrapping_neg(),
            Unary::Not => !a,
            Unary::Lnot => (a == 0) as i32,
        }
    }
}

impl Binary {
    /// The result of a sum, difference or product, if it fits; nothing for other operations.
    pub fn fitting(self, a: i32, b: i32) -> Option<i32> {
        match self {
            Binary::Add => a.checked_add(b),
            Binary::Sub => a.checked_sub(b),
            Binary::Mul => a.checked_mul(b),
            _ => None,
        }
    }

    /// The operation on known values.
    #[inline]
    pub fn apply(self, a: i32, b: i32) -> i32 {
        match self {
            Binary::Add => a.wrapping_add(b),
            Binary::Sub => a.wrapping_sub(b),
            Binary::Mul => a.wrapping_mul(b),
            Binary::And => a & b,
            Binary::Or => a | b,
            Binary::Xor => a ^ b,
            Binary::Shl => a.wrapping_shl(b as u32),
            Binary::Shr => a.wrapping_shr(b as u32),
            Binary::Eq => (a == b) as i32,
            Binary::Ne => (a != b) as i32,
            Binary::Lt => (a < b) as i32,
            Binary::Le => (a <= b) as i32,
            Binary::Gt => (a > b) as i32,
            Binary::Ge => (a >= b) as i32,
        }
    }

    /// How it is written.
    pub const fn symbol(self) -> &'static str {
        match self {
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
            Binary::And => "&",
            Binary::Or => "|",
            Binary::Xor => "^",
            Binary::Shl => "<<",
            Binary::Shr => ">>",
            Binary::Eq => "==",
            Binary::Ne => "!=",
            Binary::Lt => "<",
            Binary::Le => "<=",
            Binary::Gt => ">",
            Binary::Ge => ">=",
        }
    }
}
