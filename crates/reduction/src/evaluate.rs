//! Evaluates conditions of steps in a state, without running the steps.
//!
//! Only cheap conditions are evaluated. The others stay unknown, and a choice must then be right in
//! both cases.

use crate::places::Places;
use crate::steps::{Condition, Conjunct};
use bytecode::Layout;
use std::collections::HashMap;
use stepgraph::{Expr, ExprId, Pool, Var};

/// A process of a state.
#[derive(Clone, Copy, Default)]
pub(crate) struct ProcessNode {
    /// Its node.
    pub node: u32,
    /// Where its component begins in the state.
    pub offset: u32,
    pub ty: u8,
}

/// The largest number of processes in a state for which a choice is made.
pub(crate) const MOST_PROCESSES: usize = 64;

/// A state and where its processes stand.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub state: &'a [u8],
    pub layout: &'a Layout,
    pub pool: &'a Pool,
    pub places: &'a Places,
    pub processes: &'a [ProcessNode],
}

/// Where the processes of states are. Most states have the same components at the same places as
/// the one before, so these are looked for only if that is not so.
#[derive(Default)]
pub(crate) struct Roster {
    /// How long the state is, and where which shapes are.
    length: usize,
    shapes: Vec<(u32, u8)>,
    seats: Vec<Seat>,
    pub standing: Vec<ProcessNode>,
    /// A number for the types of its processes, if it has one, and all numbers that were given.
    formation: Option<u32>,
    known: HashMap<Vec<u8>, u32>,
}

/// Most lists of types that have a number.
const MOST_KNOWN: u32 = 1 << 12;

/// Where a process keeps its location.
struct Seat {
    location: u32,
    wide: bool,
    /// The node of its first location.
    first: u32,
}

impl Roster {
    /// Looks where the processes of a state are; `false` if it has too many. `first_node` computes
    /// the first node of a process from its number and its type. `steady` says that states of one
    /// length have the same components.
    #[inline]
    pub fn find(&mut self, state: &[u8], layout: &Layout, steady: bool, first_node: impl Fn(usize, usize) -> u32) -> bool {
        let same = |&(at, shape): &(u32, u8)| state.get(at as usize) == Some(&shape);
        if (self.length != state.len() || !steady && !self.shapes.iter().all(same)) && self.learn(state, layout, first_node).is_none() {
            self.length = usize::MAX;
            return false;
        }
        true
    }

    /// The locations of the processes of the state that was looked at last.
    #[inline(always)]
    pub fn locations<'a>(&'a self, state: &'a [u8]) -> impl Iterator<Item = u32> + 'a {
        self.seats.iter().map(|seat| {
            let at = seat.location as usize;
            let low = u32::from(state[at]);
            if seat.wide { low | u32::from(state[at + 1]) << 8 } else { low }
        })
    }

    /// The nodes of the processes of the state that was looked at last.
    #[inline(always)]
    pub fn nodes<'a>(&'a self, state: &'a [u8]) -> impl Iterator<Item = u32> + 'a {
        self.seats.iter().zip(self.locations(state)).map(|(seat, location)| seat.first + location)
    }

    /// Computes the nodes of its processes.
    pub fn stand(&mut self, state: &[u8]) {
        let mut standing = std::mem::take(&mut self.standing);
        for ((standing, seat), location) in standing.iter_mut().zip(&self.seats).zip(self.locations(state)) {
            standing.node = seat.first + location;
        }
        self.standing = standing;
    }

    /// A number below 2^31 that tells lists of types apart; nothing if there are too many lists.
    #[inline]
    pub fn formation(&self) -> Option<u32> {
        self.formation
    }

    /// How many processes there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.seats.len()
    }

    #[cold]
    fn learn(&mut self, state: &[u8], layout: &Layout, first_node: impl Fn(usize, usize) -> u32) -> Option<()> {
        self.length = state.len();
        self.shapes.clear();
        self.seats.clear();
        self.standing.clear();
        let mut at = layout.fixed;
        while at < state.len() {
            let shape = state[at];
            self.shapes.push((at as u32, shape));
            let Some(inside) = layout.processes.get(usize::from(shape)) else {
                at += layout.size_of(layout.shape(shape)?);
                continue;
            };
            let number = self.standing.len();
            if number == MOST_PROCESSES || at + inside.size > state.len() {
                return None;
            }
            let first = first_node(number, usize::from(shape));
            self.seats.push(Seat { location: (at + inside.location) as u32, wide: inside.wide, first });
            self.standing.push(ProcessNode { node: 0, offset: at as u32, ty: shape });
            at += inside.size;
        }
        let types: Vec<u8> = self.standing.iter().map(|standing| standing.ty).collect();
        let next = self.known.len() as u32;
        if next < MOST_KNOWN || self.known.contains_key(&types) {
            self.formation = Some(*self.known.entry(types).or_insert(next));
        } else {
            self.formation = None;
        }
        Some(())
    }
}

impl View<'_> {
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
            Condition::IsLast => Some(process + 1 == self.processes.len()),
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
            Expr::ProcessCount => Some(self.processes.len() as i32),
            Expr::Timeout => Some(0),
            _ => None,
        }
    }
}
