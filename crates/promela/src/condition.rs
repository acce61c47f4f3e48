//! The expressions of `#if` and `#elif`.
//!
//! C's rules: integers, unary and binary operators, `a ? b : c`, `defined X`; any other name is zero. Operands of
//! `&&`, `||` and `?` are evaluated lazily as far as errors go: `defined N && 10 / N` is fine without `N`.

use crate::token::{Key, Op, Tok, Token};
use source::{Diagnostic, Span};

/// Nesting of parentheses and unary operators.
const MAX_DEPTH: usize = 200;

/// The value of a condition whose macros have been expanded and whose `defined` replaced by numbers.
pub fn evaluate(tokens: &[Token], at: Span) -> Result<bool, Diagnostic> {
    let mut parser = Parser { tokens, at: 0, place: at, depth: 0 };
    let value = parser.conditional(true)?;
    match parser.tokens.get(parser.at) {
        None => Ok(value != 0),
        Some(extra) => Err(unexpected(&extra.kind, extra.span)),
    }
}

fn unexpected(token: &Tok, span: Span) -> Diagnostic {
    match token {
        Tok::Bad(reason) => Diagnostic::error(span, format!("this is {reason}")),
        token => Diagnostic::error(span, format!("{token} is not expected here")),
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    place: Span,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Tok> {
        self.tokens.get(self.at).map(|t| &t.kind)
    }

    fn span(&self) -> Span {
        self.tokens.get(self.at).map_or(self.place, |t| t.span)
    }

    /// `a`, or `a ? b : c`. `live` is false where C would not evaluate.
    fn conditional(&mut self, live: bool) -> Result<i64, Diagnostic> {
        let choice = self.binary(0, live)?;
        if self.peek() != Some(&Tok::Op(Op::Query)) {
            return Ok(choice);
        }
        self.at += 1;
        self.nest()?;
        let yes = self.conditional(live && choice != 0)?;
        if self.peek() != Some(&Tok::Op(Op::Colon)) {
            return Err(Diagnostic::error(self.span(), "`:` is missing after `?` in the condition"));
        }
        self.at += 1;
        let no = self.conditional(live && choice == 0)?;
        self.depth -= 1;
        Ok(if choice != 0 { yes } else { no })
    }

    fn nest(&mut self) -> Result<(), Diagnostic> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Diagnostic::error(self.span(), "the condition is nested too deeply"));
        }
        Ok(())
    }

    /// Operators from `least` on. `live` is false where C would not evaluate.
    fn binary(&mut self, least: u8, live: bool) -> Result<i64, Diagnostic> {
        let mut left = self.unary(live)?;
        while let Some(Tok::Op(op)) = self.peek() {
            let op = *op;
            let Some(level) = level(op) else { break };
            if level < least {
                break;
            }
            let span = self.span();
            self.at += 1;
            let needed = match op {
                Op::AndAnd => left != 0,
                Op::OrOr => left == 0,
                _ => true,
            };
            let right = self.binary(level + 1, live && needed)?;
            left =
                apply(op, left, right).or(if live { None } else { Some(0) }).ok_or_else(|| Diagnostic::error(span, "division by zero"))?;
        }
        Ok(left)
    }

    fn unary(&mut self, live: bool) -> Result<i64, Diagnostic> {
        self.nest()?;
        let token = self.peek().cloned();
        let span = self.span();
        self.at += 1;
        let value = match token {
            Some(Tok::Number(n)) => i64::from(n),
            Some(Tok::Key(Key::True | Key::Skip)) => 1,
            Some(Tok::Name(_) | Tok::Key(_)) => 0,
            Some(Tok::Op(Op::Bang)) => i64::from(self.unary(live)? == 0),
            Some(Tok::Op(Op::Minus)) => self.unary(live)?.wrapping_neg(),
            Some(Tok::Op(Op::Plus)) => self.unary(live)?,
            Some(Tok::Op(Op::Tilde)) => !self.unary(live)?,
            Some(Tok::Op(Op::LParen)) => {
                let value = self.conditional(live)?;
                if self.peek() != Some(&Tok::Op(Op::RParen)) {
                    return Err(Diagnostic::error(self.span(), "`)` is missing in the condition"));
                }
                self.at += 1;
                value
            }
            Some(other) => {
                return Err(unexpected(&other, span));
            }
            None => return Err(Diagnostic::error(self.place, "the condition is incomplete")),
        };
        self.depth -= 1;
        Ok(value)
    }
}

fn level(op: Op) -> Option<u8> {
    Some(match op {
        Op::OrOr => 1,
        Op::AndAnd => 2,
        Op::Pipe => 3,
        Op::Caret => 4,
        Op::Amp => 5,
        Op::EqEq | Op::Ne => 6,
        Op::Lt | Op::Gt | Op::Le | Op::Ge => 7,
        Op::Shl | Op::Shr => 8,
        Op::Plus | Op::Minus => 9,
        Op::Star | Op::Slash | Op::Percent => 10,
        _ => return None,
    })
}

fn apply(op: Op, a: i64, b: i64) -> Option<i64> {
    let truth = |t: bool| Some(i64::from(t));
    match op {
        Op::OrOr => truth(a != 0 || b != 0),
        Op::AndAnd => truth(a != 0 && b != 0),
        Op::Pipe => Some(a | b),
        Op::Caret => Some(a ^ b),
        Op::Amp => Some(a & b),
        Op::EqEq => truth(a == b),
        Op::Ne => truth(a != b),
        Op::Lt => truth(a < b),
        Op::Gt => truth(a > b),
        Op::Le => truth(a <= b),
        Op::Ge => truth(a >= b),
        Op::Shl => Some(a.wrapping_shl(b as u32)),
        Op::Shr => Some(a.wrapping_shr(b as u32)),
        Op::Plus => Some(a.wrapping_add(b)),
        Op::Minus => Some(a.wrapping_sub(b)),
        Op::Star => Some(a.wrapping_mul(b)),
        Op::Slash => a.checked_div(b),
        Op::Percent => a.checked_rem(b),
        _ => None,
    }
}
