//! Statements: the code between two STEPs. Each begins and ends with an empty stack.

use super::{Body, Generator, Statement};
use bytecode::{ChannelTypeId, FieldMask, FormatId, GlobalId, LocalId, Op, ProcessId, Receive, Register, Variable};

/// A variable that an instruction can name.
#[derive(Clone, Copy)]
pub(super) enum Named {
    Global(usize),
    Local(usize),
}

impl Generator {
    pub(super) fn statement(&mut self, body: &mut Body, may_block: bool) {
        let process = body.process;
        let swarm = self.swarm.clone();
        let statement = self.weighted(&swarm.statements);
        match statement {
            Statement::Guard if may_block => {
                self.condition(process);
                self.code.push(Op::Nexz {});
            }
            Statement::Send if may_block => self.send(process),
            Statement::Receive if may_block => self.receive(process),
            Statement::Branch if may_block => self.branch(body, may_block),
            Statement::Assign | Statement::Guard | Statement::Send | Statement::Receive | Statement::Branch => self.assignment(process),
            Statement::Call => self.call(body),
            Statement::Run => self.run(process),
            Statement::NewChannel => self.create_channel(process),
            Statement::Observe => self.observe(process),
            Statement::Claim => {
                self.channel(process);
                let op = self.pick(&[Op::Xr {}, Op::Xs {}]);
                self.code.push(op);
            }
            Statement::SetPriority => {
                self.process_number();
                let priority = self.pick(&[1, 1, 2, 2, 3, 255, 0]);
                self.code.push(Op::Ldc { value: priority });
                self.code.push(Op::Setprio {});
            }
            Statement::Register => {
                self.expression(process, 1);
                let reg = self.pick(&[0u8, 1, 2, 16, 31]);
                self.code.push(Op::Pop { reg: Register(reg) });
                self.written |= 1 << reg;
            }
        }
    }

    /// The variables that a process type can name.
    fn variables(&self, process: usize) -> Vec<Named> {
        let globals = (0..self.program.globals.len()).map(Named::Global);
        globals.chain((0..self.program.processes[process].locals.len()).map(Named::Local)).collect()
    }

    pub(super) fn some_variable(&mut self, process: usize) -> (Named, Variable) {
        let all = self.variables(process);
        let named = self.pick(&all);
        let variable = match named {
            Named::Global(i) => self.program.globals[i].clone(),
            Named::Local(i) => self.program.processes[process].locals[i].clone(),
        };
        (named, variable)
    }

    /// An index of an array, rarely outside it.
    pub(super) fn index(&mut self, process: usize, length: u32) {
        if self.one_in(4) {
            self.expression(process, 1);
            if !self.one_in(6) {
                self.code.push(Op::Ldc { value: 0x7fff_ffff });
                self.code.push(Op::And {});
                self.code.push(Op::Ldc { value: length as i32 });
                self.code.push(Op::Mod {});
            }
            if self.one_in(4) {
                self.code.push(Op::Chk { length });
            }
        } else {
            let beyond = usize::from(self.one_in(40));
            let value = self.below(length as usize + beyond) as i32;
            self.code.push(Op::Ldc { value });
        }
    }

    /// Stores the value on the stack.
    fn store(&mut self, process: usize) {
        let (named, variable) = self.some_variable(process);
        if variable.length.is_some() || self.one_in(12) {
            self.index(process, variable.length.unwrap_or(1));
            self.code.push(match named {
                Named::Global(i) => Op::Stgx { var: GlobalId(i as u16) },
                Named::Local(i) => Op::Stlx { var: LocalId(i as u16) },
            });
        } else {
            self.code.push(match named {
                Named::Global(i) => Op::Stg { var: GlobalId(i as u16) },
                Named::Local(i) => Op::Stl { var: LocalId(i as u16) },
            });
        }
    }

    pub(super) fn assignment(&mut self, process: usize) {
        self.expression(process, 2);
        if !self.one_in(6) {
            let value = self.pick(&[1, 1, 3]);
            self.code.push(Op::Ldc { value });
            self.code.push(Op::And {});
        }
        self.store(process);
    }

    /// Pushes the number of a channel and returns its number of fields, if that is known.
    pub(super) fn channel(&mut self, process: usize) -> usize {
        if self.one_in(25) {
            // The value of a variable, which may be the number of a channel or not.
            let (named, variable) = self.some_variable(process);
            if variable.length.is_none() {
                self.code.push(match named {
                    Named::Global(i) => Op::Ldg { var: GlobalId(i as u16) },
                    Named::Local(i) => Op::Ldl { var: LocalId(i as u16) },
                });
                return 1 + self.below(2);
            }
        }
        let i = self.below(self.program.channels.len());
        self.code.push(Op::Ldc { value: i as i32 + 1 });
        let fields = self.program.channel_types[self.program.channels[i].ty.index()].fields.len();
        if self.one_in(60) { fields + 1 } else { fields }
    }

    fn send(&mut self, process: usize) {
        let fields = self.channel(process);
        for _ in 0..fields {
            self.expression(process, 1);
        }
        let fields = fields as u32;
        let sorted = self.one_in(4);
        self.code.push(if sorted { Op::Sends { fields } } else { Op::Send { fields } });
    }

    /// Pushes a channel and the pattern of a receive.
    pub(super) fn pattern(&mut self, process: usize) -> (u32, FieldMask, Receive) {
        let fields = self.channel(process);
        let mask = if self.one_in(3) { self.below(1 << fields) as u32 } else { 0 };
        for _ in 0..mask.count_ones() {
            let value = self.below(2) as i32;
            self.code.push(Op::Ldc { value });
        }
        let how =
            self.pick(&[Receive::First, Receive::First, Receive::First, Receive::Any, Receive::Any, Receive::PeekFirst, Receive::PeekAny]);
        (fields as u32, FieldMask(mask), how)
    }

    fn receive(&mut self, process: usize) {
        let (fields, mask, how) = self.pattern(process);
        self.code.push(Op::Recv { fields, mask, how });
        for reg in 0..fields as u8 {
            self.written |= 1 << reg;
            if self.one_in(2) {
                self.code.push(Op::Push { reg: Register(reg) });
                self.store(process);
            }
        }
    }

    /// Starts a process, unless there are four already.
    fn run(&mut self, process: usize) {
        let skip = self.code.place();
        let unbounded = self.one_in(30);
        if !unbounded {
            self.code.push(Op::Nrpr {});
            self.code.push(Op::Ldc { value: 4 });
            self.code.push(Op::Lt {});
            self.code.to(|target| Op::Jmpz { target }, skip);
        }
        let before = self.written;
        let ty = self.below(self.program.processes.len());
        let args = self.program.processes[ty].params;
        for _ in 0..args {
            self.expression(process, 1);
        }
        self.code.push(Op::Run { args: u32::from(args), process: ProcessId(ty as u8) });
        self.discard(process);
        self.written = before;
        self.code.put(skip);
    }

    /// Creates a channel; in loops only if a variable says that it does not exist yet.
    fn create_channel(&mut self, process: usize) {
        let ty = ChannelTypeId(self.below(self.program.channel_types.len()) as u8);
        let (named, variable) = self.some_variable(process);
        if variable.length.is_some() {
            return;
        }
        let (load, store) = match named {
            Named::Global(i) => (Op::Ldg { var: GlobalId(i as u16) }, Op::Stg { var: GlobalId(i as u16) }),
            Named::Local(i) => (Op::Ldl { var: LocalId(i as u16) }, Op::Stl { var: LocalId(i as u16) }),
        };
        let skip = self.code.place();
        self.code.push(load);
        self.code.to(|target| Op::Jmpnz { target }, skip);
        self.code.push(Op::Chnew { ty });
        self.code.push(store);
        self.code.put(skip);
    }

    /// Takes a value from the stack, mostly without using it.
    fn discard(&mut self, process: usize) {
        if self.one_in(3) { self.store(process) } else { self.code.push(Op::Drop {}) }
    }

    fn observe(&mut self, process: usize) {
        if self.one_in(3) {
            self.expression(process, 1);
            self.code.push(Op::Print { format: FormatId(0), args: 1 });
        } else {
            self.condition(process);
            self.code.push(Op::Assert {});
        }
    }

    /// A prologue: assignments, channels, claims, a forward jump. Faults are unlikely, because
    /// there should be an initial state.
    pub(super) fn prologue(&mut self, process: usize) {
        for _ in 0..1 + self.below(2) {
            let skip = self.code.place();
            let jumps = self.one_in(3);
            if jumps {
                self.code.push(Op::Pid {});
                self.code.to(|target| Op::Jmpz { target }, skip);
            }
            let value = self.below(4) as i32;
            let value = self.pick(&[Op::Ldc { value }, Op::Pid {}, Op::Nrpr {}, Op::Chnew { ty: ChannelTypeId(0) }]);
            self.code.push(value);
            if self.program_claims() && self.one_in(2) {
                self.code.push(Op::Ldc { value: 1 });
                self.code.push(Op::Xr {});
            }
            let scalars: Vec<usize> = self.scalar_locals(process);
            if scalars.is_empty() {
                self.code.push(Op::Print { format: FormatId(0), args: 1 });
            } else {
                let local = self.pick(&scalars);
                self.code.push(Op::Stl { var: LocalId(local as u16) });
            }
            self.code.put(skip);
        }
        self.code.push(Op::Ret {});
    }

    fn program_claims(&self) -> bool {
        self.swarm.statements.iter().any(|&(statement, weight)| matches!(statement, Statement::Claim) && weight > 0)
    }

    fn scalar_locals(&self, process: usize) -> Vec<usize> {
        let locals = &self.program.processes[process].locals;
        (0..locals.len()).filter(|&i| locals[i].length.is_none()).collect()
    }
}
