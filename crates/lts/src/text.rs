//! Writes the lines of a graph in the text form (`docs/graphs.md`).
//!
//! The header and the edges are those of every tool that knows the format. The lines that are
//! additions of this project follow them, so that a tool that reads as many edges as the header
//! says never sees them.

use contract::{Fault, ViolationKind};
use std::io::{self, Write};

/// The word for a source or a target that does not exist.
pub(crate) const NONE: &str = "none";

/// The kind of a fault that has no name of its own.
const OTHER: &str = "fault";

/// The kinds of faults that a step can commit. The names of the others are those of byte-code
/// programs.
const KINDS: [ViolationKind; 27] = [
    ViolationKind::Assertion,
    ViolationKind::DivisionByZero,
    ViolationKind::IndexOutOfRange,
    ViolationKind::InvalidChannel,
    ViolationKind::InvalidProcess,
    ViolationKind::MachineLimit,
    ViolationKind::Other(OTHER),
    ViolationKind::Other("message mismatch"),
    ViolationKind::Other("block in d_step"),
    ViolationKind::Other("endless sequence"),
    ViolationKind::Other("rendezvous in d_step"),
    ViolationKind::Other("xr violated"),
    ViolationKind::Other("xs violated"),
    ViolationKind::Other("invalid priority"),
    ViolationKind::Other("overflow"),
    ViolationKind::Other("stack overflow"),
    ViolationKind::Other("uninitialised read"),
    ViolationKind::Other("illegal instruction"),
    ViolationKind::Other("wild jump"),
    ViolationKind::Other("access outside memory"),
    ViolationKind::Other("interrupt race"),
    ViolationKind::Other("interrupt without a handler"),
    ViolationKind::Other("unsupported operation"),
    ViolationKind::Other("more than 32 nested calls"),
    ViolationKind::Other("more than 255 channels"),
    ViolationKind::Other("more than 32 waiting processes"),
    ViolationKind::Other("no element of a set"),
];

/// A fault as it is written: its kind and its message.
pub fn fault_words(fault: &Fault) -> (&'static str, &str) {
    (KINDS.iter().find(|known| **known == fault.kind).map_or(OTHER, |kind| kind.name()), &fault.message)
}

/// The kind of a fault that has this name in a file.
pub(crate) fn kind_of(name: &str) -> Option<ViolationKind> {
    KINDS.into_iter().find(|kind| kind.name() == name)
}

/// The names of all kinds of faults, for a message.
pub(crate) fn kind_names() -> String {
    KINDS.map(|kind| format!("`{kind}`")).join(", ")
}

/// Text between double quotes. Readers disagree on how a quote inside a label is escaped, so there
/// is none.
fn quoted(text: &str) -> String {
    text.replace('"', "'").replace(['\n', '\r'], " ")
}

/// Writes the header.
pub fn header_line(out: &mut dyn Write, initial: u64, edges: u64, states: u64) -> io::Result<()> {
    writeln!(out, "des ({initial}, {edges}, {states})")
}

/// Writes an edge.
pub fn edge_line(out: &mut dyn Write, source: u64, label: &str, target: u64) -> io::Result<()> {
    writeln!(out, "({source}, \"{}\", {target})", quoted(label))
}

/// Writes the atoms of a state.
pub fn state_line(out: &mut dyn Write, state: u64, atoms: &[&str]) -> io::Result<()> {
    write!(out, "state ({state}")?;
    atoms.iter().try_for_each(|atom| write!(out, ", \"{}\"", quoted(atom)))?;
    writeln!(out, ")")
}

/// Writes the fault of a step, or of the initial state if there is no step. A fatal fault has no
/// target.
pub fn fault_line(out: &mut dyn Write, step: Option<(u64, &str)>, target: Option<u64>, (kind, message): (&str, &str)) -> io::Result<()> {
    let number = |number: Option<u64>| number.map_or_else(|| NONE.to_owned(), |number| number.to_string());
    let (source, label) = (number(step.map(|(source, _)| source)), quoted(step.map_or("", |(_, label)| label)));
    writeln!(out, "fault ({source}, \"{label}\", {}, \"{kind}\", \"{}\")", number(target), quoted(message))
}
