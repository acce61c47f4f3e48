//! Control locations: the points of the code at which a process can wait between two steps.
//!
//! A process waits at its entry and after each STEP, with unconditional jumps followed (rule
//! E-STEP), so that two ways to the same statement are one location. Each type's locations are
//! numbered densely in the order of addresses. A state holds the number, not the address.

use crate::ids::{Addr, Location, ProcessId};
use crate::ops::{Mode, Op};
use crate::program::Program;

/// The control locations of every process type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Locations {
    /// For each type, its resumption addresses, ascending.
    addresses: Vec<Vec<Addr>>,
    /// For each STEP, the location it leads to. For other addresses the value has no meaning.
    after_step: Vec<Option<Location>>,
}

impl Locations {
    /// The locations of a program; `None` if a resumption address does not exist, a chain of jumps
    /// never ends, or a type has more than 65,536 locations.
    pub fn of(program: &Program) -> Option<Locations> {
        let landings = landings(program);
        let landing = |addr: Addr| landings.get(addr.index()).copied().flatten();
        let mut addresses = Vec::with_capacity(program.processes.len());
        let mut after_step = vec![None; program.code.len()];
        for i in 0..program.processes.len() {
            let id = ProcessId::new(i)?;
            let range = program.code_of(id);
            let mut resumes = vec![landing(program.processes[i].entry)?];
            let steps = |op: &Op| matches!(op, Op::Step { mode } if *mode != Mode::Terminate);
            for at in range.clone() {
                if program.code.get(at as usize).is_some_and(steps) {
                    resumes.push(landing(Addr(at).next())?);
                }
            }
            resumes.sort_unstable();
            resumes.dedup();
            for at in range {
                if program.code.get(at as usize).is_some_and(steps) {
                    let target = landing(Addr(at).next())?;
                    after_step[at as usize] = Some(Location::new(resumes.binary_search(&target).ok()?)?);
                }
            }
            addresses.push(resumes);
        }
        Some(Locations { addresses, after_step })
    }

    /// The number of locations of a type.
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

    /// The location at which a process waits after the STEP at an address.
    pub fn after_step(&self, step: Addr) -> Option<Location> {
        self.after_step.get(step.index()).copied().flatten()
    }
}

/// The result of [`Program::follow_jumps`] for each address, computed for all addresses in linear
/// time: long chains of jumps are followed once.
pub(crate) fn landings(program: &Program) -> Vec<Option<Addr>> {
    let mut landings: Vec<Option<Addr>> = vec![None; program.code.len()];
    let mut seen = vec![false; program.code.len()];
    let mut chain = Vec::new();
    for start in 0..program.code.len() {
        let mut at = start;
        let end = loop {
            match program.code.get(at) {
                None => break None,
                // Either the target is known, or the chain is a cycle and has no target.
                Some(_) if seen[at] => break landings[at],
                Some(Op::Jmp { target }) => {
                    seen[at] = true;
                    chain.push(at);
                    at = target.index();
                }
                Some(_) => {
                    seen[at] = true;
                    landings[at] = Some(Addr(at as u32));
                    break landings[at];
                }
            }
        };
        for jump in chain.drain(..) {
            landings[jump] = end;
        }
    }
    landings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn landings_are_where_jumps_lead() {
        let jump = |target| Op::Jmp { target: Addr(target) };
        let code = vec![jump(2), Op::Nex {}, jump(1), jump(4), jump(3), jump(3), jump(99), jump(0), jump(8)];
        let program = Program { code, ..Program::default() };
        let one_by_one: Vec<_> = (0..program.code.len() as u32).map(|at| program.follow_jumps(Addr(at))).collect();
        assert_eq!(landings(&program), one_by_one);
        assert_eq!(landings(&program)[7], Some(Addr(1)));
    }
}
