//! Arithmetic of LF: in 32 bits, with sign unless an operand is a `UINT32`.

use super::{Operator, UNSIGNED, Value, Var};

/// A fault by its kind, as the machine names it.
pub(super) const OVERFLOW: &str = "Other(\"overflow\")";
pub(super) const DIVISION: &str = "DivisionByZero";

/// Whether a value is computed without sign.
pub(super) fn is_unsigned(value: &Value) -> bool {
    match value {
        Value::Constant(number) => *number > i32::MAX.into(),
        Value::Load(var) => *var == Var::Wide(UNSIGNED),
        Value::Cast(ty, _) => *ty == UNSIGNED,
        Value::Element(..) | Value::Deep(..) | Value::Negate(_) | Value::Imported | Value::Letter | Value::Bits => false,
        Value::Binary(_, left, right) => is_unsigned(left) || is_unsigned(right),
        Value::Absolute(operand) => is_unsigned(operand),
    }
}

/// A number that must belong to the numbers of 32 bits with or without sign.
pub(super) fn in_32_bits(number: i64, unsigned: bool) -> Result<i64, &'static str> {
    let fits = if unsigned { u32::try_from(number).is_ok() } else { i32::try_from(number).is_ok() };
    if fits { Ok(number) } else { Err(OVERFLOW) }
}

/// The result of an operator; both operands are numbers of the same kind.
pub(super) fn compute(operator: Operator, a: i64, b: i64, unsigned: bool) -> Result<i64, &'static str> {
    let result = match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        // The product of two numbers without sign may have 64 bits.
        Operator::Multiply => i64::try_from(i128::from(a) * i128::from(b)).unwrap_or(i64::MAX),
        Operator::Divide => a.checked_div(b).ok_or(DIVISION)?,
        Operator::Modulo => a.checked_rem(b).ok_or(DIVISION)?,
    };
    in_32_bits(result, unsigned)
}
