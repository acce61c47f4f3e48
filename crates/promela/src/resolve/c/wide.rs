//! Conversions between types of numbers, and arithmetic on 64 bits.
//!
//! The machine computes with 32 bits, so a number of 64 bits is a pair. A number whose high half
//! only repeats the sign of the low one has no high half in the code, which is what most are.

use super::expression::{Value, binary, int, is_const, is_truth, number_of, sign, unary, upper};
use super::types::{CType, Number};
use super::{Lower, Stop};
use crate::ast::{Binary, Unary};
use crate::model::Ex;
use lang_c::ast::Expression;
use lang_c::span::{Node as CNode, Span as CSpan};

/// The value with all its bits, if it is known when the model is read.
pub(super) fn known(value: &Value) -> Option<u64> {
    let low = is_const(&value.ex)? as u32;
    let high = is_const(&upper(value))? as u32;
    Some(u64::from(high) << 32 | u64::from(low))
}

pub(super) fn below(a: Ex, b: Ex) -> Ex {
    let flip = |ex| binary(Binary::BitXor, ex, Ex::Const(i32::MIN));
    binary(Binary::Lt, flip(a), flip(b))
}

fn either(condition: Ex, yes: Ex, no: Ex) -> Ex {
    match condition {
        Ex::Const(0) => no,
        Ex::Const(_) => yes,
        condition => Ex::Conditional(Box::new(condition), Box::new(yes), Box::new(no)),
    }
}

impl Lower<'_, '_> {
    /// Whether a value is not zero, as a number of 32 bits that is not zero then.
    pub(super) fn truth(&mut self, value: Value, at: CSpan) -> Result<Ex, Stop> {
        match (value.number, value.high) {
            (Number::F32 | Number::F64, high) => {
                // Both zeros are false.
                let top = binary(Binary::Shl, high.clone().unwrap_or_else(|| value.ex.clone()), Ex::Const(1));
                let low = high.map(|_| value.ex);
                _ = at;
                Ok(low.map_or(top.clone(), |low| binary(Binary::BitOr, top, low)))
            }
            (_, Some(high)) => Ok(binary(Binary::BitOr, value.ex, high)),
            (_, None) => Ok(value.ex),
        }
    }

    /// A value converted to a type of values.
    pub(super) fn converted(&mut self, value: Value, to: Number, at: CSpan) -> Result<Value, Stop> {
        let from = value.number;
        if from >= Number::F32 || to >= Number::F32 {
            return self.float_converted(value, to, at);
        }
        let wide = |number: Number| number >= Number::I64;
        Ok(match (wide(from), wide(to)) {
            (true, true) => Value { number: to, ..value },
            (_, false) => Value::of(value.ex, to),
            (false, true) => {
                let small = matches!(value.ex, Ex::Const(n) if n >= 0) || is_truth(&value.ex);
                let high = (from == Number::U32 && !small).then_some(Ex::Const(0));
                Value { ex: value.ex, high, number: to }
            }
        })
    }

    /// The value that a variable of this type holds after the value was stored. The variable itself
    /// keeps the low bits.
    pub(super) fn fitted(&mut self, value: Value, ty: &CType, at: CSpan) -> Result<Value, Stop> {
        let Some(number) = ty.number() else { return Err(self.wrong(at, "only numbers can be converted")) };
        let CType::Int(to) = ty else {
            return match ty {
                CType::Pointer(_) => Ok(Value::of(value.ex, number)),
                _ => self.converted(value, number, at),
            };
        };
        if to.truth {
            let ex = self.truth(value, at)?;
            return Ok(int(if is_truth(&ex) { ex } else { binary(Binary::Ne, ex, Ex::Const(0)) }));
        }
        let value = self.converted(value, number, at)?;
        Ok(match (to.bits, to.signed) {
            (1..=15 | 17..=31, true) => {
                let shift = Ex::Const(32 - i32::from(to.bits));
                Value::of(binary(Binary::Shr, binary(Binary::Shl, value.ex, shift.clone()), shift), number)
            }
            _ => value,
        })
    }

    /// Like `fitted`, for an expression that is used without being stored.
    pub(super) fn cast(&mut self, value: Value, ty: &CType, at: CSpan) -> Result<Value, Stop> {
        let value = self.fitted(value, ty, at)?;
        let CType::Int(to) = ty else { return Ok(value) };
        Ok(match (to.bits, to.signed) {
            (1..=31, false) if !to.truth => {
                let mask = Ex::Const(((1u32 << to.bits) - 1) as i32);
                Value::of(binary(Binary::BitAnd, value.ex, mask), value.number)
            }
            (16, true) => {
                let shift = Ex::Const(16);
                Value::of(binary(Binary::Shr, binary(Binary::Shl, value.ex, shift.clone()), shift), value.number)
            }
            _ => value,
        })
    }

    /// The value of a constant in a variable of a type, by its bits.
    pub(super) fn constant_of(&mut self, e: &CNode<Expression>, ty: &CType) -> Result<i64, Stop> {
        let pure = std::mem::replace(&mut self.pure, true);
        let value = self.value(e).and_then(|value| self.fitted(value, ty, e.span));
        self.pure = pure;
        let bits = known(&value?);
        bits.map(|bits| bits as i64).ok_or_else(|| self.wrong(e.span, "this is not known when the model is read"))
    }

    /// A value as an index or a distance: one that does not fit 32 bits is none.
    pub(super) fn index_of(&mut self, value: Value) -> Ex {
        match value.high {
            None => value.ex,
            Some(high) => {
                let fits = binary(Binary::Eq, high, sign(value.ex.clone()));
                either(fits, value.ex, Ex::Const(i32::MIN))
            }
        }
    }

    pub(super) fn negative(&mut self, value: Value, at: CSpan) -> Result<Value, Stop> {
        match (value.number, value.high.clone()) {
            (Number::F32, _) => Ok(Value::of(binary(Binary::BitXor, value.ex, Ex::Const(i32::MIN)), Number::F32)),
            (Number::F64, Some(high)) => Ok(Value { high: Some(binary(Binary::BitXor, high, Ex::Const(i32::MIN))), ..value }),
            (number @ (Number::I64 | Number::U64), _) => self.arithmetic(Binary::Sub, Value::of(Ex::Const(0), number), value, at),
            (number, _) => Ok(Value::of(unary(Unary::Negate, value.ex), number)),
        }
    }

    /// The halves of a value, each of which may be used several times.
    fn halves(&mut self, value: &Value, at: CSpan) -> Result<(Ex, Ex), Stop> {
        let low = self.reused(value.ex.clone(), at)?;
        let high = match &value.high {
            Some(high) => self.reused(high.clone(), at)?,
            None => upper(&Value::of(low.clone(), value.number)),
        };
        Ok((low, high))
    }

    fn reused(&mut self, ex: Ex, at: CSpan) -> Result<Ex, Stop> {
        if !self.pure {
            return self.held(ex, at);
        }
        // Without variables the text of an expression is repeated, which must stay within bounds.
        if size(&ex) > 400 {
            return Err(self.wrong_with(at, "this is too long for a condition", "compute it in a `c_code` before"));
        }
        Ok(ex)
    }

    /// An operation on two numbers of 64 bits.
    pub(super) fn wide(&mut self, op: Binary, a: Value, b: Value, number: Number, at: CSpan) -> Result<Value, Stop> {
        if let (Some(x), Some(y)) = (known(&a), known(&b))
            && let Some(value) = evaluated(op, x, y, number)
        {
            return Ok(value);
        }
        let narrow = a.high.is_none() && b.high.is_none();
        let truth = |ex| Ok(int(ex));
        match op {
            Binary::BitAnd | Binary::BitOr | Binary::BitXor => {
                let high = (!narrow).then(|| binary(op, upper(&a), upper(&b)));
                Ok(Value { ex: binary(op, a.ex, b.ex), high, number })
            }
            Binary::Eq | Binary::Ne if narrow => truth(binary(op, a.ex, b.ex)),
            Binary::Eq => {
                truth(binary(Binary::And, binary(Binary::Eq, a.ex.clone(), b.ex.clone()), binary(Binary::Eq, upper(&a), upper(&b))))
            }
            Binary::Ne => {
                truth(binary(Binary::Or, binary(Binary::Ne, a.ex.clone(), b.ex.clone()), binary(Binary::Ne, upper(&a), upper(&b))))
            }
            Binary::Gt => self.wide(Binary::Lt, b, a, number, at),
            Binary::Le | Binary::Ge => {
                let (a, b) = if op == Binary::Le { (b, a) } else { (a, b) };
                let less = self.wide(Binary::Lt, a, b, number, at)?;
                truth(unary(Unary::Not, less.ex))
            }
            Binary::Lt if narrow && number == Number::I64 => truth(binary(Binary::Lt, a.ex, b.ex)),
            Binary::Lt if narrow => truth(below(a.ex, b.ex)),
            Binary::Lt => {
                let ((al, ah), (bl, bh)) = (self.halves(&a, at)?, self.halves(&b, at)?);
                let same = binary(Binary::Eq, ah.clone(), bh.clone());
                let first = if number == Number::I64 { binary(Binary::Lt, ah, bh) } else { below(ah, bh) };
                truth(either(same, below(al, bl), first))
            }
            Binary::Add => {
                let ((al, ah), (bl, bh)) = (self.halves(&a, at)?, self.halves(&b, at)?);
                let low = self.reused(binary(Binary::Add, al.clone(), bl), at)?;
                let carry = below(low.clone(), al);
                let high = binary(Binary::Add, binary(Binary::Add, ah, bh), carry);
                Ok(Value { ex: low, high: Some(high), number })
            }
            Binary::Sub => {
                let ((al, ah), (bl, bh)) = (self.halves(&a, at)?, self.halves(&b, at)?);
                let borrow = below(al.clone(), bl.clone());
                let high = binary(Binary::Sub, binary(Binary::Sub, ah, bh), borrow);
                Ok(Value { ex: binary(Binary::Sub, al, bl), high: Some(high), number })
            }
            Binary::Mul => {
                let ((al, ah), (bl, bh)) = (self.halves(&a, at)?, self.halves(&b, at)?);
                let top = self.product_above(&al, &bl, at)?;
                let cross = binary(Binary::Add, binary(Binary::Mul, al.clone(), bh), binary(Binary::Mul, ah, bl.clone()));
                Ok(Value { ex: binary(Binary::Mul, al, bl), high: Some(binary(Binary::Add, top, cross)), number })
            }
            _ => {
                let name = match (op, number) {
                    (Binary::Div, Number::I64) => "__divide",
                    (Binary::Div, _) => "__divide_unsigned",
                    (_, Number::I64) => "__remainder",
                    _ => "__remainder_unsigned",
                };
                self.helper(name, vec![Value { number, ..a }, Value { number, ..b }], at)
            }
        }
    }

    /// The high half of the product of two unsigned numbers of 32 bits (Hacker's Delight, section
    /// 8-2).
    fn product_above(&mut self, a: &Ex, b: &Ex, at: CSpan) -> Result<Ex, Stop> {
        let (low, mask) = (|ex: &Ex| binary(Binary::BitAnd, ex.clone(), Ex::Const(0xffff)), Ex::Const(0xffff));
        let top = |ex: Ex| binary(Binary::BitAnd, binary(Binary::Shr, ex, Ex::Const(16)), Ex::Const(0xffff));
        let (a0, a1, b0, b1) = (low(a), top(a.clone()), low(b), top(b.clone()));
        let mul = |a: &Ex, b: &Ex| binary(Binary::Mul, a.clone(), b.clone());
        let k = top(mul(&a0, &b0));
        let t = self.reused(binary(Binary::Add, mul(&a1, &b0), k), at)?;
        let (w1, w2) = (binary(Binary::BitAnd, t.clone(), mask), top(t));
        let t = binary(Binary::Add, mul(&a0, &b1), w1);
        let sum = binary(Binary::Add, mul(&a1, &b1), w2);
        Ok(binary(Binary::Add, sum, top(t)))
    }

    /// A shift of a number of 64 bits.
    pub(super) fn wide_shift(&mut self, op: Binary, a: Value, by: Ex, at: CSpan) -> Result<Value, Stop> {
        let number = a.number;
        if let (Some(bits), Some(by)) = (known(&a), is_const(&by)) {
            let by = by as u32 & 63;
            let bits = match (op, number) {
                (Binary::Shl, _) => bits << by,
                (_, Number::I64) => (bits as i64 >> by) as u64,
                _ => bits >> by,
            };
            return Ok(number_of(bits, number));
        }
        let (low, high) = self.halves(&a, at)?;
        let by = self.reused(binary(Binary::BitAnd, by, Ex::Const(63)), at)?;
        let right = |x: &Ex, n: Ex| {
            // Without the sign: the bits that come from above are cut off.
            let moved = binary(Binary::Shr, x.clone(), n.clone());
            let mask = binary(Binary::Shl, Ex::Const(-1), binary(Binary::Sub, Ex::Const(32), n));
            binary(Binary::BitAnd, moved, unary(Unary::Complement, mask))
        };
        let left = |x: &Ex, n: Ex| binary(Binary::Shl, x.clone(), n);
        let rest = binary(Binary::Sub, Ex::Const(32), by.clone());
        let far = binary(Binary::Sub, by.clone(), Ex::Const(32));
        let signed = number == Number::I64;
        // The machine shifts by the low five bits, so 0 and 32 are cases of their own.
        let (near, far) = match op {
            Binary::Shl => (
                (left(&low, by.clone()), binary(Binary::BitOr, left(&high, by.clone()), right(&low, rest))),
                (Ex::Const(0), left(&low, far)),
            ),
            _ => {
                let own = if signed { binary(Binary::Shr, high.clone(), by.clone()) } else { right(&high, by.clone()) };
                let distant = match signed {
                    true => binary(Binary::Shr, high.clone(), far),
                    false => either(binary(Binary::Eq, far.clone(), Ex::Const(0)), high.clone(), right(&high, far)),
                };
                let fill = if signed { sign(high.clone()) } else { Ex::Const(0) };
                ((binary(Binary::BitOr, right(&low, by.clone()), left(&high, rest)), own), (distant, fill))
            }
        };
        let small = binary(Binary::Lt, by.clone(), Ex::Const(32));
        let none = binary(Binary::Eq, by, Ex::Const(0));
        let choose = |same: Ex, near: Ex, far: Ex| either(none.clone(), same, either(small.clone(), near, far));
        let shifted = Value { ex: choose(low, near.0, far.0), high: Some(choose(high, near.1, far.1)), number };
        let (ex, high) = self.halves(&shifted, at)?;
        Ok(Value { ex, high: Some(high), number })
    }
}

/// The result for known numbers; `None` for a division by zero.
fn evaluated(op: Binary, x: u64, y: u64, number: Number) -> Option<Value> {
    let signed = number == Number::I64;
    let truth = |truth: bool| Some(int(Ex::Const(i32::from(truth))));
    let less = if signed { (x as i64) < (y as i64) } else { x < y };
    let bits = match op {
        Binary::Add => x.wrapping_add(y),
        Binary::Sub => x.wrapping_sub(y),
        Binary::Mul => x.wrapping_mul(y),
        Binary::BitAnd => x & y,
        Binary::BitOr => x | y,
        Binary::BitXor => x ^ y,
        Binary::Div if y == 0 => return None,
        Binary::Rem if y == 0 => return None,
        Binary::Div if signed => (x as i64).wrapping_div(y as i64) as u64,
        Binary::Rem if signed => (x as i64).wrapping_rem(y as i64) as u64,
        Binary::Div => x / y,
        Binary::Rem => x % y,
        Binary::Eq => return truth(x == y),
        Binary::Ne => return truth(x != y),
        Binary::Lt => return truth(less),
        Binary::Ge => return truth(!less),
        Binary::Gt => return truth(!less && x != y),
        Binary::Le => return truth(less || x == y),
        _ => return None,
    };
    Some(number_of(bits, number))
}

/// The parts of an expression, up to a bound.
pub(super) fn size(ex: &Ex) -> usize {
    size_up_to(ex, 1000)
}

/// The number of its parts, counted up to a limit.
pub(super) fn size_up_to(ex: &Ex, most: usize) -> usize {
    let (mut todo, mut count) = (vec![ex], 0);
    while let Some(ex) = todo.pop() {
        count += 1;
        if count > most {
            break;
        }
        match ex {
            Ex::Unary(_, a) | Ex::Within(_, _, a) => todo.push(a),
            Ex::Binary(_, a, b) | Ex::Exact(_, a, b) => todo.extend([&**a, &**b]),
            Ex::Conditional(a, b, c) => todo.extend([&**a, &**b, &**c]),
            Ex::Load(place) => todo.extend(&place.indices),
            _ => {}
        }
    }
    count
}
