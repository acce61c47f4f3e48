//! The layout of states.
//!
//! A state is one flat byte string, the same on every host and complete in itself (rule M-STATE):
//!
//! ```text
//! [exclusive] [last] globals | static channel … | component …
//! ```
//!
//! The first two bytes exist only in programs that use them. Static channels have fixed offsets.
//! Processes, and the channels they created, follow in the order of creation. Each begins with its
//! shape, so that a state can be read without knowing how it was reached. Numbers are
//! little-endian. Unused bytes are zero, so equal states are equal strings.

use crate::ids::{ChannelTypeId, Location, ProcessId};
use crate::locations::Locations;
use crate::ops::{Mode, Op};
use crate::program::{Program, Type, Variable};
use std::fmt;

/// The number that means no process or no channel. All process and channel numbers are less.
pub const LIMIT: usize = 255;

/// Largest size of the globals and static channels together, and of any other component.
pub const MAX_COMPONENT: usize = 1 << 20;

/// The place of a variable: an offset from the start of its component (of the state, for globals).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Bytes from the start.
    pub offset: usize,
    /// The type of each element.
    pub ty: Type,
    /// Elements; 1 for a scalar.
    pub elements: usize,
}

impl Slot {
    /// The place of an element, or `None` outside the array.
    #[inline]
    pub fn element(&self, index: i32) -> Option<usize> {
        let index = usize::try_from(index).ok()?;
        (index < self.elements).then(|| self.offset + index * self.ty.width())
    }

    /// Bytes of all elements.
    pub fn size(&self) -> usize {
        self.elements * self.ty.width()
    }
}

/// The inside of a process component.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessLayout {
    /// Bytes of the component, including the shape.
    pub size: usize,
    /// The offset of the control location.
    pub location: usize,
    /// Whether the control location takes two bytes.
    pub wide: bool,
    /// The offset of the priority, in programs that use priorities.
    pub priority: Option<usize>,
    /// The slot of each local.
    pub locals: Vec<Slot>,
}

impl ProcessLayout {
    /// The control location in a component.
    pub fn location(&self, component: &[u8]) -> Location {
        let low = component[self.location] as u16;
        Location(if self.wide { low | (component[self.location + 1] as u16) << 8 } else { low })
    }

    /// Sets the control location in a component.
    pub fn set_location(&self, component: &mut [u8], location: Location) {
        component[self.location] = location.0 as u8;
        if self.wide {
            component[self.location + 1] = (location.0 >> 8) as u8;
        }
    }
}

/// The inside of a channel: its length, the claims on it, then the messages, oldest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChannelLayout {
    /// Bytes without a shape: 0 for a rendezvous without claims.
    pub size: usize,
    /// The number of messages that fit.
    pub capacity: usize,
    /// The offset of the claims, in programs that use them: receiver, then sender, each a process
    /// number plus one.
    pub claims: Option<usize>,
    /// The offset of the messages.
    pub messages: usize,
    /// Bytes of a message.
    pub message_size: usize,
    /// The slot of each field in a message.
    pub fields: Vec<Slot>,
}

/// The kind of a component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// A process of a type.
    Process(ProcessId),
    /// A channel of a type.
    Channel(ChannelTypeId),
}

/// A component of a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Component {
    /// The kind.
    pub shape: Shape,
    /// The offset at which it begins; for a channel created at run time, the offset after the
    /// shape.
    pub offset: usize,
}

/// Why a program has no layout, or why a byte string is not a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LayoutError {
    /// More process and channel types than a shape can name.
    TooManyShapes,
    /// More processes or channels at the start than can exist.
    TooManyInstances,
    /// Variables that take too much room.
    TooLarge,
    /// The string ends inside a component.
    Truncated,
    /// A shape that no component has, at this offset.
    UnknownShape(usize),
    /// A control location, length or number out of range, at this offset.
    OutOfRange(usize),
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutError::TooManyShapes => write!(f, "more than {LIMIT} process and channel types"),
            LayoutError::TooManyInstances => write!(f, "more than {LIMIT} processes or channels at the start"),
            LayoutError::TooLarge => write!(f, "the variables take more than {MAX_COMPONENT} bytes"),
            LayoutError::Truncated => write!(f, "the state ends inside a component"),
            LayoutError::UnknownShape(at) => write!(f, "no component has the shape at byte {at}"),
            LayoutError::OutOfRange(at) => write!(f, "the value at byte {at} is out of range"),
        }
    }
}

impl std::error::Error for LayoutError {}

/// The offsets of everything in the states of one program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The offset of the exclusive process's number plus one, in programs with atomic steps.
    pub exclusive: Option<usize>,
    /// The offset of the number of the last process to move, in programs that ask for it.
    pub last: Option<usize>,
    /// The slot of each global.
    pub globals: Vec<Slot>,
    /// The range of the globals.
    pub globals_range: std::ops::Range<usize>,
    /// The type and offset of each static channel.
    pub channels: Vec<(ChannelTypeId, usize)>,
    /// The end of the fixed part, where the components begin.
    pub fixed: usize,
    /// The layout of each process type.
    pub processes: Vec<ProcessLayout>,
    /// The layout of each channel type.
    pub channel_types: Vec<ChannelLayout>,
}

impl Layout {
    /// The layout of a program's states.
    pub fn of(program: &Program, locations: &Locations) -> Result<Layout, LayoutError> {
        if program.processes.len() + program.channel_types.len() > LIMIT {
            return Err(LayoutError::TooManyShapes);
        }
        if program.instances.len() > LIMIT || program.channels.len() > LIMIT {
            return Err(LayoutError::TooManyInstances);
        }
        let uses = |test: fn(&Op) -> bool| program.code.iter().any(test);
        let atomic = uses(|op| matches!(op, Op::Step { mode: Mode::Atomic }));
        let last = uses(|op| matches!(op, Op::Last {}));
        let claims = uses(|op| matches!(op, Op::Xr {} | Op::Xs {}));
        let priorities = uses(|op| matches!(op, Op::Getprio {} | Op::Setprio {})) || program.processes.iter().any(|p| p.priority != 1);

        let mut end = 0;
        let mut header = |present: bool| present.then(|| replace_add(&mut end, 1));
        let exclusive = header(atomic);
        let last = header(last);
        let globals_start = end;
        let globals = place(&program.globals, &mut end)?;
        let globals_range = globals_start..end;

        let channel_types = program
            .channel_types
            .iter()
            .map(|ty| {
                let mut message_size = 0;
                let fields = ty
                    .fields
                    .iter()
                    .map(|f| Slot { offset: replace_add(&mut message_size, f.ty.width()), ty: f.ty, elements: 1 })
                    .collect();
                let capacity = ty.capacity as usize;
                let mut size = if capacity > 0 { 1 } else { 0 };
                let claims = claims.then(|| replace_add(&mut size, 2));
                let messages = replace_add(&mut size, capacity * message_size);
                if size > MAX_COMPONENT {
                    return Err(LayoutError::TooLarge);
                }
                Ok(ChannelLayout { size, capacity, claims, messages, message_size, fields })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut channels = Vec::with_capacity(program.channels.len());
        for channel in &program.channels {
            let ty = channel_types.get(channel.ty.index()).ok_or(LayoutError::TooManyShapes)?;
            channels.push((channel.ty, replace_add(&mut end, ty.size)));
        }
        if end > MAX_COMPONENT {
            return Err(LayoutError::TooLarge);
        }
        let processes = program
            .processes
            .iter()
            .enumerate()
            .map(|(i, p)| {
                let wide = locations.count(ProcessId(i as u8)) > 256;
                let mut size = 1;
                let location = replace_add(&mut size, if wide { 2 } else { 1 });
                let priority = priorities.then(|| replace_add(&mut size, 1));
                let locals = place(&p.locals, &mut size)?;
                Ok(ProcessLayout { size, location, wide, priority, locals })
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Layout { exclusive, last, globals, globals_range, channels, fixed: end, processes, channel_types })
    }

    /// The byte that represents a shape.
    pub fn shape_code(&self, shape: Shape) -> u8 {
        match shape {
            Shape::Process(p) => p.0,
            Shape::Channel(c) => self.processes.len() as u8 + c.0,
        }
    }

    /// The shape that a byte represents.
    pub fn shape(&self, code: u8) -> Option<Shape> {
        let code = code as usize;
        if code < self.processes.len() {
            return Some(Shape::Process(ProcessId(code as u8)));
        }
        let channel = code - self.processes.len();
        (channel < self.channel_types.len()).then_some(Shape::Channel(ChannelTypeId(channel as u8)))
    }

    /// The size of a component of this shape in the last part of a state, including the shape byte.
    pub fn size_of(&self, shape: Shape) -> usize {
        match shape {
            Shape::Process(p) => self.processes[p.index()].size,
            Shape::Channel(c) => 1 + self.channel_types[c.index()].size,
        }
    }

    /// The number of messages in a channel.
    pub fn channel_length(&self, ty: ChannelTypeId, offset: usize, state: &[u8]) -> usize {
        if self.channel_types[ty.index()].capacity == 0 { 0 } else { state[offset] as usize }
    }

    /// Checks that a byte string is a state of the program: every component whole, every number in
    /// range.
    pub fn check(&self, state: &[u8], locations: &Locations) -> Result<(), LayoutError> {
        let mut map = StateMap::default();
        map.read(self, state)?;
        if let Some(at) = self.exclusive
            && state[at] as usize > map.processes.len()
        {
            return Err(LayoutError::OutOfRange(at));
        }
        for channel in &map.channels {
            let Shape::Channel(ty) = channel.shape else { continue };
            if self.channel_length(ty, channel.offset, state) > self.channel_types[ty.index()].capacity {
                return Err(LayoutError::OutOfRange(channel.offset));
            }
        }
        for process in &map.processes {
            let Shape::Process(ty) = process.shape else { continue };
            let layout = &self.processes[ty.index()];
            if layout.location(&state[process.offset..]).index() >= locations.count(ty) {
                return Err(LayoutError::OutOfRange(process.offset + layout.location));
            }
        }
        Ok(())
    }
}

/// Advances `end` by `size` and returns its previous value.
fn replace_add(end: &mut usize, size: usize) -> usize {
    let start = *end;
    *end += size;
    start
}

/// Places variables one after the other.
fn place(variables: &[Variable], end: &mut usize) -> Result<Vec<Slot>, LayoutError> {
    let mut slots = Vec::with_capacity(variables.len());
    for v in variables {
        if v.elements() > MAX_COMPONENT || *end + v.size() > MAX_COMPONENT {
            return Err(LayoutError::TooLarge);
        }
        slots.push(Slot { offset: replace_add(end, v.size()), ty: v.ty, elements: v.elements() });
    }
    Ok(slots)
}

/// The processes and channels of one state, by number; reused from state to state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StateMap {
    /// Process number → component.
    pub processes: Vec<Component>,
    /// Channel number minus one → component.
    pub channels: Vec<Component>,
}

impl StateMap {
    /// Finds the components of `state`.
    pub fn read(&mut self, layout: &Layout, state: &[u8]) -> Result<(), LayoutError> {
        self.processes.clear();
        self.channels.clear();
        if state.len() < layout.fixed {
            return Err(LayoutError::Truncated);
        }
        self.channels.extend(layout.channels.iter().map(|&(ty, offset)| Component { shape: Shape::Channel(ty), offset }));
        let mut at = layout.fixed;
        while at < state.len() {
            let shape = layout.shape(state[at]).ok_or(LayoutError::UnknownShape(at))?;
            let size = layout.size_of(shape);
            if at + size > state.len() {
                return Err(LayoutError::Truncated);
            }
            match shape {
                Shape::Process(_) => self.processes.push(Component { shape, offset: at }),
                Shape::Channel(_) => self.channels.push(Component { shape, offset: at + 1 }),
            }
            at += size;
        }
        if self.processes.len() > LIMIT || self.channels.len() > LIMIT {
            return Err(LayoutError::TooManyInstances);
        }
        Ok(())
    }

    /// The component of a channel number; `None` if there is no such channel.
    pub fn channel(&self, number: i32) -> Option<Component> {
        self.channels.get(usize::try_from(number).ok()?.checked_sub(1)?).copied()
    }

    /// The component of a process number; `None` if there is no such process.
    pub fn process(&self, number: i32) -> Option<Component> {
        self.processes.get(usize::try_from(number).ok()?).copied()
    }
}
