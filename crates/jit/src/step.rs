//! Native code for the ends of steps.
//!
//! A step ends a path: its state is handed over, an offer is put to the other processes, or the sequence of deterministic steps that it
//! belongs to goes on, within the same function.

use crate::emit::{Emitter, Env, TooMuchCode};
use bytecode::{Addr, Fault, FaultKind, Mode};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder};
use std::collections::HashMap;

/// From how many deterministic steps on each is checked for having come back.
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
        // Where nobody comes or goes, it is known before the state is copied whether somebody may answer.
        if env.offered && mode != Mode::Deterministic && !self.creates {
            let possible = self.call("has_answer", &[self.ctx, self.pid]);
            let go_on = self.b.create_block();
            self.b.ins().brif(possible, go_on, &[], next, &[]);
            self.b.switch_to_block(go_on);
        }
        self.write_to_copy(&mut env);
        if let Some(location) = self.program.locations().after_step(addr) {
            self.set_location(location, &mut env);
        }
        if env.offered {
            if mode == Mode::Deterministic {
                self.fail(Fault { kind: FaultKind::Rendezvous, addr }, next);
                return Ok(());
            }
            let len = self.length();
            let fault = self.b.use_var(self.fault);
            let [known, added] = self.touched(&env.touched);
            let answered = self.call("offer", &[self.ctx, self.offset, self.pid, fault, known, added, len]);
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
        if mode == Mode::Terminate {
            env.touched.everything();
        }
        let [known, added] = self.touched(&env.touched);
        if mode == Mode::Normal && !self.creates {
            self.call("end", &[self.ctx, self.offset, self.pid, fault, known, added]);
        } else {
            let len = if mode == Mode::Terminate { self.offset } else { self.length() };
            let mode = self.int(mode as i32);
            self.call("end_unusually", &[self.ctx, self.offset, self.pid, fault, known, added, len, mode]);
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

    /// Goes on within a deterministic sequence.
    pub fn deterministic_step(&mut self, addr: Addr, env: Env, next: Block) -> Result<(), TooMuchCode> {
        let Some(location) = self.program.locations().after_step(addr) else { return Err(TooMuchCode) };
        let (outer, saves) = match env.deterministic {
            Some(begun) => begun,
            None => {
                self.count_success();
                let zero = self.int(0);
                self.b.def_var(self.steps, zero);
                (next, env.saves)
            }
        };
        let steps = self.b.use_var(self.steps);
        let steps = self.b.ins().iadd_imm_s(steps, 1);
        self.b.def_var(self.steps, steps);
        if let Some(&(region, begun)) = self.regions.get(&(location, outer, saves)) {
            self.join_shared(&env, &begun);
            let long = self.b.create_block();
            self.b.set_cold_block(long);
            let limit = self.int(LONG_SEQUENCE as i32);
            let is_long = self.b.ins().icmp(IntCC::UnsignedGreaterThan, steps, limit);
            self.b.ins().brif(is_long, long, &[], region, &[]);
            self.b.switch_to_block(long);
            let endless = self.call("endless", &[self.ctx, self.pid, steps]);
            self.b.ins().brif(endless, outer, &[], region, &[]);
            return Ok(());
        }
        let region = self.b.create_block();
        let touched = self.begin_shared(&env);
        self.regions.insert((location, outer, saves), (region, touched));
        self.b.ins().jump(region, &[]);
        self.b.switch_to_block(region);
        let carried = self.b.use_var(self.fault);
        let blocked = self.b.create_block();
        self.b.set_cold_block(blocked);
        let node = self.graph.location(self.process, location);
        let inside = Env { deterministic: Some((outer, saves)), temps: HashMap::new(), saves, touched, ..env };
        self.node(node, inside, blocked)?;
        self.b.switch_to_block(blocked);
        // What went wrong on a path that blocked has not happened.
        self.b.def_var(self.fault, carried);
        let at = self.program.locations().address(self.process, location).unwrap_or_default();
        self.fail(Fault { kind: FaultKind::Blocked, addr: at }, outer);
        Ok(())
    }
}
