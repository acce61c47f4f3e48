//! Texts that a caller passes in addition to a file: formulas and expressions over its states.
//!
//! A front-end may read such a text inside words of its own. Messages about it must show the text
//! that the user has written and nothing else, so their positions are translated from the text that
//! was read to the text that was given.

use source::{Diagnostic, FileId, SourceMap, Span};
use std::collections::HashMap;

/// One expression over the states of a model, or a comma-separated list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    /// The option that gave it, as messages name it: `--measure`.
    pub by: String,
    /// The text.
    pub text: String,
}

impl Expression {
    /// A text, and the option that gave it.
    pub fn new(by: impl Into<String>, text: impl Into<String>) -> Expression {
        Expression { by: by.into(), text: text.into() }
    }
}

/// A given text, and its position in the text that a front-end has read.
pub(crate) struct Reading {
    /// The name of the file that the front-end has read.
    pub file: String,
    /// The position of the text in it.
    pub start: usize,
    pub given: Expression,
}

/// Puts each text between two words of a language, one after the other, and returns their
/// positions.
pub(crate) fn between(file: &str, given: impl Iterator<Item = (String, Expression, &'static str)>) -> (String, Vec<Reading>) {
    let (mut text, mut readings) = (String::new(), Vec::new());
    for (before, given, behind) in given {
        text.push_str(&before);
        readings.push(Reading { file: file.to_owned(), start: text.len(), given: given.clone() });
        text.push_str(&given.text);
        text.push_str(behind);
    }
    (text, readings)
}

/// Translates messages from texts that were read to the texts that were given.
pub(crate) fn show_as_given(map: &mut SourceMap, diagnostics: &mut [Diagnostic], readings: &[Reading]) {
    let mut files: HashMap<usize, FileId> = HashMap::new();
    for diagnostic in diagnostics {
        // Positions in our own words explain nothing.
        let ours = |span: Span| {
            let (name, start) = (map.name(map.shown(span).file), map.shown(span).start as usize);
            let mut here = readings.iter().filter(|reading| reading.file == name).peekable();
            here.peek().is_some() && !here.any(|reading| (reading.start..=reading.start + reading.given.text.len()).contains(&start))
        };
        diagnostic.labels = diagnostic.labels.iter().filter(|label| !ours(label.span)).cloned().collect();
        let mut moved = false;
        let spans = std::iter::once(&mut diagnostic.span).chain(diagnostic.labels.iter_mut().map(|label| &mut label.span));
        for span in spans {
            let shown = map.shown(*span);
            let name = map.name(shown.file);
            let found = readings.iter().rposition(|reading| reading.file == name && reading.start <= shown.start as usize);
            let Some(number) = found else { continue };
            let Reading { start, given, .. } = &readings[number];
            let (from, to) = (shown.start as usize - start, shown.end as usize - start);
            let file = *files.entry(number).or_insert_with(|| map.add(given.by.as_str(), given.text.as_str()));
            *span = Span::new(file, from.min(given.text.len()), to.min(given.text.len()));
            moved = true;
        }
        if moved {
            // A brace after a text is ours, and the text has none.
            for word in ["`}`", "`ltl`"] {
                diagnostic.message = diagnostic.message.replace(word, "the end");
            }
        }
    }
}
