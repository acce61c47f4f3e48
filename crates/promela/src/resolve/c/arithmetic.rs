//! Arithmetic of C on values: lazy operators, overflow, unsigned division and shifts.

use super::expression::{Value, binary, exact, int, is_const, is_truth, within};
use super::types::{CType, Int, Number};
use super::{Lower, Stop};
use crate::ast::Binary;
use crate::model::Ex;
use lang_c::ast::Expression;
use lang_c::span::{Node as CNode, Span as CSpan};

impl Lower<'_, '_> {
    /// `a && b`, `a || b`.
    pub(super) fn lazy(&mut self, lhs: &CNode<Expression>, rhs: &CNode<Expression>, and: bool, at: CSpan) -> Result<Value, Stop> {
        let a = self.value(lhs)?.ex;
        match is_const(&a) {
            Some(n) if (n == 0) == and => return Ok(int(Ex::Const(i32::from(!and)))),
            _ => {}
        }
        let before = std::mem::take(&mut self.out);
        let b = self.value(rhs)?.ex;
        let code = std::mem::replace(&mut self.out, before);
        let op = if and { Binary::And } else { Binary::Or };
        if code.is_empty() {
            return Ok(int(binary(op, a, b)));
        }
        let truth = |ex: Ex| int(if is_truth(&ex) { ex } else { binary(Binary::Ne, ex, Ex::Const(0)) });
        let decided = int(Ex::Const(i32::from(!and)));
        let continued = move |lower: &mut Self| {
            lower.out = code;
            Ok(truth(b))
        };
        match and {
            true => self.choice(a, at, continued, |_| Ok(decided)),
            false => self.choice(a, at, |_| Ok(decided), continued),
        }
    }

    pub(super) fn arithmetic(&mut self, op: Binary, a: Value, b: Value, at: CSpan) -> Result<Value, Stop> {
        if matches!(op, Binary::Shl | Binary::Shr) {
            return self.shift(op, a, b, at);
        }
        let number = a.number.max(b.number);
        let (x, y) = (self.converted(a, number), self.converted(b, number));
        let comparison = matches!(op, Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge);
        let ex = match (number, op) {
            (Number::U32, Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge) => {
                let sign = |ex| binary(Binary::BitXor, ex, Ex::Const(i32::MIN));
                binary(op, sign(x), sign(y))
            }
            (Number::U32, Binary::Div | Binary::Rem) => return self.unsigned_division(op, x, y, at),
            (Number::I64, Binary::Add | Binary::Sub | Binary::Mul) | (Number::U64, Binary::Add | Binary::Mul) => exact(op, x, y),
            (Number::U64, Binary::Sub) => within(0, i32::MAX, exact(op, x, y)),
            (Number::I64, Binary::Div | Binary::Rem) => binary(op, within(-i32::MAX, i32::MAX, x), y),
            _ => binary(op, x, y),
        };
        Ok(Value { ex, number: if comparison { Number::I32 } else { number } })
    }

    /// Unsigned division by a signed one of half the number (Hacker's Delight, section 9-3).
    fn unsigned_division(&mut self, op: Binary, x: Ex, y: Ex, at: CSpan) -> Result<Value, Stop> {
        let done = |ex| Ok(Value { ex, number: Number::U32 });
        if let (Some(a), Some(b)) = (is_const(&x), is_const(&y))
            && b != 0
        {
            let (a, b) = (a as u32, b as u32);
            return done(Ex::Const(if op == Binary::Div { a / b } else { a % b } as i32));
        }
        let (x, y) = if self.pure { (x, y) } else { (self.held(x, at)?, self.held(y, at)?) };
        let half = binary(Binary::BitAnd, binary(Binary::Shr, x.clone(), Ex::Const(1)), Ex::Const(i32::MAX));
        let about = binary(Binary::Shl, binary(Binary::Div, half, y.clone()), Ex::Const(1));
        let rest = binary(Binary::Sub, x.clone(), binary(Binary::Mul, about.clone(), y.clone()));
        let sign = |ex| binary(Binary::BitXor, ex, Ex::Const(i32::MIN));
        let more = binary(Binary::Ge, sign(rest), sign(y.clone()));
        let quotient = binary(Binary::Add, about, more);
        // A divisor above the largest signed number is contained at most once in the dividend.
        let once = binary(Binary::Ge, sign(x.clone()), sign(y.clone()));
        let large = binary(Binary::Lt, y.clone(), Ex::Const(0));
        let quotient = Ex::Conditional(Box::new(large), Box::new(once), Box::new(quotient));
        match op {
            Binary::Div => done(quotient),
            _ => done(binary(Binary::Sub, x, binary(Binary::Mul, quotient, y))),
        }
    }

    /// The value in a variable, if it is used several times.
    pub(super) fn held(&mut self, ex: Ex, at: CSpan) -> Result<Ex, Stop> {
        if matches!(ex, Ex::Const(_) | Ex::Load(_)) {
            return Ok(ex);
        }
        let slot = self.temporary(&CType::Int(Int::new(32, false)), at)?;
        self.store(&slot, Value { ex, number: Number::U32 }, at)?;
        Ok(self.load(&slot, at)?.ex)
    }

    fn shift(&mut self, op: Binary, a: Value, b: Value, at: CSpan) -> Result<Value, Stop> {
        let (x, by) = (a.ex, b.ex);
        let ex = match (a.number, op) {
            (Number::U32, Binary::Shr) => match is_const(&by) {
                Some(0) => x,
                Some(n) => binary(Binary::BitAnd, binary(Binary::Shr, x, Ex::Const(n)), Ex::Const((u32::MAX >> (n & 31)) as i32)),
                None => {
                    let mask = binary(Binary::Shr, Ex::Const(i32::MAX), binary(Binary::Sub, by.clone(), Ex::Const(1)));
                    let moved = binary(Binary::BitAnd, binary(Binary::Shr, x.clone(), by.clone()), mask);
                    Ex::Conditional(Box::new(by), Box::new(moved), Box::new(x))
                }
            },
            (Number::I64 | Number::U64, Binary::Shl) => match is_const(&by) {
                Some(n @ 0..=30) => exact(Binary::Mul, x, Ex::Const(1 << n)),
                _ => return Err(self.wrong(at, "a number of 64 bits is shifted only by a number of places from 0 to 30")),
            },
            (Number::I64 | Number::U64, _) => match is_const(&by) {
                Some(n @ 0..=31) => binary(Binary::Shr, x, Ex::Const(n)),
                _ => return Err(self.wrong(at, "a number of 64 bits is shifted only by a number of places from 0 to 31")),
            },
            _ => binary(op, x, by),
        };
        Ok(Value { ex, number: a.number })
    }
}
