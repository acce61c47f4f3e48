//! Programs made of arbitrary bytes.
//!
//! The bytes are decisions, one after the other; when they run out, all further decisions are 0.
//! Fewer and smaller bytes therefore make smaller programs, so that a property test can shrink a
//! failure and a fuzzer can learn. The tables of these programs always satisfy the verifier (rule
//! V-TABLES). The code is random, but biased towards correct stack depths.

use crate::format;
use crate::formula::{BinaryOp, Formula, FormulaNode, UnaryOp};
use crate::ids::{Addr, AtomId, ChannelTypeId, FileIndex, FormatId, GlobalId, LocalId, ProcessId, Register};
use crate::ops::{FieldMask, MAX_FIELDS, Mode, Op, OperandSource, Receive, TABLE};
use crate::program::{ChannelType, Label, LabelKind, MessageField, ProcessType, Program, Shown, Span, StaticChannel, Type, Variable};
use crate::property::{Atom, Automaton, AutomatonEdge, AutomatonState, EdgeLabel, Event, Origin, PropertyBody, PropertyEntry};
use std::convert::Infallible;

/// The program that the bytes determine.
pub fn program(decisions: &[u8]) -> Program {
    let mut d = Decisions { bytes: decisions, at: 0, code: 0 };
    let mut program = Program { name: d.name(0), ..Program::default() };
    program.files = (0..d.below(3)).map(|i| d.name(i)).collect();
    program.symbols = (0..d.below(3)).map(|i| (d.constant(), d.name(i))).collect();
    program.formats = (0..d.below(3)).map(|_| d.format()).collect();
    program.globals = (0..d.below(4)).map(|i| d.variable(i, true)).collect();
    program.channel_types = (0..d.below(3)).map(|i| d.channel_type(i)).collect();
    if !program.channel_types.is_empty() {
        let types = program.channel_types.len();
        program.channels = (0..d.below(3)).map(|i| StaticChannel { name: d.name(i), ty: ChannelTypeId(d.below(types) as u8) }).collect();
    }
    // Process types first, so that code can name all of them and their variables.
    let lengths: Vec<usize> = (0..=d.below(3)).map(|_| 1 + d.below(24)).collect();
    let mut start = 0;
    for (i, &length) in lengths.iter().enumerate() {
        let params = d.below(3);
        let locals = (0..params + d.below(3)).map(|l| d.variable(l, l >= params)).collect();
        let entry = Addr(start + if d.below(4) == 3 { d.below(length) as u32 } else { 0 });
        let prologue = (d.below(8) == 7).then(|| Addr(start + d.below(length) as u32));
        let priority = if d.below(8) == 7 { 1 + d.below(255) as u8 } else { 1 };
        program.processes.push(ProcessType {
            name: d.name(i),
            params: params as u16,
            locals,
            start: Addr(start),
            entry,
            prologue,
            priority,
        });
        start += length as u32;
    }
    d.code = start;
    for (i, &length) in lengths.iter().enumerate() {
        let process = ProcessId(i as u8);
        let mut depth = 0_usize;
        for at in 0..length {
            let op = d.op(&program, process, at + 1 == length, &mut depth);
            program.code.push(op);
        }
    }
    d.properties(&mut program);
    program.instances = (0..d.below(4)).map(|_| ProcessId(d.below(lengths.len()) as u8)).collect();
    d.positions(&mut program);
    program
}

struct Decisions<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The number of instructions that the program will have.
    code: u32,
}

impl Decisions<'_> {
    fn byte(&mut self) -> u8 {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        byte
    }

    /// A number below `limit`, which is at most 256.
    fn below(&mut self, limit: usize) -> usize {
        self.byte() as usize % limit.max(1)
    }

    /// A name that no entry with another number has; some names need quotes.
    fn name(&mut self, number: usize) -> String {
        let stem = ["x", "P", "end", "LDC", "a b", "é'", "", ":init:", "\"\\\n", "process", "-1", "q.f[0]"][self.below(12)];
        format!("{stem}{number}")
    }

    fn constant(&mut self) -> i32 {
        match self.below(4) {
            0 => self.byte() as i32,
            1 => -(self.byte() as i32),
            2 => [i32::MIN, i32::MAX, 1 << 16, -65, 64, 8191][self.below(6)],
            _ => i32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()]),
        }
    }

    fn format(&mut self) -> String {
        ["a\n", "%d", "%d %-3x%%", "\u{7f}é\"", ""][self.below(5)].to_owned()
    }

    fn ty(&mut self) -> (Type, Shown) {
        let ty = [Type::Bit, Type::Byte, Type::Short, Type::Int, Type::Unsigned(0)][self.below(5)];
        let ty = if let Type::Unsigned(_) = ty { Type::Unsigned(1 + self.below(32) as u8) } else { ty };
        (ty, [Shown::Number, Shown::Bool, Shown::Symbol, Shown::Channel, Shown::Process, Shown::Hidden][self.below(6)])
    }

    fn variable(&mut self, number: usize, may_be_array: bool) -> Variable {
        let name = self.name(number);
        let (ty, shown) = self.ty();
        let length = (may_be_array && self.below(3) == 2).then(|| 1 + self.below(4) as u32);
        let count = [0, 1, length.unwrap_or(1)][self.below(3)];
        let init = (0..count).map(|_| ty.truncate(self.constant())).collect();
        Variable { name, ty, length, init, shown, scratch: self.below(4) == 3 }
    }

    fn channel_type(&mut self, number: usize) -> ChannelType {
        let (name, capacity) = (self.name(number), self.byte());
        let fields = (0..=self.below(3)).map(|_| self.ty()).map(|(ty, shown)| MessageField { ty, shown }).collect();
        ChannelType { name, capacity, fields }
    }

    /// Appends atoms after the code of the process types, and properties over them.
    fn properties(&mut self, program: &mut Program) {
        for i in 0..self.below(4) {
            let start = Addr(program.code.len() as u32);
            program.atoms.push(Atom { name: self.name(i), start });
            program.code.push(Op::Ldc { value: self.constant() });
            if self.below(2) == 1 {
                program.code.push(Op::Jmpz { target: Addr(start.0 + 3) });
                program.code.push(Op::Nrpr {});
                program.code.push(Op::Ldc { value: 1 });
                // One path has two values here, which is an error that the verifier must find.
                if self.below(2) == 1 {
                    program.code.push(Op::Add {});
                }
            }
            // One value too many, which is also an error.
            if self.below(3) == 2 {
                program.code.push(Op::Nrpr {});
            }
            program.code.push(Op::Ret {});
        }
        let count = self.below(4);
        for i in 0..count {
            let (name, origin) = (self.name(i), self.origin(program));
            let kind = match self.below(4) {
                0 => PropertyBody::Ltl(self.formula(program.atoms.len())),
                1 => PropertyBody::Never(self.automaton(program, false)),
                2 => PropertyBody::Trace(self.automaton(program, true)),
                _ => PropertyBody::Notrace(self.automaton(program, true)),
            };
            program.properties.push(PropertyEntry { name, origin, kind });
        }
    }

    fn origin(&mut self, program: &Program) -> Option<Origin> {
        if program.files.is_empty() || self.below(2) == 0 {
            return None;
        }
        let file = FileIndex(self.below(program.files.len()) as u16);
        Some(Origin { file, line: self.byte().into(), column: self.byte().into(), text: self.format() })
    }

    fn formula(&mut self, atoms: usize) -> Formula {
        let mut nodes = Vec::new();
        let mut depth = 0;
        for _ in 0..self.below(16) {
            match self.below(3) {
                1 if depth > 0 => nodes.push(FormulaNode::Unary(UnaryOp::ALL[self.below(UnaryOp::ALL.len())])),
                2 if depth > 1 => {
                    nodes.push(FormulaNode::Binary(BinaryOp::ALL[self.below(BinaryOp::ALL.len())]));
                    depth -= 1;
                }
                _ => {
                    depth += 1;
                    nodes.push(match self.below(4) {
                        0 => FormulaNode::True,
                        1 => FormulaNode::False,
                        _ if atoms == 0 => FormulaNode::True,
                        _ => FormulaNode::Atom(AtomId(self.below(atoms) as u16)),
                    });
                }
            }
        }
        if depth == 0 {
            nodes.push(FormulaNode::True);
        }
        nodes.extend((1..depth).map(|_| FormulaNode::Binary(BinaryOp::And)));
        Formula(nodes)
    }

    fn automaton(&mut self, program: &Program, events: bool) -> Automaton {
        let states: Vec<_> = (0..=self.below(3)).map(|i| AutomatonState { name: self.name(i), kind: self.label_kind() }).collect();
        let atoms = program.atoms.len();
        let mut edges = Vec::new();
        for _ in 0..self.below(6) {
            let label = match self.below(4) {
                0 => EdgeLabel::True,
                1 => EdgeLabel::Else,
                _ if atoms == 0 => EdgeLabel::True,
                choice if events => {
                    let channel = AtomId(self.below(atoms) as u16);
                    let fields = (0..=self.below(3)).map(|_| (self.below(2) == 1).then(|| AtomId(self.below(atoms) as u16))).collect();
                    let event = Event { channel, fields };
                    if choice == 2 { EdgeLabel::Send(event) } else { EdgeLabel::Receive(event) }
                }
                2 => EdgeLabel::When(AtomId(self.below(atoms) as u16)),
                _ => EdgeLabel::Assert(AtomId(self.below(atoms) as u16)),
            };
            edges.push(AutomatonEdge {
                source: self.below(states.len()) as u32,
                target: (self.below(4) > 0).then(|| self.below(states.len()) as u32),
                label,
                rank: self.below(3) as u32,
                atomic: self.below(2) == 1,
                origin: self.origin(program),
            });
        }
        Automaton { states, edges }
    }

    fn label_kind(&mut self) -> LabelKind {
        LabelKind { end: self.below(2) == 1, progress: self.below(2) == 1, accept: self.below(2) == 1 }
    }

    fn positions(&mut self, program: &mut Program) {
        let atoms = program.atoms_start().0;
        for at in 0..program.code.len() as u32 {
            let addr = Addr(at);
            let labels = if at < atoms { self.below(8).saturating_sub(5) } else { 0 };
            for label in 0..labels {
                let kind = self.label_kind();
                program.labels.push(Label { name: self.name(at as usize * 2 + label), addr, kind });
            }
            if !program.files.is_empty() && self.below(4) == 3 {
                let file = FileIndex(self.below(program.files.len()) as u16);
                let (line, column) = (self.constant() as u32, self.byte().into());
                program.spans.push(Span { addr, file, line, column, text: self.format() });
            }
        }
    }

    fn op(&mut self, program: &Program, process: ProcessId, last: bool, depth: &mut usize) -> Op {
        let op = match (last, self.below(4)) {
            (true, _) => Op::Step { mode: Mode::Terminate },
            // An instruction that the stack allows and that is not a jump.
            (false, 0) if *depth > 0 => Op::Drop {},
            (false, 0) => Op::Step { mode: Mode::ALL[self.below(Mode::ALL.len() - 1)] },
            (false, 1) => Op::Ldc { value: self.constant() },
            _ => self.any_op(program, process),
        };
        *depth = (depth.saturating_sub(op.pops())) + op.pushes();
        op
    }

    /// Any operation with valid operands.
    fn any_op(&mut self, program: &Program, process: ProcessId) -> Op {
        let opcode = TABLE[self.below(TABLE.len())].0;
        let mut operands = Operands { decisions: self, program, process, possible: true };
        let Ok(op) = Op::build(opcode, &mut operands);
        let possible = operands.possible;
        let op = op.unwrap_or(Op::Nex {});
        if possible { adapt(op, program, process) } else { Op::Nex {} }
    }
}

/// The operation, changed so that its operands agree with each other and with the tables.
fn adapt(op: Op, program: &Program, process: ProcessId) -> Op {
    let local = |process: ProcessId, var: LocalId| program.processes[process.index()].locals[var.index()].length.is_some();
    let global = |var: GlobalId| program.globals[var.index()].length.is_some();
    match op {
        Op::Ldg { var } if global(var) => Op::Ldgx { var },
        Op::Stg { var } if global(var) => Op::Stgx { var },
        Op::Ldl { var } if local(process, var) => Op::Ldlx { var },
        Op::Stl { var } if local(process, var) => Op::Stlx { var },
        Op::Ldr { var } if local(var.0, var.1) => Op::Ldrx { var },
        Op::Run { process, .. } => Op::Run { args: program.processes[process.index()].params.into(), process },
        Op::Print { format, .. } => {
            let args = format::arguments(&program.formats[format.index()]).unwrap_or(0) as u32;
            Op::Print { format, args }
        }
        Op::Send { fields } => Op::Send { fields: field_count(fields) },
        Op::Sends { fields } => Op::Sends { fields: field_count(fields) },
        Op::Recv { fields, mask, how } => Op::Recv { fields: field_count(fields), mask: within(mask, fields), how },
        Op::Poll { fields, mask, how } => Op::Poll { fields: field_count(fields), mask: within(mask, fields), how },
        other => other,
    }
}

fn field_count(fields: u32) -> u32 {
    fields % MAX_FIELDS as u32 + 1
}

fn within(mask: FieldMask, fields: u32) -> FieldMask {
    FieldMask(mask.0 & u32::MAX >> (MAX_FIELDS as u32 - field_count(fields)))
}

struct Operands<'a, 'd> {
    decisions: &'a mut Decisions<'d>,
    program: &'a Program,
    process: ProcessId,
    /// Whether all operands exist.
    possible: bool,
}

impl Operands<'_, '_> {
    fn index(&mut self, length: usize) -> usize {
        self.possible &= length > 0;
        self.decisions.below(length)
    }

    fn local_of(&mut self, process: ProcessId) -> LocalId {
        LocalId(self.index(self.program.processes[process.index()].locals.len()) as u16)
    }

    fn addr_of(&mut self, process: ProcessId) -> Addr {
        let start = self.program.processes[process.index()].start.0;
        let end = self.program.processes.get(process.index() + 1).map_or(self.decisions.code, |next| next.start.0);
        Addr(start + self.index((end - start) as usize) as u32)
    }
}

impl OperandSource for Operands<'_, '_> {
    type Error = Infallible;

    fn constant(&mut self) -> Result<i32, Infallible> {
        Ok(self.decisions.constant())
    }

    fn count(&mut self) -> Result<u32, Infallible> {
        Ok(self.decisions.byte().into())
    }

    fn global(&mut self) -> Result<GlobalId, Infallible> {
        Ok(GlobalId(self.index(self.program.globals.len()) as u16))
    }

    fn local(&mut self) -> Result<LocalId, Infallible> {
        Ok(self.local_of(self.process))
    }

    fn remote_local(&mut self) -> Result<(ProcessId, LocalId), Infallible> {
        let process = ProcessId(self.index(self.program.processes.len()) as u8);
        Ok((process, self.local_of(process)))
    }

    fn remote_addr(&mut self) -> Result<(ProcessId, Addr), Infallible> {
        let process = ProcessId(self.index(self.program.processes.len()) as u8);
        Ok((process, self.addr_of(process)))
    }

    fn register(&mut self) -> Result<Register, Infallible> {
        Ok(Register(self.decisions.below(32) as u8))
    }

    fn addr(&mut self) -> Result<Addr, Infallible> {
        Ok(self.addr_of(self.process))
    }

    fn mode(&mut self) -> Result<Mode, Infallible> {
        Ok(Mode::ALL[self.decisions.below(Mode::ALL.len())])
    }

    fn process(&mut self) -> Result<ProcessId, Infallible> {
        Ok(ProcessId(self.index(self.program.processes.len()) as u8))
    }

    fn channel_type(&mut self) -> Result<ChannelTypeId, Infallible> {
        Ok(ChannelTypeId(self.index(self.program.channel_types.len()) as u8))
    }

    fn receive(&mut self) -> Result<Receive, Infallible> {
        Ok(Receive::ALL[self.decisions.below(Receive::ALL.len())])
    }

    fn mask(&mut self) -> Result<FieldMask, Infallible> {
        Ok(FieldMask(self.decisions.byte().into()))
    }

    fn format(&mut self) -> Result<FormatId, Infallible> {
        Ok(FormatId(self.index(self.program.formats.len()) as u16))
    }
}
