//! Random programs that are well-formed by construction, have few states, and use all features.
//!
//! A program is a few process types, each a small graph of *hubs*: control locations with a tree of
//! alternatives (NDET, ELSE, UNLESS, a conditional jump), whose leaves are short sequences of
//! statements that end in a STEP and go to another hub. Everything the byte-code has occurs. The
//! probabilities are chosen so that interesting things happen in the first hundred states: two or
//! three processes over one to three channels, constants near 0, variables of a few bits, few
//! creations of processes and channels.
//!
//! [`program`] depends on its seed alone. Its programs pass the verifier, with rare exceptions that
//! [`verified`] skips.

mod code;
mod expressions;
mod statements;
mod steps;

use bytecode::{
    ChannelType, ChannelTypeId, Label, LabelKind, MessageField, Mode, Op, ProcessId, ProcessType, Program, Shown, StaticChannel, Type,
    Variable, Verified,
};
use code::{Code, Place};
use contract::testing::Random;
use std::rc::Rc;

/// The random program of a seed.
pub fn program(seed: u64) -> Program {
    Generator::new(seed).program()
}

/// The random program of a seed, unless the verifier refuses it.
pub fn verified(seed: u64) -> Option<Verified> {
    bytecode::verify(program(seed)).ok()
}

/// The kinds of statements, with their frequency in an average program.
const STATEMENTS: [(Statement, u64); 12] = [
    (Statement::Assign, 6),
    (Statement::Guard, 4),
    (Statement::Send, 4),
    (Statement::Receive, 4),
    (Statement::Branch, 2),
    (Statement::Call, 1),
    (Statement::Run, 1),
    (Statement::NewChannel, 1),
    (Statement::Observe, 1),
    (Statement::Claim, 1),
    (Statement::SetPriority, 1),
    (Statement::Register, 1),
];

/// The kinds of expressions, likewise.
const EXPRESSIONS: [(Expression, u64); 16] = [
    (Expression::Constant, 3),
    (Expression::Load, 4),
    (Expression::Binary, 4),
    (Expression::Shift, 1),
    (Expression::Unary, 1),
    (Expression::Fitting, 1),
    (Expression::Division, 1),
    (Expression::Register, 2),
    (Expression::Number, 1),
    (Expression::Last, 2),
    (Expression::Remote, 4),
    (Expression::Priority, 1),
    (Expression::Length, 1),
    (Expression::Poll, 1),
    (Expression::Choice, 1),
    (Expression::Timeout, 2),
];

#[derive(Clone, Copy)]
enum Statement {
    Assign,
    Guard,
    Send,
    Receive,
    Branch,
    Call,
    Run,
    NewChannel,
    Observe,
    Claim,
    SetPriority,
    Register,
}

#[derive(Clone, Copy)]
enum Expression {
    Constant,
    Load,
    Binary,
    Shift,
    Unary,
    Fitting,
    Division,
    Register,
    Number,
    Last,
    Remote,
    Priority,
    Length,
    Poll,
    Choice,
    Timeout,
}

/// The features of a program, drawn once for each. A program with all features uses each of them
/// little; leaving features out at random and using others more finds more faults (Groce and
/// others, "Swarm testing", 2012). Some features also change the layout of all states, and should
/// be absent from most programs.
struct Swarm {
    statements: Vec<(Statement, u64)>,
    expressions: Vec<(Expression, u64)>,
    modes: Vec<(Mode, u64)>,
    alternatives: Vec<(Alternative, u64)>,
    priorities: bool,
    lively: bool,
}

/// The kinds of branching.
#[derive(Clone, Copy)]
enum Alternative {
    Ndet,
    Else,
    Unless,
    IfZero,
    IfNot,
}

impl Swarm {
    fn draw(random: &mut Random) -> Swarm {
        let mut times = |from: &[u64]| from[random.below(from.len() as u64) as usize];
        let priorities = times(&[0, 0, 0, 0, 0, 1]);
        let (usual, rare) = ([0, 1, 1, 2, 4], [0, 0, 0, 1, 4]);
        let statements = STATEMENTS.map(|(kind, weight)| match kind {
            Statement::Assign => (kind, weight),
            Statement::Claim => (kind, weight * times(&rare)),
            Statement::SetPriority => (kind, weight * priorities),
            _ => (kind, weight * times(&usual)),
        });
        let expressions = EXPRESSIONS.map(|(kind, weight)| match kind {
            Expression::Constant | Expression::Load => (kind, weight),
            Expression::Last | Expression::Timeout | Expression::Remote => (kind, weight * times(&rare)),
            Expression::Priority => (kind, weight * priorities),
            _ => (kind, weight * times(&usual)),
        });
        let modes = [
            (Mode::Normal, 6),
            (Mode::Atomic, times(&[0, 0, 2, 4])),
            (Mode::Invisible, times(&[0, 0, 2, 4])),
            (Mode::Deterministic, times(&[0, 0, 1, 3])),
        ];
        let alternatives = [
            (Alternative::Ndet, 4),
            (Alternative::Else, times(&[1, 2, 4])),
            (Alternative::Unless, times(&[0, 1, 4])),
            (Alternative::IfZero, 1),
            (Alternative::IfNot, 1),
        ];
        let lively = times(&[0, 1, 1]) == 1;
        Swarm {
            lively,
            statements: statements.to_vec(),
            expressions: expressions.to_vec(),
            modes: modes.to_vec(),
            alternatives: alternatives.to_vec(),
            priorities: priorities > 0,
        }
    }
}

/// A process type while its code is generated.
struct Body {
    process: usize,
    /// The address of each hub; `hubs[0]` is the entry.
    hubs: Vec<Place>,
    /// Hubs that some leaf goes to and that have no code yet.
    wanted: Vec<usize>,
    /// The address of each subroutine, and whether it is called.
    subroutines: Vec<(Place, bool)>,
    /// The first subroutine that may be called here. A subroutine may only call later ones, so
    /// there is no recursion.
    callable: usize,
}

struct Generator {
    random: Random,
    swarm: Rc<Swarm>,
    program: Program,
    code: Code,
    /// The hubs of every process type, for AT.
    hubs: Vec<Vec<Place>>,
    /// Registers written on every path to here, one bit each.
    written: u32,
    /// The number of paths into which the step under construction may still split.
    splits: u32,
}

impl Generator {
    fn new(seed: u64) -> Generator {
        let mut random = Random(seed);
        let swarm = Rc::new(Swarm::draw(&mut random));
        let program = Program { name: format!("random {seed}"), ..Program::default() };
        Generator { random, swarm, program, code: Code::default(), hubs: Vec::new(), written: 0, splits: 0 }
    }

    /// True once in `n` times.
    fn one_in(&mut self, n: u64) -> bool {
        self.random.below(n) == 0
    }

    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        self.random.below(n as u64) as usize
    }

    /// One of several values, with a frequency by weight.
    fn weighted<T: Copy>(&mut self, from: &[(T, u64)]) -> T {
        let mut at = self.random.below(from.iter().map(|(_, weight)| weight).sum());
        for &(thing, weight) in from {
            if at < weight {
                return thing;
            }
            at -= weight;
        }
        from[0].0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let i = self.below(from.len());
        from[i]
    }

    fn program(mut self) -> Program {
        self.tables();
        for process in 0..self.program.processes.len() {
            self.process(process);
        }
        let entries: Vec<_> = self.program.processes.iter().map(|p| (p.start, p.entry)).collect();
        let types: Vec<Option<usize>> =
            self.code.ops.iter().map(|op| if let Op::At { place } = op { Some(place.0.index()) } else { None }).collect();
        self.program.code = self.code.finish(|at| types[at].map_or(entries[0].1, |ty| entries[ty].1));
        self.program.labels.sort_by_key(|label| label.addr);
        self.program
    }

    fn ty(&mut self) -> Type {
        match self.below(8) {
            0 | 1 => Type::Bit,
            2 | 3 => Type::Byte,
            4 => Type::Short,
            5 => Type::Int,
            _ => {
                let bits = self.pick(&[1, 2, 3, 8, 9, 16, 17, 31, 32]);
                Type::Unsigned(bits)
            }
        }
    }

    fn initial_value(&mut self, ty: Type) -> i32 {
        let value = self.below(3) as i32;
        let negative = matches!(ty, Type::Short | Type::Int) && self.one_in(3);
        if negative {
            -value
        } else if matches!(ty, Type::Bit | Type::Unsigned(1)) {
            value & 1
        } else {
            value
        }
    }

    fn variable(&mut self, name: String, scalar: bool) -> Variable {
        let ty = self.ty();
        let length = if scalar || !self.one_in(4) { None } else { Some(1 + self.below(3) as u32) };
        let count = match self.below(3) {
            0 => 0,
            1 => 1,
            _ => length.unwrap_or(1),
        };
        let init = (0..count).map(|_| self.initial_value(ty)).collect();
        let scratch = self.one_in(8);
        Variable { name, ty, length, init, shown: Shown::Number, scratch }
    }

    /// Everything except the code.
    fn tables(&mut self) {
        for i in 0..1 + self.below(3) {
            let variable = self.variable(format!("g{i}"), i == 0);
            self.program.globals.push(variable);
        }
        for i in 0..1 + self.below(3) {
            let capacity = self.pick(&[0, 0, 1, 1, 2, 3]);
            let fields = (0..1 + self.below(2)).map(|_| MessageField { ty: self.ty(), shown: Shown::Number }).collect();
            self.program.channel_types.push(ChannelType { name: format!("t{i}"), capacity, fields });
        }
        for i in 0..1 + self.below(3) {
            let ty = ChannelTypeId(self.below(self.program.channel_types.len()) as u8);
            self.program.channels.push(StaticChannel { name: format!("c{i}"), ty });
        }
        self.program.formats.push("%d".to_string());
        let types = 1 + self.below(3);
        for i in 0..types {
            let params = self.below(3) as u16;
            let locals = (0..params as usize + self.below(3)).map(|l| self.variable(format!("l{l}"), l < params as usize)).collect();
            let priority = if self.swarm.priorities && self.one_in(2) { 1 + self.below(3) as u8 } else { 1 };
            let (start, entry) = (self.code.here(), self.code.here());
            self.program.processes.push(ProcessType { name: format!("p{i}"), params, locals, start, entry, prologue: None, priority });
            let hubs = (0..1 + self.below(4)).map(|_| self.code.place()).collect();
            self.hubs.push(hubs);
        }
        for i in 0..2 + self.below(2) {
            // Every type has an instance if there are enough of them.
            let ty = if i < types { i } else { self.below(types) };
            self.program.instances.push(ProcessId(ty as u8));
        }
    }

    fn process(&mut self, process: usize) {
        self.program.processes[process].start = self.code.here();
        if self.one_in(4) {
            self.program.processes[process].prologue = Some(self.code.here());
            self.prologue(process);
        }
        let subroutines = (0..self.below(3)).map(|_| (self.code.place(), false)).collect();
        let mut body = Body { process, hubs: self.hubs[process].clone(), wanted: vec![0], subroutines, callable: 0 };
        self.program.processes[process].entry = self.code.here();
        while let Some(hub) = body.wanted.pop() {
            if self.code.addr(body.hubs[hub]).is_none() {
                self.code.put(body.hubs[hub]);
                self.hub(&mut body, hub);
            }
        }
        // Subroutines that are never called are left out, because the verifier refuses unreachable
        // code.
        for i in 0..body.subroutines.len() {
            if body.subroutines[i].1 {
                self.code.put(body.subroutines[i].0);
                body.callable = i + 1;
                self.subroutine(&mut body);
            }
        }
    }

    /// A hub: perhaps a label, then the alternatives.
    fn hub(&mut self, body: &mut Body, hub: usize) {
        let kind = LabelKind { end: self.one_in(3), progress: self.one_in(3), accept: self.one_in(6) };
        if kind != LabelKind::default() {
            let name = format!("hub{hub}");
            self.program.labels.push(Label { name, addr: self.code.here(), kind });
        }
        self.written = 0;
        self.splits = 5;
        // In lively programs most hubs have an alternative that never blocks; other programs often
        // deadlock at once.
        if self.swarm.lively && !self.one_in(4) {
            let other = self.code.place();
            self.code.to(|target| Op::Ndet { target }, other);
            self.alternatives(body, 2);
            self.code.put(other);
            self.written = 0;
            self.assignment(body.process);
            return self.end(body);
        }
        self.alternatives(body, 2);
    }

    /// The mode of a step.
    fn mode(&mut self) -> Mode {
        let swarm = self.swarm.clone();
        self.weighted(&swarm.modes)
    }

    /// Adds an instruction that branches, after the condition that it needs.
    fn fork(&mut self, process: usize, other: Place) {
        let swarm = self.swarm.clone();
        let alternative = self.weighted(&swarm.alternatives);
        match alternative {
            Alternative::Ndet => self.code.to(|target| Op::Ndet { target }, other),
            Alternative::Else => self.code.to(|target| Op::Else { target }, other),
            Alternative::Unless => self.code.to(|target| Op::Unless { target }, other),
            Alternative::IfZero => {
                self.condition(process);
                self.code.to(|target| Op::Jmpz { target }, other);
            }
            Alternative::IfNot => {
                self.condition(process);
                self.code.to(|target| Op::Jmpnz { target }, other);
            }
        }
    }
}
