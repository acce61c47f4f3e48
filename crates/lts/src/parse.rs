//! Parses a text to a graph, with a position for every mistake.
//!
//! A file may have millions of lines, so each is read once and by itself. No number in the file
//! decides how much memory is allocated: there are as many edges as lines.

use crate::graph::{Edge, Lts, StatedFault};
use crate::text::{NONE, kind_names, kind_of};
use contract::Fault;
use source::{Diagnostic, FileId, SourceMap, Span};
use std::collections::HashMap;

/// After this many mistakes the rest of the file is not read.
const DIAGNOSTICS_MAX: usize = 100;

/// Makes a graph of a file. All mistakes are reported, up to a hundred.
pub fn parse(map: &SourceMap, file: FileId) -> Result<Lts, Vec<Diagnostic>> {
    let mut reader = Reader {
        file,
        head: None,
        names: HashMap::new(),
        atoms: HashMap::new(),
        graph: Lts::default(),
        faults: Vec::new(),
        spans: Vec::new(),
        wrong: Vec::new(),
    };
    reader.graph.file = map.name(file).to_owned();
    let mut start = 0;
    for (index, line) in map.text(file).split_inclusive('\n').enumerate() {
        let text = line.trim_end();
        let skipped = text.len() - text.trim_start().len();
        let line_of = Line { text: text.trim_start(), start: start + skipped, number: index as u32 + 1 };
        start += line.len();
        if let Err(diagnostic) = reader.line(&line_of) {
            reader.wrong.push(diagnostic);
        }
        if reader.wrong.len() >= DIAGNOSTICS_MAX {
            break;
        }
    }
    reader.finish()
}

/// A line without the blanks around it.
struct Line<'a> {
    text: &'a str,
    start: usize,
    number: u32,
}

struct Reader {
    file: FileId,
    /// The position of the header, and the number of edges it announces.
    head: Option<(Span, u64)>,
    names: HashMap<String, u32>,
    atoms: HashMap<String, u32>,
    graph: Lts,
    faults: Vec<StatedFault>,
    /// The positions of the faults.
    spans: Vec<Span>,
    wrong: Vec<Diagnostic>,
}

/// A part of a line between commas.
struct Field<'a> {
    text: &'a str,
    quoted: bool,
}

impl Reader {
    fn line(&mut self, line: &Line<'_>) -> Result<(), Diagnostic> {
        if line.text.is_empty() || line.text.starts_with('%') {
            return Ok(());
        }
        if let Some(inside) = self.inside(line, "des")? {
            return self.head(line, inside);
        }
        if self.head.is_none() {
            let hint = "a graph begins with `des (initial state, edges, states)`";
            return Err(self.error(line, line.text, "the first line is not a header").with_hint(hint));
        }
        if let Some(inside) = self.inside(line, "state")? {
            return self.atoms(line, inside);
        }
        match self.inside(line, "fault")? {
            Some(inside) => self.fault(line, inside),
            None => match self.inside(line, "")? {
                Some(inside) => self.edge(line, inside),
                None => Err(self
                    .error(line, line.text, "this is neither an edge nor a state nor a fault")
                    .with_hint("an edge is `(from, \"label\", to)`; atoms are given by `state (number, \"atom\")`")),
            },
        }
    }

    fn error(&self, line: &Line<'_>, part: &str, message: impl Into<String>) -> Diagnostic {
        // The part is a substring of the line, so the difference of their addresses is its offset.
        let offset = (part.as_ptr() as usize).saturating_sub(line.text.as_ptr() as usize).min(line.text.len());
        let start = line.start + offset;
        Diagnostic::error(Span::new(self.file, start, start + part.len().min(line.text.len() - offset)), message)
    }

    /// The text in parentheses after a word.
    fn inside<'a>(&self, line: &Line<'a>, word: &str) -> Result<Option<&'a str>, Diagnostic> {
        let Some(rest) = line.text.strip_prefix(word).map(str::trim_start).and_then(|rest| rest.strip_prefix('(')) else {
            return Ok(None);
        };
        match rest.strip_suffix(')') {
            Some(inside) => Ok(Some(inside)),
            None => Err(self.error(line, &line.text[line.text.len()..], "expected `)`")),
        }
    }

    fn number<T: std::str::FromStr>(&self, line: &Line<'_>, text: &str) -> Result<T, Diagnostic> {
        let text = text.trim();
        text.parse().map_err(|_| self.error(line, text, "expected a number, at most 4294967294"))
    }

    fn state(&self, line: &Line<'_>, text: &str) -> Result<u32, Diagnostic> {
        let state: u32 = self.number(line, text)?;
        match state < self.graph.states {
            true => Ok(state),
            false => Err(self.error(line, text.trim(), format!("there are only {} states, numbered from 0", self.graph.states))),
        }
    }

    fn head(&mut self, line: &Line<'_>, inside: &str) -> Result<(), Diagnostic> {
        let span = Span::new(self.file, line.start, line.start + line.text.len());
        if let Some((first, _)) = self.head {
            return Err(Diagnostic::error(span, "another header").with_label(first, "the first one"));
        }
        // This line counts as the header, whatever else is wrong with it.
        self.head = Some((span, 0));
        self.graph.states = u32::MAX;
        let parts: Vec<&str> = inside.split(',').collect();
        let [initial, edges, states] = parts[..] else {
            return Err(self.error(line, inside, "expected the initial state, the number of edges, and the number of states"));
        };
        let count: u32 = self.number(line, states)?;
        if count == u32::MAX {
            return Err(self.error(line, states.trim(), "there can be 4294967294 states at most"));
        }
        self.graph.states = count;
        self.head = Some((span, self.number(line, edges)?));
        self.graph.initial = self.state(line, initial)?;
        Ok(())
    }

    fn edge(&mut self, line: &Line<'_>, inside: &str) -> Result<(), Diagnostic> {
        // A label in quotes may contain commas, so the numbers are taken from both ends.
        let parts = inside.split_once(',').and_then(|(source, rest)| Some((source, rest.rsplit_once(',')?)));
        let Some((source, (label, target))) = parts else {
            return Err(self.error(line, inside, "an edge has a source, a label and a target"));
        };
        let label = self.label(line, label.trim())?;
        let (source, target) = (self.state(line, source)?, self.state(line, target)?);
        let label = numbered(&mut self.names, &mut self.graph.labels, label);
        self.graph.edges.push(Edge { source, label, target, line: line.number });
        Ok(())
    }

    /// A label, with or without quotes around it.
    fn label<'a>(&self, line: &Line<'_>, text: &'a str) -> Result<&'a str, Diagnostic> {
        match (text.strip_prefix('"'), text.strip_suffix('"')) {
            (None, None) => Ok(text),
            (None, Some(_)) => Err(self.error(line, &text[text.len() - 1..], "no quote is open here")),
            (Some(rest), _) => rest.strip_suffix('"').ok_or_else(|| self.error(line, text, "this quote is not closed")),
        }
    }

    /// The parts of a line between commas; a part in quotes may contain commas.
    fn fields<'a>(&self, line: &Line<'_>, mut rest: &'a str) -> Result<Vec<Field<'a>>, Diagnostic> {
        let mut fields = Vec::new();
        loop {
            let begin = rest.trim();
            let behind = match begin.strip_prefix('"') {
                Some(inner) => {
                    let (text, behind) = inner.split_once('"').ok_or_else(|| self.error(line, begin, "this quote is not closed"))?;
                    fields.push(Field { text, quoted: true });
                    behind.trim_start()
                }
                None => {
                    let end = begin.find(',').unwrap_or(begin.len());
                    fields.push(Field { text: begin[..end].trim_end(), quoted: false });
                    &begin[end..]
                }
            };
            rest = match behind.strip_prefix(',') {
                Some(next) => next,
                None if behind.is_empty() => return Ok(fields),
                None => return Err(self.error(line, behind, "expected `,` or `)`")),
            };
        }
    }

    fn fault(&mut self, line: &Line<'_>, inside: &str) -> Result<(), Diagnostic> {
        let hint = "a fault is `fault (from, \"label\", to, \"kind\", \"message\")`; without a target `to` is `none`";
        let fields = self.fields(line, inside)?;
        let [source, label, target, kind, message] = &fields[..] else {
            let message = "a fault has a source, a label, a target, a kind and a message";
            return Err(self.error(line, inside, message).with_hint(hint));
        };
        if let Some(bare) = [label, kind, message].into_iter().find(|field| !field.quoted) {
            return Err(self.error(line, bare.text, "expected a text in double quotes").with_hint(hint));
        }
        let known = kind_of(kind.text).ok_or_else(|| {
            let hint = format!("the kinds are {}", kind_names());
            self.error(line, kind.text, "there is no such kind of fault").with_hint(hint)
        })?;
        let number = |field: &Field<'_>| if field.text == NONE { Ok(None) } else { self.state(line, field.text).map(Some) };
        let (from, to) = (number(source)?, number(target)?);
        if from.is_none() && to != Some(self.graph.initial) {
            let message = "a fault without a source is that of the initial state";
            return Err(self.error(line, target.text, message).with_hint(format!("the initial state is {}", self.graph.initial)));
        }
        let label = numbered(&mut self.names, &mut self.graph.labels, label.text);
        let fault = Fault::new(known, message.text);
        self.faults.push(StatedFault { step: from.map(|from| (from, label)), target: to, fault, line: line.number });
        self.spans.push(Span::new(self.file, line.start, line.start + line.text.len()));
        Ok(())
    }

    fn atoms(&mut self, line: &Line<'_>, inside: &str) -> Result<(), Diagnostic> {
        let fields = self.fields(line, inside)?;
        let Some((state, atoms)) = fields.split_first() else { return Ok(()) };
        let state = self.state(line, state.text)?;
        let mut found = Vec::new();
        for atom in atoms {
            if !atom.quoted || atom.text.is_empty() {
                return Err(self.error(line, atom.text, "expected an atom in double quotes"));
            }
            found.push(numbered(&mut self.atoms, &mut self.graph.atoms, atom.text));
        }
        let marked = self.graph.marked.entry(state).or_default();
        marked.extend(found);
        marked.sort_unstable();
        marked.dedup();
        Ok(())
    }

    fn finish(mut self) -> Result<Lts, Vec<Diagnostic>> {
        match self.head {
            None if self.wrong.is_empty() => {
                let diagnostic = Diagnostic::error(Span::point(self.file, 0), "the file has no header");
                self.wrong.push(diagnostic.with_hint("a graph begins with `des (initial state, edges, states)`"));
            }
            Some((span, promised)) if self.wrong.is_empty() && promised != self.graph.edges.len() as u64 => {
                let message = format!("the header promises {promised} edges, and there are {}", self.graph.edges.len());
                self.wrong.push(Diagnostic::error(span, message).with_hint("a part of the file may be missing"));
            }
            _ => {}
        }
        if !self.wrong.is_empty() {
            return Err(self.wrong);
        }
        if let Err(position) = self.graph.complete(self.faults) {
            let message = "the graph has no edge with this source, label and target";
            return Err(vec![Diagnostic::error(self.spans[position], message)]);
        }
        self.graph.marked.retain(|_, atoms| !atoms.is_empty());
        Ok(self.graph)
    }
}

/// The number of a text. A new text is added.
fn numbered(numbers: &mut HashMap<String, u32>, texts: &mut Vec<String>, text: &str) -> u32 {
    if let Some(&number) = numbers.get(text) {
        return number;
    }
    let number = texts.len() as u32;
    texts.push(text.to_owned());
    numbers.insert(text.to_owned(), number);
    number
}
