//! Programs to bytes.

use super::{MAGIC, Section, VERSION, checksum, flags};
use crate::ids::{Addr, ChannelTypeId, FormatId, GlobalId, LocalId, ProcessId, Register};
use crate::ops::{FieldMask, Mode, Op, OperandSink, Receive};
use crate::program::{LabelKind, Program, Shown, Type, Variable};
use std::convert::Infallible;

/// The binary form of a program, well-formed or not.
pub fn encode(program: &Program) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(MAGIC);
    out.extend(VERSION.to_le_bytes());
    for &section in Section::ALL {
        let mut body = Writer::default();
        body.section(program, section, &out);
        out.push(section as u8);
        unsigned(&mut out, body.bytes.len() as u64);
        out.extend(body.bytes);
    }
    out
}

/// A number, seven bits a byte, lowest first; all bytes but the last have the high bit.
fn unsigned(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A signed number: like [`unsigned`], with the sign in bit 6 of the last byte.
fn signed(out: &mut Vec<u8>, mut value: i64) {
    while !(-0x40..0x40).contains(&value) {
        out.push(value as u8 & 0x7f | 0x80);
        value >>= 7;
    }
    out.push(value as u8 & 0x7f);
}

#[derive(Default)]
pub(super) struct Writer {
    pub(super) bytes: Vec<u8>,
}

impl Writer {
    pub(super) fn number(&mut self, value: impl Into<u64>) {
        unsigned(&mut self.bytes, value.into());
    }

    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }

    pub(super) fn list<T>(&mut self, elements: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.number(elements.len() as u64);
        elements.iter().for_each(|element| each(self, element));
    }

    fn section(&mut self, program: &Program, section: Section, before: &[u8]) {
        match section {
            Section::Name => self.text(&program.name),
            Section::Files => self.list(&program.files, |w, file| w.text(file)),
            Section::Symbols => self.list(&program.symbols, |w, (value, name)| {
                signed(&mut w.bytes, (*value).into());
                w.text(name);
            }),
            Section::Formats => self.list(&program.formats, |w, format| w.text(format)),
            Section::Globals => self.list(&program.globals, Self::variable),
            Section::ChannelTypes => self.list(&program.channel_types, |w, ty| {
                w.text(&ty.name);
                w.number(ty.capacity);
                w.list(&ty.fields, |w, field| w.ty(field.ty, field.shown));
            }),
            Section::Channels => self.list(&program.channels, |w, channel| {
                w.text(&channel.name);
                w.number(channel.ty.0);
            }),
            Section::Processes => self.list(&program.processes, |w, p| {
                w.text(&p.name);
                w.number(p.params);
                w.list(&p.locals, Self::variable);
                w.number(p.start.0);
                w.number(p.entry.0);
                // Shifted by one, so that 0 means `None`.
                w.number(p.prologue.map_or(0, |addr| u64::from(addr.0) + 1));
                w.number(p.priority);
            }),
            Section::Instances => self.list(&program.instances, |w, id| w.number(id.0)),
            Section::Code => self.list(&program.code, Self::instruction),
            Section::Labels => self.list(&program.labels, |w, label| {
                w.text(&label.name);
                w.number(label.addr.0);
                w.label_kind(label.kind);
            }),
            Section::Spans => self.list(&program.spans, |w, span| {
                w.number(span.addr.0);
                w.number(span.file.0);
                w.number(span.line);
                w.number(span.column);
                w.text(&span.text);
            }),
            Section::Atoms => self.list(&program.atoms, |w, atom| {
                w.text(&atom.name);
                w.number(atom.start.0);
            }),
            Section::Properties => self.list(&program.properties, Self::property),
            Section::Checksum => self.bytes.extend(checksum(before).to_le_bytes()),
            Section::End => {}
        }
    }

    /// The kind of the type in the low half and the way it is shown in the high half; the bits of
    /// an unsigned type follow.
    fn ty(&mut self, ty: Type, shown: Shown) {
        let kind = match ty {
            Type::Bit => 0,
            Type::Byte => 1,
            Type::Short => 2,
            Type::Int => 3,
            Type::Unsigned(_) => 4,
        };
        let shown = match shown {
            Shown::Number => 0,
            Shown::Bool => 1,
            Shown::Symbol => 2,
            Shown::Channel => 3,
            Shown::Process => 4,
            Shown::Hidden => 5,
        };
        self.bytes.push(shown << 4 | kind);
        if let Type::Unsigned(bits) = ty {
            self.bytes.push(bits);
        }
    }

    fn variable(&mut self, v: &Variable) {
        self.text(&v.name);
        self.ty(v.ty, v.shown);
        let scratch = if v.scratch { flags::SCRATCH } else { 0 };
        let array = if v.length.is_some() { flags::ARRAY } else { 0 };
        self.bytes.push(scratch | array);
        if let Some(length) = v.length {
            self.number(length);
        }
        self.list(&v.init, |w, value| signed(&mut w.bytes, (*value).into()));
    }

    pub(super) fn label_kind(&mut self, kind: LabelKind) {
        let set = [(kind.end, flags::END), (kind.progress, flags::PROGRESS), (kind.accept, flags::ACCEPT)];
        self.bytes.push(set.iter().filter(|flag| flag.0).fold(0, |byte, flag| byte | flag.1));
    }

    fn instruction(&mut self, op: &Op) {
        self.bytes.push(op.opcode());
        let Ok(()) = op.operands(self);
    }
}

type Written = Result<(), Infallible>;

impl OperandSink for Writer {
    type Error = Infallible;

    fn constant(&mut self, value: i32) -> Written {
        signed(&mut self.bytes, value.into());
        Ok(())
    }

    fn count(&mut self, value: u32) -> Written {
        self.number(value);
        Ok(())
    }

    fn global(&mut self, value: GlobalId) -> Written {
        self.number(value.0);
        Ok(())
    }

    fn local(&mut self, value: LocalId) -> Written {
        self.number(value.0);
        Ok(())
    }

    fn remote_local(&mut self, (process, var): (ProcessId, LocalId)) -> Written {
        self.process(process)?;
        self.local(var)
    }

    fn remote_addr(&mut self, (process, addr): (ProcessId, Addr)) -> Written {
        self.process(process)?;
        self.addr(addr)
    }

    fn register(&mut self, value: Register) -> Written {
        self.number(value.0);
        Ok(())
    }

    fn addr(&mut self, value: Addr) -> Written {
        self.number(value.0);
        Ok(())
    }

    fn mode(&mut self, value: Mode) -> Written {
        self.bytes.push(value as u8);
        Ok(())
    }

    fn process(&mut self, value: ProcessId) -> Written {
        self.number(value.0);
        Ok(())
    }

    fn channel_type(&mut self, value: ChannelTypeId) -> Written {
        self.number(value.0);
        Ok(())
    }

    fn receive(&mut self, value: Receive) -> Written {
        self.bytes.push(value as u8);
        Ok(())
    }

    fn mask(&mut self, value: FieldMask) -> Written {
        self.number(value.0);
        Ok(())
    }

    fn format(&mut self, value: FormatId) -> Written {
        self.number(value.0);
        Ok(())
    }
}
