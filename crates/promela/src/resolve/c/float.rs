//! Numbers with a point, by their bits (IEEE 754).
//!
//! The machine has whole numbers only, so `double` is two of them, and its operations are functions
//! on bits, written in C (`float.txt`) and expanded like the model's own. They round to the
//! nearest, as processors do. `float` is computed as `double` and rounded once more, which gives
//! the same as rounding once. Functions such as `sin`, whose last digits depend on the library, are
//! refused.

use super::call::Given;
use super::expression::{Argument, Value, int, number_of, unary};
use super::types::Number;
use super::wide::known;
use super::{Lower, Stop};
use crate::ast::{Binary, Unary};
use lang_c::ast::{Expression, Float, FloatBase, FloatFormat};
use lang_c::span::{Node as CNode, Span as CSpan};

/// The operations.
pub(super) const OPERATIONS: &str = include_str!("float.txt");

impl Lower<'_, '_> {
    /// A call of a function of ours that the text does not name.
    pub(super) fn helper(&mut self, name: &str, arguments: Vec<Value>, at: CSpan) -> Result<Value, Stop> {
        let function = self.written_in_c(name, None).ok_or(Stop)?;
        let function = self.at_call(&function, at);
        let passed = arguments.into_iter().map(Argument::Value).collect();
        match self.expanded(&function, passed, at)? {
            Given::Value(value) => Ok(value),
            _ => Err(Stop),
        }
    }

    pub(super) fn float_literal(&mut self, float: &Float, at: CSpan) -> Result<Value, Stop> {
        let double = matches!(float.suffix.format, FloatFormat::Double);
        let single = matches!(float.suffix.format, FloatFormat::Float);
        if float.base != FloatBase::Decimal || float.suffix.imaginary || !(double || single) {
            return Err(self.wrong(at, "this kind of number is not supported"));
        }
        match single {
            true => match float.number.parse::<f32>() {
                Ok(value) => Ok(number_of(u64::from(value.to_bits()), Number::F32)),
                Err(_) => Err(self.wrong(at, "this is not a number")),
            },
            false => match float.number.parse::<f64>() {
                Ok(value) => Ok(number_of(value.to_bits(), Number::F64)),
                Err(_) => Err(self.wrong(at, "this is not a number")),
            },
        }
    }

    /// A conversion from or to a number with a point.
    pub(super) fn float_converted(&mut self, value: Value, to: Number, at: CSpan) -> Result<Value, Stop> {
        let from = value.number;
        if from == to {
            return Ok(value);
        }
        if let Some(bits) = known(&value) {
            return Ok(converted_bits(bits, from, to));
        }
        let bits = |value: Value, number: Number| Value { number, ..value };
        let double = match from {
            Number::F64 => value,
            Number::F32 => bits(self.helper("__widen", vec![bits(value, Number::U32)], at)?, Number::F64),
            Number::U64 => bits(self.helper("__from_ulong", vec![value], at)?, Number::F64),
            _ => {
                let long = self.converted(value, Number::I64, at)?;
                bits(self.helper("__from_long", vec![long], at)?, Number::F64)
            }
        };
        match to {
            Number::F64 => Ok(double),
            Number::F32 => Ok(bits(self.helper("__narrow", vec![bits(double, Number::U64)], at)?, Number::F32)),
            Number::U64 => self.helper("__to_ulong", vec![bits(double, Number::U64)], at),
            _ => {
                let long = self.helper("__to_long", vec![bits(double, Number::U64)], at)?;
                self.converted(long, to, at)
            }
        }
    }

    pub(super) fn float_arithmetic(&mut self, op: Binary, a: Value, b: Value, at: CSpan) -> Result<Value, Stop> {
        let number = a.number.max(b.number);
        let (a, b) = (self.converted(a, Number::F64, at)?, self.converted(b, Number::F64, at)?);
        if let (Some(x), Some(y)) = (known(&a), known(&b))
            && let Some(value) = evaluated(op, f64::from_bits(x), f64::from_bits(y))
        {
            return if value.number == Number::F64 { self.converted(value, number, at) } else { Ok(value) };
        }
        let bits = |value: Value| Value { number: Number::U64, ..value };
        let not = |value: Value| int(unary(Unary::Not, value.ex));
        let name = match op {
            Binary::Add | Binary::Sub => "__add",
            Binary::Mul => "__multiply",
            Binary::Div => "__quotient",
            Binary::Lt => return self.helper("__less", vec![bits(a), bits(b)], at),
            Binary::Gt => return self.helper("__less", vec![bits(b), bits(a)], at),
            Binary::Le => return self.helper("__least", vec![bits(a), bits(b)], at),
            Binary::Ge => return self.helper("__least", vec![bits(b), bits(a)], at),
            Binary::Eq => return self.helper("__same", vec![bits(a), bits(b)], at),
            Binary::Ne => return self.helper("__same", vec![bits(a), bits(b)], at).map(not),
            _ => return Err(self.wrong(at, "this operator is for whole numbers")),
        };
        let b = if op == Binary::Sub { self.negative(b, at)? } else { b };
        let result = self.helper(name, vec![bits(a), bits(b)], at)?;
        self.converted(Value { number: Number::F64, ..result }, number, at)
    }

    /// A function of C's library for numbers with a point; `None` if it is no such function.
    pub(super) fn mathematical(&mut self, name: &str, arguments: &[CNode<Expression>], at: CSpan) -> Result<Option<Value>, Stop> {
        let known = ["sqrt", "floor", "ceil", "trunc", "round", "fmin", "fmax", "fabs", "isnan"];
        let (base, number) = match name.strip_suffix('f').filter(|base| known.contains(base)) {
            Some(base) => (base, Number::F32),
            None => (name, Number::F64),
        };
        let wanted = if matches!(base, "fmin" | "fmax") { 2 } else { 1 };
        if !known.contains(&base) || arguments.len() != wanted {
            return Ok(None);
        }
        let mut passed = Vec::new();
        for argument in arguments {
            let value = self.value(argument)?;
            let value = self.converted(value, number, at)?;
            let value = self.converted(value, Number::F64, at)?;
            passed.push(Value { number: Number::U64, ..value });
        }
        if base == "isnan" {
            let same = self.helper("__same", vec![passed[0].clone(), passed[0].clone()], at)?;
            return Ok(Some(int(unary(Unary::Not, same.ex))));
        }
        let result = match base {
            "fabs" => {
                let value = &passed[0];
                let high = super::expression::binary(Binary::BitAnd, super::expression::upper(value), crate::model::Ex::Const(i32::MAX));
                Value { high: Some(high), ..value.clone() }
            }
            _ => self.helper(&format!("__{base}"), passed, at)?,
        };
        self.converted(Value { number: Number::F64, ..result }, number, at).map(Some)
    }
}

/// 2^63.
const LIMIT: f64 = (1u64 << 63) as f64;

fn converted_bits(bits: u64, from: Number, to: Number) -> Value {
    let value = match from {
        Number::F64 => f64::from_bits(bits),
        Number::F32 => f64::from(f32::from_bits(bits as u32)),
        Number::U64 => bits as f64,
        Number::U32 => f64::from(bits as u32),
        Number::I32 => f64::from(bits as u32 as i32),
        Number::I64 => bits as i64 as f64,
    };
    match to {
        Number::F64 => number_of(value.to_bits(), to),
        Number::F32 => number_of(u64::from((value as f32).to_bits()), to),
        // What does not fit is what the processor gives.
        Number::U64 if value >= LIMIT => number_of(value as u64, to),
        _ if !(-LIMIT..LIMIT).contains(&value) => number_of(1 << 63, Number::I64),
        Number::I64 | Number::U64 => number_of(value as i64 as u64, to),
        _ => number_of(u64::from(value as i64 as u32), to),
    }
}

/// The result for known numbers.
fn evaluated(op: Binary, x: f64, y: f64) -> Option<Value> {
    let truth = |truth: bool| Some(int(crate::model::Ex::Const(i32::from(truth))));
    let value = match op {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::Mul => x * y,
        Binary::Div => x / y,
        Binary::Lt => return truth(x < y),
        Binary::Le => return truth(x <= y),
        Binary::Gt => return truth(x > y),
        Binary::Ge => return truth(x >= y),
        Binary::Eq => return truth(x == y),
        Binary::Ne => return truth(x != y),
        _ => return None,
    };
    Some(number_of(value.to_bits(), Number::F64))
}
