//! Code under construction: instructions, labels still to be placed, positions.

use crate::graph::Graph;
use crate::model::Model;
use bytecode::{Addr, FileIndex, FormatId, Label, LabelKind, Op, Program};
use source::{Diagnostic, SourceMap, Span};
use std::collections::HashMap;

/// Statements longer than this are cut in the table of positions.
const MAX_TEXT: usize = 200;

/// A place in the code that instructions can refer to before it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(super) struct Mark(u32);

impl Mark {
    /// The mark as an operand, until [`Emitter::finish`] knows the address.
    pub fn addr(self) -> Addr {
        Addr(self.0)
    }
}

/// Makes the code of all process types.
pub(super) struct Emitter<'a> {
    pub map: &'a SourceMap,
    pub model: &'a Model,
    pub graphs: &'a [Graph],
    /// The process type whose code is made.
    pub current: usize,
    code: Vec<Op>,
    marks: Vec<Option<Addr>>,
    /// The beginning of each state's code, and of each node inside a `d_step`.
    states: HashMap<(usize, u32), Mark>,
    labels: Vec<Label>,
    spans: Vec<bytecode::Span>,
    formats: Vec<String>,
    format_ids: HashMap<String, FormatId>,
    pub diagnostics: Vec<Diagnostic>,
}

impl<'a> Emitter<'a> {
    pub fn new(map: &'a SourceMap, model: &'a Model, graphs: &'a [Graph]) -> Self {
        Emitter {
            map,
            model,
            graphs,
            current: 0,
            code: Vec::new(),
            marks: Vec::new(),
            states: HashMap::new(),
            labels: Vec::new(),
            spans: Vec::new(),
            formats: Vec::new(),
            format_ids: HashMap::new(),
            diagnostics: Vec::new(),
        }
    }

    pub fn address(&self) -> Addr {
        Addr(self.code.len() as u32)
    }

    pub fn emit(&mut self, op: Op) {
        self.code.push(op);
    }

    pub fn mark(&mut self) -> Mark {
        self.marks.push(None);
        Mark(self.marks.len() as u32 - 1)
    }

    /// The mark stands here.
    pub fn place(&mut self, mark: Mark) {
        self.marks[mark.0 as usize] = Some(self.address());
    }

    /// The mark of a state of a process type.
    pub fn state(&mut self, process: usize, number: u32) -> Mark {
        if let Some(&mark) = self.states.get(&(process, number)) {
            return mark;
        }
        let mark = self.mark();
        self.states.insert((process, number), mark);
        mark
    }

    /// What follows comes from this place.
    pub fn position(&mut self, span: Span) {
        let location = self.map.location(span);
        let text: String = self.map.snippet(span).split_whitespace().collect::<Vec<_>>().join(" ");
        let text = match text.char_indices().nth(MAX_TEXT) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        };
        let addr = self.address();
        let entry = bytecode::Span {
            addr,
            file: FileIndex(span.file.index() as u16),
            line: location.line as u32,
            column: location.column as u32,
            text,
        };
        match self.spans.last_mut() {
            Some(last) if last.addr == addr => *last = entry,
            _ => self.spans.push(entry),
        }
    }

    pub fn label(&mut self, name: String, kind: LabelKind) {
        let addr = self.address();
        self.labels.push(Label { name, addr, kind });
    }

    pub fn format(&mut self, text: String) -> FormatId {
        if let Some(&known) = self.format_ids.get(&text) {
            return known;
        }
        let id = FormatId(self.formats.len() as u16);
        self.formats.push(text.clone());
        self.format_ids.insert(text, id);
        id
    }

    /// Puts code and tables into the program.
    pub fn finish(mut self, program: &mut Program, diagnostics: &mut Vec<Diagnostic>) {
        let resolve = |mark: Addr| self.marks.get(mark.index()).copied().flatten().unwrap_or_default();
        for op in &mut self.code {
            match op {
                Op::Jmp { target }
                | Op::Jmpz { target }
                | Op::Jmpnz { target }
                | Op::Ndet { target }
                | Op::Else { target }
                | Op::Unless { target }
                | Op::Call { target } => *target = resolve(*target),
                Op::At { place } => place.1 = resolve(place.1),
                _ => {}
            }
        }
        if self.formats.len() > usize::from(u16::MAX) {
            diagnostics.push(Diagnostic::error(Span::default(), "too many different texts are printed"));
        }
        program.code = self.code;
        program.labels = self.labels;
        program.spans = self.spans;
        program.formats = self.formats;
        diagnostics.append(&mut self.diagnostics);
    }
}
