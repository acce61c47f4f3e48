//! How the transitions of a state are divided into parts that an engine can generate one at a time.
//!
//! A part is what one process can do, as far as the scheduler's rules allow processes to be
//! expanded one by one. While a process has the privilege (S-ATOMIC), the steps of the others
//! depend on whether it can move; such a state is one part. The steps enabled by TIMEOUT
//! (S-TIMEOUT) depend on all processes and are a part of their own, the last one. All engines use
//! this rule, so it is defined here.

use crate::ops::Op;
use crate::verify::Verified;

/// A share of the transitions of a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The transitions of one process, without TIMEOUT.
    Process(u32),
    /// The transitions by TIMEOUT, if there are no others.
    Timeout,
    /// All transitions.
    Everything,
}

impl Part {
    /// The number of a part.
    pub const fn number(self) -> u32 {
        match self {
            Part::Process(process) => process,
            Part::Timeout => u32::MAX - 1,
            Part::Everything => u32::MAX,
        }
    }

    /// The part with a number.
    pub const fn from_number(number: u32) -> Part {
        match number {
            u32::MAX => Part::Everything,
            number if number == u32::MAX - 1 => Part::Timeout,
            process => Part::Process(process),
        }
    }
}

/// Divides the transitions of a program's states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Division {
    exclusive: Option<usize>,
    timeout: bool,
}

impl Division {
    /// The division of a program's states.
    pub fn of(program: &Verified) -> Division {
        let timeout = program.program().code.iter().any(|op| matches!(op, Op::Timeout {}));
        Division { exclusive: program.layout().exclusive, timeout }
    }

    /// Whether some transition may depend on TIMEOUT.
    pub fn uses_timeout(&self) -> bool {
        self.timeout
    }

    /// Appends the numbers of the parts of `state`, which has `processes` processes.
    pub fn parts(&self, state: &[u8], processes: usize, out: &mut Vec<u32>) {
        if self.exclusive.is_some_and(|at| state.get(at).is_some_and(|&holder| holder != 0)) {
            out.push(Part::Everything.number());
            return;
        }
        out.extend((0..processes as u32).map(|process| Part::Process(process).number()));
        if self.timeout {
            out.push(Part::Timeout.number());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_survive_their_numbers() {
        for part in [Part::Process(0), Part::Process(254), Part::Timeout, Part::Everything] {
            assert_eq!(Part::from_number(part.number()), part);
        }
    }
}
