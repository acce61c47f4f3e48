//! Native code for faults: a fault ends its path, or the path carries it to its end (F-FATAL,
//! F-CONTINUE of `docs/bytecode.md`).

use crate::emit::{Emitter, Env, Kind, field, trusted};
use crate::helpers;
use bytecode::Fault;
use contract::Successor;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Value, types};

impl Emitter<'_, '_, '_> {
    /// Takes over a fault that a helper recorded, unless there is one already.
    pub fn note_fault(&mut self) {
        let noted = self.b.ins().load(types::I32, trusted(), self.ctx, field!(noted));
        let old = self.b.use_var(self.fault);
        let clean = self.b.ins().icmp_imm_s(IntCC::Equal, old, 0);
        let new = self.b.ins().select(clean, noted, old);
        self.b.def_var(self.fault, new);
        let zero = self.int(0);
        self.b.ins().store(trusted(), zero, self.ctx, field!(noted));
    }

    /// The block that handles faults of paths that are followed by `next`. Its parameter is the
    /// fault's code.
    pub fn failure(&mut self, next: Block, in_sequence: bool) -> Block {
        if let Some(&block) = self.failures.get(&(next, in_sequence)) {
            return block;
        }
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        self.b.append_block_param(block, types::I32);
        self.failures.insert((next, in_sequence), block);
        block
    }

    /// The code of the blocks that handle faults.
    pub fn fill_failures(&mut self) {
        let mut failures: Vec<_> = self.failures.iter().map(|(&(next, in_sequence), &block)| (next, in_sequence, block)).collect();
        failures.sort_unstable();
        for (next, in_sequence, block) in failures {
            self.b.switch_to_block(block);
            let code = self.b.block_params(block)[0];
            if self.kind == Kind::Value {
                let wide = self.b.ins().uextend(types::I64, code);
                let upper = self.b.ins().ishl_imm_u(wide, 32);
                self.b.ins().return_(&[upper]);
                continue;
            }
            if self.kind == Kind::Prologue {
                self.call("prologue_done", &[self.ctx, code]);
            } else {
                let carried = self.b.use_var(self.fault);
                let step = if in_sequence { self.b.use_var(self.first_step) } else { self.int(Successor::NO_STEP as i32) };
                self.call("fail", &[self.ctx, self.pid, carried, code, step]);
                self.count_success();
            }
            self.b.ins().jump(next, &[]);
        }
    }

    /// Ends the path, whose first step has the number `step`, with a fault.
    pub fn fail(&mut self, fault: Fault, step: Value, next: Block) {
        let code = self.int(fault.code() as i32);
        let carried = self.b.use_var(self.fault);
        self.call("fail", &[self.ctx, self.pid, carried, code, step]);
        self.count_success();
        self.b.ins().jump(next, &[]);
    }

    /// Jumps to the fault if the condition holds.
    pub fn fault_if(&mut self, condition: Value, fault: Fault, env: &Env, next: Block) {
        let code = self.int(fault.code() as i32);
        self.fault_with(condition, code, env, next);
    }

    /// Jumps to the fault with this code if the condition holds.
    pub fn fault_with(&mut self, condition: Value, code: Value, env: &Env, next: Block) {
        if env.answering {
            // F-FATAL: the path is only blocked.
            let go_on = self.b.create_block();
            self.b.ins().brif(condition, next, &[], go_on, &[]);
            self.b.switch_to_block(go_on);
            return;
        }
        // A fault ends a deterministic sequence: no other alternative is tried.
        let failure = self.failure(env.deterministic.map_or(next, |(outer, _)| outer), env.deterministic.is_some());
        let go_on = self.b.create_block();
        self.b.ins().brif(condition, failure, &[BlockArg::Value(code)], go_on, &[]);
        self.b.switch_to_block(go_on);
    }

    pub fn fault_if_set(&mut self, code: Value, env: &Env, next: Block) {
        let set = self.b.ins().icmp_imm_s(IntCC::NotEqual, code, 0);
        self.fault_with(set, code, env, next);
    }

    pub fn fault_if_large(&mut self, answer: Value, env: &Env, next: Block) {
        let large = self.b.ins().icmp_imm_s(IntCC::UnsignedGreaterThan, answer, helpers::OFFERED as i64);
        self.fault_with(large, answer, env, next);
    }
}
