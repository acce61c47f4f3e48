//! Rules V-TABLES and V-JUMP, which can be checked without following the code.
//!
//! After this module has run, tables can be indexed by the identifiers of a program without further
//! checks.

use super::error::{Table, VerifyError, VerifyErrorKind};
use super::property;
use crate::fault::Fault;
use crate::format;
use crate::ids::{Addr, ChannelTypeId, FormatId, GlobalId, LocalId, ProcessId, Register};
use crate::layout::{LIMIT, MAX_COMPONENT};
use crate::ops::{FieldMask, MAX_FIELDS, Mode, Op, OperandSink, REGISTERS, Receive};
use crate::program::{Program, Type, Variable};
use std::collections::HashSet;

type Check = Result<(), VerifyErrorKind>;

/// Checks all tables and, one by one, all instructions.
pub(super) fn check(program: &Program) -> Result<(), VerifyError> {
    let nowhere = |kind| VerifyError::new(program, kind, None);
    lengths(program).map_err(nowhere)?;
    names(program).map_err(nowhere)?;
    variables(program).map_err(nowhere)?;
    channels(program).map_err(nowhere)?;
    processes(program).map_err(nowhere)?;
    positions(program)?;
    for (i, op) in program.code.iter().enumerate() {
        let addr = Addr(i as u32);
        instruction(program, addr, op).map_err(|kind| VerifyError::new(program, kind, Some(addr)))?;
    }
    Ok(())
}

fn lengths(program: &Program) -> Check {
    let shapes = program.processes.len() + program.channel_types.len();
    for (table, found, limit) in [
        (Table::Code, program.code.len(), Fault::MAX_ADDR as usize - 1),
        (Table::Processes, shapes, LIMIT),
        (Table::Instances, program.instances.len(), LIMIT),
        (Table::Channels, program.channels.len(), LIMIT),
        (Table::Atoms, program.atoms.len(), usize::from(u16::MAX)),
    ] {
        if found > limit {
            return Err(VerifyErrorKind::TooMany { table, limit });
        }
    }
    Ok(())
}

pub(super) fn unique<'a>(table: Table, names: impl IntoIterator<Item = &'a str>) -> Check {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(VerifyErrorKind::DuplicateName { table, name: name.to_owned() });
        }
    }
    Ok(())
}

fn names(program: &Program) -> Check {
    unique(Table::Globals, program.globals.iter().map(|v| v.name.as_str()))?;
    unique(Table::ChannelTypes, program.channel_types.iter().map(|t| t.name.as_str()))?;
    unique(Table::Channels, program.channels.iter().map(|c| c.name.as_str()))?;
    unique(Table::Processes, program.processes.iter().map(|p| p.name.as_str()))?;
    unique(Table::Files, program.files.iter().map(String::as_str))?;
    unique(Table::Symbols, program.symbols.iter().map(|(_, name)| name.as_str()))?;
    unique(Table::Atoms, program.atoms.iter().map(|atom| atom.name.as_str()))?;
    unique(Table::Properties, program.properties.iter().map(|property| property.name.as_str()))?;
    program.processes.iter().try_for_each(|p| unique(Table::Locals, p.locals.iter().map(|v| v.name.as_str())))
}

fn variables(program: &Program) -> Check {
    for v in &program.globals {
        variable(v, || v.name.clone())?;
    }
    for p in &program.processes {
        for v in &p.locals {
            variable(v, || format!("{}.{}", p.name, v.name))?;
        }
    }
    Ok(())
}

fn width(ty: Type) -> bool {
    !matches!(ty, Type::Unsigned(0 | 33..))
}

fn variable(v: &Variable, name: impl Fn() -> String) -> Check {
    if !width(v.ty) {
        return Err(VerifyErrorKind::Width { name: name() });
    }
    if v.elements() == 0 || v.elements() > MAX_COMPONENT || v.size() > MAX_COMPONENT {
        return Err(VerifyErrorKind::Length { name: name() });
    }
    let count = v.init.len();
    if !(count <= 1 || count == v.elements()) || v.init.iter().any(|&value| v.ty.truncate(value) != value) {
        return Err(VerifyErrorKind::Initial { name: name() });
    }
    Ok(())
}

fn channels(program: &Program) -> Check {
    for ty in &program.channel_types {
        if ty.fields.is_empty() || ty.fields.len() > MAX_FIELDS {
            return Err(VerifyErrorKind::Fields { name: ty.name.clone() });
        }
        if ty.fields.iter().any(|field| !width(field.ty)) {
            return Err(VerifyErrorKind::Width { name: ty.name.clone() });
        }
    }
    match program.channels.iter().any(|c| c.ty.index() >= program.channel_types.len()) {
        true => Err(VerifyErrorKind::Unknown { table: Table::ChannelTypes }),
        false => Ok(()),
    }
}

fn processes(program: &Program) -> Check {
    let end = program.atoms_start();
    if program.processes.is_empty() && end.0 > 0 {
        return Err(VerifyErrorKind::CodeRange { process: String::new() });
    }
    for (i, p) in program.processes.iter().enumerate() {
        // Each type's code begins where the one before it ends, so the first begins at 0 and none
        // is empty.
        let follows = if i == 0 { p.start.0 == 0 } else { program.processes[i - 1].start < p.start };
        if !follows || p.start >= end || end.index() > program.code.len() {
            return Err(VerifyErrorKind::CodeRange { process: p.name.clone() });
        }
    }
    for (i, atom) in program.atoms.iter().enumerate() {
        if (i > 0 && program.atoms[i - 1].start >= atom.start) || atom.start.index() >= program.code.len() {
            return Err(VerifyErrorKind::AtomRange { atom: atom.name.clone() });
        }
    }
    for (i, p) in program.processes.iter().enumerate() {
        let range = program.code_of(ProcessId(i as u8));
        if !range.contains(&p.entry.0) || p.prologue.is_some_and(|at| !range.contains(&at.0)) {
            return Err(VerifyErrorKind::Outside { process: p.name.clone() });
        }
        if p.priority == 0 {
            return Err(VerifyErrorKind::Priority { process: p.name.clone() });
        }
        if !p.locals.get(..p.params as usize).is_some_and(|params| params.iter().all(|v| v.length.is_none())) {
            return Err(VerifyErrorKind::Parameters { process: p.name.clone() });
        }
    }
    match program.instances.iter().any(|id| id.index() >= program.processes.len()) {
        true => Err(VerifyErrorKind::Unknown { table: Table::Processes }),
        false => Ok(()),
    }
}

/// Labels and source positions.
fn positions(program: &Program) -> Result<(), VerifyError> {
    let inside = |addr: Addr| addr.index() < program.code.len();
    let mut seen = HashSet::new();
    let mut before = Addr(0);
    for label in &program.labels {
        let here = |kind| VerifyError::new(program, kind, Some(label.addr));
        // Atoms have no control locations that a label could name.
        if label.addr < before || label.addr >= program.atoms_start() || !inside(label.addr) {
            return Err(here(VerifyErrorKind::Order { table: Table::Labels }));
        }
        if !seen.insert((program.process_at(label.addr), label.name.as_str())) {
            return Err(here(VerifyErrorKind::DuplicateName { table: Table::Labels, name: label.name.clone() }));
        }
        before = label.addr;
    }
    before = Addr(0);
    for span in &program.spans {
        let here = |kind| VerifyError::new(program, kind, Some(span.addr));
        if span.addr < before || !inside(span.addr) {
            return Err(here(VerifyErrorKind::Order { table: Table::Spans }));
        }
        if span.file.index() >= program.files.len() {
            return Err(here(VerifyErrorKind::Unknown { table: Table::Files }));
        }
        before = span.addr;
    }
    Ok(())
}

fn instruction(program: &Program, addr: Addr, op: &Op) -> Check {
    // The tables are in order by now, so every address has its process type or its atom.
    let (process, range) = match (program.process_at(addr), program.atom_at(addr)) {
        (Some(process), _) => (Some(process), program.code_of(process)),
        (None, Some(atom)) => (None, program.code_of_atom(atom)),
        (None, None) => return Err(VerifyErrorKind::CodeRange { process: String::new() }),
    };
    if process.is_none() && !property::may_stand_in_atom(addr, op) {
        return Err(VerifyErrorKind::NotInAtom);
    }
    op.operands(&mut Operands { program, process, range: range.clone() })?;
    let global = |var: GlobalId| scalar(&program.globals[var.index()]);
    let local = |process: ProcessId, var: LocalId| scalar(&program.processes[process.index()].locals[var.index()]);
    match *op {
        Op::Ldg { var } | Op::Stg { var } => global(var)?,
        Op::Ldl { var } | Op::Stl { var } => process.map_or(Err(VerifyErrorKind::NotInAtom), |process| local(process, var))?,
        Op::Ldr { var: (of, var) } => local(of, var)?,
        Op::Run { args, process } => count(program.processes[process.index()].params as usize, args)?,
        Op::Print { format, args } => {
            let expected = format::arguments(&program.formats[format.index()]).map_err(VerifyErrorKind::Format)?;
            count(expected, args)?;
        }
        Op::Send { fields } | Op::Sends { fields } => message(fields, FieldMask(0))?,
        Op::Recv { fields, mask, .. } | Op::Poll { fields, mask, .. } => message(fields, mask)?,
        _ => {}
    }
    if addr.next().0 == range.end && !op.ends_path() {
        return Err(VerifyErrorKind::FallsThrough);
    }
    Ok(())
}

fn scalar(v: &Variable) -> Check {
    if v.length.is_none() { Ok(()) } else { Err(VerifyErrorKind::NotScalar { name: v.name.clone() }) }
}

fn count(expected: usize, found: u32) -> Check {
    if expected == found as usize { Ok(()) } else { Err(VerifyErrorKind::Arguments { expected, found: found as usize }) }
}

fn message(fields: u32, mask: FieldMask) -> Check {
    if fields == 0 || fields as usize > MAX_FIELDS {
        return Err(VerifyErrorKind::FieldCount { count: fields });
    }
    match (fields as usize..MAX_FIELDS).any(|field| mask.contains(field)) {
        true => Err(VerifyErrorKind::Mask),
        false => Ok(()),
    }
}

/// Checks for each operand that the entry it names exists.
struct Operands<'a> {
    program: &'a Program,
    /// The process type whose code it is; `None` in an atom.
    process: Option<ProcessId>,
    /// The code that jumps may not leave.
    range: std::ops::Range<u32>,
}

impl Operands<'_> {
    fn local_of(&self, process: ProcessId, var: LocalId) -> Check {
        exists(var.index(), self.program.processes[process.index()].locals.len(), Table::Locals)
    }
}

fn exists(index: usize, length: usize, table: Table) -> Check {
    if index < length { Ok(()) } else { Err(VerifyErrorKind::Unknown { table }) }
}

impl OperandSink for Operands<'_> {
    type Error = VerifyErrorKind;

    fn constant(&mut self, _: i32) -> Check {
        Ok(())
    }

    fn count(&mut self, _: u32) -> Check {
        Ok(())
    }

    fn global(&mut self, value: GlobalId) -> Check {
        exists(value.index(), self.program.globals.len(), Table::Globals)
    }

    fn local(&mut self, value: LocalId) -> Check {
        self.process.map_or(Err(VerifyErrorKind::NotInAtom), |process| self.local_of(process, value))
    }

    fn remote_local(&mut self, (process, var): (ProcessId, LocalId)) -> Check {
        self.process(process)?;
        self.local_of(process, var)
    }

    fn remote_addr(&mut self, (process, addr): (ProcessId, Addr)) -> Check {
        self.process(process)?;
        if !self.program.code_of(process).contains(&addr.0) {
            return Err(VerifyErrorKind::Unknown { table: Table::Code });
        }
        Ok(())
    }

    fn register(&mut self, value: Register) -> Check {
        exists(value.index(), REGISTERS, Table::Registers)
    }

    fn addr(&mut self, target: Addr) -> Check {
        if self.range.contains(&target.0) { Ok(()) } else { Err(VerifyErrorKind::BadJump { target }) }
    }

    fn mode(&mut self, _: Mode) -> Check {
        Ok(())
    }

    fn process(&mut self, value: ProcessId) -> Check {
        exists(value.index(), self.program.processes.len(), Table::Processes)
    }

    fn channel_type(&mut self, value: ChannelTypeId) -> Check {
        exists(value.index(), self.program.channel_types.len(), Table::ChannelTypes)
    }

    fn receive(&mut self, _: Receive) -> Check {
        Ok(())
    }

    fn mask(&mut self, _: FieldMask) -> Check {
        Ok(())
    }

    fn format(&mut self, value: FormatId) -> Check {
        exists(value.index(), self.program.formats.len(), Table::Formats)
    }
}
