//! The code of process types and atoms: instructions, labels and positions.

use super::{Complaints, Inside, Names, Operands, Positions, Tables, numbered, variables};
use crate::asm::parser::{Item, Process};
use crate::ids::{Addr, FileIndex};
use crate::ops::Op;
use crate::program::{Label, ProcessType, Program, Span as CodeSpan};
use crate::property::Atom;
use source::{Diagnostic, Span};

/// Appends code to a program.
pub(super) struct CodeWriter<'a> {
    pub program: &'a mut Program,
    pub names: &'a Names<'a>,
    pub tables: &'a mut Tables,
    pub positions: &'a Positions<'a>,
    pub complaints: &'a mut Complaints,
}

impl CodeWriter<'_> {
    /// Appends an atom and its code.
    pub fn atom(&mut self, atom: &Process, inside: &Inside<'_>) {
        let start = Addr(self.program.code.len() as u32);
        for item in &atom.items {
            let (span, what) = match item {
                Item::Label { name, kind: Some(_) } => (name.span, "no label but those with `@`"),
                Item::Entry(span) => (*span, "no entry"),
                Item::Prologue(span) => (*span, "no prologue"),
                _ => continue,
            };
            self.complaints.push(Diagnostic::error(span, format!("an atom has {what}")));
        }
        if let Some(local) = atom.locals.first() {
            self.complaints.push(Diagnostic::error(local.name.span, "an atom has no local variables"));
        }
        self.body(atom, inside);
        if self.program.code.len() == start.index() {
            self.complaints.push(Diagnostic::error(atom.name.span, "an atom without instructions").with_hint("it ends in `RET`"));
        }
        self.program.atoms.push(Atom { name: atom.name.text.clone(), start });
    }

    /// Appends a process type and its code.
    pub fn process_type(&mut self, process: &Process, inside: &Inside<'_>) {
        let start = Addr(self.program.code.len() as u32);
        let Some((entry, prologue)) = self.body(process, inside) else { return };
        if self.program.code.len() == start.index() {
            self.complaints
                .push(Diagnostic::error(process.name.span, "a process without instructions").with_hint("the least one is `STEP T`"));
        }
        let Ok(params) = u16::try_from(process.params.len()) else {
            self.complaints.push(Diagnostic::error(process.name.span, "more than 65535 parameters"));
            return;
        };
        let mut locals = variables(&process.params, self.names, self.complaints);
        locals.extend(variables(&process.locals, self.names, self.complaints));
        let (name, priority) = (process.name.text.clone(), process.priority);
        self.program.processes.push(ProcessType { name, params, locals, start, entry: entry.unwrap_or(start), prologue, priority });
    }

    /// Appends the code of a process type or an atom, and returns its entry and its prologue.
    /// `None` after too many errors.
    fn body(&mut self, process: &Process, inside: &Inside<'_>) -> Option<(Option<Addr>, Option<Addr>)> {
        let (mut entry, mut prologue) = (None, None);
        // The first flag or position that belongs to the next instruction.
        let mut waiting: Option<Span> = None;
        // Whether each instruction is its own statement.
        let mut automatic = !self.positions.explicit;
        for item in &process.items {
            if self.complaints.is_full() {
                return None;
            }
            let addr = Addr(self.program.code.len() as u32);
            match item {
                Item::Label { name, kind } => {
                    waiting = Some(name.span);
                    if let Some(kind) = *kind {
                        self.program.labels.push(Label { name: name.text.clone(), addr, kind });
                    }
                }
                Item::Entry(span) | Item::Prologue(span) => {
                    waiting = Some(*span);
                    let (place, word) = if matches!(item, Item::Entry(_)) { (&mut entry, "entry") } else { (&mut prologue, "prologue") };
                    if place.replace(addr).is_some() {
                        self.complaints.push(Diagnostic::error(*span, format!("another .{word} in this process")));
                    }
                }
                Item::Line { file, line, column, text, span } => {
                    waiting = Some(*span);
                    automatic = false;
                    let file = self.complaints.take(numbered(FileIndex::new(self.tables.files.number(file)), *span));
                    if let Some(file) = file {
                        self.program.spans.push(CodeSpan { addr, file, line: *line, column: *column, text: text.clone() });
                    }
                }
                Item::Statement(text, span) => {
                    if !self.positions.explicit {
                        automatic = false;
                        waiting = Some(*span);
                        self.position(addr, *span, text);
                    }
                }
                Item::Instruction { opcode, operands, span } => {
                    waiting = None;
                    if automatic {
                        self.position(addr, *span, self.positions.map.snippet(*span));
                    }
                    let mut operands = Operands {
                        tokens: operands,
                        at: 0,
                        end: span.after(),
                        inside,
                        names: self.names,
                        formats: &mut self.tables.formats,
                    };
                    let op = operands.op(*opcode, *span);
                    // An instruction is added anyway, so that addresses stay right while further
                    // errors are searched.
                    self.program.code.push(self.complaints.take(op).unwrap_or(Op::Nex {}));
                }
            }
        }
        if let Some(span) = waiting {
            self.complaints.push(Diagnostic::error(span, "no instruction follows this"));
        }
        Some((entry, prologue))
    }

    /// Adds the position of a span of the assembly file to the code from `addr` on.
    fn position(&mut self, addr: Addr, span: Span, text: &str) {
        if let Some((file, line, column)) = self.complaints.take(self.positions.here(self.tables, span)) {
            self.program.spans.push(CodeSpan { addr, file, line, column, text: text.to_owned() });
        }
    }
}
