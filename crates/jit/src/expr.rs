//! Native code for expressions.

use crate::emit::{Emitter, Env, field, trusted, view};
use crate::expanded::ProcessAt;
use crate::helpers;
use bytecode::{Fault, FaultKind};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value, types};
use std::mem::offset_of;
use stepgraph::{Binary, ChannelQuery, Expr, ExprId, Unary};

fn comparison(op: Binary) -> Option<IntCC> {
    Some(match op {
        Binary::Eq => IntCC::Equal,
        Binary::Ne => IntCC::NotEqual,
        Binary::Lt => IntCC::SignedLessThan,
        Binary::Le => IntCC::SignedLessThanOrEqual,
        Binary::Gt => IntCC::SignedGreaterThan,
        Binary::Ge => IntCC::SignedGreaterThanOrEqual,
        _ => return None,
    })
}

impl Emitter<'_, '_, '_> {
    /// Jumps to `yes` if the condition is not zero, else to `no`. After a fault, control continues
    /// at `next`.
    pub fn branch(&mut self, condition: ExprId, env: &Env, next: Block, yes: Block, no: Block) {
        let graph = self.graph;
        if self.is_cut_out(condition) {
            let value = self.call_value(condition, env, next);
            self.b.ins().brif(value, yes, &[], no, &[]);
            return;
        }
        match graph.pool().get(condition) {
            Expr::Const(value) => {
                let target = if *value != 0 { yes } else { no };
                self.b.ins().jump(target, &[]);
            }
            Expr::Unary(Unary::Lnot, operand) => self.branch(*operand, env, next, no, yes),
            Expr::Choose(first, then, other) => {
                let side = |e: &mut Self, id: ExprId| match graph.pool().constant(id) {
                    Some(0) => no,
                    Some(_) => yes,
                    None => e.b.create_block(),
                };
                let then_block = side(self, *then);
                let other_block = side(self, *other);
                self.branch(*first, env, next, then_block, other_block);
                for (id, block) in [(*then, then_block), (*other, other_block)] {
                    if graph.pool().constant(id).is_none() {
                        self.b.switch_to_block(block);
                        self.branch(id, env, next, yes, no);
                    }
                }
            }
            Expr::Binary(op, a, b) if comparison(*op).is_some() => {
                let (a, b) = (*a, *b);
                let holds = self.compare(*op, a, b, env, next);
                self.b.ins().brif(holds, yes, &[], no, &[]);
            }
            _ => {
                let value = self.operation(condition, env, next);
                self.b.ins().brif(value, yes, &[], no, &[]);
            }
        }
    }

    fn compare(&mut self, op: Binary, a: ExprId, b: ExprId, env: &Env, next: Block) -> Value {
        let condition = comparison(op).unwrap_or(IntCC::Equal);
        let left = self.expr(a, env, next);
        let right = self.expr(b, env, next);
        self.b.ins().icmp(condition, left, right)
    }

    /// The value of an expression. A fault ends the path, and control continues at `next`.
    pub fn expr(&mut self, id: ExprId, env: &Env, next: Block) -> Value {
        if self.is_cut_out(id) { self.call_value(id, env, next) } else { self.operation(id, env, next) }
    }

    /// The same, compiled into this function.
    fn operation(&mut self, id: ExprId, env: &Env, next: Block) -> Value {
        let graph = self.graph;
        match graph.pool().get(id) {
            Expr::Const(value) => self.int(*value),
            Expr::Temp(temp) => self.temp(*temp, env),
            Expr::Load(var) => {
                let (slot, base) = self.slot(*var, env.dirty);
                self.load(slot.ty, base, slot.offset as i32)
            }
            Expr::Element(var, index, addr) => {
                let element = self.element(*var, *index, *addr, env, next);
                let (ty, base, offset) = self.place_of(*var, element, env.dirty);
                self.load(ty, base, offset)
            }
            Expr::Checked(operand, length, addr) => {
                let value = self.expr(*operand, env, next);
                let limit = self.int(*length as i32);
                let outside = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, value, limit);
                self.fault_if(outside, Fault { kind: FaultKind::Index, addr: *addr }, env, next);
                value
            }
            Expr::Unary(op, operand) => {
                let value = self.expr(*operand, env, next);
                match op {
                    Unary::Neg => self.b.ins().ineg(value),
                    Unary::Not => self.b.ins().bnot(value),
                    Unary::Lnot => {
                        let zero = self.b.ins().icmp_imm_s(IntCC::Equal, value, 0);
                        self.b.ins().uextend(types::I32, zero)
                    }
                }
            }
            Expr::Binary(op, a, b) if comparison(*op).is_some() => {
                let holds = self.compare(*op, *a, *b, env, next);
                self.b.ins().uextend(types::I32, holds)
            }
            Expr::Binary(op, a, b) => {
                let left = self.expr(*a, env, next);
                let right = self.expr(*b, env, next);
                match op {
                    Binary::Add => self.b.ins().iadd(left, right),
                    Binary::Sub => self.b.ins().isub(left, right),
                    Binary::Mul => self.b.ins().imul(left, right),
                    Binary::And => self.b.ins().band(left, right),
                    Binary::Or => self.b.ins().bor(left, right),
                    Binary::Xor => self.b.ins().bxor(left, right),
                    Binary::Shl => self.b.ins().ishl(left, right),
                    _ => self.b.ins().sshr(left, right),
                }
            }
            Expr::Ranged(operand, least, greatest, addr) => {
                let value = self.expr(*operand, env, next);
                let least = self.int(*least);
                let greatest = self.int(*greatest);
                let below = self.b.ins().icmp(IntCC::SignedLessThan, value, least);
                let above = self.b.ins().icmp(IntCC::SignedGreaterThan, value, greatest);
                let outside = self.b.ins().bor(below, above);
                self.fault_if(outside, Fault { kind: FaultKind::Overflow, addr: *addr }, env, next);
                value
            }
            Expr::Fitting(op, a, b, addr) => {
                let left = self.expr(*a, env, next);
                let right = self.expr(*b, env, next);
                let (left, right) = (self.b.ins().sextend(types::I64, left), self.b.ins().sextend(types::I64, right));
                let wide = match op {
                    Binary::Add => self.b.ins().iadd(left, right),
                    Binary::Sub => self.b.ins().isub(left, right),
                    _ => self.b.ins().imul(left, right),
                };
                let result = self.b.ins().ireduce(types::I32, wide);
                let back = self.b.ins().sextend(types::I64, result);
                let lost = self.b.ins().icmp(IntCC::NotEqual, back, wide);
                self.fault_if(lost, Fault { kind: FaultKind::Overflow, addr: *addr }, env, next);
                result
            }
            Expr::Div(a, b, addr) => self.divide(*a, *b, *addr, env, next, true),
            Expr::Mod(a, b, addr) => self.divide(*a, *b, *addr, env, next, false),
            Expr::Choose(condition, then, other) => {
                let yes = self.b.create_block();
                let no = self.b.create_block();
                let joined = self.b.create_block();
                let result = self.b.append_block_param(joined, types::I32);
                self.branch(*condition, env, next, yes, no);
                for (block, side) in [(yes, *then), (no, *other)] {
                    self.b.switch_to_block(block);
                    let value = self.expr(side, env, next);
                    self.b.ins().jump(joined, &[BlockArg::Value(value)]);
                }
                self.b.switch_to_block(joined);
                result
            }
            Expr::Pid => self.pid,
            Expr::ProcessCount => self.process_count(env),
            Expr::Last => match self.program.layout().last {
                Some(at) => {
                    let memory = self.memory(env);
                    self.b.ins().uload8(types::I32, trusted(), memory, at as i32)
                }
                None => self.int(0),
            },
            Expr::Timeout => self.timeout(),
            Expr::NoProgress => {
                let memory = self.memory(env);
                let count = self.process_count(env);
                self.call("no_progress", &[self.ctx, memory, count])
            }
            Expr::Enabled(operand) => {
                let number = self.expr(*operand, env, next);
                let memory = self.memory(env);
                let len = self.present_length(env);
                let timeout = self.timeout();
                self.call("enabled", &[self.ctx, memory, len, number, timeout])
            }
            Expr::LocationOf(operand) => {
                let found = self.whereabouts(*operand, env, next);
                let missing = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, found, 0);
                let location = self.b.ins().band_imm_s(found, 0xffff);
                let zero = self.int(0);
                self.b.ins().select(missing, zero, location)
            }
            Expr::IsAt(operand, ty, location) => {
                let found = self.whereabouts(*operand, env, next);
                let wanted = location.map_or(-2, |l| (ty.0 as i64) << 16 | l.0 as i64);
                let there = self.b.ins().icmp_imm_s(IntCC::Equal, found, wanted);
                self.b.ins().uextend(types::I32, there)
            }
            Expr::Remote(operand, ty, var) => {
                let slot = self.program.layout().processes[ty.index()].locals[var.index()];
                let number = self.expr(*operand, env, next);
                let zero = self.b.ins().iconst(types::I64, 0);
                self.remote(number, ty.0, slot, zero, env)
            }
            Expr::RemoteElement(operand, ty, var, index, addr) => {
                let slot = self.program.layout().processes[ty.index()].locals[var.index()];
                let number = self.expr(*operand, env, next);
                let index = self.expr(*index, env, next);
                let length = self.int(slot.elements as i32);
                let outside = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, length);
                self.fault_if(outside, Fault { kind: FaultKind::Index, addr: *addr }, env, next);
                let wide = self.b.ins().uextend(types::I64, index);
                let skip = self.b.ins().imul_imm_s(wide, slot.ty.width() as i64);
                self.remote(number, ty.0, slot, skip, env)
            }
            Expr::Priority(operand) => {
                let number = self.expr(*operand, env, next);
                let count = self.process_count(env);
                let at = self.call("priority_at", &[self.ctx, count, number]);
                self.load_if_found(at, bytecode::Type::Byte, env)
            }
            Expr::Channel(query, channel, addr) => self.channel_query(*query, *channel, *addr, env, next),
            Expr::Poll { channel, fields, mask, wanted, how, addr } => {
                let number = self.expr(*channel, env, next);
                let values: Vec<Value> = wanted.iter().map(|e| self.expr(*e, env, next)).collect();
                for (i, value) in values.iter().enumerate() {
                    self.b.ins().store(trusted(), *value, self.ctx, field!(values) + 4 * i as i32);
                }
                let answer = self.find(number, *fields, mask.0, *how as u32 | helpers::POLL, *addr, env, next);
                let found = self.b.ins().icmp_imm_s(IntCC::Equal, answer, helpers::BUFFERED as i64);
                self.b.ins().uextend(types::I32, found)
            }
        }
    }

    /// I-DIV.
    fn divide(&mut self, a: ExprId, b: ExprId, addr: bytecode::Addr, env: &Env, next: Block, quotient: bool) -> Value {
        let left = self.expr(a, env, next);
        let right = self.expr(b, env, next);
        match self.graph.pool().constant(b) {
            // No check is needed: native division is right for these.
            Some(divisor) if divisor != 0 && divisor != -1 => {}
            _ => {
                let zero = self.b.ins().icmp_imm_s(IntCC::Equal, right, 0);
                self.fault_if(zero, Fault { kind: FaultKind::Division, addr }, env, next);
                // The least integer by −1 overflows in hardware: divide by 1 instead and negate.
                let minus = self.b.ins().icmp_imm_s(IntCC::Equal, right, -1);
                let one = self.int(1);
                let divisor = self.b.ins().select(minus, one, right);
                if !quotient {
                    return self.b.ins().srem(left, divisor);
                }
                let divided = self.b.ins().sdiv(left, divisor);
                let negated = self.b.ins().ineg(divided);
                return self.b.ins().select(minus, negated, divided);
            }
        }
        if quotient { self.b.ins().sdiv(left, right) } else { self.b.ins().srem(left, right) }
    }

    /// A process by its number: whether there is none, and the address of its description. That of
    /// some other process is given if there is none, so that it can be read in any case.
    fn description(&mut self, number: Value, env: &Env) -> (Value, Value) {
        let count = self.process_count(env);
        let missing = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, number, count);
        let zero = self.int(0);
        let number = self.b.ins().select(missing, zero, number);
        let wide = self.b.ins().uextend(types::I64, number);
        let skip = self.b.ins().imul_imm_s(wide, size_of::<ProcessAt>() as i64);
        let processes = self.b.ins().load(types::I64, trusted(), self.ctx, view!(processes));
        (missing, self.b.ins().iadd(processes, skip))
    }

    /// Type and location of a process, as `type << 16 | location`; −1 if there is none.
    fn whereabouts(&mut self, operand: ExprId, env: &Env, next: Block) -> Value {
        // As long as nothing is written, the answer stays the same.
        let known = self.graph.pool().constant(operand).filter(|_| !env.dirty).zip(self.b.current_block());
        match (known, self.located) {
            (Some((number, block)), Some((in_block, located, value))) if (block, number) == (in_block, located) => return value,
            _ => {}
        }
        let value = self.find_whereabouts(operand, env, next);
        if let Some((number, block)) = known {
            self.located = Some((block, number, value));
        }
        value
    }

    fn find_whereabouts(&mut self, operand: ExprId, env: &Env, next: Block) -> Value {
        let number = self.expr(operand, env, next);
        let (missing, process) = self.description(number, env);
        let mut part = |offset: usize| self.b.ins().load(types::I32, trusted(), process, offset as i32);
        let location = part(offset_of!(ProcessAt, location));
        let mask = part(offset_of!(ProcessAt, mask));
        let ty = part(offset_of!(ProcessAt, ty));
        // The first bytes of a state are there in any case.
        let zero = self.int(0);
        let at = self.b.ins().select(missing, zero, location);
        let wide = self.b.ins().uextend(types::I64, at);
        let memory = self.memory(env);
        let place = self.b.ins().iadd(memory, wide);
        let bytes = self.b.ins().uload16(types::I32, trusted(), place, 0);
        let found = self.b.ins().band(bytes, mask);
        let high = self.b.ins().ishl_imm_u(ty, 16);
        let found = self.b.ins().bor(found, high);
        let none = self.int(-1);
        self.b.ins().select(missing, none, found)
    }

    /// A local of another process: 0 if it does not exist.
    fn remote(&mut self, number: Value, ty: u8, slot: bytecode::Slot, skip: Value, env: &Env) -> Value {
        let (missing, process) = self.description(number, env);
        let found = self.b.ins().load(types::I32, trusted(), process, offset_of!(ProcessAt, ty) as i32);
        let another = self.b.ins().icmp_imm_s(IntCC::NotEqual, found, i64::from(ty));
        let missing = self.b.ins().bor(missing, another);
        let offset = self.b.ins().load(types::I32, trusted(), process, offset_of!(ProcessAt, offset) as i32);
        let wide = self.b.ins().uextend(types::I64, offset);
        let at = self.b.ins().iadd(wide, skip);
        let at = self.b.ins().iadd_imm_s(at, slot.offset as i64);
        // The first bytes of a state are there in any case.
        let none = self.b.ins().iconst(types::I64, 0);
        let at = self.b.ins().select(missing, none, at);
        let memory = self.memory(env);
        let place = self.b.ins().iadd(memory, at);
        let value = self.load(slot.ty, place, 0);
        let zero = self.int(0);
        self.b.ins().select(missing, zero, value)
    }

    /// The value at an offset, or 0 if the offset is negative.
    fn load_if_found(&mut self, at: Value, ty: bytecode::Type, env: &Env) -> Value {
        let missing = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, at, 0);
        let found = self.b.create_block();
        let joined = self.b.create_block();
        let result = self.b.append_block_param(joined, types::I32);
        let zero = self.int(0);
        self.b.ins().brif(missing, joined, &[BlockArg::Value(zero)], found, &[]);
        self.b.switch_to_block(found);
        let memory = self.memory(env);
        let place = self.b.ins().iadd(memory, at);
        let value = self.load(ty, place, 0);
        self.b.ins().jump(joined, &[BlockArg::Value(value)]);
        self.b.switch_to_block(joined);
        result
    }

    fn channel_query(&mut self, query: ChannelQuery, channel: ExprId, addr: bytecode::Addr, env: &Env, next: Block) -> Value {
        let number = self.graph.pool().constant(channel).and_then(|n| usize::try_from(n).ok());
        let known = number.and_then(|n| self.program.layout().channels.get(n.checked_sub(1)?).copied());
        if let Some((ty, at)) = known {
            let capacity = self.program.layout().channel_types[ty.index()].capacity;
            let held = if capacity == 0 {
                self.int(0)
            } else {
                let memory = self.memory(env);
                self.b.ins().uload8(types::I32, trusted(), memory, at as i32)
            };
            let compared = match query {
                ChannelQuery::Length => return held,
                ChannelQuery::Empty => self.b.ins().icmp_imm_s(IntCC::Equal, held, 0),
                ChannelQuery::Full if capacity == 0 => return self.int(0),
                ChannelQuery::Full => self.b.ins().icmp_imm_s(IntCC::Equal, held, capacity as i64),
            };
            return self.b.ins().uextend(types::I32, compared);
        }
        let number = self.expr(channel, env, next);
        let memory = self.memory(env);
        let count = self.channel_count(env);
        let query = self.int(match query {
            ChannelQuery::Length => 0,
            ChannelQuery::Empty => 1,
            ChannelQuery::Full => 2,
        });
        let at = self.int(addr.0 as i32);
        let answer = self.call("channel_query", &[self.ctx, memory, count, number, query, at]);
        let failed = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, answer, 0);
        let code = self.b.ins().ineg(answer);
        let code = self.b.ins().ireduce(types::I32, code);
        self.fault_with(failed, code, env, next);
        self.b.ins().ireduce(types::I32, answer)
    }
}
