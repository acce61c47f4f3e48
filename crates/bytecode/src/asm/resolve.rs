//! Replaces names by numbers, and builds a [`Program`] from declarations.

mod code;
mod property;

use super::Complaints;
use super::lexer::{Token, TokenKind};
use super::parser::{Constant, Declaration, Item, Name, Process, Unit};
use crate::ids::{Addr, ChannelTypeId, FileIndex, FormatId, GlobalId, LocalId, ProcessId, Register};
use crate::ops::{FieldMask, MAX_FIELDS, Mode, Op, OperandSource, REGISTERS, Receive};
use crate::program::{ChannelType, MessageField, Program, StaticChannel, Variable};
use code::CodeWriter;
use source::{Diagnostic, FileId, SourceMap, Span, did_you_mean};
use std::collections::HashMap;

type Resolved<T> = Result<T, Diagnostic>;

/// Makes a program of the parsed file. The result may be used only if there are no errors.
pub(super) fn program(unit: Unit, map: &SourceMap, file: FileId, complaints: &mut Complaints) -> Program {
    if unit.incomplete {
        return Program::default();
    }
    let names = Names::collect(&unit, complaints);
    let mut program = Program { name: unit.name.clone().unwrap_or_else(|| stem(map.name(file))), ..Program::default() };
    program.symbols = unit.symbols.iter().map(|(name, value)| (*value, name.text.clone())).collect();
    program.globals = variables(&unit.globals, &names, complaints);
    for ty in &unit.channel_types {
        let fields = ty.fields.iter().map(|&(ty, shown)| MessageField { ty, shown }).collect();
        program.channel_types.push(ChannelType { name: ty.name.text.clone(), capacity: ty.capacity, fields });
    }
    for (name, ty) in &unit.channels {
        if complaints.is_full() {
            break;
        }
        if let Some(ty) = complaints.take(names.channel_type(ty)) {
            program.channels.push(StaticChannel { name: name.text.clone(), ty });
        }
    }
    for name in &unit.instances {
        if complaints.is_full() {
            break;
        }
        program.instances.extend(complaints.take(names.process(name)));
    }
    let mut tables = Tables { files: Interned::default(), formats: Interned::default() };
    for name in &unit.files {
        tables.files.number(name);
    }
    for format in &unit.formats {
        tables.formats.append(format);
    }
    let positions = Positions { map, file, explicit: unit.explicit };
    let mut code = CodeWriter { program: &mut program, names: &names, tables: &mut tables, positions: &positions, complaints };
    for (i, process) in unit.processes.iter().enumerate() {
        let Some(id) = ProcessId::new(i) else {
            code.complaints.push(Diagnostic::error(process.name.span, "more than 256 process types"));
            break;
        };
        code.process_type(process, &names.inside[id.index()]);
    }
    for (atom, inside) in unit.atoms.iter().zip(&names.inside_atoms) {
        code.atom(atom, inside);
    }
    property::properties(&mut program, &unit.properties, &names, &mut tables, &positions, complaints);
    program.files = tables.files.entries;
    program.formats = tables.formats.entries;
    program
}

/// A file's name without folders and ending.
fn stem(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
    last.strip_suffix(".epa").unwrap_or(last).to_owned()
}

fn variables(declarations: &[Declaration], names: &Names<'_>, complaints: &mut Complaints) -> Vec<Variable> {
    let mut variables = Vec::with_capacity(declarations.len());
    for d in declarations {
        let mut init = Vec::with_capacity(d.init.len());
        for constant in &d.init {
            if complaints.is_full() {
                return variables;
            }
            init.extend(complaints.take(names.constant(constant)));
        }
        variables.push(Variable { name: d.name.text.clone(), ty: d.ty, length: d.length, init, shown: d.shown, scratch: d.scratch });
    }
    variables
}

/// A table that is filled as its entries are used.
#[derive(Default)]
struct Interned {
    entries: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Interned {
    /// Adds an entry, even if there is an equal one.
    fn append(&mut self, text: &str) -> usize {
        let number = self.entries.len();
        self.entries.push(text.to_owned());
        self.numbers.entry(text.to_owned()).or_insert(number);
        number
    }

    /// The number of the first equal entry, added if there is none.
    fn number(&mut self, text: &str) -> usize {
        match self.numbers.get(text) {
            Some(&number) => number,
            None => self.append(text),
        }
    }
}

/// The tables that instructions and positions add to.
struct Tables {
    files: Interned,
    formats: Interned,
}

/// The numbers of all names of one kind.
struct Table<'a> {
    kind: &'static str,
    numbers: HashMap<&'a str, (usize, Span)>,
}

impl<'a> Table<'a> {
    fn new(kind: &'static str, names: impl IntoIterator<Item = &'a Name>, complaints: &mut Complaints) -> Table<'a> {
        let mut numbers: HashMap<&str, (usize, Span)> = HashMap::new();
        for (i, name) in names.into_iter().enumerate() {
            match numbers.get(name.text.as_str()) {
                Some((_, first)) => {
                    let message = format!("there is another {kind} called `{}`", name.text);
                    complaints.push(Diagnostic::error(name.span, message).with_label(*first, "the other one"));
                }
                None => {
                    numbers.insert(&name.text, (i, name.span));
                }
            }
        }
        Table { kind, numbers }
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).map(|found| found.0)
    }

    fn get(&self, name: &Name) -> Resolved<usize> {
        self.find(&name.text).ok_or_else(|| {
            Diagnostic::error(name.span, format!("no {} is called `{}`", self.kind, name.text))
                .with_hint_opt(suggest(&name.text, self.numbers.keys().copied()))
        })
    }
}

/// The names inside a process type.
struct Inside<'a> {
    locals: Table<'a>,
    labels: HashMap<(&'a str, bool), (Addr, Span)>,
}

/// Every name and its number.
struct Names<'a> {
    globals: Table<'a>,
    channel_types: Table<'a>,
    channels: Table<'a>,
    processes: Table<'a>,
    symbols: Table<'a>,
    values: Vec<i32>,
    atoms: Table<'a>,
    inside: Vec<Inside<'a>>,
    inside_atoms: Vec<Inside<'a>>,
}

impl<'a> Names<'a> {
    fn collect(unit: &'a Unit, complaints: &mut Complaints) -> Names<'a> {
        let mut addr = Addr(0);
        let inside_processes = unit.processes.iter().map(|p| inside(p, &mut addr, complaints)).collect();
        let inside_atoms = unit.atoms.iter().map(|p| inside(p, &mut addr, complaints)).collect();
        Names {
            globals: Table::new("global variable", unit.globals.iter().map(|d| &d.name), complaints),
            channel_types: Table::new("channel type", unit.channel_types.iter().map(|d| &d.name), complaints),
            channels: Table::new("channel", unit.channels.iter().map(|(name, _)| name), complaints),
            processes: Table::new("process type", unit.processes.iter().map(|p| &p.name), complaints),
            symbols: Table::new("symbol", unit.symbols.iter().map(|(name, _)| name), complaints),
            values: unit.symbols.iter().map(|(_, value)| *value).collect(),
            atoms: Table::new("atom", unit.atoms.iter().map(|p| &p.name), complaints),
            inside: inside_processes,
            inside_atoms,
        }
    }

    fn process(&self, name: &Name) -> Resolved<ProcessId> {
        numbered(ProcessId::new(self.processes.get(name)?), name.span)
    }

    fn channel_type(&self, name: &Name) -> Resolved<ChannelTypeId> {
        numbered(ChannelTypeId::new(self.channel_types.get(name)?), name.span)
    }

    /// A number, the value of a symbol, or the number of a channel.
    fn constant(&self, constant: &Constant) -> Resolved<i32> {
        let name = match constant {
            Constant::Number(value) => return Ok(*value),
            Constant::Name(name) => name,
        };
        match (self.symbols.find(&name.text), self.channels.find(&name.text)) {
            (Some(symbol), None) => Ok(self.values[symbol]),
            (None, Some(channel)) => numbered(i32::try_from(channel + 1).ok(), name.span),
            (Some(_), Some(_)) => {
                Err(Diagnostic::error(name.span, format!("`{}` is a symbol and a channel", name.text)).with_hint("rename one of them"))
            }
            (None, None) if self.globals.find(&name.text).is_some() => {
                Err(Diagnostic::error(name.span, format!("`{}` is not a constant", name.text)).with_hint("LDG pushes a global variable"))
            }
            (None, None) => {
                let known = self.symbols.numbers.keys().chain(self.channels.numbers.keys()).copied();
                Err(Diagnostic::error(name.span, format!("no symbol or channel is called `{}`", name.text))
                    .with_hint_opt(suggest(&name.text, known)))
            }
        }
    }
}

/// The known name closest to this one. With very many names it is not searched, because that would
/// take too long.
fn suggest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut known: Vec<&str> = known.take(1001).collect();
    known.sort_unstable();
    if known.len() <= 1000 { did_you_mean(name, known) } else { None }
}

/// The index as a typed number, or an error that there are too many entries.
fn numbered<T>(number: Option<T>, span: Span) -> Resolved<T> {
    number.ok_or_else(|| Diagnostic::error(span, "there are too many of this kind to name this one"))
}

/// The names inside a process whose code begins at `addr`. `addr` is advanced past the code.
fn inside<'a>(process: &'a Process, addr: &mut Addr, complaints: &mut Complaints) -> Inside<'a> {
    let declared = process.params.iter().chain(&process.locals);
    let locals = Table::new("local variable", declared.map(|d| &d.name), complaints);
    let mut labels: HashMap<(&str, bool), (Addr, Span)> = HashMap::new();
    for item in &process.items {
        match item {
            Item::Label { name, kind } => {
                let key = (name.text.as_str(), kind.is_none());
                if let Some((_, first)) = labels.get(&key) {
                    let message = format!("there is another label `{}` in this process", name.text);
                    complaints.push(Diagnostic::error(name.span, message).with_label(*first, "the other one"));
                }
                labels.entry(key).or_insert((*addr, name.span));
            }
            Item::Instruction { .. } => *addr = Addr(addr.0.saturating_add(1)),
            _ => {}
        }
    }
    Inside { locals, labels }
}

/// The origin of the positions of instructions.
struct Positions<'a> {
    map: &'a SourceMap,
    file: FileId,
    explicit: bool,
}

impl Positions<'_> {
    /// The number of the assembly file, and the line and column of a span in it.
    fn here(&self, tables: &mut Tables, span: Span) -> Resolved<(FileIndex, u32, u32)> {
        let file = numbered(FileIndex::new(tables.files.number(self.map.name(self.file))), span)?;
        let at = self.map.location(span);
        Ok((file, at.line as u32, at.column as u32))
    }
}

/// The operands of one instruction, as the operation table asks for them.
struct Operands<'a> {
    tokens: &'a [Token],
    at: usize,
    end: Span,
    inside: &'a Inside<'a>,
    names: &'a Names<'a>,
    formats: &'a mut Interned,
}

impl Operands<'_> {
    fn op(&mut self, opcode: u8, span: Span) -> Resolved<Op> {
        let op = Op::build(opcode, self)?.ok_or_else(|| Diagnostic::error(span, "there is no such instruction"))?;
        if self.at < self.tokens.len() {
            return Err(Diagnostic::error(self.here(), format!("`{}` has no further operand", op.mnemonic())));
        }
        Ok(op)
    }

    fn here(&self) -> Span {
        self.tokens.get(self.at).map_or(self.end, |token| token.span)
    }

    fn expected<T>(&self, what: &str) -> Resolved<T> {
        Err(Diagnostic::error(self.here(), format!("expected {what}")))
    }

    fn mark(&mut self, mark: char) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|token| token.kind == TokenKind::Mark(mark));
        self.at += usize::from(found);
        found
    }

    /// The next operand's first token. It follows a comma, unless it is the first operand.
    fn first(&mut self, what: &str) -> Resolved<&TokenKind> {
        if self.at > 0 && !self.mark(',') {
            return self.expected(&format!("`,` and {what}"));
        }
        match self.tokens.get(self.at) {
            Some(token) => {
                self.at += 1;
                Ok(&token.kind)
            }
            None => self.expected(what),
        }
    }

    fn back<T>(&mut self, what: &str) -> Resolved<T> {
        self.at -= 1;
        self.expected(what)
    }

    fn name(&mut self, what: &str) -> Resolved<Name> {
        match self.first(what)? {
            TokenKind::Word(text) | TokenKind::Quoted(text) => {
                let text = text.clone();
                Ok(Name { text, span: self.tokens[self.at - 1].span })
            }
            _ => self.back(what),
        }
    }

    fn word<T>(&mut self, what: &str, known: impl Fn(&str) -> Option<T>) -> Resolved<T> {
        let found = match self.first(what)? {
            TokenKind::Word(word) => known(word),
            _ => None,
        };
        match found {
            Some(found) => Ok(found),
            None => self.back(what),
        }
    }

    fn number(&mut self, what: &str) -> Resolved<u32> {
        let found = match self.first(what)? {
            TokenKind::Number(value) => u32::try_from(*value).ok(),
            _ => None,
        };
        match found {
            Some(found) => Ok(found),
            None => self.back(what),
        }
    }

    /// A label of a process; its first token has been read.
    fn label(&self, inside: &Inside<'_>, token: usize) -> Resolved<Addr> {
        let (text, anonymous) = match self.tokens.get(token).map(|token| &token.kind) {
            Some(TokenKind::Word(text) | TokenKind::Quoted(text)) => (text, false),
            Some(TokenKind::Anonymous(text)) => (text, true),
            _ => return Err(Diagnostic::error(self.tokens.get(token).map_or(self.end, |token| token.span), "expected a label")),
        };
        let labels = &inside.labels;
        labels.get(&(text.as_str(), anonymous)).map(|found| found.0).ok_or_else(|| {
            let known = labels.keys().filter(|key| key.1 == anonymous).map(|key| key.0);
            let at = if anonymous { "@" } else { "" };
            Diagnostic::error(self.tokens[token].span, format!("no label of this process is called `{at}{text}`"))
                .with_hint_opt(suggest(text, known))
        })
    }

    /// A process type and a dot.
    fn owner(&mut self) -> Resolved<ProcessId> {
        let name = self.name("a process type")?;
        let process = self.names.process(&name)?;
        if self.mark('.') { Ok(process) } else { self.expected("`.`") }
    }
}

impl OperandSource for Operands<'_> {
    type Error = Diagnostic;

    fn constant(&mut self) -> Resolved<i32> {
        let what = "a number, a symbol or a channel";
        let (value, text) = match self.first(what)? {
            TokenKind::Number(value) => (*value, None),
            TokenKind::Word(text) | TokenKind::Quoted(text) => (0, Some(text.clone())),
            _ => return self.back(what),
        };
        let span = self.tokens[self.at - 1].span;
        match text {
            Some(text) => self.names.constant(&Constant::Name(Name { text, span })),
            // A hexadecimal number may use all 32 bits.
            None if (i32::MIN.into()..=u32::MAX.into()).contains(&value) => Ok(value as i32),
            None => Err(Diagnostic::error(span, "the number does not fit 32 bits")),
        }
    }

    fn count(&mut self) -> Resolved<u32> {
        self.number("a count")
    }

    fn global(&mut self) -> Resolved<GlobalId> {
        let name = self.name("a global variable")?;
        let found = self.names.globals.get(&name).map_err(|diagnostic| {
            let local = self.inside.locals.find(&name.text).is_some();
            let hint = local.then(|| format!("`{}` is a local variable: use the instruction with L", name.text));
            diagnostic.with_hint_opt(hint)
        })?;
        numbered(GlobalId::new(found), name.span)
    }

    fn local(&mut self) -> Resolved<LocalId> {
        let name = self.name("a local variable")?;
        let found = self.inside.locals.get(&name).map_err(|diagnostic| {
            let global = self.names.globals.find(&name.text).is_some();
            let hint = global.then(|| format!("`{}` is a global variable: use the instruction with G", name.text));
            diagnostic.with_hint_opt(hint)
        })?;
        numbered(LocalId::new(found), name.span)
    }

    fn remote_local(&mut self) -> Resolved<(ProcessId, LocalId)> {
        let process = self.owner()?;
        let span = self.here();
        let name = match self.tokens.get(self.at).map(|token| &token.kind) {
            Some(TokenKind::Word(text) | TokenKind::Quoted(text)) => Name { text: text.clone(), span },
            _ => return self.expected("a local variable"),
        };
        self.at += 1;
        let found = self.names.inside[process.index()].locals.get(&name)?;
        Ok((process, numbered(LocalId::new(found), span)?))
    }

    fn remote_addr(&mut self) -> Resolved<(ProcessId, Addr)> {
        let process = self.owner()?;
        self.at += 1;
        Ok((process, self.label(&self.names.inside[process.index()], self.at - 1)?))
    }

    fn register(&mut self) -> Resolved<Register> {
        self.word("a register, r0 to r31", |word| {
            let digits = word.strip_prefix('r').filter(|digits| digits.len() == 1 || !digits.starts_with('0'))?;
            let number = digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse::<u8>().ok()).flatten()?;
            ((number as usize) < REGISTERS).then_some(Register(number))
        })
    }

    fn addr(&mut self) -> Resolved<Addr> {
        self.first("a label")?;
        self.label(self.inside, self.at - 1)
    }

    fn mode(&mut self) -> Resolved<Mode> {
        self.word("a mode: N, A, I, D or T", Mode::from_word)
    }

    fn process(&mut self) -> Resolved<ProcessId> {
        let name = self.name("a process type")?;
        self.names.process(&name)
    }

    fn channel_type(&mut self) -> Resolved<ChannelTypeId> {
        let name = self.name("a channel type")?;
        self.names.channel_type(&name)
    }

    fn receive(&mut self) -> Resolved<Receive> {
        self.word("how to receive: first, any, peek-first or peek-any", Receive::from_word)
    }

    fn mask(&mut self) -> Resolved<FieldMask> {
        let what = "the fields that must match, in braces";
        if *self.first(what)? != TokenKind::Mark('{') {
            return self.back(what);
        }
        let mut mask = FieldMask(0);
        while !self.mark('}') {
            match self.tokens.get(self.at).map(|token| &token.kind) {
                Some(TokenKind::Number(field)) if (0..MAX_FIELDS as i64).contains(field) => mask.0 |= 1 << field,
                _ => return self.expected("a field, 0 to 31"),
            }
            self.at += 1;
            if !self.mark(',') && !self.tokens.get(self.at).is_some_and(|token| token.kind == TokenKind::Mark('}')) {
                return self.expected("`,` or `}`");
            }
        }
        Ok(mask)
    }

    fn format(&mut self) -> Resolved<FormatId> {
        let what = "a format in double quotes";
        let (number, text) = match self.first(what)? {
            TokenKind::Number(number) => (usize::try_from(*number).ok(), None),
            TokenKind::Text(text) => (None, Some(text.clone())),
            _ => return self.back(what),
        };
        let number = match text {
            Some(text) => Some(self.formats.number(&text)),
            None => number.filter(|&number| number < self.formats.entries.len()),
        };
        match number {
            Some(number) => numbered(FormatId::new(number), self.tokens[self.at - 1].span),
            None => self.back("the number of a format declared before"),
        }
    }
}
