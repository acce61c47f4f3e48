//! Parses a text to a graph, with a position for every mistake.
//!
//! A file may have millions of lines, so each is read once and by itself. No number in the file
//! decides how much memory is allocated: there are as many edges as lines.

use crate::graph::{Edge, Lts};
use source::{Diagnostic, FileId, SourceMap, Span};
use std::collections::HashMap;

/// After this many mistakes the rest of the file is not read.
const DIAGNOSTICS_MAX: usize = 100;

/// Makes a graph of a file. All mistakes are reported, up to a hundred.
pub fn parse(map: &SourceMap, file: FileId) -> Result<Lts, Vec<Diagnostic>> {
    let mut reader = Reader { file, head: None, names: HashMap::new(), atoms: HashMap::new(), graph: Lts::default(), wrong: Vec::new() };
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
    wrong: Vec<Diagnostic>,
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
        match self.inside(line, "state")? {
            Some(inside) => self.atoms(line, inside),
            None => match self.inside(line, "")? {
                Some(inside) => self.edge(line, inside),
                None => Err(self
                    .error(line, line.text, "this is neither an edge nor a state")
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
        let label = label.trim();
        let label = label.strip_prefix('"').and_then(|label| label.strip_suffix('"')).unwrap_or(label);
        let (source, target) = (self.state(line, source)?, self.state(line, target)?);
        let label = numbered(&mut self.names, &mut self.graph.labels, label);
        self.graph.edges.push(Edge { source, label, target, line: line.number });
        Ok(())
    }

    fn atoms(&mut self, line: &Line<'_>, inside: &str) -> Result<(), Diagnostic> {
        let (state, mut rest) = inside.split_once(',').unwrap_or((inside, ""));
        let state = self.state(line, state)?;
        let mut found = Vec::new();
        while !rest.trim().is_empty() {
            let quoted = rest.trim_start().strip_prefix('"').and_then(|rest| rest.split_once('"'));
            let Some((atom, behind)) = quoted.filter(|(atom, _)| !atom.is_empty()) else {
                return Err(self.error(line, rest.trim(), "expected an atom in double quotes"));
            };
            found.push(numbered(&mut self.atoms, &mut self.graph.atoms, atom));
            rest = match (behind.trim_start().strip_prefix(','), behind.trim().is_empty()) {
                (Some(next), _) => next,
                (None, true) => "",
                (None, false) => return Err(self.error(line, behind.trim(), "expected `,` or `)`")),
            };
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
        // The sort is stable: the edges of a state stay in the order of the file.
        self.graph.edges.sort_by_key(|edge| edge.source);
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
