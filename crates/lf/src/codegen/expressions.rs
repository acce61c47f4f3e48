//! Code for expressions.
//!
//! Each expression pushes one value. Arithmetic is in 32 bits and checked: a result that does not
//! fit is a fault, and so is a value that does not fit the type it is stored or cast to.

use super::{Generator, SPARE};
use crate::resolve::range;
use crate::tree::{Binary, Expression, Kind, Type, UNSIGNED};
use bytecode::{Op, Register};

impl Generator<'_> {
    /// Pushes the value of a scalar expression.
    pub(super) fn value(&mut self, expression: &Expression, frame: usize) {
        if self.outside.depends(expression) {
            // The value is any value. Where it decides something, it is not computed.
            return self.constant(0);
        }
        match &expression.kind {
            Kind::Constant(value) => self.constant(*value),
            Kind::Load(place) => {
                let spot = self.spot(place, frame);
                if let Some((cell, of, _)) = self.leaves(&spot).first().cloned() {
                    self.load(&spot, cell, 0, of);
                } else {
                    self.fail(
                        expression.span,
                        "this variable cannot be reached from here",
                        "formulas and properties can use variables of modules",
                    );
                }
            }
            Kind::Not(operand) => {
                self.value(operand, frame);
                self.emit(Op::Lnot {});
            }
            Kind::Complement(operand) => {
                self.value(operand, frame);
                self.emit(Op::Not {});
            }
            Kind::Negate(operand) => {
                self.constant(0);
                self.value(operand, frame);
                self.emit(Op::Subv {});
            }
            Kind::Absolute(operand) => {
                let positive = self.mark();
                self.value(operand, frame);
                self.emit(Op::Pop { reg: SPARE });
                self.emit(Op::Push { reg: SPARE });
                self.emit(Op::Push { reg: SPARE });
                self.constant(0);
                self.emit(Op::Ge {});
                self.jump_if_not_zero(positive);
                self.emit(Op::Drop {});
                self.constant(0);
                self.emit(Op::Push { reg: SPARE });
                self.emit(Op::Subv {});
                self.place_mark(positive);
            }
            Kind::Binary(op @ (Binary::And | Binary::Or), left, right) => {
                let (other, end) = (self.mark(), self.mark());
                self.value(left, frame);
                if *op == Binary::And {
                    self.jump_if_zero(other);
                } else {
                    self.jump_if_not_zero(other);
                }
                self.value(right, frame);
                self.jump(end);
                self.place_mark(other);
                self.constant(i32::from(*op == Binary::Or));
                self.place_mark(end);
            }
            Kind::Binary(Binary::In, left, right) => {
                self.value(right, frame);
                self.value(left, frame);
                self.set_element(32);
                self.emit(Op::Shr {});
                self.constant(1);
                self.emit(Op::And {});
            }
            Kind::Binary(op, left, right) => {
                self.value(left, frame);
                self.value(right, frame);
                if *op == Binary::Difference {
                    self.emit(Op::Not {});
                }
                match op {
                    _ if left.ty == UNSIGNED => self.unsigned(*op),
                    Binary::Divide => self.divide(right),
                    _ => self.emit(operation(*op)),
                }
            }
            Kind::Set(elements) => self.set(elements, frame),
            Kind::Cast(operand) => {
                self.value(operand, frame);
                self.check_range(operand, &expression.ty);
            }
        }
    }

    fn set(&mut self, elements: &[(Expression, Option<Expression>)], frame: usize) {
        self.constant(0);
        for (first, last) in elements {
            match last {
                None => {
                    self.constant(1);
                    self.value(first, frame);
                    self.set_element(32);
                    self.emit(Op::Shl {});
                }
                // All elements from the first on, minus all elements after the last.
                Some(last) => {
                    self.constant(-1);
                    self.value(first, frame);
                    self.set_element(32);
                    self.emit(Op::Shl {});
                    self.constant(-1);
                    self.value(last, frame);
                    self.set_element(32);
                    self.emit(Op::Shl {});
                    self.constant(1);
                    self.emit(Op::Shl {});
                    self.emit(Op::Not {});
                    self.emit(Op::And {});
                }
            }
            self.emit(Op::Or {});
        }
    }

    /// Divides numbers with sign. The least number divided by −1 does not fit, and the machine's
    /// division gives the least number again.
    fn divide(&mut self, divisor: &Expression) {
        let (plain, end) = (self.mark(), self.mark());
        match divisor.kind {
            Kind::Constant(number) if number != -1 => return self.emit(Op::Div {}),
            _ => {}
        }
        let (left, right) = (SPARE, Register(SPARE.0 - 1));
        self.emit(Op::Pop { reg: right });
        self.emit(Op::Pop { reg: left });
        self.emit(Op::Push { reg: right });
        self.constant(-1);
        self.emit(Op::Eq {});
        self.jump_if_zero(plain);
        self.constant(0);
        self.emit(Op::Push { reg: left });
        self.emit(Op::Subv {});
        self.jump(end);
        self.place_mark(plain);
        self.emit(Op::Push { reg: left });
        self.emit(Op::Push { reg: right });
        self.emit(Op::Div {});
        self.place_mark(end);
    }

    /// Raises a fault if the value on top may not fit a type and does not.
    pub(super) fn check_range(&mut self, value: &Expression, ty: &Type) {
        let (least, greatest) = range(ty);
        let fits = match &value.kind {
            Kind::Constant(_) => true,
            // A set and a number of 32 bits have the same bits.
            _ if *ty == UNSIGNED => value.ty == UNSIGNED || value.ty == Type::Set || is_stored(value) && range(&value.ty).0 >= 0,
            _ if value.ty == UNSIGNED => *ty == Type::Set,
            // A stored value fits its type; a computed value may be anything.
            _ if is_stored(value) => {
                let (a, b) = range(&value.ty);
                a >= least && b <= greatest
            }
            _ => (least, greatest) == (i32::MIN.into(), i32::MAX.into()),
        };
        if !fits {
            // A UINT32 above the largest signed number is negative for the machine. It is outside
            // every other type, and a negative number is outside UINT32.
            let least = if value.ty == UNSIGNED { least.max(0) } else { least };
            let signed = |bound: i64| bound.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
            self.emit(Op::Range { least: signed(least), greatest: signed(greatest) });
        }
    }

    /// Pushes a value that is to be stored with a type.
    pub(super) fn value_for(&mut self, value: &Expression, ty: &Type, frame: usize) {
        self.value(value, frame);
        self.check_range(value, ty);
    }
}

/// Whether a value was stored with its type, or cast to it.
fn is_stored(value: &Expression) -> bool {
    matches!(value.kind, Kind::Load(_) | Kind::Cast(_) | Kind::Set(_) | Kind::Not(_) | Kind::Complement(_))
        || matches!(value.kind, Kind::Binary(..)) && !matches!(value.ty, Type::Integer(_))
}

pub(super) fn operation(op: Binary) -> Op {
    match op {
        Binary::Add => Op::Addv {},
        Binary::Subtract => Op::Subv {},
        Binary::Multiply => Op::Mulv {},
        Binary::Divide => Op::Div {},
        Binary::Remainder => Op::Mod {},
        Binary::Equal => Op::Eq {},
        Binary::Unequal => Op::Ne {},
        Binary::Less => Op::Lt {},
        Binary::LessOrEqual => Op::Le {},
        Binary::Greater => Op::Gt {},
        Binary::GreaterOrEqual => Op::Ge {},
        Binary::And | Binary::Intersection | Binary::Difference | Binary::In => Op::And {},
        Binary::Or | Binary::Union => Op::Or {},
        Binary::SymmetricDifference => Op::Xor {},
    }
}
