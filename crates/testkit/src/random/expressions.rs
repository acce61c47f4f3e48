//! Expressions: code that pushes one value.

use super::statements::Named;
use super::{Expression, Generator};
use bytecode::{Addr, GlobalId, LocalId, Op, ProcessId, Register};

const BINARY: &[Op] = &[
    Op::Add {},
    Op::Sub {},
    Op::Mul {},
    Op::And {},
    Op::Or {},
    Op::Xor {},
    Op::Eq {},
    Op::Ne {},
    Op::Lt {},
    Op::Le {},
    Op::Gt {},
    Op::Ge {},
];

impl Generator {
    fn constant(&mut self) {
        let value = if self.one_in(15) {
            self.pick(&[-1, -2, 255, 256, 32767, 32768, -32768, 65535, i32::MAX, i32::MIN])
        } else {
            self.below(3) as i32
        };
        self.code.push(Op::Ldc { value });
    }

    /// A condition that is often enough true.
    pub(super) fn condition(&mut self, process: usize) {
        match self.below(8) {
            0..=2 => {
                self.load(process);
                self.constant();
                let op = self.pick(&[Op::Eq {}, Op::Ne {}, Op::Le {}, Op::Ge {}]);
                self.code.push(op);
            }
            3 => {
                self.channel(process);
                let op = self.pick(&[Op::Len {}, Op::Empty {}, Op::Full {}]);
                self.code.push(op);
                if self.one_in(2) {
                    self.code.push(Op::Lnot {});
                }
            }
            4 => {
                let value = self.pick(&[1, 1, 1, 0]);
                self.code.push(Op::Ldc { value });
            }
            _ => self.expression(process, 2),
        }
    }

    /// The value of some variable.
    fn load(&mut self, process: usize) {
        let (named, variable) = self.some_variable(process);
        if variable.length.is_some() || self.one_in(12) {
            self.index(process, variable.length.unwrap_or(1));
            self.code.push(match named {
                Named::Global(i) => Op::Ldgx { var: GlobalId(i as u16) },
                Named::Local(i) => Op::Ldlx { var: LocalId(i as u16) },
            });
        } else {
            self.code.push(match named {
                Named::Global(i) => Op::Ldg { var: GlobalId(i as u16) },
                Named::Local(i) => Op::Ldl { var: LocalId(i as u16) },
            });
        }
    }

    /// A process number; mostly one that exists.
    pub(super) fn process_number(&mut self) {
        let value = self.pick(&[0, 0, 1, 1, 2, 2, 3, 7, -1]);
        let op = self.pick(&[Op::Pid {}, Op::Ldc { value }, Op::Ldc { value }]);
        self.code.push(op);
    }

    /// A random expression that nests up to `depth` deep.
    pub(super) fn expression(&mut self, process: usize, depth: usize) {
        if depth == 0 {
            return if self.one_in(2) { self.constant() } else { self.load(process) };
        }
        let swarm = self.swarm.clone();
        let kind = self.weighted(&swarm.expressions);
        match kind {
            Expression::Constant => self.constant(),
            Expression::Binary => {
                self.expression(process, depth - 1);
                self.expression(process, depth - 1);
                let op = self.pick(BINARY);
                self.code.push(op);
            }
            Expression::Shift => {
                self.expression(process, depth - 1);
                let by = self.pick(&[1, 2, 31, 32, 33, -1]);
                self.code.push(Op::Ldc { value: by });
                let op = self.pick(&[Op::Shl {}, Op::Shr {}]);
                self.code.push(op);
            }
            Expression::Unary => {
                self.expression(process, depth - 1);
                let op = self.pick(&[Op::Neg {}, Op::Not {}, Op::Lnot {}]);
                self.code.push(op);
            }
            Expression::Fitting => {
                self.expression(process, depth - 1);
                if self.one_in(3) {
                    let least = self.pick(&[0, -128, i32::MIN]);
                    self.code.push(Op::Range { least, greatest: if least == 0 { 255 } else { 127 } });
                } else {
                    self.expression(process, depth - 1);
                    let op = self.pick(&[Op::Addv {}, Op::Subv {}, Op::Mulv {}]);
                    self.code.push(op);
                }
            }
            Expression::Division => {
                self.expression(process, depth - 1);
                if self.one_in(8) {
                    self.load(process);
                } else {
                    let value = self.pick(&[1, 2, -1, 3]);
                    self.code.push(Op::Ldc { value });
                }
                let op = self.pick(&[Op::Div {}, Op::Mod {}]);
                self.code.push(op);
            }
            Expression::Register if self.written != 0 => {
                let registers: Vec<u8> = (0..32).filter(|r| self.written & (1 << r) != 0).collect();
                let reg = self.pick(&registers);
                self.code.push(Op::Push { reg: Register(reg) });
            }
            Expression::Number => {
                let op = self.pick(&[Op::Pid {}, Op::Nrpr {}, Op::Np {}]);
                self.code.push(op);
            }
            Expression::Last => self.code.push(Op::Last {}),
            Expression::Remote => self.remote(process),
            Expression::Priority => {
                let value = self.below(2) as i32;
                self.code.push(Op::Ldc { value });
                self.code.push(Op::Getprio {});
            }
            Expression::Length => {
                self.channel(process);
                let op = self.pick(&[Op::Len {}, Op::Empty {}, Op::Full {}]);
                self.code.push(op);
            }
            Expression::Poll => {
                let (fields, mask, how) = self.pattern(process);
                self.code.push(Op::Poll { fields, mask, how });
            }
            Expression::Choice if self.splits > 0 => {
                // One of two values, while others may be below on the stack.
                self.splits -= 1;
                let (other, join) = (self.code.place(), self.code.place());
                self.code.to(|target| Op::Ndet { target }, other);
                self.constant();
                self.code.to(|target| Op::Jmp { target }, join);
                self.code.put(other);
                self.constant();
                self.code.put(join);
            }
            Expression::Timeout => self.code.push(Op::Timeout {}),
            Expression::Load | Expression::Register | Expression::Choice => self.load(process),
        }
    }

    /// Questions about other processes.
    fn remote(&mut self, process: usize) {
        self.process_number();
        let ty = self.below(self.program.processes.len());
        match self.below(6) {
            0 | 1 => self.code.push(Op::Enabled {}),
            2 => self.code.push(Op::Pcval {}),
            3 => {
                let hub = self.below(self.hubs[ty].len());
                let place = self.hubs[ty][hub];
                self.code.to(|addr: Addr| Op::At { place: (ProcessId(ty as u8), addr) }, place);
            }
            _ if self.program.processes[ty].locals.is_empty() => self.code.push(Op::Pcval {}),
            _ => {
                let i = self.below(self.program.processes[ty].locals.len());
                let var = (ProcessId(ty as u8), LocalId(i as u16));
                match self.program.processes[ty].locals[i].length {
                    Some(length) => {
                        self.index(process, length);
                        self.code.push(Op::Ldrx { var });
                    }
                    None => self.code.push(Op::Ldr { var }),
                }
            }
        }
    }
}
