//! A program: code and its tables.
//!
//! A program contains, as plain data, everything that a front-end produces and everything that an
//! engine needs. A [`Program`] may be malformed; only [`verify`](crate::verify()) turns it into a
//! [`Verified`](crate::Verified) program, and engines run only those.

use crate::ids::{Addr, ChannelTypeId, FileIndex, GlobalId, LocalId, ProcessId};
use crate::ops::{Mode, Op};
use crate::property::{Atom, PropertyEntry};

/// The type of a variable or a message field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Type {
    /// 0 or 1.
    Bit,
    /// 0 to 255.
    Byte,
    /// Sixteen bits, signed.
    Short,
    /// Thirty-two bits, signed.
    Int,
    /// The given number of bits, 1 to 32, unsigned.
    Unsigned(u8),
}

impl Type {
    /// Bytes it takes in a state.
    pub const fn width(self) -> usize {
        match self {
            Type::Bit | Type::Byte => 1,
            Type::Short => 2,
            Type::Int => 4,
            Type::Unsigned(bits) => match bits {
                0..=8 => 1,
                9..=16 => 2,
                _ => 4,
            },
        }
    }

    /// The smallest and the largest value that it can have.
    pub const fn range(self) -> (i64, i64) {
        match self {
            Type::Bit => (0, 1),
            Type::Byte => (0, u8::MAX as i64),
            Type::Short => (i16::MIN as i64, i16::MAX as i64),
            Type::Unsigned(bits) if bits < 32 => (0, (1 << bits) - 1),
            // All 32 bits of an unsigned variable are the bits of a signed value.
            Type::Int | Type::Unsigned(_) => (i32::MIN as i64, i32::MAX as i64),
        }
    }

    /// The value that remains when `value` is stored.
    pub const fn truncate(self, value: i32) -> i32 {
        match self {
            Type::Bit => value & 1,
            Type::Byte => value & 0xff,
            Type::Short => value as i16 as i32,
            Type::Int => value,
            Type::Unsigned(bits) => {
                if bits >= 32 {
                    value
                } else {
                    value & ((1_u32 << bits) - 1) as i32
                }
            }
        }
    }

    /// Reads a value of this type from the front of `bytes`, which must be long enough.
    #[inline]
    pub fn read(self, bytes: &[u8]) -> i32 {
        match (self, self.width()) {
            (Type::Short, _) => i16::from_le_bytes([bytes[0], bytes[1]]) as i32,
            (_, 1) => bytes[0] as i32,
            (_, 2) => u16::from_le_bytes([bytes[0], bytes[1]]) as i32,
            _ => i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        }
    }

    /// Stores `value`, truncated, at the front of `bytes`, which must be long enough.
    pub fn write(self, value: i32, bytes: &mut [u8]) {
        let width = self.width();
        bytes[..width].copy_from_slice(&self.truncate(value).to_le_bytes()[..width]);
    }
}

/// How values of a variable or field are shown to people. It has no effect on the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Shown {
    /// As a number.
    #[default]
    Number,
    /// As `true` or `false`.
    Bool,
    /// By its name in [`Program::symbols`].
    Symbol,
    /// As a channel.
    Channel,
    /// As a process number.
    Process,
    /// Not shown: it is part of the state, but the user did not write it.
    Hidden,
}

/// A variable: a scalar or an array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its name; unique in its table.
    pub name: String,
    /// The type of the variable or of each element.
    pub ty: Type,
    /// `None` for a scalar, the number of elements for an array.
    pub length: Option<u32>,
    /// Initial values: none (all 0), one for all elements, or one for each element.
    pub init: Vec<i32>,
    /// How to show it.
    pub shown: Shown,
    /// Whether it is reset to its initial value when a transition ends (rule S-SCRATCH).
    pub scratch: bool,
}

impl Variable {
    /// A scalar that starts at 0.
    pub fn scalar(name: impl Into<String>, ty: Type) -> Variable {
        Variable { name: name.into(), ty, length: None, init: Vec::new(), shown: Shown::Number, scratch: false }
    }

    /// An array whose elements start at 0.
    pub fn array(name: impl Into<String>, ty: Type, length: u32) -> Variable {
        Variable { length: Some(length), ..Variable::scalar(name, ty) }
    }

    /// The number of elements, 1 for a scalar.
    pub fn elements(&self) -> usize {
        self.length.unwrap_or(1) as usize
    }

    /// Bytes it takes in a state.
    pub fn size(&self) -> usize {
        self.elements() * self.ty.width()
    }

    /// The initial value of an element.
    pub fn initial(&self, element: usize) -> i32 {
        match self.init.as_slice() {
            [] => 0,
            [all] => *all,
            each => each.get(element).copied().unwrap_or(0),
        }
    }
}

/// A field of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageField {
    /// Its type.
    pub ty: Type,
    /// How to show it.
    pub shown: Shown,
}

/// A kind of channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChannelType {
    /// Its name; unique.
    pub name: String,
    /// How many messages it holds; 0 for a rendezvous.
    pub capacity: u8,
    /// The fields of each message, at least one.
    pub fields: Vec<MessageField>,
}

/// A channel that exists from the start; its number is its position plus one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StaticChannel {
    /// Its name; unique.
    pub name: String,
    /// Its type.
    pub ty: ChannelTypeId,
}

/// A process type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessType {
    /// Its name; unique.
    pub name: String,
    /// How many of the locals are parameters; they come first.
    pub params: u16,
    /// Parameters and local variables.
    pub locals: Vec<Variable>,
    /// The address of its first instruction. Its code ends where the next type's begins.
    pub start: Addr,
    /// The address at which instances begin to execute.
    pub entry: Addr,
    /// Code that completes the initial values of a new instance (rule I-RUN), ending in RET.
    pub prologue: Option<Addr>,
    /// The priority of new instances (rule S-PRIORITY).
    pub priority: u8,
}

/// The meaning of a label for its control location.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LabelKind {
    /// A process may wait here for ever.
    pub end: bool,
    /// Passing here is progress.
    pub progress: bool,
    /// Passing here infinitely often is acceptance.
    pub accept: bool,
}

/// A named address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// Its name; unique in its process type.
    pub name: String,
    /// Its address.
    pub addr: Addr,
    /// Its meaning.
    pub kind: LabelKind,
}

/// The source position of the instructions from `addr` up to the next entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// The first instruction.
    pub addr: Addr,
    /// The file, in [`Program::files`].
    pub file: FileIndex,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The statement as the user wrote it.
    pub text: String,
}

/// A program in byte-code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// Its name, for people.
    pub name: String,
    /// Global variables.
    pub globals: Vec<Variable>,
    /// Kinds of channels.
    pub channel_types: Vec<ChannelType>,
    /// Channels that exist from the start.
    pub channels: Vec<StaticChannel>,
    /// Process types, in the order of their code.
    pub processes: Vec<ProcessType>,
    /// The instances that exist at the start, in the order of their numbers.
    pub instances: Vec<ProcessId>,
    /// The code of the process types, followed by that of the atoms.
    pub code: Vec<Op>,
    /// Named addresses, in the order of addresses.
    pub labels: Vec<Label>,
    /// Source positions, in the order of addresses.
    pub spans: Vec<Span>,
    /// Source files.
    pub files: Vec<String>,
    /// Formats of PRINT.
    pub formats: Vec<String>,
    /// Names of values, for printing.
    pub symbols: Vec<(i32, String)>,
    /// The expressions its properties speak of, in the order of their code.
    pub atoms: Vec<Atom>,
    /// The properties it states, besides its assertions, end states and labels.
    pub properties: Vec<PropertyEntry>,
}

/// How the label of an `ASSERT`, `CHK` or `RANGE` begins that states more than an assertion of
/// the program, or something else than an index or a number that does not fit. A name of
/// [`VIOLATIONS`] and a number follow.
pub const VIOLATION: &str = "violation_";

/// What such an instruction can state: its name in labels, and how it is called.
pub const VIOLATIONS: &[(&str, &str)] = &[
    ("stack_overflow", "stack overflow"),
    ("uninitialised_read", "uninitialised read"),
    ("illegal_instruction", "illegal instruction"),
    ("wild_jump", "wild jump"),
    ("access_outside", "access outside memory"),
    ("interrupt_race", "interrupt race"),
    ("missing_handler", "interrupt without a handler"),
    ("unsupported", "unsupported operation"),
    ("call_depth", "more than 32 nested calls"),
    ("channels", "more than 255 channels"),
    ("queue", "more than 32 waiting processes"),
    ("set_element", "no element of a set"),
];

impl Program {
    /// Replaces every address in the program: `moved` computes the new one.
    pub fn readdress(&mut self, moved: impl Fn(Addr) -> Addr) {
        let code = self.code.iter_mut().filter_map(Op::address_mut);
        let processes =
            self.processes.iter_mut().flat_map(|process| [&mut process.start, &mut process.entry].into_iter().chain(&mut process.prologue));
        let labels = self.labels.iter_mut().map(|label| &mut label.addr);
        let spans = self.spans.iter_mut().map(|span| &mut span.addr);
        let atoms = self.atoms.iter_mut().map(|atom| &mut atom.start);
        code.chain(processes).chain(labels).chain(spans).chain(atoms).for_each(|addr| *addr = moved(*addr));
    }

    /// The code addresses that belong to a process type.
    pub fn code_of(&self, process: ProcessId) -> std::ops::Range<u32> {
        let i = process.index();
        let end = self.processes.get(i + 1).map_or(self.atoms_start().0, |next| next.start.0);
        self.processes[i].start.0..end
    }

    /// The process type an address belongs to.
    pub fn process_at(&self, addr: Addr) -> Option<ProcessId> {
        if addr >= self.atoms_start() || addr.index() >= self.code.len() {
            return None;
        }
        let after = self.processes.partition_point(|p| p.start <= addr);
        ProcessId::new(after.checked_sub(1)?)
    }

    /// The source position of an instruction.
    pub fn span_at(&self, addr: Addr) -> Option<&Span> {
        let after = self.spans.partition_point(|s| s.addr <= addr);
        let span = &self.spans[after.checked_sub(1)?];
        let same = self.process_at(span.addr) == self.process_at(addr) && self.atom_at(span.addr) == self.atom_at(addr);
        same.then_some(span)
    }

    /// The position of the text of an instruction's statement, if the statement is in a macro or an
    /// inline and executed elsewhere. This position comes before that of the statement, at the same
    /// address.
    pub fn origin_at(&self, addr: Addr) -> Option<&Span> {
        let after = self.spans.partition_point(|s| s.addr <= addr);
        let (before, last) = self.spans[..after].split_last_chunk::<2>().map(|(_, [before, last])| (before, last))?;
        (before.addr == last.addr && self.process_at(last.addr) == self.process_at(addr)).then_some(before)
    }

    /// What is wrong if an instruction fails, if a label there says it: the words for the label,
    /// among [`VIOLATIONS`].
    pub fn violation_at(&self, addr: Addr) -> Option<&'static str> {
        let first = self.labels.partition_point(|label| label.addr < addr);
        let here = self.labels[first..].iter().take_while(|label| label.addr == addr);
        here.filter_map(|label| label.name.strip_prefix(VIOLATION)).find_map(|rest| {
            VIOLATIONS
                .iter()
                .find(|(name, _)| rest.strip_prefix(name).is_some_and(|number| number.starts_with('_')))
                .map(|(_, words)| *words)
        })
    }

    /// The combined meaning of the labels at an address.
    pub fn label_kind_at(&self, addr: Addr) -> LabelKind {
        let first = self.labels.partition_point(|l| l.addr < addr);
        self.labels[first..].iter().take_while(|l| l.addr == addr).fold(LabelKind::default(), |kind, l| LabelKind {
            end: kind.end || l.kind.end,
            progress: kind.progress || l.kind.progress,
            accept: kind.accept || l.kind.accept,
        })
    }

    /// Whether a process at an address may end there (S-END): the location has an end label, or the
    /// process can only terminate.
    pub fn may_end_at(&self, addr: Addr) -> bool {
        matches!(self.code.get(addr.index()), Some(Op::Step { mode: Mode::Terminate })) || self.label_kind_at(addr).end
    }

    /// The address after a chain of unconditional jumps; `None` if the chain never ends or leaves
    /// the code.
    pub fn follow_jumps(&self, mut addr: Addr) -> Option<Addr> {
        for _ in 0..=self.code.len() {
            match self.code.get(addr.index())? {
                Op::Jmp { target } => addr = *target,
                _ => return Some(addr),
            }
        }
        None
    }

    /// The global with this name.
    pub fn global_named(&self, name: &str) -> Option<GlobalId> {
        GlobalId::new(self.globals.iter().position(|v| v.name == name)?)
    }

    /// The process type with this name.
    pub fn process_named(&self, name: &str) -> Option<ProcessId> {
        ProcessId::new(self.processes.iter().position(|p| p.name == name)?)
    }

    /// The local of a process type with this name.
    pub fn local_named(&self, process: ProcessId, name: &str) -> Option<LocalId> {
        LocalId::new(self.processes.get(process.index())?.locals.iter().position(|v| v.name == name)?)
    }

    /// The name of a value, where it has one.
    pub fn symbol(&self, value: i32) -> Option<&str> {
        self.symbols.iter().find(|(v, _)| *v == value).map(|(_, name)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storing_keeps_as_many_bits_as_the_type_has() {
        for bits in 1..=31 {
            assert_eq!(Type::Unsigned(bits).truncate(-1), ((1_i64 << bits) - 1) as i32);
        }
        assert_eq!(Type::Unsigned(32).truncate(-1), -1);
        assert_eq!(Type::Short.truncate(0x1_8000), -0x8000);
        assert_eq!((Type::Bit.truncate(3), Type::Byte.truncate(-1), Type::Int.truncate(-5)), (1, 255, -5));
    }
}
