//! From tokens to the syntax tree.
//!
//! The parser is a recursive descent with a limited depth. After a mistake it skips the text up to
//! the next point where a statement or a unit can begin and continues, so one run shows several
//! mistakes. Inlines are expanded here, token by token, as in SPIN: their arguments are text, not
//! values.

mod declaration;
mod embedded;
mod expression;
pub(crate) mod foreign;
mod formula;
mod inline;
mod statement;
mod wrong;

use crate::ast::{Automaton, AutomatonKind, Ident, Model, Proctype, Unit};
use crate::limits::{MAX_DIAGNOSTICS, MAX_STATEMENTS};
use crate::token::{Key, Op, Text, Tok, Token};
use inline::InlineDefinition;
use source::{Diagnostic, Expansions, FileId, Places, Span, did_you_mean};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The result of parsing.
pub struct Reading {
    /// The model, as far as it could be read.
    pub model: Model,
    /// The errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// Names in text that could not be read; declarations of them may be missing in the model.
    pub doubtful: HashSet<Text>,
    /// The texts of statements that were produced by expansion.
    pub expansions: Expansions,
}

/// Reads the model in these tokens. `file` is the number that the texts made by expansion will have
/// as a file.
pub fn parse(tokens: Vec<Token>, end: Span, file: FileId) -> Reading {
    let names = Names::collect(&tokens);
    let mut parser = Parser {
        tokens,
        texts: Vec::new(),
        at: 0,
        end,
        names,
        diagnostics: Vec::new(),
        statement_depth: 0,
        expression_depth: 0,
        statements: 0,
        inlines: Vec::new(),
        inline_tokens: 0,
        inline_ended: false,
        claims: 0,
        formulas: 0,
        doubtful: HashSet::new(),
        expansions: Expansions::default(),
        expansion_file: file,
    };
    parser.find_inlines();
    let model = parser.model();
    Reading { model, diagnostics: parser.diagnostics, doubtful: parser.doubtful, expansions: parser.expansions }
}

/// Names that change how the text around them is parsed, wherever they are defined.
#[derive(Default)]
struct Names {
    proctypes: HashSet<Text>,
    typedefs: HashSet<Text>,
    inlines: HashMap<Text, Rc<InlineDefinition>>,
}

impl Names {
    fn collect(tokens: &[Token]) -> Names {
        let mut names = Names::default();
        for pair in tokens.windows(2) {
            if let (Tok::Key(key), Tok::Name(name)) = (&pair[0].kind, &pair[1].kind) {
                match key {
                    Key::Proctype | Key::DProctype => drop(names.proctypes.insert(name.clone())),
                    Key::Typedef => drop(names.typedefs.insert(name.clone())),
                    _ => {}
                }
            }
        }
        names
    }
}

/// The state of the parser: the position, and the errors found so far.
struct Parser {
    tokens: Vec<Token>,
    /// Inside an inline: the position of each token in the definition. A token of an argument has
    /// its own position in the call, and here that of the parameter.
    texts: Vec<Span>,
    at: usize,
    /// The end of the text, for messages.
    end: Span,
    names: Names,
    diagnostics: Vec<Diagnostic>,
    statement_depth: usize,
    expression_depth: usize,
    statements: usize,
    /// The inlines being expanded, outermost first.
    inlines: Vec<inline::Call>,
    inline_tokens: usize,
    /// Whether the statement read last was a call of an inline, which needs no separator.
    inline_ended: bool,
    claims: usize,
    formulas: usize,
    /// Names in skipped text, which may have been declared there.
    doubtful: HashSet<Text>,
    /// Statements produced by expansion, and the number that their file will have.
    expansions: Expansions,
    expansion_file: FileId,
}

/// The bytes of a statement that are kept; less is shown anyway.
const MAX_STATEMENT_TEXT: usize = 1000;

/// Tokens as the user would write them.
fn spelled(tokens: &[Token]) -> String {
    let mut text = String::new();
    for (i, token) in tokens.iter().enumerate() {
        if i > 0 && (token.blank || token.newline) {
            text.push(' ');
        }
        text.push_str(&token.kind.spelling());
        if text.len() > MAX_STATEMENT_TEXT {
            break;
        }
    }
    text
}

/// An error that has been reported; the caller decides where to continue.
#[derive(Clone, Copy, Debug)]
struct Reported;

type Parsed<T> = Result<T, Reported>;

impl Parser {
    // --- Reading tokens
    // ---------------------------------------------------------------------------

    fn peek(&self) -> &Tok {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> &Tok {
        self.tokens.get(self.at + ahead).map_or(&Tok::End, |t| &t.kind)
    }

    fn span(&self) -> Span {
        self.tokens.get(self.at).map_or(self.end, |t| t.span)
    }

    /// The position of the token read last.
    fn last_span(&self) -> Span {
        self.at.checked_sub(1).and_then(|i| self.tokens.get(i)).map_or(self.end, |t| t.span)
    }

    /// The user's text from token `from` up to the current one.
    fn written_from(&self, from: usize) -> Span {
        let at = |i: usize| self.texts.get(i).copied().or_else(|| self.tokens.get(i).map(|t| t.span));
        let (first, last) = (at(from), self.at.checked_sub(1).and_then(at));
        first.zip(last).map_or(self.end, |(first, last)| first.to(last))
    }

    /// The text of the statement that began at token `from` and has just been read. If it came out
    /// of an inline, or out of a macro that expands to more than this statement, it is the expanded
    /// text, so that traces show actual names.
    fn text_from(&mut self, from: usize) -> Span {
        let written = self.written_from(from);
        let Some(tokens) = self.tokens.get(from..self.at).filter(|tokens| !tokens.is_empty()) else { return written };
        let (used, origin) = match self.inlines.first() {
            Some(call) => (call.span, written),
            None => {
                let site = tokens[0].span;
                let is_here = |token: &Token| token.span == site && token.written != site;
                let beside = |i: Option<usize>| i.and_then(|i| self.tokens.get(i)).is_some_and(is_here);
                let whole = tokens.iter().all(|token| token.span == site) && tokens.iter().any(is_here);
                if !whole || !(beside(from.checked_sub(1)) || beside(Some(self.at))) {
                    return written;
                }
                let own = tokens.iter().find(|t| t.written.file != site.file || t.written.start < site.start || t.written.end > site.end);
                (site, own.map_or(site, |token| token.written))
            }
        };
        let text = spelled(tokens);
        self.expansions.add(self.expansion_file, &text, Places { shown: written, used, origin })
    }

    /// A text for a step that has none of its own: it is part of the statement `whole`.
    fn made_text(&mut self, whole: Span, text: &str) -> Span {
        let made = if whole.file == self.expansion_file { self.expansions.places(whole) } else { None };
        let places = made.unwrap_or(Places { shown: whole, used: whole, origin: whole });
        self.expansions.add(self.expansion_file, text, places)
    }

    fn advance(&mut self) -> Span {
        let span = self.span();
        self.at = (self.at + 1).min(self.tokens.len());
        span
    }

    fn is_op(&self, op: Op) -> bool {
        *self.peek() == Tok::Op(op)
    }

    fn is_key(&self, key: Key) -> bool {
        *self.peek() == Tok::Key(key)
    }

    fn eat_op(&mut self, op: Op) -> bool {
        let found = self.is_op(op);
        if found {
            self.advance();
        }
        found
    }

    fn eat_key(&mut self, key: Key) -> bool {
        let found = self.is_key(key);
        if found {
            self.advance();
        }
        found
    }

    fn expect_op(&mut self, op: Op, what: &str) -> Parsed<Span> {
        if self.is_op(op) {
            return Ok(self.advance());
        }
        let message = format!("expected `{}` {what}, found {}", op.text(), self.peek());
        let hint = match op {
            Op::RParen if self.is_op(Op::Assign) => "`==` compares".to_owned(),
            Op::RParen if what == "after the arguments" => "`,` separates arguments, `)` ends them".to_owned(),
            Op::LBrace => foreign::hint_for_brace(what).to_owned(),
            _ => format!("write `{}` before {}", op.text(), self.peek()),
        };
        let diagnostic = Diagnostic::error(self.span(), message).with_hint(hint);
        Err(self.report(diagnostic))
    }

    fn expect_name(&mut self, what: &str) -> Parsed<Ident> {
        if let Tok::Name(text) = self.peek() {
            let text = text.clone();
            return Ok(Ident { text, span: self.advance() });
        }
        if let Some(reported) = self.bad_token() {
            return Err(reported);
        }
        let message = format!("expected {what}, found {}", self.peek());
        let hint = match self.peek() {
            Tok::Key(key) => format!("`{}` is a word of the language", key.text()),
            _ => "names consist of letters, digits and `_`, and do not begin with a digit".to_owned(),
        };
        let diagnostic = Diagnostic::error(self.span(), message).with_hint(hint);
        // A word on the same line was meant as the name.
        if matches!(self.peek(), Tok::Key(_)) && self.tokens.get(self.at).is_some_and(|token| !token.newline) {
            self.advance();
        }
        Err(self.report(diagnostic))
    }

    fn at_separator(&self) -> bool {
        matches!(self.peek(), Tok::Op(Op::Semi | Op::Arrow) | Tok::ImpliedSemi)
    }

    fn skip_separators(&mut self) {
        while self.at_separator() {
            self.advance();
        }
    }

    // --- Reporting
    // --------------------------------------------------------------------------------

    fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        if self.diagnostics.len() <= MAX_DIAGNOSTICS {
            let diagnostic = self.with_expansion(diagnostic);
            self.diagnostics.push(diagnostic);
        }
        Reported
    }

    fn error(&mut self, span: Span, message: impl Into<String>) -> Reported {
        self.report(Diagnostic::error(span, message))
    }

    fn count_statement(&mut self) -> Parsed<()> {
        self.statements += 1;
        if self.statements <= MAX_STATEMENTS {
            return Ok(());
        }
        let at = self.span();
        self.at = self.tokens.len();
        Err(self.report(
            Diagnostic::error(at, "the model has too many statements")
                .with_hint("an inline is copied to each place where it is called: use fewer of them, or a process"),
        ))
    }

    // --- Units
    // ------------------------------------------------------------------------------------

    fn model(&mut self) -> Model {
        let mut model = Model::default();
        loop {
            self.skip_separators();
            if *self.peek() == Tok::End {
                return model;
            }
            let before = self.at;
            if self.unit(&mut model).is_err() {
                self.skip_to_unit(before);
                self.doubt(before);
            }
        }
    }

    /// Marks all names between this token and the current one as possibly declared there.
    fn doubt(&mut self, from: usize) {
        for token in self.tokens.get(from..self.at).unwrap_or_default() {
            if let Tok::Name(name) = &token.kind {
                self.doubtful.insert(name.clone());
            }
        }
    }

    /// Skips a block without reading it.
    fn skip_doubtful_block(&mut self) {
        let from = self.at;
        self.skip_brackets(Op::LBrace, Op::RBrace);
        self.doubt(from);
    }

    /// Skips to a word that begins a unit, past blocks.
    fn skip_to_unit(&mut self, before: usize) {
        if self.at == before {
            self.advance();
        }
        let mut braces = 0usize;
        loop {
            match self.peek() {
                Tok::End => return,
                Tok::Op(Op::LBrace) => braces += 1,
                Tok::Op(Op::RBrace) => {
                    braces = braces.saturating_sub(1);
                    if braces == 0 {
                        self.advance();
                        return;
                    }
                }
                Tok::Key(Key::Proctype | Key::DProctype | Key::Active | Key::Never | Key::Typedef | Key::Inline) => return,
                Tok::Key(Key::Init | Key::Ltl) if braces == 0 => return,
                _ => {}
            }
            self.advance();
        }
    }

    fn unit(&mut self, model: &mut Model) -> Parsed<()> {
        match self.peek().clone() {
            Tok::Key(Key::Active | Key::Proctype | Key::DProctype) => {
                let proctype = self.proctype()?;
                model.units.push(Unit::Proctype(Box::new(proctype)));
            }
            Tok::Key(Key::Init) => {
                let init = self.init()?;
                model.units.push(Unit::Proctype(Box::new(init)));
            }
            Tok::Key(Key::Never | Key::Trace | Key::Notrace) => {
                let automaton = self.automaton()?;
                model.units.push(Unit::Automaton(automaton));
            }
            Tok::Key(Key::Ltl) if matches!(self.peek_at(1), Tok::Op(Op::Assign)) => {
                let values = self.values()?;
                model.units.push(Unit::Values(values));
            }
            Tok::Key(Key::Ltl) => {
                let ltl = self.ltl()?;
                model.units.push(Unit::Ltl(ltl));
            }
            Tok::Key(Key::Typedef) => {
                let typedef = self.typedef()?;
                model.units.push(Unit::Typedef(typedef));
            }
            Tok::Key(Key::Inline) => self.skip_inline_definition(),
            Tok::Key(Key::CCode | Key::CDecl | Key::CExpr | Key::CState | Key::CTrack) => {
                let embedded = self.embedded_unit()?;
                model.units.push(Unit::Embedded(embedded));
            }
            Tok::Key(Key::Mtype) if self.at_mtype_set() => {
                let set = self.mtype_set()?;
                model.units.push(Unit::Mtype(set));
            }
            _ if self.at_declaration() => {
                let declaration = self.declaration()?;
                self.end_of_declaration();
                model.units.push(Unit::Declaration(declaration));
            }
            found => return Err(self.unknown_unit(&found)),
        }
        Ok(())
    }

    /// A `;` is customary after a declaration between units. If it is missing, a warning is
    /// reported and parsing continues.
    fn end_of_declaration(&mut self) {
        let next_line = self.tokens.get(self.at).is_none_or(|t| t.newline);
        if self.is_op(Op::LParen) {
            let name = self.previous().cloned();
            self.function_of_c(name.as_ref());
        } else if !self.at_separator() && !next_line {
            let message = format!("expected `;` after the declaration, found {}", self.peek());
            let at = self.last_span().after();
            if *self.peek() != Tok::Key(Key::Of) {
                let hint = "`;` separates declarations, `,` separates the names of one type";
                self.report(Diagnostic::error(at, message).with_hint(hint));
                return;
            }
            // `chan c = 2 of { byte }`
            let hint = "the number of messages is in brackets: `chan c = [2] of { byte }`";
            self.report(Diagnostic::error(self.span(), message).with_hint(hint));
            self.advance();
            if self.is_op(Op::LBrace) {
                self.skip_brackets(Op::LBrace, Op::RBrace);
            }
        }
    }

    fn unknown_unit(&mut self, found: &Tok) -> Reported {
        if let Some(reported) = self.bad_token() {
            return reported;
        }
        let mut diagnostic = Diagnostic::error(self.span(), format!("{found} is not allowed outside a process"))
            .with_hint("a model consists of declarations, `proctype`, `init`, `ltl` and `never`; statements stand inside of processes");
        if let Tok::Name(name) = found {
            let words = [
                "proctype",
                "active",
                "init",
                "never",
                "ltl",
                "typedef",
                "inline",
                "mtype",
                "chan",
                "byte",
                "bool",
                "bit",
                "short",
                "int",
                "unsigned",
                "pid",
                "hidden",
                "local",
                "show",
                "trace",
                "notrace",
                "D_proctype",
            ];
            let types = self.names.typedefs.iter().map(|t| &**t);
            let hint = foreign::hint_for_word(name).map(str::to_owned);
            let hint = hint.or_else(|| did_you_mean(name, words.into_iter().chain(types)));
            diagnostic.message = format!("`{name}` does not begin a declaration");
            let declares = matches!(self.peek_at(1), Tok::Name(_));
            let defined = || format!("a type of your own is defined before it is used: `typedef {name} {{ byte a; byte b }}`");
            diagnostic = diagnostic.with_hint_opt(hint.or_else(|| declares.then(defined)));
        } else if matches!(found, Tok::Op(Op::RBrace)) {
            diagnostic = diagnostic.with_hint("there is one `}` too many before this place");
        }
        self.report(diagnostic)
    }

    fn proctype(&mut self) -> Parsed<Proctype> {
        let mut active = None;
        if self.is_key(Key::Active) {
            let span = self.advance();
            let mut count = crate::ast::Expr { kind: crate::ast::ExprKind::Number(1), span };
            if self.eat_op(Op::LBracket) {
                count = self.expression()?;
                self.expect_op(Op::RBracket, "after the number of processes")?;
            }
            active = Some(count);
        }
        let deterministic = self.is_key(Key::DProctype);
        if !deterministic && !self.is_key(Key::Proctype) {
            let message = format!("expected `proctype` after `active`, found {}", self.peek());
            let hint = match self.peek() {
                Tok::Name(word) => {
                    foreign::hint_for_word(word).map(str::to_owned).or_else(|| did_you_mean(word, ["proctype", "D_proctype"]))
                }
                _ => None,
            };
            let usual = "write `active proctype Name() { … }`, or `active [3] proctype Name() { … }` for three processes";
            let reported = self.report(Diagnostic::error(self.span(), message).with_hint(hint.as_deref().unwrap_or(usual)));
            // The word was in the place of a name, so parsing continues after it.
            if hint.is_none() || !matches!(self.peek_at(1), Tok::Name(_)) {
                return Err(reported);
            }
        }
        self.advance();
        let name = self.expect_name("the name of the process type")?;
        if !self.is_op(Op::LParen) {
            let message = format!("expected `(` after the name of the process type, found {}", self.peek());
            let mut diagnostic = Diagnostic::error(self.span(), message);
            if self.is_op(Op::LBrace) {
                diagnostic = diagnostic.with_hint("write `()` if there are no parameters").with_fix(self.last_span().after(), "()");
            } else {
                diagnostic = diagnostic.with_hint(format!("write `proctype {}() {{ … }}`", name.text));
            }
            return Err(self.report(diagnostic));
        }
        self.advance();
        let parameters = self.parameters()?;
        self.expect_op(Op::RParen, "after the parameters")?;
        let (mut priority, mut provided) = (None, None);
        loop {
            if self.eat_key(Key::Priority) {
                priority = Some(self.primary()?);
            } else if self.eat_key(Key::Provided) {
                self.expect_op(Op::LParen, "after `provided`")?;
                provided = Some(self.expression()?);
                self.expect_op(Op::RParen, "after the condition of `provided`")?;
            } else {
                break;
            }
        }
        let (body, end) = self.body()?;
        Ok(Proctype { name, is_init: false, deterministic, active, parameters, priority, provided, body, end })
    }

    fn init(&mut self) -> Parsed<Proctype> {
        let span = self.advance();
        let one = crate::ast::Expr { kind: crate::ast::ExprKind::Number(1), span };
        // Some models write `init()`.
        if self.is_op(Op::LParen) && *self.peek_at(1) == Tok::Op(Op::RParen) {
            self.advance();
            self.advance();
        }
        let priority = if self.eat_key(Key::Priority) { Some(self.primary()?) } else { None };
        let (body, end) = self.body()?;
        Ok(Proctype {
            name: Ident { text: ":init:".into(), span },
            is_init: true,
            deterministic: false,
            active: Some(one),
            parameters: Vec::new(),
            priority,
            provided: None,
            body,
            end,
        })
    }

    fn automaton(&mut self) -> Parsed<Automaton> {
        let key = self.peek().clone();
        let span = self.advance();
        let (kind, default) = match key {
            Tok::Key(Key::Trace) => (AutomatonKind::Trace, ":trace:".to_owned()),
            Tok::Key(Key::Notrace) => (AutomatonKind::Notrace, ":notrace:".to_owned()),
            _ => {
                let name = format!("never_{}", self.claims);
                self.claims += 1;
                (AutomatonKind::Never, name)
            }
        };
        let name = match self.peek() {
            Tok::Name(_) if kind == AutomatonKind::Never => self.expect_name("a name")?,
            _ => Ident { text: default.into(), span },
        };
        let (body, end) = self.body()?;
        Ok(Automaton { kind, name, body, end })
    }

    /// `{ … }` of a process or a claim, and the position of its end.
    fn body(&mut self) -> Parsed<(Vec<crate::ast::Step>, Span)> {
        while *self.peek() == Tok::ImpliedSemi {
            self.advance();
        }
        let open = self.expect_op(Op::LBrace, "at the beginning of the body")?;
        let steps = self.sequence(open);
        let end = self.close_brace(open)?;
        Ok((steps, end))
    }

    /// The `}` that belongs to `open`.
    fn close_brace(&mut self, open: Span) -> Parsed<Span> {
        if self.is_op(Op::RBrace) {
            return Ok(self.advance());
        }
        let message = format!("expected `}}`, found {}", self.peek());
        // A text that is not closed has swallowed the brace, which was reported.
        if matches!(self.peek(), Tok::End)
            && self.tokens.iter().any(|token| matches!(&token.kind, Tok::Bad(reason) if reason.contains("closed")))
        {
            return Err(Reported);
        }
        let fix = self.last_span().after();
        let diagnostic = Diagnostic::error(self.span(), message).with_label(open, "to close this `{`").with_fix(fix, " }");
        let hint = match self.peek() {
            Tok::End => "write `}` where the block ends".to_owned(),
            Tok::Key(_) => format!("write `}}` before {}, or where the block ends", self.peek()),
            _ => "a block ends with `}`, and its statements are separated by `;`".to_owned(),
        };
        Err(self.report(diagnostic.with_hint(hint)))
    }

    /// Skips from an opening bracket past the one that closes it.
    fn skip_brackets(&mut self, open: Op, close: Op) {
        let mut depth = 0usize;
        loop {
            match self.peek() {
                Tok::End => return,
                Tok::Op(op) if *op == open => depth += 1,
                Tok::Op(op) if *op == close => depth -= 1,
                _ => {}
            }
            self.advance();
            if depth == 0 {
                return;
            }
        }
    }
}
