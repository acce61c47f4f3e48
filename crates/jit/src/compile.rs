//! From a program to native code: one function for each control location, one more for those that can answer an offer.

use crate::context::Context;
use crate::emit::{Emitter, Kind, TooMuchCode, signature};
use crate::helpers::SYMBOLS;
use bytecode::{Location, ProcessId, Verified};
use cranelift_codegen::ir::{AbiParam, FuncRef, Function, UserFuncName, types};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use stepgraph::{Effect, Node, NodeId, StepGraph};

/// A compiled function.
pub(crate) type Code = unsafe extern "C" fn(*mut Context, u64, u32);

/// Why a program has no native code. The interpreter runs it all the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CompileError {
    /// No code can be made for this machine.
    NoTarget(String),
    /// The program is too large.
    TooLarge,
    /// The code generator refused.
    Generator(String),
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::NoTarget(why) => write!(f, "no native code for this machine: {why}"),
            CompileError::TooLarge => write!(f, "the program is too large for native code"),
            CompileError::Generator(why) => write!(f, "the code generator failed: {why}"),
        }
    }
}

impl std::error::Error for CompileError {}

impl From<TooMuchCode> for CompileError {
    fn from(_: TooMuchCode) -> Self {
        CompileError::TooLarge
    }
}

impl From<stepgraph::TooLarge> for CompileError {
    fn from(_: stepgraph::TooLarge) -> Self {
        CompileError::TooLarge
    }
}

/// The code of one process type.
struct TypeCode {
    /// Where the control location is in the component, and whether it takes two bytes.
    location: u32,
    wide: bool,
    expand: Box<[Code]>,
    answer: Box<[Option<Code>]>,
}

/// Where the code is, and what new processes look like.
pub(crate) struct Tables {
    types: Box<[TypeCode]>,
    /// For each shape byte, the size of such a component; 0 if there is none. Process types come first.
    pub shape_sizes: [u32; 256],
    pub process_types: usize,
    pub prologues: Vec<Option<Code>>,
    /// For each type, a new instance's component.
    pub templates: Vec<Vec<u8>>,
    /// Keeps the code's memory; given back when the tables go.
    module: Option<JITModule>,
}

// SAFETY: the tables are read only once made, and the code they point to is never changed.
unsafe impl Send for Tables {}
// SAFETY: as above.
unsafe impl Sync for Tables {}

impl Drop for Tables {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: whoever could call the code holds these tables, so nobody does any more.
            unsafe { module.free_memory() };
        }
    }
}

impl Tables {
    /// The code for a component of a type where it stands; `None` if no step there can answer an offer and one is asked for.
    ///
    /// # Safety
    /// `component` points to a whole component of type `ty` of the program these tables were made for.
    #[inline]
    pub unsafe fn code(&self, ty: u8, component: *const u8, answering: bool) -> Option<Code> {
        let of_type = &self.types[ty as usize];
        // SAFETY: the location lies inside the component.
        let location = unsafe {
            let at = component.add(of_type.location as usize);
            if of_type.wide { u16::from_le_bytes([*at, *at.add(1)]) as usize } else { *at as usize }
        };
        if answering { of_type.answer.get(location).copied().flatten() } else { of_type.expand.get(location).copied() }
    }

    /// Compiles a program.
    pub fn compile(program: &Verified) -> Result<Tables, CompileError> {
        // Parameters are handed over through a place of fixed size.
        if program.program().processes.iter().any(|p| p.params as usize > bytecode::MAX_FIELDS) {
            return Err(CompileError::TooLarge);
        }
        let graph = StepGraph::of(program)?;
        let mut compiler = Compiler::new(program, &graph)?;
        let types = program.program().processes.len();
        let mut expand = Vec::with_capacity(types);
        let mut answer = Vec::with_capacity(types);
        let mut prologues = Vec::with_capacity(types);
        for i in 0..types {
            let ty = ProcessId(i as u8);
            let locations = (0..program.locations().count(ty)).map(|l| graph.location(ty, Location(l as u16)));
            let mut expands = Vec::new();
            let mut answers = Vec::new();
            for node in locations {
                let reach = compiler.reach(ty, node);
                expands.push(compiler.function(ty, node, Kind::Expand, reach.creates)?);
                let can_answer = reach.may_answer;
                answers.push(can_answer.then(|| compiler.function(ty, node, Kind::Answer, reach.creates)).transpose()?);
            }
            expand.push(expands);
            answer.push(answers);
            prologues.push(graph.prologue(ty).map(|node| compiler.function(ty, node, Kind::Prologue, true)).transpose()?);
        }
        let module = compiler.finish()?;
        // SAFETY: each id was made with the signature of `Code`.
        let code = |id: &FuncId| unsafe { std::mem::transmute::<*const u8, Code>(module.get_finalized_function(*id)) };
        let layout = program.layout();
        let mut shape_sizes = [0; 256];
        for (code, size) in shape_sizes.iter_mut().enumerate() {
            *size = layout.shape(code as u8).map_or(0, |shape| layout.size_of(shape) as u32);
        }
        let of_type = |(i, (expand, answer)): (usize, (&Vec<FuncId>, &Vec<Option<FuncId>>))| TypeCode {
            location: layout.processes[i].location as u32,
            wide: layout.processes[i].wide,
            expand: expand.iter().map(code).collect(),
            answer: answer.iter().map(|id| id.as_ref().map(code)).collect(),
        };
        Ok(Tables {
            types: expand.iter().zip(&answer).enumerate().map(of_type).collect(),
            shape_sizes,
            process_types: types,
            prologues: prologues.iter().map(|id: &Option<FuncId>| id.as_ref().map(code)).collect(),
            templates: (0..types).map(|i| template(program, ProcessId(i as u8))).collect(),
            module: Some(module),
        })
    }
}

/// A new instance of a type before its parameters are stored (I-RUN).
fn template(program: &Verified, ty: ProcessId) -> Vec<u8> {
    let layout = &program.layout().processes[ty.index()];
    let declared = &program.program().processes[ty.index()];
    let mut bytes = vec![0; layout.size];
    bytes[0] = ty.0;
    let entry = program.program().follow_jumps(declared.entry).and_then(|a| program.locations().at(ty, a));
    layout.set_location(&mut bytes, entry.unwrap_or_default());
    if let Some(at) = layout.priority {
        bytes[at] = declared.priority;
    }
    for (slot, variable) in layout.locals.iter().zip(&declared.locals) {
        for i in 0..slot.elements {
            slot.ty.write(variable.initial(i), &mut bytes[slot.offset + i * slot.ty.width()..]);
        }
    }
    bytes
}

/// What the code of a function may come to.
struct Reach {
    creates: bool,
    may_answer: bool,
}

struct Compiler<'p> {
    program: &'p Verified,
    graph: &'p StepGraph,
    module: JITModule,
    helpers: HashMap<&'static str, FuncId>,
    builders: FunctionBuilderContext,
    context: cranelift_codegen::Context,
    convention: CallConv,
}

impl<'p> Compiler<'p> {
    fn new(program: &'p Verified, graph: &'p StepGraph) -> Result<Self, CompileError> {
        let isa = host()?;
        let convention = isa.default_call_conv();
        let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
        for (name, address) in SYMBOLS {
            builder.symbol(*name, *address);
        }
        let mut module = JITModule::new(builder);
        let mut helpers = HashMap::new();
        for (name, _) in SYMBOLS {
            let mut signature = module.make_signature();
            let (params, result) = helper_signature(name);
            signature.params.extend(params.iter().map(|ty| AbiParam::new(*ty)));
            signature.returns.extend(result.map(AbiParam::new));
            let id = module.declare_function(name, Linkage::Import, &signature).map_err(generator)?;
            helpers.insert(*name, id);
        }
        let context = module.make_context();
        Ok(Compiler { program, graph, module, helpers, builders: FunctionBuilderContext::new(), context, convention })
    }

    /// What the code from a node on, through deterministic steps, may come to.
    fn reach(&self, ty: ProcessId, start: NodeId) -> Reach {
        let mut reach = Reach { creates: false, may_answer: false };
        let mut seen = BTreeSet::new();
        let mut open = vec![start];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.graph.node(id) {
                Node::Choice(a, b) | Node::Else(a, b) | Node::Unless(a, b) | Node::Test(_, a, b) => open.extend([*a, *b]),
                Node::Guard(_, next) => open.push(*next),
                Node::Do(effect, next) => {
                    match effect {
                        Effect::Run { .. } | Effect::NewChannel { .. } => reach.creates = true,
                        Effect::Receive { channel, .. } => reach.may_answer |= self.may_be_rendezvous(*channel),
                        _ => {}
                    }
                    open.push(*next);
                }
                Node::Step(bytecode::Mode::Deterministic, addr) => {
                    if let Some(location) = self.program.locations().after_step(*addr) {
                        open.push(self.graph.location(ty, location));
                    }
                }
                Node::Step(..) | Node::Return | Node::Blocked => {}
            }
        }
        reach
    }

    fn may_be_rendezvous(&self, channel: stepgraph::ExprId) -> bool {
        let types = &self.program.layout().channel_types;
        let number = self.graph.pool().constant(channel).and_then(|n| usize::try_from(n).ok()?.checked_sub(1));
        match number.and_then(|n| self.program.layout().channels.get(n)) {
            Some((ty, _)) => types[ty.index()].capacity == 0,
            None => types.iter().any(|ty| ty.capacity == 0),
        }
    }

    fn function(&mut self, ty: ProcessId, node: NodeId, kind: Kind, creates: bool) -> Result<FuncId, CompileError> {
        let signature = signature(self.convention);
        let id = self.module.declare_anonymous_function(&signature).map_err(generator)?;
        self.context.func = Function::with_name_signature(UserFuncName::user(0, id.as_u32()), signature);
        let mut builder = FunctionBuilder::new(&mut self.context.func, &mut self.builders);
        let mut imports = Imports { module: &mut self.module, helpers: &self.helpers, used: HashMap::new() };
        let made = Emitter::new(&mut builder, self.program, self.graph, &mut imports, ty, kind).function(node, creates);
        if let Err(too_much) = made {
            // A half-made function is not finished; its builder's memory starts over.
            self.builders = FunctionBuilderContext::new();
            return Err(too_much.into());
        }
        builder.finalize(self.module.target_config());
        self.module.define_function(id, &mut self.context).map_err(generator)?;
        self.module.clear_context(&mut self.context);
        Ok(id)
    }

    fn finish(mut self) -> Result<JITModule, CompileError> {
        self.module.finalize_definitions().map_err(generator)?;
        Ok(self.module)
    }
}

fn generator(error: impl fmt::Display) -> CompileError {
    CompileError::Generator(error.to_string())
}

fn host() -> Result<OwnedTargetIsa, CompileError> {
    let mut flags = settings::builder();
    for (name, value) in [
        ("opt_level", "none"),
        ("regalloc_algorithm", "single_pass"),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("enable_verifier", "false"),
    ] {
        flags.set(name, value).map_err(generator)?;
    }
    let isa = cranelift_native::builder().map_err(|why| CompileError::NoTarget(why.to_string()))?;
    isa.finish(settings::Flags::new(flags)).map_err(generator)
}

/// Parameters and result of a helper, as its definition in `helpers` has them.
fn helper_signature(name: &str) -> (&'static [types::Type], Option<types::Type>) {
    use types::{I32, I64};
    match name {
        "end" => (&[I64, I32, I32, I64, I32], Some(I64)),
        "fail" => (&[I64, I32, I32, I32], None),
        "offer" => (&[I64, I32, I64, I32], Some(I32)),
        "enabled" => (&[I64, I64, I64, I32], Some(I32)),
        "whereabouts" => (&[I64, I64, I32, I32], Some(I32)),
        "instance" => (&[I64, I32, I32, I32], Some(I64)),
        "priority_at" => (&[I64, I32, I32], Some(I64)),
        "no_progress" => (&[I64, I64, I32], Some(I32)),
        "run" => (&[I64, I32, I32, I32], Some(I64)),
        "prologue_done" => (&[I64, I32], None),
        "new_channel" => (&[I64, I32, I32], Some(I64)),
        "can_send" => (&[I64, I64, I32, I32, I32, I32, I32], Some(I32)),
        "send" => (&[I64, I32, I32], None),
        "make_offer" => (&[I64, I32], None),
        "find" => (&[I64, I64, I32, I32, I32, I32, I32, I32, I32, I32], Some(I32)),
        "take" => (&[I64, I32, I32], None),
        "channel_query" => (&[I64, I64, I32, I32, I32, I32], Some(I64)),
        "claim" => (&[I64, I32, I32, I32, I32], Some(I32)),
        "save" => (&[I64, I32], None),
        "restore" => (&[I64, I32], Some(I64)),
        "endless" => (&[I64, I32, I32], Some(I32)),
        _ => (&[], None),
    }
}

/// The helpers a function under construction uses.
pub(crate) struct Imports<'m> {
    module: &'m mut JITModule,
    helpers: &'m HashMap<&'static str, FuncId>,
    used: HashMap<&'static str, FuncRef>,
}

impl Imports<'_> {
    pub fn get(&mut self, name: &'static str, function: &mut Function) -> FuncRef {
        let (module, helpers) = (&mut *self.module, self.helpers);
        *self.used.entry(name).or_insert_with(|| module.declare_func_in_func(helpers[name], function))
    }
}
