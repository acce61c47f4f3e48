//! The faults of a step, as plain data.
//!
//! Inside a search a fault is a small number ([`FaultCode`]), because millions of steps carry the
//! field. Only the system that raised the fault can explain it, and it is asked once, when the
//! fault is reported.

use std::fmt;
use std::num::NonZeroU32;

/// A fault as a search sees it: a number its [`System`](crate::System) can explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FaultCode(pub(crate) NonZeroU32);

impl FaultCode {
    /// The fault with number `code`; `None` for zero, which means "no fault".
    #[inline]
    pub const fn new(code: u32) -> Option<Self> {
        match NonZeroU32::new(code) {
            Some(code) => Some(FaultCode(code)),
            None => None,
        }
    }

    /// Its number, never zero.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0.get()
    }

    #[inline]
    pub(crate) fn to_bits(fault: Option<FaultCode>) -> u32 {
        fault.map_or(0, FaultCode::get)
    }
}

/// The kinds of fault that reports and users distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ViolationKind {
    /// A state without successors that is not an accepted end state.
    Deadlock,
    /// An assertion that does not hold.
    Assertion,
    /// Division or remainder by zero.
    DivisionByZero,
    /// An array index out of range.
    IndexOutOfRange,
    /// An operation on something that is not an open channel.
    InvalidChannel,
    /// A reference to a process that does not exist.
    InvalidProcess,
    /// The model needs more than the machine offers: processes, channels, stack, steps in one
    /// transition.
    MachineLimit,
    /// A property of the user is violated.
    Property,
    /// Any other fault, named by the system.
    Other(&'static str),
}

/// The name of what is no violation of the model: an operation that its translation does not know.
/// A search that comes to one cannot go on, and its verdict is *unknown*.
pub const UNSUPPORTED: &str = "unsupported operation";

impl ViolationKind {
    /// A short, stable name for machine-readable output. It is SPIN's word where SPIN has one.
    pub fn name(self) -> &'static str {
        match self {
            ViolationKind::Deadlock => "invalid end state",
            ViolationKind::Assertion => "assertion violated",
            ViolationKind::DivisionByZero => "division by zero",
            ViolationKind::IndexOutOfRange => "invalid array index",
            ViolationKind::InvalidChannel => "invalid channel",
            ViolationKind::InvalidProcess => "invalid process",
            ViolationKind::MachineLimit => "machine limit",
            ViolationKind::Property => "property",
            ViolationKind::Other(name) => name,
        }
    }
}

impl fmt::Display for ViolationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A place in the user's text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// The file, as the user named it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 when unknown.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if self.column > 0 { write!(f, ":{}", self.column) } else { Ok(()) }
    }
}

/// A fault with its description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of the fault.
    pub kind: ViolationKind,
    /// One sentence for the user.
    pub message: String,
    /// The position in the user's text, if there is one.
    pub position: Option<Position>,
}

impl Fault {
    /// A fault without a position.
    pub fn new(kind: ViolationKind, message: impl Into<String>) -> Self {
        Fault { kind, message: message.into(), position: None }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = &self.position {
            write!(f, "{at}: ")?;
        }
        write!(f, "{}: {}", self.kind, self.message)
    }
}
