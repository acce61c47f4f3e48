//! The errors of the verifier, with their positions.
//!
//! An error names its rule of `docs/bytecode.md`, section 7, and contains its whole position
//! (process, label, source position), because the verifier has consumed the program.

use crate::format::FormatError;
use crate::ids::{Addr, Register};
use crate::layout::LayoutError;
use crate::program::Program;
use source::{Diagnostic, SourceMap, Span};
use std::fmt;

/// A table of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Table {
    /// Global variables.
    Globals,
    /// Parameters and local variables of a process type.
    Locals,
    /// Channel types.
    ChannelTypes,
    /// Static channels.
    Channels,
    /// Process types.
    Processes,
    /// The instance list.
    Instances,
    /// The code.
    Code,
    /// Labels.
    Labels,
    /// Source positions.
    Spans,
    /// Source files.
    Files,
    /// Print formats.
    Formats,
    /// Names of values.
    Symbols,
    /// Atoms.
    Atoms,
    /// Properties.
    Properties,
    /// States of an automaton.
    States,
    /// Registers. They are not a table, but errors name them like entries of one.
    Registers,
}

impl Table {
    /// The name of one entry.
    pub const fn entry(self) -> &'static str {
        match self {
            Table::Globals => "global variable",
            Table::Locals => "local variable",
            Table::ChannelTypes => "channel type",
            Table::Channels => "channel",
            Table::Processes => "process type",
            Table::Instances => "instance",
            Table::Code => "instruction",
            Table::Labels => "label",
            Table::Spans => "source position",
            Table::Files => "source file",
            Table::Formats => "print format",
            Table::Symbols => "symbol",
            Table::Atoms => "atom",
            Table::Properties => "property",
            Table::States => "state of an automaton",
            Table::Registers => "register",
        }
    }
}

/// The kinds of errors in a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VerifyErrorKind {
    /// V-TABLES: two entries of a table have one name.
    DuplicateName {
        /// The table.
        table: Table,
        /// The name.
        name: String,
    },
    /// V-TABLES: a table has more entries than its index can number.
    TooMany {
        /// The table.
        table: Table,
        /// The most entries it may have.
        limit: usize,
    },
    /// V-TABLES: a reference to an entry that its table does not have.
    Unknown {
        /// The table.
        table: Table,
    },
    /// V-TABLES: entries that are not in the order of addresses, or not inside the code.
    Order {
        /// The table.
        table: Table,
    },
    /// V-TABLES: an `unsigned` type of no bits or of more than 32.
    Width {
        /// The variable or channel type.
        name: String,
    },
    /// V-TABLES: an array of no element, or of more than a megabyte.
    Length {
        /// The variable.
        name: String,
    },
    /// V-TABLES: initial values neither one nor as many as elements, or not representable in the
    /// type.
    Initial {
        /// The variable.
        name: String,
    },
    /// V-TABLES: a channel type with no field or more than 32.
    Fields {
        /// The channel type.
        name: String,
    },
    /// V-TABLES: a process type whose code does not begin after the code of the type before, or is
    /// empty.
    CodeRange {
        /// The process type; empty if there is none.
        process: String,
    },
    /// V-TABLES: an entry or prologue outside the code of its process type.
    Outside {
        /// The process type.
        process: String,
    },
    /// V-TABLES: a priority of 0.
    Priority {
        /// The process type.
        process: String,
    },
    /// V-TABLES: more parameters than locals, or a parameter that is an array.
    Parameters {
        /// The process type.
        process: String,
    },
    /// V-TABLES: an array where a scalar is needed.
    NotScalar {
        /// The variable.
        name: String,
    },
    /// V-TABLES: the number of arguments is not the one that the process type or format needs.
    Arguments {
        /// The number it needs.
        expected: usize,
        /// The number it gets.
        found: usize,
    },
    /// V-TABLES: a format that cannot be read.
    Format(FormatError),
    /// V-TABLES: an operation on messages of no field or more than 32.
    FieldCount {
        /// The number of fields.
        count: u32,
    },
    /// V-TABLES: a mask with fields that the message does not have.
    Mask,
    /// V-TABLES: the chain of jumps at the address in AT never ends.
    NoLocation,
    /// V-TABLES: states have no layout.
    Layout(LayoutError),
    /// V-TABLES: a process type with more control locations than a state can distinguish.
    TooManyLocations {
        /// The process type.
        process: String,
    },
    /// V-JUMP: a jump out of the process type's code.
    BadJump {
        /// The target.
        target: Addr,
    },
    /// V-JUMP: execution continues after the process type's last instruction.
    FallsThrough,
    /// V-STACK: an instruction needs more values than there are.
    Underflow {
        /// How many it needs.
        needed: usize,
        /// How many there are.
        found: usize,
    },
    /// V-STACK: more than 256 values.
    Overflow,
    /// V-STACK: the instruction is reached with two different stack depths.
    Depth {
        /// The first depth found.
        first: usize,
        /// The other depth.
        second: usize,
    },
    /// V-STACK: RET where no subroutine was called.
    NoReturn,
    /// V-STACK: RET finds a value on top of the return address.
    ReturnBuried {
        /// The number of values on top of it.
        depth: usize,
    },
    /// V-STACK: an instruction would take a return address for a value.
    ReturnTaken,
    /// V-STACK, V-PATHS: subroutines are called in too many ways to follow them all.
    TooManyContexts,
    /// V-ALIVE: the stack is not empty at STEP.
    AliveAtStep {
        /// The number of values.
        depth: usize,
    },
    /// V-ALIVE: a register is read that some path has not written.
    Unwritten {
        /// The register.
        register: Register,
    },
    /// V-LOOP: a cycle without STEP.
    Loop,
    /// V-PATHS: too many paths leave a control location.
    TooManyPaths {
        /// The most paths allowed.
        limit: u64,
    },
    /// V-PATHS: too many instructions along the paths of a control location.
    TooManyInstructions {
        /// The most instructions allowed.
        limit: u64,
    },
    /// V-PROLOGUE: an instruction that a prologue may not contain.
    NotInPrologue,
    /// V-REACH: a STEP that is never executed.
    Unreachable,
    /// V-ATOM: an atom whose code does not begin after the code before it, or is empty.
    AtomRange {
        /// The atom.
        atom: String,
    },
    /// V-ATOM: an instruction that an atom may not contain.
    NotInAtom,
    /// V-ATOM: the number of values at RET is not one.
    AtomValue {
        /// The number of values.
        depth: usize,
    },
    /// V-PROPERTY: the contents of a property make no sense.
    Property {
        /// The property.
        name: String,
        /// The reason.
        why: &'static str,
    },
}

impl VerifyErrorKind {
    /// The rule of `docs/bytecode.md` that is broken.
    pub const fn rule(&self) -> &'static str {
        use VerifyErrorKind::*;
        match self {
            BadJump { .. } | FallsThrough => "V-JUMP",
            Underflow { .. } | Overflow | Depth { .. } | NoReturn | ReturnBuried { .. } | ReturnTaken | TooManyContexts => "V-STACK",
            AliveAtStep { .. } | Unwritten { .. } => "V-ALIVE",
            Loop => "V-LOOP",
            TooManyPaths { .. } | TooManyInstructions { .. } => "V-PATHS",
            NotInPrologue => "V-PROLOGUE",
            Unreachable => "V-REACH",
            AtomRange { .. } | NotInAtom | AtomValue { .. } => "V-ATOM",
            Property { .. } => "V-PROPERTY",
            _ => "V-TABLES",
        }
    }
}

impl fmt::Display for VerifyErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use VerifyErrorKind::*;
        match self {
            DuplicateName { table, name } => write!(f, "more than one {} is called `{name}`", table.entry()),
            TooMany { table, limit } => write!(f, "more than {limit} entries of the kind: {}", table.entry()),
            Unknown { table } => write!(f, "no such {}", table.entry()),
            Order { table } => write!(f, "a {} is out of order or outside the code", table.entry()),
            Width { name } => write!(f, "`{name}`: an unsigned type has 1 to 32 bits"),
            Length { name } => write!(f, "`{name}`: an array has at least one element and at most 2^20 bytes"),
            Initial { name } => write!(f, "`{name}`: the initial values do not fit the variable"),
            Fields { name } => write!(f, "`{name}`: a message has 1 to 32 fields"),
            CodeRange { process } if process.is_empty() => write!(f, "code that belongs to no process type"),
            CodeRange { process } => write!(f, "the code of `{process}` is empty or out of order"),
            Outside { process } => write!(f, "entry or prologue of `{process}` is not in its code"),
            Priority { process } => write!(f, "the priority of `{process}` is not between 1 and 255"),
            Parameters { process } => write!(f, "a parameter of `{process}` is missing or is an array"),
            NotScalar { name } => write!(f, "`{name}` is an array: its elements need an index"),
            Arguments { expected, found } => write!(f, "{expected} arguments are asked for, {found} are given"),
            Format(error) => write!(f, "{error}"),
            FieldCount { count } => write!(f, "a message has 1 to 32 fields, not {count}"),
            Mask => write!(f, "the mask names a field that the message does not have"),
            NoLocation => write!(f, "the jumps at this address lead nowhere"),
            Layout(error) => write!(f, "{error}"),
            TooManyLocations { process } => write!(f, "`{process}` has more than 65536 control locations"),
            BadJump { target } => write!(f, "the jump to {target} leaves the code of the process"),
            FallsThrough => write!(f, "execution continues after the last instruction of the process"),
            Underflow { needed, found } => write!(f, "the instruction takes {needed} values from a stack of {found}"),
            Overflow => write!(f, "more than 256 values on the stack"),
            Depth { first, second } => write!(f, "the stack has {first} values here on one path and {second} on another"),
            NoReturn => write!(f, "RET without CALL"),
            ReturnBuried { depth } => write!(f, "RET with {depth} values on top of the return address"),
            ReturnTaken => write!(f, "the instruction would take a return address for a value"),
            TooManyContexts => write!(f, "the subroutines are called in too many ways"),
            AliveAtStep { depth } => write!(f, "the stack is not empty at STEP but has {depth} values"),
            Unwritten { register } => write!(f, "{register} is read but not written on every path from the last STEP"),
            Loop => write!(f, "a cycle without STEP"),
            TooManyPaths { limit } => write!(f, "more than {limit} paths leave this control location"),
            TooManyInstructions { limit } => write!(f, "more than {limit} instructions along the paths of this control location"),
            NotInPrologue => write!(f, "the instruction is not allowed in a prologue"),
            Unreachable => write!(f, "this STEP is never executed"),
            AtomRange { atom } => write!(f, "the code of the atom `{atom}` is empty or out of order"),
            NotInAtom => write!(f, "the instruction is not allowed in an atom"),
            AtomValue { depth } => write!(f, "an atom ends with one value on the stack, not with {depth}"),
            Property { name, why } => write!(f, "the property `{name}`: {why}"),
        }
    }
}

/// The position of an instruction, in words for the user.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// Its process type, or its atom.
    pub process: Option<String>,
    /// The nearest label at or before it in its process type, and the distance in instructions.
    pub label: Option<(String, u32)>,
    /// The file it comes from.
    pub file: Option<String>,
    /// The line there, from 1; 0 if there is no file.
    pub line: u32,
    /// The column there, from 1; 0 if there is no file.
    pub column: u32,
    /// The statement it belongs to.
    pub statement: String,
}

impl Place {
    /// The place of an address of any program, well-formed or not.
    fn of(program: &Program, addr: Addr) -> Place {
        // Tables that are out of order may give a wrong position, which is acceptable for a
        // message.
        let range = program.process_at(addr).map(|id| program.code_of(id));
        let inside = |at: Addr| range.as_ref().is_some_and(|range| range.contains(&at.0));
        let process = program.process_at(addr).and_then(|id| program.processes.get(id.index())).map(|p| p.name.clone());
        let atom = program.atom_at(addr).and_then(|id| program.atoms.get(id.index())).map(|atom| atom.name.clone());
        let label = program.labels.iter().rev().find(|label| label.addr <= addr && inside(label.addr));
        let span = program.span_at(addr);
        Place {
            process: process.or(atom),
            label: label.map(|label| (label.name.clone(), addr.0 - label.addr.0)),
            file: span.and_then(|span| program.files.get(span.file.index()).cloned()),
            line: span.map_or(0, |span| span.line),
            column: span.map_or(0, |span| span.column),
            statement: span.map_or_else(String::new, |span| span.text.clone()),
        }
    }
}

/// An error in a program, and its address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyError {
    /// The kind of error.
    pub kind: VerifyErrorKind,
    /// The instruction, if there is one.
    pub addr: Option<Addr>,
    /// The position of that instruction, in words.
    pub place: Option<Box<Place>>,
}

impl VerifyError {
    pub(super) fn new(program: &Program, kind: VerifyErrorKind, addr: Option<Addr>) -> VerifyError {
        let place = addr.map(|addr| Box::new(Place::of(program, addr)));
        VerifyError { kind, addr, place }
    }

    /// The rule of `docs/bytecode.md` that is broken.
    pub const fn rule(&self) -> &'static str {
        self.kind.rule()
    }

    /// The error as a diagnostic about the source text. If `map` does not contain the file, the
    /// diagnostic has no excerpt.
    pub fn diagnostic(&self, map: &SourceMap) -> Diagnostic {
        let place = self.place.as_deref();
        let file = place.and_then(|place| map.files().find(|(_, file)| Some(file.name()) == place.file.as_deref()));
        let (span, message) = match (file, place) {
            (Some((id, file)), Some(place)) => {
                let line = file.line_start(place.line as usize);
                let skipped = file.line_text(place.line as usize).chars().take((place.column as usize).saturating_sub(1));
                let start = line + skipped.map(char::len_utf8).sum::<usize>();
                let end = start + place.statement.len();
                let end = if file.text().get(start..end) == Some(&place.statement) { end } else { start };
                (Span::new(id, start, end), self.kind.to_string())
            }
            _ => (Span::default(), self.to_string()),
        };
        let rule = format!("rule {} of the byte-code's specification", self.rule());
        let hint = match &self.kind {
            VerifyErrorKind::TooManyLocations { .. } => {
                format!("divide the process into several types, or replace repeated code by a loop ({rule})")
            }
            VerifyErrorKind::TooManyPaths { .. } | VerifyErrorKind::TooManyInstructions { .. } => {
                format!("divide the choice into several steps, so that fewer alternatives begin in one place ({rule})")
            }
            _ => rule,
        };
        Diagnostic::error(span, message).with_hint(hint)
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place.as_deref() {
            if let Some(file) = &place.file {
                write!(f, "{file}:{}:{}: ", place.line, place.column)?;
            }
            if let Some(process) = &place.process {
                write!(f, "in `{process}`")?;
                match &place.label {
                    Some((label, 0)) => write!(f, " at `{label}`")?,
                    Some((label, behind)) => write!(f, " {behind} behind `{label}`")?,
                    None => {}
                }
                write!(f, ": ")?;
            }
        }
        write!(f, "{} ({}", self.kind, self.rule())?;
        match self.addr {
            Some(addr) => write!(f, ", {addr})"),
            None => write!(f, ")"),
        }
    }
}

impl std::error::Error for VerifyError {}
