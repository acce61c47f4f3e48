//! The global state ⟨Π, e, G, Φ⟩ while a step executes, and the operations on it that the rules
//! share.
//!
//! A [`Memory`] is cheap to copy: alternatives of a step share the bytes until one of them writes.
//! The pending offer of a rendezvous is here and not in the bytes, because no visible state
//! contains it.

use bytecode::{ChannelTypeId, Component, FieldMask, Layout, ProcessId, Receive, Shape, StateMap, Type, Verified};
use std::rc::Rc;

/// Most processes, and most channels, that can exist at once (M-LIMITS).
const LIMIT: usize = 255;

#[derive(Clone, Default)]
struct Shared {
    bytes: Vec<u8>,
    map: StateMap,
}

/// A message offered over a channel of capacity 0 and not yet received.
#[derive(Clone)]
pub(crate) struct Offer {
    pub sender: usize,
    pub channel: i32,
    message: Vec<i32>,
}

impl Offer {
    /// Finds the message for a receive that requires these values in the fields of the mask.
    pub fn received(&self, mask: FieldMask, wanted: &[i32]) -> Option<Vec<i32>> {
        matches(&self.message, mask, wanted).then(|| self.message.clone())
    }
}

/// A state under execution.
#[derive(Clone, Default)]
pub(crate) struct Memory {
    shared: Rc<Shared>,
    pub offer: Option<Offer>,
}

impl Memory {
    /// The state in `bytes`, which must be a valid state of the program.
    pub fn load(layout: &Layout, bytes: &[u8]) -> Option<Memory> {
        let mut map = StateMap::default();
        map.read(layout, bytes).ok()?;
        Some(Memory { shared: Rc::new(Shared { bytes: bytes.to_vec(), map }), offer: None })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.shared.bytes
    }

    pub fn map(&self) -> &StateMap {
        &self.shared.map
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut Rc::make_mut(&mut self.shared).bytes
    }

    pub fn process_count(&self) -> usize {
        self.map().processes.len()
    }

    /// Type and offset of a process that exists.
    pub fn process(&self, number: usize) -> Option<(ProcessId, usize)> {
        match self.map().processes.get(number)? {
            Component { shape: Shape::Process(ty), offset } => Some((*ty, *offset)),
            _ => None,
        }
    }

    /// Type and offset of a channel that exists.
    pub fn channel(&self, number: i32) -> Option<(ChannelTypeId, usize)> {
        match self.map().channel(number)? {
            Component { shape: Shape::Channel(ty), offset } => Some((ty, offset)),
            _ => None,
        }
    }

    pub fn read(&self, ty: Type, at: usize) -> i32 {
        ty.read(&self.bytes()[at..])
    }

    pub fn write(&mut self, ty: Type, at: usize, value: i32) {
        ty.write(value, &mut self.bytes_mut()[at..]);
    }

    /// Appends a component of zeros. Returns its offset, which is that of the shape byte.
    fn append(&mut self, layout: &Layout, shape: Shape) -> usize {
        let shared = Rc::make_mut(&mut self.shared);
        let at = shared.bytes.len();
        shared.bytes.resize(at + layout.size_of(shape), 0);
        shared.bytes[at] = layout.shape_code(shape);
        match shape {
            Shape::Process(_) => shared.map.processes.push(Component { shape, offset: at }),
            Shape::Channel(_) => shared.map.channels.push(Component { shape, offset: at + 1 }),
        }
        at
    }

    /// I-RUN without the prologue: a new process at its entry with initial values; `None` if there
    /// are too many.
    pub fn create_process(&mut self, program: &Verified, ty: ProcessId, args: &[i32]) -> Option<usize> {
        if self.process_count() >= LIMIT {
            return None;
        }
        let layout = &program.layout().processes[ty.index()];
        let declared = &program.program().processes[ty.index()];
        let at = self.append(program.layout(), Shape::Process(ty));
        let entry = program.program().follow_jumps(declared.entry).and_then(|a| program.locations().at(ty, a)).unwrap_or_default();
        layout.set_location(&mut self.bytes_mut()[at..], entry);
        if let Some(priority) = layout.priority {
            self.bytes_mut()[at + priority] = declared.priority;
        }
        for (slot, variable) in layout.locals.iter().zip(&declared.locals) {
            for i in 0..slot.elements {
                self.write(slot.ty, at + slot.offset + i * slot.ty.width(), variable.initial(i));
            }
        }
        for (slot, value) in layout.locals.iter().zip(args) {
            self.write(slot.ty, at + slot.offset, *value);
        }
        Some(self.process_count() - 1)
    }

    /// E-TERM: removes the last process and the channels it owns.
    pub fn remove_last_process(&mut self) {
        let shared = Rc::make_mut(&mut self.shared);
        if let Some(gone) = shared.map.processes.pop() {
            shared.bytes.truncate(gone.offset);
            shared.map.channels.retain(|c| c.offset <= gone.offset);
        }
    }

    /// I-CHNEW; `None` if there are too many.
    pub fn create_channel(&mut self, layout: &Layout, ty: ChannelTypeId) -> Option<i32> {
        if self.map().channels.len() >= LIMIT {
            return None;
        }
        self.append(layout, Shape::Channel(ty));
        Some(self.map().channels.len() as i32)
    }

    pub fn channel_length(&self, layout: &Layout, (ty, at): (ChannelTypeId, usize)) -> usize {
        layout.channel_length(ty, at, self.bytes())
    }

    fn message(&self, layout: &Layout, (ty, at): (ChannelTypeId, usize), index: usize) -> Vec<i32> {
        let channel = &layout.channel_types[ty.index()];
        let base = at + channel.messages + index * channel.message_size;
        channel.fields.iter().map(|f| self.read(f.ty, base + f.offset)).collect()
    }

    /// I-SEND and I-SENDS on a channel with room.
    pub fn insert_message(&mut self, layout: &Layout, target: (ChannelTypeId, usize), message: &[i32], sorted: bool) {
        let channel = &layout.channel_types[target.0.index()];
        let length = self.channel_length(layout, target);
        let stored: Vec<i32> = channel.fields.iter().zip(message).map(|(f, v)| f.ty.truncate(*v)).collect();
        let place = match sorted {
            true => (0..length).find(|&i| self.message(layout, target, i) > stored).unwrap_or(length),
            false => length,
        };
        let start = target.1 + channel.messages;
        let size = channel.message_size;
        let bytes = self.bytes_mut();
        bytes.copy_within(start + place * size..start + length * size, start + (place + 1) * size);
        bytes[target.1] += 1;
        for (field, value) in channel.fields.iter().zip(&stored) {
            field.ty.write(*value, &mut bytes[start + place * size + field.offset..]);
        }
    }

    /// The oldest message that a receive would take: its position and fields.
    pub fn find_message(
        &self,
        layout: &Layout,
        target: (ChannelTypeId, usize),
        mask: FieldMask,
        wanted: &[i32],
        how: Receive,
    ) -> Option<(usize, Vec<i32>)> {
        let length = self.channel_length(layout, target);
        let looked_at = if how.searches() { length } else { length.min(1) };
        (0..looked_at).map(|i| (i, self.message(layout, target, i))).find(|(_, m)| matches(m, mask, wanted))
    }

    /// Removes the message at a position from a channel.
    pub fn remove_message(&mut self, layout: &Layout, target: (ChannelTypeId, usize), place: usize) {
        let channel = &layout.channel_types[target.0.index()];
        let length = self.channel_length(layout, target);
        let start = target.1 + channel.messages;
        let size = channel.message_size;
        let bytes = self.bytes_mut();
        bytes.copy_within(start + (place + 1) * size..start + length * size, start + place * size);
        bytes[start + (length - 1) * size..start + length * size].fill(0);
        bytes[target.1] -= 1;
    }

    /// I-SEND at capacity 0.
    pub fn make_offer(&mut self, layout: &Layout, sender: usize, channel: i32, ty: ChannelTypeId, message: &[i32]) {
        let fields = &layout.channel_types[ty.index()].fields;
        let message = fields.iter().zip(message).map(|(f, v)| f.ty.truncate(*v)).collect();
        self.offer = Some(Offer { sender, channel, message });
    }
}

fn matches(message: &[i32], mask: FieldMask, wanted: &[i32]) -> bool {
    let constrained = message.iter().enumerate().filter(|(i, _)| mask.contains(*i)).map(|(_, v)| v);
    constrained.eq(wanted)
}
