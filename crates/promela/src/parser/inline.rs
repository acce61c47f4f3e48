//! Inlines: named pieces of text with parameters.
//!
//! A call is replaced by the text between the braces, braces included, with each parameter's name
//! replaced by the text of its argument. Arguments are therefore evaluated where the parameter is
//! used, each call has a scope of its own, and precedence is that of the resulting text.

use super::{Parsed, Parser, Reported};
use crate::ast::{Reference, Stmt};
use crate::limits::{MAX_EXPANDED, MAX_INLINE_DEPTH, MAX_PARAMETERS};
use crate::token::{Key, Op, Text, Tok, Token};
use source::{Diagnostic, Span, counted};
use std::rc::Rc;

/// An inline as defined.
pub(super) struct InlineDefinition {
    name: Text,
    parameters: Vec<Text>,
    /// The text from `{` to `}`.
    body: Vec<Token>,
    span: Span,
}

/// A call being expanded.
pub(super) struct Call {
    name: Text,
    /// Its position.
    pub(super) span: Span,
    /// The variable that receives the value of `return`.
    result: Option<Reference>,
}

impl Parser {
    /// Finds all definitions before anything is parsed.
    pub(super) fn find_inlines(&mut self) {
        let mut i = 0;
        while i < self.tokens.len() {
            if self.tokens[i].kind == Tok::Key(Key::Inline) {
                self.at = i + 1;
                if let Ok(definition) = self.inline_definition() {
                    let definition = Rc::new(definition);
                    let name = definition.name.clone();
                    if let Some(old) = self.names.inlines.insert(name, Rc::clone(&definition)) {
                        let message = format!("the inline `{}` is defined twice", old.name);
                        let diagnostic = Diagnostic::error(definition.span, message)
                            .with_label(old.span, "the first definition")
                            .with_hint(crate::OTHER_NAME);
                        self.report(diagnostic);
                    }
                }
                i = self.at.max(i + 1);
            } else if matches!(self.tokens[i].kind, Tok::Key(Key::CCode | Key::CDecl | Key::CExpr)) {
                // `inline` is a word of C as well.
                self.at = i + 1;
                while *self.peek() == Tok::ImpliedSemi {
                    self.advance();
                }
                if self.is_op(Op::LBracket) {
                    self.skip_brackets(Op::LBracket, Op::RBracket);
                }
                if self.is_op(Op::LBrace) {
                    self.skip_brackets(Op::LBrace, Op::RBrace);
                }
                i = self.at.max(i + 1);
            } else {
                i += 1;
            }
        }
        self.at = 0;
    }

    fn inline_definition(&mut self) -> Parsed<InlineDefinition> {
        let name = self.expect_name("the inline's name")?;
        self.expect_op(Op::LParen, "after the inline's name")?;
        let mut parameters = Vec::new();
        while let Tok::Name(parameter) = self.peek() {
            parameters.push(parameter.clone());
            self.advance();
            if parameters.len() > MAX_PARAMETERS || !self.eat_op(Op::Comma) {
                break;
            }
        }
        self.expect_op(Op::RParen, "after the inline's parameters")?;
        while *self.peek() == Tok::ImpliedSemi {
            self.advance();
        }
        let open = self.at;
        if !self.is_op(Op::LBrace) {
            self.expect_op(Op::LBrace, "at the beginning of the inline's body")?;
        }
        self.skip_brackets(Op::LBrace, Op::RBrace);
        let body = self.tokens[open..self.at].to_vec();
        if body.last().is_none_or(|t| t.kind != Tok::Op(Op::RBrace)) {
            return Err(self.report(
                Diagnostic::error(name.span, format!("the body of `{}` is not closed", name.text))
                    .with_hint("write `}` where the body ends"),
            ));
        }
        Ok(InlineDefinition { name: name.text, parameters, body, span: name.span })
    }

    /// Skips a definition that [`Parser::find_inlines`] has read.
    pub(super) fn skip_inline_definition(&mut self) {
        self.advance();
        while !matches!(self.peek(), Tok::End | Tok::Op(Op::LBrace)) {
            self.advance();
        }
        if self.is_op(Op::LBrace) {
            self.skip_brackets(Op::LBrace, Op::RBrace);
        }
    }

    /// Whether a call of an inline begins here.
    pub(super) fn at_inline_call(&self, ahead: usize) -> bool {
        matches!(self.peek_at(ahead), Tok::Name(name) if self.names.inlines.contains_key(name))
            && *self.peek_at(ahead + 1) == Tok::Op(Op::LParen)
    }

    /// `name(arguments)`, as the block it expands to. `result` receives the value of `return`.
    pub(super) fn inline_call(&mut self, result: Option<Reference>) -> Parsed<Stmt> {
        let name = self.expect_name("the name of an inline")?;
        let Some(definition) = self.names.inlines.get(&name.text).cloned() else {
            let hint = format!("`inline {}(a, b) {{ … }}` defines one", name.text);
            return Err(self.report(Diagnostic::error(name.span, format!("there is no inline `{}`", name.text)).with_hint(hint)));
        };
        let arguments = self.inline_arguments(name.span)?;
        let call = name.span.to(self.last_span());
        if arguments.len() != definition.parameters.len() {
            let message =
                format!("the inline `{}` takes {}, {} given", name.text, counted(definition.parameters.len(), "argument"), arguments.len());
            let diagnostic = Diagnostic::error(call, message).with_label(definition.span, "defined here");
            let hint = crate::number_hint(definition.parameters.len(), arguments.len(), "argument");
            return Err(self.report(diagnostic.with_hint(hint)));
        }
        if self.inlines.iter().any(|c| c.name == name.text) {
            let diagnostic = Diagnostic::error(call, format!("the inline `{}` calls itself", name.text))
                .with_note("an inline is text: it is copied to each place where it is called")
                .with_hint("write a loop, `do … od`, or a `proctype`, which can start itself by `run`");
            return Err(self.report(diagnostic));
        }
        if self.inlines.len() >= MAX_INLINE_DEPTH {
            let message = format!("inlines call each other more than {MAX_INLINE_DEPTH} levels deep");
            return Err(self.error(call, message));
        }
        let (tokens, texts) = self.substituted(&definition, &arguments, call)?;
        self.inlines.push(Call { name: name.text, span: call, result });
        let outer_tokens = std::mem::replace(&mut self.tokens, tokens);
        let outer_texts = std::mem::replace(&mut self.texts, texts);
        let outer_at = std::mem::replace(&mut self.at, 0);
        let outer_end = std::mem::replace(&mut self.end, call.after());
        let block = self.statement();
        self.tokens = outer_tokens;
        self.texts = outer_texts;
        self.at = outer_at;
        self.end = outer_end;
        self.inlines.pop();
        block
    }

    fn inline_arguments(&mut self, name: Span) -> Parsed<Vec<Vec<Token>>> {
        self.expect_op(Op::LParen, "before the inline's arguments")?;
        let mut arguments: Vec<Vec<Token>> = vec![Vec::new()];
        let mut nesting = 0usize;
        loop {
            let token = match self.tokens.get(self.at) {
                Some(token) => token.clone(),
                None => {
                    let diagnostic = Diagnostic::error(name, "the inline's arguments are not closed");
                    return Err(self.report(diagnostic.with_hint("write `)` behind the last argument")));
                }
            };
            self.advance();
            match token.kind {
                Tok::Op(Op::RParen) if nesting == 0 => break,
                Tok::Op(Op::Comma) if nesting == 0 => {
                    arguments.push(Vec::new());
                    continue;
                }
                Tok::Op(Op::LParen | Op::LBracket | Op::LBrace) => nesting += 1,
                Tok::Op(Op::RParen | Op::RBracket | Op::RBrace) => nesting = nesting.saturating_sub(1),
                _ => {}
            }
            if let Some(argument) = arguments.last_mut() {
                argument.push(Token { newline: false, ..token });
            }
        }
        if arguments.len() == 1 && arguments[0].is_empty() {
            arguments.clear();
        }
        if arguments.iter().any(Vec::is_empty) {
            return Err(self.report(
                Diagnostic::error(name, "an argument of the inline is empty").with_hint("leave out the comma, or write an argument"),
            ));
        }
        Ok(arguments)
    }

    fn substituted(
        &mut self,
        definition: &InlineDefinition,
        arguments: &[Vec<Token>],
        call: Span,
    ) -> Result<(Vec<Token>, Vec<Span>), Reported> {
        let argument_of = |token: &Token| match &token.kind {
            Tok::Name(name) => definition.parameters.iter().position(|p| p == name).and_then(|i| arguments.get(i)),
            _ => None,
        };
        let length: usize = definition.body.iter().map(|token| argument_of(token).map_or(1, Vec::len)).sum();
        self.inline_tokens = self.inline_tokens.saturating_add(length);
        if self.inline_tokens > MAX_EXPANDED {
            self.at = self.tokens.len();
            let diagnostic =
                Diagnostic::error(call, "the inlines expand into too much text").with_hint("does each inline call the next one twice?");
            return Err(self.report(diagnostic));
        }
        let mut tokens = Vec::with_capacity(length);
        let mut texts = Vec::with_capacity(length);
        for token in &definition.body {
            match argument_of(token) {
                Some(argument) => {
                    let from = tokens.len();
                    tokens.extend(argument.iter().cloned());
                    if let Some(first) = tokens.get_mut(from) {
                        first.blank = token.blank || token.newline;
                    }
                }
                None => tokens.push(token.clone()),
            }
            texts.resize(tokens.len(), token.span);
        }
        Ok((tokens, texts))
    }

    /// The variable that receives the value of a `return`.
    pub(super) fn return_target(&mut self, span: Span) -> Parsed<Reference> {
        match self.inlines.last() {
            Some(Call { result: Some(result), .. }) => Ok(result.clone()),
            Some(call) => {
                let message = format!("`return` in `{}`, whose value is not used", call.name);
                let diagnostic = Diagnostic::error(span, message).with_hint("call the inline as `variable = name(arguments)`");
                Err(self.report(diagnostic))
            }
            None => {
                let hint = "a process ends at its closing brace: put a label before it, and `goto` there";
                Err(self.report(Diagnostic::error(span, "`return` outside an inline").with_hint(hint)))
            }
        }
    }
}
