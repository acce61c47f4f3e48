//! Every limit of the front-end, in one place.
//!
//! No input may make the compiler hang, overflow its stack or exhaust the memory. Each limit is far
//! above what models written by people need. Exceeding a limit is an error with a position.

/// Tokens that the preprocessor reads and makes.
pub const MAX_TOKENS: usize = 4_000_000;
/// Tokens produced by macros, and as many produced by inlines: a short text can expand to a long
/// one.
pub const MAX_EXPANDED: usize = 2_000_000;
/// Bytes of one token that `#` or `##` makes.
pub const MAX_TOKEN_BYTES: usize = 1 << 16;
/// Bytes of all files together.
pub const MAX_BYTES: usize = 64 << 20;
/// Files included, one by one and again.
pub const MAX_INCLUDES: usize = 4096;
/// Files included within files.
pub const MAX_INCLUDE_DEPTH: usize = 64;
/// Arguments of macros within arguments of macros.
pub const MAX_MACRO_DEPTH: usize = 64;
/// Parameters of a macro or an inline.
pub const MAX_PARAMETERS: usize = 256;
/// Inlines within inlines (SPIN stops at 16 as well).
pub const MAX_INLINE_DEPTH: usize = 16;
/// Statements within statements.
pub const MAX_STATEMENT_DEPTH: usize = 100;
/// Parentheses, indices and operators within each other.
pub const MAX_EXPRESSION_DEPTH: usize = 100;
/// Operators in a row of the kinds for which each operator adds a level of nesting.
pub const MAX_OPERATORS: usize = 200;
/// Operands in a row of one associative operator.
pub const MAX_OPERANDS: usize = 20_000;
/// Statements of all proctypes together, inlines expanded.
pub const MAX_STATEMENTS: usize = 200_000;
/// Diagnostics reported before the rest is left out.
pub const MAX_DIAGNOSTICS: usize = 50;
/// Elements of one array, and bytes of all variables of one proctype or of the globals.
pub const MAX_ARRAY: usize = 1 << 20;
/// Scalars of one structure, and variables of one process type or of the globals.
pub const MAX_LEAVES: usize = 1 << 16;
/// Variables of all process types and the globals together.
pub const MAX_ALL_LEAVES: usize = 1 << 18;
/// Bytes of the names of all variables.
pub const MAX_NAME_BYTES: usize = 16 << 20;
/// Types within types.
pub const MAX_TYPEDEF_DEPTH: usize = 32;
/// Slots of a channel.
pub const MAX_CAPACITY: i32 = 1 << 16;
/// Process types, and channels that exist at the beginning: the machine numbers them in a byte.
pub const MAX_NUMBERED: usize = 255;
/// Channels that the `xr` and `xs` of one process type claim.
pub const MAX_CLAIMS: usize = 1 << 16;
/// Transitions that a process type gets from choices in choices and from escapes.
pub const MAX_TRANSITIONS: usize = 1 << 20;
/// Control states of a process type: the machine numbers them in two bytes.
pub const MAX_CONTROL_STATES: usize = 1 << 16;
/// Instructions of the whole program.
pub const MAX_INSTRUCTIONS: usize = 1 << 22;
/// Instructions that give a new process its initial values. The verifier would refuse more too, but
/// later.
pub const MAX_PROLOGUE: u32 = 1 << 20;
/// Names in one `mtype` set.
pub const MAX_MTYPES: usize = 255;
