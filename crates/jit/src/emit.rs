//! Native code for the nodes of the step graph.
//!
//! One function tries all alternatives of one control location. Guards read the state under expansion; the first effect of an alternative
//! copies it, and from there on the copy is read and written. Where a path ends, blocked or complete, control goes on to the next
//! alternative, which is known when the code is made: so there is no stack of alternatives at run time. Sequences of deterministic steps are
//! compiled into the function, loops and all; invisible steps and answers to offers return to the run time through helpers.

use crate::compile::Imports;

use crate::helpers;
use crate::touched::Touched;
use bytecode::{Addr, Fault, FaultKind, Location, Mode, ProcessId, Type, Verified};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, AbiParam, Block, BlockArg, InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::{FunctionBuilder, Variable};
use std::collections::HashMap;
use stepgraph::{Effect, ExprId, Node, NodeId, StepGraph, Temp, Var};

/// From how many deterministic steps on each is checked for having come back.
pub(crate) const LONG_SEQUENCE: u32 = 4096;

/// Most nodes compiled into one function: alternatives that share their rest are compiled several times.
const MAX_NODES: usize = 20_000;

/// A function whose alternatives would take too much code; the program is left to the interpreter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooMuchCode;

/// What kind of function is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// All steps of a location.
    Expand,
    /// The steps of a location that receive a pending offer.
    Answer,
    /// A prologue.
    Prologue,
}

/// What is known where code is made.
#[derive(Clone)]
pub(crate) struct Env {
    /// Whether the copy exists and is to be read.
    pub dirty: bool,
    /// Whether the offer has still to be received.
    pub answering: bool,
    /// Whether this path has made an offer.
    pub offered: bool,
    /// What it has written.
    pub touched: Touched,
    /// Where to go when a deterministic sequence ends, and how many copies were kept when it began; `None` outside of one.
    pub deterministic: Option<(Block, u32)>,
    /// Values kept on this path.
    pub temps: HashMap<Temp, Value>,
    /// How many copies are kept.
    saves: u32,
}

impl Env {
    /// Whether this is the path a transition begins with, not a continuation of it.
    pub fn is_first_path(&self) -> bool {
        self.deterministic.is_none()
    }
}

/// Makes one function.
pub(crate) struct Emitter<'a, 'b, 'm> {
    pub b: &'a mut FunctionBuilder<'b>,
    pub program: &'a Verified,
    pub graph: &'a StepGraph,
    pub imports: &'a mut Imports<'m>,
    pub process: ProcessId,
    pub kind: Kind,
    pub ctx: Value,
    /// Offset of the process in the state.
    pub offset: Value,
    pub pid: Value,
    pub src: Value,
    pub src_base: Value,
    pub dst: Variable,
    fault: Variable,
    succeeded: Variable,
    steps: Variable,
    /// What paths through shared code have written beyond what is known of all of them.
    pub wrote: Variable,
    /// The code of locations inside deterministic sequences, by where they go on afterwards; and what was written on the first way there.
    regions: HashMap<(Location, Block, u32), (Block, Touched)>,
    /// Where faults go, by what comes next.
    failures: HashMap<Block, Block>,
    nodes: usize,
    /// Whether this function can change which components exist.
    creates: bool,
}

pub(crate) fn trusted() -> MemFlagsData {
    MemFlagsData::trusted()
}

/// Offset of a field of the view in the context.
macro_rules! view {
    ($field:ident) => {
        (std::mem::offset_of!($crate::context::Context, view) + std::mem::offset_of!($crate::context::View, $field)) as i32
    };
}

/// Offset of a field of the context.
macro_rules! field {
    ($field:ident) => {
        std::mem::offset_of!($crate::context::Context, $field) as i32
    };
}
pub(crate) use {field, view};

impl<'a, 'b, 'm> Emitter<'a, 'b, 'm> {
    pub fn new(
        b: &'a mut FunctionBuilder<'b>,
        program: &'a Verified,
        graph: &'a StepGraph,
        imports: &'a mut Imports<'m>,
        process: ProcessId,
        kind: Kind,
    ) -> Self {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let [ctx, offset, pid] = *b.block_params(entry) else { unreachable!("functions have three parameters") };
        let src = b.ins().load(types::I64, trusted(), ctx, view!(src));
        let src_base = b.ins().iadd(src, offset);
        let dst = b.declare_var(types::I64);
        let fault = b.declare_var(types::I32);
        let succeeded = b.declare_var(types::I32);
        let steps = b.declare_var(types::I32);
        let wrote = b.declare_var(types::I64);
        let zero = b.ins().iconst(types::I32, 0);
        let place = b.ins().load(types::I64, trusted(), ctx, view!(dst));
        b.def_var(dst, place);
        let carried = match kind {
            Kind::Prologue => zero,
            _ => b.ins().load(types::I32, trusted(), ctx, view!(fault_in)),
        };
        b.def_var(fault, carried);
        for counter in [succeeded, steps] {
            b.def_var(counter, zero);
        }
        Emitter {
            b,
            program,
            graph,
            imports,
            process,
            kind,
            ctx,
            offset,
            pid,
            src,
            src_base,
            dst,
            fault,
            succeeded,
            steps,
            wrote,
            regions: HashMap::new(),
            failures: HashMap::new(),
            nodes: 0,
            creates: false,
        }
    }

    /// The whole function for a node.
    pub fn function(mut self, node: NodeId, creates: bool) -> Result<(), TooMuchCode> {
        self.creates = creates;
        let done = self.b.create_block();
        let env = Env {
            dirty: self.kind == Kind::Prologue,
            answering: self.kind == Kind::Answer,
            offered: false,
            touched: Touched::NOTHING,
            deterministic: None,
            temps: HashMap::new(),
            saves: 0,
        };
        self.node(node, env, done)?;
        self.b.switch_to_block(done);
        self.b.ins().return_(&[]);
        self.fill_failures();
        self.b.seal_all_blocks();
        Ok(())
    }

    /// Code for a node; every path ends by going to `next`, the following alternative.
    pub fn node(&mut self, start: NodeId, mut env: Env, next: Block) -> Result<(), TooMuchCode> {
        let mut id = start;
        loop {
            self.nodes += 1;
            if self.nodes > MAX_NODES || env.saves as usize >= helpers::SAVES {
                return Err(TooMuchCode);
            }
            match self.graph.node(id) {
                Node::Choice(first, second) => {
                    let (first, second) = (*first, *second);
                    let other = self.b.create_block();
                    let kept = self.keep(&mut env, first);
                    self.node(first, env.clone(), other)?;
                    self.b.switch_to_block(other);
                    self.bring_back(kept);
                    id = second;
                }
                Node::Else(main, other) => {
                    let (main, other) = (*main, *other);
                    self.conditional(main, &mut env, next)?;
                    id = other;
                }
                Node::Unless(escape, main) => {
                    let (escape, main) = (*escape, *main);
                    self.conditional(escape, &mut env, next)?;
                    id = main;
                }
                Node::Test(condition, then, other) => {
                    let (condition, then, other) = (*condition, *then, *other);
                    let yes = self.b.create_block();
                    let no = self.b.create_block();
                    self.branch(condition, &env, next, yes, no);
                    self.b.switch_to_block(yes);
                    self.node(then, env.clone(), next)?;
                    self.b.switch_to_block(no);
                    id = other;
                }
                Node::Guard(condition, after) => {
                    let (condition, after) = (*condition, *after);
                    let yes = self.b.create_block();
                    self.branch(condition, &env, next, yes, next);
                    self.b.switch_to_block(yes);
                    id = after;
                }
                Node::Do(effect, after) => {
                    let after = *after;
                    let effect = effect.clone();
                    if !self.effect(&effect, after, &mut env, next)? {
                        return Ok(());
                    }
                    id = after;
                }
                Node::Step(mode, addr) => return self.step(*mode, *addr, env, next),
                Node::Return => {
                    let fault = self.b.use_var(self.fault);
                    self.call("prologue_done", &[self.ctx, fault]);
                    self.b.ins().jump(next, &[]);
                    return Ok(());
                }
                Node::Blocked => {
                    self.b.ins().jump(next, &[]);
                    return Ok(());
                }
            }
        }
    }

    /// Tries `first`; what is emitted afterwards happens only if nothing there succeeded.
    fn conditional(&mut self, first: NodeId, env: &mut Env, next: Block) -> Result<(), TooMuchCode> {
        let tried = self.b.create_block();
        let before = self.b.use_var(self.succeeded);
        let kept = self.keep(env, first);
        self.node(first, env.clone(), tried)?;
        self.b.switch_to_block(tried);
        if env.deterministic.is_none() {
            let after = self.b.use_var(self.succeeded);
            let other = self.b.create_block();
            let same = self.b.ins().icmp(IntCC::Equal, before, after);
            self.b.ins().brif(same, other, &[], next, &[]);
            self.b.switch_to_block(other);
        }
        self.bring_back(kept);
        Ok(())
    }

    /// Prepares for coming back after `first` was tried: keeps the fault and, if something was written before, the state.
    fn keep(&mut self, env: &mut Env, first: NodeId) -> (Value, Option<u32>) {
        let fault = self.b.use_var(self.fault);
        // In a deterministic sequence a path that completes never comes back.
        let needed = env.dirty && (env.deterministic.is_none() || self.writes_before_blocking(first));
        let slot = needed.then(|| {
            let slot = env.saves;
            env.saves += 1;
            let number = self.int(slot as i32);
            self.call("save", &[self.ctx, number]);
            slot
        });
        (fault, slot)
    }

    fn bring_back(&mut self, (fault, slot): (Value, Option<u32>)) {
        self.b.def_var(self.fault, fault);
        if let Some(slot) = slot {
            let number = self.int(slot as i32);
            let place = self.call("restore", &[self.ctx, number]);
            self.b.def_var(self.dst, place);
        }
    }

    /// Whether some path below a node can write and then block.
    fn writes_before_blocking(&self, start: NodeId) -> bool {
        let mut open = vec![(start, false)];
        let mut seen = std::collections::HashSet::new();
        while let Some((id, written)) = open.pop() {
            if !seen.insert((id, written)) {
                continue;
            }
            match self.graph.node(id) {
                Node::Choice(a, b) | Node::Else(a, b) | Node::Unless(a, b) | Node::Test(_, a, b) => {
                    open.extend([(*a, written), (*b, written)]);
                }
                Node::Guard(_, next) => {
                    if written {
                        return true;
                    }
                    open.push((*next, written));
                }
                Node::Do(effect, next) => {
                    if written && effect.may_block() {
                        return true;
                    }
                    open.push((*next, written || effect.writes()));
                }
                Node::Blocked | Node::Step(Mode::Terminate, _) if written => return true,
                _ => {}
            }
        }
        false
    }

    /// The end of a step.
    fn step(&mut self, mode: Mode, addr: Addr, mut env: Env, next: Block) -> Result<(), TooMuchCode> {
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
            let written = self.written(&env.touched);
            let answered = self.call("offer", &[self.ctx, self.pid, len, fault, written]);
            self.reload_copy();
            let before = self.b.use_var(self.succeeded);
            let now = self.b.ins().iadd(before, answered);
            self.b.def_var(self.succeeded, now);
            self.b.ins().jump(next, &[]);
            return Ok(());
        }
        if mode == Mode::Deterministic {
            return self.deterministic_step(addr, env, next);
        }
        let len = if mode == Mode::Terminate {
            env.touched.everything();
            self.offset
        } else {
            self.length()
        };
        let fault = self.b.use_var(self.fault);
        let mode = self.int(mode as i32);
        let written = self.written(&env.touched);
        let place = self.call("end", &[self.ctx, mode, self.pid, len, fault, written]);
        self.b.def_var(self.dst, place);
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
    fn deterministic_step(&mut self, addr: Addr, env: Env, next: Block) -> Result<(), TooMuchCode> {
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

    /// Something a step does; `false` if the rest of the path has been dealt with.
    fn effect(&mut self, effect: &Effect, after: NodeId, env: &mut Env, next: Block) -> Result<bool, TooMuchCode> {
        match effect {
            Effect::Let(temp, e) => {
                let value = self.expr(*e, env, next);
                env.temps.insert(*temp, value);
            }
            Effect::Evaluate(e) => _ = self.expr(*e, env, next),
            Effect::Store(var, e) => {
                let value = self.expr(*e, env, next);
                self.write_to_copy(env);
                let (slot, base) = self.slot(*var, true);
                self.store(slot.ty, value, base, slot.offset as i32);
                self.touch_variable(env, *var, slot.offset..slot.offset + slot.ty.width());
            }
            Effect::StoreElement(var, index, e, addr) => {
                let value = self.expr(*e, env, next);
                let place = self.element_place(*var, *index, *addr, env, next);
                self.write_to_copy(env);
                let (slot, base) = self.slot(*var, true);
                let at = self.b.ins().iadd(base, place);
                self.store(slot.ty, value, at, slot.offset as i32);
                self.touch_element(env, *var, *index, place);
            }
            Effect::Assert(e, addr) => {
                let value = self.expr(*e, env, next);
                let old = self.b.use_var(self.fault);
                let code = self.int(Fault { kind: FaultKind::Assertion, addr: *addr }.code() as i32);
                let zero = self.int(0);
                let holds = self.b.ins().icmp_imm_s(IntCC::NotEqual, value, 0);
                let here = self.b.ins().select(holds, zero, code);
                let clean = self.b.ins().icmp_imm_s(IntCC::Equal, old, 0);
                let new = self.b.ins().select(clean, here, old);
                self.b.def_var(self.fault, new);
            }
            Effect::Send { channel, message, sorted, addr } => {
                return self.send(*channel, message, *sorted, *addr, after, env, next);
            }
            Effect::Receive { .. } => self.receive(effect, env, next),
            Effect::Run { process, args, into, addr } => {
                let values: Vec<Value> = args.iter().map(|e| self.expr(*e, env, next)).collect();
                self.write_to_copy(env);
                env.touched.everything();
                self.pass_values(&values);
                let ty = self.int(process.0 as i32);
                let count = self.int(args.len() as i32);
                let at = self.int(addr.0 as i32);
                let number = self.call("run", &[self.ctx, ty, count, at]);
                self.created(number, *into, env, next);
                self.note_fault();
            }
            Effect::NewChannel { ty, into, addr } => {
                self.write_to_copy(env);
                env.touched.everything();
                let ty = self.int(ty.0 as i32);
                let at = self.int(addr.0 as i32);
                let number = self.call("new_channel", &[self.ctx, ty, at]);
                self.created(number, *into, env, next);
            }
            Effect::SetPriority { process, priority, addr } => {
                let number = self.expr(*process, env, next);
                let value = self.expr(*priority, env, next);
                let count = self.process_count(env);
                let at = self.call("priority_at", &[self.ctx, count, number]);
                let below = self.b.ins().iadd_imm_s(value, -1);
                let wrong = self.b.ins().icmp_imm_s(IntCC::UnsignedGreaterThan, below, 254);
                self.fault_if(wrong, Fault { kind: FaultKind::Priority, addr: *addr }, env, next);
                self.write_to_copy(env);
                let found = self.b.create_block();
                let done = self.b.create_block();
                let missing = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, at, 0);
                self.b.ins().brif(missing, done, &[], found, &[]);
                self.b.switch_to_block(found);
                let dst = self.b.use_var(self.dst);
                let place = self.b.ins().iadd(dst, at);
                self.b.ins().istore8(trusted(), value, place, 0);
                self.b.ins().jump(done, &[]);
                self.b.switch_to_block(done);
                self.touch_at(env, at, 1);
            }
            Effect::Claim { channel, sender, addr } => {
                let number = self.expr(*channel, env, next);
                self.write_to_copy(env);
                env.touched.everything(); // Claims are made once, as a rule.
                let side = self.int(*sender as i32);
                let at = self.int(addr.0 as i32);
                let fault = self.call("claim", &[self.ctx, number, side, self.pid, at]);
                self.fault_if_set(fault, env, next);
            }
        }
        Ok(true)
    }

    /// After a helper created something: `number` is it, or minus a fault.
    fn created(&mut self, number: Value, into: Temp, env: &mut Env, next: Block) {
        self.reload_copy();
        let failed = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, number, 0);
        let code = self.b.ins().ineg(number);
        let code = self.b.ins().ireduce(types::I32, code);
        self.fault_with(failed, code, env, next);
        let value = self.b.ins().ireduce(types::I32, number);
        env.temps.insert(into, value);
    }

    /// From here on the copy is written: makes it, if it does not exist.
    pub fn write_to_copy(&mut self, env: &mut Env) {
        if env.dirty {
            return;
        }
        env.dirty = true;
        let len = self.b.ins().load(types::I64, trusted(), self.ctx, view!(src_len));
        if self.creates {
            self.b.ins().store(trusted(), len, self.ctx, view!(dst_len));
            let processes = self.b.ins().load(types::I32, trusted(), self.ctx, view!(process_count));
            self.b.ins().store(trusted(), processes, self.ctx, view!(dst_process_count));
            let channels = self.b.ins().load(types::I32, trusted(), self.ctx, view!(channel_count));
            self.b.ins().store(trusted(), channels, self.ctx, view!(dst_channel_count));
        }
        // Sixteen bytes at a time; both buffers have room for more than the state.
        let dst = self.b.use_var(self.dst);
        let chunk = |e: &mut Self, at: Value, offset: i32| {
            let from = e.b.ins().iadd(e.src, at);
            let to = e.b.ins().iadd(dst, at);
            let bytes = e.b.ins().load(types::I8X16, MemFlagsData::new().with_notrap(), from, offset);
            e.b.ins().store(MemFlagsData::new().with_notrap(), bytes, to, offset);
        };
        let fixed = (self.program.layout().fixed / 16).min(3) * 16;
        let zero = self.b.ins().iconst(types::I64, 0);
        for at in (0..fixed).step_by(16) {
            chunk(self, zero, at as i32);
        }
        let copy = self.b.create_block();
        let done = self.b.create_block();
        let at = self.b.append_block_param(copy, types::I64);
        let start = self.b.ins().iconst(types::I64, fixed as i64);
        self.b.ins().jump(copy, &[BlockArg::Value(start)]);
        self.b.switch_to_block(copy);
        chunk(self, at, 0);
        let more = self.b.ins().iadd_imm_s(at, 16);
        let unfinished = self.b.ins().icmp(IntCC::UnsignedLessThan, more, len);
        self.b.ins().brif(unfinished, copy, &[BlockArg::Value(more)], done, &[]);
        self.b.switch_to_block(done);
    }

    /// The length of what is read at this point.
    pub fn present_length(&mut self, env: &Env) -> Value {
        let place = if env.dirty && (self.creates || self.kind == Kind::Prologue) { view!(dst_len) } else { view!(src_len) };
        self.b.ins().load(types::I64, trusted(), self.ctx, place)
    }

    /// The length of the copy.
    fn length(&mut self) -> Value {
        let place = if self.creates { view!(dst_len) } else { view!(src_len) };
        self.b.ins().load(types::I64, trusted(), self.ctx, place)
    }

    fn set_location(&mut self, location: Location, env: &mut Env) {
        let layout = &self.program.layout().processes[self.process.index()];
        let dst = self.b.use_var(self.dst);
        let base = self.b.ins().iadd(dst, self.offset);
        let value = self.int(location.0 as i32);
        if layout.wide {
            self.b.ins().istore16(trusted(), value, base, layout.location as i32);
        } else {
            self.b.ins().istore8(trusted(), value, base, layout.location as i32);
        }
        env.touched.own(layout.location..layout.location + 1 + layout.wide as usize);
    }

    fn reload_copy(&mut self) {
        let place = self.b.ins().load(types::I64, trusted(), self.ctx, view!(dst));
        self.b.def_var(self.dst, place);
    }

    pub fn pass_values(&mut self, values: &[Value]) {
        for (i, value) in values.iter().enumerate() {
            self.b.ins().store(trusted(), *value, self.ctx, field!(values) + 4 * i as i32);
        }
    }

    fn count_success(&mut self) {
        let old = self.b.use_var(self.succeeded);
        let new = self.b.ins().iadd_imm_s(old, 1);
        self.b.def_var(self.succeeded, new);
    }

    /// Takes over a fault that a helper noted, unless there is one already.
    pub fn note_fault(&mut self) {
        let noted = self.b.ins().load(types::I32, trusted(), self.ctx, field!(noted));
        let old = self.b.use_var(self.fault);
        let clean = self.b.ins().icmp_imm_s(IntCC::Equal, old, 0);
        let new = self.b.ins().select(clean, noted, old);
        self.b.def_var(self.fault, new);
        let zero = self.int(0);
        self.b.ins().store(trusted(), zero, self.ctx, field!(noted));
    }

    /// Where faults go whose path is followed by `next`: a block that takes the fault's code.
    fn failure(&mut self, next: Block) -> Block {
        if let Some(&block) = self.failures.get(&next) {
            return block;
        }
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        self.b.append_block_param(block, types::I32);
        self.failures.insert(next, block);
        block
    }

    /// The code of the blocks faults go to.
    fn fill_failures(&mut self) {
        let mut failures: Vec<(Block, Block)> = self.failures.iter().map(|(next, block)| (*next, *block)).collect();
        failures.sort_unstable();
        for (next, block) in failures {
            self.b.switch_to_block(block);
            let code = self.b.block_params(block)[0];
            if self.kind == Kind::Prologue {
                self.call("prologue_done", &[self.ctx, code]);
            } else {
                let carried = self.b.use_var(self.fault);
                self.call("fail", &[self.ctx, self.pid, carried, code]);
                self.count_success();
            }
            self.b.ins().jump(next, &[]);
        }
    }

    /// Ends the path with a fault.
    fn fail(&mut self, fault: Fault, next: Block) {
        let code = self.int(fault.code() as i32);
        let carried = self.b.use_var(self.fault);
        self.call("fail", &[self.ctx, self.pid, carried, code]);
        self.count_success();
        self.b.ins().jump(next, &[]);
    }

    /// Goes to the fault if the condition holds.
    pub fn fault_if(&mut self, condition: Value, fault: Fault, env: &Env, next: Block) {
        let code = self.int(fault.code() as i32);
        self.fault_with(condition, code, env, next);
    }

    /// Goes to the fault with this code if the condition holds.
    pub fn fault_with(&mut self, condition: Value, code: Value, env: &Env, next: Block) {
        if env.answering {
            // F-FATAL: only blocked.
            let go_on = self.b.create_block();
            self.b.ins().brif(condition, next, &[], go_on, &[]);
            self.b.switch_to_block(go_on);
            return;
        }
        // In a deterministic sequence a fault is the end of it: no other alternative is tried.
        let failure = self.failure(env.deterministic.map_or(next, |(outer, _)| outer));
        let go_on = self.b.create_block();
        self.b.ins().brif(condition, failure, &[BlockArg::Value(code)], go_on, &[]);
        self.b.switch_to_block(go_on);
    }

    fn fault_if_set(&mut self, code: Value, env: &Env, next: Block) {
        let set = self.b.ins().icmp_imm_s(IntCC::NotEqual, code, 0);
        self.fault_with(set, code, env, next);
    }

    pub fn fault_if_large(&mut self, answer: Value, env: &Env, next: Block) {
        let large = self.b.ins().icmp_imm_s(IntCC::UnsignedGreaterThan, answer, helpers::OFFERED as i64);
        self.fault_with(large, answer, env, next);
    }

    /// What is read at this point: the copy once it exists.
    pub fn memory(&mut self, env: &Env) -> Value {
        if env.dirty { self.b.use_var(self.dst) } else { self.src }
    }

    pub fn process_count(&mut self, env: &Env) -> Value {
        let place =
            if env.dirty && (self.creates || self.kind == Kind::Prologue) { view!(dst_process_count) } else { view!(process_count) };
        self.b.ins().load(types::I32, trusted(), self.ctx, place)
    }

    pub fn channel_count(&mut self, env: &Env) -> Value {
        let place =
            if env.dirty && (self.creates || self.kind == Kind::Prologue) { view!(dst_channel_count) } else { view!(channel_count) };
        self.b.ins().load(types::I32, trusted(), self.ctx, place)
    }

    /// A variable's slot, and what its offset counts from.
    pub fn slot(&mut self, var: Var, dirty: bool) -> (bytecode::Slot, Value) {
        let layout = self.program.layout();
        match var {
            Var::Global(id) => {
                let base = if dirty { self.b.use_var(self.dst) } else { self.src };
                (layout.globals[id.index()], base)
            }
            Var::Local(id) => {
                let slot = layout.processes[self.process.index()].locals[id.index()];
                let base = if dirty {
                    let dst = self.b.use_var(self.dst);
                    self.b.ins().iadd(dst, self.offset)
                } else {
                    self.src_base
                };
                (slot, base)
            }
        }
    }

    /// The bytes from an array's start to an element.
    pub fn element_place(&mut self, var: Var, index: ExprId, addr: Addr, env: &Env, next: Block) -> Value {
        let (slot, _) = self.slot(var, env.dirty);
        let value = self.expr(index, env, next);
        let known = self.graph.pool().constant(index).is_some_and(|i| i >= 0 && (i as usize) < slot.elements);
        if !known {
            let length = self.int(slot.elements as i32);
            let outside = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, value, length);
            self.fault_if(outside, Fault { kind: FaultKind::Index, addr }, env, next);
        }
        let wide = self.b.ins().uextend(types::I64, value);
        match slot.ty.width() {
            1 => wide,
            width => self.b.ins().imul_imm_s(wide, width as i64),
        }
    }

    pub fn int(&mut self, value: i32) -> Value {
        self.b.ins().iconst(types::I32, value as i64)
    }

    pub fn temp(&mut self, temp: Temp, env: &Env) -> Value {
        match env.temps.get(&temp) {
            Some(&value) => value,
            None => self.int(0),
        }
    }

    pub fn load(&mut self, ty: Type, base: Value, offset: i32) -> Value {
        match (ty, ty.width()) {
            (Type::Short, _) => self.b.ins().sload16(types::I32, trusted(), base, offset),
            (_, 1) => self.b.ins().uload8(types::I32, trusted(), base, offset),
            (_, 2) => self.b.ins().uload16(types::I32, trusted(), base, offset),
            _ => self.b.ins().load(types::I32, trusted(), base, offset),
        }
    }

    pub fn truncate(&mut self, ty: Type, value: Value) -> Value {
        match ty {
            Type::Bit => self.b.ins().band_imm_s(value, 1),
            Type::Byte => self.b.ins().band_imm_s(value, 0xff),
            Type::Short => {
                let narrow = self.b.ins().ireduce(types::I16, value);
                self.b.ins().sextend(types::I32, narrow)
            }
            Type::Unsigned(bits) if bits < 32 => self.b.ins().band_imm_s(value, (1_i64 << bits) - 1),
            Type::Int | Type::Unsigned(_) => value,
        }
    }

    pub fn store(&mut self, ty: Type, value: Value, base: Value, offset: i32) {
        let whole = matches!(ty, Type::Byte | Type::Short | Type::Int | Type::Unsigned(8 | 16 | 32..));
        let value = if whole { value } else { self.truncate(ty, value) };
        match ty.width() {
            1 => self.b.ins().istore8(trusted(), value, base, offset),
            2 => self.b.ins().istore16(trusted(), value, base, offset),
            _ => self.b.ins().store(trusted(), value, base, offset),
        };
    }

    /// Calls a helper; gives its result, if it has one.
    pub fn call(&mut self, name: &'static str, args: &[Value]) -> Value {
        let function = self.imports.get(name, self.b.func);
        let call = self.b.ins().call(function, args);
        self.b.inst_results(call).first().copied().unwrap_or(self.ctx)
    }
}

/// The signature of every compiled function: context, offset of the process, its number.
pub(crate) fn signature(convention: cranelift_codegen::isa::CallConv) -> ir::Signature {
    let mut signature = ir::Signature::new(convention);
    signature.params.extend([AbiParam::new(types::I64), AbiParam::new(types::I64), AbiParam::new(types::I32)]);
    signature
}
