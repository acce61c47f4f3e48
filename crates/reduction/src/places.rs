//! The parts of a state through which steps of different processes can influence each other, as
//! numbered places.
//!
//! A local variable is a place only if another process or an atom can read it. A channel is two
//! places, its head and its tail: a send and a receive on a buffered channel do not influence each
//! other.

use crate::bits::Bits;
use bytecode::{GlobalId, LocalId, Op, ProcessId, Verified};
use std::collections::HashMap;

/// Arrays with more elements are one place.
const MOST_ELEMENTS: usize = 64;

/// A channel, or any of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Channel {
    /// The static channel at this position.
    One(usize),
    /// Any channel.
    Any,
    /// No channel: using it is a fault.
    None,
}

/// The places of a program.
#[derive(Debug)]
pub(crate) struct Places {
    pub count: usize,
    globals: Vec<usize>,
    /// For each global, its number of places.
    lengths: Vec<usize>,
    /// The tail of the first channel; its head follows, then the next channel. The last pair is for
    /// all channels that are created at run time.
    channels: usize,
    /// The capacity of each static channel.
    capacities: Vec<u8>,
    /// Which processes and channels exist.
    pub existence: usize,
    /// For each process type, the place of its control location, if any code reads it.
    locations: Vec<Option<usize>>,
    locals: HashMap<(ProcessId, LocalId), usize>,
    /// The globals that no instruction writes.
    constant: Vec<bool>,
    /// Whether channels are created at run time.
    pub creates_channels: bool,
}

impl Places {
    pub fn of(program: &Verified) -> Places {
        let declared = program.program();
        let mut next = 0;
        let mut place = |many: usize| {
            let first = next;
            next += many;
            first
        };
        let lengths: Vec<usize> = declared.globals.iter().map(|v| if v.elements() > MOST_ELEMENTS { 1 } else { v.elements() }).collect();
        let globals = lengths.iter().map(|&many| place(many)).collect();
        let channels = place(2 * (declared.channels.len() + 1));
        let existence = place(1);
        let mut constant: Vec<bool> = declared.globals.iter().map(|v| !v.scratch).collect();
        let (mut locals, mut all_locations) = (HashMap::new(), false);
        let mut asked = vec![false; declared.processes.len()];
        let mut creates_channels = false;
        for op in &declared.code {
            match *op {
                Op::Stg { var } | Op::Stgx { var } => constant[var.index()] = false,
                Op::Ldr { var: (ty, local) } | Op::Ldrx { var: (ty, local) } => {
                    locals.entry((ty, local)).or_insert_with(|| place(1));
                }
                Op::At { place: (ty, _) } => asked[ty.index()] = true,
                Op::Pcval {} | Op::Np {} => all_locations = true,
                Op::Chnew { .. } => creates_channels = true,
                _ => {}
            }
        }
        let locations = asked.iter().map(|asked| (*asked || all_locations).then(|| place(1))).collect();
        let capacities = declared.channels.iter().map(|c| declared.channel_types[c.ty.index()].capacity).collect();
        Places { count: next, globals, lengths, channels, capacities, existence, locations, locals, constant, creates_channels }
    }

    pub fn none(&self) -> Bits {
        Bits::new(self.count)
    }

    /// Whether no step ever writes the global.
    pub fn is_constant(&self, global: GlobalId) -> bool {
        self.constant[global.index()]
    }

    /// The place of one element of a global.
    pub fn element(&self, global: GlobalId, index: usize) -> usize {
        let length = self.lengths[global.index()];
        self.globals[global.index()] + if index < length { index } else { 0 }
    }

    /// Whether each element of the global is a place of its own.
    pub fn has_elements(&self, global: GlobalId, elements: usize) -> bool {
        self.lengths[global.index()] == elements
    }

    pub fn add_global(&self, global: GlobalId, index: Option<i32>, to: &mut Bits) {
        let (first, length) = (self.globals[global.index()], self.lengths[global.index()]);
        match index {
            Some(index) if length > 1 => {
                // An index outside the array is a fault and uses no element.
                if let Some(index) = usize::try_from(index).ok().filter(|&index| index < length) {
                    to.set(first + index);
                }
            }
            _ => (first..first + length).for_each(|place| to.set(place)),
        }
    }

    pub fn add_local(&self, ty: ProcessId, local: LocalId, to: &mut Bits) {
        if let Some(&place) = self.locals.get(&(ty, local)) {
            to.set(place);
        }
    }

    pub fn add_location(&self, ty: ProcessId, to: &mut Bits) {
        if let Some(place) = self.locations[ty.index()] {
            to.set(place);
        }
    }

    pub fn add_all_locations(&self, to: &mut Bits) {
        self.locations.iter().flatten().for_each(|&place| to.set(place));
    }

    /// The number, among rendezvous channels, for those created at run time.
    pub fn created(&self) -> usize {
        self.capacities.len()
    }

    pub fn capacity(&self, channel: usize) -> u8 {
        self.capacities[channel]
    }

    /// The static channel with a number of the program.
    pub fn channel(&self, number: Option<i32>) -> Channel {
        match number {
            None => Channel::Any,
            Some(number) => match usize::try_from(number).ok().and_then(|n| n.checked_sub(1)) {
                Some(position) if position < self.capacities.len() => Channel::One(position),
                Some(_) if self.creates_channels => Channel::Any,
                _ => Channel::None,
            },
        }
    }

    pub fn tail(&self, channel: usize) -> usize {
        self.channels + 2 * channel
    }

    pub fn head(&self, channel: usize) -> usize {
        self.channels + 2 * channel + 1
    }

    fn each_channel(&self, channel: Channel) -> std::ops::Range<usize> {
        match channel {
            Channel::One(position) => position..position + 1,
            Channel::Any => 0..self.capacities.len() + 1,
            Channel::None => 0..0,
        }
    }

    pub fn add_tail(&self, channel: Channel, to: &mut Bits) {
        self.each_channel(channel).for_each(|channel| to.set(self.tail(channel)));
    }

    pub fn add_head(&self, channel: Channel, to: &mut Bits) {
        self.each_channel(channel).for_each(|channel| to.set(self.head(channel)));
    }

    /// The ends of all channels created at run time.
    pub fn add_created(&self, to: &mut Bits) {
        to.set(self.tail(self.created()));
        to.set(self.head(self.created()));
    }

    /// Adds, for each end of a channel in the set, the other end.
    pub fn both_ends(&self, set: &mut Bits) {
        for channel in 0..=self.capacities.len() {
            let (tail, head) = (self.tail(channel), self.head(channel));
            if set.has(tail) || set.has(head) {
                set.set(tail);
                set.set(head);
            }
        }
    }

    /// The rendezvous channels that a channel expression may name. Those created at run time are
    /// one.
    pub fn rendezvous(&self, channel: Channel) -> Vec<usize> {
        let handshake = |&c: &usize| self.capacities.get(c).is_none_or(|&capacity| capacity == 0);
        self.each_channel(channel).filter(handshake).filter(|&c| c < self.created() || self.creates_channels).collect()
    }
}
