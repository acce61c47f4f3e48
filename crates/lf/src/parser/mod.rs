//! Parses tokens into a syntax tree, and continues after errors.
//!
//! The parser is a recursive descent. After an error in a statement it continues at the next `;` or
//! word that begins or ends statements; after an error in a declaration, at the next word that
//! begins a declaration. So one run finds the errors of a whole module.

mod expressions;
mod statements;

use crate::ast::{Declaration, Module, Name, Process, Qualified, TypeTree};
use crate::foreign;
use crate::lexer::Token;
use crate::limits::{MAX_DEPTH, MAX_DIAGNOSTICS};
use source::{Diagnostic, Span};

/// An error has been reported; the caller continues if it can.
pub(crate) struct Failed;

type Parsed<T> = Result<T, Failed>;

pub(crate) struct Parser<'a> {
    tokens: &'a [(Token, Span)],
    at: usize,
    depth: usize,
    /// Whether an `OR` outside parentheses ends a block of `CHOICE`.
    or_ends: bool,
    /// The module and the processes around, the innermost last.
    open: Vec<String>,
    diagnostics: &'a mut Vec<Diagnostic>,
}

/// Reads a module. After errors, the tree contains the parts that could be read.
pub fn module(tokens: &[(Token, Span)], diagnostics: &mut Vec<Diagnostic>) -> Option<Module> {
    let mut parser = Parser { tokens, at: 0, depth: 0, or_ends: false, open: Vec::new(), diagnostics };
    parser.module().ok()
}

/// Reads a single expression, up to the end of the tokens.
pub fn expression(tokens: &[(Token, Span)], diagnostics: &mut Vec<Diagnostic>) -> Option<crate::ast::Expression> {
    let mut parser = Parser { tokens, at: 0, depth: 0, or_ends: false, open: Vec::new(), diagnostics };
    let expression = parser.expression().ok()?;
    if *parser.peek() != Token::End {
        parser.expected::<()>("the end of the expression").ok();
    }
    Some(expression)
}

/// Reads a comma-separated list of expressions, up to the end of the tokens.
pub fn expressions(tokens: &[(Token, Span)], diagnostics: &mut Vec<Diagnostic>) -> Vec<crate::ast::Expression> {
    let mut parser = Parser { tokens, at: 0, depth: 0, or_ends: false, open: Vec::new(), diagnostics };
    let mut all = Vec::new();
    while let Ok(expression) = parser.expression() {
        all.push(expression);
        if !parser.take(",") {
            break;
        }
    }
    if *parser.peek() != Token::End {
        parser.expected::<()>("a comma or the end").ok();
    }
    all
}

/// The head of a process after its name.
#[derive(Default)]
struct Head {
    parameters: Vec<(bool, Name, TypeTree)>,
    period: Option<crate::ast::Expression>,
    deadline: Option<crate::ast::Expression>,
}

/// The name of a token in messages.
fn describe(token: &Token) -> String {
    match token {
        Token::Name(name) => format!("`{name}`"),
        Token::Sign(sign) => format!("`{sign}`"),
        Token::Number(n) => format!("`{n}`"),
        Token::Char(_) => "a character".to_owned(),
        Token::Text(_) => "a text".to_owned(),
        Token::End => "the end of the file".to_owned(),
    }
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(token, _)| token)
    }

    fn ahead(&self, by: usize) -> &Token {
        self.tokens.get(self.at + by).map_or(&Token::End, |(token, _)| token)
    }

    fn span(&self) -> Span {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(Span::default(), |(_, span)| *span)
    }

    fn last_span(&self) -> Span {
        self.tokens.get(self.at.saturating_sub(1)).map_or(Span::default(), |(_, span)| *span)
    }

    fn advance(&mut self) {
        if *self.peek() != Token::End {
            self.at += 1;
        }
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(s) if *s == sign)
    }

    fn is_any(&self, signs: &[&str]) -> bool {
        matches!(self.peek(), Token::Sign(s) if signs.contains(s))
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = self.is(sign);
        if found {
            self.advance();
        }
        found
    }

    fn error<T>(&mut self, span: Span, message: String, hint: Option<&str>) -> Parsed<T> {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(Diagnostic::error(span, message).with_hint_opt(hint.map(str::to_owned)));
        }
        Err(Failed)
    }

    fn expected<T>(&mut self, what: &str) -> Parsed<T> {
        let message = format!("expected {what}, found {}", describe(self.peek()));
        let advice = self.advice();
        self.error(self.span(), message, advice.as_deref())
    }

    /// The advice about the next token, if it is a word of another language.
    fn advice(&self) -> Option<String> {
        if let Token::Name(name) = self.peek() { foreign::advice(name) } else { None }
    }

    fn expect(&mut self, sign: &'static str) -> Parsed<Span> {
        let span = self.span();
        if self.take(sign) { Ok(span) } else { self.expected(&format!("`{sign}`")) }
    }

    fn name(&mut self, what: &str) -> Parsed<Name> {
        let span = self.span();
        match self.peek() {
            Token::Name(text) => {
                let text = text.clone();
                self.advance();
                Ok(Name { text, span })
            }
            Token::Sign(word) if word.chars().all(char::is_alphabetic) => {
                let message = format!("expected {what}, found the reserved word `{word}`");
                self.error(span, message, Some("reserved words in capitals cannot be names"))
            }
            _ => self.expected(what),
        }
    }

    fn exported(&mut self) -> bool {
        self.take("*")
    }

    fn qualified(&mut self, what: &str) -> Parsed<Qualified> {
        let first = self.name(what)?;
        if self.is(".") && matches!(self.ahead(1), Token::Name(_)) {
            self.advance();
            let name = self.name(what)?;
            return Ok(Qualified { module: Some(first), name });
        }
        Ok(Qualified { module: None, name: first })
    }

    /// Limits the nesting.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            let span = self.span();
            return self.error(span, format!("more than {MAX_DEPTH} levels are nested here"), Some("name a part of it"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn module(&mut self) -> Parsed<Module> {
        self.expect("MODULE")?;
        let name = self.name("the name of the module")?;
        self.open.push(name.text.clone());
        self.separator();
        let mut imports = Vec::new();
        if self.take("IMPORT") {
            while let Ok(name) = self.name("the name of a module") {
                imports.push(name);
                if !self.take(",") {
                    break;
                }
            }
            self.separator();
        }
        let declarations = self.declarations();
        let begin = self.is("BEGIN").then(|| self.span());
        let body = if self.take("BEGIN") { self.statements() } else { Vec::new() };
        let end = self.end_of(&name, ".");
        if *self.peek() != Token::End && self.diagnostics.is_empty() {
            let hint = "each module is in a file of its own";
            let _: Parsed<()> = self.error(self.span(), format!("the module `{}` has ended before this", name.text), Some(hint));
        }
        Ok(Module { name, imports, declarations, body, end, begin })
    }

    /// A `;` that is required here; parsing continues in any case.
    fn separator(&mut self) {
        if !self.take(";") {
            let after = self.last_span().after();
            let _: Parsed<()> = self.error(after, "a `;` is missing here".to_owned(), None);
        }
    }

    /// `END name` and the sign after it.
    fn end_of(&mut self, name: &Name, sign: &'static str) -> Span {
        let end = self.span();
        self.open.pop();
        if self.expect("END").is_err() {
            while !self.is_any(&["END", "PROCESS", "PROPERTY"]) && *self.peek() != Token::End {
                self.advance();
            }
            self.take("END");
        }
        match self.peek() {
            Token::Name(found) if *found == name.text => self.advance(),
            Token::Name(_) => {
                let (span, message) = (self.span(), format!("the end of `{}` has another name", name.text));
                self.advance();
                if self.diagnostics.len() < MAX_DIAGNOSTICS {
                    let hint = format!("write `END {}`", name.text);
                    self.diagnostics.push(Diagnostic::error(span, message).with_hint(hint).with_label(name.span, "it begins here"));
                }
            }
            _ => {
                let _: Parsed<()> =
                    self.error(end, format!("`{}` has no name after its END", name.text), Some("write the name after `END`"));
            }
        }
        if !self.take(sign) {
            let after = self.last_span().after();
            let _: Parsed<()> = self.error(after, format!("a `{sign}` is missing here"), None);
        }
        end
    }

    fn declarations(&mut self) -> Vec<Declaration> {
        let mut all = Vec::new();
        loop {
            let start = self.at;
            let Token::Sign(word) = *self.peek() else {
                if *self.peek() == Token::End {
                    return all;
                }
                self.stray();
                continue;
            };
            match word {
                "CONST" | "TYPE" | "VAR" | "PORT" => {
                    self.advance();
                    while matches!(self.peek(), Token::Name(_)) {
                        let read = match word {
                            "CONST" => self.constant(),
                            "TYPE" => self.type_declaration(),
                            _ => self.variables(),
                        };
                        match read {
                            Ok(declaration) => all.push(declaration),
                            Err(Failed) => self.skip_declaration(),
                        }
                    }
                }
                "PROCESS" | "PROPERTY" => {
                    self.advance();
                    match self.nested(|p| p.process(word == "PROPERTY")) {
                        Ok(process) if word == "PROPERTY" => all.push(Declaration::Property(process)),
                        Ok(process) => all.push(Declaration::Process(process)),
                        Err(Failed) => self.skip_declaration(),
                    }
                }
                "BEGIN" | "END" => return all,
                _ => self.stray(),
            }
            if self.at == start {
                self.advance();
            }
        }
    }

    fn stray(&mut self) {
        let _: Parsed<()> = self.expected("a declaration, `BEGIN` or `END`");
        self.skip_declaration();
    }

    fn skip_declaration(&mut self) {
        while !self.is_any(&["CONST", "TYPE", "VAR", "PORT", "PROCESS", "PROPERTY", "BEGIN", "END"]) && *self.peek() != Token::End {
            if self.take(";") && matches!(self.peek(), Token::Name(_)) {
                return;
            }
            if !self.is_any(&["CONST", "TYPE", "VAR", "PORT", "PROCESS", "PROPERTY", "BEGIN", "END"]) {
                self.advance();
            }
        }
    }

    fn constant(&mut self) -> Parsed<Declaration> {
        let name = self.name("the name of a constant")?;
        let exported = self.exported();
        self.expect("=")?;
        let value = self.expression()?;
        self.separator();
        Ok(Declaration::Constant(name, exported, value))
    }

    fn type_declaration(&mut self) -> Parsed<Declaration> {
        let name = self.name("the name of a type")?;
        let exported = self.exported();
        self.expect("=")?;
        let tree = self.type_tree()?;
        self.separator();
        Ok(Declaration::Type(name, exported, tree))
    }

    fn variables(&mut self) -> Parsed<Declaration> {
        let mut names = Vec::new();
        loop {
            let name = self.name("the name of a variable")?;
            names.push((name, self.exported()));
            if !self.take(",") {
                break;
            }
        }
        let address = if self.take("AT") { Some(self.expression()?) } else { None };
        self.expect(":")?;
        let tree = self.type_tree()?;
        self.separator();
        Ok(Declaration::Variables(names, tree, address))
    }

    fn process(&mut self, property: bool) -> Parsed<Process> {
        let name = self.name("the name of the process")?;
        self.open.push(name.text.clone());
        let exported = self.exported();
        let mut head = Head::default();
        // After an error in the head the rest of the process is read as usual.
        if self.head(property, &mut head).is_ok() {
            self.separator();
        } else {
            while !self.is_any(&["CONST", "TYPE", "VAR", "PORT", "PROCESS", "PROPERTY", "BEGIN", "END"]) && *self.peek() != Token::End {
                self.advance();
            }
        }
        let declarations = self.declarations();
        let body = if self.take("BEGIN") { self.statements() } else { Vec::new() };
        let end = self.end_of(&name, ";");
        let Head { parameters, period, deadline } = head;
        Ok(Process { name, exported, parameters, period, deadline, declarations, body, end })
    }

    /// The head of a process after its name.
    fn head(&mut self, property: bool, head: &mut Head) -> Parsed<()> {
        let Head { parameters, period, deadline } = head;
        if self.is("(") {
            let open = self.span();
            self.advance();
            while !self.is(")") {
                let reference = self.take("VAR");
                let mut names = vec![self.name("the name of a parameter")?];
                while self.take(",") {
                    names.push(self.name("the name of a parameter")?);
                }
                self.expect(":")?;
                let tree = self.type_tree()?;
                parameters.extend(names.into_iter().map(|name| (reference, name, tree.clone())));
                if !self.take(";") {
                    break;
                }
            }
            self.expect(")")?;
            if property && !parameters.is_empty() {
                let _: Parsed<()> = self.error(open, "a property has no parameters".to_owned(), None);
            }
        }
        // These words are not reserved, because nothing else occurs between the head and its `;`.
        while let Token::Name(word) = self.peek() {
            let timing = match word.as_ref() {
                "PERIOD" => &mut *period,
                "DEADLINE" => &mut *deadline,
                _ => break,
            };
            let span = self.span();
            self.advance();
            let value = self.expression()?;
            if timing.replace(value).is_some() || property {
                let _: Parsed<()> = self.error(span, "a process has one period and one deadline, and a property has none".to_owned(), None);
            }
        }
        Ok(())
    }

    fn type_tree(&mut self) -> Parsed<TypeTree> {
        self.nested(Self::type_tree_inside)
    }

    fn type_tree_inside(&mut self) -> Parsed<TypeTree> {
        let start = self.span();
        if self.take("ARRAY") {
            let mut lengths = vec![self.expression()?];
            while self.take(",") {
                lengths.push(self.expression()?);
            }
            self.expect("OF")?;
            let element = self.type_tree()?;
            return Ok(TypeTree::Array(lengths, Box::new(element), start.to(self.last_span())));
        }
        if self.take("RECORD") {
            let mut fields = Vec::new();
            while matches!(self.peek(), Token::Name(_)) {
                let mut names = vec![self.name("the name of a field")?];
                while self.take(",") {
                    names.push(self.name("the name of a field")?);
                }
                self.expect(":")?;
                let tree = self.type_tree()?;
                fields.extend(names.into_iter().map(|name| (name, tree.clone())));
                if !self.take(";") {
                    break;
                }
            }
            self.expect("END")?;
            return Ok(TypeTree::Record(fields, start.to(self.last_span())));
        }
        if self.take("[") {
            let mut messages = Vec::new();
            loop {
                let name = self.name("the name of a message")?;
                let mut values = Vec::new();
                if self.take("(") {
                    loop {
                        values.push(self.type_tree()?);
                        if !self.take(",") {
                            break;
                        }
                    }
                    self.expect(")")?;
                }
                messages.push((name, values));
                if !self.take(",") {
                    break;
                }
            }
            self.expect("]")?;
            return Ok(TypeTree::Channel(messages, start.to(self.last_span())));
        }
        Ok(TypeTree::Named(self.qualified("a type")?))
    }
}
