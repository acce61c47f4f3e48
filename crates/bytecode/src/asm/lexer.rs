//! The tokens of a line.

use source::{Diagnostic, FileId, Span};
use std::fmt::Write;
use std::str::Chars;

/// The kind of a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum TokenKind {
    /// A word: a name, a keyword, a mnemonic.
    Word(String),
    /// A name in single quotes.
    Quoted(String),
    /// A word after `@`: a label that is in no table.
    Anonymous(String),
    /// A string in double quotes.
    Text(String),
    /// A number.
    Number(i64),
    /// Any other character with a meaning.
    Mark(char),
}

/// A token and its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

/// A line: its tokens, and the statement that its comment names if the comment begins with `;:`.
#[derive(Default)]
pub(super) struct Line {
    pub tokens: Vec<Token>,
    pub statement: Option<(String, Span)>,
}

/// Cuts a line, which begins at byte `start` of its file, into tokens.
pub(super) fn line(text: &str, start: usize, file: FileId) -> Result<Line, Diagnostic> {
    let mut line = Line::default();
    let mut cursor = Cursor { text, rest: text, start, file };
    loop {
        cursor.rest = cursor.rest.trim_start();
        let from = cursor.at();
        let Some(first) = cursor.rest.chars().next() else { return Ok(line) };
        let kind = match first {
            ';' => {
                line.statement = cursor.statement();
                return Ok(line);
            }
            '/' if cursor.rest.starts_with("//") => return Ok(line),
            '"' => TokenKind::Text(cursor.literal()?),
            '\'' => TokenKind::Quoted(cursor.literal()?),
            '@' => {
                cursor.rest = &cursor.rest[1..];
                let word = cursor.while_(is_word);
                if word.is_empty() {
                    return Err(Diagnostic::error(cursor.from(from), "a label must follow `@`"));
                }
                TokenKind::Anonymous(word.to_owned())
            }
            '-' | '0'..='9' => cursor.number()?,
            c if is_word(c) => TokenKind::Word(cursor.word().to_owned()),
            '{' | '}' | '(' | ')' | '[' | ']' | ',' | ':' | '=' | '.' => {
                cursor.rest = &cursor.rest[1..];
                TokenKind::Mark(first)
            }
            other => {
                let span = Span::new(file, from, from + other.len_utf8());
                let shown = if other.is_control() { format!("{:?}", other) } else { format!("`{other}`") };
                return Err(Diagnostic::error(span, format!("{shown} means nothing here"))
                    .with_hint("a name of other characters than letters, digits and `_` is written in single quotes"));
            }
        };
        line.tokens.push(Token { kind, span: cursor.from(from) });
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

struct Cursor<'a> {
    text: &'a str,
    rest: &'a str,
    start: usize,
    file: FileId,
}

impl<'a> Cursor<'a> {
    /// The position of the rest in the file.
    fn at(&self) -> usize {
        self.start + self.text.len() - self.rest.len()
    }

    /// The span from a position to the current one.
    fn from(&self, from: usize) -> Span {
        Span::new(self.file, from, self.at())
    }

    fn while_(&mut self, test: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !test(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// A word; inside it a hyphen may come before a letter.
    fn word(&mut self) -> &'a str {
        let whole = self.rest;
        loop {
            self.while_(is_word);
            match self.rest.strip_prefix('-') {
                Some(behind) if behind.starts_with(|c: char| c.is_ascii_alphabetic()) => self.rest = behind,
                _ => return &whole[..whole.len() - self.rest.len()],
            }
        }
    }

    fn number(&mut self) -> Result<TokenKind, Diagnostic> {
        let from = self.at();
        let negative = self.rest.starts_with('-');
        if negative {
            self.rest = &self.rest[1..];
        }
        let digits = self.while_(is_word).replace('_', "");
        let parsed = match digits.get(..2) {
            Some("0x" | "0X") => i64::from_str_radix(&digits[2..], 16),
            Some("0b" | "0B") => i64::from_str_radix(&digits[2..], 2),
            _ => digits.parse(),
        };
        match parsed {
            Ok(value) => Ok(TokenKind::Number(if negative { -value } else { value })),
            Err(_) => {
                let shown = if digits.is_empty() { "a number must follow `-`" } else { "this is not a number, or it is too large" };
                Err(Diagnostic::error(self.from(from), shown).with_hint("numbers are decimal, or begin with 0x or 0b"))
            }
        }
    }

    /// The statement named by the comment that begins here.
    fn statement(&mut self) -> Option<(String, Span)> {
        let behind = self.rest.strip_prefix(";:")?;
        self.rest = behind.trim_start();
        let from = self.at();
        let text = self.rest.trim_end();
        Some((text.to_owned(), Span::new(self.file, from, from + text.len())))
    }

    /// The text between two quotes.
    fn literal(&mut self) -> Result<String, Diagnostic> {
        let from = self.at();
        let mut chars = self.rest.chars();
        let quote = chars.next();
        let mut value = String::new();
        loop {
            match chars.next() {
                None => return Err(Diagnostic::error(Span::new(self.file, from, self.start + self.text.len()), "the quote is not closed")),
                c if c == quote => break,
                Some('\\') => {
                    let at = self.start + self.text.len() - chars.as_str().len() - 1;
                    value.push(escape(&mut chars).ok_or_else(|| {
                        Diagnostic::error(Span::new(self.file, at, at + 1), "this escape is not known")
                            .with_hint("escapes are \\n \\r \\t \\\\ \\\" \\' and \\u{...} with a character's number in hexadecimal")
                    })?);
                }
                Some(c) => value.push(c),
            }
        }
        self.rest = chars.as_str();
        Ok(value)
    }
}

/// The character that an escape means; its backslash has been read.
fn escape(chars: &mut Chars<'_>) -> Option<char> {
    match chars.next()? {
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        c @ ('\\' | '"' | '\'') => Some(c),
        'u' => {
            let (digits, behind) = chars.as_str().strip_prefix('{')?.split_once('}')?;
            let code = (1..=6).contains(&digits.len()).then(|| u32::from_str_radix(digits, 16).ok()).flatten()?;
            *chars = behind.chars();
            char::from_u32(code)
        }
        _ => None,
    }
}

/// Appends `text` between two `quote`s, so that [`line`] reads it back.
pub(super) fn write_quoted(out: &mut String, text: &str, quote: char) {
    out.push(quote);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => out.extend(['\\', c]),
            // Writing to a string cannot fail.
            c if c.is_control() => drop(write!(out, "\\u{{{:x}}}", c as u32)),
            c => out.push(c),
        }
    }
    out.push(quote);
}

/// Appends a name: as it is, or quoted if it would not be read back as one word.
pub(super) fn write_name(out: &mut String, name: &str) {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_word);
    if plain { out.push_str(name) } else { write_quoted(out, name, '\'') }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        line(text, 0, FileId::from_index(0)).expect("tokens").tokens.into_iter().map(|t| t.kind).collect()
    }

    fn message(text: &str) -> (u32, u32) {
        let error = line(text, 10, FileId::from_index(0)).err().expect("an error");
        (error.span.start - 10, error.span.end - 10)
    }

    #[test]
    fn lines_are_cut_into_tokens() {
        use TokenKind::*;
        let word = |s: &str| Word(s.to_owned());
        assert_eq!(kinds("x: LDC -0x1_0 // no"), [word("x"), Mark(':'), word("LDC"), Number(-16)]);
        assert_eq!(
            kinds("RECV 1, {0}, peek-first"),
            [word("RECV"), Number(1), Mark(','), Mark('{'), Number(0), Mark('}'), Mark(','), word("peek-first")]
        );
        assert_eq!(kinds(r#"'a b' "\u{e9}\n" @12 ; "#), [Quoted("a b".into()), Text("é\n".into()), Anonymous("12".into())]);
    }

    #[test]
    fn statements_are_found_in_comments() {
        let read = |text| line(text, 0, FileId::from_index(0)).expect("a line").statement;
        assert_eq!(read("LDC 1 ;: x = 1  "), Some(("x = 1".to_owned(), Span::new(FileId::from_index(0), 9, 14))));
        assert_eq!(read("LDC 1 ; x = 1"), None);
    }

    #[test]
    fn errors_point_at_the_place() {
        assert_eq!(message("LDC 1x"), (4, 6));
        assert_eq!(message("LDC 99999999999999999999"), (4, 24));
        assert_eq!(message("LDC ?"), (4, 5));
        assert_eq!(message("PRINT \"ab"), (6, 9));
        assert_eq!(message(r#""a\q""#), (2, 3));
        assert_eq!(message(r#""\u{110000}""#), (1, 2));
        assert_eq!(message("é"), (0, 2));
    }

    #[test]
    fn what_is_quoted_is_read_back() {
        for name in ["x", "x y", "", "1", "a-b", "'", "\\", "é", "\u{1}\n\r\t\"", ".", ":init:"] {
            let mut text = String::new();
            write_name(&mut text, name);
            write_quoted(&mut text, name, '"');
            assert!(!text.contains(char::is_control), "{text:?} contains a control character");
            let read = kinds(&text);
            assert!(matches!(&read[0], TokenKind::Word(n) | TokenKind::Quoted(n) if n == name), "{text}: {read:?}");
            assert_eq!(read[1], TokenKind::Text(name.to_owned()));
        }
    }
}
