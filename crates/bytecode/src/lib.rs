//! The byte-code: the contract between languages and engines.
//!
//! Front-ends produce a [`Program`]. [`verify()`] rejects malformed ones with a position and
//! returns a [`Verified`] program, the only kind that engines accept. [`Layout`] says where
//! everything is in a state. Programs have a text form ([`asm`]) and a binary form ([`binary`]),
//! both described in `docs/assembly.md`. The machine follows Weber, "An embeddable virtual machine
//! for state space generation" (NIPS), and is specified, rule by rule, in `docs/bytecode.md`.
#![forbid(unsafe_code)]

pub mod asm;
pub mod binary;
mod fault;
pub mod format;
mod formula;
mod ids;
mod layout;
mod locations;
mod observe;
pub mod ops;
mod parts;
mod program;
mod property;
pub mod testing;
mod verify;
mod walk;

pub use fault::{Fault, FaultKind};
pub use formula::{BinaryOp, FORMULA_MAX, Formula, FormulaError, FormulaNode, UnaryOp};
pub use ids::{Addr, AtomId, ChannelTypeId, FileIndex, FormatId, GlobalId, LocalId, Location, ProcessId, Register};
pub use layout::{ChannelLayout, Component, Layout, LayoutError, ProcessLayout, Shape, Slot, StateMap};
pub use locations::Locations;
pub use observe::{Event as ObservedEvent, NotObserved, Observed, observe};
pub use ops::{FieldMask, MAX_FIELDS, Mode, Op, REGISTERS, Receive};
pub use parts::{Division, Part};
pub use program::{
    ChannelType, Label, LabelKind, MessageField, ProcessType, Program, Shown, Span, StaticChannel, Type, VIOLATION, VIOLATIONS, Variable,
};
pub use property::{Atom, Automaton, AutomatonEdge, AutomatonState, EdgeLabel, Event, Origin, PropertyBody, PropertyEntry};
pub use verify::{INSTRUCTIONS_MAX, PATHS_MAX, Place, STACK_MAX, Table, Verified, VerifyError, VerifyErrorKind, verify};
pub use walk::{Walk, walk};
