//! The verifier: rejects malformed programs before anything runs.
//!
//! It decides the rules V-… of `docs/bytecode.md` in three parts: the tables and single
//! instructions (`tables`), the paths through the code (`flow`), and the layout of states. The
//! result is a [`Verified`] program. Engines may then index tables, pop the stack and run a step to
//! its end without further checks.

mod error;
mod flow;
mod property;
mod tables;

pub use error::{Place, Table, VerifyError, VerifyErrorKind};
pub use flow::{INSTRUCTIONS_MAX, PATHS_MAX, STACK_MAX};

use crate::ids::{Addr, ProcessId};
use crate::layout::Layout;
use crate::locations::{Locations, landings};
use crate::ops::Op;
use crate::program::Program;
use flow::Flow;

/// A program that has passed the verifier, with the data derived from it. Engines accept nothing
/// else.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verified {
    program: Program,
    locations: Locations,
    layout: Layout,
    flow: Flow,
}

impl Verified {
    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Its control locations.
    pub fn locations(&self) -> &Locations {
        &self.locations
    }

    /// The layout of its states.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether some process may ever execute the instruction at an address, as far as the code
    /// alone can tell.
    pub fn is_reachable(&self, addr: Addr) -> bool {
        self.flow.reachable.get(addr.index()).copied().unwrap_or(false)
    }

    /// The most values that are ever on the stack, return addresses included.
    pub fn max_stack(&self) -> usize {
        self.flow.max_stack
    }

    /// The most paths that leave a control location, alternatives counted.
    pub fn max_paths(&self) -> u64 {
        self.flow.max_paths
    }

    /// Returns the program.
    pub fn into_program(self) -> Program {
        self.program
    }
}

/// Checks a program.
pub fn verify(program: Program) -> Result<Verified, VerifyError> {
    tables::check(&program)?;
    property::check(&program).map_err(|kind| VerifyError::new(&program, kind, None))?;
    let flow = flow::check(&program)?;
    // Every STEP is reachable and every cycle contains one, so a resumption point always exists.
    // Only their number can be wrong.
    let locations = Locations::of(&program).ok_or_else(|| {
        let steps = |i: usize| program.code[code_range(&program, i)].iter().filter(|op| matches!(op, Op::Step { .. })).count();
        let process =
            (0..program.processes.len()).max_by_key(|&i| steps(i)).map_or_else(String::new, |i| program.processes[i].name.clone());
        VerifyError::new(&program, VerifyErrorKind::TooManyLocations { process }, None)
    })?;
    let landings = landings(&program);
    let lost = |op: &Op| matches!(op, Op::At { place: (_, addr) } if landings[addr.index()].is_none());
    if let Some(at) = program.code.iter().position(lost) {
        return Err(VerifyError::new(&program, VerifyErrorKind::NoLocation, Some(Addr(at as u32))));
    }
    let layout = Layout::of(&program, &locations).map_err(|e| VerifyError::new(&program, VerifyErrorKind::Layout(e), None))?;
    Ok(Verified { program, locations, layout, flow })
}

/// The code of a process type, as a range of positions.
fn code_range(program: &Program, process: usize) -> std::ops::Range<usize> {
    let range = program.code_of(ProcessId(process as u8));
    range.start as usize..range.end as usize
}
