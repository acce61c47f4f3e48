//! Native code that reads and writes states.
//!
//! The state under expansion is read until something is written; then it is copied, and the copy is
//! read and written.

use crate::emit::{Emitter, Env, Kind, trusted, view};
use crate::expanded::PADDING;
use bytecode::{Addr, Fault, FaultKind, Location, Type, Verified};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::FunctionBuilder;
use stepgraph::{ExprId, Var};

/// The number of bytes that are copied at once.
const CHUNK: usize = 16;

/// The length of the states in which only the initial processes exist.
pub(crate) fn usual_length(program: &Verified) -> usize {
    let layout = program.layout();
    layout.fixed + program.program().instances.iter().map(|ty| layout.processes[ty.index()].size).sum::<usize>()
}

/// An element of an array.
#[derive(Clone, Copy)]
pub(crate) enum Element {
    /// An element whose position is known when the code is made: its offset from the base of its
    /// variable.
    Known(i32),
    /// An element at so many bytes from the start of the array.
    Found(Value),
}

impl Emitter<'_, '_, '_> {
    /// Makes the copy, if it does not exist. From here on the copy is written.
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
        // Sixteen bytes at a time, without a loop up to the usual length of a state; both buffers
        // have padding after the state.
        self.reload_copy();
        let dst = self.b.use_var(self.dst);
        let chunk = |e: &mut Self, from: Value, to: Value, offset: usize| {
            let bytes = e.b.ins().load(types::I8X16, MemFlagsData::new().with_notrap(), from, offset as i32);
            e.b.ins().store(MemFlagsData::new().with_notrap(), bytes, to, offset as i32);
        };
        let usual = usual_length(self.program);
        let straight = usual.next_multiple_of(CHUNK).clamp(CHUNK, PADDING);
        for at in (0..straight).step_by(CHUNK) {
            chunk(self, self.src, dst, at);
        }
        if self.longest.is_some_and(|longest| longest <= straight) {
            return;
        }
        let copy = self.b.create_block();
        let done = self.b.create_block();
        let at = self.b.append_block_param(copy, types::I64);
        let start = self.b.ins().iconst(types::I64, straight as i64);
        let longer = self.b.ins().icmp(IntCC::UnsignedLessThan, start, len);
        self.b.ins().brif(longer, copy, &[BlockArg::Value(start)], done, &[]);
        self.b.switch_to_block(copy);
        let from = self.b.ins().iadd(self.src, at);
        let to = self.b.ins().iadd(dst, at);
        chunk(self, from, to, 0);
        let more = self.b.ins().iadd_imm_s(at, CHUNK as i64);
        let unfinished = self.b.ins().icmp(IntCC::UnsignedLessThan, more, len);
        self.b.ins().brif(unfinished, copy, &[BlockArg::Value(more)], done, &[]);
        self.b.switch_to_block(done);
    }

    /// The length of the state that is read at this point.
    pub fn present_length(&mut self, env: &Env) -> Value {
        let place = if env.dirty && (self.creates || self.kind == Kind::Prologue) { view!(dst_len) } else { view!(src_len) };
        self.b.ins().load(types::I64, trusted(), self.ctx, place)
    }

    /// The length of the copy.
    pub fn length(&mut self) -> Value {
        let place = if self.creates { view!(dst_len) } else { view!(src_len) };
        self.b.ins().load(types::I64, trusted(), self.ctx, place)
    }

    pub fn set_location(&mut self, location: Location) {
        let layout = &self.program.layout().processes[self.process.index()];
        let dst = self.b.use_var(self.dst);
        let base = self.b.ins().iadd(dst, self.offset);
        let value = self.int(location.0 as i32);
        if layout.wide {
            self.b.ins().istore16(trusted(), value, base, layout.location as i32);
        } else {
            self.b.ins().istore8(trusted(), value, base, layout.location as i32);
        }
    }

    pub fn reload_copy(&mut self) {
        let place = self.b.ins().load(types::I64, trusted(), self.ctx, view!(dst));
        self.b.def_var(self.dst, place);
    }

    /// The memory that is read at this point: the copy if it exists.
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

    /// A variable's slot, and the base of its offset.
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

    /// The element of an array; the code checks that the index is within the array.
    pub fn element(&mut self, var: Var, index: ExprId, addr: Addr, env: &Env, next: Block) -> Element {
        let (slot, _) = self.slot(var, env.dirty);
        let number = self.graph.pool().constant(index).and_then(|number| usize::try_from(number).ok());
        if let Some(number) = number.filter(|&number| number < slot.elements) {
            return Element::Known((slot.offset + number * slot.ty.width()) as i32);
        }
        let value = self.expr(index, env, next);
        let length = self.int(slot.elements as i32);
        let outside = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, value, length);
        self.fault_if(outside, Fault { kind: FaultKind::Index, addr }, env, next);
        let wide = self.b.ins().uextend(types::I64, value);
        Element::Found(match slot.ty.width() {
            1 => wide,
            width => self.b.ins().imul_imm_s(wide, width as i64),
        })
    }

    /// The position of an element of a variable: an address, and an offset from there.
    pub fn place_of(&mut self, var: Var, element: Element, dirty: bool) -> (Type, Value, i32) {
        let (slot, base) = self.slot(var, dirty);
        match element {
            Element::Known(offset) => (slot.ty, base, offset),
            Element::Found(distance) => (slot.ty, self.b.ins().iadd(base, distance), slot.offset as i32),
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
        truncate(self.b, ty, value)
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
}

/// The value after it is stored in a variable of this type.
pub(crate) fn truncate(b: &mut FunctionBuilder<'_>, ty: Type, value: Value) -> Value {
    match ty {
        Type::Bit => b.ins().band_imm_s(value, 1),
        Type::Byte => b.ins().band_imm_s(value, 0xff),
        Type::Short => {
            let narrow = b.ins().ireduce(types::I16, value);
            b.ins().sextend(types::I32, narrow)
        }
        Type::Unsigned(bits) if bits < 32 => b.ins().band_imm_s(value, (1_i64 << bits) - 1),
        Type::Int | Type::Unsigned(_) => value,
    }
}
