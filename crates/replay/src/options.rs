//! The statements among which a process chooses at a location, or for which it waits.
//!
//! A location is an address; from there the byte-code branches until a statement begins. This
//! module follows the branches and executes nothing.

use bytecode::{Addr, Component, LayoutError, Op, Program, Shape, Span, StateMap, Verified};
use contract::Position;
use std::collections::HashSet;

/// If a selection has more options than this, only the first ones are listed.
const OPTIONS_MAX: usize = 256;
/// The most branches that are followed; code may jump for ever without beginning a statement.
const BRANCHES_MAX: usize = 4096;

/// A statement that a process could execute next, if its guard allows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    /// Its position, if known.
    pub position: Option<Position>,
    /// Its own position, if it came out of a macro or an inline.
    pub origin: Option<Position>,
    /// The statement as the user wrote it, with actual names if it came out of a macro or an
    /// inline.
    pub statement: String,
}

/// The statements that each process of a state could execute next, by process number, whether or
/// not they are executable.
pub(crate) fn options(program: &Verified, state: &[u8]) -> Result<Vec<Vec<Choice>>, LayoutError> {
    let layout = program.layout();
    layout.check(state, program.locations())?;
    let mut map = StateMap::default();
    map.read(layout, state)?;
    let of_process = |process: &Component| {
        let Shape::Process(ty) = process.shape else { return Vec::new() };
        let location = layout.processes[ty.index()].location(&state[process.offset..]);
        program.locations().address(ty, location).map_or_else(Vec::new, |address| options_at(program.program(), address))
    };
    Ok(map.processes.iter().map(of_process).collect())
}

/// The statements at an address, in the order of the text. The escape of an `unless` is listed
/// after the statements that it may interrupt.
fn options_at(program: &Program, address: Addr) -> Vec<Choice> {
    option_addresses(program, address).into_iter().map(|at| choice(program, at)).collect()
}

/// The addresses at which these statements begin. Of several that look the same, only the first is
/// listed.
pub(crate) fn option_addresses(program: &Program, address: Addr) -> Vec<Addr> {
    let (mut seen, mut waiting) = (HashSet::new(), vec![address]);
    let (mut told, mut options) = (HashSet::new(), Vec::new());
    while let Some(address) = waiting.pop() {
        if seen.len() >= BRANCHES_MAX || options.len() >= OPTIONS_MAX {
            break;
        }
        if !seen.insert(address) {
            continue;
        }
        match program.code.get(address.index()) {
            Some(Op::Jmp { target }) => waiting.push(*target),
            Some(Op::Ndet { target } | Op::Else { target } | Op::Unless { target }) => {
                waiting.push(*target);
                waiting.push(Addr(address.0 + 1));
            }
            Some(_) if told.insert(choice(program, address)) => options.push(address),
            _ => {}
        }
    }
    options
}

pub(crate) fn choice(program: &Program, address: Addr) -> Choice {
    let span = program.span_at(address);
    Choice {
        position: span.map(|span| place(program, span)),
        origin: program.origin_at(address).map(|span| place(program, span)),
        statement: span.map(|span| span.text.clone()).unwrap_or_default(),
    }
}

fn place(program: &Program, span: &Span) -> Position {
    Position { file: program.files.get(span.file.index()).cloned().unwrap_or_default(), line: span.line, column: span.column }
}
