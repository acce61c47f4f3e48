//! Divides text into tokens.
//!
//! The lexical rules are those of the Oberon languages, on which LF's syntax is based: words in
//! capitals are reserved, comments nest, a number followed by `H` is hexadecimal, and followed by
//! `X` a character.

use crate::foreign;
use source::{Diagnostic, FileId, Span};

/// The kind of a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Token {
    /// A name.
    Name(String),
    /// A reserved word or a sign.
    Sign(&'static str),
    /// A number.
    Number(i64),
    /// A character.
    Char(u8),
    /// A text.
    Text(String),
    /// The end of the file.
    End,
}

/// Reserved words.
pub(crate) const WORDS: &[&str] = &[
    "ACCEPT",
    "AND",
    "ARRAY",
    "ASSERT",
    "AT",
    "BEGIN",
    "BY",
    "CHOICE",
    "CONST",
    "CREATE",
    "DIV",
    "DO",
    "ELSE",
    "ELSIF",
    "END",
    "FALSE",
    "FOR",
    "IF",
    "IMPORT",
    "IN",
    "MOD",
    "MODULE",
    "NOMOVE",
    "NOT",
    "OF",
    "OR",
    "PORT",
    "PROCESS",
    "PROPERTY",
    "RECORD",
    "REPEAT",
    "RESCHEDULE",
    "SELECT",
    "THEN",
    "TO",
    "TRUE",
    "TYPE",
    "UNTIL",
    "VAR",
    "WHEN",
    "WHILE",
];

/// Signs, the longer ones first.
const SIGNS: &[&str] = &[
    ":=", "<=", ">=", "..", "(", ")", "[", "]", "{", "}", ",", ";", ":", ".", "=", "#", "<", ">", "+", "-", "*", "/", "&", "~", "!", "?",
    "|",
];

/// The tokens of a file, the last of which is its end.
pub fn tokens(text: &str, file: FileId, diagnostics: &mut Vec<Diagnostic>) -> Vec<(Token, Span)> {
    let mut lexer = Lexer { text, at: 0, file, diagnostics };
    let mut all = Vec::new();
    loop {
        let (token, span) = lexer.next();
        let end = token == Token::End;
        all.push((token, span));
        if end {
            return all;
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    file: FileId,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn span(&self, start: usize) -> Span {
        Span::new(self.file, start, self.at)
    }

    fn error(&mut self, start: usize, message: impl Into<String>, hint: &str) {
        let span = self.span(start);
        self.diagnostics.push(Diagnostic::error(span, message).with_hint(hint));
    }

    fn next(&mut self) -> (Token, Span) {
        loop {
            let trimmed = self.rest().trim_start().len();
            self.at = self.text.len() - trimmed;
            if self.rest().starts_with("(*") {
                self.comment();
                continue;
            }
            let start = self.at;
            let Some(c) = self.rest().chars().next() else { return (Token::End, self.span(start)) };
            let token = if c.is_alphabetic() || c == '_' {
                Some(self.word())
            } else if c.is_ascii_digit() {
                Some(self.number())
            } else if c == '"' || c == '\'' {
                Some(self.quoted(c))
            } else if let Some((written, sign, hint)) = foreign::SIGNS.iter().find(|(written, ..)| self.rest().starts_with(written)) {
                self.at += written.len();
                self.error(start, format!("LF has no `{written}`"), hint);
                Some(Token::Sign(sign))
            } else if self.rest().starts_with("//") || self.rest().starts_with("/*") {
                let end = if self.rest().starts_with("//") { self.rest().find('\n') } else { self.rest().find("*/").map(|end| end + 2) };
                self.at += end.unwrap_or(self.rest().len());
                let span = Span::new(self.file, start, start + 2);
                let hint = "a comment is written (* … *)";
                self.diagnostics.push(Diagnostic::error(span, "this does not begin a comment").with_hint(hint));
                None
            } else if let Some(sign) = SIGNS.iter().find(|sign| self.rest().starts_with(**sign)) {
                self.at += sign.len();
                Some(Token::Sign(sign))
            } else {
                self.at += c.len_utf8();
                self.error(start, format!("`{c}` has no meaning here"), "remove it, or put it in a comment (* … *)");
                None
            };
            if let Some(token) = token {
                return (token, self.span(start));
            }
        }
    }

    fn comment(&mut self) {
        let start = self.at;
        let mut depth = 0;
        loop {
            if self.rest().starts_with("(*") {
                depth += 1;
                self.at += 2;
            } else if self.rest().starts_with("*)") {
                depth -= 1;
                self.at += 2;
                if depth == 0 {
                    return;
                }
            } else if let Some(c) = self.rest().chars().next() {
                self.at += c.len_utf8();
            } else {
                self.diagnostics.push(
                    Diagnostic::error(Span::new(self.file, start, start + 2), "this comment has no end")
                        .with_hint("comments nest: each `(*` needs its own `*)`"),
                );
                return;
            }
        }
    }

    fn word(&mut self) -> Token {
        let rest = self.rest();
        let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let word = &rest[..length];
        let token = match WORDS.iter().find(|known| **known == word) {
            Some(known) => Token::Sign(known),
            None => Token::Name(word.to_owned()),
        };
        self.at += length;
        token
    }

    fn number(&mut self) -> Token {
        let start = self.at;
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let word = rest[..length].to_owned();
        self.at += length;
        let (digits, base, is_char) = match word.as_bytes().last() {
            Some(b'H') => (&word[..length - 1], 16, false),
            Some(b'X') => (&word[..length - 1], 16, true),
            _ => (word.as_str(), 10, false),
        };
        match i64::from_str_radix(digits, base) {
            Ok(value) if is_char && value <= 255 => Token::Char(value as u8),
            Ok(value) if !is_char && value <= u32::MAX as i64 => Token::Number(value),
            _ => {
                self.error(
                    start,
                    format!("`{word}` is not a valid number"),
                    "numbers are decimal, like 767, or hexadecimal followed by H, like 2FFH, and have at most 32 bits; a character is two digits and X, like 0AX",
                );
                Token::Number(0)
            }
        }
    }

    fn quoted(&mut self, quote: char) -> Token {
        let start = self.at;
        let rest = &self.rest()[1..];
        let end = rest.find([quote, '\n']);
        let inside = rest[..end.unwrap_or(rest.len())].to_owned();
        self.at += 1 + inside.len();
        if self.rest().starts_with(quote) {
            self.at += 1;
        } else {
            self.error(start, "this text has no end on its line", "add the same quote after it");
        }
        match (quote, inside.as_bytes()) {
            ('\'', [byte]) => Token::Char(*byte),
            ('\'', _) => {
                self.error(start, "single quotes contain one character of one byte", "a text is in double quotes");
                Token::Char(0)
            }
            _ => Token::Text(inside),
        }
    }
}
