//! Constant expressions: array lengths, capacities, priorities, initial values of globals.

use crate::ast::{Binary, Unary};

/// The value of an operator applied to a constant, as the machine computes it.
pub fn unary(op: Unary, a: i32) -> i32 {
    match op {
        Unary::Negate => a.wrapping_neg(),
        Unary::Not => i32::from(a == 0),
        Unary::Complement => !a,
    }
}

/// The value of an operator applied to constants, as the machine computes it; `None` for a division
/// by zero.
pub fn binary(op: Binary, a: i32, b: i32) -> Option<i32> {
    Some(match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::Div if b == 0 => return None,
        Binary::Rem if b == 0 => return None,
        Binary::Div => a.wrapping_div(b),
        Binary::Rem => a.wrapping_rem(b),
        Binary::BitAnd => a & b,
        Binary::BitOr => a | b,
        Binary::BitXor => a ^ b,
        Binary::Shl => a.wrapping_shl(b as u32),
        Binary::Shr => a.wrapping_shr(b as u32),
        Binary::Eq => i32::from(a == b),
        Binary::Ne => i32::from(a != b),
        Binary::Lt => i32::from(a < b),
        Binary::Le => i32::from(a <= b),
        Binary::Gt => i32::from(a > b),
        Binary::Ge => i32::from(a >= b),
        Binary::And => i32::from(a != 0 && b != 0),
        Binary::Or => i32::from(a != 0 || b != 0),
    })
}
