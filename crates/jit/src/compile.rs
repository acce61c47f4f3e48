//! Compiles the steps of a location to native code: one function for all of them, and one more if
//! the location can answer an offer.
//!
//! A location inside a deterministic sequence is part of the functions of the locations from which
//! the sequence is entered: no state of a search shows a process there. Code that is too large for
//! one function becomes several functions (`parts`), because a code generator needs more than
//! linear time for large ones. So each call here takes a few milliseconds, and the translation can
//! be stopped in between.

use crate::emit::{Emitter, Kind, TooMuchCode};
use crate::helpers::HELPERS;
use crate::parts::{Part, Parts, Sequence};
use crate::tables::{ChannelSet, Code, ValueCode};
use bytecode::{AtomId, Location, Op, ProcessId, Verified};
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{AbiParam, FuncRef, Function, Signature, UserFuncName};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use stepgraph::{Effect, Facts, Node, NodeId, StepGraph};

/// Why there is no native code. The interpreter can still execute the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CompileError {
    /// No code can be made for this machine.
    NoTarget(String),
    /// The code generator refused.
    Generator(String),
    /// No thread could be started to make it.
    NoThread(String),
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::NoTarget(why) => write!(f, "no native code for this machine: {why}"),
            CompileError::Generator(why) => write!(f, "the code generator failed: {why}"),
            CompileError::NoThread(why) => write!(f, "no thread for making native code: {why}"),
        }
    }
}

impl std::error::Error for CompileError {}

/// Why a function was not made.
enum Refused {
    /// Its code would be too large.
    TooLarge,
    Failed(CompileError),
}

impl From<TooMuchCode> for Refused {
    fn from(_: TooMuchCode) -> Self {
        Refused::TooLarge
    }
}

impl From<CompileError> for Refused {
    fn from(error: CompileError) -> Self {
        Refused::Failed(error)
    }
}

/// The result of making functions.
pub(crate) enum Made {
    Functions(Functions),
    /// No function was made: the interpreter is used instead.
    LeftOut,
    /// The translation was stopped. Nothing more may be made or finished.
    Stopped,
}

/// The functions of a location. Their code can be called once the compiler has finished it.
pub(crate) struct Functions {
    expand: FuncId,
    answer: Option<(ChannelSet, FuncId)>,
}

/// The memory that code lives in.
pub(crate) struct CodeMemory(JITModule);

impl CodeMemory {
    /// # Safety
    /// The code is never called again.
    pub unsafe fn free(self) {
        // SAFETY: as the caller promises.
        unsafe { self.0.free_memory() };
    }
}

pub(crate) struct Compiler<'p> {
    program: &'p Verified,
    facts: Facts,
    module: JITModule,
    helpers: HashMap<&'static str, FuncId>,
    builders: FunctionBuilderContext,
    context: cranelift_codegen::Context,
    convention: CallConv,
    /// The length of the longest state that the code is made for, if there is one.
    longest: Option<usize>,
    /// The functions of deterministic sequences that were cut, and those of them still to be made.
    sequences: HashMap<Sequence, FuncId>,
    open_sequences: Vec<(Sequence, FuncId)>,
    /// The approximate memory of the code made so far, and its limit.
    made: u64,
    budget: u64,
}

/// The approximate memory of a function besides its code.
const PER_FUNCTION: u64 = 256;

impl<'p> Compiler<'p> {
    pub fn new(program: &'p Verified, isa: OwnedTargetIsa, longest: Option<usize>, budget: u64) -> Result<Self, CompileError> {
        let convention = isa.default_call_conv();
        let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
        for helper in HELPERS {
            builder.symbol(helper.name, helper.address);
        }
        let mut module = JITModule::new(builder);
        let mut helpers = HashMap::new();
        for helper in HELPERS {
            let mut signature = module.make_signature();
            signature.params.extend(helper.params.iter().map(|ty| AbiParam::new(*ty)));
            signature.returns.extend(helper.result.map(AbiParam::new));
            let id = module.declare_function(helper.name, Linkage::Import, &signature).map_err(generator)?;
            helpers.insert(helper.name, id);
        }
        let context = module.make_context();
        Ok(Compiler {
            program,
            facts: Facts::of(program),
            module,
            helpers,
            builders: FunctionBuilderContext::new(),
            context,
            convention,
            longest,
            sequences: HashMap::new(),
            open_sequences: Vec::new(),
            made: 0,
            budget,
        })
    }

    /// Whether no more code is made. Calls to functions that were not made are then left to the
    /// interpreter.
    pub fn is_full(&self) -> bool {
        self.made >= self.budget
    }

    /// Makes the functions of a location, as long as `go_on` returns true.
    pub fn location(&mut self, ty: ProcessId, location: Location, go_on: &dyn Fn() -> bool) -> Result<Made, CompileError> {
        let Ok(graph) = StepGraph::at(self.program, &self.facts, ty, location, Parts::LIMIT as u64) else { return Ok(Made::LeftOut) };
        let node = graph.location(ty, location);
        let mut parts = Parts::of(&graph, ty);
        let creates = self.type_creates(ty) && (graph.is_cut() || self.creates(&graph, ty, node));
        let whole = Part::Whole(node);
        let expand = self.declare()?;
        self.make(&graph, &mut parts, expand, Kind::Expand, &whole, creates)?;
        let channels = self.answers(&graph, node);
        let answer = (channels != ChannelSet::default()).then(|| self.declare()).transpose()?;
        if let Some(id) = answer {
            self.make(&graph, &mut parts, id, Kind::Answer, &whole, creates)?;
        }
        let done = self.rest(&graph, &mut parts, creates, go_on)? && self.sequences(go_on)?;
        Ok(if done { Made::Functions(Functions { expand, answer: answer.map(|id| (channels, id)) }) } else { Made::Stopped })
    }

    /// Makes the prologue of a type.
    pub fn prologue(&mut self, ty: ProcessId, go_on: &dyn Fn() -> bool) -> Result<Made, CompileError> {
        let Ok(graph) = StepGraph::of_prologue(self.program, &self.facts, ty) else { return Ok(Made::LeftOut) };
        let Some(node) = graph.prologue(ty) else { return Ok(Made::LeftOut) };
        let mut parts = Parts::of(&graph, ty);
        let expand = self.declare()?;
        self.make(&graph, &mut parts, expand, Kind::Prologue, &Part::Whole(node), true)?;
        let done = self.rest(&graph, &mut parts, true, go_on)?;
        Ok(if done { Made::Functions(Functions { expand, answer: None }) } else { Made::Stopped })
    }

    /// Makes the function that gives the value of an atom.
    pub fn atom(&mut self, atom: AtomId, go_on: &dyn Fn() -> bool) -> Result<Made, CompileError> {
        let code = self.program.program().code_of_atom(atom);
        // An atom has no active process, so questions about which processes can move are left to
        // the interpreter.
        let asks = |op: &Op| matches!(op, Op::Enabled {} | Op::Timeout {});
        if self.program.program().code[code.start as usize..code.end as usize].iter().any(asks) {
            return Ok(Made::LeftOut);
        }
        let Ok((graph, expr)) = StepGraph::of_atom(self.program, &self.facts, atom) else { return Ok(Made::LeftOut) };
        // An atom belongs to no process, and its code uses none.
        let mut parts = Parts::of(&graph, ProcessId(0));
        let value = self.module.declare_anonymous_function(&value_signature(self.convention)).map_err(generator)?;
        match self.function(&graph, &mut parts, value, Kind::Value, &Part::Value { expr, dirty: false }, false) {
            Ok(()) => {}
            Err(Refused::TooLarge) => {
                self.substitute(value, true)?;
                return Ok(Made::LeftOut);
            }
            Err(Refused::Failed(error)) => return Err(error),
        }
        let done = self.rest(&graph, &mut parts, false, go_on)?;
        Ok(if done { Made::Functions(Functions { expand: value, answer: None }) } else { Made::Stopped })
    }

    /// Makes the functions that those made so far call. Returns `false` if the translation was
    /// stopped.
    fn rest(&mut self, graph: &StepGraph, parts: &mut Parts, creates: bool, go_on: &dyn Fn() -> bool) -> Result<bool, CompileError> {
        while let Some((part, kind, id)) = parts.open.pop() {
            if !go_on() {
                return Ok(false);
            }
            self.make(graph, parts, id, kind, &part, creates)?;
        }
        Ok(true)
    }

    /// Makes the functions of the sequences with which functions made so far continue. Returns
    /// `false` if the translation was stopped.
    fn sequences(&mut self, go_on: &dyn Fn() -> bool) -> Result<bool, CompileError> {
        while let Some((sequence, id)) = self.open_sequences.pop() {
            if !go_on() {
                return Ok(false);
            }
            let Sequence { ty, location, saves } = sequence;
            let Ok(graph) = StepGraph::at(self.program, &self.facts, ty, location, Parts::LIMIT as u64) else {
                self.substitute(id, false)?;
                continue;
            };
            let mut parts = Parts::of(&graph, ty);
            // The code before the sequence may have created something.
            let creates = self.type_creates(ty);
            self.make(&graph, &mut parts, id, Kind::Expand, &Part::Sequence { location, saves }, creates)?;
            if !self.rest(&graph, &mut parts, creates, go_on)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Makes a function that others call, or a substitute that leaves the state to the interpreter.
    fn make(
        &mut self,
        graph: &StepGraph,
        parts: &mut Parts,
        id: FuncId,
        kind: Kind,
        part: &Part,
        creates: bool,
    ) -> Result<(), CompileError> {
        if self.is_full() {
            return self.substitute(id, kind == Kind::Value);
        }
        match self.function(graph, parts, id, kind, part, creates) {
            Ok(()) => Ok(()),
            Err(Refused::TooLarge) => self.substitute(id, kind == Kind::Value),
            Err(Refused::Failed(error)) => Err(error),
        }
    }

    /// Whether any process of a type creates something.
    fn type_creates(&self, ty: ProcessId) -> bool {
        let program = self.program.program();
        program.code_of(ty).any(|at| matches!(program.code.get(at as usize), Some(Op::Run { .. } | Op::Chnew { .. })))
    }

    /// Whether the code from a node on, through deterministic steps, may create something.
    fn creates(&self, graph: &StepGraph, ty: ProcessId, start: NodeId) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![start];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            match graph.node(id) {
                Node::Do(Effect::Run { .. } | Effect::NewChannel { .. }, _) => return true,
                Node::Step(bytecode::Mode::Deterministic, addr) => {
                    let after = self.program.locations().after_step(*addr);
                    open.extend(after.map(|location| graph.location(ty, location)));
                }
                node => open.extend(node.following()),
            }
        }
        false
    }

    /// The channels on which the paths from a node can receive an offer before their first step
    /// ends.
    fn answers(&self, graph: &StepGraph, start: NodeId) -> ChannelSet {
        let mut channels = ChannelSet::default();
        let mut seen = BTreeSet::new();
        let mut open = vec![start];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let node = graph.node(id);
            if let Node::Do(Effect::Receive { channel, .. }, _) = node {
                channels.0 |= self.rendezvous(graph, *channel).0;
            }
            open.extend(node.following());
        }
        channels
    }

    /// The channels without a buffer that an expression may refer to.
    fn rendezvous(&self, graph: &StepGraph, channel: stepgraph::ExprId) -> ChannelSet {
        let layout = self.program.layout();
        let none = |ty: &bytecode::ChannelLayout| ty.capacity == 0;
        let number = graph.pool().constant(channel);
        let index = number.and_then(|n| usize::try_from(n).ok()?.checked_sub(1));
        match (number, index.and_then(|n| layout.channels.get(n))) {
            (Some(number), Some((ty, _))) if none(&layout.channel_types[ty.index()]) => ChannelSet::one(number),
            (Some(_), Some(_)) => ChannelSet::default(),
            _ if layout.channel_types.iter().any(none) => ChannelSet::ALL,
            _ => ChannelSet::default(),
        }
    }

    fn declare(&mut self) -> Result<FuncId, CompileError> {
        self.module.declare_anonymous_function(&signature(self.convention)).map_err(generator)
    }

    fn function(
        &mut self,
        graph: &StepGraph,
        parts: &mut Parts,
        id: FuncId,
        kind: Kind,
        part: &Part,
        creates: bool,
    ) -> Result<(), Refused> {
        let signature = if kind == Kind::Value { value_signature(self.convention) } else { signature(self.convention) };
        self.context.func = Function::with_name_signature(UserFuncName::user(0, id.as_u32()), signature);
        let mut builder = FunctionBuilder::new(&mut self.context.func, &mut self.builders);
        let mut imports = Imports {
            module: &mut self.module,
            convention: self.convention,
            helpers: &self.helpers,
            used: HashMap::new(),
            parts,
            sequences: &mut self.sequences,
            open_sequences: &mut self.open_sequences,
        };
        let emitter = Emitter::new(&mut builder, self.program, graph, &mut imports, kind, part);
        if let Err(too_much) = emitter.function(part, creates, self.longest) {
            // A partly built function is dropped, so the builder's memory must be new.
            self.builders = FunctionBuilderContext::new();
            return Err(too_much.into());
        }
        builder.finalize(self.module.target_config());
        self.define(id).map_err(Refused::Failed)
    }

    fn define(&mut self, id: FuncId) -> Result<(), CompileError> {
        self.module.define_function(id, &mut self.context).map_err(generator)?;
        self.made += PER_FUNCTION + self.context.compiled_code().map_or(0, |code| code.code_buffer().len() as u64);
        self.module.clear_context(&mut self.context);
        Ok(())
    }

    /// Makes a function that leaves the state to the interpreter, instead of one that is too large.
    fn substitute(&mut self, id: FuncId, value: bool) -> Result<(), CompileError> {
        use cranelift_codegen::ir::InstBuilder;
        let signature = if value { value_signature(self.convention) } else { signature(self.convention) };
        self.context.func = Function::with_name_signature(UserFuncName::user(0, id.as_u32()), signature);
        let untranslated = self.module.declare_func_in_func(self.helpers["untranslated"], &mut self.context.func);
        let mut builder = FunctionBuilder::new(&mut self.context.func, &mut self.builders);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let params = builder.block_params(entry).to_vec();
        builder.ins().call(untranslated, &params);
        let result = value.then(|| builder.ins().iconst(I64, 0));
        builder.ins().return_(result.as_slice());
        builder.seal_all_blocks();
        builder.finalize(self.module.target_config());
        self.define(id)
    }

    /// Makes the code of all functions made so far ready to be called.
    pub fn finish(&mut self) -> Result<(), CompileError> {
        self.module.finalize_definitions().map_err(generator)
    }

    fn code(&self, id: FuncId) -> Code {
        // SAFETY: each id that gets here was declared with the signature of `Code`.
        unsafe { std::mem::transmute::<*const u8, Code>(self.module.get_finalized_function(id)) }
    }

    /// The code of functions that were made before the last [`finish`](Self::finish).
    pub fn code_of(&self, functions: &Functions) -> (Code, Option<(ChannelSet, Code)>) {
        (self.code(functions.expand), functions.answer.map(|(channels, id)| (channels, self.code(id))))
    }

    /// The code of an atom's function, made before the last [`finish`](Self::finish).
    pub fn value_of(&self, functions: &Functions) -> ValueCode {
        // SAFETY: the functions of atoms are declared with the signature of `ValueCode`.
        unsafe { std::mem::transmute::<*const u8, ValueCode>(self.module.get_finalized_function(functions.expand)) }
    }

    pub fn into_memory(self) -> CodeMemory {
        CodeMemory(self.module)
    }
}

pub(crate) fn generator(error: impl fmt::Display) -> CompileError {
    CompileError::Generator(error.to_string())
}

/// The machine that code is made for: this one.
pub(crate) fn host() -> Result<OwnedTargetIsa, CompileError> {
    let mut flags = settings::builder();
    for (name, value) in [
        ("opt_level", "none"),
        ("regalloc_algorithm", "backtracking"),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("enable_verifier", "false"),
    ] {
        flags.set(name, value).map_err(generator)?;
    }
    let isa = cranelift_native::builder().map_err(|why| CompileError::NoTarget(why.to_string()))?;
    isa.finish(settings::Flags::new(flags)).map_err(generator)
}

/// The signature of compiled functions: context, offset of the process, its number.
pub(crate) fn signature(convention: CallConv) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.extend([AbiParam::new(I64), AbiParam::new(I64), AbiParam::new(I32)]);
    signature
}

/// The signature of those that evaluate an expression: the same, with the value in the lower half
/// of the result and a fault in the other.
fn value_signature(convention: CallConv) -> Signature {
    let mut signature = signature(convention);
    signature.returns.push(AbiParam::new(I64));
    signature
}

/// The functions that a function under construction calls.
pub(crate) struct Imports<'m> {
    module: &'m mut JITModule,
    convention: CallConv,
    helpers: &'m HashMap<&'static str, FuncId>,
    used: HashMap<&'static str, FuncRef>,
    pub parts: &'m mut Parts,
    sequences: &'m mut HashMap<Sequence, FuncId>,
    open_sequences: &'m mut Vec<(Sequence, FuncId)>,
}

impl Imports<'_> {
    pub fn get(&mut self, name: &'static str, function: &mut Function) -> FuncRef {
        let (module, helpers) = (&mut *self.module, self.helpers);
        *self.used.entry(name).or_insert_with(|| module.declare_func_in_func(helpers[name], function))
    }

    /// A function for a part, to be made later.
    pub fn part(&mut self, part: Part, kind: Kind, function: &mut Function) -> Result<FuncRef, TooMuchCode> {
        let id = match self.parts.known(&part) {
            Some(id) => id,
            None => {
                let signature = if kind == Kind::Value { value_signature(self.convention) } else { signature(self.convention) };
                let id = self.module.declare_anonymous_function(&signature).map_err(|_| TooMuchCode)?;
                self.parts.add(part, kind, id);
                id
            }
        };
        Ok(self.module.declare_func_in_func(id, function))
    }

    /// The function with which a sequence continues at a location, to be compiled later.
    pub fn sequence(&mut self, sequence: Sequence, function: &mut Function) -> Result<FuncRef, TooMuchCode> {
        let id = match self.sequences.get(&sequence) {
            Some(id) => *id,
            None => {
                let id = self.module.declare_anonymous_function(&signature(self.convention)).map_err(|_| TooMuchCode)?;
                self.sequences.insert(sequence, id);
                self.open_sequences.push((sequence, id));
                id
            }
        };
        Ok(self.module.declare_func_in_func(id, function))
    }

    pub fn signature(&self) -> Signature {
        signature(self.convention)
    }
}
