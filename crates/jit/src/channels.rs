//! Native code for sending and receiving.
//!
//! If the channel is known when the code is made, a FIFO send or receive is inline. All other cases
//! call helpers: one tests the channel, another changes it after the state was copied.

use crate::emit::{Emitter, Env, Kind, TooMuchCode, field, trusted};
use crate::helpers;
use bytecode::Addr;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use stepgraph::{Effect, ExprId, NodeId, Temp};

impl Emitter<'_, '_, '_> {
    /// Code for a send. Returns `false` if the rest of the path was compiled here, once for a
    /// rendezvous and once for a buffer.
    #[allow(clippy::too_many_arguments)]
    pub fn send(
        &mut self,
        channel: ExprId,
        message: &[ExprId],
        sorted: bool,
        addr: Addr,
        after: NodeId,
        env: &mut Env,
        next: Block,
    ) -> Result<bool, TooMuchCode> {
        let known = self.known_channel(channel, message.len());
        let number = self.expr(channel, env, next);
        let values: Vec<Value> = message.iter().map(|e| self.expr(*e, env, next)).collect();
        let layout = self.program.layout();
        if let Some((ty, at)) = known
            && layout.channel_types[ty].claims.is_none()
            && !sorted
        {
            let channel = &layout.channel_types[ty];
            if env.answering || (channel.capacity == 0 && (env.offered || self.kind == Kind::Answer || env.deterministic.is_some())) {
                self.b.ins().jump(next, &[]);
                return Ok(false);
            }
            if channel.capacity == 0 {
                for (i, (field, value)) in channel.fields.iter().zip(&values).enumerate() {
                    let value = self.truncate(field.ty, *value);
                    self.b.ins().store(trusted(), value, self.ctx, field!(offer) + 4 * i as i32);
                }
                self.b.ins().store(trusted(), number, self.ctx, field!(offer_channel));
                env.offered = true;
                return Ok(true);
            }
            let memory = self.memory(env);
            let held = self.b.ins().uload8(types::I32, trusted(), memory, at as i32);
            let room = self.b.ins().icmp_imm_s(IntCC::UnsignedLessThan, held, channel.capacity as i64);
            let go_on = self.b.create_block();
            self.b.ins().brif(room, go_on, &[], next, &[]);
            self.b.switch_to_block(go_on);
            self.write_to_copy(env);
            let dst = self.b.use_var(self.dst);
            let wide = self.b.ins().uextend(types::I64, held);
            let skip = self.b.ins().imul_imm_s(wide, channel.message_size as i64);
            let place = self.b.ins().iadd(dst, skip);
            for (field, value) in channel.fields.iter().zip(&values) {
                self.store(field.ty, *value, place, (at + channel.messages + field.offset) as i32);
            }
            let more = self.b.ins().iadd_imm_s(held, 1);
            self.b.ins().istore8(trusted(), more, dst, at as i32);
            return Ok(true);
        }
        let memory = self.memory(env);
        let count = self.channel_count(env);
        let mut fields = message.len() as u32;
        if env.answering {
            fields |= helpers::NO_SEND;
        }
        if env.offered || self.kind == Kind::Answer || env.deterministic.is_some() {
            fields |= helpers::NO_OFFER;
        }
        let fields = self.int(fields as i32);
        let at = self.int(addr.0 as i32);
        let answer = self.call("can_send", &[self.ctx, memory, count, number, fields, self.pid, at]);
        self.fault_if_large(answer, env, next);
        self.note_fault();
        if env.answering {
            self.b.ins().jump(next, &[]);
            return Ok(false);
        }
        let free = self.b.create_block();
        let buffered = self.b.create_block();
        let offered = self.b.create_block();
        self.b.ins().brif(answer, free, &[], next, &[]);
        self.b.switch_to_block(free);
        let is_offer = self.b.ins().icmp_imm_s(IntCC::Equal, answer, helpers::OFFERED as i64);
        self.b.ins().brif(is_offer, offered, &[], buffered, &[]);
        self.b.switch_to_block(offered);
        if env.offered || self.kind == Kind::Answer || env.deterministic.is_some() {
            self.b.ins().jump(next, &[]);
        } else {
            let mut env = env.clone();
            self.write_to_copy(&mut env);
            self.pass_values(&values);
            self.call("make_offer", &[self.ctx, number]);
            env.offered = true;
            self.node(after, env, next)?;
        }
        self.b.switch_to_block(buffered);
        self.write_to_copy(env);
        self.pass_values(&values);
        let sorted = self.int(sorted as i32);
        self.call("send", &[self.ctx, number, sorted]);
        self.node(after, env.clone(), next)?;
        Ok(false)
    }

    pub fn receive(&mut self, effect: &Effect, env: &mut Env, next: Block) {
        let Effect::Receive { channel, fields, mask, wanted, how, into, addr } = effect else { return };
        let known = self.known_channel(*channel, *fields as usize);
        let number = self.expr(*channel, env, next);
        let values: Vec<Value> = wanted.iter().map(|e| self.expr(*e, env, next)).collect();
        let layout = self.program.layout();
        if let Some((ty, at)) = known
            && layout.channel_types[ty].claims.is_none()
            && !how.searches()
            && (how.takes() || layout.channel_types[ty].capacity > 0)
        {
            let channel = &layout.channel_types[ty];
            let rendezvous = channel.capacity == 0;
            let possible = if rendezvous {
                let offered = self.b.ins().load(types::I32, trusted(), self.ctx, field!(offer_channel));
                self.b.ins().icmp(IntCC::Equal, offered, number)
            } else {
                let memory = self.memory(env);
                let held = self.b.ins().uload8(types::I32, trusted(), memory, at as i32);
                self.b.ins().icmp_imm_s(IntCC::NotEqual, held, 0)
            };
            let possible = if rendezvous == env.answering { possible } else { self.b.ins().iconst(types::I8, 0) };
            let go_on = self.b.create_block();
            self.b.ins().brif(possible, go_on, &[], next, &[]);
            self.b.switch_to_block(go_on);
            let received: Vec<Value> = channel
                .fields
                .iter()
                .enumerate()
                .map(|(i, field)| {
                    if rendezvous {
                        self.b.ins().load(types::I32, trusted(), self.ctx, field!(offer) + 4 * i as i32)
                    } else {
                        let memory = self.memory(env);
                        self.load(field.ty, memory, (at + channel.messages + field.offset) as i32)
                    }
                })
                .collect();
            let constrained = (0..received.len()).filter(|i| mask.contains(*i));
            for (field, value) in constrained.zip(&values) {
                let equal = self.b.ins().icmp(IntCC::Equal, received[field], *value);
                let go_on = self.b.create_block();
                self.b.ins().brif(equal, go_on, &[], next, &[]);
                self.b.switch_to_block(go_on);
            }
            if rendezvous {
                env.answering = false;
            } else if how.takes() {
                self.write_to_copy(env);
                if channel.capacity == 1 {
                    let dst = self.b.use_var(self.dst);
                    let zero = self.int(0);
                    for i in 0..channel.message_size {
                        self.b.ins().istore8(trusted(), zero, dst, (at + channel.messages + i) as i32);
                    }
                    self.b.ins().istore8(trusted(), zero, dst, at as i32);
                } else {
                    let place = self.int(0);
                    self.call("take", &[self.ctx, number, place]);
                }
            }
            for (i, value) in received.into_iter().enumerate() {
                env.temps.insert(Temp(into.0 + i as u16), value);
            }
            return;
        }
        self.pass_values(&values);
        let answer = self.find(number, *fields, mask.0, *how as u32, *addr, env, next);
        let go_on = self.b.create_block();
        self.b.ins().brif(answer, go_on, &[], next, &[]);
        self.b.switch_to_block(go_on);
        for i in 0..*fields as u16 {
            let value = self.b.ins().load(types::I32, trusted(), self.ctx, field!(values) + 4 * i as i32);
            env.temps.insert(Temp(into.0 + i), value);
        }
        if env.answering {
            env.answering = false;
        } else if how.takes() {
            let place = self.b.ins().load(types::I32, trusted(), self.ctx, field!(place));
            self.write_to_copy(env);
            self.call("take", &[self.ctx, number, place]);
        }
    }

    /// Code that looks for a message; the values to match are already passed. It jumps to the fault
    /// if there is one.
    #[allow(clippy::too_many_arguments)]
    pub fn find(&mut self, number: Value, fields: u8, mask: u32, how_code: u32, addr: Addr, env: &Env, next: Block) -> Value {
        let memory = self.memory(env);
        let count = self.channel_count(env);
        let fields = self.int(fields as i32);
        let mask = self.int(mask as i32);
        let how = self.int(how_code as i32);
        let answering = self.int(env.answering as i32);
        let at = self.int(addr.0 as i32);
        let answer = self.call("find", &[self.ctx, memory, count, number, fields, mask, how, self.pid, answering, at]);
        if env.answering && how_code & helpers::POLL == 0 {
            // A fault of the offer belongs to the process that answers it.
            let taken = Env { answering: false, ..env.clone() };
            self.fault_if_large(answer, &taken, next);
        } else {
            self.fault_if_large(answer, env, next);
        }
        self.note_fault();
        answer
    }

    /// The type and offset of the channel, if it is known to be a static channel with so many
    /// fields.
    pub fn known_channel(&self, channel: ExprId, fields: usize) -> Option<(usize, usize)> {
        let number = usize::try_from(self.graph.pool().constant(channel)?).ok()?;
        let (ty, at) = *self.program.layout().channels.get(number.checked_sub(1)?)?;
        let fits = self.program.layout().channel_types[ty.index()].fields.len() == fields;
        fits.then_some((ty.index(), at))
    }
}
