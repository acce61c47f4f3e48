//! Sequences and statements.

use super::wrong::hint_for_bad;
use super::{Parsed, Parser, Reported, spelled};
use crate::ast::{Binary, Expr, ExprKind, LoopParts, Range, Receive, Reference, Step, Stmt, StmtKind};
use crate::limits::MAX_STATEMENT_DEPTH;
use crate::token::{Key, Op, Tok};
use source::{Diagnostic, Span, did_you_mean};

/// The most values for which SPIN turns a `select` into one choice.
const SELECT_CHOICE: u32 = 32;

impl Parser {
    /// The steps up to a token that closes the sequence, which the caller reads.
    pub(super) fn sequence(&mut self, open: Span) -> Vec<Step> {
        let mut steps = Vec::new();
        loop {
            self.skip_separators();
            if self.at_end_of_sequence() {
                break;
            }
            let before = self.at;
            if self.count_statement().is_err() {
                break;
            }
            match self.step(&mut steps) {
                Ok(()) => self.between_steps(),
                Err(Reported) => {
                    self.skip_to_step(before);
                    self.doubt(before);
                    let span = self.last_span();
                    steps.push(Step::Statement(Stmt { kind: StmtKind::Error, span }));
                }
            }
        }
        let executable = |s: &Step| matches!(s, Step::Statement(_) | Step::Declaration(_));
        if !steps.iter().any(executable) && !matches!(self.peek(), Tok::End) {
            self.report(
                Diagnostic::error(open, "a sequence needs at least one statement").with_hint("write `skip` if nothing is to be done"),
            );
        }
        // Most sequences are short, but nested inlines can make very many of them.
        steps.shrink_to_fit();
        steps
    }

    fn at_end_of_sequence(&self) -> bool {
        matches!(self.peek(), Tok::End | Tok::Op(Op::RBrace | Op::Sep) | Tok::Key(Key::Od | Key::Fi)) || self.at_word_of_unit()
    }

    /// Whether this word begins a unit, which cannot occur inside a process. Inside a process it
    /// shows that something before it is not closed.
    fn at_word_of_unit(&self) -> bool {
        matches!(self.peek(), Tok::Key(Key::Active | Key::Proctype | Key::DProctype | Key::Init | Key::Never | Key::Inline | Key::Ltl))
    }

    /// After a step there is a separator or the end; after `}` and `else` nothing is needed.
    fn between_steps(&mut self) {
        if self.at_separator() || self.at_end_of_sequence() {
            return;
        }
        let last = self.at.checked_sub(1).and_then(|i| self.tokens.get(i)).map(|t| &t.kind);
        let optional = matches!(last, Some(Tok::Op(Op::RBrace) | Tok::Key(Key::Else | Key::Od | Key::Fi)));
        let inline_end = last == Some(&Tok::Op(Op::RParen)) && self.inline_ended;
        if optional || inline_end {
            return;
        }
        let mut message = format!("expected `;` or `->` before {}", self.peek());
        let (mut hint, mut missing) = (None, self.could_begin_step());
        match self.peek() {
            Tok::Op(Op::Assign) => {
                message = "only a variable can be assigned to".to_owned();
                hint = Some("`==` compares".to_owned());
            }
            Tok::Bad(reason) => {
                message = format!("this is {reason}");
                hint = hint_for_bad(reason).map(str::to_owned);
            }
            Tok::Hash(_) => message = "`#` must be the first character of its line".to_owned(),
            _ => {}
        }
        let hint = hint.or_else(|| self.hint_after_statement());
        missing &= hint.is_none() && self.inlines.is_empty();
        let mut diagnostic = Diagnostic::error(self.span(), message).with_hint_opt(hint);
        if missing && self.is_op(Op::LBrace) {
            diagnostic =
                diagnostic.with_hint("`->` separates a condition from the statements after it").with_fix(self.last_span().after(), " ->");
        } else if missing {
            diagnostic = diagnostic.with_hint("put `;` between two statements").with_fix(self.last_span().after(), ";");
        } else if diagnostic.hint.is_none() && self.is_op(Op::Comma) {
            diagnostic = diagnostic.with_hint("`;` separates statements").with_fix(self.span(), ";");
        } else if diagnostic.hint.is_none() {
            diagnostic = diagnostic.with_hint("a statement could end here: `;` or `->` separates it from the next one");
        }
        self.report(diagnostic);
        let from = self.at;
        if !self.could_begin_step() || self.at_foreign_word() {
            self.skip_to_step(from);
        }
        self.doubt(from.saturating_sub(1));
    }

    fn could_begin_step(&self) -> bool {
        !matches!(self.peek(), Tok::Op(_) | Tok::Bad(_) | Tok::Hash(_) | Tok::Number(_) | Tok::Str(_)) || self.is_op(Op::LBrace)
    }

    /// Skips to the next separator or closing word on this level.
    fn skip_to_step(&mut self, before: usize) {
        if self.at == before {
            self.advance();
        }
        let mut nesting = 0usize;
        loop {
            match self.peek() {
                Tok::End => return,
                _ if self.at_word_of_unit() => return,
                Tok::Op(Op::LBrace) | Tok::Key(Key::If | Key::Do) => nesting += 1,
                Tok::Op(Op::RBrace) | Tok::Key(Key::Fi | Key::Od) if nesting > 0 => nesting -= 1,
                Tok::Op(Op::RBrace | Op::Sep | Op::Semi | Op::Arrow) | Tok::Key(Key::Fi | Key::Od) | Tok::ImpliedSemi if nesting == 0 => {
                    return;
                }
                _ => {}
            }
            self.advance();
        }
    }

    fn step(&mut self, steps: &mut Vec<Step>) -> Parsed<()> {
        self.inline_ended = false;
        match self.peek() {
            Tok::Key(key @ (Key::Xr | Key::Xs)) => {
                let receives = *key == Key::Xr;
                let start = self.advance();
                let mut channels = vec![self.reference()?];
                while self.eat_op(Op::Comma) {
                    channels.push(self.reference()?);
                }
                steps.push(Step::Exclusive(receives, channels, start.to(self.last_span())));
                return Ok(());
            }
            Tok::Key(Key::Mtype) if self.at_mtype_set() => {
                self.report(
                    Diagnostic::error(self.span(), "names of messages must be declared outside processes")
                        .with_hint("write `mtype = { … }` before the first `proctype`"),
                );
                self.mtype_set()?;
                return Ok(());
            }
            Tok::Key(Key::Typedef) => {
                self.report(
                    Diagnostic::error(self.span(), "types must be defined outside processes")
                        .with_hint("write the `typedef` before the first `proctype`"),
                );
                self.typedef()?;
                return Ok(());
            }
            _ if self.at_declaration() => {
                let declaration = self.declaration()?;
                steps.push(Step::Declaration(declaration));
                return Ok(());
            }
            _ => {}
        }
        let first = if self.is_key(Key::Select) && self.inlines.is_empty() {
            match self.wide_select()? {
                Some((assignment, choice)) => {
                    steps.push(Step::Statement(assignment));
                    choice
                }
                None => self.statement()?,
            }
        } else {
            self.statement()?
        };
        let unless = self.is_key(Key::Unless) || (*self.peek() == Tok::ImpliedSemi && *self.peek_at(1) == Tok::Key(Key::Unless));
        if !unless {
            steps.push(Step::Statement(first));
            return Ok(());
        }
        if !self.eat_key(Key::Unless) {
            self.advance();
            self.advance();
        }
        let escape = self.statement()?;
        let span = first.span.to(escape.span);
        let kind = StmtKind::Unless(Box::new(first), Box::new(escape));
        steps.push(Step::Statement(Stmt { kind, span }));
        Ok(())
    }

    pub(super) fn statement(&mut self) -> Parsed<Stmt> {
        self.statement_depth += 1;
        let result = if self.statement_depth > MAX_STATEMENT_DEPTH {
            Err(self.report(
                Diagnostic::error(
                    self.span(),
                    format!("statements are nested too deeply: the limit is {} levels", MAX_STATEMENT_DEPTH - 1),
                )
                .with_hint("move an inner part to a process of its own"),
            ))
        } else {
            self.statement_inside()
        };
        self.statement_depth -= 1;
        result
    }

    fn statement_inside(&mut self) -> Parsed<Stmt> {
        let start = self.span();
        let from = self.at;
        let kind = match self.peek().clone() {
            Tok::Key(Key::If) => {
                let word = self.span();
                self.at += 1;
                if self.at_c_if() {
                    self.c_if(word)?
                } else {
                    self.at -= 1;
                    StmtKind::If(self.options(Key::If, Key::Fi)?)
                }
            }
            Tok::Key(Key::Do) => StmtKind::Do(self.options(Key::Do, Key::Od)?),
            Tok::Key(Key::For) => self.for_loop()?,
            Tok::Key(Key::Select) => self.select()?,
            Tok::Key(Key::Atomic) => StmtKind::Atomic(self.block_after_word()?),
            Tok::Key(Key::DStep) => StmtKind::DStep(self.block_after_word()?),
            Tok::Op(Op::LBrace) => StmtKind::Block(self.block()?),
            Tok::Key(Key::Goto) => {
                self.advance();
                StmtKind::Goto(self.expect_name("the name of a label after `goto`")?)
            }
            Tok::Key(Key::Break) => self.word(StmtKind::Break),
            Tok::Key(Key::Else) => self.word(StmtKind::Else),
            Tok::Key(Key::Assert) => {
                self.advance();
                StmtKind::Assert(self.expression()?)
            }
            Tok::Key(Key::Printf) => self.printf()?,
            Tok::Key(Key::Printm) => {
                self.advance();
                self.expect_op(Op::LParen, "after `printm`")?;
                let value = self.expression()?;
                self.expect_op(Op::RParen, "after the argument of `printm`")?;
                StmtKind::Printm(value)
            }
            Tok::Key(Key::SetPriority) => {
                self.advance();
                self.expect_op(Op::LParen, "after `set_priority`")?;
                let process = self.expression()?;
                self.expect_op(Op::Comma, "between process and priority")?;
                let priority = self.expression()?;
                self.expect_op(Op::RParen, "after the priority")?;
                StmtKind::SetPriority(process, priority)
            }
            Tok::Key(Key::Return) => {
                let target = self.return_target(start)?;
                self.advance();
                StmtKind::Assign(target, self.expression()?)
            }
            Tok::Key(Key::CCode) => {
                self.advance();
                let condition = self.embedded_condition()?;
                StmtKind::Embedded(self.fragment()?, condition)
            }
            Tok::Key(Key::CDecl) => {
                self.advance();
                StmtKind::EmbeddedDeclarations(self.fragment()?)
            }
            Tok::Name(name) => return self.statement_with_name(&name),
            Tok::Key(Key::Od | Key::Fi | Key::Unless) | Tok::Op(Op::RBrace | Op::Sep) => {
                let message = format!("expected a statement, found {}", self.peek());
                return Err(self.report(Diagnostic::error(start, message).with_hint("`skip` is a statement that does nothing")));
            }
            _ => StmtKind::Expr(self.expression()?),
        };
        let is_compound = matches!(
            kind,
            StmtKind::If(_) | StmtKind::Do(_) | StmtKind::For { .. } | StmtKind::Atomic(_) | StmtKind::DStep(_) | StmtKind::Block(_)
        );
        let span = if is_compound { self.written_from(from) } else { self.text_from(from) };
        Ok(Stmt { kind, span })
    }

    fn word(&mut self, kind: StmtKind) -> StmtKind {
        self.advance();
        kind
    }

    /// A label, a call, an assignment, a message, or an expression that begins with a name.
    fn statement_with_name(&mut self, name: &crate::token::Text) -> Parsed<Stmt> {
        let from = self.at;
        let is_process = self.names.proctypes.contains(name);
        if *self.peek_at(1) == Tok::Op(Op::Colon) && !is_process {
            if *self.peek_at(2) == Tok::Op(Op::Assign) {
                let place = |ahead: usize| self.tokens.get(self.at + ahead).map_or(self.end, |t| t.span);
                let place = place(1).to(place(2));
                let diagnostic = Diagnostic::error(place, "there is no `:=` in Promela").with_hint("`=` assigns").with_fix(place, "=");
                return Err(self.report(diagnostic));
            }
            return self.labelled();
        }
        if let Some(kind) = self.foreign_statement(name) {
            return Ok(Stmt { kind: kind?, span: self.written_from(from) });
        }
        if self.at_inline_call(0) {
            let stmt = self.inline_call(None)?;
            self.inline_ended = true;
            return Ok(Stmt { span: self.written_from(from), ..stmt });
        }
        if *self.peek_at(1) == Tok::Op(Op::LParen) {
            return Err(self.unknown_call(name));
        }
        if is_process {
            let left = self.primary()?;
            let guard = self.binary(left, 0)?;
            return Ok(Stmt { span: self.text_from(from), kind: StmtKind::Expr(guard) });
        }
        let reference = self.reference()?;
        let kind = match self.peek() {
            Tok::Op(Op::Assign) => {
                self.advance();
                if self.at_inline_call(0) {
                    let stmt = self.inline_call(Some(reference))?;
                    self.inline_ended = true;
                    return Ok(Stmt { span: self.written_from(from), ..stmt });
                }
                StmtKind::Assign(reference, self.expression()?)
            }
            Tok::Op(op @ (Op::Incr | Op::Decr)) => {
                let binary = if *op == Op::Incr { Binary::Add } else { Binary::Sub };
                let span = reference.span.to(self.advance());
                StmtKind::Assign(reference.clone(), plus_one(binary, reference, span))
            }
            Tok::Op(op @ (Op::Bang | Op::SortedSend)) => {
                let sorted = *op == Op::SortedSend;
                self.advance();
                let arguments = self.send_arguments()?;
                StmtKind::Send { channel: reference, sorted, arguments }
            }
            Tok::Op(Op::Query | Op::RandomRecv) if *self.peek_at(1) != Tok::Op(Op::LBracket) => {
                let any = self.is_op(Op::RandomRecv);
                self.advance();
                let keep = self.eat_op(Op::Lt);
                let (arguments, evaluated) = self.receive_arguments()?;
                if keep {
                    self.expect_op(Op::Gt, "after the message")?;
                }
                StmtKind::Receive(Receive { channel: reference, any, keep, arguments, evaluated })
            }
            _ => return self.guard_after(reference, from),
        };
        Ok(Stmt { kind, span: self.text_from(from) })
    }

    /// An expression whose first operand has been read as a reference.
    fn guard_after(&mut self, reference: Reference, before: usize) -> Parsed<Stmt> {
        let span = reference.span;
        let polls = matches!(self.peek(), Tok::Op(Op::Query | Op::RandomRecv));
        let left = if polls {
            // A poll: it is read again as an operand.
            self.at = before;
            self.primary()?
        } else {
            Expr { kind: ExprKind::Ref(reference), span }
        };
        let guard = self.binary(left, 0)?;
        Ok(Stmt { span: self.text_from(before), kind: StmtKind::Expr(guard) })
    }

    fn unknown_call(&mut self, name: &str) -> Reported {
        let inlines = self.names.inlines.keys().map(|k| &**k);
        let words = ["printf", "assert", "printm", "run", "select", "for", "len", "full", "empty"];
        let hint = if self.names.proctypes.contains(name) {
            Some(format!("`run {name}(…)` starts a process"))
        } else {
            let hint = super::foreign::hint_for_word(name).map(str::to_owned).or_else(|| did_you_mean(name, inlines.chain(words)));
            hint.or_else(|| Some(format!("`inline {name}(a, b) {{ … }}` defines one; `run {name}()` would start a process")))
        };
        let message = format!("there is no inline `{name}`");
        self.report(Diagnostic::error(self.span(), message).with_hint_opt(hint))
    }

    fn labelled(&mut self) -> Parsed<Stmt> {
        let label = self.expect_name("a label")?;
        self.advance();
        while *self.peek() == Tok::ImpliedSemi {
            self.advance();
        }
        let start = label.span;
        if self.at_declaration() || self.is_key(Key::Xr) || self.is_key(Key::Xs) {
            let diagnostic = Diagnostic::error(start, "a label is not allowed before a declaration")
                .with_hint("put it before the first statement after the declarations");
            return Err(self.report(diagnostic));
        }
        // A label at the end of a sequence labels a `skip`.
        let stmt = if self.at_end_of_sequence() || self.at_separator() {
            let one = Expr { kind: ExprKind::Number(1), span: start };
            Stmt { kind: StmtKind::Expr(one), span: start }
        } else {
            self.statement()?
        };
        let span = start.to(stmt.span);
        Ok(Stmt { kind: StmtKind::Label(label, Box::new(stmt)), span })
    }

    /// `word { … }`.
    fn block_after_word(&mut self) -> Parsed<Vec<Step>> {
        self.advance();
        while *self.peek() == Tok::ImpliedSemi {
            self.advance();
        }
        self.block()
    }

    fn block(&mut self) -> Parsed<Vec<Step>> {
        let open = self.expect_op(Op::LBrace, "at the beginning of a block")?;
        let steps = self.sequence(open);
        self.close_block(open)?;
        Ok(steps)
    }

    /// The options of `if` or `do`, and the closing word.
    fn options(&mut self, open: Key, close: Key) -> Parsed<Vec<Vec<Step>>> {
        let start = self.advance();
        let mut options = Vec::new();
        self.skip_separators();
        if !self.is_op(Op::Sep) {
            let message = format!("expected `::` after `{}`, found {}", open.text(), self.peek());
            let hint = match open {
                Key::If => "write `if :: condition -> … :: else -> … fi`",
                _ => "write `do :: condition -> … :: else -> break od`",
            };
            self.report(Diagnostic::error(self.span(), message).with_hint(hint));
            // The text is read as an option, to find further mistakes.
            options.push(self.sequence(start));
        }
        while self.is_op(Op::Sep) {
            let sep = self.advance();
            options.push(self.sequence(sep));
        }
        self.check_else(&options);
        if self.eat_key(close) {
            return Ok(options);
        }
        let mut diagnostic = Diagnostic::error(self.span(), format!("expected `{}`, found {}", close.text(), self.peek()))
            .with_label(start, format!("to close this `{}`", open.text()));
        let other = if close == Key::Od { Key::Fi } else { Key::Od };
        let confused = self.is_key(other);
        if confused {
            diagnostic = diagnostic.with_hint("`do` is closed by `od`, `if` by `fi`").with_fix(self.span(), close.text());
        } else if self.at_end_of_sequence() {
            let hint = format!("write `{}` behind the last option", close.text());
            diagnostic = diagnostic.with_hint(hint).with_fix(self.last_span().after(), format!(" {}", close.text()));
        }
        let reported = self.report(diagnostic);
        if confused {
            self.advance();
            return Ok(options);
        }
        // The closing word is missing: the outer sequence continues from here.
        if self.at_end_of_sequence() { Ok(options) } else { Err(reported) }
    }

    fn printf(&mut self) -> Parsed<StmtKind> {
        self.advance();
        self.expect_op(Op::LParen, "after `printf`")?;
        let Tok::Str(format) = self.peek().clone() else {
            let diagnostic = match self.peek() {
                Tok::Bad(reason) => {
                    let hint = hint_for_bad(reason).map(str::to_owned);
                    Diagnostic::error(self.span(), format!("this is {reason}")).with_hint_opt(hint)
                }
                found => Diagnostic::error(self.span(), format!("expected a string after `printf(`, found {found}"))
                    .with_hint("write `printf(\"x is %d\\n\", x)`"),
            };
            return Err(self.report(diagnostic));
        };
        self.advance();
        let arguments = if self.eat_op(Op::Comma) { self.expressions()? } else { Vec::new() };
        self.expect_op(Op::RParen, "after the arguments of `printf`")?;
        Ok(StmtKind::Printf(format, arguments))
    }

    /// The fields of a send; `t(a,b)` is `t,a,b`.
    fn send_arguments(&mut self) -> Parsed<Vec<Expr>> {
        let mut arguments = vec![self.expression()?];
        if self.eat_op(Op::LParen) {
            arguments.extend(self.expressions()?);
            self.expect_op(Op::RParen, "after the message")?;
            return Ok(arguments);
        }
        while self.eat_op(Op::Comma) {
            arguments.push(self.expression()?);
        }
        Ok(arguments)
    }

    fn for_loop(&mut self) -> Parsed<StmtKind> {
        let from = self.at;
        let start = self.advance();
        self.expect_op(Op::LParen, "after `for`")?;
        if self.at_declaration() {
            return self.c_for(start);
        }
        let named = self.at;
        let variable = self.reference()?;
        let name = spelled(&self.tokens[named..self.at]);
        if self.is_op(Op::Assign) || self.is_op(Op::Semi) {
            return self.c_for(start);
        }
        let mut texts = ["begin", "another round", "next", "else", "break"].map(|part| format!("for {name}: {part}"));
        // `in` is a word of the language here alone.
        let range = if *self.peek() == Tok::Name("in".into()) {
            self.advance();
            if let Tok::Number(_) = self.peek() {
                let diagnostic = Diagnostic::error(self.span(), "`in` takes an array or a channel, not numbers");
                return Err(self.report(diagnostic.with_hint("write `for (v : 1 .. 3) { … }` for numbers")));
            }
            Range::In(self.reference()?)
        } else {
            self.expect_op(Op::Colon, "or `in` after the variable of `for`")?;
            let low = self.at;
            let from = self.expression()?;
            let first = format!("{name} = {}", spelled(&self.tokens[low..self.at]));
            self.expect_op(Op::DotDot, "between the bounds")?;
            let high = self.at;
            let to = self.expression()?;
            let test = format!("{name} <= {}", spelled(&self.tokens[high..self.at]));
            texts = [first, test, format!("{name}++"), "else".to_owned(), "break".to_owned()];
            Range::Values(from, to)
        };
        self.expect_op(Op::RParen, "after the range of `for`")?;
        let header = self.text_from(from);
        let [first, test, next, leave, end] = texts.map(|text| self.made_text(header, &text));
        self.skip_separators();
        let body = self.block()?;
        Ok(StmtKind::For { variable, range, body, header, parts: LoopParts { first, test, next, leave, end } })
    }

    fn bounds(&mut self) -> Parsed<(Expr, Expr)> {
        let from = self.expression()?;
        self.expect_op(Op::DotDot, "between the bounds")?;
        let to = self.expression()?;
        Ok((from, to))
    }

    /// `select (v : a .. b)`. If the bounds are numbers and the variable is a plain name, SPIN
    /// makes it one choice, unless there are too many values. Otherwise, and always in an inline,
    /// it counts up.
    fn select(&mut self) -> Parsed<StmtKind> {
        let start = self.advance();
        self.expect_op(Op::LParen, "after `select`")?;
        let variable = self.reference()?;
        if !self.is_op(Op::Colon) {
            let message = format!("expected `:` after the variable of `select`, found {}", self.peek());
            let diagnostic = Diagnostic::error(self.span(), message).with_hint("write `select (v : 1 .. 3)`");
            if *self.peek() != Tok::Name("in".into()) {
                return Err(self.report(diagnostic));
            }
            // A `for` accepts `in` here, so users write it. The range is read all the same.
            let fix = self.span();
            self.report(diagnostic.with_fix(fix, ":"));
        }
        self.advance();
        let (from, to) = self.bounds()?;
        self.expect_op(Op::RParen, "after the range of `select`")?;
        if let (true, Some((low, high))) = (self.inlines.is_empty(), plain_range(&variable, &from, &to)) {
            let span = start.to(self.last_span());
            if low > high {
                return Err(self.report(
                    Diagnostic::error(span, "the range of `select` is empty")
                        .with_hint("the first bound is not greater than the second: `select (x : 0 .. 3)`"),
                ));
            }
            if high.abs_diff(low) <= SELECT_CHOICE {
                let options = (low..=high).map(|n| vec![assign(&variable, n, span)]);
                return Ok(StmtKind::If(options.collect()));
            }
        }
        Ok(StmtKind::Select { variable, from, to })
    }

    /// A `select` with numbers for bounds that has too many values for one choice: SPIN reads
    /// `v = a; do :: v < b -> v++ :: break od` in its place.
    fn wide_select(&mut self) -> Parsed<Option<(Stmt, Stmt)>> {
        let before = self.at;
        let start = self.span();
        let kind = self.select()?;
        let span = start.to(self.last_span());
        if let StmtKind::Select { variable, from, to } = &kind
            && let Some((low, _)) = plain_range(variable, from, to)
        {
            let Step::Statement(first) = assign(variable, low, span) else { return Ok(None) };
            let number = |expr: &Expr| Box::new(expr.clone());
            let left = Box::new(Expr { kind: ExprKind::Ref(variable.clone()), span });
            let less = Expr { kind: ExprKind::Binary(Binary::Lt, left, number(to)), span };
            let guard = Step::Statement(Stmt { kind: StmtKind::Expr(less), span });
            let next = plus_one(Binary::Add, variable.clone(), span);
            let next = Stmt { kind: StmtKind::Assign(variable.clone(), next), span };
            let leave = Step::Statement(Stmt { kind: StmtKind::Break, span });
            let options = vec![vec![guard, Step::Statement(next)], vec![leave]];
            return Ok(Some((first, Stmt { kind: StmtKind::Do(options), span })));
        }
        self.at = before;
        Ok(None)
    }
}

/// Bounds written as numbers, for a variable whose name is made of letters and digits alone.
fn plain_range(variable: &Reference, from: &Expr, to: &Expr) -> Option<(i32, i32)> {
    let [part] = variable.parts.as_slice() else { return None };
    let plain = part.index.is_none() && part.name.text.bytes().all(|b| b.is_ascii_alphanumeric());
    match (&from.kind, &to.kind) {
        (ExprKind::Number(a), ExprKind::Number(b)) if plain => Some((*a, *b)),
        _ => None,
    }
}

fn assign(variable: &Reference, value: i32, span: Span) -> Step {
    let value = Expr { kind: ExprKind::Number(value), span };
    Step::Statement(Stmt { kind: StmtKind::Assign(variable.clone(), value), span })
}

fn plus_one(op: Binary, variable: Reference, span: Span) -> Expr {
    let left = Expr { kind: ExprKind::Ref(variable), span };
    let one = Expr { kind: ExprKind::Number(1), span };
    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(one)), span }
}
