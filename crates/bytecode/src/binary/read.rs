//! Bytes to programs.

use super::{DecodeError, DecodeErrorKind, MAGIC, OPTIONAL, Section, VERSION, checksum, flags};
use crate::ids::{Addr, ChannelTypeId, FileIndex, FormatId, GlobalId, LocalId, ProcessId, Register};
use crate::ops::{FieldMask, Mode, Op, OperandSource, Receive};
use crate::program::{ChannelType, Label, LabelKind, MessageField, ProcessType, Program, Shown, Span, StaticChannel, Type, Variable};
use crate::property::Atom;

pub(super) type Decoded<T> = Result<T, DecodeError>;

/// Decodes a program. The program is not yet verified. Missing sections are empty; only the end
/// section must be present.
pub fn decode(bytes: &[u8]) -> Decoded<Program> {
    let mut reader = Reader { bytes, at: 0, end: bytes.len() };
    for expected in MAGIC {
        if reader.byte().ok() != Some(expected) {
            return Err(DecodeError { kind: DecodeErrorKind::NotAProgram, offset: 0 });
        }
    }
    let offset = reader.at;
    let version = u16::from_le_bytes([reader.byte()?, reader.byte()?]);
    if version != VERSION {
        return Err(DecodeError { kind: DecodeErrorKind::Version(version), offset });
    }
    let mut program = Program::default();
    let mut last = None;
    // The first read that finds too few bytes reports it.
    while last != Some(Section::End) {
        let offset = reader.at;
        let code = reader.byte()?;
        let length = reader.number::<u32>()? as usize;
        let end = reader.at.checked_add(length).filter(|&end| end <= bytes.len());
        let end = end.ok_or(DecodeError { kind: DecodeErrorKind::Truncated, offset })?;
        let Some(section) = Section::from_code(code) else {
            if code & OPTIONAL == 0 {
                return Err(DecodeError { kind: DecodeErrorKind::UnknownSection(code), offset });
            }
            reader.at = end;
            continue;
        };
        if last >= Some(section) {
            return Err(DecodeError { kind: DecodeErrorKind::SectionOrder(section), offset });
        }
        last = Some(section);
        reader.end = end;
        reader.section(&mut program, section, &bytes[..offset])?;
        if reader.at != end {
            return Err(reader.error(DecodeErrorKind::SectionLength(section)));
        }
        reader.end = bytes.len();
    }
    if reader.at < bytes.len() {
        return Err(reader.error(DecodeErrorKind::Trailing));
    }
    Ok(program)
}

/// The bytes from `at` to `end`.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl Reader<'_> {
    pub(super) fn error(&self, kind: DecodeErrorKind) -> DecodeError {
        DecodeError { kind, offset: self.at }
    }

    pub(super) fn byte(&mut self) -> Decoded<u8> {
        match self.bytes.get(self.at).filter(|_| self.at < self.end) {
            Some(&byte) => {
                self.at += 1;
                Ok(byte)
            }
            None => Err(self.error(DecodeErrorKind::Truncated)),
        }
    }

    pub(super) fn number<T: TryFrom<u64>>(&mut self) -> Decoded<T> {
        let offset = self.at;
        let wrong = DecodeError { kind: DecodeErrorKind::Number, offset };
        let mut value = 0;
        // Five bytes hold 35 bits, more than any number here has.
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return T::try_from(value).map_err(|_| wrong);
            }
        }
        Err(wrong)
    }

    fn signed(&mut self) -> Decoded<i32> {
        let offset = self.at;
        let wrong = DecodeError { kind: DecodeErrorKind::Number, offset };
        let mut value: i64 = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= i64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                let unused = 64 - (shift + 7);
                return i32::try_from(value << unused >> unused).map_err(|_| wrong);
            }
        }
        Err(wrong)
    }

    pub(super) fn text(&mut self) -> Decoded<String> {
        let length = self.number::<u32>()? as usize;
        let offset = self.at;
        let end = self.at.checked_add(length).filter(|&end| end <= self.end).ok_or_else(|| self.error(DecodeErrorKind::Truncated))?;
        let text = std::str::from_utf8(&self.bytes[self.at..end]).map_err(|_| DecodeError { kind: DecodeErrorKind::Text, offset })?;
        self.at = end;
        Ok(text.to_owned())
    }

    /// Each element takes at least one byte, so the remaining bytes bound their number.
    pub(super) fn list<T>(&mut self, mut each: impl FnMut(&mut Self) -> Decoded<T>) -> Decoded<Vec<T>> {
        let count = self.number::<u32>()? as usize;
        if count > self.end - self.at {
            return Err(self.error(DecodeErrorKind::Truncated));
        }
        let mut elements = Vec::new();
        for _ in 0..count {
            elements.push(each(self)?);
        }
        Ok(elements)
    }

    fn section(&mut self, program: &mut Program, section: Section, before: &[u8]) -> Decoded<()> {
        match section {
            Section::Name => program.name = self.text()?,
            Section::Files => program.files = self.list(Self::text)?,
            Section::Symbols => program.symbols = self.list(|r| Ok((r.signed()?, r.text()?)))?,
            Section::Formats => program.formats = self.list(Self::text)?,
            Section::Globals => program.globals = self.list(Self::variable)?,
            Section::ChannelTypes => {
                program.channel_types = self.list(|r| {
                    let (name, capacity) = (r.text()?, r.number()?);
                    let fields = r.list(|r| r.ty().map(|(ty, shown)| MessageField { ty, shown }))?;
                    Ok(ChannelType { name, capacity, fields })
                })?;
            }
            Section::Channels => {
                program.channels = self.list(|r| Ok(StaticChannel { name: r.text()?, ty: r.channel_type()? }))?;
            }
            Section::Processes => program.processes = self.list(Self::process_type)?,
            Section::Instances => program.instances = self.list(Self::process)?,
            Section::Code => program.code = self.list(Self::instruction)?,
            Section::Labels => {
                program.labels = self.list(|r| Ok(Label { name: r.text()?, addr: r.addr()?, kind: r.label_kind()? }))?;
            }
            Section::Spans => {
                program.spans = self.list(|r| {
                    let (addr, file) = (r.addr()?, FileIndex(r.number()?));
                    Ok(Span { addr, file, line: r.number()?, column: r.number()?, text: r.text()? })
                })?;
            }
            Section::Atoms => program.atoms = self.list(|r| Ok(Atom { name: r.text()?, start: r.addr()? }))?,
            Section::Properties => program.properties = self.list(Self::property)?,
            Section::Checksum => {
                let offset = self.at;
                let stored = u32::from_le_bytes([self.byte()?, self.byte()?, self.byte()?, self.byte()?]);
                if stored != checksum(before) {
                    return Err(DecodeError { kind: DecodeErrorKind::Checksum, offset });
                }
            }
            Section::End => {}
        }
        Ok(())
    }

    /// A byte that must be a valid code.
    pub(super) fn code<T>(&mut self, meaning: impl FnOnce(u8) -> Option<T>) -> Decoded<T> {
        let offset = self.at;
        let code = self.byte()?;
        meaning(code).ok_or(DecodeError { kind: DecodeErrorKind::Code(code), offset })
    }

    fn ty(&mut self) -> Decoded<(Type, Shown)> {
        let (kind, shown) = self.code(|code| {
            let shown = match code >> 4 {
                0 => Shown::Number,
                1 => Shown::Bool,
                2 => Shown::Symbol,
                3 => Shown::Channel,
                4 => Shown::Process,
                5 => Shown::Hidden,
                _ => return None,
            };
            let ty = match code & 15 {
                0 => Some(Type::Bit),
                1 => Some(Type::Byte),
                2 => Some(Type::Short),
                3 => Some(Type::Int),
                4 => None,
                _ => return None,
            };
            Some((ty, shown))
        })?;
        match kind {
            Some(ty) => Ok((ty, shown)),
            None => Ok((Type::Unsigned(self.byte()?), shown)),
        }
    }

    fn variable(&mut self) -> Decoded<Variable> {
        let name = self.text()?;
        let (ty, shown) = self.ty()?;
        let set = self.code(|code| (code & !(flags::SCRATCH | flags::ARRAY) == 0).then_some(code))?;
        let length = if set & flags::ARRAY != 0 { Some(self.number()?) } else { None };
        let init = self.list(Self::signed)?;
        Ok(Variable { name, ty, length, init, shown, scratch: set & flags::SCRATCH != 0 })
    }

    fn process_type(&mut self) -> Decoded<ProcessType> {
        let (name, params) = (self.text()?, self.number()?);
        let locals = self.list(Self::variable)?;
        let (start, entry) = (self.addr()?, self.addr()?);
        let offset = self.at;
        let prologue = match self.number::<u64>()?.checked_sub(1) {
            None => None,
            Some(addr) => Some(Addr(u32::try_from(addr).map_err(|_| DecodeError { kind: DecodeErrorKind::Number, offset })?)),
        };
        Ok(ProcessType { name, params, locals, start, entry, prologue, priority: self.number()? })
    }

    pub(super) fn label_kind(&mut self) -> Decoded<LabelKind> {
        let set = self.code(|code| (code & !(flags::END | flags::PROGRESS | flags::ACCEPT) == 0).then_some(code))?;
        Ok(LabelKind { end: set & flags::END != 0, progress: set & flags::PROGRESS != 0, accept: set & flags::ACCEPT != 0 })
    }

    fn instruction(&mut self) -> Decoded<Op> {
        let offset = self.at;
        let code = self.byte()?;
        Op::build(code, self)?.ok_or(DecodeError { kind: DecodeErrorKind::Opcode(code), offset })
    }
}

impl OperandSource for Reader<'_> {
    type Error = DecodeError;

    fn constant(&mut self) -> Decoded<i32> {
        self.signed()
    }

    fn count(&mut self) -> Decoded<u32> {
        self.number()
    }

    fn global(&mut self) -> Decoded<GlobalId> {
        self.number().map(GlobalId)
    }

    fn local(&mut self) -> Decoded<LocalId> {
        self.number().map(LocalId)
    }

    fn remote_local(&mut self) -> Decoded<(ProcessId, LocalId)> {
        Ok((self.process()?, self.local()?))
    }

    fn remote_addr(&mut self) -> Decoded<(ProcessId, Addr)> {
        Ok((self.process()?, self.addr()?))
    }

    fn register(&mut self) -> Decoded<Register> {
        self.number().map(Register)
    }

    fn addr(&mut self) -> Decoded<Addr> {
        self.number().map(Addr)
    }

    fn mode(&mut self) -> Decoded<Mode> {
        self.code(Mode::from_code)
    }

    fn process(&mut self) -> Decoded<ProcessId> {
        self.number().map(ProcessId)
    }

    fn channel_type(&mut self) -> Decoded<ChannelTypeId> {
        self.number().map(ChannelTypeId)
    }

    fn receive(&mut self) -> Decoded<Receive> {
        self.code(Receive::from_code)
    }

    fn mask(&mut self) -> Decoded<FieldMask> {
        self.number().map(FieldMask)
    }

    fn format(&mut self) -> Decoded<FormatId> {
        self.number().map(FormatId)
    }
}
