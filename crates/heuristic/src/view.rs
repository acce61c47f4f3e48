//! A state as the estimates use it: the locations of its processes, and the values of expressions.
//!
//! Expressions that depend on more (which process can move, which moved last, what a path computed
//! before) have no value; an estimate then assumes the case with the fewest steps.

use bytecode::{Component, FieldMask, Layout, Location, ProcessId, Receive, Shape, StateMap};
use stepgraph::{ChannelQuery, Expr, ExprId, Pool, Var};

/// A process of a state.
#[derive(Clone, Copy)]
pub(crate) struct Process {
    pub ty: ProcessId,
    pub location: Location,
    pub offset: usize,
}

/// The parts of a state. The memory is reused from state to state.
#[derive(Clone, Default)]
pub(crate) struct Parts {
    map: StateMap,
    pub processes: Vec<Process>,
}

impl Parts {
    /// Reads the parts of a state; returns whether the bytes are a state.
    pub fn read(&mut self, layout: &Layout, state: &[u8]) -> bool {
        self.processes.clear();
        if self.map.read(layout, state).is_err() {
            return false;
        }
        self.processes.extend(self.map.processes.iter().filter_map(|component| {
            let Shape::Process(ty) = component.shape else { return None };
            let location = layout.processes[ty.index()].location(&state[component.offset..]);
            Some(Process { ty, location, offset: component.offset })
        }));
        true
    }
}

/// A state with its parts, and the process for which expressions are evaluated.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub state: &'a [u8],
    pub layout: &'a Layout,
    pub parts: &'a Parts,
    /// The process that executes; none for expressions that belong to no process.
    pub me: Option<usize>,
}

/// The deepest expression that is evaluated.
const MOST_DEPTH: u32 = 64;

impl View<'_> {
    /// The value of an expression, if it is known and not a fault.
    pub fn value(&self, pool: &Pool, expr: ExprId) -> Option<i32> {
        self.evaluate(pool, expr, MOST_DEPTH)
    }

    fn evaluate(&self, pool: &Pool, expr: ExprId, depth: u32) -> Option<i32> {
        let depth = depth.checked_sub(1)?;
        let value = |expr: ExprId| self.evaluate(pool, expr, depth);
        match pool.get(expr) {
            Expr::Const(value) => Some(*value),
            Expr::Load(var) => self.load(*var, 0),
            Expr::Element(var, index, _) => self.load(*var, value(*index)?),
            Expr::Remote(process, ty, local) => match self.process(value(*process)?) {
                Some(found) if found.ty == *ty => self.local(found, local.index(), 0),
                _ => Some(0),
            },
            Expr::RemoteElement(process, ty, local, index, _) => {
                let found = self.process(value(*process)?).filter(|found| found.ty == *ty)?;
                self.local(found, local.index(), value(*index)?)
            }
            Expr::Checked(inner, length, _) => value(*inner).filter(|&index| index >= 0 && (index as u32) < *length),
            Expr::Ranged(inner, least, greatest, _) => value(*inner).filter(|value| (least..=greatest).contains(&value)),
            Expr::Fitting(op, a, b, _) => op.fitting(value(*a)?, value(*b)?),
            Expr::Unary(op, a) => Some(op.apply(value(*a)?)),
            Expr::Binary(op, a, b) => Some(op.apply(value(*a)?, value(*b)?)),
            Expr::Div(a, b, _) => value(*b).filter(|&by| by != 0).and_then(|by| Some(value(*a)?.wrapping_div(by))),
            Expr::Mod(a, b, _) => value(*b).filter(|&by| by != 0).and_then(|by| Some(value(*a)?.wrapping_rem(by))),
            Expr::Choose(c, a, b) => value(if value(*c)? != 0 { *a } else { *b }),
            Expr::Pid => self.me.map(|me| me as i32),
            Expr::ProcessCount => Some(self.parts.processes.len() as i32),
            Expr::LocationOf(process) => self.process(value(*process)?).map(|found| i32::from(found.location.0)),
            Expr::IsAt(process, ty, location) => {
                let found = self.process(value(*process)?).filter(|found| found.ty == *ty);
                Some(i32::from(found.is_some_and(|found| Some(found.location) == *location)))
            }
            Expr::Channel(query, channel, _) => {
                let (length, capacity) = self.channel(value(*channel)?)?;
                Some(match query {
                    ChannelQuery::Length => length as i32,
                    ChannelQuery::Empty => i32::from(length == 0),
                    ChannelQuery::Full => i32::from(length == capacity),
                })
            }
            Expr::Poll { channel, mask, wanted, how, .. } => {
                let wanted = wanted.iter().map(|&field| value(field)).collect::<Option<Vec<i32>>>()?;
                let (matching, _) = self.matching(value(*channel)?, *mask, &wanted, *how)?;
                Some(i32::from(matching))
            }
            // These depend on more than the state's variables.
            Expr::Temp(_) | Expr::Last | Expr::Timeout | Expr::NoProgress | Expr::Enabled(_) | Expr::Priority(_) => None,
        }
    }

    fn process(&self, number: i32) -> Option<Process> {
        self.parts.processes.get(usize::try_from(number).ok()?).copied()
    }

    fn local(&self, process: Process, local: usize, index: i32) -> Option<i32> {
        let slot = self.layout.processes[process.ty.index()].locals.get(local)?;
        Some(slot.ty.read(self.state.get(process.offset + slot.element(index)?..)?))
    }

    fn load(&self, var: Var, index: i32) -> Option<i32> {
        match var {
            Var::Global(id) => {
                let slot = self.layout.globals.get(id.index())?;
                Some(slot.ty.read(self.state.get(slot.element(index)?..)?))
            }
            Var::Local(id) => self.local(*self.parts.processes.get(self.me?)?, id.index(), index),
        }
    }

    fn component(&self, number: i32) -> Option<(Component, usize)> {
        let component = self.parts.map.channel(number)?;
        let Shape::Channel(ty) = component.shape else { return None };
        Some((component, ty.index()))
    }

    /// How many messages a channel has, and how many it can have.
    pub fn channel(&self, number: i32) -> Option<(usize, usize)> {
        let (component, ty) = self.component(number)?;
        let Shape::Channel(id) = component.shape else { return None };
        Some((self.layout.channel_length(id, component.offset, self.state), self.layout.channel_types[ty].capacity))
    }

    /// Whether a receive would find a message in a channel, and how many of the oldest messages
    /// match.
    pub fn matching(&self, number: i32, mask: FieldMask, wanted: &[i32], how: Receive) -> Option<(bool, usize)> {
        let (component, ty) = self.component(number)?;
        let (length, _) = self.channel(number)?;
        let inside = &self.layout.channel_types[ty];
        let is_match = |place: usize| {
            let start = component.offset + inside.messages + place * inside.message_size;
            let fields = inside.fields.iter().enumerate().filter(|(field, _)| mask.contains(*field));
            let values = fields.map(|(_, slot)| Some(slot.ty.read(self.state.get(start + slot.offset..)?)));
            values.eq(wanted.iter().map(|&value| Some(value)))
        };
        let head = (0..length).take_while(|&place| is_match(place)).count();
        let found = head > 0 || how.searches() && (0..length).any(is_match);
        Some((found, head))
    }
}
