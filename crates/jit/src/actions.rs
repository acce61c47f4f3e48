//! Native code for runs: the instructions of the run time, as far as they only compute.
//!
//! A run (crate `runtime`) executes instructions over the slots of frames in a loop. Here they
//! become functions, one for each point where an action begins, which work on the same slots. A
//! function stops before every instruction that needs more than slots: one that creates a process,
//! communicates, prints or chooses, and one that is about to fail. The loop executes that one, and
//! may return to native code after it. So rare instructions have one definition, and native code
//! handles neither faults nor partners.
//!
//! Values are kept in registers within a basic block. Variables are written at once, and slots of
//! the stack when the block ends or the function stops.

use crate::compile::{CompileError, generator, host};
use crate::emit::trusted;
use crate::memory::truncate;
use bytecode::{Mode, Type};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, Block, BlockArg, Function, InstBuilder, UserFuncName, Value, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module, default_libcall_names};
use runtime::{Array, Code, Comparison, Insn, NOWHERE, Slot};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Frame, globals, the number of the process, fuel; the place where it stopped comes back in the
/// lower half, the fuel that is left in the upper one.
type Entry = unsafe extern "C" fn(*mut i32, *mut i32, i32, u32) -> u64;

/// How many instructions a function has at most; it stops before those that are too many.
const LONGEST: usize = 400;

/// How many instructions are translated in all. The loop executes the rest.
const MOST: usize = 200_000;

/// Functions for the places where actions begin.
pub struct Actions {
    /// For each instruction the function that begins there, the least lengths of frame and globals.
    entries: Vec<Option<(Entry, u32)>>,
    globals: usize,
    memory: Option<JITModule>,
}

impl Actions {
    /// Translates the code of a run.
    pub fn new(code: &Code) -> Result<Actions, CompileError> {
        let mut module = JITModule::new(JITBuilder::with_isa(host()?, default_libcall_names()));
        let (mut context, mut builders) = (module.make_context(), FunctionBuilderContext::new());
        let mut open: Vec<u32> = code.begins().to_vec();
        let mut made: BTreeMap<u32, FuncId> = BTreeMap::new();
        let mut seen: BTreeSet<u32> = BTreeSet::new();
        let mut translated = 0;
        while let Some(pc) = open.pop() {
            if translated > MOST || !seen.insert(pc) {
                continue;
            }
            let region = Region::from(code, pc);
            open.extend(&region.behind);
            if region.insns.is_empty() {
                continue;
            }
            translated += region.insns.len();
            let convention = module.target_config().default_call_conv;
            let mut signature = cranelift_codegen::ir::Signature::new(convention);
            signature.params.extend([types::I64, types::I64, types::I32, types::I32].map(AbiParam::new));
            signature.returns.push(AbiParam::new(types::I64));
            let id = module.declare_anonymous_function(&signature).map_err(generator)?;
            context.func = Function::with_name_signature(UserFuncName::user(0, id.as_u32()), signature);
            let builder = FunctionBuilder::new(&mut context.func, &mut builders);
            Translator::translate(builder, code, &region, pc, &module);
            module.define_function(id, &mut context).map_err(generator)?;
            module.clear_context(&mut context);
            made.insert(pc, id);
        }
        module.finalize_definitions().map_err(generator)?;
        let mut entries = vec![None; code.insns().len()];
        for (pc, id) in made {
            // SAFETY: the function was declared with the signature of `Entry`, and is finished.
            let entry = unsafe { std::mem::transmute::<*const u8, Entry>(module.get_finalized_function(id)) };
            entries[pc as usize] = Some((entry, code.frame_length(code.type_of(pc)) as u32));
        }
        Ok(Actions { entries, globals: code.globals_length(), memory: Some(module) })
    }
}

impl runtime::Native for Actions {
    #[inline]
    fn run(&self, pc: u32, process: i32, frame: &mut [i32], globals: &mut [i32], fuel: u32) -> (u32, u32) {
        match self.entries.get(pc as usize) {
            Some(Some((entry, length))) if frame.len() >= *length as usize && globals.len() >= self.globals => {
                // SAFETY: the function reads and writes slots of the frame and of the globals only,
                // all of them within the lengths that were compared: slots that instructions name
                // are within the shapes that `Code` gives, and indices are compared with lengths
                // of arrays that lie within them. The memory lives as long as `self`.
                let packed = unsafe { entry(frame.as_mut_ptr(), globals.as_mut_ptr(), process, fuel) };
                (packed as u32, (packed >> 32) as u32)
            }
            _ => (pc, fuel),
        }
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            // SAFETY: the functions are called through `self` only, which is gone.
            unsafe { memory.free_memory() };
        }
    }
}

/// The instructions of one function.
struct Region {
    insns: BTreeSet<u32>,
    /// The instructions at which several paths join, or that are targets of jumps.
    leaders: BTreeSet<u32>,
    /// Instructions at which the loop may return: those after instructions left to it, and those
    /// that were too many here.
    behind: Vec<u32>,
}

impl Region {
    fn from(code: &Code, start: u32) -> Region {
        let mut region = Region { insns: BTreeSet::new(), leaders: BTreeSet::from([start]), behind: Vec::new() };
        let mut open = vec![start];
        while let Some(pc) = open.pop() {
            let Some(insn) = code.insns().get(pc as usize) else { continue };
            if region.insns.contains(&pc) {
                // Somebody comes here in two ways.
                region.leaders.insert(pc);
                continue;
            }
            match Way::of(insn) {
                Way::Left { returns } => {
                    if returns {
                        region.behind.push(pc + 1);
                    }
                    continue;
                }
                _ if region.insns.len() >= LONGEST => {
                    region.behind.push(pc);
                    continue;
                }
                Way::Next => open.push(pc + 1),
                Way::To(to) => {
                    region.leaders.insert(to);
                    open.push(to);
                }
                Way::Either(to) => {
                    region.leaders.extend([to, pc + 1]);
                    open.extend([to, pc + 1]);
                }
            }
            region.insns.insert(pc);
        }
        region
    }
}

/// How execution continues after an instruction.
enum Way {
    Next,
    To(u32),
    Either(u32),
    /// The instruction is left to the loop, which may return after it.
    Left {
        returns: bool,
    },
}

impl Way {
    fn of(insn: &Insn) -> Way {
        match *insn {
            Insn::Jump { to } => Way::To(to),
            Insn::JumpIf { to, .. } => Way::Either(to),
            Insn::Step { mode: Mode::Invisible, onward, .. } if onward != NOWHERE => Way::To(onward),
            Insn::Step { .. } | Insn::Nex | Insn::Nexz { .. } | Insn::Either { .. } | Insn::Else { .. } => Way::Left { returns: false },
            Insn::Send { .. } | Insn::Receive { .. } => Way::Left { returns: false },
            Insn::Run { .. } | Insn::Count { .. } | Insn::Len { .. } | Insn::Print { .. } => Way::Left { returns: true },
            Insn::LoadOf { .. } | Insn::LoadOfAt { .. } => Way::Left { returns: true },
            _ => Way::Next,
        }
    }
}

struct Translator<'a, 'b> {
    b: FunctionBuilder<'b>,
    code: &'a Code,
    region: &'a Region,
    ty: usize,
    frame: Value,
    globals: Value,
    pid: Value,
    /// The fuel that is left in this block.
    fuel: Value,
    blocks: HashMap<u32, Block>,
    /// The known values of slots, and of globals.
    known: HashMap<Slot, Value>,
    known_globals: HashMap<u32, Value>,
    /// Slots of the stack that are not written yet.
    unwritten: BTreeMap<Slot, Value>,
}

impl<'a, 'b> Translator<'a, 'b> {
    fn translate(mut b: FunctionBuilder<'b>, code: &'a Code, region: &'a Region, start: u32, module: &JITModule) {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let [frame, globals, pid, fuel] = [0, 1, 2, 3].map(|i| b.block_params(entry)[i]);
        let blocks = region.leaders.iter().filter(|pc| region.insns.contains(pc)).map(|pc| (*pc, b.create_block())).collect();
        let mut translator = Translator {
            b,
            code,
            region,
            ty: code.type_of(start),
            frame,
            globals,
            pid,
            fuel,
            blocks,
            known: HashMap::new(),
            known_globals: HashMap::new(),
            unwritten: BTreeMap::new(),
        };
        for block in translator.blocks.values() {
            translator.b.append_block_param(*block, types::I32);
        }
        translator.go_to(start);
        for leader in &region.leaders {
            if let Some(block) = translator.blocks.get(leader).copied() {
                translator.block(*leader, block);
            }
        }
        translator.b.seal_all_blocks();
        translator.b.finalize(module.target_config());
    }

    /// Translates a block up to the next leader, jump or stop.
    fn block(&mut self, leader: u32, block: Block) {
        self.b.switch_to_block(block);
        self.fuel = self.b.block_params(block)[0];
        self.known.clear();
        self.known_globals.clear();
        self.unwritten.clear();
        let mut pc = leader;
        loop {
            if !self.region.insns.contains(&pc) || (pc != leader && self.blocks.contains_key(&pc)) {
                self.go_to(pc);
                return;
            }
            let insn = self.code.insns()[pc as usize];
            match Way::of(&insn) {
                Way::Next => self.insn(&insn, pc),
                Way::To(to) => {
                    if matches!(insn, Insn::Step { .. }) {
                        let one = self.int(1);
                        let last = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, self.fuel, one);
                        self.stop_if(last, pc);
                        self.fuel = self.b.ins().iadd_imm_s(self.fuel, -1);
                    }
                    self.go_to(to);
                    return;
                }
                Way::Either(to) => {
                    if let Insn::JumpIf { a, b, how, .. } = insn {
                        let holds = self.compare(a, b, how);
                        self.write_all();
                        let yes = self.target(to);
                        let no = self.target(pc + 1);
                        let fuel = [BlockArg::Value(self.fuel)];
                        let arguments = |block: &(Block, bool)| if block.1 { &fuel[..] } else { &[] };
                        self.b.ins().brif(holds, yes.0, arguments(&yes), no.0, arguments(&no));
                        for ((block, inside), to) in [(yes, to), (no, pc + 1)] {
                            if !inside {
                                self.b.switch_to_block(block);
                                self.stop(to);
                            }
                        }
                    }
                    return;
                }
                Way::Left { .. } => {
                    self.go_to(pc);
                    return;
                }
            }
            pc += 1;
        }
    }

    /// The block of an instruction, and whether it is one of the region's; else it has to be made.
    fn target(&mut self, pc: u32) -> (Block, bool) {
        match self.blocks.get(&pc) {
            Some(block) => (*block, true),
            None => (self.b.create_block(), false),
        }
    }

    /// Goes on at an instruction, here or in the loop.
    fn go_to(&mut self, pc: u32) {
        self.write_all();
        match self.blocks.get(&pc) {
            Some(block) => {
                self.b.ins().jump(*block, &[BlockArg::Value(self.fuel)]);
            }
            None => self.stop(pc),
        }
    }

    /// Ends the function before an instruction.
    fn stop(&mut self, pc: u32) {
        let fuel = self.b.ins().uextend(types::I64, self.fuel);
        let fuel = self.b.ins().ishl_imm_u(fuel, 32);
        let packed = self.b.ins().bor_imm_u(fuel, i64::from(pc));
        self.b.ins().return_(&[packed]);
    }

    /// Ends the function before an instruction if the loop has to execute it.
    fn stop_if(&mut self, condition: Value, pc: u32) {
        let (stop, on) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(stop);
        self.b.ins().brif(condition, stop, &[], on, &[]);
        self.b.switch_to_block(stop);
        for (slot, value) in self.unwritten.clone() {
            self.write(slot, value);
        }
        self.stop(pc);
        self.b.switch_to_block(on);
    }

    fn write_all(&mut self) {
        for (slot, value) in std::mem::take(&mut self.unwritten) {
            self.write(slot, value);
        }
    }

    fn write(&mut self, slot: Slot, value: Value) {
        self.b.ins().store(trusted(), value, self.frame, slot as i32 * 4);
    }

    fn int(&mut self, value: i32) -> Value {
        self.b.ins().iconst(types::I32, i64::from(value as u32))
    }

    fn get(&mut self, slot: Slot) -> Value {
        if let Some(value) = self.code.constant(self.ty, slot) {
            return self.int(value);
        }
        if let Some(value) = self.known.get(&slot) {
            return *value;
        }
        let value = self.b.ins().load(types::I32, trusted(), self.frame, slot as i32 * 4);
        self.known.insert(slot, value);
        value
    }

    fn set(&mut self, slot: Slot, value: Value) {
        self.known.insert(slot, value);
        if self.code.is_temp(self.ty, slot) {
            self.unwritten.insert(slot, value);
        } else {
            self.write(slot, value);
        }
    }

    fn set_global(&mut self, var: u32, value: Value) {
        self.b.ins().store(trusted(), value, self.globals, var as i32 * 4);
        self.known_globals.insert(var, value);
    }

    fn compare(&mut self, a: Slot, b: Slot, how: Comparison) -> Value {
        let (a, b) = (self.get(a), self.get(b));
        let condition = match how {
            Comparison::Equal => IntCC::Equal,
            Comparison::Unequal => IntCC::NotEqual,
            Comparison::Less => IntCC::SignedLessThan,
            Comparison::LessOrEqual => IntCC::SignedLessThanOrEqual,
            Comparison::Greater => IntCC::SignedGreaterThan,
            Comparison::GreaterOrEqual => IntCC::SignedGreaterThanOrEqual,
        };
        self.b.ins().icmp(condition, a, b)
    }

    /// The address of an element; the loop executes the instruction if there is no such element.
    fn element(&mut self, i: Slot, array: Array, base: Value, pc: u32) -> Value {
        let index = self.get(i);
        let length = self.int(array.length as i32);
        let outside = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, index, length);
        self.stop_if(outside, pc);
        let wide = self.b.ins().uextend(types::I64, index);
        let bytes = self.b.ins().ishl_imm_u(wide, 2);
        self.b.ins().iadd(base, bytes)
    }

    /// A result that must fit into 32 bits, computed in 64.
    fn exact(&mut self, d: Slot, a: Slot, b: Slot, pc: u32, make: impl Fn(&mut Self, Value, Value) -> Value) {
        let (a, b) = (self.get(a), self.get(b));
        let (a, b) = (self.b.ins().sextend(types::I64, a), self.b.ins().sextend(types::I64, b));
        let wide = make(self, a, b);
        let result = self.b.ins().ireduce(types::I32, wide);
        let back = self.b.ins().sextend(types::I64, result);
        let lost = self.b.ins().icmp(IntCC::NotEqual, back, wide);
        self.stop_if(lost, pc);
        self.set(d, result);
    }

    /// Division by 0 is a fault, and that of the least number by −1 overflows in hardware: both are
    /// the loop's.
    fn divide(&mut self, d: Slot, a: Slot, b: Slot, pc: u32, quotient: bool) {
        let constant = self.code.constant(self.ty, b);
        let (a, b) = (self.get(a), self.get(b));
        if constant.is_none_or(|divisor| divisor == 0 || divisor == -1) {
            let above = self.b.ins().iadd_imm_s(b, 1);
            let one = self.int(1);
            let odd = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, above, one);
            self.stop_if(odd, pc);
        }
        let result = if quotient { self.b.ins().sdiv(a, b) } else { self.b.ins().srem(a, b) };
        self.set(d, result);
    }

    fn binary(&mut self, d: Slot, a: Slot, b: Slot, make: impl Fn(&mut Self, Value, Value) -> Value) {
        let (a, b) = (self.get(a), self.get(b));
        let value = make(self, a, b);
        self.set(d, value);
    }

    /// Emits an instruction after which the next one follows.
    fn insn(&mut self, insn: &Insn, pc: u32) {
        match *insn {
            Insn::Move { d, a } => {
                let value = self.get(a);
                self.set(d, value);
            }
            Insn::Cut { d, a, ty } => {
                let value = self.get(a);
                let value = truncate(&mut self.b, ty, value);
                self.set(d, value);
            }
            Insn::Add { d, a, b } => self.binary(d, a, b, |t, a, b| t.b.ins().iadd(a, b)),
            Insn::Sub { d, a, b } => self.binary(d, a, b, |t, a, b| t.b.ins().isub(a, b)),
            Insn::Mul { d, a, b } => self.binary(d, a, b, |t, a, b| t.b.ins().imul(a, b)),
            Insn::And { d, a, b } => self.binary(d, a, b, |t, a, b| t.b.ins().band(a, b)),
            Insn::Or { d, a, b } => self.binary(d, a, b, |t, a, b| t.b.ins().bor(a, b)),
            Insn::Xor { d, a, b } => self.binary(d, a, b, |t, a, b| t.b.ins().bxor(a, b)),
            Insn::Shl { d, a, b } => self.binary(d, a, b, |t, a, b| t.b.ins().ishl(a, b)),
            Insn::Shr { d, a, b } => self.binary(d, a, b, |t, a, b| t.b.ins().sshr(a, b)),
            Insn::Addv { d, a, b } => self.exact(d, a, b, pc, |t, a, b| t.b.ins().iadd(a, b)),
            Insn::Subv { d, a, b } => self.exact(d, a, b, pc, |t, a, b| t.b.ins().isub(a, b)),
            Insn::Mulv { d, a, b } => self.exact(d, a, b, pc, |t, a, b| t.b.ins().imul(a, b)),
            Insn::Div { d, a, b } => self.divide(d, a, b, pc, true),
            Insn::Mod { d, a, b } => self.divide(d, a, b, pc, false),
            Insn::Neg { d, a } => {
                let value = self.get(a);
                let value = self.b.ins().ineg(value);
                self.set(d, value);
            }
            Insn::Not { d, a } => {
                let value = self.get(a);
                let value = self.b.ins().bnot(value);
                self.set(d, value);
            }
            Insn::Lnot { d, a } => {
                let value = self.get(a);
                let zero = self.b.ins().icmp_imm_s(IntCC::Equal, value, 0);
                let value = self.b.ins().uextend(types::I32, zero);
                self.set(d, value);
            }
            Insn::Compare { d, a, b, how } => {
                let holds = self.compare(a, b, how);
                let value = self.b.ins().uextend(types::I32, holds);
                self.set(d, value);
            }
            Insn::Range { a, least, greatest } => {
                let value = self.get(a);
                // One comparison: how far it is above the least value.
                let least_value = self.int(least);
                let above = self.b.ins().isub(value, least_value);
                let width = self.int(greatest.wrapping_sub(least));
                let outside = self.b.ins().icmp(IntCC::UnsignedGreaterThan, above, width);
                self.stop_if(outside, pc);
            }
            Insn::Chk { a, length } => {
                let value = self.get(a);
                let length = self.int(length.min(1 << 31) as i32);
                let outside = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, value, length);
                self.stop_if(outside, pc);
            }
            Insn::Assert { a } => {
                let value = self.get(a);
                let zero = self.b.ins().icmp_imm_s(IntCC::Equal, value, 0);
                self.stop_if(zero, pc);
            }
            Insn::LoadGlobal { d, var } => {
                let value = match self.known_globals.get(&var) {
                    Some(value) => *value,
                    None => self.b.ins().load(types::I32, trusted(), self.globals, var as i32 * 4),
                };
                self.known_globals.insert(var, value);
                self.set(d, value);
            }
            Insn::StoreGlobal { var, a } => {
                let value = self.get(a);
                self.set_global(var, value);
            }
            Insn::CutGlobal { var, a, ty } => {
                let value = self.get(a);
                let value = truncate(&mut self.b, ty, value);
                self.set_global(var, value);
            }
            Insn::LoadGlobalAt { d, i, array } => {
                let array = self.code.array(array);
                let place = self.element(i, array, self.globals, pc);
                let value = self.b.ins().load(types::I32, trusted(), place, array.first as i32 * 4);
                self.set(d, value);
            }
            Insn::StoreGlobalAt { i, a, array } => {
                let array = self.code.array(array);
                let value = self.get(a);
                let value = self.cut(array.ty, value);
                let place = self.element(i, array, self.globals, pc);
                self.b.ins().store(trusted(), value, place, array.first as i32 * 4);
                self.known_globals.retain(|var, _| !(array.first..array.first + array.length).contains(var));
            }
            Insn::LoadAt { d, i, array } => {
                let array = self.code.array(array);
                let place = self.element(i, array, self.frame, pc);
                let value = self.b.ins().load(types::I32, trusted(), place, array.first as i32 * 4);
                self.set(d, value);
            }
            Insn::StoreAt { i, a, array } => {
                let array = self.code.array(array);
                let value = self.get(a);
                let value = self.cut(array.ty, value);
                let place = self.element(i, array, self.frame, pc);
                self.b.ins().store(trusted(), value, place, array.first as i32 * 4);
                self.known.retain(|slot, _| !(array.first..array.first + array.length).contains(slot));
            }
            Insn::Pid { d } => self.set(d, self.pid),
            // The others are left to the loop.
            _ => {}
        }
    }

    fn cut(&mut self, ty: Type, value: Value) -> Value {
        if ty == Type::Int { value } else { truncate(&mut self.b, ty, value) }
    }
}
