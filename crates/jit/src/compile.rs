//! From a program to native code: one function for each control location, one more for those that can answer an offer.
//!
//! A location inside a deterministic sequence is part of the functions of the locations from which the sequence is entered, and no state of
//! a search shows a process there. It gets a function of its own only if somebody asks about a state made by hand: translating those too
//! would take time that is quadratic in the length of a sequence, for code that is never called.

use crate::context::Context;
use crate::emit::{Emitter, Kind, TooMuchCode, signature};
use crate::helpers::HELPERS;
use crate::memory::usual_length;
use crate::source::ProcessAt;
use crate::touched::KnownSets;
use bytecode::{Location, Op, ProcessId, Verified};
use cranelift_codegen::ir::{AbiParam, FuncRef, Function, UserFuncName};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::OnceLock;
use stepgraph::{Effect, Node, NodeId, StepGraph};

/// A compiled function: context, offset of the process, its number.
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

/// The code of one process type. Its tables have as many places as a location's number has values with the bits of a mask, so that no
/// number in a state leads outside; those of locations that do not exist do nothing.
struct TypeCode {
    /// Where the control location is in the component.
    location: u32,
    mask: u32,
    expand: Box<[Code]>,
    answer: Box<[Answer]>,
}

/// The code with which a location answers offers, and on which channels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    channels: ChannelSet,
    code: Code,
}

impl Answer {
    /// The code, if it may answer an offer on a channel.
    #[inline]
    pub fn on(self, channel: i32) -> Option<Code> {
        self.channels.meets(ChannelSet::one(channel)).then_some(self.code)
    }
}

/// A set of channels that has all of those meant, and perhaps some more: numbers are taken modulo 64.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct ChannelSet(u64);

impl ChannelSet {
    const ALL: ChannelSet = ChannelSet(u64::MAX);

    fn one(channel: i32) -> ChannelSet {
        ChannelSet(1 << (channel as u32 % 64))
    }

    fn meets(self, other: ChannelSet) -> bool {
        self.0 & other.0 != 0
    }
}

/// Which locations get functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Coverage {
    /// Those where a process can be seen.
    Resting,
    /// All.
    All,
}

/// Where the code is, and what new processes look like.
pub(crate) struct Tables {
    types: Box<[TypeCode]>,
    /// For each shape byte, the size of such a component; 0 if there is none. Process types come first.
    pub shape_sizes: [u32; 256],
    pub process_types: usize,
    /// The length of the longest state that the code is for: none is longer in a search if nothing is ever created.
    longest: Option<usize>,
    pub prologues: Vec<Option<Code>>,
    /// For each type, a new instance's component.
    pub templates: Vec<Vec<u8>>,
    /// The same for all locations, if somebody asked about a state that no search meets.
    all: OnceLock<Option<Box<Tables>>>,
    /// The code reads these.
    _known_sets: KnownSets,
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
    /// The tables with code for states of a length: these, unless no search meets a state that long.
    pub fn for_length(&self, program: &Verified, len: usize) -> Option<&Tables> {
        if self.longest.is_none_or(|longest| len <= longest) { Some(self) } else { self.with_all(program) }
    }

    /// Where a process of a type is that begins at an offset.
    pub fn process_at(&self, ty: u8, offset: u32) -> ProcessAt {
        let of_type = &self.types[ty as usize];
        let (code, answers) = (of_type.expand.as_ptr(), of_type.answer.as_ptr());
        ProcessAt { code, answers, offset, location: offset + of_type.location, mask: of_type.mask, ty: ty as u32 }
    }

    /// Compiles a program.
    pub fn compile(program: &Verified) -> Result<Tables, CompileError> {
        Tables::covering(program, Coverage::Resting)
    }

    /// The tables with code for every location, made when first asked for. They can be made where these could, except that a location
    /// in the middle of a sequence may need more code on its own; then it has none, and its states no successors.
    fn with_all(&self, program: &Verified) -> Option<&Tables> {
        self.all.get_or_init(|| Tables::covering(program, Coverage::All).ok().map(Box::new)).as_deref()
    }

    fn covering(program: &Verified, coverage: Coverage) -> Result<Tables, CompileError> {
        // Parameters are handed over through a place of fixed size.
        if program.program().processes.iter().any(|p| p.params as usize > bytecode::MAX_FIELDS) {
            return Err(CompileError::TooLarge);
        }
        let graph = StepGraph::of(program)?;
        let creates = program.program().code.iter().any(|op| matches!(op, Op::Run { .. } | Op::Chnew { .. }));
        let longest = (coverage == Coverage::Resting && !creates).then(|| usual_length(program));
        let mut compiler = Compiler::new(program, &graph, longest)?;
        let types = program.program().processes.len();
        let mut expand = Vec::with_capacity(types);
        let mut answer = Vec::with_capacity(types);
        let mut prologues = Vec::with_capacity(types);
        for i in 0..types {
            let ty = ProcessId(i as u8);
            let mut expands = Vec::new();
            let mut answers = Vec::new();
            for l in 0..program.locations().count(ty) {
                let location = Location(l as u16);
                if coverage == Coverage::Resting && !graph.rests(ty, location) {
                    expands.push(None);
                    answers.push(None);
                    continue;
                }
                let node = graph.location(ty, location);
                let creates = compiler.creates(ty, node);
                expands.push(Some(compiler.function(ty, node, Kind::Expand, creates)?));
                let channels = compiler.answers(node);
                let answers_any = channels != ChannelSet::default();
                let id = answers_any.then(|| compiler.function(ty, node, Kind::Answer, creates)).transpose()?;
                answers.push(id.map(|id| (id, channels)));
            }
            expand.push(expands);
            answer.push(answers);
            prologues.push(graph.prologue(ty).map(|node| compiler.function(ty, node, Kind::Prologue, true)).transpose()?);
        }
        let (module, known_sets) = compiler.finish()?;
        // SAFETY: each id was made with the signature of `Code`.
        let code = |id: &FuncId| unsafe { std::mem::transmute::<*const u8, Code>(module.get_finalized_function(*id)) };
        let layout = program.layout();
        let mut shape_sizes = [0; 256];
        for (code, size) in shape_sizes.iter_mut().enumerate() {
            *size = layout.shape(code as u8).map_or(0, |shape| layout.size_of(shape) as u32);
        }
        let no_answer = Answer { channels: ChannelSet::default(), code: nothing };
        let of_type = |i: usize| {
            let process = &layout.processes[i];
            let places = if process.wide { expand[i].len().next_power_of_two() } else { 256 };
            let expands = expand[i].iter().map(|id| id.as_ref().map_or(uncommon as Code, code));
            let answers = expand[i].iter().zip(&answer[i]).map(|(expand, answer)| match (expand, answer) {
                (_, Some((id, channels))) => Answer { channels: *channels, code: code(id) },
                (Some(_), None) => no_answer,
                (None, None) => Answer { channels: ChannelSet::ALL, code: uncommon_answer },
            });
            TypeCode {
                location: process.location as u32,
                mask: places as u32 - 1,
                expand: expands.chain(std::iter::repeat(nothing as Code)).take(places).collect(),
                answer: answers.chain(std::iter::repeat(no_answer)).take(places).collect(),
            }
        };
        Ok(Tables {
            types: (0..types).map(of_type).collect(),
            shape_sizes,
            process_types: types,
            longest,
            prologues: prologues.iter().map(|id: &Option<FuncId>| id.as_ref().map(code)).collect(),
            templates: (0..types).map(|i| template(program, ProcessId(i as u8))).collect(),
            all: OnceLock::new(),
            _known_sets: known_sets,
            module: Some(module),
        })
    }
}

/// Stands for the code of a location that does not exist.
extern "C" fn nothing(_: *mut Context, _offset: u64, _process: u32) {}

/// Stands for the code of a location where a search never sees a process: finds the real one.
///
/// # Safety
/// As for every compiled function: called with the context of a state under expansion and one of its processes.
unsafe extern "C" fn uncommon(ctx: *mut Context, _offset: u64, process: u32) {
    // SAFETY: as above; what `find_and_call` passes describes a process of this state.
    unsafe { find_and_call(ctx, process, |at, state, _| Some(at.code(state))) }
}

/// The same for answers to an offer.
///
/// # Safety
/// As for [`uncommon`].
unsafe extern "C" fn uncommon_answer(ctx: *mut Context, _offset: u64, process: u32) {
    // SAFETY: as above.
    unsafe { find_and_call(ctx, process, |at, state, channel| at.answer(state).on(channel)) }
}

/// # Safety
/// As for [`uncommon`].
#[cold]
unsafe fn find_and_call(ctx: *mut Context, process: u32, find: unsafe fn(&ProcessAt, *const u8, i32) -> Option<Code>) {
    // SAFETY: the caller's context, used by nobody else now; program and tables outlive the call.
    let (context, tables, program) = unsafe { (&mut *ctx, &*(*ctx).code, &*(*ctx).program) };
    let Some(all) = tables.with_all(program) else { return };
    // SAFETY: `process` is one of the state that the context looks at.
    let known = unsafe { *context.view.processes.add(process as usize) };
    let at = all.process_at(known.ty as u8, known.offset);
    // SAFETY: `at` describes this process.
    if let Some(code) = unsafe { find(&at, context.view.src, context.offer_channel) } {
        // SAFETY: compiled for this type, location and program.
        unsafe { code(ctx, at.offset as u64, process) };
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

struct Compiler<'p> {
    program: &'p Verified,
    graph: &'p StepGraph,
    module: JITModule,
    helpers: HashMap<&'static str, FuncId>,
    builders: FunctionBuilderContext,
    context: cranelift_codegen::Context,
    convention: CallConv,
    /// The length of the longest state that the code is made for, if there is one.
    longest: Option<usize>,
    known_sets: KnownSets,
}

impl<'p> Compiler<'p> {
    fn new(program: &'p Verified, graph: &'p StepGraph, longest: Option<usize>) -> Result<Self, CompileError> {
        let isa = host()?;
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
            graph,
            module,
            helpers,
            builders: FunctionBuilderContext::new(),
            context,
            convention,
            longest,
            known_sets: KnownSets::default(),
        })
    }

    /// Whether the code from a node on, through deterministic steps, may create something.
    fn creates(&self, ty: ProcessId, start: NodeId) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![start];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.graph.node(id) {
                Node::Do(Effect::Run { .. } | Effect::NewChannel { .. }, _) => return true,
                Node::Step(bytecode::Mode::Deterministic, addr) => {
                    let after = self.program.locations().after_step(*addr);
                    open.extend(after.map(|location| self.graph.location(ty, location)));
                }
                node => open.extend(node.following()),
            }
        }
        false
    }

    /// The channels on which the paths from a node can receive an offer before their first step ends.
    fn answers(&self, start: NodeId) -> ChannelSet {
        let mut channels = ChannelSet::default();
        let mut seen = BTreeSet::new();
        let mut open = vec![start];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let node = self.graph.node(id);
            if let Node::Do(Effect::Receive { channel, .. }, _) = node {
                channels.0 |= self.rendezvous(*channel).0;
            }
            open.extend(node.following());
        }
        channels
    }

    /// The channels without a buffer that an expression may mean.
    fn rendezvous(&self, channel: stepgraph::ExprId) -> ChannelSet {
        let layout = self.program.layout();
        let none = |ty: &bytecode::ChannelLayout| ty.capacity == 0;
        let number = self.graph.pool().constant(channel);
        let index = number.and_then(|n| usize::try_from(n).ok()?.checked_sub(1));
        match (number, index.and_then(|n| layout.channels.get(n))) {
            (Some(number), Some((ty, _))) if none(&layout.channel_types[ty.index()]) => ChannelSet::one(number),
            (Some(_), Some(_)) => ChannelSet::default(),
            _ if layout.channel_types.iter().any(none) => ChannelSet::ALL,
            _ => ChannelSet::default(),
        }
    }

    fn function(&mut self, ty: ProcessId, node: NodeId, kind: Kind, creates: bool) -> Result<FuncId, CompileError> {
        let signature = signature(self.convention);
        let id = self.module.declare_anonymous_function(&signature).map_err(generator)?;
        self.context.func = Function::with_name_signature(UserFuncName::user(0, id.as_u32()), signature);
        let mut builder = FunctionBuilder::new(&mut self.context.func, &mut self.builders);
        let mut imports =
            Imports { module: &mut self.module, helpers: &self.helpers, used: HashMap::new(), known_sets: &mut self.known_sets };
        let made = Emitter::new(&mut builder, self.program, self.graph, &mut imports, ty, kind).function(node, creates, self.longest);
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

    fn finish(mut self) -> Result<(JITModule, KnownSets), CompileError> {
        self.module.finalize_definitions().map_err(generator)?;
        Ok((self.module, self.known_sets))
    }
}

fn generator(error: impl fmt::Display) -> CompileError {
    CompileError::Generator(error.to_string())
}

fn host() -> Result<OwnedTargetIsa, CompileError> {
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

/// The helpers a function under construction uses.
pub(crate) struct Imports<'m> {
    module: &'m mut JITModule,
    helpers: &'m HashMap<&'static str, FuncId>,
    used: HashMap<&'static str, FuncRef>,
    pub known_sets: &'m mut KnownSets,
}

impl Imports<'_> {
    pub fn get(&mut self, name: &'static str, function: &mut Function) -> FuncRef {
        let (module, helpers) = (&mut *self.module, self.helpers);
        *self.used.entry(name).or_insert_with(|| module.declare_func_in_func(helpers[name], function))
    }
}
