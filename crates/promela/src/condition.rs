//! The expressions of `#if` and `#elif`.
//!
//! The rules are C's: 64-bit integers with and without sign, unary and binary operators, `a ? b :
//! c`, `,`. Any remaining name is zero, including `true`. Operands of `&&`, `||` and `?` that C
//! would not evaluate cause no errors: `defined N && 10 / N` is correct without `N`.

use crate::token::{Op, Tok, Token};
use source::{Diagnostic, Span};

/// The most nested parentheses and unary operators.
const MAX_DEPTH: usize = 200;

/// A value. Its type matters for comparison, division and the shift to the right.
#[derive(Clone, Copy)]
struct Value {
    bits: u64,
    unsigned: bool,
}

impl Value {
    const fn signed(value: i64) -> Value {
        Value { bits: value as u64, unsigned: false }
    }

    fn is_true(self) -> bool {
        self.bits != 0
    }
}

/// The value of a condition, after macros have been expanded and each `defined` replaced by a
/// number.
pub fn evaluate(tokens: &[Token], at: Span) -> Result<bool, Diagnostic> {
    let mut parser = Parser { tokens, at: 0, place: at, depth: 0 };
    let value = parser.list(true)?;
    match parser.tokens.get(parser.at) {
        None => Ok(value.is_true()),
        Some(extra) => Err(unexpected(&extra.kind, extra.span)),
    }
}

fn unexpected(token: &Tok, span: Span) -> Diagnostic {
    match token {
        Tok::Bad(reason) => Diagnostic::error(span, format!("this is {reason}")),
        token => {
            let hint = "a condition consists of numbers, names of macros, `defined NAME` and C's operators";
            Diagnostic::error(span, format!("{token} is not expected here")).with_hint(hint)
        }
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

    /// `a`, or `a, b`, whose value is that of `b`.
    fn list(&mut self, live: bool) -> Result<Value, Diagnostic> {
        let mut value = self.conditional(live)?;
        while self.peek() == Some(&Tok::Op(Op::Comma)) {
            self.at += 1;
            value = self.conditional(live)?;
        }
        Ok(value)
    }

    /// `a`, or `a ? b : c`. `live` is false where C would not evaluate the expression.
    fn conditional(&mut self, live: bool) -> Result<Value, Diagnostic> {
        let choice = self.binary(0, live)?;
        if self.peek() != Some(&Tok::Op(Op::Query)) {
            return Ok(choice);
        }
        self.at += 1;
        self.nest()?;
        let yes = self.list(live && choice.is_true())?;
        if self.peek() != Some(&Tok::Op(Op::Colon)) {
            return Err(
                Diagnostic::error(self.span(), "`:` is missing after `?` in the condition").with_hint("write `condition ? value : value`")
            );
        }
        self.at += 1;
        let no = self.conditional(live && !choice.is_true())?;
        self.depth -= 1;
        let chosen = if choice.is_true() { yes } else { no };
        Ok(Value { unsigned: yes.unsigned || no.unsigned, ..chosen })
    }

    fn nest(&mut self) -> Result<(), Diagnostic> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Diagnostic::error(self.span(), "the condition is nested too deeply"));
        }
        Ok(())
    }

    /// Operators from precedence `least` on. `live` is false where C would not evaluate the
    /// expression.
    fn binary(&mut self, least: u8, live: bool) -> Result<Value, Diagnostic> {
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
                Op::AndAnd => left.is_true(),
                Op::OrOr => !left.is_true(),
                _ => true,
            };
            let right = self.binary(level + 1, live && needed)?;
            left = match apply(op, left, right) {
                Some(value) => value,
                None if live => return Err(Diagnostic::error(span, "division by zero").with_hint("the divisor is 0 here")),
                None => Value::signed(0),
            };
        }
        Ok(left)
    }

    fn unary(&mut self, live: bool) -> Result<Value, Diagnostic> {
        self.nest()?;
        let token = self.peek().cloned();
        let span = self.span();
        self.at += 1;
        let value = match token {
            Some(Tok::Number(n)) => Value::signed(i64::from(n)),
            Some(Tok::Literal(text)) => literal(&text).map_err(|why| Diagnostic::error(span, format!("`{text}` {why}")))?,
            Some(Tok::Name(_) | Tok::Key(_)) => Value::signed(0),
            Some(Tok::Op(Op::Bang)) => Value::signed(i64::from(!self.unary(live)?.is_true())),
            // This is one sign in Promela and two in C.
            Some(Tok::Op(Op::SortedSend)) => Value::signed(i64::from(self.unary(live)?.is_true())),
            Some(Tok::Op(Op::Minus)) => {
                let value = self.unary(live)?;
                Value { bits: value.bits.wrapping_neg(), ..value }
            }
            Some(Tok::Op(Op::Plus)) => self.unary(live)?,
            Some(Tok::Op(Op::Tilde)) => {
                let value = self.unary(live)?;
                Value { bits: !value.bits, ..value }
            }
            Some(Tok::Op(Op::LParen)) => {
                let value = self.list(live)?;
                if self.peek() != Some(&Tok::Op(Op::RParen)) {
                    return Err(Diagnostic::error(self.span(), "`)` is missing in the condition")
                        .with_hint("write `)` where the part in parentheses ends"));
                }
                self.at += 1;
                value
            }
            Some(other) => {
                return Err(unexpected(&other, span));
            }
            None => {
                return Err(Diagnostic::error(self.place, "the condition is incomplete")
                    .with_hint("write a number or the name of a macro at its end"));
            }
        };
        self.depth -= 1;
        Ok(value)
    }
}

/// A number or a quoted character, as C reads it.
fn literal(text: &str) -> Result<Value, &'static str> {
    if let Some(quoted) = text.strip_prefix('\'') {
        return characters(quoted.strip_suffix('\'').unwrap_or(quoted));
    }
    let small = text.to_ascii_lowercase();
    let digits = small.trim_end_matches(['u', 'l']);
    let suffix = &small[digits.len()..];
    if !["", "u", "l", "ul", "lu", "ll", "ull", "llu"].contains(&suffix) {
        return Err("is not a number");
    }
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x', ..] => (16, &digits[2..]),
        [b'0', b'b', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err("is not an integer");
    }
    let bits = u64::from_str_radix(digits, radix).map_err(|_| "does not fit 64 bits")?;
    Ok(Value { bits, unsigned: suffix.contains('u') || bits > i64::MAX as u64 })
}

/// The characters between quotes: each one takes eight bits of the value.
fn characters(text: &str) -> Result<Value, &'static str> {
    let mut value = 0i32;
    let mut chars = text.chars().peekable();
    let mut count = 0;
    while let Some(c) = chars.next() {
        let one = match c {
            '\\' => match chars.next() {
                Some('n') => 10,
                Some('t') => 9,
                Some('r') => 13,
                Some('a') => 7,
                Some('b') => 8,
                Some('f') => 12,
                Some('v') => 11,
                Some('e') => 27,
                Some('x') => {
                    let mut n = 0u32;
                    while let Some(digit) = chars.peek().and_then(|c| c.to_digit(16)) {
                        n = (n << 4 | digit) & 0xff;
                        chars.next();
                    }
                    n
                }
                Some(first @ '0'..='7') => {
                    let mut n = first.to_digit(8).unwrap_or(0);
                    for _ in 0..2 {
                        let Some(digit) = chars.peek().and_then(|c| c.to_digit(8)) else { break };
                        n = n << 3 | digit;
                        chars.next();
                    }
                    n & 0xff
                }
                Some(other) => other as u32,
                None => return Err("is not a character"),
            },
            c => c as u32,
        };
        // A single character has a sign, as in C on most machines.
        value = if count == 0 { i32::from(one as u8 as i8) } else { value << 8 | (one & 0xff) as i32 };
        count += 1;
    }
    if count == 0 { Err("is not a character") } else { Ok(Value::signed(i64::from(value))) }
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

/// The value of an operation; `None` for a division by zero.
fn apply(op: Op, a: Value, b: Value) -> Option<Value> {
    let unsigned = a.unsigned || b.unsigned;
    let truth = |t: bool| Some(Value::signed(i64::from(t)));
    let number = |bits: u64| Some(Value { bits, unsigned });
    let (x, y) = (a.bits, b.bits);
    let (sx, sy) = (x as i64, y as i64);
    let less = if unsigned { x < y } else { sx < sy };
    match op {
        Op::OrOr => truth(x != 0 || y != 0),
        Op::AndAnd => truth(x != 0 && y != 0),
        Op::Pipe => number(x | y),
        Op::Caret => number(x ^ y),
        Op::Amp => number(x & y),
        Op::EqEq => truth(x == y),
        Op::Ne => truth(x != y),
        Op::Lt => truth(less),
        Op::Ge => truth(!less),
        Op::Gt => truth(!less && x != y),
        Op::Le => truth(less || x == y),
        // The type of a shift is that of its left side.
        Op::Shl => Some(Value { bits: x.wrapping_shl(y as u32), ..a }),
        Op::Shr if a.unsigned => Some(Value { bits: x.wrapping_shr(y as u32), ..a }),
        Op::Shr => Some(Value { bits: sx.wrapping_shr(y as u32) as u64, ..a }),
        Op::Plus => number(x.wrapping_add(y)),
        Op::Minus => number(x.wrapping_sub(y)),
        Op::Star => number(x.wrapping_mul(y)),
        Op::Slash | Op::Percent if y == 0 => None,
        Op::Slash if unsigned => number(x / y),
        Op::Percent if unsigned => number(x % y),
        Op::Slash => number(sx.wrapping_div(sy) as u64),
        Op::Percent => number(sx.wrapping_rem(sy) as u64),
        _ => None,
    }
}
