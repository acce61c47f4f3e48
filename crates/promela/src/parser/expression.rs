//! Expressions, references to variables, fields of messages.

use super::{Parsed, Parser, Reported};
use crate::ast::{Binary, Expr, ExprKind, Ident, Part, Probe, Receive, Reference, Unary};
use crate::limits::{MAX_EXPRESSION_DEPTH, MAX_OPERANDS, MAX_OPERATORS};
use crate::token::{Key, Op, Tok};
use source::{Diagnostic, Span};

impl Binary {
    /// The operator with this spelling, and its precedence.
    pub(crate) fn of(op: Op) -> Option<(Binary, u8)> {
        Some(match op {
            Op::OrOr => (Binary::Or, 1),
            Op::AndAnd => (Binary::And, 2),
            Op::Pipe => (Binary::BitOr, 3),
            Op::Caret => (Binary::BitXor, 4),
            Op::Amp => (Binary::BitAnd, 5),
            Op::EqEq => (Binary::Eq, 6),
            Op::Ne => (Binary::Ne, 6),
            Op::Lt => (Binary::Lt, 7),
            Op::Gt => (Binary::Gt, 7),
            Op::Le => (Binary::Le, 7),
            Op::Ge => (Binary::Ge, 7),
            Op::Shl => (Binary::Shl, 8),
            Op::Shr => (Binary::Shr, 8),
            Op::Plus => (Binary::Add, 9),
            Op::Minus => (Binary::Sub, 9),
            Op::Star => (Binary::Mul, 10),
            Op::Slash => (Binary::Div, 10),
            Op::Percent => (Binary::Rem, 10),
            _ => return None,
        })
    }

    /// Whether the grouping of operands in a row does not matter.
    fn is_associative(self) -> bool {
        matches!(self, Binary::And | Binary::Or | Binary::Add | Binary::Mul | Binary::BitAnd | Binary::BitOr | Binary::BitXor)
    }
}

/// Operands in a row as one expression. A long row becomes a balanced tree, so that its depth is
/// small.
fn joined(op: Option<Binary>, mut row: Vec<Expr>) -> Expr {
    let (Some(op), true) = (op, row.len() > 1) else {
        return row.pop().unwrap_or(Expr { kind: ExprKind::Error, span: Span::default() });
    };
    while row.len() > 1 {
        let mut operands = row.into_iter();
        let mut half = Vec::with_capacity(operands.len().div_ceil(2));
        while let Some(left) = operands.next() {
            half.push(match operands.next() {
                Some(right) => {
                    let span = left.span.to(right.span);
                    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span }
                }
                None => left,
            });
        }
        row = half;
    }
    row.pop().unwrap_or(Expr { kind: ExprKind::Error, span: Span::default() })
}

impl Parser {
    pub(super) fn enter_expression(&mut self) -> Parsed<()> {
        self.expression_depth += 1;
        if self.expression_depth > MAX_EXPRESSION_DEPTH {
            self.expression_depth -= 1;
            return Err(self.report(
                Diagnostic::error(
                    self.span(),
                    format!("the expression is nested too deeply: the limit is {} levels", MAX_EXPRESSION_DEPTH - 1),
                )
                .with_hint("store a part of it in a variable first"),
            ));
        }
        Ok(())
    }

    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        self.enter_expression()?;
        let result = self.unary().and_then(|left| self.binary(left, 0));
        self.expression_depth -= 1;
        result
    }

    /// The operators after the operand `left`, as far as they bind at least as tightly as `least`.
    pub(super) fn binary(&mut self, left: Expr, least: u8) -> Parsed<Expr> {
        // The operands of one operator in a row.
        let mut row = vec![left];
        let mut row_op = None;
        let mut rows = 0;
        while let Tok::Op(op) = self.peek() {
            let Some((op, level)) = Binary::of(*op).filter(|(_, level)| *level >= least) else { break };
            if row_op != Some(op) || !op.is_associative() {
                rows += 1;
                row = vec![joined(row_op, row)];
                row_op = Some(op);
            }
            if rows > MAX_OPERATORS || row.len() > MAX_OPERANDS {
                return Err(self.report(
                    Diagnostic::error(self.span(), "the expression is too long").with_hint("store a part of it in a variable first"),
                ));
            }
            self.advance();
            let operand = self.unary()?;
            row.push(self.binary(operand, level + 1)?);
        }
        Ok(joined(row_op, row))
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let op = match self.peek() {
            Tok::Op(Op::Minus) => Unary::Negate,
            Tok::Op(Op::Bang) => Unary::Not,
            Tok::Op(Op::Tilde) => Unary::Complement,
            _ => return self.primary(),
        };
        let start = self.advance();
        if op == Unary::Negate && *self.peek() == Tok::Number(i32::MIN) {
            let span = start.to(self.advance());
            return Ok(Expr { kind: ExprKind::Number(i32::MIN), span });
        }
        self.enter_expression()?;
        let operand = self.unary();
        self.expression_depth -= 1;
        let operand = operand?;
        let span = start.to(operand.span);
        Ok(Expr { kind: ExprKind::Unary(op, Box::new(operand)), span })
    }

    /// An operand without operators.
    pub(super) fn primary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let kind = match self.peek().clone() {
            Tok::Number(n) => {
                self.advance();
                if n == i32::MIN {
                    self.report(
                        Diagnostic::error(start, "the number 2147483648 does not fit 32 bits")
                            .with_hint("the largest number is 2147483647"),
                    );
                }
                ExprKind::Number(n)
            }
            Tok::Key(Key::True | Key::Skip) => self.number(1),
            Tok::Key(Key::False) => self.number(0),
            Tok::Key(Key::Timeout) => {
                self.advance();
                ExprKind::Timeout
            }
            Tok::Key(Key::Np) => {
                self.advance();
                ExprKind::NonProgress
            }
            Tok::Op(Op::LParen) => return self.parenthesis(),
            Tok::Key(Key::Run) => self.run()?,
            Tok::Key(Key::Len) => self.probe(Probe::Len)?,
            Tok::Key(Key::Empty) => self.probe(Probe::Empty)?,
            Tok::Key(Key::Nempty) => self.probe(Probe::Nempty)?,
            Tok::Key(Key::Full) => self.probe(Probe::Full)?,
            Tok::Key(Key::Nfull) => self.probe(Probe::Nfull)?,
            Tok::Key(Key::Enabled) => ExprKind::Enabled(self.in_parentheses("enabled")?),
            Tok::Key(Key::PcValue) => ExprKind::PcValue(self.in_parentheses("pc_value")?),
            Tok::Key(Key::GetPriority) => ExprKind::GetPriority(self.in_parentheses("get_priority")?),
            Tok::Key(Key::CExpr) => {
                self.advance();
                let condition = self.embedded_condition()?;
                ExprKind::Embedded(self.fragment()?, condition)
            }
            Tok::Name(name) if self.names.proctypes.contains(&name) => self.remote()?,
            Tok::Name(_) => {
                let reference = self.reference()?;
                let any = self.is_op(Op::RandomRecv);
                let polls = (any || self.is_op(Op::Query)) && *self.peek_at(1) == Tok::Op(Op::LBracket);
                if polls { self.poll(reference, any)? } else { ExprKind::Ref(reference) }
            }
            found => return Err(self.no_operand(&found)),
        };
        Ok(Expr { kind, span: start.to(self.last_span()) })
    }

    fn number(&mut self, value: i32) -> ExprKind {
        self.advance();
        ExprKind::Number(value)
    }

    fn no_operand(&mut self, found: &Tok) -> Reported {
        if let Some(reported) = self.bad_token() {
            return reported;
        }
        let message = format!("expected an expression, found {found}");
        let own_line = self.tokens.get(self.at).is_some_and(|t| t.newline) || self.previous() == Some(&Tok::ImpliedSemi);
        let hint = self.hint_for_operand(found).or_else(|| match found {
            Tok::ImpliedSemi => Some("the line above is not finished".to_owned()),
            Tok::Op(op) if Binary::of(*op).is_some() && own_line => Some(
                "a line end after a complete expression ends the statement: \
                 put the operator at the end of the line before"
                    .to_owned(),
            ),
            _ => None,
        });
        let hint = hint.unwrap_or_else(|| match self.previous() {
            Some(Tok::Op(op)) if Binary::of(*op).is_some() => {
                format!("{} needs a value on its right side, such as a number or a variable", Tok::Op(*op))
            }
            _ => "a number, a variable, or an expression in parentheses can stand here".to_owned(),
        });
        self.report(Diagnostic::error(self.span(), message).with_hint(hint))
    }

    /// `( e )` or `( c -> a : b )`.
    fn parenthesis(&mut self) -> Parsed<Expr> {
        let open = self.advance();
        let first = self.expression()?;
        if self.eat_op(Op::Arrow) {
            let then = self.expression()?;
            self.expect_op(Op::Colon, "in `( condition -> value : value )`")?;
            let otherwise = self.expression()?;
            let close = self.expect_op(Op::RParen, "after the conditional expression")?;
            let kind = ExprKind::Conditional(Box::new(first), Box::new(then), Box::new(otherwise));
            return Ok(Expr { kind, span: open.to(close) });
        }
        if self.is_op(Op::Assign) {
            return Err(self.wrong_assignment());
        }
        if !self.is_op(Op::RParen) {
            let message = format!("expected `)`, found {}", self.peek());
            let hint = self.hint_after_statement().unwrap_or_else(|| format!("write `)` before {}", self.peek()));
            let diagnostic = Diagnostic::error(self.span(), message).with_label(open, "to close this `(`").with_hint(hint);
            return Err(self.report(diagnostic));
        }
        let close = self.advance();
        Ok(Expr { span: open.to(close), ..first })
    }

    fn in_parentheses(&mut self, word: &str) -> Parsed<Box<Expr>> {
        self.advance();
        self.expect_op(Op::LParen, &format!("after `{word}`"))?;
        let inner = self.expression()?;
        self.expect_op(Op::RParen, &format!("after the argument of `{word}`"))?;
        Ok(Box::new(inner))
    }

    fn probe(&mut self, probe: Probe) -> Parsed<ExprKind> {
        self.advance();
        self.expect_op(Op::LParen, "before the channel")?;
        let channel = self.reference()?;
        self.expect_op(Op::RParen, "after the channel")?;
        Ok(ExprKind::Probe(probe, channel))
    }

    fn run(&mut self) -> Parsed<ExprKind> {
        self.advance();
        let name = self.expect_name("the name of a process type after `run`")?;
        if !self.is_op(Op::LParen) {
            let message = format!("expected `(` after the name of the process type, found {}", self.peek());
            let diagnostic = Diagnostic::error(self.span(), message).with_hint(format!("write `run {}()`", name.text));
            self.report(diagnostic.with_fix(self.last_span().after(), "()"));
            return Ok(ExprKind::Run { name, arguments: Vec::new(), priority: None });
        }
        self.advance();
        let arguments = if self.is_op(Op::RParen) { Vec::new() } else { self.expressions()? };
        self.expect_op(Op::RParen, "after the arguments")?;
        let priority = if self.eat_key(Key::Priority) { Some(Box::new(self.primary()?)) } else { None };
        Ok(ExprKind::Run { name, arguments, priority })
    }

    pub(super) fn expressions(&mut self) -> Parsed<Vec<Expr>> {
        let mut list = vec![self.expression()?];
        while self.eat_op(Op::Comma) {
            list.push(self.expression()?);
        }
        Ok(list)
    }

    /// `P[pid]@label`, `P@label`, `P[pid]:x`, `P:x`.
    fn remote(&mut self) -> Parsed<ExprKind> {
        let process = self.expect_name("the name of a process type")?;
        let pid = if self.eat_op(Op::LBracket) {
            let pid = self.expression()?;
            self.expect_op(Op::RBracket, "after the process number")?;
            Some(Box::new(pid))
        } else {
            None
        };
        if self.eat_op(Op::At) {
            let label = self.expect_name("the name of a label after `@`")?;
            return Ok(ExprKind::RemoteLabel { process, pid, label });
        }
        if self.eat_op(Op::Colon) {
            let variable = self.reference()?;
            return Ok(ExprKind::RemoteVariable { process, pid, variable });
        }
        let message = format!("the process type `{}` is used as a variable", process.text);
        let hint = "`P[pid]@label` and `P[pid]:variable` look into another process; `run P()` starts one";
        let diagnostic = Diagnostic::error(process.span, message).with_hint(hint);
        Err(self.report(diagnostic))
    }

    pub(super) fn reference(&mut self) -> Parsed<Reference> {
        let start = self.span();
        let mut parts = Vec::new();
        loop {
            let name: Ident = self.expect_name("a variable")?;
            let mut index = None;
            if self.eat_op(Op::LBracket) {
                index = Some(Box::new(self.expression()?));
                self.expect_op(Op::RBracket, "after the index")?;
            }
            parts.push(Part { name, index });
            if !self.eat_op(Op::Dot) {
                return Ok(Reference { parts, span: start.to(self.last_span()) });
            }
        }
    }

    fn poll(&mut self, channel: Reference, any: bool) -> Parsed<ExprKind> {
        self.advance();
        self.advance();
        let (arguments, evaluated) = self.receive_arguments()?;
        self.expect_op(Op::RBracket, "after the polled message")?;
        let receive = Receive { channel, any, keep: true, arguments, evaluated };
        Ok(ExprKind::Poll(Box::new(receive)))
    }

    /// The fields of a receive: variables, constants, `eval(e)`, `_`; `a(b,c)` is `a,b,c`.
    pub(super) fn receive_arguments(&mut self) -> Parsed<(Vec<Expr>, Vec<bool>)> {
        let (mut arguments, mut evaluated) = (Vec::new(), Vec::new());
        let mut open = 0usize;
        loop {
            while self.eat_op(Op::LParen) {
                open += 1;
            }
            let start = self.span();
            if self.eat_key(Key::Eval) {
                self.expect_op(Op::LParen, "after `eval`")?;
                let inner = self.expression()?;
                self.expect_op(Op::RParen, "after the argument of `eval`")?;
                arguments.push(Expr { span: start.to(self.last_span()), ..inner });
                evaluated.push(true);
            } else {
                let negative = self.is_op(Op::Minus);
                arguments.push(if negative { self.unary()? } else { self.primary()? });
                evaluated.push(false);
            }
            if self.eat_op(Op::LParen) {
                open += 1;
                continue;
            }
            while open > 0 && self.eat_op(Op::RParen) {
                open -= 1;
            }
            if !self.eat_op(Op::Comma) {
                break;
            }
        }
        if open > 0 {
            self.expect_op(Op::RParen, "after the message")?;
        }
        Ok((arguments, evaluated))
    }
}
