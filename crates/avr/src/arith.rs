//! Arithmetic: the effect of each instruction on registers and flags.
//!
//! Flags are computed only where they are alive, and from the operands before the instruction, so
//! the result is stored last. The formulas are those of Microchip's "AVR Instruction Set Manual".

use crate::code::{Code, T0, T1, T2, flag_local, reg};
use crate::insn::{Insn, Logic, One, Product, Reg, flag};
use crate::live::Live;
use bytecode::{LocalId, Op};

/// A second operand.
#[derive(Clone, Copy)]
enum Operand {
    Register(Reg),
    Constant(u8),
}

impl Operand {
    fn get(self, code: &mut Code) {
        match self {
            Operand::Register(r) => code.get(reg(r)),
            Operand::Constant(k) => code.c(k.into()),
        }
    }
}

/// Translates an instruction that only accesses registers and flags. `false` for any other
/// instruction.
pub fn translate(code: &mut Code, insn: &Insn, after: &Live) -> bool {
    match *insn {
        Insn::Nop => {}
        Insn::Add { d, r, carry } => add(code, d, r, carry, after),
        Insn::Sub { d, r, carry } => sub(code, d, Operand::Register(r), carry, true, after),
        Insn::Cp { d, r, carry } => sub(code, d, Operand::Register(r), carry, false, after),
        Insn::SubI { d, k, carry } => sub(code, d, Operand::Constant(k), carry, true, after),
        Insn::CpI { d, k } => sub(code, d, Operand::Constant(k), false, false, after),
        Insn::Logic { op, d, r } => logic(code, op, d, Operand::Register(r), after),
        Insn::LogicI { op, d, k } => logic(code, op, d, Operand::Constant(k), after),
        Insn::Mov { d, r } => {
            code.get(reg(r));
            code.set(reg(d));
        }
        Insn::Movw { d, r } => {
            code.get(reg(r));
            code.get(reg(r + 1));
            code.set(reg(d + 1));
            code.set(reg(d));
        }
        Insn::Ldi { d, k } => {
            code.c(k.into());
            code.set(reg(d));
        }
        Insn::Mul { d, r, how } => mul(code, d, r, how, after),
        Insn::Adiw { d, k } => word(code, d, k.into(), true, after),
        Insn::Sbiw { d, k } => word(code, d, k.into(), false, after),
        Insn::One { op, d } => one(code, op, d, after),
        Insn::Bst { r, bit } => {
            code.get(reg(r));
            code.shr(bit.into());
            code.and(1);
            code.set(flag_local(flag::T));
        }
        Insn::Bld { d, bit } => {
            code.get(reg(d));
            code.and(!(1 << bit) & 0xff);
            code.get(flag_local(flag::T));
            code.shl(bit.into());
            code.op(Op::Or {});
            code.set(reg(d));
        }
        _ => return false,
    }
    true
}

fn alive(after: &Live, bit: u8) -> bool {
    after.flags & 1 << bit != 0
}

/// Z, N, V and S. The result is in T0, possibly with further bits above it, and `overflow` pushes
/// V.
fn result_flags(code: &mut Code, after: &Live, keep_zero: bool, overflow: impl Fn(&mut Code)) {
    let negative = |code: &mut Code| {
        code.push(T0);
        code.shr(7);
        code.and(1);
    };
    if alive(after, flag::S) {
        negative(code);
        overflow(code);
        code.op(Op::Xor {});
        code.set(flag_local(flag::S));
    }
    if alive(after, flag::V) {
        overflow(code);
        code.set(flag_local(flag::V));
    }
    if alive(after, flag::N) {
        negative(code);
        code.set(flag_local(flag::N));
    }
    if alive(after, flag::Z) {
        code.push(T0);
        code.and(0xff);
        code.op(Op::Lnot {});
        if keep_zero {
            code.get(flag_local(flag::Z));
            code.op(Op::And {});
        }
        code.set(flag_local(flag::Z));
    }
}

fn add(code: &mut Code, d: Reg, r: Reg, carry: bool, after: &Live) {
    code.get(reg(d));
    code.get(reg(r));
    code.op(Op::Add {});
    if carry {
        code.get(flag_local(flag::C));
        code.op(Op::Add {});
    }
    code.pop(T0);
    if alive(after, flag::H) {
        // The carry into bit 4 is the difference between the sum and the sum without carries.
        code.get(reg(d));
        code.get(reg(r));
        code.op(Op::Xor {});
        code.push(T0);
        code.op(Op::Xor {});
        code.shr(4);
        code.and(1);
        code.set(flag_local(flag::H));
    }
    result_flags(code, after, false, |code| {
        code.get(reg(d));
        code.push(T0);
        code.op(Op::Xor {});
        code.get(reg(r));
        code.push(T0);
        code.op(Op::Xor {});
        code.op(Op::And {});
        code.shr(7);
        code.and(1);
    });
    if alive(after, flag::C) {
        code.push(T0);
        code.shr(8);
        code.and(1);
        code.set(flag_local(flag::C));
    }
    if after.regs[d as usize] != 0 {
        code.push(T0);
        code.and(0xff);
        code.set(reg(d));
    }
}

fn sub(code: &mut Code, d: Reg, r: Operand, carry: bool, store: bool, after: &Live) {
    code.get(reg(d));
    r.get(code);
    code.op(Op::Sub {});
    if carry {
        code.get(flag_local(flag::C));
        code.op(Op::Sub {});
    }
    code.pop(T0);
    if alive(after, flag::H) {
        code.get(reg(d));
        r.get(code);
        code.op(Op::Xor {});
        code.push(T0);
        code.op(Op::Xor {});
        code.shr(4);
        code.and(1);
        code.set(flag_local(flag::H));
    }
    result_flags(code, after, carry, |code| {
        code.get(reg(d));
        r.get(code);
        code.op(Op::Xor {});
        code.get(reg(d));
        code.push(T0);
        code.op(Op::Xor {});
        code.op(Op::And {});
        code.shr(7);
        code.and(1);
    });
    if alive(after, flag::C) {
        code.push(T0);
        code.c(0);
        code.op(Op::Lt {});
        code.set(flag_local(flag::C));
    }
    if store && after.regs[d as usize] != 0 {
        code.push(T0);
        code.and(0xff);
        code.set(reg(d));
    }
}

fn logic(code: &mut Code, op: Logic, d: Reg, r: Operand, after: &Live) {
    code.get(reg(d));
    r.get(code);
    code.op(match op {
        Logic::And => Op::And {},
        Logic::Or => Op::Or {},
        Logic::Eor => Op::Xor {},
    });
    code.pop(T0);
    result_flags(code, after, false, |code| code.c(0));
    if after.regs[d as usize] != 0 {
        code.push(T0);
        code.and(0xff);
        code.set(reg(d));
    }
}

/// Pushes a register as a factor.
fn factor(code: &mut Code, r: Reg, signed: bool) {
    code.get(reg(r));
    if signed {
        code.c(0x80);
        code.op(Op::Xor {});
        code.c(0x80);
        code.op(Op::Sub {});
    }
}

fn mul(code: &mut Code, d: Reg, r: Reg, how: Product, after: &Live) {
    factor(code, d, how.signed_d);
    factor(code, r, how.signed_r);
    code.op(Op::Mul {});
    code.pop(T0);
    if alive(after, flag::C) {
        code.push(T0);
        code.shr(15);
        code.and(1);
        code.set(flag_local(flag::C));
    }
    if how.fractional {
        code.push(T0);
        code.shl(1);
        code.pop(T0);
    }
    if alive(after, flag::Z) {
        code.push(T0);
        code.and(0xffff);
        code.op(Op::Lnot {});
        code.set(flag_local(flag::Z));
    }
    code.push(T0);
    code.and(0xff);
    code.set(reg(0));
    code.push(T0);
    code.shr(8);
    code.and(0xff);
    code.set(reg(1));
}

/// Pushes a pair of registers.
pub fn pair(code: &mut Code, low: Reg) {
    code.get(reg(low));
    code.get(reg(low + 1));
    code.shl(8);
    code.op(Op::Or {});
}

/// Pops into a pair of registers.
pub fn set_pair(code: &mut Code, low: Reg) {
    code.pop(T2);
    code.push(T2);
    code.and(0xff);
    code.set(reg(low));
    code.push(T2);
    code.shr(8);
    code.and(0xff);
    code.set(reg(low + 1));
}

fn word(code: &mut Code, d: Reg, k: i32, adds: bool, after: &Live) {
    pair(code, d);
    code.pop(T1);
    code.push(T1);
    code.c(k);
    code.op(if adds { Op::Add {} } else { Op::Sub {} });
    code.and(0xffff);
    code.pop(T0);
    // V says that the sign has changed in one direction, C in the other.
    let turns = |code: &mut Code, up: bool| {
        let (from, to) = if up { (T1, T0) } else { (T0, T1) };
        code.push(from);
        code.op(Op::Not {});
        code.push(to);
        code.op(Op::And {});
        code.shr(15);
        code.and(1);
    };
    let negative = |code: &mut Code| {
        code.push(T0);
        code.shr(15);
    };
    if alive(after, flag::S) {
        negative(code);
        turns(code, adds);
        code.op(Op::Xor {});
        code.set(flag_local(flag::S));
    }
    if alive(after, flag::V) {
        turns(code, adds);
        code.set(flag_local(flag::V));
    }
    if alive(after, flag::C) {
        turns(code, !adds);
        code.set(flag_local(flag::C));
    }
    if alive(after, flag::N) {
        negative(code);
        code.set(flag_local(flag::N));
    }
    if alive(after, flag::Z) {
        code.push(T0);
        code.op(Op::Lnot {});
        code.set(flag_local(flag::Z));
    }
    code.push(T0);
    set_pair(code, d);
}

fn one(code: &mut Code, op: One, d: Reg, after: &Live) {
    let value = reg(d);
    let equals = |code: &mut Code, number: i32| {
        code.push(T0);
        code.and(0xff);
        code.c(number);
        code.op(Op::Eq {});
    };
    match op {
        One::Com => {
            code.get(value);
            code.c(0xff);
            code.op(Op::Xor {});
            code.pop(T0);
            result_flags(code, after, false, |code| code.c(0));
            constant_flag(code, after, flag::C, 1);
        }
        One::Neg => {
            code.c(0);
            code.get(value);
            code.op(Op::Sub {});
            code.pop(T0);
            if alive(after, flag::H) {
                code.push(T0);
                code.get(value);
                code.op(Op::Or {});
                code.shr(3);
                code.and(1);
                code.set(flag_local(flag::H));
            }
            result_flags(code, after, false, |code| equals(code, 0x80));
            if alive(after, flag::C) {
                code.push(T0);
                code.c(0);
                code.op(Op::Ne {});
                code.set(flag_local(flag::C));
            }
        }
        One::Inc | One::Dec => {
            let adds = op == One::Inc;
            code.get(value);
            code.c(1);
            code.op(if adds { Op::Add {} } else { Op::Sub {} });
            code.pop(T0);
            result_flags(code, after, false, |code| equals(code, if adds { 0x80 } else { 0x7f }));
        }
        One::Swap => {
            code.get(value);
            code.shr(4);
            code.get(value);
            code.shl(4);
            code.op(Op::Or {});
            code.pop(T0);
        }
        One::Asr | One::Lsr | One::Ror => shift(code, op, value, after),
    }
    code.push(T0);
    code.and(0xff);
    code.set(value);
}

fn shift(code: &mut Code, op: One, value: LocalId, after: &Live) {
    code.get(value);
    code.shr(1);
    match op {
        One::Asr => {
            code.get(value);
            code.and(0x80);
            code.op(Op::Or {});
        }
        One::Ror => {
            code.get(flag_local(flag::C));
            code.shl(7);
            code.op(Op::Or {});
        }
        _ => {}
    }
    code.pop(T0);
    // V is N exclusive-or C, so S is C.
    result_flags(code, after, false, |code| {
        code.push(T0);
        code.shr(7);
        code.get(value);
        code.and(1);
        code.op(Op::Xor {});
    });
    if alive(after, flag::C) {
        code.get(value);
        code.and(1);
        code.set(flag_local(flag::C));
    }
}

/// Sets a flag to a constant, if the flag is alive.
pub fn constant_flag(code: &mut Code, after: &Live, bit: u8, value: i32) {
    if alive(after, bit) {
        code.c(value);
        code.set(flag_local(bit));
    }
}
