//! The code of a control location, up to the STEPs that end its steps.

use crate::ids::Addr;
use crate::ops::Op;
use crate::verify::Verified;
use std::collections::HashSet;

/// The code that can be executed from a location without leaving it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// The STEPs that end steps, in the order of the code.
    pub steps: Vec<Addr>,
    /// All other instructions that can be executed.
    pub others: Vec<Addr>,
}

/// Walks over the code of the location that begins at `location`.
pub fn walk(program: &Verified, location: Addr) -> Walk {
    let code = &program.program().code;
    let (mut seen, mut waiting, mut walk) = (HashSet::new(), vec![location], Walk::default());
    while let Some(at) = waiting.pop() {
        if !seen.insert(at) {
            continue;
        }
        let Some(op) = code.get(at.index()) else { continue };
        if matches!(op, Op::Step { .. }) {
            walk.steps.push(at);
            continue;
        }
        walk.others.push(at);
        waiting.extend(op.target());
        // A subroutine returns after its call.
        if !op.ends_path() || matches!(op, Op::Call { .. }) {
            waiting.push(at.next());
        }
    }
    walk.steps.sort_unstable();
    walk
}
