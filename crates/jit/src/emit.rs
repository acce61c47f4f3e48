//! Native code for the nodes of the step graph.
//!
//! One function tries all alternatives of one control location. Guards read the state under
//! expansion; the first effect of an alternative copies it, and from there on the copy is read and
//! written. When a path ends, blocked or complete, control continues with the next alternative,
//! which is known when the code is made. So there is no stack of alternatives at run time.
//! Sequences of deterministic steps, including their loops, are compiled into the function;
//! invisible steps and answers to offers return to the run time through helpers. Code that would
//! make a function too large is moved to other functions (`parts`).

use crate::compile::Imports;
use crate::helpers;
use crate::parts::{Part, Parts, groups};
use bytecode::{Fault, FaultKind, Location, Mode, ProcessId, Verified};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::{FunctionBuilder, Variable};
use std::collections::HashMap;
use stepgraph::{Effect, ExprId, Node, NodeId, StepGraph, Temp};

/// The largest number of nodes and operations in one function. Code that several alternatives share
/// is compiled several times.
const MAX_WEIGHT: u32 = 20_000;

/// A function that would take too much code; what it does is left to the interpreter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooMuchCode;

/// The kind of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// All steps of a location.
    Expand,
    /// The steps of a location that receive a pending offer.
    Answer,
    /// A prologue.
    Prologue,
    /// The value of an expression.
    Value,
}

/// The facts known at a point of the code.
#[derive(Clone)]
pub(crate) struct Env {
    /// Whether the copy exists and is to be read.
    pub dirty: bool,
    /// Whether the offer is not yet received.
    pub answering: bool,
    /// Whether this path has made an offer.
    pub offered: bool,
    /// The block after the end of a deterministic sequence, and how many copies were kept when it
    /// began; `None` outside a sequence.
    pub deterministic: Option<(Block, u32)>,
    /// Values kept on this path.
    pub temps: HashMap<Temp, Value>,
    /// How many copies are kept.
    pub saves: u32,
}

impl Env {
    /// Whether this path has only tests so far, so that the rest can be a function of its own.
    fn is_fresh(&self) -> bool {
        !self.dirty && !self.offered && self.deterministic.is_none() && self.temps.is_empty()
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
    pub fault: Variable,
    pub succeeded: Variable,
    pub steps: Variable,
    /// The number of the step with which a deterministic sequence began: several may lead into the
    /// same code.
    pub first_step: Variable,
    /// The code of locations inside deterministic sequences, by the block that follows the
    /// sequence.
    pub regions: HashMap<(Location, Block, u32), Block>,
    /// The blocks that handle faults, by the block that follows and by whether they end a
    /// deterministic sequence.
    pub failures: HashMap<(Block, bool), Block>,
    /// The blocks that call the functions with which deterministic sequences continue, by the block
    /// that follows.
    pub continuations: HashMap<Block, Block>,
    /// Where a process is by its number, computed last and in this block: the order of the control
    /// flow of a process asks for it again and again, and code is not optimised afterwards.
    pub located: Option<(Block, i32, Value)>,
    /// How much code was made, in nodes and operations.
    weight: u32,
    /// The expression this function is for.
    root: Option<ExprId>,
    /// The block at which the function ends.
    pub done: Block,
    /// Whether a sequence continues in this function.
    pub is_sequence: bool,
    /// Whether this function can change which components exist.
    pub creates: bool,
    /// The length of the longest state it is called for, if that is known.
    pub longest: Option<usize>,
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

/// Offset of a field of the cursor.
macro_rules! cursor {
    ($field:ident) => {
        (std::mem::offset_of!($crate::context::Context, cursor) + std::mem::offset_of!($crate::helpers::Cursor, $field)) as i32
    };
}

/// Offset of a field of the context.
macro_rules! field {
    ($field:ident) => {
        std::mem::offset_of!($crate::context::Context, $field) as i32
    };
}
pub(crate) use {cursor, field, view};

impl<'a, 'b, 'm> Emitter<'a, 'b, 'm> {
    pub fn new(
        b: &'a mut FunctionBuilder<'b>,
        program: &'a Verified,
        graph: &'a StepGraph,
        imports: &'a mut Imports<'m>,
        kind: Kind,
        part: &Part,
    ) -> Self {
        let process = imports.parts.ty;
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
        let first_step = b.declare_var(types::I32);
        let zero = b.ins().iconst(types::I32, 0);
        let (begins_dirty, steps_before) = match part {
            Part::Whole(_) => (kind == Kind::Prologue, None),
            Part::Alternatives { .. } => (false, None),
            Part::Value { dirty, .. } => (*dirty, None),
            Part::Sequence { .. } => (true, Some(b.ins().load(types::I32, trusted(), ctx, field!(part_steps)))),
        };
        if begins_dirty {
            let place = b.ins().load(types::I64, trusted(), ctx, view!(dst));
            b.def_var(dst, place);
        }
        let carried = match part {
            Part::Whole(_) if kind == Kind::Prologue => zero,
            Part::Whole(_) => b.ins().load(types::I32, trusted(), ctx, view!(fault_in)),
            Part::Value { .. } => zero,
            Part::Alternatives { .. } | Part::Sequence { .. } => b.ins().load(types::I32, trusted(), ctx, field!(part_fault)),
        };
        b.def_var(fault, carried);
        b.def_var(succeeded, zero);
        b.def_var(steps, steps_before.unwrap_or(zero));
        let first = match part {
            Part::Sequence { .. } => b.ins().load(types::I32, trusted(), ctx, field!(part_first_step)),
            _ => zero,
        };
        b.def_var(first_step, first);
        let done = b.create_block();
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
            first_step,
            regions: HashMap::new(),
            failures: HashMap::new(),
            continuations: HashMap::new(),
            located: None,
            weight: 0,
            root: None,
            done,
            is_sequence: false,
            creates: false,
            longest: None,
        }
    }

    /// The whole function for a part.
    pub fn function(mut self, part: &Part, creates: bool, longest: Option<usize>) -> Result<(), TooMuchCode> {
        (self.creates, self.longest) = (creates, longest);
        let done = self.done;
        let env = Env {
            dirty: self.kind == Kind::Prologue,
            answering: self.kind == Kind::Answer,
            offered: false,
            deterministic: None,
            temps: HashMap::new(),
            saves: 0,
        };
        match part {
            Part::Whole(node) => self.node(*node, env, done)?,
            Part::Alternatives { nodes, answering } => self.alternatives(nodes, Env { answering: *answering, ..env })?,
            Part::Value { expr, dirty } => {
                self.root = Some(*expr);
                let value = self.expr(*expr, &Env { dirty: *dirty, answering: false, ..env }, done);
                let wide = self.b.ins().uextend(types::I64, value);
                self.b.ins().return_(&[wide]);
            }
            Part::Sequence { location, saves } => self.continued_sequence(*location, *saves, env)?,
        }
        if self.weight > MAX_WEIGHT {
            return Err(TooMuchCode);
        }
        self.b.switch_to_block(done);
        if let Part::Alternatives { .. } = part {
            let succeeded = self.b.use_var(self.succeeded);
            self.b.ins().store(trusted(), succeeded, self.ctx, field!(part_succeeded));
        }
        if self.kind == Kind::Value {
            // Faults return by themselves, so this block is never reached.
            let zero = self.b.ins().iconst(types::I64, 0);
            self.b.ins().return_(&[zero]);
        } else {
            self.b.ins().return_(&[]);
        }
        self.fill_continuations();
        self.fill_failures();
        self.b.seal_all_blocks();
        Ok(())
    }

    /// Alternatives that were cut out of another function.
    fn alternatives(&mut self, nodes: &[NodeId], env: Env) -> Result<(), TooMuchCode> {
        let fault = self.b.use_var(self.fault);
        for node in nodes {
            let other = self.b.create_block();
            self.node(*node, env.clone(), other)?;
            self.b.switch_to_block(other);
            self.b.def_var(self.fault, fault);
        }
        self.b.ins().jump(self.done, &[]);
        Ok(())
    }

    /// Calls functions for the alternatives below a node, and jumps to `next`.
    fn cut_out(&mut self, id: NodeId, env: &Env, next: Block) -> Result<(), TooMuchCode> {
        let fault = self.b.use_var(self.fault);
        for nodes in groups(self.graph, id) {
            let part = Part::Alternatives { nodes, answering: env.answering };
            let function = self.imports.part(part, self.kind, self.b.func)?;
            self.b.ins().store(trusted(), fault, self.ctx, field!(part_fault));
            self.b.ins().call(function, &[self.ctx, self.offset, self.pid]);
            let before = self.b.use_var(self.succeeded);
            let more = self.b.ins().load(types::I32, trusted(), self.ctx, field!(part_succeeded));
            let now = self.b.ins().iadd(before, more);
            self.b.def_var(self.succeeded, now);
        }
        self.b.ins().jump(next, &[]);
        Ok(())
    }

    /// Counts an operation, and says whether the expression is to be cut out instead of being made
    /// here.
    pub fn is_cut_out(&mut self, id: ExprId) -> bool {
        self.weight += 1;
        let pool = self.graph.pool();
        if self.root == Some(id) || pool.weight(id) < Parts::LEAST {
            return false;
        }
        let full = self.weight > Parts::LIMIT && !pool.traits(id).depends_on_path;
        full || self.imports.parts.is_shared(id)
    }

    /// Calls a function for an expression.
    pub fn call_value(&mut self, id: ExprId, env: &Env, next: Block) -> Value {
        let part = Part::Value { expr: id, dirty: env.dirty };
        let Ok(function) = self.imports.part(part, Kind::Value, self.b.func) else {
            // Nothing more can be declared, so the function is abandoned.
            self.weight = MAX_WEIGHT + 1;
            return self.int(0);
        };
        let call = self.b.ins().call(function, &[self.ctx, self.offset, self.pid]);
        let result = self.b.inst_results(call)[0];
        if self.graph.pool().traits(id).faults {
            let upper = self.b.ins().ushr_imm_u(result, 32);
            let code = self.b.ins().ireduce(types::I32, upper);
            self.fault_if_set(code, env, next);
        }
        self.b.ins().ireduce(types::I32, result)
    }

    /// Code for a node; every path ends with a jump to `next`, the following alternative.
    pub fn node(&mut self, start: NodeId, mut env: Env, next: Block) -> Result<(), TooMuchCode> {
        let mut id = start;
        loop {
            self.weight += 1;
            if self.weight > MAX_WEIGHT || env.saves as usize >= helpers::SAVES {
                return Err(TooMuchCode);
            }
            if self.is_too_much(id, &env) {
                return self.cut_out(id, &env, next);
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
                // An atom's value is a function of its own; no step has one.
                Node::Blocked | Node::Value(_) => {
                    self.b.ins().jump(next, &[]);
                    return Ok(());
                }
            }
        }
    }

    /// Whether the code of a node becomes functions of its own: it is too large, or the present
    /// function is.
    fn is_too_much(&self, id: NodeId, env: &Env) -> bool {
        let weight = self.graph.weight(id);
        let full = match self.graph.node(id) {
            Node::Choice(..) => self.weight.saturating_add(weight) > Parts::LIMIT,
            _ => self.weight > Parts::LIMIT,
        };
        full && weight >= Parts::LEAST && self.kind != Kind::Prologue && env.is_fresh()
    }

    /// Tries `first`; the code that is emitted afterwards runs only if no path of `first`
    /// succeeded.
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

    /// Prepares for the return after `first` was tried: keeps the fault and, if something was
    /// written before, the state.
    fn keep(&mut self, env: &mut Env, first: NodeId) -> (Value, Option<u32>) {
        let fault = self.b.use_var(self.fault);
        // In a deterministic sequence a path that completes never returns.
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

    /// Code for an effect of a step. Returns `false` if the rest of the path is already compiled.
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
            }
            Effect::StoreElement(var, index, e, addr) => {
                let value = self.expr(*e, env, next);
                let element = self.element(*var, *index, *addr, env, next);
                self.write_to_copy(env);
                let (ty, base, offset) = self.place_of(*var, element, true);
                self.store(ty, value, base, offset);
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
            }
            Effect::Claim { channel, sender, addr } => {
                let number = self.expr(*channel, env, next);
                self.write_to_copy(env);
                let side = self.int(*sender as i32);
                let at = self.int(addr.0 as i32);
                let fault = self.call("claim", &[self.ctx, number, side, self.pid, at]);
                self.fault_if_set(fault, env, next);
            }
        }
        Ok(true)
    }

    /// Code after a helper has created something: `number` is the new number, or minus a fault.
    fn created(&mut self, number: Value, into: Temp, env: &mut Env, next: Block) {
        self.reload_copy();
        let failed = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, number, 0);
        let code = self.b.ins().ineg(number);
        let code = self.b.ins().ireduce(types::I32, code);
        self.fault_with(failed, code, env, next);
        let value = self.b.ins().ireduce(types::I32, number);
        env.temps.insert(into, value);
    }

    pub fn pass_values(&mut self, values: &[Value]) {
        for (i, value) in values.iter().enumerate() {
            self.b.ins().store(trusted(), *value, self.ctx, field!(values) + 4 * i as i32);
        }
    }

    pub fn count_success(&mut self) {
        let old = self.b.use_var(self.succeeded);
        let new = self.b.ins().iadd_imm_s(old, 1);
        self.b.def_var(self.succeeded, new);
    }

    /// The value of TIMEOUT: that of the view in the first path of a transition and in the
    /// deterministic sequence that it begins.
    pub fn timeout(&mut self) -> Value {
        match self.kind {
            Kind::Prologue => self.int(0),
            _ => self.b.ins().load(types::I32, trusted(), self.ctx, view!(timeout)),
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

    /// Calls a helper; returns its result, if it has one.
    pub fn call(&mut self, name: &'static str, args: &[Value]) -> Value {
        let function = self.imports.get(name, self.b.func);
        let call = self.b.ins().call(function, args);
        self.b.inst_results(call).first().copied().unwrap_or(self.ctx)
    }
}
