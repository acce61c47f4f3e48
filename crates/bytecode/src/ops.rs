//! The operation table.
//!
//! One table yields everything that must agree about the instruction set: the [`Op`] type, its
//! opcodes, the walk over operands that the binary encoder, the disassembler and the listing share
//! ([`OperandSink`]), the construction from operands that the decoder and the assembler share
//! ([`OperandSource`]), and the stack effect the verifier uses. The meaning of each operation is a
//! numbered rule of `docs/bytecode.md`; the rule's name stands in the table.

use crate::ids::{Addr, ChannelTypeId, FormatId, GlobalId, LocalId, ProcessId, Register};

/// Number of registers of an active process.
pub const REGISTERS: usize = 32;

/// Most fields a message may have; they must fit the registers a receive fills.
pub const MAX_FIELDS: usize = REGISTERS;

macro_rules! word_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $code:literal $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$vmeta])* $variant = $code,)* }

        impl $name {
            /// Every value, in the order of the codes.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// Its word in assembly.
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }

            /// The value with this code.
            pub const fn from_code(code: u8) -> Option<$name> {
                match code { $($code => Some($name::$variant),)* _ => None }
            }

            /// The value of this assembly word.
            pub fn from_word(word: &str) -> Option<$name> {
                match word { $($word => Some($name::$variant),)* _ => None }
            }
        }
    };
}

word_enum! {
    /// How a step ends. This decides which process may run next and whether the state is visible.
    Mode {
        /// Visible; any process may run next.
        Normal = 0 "N",
        /// Visible; this process keeps the exclusive privilege to run.
        Atomic = 1 "A",
        /// Not visible: the same process continues within the same transition, along all its
        /// alternatives.
        Invisible = 2 "I",
        /// Not visible: the same process continues within the same transition, along its first
        /// executable alternative.
        Deterministic = 3 "D",
        /// Visible; the process ends and is removed.
        Terminate = 4 "T",
    }
}

word_enum! {
    /// Which message a receive reads, and whether it removes it.
    Receive {
        /// Take the oldest message.
        First = 0 "first",
        /// Take the oldest message that matches.
        Any = 1 "any",
        /// Read the oldest message and leave it.
        PeekFirst = 2 "peek-first",
        /// Read the oldest message that matches and leave it.
        PeekAny = 3 "peek-any",
    }
}

impl Receive {
    /// Whether messages after the oldest are examined.
    pub const fn searches(self) -> bool {
        matches!(self, Receive::Any | Receive::PeekAny)
    }

    /// Whether the message leaves the channel.
    pub const fn takes(self) -> bool {
        matches!(self, Receive::First | Receive::Any)
    }
}

/// The set of fields of a receive that must equal a given value, one bit per field, field 0 lowest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct FieldMask(pub u32);

impl FieldMask {
    /// Whether `field` must match.
    pub const fn contains(self, field: usize) -> bool {
        field < 32 && self.0 & (1 << field) != 0
    }

    /// The number of fields that must match.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether no field must match.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

macro_rules! operand_kinds {
    ($($(#[$meta:meta])* $method:ident: $ty:ty;)*) => {
        /// The destination of operands: the binary encoder, the disassembler, an analysis.
        pub trait OperandSink {
            /// The error type.
            type Error;
            $($(#[$meta])* fn $method(&mut self, value: $ty) -> Result<(), Self::Error>;)*
        }

        /// The origin of operands: the binary decoder, the assembler, a generator of random
        /// programs.
        pub trait OperandSource {
            /// The error type.
            type Error;
            $($(#[$meta])* fn $method(&mut self) -> Result<$ty, Self::Error>;)*
        }
    };
}

operand_kinds! {
    /// A constant value.
    constant: i32;
    /// A count of elements, arguments or fields.
    count: u32;
    /// A global variable.
    global: GlobalId;
    /// A local variable of the process the instruction belongs to.
    local: LocalId;
    /// A local variable of another process type: written as the type, a dot and the variable.
    remote_local: (ProcessId, LocalId);
    /// A process type and a code address in it: written as the type, a dot and the label.
    remote_addr: (ProcessId, Addr);
    /// A register.
    register: Register;
    /// A code address.
    addr: Addr;
    /// A step mode.
    mode: Mode;
    /// A process type.
    process: ProcessId;
    /// A channel type.
    channel_type: ChannelTypeId;
    /// A kind of receive.
    receive: Receive;
    /// The fields that must match.
    mask: FieldMask;
    /// A print format.
    format: FormatId;
}

macro_rules! operations {
    ($($(#[$meta:meta])* $opcode:literal $name:ident $word:literal $rule:literal
        ($($operand:ident: $kind:ident: $ty:ty),*) $pops:expr => $pushes:literal;)*) => {
        /// One instruction.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        pub enum Op { $($(#[$meta])* $name { $(#[allow(missing_docs)] $operand: $ty),* },)* }

        /// Opcodes, mnemonics and rule names, in the order of the table.
        pub const TABLE: &[(u8, &str, &str)] = &[$(($opcode, $word, $rule),)*];

        impl Op {
            /// The byte that stands for the operation in the binary format.
            pub const fn opcode(&self) -> u8 {
                match self { $(Op::$name { .. } => $opcode,)* }
            }

            /// The mnemonic of the operation in assembly.
            pub const fn mnemonic(&self) -> &'static str {
                match self { $(Op::$name { .. } => $word,)* }
            }

            /// The rule of `docs/bytecode.md` that defines the operation.
            pub const fn rule(&self) -> &'static str {
                match self { $(Op::$name { .. } => $rule,)* }
            }

            /// The opcode of a mnemonic.
            pub fn opcode_of(mnemonic: &str) -> Option<u8> {
                match mnemonic { $($word => Some($opcode),)* _ => None }
            }

            /// Builds the operation with this opcode from its operands; `None` if there is no such
            /// operation.
            pub fn build<S: OperandSource>(opcode: u8, source: &mut S) -> Result<Option<Op>, S::Error> {
                let _ = &source;
                Ok(Some(match opcode {
                    $($opcode => Op::$name { $($operand: source.$kind()?),* },)*
                    _ => return Ok(None),
                }))
            }

            /// Passes each operand to `sink`, in order.
            pub fn operands<S: OperandSink>(&self, sink: &mut S) -> Result<(), S::Error> {
                let _ = &sink;
                match *self { $(Op::$name { $($operand),* } => { $(sink.$kind($operand)?;)* })* }
                Ok(())
            }

            /// The number of values that the operation takes from the stack.
            #[allow(unused_variables)]
            pub fn pops(&self) -> usize {
                match *self { $(Op::$name { $($operand),* } => $pops,)* }
            }

            /// The number of values that the operation leaves on the stack.
            pub const fn pushes(&self) -> usize {
                match self { $(Op::$name { .. } => $pushes,)* }
            }
        }
    };
}

operations! {
    // Constants, variables, registers.
    /// Push a constant.
    0x01 Ldc "LDC" "I-LDC" (value: constant: i32) 0 => 1;
    /// Push a global variable.
    0x02 Ldg "LDG" "I-LDV" (var: global: GlobalId) 0 => 1;
    /// Store into a global variable.
    0x03 Stg "STG" "I-STV" (var: global: GlobalId) 1 => 0;
    /// Push an element of a global array.
    0x04 Ldgx "LDGX" "I-LDX" (var: global: GlobalId) 1 => 1;
    /// Store into an element of a global array.
    0x05 Stgx "STGX" "I-STX" (var: global: GlobalId) 2 => 0;
    /// Push a local variable.
    0x06 Ldl "LDL" "I-LDV" (var: local: LocalId) 0 => 1;
    /// Store into a local variable.
    0x07 Stl "STL" "I-STV" (var: local: LocalId) 1 => 0;
    /// Push an element of a local array.
    0x08 Ldlx "LDLX" "I-LDX" (var: local: LocalId) 1 => 1;
    /// Store into an element of a local array.
    0x09 Stlx "STLX" "I-STX" (var: local: LocalId) 2 => 0;
    /// Push a local variable of another process.
    0x0a Ldr "LDR" "I-LDR" (var: remote_local: (ProcessId, LocalId)) 1 => 1;
    /// Push an element of a local array of another process.
    0x0b Ldrx "LDRX" "I-LDR" (var: remote_local: (ProcessId, LocalId)) 2 => 1;
    /// Check an index against a length.
    0x0c Chk "CHK" "I-CHK" (length: count: u32) 1 => 1;
    /// Push a register.
    0x0d Push "PUSH" "I-PUSH" (reg: register: Register) 0 => 1;
    /// Pop into a register.
    0x0e Pop "POP" "I-POP" (reg: register: Register) 1 => 0;
    /// Drop the top of the stack.
    0x0f Drop "DROP" "I-DROP" () 1 => 0;

    // Arithmetic.
    /// Sum.
    0x10 Add "ADD" "I-OP" () 2 => 1;
    /// Difference.
    0x11 Sub "SUB" "I-OP" () 2 => 1;
    /// Product.
    0x12 Mul "MUL" "I-OP" () 2 => 1;
    /// Quotient, towards zero.
    0x13 Div "DIV" "I-DIV" () 2 => 1;
    /// Remainder, with the sign of the dividend.
    0x14 Mod "MOD" "I-DIV" () 2 => 1;
    /// Bitwise and.
    0x15 And "AND" "I-OP" () 2 => 1;
    /// Bitwise or.
    0x16 Or "OR" "I-OP" () 2 => 1;
    /// Bitwise exclusive or.
    0x17 Xor "XOR" "I-OP" () 2 => 1;
    /// Shift left.
    0x18 Shl "SHL" "I-SHIFT" () 2 => 1;
    /// Arithmetic shift right.
    0x19 Shr "SHR" "I-SHIFT" () 2 => 1;
    /// Negation.
    0x1a Neg "NEG" "I-OP" () 1 => 1;
    /// Bitwise complement.
    0x1b Not "NOT" "I-OP" () 1 => 1;
    /// Logical complement.
    0x1c Lnot "LNOT" "I-OP" () 1 => 1;
    /// Equal.
    0x1d Eq "EQ" "I-CMP" () 2 => 1;
    /// Not equal.
    0x1e Ne "NE" "I-CMP" () 2 => 1;
    /// Less.
    0x1f Lt "LT" "I-CMP" () 2 => 1;
    /// Less or equal.
    0x20 Le "LE" "I-CMP" () 2 => 1;
    /// Greater.
    0x21 Gt "GT" "I-CMP" () 2 => 1;
    /// Greater or equal.
    0x22 Ge "GE" "I-CMP" () 2 => 1;
    /// Sum that must fit.
    0x23 Addv "ADDV" "I-OVERFLOW" () 2 => 1;
    /// Difference that must fit.
    0x24 Subv "SUBV" "I-OVERFLOW" () 2 => 1;
    /// Product that must fit.
    0x25 Mulv "MULV" "I-OVERFLOW" () 2 => 1;
    /// Check a value against a range.
    0x26 Range "RANGE" "I-RANGE" (least: constant: i32, greatest: constant: i32) 1 => 1;

    // Control flow.
    /// Jump.
    0x30 Jmp "JMP" "I-JMP" (target: addr: Addr) 0 => 0;
    /// Jump if zero.
    0x31 Jmpz "JMPZ" "I-JMPZ" (target: addr: Addr) 1 => 0;
    /// Jump if not zero.
    0x32 Jmpnz "JMPNZ" "I-JMPZ" (target: addr: Addr) 1 => 0;
    /// Continue here and, as another possibility, at the target.
    0x33 Ndet "NDET" "I-NDET" (target: addr: Addr) 0 => 0;
    /// Continue here; at the target only if nothing here is executable.
    0x34 Else "ELSE" "I-ELSE" (target: addr: Addr) 0 => 0;
    /// Continue at the target; here only if nothing there is executable.
    0x35 Unless "UNLESS" "I-UNLESS" (target: addr: Addr) 0 => 0;
    /// Call a subroutine.
    0x36 Call "CALL" "I-CALL" (target: addr: Addr) 0 => 1;
    /// Return from a subroutine.
    0x37 Ret "RET" "I-RET" () 1 => 0;
    /// End the step.
    0x38 Step "STEP" "E-STEP" (mode: mode: Mode) 0 => 0;
    /// Not executable.
    0x39 Nex "NEX" "E-NEX" () 0 => 0;
    /// Not executable if zero.
    0x3a Nexz "NEXZ" "E-NEXZ" () 1 => 0;

    // Processes.
    /// Start a process; push its number.
    0x40 Run "RUN" "I-RUN" (args: count: u32, process: process: ProcessId) args as usize => 1;
    /// Push the number of this process.
    0x41 Pid "PID" "I-PID" () 0 => 1;
    /// Push the number of processes.
    0x42 Nrpr "NRPR" "I-NRPR" () 0 => 1;
    /// Push the number of the process that made the last transition.
    0x43 Last "LAST" "I-LAST" () 0 => 1;
    /// Push whether a process can execute a step.
    0x44 Enabled "ENABLED" "I-ENABLED" () 1 => 1;
    /// Push the control location of a process.
    0x45 Pcval "PCVAL" "I-PCVAL" () 1 => 1;
    /// Push whether a process is at a control location.
    0x46 At "AT" "I-AT" (place: remote_addr: (ProcessId, Addr)) 1 => 1;
    /// Push whether no process in the system can move.
    0x47 Timeout "TIMEOUT" "I-TIMEOUT" () 0 => 1;
    /// Push whether no process is at a progress location.
    0x48 Np "NP" "I-NP" () 0 => 1;
    /// Push the priority of a process.
    0x49 Getprio "GETPRIO" "I-PRIO" () 1 => 1;
    /// Set the priority of a process.
    0x4a Setprio "SETPRIO" "I-PRIO" () 2 => 0;

    // Channels.
    /// Create a channel; push its number.
    0x50 Chnew "CHNEW" "I-CHNEW" (ty: channel_type: ChannelTypeId) 0 => 1;
    /// Append a message.
    0x51 Send "SEND" "I-SEND" (fields: count: u32) fields as usize + 1 => 0;
    /// Insert a message before the first larger one.
    0x52 Sends "SENDS" "I-SENDS" (fields: count: u32) fields as usize + 1 => 0;
    /// Receive a message into the registers.
    0x53 Recv "RECV" "I-RECV" (fields: count: u32, mask: mask: FieldMask, how: receive: Receive) mask.len() + 1 => 0;
    /// Push whether a receive would find a message.
    0x54 Poll "POLL" "I-POLL" (fields: count: u32, mask: mask: FieldMask, how: receive: Receive) mask.len() + 1 => 1;
    /// Push the number of messages in a channel.
    0x55 Len "LEN" "I-LEN" () 1 => 1;
    /// Push whether a channel has no message.
    0x56 Empty "EMPTY" "I-LEN" () 1 => 1;
    /// Push whether a channel has no room.
    0x57 Full "FULL" "I-LEN" () 1 => 1;
    /// Claim to be the only receiver of a channel.
    0x58 Xr "XR" "I-CLAIM" () 1 => 0;
    /// Claim to be the only sender of a channel.
    0x59 Xs "XS" "I-CLAIM" () 1 => 0;

    // Observation.
    /// A value that must not be zero.
    0x60 Assert "ASSERT" "I-ASSERT" () 1 => 0;
    /// Print.
    0x61 Print "PRINT" "I-PRINT" (format: format: FormatId, args: count: u32) args as usize => 0;
}

impl Op {
    /// The address this operation may jump to.
    pub fn target(&self) -> Option<Addr> {
        let mut op = *self;
        op.address_mut().copied().filter(|_| !matches!(self, Op::At { .. }))
    }

    /// The address in this operation: the jump target, or the location of AT.
    pub const fn address_mut(&mut self) -> Option<&mut Addr> {
        match self {
            Op::Jmp { target }
            | Op::Jmpz { target }
            | Op::Jmpnz { target }
            | Op::Ndet { target }
            | Op::Else { target }
            | Op::Unless { target }
            | Op::Call { target } => Some(target),
            Op::At { place } => Some(&mut place.1),
            _ => None,
        }
    }

    /// The operation with another address: `moved` computes the new one.
    pub fn readdressed(mut self, moved: impl Fn(Addr) -> Addr) -> Op {
        if let Some(addr) = self.address_mut() {
            *addr = moved(*addr);
        }
        self
    }

    /// Whether the following instruction is never reached from this one.
    pub const fn ends_path(&self) -> bool {
        matches!(self, Op::Jmp { .. } | Op::Ret {} | Op::Nex {} | Op::Call { .. } | Op::Step { mode: Mode::Terminate })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn opcodes_and_mnemonics_are_unique() {
        let codes: HashSet<u8> = TABLE.iter().map(|row| row.0).collect();
        let words: HashSet<&str> = TABLE.iter().map(|row| row.1).collect();
        assert_eq!(codes.len(), TABLE.len());
        assert_eq!(words.len(), TABLE.len());
    }
}
