//! Generates byte-code from a program, in actions.
//!
//! A process of LF is a process of the machine; the processes that it calls are part of it. An
//! *action* is a part of a process that is executed without interruption: it ends where the process
//! communicates, and at `RESCHEDULE`, `CHOICE` and `SELECT`. Loops inside an action are invisible
//! steps of the machine, so an action is one transition, however long it is. (Gerber, "A model
//! checker for the LF system", sections 2.2.2 and 4.2.)
//!
//! There is one process type of the machine for each *kind*: a process of LF together with the
//! variables to which its parameters by reference and its surroundings are bound.

mod calls;
mod classes;
mod communication;
mod expressions;
mod free;
mod statements;
mod storage;
mod unsigned;

use crate::Console;
use crate::close::{PREFIX, Values};
use crate::limits::{MAX_INSTRUCTIONS, MAX_KINDS, MAX_SHAPES, MAX_STEPS, MAX_STORED};
use crate::outside::Outside;
use crate::tree::{self, Action, Direction, Statement};
use bytecode::{
    Addr, Atom, AtomId, ChannelType, FileIndex, FormatId, GlobalId, Label, LocalId, MessageField, Mode, Op, ProcessType, Program, Register,
    Shown, StaticChannel, Type, Variable,
};
use classes::Classes;
use communication::MessageChannels;
use source::{Diagnostic, SourceMap, Span};
use std::collections::{HashMap, HashSet};
use storage::{Frame, FrameKey, Home};

pub(crate) use storage::leaves_of;

/// How waiting processes are paired.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Queues {
    /// A process is paired with every partner that waits; the order of arrival is not part of the
    /// state.
    #[default]
    Sorted,
    /// A process is paired with the partner that has waited longest.
    Fifo,
}

/// The options of the translation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// How waiting processes are paired.
    pub queues: Queues,
    /// Whether an action ends after each statement.
    pub fine: bool,
    /// Whether a program without a model of its devices gets one that represents the devices of a
    /// run: any byte can be read from any port, and any line interrupts at any time.
    pub host: bool,
    /// The input of the console in that model. A run uses the console of its host instead.
    pub console: Option<Console>,
    /// Whether an open program is closed by an environment, and with which values.
    pub close: Option<Values>,
}

/// A kind of process, which becomes a process type of the machine.
pub(crate) struct Kind {
    name: String,
    /// The frame of the process itself.
    frame: usize,
    params: u16,
    locals: Vec<Variable>,
    /// For each kind of surrounding process, the local that holds the number of the process.
    outer: Vec<(usize, LocalId)>,
    /// The parameters that carry the elements of arrays and records.
    carried: Vec<LocalId>,
    /// Hidden locals, by their use and type: one of another type might not hold the value.
    hidden: HashMap<(String, Type), LocalId>,
}

/// A position in the code that is not known yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Mark(u32);

pub(crate) struct Generator<'a> {
    map: &'a SourceMap,
    pub program: &'a tree::Program,
    options: Options,
    diagnostics: &'a mut Vec<Diagnostic>,
    /// A limit was exceeded; no program is generated.
    failed: bool,
    /// Processes that call themselves, directly or indirectly.
    recursive: Vec<bool>,
    /// Ports of modules that get their channel once, before any process uses them.
    fixed_ports: HashSet<usize>,
    /// The fixed ports that have their channel before anything else happens.
    early_ports: HashSet<usize>,
    /// The variables and values that depend on the environment, if it sends any values.
    outside: Outside,
    globals: Vec<Variable>,
    global_homes: HashMap<usize, Home>,
    next_channel: Option<GlobalId>,
    channel_types: Vec<ChannelType>,
    channels: Vec<StaticChannel>,
    /// Which ports can refer to the same channel.
    classes: Classes,
    /// By the message and the class of the port.
    messages: HashMap<((usize, usize), usize), MessageChannels>,
    kinds: Vec<Kind>,
    kind_index: HashMap<(usize, FrameKey), usize>,
    frames: Vec<Frame>,
    frame_index: HashMap<(usize, usize, FrameKey), usize>,
    formats: Vec<String>,
    files: Vec<String>,
    // The kind whose code is being generated.
    kind: usize,
    code: Vec<Op>,
    /// The address of each mark.
    marks: Vec<Option<Addr>>,
    spans: Vec<bytecode::Span>,
    /// Recursive calls of this kind: the frame, the beginning of its code, and the return
    /// positions.
    routines: Vec<calls::Routine>,
    /// Names of addresses of this kind.
    labels: Vec<(Mark, String, bytecode::LabelKind)>,
    /// The number of calls being expanded.
    calls_open: usize,
    /// The source position of the code being generated.
    now: Span,
}

/// Generates byte-code. There is a program only if there are no errors.
pub(crate) fn generate<'a>(
    map: &'a SourceMap,
    name: &str,
    program: &'a tree::Program,
    options: Options,
    diagnostics: &'a mut Vec<Diagnostic>,
) -> (Option<Program>, Generator<'a>) {
    let mut generator = Generator {
        map,
        program,
        options,
        diagnostics,
        failed: false,
        recursive: calls::recursive(program),
        early_ports: early_ports(program),
        outside: if options.close == Some(Values::Any) { Outside::of(program) } else { Outside::default() },
        fixed_ports: fixed_ports(program),
        globals: Vec::new(),
        global_homes: HashMap::new(),
        next_channel: None,
        channel_types: Vec::new(),
        channels: Vec::new(),
        classes: Classes::of(program),
        messages: HashMap::new(),
        kinds: Vec::new(),
        kind_index: HashMap::new(),
        frames: Vec::new(),
        frame_index: HashMap::new(),
        formats: Vec::new(),
        files: map.files().map(|(_, file)| file.name().to_owned()).collect(),
        kind: 0,
        code: Vec::new(),
        marks: Vec::new(),
        spans: Vec::new(),
        routines: Vec::new(),
        labels: Vec::new(),
        calls_open: 0,
        now: Span::default(),
    };
    generator.refuse_too_large();
    generator.declare_globals();
    let made = generator.all_kinds(name);
    (made, generator)
}

impl<'a> Generator<'a> {
    fn fail(&mut self, span: Span, message: impl Into<String>, hint: &str) {
        if !self.failed {
            self.diagnostics.push(Diagnostic::error(span, message).with_hint(hint));
        }
        self.failed = true;
    }

    /// The code of every kind that the program can create, beginning with that of its modules'
    /// bodies.
    fn all_kinds(&mut self, name: &str) -> Option<Program> {
        self.new_kind(self.program.main, FrameKey::default(), None);
        let mut processes = Vec::new();
        let mut code: Vec<Op> = Vec::new();
        let mut spans = Vec::new();
        let mut labels = Vec::new();
        while self.kind < self.kinds.len() {
            self.kind_code();
            if self.failed {
                return None;
            }
            let start = code.len() as u32;
            let kind = &mut self.kinds[self.kind];
            processes.push(ProcessType {
                name: kind.name.clone(),
                params: kind.params,
                locals: std::mem::take(&mut kind.locals),
                start: Addr(start),
                entry: Addr(start),
                prologue: None,
                priority: 1,
            });
            let marks = &self.marks;
            code.extend(self.code.iter().map(|op| relocate(*op, marks, start)));
            spans.extend(self.spans.drain(..).map(|span| bytecode::Span { addr: Addr(span.addr.0 + start), ..span }));
            let named = self.labels.drain(..).filter_map(|(mark, name, kind)| Some((marks[mark.0 as usize]?, name, kind)));
            let mut named: Vec<Label> = named.map(|(addr, name, kind)| Label { name, addr: Addr(addr.0 + start), kind }).collect();
            named.sort_by_key(|label| label.addr);
            labels.append(&mut named);
            if code.len() > MAX_INSTRUCTIONS {
                self.fail(
                    Span::default(),
                    "the program is too large",
                    "calls are expanded in place; use fewer calls, or smaller processes",
                );
                return None;
            }
            self.kind += 1;
        }
        self.refuse_too_many(&processes, &code);
        if self.failed {
            return None;
        }
        // Kinds that were found late may have used locals of kinds made before.
        Some(Program {
            name: name.to_owned(),
            globals: std::mem::take(&mut self.globals),
            channel_types: std::mem::take(&mut self.channel_types),
            channels: std::mem::take(&mut self.channels),
            processes,
            instances: vec![bytecode::ProcessId(0)],
            code,
            labels,
            spans,
            files: self.files.clone(),
            formats: std::mem::take(&mut self.formats),
            symbols: Vec::new(),
            atoms: Vec::new(),
            properties: Vec::new(),
        })
    }

    /// Refuses a program whose states the machine cannot represent.
    fn refuse_too_many(&mut self, processes: &[ProcessType], code: &[Op]) {
        let size = |variables: &[Variable]| variables.iter().map(Variable::size).sum::<usize>();
        if size(&self.globals) > MAX_STORED {
            let variables = self.program.variables.iter().filter(|variable| variable.owner.is_none());
            let largest =
                variables.max_by_key(|variable| self.program.elements(&variable.ty)).map_or(Span::default(), |largest| largest.span);
            let message = format!("the variables of modules take more than {MAX_STORED} bytes, and this one the most of them");
            self.fail(largest, message, "use a smaller array, or a type of fewer bits");
        }
        for (number, kind) in processes.iter().enumerate() {
            let span = self.program.processes[self.frames[self.kinds[number].frame].process].span;
            if size(&kind.locals) > MAX_STORED {
                let message = format!("the variables of this process, with those of its calls, take more than {MAX_STORED} bytes");
                self.fail(span, message, "use a smaller array, or a type of fewer bits");
            }
            let end = processes.get(number + 1).map_or(code.len(), |next| next.start.index());
            let steps = code[kind.start.index()..end].iter().filter(|op| matches!(op, Op::Step { .. })).count();
            if steps > MAX_STEPS {
                self.fail(
                    span,
                    "this process, with its calls, has too many communications and loops",
                    "make it shorter, or call fewer processes",
                );
            }
        }
        if processes.len() + self.channel_types.len() > MAX_SHAPES {
            let hint = "channel types that are the same can be declared once; a process that is created with different variables by reference is a separate kind";
            self.fail(Span::default(), "the program has too many different messages and kinds of processes together", hint);
        }
    }

    fn kind_code(&mut self) {
        self.code.clear();
        self.marks.clear();
        self.spans.clear();
        self.routines.clear();
        let frame = self.kinds[self.kind].frame;
        let process = &self.program.processes[self.frames[frame].process];
        // A process that has not begun is at a location of its own, to which no loop leads.
        self.at(process.span);
        let entry = self.mark();
        self.place_mark(entry);
        self.constant(0);
        self.emit(Op::Drop {});
        if let Some(deadline) = process.deadline {
            self.labels.push((entry, format!("deadline_{deadline}"), bytecode::LabelKind::default()));
        }
        self.take_values(frame);
        let top = self.mark();
        self.place_mark(top);
        self.statements(&process.body, frame);
        self.at(process.end);
        if let Some(period) = process.period {
            // The body is executed once per period. The run time decides when; a search tries every
            // order.
            self.labels.push((top, format!("period_{period}"), bytecode::LabelKind::default()));
            self.step(Mode::Normal);
            self.jump(top);
        }
        self.end_of_process(frame);
        self.routine_code();
        self.close();
        self.label_servers(process.span);
    }

    /// A process of the library is a server; it may wait for ever at any location.
    fn label_servers(&mut self, span: Span) {
        let is_environment = self.options.close.is_some() && self.kinds[self.kind].name.starts_with(PREFIX);
        if !self.map.name(span.file).ends_with(crate::library::MARK) && !is_environment {
            return;
        }
        let ends: Vec<usize> =
            (0..self.code.len()).filter(|at| matches!(self.code[*at], Op::Step { mode } if mode != Mode::Terminate)).collect();
        let mut known = HashSet::new();
        for at in ends {
            let mut target = at + 1;
            // The same number of jumps is followed as in the machine.
            for _ in 0..self.code.len() {
                match self.code.get(target) {
                    Some(Op::Jmp { target: mark }) => match self.marks[mark.index()] {
                        Some(addr) => target = addr.index(),
                        None => break,
                    },
                    _ => break,
                }
            }
            if known.insert(target) {
                let mark = self.mark();
                self.marks[mark.0 as usize] = Some(Addr(target as u32));
                let kind = bytecode::LabelKind { end: true, ..bytecode::LabelKind::default() };
                self.labels.push((mark, format!("end_{target}"), kind));
            }
        }
    }

    /// Replaces unreachable code by code that does nothing: the verifier refuses resumption points
    /// that are never reached.
    fn close(&mut self) {
        let mut reached = vec![false; self.code.len()];
        let mut open = vec![0_usize];
        while let Some(at) = open.pop() {
            if at >= reached.len() || std::mem::replace(&mut reached[at], true) {
                continue;
            }
            let op = self.code[at];
            if let Some(target) = op.target() {
                open.extend(self.marks[target.index()].map(Addr::index));
            }
            if !op.ends_path() || matches!(op, Op::Call { .. }) {
                open.push(at + 1);
            }
        }
        for (op, reached) in self.code.iter_mut().zip(reached) {
            if !reached {
                *op = Op::Nex {};
            }
        }
    }

    /// A new mark.
    fn mark(&mut self) -> Mark {
        self.marks.push(None);
        Mark(self.marks.len() as u32 - 1)
    }

    /// Places the mark at the current address.
    fn place_mark(&mut self, mark: Mark) {
        self.marks[mark.0 as usize] = Some(Addr(self.code.len() as u32));
    }

    fn emit(&mut self, op: Op) {
        if self.code.len() > MAX_INSTRUCTIONS {
            self.fail(Span::default(), "the program is too large", "calls are expanded in place; use fewer calls, or smaller processes");
            return;
        }
        self.code.push(op);
    }

    fn constant(&mut self, value: i32) {
        self.emit(Op::Ldc { value });
    }

    fn jump(&mut self, mark: Mark) {
        self.emit(Op::Jmp { target: Addr(mark.0) });
    }

    fn jump_if_zero(&mut self, mark: Mark) {
        self.emit(Op::Jmpz { target: Addr(mark.0) });
    }

    fn jump_if_not_zero(&mut self, mark: Mark) {
        self.emit(Op::Jmpnz { target: Addr(mark.0) });
    }

    fn or_at(&mut self, mark: Mark) {
        self.emit(Op::Ndet { target: Addr(mark.0) });
    }

    /// Names the failure of the next instruction, by a name of `bytecode::VIOLATIONS`.
    fn name_failure(&mut self, name: &str) {
        let mark = self.mark();
        self.place_mark(mark);
        let label = format!("{}{name}_{}", bytecode::VIOLATION, self.code.len());
        self.labels.push((mark, label, bytecode::LabelKind::default()));
    }

    /// Raises a fault unless the value on top is a number that a set can hold. The length is 32. It
    /// is smaller if the fault is meant to happen.
    fn set_element(&mut self, length: u32) {
        self.name_failure("set_element");
        self.emit(Op::Chk { length });
    }

    fn step(&mut self, mode: Mode) {
        self.emit(Op::Step { mode });
    }

    /// Sets the source position of the following code.
    fn at(&mut self, span: Span) {
        self.now = span;
        let addr = Addr(self.code.len() as u32);
        let place = self.map.location(span);
        let text = statement_text(self.map.snippet(span));
        if self.spans.last().is_some_and(|last| last.addr == addr) {
            self.spans.pop();
        }
        let file = FileIndex::new(span.file.index()).unwrap_or_default();
        self.spans.push(bytecode::Span { addr, file, line: place.line as u32, column: place.column as u32, text });
    }

    fn format(&mut self, text: &str) -> FormatId {
        let position = self.formats.iter().position(|known| known == text).unwrap_or_else(|| {
            self.formats.push(text.to_owned());
            self.formats.len() - 1
        });
        FormatId::new(position).unwrap_or_default()
    }

    /// A hidden local of the current kind, by its use.
    fn hidden(&mut self, name: &str, ty: Type) -> LocalId {
        let kind = &mut self.kinds[self.kind];
        if let Some(local) = kind.hidden.get(&(name.to_owned(), ty)) {
            return *local;
        }
        let local = new_local(kind, name, ty, None, Shown::Hidden);
        kind.hidden.insert((name.to_owned(), ty), local);
        local
    }

    /// The kind for a process and key; it is added if it is new.
    fn kind_for(&mut self, process: usize, key: FrameKey, parent: Option<usize>, span: Span) -> usize {
        if let Some(kind) = self.kind_index.get(&(process, key.clone())) {
            return *kind;
        }
        if self.kinds.len() >= MAX_KINDS {
            self.fail(
                span,
                "the program has too many kinds of processes",
                "a process that is created with different variables by reference, or in different surroundings, is a separate kind",
            );
            return 0;
        }
        self.new_kind(process, key, parent)
    }

    /// The text form of a file's position, for properties.
    pub fn origin(&self, span: Span) -> bytecode::Origin {
        let place = self.map.location(span);
        bytecode::Origin {
            file: FileIndex::new(span.file.index()).unwrap_or_default(),
            line: place.line as u32,
            column: place.column as u32,
            text: statement_text(self.map.snippet(span)),
        }
    }

    /// Adds an atom that computes a condition over the variables of modules.
    pub fn atom(&mut self, program: &mut Program, name: &str, condition: &tree::Expression) -> Option<AtomId> {
        if let Some(position) = program.atoms.iter().position(|atom| atom.name == name) {
            return AtomId::new(position);
        }
        self.code.clear();
        self.marks.clear();
        self.spans.clear();
        self.at(condition.span);
        self.refuse_unknown(condition);
        self.value(condition, usize::MAX);
        self.emit(Op::Ret {});
        if self.failed {
            return None;
        }
        let start = program.code.len() as u32;
        let marks = &self.marks;
        program.code.extend(self.code.iter().map(|op| relocate(*op, marks, start)));
        program.spans.extend(self.spans.drain(..).map(|span| bytecode::Span { addr: Addr(span.addr.0 + start), ..span }));
        program.atoms.push(Atom { name: name.to_owned(), start: Addr(start) });
        AtomId::new(program.atoms.len() - 1)
    }
}

/// Adds a local to a kind.
pub(crate) fn new_local(kind: &mut Kind, name: &str, ty: Type, length: Option<u32>, shown: Shown) -> LocalId {
    let mut unique = name.to_owned();
    let mut number = 2;
    while kind.locals.iter().any(|local| local.name == unique) {
        unique = format!("{name}'{number}");
        number += 1;
    }
    kind.locals.push(Variable { name: unique, ty, length, init: Vec::new(), shown, scratch: false });
    LocalId::new(kind.locals.len() - 1).unwrap_or_default()
}

/// A statement on one line.
fn statement_text(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = line.char_indices().nth(80) {
        line.truncate(at);
        line.push('…');
    }
    line
}

/// The instruction with its mark replaced by the address.
fn relocate(op: Op, marks: &[Option<Addr>], start: u32) -> Op {
    let there = |mark: Addr| Addr(marks.get(mark.index()).copied().flatten().map_or(start, |addr| addr.0 + start));
    match op {
        Op::Jmp { target } => Op::Jmp { target: there(target) },
        Op::Jmpz { target } => Op::Jmpz { target: there(target) },
        Op::Jmpnz { target } => Op::Jmpnz { target: there(target) },
        Op::Ndet { target } => Op::Ndet { target: there(target) },
        Op::Else { target } => Op::Else { target: there(target) },
        other => other,
    }
}

/// Ports of modules that get their channel by one `NEW` at the outermost level of a module's body,
/// and by nothing else. A process that waits at such a port finds the same channel there when it
/// continues.
fn fixed_ports(program: &tree::Program) -> HashSet<usize> {
    let mut given: HashMap<usize, usize> = HashMap::new();
    for process in &program.processes {
        each_statement(&process.body, &mut |statement| match &statement.kind {
            // An assignment counts twice, so that the port does not count as set once.
            Action::Assign(place, _) => *given.entry(place.variable).or_default() += 2,
            Action::New(place) => *given.entry(place.variable).or_default() += 1,
            Action::Communicate(communication) => count_received(&communication.what, &mut given),
            Action::Select(clauses) => clauses.iter().for_each(|clause| count_received(&clause.communication.what, &mut given)),
            Action::Call(_, arguments) | Action::Create(_, arguments) => {
                for argument in arguments {
                    if let tree::Argument::Reference(place) = argument {
                        *given.entry(place.variable).or_default() += 2;
                    }
                }
            }
            _ => {}
        });
    }
    let outermost = program.processes[program.main].body.iter().filter_map(|statement| match &statement.kind {
        Action::New(place) if place.steps.is_empty() => Some(place.variable),
        _ => None,
    });
    // A port at an address may have other names.
    let alone = |variable: &usize| program.variables[*variable].owner.is_none() && program.variables[*variable].address.is_none();
    outermost.filter(|variable| alone(variable) && given.get(variable) == Some(&1)).collect()
}

/// Ports of modules that get their channel before the first statement that creates a process or
/// communicates, so no process finds them without a channel.
fn early_ports(program: &tree::Program) -> HashSet<usize> {
    let body = program.processes[program.main].body.iter();
    let quiet =
        |statement: &&Statement| matches!(statement.kind, Action::New(_) | Action::Assign(..) | Action::Print(..) | Action::Assert(_));
    let early = body.take_while(quiet).filter_map(|statement| match &statement.kind {
        Action::New(place) if place.steps.is_empty() => Some(place.variable),
        _ => None,
    });
    early.collect()
}

fn count_received(what: &Direction, given: &mut HashMap<usize, usize>) {
    if let Direction::Receive(targets) = what {
        for target in targets {
            if let tree::Target::Store(place) = target {
                *given.entry(place.variable).or_default() += 2;
            }
        }
    }
}

/// Visits every statement, including nested ones.
pub(crate) fn each_statement(statements: &[Statement], visit: &mut dyn FnMut(&Statement)) {
    for statement in statements {
        visit(statement);
        match &statement.kind {
            Action::If(branches, last) => {
                branches.iter().for_each(|(_, body)| each_statement(body, visit));
                each_statement(last, visit);
            }
            Action::While(_, body) | Action::Repeat(body, _) | Action::For(_, body) => each_statement(body, visit),
            Action::Select(clauses) => clauses.iter().for_each(|clause| each_statement(&clause.body, visit)),
            Action::Choice(blocks) => blocks.iter().for_each(|block| each_statement(block, visit)),
            _ => {}
        }
    }
}

/// A register that no message fills.
pub(crate) const SPARE: Register = Register(31);

/// A field of a message that names a channel or a process.
pub(crate) const NUMBER: MessageField = MessageField { ty: Type::Byte, shown: Shown::Number };

/// The machine's type for a scalar of LF, and how it is shown.
pub(crate) fn machine_type(ty: &tree::Type) -> (Type, Shown) {
    match ty {
        tree::Type::Boolean => (Type::Bit, Shown::Bool),
        tree::Type::Char | tree::Type::Channel(_) => (Type::Byte, Shown::Number),
        tree::Type::Integer(integer) => match (integer.least, integer.greatest) {
            (0, 0..=255) => (Type::Byte, Shown::Number),
            (0, 256..=65535) => (Type::Unsigned(16), Shown::Number),
            (least, _) if least >= i64::from(i16::MIN) && integer.greatest <= i64::from(i16::MAX) => (Type::Short, Shown::Number),
            (0, greatest) if greatest == i64::from(u32::MAX) => (Type::Unsigned(32), Shown::Number),
            _ => (Type::Int, Shown::Number),
        },
        _ => (Type::Int, Shown::Number),
    }
}
