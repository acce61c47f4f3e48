//! Cuts the text of one file into tokens.
//!
//! The preprocessor works on these tokens, so nothing is an error here: text that is not a token
//! becomes [`Tok::Bad`] and is reported only if it is used (it may be in a part that `#if`
//! excludes). Comments and line continuations are blanks.

use crate::token::{Key, Op, Text, Tok, Token};
use source::{FileId, Span};
use std::collections::HashMap;

/// The tokens of a file. The last one is [`Tok::End`].
pub fn lex(file: FileId, text: &str) -> Vec<Token> {
    let mut lexer = Lexer { file, text, at: 0, newline: true, first: true, words: HashMap::new() };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next();
        let end = token.kind == Tok::End;
        tokens.push(token);
        if end {
            return tokens;
        }
    }
}

struct Lexer<'a> {
    /// Words seen before, so that each is kept once.
    words: HashMap<&'a str, Tok>,
    file: FileId,
    text: &'a str,
    at: usize,
    newline: bool,
    first: bool,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn next(&mut self) -> Token {
        let before = self.at;
        let unclosed = self.skip_blanks();
        let blank = self.at > before;
        let newline = std::mem::take(&mut self.newline);
        let first = std::mem::take(&mut self.first);
        let (kind, span) = match unclosed {
            Some(start) => (Tok::Bad("a comment that is never closed".into()), Span::new(self.file, start, start + 2)),
            None => {
                let start = self.at;
                (self.token(), Span::new(self.file, start, self.at))
            }
        };
        Token { newline, first, blank, ..Token::new(kind, span) }
    }

    /// Skips blanks and comments. Returns the beginning of a comment that does not end.
    fn skip_blanks(&mut self) -> Option<usize> {
        loop {
            match self.byte(0) {
                b'\n' => {
                    self.newline = true;
                    self.first = true;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                0 if self.at < self.text.len() => self.at += 1,
                b'\\' if self.byte(1) == b'\n' => self.skip_over_line_end(2),
                b'\\' if self.byte(1) == b'\r' && self.byte(2) == b'\n' => self.skip_over_line_end(3),
                b'/' if self.byte(1) == b'/' => self.skip_line(),
                b'/' if self.byte(1) == b'*' => {
                    let start = self.at;
                    match self.rest().get(2..).and_then(|r| r.find("*/")) {
                        Some(length) => {
                            let comment = &self.rest()[..length + 4];
                            self.newline |= comment.contains('\n');
                            self.at += length + 4;
                        }
                        None => {
                            self.at = self.text.len();
                            return Some(start);
                        }
                    }
                }
                _ => return None,
            }
        }
    }

    fn skip_over_line_end(&mut self, length: usize) {
        self.newline = true;
        self.at += length;
    }

    /// Skips to the end of the line, including continuation lines.
    fn skip_line(&mut self) {
        while self.at < self.text.len() && self.byte(0) != b'\n' {
            let continued = self.byte(0) == b'\\' && self.byte(1) == b'\n';
            self.at += if continued { 2 } else { 1 };
        }
    }

    fn token(&mut self) -> Tok {
        let first = self.byte(0);
        match first {
            0 => Tok::End,
            b'"' => self.string(),
            b'\'' => self.character(),
            b'0'..=b'9' => self.number(),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(),
            b'#' => {
                self.at += 1;
                let double = self.byte(0) == b'#';
                self.at += usize::from(double);
                Tok::Hash(double)
            }
            // `*/*` is a `*` before a comment.
            b'*' if self.byte(1) == b'/' && !matches!(self.byte(2), b'*' | b'/') => {
                self.at += 2;
                Tok::CommentEnd
            }
            // `\\/` is an operator of formulas.
            b'\\' if self.byte(1) != b'/' => {
                self.at += 1;
                Tok::Backslash
            }
            _ => match Op::at_start(self.rest()) {
                Some(op) => {
                    self.at += op.text().len();
                    Tok::Op(op)
                }
                None => {
                    let c = self.rest().chars().next().unwrap_or('?');
                    if c.is_alphabetic() {
                        return self.foreign_word();
                    }
                    self.at += c.len_utf8();
                    Tok::Bad(format!("the character {c:?}, which Promela does not use").into())
                }
            },
        }
    }

    fn word(&mut self) -> Tok {
        let length = self.rest().bytes().position(|b| !(b.is_ascii_alphanumeric() || b == b'_')).unwrap_or(self.rest().len());
        let word = &self.rest()[..length];
        if !self.byte(length).is_ascii() && self.rest()[length..].starts_with(char::is_alphabetic) {
            return self.foreign_word();
        }
        self.at += length;
        let token = || match Key::from_text(word) {
            Some(key) => Tok::Key(key),
            None => Tok::Name(word.into()),
        };
        self.words.entry(word).or_insert_with(token).clone()
    }

    /// A word with letters of other languages, which is one mistake and not several.
    fn foreign_word(&mut self) -> Tok {
        let length = self.rest().find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(self.rest().len());
        let word = &self.rest()[..length];
        let letter = word.chars().find(|c| !c.is_ascii()).unwrap_or('?');
        self.at += length;
        Tok::Bad(format!("`{word}`, a name with the character {letter:?}, which Promela does not use").into())
    }

    /// A number as C's preprocessor defines it: digits and letters, with signs in exponents. `1..2`
    /// is a range.
    fn number(&mut self) -> Tok {
        let bytes = self.rest().as_bytes();
        let mut length = 0;
        while let Some(&b) = bytes.get(length) {
            let is_point = b == b'.' && bytes.get(length + 1) != Some(&b'.');
            if !(b.is_ascii_alphanumeric() || b == b'_' || is_point) {
                break;
            }
            length += 1;
        }
        let digits = &self.rest()[..length];
        self.at += length;
        let plain = digits.bytes().all(|b| b.is_ascii_digit()) && (length == 1 || !digits.starts_with('0'));
        match digits.parse::<i32>() {
            Ok(n) if plain => Tok::Number(n),
            _ => Tok::Literal(digits.into()),
        }
    }

    fn string(&mut self) -> Tok {
        let start = self.at + 1;
        self.at = start;
        loop {
            match self.byte(0) {
                b'"' => {
                    let text: Text = self.text[start..self.at].into();
                    self.at += 1;
                    return Tok::Str(text);
                }
                b'\\' if self.at + 1 < self.text.len() => {
                    self.at += 1;
                    self.at += self.rest().chars().next().map_or(1, char::len_utf8);
                }
                0 | b'\n' => return Tok::Bad("a string that is not closed on its line".into()),
                _ => self.at += self.rest().chars().next().map_or(1, char::len_utf8),
            }
        }
    }

    /// A quoted character, or a longer escape, up to the quote that closes it.
    fn character(&mut self) -> Tok {
        let mut escaped = false;
        for (at, c) in self.rest().char_indices().skip(1) {
            match c {
                '\n' => break,
                '\'' if !escaped && at > 1 => {
                    let text: Text = self.rest()[..at + 1].into();
                    self.at += at + 1;
                    return Tok::Literal(text);
                }
                '\\' => escaped = !escaped,
                _ => escaped = false,
            }
        }
        self.bad_character()
    }

    fn bad_character(&mut self) -> Tok {
        self.at += 1;
        Tok::Bad("a quoted character that is not closed".into())
    }
}

/// A literal as SPIN reads it in the language: decimal digits, or one character in quotes.
pub fn literal(text: &str) -> Tok {
    let Some(quoted) = text.strip_prefix('\'') else {
        if !text.bytes().all(|b| b.is_ascii_digit()) {
            return Tok::Bad(format!("`{text}`, which is not a decimal number").into());
        }
        // One more than the largest number is accepted, because it is the absolute value of the
        // smallest.
        return match text.parse::<i64>() {
            Ok(n) if n <= 1 << 31 => Tok::Number(n as i32),
            _ => Tok::Bad(format!("the number {text}, which does not fit 32 bits").into()),
        };
    };
    let mut chars = quoted.strip_suffix('\'').unwrap_or(quoted).chars();
    let value = match (chars.next(), chars.next(), chars.next()) {
        (Some('\\'), Some('n'), None) => '\n',
        (Some('\\'), Some('r'), None) => '\r',
        (Some('\\'), Some('t'), None) => '\t',
        (Some('\\'), Some('f'), None) => '\u{c}',
        (Some('\\'), Some(other), None) => other,
        (Some(c), None, None) if c != '\\' => c,
        _ => return Tok::Bad(format!("{text}, which is not one character").into()),
    };
    Tok::Number(value as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Tok> {
        let read = |kind| match kind {
            Tok::Literal(text) => literal(&text),
            kind => kind,
        };
        lex(FileId::default(), text).into_iter().map(|t| read(t.kind)).collect()
    }

    #[test]
    fn operators_take_the_longest_match() {
        let ops: Vec<Tok> = kinds("a!!b??[c]->d<->e..f--g");
        let texts: Vec<String> = ops.iter().map(ToString::to_string).collect();
        assert_eq!(texts.join(" "), "`a` `!!` `b` `??` `[` `c` `]` `->` `d` `<->` `e` `..` `f` `--` `g` the end of the file");
    }

    #[test]
    fn a_range_of_numbers_is_three_tokens() {
        assert_eq!(kinds("1..20"), [Tok::Number(1), Tok::Op(Op::DotDot), Tok::Number(20), Tok::End]);
    }

    #[test]
    fn characters_and_their_escapes_are_numbers() {
        assert_eq!(kinds(r"'a' '\n' '\''"), [Tok::Number(97), Tok::Number(10), Tok::Number(39), Tok::End]);
    }

    #[test]
    fn blanks_comments_and_continuations_only_mark_line_ends() {
        let tokens = lex(FileId::default(), "a /* x\ny */ b // c \\\n d\ne \\\n f");
        let newlines: Vec<bool> = tokens.iter().map(|t| t.newline).collect();
        assert_eq!(newlines, [true, true, true, true, false]);
        let firsts: Vec<bool> = tokens.iter().map(|t| t.first).collect();
        assert_eq!(firsts, [true, false, true, false, false]);
    }

    #[test]
    fn numbers_keep_their_spelling() {
        let spelled = |text: &str| lex(FileId::default(), text)[0].kind.spelling().into_owned();
        for text in ["010", "0x1F", "10uL", "99999999999", "1e", "'a'", r"'\x41'", r"'\''", "1.5"] {
            assert_eq!(spelled(text), text);
        }
        assert_eq!(kinds("010"), [Tok::Number(10), Tok::End]);
    }

    #[test]
    fn the_end_of_a_comment_alone_is_a_token_of_its_own() {
        assert_eq!(kinds("1 */ 2"), [Tok::Number(1), Tok::CommentEnd, Tok::Number(2), Tok::End]);
        assert_eq!(kinds("1 */* x */2"), [Tok::Number(1), Tok::Op(Op::Star), Tok::Number(2), Tok::End]);
        assert_eq!(kinds("1 *// x"), [Tok::Number(1), Tok::Op(Op::Star), Tok::End]);
    }

    #[test]
    fn what_is_no_token_is_kept_as_such() {
        for text in ["\"open", "'ab'", "'a", "0x10", "$", "99999999999", "/* open", "\u{e9}"] {
            assert!(kinds(text).iter().any(|t| matches!(t, Tok::Bad(_))), "{text}");
        }
        assert_eq!(kinds("2147483648"), [Tok::Number(i32::MIN), Tok::End]);
    }
}
