//! Parses lines of assembly into declarations and instructions; names are not yet resolved.
//!
//! A line with an error is reported and skipped, and parsing continues with the next line.

mod property;

pub(super) use property::{Edge, Label as EdgeLabel, Line as PropertyLine, Property};

use super::Complaints;
use super::lexer::{self, Token, TokenKind};
use crate::ops::{Op, TABLE};
use crate::program::{LabelKind, Shown, Type};
use source::{Diagnostic, FileId, Span, did_you_mean};

type Parsed<T> = Result<T, Diagnostic>;

/// A name where it was written.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub text: String,
    pub span: Span,
}

/// A number, or the name of one.
#[derive(Clone, Debug)]
pub(super) enum Constant {
    Number(i32),
    Name(Name),
}

/// A variable or parameter.
#[derive(Debug)]
pub(super) struct Declaration {
    pub name: Name,
    pub ty: Type,
    pub shown: Shown,
    pub scratch: bool,
    pub length: Option<u32>,
    pub init: Vec<Constant>,
}

/// A channel type.
#[derive(Debug)]
pub(super) struct ChannelTypeDeclaration {
    pub name: Name,
    pub capacity: u8,
    pub fields: Vec<(Type, Shown)>,
}

/// A line of the body of a process.
#[derive(Debug)]
pub(super) enum Item {
    /// A label; `None` for one that is in no table.
    Label { name: Name, kind: Option<LabelKind> },
    /// `.entry`
    Entry(Span),
    /// `.prologue`
    Prologue(Span),
    /// `.line`
    Line { file: String, line: u32, column: u32, text: String, span: Span },
    /// `;:`
    Statement(String, Span),
    /// An instruction whose operands are not yet parsed.
    Instruction { opcode: u8, operands: Vec<Token>, span: Span },
}

/// A process type.
#[derive(Debug)]
pub(super) struct Process {
    pub name: Name,
    pub params: Vec<Declaration>,
    pub locals: Vec<Declaration>,
    pub priority: u8,
    pub items: Vec<Item>,
}

/// A file.
#[derive(Debug, Default)]
pub(super) struct Unit {
    pub name: Option<String>,
    /// Whether a declaration could not be read, so that declared names may be missing.
    pub incomplete: bool,
    /// Whether only `.line` gives positions.
    pub explicit: bool,
    pub files: Vec<String>,
    pub symbols: Vec<(Name, i32)>,
    pub formats: Vec<String>,
    pub globals: Vec<Declaration>,
    pub channel_types: Vec<ChannelTypeDeclaration>,
    pub channels: Vec<(Name, Name)>,
    pub processes: Vec<Process>,
    pub instances: Vec<Name>,
    /// Atoms, as process types without variables.
    pub atoms: Vec<Process>,
    pub properties: Vec<Property>,
}

/// The words a line outside processes may begin with.
const DECLARATIONS: [&str; 13] =
    ["program", "symbol", "format", "global", "chantype", "channel", "process", "start", "atom", "ltl", "never", "trace", "notrace"];

/// The kind of block that a line opens, and to which the lines up to `}` belong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Process,
    Atom,
    Property,
}

impl Block {
    const fn word(self) -> &'static str {
        match self {
            Block::Process => "process",
            Block::Atom => "atom",
            Block::Property => "property",
        }
    }
}

/// Reads a whole file.
pub(super) fn parse(text: &str, file: FileId, complaints: &mut Complaints) -> Unit {
    let mut unit = Unit::default();
    // The block that is being read, and the position at which it was opened.
    let mut open: Option<(Block, Span)> = None;
    let mut start = 0;
    for whole in text.split_inclusive('\n') {
        let from = start;
        start += whole.len();
        let Some(line) = complaints.take(lexer::line(whole.trim_end_matches(['\n', '\r']), from, file)) else {
            unit.incomplete = true;
            continue;
        };
        let mut parser = Parser { tokens: &line.tokens, at: 0, end: Span::point(file, from + whole.trim_end().len()) };
        // A broken line may declare a name, which is then not reported as missing where it is used.
        let opens = parser.header();
        let in_code = matches!(open, Some((Block::Process | Block::Atom, _)));
        let declares = !in_code || opens.is_some() || parser.is_label() || parser.peek_word() == Some("local");
        let read = if let Some(block) = opens {
            if let Some((outer, opened)) = open.replace((block, parser.here())) {
                let article = if block == Block::Atom { "an" } else { "a" };
                let message =
                    format!("{article} {} inside a{} {}", block.word(), if outer == Block::Atom { "n" } else { "" }, outer.word());
                complaints.push(Diagnostic::error(parser.here(), message).with_label(opened, "this one is not closed by `}`"));
            }
            parser.open(block, &mut unit)
        } else if let Some((block, _)) = open {
            if parser.eat('}') {
                open = None;
                Ok(())
            } else {
                match (block, unit.processes.last_mut(), unit.atoms.last_mut(), unit.properties.last_mut()) {
                    (Block::Process, Some(process), _, _) => parser.body_line(process, line.statement),
                    (Block::Atom, _, Some(atom), _) => parser.body_line(atom, line.statement),
                    (Block::Property, _, _, Some(property)) => parser.property_line(property),
                    _ => parser.declaration(&mut unit),
                }
            }
        } else {
            parser.declaration(&mut unit)
        };
        let read = read.and_then(|()| parser.finish());
        unit.incomplete |= complaints.take(read).is_none() && declares;
    }
    if let Some((block, opened)) = open {
        let message = format!("this {} is not closed", block.word());
        complaints.push(Diagnostic::error(opened, message).with_hint("a line with `}` ends it"));
    }
    unit
}

impl Process {
    /// A substitute for a process whose header could not be read.
    fn nobody(span: Span) -> Process {
        let name = Name { text: String::new(), span };
        Process { name, params: Vec::new(), locals: Vec::new(), priority: 1, items: Vec::new() }
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    /// The end of the line.
    end: Span,
}

// Single tokens.
impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a TokenKind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    /// The position of the next token.
    fn here(&self) -> Span {
        self.tokens.get(self.at).map_or(self.end, |token| token.span)
    }

    fn next(&mut self) -> Option<&'a Token> {
        let token = self.tokens.get(self.at);
        self.at += usize::from(token.is_some());
        token
    }

    fn expected<T>(&self, what: &str) -> Parsed<T> {
        Err(Diagnostic::error(self.here(), format!("expected {what}")))
    }

    fn eat(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(&TokenKind::Mark(mark));
        self.at += usize::from(found);
        found
    }

    fn mark(&mut self, mark: char) -> Parsed<()> {
        if self.eat(mark) { Ok(()) } else { self.expected(&format!("`{mark}`")) }
    }

    fn peek_word(&self) -> Option<&'a str> {
        match self.peek() {
            Some(TokenKind::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek_word() == Some(word);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, what: &str) -> Parsed<&'a str> {
        match self.peek_word() {
            Some(word) => {
                self.at += 1;
                Ok(word)
            }
            None => self.expected(what),
        }
    }

    fn name(&mut self, what: &str) -> Parsed<Name> {
        let span = self.here();
        match self.peek() {
            Some(TokenKind::Word(text) | TokenKind::Quoted(text)) => {
                self.at += 1;
                Ok(Name { text: text.clone(), span })
            }
            _ => self.expected(what),
        }
    }

    fn text(&mut self) -> Parsed<String> {
        match self.peek() {
            Some(TokenKind::Text(text)) => {
                self.at += 1;
                Ok(text.clone())
            }
            _ => self.expected("a text in double quotes"),
        }
    }

    fn number(&mut self, from: i64, to: i64) -> Parsed<i64> {
        match self.peek() {
            Some(TokenKind::Number(value)) if (from..=to).contains(value) => {
                self.at += 1;
                Ok(*value)
            }
            Some(TokenKind::Number(_)) => Err(Diagnostic::error(self.here(), format!("the number is not between {from} and {to}"))),
            _ => self.expected("a number"),
        }
    }

    /// A list with commas, up to a closing mark.
    fn list<T>(&mut self, close: char, mut element: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut found = Vec::new();
        if self.eat(close) {
            return Ok(found);
        }
        loop {
            found.push(element(self)?);
            if self.eat(close) {
                return Ok(found);
            }
            if !self.eat(',') {
                return self.expected(&format!("`,` or `{close}`"));
            }
        }
    }

    fn finish(&self) -> Parsed<()> {
        if self.at < self.tokens.len() { self.expected("the end of the line") } else { Ok(()) }
    }
}

// Declarations.
impl Parser<'_> {
    /// The block that this line opens.
    fn header(&self) -> Option<Block> {
        let is_label = self.tokens.get(1).is_some_and(|token| token.kind == TokenKind::Mark(':'));
        match self.peek_word()? {
            _ if self.at > 0 || is_label => None,
            "process" => Some(Block::Process),
            "atom" => Some(Block::Atom),
            "ltl" | "never" | "trace" | "notrace" => Some(Block::Property),
            _ => None,
        }
    }

    /// Reads the line that opens a block. The block is open even if the line cannot be read.
    fn open(&mut self, block: Block, unit: &mut Unit) -> Parsed<()> {
        let end = self.end;
        match block {
            Block::Process | Block::Atom => {
                let header = if block == Block::Process { self.process() } else { self.atom() };
                let into = if block == Block::Process { &mut unit.processes } else { &mut unit.atoms };
                match header {
                    Ok(process) => into.push(process),
                    Err(diagnostic) => {
                        into.push(Process::nobody(end));
                        return Err(diagnostic);
                    }
                }
            }
            Block::Property => match self.property() {
                Ok(property) => unit.properties.push(property),
                Err(diagnostic) => {
                    unit.properties.push(Property::nothing(end));
                    return Err(diagnostic);
                }
            },
        }
        Ok(())
    }

    fn atom(&mut self) -> Parsed<Process> {
        self.at += 1;
        let name = self.name("a name")?;
        self.mark('{')?;
        Ok(Process { name, params: Vec::new(), locals: Vec::new(), priority: 1, items: Vec::new() })
    }

    fn declaration(&mut self, unit: &mut Unit) -> Parsed<()> {
        let span = self.here();
        if self.tokens.is_empty() {
            return Ok(());
        }
        if self.eat('.') {
            return self.directive(unit);
        }
        match self.word("a declaration")? {
            "program" => unit.name = Some(self.text()?),
            "format" => unit.formats.push(self.text()?),
            "global" => unit.globals.push(self.variable()?),
            "symbol" => loop {
                let name = self.name("a name")?;
                self.mark('=')?;
                unit.symbols.push((name, self.value()?));
                if !self.eat(',') {
                    break;
                }
            },
            "start" => loop {
                unit.instances.push(self.name("a process type")?);
                if !self.eat(',') {
                    break;
                }
            },
            "chantype" => {
                let name = self.name("a name")?;
                self.mark('=')?;
                unit.channel_types.push(self.channel_type(name)?);
            }
            "channel" => {
                let name = self.name("a name")?;
                if self.eat(':') {
                    unit.channels.push((name, self.name("a channel type")?));
                } else if self.eat('=') {
                    unit.channel_types.push(self.channel_type(name.clone())?);
                    unit.channels.push((name.clone(), name));
                } else {
                    return self.expected("`:` and a channel type, or `=` and one of its own");
                }
            }
            other => {
                let unknown = format!("`{other}` does not begin a declaration");
                let hint = match opcode(other) {
                    Some(_) => Some("instructions belong between `process … {` and `}`".to_owned()),
                    None => did_you_mean(other, DECLARATIONS),
                };
                return Err(Diagnostic::error(span, unknown).with_hint_opt(hint));
            }
        }
        Ok(())
    }

    fn directive(&mut self, unit: &mut Unit) -> Parsed<()> {
        let span = self.here();
        match self.word("a directive")? {
            "file" => unit.files.push(self.text()?),
            "positions" if self.eat_word("explicit") => unit.explicit = true,
            "positions" => return self.expected("`explicit`"),
            other => {
                let hint = did_you_mean(other, ["file", "positions", "line", "entry", "prologue"]);
                return Err(Diagnostic::error(span, format!("`.{other}` is not a directive outside a process")).with_hint_opt(hint));
            }
        }
        Ok(())
    }

    /// A 32-bit number; a hexadecimal one may use all bits.
    fn value(&mut self) -> Parsed<i32> {
        Ok(self.number(i32::MIN.into(), u32::MAX.into())? as i32)
    }

    fn constant(&mut self) -> Parsed<Constant> {
        match self.peek() {
            Some(TokenKind::Word(_) | TokenKind::Quoted(_)) => Ok(Constant::Name(self.name("a value")?)),
            Some(TokenKind::Number(_)) => Ok(Constant::Number(self.value()?)),
            _ => self.expected("a number, a symbol or a channel"),
        }
    }

    fn ty(&mut self) -> Parsed<(Type, Shown)> {
        let span = self.here();
        let (ty, shown) = match self.word("a type")? {
            "bit" => (Type::Bit, Shown::Number),
            "byte" => (Type::Byte, Shown::Number),
            "short" => (Type::Short, Shown::Number),
            "int" => (Type::Int, Shown::Number),
            "bool" => (Type::Bit, Shown::Bool),
            "mtype" => (Type::Byte, Shown::Symbol),
            "chan" => (Type::Byte, Shown::Channel),
            "pid" => (Type::Byte, Shown::Process),
            "unsigned" => {
                self.mark(':')?;
                (Type::Unsigned(self.number(0, 255)? as u8), Shown::Number)
            }
            other => {
                let known = ["bit", "byte", "short", "int", "unsigned", "bool", "mtype", "chan", "pid"];
                return Err(Diagnostic::error(span, format!("`{other}` is not a type")).with_hint_opt(did_you_mean(other, known)));
            }
        };
        if !self.eat_word("as") {
            return Ok((ty, shown));
        }
        let span = self.here();
        let shown = match self.word("how it is shown")? {
            "number" => Shown::Number,
            "bool" => Shown::Bool,
            "symbol" => Shown::Symbol,
            "channel" => Shown::Channel,
            "process" => Shown::Process,
            "hidden" => Shown::Hidden,
            other => {
                let message = format!("nothing is shown as `{other}`");
                return Err(
                    Diagnostic::error(span, message).with_hint("values are shown as number, bool, symbol, channel or process, or hidden")
                );
            }
        };
        Ok((ty, shown))
    }

    fn variable(&mut self) -> Parsed<Declaration> {
        let scratch = self.eat_word("scratch");
        let (ty, shown) = self.ty()?;
        let name = self.name("a name")?;
        let mut length = None;
        if self.eat('[') {
            length = Some(self.number(0, u32::MAX.into())? as u32);
            self.mark(']')?;
        }
        let mut init = Vec::new();
        if self.eat('=') {
            init = if self.eat('{') { self.list('}', Self::constant)? } else { vec![self.constant()?] };
        }
        Ok(Declaration { name, ty, shown, scratch, length, init })
    }

    fn channel_type(&mut self, name: Name) -> Parsed<ChannelTypeDeclaration> {
        self.mark('[')?;
        let capacity = self.number(0, 255)? as u8;
        self.mark(']')?;
        if !self.eat_word("of") {
            return self.expected("`of`");
        }
        self.mark('{')?;
        let fields = self.list('}', Self::ty)?;
        Ok(ChannelTypeDeclaration { name, capacity, fields })
    }

    fn process(&mut self) -> Parsed<Process> {
        self.at += 1;
        let name = self.name("a name")?;
        self.mark('(')?;
        let params = self.list(')', Self::variable)?;
        let priority = if self.eat_word("priority") { self.number(0, 255)? as u8 } else { 1 };
        self.mark('{')?;
        Ok(Process { name, params, locals: Vec::new(), priority, items: Vec::new() })
    }
}

// Bodies of processes.
impl Parser<'_> {
    fn is_label(&self) -> bool {
        let named = matches!(self.peek(), Some(TokenKind::Word(_) | TokenKind::Quoted(_) | TokenKind::Anonymous(_)));
        named && self.tokens.get(self.at + 1).is_some_and(|token| token.kind == TokenKind::Mark(':'))
    }

    fn body_line(&mut self, process: &mut Process, statement: Option<(String, Span)>) -> Parsed<()> {
        while self.is_label() {
            process.items.push(self.label()?);
        }
        if let Some((text, span)) = statement {
            process.items.push(Item::Statement(text, span));
        }
        if self.peek().is_none() {
            return Ok(());
        }
        if self.eat('.') {
            process.items.push(self.body_directive()?);
        } else if self.eat_word("local") {
            process.locals.push(self.variable()?);
        } else {
            let (item, read) = match self.instruction() {
                Ok(item) => (item, Ok(())),
                // An instruction is needed here even after an error, because labels may come before
                // it.
                Err(diagnostic) => {
                    (Item::Instruction { opcode: Op::Nex {}.opcode(), operands: Vec::new(), span: self.here() }, Err(diagnostic))
                }
            };
            process.items.push(item);
            return read;
        }
        Ok(())
    }

    fn label(&mut self) -> Parsed<Item> {
        let span = self.here();
        let (text, anonymous) = match self.next().map(|token| &token.kind) {
            Some(TokenKind::Anonymous(text)) => (text.clone(), true),
            Some(TokenKind::Word(text) | TokenKind::Quoted(text)) => (text.clone(), false),
            _ => return self.expected("a label"),
        };
        self.mark(':')?;
        let mut kind = LabelKind::default();
        // A flag is a label of its own if a colon follows it.
        while !self.is_label() {
            let at = self.here();
            match self.peek_word() {
                Some("end") => kind.end = true,
                Some("progress") => kind.progress = true,
                Some("accept") => kind.accept = true,
                _ => break,
            }
            if anonymous {
                return Err(Diagnostic::error(at, "a label with `@` is in no table and cannot be marked").with_hint("give it a name"));
            }
            self.at += 1;
        }
        Ok(Item::Label { name: Name { text, span }, kind: (!anonymous).then_some(kind) })
    }

    /// The operands of `.line`.
    fn position(&mut self) -> Parsed<(String, u32, u32, String)> {
        let file = self.text()?;
        let line = self.number(0, u32::MAX.into())? as u32;
        let column = self.number(0, u32::MAX.into())? as u32;
        Ok((file, line, column, self.text()?))
    }

    fn body_directive(&mut self) -> Parsed<Item> {
        let span = self.here();
        match self.word("a directive")? {
            "entry" => Ok(Item::Entry(span)),
            "prologue" => Ok(Item::Prologue(span)),
            "line" => {
                let (file, line, column, text) = self.position()?;
                Ok(Item::Line { file, line, column, text, span })
            }
            other => {
                let hint = did_you_mean(other, ["line", "entry", "prologue", "file", "positions"]);
                Err(Diagnostic::error(span, format!("`.{other}` is not a directive inside a process")).with_hint_opt(hint))
            }
        }
    }

    fn instruction(&mut self) -> Parsed<Item> {
        let span = self.here();
        let word = self.word("an instruction")?;
        let Some(opcode) = opcode(word) else {
            let hint = if DECLARATIONS.contains(&word) {
                Some("declarations belong outside processes; variables of a process begin with `local`".to_owned())
            } else {
                did_you_mean(&word.to_ascii_uppercase(), TABLE.iter().map(|row| row.1))
            };
            return Err(Diagnostic::error(span, format!("`{word}` is not an instruction")).with_hint_opt(hint));
        };
        let operands = self.tokens[self.at..].to_vec();
        self.at = self.tokens.len();
        let span = operands.last().map_or(span, |last| span.to(last.span));
        Ok(Item::Instruction { opcode, operands, span })
    }
}

/// The opcode of a mnemonic, in capitals or not.
fn opcode(word: &str) -> Option<u8> {
    Op::opcode_of(&word.to_ascii_uppercase())
}
