//! The instructions of a run: operations over the slots of a frame.
//!
//! A process has one frame of slots, which holds its variables, the registers, a slot for each
//! position of the byte-code's stack and the constants of its code. An instruction names the slots
//! it reads and writes. The instruction loop executes the instructions, and native code is made
//! from them. The two can alternate at any instruction.

use bytecode::{Addr, FormatId, Mode, Receive, Type};

/// A position in a frame.
pub type Slot = u32;

/// An instruction. `d` is the slot of the result, `a` and `b` are the slots it reads, `i` is an
/// index, `to` is the jump target, `var` is a position among the globals.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum Insn {
    Move {
        d: Slot,
        a: Slot,
    },
    /// Stores a value truncated to a type.
    Cut {
        d: Slot,
        a: Slot,
        ty: Type,
    },
    Add {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Sub {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Mul {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Addv {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Subv {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Mulv {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Div {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Mod {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    And {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Or {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Xor {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Shl {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Shr {
        d: Slot,
        a: Slot,
        b: Slot,
    },
    Neg {
        d: Slot,
        a: Slot,
    },
    Not {
        d: Slot,
        a: Slot,
    },
    Lnot {
        d: Slot,
        a: Slot,
    },
    Compare {
        d: Slot,
        a: Slot,
        b: Slot,
        how: Comparison,
    },
    Range {
        a: Slot,
        least: i32,
        greatest: i32,
    },
    Chk {
        a: Slot,
        length: u32,
    },
    LoadGlobal {
        d: Slot,
        var: u32,
    },
    StoreGlobal {
        var: u32,
        a: Slot,
    },
    CutGlobal {
        var: u32,
        a: Slot,
        ty: Type,
    },
    LoadGlobalAt {
        d: Slot,
        i: Slot,
        array: u32,
    },
    StoreGlobalAt {
        i: Slot,
        a: Slot,
        array: u32,
    },
    LoadAt {
        d: Slot,
        i: Slot,
        array: u32,
    },
    StoreAt {
        i: Slot,
        a: Slot,
        array: u32,
    },
    /// A variable of another process.
    LoadOf {
        d: Slot,
        process: Slot,
        remote: u32,
    },
    /// An element of an array of another process; the slot of its index follows that of the process
    /// number.
    LoadOfAt {
        d: Slot,
        process: Slot,
        remote: u32,
    },
    Jump {
        to: u32,
    },
    JumpIf {
        a: Slot,
        b: Slot,
        how: Comparison,
        to: u32,
    },
    /// Alternatives: the next instruction, and the target. `count` is the number of consecutive
    /// ones.
    Either {
        to: u32,
        count: u32,
    },
    /// Continues at the target only if no path from here succeeds.
    Else {
        to: u32,
    },
    /// The end of a step. `onward` is where the action continues if it can continue by itself and
    /// cannot be blocked there; [`NOWHERE`] otherwise.
    Step {
        mode: Mode,
        location: u16,
        onward: u32,
    },
    Nex,
    Nexz {
        a: Slot,
    },
    Run {
        d: Slot,
        first: Slot,
        count: u32,
        ty: u8,
    },
    Pid {
        d: Slot,
    },
    Count {
        d: Slot,
    },
    Len {
        d: Slot,
        a: Slot,
    },
    /// The channel and the fields are in consecutive slots.
    Send {
        first: Slot,
        fields: u32,
    },
    /// The channel and the values to match are in consecutive slots.
    Receive {
        first: Slot,
        fields: u32,
        mask: u32,
        how: Receive,
    },
    Assert {
        a: Slot,
    },
    Print {
        format: FormatId,
        first: Slot,
        count: u32,
    },
}

/// No instruction.
pub const NOWHERE: u32 = u32::MAX;

/// A comparison of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    #[inline(always)]
    pub(crate) fn holds(self, a: i32, b: i32) -> bool {
        match self {
            Comparison::Equal => a == b,
            Comparison::Unequal => a != b,
            Comparison::Less => a < b,
            Comparison::LessOrEqual => a <= b,
            Comparison::Greater => a > b,
            Comparison::GreaterOrEqual => a >= b,
        }
    }

    pub(crate) fn opposite(self) -> Comparison {
        match self {
            Comparison::Equal => Comparison::Unequal,
            Comparison::Unequal => Comparison::Equal,
            Comparison::Less => Comparison::GreaterOrEqual,
            Comparison::LessOrEqual => Comparison::Greater,
            Comparison::Greater => Comparison::LessOrEqual,
            Comparison::GreaterOrEqual => Comparison::Less,
        }
    }
}

/// An array: its start, its number of elements, and their type.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Array {
    pub first: u32,
    pub length: u32,
    pub ty: Type,
}

/// The frame of a process type.
#[derive(Clone, Debug)]
pub(crate) struct FrameShape {
    /// Each variable with its start, elements and type; variables come first in the frame.
    pub(crate) locals: Vec<Array>,
    /// The first slot of the registers.
    pub(crate) registers: Slot,
    /// The first slot of the stack positions.
    pub(crate) temps: Slot,
    /// The first slot of the constants.
    pub(crate) constants: Slot,
    /// A new frame: initial values, zeros, constants.
    pub(crate) initial: Vec<i32>,
}

impl FrameShape {
    pub(crate) fn is_variable(&self, slot: Slot) -> bool {
        slot < self.registers
    }

    pub(crate) fn is_register(&self, slot: Slot) -> bool {
        (self.registers..self.temps).contains(&slot)
    }

    pub fn is_constant(&self, slot: Slot) -> bool {
        slot >= self.constants
    }
}

/// A program's code.
#[derive(Clone, Debug)]
pub struct Code {
    pub(crate) insns: Vec<Insn>,
    /// The byte-code address of each instruction.
    pub(crate) origins: Vec<Addr>,
    /// The first instruction of each byte-code address.
    pub(crate) starts: Vec<u32>,
    /// The range of the code of each process type.
    pub(crate) ranges: Vec<(u32, u32)>,
    /// The beginnings of actions that compute before they communicate.
    pub(crate) begins: Vec<u32>,
    pub(crate) frames: Vec<FrameShape>,
    pub(crate) globals: Vec<Array>,
    pub(crate) initial_globals: Vec<i32>,
    pub(crate) arrays: Vec<Array>,
    /// Variables of other processes: the type and the variable.
    pub(crate) remotes: Vec<(u8, Array)>,
}

impl Code {
    /// The instructions of all process types.
    pub fn insns(&self) -> &[Insn] {
        &self.insns
    }

    /// The beginnings of actions that compute before they communicate.
    pub fn begins(&self) -> &[u32] {
        &self.begins
    }

    /// The process type to which an instruction belongs.
    pub fn type_of(&self, pc: u32) -> usize {
        self.ranges.partition_point(|(_, end)| *end <= pc)
    }

    /// The value of a slot of this type's frames, if it is constant.
    pub fn constant(&self, ty: usize, slot: Slot) -> Option<i32> {
        let frame = self.frames.get(ty)?;
        frame.initial.get(slot as usize).copied().filter(|_| frame.is_constant(slot))
    }

    /// Whether a slot is a position of the stack, which is not read after the end of a step.
    pub fn is_temp(&self, ty: usize, slot: Slot) -> bool {
        self.frames.get(ty).is_some_and(|frame| (frame.temps..frame.constants).contains(&slot))
    }

    /// The number of slots of a type's frames.
    pub fn frame_length(&self, ty: usize) -> usize {
        self.frames.get(ty).map_or(0, |frame| frame.initial.len())
    }

    /// The number of slots of the globals.
    pub fn globals_length(&self) -> usize {
        self.initial_globals.len()
    }

    /// An array that an instruction names.
    pub fn array(&self, number: u32) -> Array {
        self.arrays[number as usize]
    }
}

/// Executes instructions other than by the loop, as far as possible.
pub trait Native {
    /// Executes instructions of a process from `pc` on, and stops before an instruction that the
    /// loop must execute. It executes at most `fuel` steps. Returns the position at which it
    /// stopped and the remaining fuel.
    fn run(&self, pc: u32, process: i32, frame: &mut [i32], globals: &mut [i32], fuel: u32) -> (u32, u32);
}
