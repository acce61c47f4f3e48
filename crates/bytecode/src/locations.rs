//! Control locations: the places where a process can rest.
//!
//! A process rests at its entry and behind each STEP, with unconditional jumps followed (rule E-STEP), so that two ways to the same statement
//! are one location. Each type's locations are numbered densely in the order of addresses; a state holds the number, not the address.

use crate::ids::{Addr, Location, ProcessId};
use crate::ops::{Mode, Op};
use crate::program::Program;

/// The control locations of every process type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Locations {
    /// For each type, its resumption addresses, ascending.
    addresses: Vec<Vec<Addr>>,
    /// For each instruction, the location a STEP there leads to or, for an address that is a location, nothing to do with it.
    after_step: Vec<Option<Location>>,
}

impl Locations {
    /// The locations of a program; `None` if a resumption address does not exist, a chain of jumps never ends, or a type has more than
    /// 65,536 locations.
    pub fn of(program: &Program) -> Option<Locations> {
        let mut addresses = Vec::with_capacity(program.processes.len());
        let mut after_step = vec![None; program.code.len()];
        for i in 0..program.processes.len() {
            let id = ProcessId::new(i)?;
            let range = program.code_of(id);
            let mut resumes = vec![program.follow_jumps(program.processes[i].entry)?];
            let steps = |op: &Op| matches!(op, Op::Step { mode } if *mode != Mode::Terminate);
            for at in range.clone() {
                if program.code.get(at as usize).is_some_and(steps) {
                    resumes.push(program.follow_jumps(Addr(at).next())?);
                }
            }
            resumes.sort_unstable();
            resumes.dedup();
            for at in range {
                if program.code.get(at as usize).is_some_and(steps) {
                    let target = program.follow_jumps(Addr(at).next())?;
                    after_step[at as usize] = Some(Location::new(resumes.binary_search(&target).ok()?)?);
                }
            }
            addresses.push(resumes);
        }
        Some(Locations { addresses, after_step })
    }

    /// How many locations a type has.
    pub fn count(&self, process: ProcessId) -> usize {
        self.addresses[process.index()].len()
    }

    /// The address of a location; `None` if the type has no such location.
    pub fn address(&self, process: ProcessId, location: Location) -> Option<Addr> {
        self.addresses.get(process.index())?.get(location.index()).copied()
    }

    /// All resumption addresses of a type, in the order of their numbers.
    pub fn addresses(&self, process: ProcessId) -> &[Addr] {
        &self.addresses[process.index()]
    }

    /// The location at an address of a type.
    pub fn at(&self, process: ProcessId, addr: Addr) -> Option<Location> {
        Location::new(self.addresses.get(process.index())?.binary_search(&addr).ok()?)
    }

    /// The location where a process rests after the STEP at an address.
    pub fn after_step(&self, step: Addr) -> Option<Location> {
        self.after_step.get(step.index()).copied().flatten()
    }
}
