//! Random programs: well-formed by construction, small in states, rich in what happens.
//!
//! A program is a few process types, each a small graph of *hubs*: control locations at which a tree of alternatives (NDET, ELSE, UNLESS, a
//! jump on a condition) stands, whose leaves are short sequences of statements that end in a STEP and go to another hub. Everything the
//! byte-code has occurs. What is likely is chosen so that interesting things happen in the first hundred states: two or three processes over
//! one to three channels, constants near 0, variables kept to a few bits, processes and channels created a few times at most.
//!
//! [`program`] depends on its seed alone. What it makes passes the verifier, with rare exceptions that [`verified`] passes over.

mod code;
mod expressions;
mod statements;
mod steps;

use bytecode::{
    ChannelType, ChannelTypeId, Label, LabelKind, MessageField, Mode, ProcessId, ProcessType, Program, Shown, StaticChannel, Type,
    Variable, Verified,
};
use code::{Code, Place};
use contract::testing::Random;

/// The random program of a seed.
pub fn program(seed: u64) -> Program {
    Generator::new(seed).program()
}

/// The random program of a seed, unless the verifier refuses it.
pub fn verified(seed: u64) -> Option<Verified> {
    bytecode::verify(program(seed)).ok()
}

/// Which rarer parts of the machine a program uses. They are drawn once for each program, because some of them change the shape of all its
/// states and should be absent from most.
#[derive(Clone, Copy, Debug)]
struct Features {
    atomic: bool,
    invisible: bool,
    deterministic: bool,
    priorities: bool,
    last: bool,
    claims: bool,
    timeout: bool,
    remote: bool,
    unless: bool,
}

/// A process type while its code is generated.
struct Body {
    process: usize,
    /// Where each hub begins; `hubs[0]` is the entry.
    hubs: Vec<Place>,
    /// Hubs that some leaf goes to and that have no code yet.
    wanted: Vec<usize>,
    /// Where each subroutine begins, and whether it is called.
    subroutines: Vec<(Place, bool)>,
    /// The first subroutine that may be called here: one may only call those behind it, so there is no recursion.
    callable: usize,
}

struct Generator {
    random: Random,
    features: Features,
    program: Program,
    code: Code,
    /// The hubs of every process type, for AT.
    hubs: Vec<Vec<Place>>,
    /// Registers written on every path to here, a bit each.
    written: u32,
    /// How many paths the step under construction may still split into.
    splits: u32,
}

impl Generator {
    fn new(seed: u64) -> Generator {
        let mut random = Random(seed);
        let mut one_in = |n: u64| random.below(n) == 0;
        let features = Features {
            atomic: one_in(2),
            invisible: one_in(2),
            deterministic: one_in(3),
            priorities: one_in(7),
            last: one_in(7),
            claims: one_in(7),
            timeout: one_in(4),
            remote: one_in(4),
            unless: one_in(2),
        };
        let program = Program { name: format!("random {seed}"), ..Program::default() };
        Generator { random, features, program, code: Code::default(), hubs: Vec::new(), written: 0, splits: 0 }
    }

    /// True once in `n` times.
    fn one_in(&mut self, n: u64) -> bool {
        self.random.below(n) == 0
    }

    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        self.random.below(n as u64) as usize
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
            self.code.ops.iter().map(|op| if let bytecode::Op::At { place } = op { Some(place.0.index()) } else { None }).collect();
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

    /// Everything beside the code.
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
            let params = self.below(2) as u16;
            let locals = (0..params as usize + self.below(3)).map(|l| self.variable(format!("l{l}"), l < params as usize)).collect();
            let priority = if self.features.priorities && self.one_in(2) { 1 + self.below(3) as u8 } else { 1 };
            let (start, entry) = (self.code.here(), self.code.here());
            self.program.processes.push(ProcessType { name: format!("p{i}"), params, locals, start, entry, prologue: None, priority });
            let hubs = (0..1 + self.below(4)).map(|_| self.code.place()).collect();
            self.hubs.push(hubs);
        }
        for i in 0..2 + self.below(2) {
            // Every type is used by an instance if there are enough of them.
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
        // Those that nobody calls are left out: the verifier wants no code that is never executed.
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
        self.alternatives(body, 2);
    }

    /// The mode of a step.
    fn mode(&mut self) -> Mode {
        match self.below(10) {
            0..=1 if self.features.atomic => Mode::Atomic,
            2..=3 if self.features.invisible => Mode::Invisible,
            4 if self.features.deterministic => Mode::Deterministic,
            _ => Mode::Normal,
        }
    }
}
