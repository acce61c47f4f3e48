//! What a front-end has to say to the user, as plain data.

use crate::map::Span;
use crate::suggest::nearest;
use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Probably not what was meant; the input is still accepted.
    Warning,
    /// The input is refused.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

/// A second place that explains the first ("declared here").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What the label says about the place.
    pub message: String,
}

/// A change of the text that would mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What is replaced.
    pub span: Span,
    /// By what.
    pub text: String,
}

/// One message about one place, with further places, notes, and a hint how to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// One sentence, without a final stop.
    pub message: String,
    /// The place it is about.
    pub span: Span,
    /// Further places.
    pub labels: Vec<Label>,
    /// What else is to be said, a sentence each.
    pub notes: Vec<String>,
    /// What the user could do about it.
    pub hint: Option<String>,
    /// The change that would do it, if it is known; boxed, because errors are returned by value.
    pub fix: Option<Box<Fix>>,
}

impl Diagnostic {
    /// A message of the given severity.
    pub fn new(severity: Severity, span: Span, message: impl Into<String>) -> Self {
        Diagnostic { severity, message: message.into(), span, labels: Vec::new(), notes: Vec::new(), hint: None, fix: None }
    }

    /// An error.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Diagnostic::new(Severity::Error, span, message)
    }

    /// A warning.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Diagnostic::new(Severity::Warning, span, message)
    }

    /// A note.
    pub fn note(span: Span, message: impl Into<String>) -> Self {
        Diagnostic::new(Severity::Note, span, message)
    }

    /// Adds a hint; a second one replaces the first.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a hint if there is one.
    pub fn with_hint_opt(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    /// If one of the names that are known is close to an unknown `name`, which is what the message
    /// is about, adds that as a hint and as a fix.
    pub fn with_nearest<'a>(mut self, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        if let Some(found) = nearest(name, known) {
            self.hint = Some(format!("did you mean `{found}`?"));
            self.fix = Some(Box::new(Fix { span: self.span, text: found.to_owned() }));
        }
        self
    }

    /// Adds a sentence.
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds a further place.
    pub fn with_label(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label { span, message: message.into() });
        self
    }

    /// Whether the input is refused because of this.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
