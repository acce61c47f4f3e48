//! Declarations: variables, parameters, typedefs, sets of message names.

use super::{Parsed, Parser, Reported};
use crate::ast::{Declaration, Ident, Initial, MtypeSet, TypeName, Typedef, Variable, Visibility};
use crate::token::{Key, Op, Tok};
use source::Diagnostic;

impl Parser {
    /// Whether a declaration of variables begins here.
    pub(super) fn at_declaration(&self) -> bool {
        match self.peek() {
            Tok::Key(
                Key::Hidden
                | Key::Show
                | Key::Local
                | Key::Bit
                | Key::Bool
                | Key::Byte
                | Key::Pid
                | Key::Short
                | Key::Int
                | Key::Unsigned
                | Key::Mtype
                | Key::Chan,
            ) => true,
            Tok::Name(name) => self.names.typedefs.contains(name) && matches!(self.peek_at(1), Tok::Name(_)),
            _ => false,
        }
    }

    /// Whether `mtype = {`, `mtype:set = {` or `mtype {` follows.
    pub(super) fn at_mtype_set(&self) -> bool {
        match (self.peek_at(1), self.peek_at(2), self.peek_at(3)) {
            (Tok::Op(Op::LBrace | Op::Assign), _, _) => true,
            (Tok::Op(Op::Colon), Tok::Name(_), next) => *next == Tok::Op(Op::Assign),
            _ => false,
        }
    }

    pub(super) fn mtype_set(&mut self) -> Parsed<MtypeSet> {
        self.advance();
        let set = if self.eat_op(Op::Colon) { Some(self.expect_name("the set's name")?) } else { None };
        self.eat_op(Op::Assign);
        let open = self.expect_op(Op::LBrace, "before the names of messages")?;
        let mut names = Vec::new();
        loop {
            match self.peek() {
                Tok::Name(_) => names.push(self.expect_name("a name")?),
                Tok::Op(Op::Comma | Op::Semi) | Tok::ImpliedSemi => drop(self.advance()),
                Tok::Op(Op::RBrace) => break,
                _ => {
                    self.expect_name("the name of a message")?;
                }
            }
        }
        self.close_brace(open)?;
        Ok(MtypeSet { set, names })
    }

    pub(super) fn typedef(&mut self) -> Parsed<Typedef> {
        self.advance();
        let name = self.expect_name("the name of the type")?;
        let open = self.expect_op(Op::LBrace, "after the name of the type")?;
        let (mut fields, mut embedded) = (Vec::new(), Vec::new());
        loop {
            self.skip_separators();
            if self.eat_key(Key::CDecl) {
                embedded.push(self.fragment()?);
                continue;
            }
            if !self.at_declaration() {
                break;
            }
            fields.push(self.declaration()?);
        }
        if fields.is_empty() && embedded.is_empty() {
            let hint = format!("write at least one: `typedef {} {{ byte a }}`", name.text);
            self.report(Diagnostic::error(name.span, format!("the type `{}` has no fields", name.text)).with_hint(hint));
        }
        self.close_brace(open)?;
        Ok(Typedef { name, fields, embedded })
    }

    pub(super) fn parameters(&mut self) -> Parsed<Vec<Declaration>> {
        let mut parameters = Vec::new();
        while !self.is_op(Op::RParen) {
            if !self.at_declaration() {
                let message = format!("expected a parameter's type, found {}", self.peek());
                let hint = "parameters are declared like variables: `proctype P(byte x, y; bool b)`";
                return Err(self.report(Diagnostic::error(self.span(), message).with_hint(hint)));
            }
            parameters.push(self.declaration()?);
            if self.at_separator() {
                self.skip_separators();
            } else {
                break;
            }
        }
        Ok(parameters)
    }

    /// `hidden byte a = 1, b[3]`.
    pub(super) fn declaration(&mut self) -> Parsed<Declaration> {
        let from = self.at;
        let visibility = match self.peek() {
            Tok::Key(Key::Hidden) => Visibility::Hidden,
            Tok::Key(Key::Show) => Visibility::Show,
            Tok::Key(Key::Local) => Visibility::Local,
            _ => Visibility::Normal,
        };
        if visibility != Visibility::Normal {
            self.advance();
        }
        let ty = self.type_name()?;
        if matches!(ty, TypeName::Mtype(_)) && *self.peek_at(1) == Tok::Op(Op::Assign) && *self.peek_at(2) == Tok::Op(Op::LBrace) {
            return Err(self.names_of_messages());
        }
        let mut variables = vec![self.variable()?];
        while self.is_op(Op::Comma) {
            let comma = self.advance();
            if self.at_declaration() {
                let diagnostic = Diagnostic::error(comma, "expected `;` between declarations, found `,`")
                    .with_hint("a `,` continues the list of names of one type");
                return Err(self.report(diagnostic));
            }
            variables.push(self.variable()?);
        }
        Ok(Declaration { visibility, ty, variables, span: self.text_from(from) })
    }

    /// `mtype name = { a, b }`: names of messages were meant, or a set of them with a name.
    fn names_of_messages(&mut self) -> Reported {
        let name = self.span();
        let spelled = self.peek().spelling().into_owned();
        let hint = format!("`mtype = {{ a, b }}` declares names of messages, and `mtype:{spelled} = {{ a, b }}` a set of them with a name");
        let reported =
            self.report(Diagnostic::error(name, format!("`{spelled}` would be a variable, which has one value")).with_hint(hint));
        self.advance();
        let from = self.at;
        self.advance();
        self.skip_brackets(Op::LBrace, Op::RBrace);
        self.doubt(from);
        reported
    }

    /// The type of a variable or of a field of a message.
    fn type_name(&mut self) -> Parsed<TypeName> {
        let ty = match self.peek().clone() {
            Tok::Key(Key::Bit | Key::Bool) => TypeName::Bit,
            Tok::Key(Key::Byte | Key::Pid) => TypeName::Byte,
            Tok::Key(Key::Short) => TypeName::Short,
            Tok::Key(Key::Int) => TypeName::Int,
            Tok::Key(Key::Unsigned) => TypeName::Unsigned,
            Tok::Key(Key::Chan) => TypeName::Chan,
            Tok::Key(Key::Mtype) => {
                self.advance();
                let set = if self.eat_op(Op::Colon) { Some(self.expect_name("the name of a set of messages")?) } else { None };
                return Ok(TypeName::Mtype(set));
            }
            Tok::Name(text) => {
                let span = self.advance();
                return Ok(TypeName::User(Ident { text, span }));
            }
            found => {
                let hint = "the types are `bit`, `bool`, `byte`, `short`, `int`, `unsigned`, `mtype`, `chan` and those of a `typedef`";
                return Err(self.report(Diagnostic::error(self.span(), format!("expected a type, found {found}")).with_hint(hint)));
            }
        };
        self.advance();
        Ok(ty)
    }

    fn variable(&mut self) -> Parsed<Variable> {
        let from = self.at;
        let name = self.expect_name("the name of a variable")?;
        let width = if self.eat_op(Op::Colon) { Some(self.primary()?) } else { None };
        let length = if self.eat_op(Op::LBracket) {
            let length = self.expression()?;
            self.expect_op(Op::RBracket, "after the length of the array")?;
            Some(length)
        } else {
            None
        };
        while self.is_op(Op::LBracket) {
            self.report(Diagnostic::error(self.span(), "an array has one length").with_hint(super::foreign::TWO_DIMENSIONS));
            self.skip_brackets(Op::LBracket, Op::RBracket);
        }
        let initial = if self.eat_op(Op::Assign) { Some(self.initial()?) } else { None };
        let span = self.text_from(from);
        Ok(Variable { name, width, length, initial, span })
    }

    fn initial(&mut self) -> Parsed<Initial> {
        if self.eat_op(Op::LBracket) {
            let capacity = self.expression()?;
            self.expect_op(Op::RBracket, "after the channel's capacity")?;
            if !self.eat_key(Key::Of) {
                let message = format!("expected `of` after the channel's capacity, found {}", self.peek());
                let hint = "the types of a message follow: `chan c = [2] of { byte, bool }`";
                return Err(self.report(Diagnostic::error(self.span(), message).with_hint(hint)));
            }
            if !self.is_op(Op::LBrace) {
                let message = format!("expected `{{` before the message's types, found {}", self.peek());
                let diagnostic = Diagnostic::error(self.span(), message).with_hint("write the types in braces: `of { byte, bool }`");
                return Err(self.report(diagnostic));
            }
            let open = self.advance();
            let mut fields = Vec::new();
            loop {
                let start = self.span();
                let ty = self.type_name()?;
                fields.push((ty, start.to(self.last_span())));
                if !self.eat_op(Op::Comma) && !self.eat_op(Op::Semi) {
                    break;
                }
            }
            while *self.peek() == Tok::ImpliedSemi {
                self.advance();
            }
            self.close_brace(open)?;
            return Ok(Initial::Channel { capacity, fields });
        }
        if self.is_op(Op::LBrace) {
            let open = self.advance();
            let mut values = vec![self.expression()?];
            while self.eat_op(Op::Comma) {
                values.push(self.expression()?);
            }
            while *self.peek() == Tok::ImpliedSemi {
                self.advance();
            }
            self.close_brace(open)?;
            return Ok(Initial::List(values));
        }
        Ok(Initial::Value(self.expression()?))
    }
}
