//! All limits of the front-end, in one place.
//!
//! No input may make the compiler hang, overflow its stack or exhaust the memory. Each limit is far
//! above what programs written by people need. Exceeding a limit is an error with a position.

/// Bytes of all modules together.
pub const MAX_BYTES: usize = 16 << 20;
/// Modules of one program.
pub const MAX_MODULES: usize = 200;
/// Nested statements, types and expressions.
pub const MAX_DEPTH: usize = 64;
/// Diagnostics reported before the rest is left out.
pub const MAX_DIAGNOSTICS: usize = 50;
/// Elements of all variables of one type together.
pub const MAX_ELEMENTS: u32 = 1 << 16;
/// Elements that one assignment or one parameter copies.
pub const MAX_COPIED: u32 = 256;
/// Numbers that a created process gets as values, if there are arrays or records among them; their
/// elements count. Elements that a recursive call gets as values.
pub const MAX_CREATED: u32 = 128;
/// Values that one message carries: one field of the machine's message holds the channel or
/// partner.
pub const MAX_VALUES: usize = 24;
/// Instructions of the whole program, with calls expanded.
pub const MAX_INSTRUCTIONS: usize = 400_000;
/// One more than the nested calls of a recursive process in one process: its variables are indexed
/// by the number of the call, from 1.
pub const CALL_DEPTH: u32 = 33;
/// Calls of processes with different variables by reference, each with its own code.
pub const MAX_FRAMES: usize = 2000;
/// Kinds of processes, where calls with different variables count separately: the machine numbers
/// them in a byte.
pub const MAX_KINDS: usize = 250;
/// Processes that wait in one queue, if the order of waiting matters.
pub const MAX_QUEUE: u32 = 32;
/// Statements that the analysis of the environment examines. A statement counts each time.
pub const MAX_WORK: usize = 20_000_000;
/// States of a property.
pub const MAX_PROPERTY_STATES: usize = 1024;
/// Paths through one action of a property.
pub const MAX_PROPERTY_WAYS: usize = 1024;
/// The bytes of all variables of modules, and of those of one process. The machine has a little
/// more room, which its channels and locations need.
pub const MAX_STORED: usize = (1 << 20) - (1 << 15);
/// The steps of a process with its calls, each of which may be a location.
pub const MAX_STEPS: usize = 65_000;
/// The kinds of processes and the channels of the machine for messages together.
pub const MAX_SHAPES: usize = 255;
