//! Formulas over values, channels and control locations, and the number of steps until one can
//! hold.
//!
//! A term without structure has distance 1 if it does not hold: some step must make it true. Some
//! terms need more steps: a channel that is to be empty must lose its messages one by one, a
//! process must move from location to location. The distance of a disjunction is that of its
//! nearest side; the distances of a conjunction are combined by their maximum or by their sum.
//!
//! If a step can change which channel or which process a term is about, it may hold one step later,
//! whatever the channel contains now and wherever the process is. So only terms about the same
//! channel or process for ever (they are *steady*) need more than one step, except in sums.

use crate::automata::Automaton;
use crate::estimate::Combine;
use crate::steady::Steady;
use crate::view::View;
use bytecode::{FieldMask, Location, ProcessId, Receive};
use contract::FAR;
use std::sync::Arc;
use stepgraph::{Binary, ChannelQuery, Effect, Expr, ExprId, Node, NodeId, Pool, StepGraph, Unary};

/// A condition that steps can make true.
#[derive(Clone, Debug)]
pub(crate) enum Formula {
    /// It holds, or never does.
    Known(bool),
    /// Nothing is known; it may hold.
    Unknown,
    /// An expression is not 0, or is.
    Value(ExprId, bool),
    /// A number compares with another.
    Compare(Binary, ExprId, ExprId),
    /// The length of a channel compares with a constant.
    Length { op: Binary, left: ExprId, right: ExprId, steady: bool },
    /// A buffered channel is full, or is not.
    Full { channel: ExprId, expected: bool, steady: bool },
    /// It is empty, or is not.
    Empty { channel: ExprId, expected: bool, steady: bool },
    /// A receive finds no message.
    NoMessage { channel: ExprId, mask: FieldMask, wanted: Vec<ExprId>, how: Receive, steady: bool },
    /// The process with a number, which is of a type, is at a location.
    At { process: ExprId, ty: ProcessId, location: Location, distances: Arc<[u32]>, steady: bool },
    /// All hold.
    All(Vec<Formula>),
    /// One holds.
    Any(Vec<Formula>),
}

/// The largest weight of a formula that is analysed.
const MOST_WEIGHT: u32 = 512;

/// The expressions and automata from which formulas are made.
#[derive(Clone, Copy)]
pub(crate) struct Maker<'a> {
    pub pool: &'a Pool,
    pub automata: &'a [Automaton],
    pub steady: &'a Steady,
}

impl Maker<'_> {
    /// The formula that an expression is not 0 (`expected`), or is.
    pub fn of_expr(&self, expr: ExprId, expected: bool) -> Formula {
        if self.pool.weight(expr) > MOST_WEIGHT {
            return Formula::Value(expr, expected);
        }
        match self.pool.get(expr) {
            Expr::Const(value) => Formula::Known((*value != 0) == expected),
            Expr::Unary(Unary::Lnot, a) => self.of_expr(*a, !expected),
            Expr::Choose(c, a, b) => {
                let side = |condition: bool, value: ExprId| all(vec![self.of_expr(*c, condition), self.of_expr(value, expected)]);
                match (self.pool.constant(*a), self.pool.constant(*b)) {
                    // `c && a`, negated or not; and `c || b`.
                    (_, Some(0)) if expected => side(true, *a),
                    (_, Some(0)) => any(vec![self.of_expr(*c, false), self.of_expr(*a, false)]),
                    (Some(yes), _) if yes != 0 && expected => any(vec![self.of_expr(*c, true), self.of_expr(*b, true)]),
                    (Some(yes), _) if yes != 0 => side(false, *b),
                    _ => any(vec![side(true, *a), side(false, *b)]),
                }
            }
            // A comparison with 0 or of a truth value is the value itself.
            Expr::Binary(Binary::Ne, a, b) if self.pool.constant(*b) == Some(0) => self.of_expr(*a, expected),
            Expr::Binary(Binary::Eq, a, b) if self.pool.constant(*b) == Some(0) => self.of_expr(*a, !expected),
            Expr::Binary(op, a, b) => match if expected { Some(*op) } else { opposite(*op) } {
                Some(op @ (Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge)) => self.comparison(op, *a, *b),
                _ => Formula::Value(expr, expected),
            },
            Expr::Channel(ChannelQuery::Empty, channel, _) => {
                Formula::Empty { channel: *channel, expected, steady: self.is_steady(*channel) }
            }
            Expr::Channel(ChannelQuery::Full, channel, _) => {
                Formula::Full { channel: *channel, expected, steady: self.is_steady(*channel) }
            }
            Expr::IsAt(process, ty, Some(location)) if expected => {
                let distances = self.automata[ty.index()].distances_by_number(*location).into();
                Formula::At { process: *process, ty: *ty, location: *location, distances, steady: self.is_steady(*process) }
            }
            _ => Formula::Value(expr, expected),
        }
    }

    fn is_steady(&self, expr: ExprId) -> bool {
        self.steady.is_steady(self.pool, expr)
    }

    fn comparison(&self, op: Binary, left: ExprId, right: ExprId) -> Formula {
        let channel = |expr: ExprId| match self.pool.get(expr) {
            Expr::Channel(ChannelQuery::Length, channel, _) => Some(*channel),
            _ => None,
        };
        let constant = |expr: ExprId| self.pool.constant(expr).is_some();
        match (channel(left), channel(right)) {
            (Some(channel), _) if constant(right) => Formula::Length { op, left, right, steady: self.is_steady(channel) },
            (_, Some(channel)) if constant(left) => Formula::Length { op, left, right, steady: self.is_steady(channel) },
            _ => Formula::Compare(op, left, right),
        }
    }

    /// The formula that no step leads out of a location with this node.
    pub fn blocked(&self, graph: &StepGraph, node: NodeId) -> Formula {
        if graph.weight(node) > MOST_WEIGHT {
            return Formula::Unknown;
        }
        match graph.node(node) {
            Node::Blocked => Formula::Known(true),
            // A process at its end waits for the processes that were started after it.
            Node::Step(bytecode::Mode::Terminate, _) => Formula::Unknown,
            Node::Step(..) | Node::Return | Node::Value(_) => Formula::Known(false),
            Node::Choice(a, b) | Node::Else(a, b) | Node::Unless(a, b) => all(vec![self.blocked(graph, *a), self.blocked(graph, *b)]),
            Node::Test(c, a, b) => any(vec![
                all(vec![self.of_expr(*c, true), self.blocked(graph, *a)]),
                all(vec![self.of_expr(*c, false), self.blocked(graph, *b)]),
            ]),
            Node::Guard(c, next) => any(vec![self.of_expr(*c, false), self.blocked(graph, *next)]),
            Node::Do(Effect::Send { channel, .. }, next) => {
                let full = Formula::Full { channel: *channel, expected: true, steady: self.is_steady(*channel) };
                any(vec![full, later(graph, *next)])
            }
            Node::Do(Effect::Receive { channel, mask, wanted, how, .. }, next) => {
                let steady = self.is_steady(*channel);
                let none = Formula::NoMessage { channel: *channel, mask: *mask, wanted: wanted.clone(), how: *how, steady };
                any(vec![none, later(graph, *next)])
            }
            Node::Do(effect, next) if effect.writes() => later(graph, *next),
            Node::Do(_, next) => self.blocked(graph, *next),
        }
    }
}

/// Whether the code after a change can be blocked: it is unknown, or it cannot.
fn later(graph: &StepGraph, node: NodeId) -> Formula {
    let can_block = match graph.node(node) {
        Node::Blocked | Node::Guard(..) | Node::Step(bytecode::Mode::Terminate, _) => true,
        Node::Do(effect, _) if effect.may_block() => true,
        _ => false,
    };
    let below = graph.node(node).following().any(|next| matches!(later(graph, next), Formula::Unknown));
    if can_block || below { Formula::Unknown } else { Formula::Known(false) }
}

fn opposite(op: Binary) -> Option<Binary> {
    Some(match op {
        Binary::Eq => Binary::Ne,
        Binary::Ne => Binary::Eq,
        Binary::Lt => Binary::Ge,
        Binary::Ge => Binary::Lt,
        Binary::Gt => Binary::Le,
        Binary::Le => Binary::Gt,
        _ => return None,
    })
}

/// The conjunction, without terms whose value is known.
pub(crate) fn all(mut terms: Vec<Formula>) -> Formula {
    if terms.iter().any(|term| matches!(term, Formula::Known(false))) {
        return Formula::Known(false);
    }
    terms.retain(|term| !matches!(term, Formula::Known(true)));
    match terms.len() {
        0 => Formula::Known(true),
        1 => terms.remove(0),
        _ => Formula::All(terms),
    }
}

/// The disjunction, without terms whose value is known.
pub(crate) fn any(mut terms: Vec<Formula>) -> Formula {
    if terms.iter().any(|term| matches!(term, Formula::Known(true))) {
        return Formula::Known(true);
    }
    terms.retain(|term| !matches!(term, Formula::Known(false)));
    match terms.len() {
        0 => Formula::Known(false),
        1 => terms.remove(0),
        _ => Formula::Any(terms),
    }
}

/// How distances are counted.
#[derive(Clone, Copy)]
pub(crate) struct Count<'a> {
    pub view: View<'a>,
    pub pool: &'a Pool,
    pub combine: Combine,
    /// A transition sends or receives at most one message, so that each message counts.
    pub one_by_one: bool,
}

impl Count<'_> {
    /// The number of steps until a formula holds; 0 if it holds, or may.
    pub fn distance(&self, formula: &Formula) -> u32 {
        let value = |expr: ExprId| self.view.value(self.pool, expr);
        let unless = |holds: Option<bool>| u32::from(holds == Some(false));
        match formula {
            Formula::Known(holds) => {
                if *holds {
                    0
                } else {
                    FAR
                }
            }
            Formula::Unknown => 0,
            Formula::Value(expr, expected) => unless(value(*expr).map(|value| (value != 0) == *expected)),
            Formula::Compare(op, a, b) => match (value(*a), value(*b)) {
                (Some(left), Some(right)) => u32::from(op.apply(left, right) == 0),
                _ => 0,
            },
            Formula::Length { op, left, right, steady } => {
                let (Some(left), Some(right)) = (value(*left), value(*right)) else { return 0 };
                if op.apply(left, right) != 0 { 0 } else { self.messages(gap(*op, left, right), *steady) }
            }
            Formula::Full { channel, expected, steady } => match value(*channel).and_then(|number| self.view.channel(number)) {
                Some((length, capacity)) if capacity > 0 => match expected {
                    true => self.messages((capacity - length) as u32, *steady),
                    false => u32::from(length == capacity),
                },
                _ => 0,
            },
            Formula::Empty { channel, expected, steady } => match value(*channel).and_then(|number| self.view.channel(number)) {
                Some((length, capacity)) if capacity > 0 => match expected {
                    true => self.messages(length as u32, *steady),
                    false => u32::from(length == 0),
                },
                _ => 0,
            },
            Formula::NoMessage { channel, mask, wanted, how, steady } => {
                let Some(number) = value(*channel) else { return 0 };
                let Some((length, 1..)) = self.view.channel(number) else { return 0 };
                if mask.is_empty() {
                    return self.messages(length as u32, *steady);
                }
                let Some(wanted) = wanted.iter().map(|&field| value(field)).collect::<Option<Vec<i32>>>() else { return 0 };
                match self.view.matching(number, *mask, &wanted, *how) {
                    Some((true, head)) if self.combine == Combine::Sum && !how.searches() => head as u32,
                    Some((true, _)) => 1,
                    _ => 0,
                }
            }
            Formula::At { process, ty, distances, steady, .. } => {
                let Some(number) = value(*process) else { return 0 };
                let steps = match usize::try_from(number).ok().and_then(|number| self.view.parts.processes.get(number)) {
                    Some(found) if found.ty == *ty => distances.get(found.location.index()).copied().unwrap_or(0),
                    // The process must be started first.
                    _ => 1,
                };
                if *steady || self.combine == Combine::Sum { steps } else { steps.min(1) }
            }
            Formula::All(terms) => self.combine.of(terms.iter().map(|term| self.distance(term))),
            Formula::Any(terms) => terms.iter().map(|term| self.distance(term)).min().unwrap_or(FAR),
        }
    }

    /// Steps to send or receive so many messages through a channel, which is the same for ever if
    /// `steady`.
    fn messages(&self, count: u32, steady: bool) -> u32 {
        if self.one_by_one && steady || self.combine == Combine::Sum { count } else { count.min(1) }
    }
}

/// How much one side of a comparison that does not hold must change.
fn gap(op: Binary, left: i32, right: i32) -> u32 {
    let apart = left.abs_diff(right);
    match op {
        Binary::Lt | Binary::Gt | Binary::Ne => apart + 1,
        _ => apart,
    }
}
