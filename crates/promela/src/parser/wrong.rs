//! Messages about text that is not a token, and about text that a macro produced.

use super::{Parser, Reported};
use crate::token::{Key, Op, Tok, Token};
use source::Diagnostic;

/// The longest expansion that a message shows.
const EXPANSION_MAX: usize = 60;

/// A hint for text that is not a token, by the reason.
pub(crate) fn hint_for_bad(reason: &str) -> Option<&'static str> {
    if reason.contains('.') && reason.contains("not a decimal number") {
        return Some("there are only integers");
    }
    [
        ("a comment", "a comment ends with `*/`"),
        ("a string", "put `\"` at its end"),
        ("a quoted character", "put `'` at its end"),
        ("a name with", "names consist of the letters a to z and A to Z, digits and `_`"),
        ("not a decimal number", "a name does not begin with a digit; between a number and a name there is an operator"),
        ("not one character", "a character is written as in `'a'`; texts are in double quotes, and only `printf` has them"),
    ]
    .into_iter()
    .find(|(part, _)| reason.contains(part))
    .map(|(_, hint)| hint)
}

impl Parser {
    /// Reports the current text if it is not a token: an unclosed comment, a wrong character.
    pub(super) fn bad_token(&mut self) -> Option<Reported> {
        let Tok::Bad(reason) = self.peek() else { return None };
        let hint = hint_for_bad(reason).map(str::to_owned);
        let diagnostic = Diagnostic::error(self.span(), format!("this is {reason}")).with_hint_opt(hint);
        Some(self.report(diagnostic))
    }

    /// Adds to a message the text that a macro expands to, because the user sees only the name of
    /// the macro. This is the macro from which the text before the error comes, or the text itself.
    pub(super) fn with_expansion(&self, diagnostic: Diagnostic) -> Diagnostic {
        let is_made = |token: &&Token| token.written != token.span && token.span.file == token.written.file;
        let near = [Some(self.at), self.at.checked_sub(1)].into_iter().flatten();
        let mut made = near.filter_map(|at| Some((at, self.tokens.get(at).filter(is_made)?.span)));
        let about = |site: source::Span| diagnostic.is_error() && (diagnostic.span == site || diagnostic.span == self.span());
        let Some((at, site)) = made.find(|(_, site)| about(*site)) else { return diagnostic };
        let here = |token: &&Token| token.span == site;
        let first = at - self.tokens[..at].iter().rev().take_while(here).count();
        let mut text = String::new();
        for token in self.tokens[first..].iter().take_while(here).filter(|token| token.kind != Tok::ImpliedSemi) {
            if !text.is_empty() && (token.blank || token.newline) {
                text.push(' ');
            }
            text.push_str(&token.kind.spelling());
        }
        // An expansion to one token needs no explanation.
        if text.chars().count() > EXPANSION_MAX || self.tokens[first..].iter().take_while(here).count() < 2 {
            return diagnostic;
        }
        if diagnostic.span == site {
            return diagnostic.with_note(format!("the macro expands to `{text}`"));
        }
        diagnostic.with_label(site, format!("this expands to `{text}`"))
    }

    /// `int f() { … }`: the user meant a function of C.
    pub(super) fn function_of_c(&mut self, name: Option<&Tok>) -> Reported {
        let hint = match name {
            Some(Tok::Name(name)) if &**name == "main" => super::foreign::hint_for_word("main"),
            _ => super::foreign::hint_for_word("function"),
        };
        let message = "there are no functions in Promela";
        let reported = self.report(Diagnostic::error(self.span(), message).with_hint(hint.unwrap_or_default()));
        let from = self.at;
        self.skip_brackets(Op::LParen, Op::RParen);
        while *self.peek() == Tok::ImpliedSemi {
            self.advance();
        }
        if self.is_op(Op::LBrace) {
            self.skip_brackets(Op::LBrace, Op::RBrace);
        }
        self.doubt(from);
        reported
    }

    /// Handles a block whose `}` is missing before the next option or the end of the selection: the
    /// text is read as if the brace were there.
    pub(super) fn close_block(&mut self, open: source::Span) -> super::Parsed<()> {
        if !matches!(self.peek(), Tok::Op(Op::Sep) | Tok::Key(Key::Fi | Key::Od)) {
            return self.close_brace(open).map(|_| ());
        }
        let (message, found) = (format!("expected `}}`, found {}", self.peek()), self.peek().clone());
        let diagnostic = Diagnostic::error(self.span(), message).with_label(open, "to close this `{`");
        let hint = match found {
            Tok::Op(_) => "a block of an option is closed before the next `::`",
            _ => "a block of an option is closed before the end of the options",
        };
        self.report(diagnostic.with_hint(hint).with_fix(self.last_span().after(), " }"));
        Ok(())
    }
}
