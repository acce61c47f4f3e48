//! Translates byte-code to instructions over the slots of a frame.
//!
//! The run time executes the same verified byte-code as the searches, but in a form made for speed,
//! without a stack. A value that is pushed and popped again is read from its original slot. The
//! depth of the stack is known at each instruction (rule V-STACK), so this is one pass over the
//! code.

use crate::insn::{Array, Code, Comparison, FrameShape, Insn, NOWHERE, Slot};
use bytecode::{Addr, FieldMask, Mode, Op, ProcessId, REGISTERS, Type, Verified};
use std::collections::HashMap;
use std::fmt;

/// An instruction that the run time does not execute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotRunnable {
    /// Its address.
    pub addr: Addr,
    /// The unsupported feature.
    pub what: &'static str,
}

impl fmt::Display for NotRunnable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the run time cannot execute this program: {} (instruction {})", self.what, self.addr.0)
    }
}

impl std::error::Error for NotRunnable {}

fn shapes(variables: &[bytecode::Variable]) -> (Vec<Array>, Vec<i32>) {
    let (mut shapes, mut values) = (Vec::new(), Vec::new());
    for variable in variables {
        shapes.push(Array { first: values.len() as u32, length: variable.elements() as u32, ty: variable.ty });
        values.extend((0..variable.elements()).map(|element| variable.ty.truncate(variable.initial(element))));
    }
    (shapes, values)
}

impl Code {
    pub(crate) fn of(verified: &Verified) -> Result<Code, NotRunnable> {
        let program = verified.program();
        let at_start = |what| NotRunnable { addr: Addr(0), what };
        let layout = verified.layout();
        if layout.exclusive.is_some() || layout.last.is_some() || layout.processes.iter().any(|process| process.priority.is_some()) {
            return Err(at_start("it uses atomic steps, priorities or the process that moved last"));
        }
        let variables = program.globals.iter().chain(program.processes.iter().flat_map(|process| &process.locals));
        if variables.into_iter().any(|variable| variable.scratch) {
            return Err(at_start("it has variables that are reset after each transition"));
        }
        let (globals, initial_globals) = shapes(&program.globals);
        let mut code = Code {
            insns: Vec::new(),
            origins: Vec::new(),
            starts: vec![0; program.code.len() + 1],
            ranges: Vec::new(),
            begins: Vec::new(),
            frames: Vec::new(),
            globals,
            initial_globals,
            arrays: Vec::new(),
            remotes: Vec::new(),
        };
        for process in &program.processes {
            if let Some(addr) = process.prologue {
                return Err(NotRunnable { addr, what: "a process type has a prologue" });
            }
            let (locals, mut initial) = shapes(&process.locals);
            let registers = initial.len() as Slot;
            initial.resize(initial.len() + REGISTERS, 0);
            let temps = initial.len() as Slot;
            initial.resize(initial.len() + verified.max_stack() + 1, 0);
            let constants = initial.len() as Slot;
            code.frames.push(FrameShape { locals, registers, temps, constants, initial });
        }
        for number in 0..program.processes.len() {
            let start = code.insns.len() as u32;
            Translation::new(&mut code, verified, number).run()?;
            code.ranges.push((start, code.insns.len() as u32));
        }
        Ok(code)
    }
}

/// The translation of the code of one process type.
struct Translation<'a> {
    code: &'a mut Code,
    verified: &'a Verified,
    ty: usize,
    /// Whether an address is a jump target or a resting place.
    is_label: Vec<bool>,
    /// The depth of the stack at jump targets.
    depths: HashMap<usize, usize>,
    constants: HashMap<i32, Slot>,
    /// The slot of each value on the stack.
    stack: Vec<Slot>,
    /// Jumps whose targets are still byte-code addresses.
    jumps: Vec<usize>,
    /// Whether the last instruction may be changed: no jump leads to the address after it.
    joined: bool,
    origin: Addr,
    start: usize,
}

impl<'a> Translation<'a> {
    fn new(code: &'a mut Code, verified: &'a Verified, ty: usize) -> Self {
        let range = verified.program().code_of(ProcessId(ty as u8));
        Translation {
            code,
            verified,
            ty,
            is_label: vec![false; (range.end - range.start) as usize + 1],
            depths: HashMap::new(),
            constants: HashMap::new(),
            stack: Vec::new(),
            jumps: Vec::new(),
            joined: false,
            origin: Addr(range.start),
            start: range.start as usize,
        }
    }

    fn run(mut self) -> Result<(), NotRunnable> {
        let program = self.verified.program();
        let range = program.code_of(ProcessId(self.ty as u8));
        let mut label = |addr: Addr| self.is_label[addr.index() - range.start as usize] = true;
        for at in range.clone() {
            if let Some(target) = program.code[at as usize].target() {
                label(target);
            }
        }
        self.verified.locations().addresses(ProcessId(self.ty as u8)).iter().for_each(|addr| label(*addr));
        // An unreachable instruction may have any depth; it is replaced by one that blocks.
        let mut falls_through = false;
        for at in range.clone() {
            let (op, addr) = (program.code[at as usize], Addr(at));
            self.origin = addr;
            if !self.verified.is_reachable(addr) {
                if falls_through {
                    self.settle_stack();
                }
                self.code.starts[at as usize] = self.code.insns.len() as u32;
                self.emit(Insn::Nex);
                self.joined = false;
                falls_through = false;
                continue;
            }
            if self.is_label[at as usize - self.start] {
                if falls_through {
                    self.settle_stack();
                }
                let depth = if falls_through { self.stack.len() } else { self.depths.get(&(at as usize)).copied().unwrap_or(0) };
                self.depths.insert(at as usize, depth);
                self.stack = (0..depth).map(|place| self.temp(place)).collect();
                self.joined = false;
            }
            self.code.starts[at as usize] = self.code.insns.len() as u32;
            self.op(op)?;
            falls_through = !op.ends_path();
        }
        self.code.starts[range.end as usize] = self.code.insns.len() as u32;
        let starts = &self.code.starts;
        for jump in &self.jumps {
            match &mut self.code.insns[*jump] {
                Insn::Jump { to } | Insn::JumpIf { to, .. } | Insn::Either { to, .. } | Insn::Else { to } => *to = starts[*to as usize],
                _ => {}
            }
        }
        Ok(())
    }

    fn refuse<T>(&self, what: &'static str) -> Result<T, NotRunnable> {
        Err(NotRunnable { addr: self.origin, what })
    }

    fn temp(&self, place: usize) -> Slot {
        self.code.frames[self.ty].temps + place as Slot
    }

    fn is_temp(&self, slot: Slot) -> bool {
        let frame = &self.code.frames[self.ty];
        (frame.temps..frame.constants).contains(&slot)
    }

    fn local(&self, var: bytecode::LocalId) -> Array {
        self.code.frames[self.ty].locals[var.index()]
    }

    fn emit(&mut self, insn: Insn) {
        self.code.insns.push(insn);
        self.code.origins.push(self.origin);
        self.joined = true;
    }

    fn constant(&mut self, value: i32) -> Slot {
        let frame = &mut self.code.frames[self.ty].initial;
        *self.constants.entry(value).or_insert_with(|| {
            frame.push(value);
            frame.len() as Slot - 1
        })
    }

    fn pop(&mut self) -> Slot {
        // The verifier guarantees that there is a value.
        self.stack.pop().unwrap_or_default()
    }

    /// The slot for a value that is pushed next.
    fn next(&self) -> Slot {
        self.temp(self.stack.len())
    }

    /// Moves every value of the stack to the slot of its position, as required where paths join.
    fn settle_stack(&mut self) {
        self.settle_from(0);
    }

    fn settle_from(&mut self, first: usize) {
        for place in first..self.stack.len() {
            let home = self.temp(place);
            if self.stack[place] != home {
                let a = self.stack[place];
                self.emit(Insn::Move { d: home, a });
                self.stack[place] = home;
            }
        }
    }

    /// Prepares writing some slots: values that are still there are moved away.
    fn about_to_write(&mut self, slots: std::ops::Range<Slot>) {
        for place in 0..self.stack.len() {
            if slots.contains(&self.stack[place]) {
                let (home, a) = (self.temp(place), self.stack[place]);
                self.emit(Insn::Move { d: home, a });
                self.stack[place] = home;
            }
        }
    }

    fn binary(&mut self, make: fn(Slot, Slot, Slot) -> Insn) {
        let (b, a) = (self.pop(), self.pop());
        let d = self.next();
        self.emit(make(d, a, b));
        self.stack.push(d);
    }

    fn unary(&mut self, make: fn(Slot, Slot) -> Insn) {
        let a = self.pop();
        let d = self.next();
        self.emit(make(d, a));
        self.stack.push(d);
    }

    fn compare(&mut self, how: Comparison) {
        let (b, a) = (self.pop(), self.pop());
        let d = self.next();
        self.emit(Insn::Compare { d, a, b, how });
        self.stack.push(d);
    }

    /// Emits a jump. All paths to an address have the same depth of the stack; the first one
    /// determines it.
    fn jump_to(&mut self, target: Addr, insn: Insn) -> Result<(), NotRunnable> {
        let depth = self.stack.len();
        if *self.depths.entry(target.index()).or_insert(depth) != depth {
            return self.refuse("values stay on the stack across a jump backwards");
        }
        self.jumps.push(self.code.insns.len());
        self.emit(insn);
        Ok(())
    }

    /// A conditional jump; a comparison directly before it becomes part of it.
    fn jump_if(&mut self, target: Addr, if_true: bool) -> Result<(), NotRunnable> {
        let a = self.pop();
        let fused = match self.code.insns.last() {
            Some(Insn::Compare { d, a: left, b: right, how }) if self.joined && *d == a && self.is_temp(a) => {
                Some((*left, *right, if if_true { *how } else { how.opposite() }))
            }
            _ => None,
        };
        // The operands must not be moved when the rest of the stack is settled.
        let (a, b, how) = match fused {
            Some(found) => {
                self.code.insns.pop();
                self.code.origins.pop();
                found
            }
            None => (a, self.constant(0), if if_true { Comparison::Unequal } else { Comparison::Equal }),
        };
        self.settle_stack();
        self.jump_to(target, Insn::JumpIf { a, b, how, to: target.0 })
    }

    fn store_local(&mut self, var: Array, a: Slot) {
        self.about_to_write(var.first..var.first + 1);
        if var.ty != Type::Int {
            self.emit(Insn::Cut { d: var.first, a, ty: var.ty });
            return;
        }
        // A result that was computed for the stack is written directly to its destination.
        if self.joined
            && self.is_temp(a)
            && let Some(d) = self.code.insns.last_mut().and_then(destination)
            && *d == a
        {
            *d = var.first;
            return;
        }
        self.emit(Insn::Move { d: var.first, a });
    }

    /// The number of alternatives that begin at an address.
    fn alternatives(&self, mut at: Addr) -> u32 {
        let mut count = 1;
        while let Some(Op::Ndet { target }) = self.verified.program().code.get(at.index()) {
            count += 1;
            at = *target;
        }
        count
    }

    fn op(&mut self, op: Op) -> Result<(), NotRunnable> {
        match op {
            Op::Ldc { value } => {
                let slot = self.constant(value);
                self.stack.push(slot);
            }
            Op::Ldg { var } => {
                let (d, var) = (self.next(), self.code.globals[var.index()].first);
                self.emit(Insn::LoadGlobal { d, var });
                self.stack.push(d);
            }
            Op::Stg { var } => {
                let (a, var) = (self.pop(), self.code.globals[var.index()]);
                match var.ty {
                    Type::Int => self.emit(Insn::StoreGlobal { var: var.first, a }),
                    ty => self.emit(Insn::CutGlobal { var: var.first, a, ty }),
                }
            }
            Op::Ldgx { var } => {
                let (i, array) = (self.pop(), self.array(self.code.globals[var.index()]));
                let d = self.next();
                self.emit(Insn::LoadGlobalAt { d, i, array });
                self.stack.push(d);
            }
            Op::Stgx { var } => {
                let (i, a, array) = (self.pop(), self.pop(), self.array(self.code.globals[var.index()]));
                self.emit(Insn::StoreGlobalAt { i, a, array });
            }
            Op::Ldl { var } => {
                let slot = self.local(var).first;
                self.stack.push(slot);
            }
            Op::Stl { var } => {
                let (a, var) = (self.pop(), self.local(var));
                self.store_local(var, a);
            }
            Op::Ldlx { var } => {
                let (i, array) = (self.pop(), self.array(self.local(var)));
                let d = self.next();
                self.emit(Insn::LoadAt { d, i, array });
                self.stack.push(d);
            }
            Op::Stlx { var } => {
                let (i, a) = (self.pop(), self.pop());
                let shape = self.local(var);
                self.about_to_write(shape.first..shape.first + shape.length);
                let array = self.array(shape);
                self.emit(Insn::StoreAt { i, a, array });
            }
            Op::Ldr { var: (ty, var) } => {
                let (process, remote) = (self.pop(), self.remote(ty, var));
                let d = self.next();
                self.emit(Insn::LoadOf { d, process, remote });
                self.stack.push(d);
            }
            Op::Ldrx { var: (ty, var) } => {
                let place = self.stack.len() - 2;
                self.settle_from(place);
                self.stack.truncate(place);
                let (d, remote) = (self.next(), self.remote(ty, var));
                self.emit(Insn::LoadOfAt { d, process: d, remote });
                self.stack.push(d);
            }
            Op::Chk { length } => {
                let a = self.stack.last().copied().unwrap_or_default();
                self.emit(Insn::Chk { a, length });
                self.joined = false;
            }
            Op::Range { least, greatest } => {
                let a = self.stack.last().copied().unwrap_or_default();
                self.emit(Insn::Range { a, least, greatest });
                self.joined = false;
            }
            Op::Push { reg } => self.stack.push(self.code.frames[self.ty].registers + Slot::from(reg.0)),
            Op::Pop { reg } => {
                let (a, d) = (self.pop(), self.code.frames[self.ty].registers + Slot::from(reg.0));
                self.about_to_write(d..d + 1);
                self.emit(Insn::Move { d, a });
                self.joined = false;
            }
            Op::Drop {} => {
                self.pop();
            }
            Op::Add {} => self.binary(|d, a, b| Insn::Add { d, a, b }),
            Op::Sub {} => self.binary(|d, a, b| Insn::Sub { d, a, b }),
            Op::Mul {} => self.binary(|d, a, b| Insn::Mul { d, a, b }),
            Op::Addv {} => self.binary(|d, a, b| Insn::Addv { d, a, b }),
            Op::Subv {} => self.binary(|d, a, b| Insn::Subv { d, a, b }),
            Op::Mulv {} => self.binary(|d, a, b| Insn::Mulv { d, a, b }),
            Op::Div {} => self.binary(|d, a, b| Insn::Div { d, a, b }),
            Op::Mod {} => self.binary(|d, a, b| Insn::Mod { d, a, b }),
            Op::And {} => self.binary(|d, a, b| Insn::And { d, a, b }),
            Op::Or {} => self.binary(|d, a, b| Insn::Or { d, a, b }),
            Op::Xor {} => self.binary(|d, a, b| Insn::Xor { d, a, b }),
            Op::Shl {} => self.binary(|d, a, b| Insn::Shl { d, a, b }),
            Op::Shr {} => self.binary(|d, a, b| Insn::Shr { d, a, b }),
            Op::Neg {} => self.unary(|d, a| Insn::Neg { d, a }),
            Op::Not {} => self.unary(|d, a| Insn::Not { d, a }),
            Op::Lnot {} => self.unary(|d, a| Insn::Lnot { d, a }),
            Op::Eq {} => self.compare(Comparison::Equal),
            Op::Ne {} => self.compare(Comparison::Unequal),
            Op::Lt {} => self.compare(Comparison::Less),
            Op::Le {} => self.compare(Comparison::LessOrEqual),
            Op::Gt {} => self.compare(Comparison::Greater),
            Op::Ge {} => self.compare(Comparison::GreaterOrEqual),
            Op::Jmp { target } => {
                self.settle_stack();
                // The end of a loop decides at once whether to repeat it. The jump out of the loop
                // still has its byte-code address.
                let top = self.code.starts[target.index()] as usize;
                if target < self.origin
                    && self.stack.is_empty()
                    && let Some(&Insn::JumpIf { a, b, how, to }) =
                        self.code.insns.get(top).filter(|_| self.jumps.binary_search(&top).is_ok())
                {
                    self.emit(Insn::JumpIf { a, b, how: how.opposite(), to: top as u32 + 1 });
                    return self.jump_to(Addr(to), Insn::Jump { to });
                }
                self.jump_to(target, Insn::Jump { to: target.0 })?;
            }
            Op::Jmpz { target } => self.jump_if(target, false)?,
            Op::Jmpnz { target } => self.jump_if(target, true)?,
            Op::Ndet { target } => {
                self.settle_stack();
                let count = self.alternatives(self.origin);
                self.jump_to(target, Insn::Either { to: target.0, count })?;
            }
            Op::Else { target } => {
                self.settle_stack();
                self.jump_to(target, Insn::Else { to: target.0 })?;
            }
            Op::Step { mode } => {
                if matches!(mode, Mode::Atomic | Mode::Deterministic) {
                    return self.refuse("it has atomic or deterministic sequences");
                }
                let location = self.verified.locations().after_step(self.origin).map_or(0, |location| location.0);
                self.emit(Insn::Step { mode, location, onward: NOWHERE });
            }
            Op::Nex {} => self.emit(Insn::Nex),
            Op::Nexz {} => {
                let a = self.pop();
                self.emit(Insn::Nexz { a });
            }
            Op::Run { args, process } => {
                let place = self.stack.len() - args as usize;
                self.settle_from(place);
                self.stack.truncate(place);
                let d = self.next();
                self.emit(Insn::Run { d, first: d, count: args, ty: process.0 });
                self.stack.push(d);
            }
            Op::Pid {} => {
                let d = self.next();
                self.emit(Insn::Pid { d });
                self.stack.push(d);
            }
            Op::Nrpr {} => {
                let d = self.next();
                self.emit(Insn::Count { d });
                self.stack.push(d);
            }
            Op::Len {} => self.unary(|d, a| Insn::Len { d, a }),
            Op::Send { fields } => {
                let place = self.stack.len() - fields as usize - 1;
                self.settle_from(place);
                self.stack.truncate(place);
                let first = self.next();
                self.emit(Insn::Send { first, fields });
            }
            Op::Recv { fields, mask: FieldMask(mask), how } => {
                let place = self.stack.len() - mask.count_ones() as usize - 1;
                self.settle_from(place);
                self.stack.truncate(place);
                let registers = self.code.frames[self.ty].registers;
                self.about_to_write(registers..registers + fields);
                let first = self.next();
                self.emit(Insn::Receive { first, fields, mask, how });
            }
            Op::Assert {} => {
                let a = self.pop();
                self.emit(Insn::Assert { a });
            }
            Op::Print { format, args } => {
                let place = self.stack.len() - args as usize;
                self.settle_from(place);
                self.stack.truncate(place);
                let first = self.next();
                self.emit(Insn::Print { format, first, count: args });
            }
            _ => return self.refuse("it uses an operation that LF does not have"),
        }
        Ok(())
    }

    fn array(&mut self, array: Array) -> u32 {
        self.code.arrays.push(array);
        self.code.arrays.len() as u32 - 1
    }

    fn remote(&mut self, ty: ProcessId, var: bytecode::LocalId) -> u32 {
        self.code.remotes.push((ty.0, self.code.frames[ty.index()].locals[var.index()]));
        self.code.remotes.len() as u32 - 1
    }
}

/// The slot that an instruction writes, if it is a single slot that is known before.
pub(crate) fn written(insn: &Insn) -> Option<Slot> {
    let mut insn = *insn;
    match insn {
        Insn::Shl { d, .. } | Insn::Shr { d, .. } | Insn::Cut { d, .. } | Insn::Run { d, .. } | Insn::Len { d, .. } => Some(d),
        Insn::LoadOf { d, .. } | Insn::LoadOfAt { d, .. } => Some(d),
        _ => destination(&mut insn).copied(),
    }
}

/// The destination of the result of an instruction, if it can be another slot.
fn destination(insn: &mut Insn) -> Option<&mut Slot> {
    match insn {
        Insn::Move { d, .. }
        | Insn::Add { d, .. }
        | Insn::Sub { d, .. }
        | Insn::Mul { d, .. }
        | Insn::Addv { d, .. }
        | Insn::Subv { d, .. }
        | Insn::Mulv { d, .. }
        | Insn::Div { d, .. }
        | Insn::Mod { d, .. }
        | Insn::And { d, .. }
        | Insn::Or { d, .. }
        | Insn::Xor { d, .. }
        | Insn::Neg { d, .. }
        | Insn::Not { d, .. }
        | Insn::Lnot { d, .. }
        | Insn::Compare { d, .. }
        | Insn::LoadGlobal { d, .. }
        | Insn::LoadGlobalAt { d, .. }
        | Insn::LoadAt { d, .. }
        | Insn::Pid { d }
        | Insn::Count { d } => Some(d),
        _ => None,
    }
}
