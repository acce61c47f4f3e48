//! A position in a text, for the readers of formats: blanks, words, strings, and errors with
//! positions.

use source::{Diagnostic, FileId, Span};

pub struct Cursor<'a> {
    pub text: &'a str,
    pub at: usize,
    file: FileId,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str, file: FileId) -> Self {
        Cursor { text, at: 0, file }
    }

    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// An error about the text from `start` to here.
    pub fn error(&self, start: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(Span::new(self.file, start, self.at.max(start)), message)
    }

    /// An error about the text at this position.
    pub fn error_here(&self, message: impl Into<String>) -> Diagnostic {
        let length = self.rest().chars().next().map_or(0, char::len_utf8);
        Diagnostic::error(Span::new(self.file, self.at, self.at + length), message)
    }

    /// Skips blanks and comments (`/* … */`, and `//` to the end of a line if `lines`).
    pub fn skip(&mut self, lines: bool) -> Result<(), Diagnostic> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("/*") {
                let start = self.at;
                match trimmed.find("*/") {
                    Some(end) => self.at += end + 2,
                    None => {
                        self.at += 2;
                        return Err(self.error(start, "this comment is not closed"));
                    }
                }
            } else if lines && trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else {
                return Ok(());
            }
        }
    }

    /// Takes `sign` if the text continues with it.
    pub fn take(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        self.at += if found { sign.len() } else { 0 };
        found
    }

    /// Takes `sign` or returns an error that it is missing.
    pub fn expect(&mut self, sign: &str) -> Result<(), Diagnostic> {
        if self.take(sign) { Ok(()) } else { Err(self.error_here(format!("`{sign}` is missing here"))) }
    }

    /// The longest run of such characters.
    pub fn run(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// A number up to `max`.
    pub fn number(&mut self, what: &str, max: usize) -> Result<usize, Diagnostic> {
        let start = self.at;
        let digits = self.run(|c| c.is_ascii_digit());
        if digits.is_empty() {
            return Err(self.error_here(format!("{what} is missing here")).with_hint("it is a number"));
        }
        match digits.parse::<usize>() {
            Ok(number) if number <= max => Ok(number),
            _ => Err(self.error(start, format!("{what} is at most {max}"))),
        }
    }
}
