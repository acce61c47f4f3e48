//! The messages of a front-end to the user, as plain data.

use crate::map::Span;
use crate::suggest::nearest;
use std::fmt;

/// The severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Useful information; nothing is wrong.
    Note,
    /// Probably a mistake; the input is still accepted.
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

/// A second position that explains the first ("declared here").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// The message about the position.
    pub message: String,
}

/// A change of the text that would correct it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The text that is replaced.
    pub span: Span,
    /// The replacement.
    pub text: String,
}

/// One message about one position, with further positions, notes, and a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// One sentence, without a full stop.
    pub message: String,
    /// The position it is about.
    pub span: Span,
    /// The name by which a user can silence a warning or turn it into an error.
    pub name: Option<&'static str>,
    /// Further positions.
    pub labels: Box<[Label]>,
    /// Further information, one sentence each.
    pub notes: Box<[String]>,
    /// A suggestion for the user.
    pub hint: Option<String>,
    /// The change that carries out the hint, if it is known; boxed, because errors are returned by
    /// value.
    pub fix: Option<Box<Fix>>,
}

/// A list with one more element.
fn with<T>(list: Box<[T]>, more: T) -> Box<[T]> {
    let mut list = list.into_vec();
    list.push(more);
    list.into()
}

/// A number of things, as in `1 field` and `2 fields`.
pub fn counted(count: usize, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

impl Diagnostic {
    /// A message of the given severity.
    pub fn new(severity: Severity, span: Span, message: impl Into<String>) -> Self {
        let (labels, notes) = Default::default();
        Diagnostic { severity, message: message.into(), span, name: None, labels, notes, hint: None, fix: None }
    }

    /// An error.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Diagnostic::new(Severity::Error, span, message)
    }

    /// A warning.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Diagnostic::new(Severity::Warning, span, message)
    }

    /// The message with a name.
    pub fn named(mut self, name: &'static str) -> Self {
        self.name = Some(name);
        self
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

    /// If a known name is close to the unknown `name` that the message is about, adds it as a hint
    /// and as a fix.
    pub fn with_nearest<'a>(mut self, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        if let Some(found) = nearest(name, known) {
            self.hint = Some(format!("did you mean `{found}`?"));
            self.fix = Some(Box::new(Fix { span: self.span, text: found.to_owned() }));
        }
        self
    }

    /// Adds the change that would mend it.
    pub fn with_fix(mut self, span: Span, text: impl Into<String>) -> Self {
        self.fix = Some(Box::new(Fix { span, text: text.into() }));
        self
    }

    /// Adds a sentence.
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes = with(std::mem::take(&mut self.notes), note.into());
        self
    }

    /// Adds a further position.
    pub fn with_label(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels = with(std::mem::take(&mut self.labels), Label { span, message: message.into() });
        self
    }

    /// Whether the input is refused because of this.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
