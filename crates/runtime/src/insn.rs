//! The instructions of a run: operations over the slots of a frame.
//!
//! A process has one frame of slots, which holds its variables, the registers, a slot for each
//! place of the byte-code's stack and the constants of its code. An instruction names the slots it
//! reads and writes. The instruction loop executes them, and native code is made from them; whoever
//! executes an instruction, the next one can be executed by the other.

use bytecode::{Addr, FormatId, Mode, Receive, Type};

/// A position in a frame.
pub type Slot = u32;

/// An instruction. `d` is where the result goes, `a` and `b` are what it reads, `i` is an index,
/// `to` is where it jumps, `var` a place among the globals.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum Insn {
    Move {
        d: Slot,
        a: Slot,
    },
    /// Stores what the type keeps of a value.
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
    /// An element of an array of another process; its index lies behind the process's number.
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
    /// Alternatives: here, and at the target. `count` is how many there are in a row.
    Either {
        to: u32,
        count: u32,
    },
    /// The target only if nothing here goes on.
    Else {
        to: u32,
    },
    /// The end of a step. `onward` is where an action goes on that may go on from here by itself
    /// and cannot be blocked there; [`NOWHERE`] if there is no such place.
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
    /// Channel and fields lie in a row.
    Send {
        first: Slot,
        fields: u32,
    },
    /// Channel and what must match lie in a row.
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

/// How two values are compared.
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

/// An array: where it begins, how many elements it has, and of which type.
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
    /// Where each variable begins, with its elements and type; they come first in the frame.
    pub(crate) locals: Vec<Array>,
    /// Where the registers begin.
    pub(crate) registers: Slot,
    /// Where the places of the stack begin,
    pub(crate) temps: Slot,
    /// and the constants.
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
    /// For each instruction the byte-code address it comes from.
    pub(crate) origins: Vec<Addr>,
    /// For each byte-code address where its code begins.
    pub(crate) starts: Vec<u32>,
    /// For each process type where its code begins and ends.
    pub(crate) ranges: Vec<(u32, u32)>,
    /// Where actions begin that compute before they communicate.
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

    /// Where actions begin that compute before they communicate.
    pub fn begins(&self) -> &[u32] {
        &self.begins
    }

    /// The process type whose code an instruction is part of.
    pub fn type_of(&self, pc: u32) -> usize {
        self.ranges.partition_point(|(_, end)| *end <= pc)
    }

    /// The value of a slot of this type's frames, if it is always the same.
    pub fn constant(&self, ty: usize, slot: Slot) -> Option<i32> {
        let frame = self.frames.get(ty)?;
        frame.initial.get(slot as usize).copied().filter(|_| frame.is_constant(slot))
    }

    /// Whether a slot is a place of the stack: nobody reads it behind the end of a step.
    pub fn is_temp(&self, ty: usize, slot: Slot) -> bool {
        self.frames.get(ty).is_some_and(|frame| (frame.temps..frame.constants).contains(&slot))
    }

    /// How many slots the frames of a type have.
    pub fn frame_length(&self, ty: usize) -> usize {
        self.frames.get(ty).map_or(0, |frame| frame.initial.len())
    }

    /// How many slots the globals have.
    pub fn globals_length(&self) -> usize {
        self.initial_globals.len()
    }

    /// An array that an instruction names.
    pub fn array(&self, number: u32) -> Array {
        self.arrays[number as usize]
    }
}

/// Executes instructions in another way than the loop does, as far as it can.
pub trait Native {
    /// Executes instructions of a process from `pc` on, and stops before one that is left to the
    /// loop. At most `fuel` steps are passed. Gives where it stopped and the fuel that is left.
    fn run(&self, pc: u32, process: i32, frame: &mut [i32], globals: &mut [i32], fuel: u32) -> (u32, u32);
}
