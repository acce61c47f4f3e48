//! Unsigned arithmetic by signed operations.
//!
//! The machine's values are signed numbers of 32 bits, and a `UINT32` is stored as the signed
//! number with the same bits. Sums, differences and products have the same bits with and without
//! sign. Overflow, comparison and division differ. Each piece of code here finds its operands on
//! the stack and leaves its result there. The operands are in registers meanwhile, and nothing else
//! is evaluated before they are read again.

use super::{Generator, SPARE};
use crate::tree::Binary;
use bytecode::{Op, Register};

const LEFT: Register = SPARE;
const RIGHT: Register = Register(SPARE.0 - 1);
const RESULT: Register = Register(SPARE.0 - 2);
const CROSS: Register = Register(SPARE.0 - 3);

/// The lower half of a number.
const HALF: i32 = 0xffff;

impl Generator<'_> {
    /// An operation on two numbers without sign.
    pub(super) fn unsigned(&mut self, op: Binary) {
        match op {
            Binary::Equal | Binary::Unequal => self.emit(super::expressions::operation(op)),
            Binary::Less | Binary::LessOrEqual | Binary::Greater | Binary::GreaterOrEqual => {
                self.take_operands();
                self.compare_without_sign(LEFT, RIGHT, super::expressions::operation(op));
            }
            Binary::Add => {
                self.take_operands();
                self.both(Op::Add {});
                self.emit(Op::Pop { reg: RESULT });
                // A sum that is less than one of its operands has overflowed.
                self.compare_without_sign(RESULT, LEFT, Op::Lt {});
                self.fail_if_one();
                self.emit(Op::Push { reg: RESULT });
            }
            Binary::Subtract => {
                self.take_operands();
                self.compare_without_sign(LEFT, RIGHT, Op::Lt {});
                self.fail_if_one();
                self.both(Op::Sub {});
            }
            Binary::Multiply => self.multiply(),
            Binary::Divide => {
                self.take_operands();
                self.quotient();
            }
            Binary::Remainder => {
                self.take_operands();
                self.quotient();
                self.emit(Op::Pop { reg: RESULT });
                self.rest();
            }
            // Conditions and sets are not numbers.
            _ => self.emit(super::expressions::operation(op)),
        }
    }

    fn take_operands(&mut self) {
        self.emit(Op::Pop { reg: RIGHT });
        self.emit(Op::Pop { reg: LEFT });
    }

    /// Pushes both operands, and combines them.
    fn both(&mut self, op: Op) {
        self.emit(Op::Push { reg: LEFT });
        self.emit(Op::Push { reg: RIGHT });
        self.emit(op);
    }

    /// Compares two registers: with their first bits inverted, unsigned numbers have the order of
    /// signed ones.
    fn compare_without_sign(&mut self, a: Register, b: Register, op: Op) {
        for reg in [a, b] {
            self.emit(Op::Push { reg });
            self.constant(i32::MIN);
            self.emit(Op::Xor {});
        }
        self.emit(op);
    }

    /// Raises a fault if the value on top is 1, because the number is too large.
    fn fail_if_one(&mut self) {
        self.emit(Op::Range { least: 0, greatest: 0 });
        self.emit(Op::Drop {});
    }

    /// Pushes a half of a number.
    fn half(&mut self, reg: Register, upper: bool) {
        self.emit(Op::Push { reg });
        if upper {
            self.constant(16);
            self.emit(Op::Shr {});
        }
        self.constant(HALF);
        self.emit(Op::And {});
    }

    /// The product, from the products of halves: at most one of the upper halves may be greater
    /// than 0.
    fn multiply(&mut self) {
        self.take_operands();
        for reg in [LEFT, RIGHT] {
            self.half(reg, true);
            self.constant(0);
            self.emit(Op::Ne {});
        }
        self.emit(Op::And {});
        self.fail_if_one();
        for (position, (a, b)) in [(LEFT, RIGHT), (RIGHT, LEFT)].into_iter().enumerate() {
            self.half(a, true);
            self.half(b, false);
            self.emit(Op::Mul {});
            if position == 1 {
                self.emit(Op::Add {});
            }
        }
        self.emit(Op::Pop { reg: CROSS });
        self.half(CROSS, true);
        self.constant(0);
        self.emit(Op::Ne {});
        self.fail_if_one();
        self.half(LEFT, false);
        self.half(RIGHT, false);
        self.emit(Op::Mul {});
        self.emit(Op::Push { reg: CROSS });
        self.constant(16);
        self.emit(Op::Shl {});
        self.emit(Op::Add {});
        self.emit(Op::Pop { reg: RESULT });
        // The upper half of the product of the lower halves is added to the other product.
        self.emit(Op::Push { reg: CROSS });
        self.constant(16);
        self.emit(Op::Shl {});
        self.emit(Op::Pop { reg: CROSS });
        self.compare_without_sign(RESULT, CROSS, Op::Lt {});
        self.fail_if_one();
        self.emit(Op::Push { reg: RESULT });
    }

    /// Pushes the quotient of the operands.
    fn quotient(&mut self) {
        let (large_divisor, large, exact, end) = (self.mark(), self.mark(), self.mark(), self.mark());
        for (reg, elsewhere) in [(RIGHT, large_divisor), (LEFT, large)] {
            self.emit(Op::Push { reg });
            self.constant(0);
            self.emit(Op::Ge {});
            self.jump_if_zero(elsewhere);
        }
        self.both(Op::Div {});
        self.jump(end);
        // Half of the dividend is divided, and the result doubled; the quotient may be 1 more than
        // that.
        self.place_mark(large);
        self.emit(Op::Push { reg: LEFT });
        self.constant(1);
        self.emit(Op::Shr {});
        self.constant(i32::MAX);
        self.emit(Op::And {});
        self.emit(Op::Push { reg: RIGHT });
        self.emit(Op::Div {});
        self.constant(1);
        self.emit(Op::Shl {});
        self.emit(Op::Pop { reg: RESULT });
        self.rest();
        self.emit(Op::Pop { reg: CROSS });
        self.emit(Op::Push { reg: RESULT });
        self.compare_without_sign(CROSS, RIGHT, Op::Lt {});
        self.jump_if_not_zero(exact);
        self.constant(1);
        self.emit(Op::Add {});
        self.place_mark(exact);
        self.jump(end);
        // If the first bit of the divisor is set, the quotient is 0 or 1.
        self.place_mark(large_divisor);
        self.compare_without_sign(LEFT, RIGHT, Op::Ge {});
        self.place_mark(end);
    }

    /// Pushes the remainder after subtracting the product of result and divisor.
    fn rest(&mut self) {
        self.emit(Op::Push { reg: LEFT });
        self.emit(Op::Push { reg: RESULT });
        self.emit(Op::Push { reg: RIGHT });
        self.emit(Op::Mul {});
        self.emit(Op::Sub {});
    }
}
