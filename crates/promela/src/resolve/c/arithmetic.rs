//! Arithmetic of C on values: lazy operators, overflow, unsigned division and shifts.

use super::expression::{Value, binary, int, is_const, is_truth};
use super::types::{CType, Int, Number};
use super::{Lower, Stop};
use crate::ast::Binary;
use crate::model::Ex;
use lang_c::ast::Expression;
use lang_c::span::{Node as CNode, Span as CSpan};

impl Lower<'_, '_> {
    /// `a && b`, `a || b`.
    pub(super) fn lazy(&mut self, lhs: &CNode<Expression>, rhs: &CNode<Expression>, and: bool, at: CSpan) -> Result<Value, Stop> {
        let a = self.condition(lhs)?;
        match is_const(&a) {
            Some(n) if (n == 0) == and => return Ok(int(Ex::Const(i32::from(!and)))),
            _ => {}
        }
        let before = std::mem::take(&mut self.out);
        let knowledge = self.knowledge();
        let b = self.condition(rhs)?;
        self.know_either(knowledge);
        let code = std::mem::replace(&mut self.out, before);
        let op = if and { Binary::And } else { Binary::Or };
        if code.is_empty() {
            return Ok(int(binary(op, a, b)));
        }
        if is_const(&a).is_some() {
            // The first operand does not decide.
            self.out.extend(code);
            return Ok(int(if is_truth(&b) { b } else { binary(Binary::Ne, b, Ex::Const(0)) }));
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
        if number >= Number::F32 {
            return self.float_arithmetic(op, a, b, at);
        }
        let (a, b) = (self.converted(a, number, at)?, self.converted(b, number, at)?);
        if number >= Number::I64 {
            return self.wide(op, a, b, number, at);
        }
        let (x, y) = (a.ex, b.ex);
        let comparison = matches!(op, Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge);
        let ex = match (number, op) {
            (Number::U32, Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge) => {
                let sign = |ex| binary(Binary::BitXor, ex, Ex::Const(i32::MIN));
                binary(op, sign(x), sign(y))
            }
            (Number::U32, Binary::Div | Binary::Rem) => return self.unsigned_division(op, x, y, at),
            _ => binary(op, x, y),
        };
        Ok(Value::of(ex, if comparison { Number::I32 } else { number }))
    }

    /// Unsigned division by a signed one of half the number (Hacker's Delight, section 9-3).
    fn unsigned_division(&mut self, op: Binary, x: Ex, y: Ex, at: CSpan) -> Result<Value, Stop> {
        let done = |ex| Ok(Value::of(ex, Number::U32));
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
        self.store(&slot, Value::of(ex, Number::U32), at)?;
        Ok(self.load(&slot, at)?.ex)
    }

    fn shift(&mut self, op: Binary, a: Value, b: Value, at: CSpan) -> Result<Value, Stop> {
        if a.number >= Number::F32 || b.number >= Number::F32 {
            return Err(self.wrong(at, "a number with a point cannot be shifted"));
        }
        if a.number >= Number::I64 {
            return self.wide_shift(op, a, b.ex, at);
        }
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
            _ => binary(op, x, by),
        };
        Ok(Value::of(ex, a.number))
    }
}
