//! Native code for the ends of steps.
//!
//! A step ends a path: its state is passed on, an offer is made to the other processes, or its
//! sequence of deterministic steps continues within the same function.

use crate::context::Purpose;
use crate::emit::{Emitter, Env, TooMuchCode, cursor, field, trusted, view};
use crate::parts::Sequence;
use bytecode::{Addr, Fault, FaultKind, Location, Mode};
use contract::{EntryLayout, Successor};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use std::collections::HashMap;

/// The number of deterministic steps from which on each step checks whether a state has come back.
pub(crate) const LONG_SEQUENCE: u32 = 4096;

impl Emitter<'_, '_, '_> {
    /// The end of a step.
    pub fn step(&mut self, mode: Mode, addr: Addr, mut env: Env, next: Block) -> Result<(), TooMuchCode> {
        if env.answering {
            self.b.ins().jump(next, &[]); // The offer was not received.
            return Ok(());
        }
        if mode == Mode::Terminate {
            if env.offered {
                self.b.ins().jump(next, &[]);
                return Ok(());
            }
            let count = self.process_count(&env);
            let after = self.b.ins().iadd_imm_s(self.pid, 1);
            let last = self.b.ins().icmp(IntCC::Equal, after, count);
            let go_on = self.b.create_block();
            self.b.ins().brif(last, go_on, &[], next, &[]);
            self.b.switch_to_block(go_on);
        }
        // If no process is created or removed, it is known before the state is copied whether a
        // process may answer.
        if env.offered && mode != Mode::Deterministic && !self.creates {
            let receivers = self.b.ins().load(types::I64, trusted(), self.ctx, view!(receivers));
            let channel = self.b.ins().load(types::I32, trusted(), self.ctx, field!(offer_channel));
            let from_it_on = self.b.ins().ushr(receivers, channel);
            let is_received = self.b.ins().band_imm_s(from_it_on, 1);
            let (ask, go_on) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(is_received, ask, &[], next, &[]);
            self.b.switch_to_block(ask);
            let possible = self.call("has_answer", &[self.ctx]);
            self.b.ins().brif(possible, go_on, &[], next, &[]);
            self.b.switch_to_block(go_on);
        }
        self.write_to_copy(&mut env);
        if let Some(location) = self.program.locations().after_step(addr) {
            self.set_location(location);
        }
        if let Some(at) = self.program.layout().last
            && mode != Mode::Deterministic
        {
            let dst = self.b.use_var(self.dst);
            self.b.ins().istore8(trusted(), self.pid, dst, at as i32);
        }
        let step = match env.deterministic {
            Some(_) => self.b.use_var(self.first_step),
            None => self.int(addr.0 as i32),
        };
        if env.offered {
            if mode == Mode::Deterministic {
                self.fail(Fault { kind: FaultKind::Rendezvous, addr }, step, next);
                return Ok(());
            }
            let len = self.length();
            let fault = self.b.use_var(self.fault);
            let answered = self.call("offer", &[self.ctx, self.pid, fault, step, len]);
            let before = self.b.use_var(self.succeeded);
            let now = self.b.ins().iadd(before, answered);
            self.b.def_var(self.succeeded, now);
            self.b.ins().jump(next, &[]);
            return Ok(());
        }
        if mode == Mode::Deterministic {
            return self.deterministic_step(addr, env, next);
        }
        let fault = self.b.use_var(self.fault);
        let done = (mode == Mode::Normal && !self.creates).then(|| self.write_entry(fault, step));
        let len = if mode == Mode::Terminate { self.offset } else { self.length() };
        let mode = self.int(mode as i32);
        self.call("end", &[self.ctx, self.pid, fault, step, len, mode]);
        if let Some(done) = done {
            self.b.ins().jump(done, &[]);
            self.b.switch_to_block(done);
        }
        match env.deterministic {
            // Counted when the sequence began.
            Some((outer, _)) => self.b.ins().jump(outer, &[]),
            None => {
                self.count_success();
                self.b.ins().jump(next, &[])
            }
        };
        Ok(())
    }

    /// Makes the copy a transition if the cursor has a reserved entry. This is the fast path,
    /// without calls. The code that the caller emits next is for the case without an entry; both
    /// continue at the returned block.
    fn write_entry(&mut self, fault: Value, step: Value) -> Block {
        const ENTRY: EntryLayout = Successor::LAYOUT;
        let (done, write, no_room) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(no_room);
        let entry = self.b.ins().load(types::I64, trusted(), self.ctx, cursor!(entry));
        let limit = self.b.ins().load(types::I64, trusted(), self.ctx, cursor!(limit));
        let has_room = self.b.ins().icmp(IntCC::NotEqual, entry, limit);
        self.b.ins().brif(has_room, write, &[], no_room, &[]);
        self.b.switch_to_block(write);
        // Inside a transition its first step counts.
        let first = self.b.ins().load(types::I32, trusted(), self.ctx, view!(step));
        let is_first = self.b.ins().icmp_imm_s(IntCC::Equal, first, i64::from(Successor::NO_STEP as i32));
        let step = self.b.ins().select(is_first, step, first);
        let start = self.b.ins().load(types::I64, trusted(), self.ctx, cursor!(start));
        let stride = self.b.ins().load(types::I64, trusted(), self.ctx, cursor!(stride));
        let source = self.b.ins().load(types::I32, trusted(), self.ctx, cursor!(source));
        // The process and the choice lie side by side, here as in the entry.
        let action = self.b.ins().load(types::I64, trusted(), self.ctx, field!(initiator));
        self.b.ins().store(trusted(), start, entry, ENTRY.start);
        self.b.ins().istore32(trusted(), stride, entry, ENTRY.len);
        self.b.ins().store(trusted(), step, entry, ENTRY.step);
        self.b.ins().store(trusted(), action, entry, ENTRY.action);
        self.b.ins().store(trusted(), source, entry, ENTRY.source);
        self.b.ins().store(trusted(), fault, entry, ENTRY.fault);
        let entry = self.b.ins().iadd_imm_s(entry, size_of::<Successor>() as i64);
        self.b.ins().store(trusted(), entry, self.ctx, cursor!(entry));
        let start = self.b.ins().iadd(start, stride);
        self.b.ins().store(trusted(), start, self.ctx, cursor!(start));
        let choice = self.b.ins().load(types::I32, trusted(), self.ctx, field!(choice));
        let choice = self.b.ins().iadd_imm_s(choice, 1);
        self.b.ins().store(trusted(), choice, self.ctx, field!(choice));
        let dst = self.b.ins().load(types::I64, trusted(), self.ctx, view!(dst));
        let dst = self.b.ins().iadd(dst, stride);
        self.b.ins().store(trusted(), dst, self.ctx, view!(dst));
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(no_room);
        done
    }

    /// For the question whether a path succeeds, the sequence that it begins need not be executed.
    fn end_probe(&mut self, next: Block) {
        let purpose = self.b.ins().load(types::I32, trusted(), self.ctx, field!(purpose));
        let probing = self.b.ins().icmp_imm_s(IntCC::Equal, purpose, Purpose::Probe as i64);
        let (hit, go_on) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(hit);
        self.b.ins().brif(probing, hit, &[], go_on, &[]);
        self.b.switch_to_block(hit);
        let hits = self.b.ins().load(types::I32, trusted(), self.ctx, field!(hits));
        let hits = self.b.ins().iadd_imm_s(hits, 1);
        self.b.ins().store(trusted(), hits, self.ctx, field!(hits));
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(go_on);
    }

    /// Continues a deterministic sequence.
    pub fn deterministic_step(&mut self, addr: Addr, env: Env, next: Block) -> Result<(), TooMuchCode> {
        let Some(location) = self.program.locations().after_step(addr) else { return Err(TooMuchCode) };
        let (outer, saves) = match env.deterministic {
            Some(begun) => begun,
            None => {
                self.count_success();
                self.end_probe(next);
                let zero = self.int(0);
                self.b.def_var(self.steps, zero);
                let first = self.int(addr.0 as i32);
                self.b.def_var(self.first_step, first);
                (next, env.saves)
            }
        };
        let steps = self.b.use_var(self.steps);
        let steps = self.b.ins().iadd_imm_s(steps, 1);
        self.b.def_var(self.steps, steps);
        if let Some(&region) = self.regions.get(&(location, outer, saves)) {
            self.go_to(region, steps, outer);
            return Ok(());
        }
        if self.graph.find(self.process, location).is_none() {
            return self.cut_sequence(location, saves, steps, outer);
        }
        self.region(location, outer, Env { deterministic: Some((outer, saves)), temps: HashMap::new(), saves, ..env })
    }

    /// Jumps to a location that the sequence may have passed before, unless it is endless.
    fn go_to(&mut self, region: Block, steps: Value, outer: Block) {
        let long = self.b.create_block();
        self.b.set_cold_block(long);
        let limit = self.int(LONG_SEQUENCE as i32);
        let is_long = self.b.ins().icmp(IntCC::UnsignedGreaterThan, steps, limit);
        self.b.ins().brif(is_long, long, &[], region, &[]);
        self.b.switch_to_block(long);
        let first = self.b.use_var(self.first_step);
        let endless = self.call("endless", &[self.ctx, self.pid, steps, first]);
        self.b.ins().brif(endless, outer, &[], region, &[]);
    }

    /// The code of a location within a sequence.
    fn region(&mut self, location: Location, outer: Block, env: Env) -> Result<(), TooMuchCode> {
        let region = self.b.create_block();
        self.regions.insert((location, outer, env.saves), region);
        self.b.ins().jump(region, &[]);
        self.b.switch_to_block(region);
        let carried = self.b.use_var(self.fault);
        let blocked = self.b.create_block();
        self.b.set_cold_block(blocked);
        let node = self.graph.location(self.process, location);
        self.node(node, env, blocked)?;
        self.b.switch_to_block(blocked);
        // A fault on a path that blocked did not happen.
        self.b.def_var(self.fault, carried);
        let at = self.program.locations().address(self.process, location).unwrap_or_default();
        let first = self.b.use_var(self.first_step);
        self.fail(Fault { kind: FaultKind::Blocked, addr: at }, first, outer);
        Ok(())
    }

    /// Leaves the rest of a sequence to another function. The function is not called here; its
    /// address is passed to the caller. So a loop through several functions does not need more
    /// stack in each round.
    fn cut_sequence(&mut self, location: Location, saves: u32, steps: Value, outer: Block) -> Result<(), TooMuchCode> {
        let leave = self.b.create_block();
        self.go_to(leave, steps, outer);
        self.b.switch_to_block(leave);
        let fault = self.b.use_var(self.fault);
        self.b.ins().store(trusted(), fault, self.ctx, field!(part_fault));
        self.b.ins().store(trusted(), steps, self.ctx, field!(part_steps));
        let first = self.b.use_var(self.first_step);
        self.b.ins().store(trusted(), first, self.ctx, field!(part_first_step));
        let function = self.imports.sequence(Sequence { ty: self.process, location, saves }, self.b.func)?;
        let address = self.b.ins().func_addr(types::I64, function);
        self.b.ins().store(trusted(), address, self.ctx, field!(next_part));
        let calls = self.continuation(outer);
        self.b.ins().jump(calls, &[]);
        Ok(())
    }

    /// The block that calls the functions of a sequence, one after the other, and then jumps to
    /// `outer`. The functions only return.
    fn continuation(&mut self, outer: Block) -> Block {
        if self.is_sequence {
            return outer;
        }
        if let Some(&block) = self.continuations.get(&outer) {
            return block;
        }
        let block = self.b.create_block();
        self.continuations.insert(outer, block);
        block
    }

    /// The code of the blocks that call the functions of sequences.
    pub fn fill_continuations(&mut self) {
        let mut continuations: Vec<(Block, Block)> = self.continuations.iter().map(|(outer, block)| (*outer, *block)).collect();
        continuations.sort_unstable();
        if continuations.is_empty() {
            return;
        }
        let signature = self.imports.signature();
        let signature = self.b.import_signature(signature);
        for (outer, block) in continuations {
            self.b.switch_to_block(block);
            let call = self.b.create_block();
            let next = self.b.ins().load(types::I64, trusted(), self.ctx, field!(next_part));
            self.b.ins().brif(next, call, &[], outer, &[]);
            self.b.switch_to_block(call);
            let none = self.b.ins().iconst(types::I64, 0);
            self.b.ins().store(trusted(), none, self.ctx, field!(next_part));
            self.b.ins().call_indirect(signature, next, &[self.ctx, self.offset, self.pid]);
            self.b.ins().jump(block, &[]);
        }
    }

    /// The function with which a sequence continues at a location.
    pub fn continued_sequence(&mut self, location: Location, saves: u32, env: Env) -> Result<(), TooMuchCode> {
        self.is_sequence = true;
        let outer = self.done;
        let env = Env { dirty: true, answering: false, deterministic: Some((outer, saves)), saves, ..env };
        self.region(location, outer, env)
    }
}
