//! The single state that a run changes, and its conversion to a state of the checked graph.
//!
//! Variables are whole numbers here, one per slot, so that instructions need not extract them from
//! bytes. [`Machine::state`] packs them according to the layout of the byte-code: the result is the
//! state that a search would have stored. If an alternative is impossible, its changes are undone
//! with a log.

use crate::code::NotRunnable;
use crate::insn::{Code, Native};
use crate::pairs::{self, Transfer};
use crate::rests::{Half, Key, Place, Rest, Rests};
use bytecode::{Addr, Fault, FaultKind, FormatId, Mode, Type, Verified};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// A process.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub ty: u8,
    pub location: u16,
    /// The number of its resting place.
    pub place: u32,
    pub frame: Vec<i32>,
    /// Its positions in the tables of waiting processes: first those that answer, then those that
    /// offer.
    pub listed: Vec<u32>,
    /// The number of positions in the first table.
    pub answering: u32,
}

/// A channel with room.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffer {
    pub capacity: usize,
    pub types: Vec<Type>,
    pub messages: VecDeque<Vec<i32>>,
}

/// A value before it was changed.
pub(crate) enum Before {
    Slot(u32, u32, i32),
    Global(u32, i32),
    Created,
    Buffer(u32, VecDeque<Vec<i32>>),
    Printed,
    Fault(Option<Fault>),
}

/// A text that the program prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Printed {
    pub format: FormatId,
    pub values: Vec<i32>,
}

/// The message of a process that looks for a partner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub channel: u32,
    pub count: usize,
    pub fields: [i32; bytecode::MAX_FIELDS],
}

pub(crate) struct Machine {
    pub verified: Arc<Verified>,
    // A run uses a single thread, so these are shared within it only.
    pub code: Rc<Code>,
    pub rests: Rc<Rests>,
    /// Executes pure computations, if there is native code.
    pub native: Option<Box<dyn Native>>,
    /// The number of further steps after which an action is checked for an endless loop.
    pub fuel: u32,
    /// The type and location of the process when the action began.
    pub began: (u8, u16),
    /// After an action that never ends, the process that was in the loop.
    pub looping: Option<usize>,
    /// For each half that offers, by the place of the partner: the transfer of the two.
    pub transfers: Vec<Vec<(u32, Option<Rc<Transfer>>)>>,
    pub globals: Vec<i32>,
    pub processes: Vec<Process>,
    pub buffers: Vec<Buffer>,
    /// By channel and key: the processes that wait to answer there, longest first.
    waiting: Vec<Vec<u8>>,
    /// By channel and key: the processes that offer there, longest first.
    offering: Vec<Vec<u8>>,
    pub log: Vec<Before>,
    pub logging: bool,
    pub pending: Pending,
    /// The mode with which the last path ended, and its target location.
    pub stepped: (Mode, u16),
    /// The last fault that ended a path.
    pub failed: Fault,
    /// Whether the current path has sent a message that no process has received yet.
    pub offered: bool,
    /// Whether the current path has received a message.
    pub answered: bool,
    /// The process that continues within the action.
    pub goes_on: usize,
    /// The first fault that did not end the action.
    pub carried: Option<Fault>,
    pub printed: Vec<Printed>,
    /// The number of processes that were created in the action.
    pub created: u32,
    /// Whether messages that only moved values must be reported.
    pub tells: bool,
    /// The last of these messages: channel, fields, number of fields.
    pub told: (u32, [i32; pairs::MOST], usize),
}

/// Keys are numbers of channels or processes, which are bytes.
const KEYS: usize = 256;

impl Machine {
    pub fn new(verified: Arc<Verified>) -> Result<Machine, NotRunnable> {
        let mut code = Code::of(&verified)?;
        let mut rests = Rests::of(&code, &verified)?;
        rests.link(&mut code);
        let (code, rests) = (Rc::new(code), Rc::new(rests));
        let program = verified.program();
        let buffer = |channel: &bytecode::StaticChannel| {
            let ty = &program.channel_types[channel.ty.index()];
            let types = ty.fields.iter().map(|field| field.ty).collect();
            Buffer { capacity: ty.capacity.into(), types, messages: VecDeque::new() }
        };
        let buffers: Vec<Buffer> = [Buffer::default()].into_iter().chain(program.channels.iter().map(buffer)).collect();
        let tables = buffers.len() * KEYS;
        let mut machine = Machine {
            globals: code.initial_globals.clone(),
            native: None,
            fuel: 0,
            began: (0, 0),
            looping: None,
            transfers: vec![Vec::new(); rests.halves as usize],
            processes: Vec::new(),
            waiting: vec![Vec::new(); tables],
            offering: vec![Vec::new(); tables],
            buffers,
            log: Vec::new(),
            logging: false,
            pending: Pending { channel: 0, count: 0, fields: [0; bytecode::MAX_FIELDS] },
            stepped: (Mode::Normal, 0),
            failed: Fault { kind: FaultKind::Endless, addr: Addr(0) },
            offered: false,
            answered: false,
            goes_on: 0,
            carried: None,
            printed: Vec::new(),
            created: 0,
            tells: false,
            told: (0, [0; pairs::MOST], 0),
            verified: Arc::clone(&verified),
            code,
            rests,
        };
        for instance in &verified.program().instances {
            machine.create(instance.0, &[]);
        }
        Ok(machine)
    }

    /// Appends a process; returns its number.
    pub fn create(&mut self, ty: u8, parameters: &[i32]) -> usize {
        let shape = &self.code.frames[ty as usize];
        let mut frame = shape.initial.clone();
        for (value, local) in parameters.iter().zip(&shape.locals) {
            frame[local.first as usize] = local.ty.truncate(*value);
        }
        let verified = &self.verified;
        let entry = verified.program().processes[ty as usize].entry;
        let entry = verified.program().follow_jumps(entry).unwrap_or(entry);
        let location = verified.locations().at(bytecode::ProcessId(ty), entry).map_or(0, |location| location.0);
        let place = self.rests.number(ty, location);
        self.processes.push(Process { ty, location, place, frame, listed: Vec::new(), answering: 0 });
        self.processes.len() - 1
    }

    /// Removes the youngest process.
    pub fn remove_last(&mut self) {
        self.processes.pop();
    }

    /// The resting place of a process.
    #[inline]
    pub fn rest(&self, process: usize) -> &Place {
        &self.rests.places[self.processes[process].place as usize]
    }

    /// Moves a process to another resting place.
    #[inline]
    pub fn rests_at(&mut self, process: usize, location: u16) {
        let process = &mut self.processes[process];
        process.location = location;
        process.place = self.rests.number(process.ty, location);
    }

    /// The value of a key for a process.
    #[inline]
    pub fn key(&self, process: usize, key: Key) -> i32 {
        match key {
            Key::Slot(slot) => self.processes[process].frame[slot as usize],
            Key::Global(var) => self.globals[var as usize],
            Key::Own => process as i32,
        }
    }

    #[inline]
    fn bucket(channel: u32, key: i32) -> usize {
        channel as usize * KEYS + (key & 255) as usize
    }

    /// The processes that wait to answer on a channel with this key, longest first; others may be
    /// among them if keys are not bytes.
    #[inline]
    pub fn answerers(&self, channel: u32, key: i32) -> &[u8] {
        &self.waiting[Self::bucket(channel, key)]
    }

    /// The processes that offer on a channel with this key.
    pub fn offerers(&self, channel: u32, key: i32) -> &[u8] {
        &self.offering[Self::bucket(channel, key)]
    }

    /// Enters a process that needs a partner into the tables, unless it is there already.
    #[inline]
    pub fn list(&mut self, number: usize) {
        let place = &self.rests.places[self.processes[number].place as usize];
        // Most processes wait for one message only.
        match place.single {
            Some((channel, key)) => {
                let bucket = Self::bucket(channel, self.key(number, key));
                let process = &mut self.processes[number];
                if process.listed.is_empty() {
                    process.listed.push(bucket as u32);
                    process.answering = 1;
                    self.waiting[bucket].push(number as u8);
                }
            }
            None => self.list_all(number),
        }
    }

    fn list_all(&mut self, number: usize) {
        let rests = Rc::clone(&self.rests);
        let process = &self.processes[number];
        if !process.listed.is_empty() {
            return;
        }
        if let Rest::Wait { offers, answers } = &rests.places[process.place as usize].rest {
            let mut listed = std::mem::take(&mut self.processes[number].listed);
            for half in answers {
                let bucket = Self::bucket(half.channel, self.key(number, half.key));
                self.waiting[bucket].push(number as u8);
                listed.push(bucket as u32);
            }
            self.processes[number].answering = listed.len() as u32;
            for half in offers.iter().filter(|half| rests.selectable[half.channel as usize]) {
                let bucket = Self::bucket(half.channel, self.key(number, half.key));
                self.offering[bucket].push(number as u8);
                listed.push(bucket as u32);
            }
            self.processes[number].listed = listed;
        }
    }

    /// Removes a process that waited from the tables.
    #[inline]
    pub fn unlist(&mut self, number: usize) {
        let process = &mut self.processes[number];
        if let [bucket] = process.listed[..]
            && process.answering == 1
            && let [only] = self.waiting[bucket as usize][..]
            && only as usize == number
        {
            process.listed.clear();
            self.waiting[bucket as usize].clear();
        } else if !process.listed.is_empty() {
            self.unlist_all(number);
        }
    }

    fn unlist_all(&mut self, number: usize) {
        let process = &mut self.processes[number];
        let remove = |list: &mut Vec<u8>| {
            if let Some(at) = list.iter().position(|known| *known as usize == number) {
                list.remove(at);
            }
        };
        for (place, bucket) in process.listed.iter().enumerate() {
            let table = if place < process.answering as usize { &mut self.waiting } else { &mut self.offering };
            remove(&mut table[*bucket as usize]);
        }
        process.listed.clear();
    }

    /// The halves with which a process waits.
    #[inline]
    pub fn halves(&self, process: usize) -> (&[Half], &[Half]) {
        match &self.rest(process).rest {
            Rest::Wait { offers, answers } => (offers, answers),
            _ => (&[], &[]),
        }
    }

    /// Undoes the changes made since the log had this length.
    pub fn undo(&mut self, mark: usize) {
        while self.log.len() > mark
            && let Some(before) = self.log.pop()
        {
            match before {
                Before::Slot(process, slot, value) => self.processes[process as usize].frame[slot as usize] = value,
                Before::Global(var, value) => self.globals[var as usize] = value,
                Before::Created => {
                    self.processes.pop();
                    self.created -= 1;
                }
                Before::Buffer(channel, messages) => self.buffers[channel as usize].messages = messages,
                Before::Printed => {
                    self.printed.pop();
                }
                Before::Fault(fault) => self.carried = fault,
            }
        }
    }

    /// The state as a search would store it.
    pub fn state(&self) -> Vec<u8> {
        let layout = self.verified.layout();
        let mut bytes = vec![0; layout.fixed];
        let write = |bytes: &mut [u8], offset: usize, ty: Type, values: &[i32]| {
            for (number, value) in values.iter().enumerate() {
                ty.write(*value, &mut bytes[offset + number * ty.width()..]);
            }
        };
        for (slot, array) in layout.globals.iter().zip(&self.code.globals) {
            let values = &self.globals[array.first as usize..(array.first + array.length) as usize];
            write(&mut bytes, slot.offset, slot.ty, values);
        }
        for ((ty, offset), buffer) in layout.channels.iter().zip(&self.buffers[1..]) {
            let channel = &layout.channel_types[ty.index()];
            if channel.capacity == 0 {
                continue;
            }
            bytes[*offset] = buffer.messages.len() as u8;
            for (number, message) in buffer.messages.iter().enumerate() {
                let start = offset + channel.messages + number * channel.message_size;
                for (field, value) in channel.fields.iter().zip(message) {
                    field.ty.write(*value, &mut bytes[start + field.offset..]);
                }
            }
        }
        for process in &self.processes {
            let layout = &layout.processes[process.ty as usize];
            let start = bytes.len();
            bytes.resize(start + layout.size, 0);
            bytes[start] = process.ty;
            layout.set_location(&mut bytes[start..], bytecode::Location(process.location));
            for (slot, array) in layout.locals.iter().zip(&self.code.frames[process.ty as usize].locals) {
                let values = &process.frame[array.first as usize..(array.first + array.length) as usize];
                write(&mut bytes, start + slot.offset, slot.ty, values);
            }
        }
        bytes
    }
}
