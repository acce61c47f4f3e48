//! The values that led to a fault: the index and the size of an array, the values that an assertion
//! or a division read.
//!
//! The code of the step is executed up to the fault, on the values of the state before it. If it is
//! too complicated, there is no explanation.

use crate::waiting::{Execution, Here};
use bytecode::{Fault, FaultKind, Op, Shape, StateMap, Variable, Verified};

/// The most instructions that are executed.
const WORK_MAX: usize = 10_000;
/// The most values that are told.
const VALUES_MAX: usize = 8;

/// Why the first step of a process in a state fails, in a sentence.
pub(crate) fn blame(program: &Verified, state: &[u8], map: &StateMap, pid: usize, fault: Fault) -> Option<String> {
    let tables = program.program();
    let process = map.processes.get(pid)?;
    let Shape::Process(ty) = process.shape else { return None };
    let here = Here { program, state, map };
    let code = tables.code.get(..=fault.addr.index())?;
    let begin = code.iter().rposition(|op| matches!(op, Op::Step { .. })).map_or(0, |at| at + 1);
    // The jump after the step before leads elsewhere.
    let mut at = begin + code.get(begin..)?.iter().take_while(|op| matches!(op, Op::Jmp { .. })).count();
    let mut run = Execution::default();
    for _ in 0..WORK_MAX {
        if at == fault.addr.index() {
            break;
        }
        let op = *tables.code.get(at)?;
        at += 1;
        match op {
            Op::Jmp { target } => at = target.index(),
            Op::Jmpz { target } | Op::Jmpnz { target } => {
                if (run.pop()? == 0) == matches!(op, Op::Jmpz { .. }) {
                    at = target.index();
                }
            }
            Op::Step { .. } => return None,
            op => here.evaluate(op, pid, ty, process, &mut run),
        }
    }
    if at != fault.addr.index() {
        return None;
    }
    let elements = |count: usize| if count == 1 { "1 element".to_owned() } else { format!("{count} elements") };
    let of_array = |index: i32, variable: &Variable| {
        let size = elements(variable.length.unwrap_or(1) as usize);
        format!("the index is {index}, and `{}` has {size}", variable.name)
    };
    match (fault.kind, *tables.code.get(at)?) {
        (FaultKind::Index, Op::Ldgx { var } | Op::Stgx { var }) => Some(of_array(run.pop()?, tables.globals.get(var.index())?)),
        (FaultKind::Index, Op::Ldlx { var } | Op::Stlx { var }) => {
            Some(of_array(run.pop()?, tables.processes.get(ty.index())?.locals.get(var.index())?))
        }
        (FaultKind::Index, Op::Chk { length }) => {
            Some(format!("the index is {}, and the array has {}", run.pop()?, elements(length as usize)))
        }
        (FaultKind::Assertion | FaultKind::Division, _) if (1..=VALUES_MAX).contains(&run.read.len()) => {
            let values: Vec<String> = run.read.iter().map(|named| format!("{} = {}", named.name, named.value)).collect();
            Some(format!("it read {}", values.join(", ")))
        }
        _ => None,
    }
}
