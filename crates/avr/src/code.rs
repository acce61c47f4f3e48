//! Byte-code under construction: operations, marks that are placed later, and source positions.

use bytecode::{Addr, GlobalId, LocalId, Op, Register, Span};

/// A code address that may not be known yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct Mark(u32);

/// Registers of the machine, for values within one instruction.
pub const T0: Register = Register(0);
pub const T1: Register = Register(1);
pub const T2: Register = Register(2);
pub const T3: Register = Register(3);

/// The variables of the processor, which are locals of its process: 32 registers first.
pub const FLAGS: u16 = 32;
/// The stack pointer.
pub const SP: LocalId = LocalId(39);
/// The target of a jump, within a transition.
pub const PC: LocalId = LocalId(40);
/// The interrupt that is taken, within a transition.
pub const IRQ: LocalId = LocalId(41);
/// The variable that is being accessed byte by byte, if any.
pub const TORN: LocalId = LocalId(42);
/// A counter, within a transition.
pub const COUNT: LocalId = LocalId(43);
/// The interrupt flag, which devices read.
pub const I: GlobalId = GlobalId(0);

/// The local of a register.
pub fn reg(r: u8) -> LocalId {
    LocalId(r.into())
}

/// The local of a flag other than I.
pub fn flag_local(bit: u8) -> LocalId {
    LocalId(FLAGS + u16::from(bit))
}

/// Code under construction.
#[derive(Debug, Default)]
pub struct Code {
    ops: Vec<Op>,
    marks: Vec<Option<Addr>>,
    spans: Vec<Span>,
}

impl Code {
    /// The next address.
    pub fn here(&self) -> Addr {
        Addr(self.ops.len() as u32)
    }

    /// Adds an operation.
    pub fn op(&mut self, op: Op) {
        self.ops.push(op);
    }

    /// Pushes a constant.
    pub fn c(&mut self, value: i32) {
        self.op(Op::Ldc { value });
    }

    /// Pushes a local.
    pub fn get(&mut self, var: LocalId) {
        self.op(Op::Ldl { var });
    }

    /// Pops into a local.
    pub fn set(&mut self, var: LocalId) {
        self.op(Op::Stl { var });
    }

    /// Pushes a register of the machine.
    pub fn push(&mut self, reg: Register) {
        self.op(Op::Push { reg });
    }

    /// Pops into a register of the machine.
    pub fn pop(&mut self, reg: Register) {
        self.op(Op::Pop { reg });
    }

    /// Masks the top of the stack.
    pub fn and(&mut self, mask: i32) {
        self.c(mask);
        self.op(Op::And {});
    }

    /// Shifts the top of the stack to the right.
    pub fn shr(&mut self, by: i32) {
        if by != 0 {
            self.c(by);
            self.op(Op::Shr {});
        }
    }

    /// Shifts the top of the stack to the left.
    pub fn shl(&mut self, by: i32) {
        if by != 0 {
            self.c(by);
            self.op(Op::Shl {});
        }
    }

    /// A new mark, to be placed later.
    pub fn mark(&mut self) -> Mark {
        self.marks.push(None);
        Mark(self.marks.len() as u32 - 1)
    }

    /// Places a mark here.
    pub fn place(&mut self, mark: Mark) {
        self.marks[mark.0 as usize] = Some(self.here());
    }

    /// The address of a mark that has been placed.
    pub fn address(&self, mark: Mark) -> Option<Addr> {
        self.marks[mark.0 as usize]
    }

    /// Jumps.
    pub fn jump(&mut self, mark: Mark) {
        self.op(Op::Jmp { target: Addr(mark.0) });
    }

    /// Jumps if the top is zero.
    pub fn jump_zero(&mut self, mark: Mark) {
        self.op(Op::Jmpz { target: Addr(mark.0) });
    }

    /// Jumps if the top is not zero.
    pub fn jump_not_zero(&mut self, mark: Mark) {
        self.op(Op::Jmpnz { target: Addr(mark.0) });
    }

    /// Continues here or, as another choice, at the mark.
    pub fn or(&mut self, mark: Mark) {
        self.op(Op::Ndet { target: Addr(mark.0) });
    }

    /// Ends a step.
    pub fn step(&mut self, mode: bytecode::Mode) {
        self.op(Op::Step { mode });
    }

    /// Sets the position in the source of the code from here on.
    pub fn span(&mut self, span: Span) {
        let span = Span { addr: self.here(), ..span };
        let at = |known: &Span| known.addr == span.addr;
        if self.spans.last().is_some_and(at) {
            self.spans.pop();
        }
        self.spans.push(span);
    }

    /// The finished code and the positions. A mark that was not placed is an error of this crate.
    /// It becomes the first address, so that the verifier or a test notices it.
    pub fn finish(self) -> (Vec<Op>, Vec<Span>) {
        let Code { ops, marks, spans } = self;
        let moved = |addr: Addr| marks.get(addr.index()).copied().flatten().unwrap_or(Addr(0));
        (ops.into_iter().map(|op| op.readdressed(moved)).collect(), spans)
    }
}
