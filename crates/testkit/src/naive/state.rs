//! States as rich values, and their byte form by the rules M-STATE, M-PROCESS and M-CHANNEL.
//!
//! This code is independent of `bytecode::Layout` on purpose: there are two descriptions of the
//! same bytes, and every test that compares states compares them.

use super::paths::{Log, Stop};
use super::{Initial, Mutant, Naive, Refusal};
use bytecode::{Program, Type, Variable};
use std::collections::VecDeque;

/// **M-STATE**: ⟨Π, e, G, Φ⟩.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct State {
    /// The process with the privilege.
    pub exclusive: Option<usize>,
    /// The process that moved last; 0 in programs that never use it.
    pub last: usize,
    /// Each global's elements.
    pub globals: Vec<Vec<i32>>,
    /// The static channels.
    pub channels: Vec<Channel>,
    /// Processes and channels created at run time, in the order of creation.
    pub created: Vec<Component>,
}

/// A component created at run time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Component {
    /// A process.
    Process(Process),
    /// A channel.
    Channel(Channel),
}

/// **M-PROCESS**.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    /// The number of its type.
    pub ty: usize,
    /// The number of its control location.
    pub location: usize,
    /// Its priority.
    pub priority: u8,
    /// Each local's elements, parameters first.
    pub locals: Vec<Vec<i32>>,
}

/// **M-CHANNEL**.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    /// The number of its type.
    pub ty: usize,
    /// The process recorded as its only receiver.
    pub receiver: Option<usize>,
    /// The process recorded as its only sender.
    pub sender: Option<usize>,
    /// The messages, oldest first.
    pub messages: VecDeque<Vec<i32>>,
}

/// A byte string that is not a state of the program: the error and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAState {
    /// The error.
    pub what: &'static str,
    /// The offset of the byte.
    pub at: usize,
}

impl State {
    /// The number of processes.
    pub fn process_count(&self) -> usize {
        self.processes().count()
    }

    /// The processes, in the order of their numbers.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        self.created.iter().filter_map(|component| match component {
            Component::Process(process) => Some(process),
            Component::Channel(_) => None,
        })
    }

    /// The process with a number.
    pub fn process(&self, number: i32) -> Option<&Process> {
        self.processes().nth(usize::try_from(number).ok()?)
    }

    /// The process with a number, to change it.
    pub fn process_mut(&mut self, number: i32) -> Option<&mut Process> {
        let processes = self.created.iter_mut().filter_map(|component| match component {
            Component::Process(process) => Some(process),
            Component::Channel(_) => None,
        });
        processes.into_iter().nth(usize::try_from(number).ok()?)
    }

    /// The channels, static ones first, in the order of their numbers, which begin with 1.
    pub fn all_channels(&self) -> impl Iterator<Item = &Channel> {
        let created = self.created.iter().filter_map(|component| match component {
            Component::Channel(channel) => Some(channel),
            Component::Process(_) => None,
        });
        self.channels.iter().chain(created)
    }

    /// The channel with a number.
    pub fn channel(&self, number: i32) -> Option<&Channel> {
        self.all_channels().nth(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    /// The channel with a number, to change it.
    pub fn channel_mut(&mut self, number: i32) -> Option<&mut Channel> {
        let created = self.created.iter_mut().filter_map(|component| match component {
            Component::Channel(channel) => Some(channel),
            Component::Process(_) => None,
        });
        self.channels.iter_mut().chain(created).nth(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    /// The value of a scalar global, by name.
    pub fn global(&self, program: &Program, name: &str) -> Option<i32> {
        self.globals.get(program.global_named(name)?.index())?.first().copied()
    }

    /// The elements of a global, by name.
    pub fn global_array(&self, program: &Program, name: &str) -> Option<&[i32]> {
        self.globals.get(program.global_named(name)?.index()).map(Vec::as_slice)
    }

    /// The value of a scalar local of a process, by name.
    pub fn local(&self, program: &Program, process: usize, name: &str) -> Option<i32> {
        let process = self.processes().nth(process)?;
        let place = program.processes.get(process.ty)?.locals.iter().position(|v| v.name == name)?;
        process.locals.get(place)?.first().copied()
    }
}

/// The number of bits that a type keeps.
fn bits(ty: Type) -> u32 {
    match ty {
        Type::Bit => 1,
        Type::Byte => 8,
        Type::Short => 16,
        Type::Int => 32,
        Type::Unsigned(n) => u32::from(n),
    }
}

/// The number of bytes that a type takes: the least of 1, 2 and 4 that holds it.
fn bytes(ty: Type) -> usize {
    [1, 2, 4].into_iter().find(|n| bits(ty) <= 8 * n).unwrap_or(4) as usize
}

impl Naive {
    /// **M-VALUE**: the value after it is stored in a variable of this type.
    pub(super) fn m_value(&self, ty: Type, value: i32) -> i32 {
        let low = i64::from(value) & ((1i64 << bits(ty)) - 1);
        let signed = matches!(ty, Type::Short | Type::Int) && !(self.is(Mutant::ShortIsUnsigned) && ty == Type::Short);
        let signed = signed || bits(ty) == 32;
        if signed && low >> (bits(ty) - 1) & 1 == 1 { (low - (1i64 << bits(ty))) as i32 } else { low as i32 }
    }

    /// The initial values of a variable's elements.
    pub(super) fn initial_values(&self, variable: &Variable) -> Vec<i32> {
        (0..variable.length.unwrap_or(1) as usize)
            .map(|i| match variable.init.len() {
                0 => 0,
                1 => variable.init[0],
                _ => variable.init[i],
            })
            .map(|value| self.m_value(variable.ty, value))
            .collect()
    }

    /// **M-INITIAL**.
    pub(super) fn m_initial(&self) -> Result<Initial, Refusal> {
        let empty = |ty| Channel { ty, receiver: None, sender: None, messages: VecDeque::new() };
        let mut state = State {
            exclusive: None,
            last: 0,
            globals: self.program.globals.iter().map(|global| self.initial_values(global)).collect(),
            channels: self.program.channels.iter().map(|channel| empty(channel.ty.index())).collect(),
            created: Vec::new(),
        };
        let mut instances: Vec<usize> = self.program.instances.iter().map(|ty| ty.index()).collect();
        if self.is(Mutant::InstancesBackwards) {
            instances.reverse();
        }
        let mut log = Log::default();
        for ty in instances {
            match self.create_instance(state, ty, log) {
                Ok(created) => (state, log) = created,
                Err(Stop::Fault(fatal)) => return Ok(Initial { fault: Some(fatal), state: None }),
                Err(Stop::Blocked) => return Err(Refusal::Malformed(self.program.processes[ty].entry)),
                Err(Stop::Refused(refusal)) => return Err(refusal),
            }
        }
        Ok(Initial { fault: log.carried, state: Some(state) })
    }

    fn put(&self, ty: Type, value: i32, out: &mut Vec<u8>) {
        let mut chunk = value.to_le_bytes()[..bytes(ty)].to_vec();
        if self.is(Mutant::BigEndian) {
            chunk.reverse();
        }
        out.extend(chunk);
    }

    fn put_channel(&self, channel: &Channel, out: &mut Vec<u8>) {
        let ty = &self.program.channel_types[channel.ty];
        if ty.capacity > 0 {
            out.push(channel.messages.len() as u8);
        }
        if self.has_claims {
            for claim in [channel.receiver, channel.sender] {
                out.push(claim.map_or(0, |process| process as u8 + 1));
            }
        }
        let mut messages: Vec<&Vec<i32>> = channel.messages.iter().collect();
        if self.is(Mutant::NewestMessageFirst) {
            messages.reverse();
        }
        for place in 0..ty.capacity as usize {
            for (i, field) in ty.fields.iter().enumerate() {
                self.put(field.ty, messages.get(place).and_then(|message| message.get(i)).copied().unwrap_or(0), out);
            }
        }
    }

    fn put_process(&self, process: &Process, out: &mut Vec<u8>) {
        out.push(process.ty as u8);
        let location = (process.location as u16).to_le_bytes();
        let wide = self.locations[process.ty].len() > 256 && !self.is(Mutant::LocationInOneByte);
        out.extend(if wide { &location[..] } else { &location[..1] });
        if self.has_priorities {
            out.push(process.priority);
        }
        let mut locals: Vec<(&Variable, &Vec<i32>)> = self.program.processes[process.ty].locals.iter().zip(&process.locals).collect();
        if self.is(Mutant::LocalsBackwards) {
            locals.reverse();
        }
        for (variable, values) in locals {
            values.iter().for_each(|&value| self.put(variable.ty, value, out));
        }
    }

    /// The state as bytes: **M-STATE**, **M-PROCESS**, **M-CHANNEL**.
    pub fn encode(&self, state: &State) -> Vec<u8> {
        let mut out = Vec::new();
        if self.has_atomic {
            out.push(state.exclusive.map_or(0, |process| process as u8 + 1));
        }
        if self.has_last {
            out.push(state.last as u8);
        }
        for (variable, values) in self.program.globals.iter().zip(&state.globals) {
            values.iter().for_each(|&value| self.put(variable.ty, value, &mut out));
        }
        for channel in &state.channels {
            self.put_channel(channel, &mut out);
        }
        for component in &state.created {
            match component {
                Component::Process(process) => self.put_process(process, &mut out),
                Component::Channel(channel) => {
                    out.push((self.program.processes.len() + channel.ty) as u8);
                    self.put_channel(channel, &mut out);
                }
            }
        }
        out
    }

    /// The state that a byte string represents.
    pub fn decode(&self, bytes: &[u8]) -> Result<State, NotAState> {
        let mut reader = Reader { naive: self, bytes, at: 0 };
        let exclusive = if self.has_atomic { (reader.byte()? as usize).checked_sub(1) } else { None };
        let last = if self.has_last { reader.byte()? as usize } else { 0 };
        let globals = self.program.globals.iter().map(|global| reader.variable(global)).collect::<Result<_, _>>()?;
        let channels = self.program.channels.iter().map(|channel| reader.channel(channel.ty.index())).collect::<Result<_, _>>()?;
        let mut created = Vec::new();
        while reader.at < bytes.len() {
            let shape = reader.byte()? as usize;
            created.push(match shape.checked_sub(self.program.processes.len()) {
                None => Component::Process(reader.process(shape)?),
                Some(ty) if ty < self.program.channel_types.len() => Component::Channel(reader.channel(ty)?),
                Some(_) => return Err(NotAState { what: "no such shape", at: reader.at - 1 }),
            });
        }
        let state = State { exclusive, last, globals, channels, created };
        if exclusive.is_some_and(|process| process >= state.process_count()) {
            return Err(NotAState { what: "the privilege of a process that does not exist", at: 0 });
        }
        Ok(state)
    }
}

struct Reader<'a> {
    naive: &'a Naive,
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn take(&mut self, count: usize) -> Result<&[u8], NotAState> {
        let taken = self.bytes.get(self.at..self.at + count).ok_or(NotAState { what: "too short", at: self.at })?;
        self.at += count;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, NotAState> {
        Ok(self.take(1)?[0])
    }

    fn value(&mut self, ty: Type) -> Result<i32, NotAState> {
        let at = self.at;
        let mut word = [0; 4];
        let taken = self.take(bytes(ty))?;
        word[..taken.len()].copy_from_slice(taken);
        let raw = i32::from_le_bytes(word);
        let value = self.naive.m_value(ty, raw);
        // Bits that the type does not have are 0 in its bytes; sign extension is not affected.
        let kept = if bits(ty) == 32 || ty == Type::Short { raw } else { value };
        if kept == raw { Ok(value) } else { Err(NotAState { what: "bits that the type does not have", at }) }
    }

    fn variable(&mut self, variable: &Variable) -> Result<Vec<i32>, NotAState> {
        (0..variable.length.unwrap_or(1)).map(|_| self.value(variable.ty)).collect()
    }

    fn channel(&mut self, ty: usize) -> Result<Channel, NotAState> {
        let shape = &self.naive.program.channel_types[ty];
        let at = self.at;
        let length = if shape.capacity > 0 { self.byte()? } else { 0 };
        if length > shape.capacity {
            return Err(NotAState { what: "more messages than fit", at });
        }
        let claims = if self.naive.has_claims { [self.byte()?, self.byte()?] } else { [0, 0] };
        let [receiver, sender] = claims.map(|claim| (claim as usize).checked_sub(1));
        let mut messages = VecDeque::new();
        for place in 0..shape.capacity {
            let at = self.at;
            let message = shape.fields.iter().map(|field| self.value(field.ty)).collect::<Result<Vec<i32>, _>>()?;
            if place < length {
                messages.push_back(message);
            } else if message.iter().any(|&value| value != 0) {
                return Err(NotAState { what: "an unused place that is not 0", at });
            }
        }
        Ok(Channel { ty, receiver, sender, messages })
    }

    fn process(&mut self, ty: usize) -> Result<Process, NotAState> {
        let at = self.at;
        let count = self.naive.locations[ty].len();
        let low = self.byte()? as usize;
        let location = if count > 256 { low | (self.byte()? as usize) << 8 } else { low };
        if location >= count {
            return Err(NotAState { what: "no such control location", at });
        }
        let shape = &self.naive.program.processes[ty];
        let priority = if self.naive.has_priorities { self.byte()? } else { shape.priority };
        let locals = shape.locals.iter().map(|local| self.variable(local)).collect::<Result<_, _>>()?;
        Ok(Process { ty, location, priority, locals })
    }
}
