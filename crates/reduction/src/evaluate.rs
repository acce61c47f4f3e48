//! Evaluates conditions of steps in a state, without running the steps.
//!
//! Only cheap conditions are evaluated. The others stay unknown, and a choice must then be right in
//! both cases.

use crate::places::Places;
use crate::steps::{Condition, Conjunct};
use bytecode::{Layout, Location, ProcessId};
use stepgraph::{Expr, ExprId, Pool, Var};

/// A process of a state.
#[derive(Clone, Copy, Default)]
pub(crate) struct Standing {
    /// Its node.
    pub node: u32,
    /// Where its component begins in the state.
    pub offset: u32,
    pub ty: u8,
}

/// The largest number of processes in a state for which a choice is made.
pub(crate) const MOST_PROCESSES: usize = 64;

/// A state and the nodes of its processes, at most `N`. Small views are faster to make.
pub(crate) struct View<'a, const N: usize> {
    pub state: &'a [u8],
    pub layout: &'a Layout,
    pub pool: &'a Pool,
    pub places: &'a Places,
    pub processes: [Standing; N],
    pub count: usize,
    /// The first words of the set of nodes at which processes are.
    pub nodes: [u64; NODE_WORDS],
}

/// How many words of a row are compared at once.
pub(crate) const NODE_WORDS: usize = 4;

impl<'a, const N: usize> View<'a, N> {
    /// Finds the processes of a state; nothing if there are too many. `node` computes the node of a
    /// process from its number, type and location.
    pub fn of(
        state: &'a [u8],
        layout: &'a Layout,
        pool: &'a Pool,
        places: &'a Places,
        node: impl Fn(usize, ProcessId, Location) -> u32,
    ) -> Option<View<'a, N>> {
        let mut view = View { state, layout, pool, places, processes: [Standing::default(); N], count: 0, nodes: [0; NODE_WORDS] };
        let mut at = layout.fixed;
        while at < state.len() {
            let code = state[at] as usize;
            let Some(inside) = layout.processes.get(code) else {
                at += layout.size_of(layout.shape(state[at])?);
                continue;
            };
            let component = state.get(at..at + inside.size)?;
            let ty = ProcessId(code as u8);
            let standing = Standing { node: node(view.count, ty, inside.location(component)), offset: at as u32, ty: code as u8 };
            *view.processes.get_mut(view.count)? = standing;
            if let Some(word) = view.nodes.get_mut(standing.node as usize / 64) {
                *word |= 1 << (standing.node % 64);
            }
            view.count += 1;
            at += inside.size;
        }
        Some(view)
    }

    /// Whether a conjunct of a step of `process` holds, if that is known. Offers and answers are
    /// not evaluated here.
    pub fn holds(&self, conjunct: &Conjunct, process: usize) -> Option<bool> {
        self.condition(&conjunct.condition, process)
    }

    fn condition(&self, condition: &Condition, process: usize) -> Option<bool> {
        match condition {
            Condition::Compare { offset, ty, relation, constant, .. } => {
                Some(relation.apply(ty.read(self.state.get(*offset..)?), *constant) != 0)
            }
            Condition::Expr(expr, expected) => Some((self.value(*expr, process)? != 0) == *expected),
            Condition::HasRoom(channel) => Some(self.length(*channel)? < usize::from(self.places.capacity(*channel))),
            Condition::HasMessage(channel) => Some(self.length(*channel)? > 0),
            Condition::IsLast => Some(process + 1 == self.count),
            Condition::NoneOf(conjunctions) => {
                let mut known = true;
                for conjunction in conjunctions {
                    match self.all_hold(conjunction, process) {
                        Some(true) => return Some(false),
                        Some(false) => {}
                        None => known = false,
                    }
                }
                known.then_some(true)
            }
            Condition::Never => Some(false),
            Condition::Offer | Condition::Answer | Condition::Unknown => None,
        }
    }

    fn all_hold(&self, conjuncts: &[Conjunct], process: usize) -> Option<bool> {
        let mut known = true;
        for conjunct in conjuncts {
            match self.holds(conjunct, process) {
                Some(false) => return Some(false),
                Some(true) => {}
                // The condition may be a fault, and a path with a fault counts as one that
                // succeeds.
                None if conjunct.may_fault => return None,
                None => known = false,
            }
        }
        known.then_some(true)
    }

    /// How many messages a buffered channel has.
    fn length(&self, channel: usize) -> Option<usize> {
        let (_, offset) = *self.layout.channels.get(channel)?;
        self.state.get(offset).map(|length| usize::from(*length))
    }

    /// The value of an expression; nothing if it is a fault or is not evaluated here.
    fn value(&self, expr: ExprId, process: usize) -> Option<i32> {
        let own = |local: bytecode::LocalId, index: i32| {
            let standing = &self.processes[process];
            let slot = &self.layout.processes[usize::from(standing.ty)].locals[local.index()];
            Some(slot.ty.read(self.state.get(standing.offset as usize + slot.element(index)?..)?))
        };
        let global = |global: bytecode::GlobalId, index: i32| {
            let slot = &self.layout.globals[global.index()];
            Some(slot.ty.read(self.state.get(slot.element(index)?..)?))
        };
        match self.pool.get(expr) {
            Expr::Const(value) => Some(*value),
            Expr::Load(Var::Global(id)) => global(*id, 0),
            Expr::Load(Var::Local(id)) => own(*id, 0),
            Expr::Element(Var::Global(id), index, _) => global(*id, self.value(*index, process)?),
            Expr::Element(Var::Local(id), index, _) => own(*id, self.value(*index, process)?),
            Expr::Checked(value, length, _) => {
                let value = self.value(*value, process)?;
                (value >= 0 && (value as u32) < *length).then_some(value)
            }
            Expr::Unary(op, a) => Some(op.apply(self.value(*a, process)?)),
            Expr::Binary(op, a, b) => {
                let a = self.value(*a, process)?;
                Some(op.apply(a, self.value(*b, process)?))
            }
            Expr::Ranged(value, least, greatest, _) => self.value(*value, process).filter(|value| (least..=greatest).contains(&value)),
            Expr::Fitting(op, a, b, _) => {
                let a = self.value(*a, process)?;
                op.fitting(a, self.value(*b, process)?)
            }
            Expr::Div(a, b, _) => {
                let a = self.value(*a, process)?;
                let b = self.value(*b, process)?;
                (b != 0).then(|| a.wrapping_div(b))
            }
            Expr::Mod(a, b, _) => {
                let a = self.value(*a, process)?;
                let b = self.value(*b, process)?;
                (b != 0).then(|| a.wrapping_rem(b))
            }
            Expr::Choose(c, a, b) => match self.value(*c, process)? {
                0 => self.value(*b, process),
                _ => self.value(*a, process),
            },
            Expr::Pid => Some(process as i32),
            Expr::ProcessCount => Some(self.count as i32),
            Expr::Timeout => Some(0),
            _ => None,
        }
    }
}
