//! State spaces with progress values, as the sweep-line tool of Lilleskare (2017) reads them.
//!
//! Each line describes a state: its number, its progress, the number of propositions, the
//! propositions, and then an action and the number of a successor for each step. A proposition is a
//! name, or `!` and a name. The first line is the initial state. The format does not mark ends: a
//! state without steps is an accepted end.

use crate::graph::{END, Edge, Lts, PROGRESS};
use source::{Diagnostic, FileId, SourceMap, Span};
use std::collections::{HashMap, HashSet};

/// After this many errors the rest of the file is not read.
const DIAGNOSTICS_MAX: usize = 100;

/// Reads a graph from a file. All errors are reported, up to a hundred.
pub fn parse_state_space(map: &SourceMap, file: FileId) -> Result<Lts, Vec<Diagnostic>> {
    let mut graph = Lts { file: map.name(file).to_owned(), ..Lts::default() };
    graph.atoms = vec![PROGRESS.to_owned(), END.to_owned()];
    let mut reader = Reader { file, graph, labels: HashMap::new(), told: HashSet::new(), used: HashMap::new() };
    let mut wrong = Vec::new();
    let mut start = 0;
    for (number, line) in map.text(file).split_inclusive('\n').enumerate() {
        if let Err(diagnostic) = reader.line(line, start, number as u32 + 1) {
            wrong.push(diagnostic);
        }
        start += line.len();
        if wrong.len() >= DIAGNOSTICS_MAX {
            break;
        }
    }
    if reader.told.is_empty() && wrong.is_empty() {
        let hint = "a line is `state progress propositions proposition… (action successor)…`";
        wrong.push(Diagnostic::error(Span::point(file, 0), "the file has no state").with_hint(hint));
    }
    if wrong.is_empty() {
        let missing = reader.used.iter().filter(|(state, _)| !reader.told.contains(state));
        let mut missing: Vec<(&u32, &Span)> = missing.collect();
        missing.sort();
        wrong.extend(missing.into_iter().take(DIAGNOSTICS_MAX).map(|(state, span)| {
            let message = format!("state {state} has no line of its own");
            Diagnostic::error(*span, message).with_hint("a part of the file may be missing")
        }));
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let mut graph = reader.graph;
    // No fault is stated, so nothing can be wrong with one.
    let _ = graph.complete(Vec::new());
    let ends: Vec<u32> = reader.told.iter().copied().filter(|&state| graph.leaving(state).is_empty()).collect();
    for state in ends {
        let marked = graph.marked.entry(state).or_default();
        marked.push(1);
        marked.sort_unstable();
    }
    graph.marked.retain(|_, atoms| !atoms.is_empty());
    Ok(graph)
}

struct Reader {
    file: FileId,
    graph: Lts,
    labels: HashMap<String, u32>,
    /// States that have a line.
    told: HashSet<u32>,
    /// The targets of steps, and the position at which each is first used.
    used: HashMap<u32, Span>,
}

impl Reader {
    fn line(&mut self, line: &str, start: usize, number: u32) -> Result<(), Diagnostic> {
        let file = self.file;
        let begin = line.as_ptr() as usize;
        let mut words = line.split_whitespace().map(|word| {
            let at = start + (word.as_ptr() as usize - begin);
            (word, Span::new(file, at, at + word.len()))
        });
        let Some((word, span)) = words.next() else { return Ok(()) };
        let end = Span::point(file, start + line.trim_end().len());
        let state = state_number(word, span)?;
        let (word, at) = words.next().ok_or_else(|| Diagnostic::error(end, "the progress of the state is missing"))?;
        let progress: i64 = word.parse().map_err(|_| Diagnostic::error(at, format!("`{word}` is not a progress value")))?;
        let (word, at) = words.next().ok_or_else(|| Diagnostic::error(end, "the number of propositions is missing"))?;
        let count: usize = word.parse().map_err(|_| Diagnostic::error(at, format!("`{word}` is not a number of propositions")))?;
        if !self.told.insert(state) {
            return Err(Diagnostic::error(span, format!("state {state} has a line already")));
        }
        if self.told.len() == 1 {
            self.graph.initial = state;
        }
        self.graph.states = self.graph.states.max(state + 1);
        self.graph.progress.insert(state, progress);
        let mut literals: HashMap<usize, bool> = HashMap::new();
        for _ in 0..count {
            let (word, at) = words.next().ok_or_else(|| Diagnostic::error(end, format!("{count} propositions were promised")))?;
            let (name, holds) = word.strip_prefix('!').map_or((word, true), |name| (name, false));
            if name.is_empty() || name == PROGRESS || name == END {
                return Err(Diagnostic::error(at, format!("`{word}` is not a proposition")));
            }
            let atom = self.graph.atoms.iter().position(|known| known == name).unwrap_or_else(|| {
                self.graph.atoms.push(name.to_owned());
                self.graph.atoms.len() - 1
            });
            if literals.insert(atom, holds) == Some(!holds) {
                let message = format!("`{name}` holds and does not hold in state {state}");
                return Err(Diagnostic::error(at, message).with_hint("a line names each proposition once: with `!` or without"));
            }
            let marked = self.graph.marked.entry(state).or_default();
            if holds && !marked.contains(&(atom as u32)) {
                marked.push(atom as u32);
                marked.sort_unstable();
            }
        }
        while let Some((action, at)) = words.next() {
            let (word, span) = words.next().ok_or_else(|| Diagnostic::error(at, format!("the action `{action}` has no successor")))?;
            let target = state_number(word, span)?;
            self.used.entry(target).or_insert(span);
            let next = self.graph.labels.len() as u32;
            let label = *self.labels.entry(action.to_owned()).or_insert_with(|| {
                self.graph.labels.push(action.to_owned());
                next
            });
            self.graph.edges.push(Edge { source: state, label, target, line: number });
        }
        Ok(())
    }
}

fn state_number(word: &str, span: Span) -> Result<u32, Diagnostic> {
    let number = word.parse().ok().filter(|&number| number < u32::MAX);
    number.ok_or_else(|| Diagnostic::error(span, format!("`{word}` is not a state number")))
}
