//! Code under construction: instructions, labels still to be placed, positions.

use super::process::live_states;
use super::property::Atoms;
use crate::graph::Graph;
use crate::limits::MAX_INSTRUCTIONS;
use crate::model::Model;
use bytecode::{Addr, FileIndex, FormatId, Label, LabelKind, Op, Program};
use source::{Diagnostic, Location, SourceMap, Span};
use std::collections::{HashMap, HashSet};

/// Statements longer than this are cut in the table of positions.
const MAX_TEXT: usize = 200;

/// A place in the code to which instructions can refer before its address is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(super) struct Mark(u32);

impl Mark {
    /// The mark as an operand, until [`Emitter::finish`] knows the address.
    pub fn addr(self) -> Addr {
        Addr(self.0)
    }
}

/// Generates the code of all process types.
pub(super) struct Emitter<'a> {
    pub map: &'a SourceMap,
    pub model: &'a Model,
    pub graphs: &'a [Graph],
    /// The process type whose code is being generated.
    pub current: usize,
    code: Vec<Op>,
    marks: Vec<Option<Addr>>,
    /// The beginning of each state's code, and of each node inside a `d_step`.
    states: HashMap<(usize, u32), Mark>,
    labels: Vec<Label>,
    spans: Vec<bytecode::Span>,
    /// The numbers that SPIN gives to transitions. Each is valid from its address to the next one.
    pub numbers: Vec<(Addr, u32)>,
    /// The number of the first element of the process type whose code is being generated.
    pub first_number: u32,
    formats: Vec<String>,
    format_ids: HashMap<String, FormatId>,
    pub diagnostics: Vec<Diagnostic>,
    /// For process types with labels that remote references use: the state of each label, and the
    /// reachable states.
    seen_from_outside: HashMap<usize, (HashMap<&'a str, u32>, HashSet<u32>)>,
    /// The position found last.
    found: Option<(Span, Location)>,
    /// The files by their names. A file that is included twice has two texts, but is one file.
    file_numbers: HashMap<&'a str, FileIndex>,
    files: Vec<String>,
    pub atoms: Atoms,
}

impl<'a> Emitter<'a> {
    pub fn new(map: &'a SourceMap, model: &'a Model, graphs: &'a [Graph]) -> Self {
        let (mut file_numbers, mut files) = (HashMap::new(), Vec::new());
        for (_, file) in map.files().filter(|(_, file)| !file.is_made()) {
            file_numbers.entry(file.name()).or_insert_with(|| {
                files.push(file.name().to_owned());
                FileIndex((files.len() - 1) as u16)
            });
        }
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
            numbers: Vec::new(),
            first_number: 0,
            formats: Vec::new(),
            format_ids: HashMap::new(),
            diagnostics: Vec::new(),
            seen_from_outside: HashMap::new(),
            found: None,
            file_numbers,
            files,
            atoms: Atoms::default(),
        }
    }

    pub fn address(&self) -> Addr {
        Addr(self.code.len() as u32)
    }

    /// Whether there is no room for a further instruction, so that the program will be refused.
    pub fn is_full(&self) -> bool {
        self.code.len() >= MAX_INSTRUCTIONS
    }

    pub fn emit(&mut self, op: Op) {
        if !self.is_full() {
            self.code.push(op);
        }
    }

    pub fn mark(&mut self) -> Mark {
        self.marks.push(None);
        Mark(self.marks.len() as u32 - 1)
    }

    /// Defines the mark at this address.
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

    /// The state of a process type that has this label, if a process can reach it.
    pub fn labelled_state(&mut self, process: usize, label: &str) -> Option<u32> {
        let graph: &'a Graph = &self.graphs[process];
        let (labels, live) = self.seen_from_outside.entry(process).or_insert_with(|| {
            let labels = graph.labels.iter().map(|(name, state)| (name.as_str(), *state)).collect();
            (labels, live_states(graph).into_iter().collect())
        });
        labels.get(label).copied().filter(|state| live.contains(state))
    }

    /// Sets the position in the source of the code from here on.
    pub fn position(&mut self, span: Span) {
        if self.is_full() {
            return;
        }
        let addr = self.address();
        while self.spans.last().is_some_and(|last| last.addr == addr) {
            self.spans.pop();
        }
        let text = shortened(self.map.snippet(span));
        // A statement that came out of a macro or an inline has two positions: first its own, then
        // that of the use.
        let places = self.map.places(span);
        if let Some(places) = places.filter(|places| places.origin != places.used) {
            let text = shortened(self.map.snippet(places.origin));
            self.add_span(addr, places.origin, text);
        }
        self.add_span(addr, places.map_or(span, |places| places.used), text);
    }

    /// Sets the transition, by the number of its element, to which the code from here on belongs.
    pub fn number(&mut self, id: u32) {
        let (addr, number) = (self.address(), self.first_number + id);
        while self.numbers.last().is_some_and(|(last, _)| *last == addr) {
            self.numbers.pop();
        }
        self.numbers.push((addr, number));
    }

    fn add_span(&mut self, addr: Addr, span: Span, text: String) {
        let location = self.location(span);
        let file = self.file_number(span);
        self.spans.push(bytecode::Span { addr, file, line: location.line as u32, column: location.column as u32, text });
    }

    /// The file a span is in.
    pub fn file_number(&self, span: Span) -> FileIndex {
        self.file_numbers.get(self.map.name(span.file)).copied().unwrap_or(FileIndex(0))
    }

    /// The position at which a span begins. On the line of the position found last, columns are
    /// counted from there, because a model may be one long line.
    pub fn location(&mut self, span: Span) -> Location {
        let location = self.nearby(span).unwrap_or_else(|| self.map.location(span));
        self.found = Some((span, location));
        location
    }

    fn nearby(&self, span: Span) -> Option<Location> {
        let (last, at) = self.found.filter(|(last, _)| last.file == span.file)?;
        let (from, to) = (last.start.min(span.start), last.start.max(span.start));
        let between = self.map.text(span.file).get(from as usize..to as usize)?;
        if between.contains('\n') {
            return None;
        }
        let characters = between.chars().count();
        let column = if span.start >= last.start { at.column + characters } else { at.column.checked_sub(characters)? };
        Some(Location { column, ..at })
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
        for addr in self.code.iter_mut().filter_map(Op::address_mut) {
            *addr = resolve(*addr);
        }
        program.files = std::mem::take(&mut self.files);
        if self.is_full() {
            let span = self.model.processes.get(self.current).map_or(Span::default(), |p| p.name.span);
            let message = format!("the model becomes more than {MAX_INSTRUCTIONS} instructions, here or before");
            let hint = "an initial value that is not a number is computed for each element of its array; an inline is copied for each call";
            diagnostics.push(Diagnostic::error(span, message).with_hint(hint));
        }
        if self.formats.len() > usize::from(u16::MAX) {
            diagnostics.push(Diagnostic::error(Span::default(), "too many different texts are printed"));
        }
        program.code = self.code;
        program.atoms = self.atoms.table;
        program.labels = self.labels;
        program.spans = self.spans;
        program.formats = self.formats;
        diagnostics.append(&mut self.diagnostics);
    }
}

/// A statement on one line, cut if it is long. Only the text that is shown is read, because the
/// statement may be the body of a whole process.
pub(super) fn shortened(snippet: &str) -> String {
    let mut text = String::new();
    let mut left = MAX_TEXT;
    for word in snippet.split_whitespace() {
        let blank = usize::from(!text.is_empty());
        let room = left.checked_sub(blank);
        if blank == 1 && room.is_some() {
            text.push(' ');
        }
        let end = room.map(|room| word.char_indices().nth(room).map(|(end, _)| end));
        match end {
            Some(None) => text.push_str(word),
            Some(Some(end)) => {
                text.push_str(&word[..end]);
                text.push('…');
                return text;
            }
            None => {
                text.push('…');
                return text;
            }
        }
        left = left.saturating_sub(blank + word.chars().count());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected result, computed on the whole joined text.
    fn plainly(snippet: &str) -> String {
        let text = snippet.split_whitespace().collect::<Vec<_>>().join(" ");
        match text.char_indices().nth(MAX_TEXT) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }

    #[test]
    fn long_statements_are_cut() {
        for length in MAX_TEXT - 5..MAX_TEXT + 5 {
            for word in [1, 2, 3, 7, 199, 200, 201, 500] {
                let text: String = (0..length).map(|i| if i % (word + 1) == word { "\n\t " } else { "\u{e9}" }).collect();
                assert_eq!(shortened(&text), plainly(&text), "{length} {word}");
            }
        }
        assert_eq!(shortened(" x  =\n1 "), "x = 1");
    }
}
