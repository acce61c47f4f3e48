//! `ltl` blocks: formulas over expressions.
//!
//! Formulas and expressions have one grammar, as in SPIN: the temporal operators bind between `&&`
//! and the bitwise operators, and `[]`, `<>`, `X`, `!` bind like unary operators. `->`, `U`, `W`,
//! `V` group to the left.

use super::{Parsed, Parser, foreign};
use crate::ast::{Binary, Expr, ExprKind, Formula, Ident, Ltl, Unary};
use crate::limits::MAX_OPERATORS;
use crate::token::{Op, Tok};
use source::{Diagnostic, Span};

/// An operator between two operands.
#[derive(Clone, Copy)]
enum Between {
    Implies,
    Equivalent,
    Or,
    And,
    Until,
    WeakUntil,
    Release,
    Arithmetic(Binary),
}

/// A formula without temporal operators as a value, for operators such as `==`.
fn value(formula: Formula) -> Option<Expr> {
    let binary = |op, left: Formula, right: Formula| {
        let (left, right) = (value(left)?, value(right)?);
        let span = left.span.to(right.span);
        Some(Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span })
    };
    match formula {
        Formula::Atom(expr) => Some(expr),
        Formula::Not(inner) => {
            let inner = value(*inner)?;
            let span = inner.span;
            Some(Expr { kind: ExprKind::Unary(Unary::Not, Box::new(inner)), span })
        }
        Formula::And(left, right) => binary(Binary::And, *left, *right),
        Formula::Or(left, right) => binary(Binary::Or, *left, *right),
        _ => None,
    }
}

impl Parser {
    pub(super) fn ltl(&mut self) -> Parsed<Ltl> {
        let span = self.advance();
        let name = match self.peek() {
            // A keyword at this position was meant as a name.
            Tok::Name(_) | Tok::Key(_) => self.expect_name("the name of the formula")?,
            _ => {
                let text = format!("ltl_{}", self.formulas).into();
                self.formulas += 1;
                Ident { text, span }
            }
        };
        let open = self.expect_op(Op::LBrace, "before the formula")?;
        let start = self.span();
        let formula = self.formula(0)?;
        let behind = self.span();
        if let Some(hint) = self.hint_after_formula() {
            let diagnostic = Diagnostic::error(behind, format!("the formula cannot continue with {}", self.peek()));
            return Err(self.report(diagnostic.with_label(open, "it began here").with_hint(hint)));
        }
        self.skip_separators();
        self.close_brace(open)?;
        // A formula that begins in a macro and ends outside it has no contiguous text.
        let whole = start.file == behind.file && start.start < behind.start;
        let text = if whole { Span { end: behind.start, ..start } } else { start };
        Ok(Ltl { name, formula, text })
    }

    /// Expressions whose values are requested from outside the model: `ltl = { a, b }`. Users do
    /// not write this; SPIN has nothing like it.
    pub(super) fn values(&mut self) -> Parsed<Vec<Expr>> {
        self.advance();
        self.advance();
        let open = self.expect_op(Op::LBrace, "before the expressions")?;
        let mut values = vec![self.expression()?];
        while matches!(self.peek(), Tok::Op(Op::Comma)) {
            self.advance();
            values.push(self.expression()?);
        }
        self.skip_separators();
        self.close_brace(open)?;
        Ok(values)
    }

    fn formula(&mut self, least: u8) -> Parsed<Formula> {
        self.enter_expression()?;
        let result = self.formula_at(least);
        self.expression_depth -= 1;
        result
    }

    fn formula_at(&mut self, least: u8) -> Parsed<Formula> {
        let mut left = self.formula_operand()?;
        let mut length = 0;
        while let Some((between, level)) = self.between() {
            if level < least {
                break;
            }
            length += 1;
            if length > MAX_OPERATORS {
                return Err(self.report(
                    Diagnostic::error(self.span(), "the formula is too long").with_hint("divide it: a model may state several formulas"),
                ));
            }
            let word = self.peek().clone();
            let operator = self.advance();
            let right = self.formula(level + 1)?;
            // A temporal operator before a comparison takes in only the left side of it.
            let sign = match &left {
                Formula::Always(_) => Some("[]"),
                Formula::Eventually(_) => Some("<>"),
                Formula::Next(_) => Some("X"),
                _ => None,
            };
            let (l, r) = (Box::new(left), Box::new(right));
            left = match between {
                Between::Implies => Formula::Implies(l, r),
                Between::Equivalent => Formula::Equivalent(l, r),
                Between::Or => Formula::Or(l, r),
                Between::And => Formula::And(l, r),
                Between::Until => Formula::Until(l, r),
                Between::WeakUntil => Formula::WeakUntil(l, r),
                Between::Release => Formula::Release(l, r),
                Between::Arithmetic(op) => match (value(*l), value(*r)) {
                    (Some(a), Some(b)) => {
                        let span = a.span.to(b.span);
                        let kind = ExprKind::Binary(op, Box::new(a), Box::new(b));
                        Formula::Atom(Expr { kind, span })
                    }
                    _ => {
                        let (message, word) = ("this operator needs values, not formulas, on both sides", word.spelling());
                        let hint = sign.map(|sign| format!("`{sign}` binds stronger than `{word}`: write `{sign} (x {word} 1)`"));
                        return Err(self.report(Diagnostic::error(operator, message).with_hint_opt(hint)));
                    }
                },
            };
        }
        Ok(left)
    }

    fn between(&self) -> Option<(Between, u8)> {
        Some(match self.peek() {
            Tok::Op(Op::Arrow) => (Between::Implies, 1),
            Tok::Op(Op::Equiv) => (Between::Equivalent, 1),
            Tok::Op(Op::OrOr | Op::LtlOr) => (Between::Or, 2),
            Tok::Op(Op::AndAnd | Op::LtlAnd) => (Between::And, 3),
            Tok::Name(word) => match &**word {
                "implies" => (Between::Implies, 1),
                "equivalent" => (Between::Equivalent, 1),
                "U" | "until" | "stronguntil" => (Between::Until, 5),
                "W" | "weakuntil" => (Between::WeakUntil, 5),
                "V" | "R" | "release" => (Between::Release, 5),
                _ => return None,
            },
            Tok::Op(op) => {
                let (op, level) = Binary::of(*op)?;
                (Between::Arithmetic(op), level + 4)
            }
            _ => return None,
        })
    }

    fn formula_operand(&mut self) -> Parsed<Formula> {
        let unary = |f: fn(Box<Formula>) -> Formula, operand| f(Box::new(operand));
        match self.peek().clone() {
            Tok::Op(Op::LBracket) if *self.peek_at(1) == Tok::Op(Op::RBracket) => {
                self.advance();
                self.advance();
                Ok(unary(Formula::Always, self.unary_operand()?))
            }
            Tok::Op(Op::Lt) if *self.peek_at(1) == Tok::Op(Op::Gt) => {
                self.advance();
                self.advance();
                Ok(unary(Formula::Eventually, self.unary_operand()?))
            }
            Tok::Name(word) if matches!(&*word, "X" | "next" | "always" | "eventually") && !self.names_process() => {
                self.advance();
                let operand = self.unary_operand()?;
                Ok(match &*word {
                    "always" => unary(Formula::Always, operand),
                    "eventually" => unary(Formula::Eventually, operand),
                    _ => unary(Formula::Next, operand),
                })
            }
            Tok::Op(Op::Bang) => {
                self.advance();
                Ok(unary(Formula::Not, self.unary_operand()?))
            }
            // Elsewhere two exclamation marks send a message in order.
            Tok::Op(Op::SortedSend) => {
                self.advance();
                Ok(unary(Formula::Not, unary(Formula::Not, self.unary_operand()?)))
            }
            Tok::Op(Op::Minus | Op::Tilde) => {
                let op = if self.is_op(Op::Minus) { Unary::Negate } else { Unary::Complement };
                let start = self.advance();
                match value(self.unary_operand()?) {
                    Some(operand) => {
                        let span = start.to(operand.span);
                        Ok(Formula::Atom(Expr { kind: ExprKind::Unary(op, Box::new(operand)), span }))
                    }
                    None => Err(self
                        .report(Diagnostic::error(start, "this operator needs a value, not a formula").with_hint("`!` negates a formula"))),
                }
            }
            Tok::Op(Op::LParen) => {
                let open = self.advance();
                let inner = self.formula(0)?;
                if !self.is_op(Op::RParen) {
                    let message = format!("expected `)` after the formula, found {}", self.peek());
                    let diagnostic = Diagnostic::error(self.span(), message).with_label(open, "to close this `(`");
                    let hint = self.hint_after_formula().or_else(|| Some(format!("write `)` before {}", self.peek())));
                    return Err(self.report(diagnostic.with_hint_opt(hint)));
                }
                self.advance();
                Ok(inner)
            }
            // `everypath ltl` prints atoms with operators in braces.
            Tok::Op(Op::LBrace) => {
                let open = self.advance();
                let inner = self.expression()?;
                self.close_brace(open)?;
                Ok(Formula::Atom(inner))
            }
            _ => Ok(Formula::Atom(self.primary()?)),
        }
    }

    /// A hint for a token that cannot follow a formula.
    fn hint_after_formula(&self) -> Option<String> {
        let sign = |token: Option<&Tok>| match token {
            Some(Tok::Name(word)) => foreign::operator_of_formulas(word).map(|sign| format!("`{word}` is a name here: write `{sign}`")),
            _ => None,
        };
        match self.peek() {
            Tok::Op(Op::RBrace | Op::RParen | Op::Semi) | Tok::End => None,
            Tok::Op(Op::Assign) if *self.peek_at(1) == Tok::Op(Op::Gt) => Some("write `->`".to_owned()),
            Tok::Op(Op::Assign) => Some("`==` compares".to_owned()),
            Tok::Op(Op::At) => Some("the name of a process type stands before `@`".to_owned()),
            found => sign(Some(found)).or_else(|| sign(self.previous())),
        }
    }

    /// Whether the next word is the name of a process, though it could be an operator: a variable
    /// or a label of that process follows, as in `X:v`, `X[1]:v` or `X@l`.
    fn names_process(&self) -> bool {
        match self.peek_at(1) {
            Tok::Op(Op::Colon | Op::At) => true,
            Tok::Op(Op::LBracket) => *self.peek_at(2) != Tok::Op(Op::RBracket),
            _ => false,
        }
    }

    fn unary_operand(&mut self) -> Parsed<Formula> {
        self.enter_expression()?;
        let result = self.formula_operand();
        self.expression_depth -= 1;
        result
    }
}
