//! Embedded C: its text is copied, with macros expanded, and with the position of every token.
//!
//! Promela and C have nearly the same tokens, so the text is put together from Promela's tokens. A
//! directive after a `\` is for C's preprocessor, which runs later, so it is part of the text.

use super::{Parsed, Parser};
use crate::ast::{Embedded, Fragment};
use crate::token::{Key, Op, Text, Tok, Token};
use source::{Diagnostic, Span};

/// A text under construction.
#[derive(Default)]
struct Pieces {
    text: String,
    places: Vec<(u32, Span)>,
    last: Option<Span>,
}

impl Pieces {
    fn push(&mut self, token: &Token) {
        let spelling = token.kind.spelling();
        // Tokens that were adjacent in the text may be one token in C.
        let touches = self.last.is_some_and(|last| last.file == token.written.file && last.end == token.written.start);
        if token.newline {
            self.text.push('\n');
        } else if !self.text.is_empty() && !touches {
            self.text.push(' ');
        }
        self.places.push((self.text.len() as u32, token.span));
        self.text.push_str(&spelling);
        self.last = Some(token.written);
    }

    fn finish(self, span: Span) -> Fragment {
        Fragment { text: self.text.into(), places: self.places.into(), span }
    }
}

impl Parser {
    /// `{ … }` in C.
    pub(super) fn fragment(&mut self) -> Parsed<Fragment> {
        while *self.peek() == Tok::ImpliedSemi {
            self.advance();
        }
        let open = self.expect_op(Op::LBrace, "before the text in C")?;
        self.embedded_until(open, Op::LBrace, Op::RBrace)
    }

    /// `[ … ]` before a text in C.
    pub(super) fn embedded_condition(&mut self) -> Parsed<Option<Fragment>> {
        if !self.is_op(Op::LBracket) {
            return Ok(None);
        }
        let open = self.advance();
        self.embedded_until(open, Op::LBracket, Op::RBracket).map(Some)
    }

    fn embedded_until(&mut self, start: Span, open: Op, close: Op) -> Parsed<Fragment> {
        let mut pieces = Pieces::default();
        let mut depth = 0usize;
        loop {
            let Some(token) = self.tokens.get(self.at).filter(|token| token.kind != Tok::End).cloned() else {
                let diagnostic = Diagnostic::error(self.span(), format!("expected `{}`, found {}", close.text(), self.peek()))
                    .with_label(start, format!("to close this `{}`", open.text()));
                return Err(self.report(diagnostic));
            };
            match &token.kind {
                Tok::Op(op) if *op == open => depth += 1,
                Tok::Op(op) if *op == close => {
                    if depth == 0 {
                        self.advance();
                        return Ok(pieces.finish(start.to(token.span)));
                    }
                    depth -= 1;
                }
                Tok::ImpliedSemi | Tok::CommentEnd => {
                    self.advance();
                    continue;
                }
                Tok::Backslash if matches!(self.peek_at(1), Tok::Hash(false)) => {
                    self.directive(&mut pieces);
                    continue;
                }
                Tok::Bad(reason) => {
                    let message = format!("this is {reason}");
                    self.error(token.span, message);
                }
                _ => {}
            }
            pieces.push(&token);
            self.advance();
        }
    }

    /// `\#include <stdio.h>` and the like, on a line of its own.
    fn directive(&mut self, pieces: &mut Pieces) {
        self.advance();
        let mut first = true;
        while let Some(token) = self.tokens.get(self.at).filter(|token| (first || !token.newline) && token.kind != Tok::End).cloned() {
            pieces.push(&Token { newline: first, ..token });
            first = false;
            self.advance();
        }
    }

    /// Embedded C outside processes.
    pub(super) fn embedded_unit(&mut self) -> Parsed<Embedded> {
        let word = self.peek().clone();
        let start = self.advance();
        match word {
            Tok::Key(Key::CCode | Key::CDecl) => Ok(Embedded::Declarations(self.fragment()?)),
            Tok::Key(Key::CState) => {
                let declaration = self.quoted("the declaration of a variable in C")?;
                let (scope, _) = self.string("`Global`, `Local` with a process type, or `Hidden`")?;
                let initial = if matches!(self.peek(), Tok::Str(_)) { Some(self.quoted("a value")?) } else { None };
                Ok(Embedded::State { declaration, scope, initial, span: start.to(self.last_span()) })
            }
            Tok::Key(Key::CTrack) => {
                let object = self.quoted("the address of a variable in C")?;
                let size = self.quoted("a size in bytes")?;
                let mut matched = true;
                if matches!(self.peek(), Tok::Str(_)) {
                    let (how, span) = self.string("`Matched` or `UnMatched`")?;
                    matched = match &*how {
                        "Matched" => true,
                        "UnMatched" => false,
                        _ => {
                            return Err(self.report(
                                Diagnostic::error(span, "expected `\"Matched\"` or `\"UnMatched\"`")
                                    .with_hint("states that differ in what is `UnMatched` count as one"),
                            ));
                        }
                    };
                }
                Ok(Embedded::Track { object, size, matched, span: start.to(self.last_span()) })
            }
            _ => {
                let diagnostic = Diagnostic::error(start, "`c_expr` is a condition: it belongs in a process")
                    .with_hint("functions are defined in `c_decl`");
                Err(self.report(diagnostic))
            }
        }
    }

    fn string(&mut self, what: &str) -> Parsed<(Text, Span)> {
        if let Tok::Str(text) = self.peek().clone() {
            return Ok((text, self.advance()));
        }
        let message = format!("expected {what} in quotes, found {}", self.peek());
        Err(self.error(self.span(), message))
    }

    /// A text in C in quotes.
    fn quoted(&mut self, what: &str) -> Parsed<Fragment> {
        let (text, span) = self.string(what)?;
        Ok(Fragment { text, places: [(0, span)].into(), span })
    }
}
