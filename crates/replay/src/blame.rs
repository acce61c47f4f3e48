//! The values that led to a fault: the index and the size of an array, the values that an assertion
//! or a division read.
//!
//! The statements of the step are executed up to the fault, on the values of the state before it
//! and on those that the step stores. If one is too complicated, there is no explanation.

use crate::waiting::{Execution, Here};
use bytecode::{Addr, Component, Fault, FaultKind, Op, ProcessId, Shape, StateMap, Variable, Verified};

/// The most instructions that are executed.
const WORK_MAX: usize = 10_000;
/// The most values that an explanation contains.
const VALUES_MAX: usize = 8;

/// The point at which the execution of a statement ended.
enum Reached {
    /// The address up to which it was executed, with this state.
    End(Execution, Vec<u8>),
    /// A place with several options.
    Options,
    /// An instruction that is not executed here.
    Nothing,
}

/// The step of a process that fails.
struct Step<'s> {
    program: &'s Verified,
    map: &'s StateMap,
    pid: usize,
    ty: ProcessId,
    process: &'s Component,
}

impl Step<'_> {
    /// Executes the code from `at` to `until`.
    fn execute(&self, state: &[u8], mut at: usize, until: Addr) -> Reached {
        let mut state = state.to_vec();
        let mut run = Execution::default();
        for _ in 0..WORK_MAX {
            if at == until.index() {
                return Reached::End(run, state);
            }
            let Some(&op) = self.program.program().code.get(at) else { return Reached::Nothing };
            at += 1;
            match op {
                Op::Jmp { target } => at = target.index(),
                Op::Jmpz { target } | Op::Jmpnz { target } => match run.pop() {
                    Some(value) if (value == 0) == matches!(op, Op::Jmpz { .. }) => at = target.index(),
                    Some(_) => {}
                    None => return Reached::Nothing,
                },
                Op::Ndet { .. } | Op::Else { .. } | Op::Unless { .. } => return Reached::Options,
                Op::Stg { .. } | Op::Stgx { .. } | Op::Stl { .. } | Op::Stlx { .. } => {
                    if self.store(op, &mut state, &mut run).is_none() {
                        return Reached::Nothing;
                    }
                    // Values that an earlier statement read did not lead to the fault.
                    run.read.clear();
                }
                Op::Print { .. } => {
                    (0..op.pops()).for_each(|_| _ = run.pop());
                    run.read.clear();
                }
                op if !is_pure(op) => return Reached::Nothing,
                op => Here { program: self.program, state: &state, map: self.map }.evaluate(op, self.pid, self.ty, self.process, &mut run),
            }
        }
        Reached::Nothing
    }

    /// Stores a value; `None` if the value or its place is not known.
    fn store(&self, op: Op, state: &mut [u8], run: &mut Execution) -> Option<()> {
        let layout = self.program.layout();
        let locals = &layout.processes[self.ty.index()].locals;
        let (slot, base, is_element) = match op {
            Op::Stg { var } => (&layout.globals[var.index()], 0, false),
            Op::Stgx { var } => (&layout.globals[var.index()], 0, true),
            Op::Stl { var } => (&locals[var.index()], self.process.offset, false),
            Op::Stlx { var } => (&locals[var.index()], self.process.offset, true),
            _ => return None,
        };
        let index = if is_element { run.pop()? } else { 0 };
        let value = run.pop()?;
        slot.ty.write(value, state.get_mut(base + slot.element(index)?..)?);
        Some(())
    }
}

/// Whether an operation that is neither a store nor a jump is known to change nothing that later
/// ones read.
fn is_pure(op: Op) -> bool {
    let reads = matches!(
        op,
        Op::Ldc { .. }
            | Op::Ldg { .. }
            | Op::Ldl { .. }
            | Op::Ldgx { .. }
            | Op::Ldlx { .. }
            | Op::Pid {}
            | Op::Nrpr {}
            | Op::Len {}
            | Op::Empty {}
            | Op::Full {}
            | Op::Neg {}
            | Op::Not {}
            | Op::Lnot {}
            | Op::Chk { .. }
            | Op::Range { .. }
            | Op::Drop {}
            | Op::Push { .. }
            | Op::Pop { .. }
            | Op::Nexz {}
            | Op::Ldr { .. }
            | Op::Ldrx { .. }
            | Op::Last {}
            | Op::Timeout {}
            | Op::Enabled {}
            | Op::Pcval {}
            | Op::At { .. }
            | Op::Np {}
            | Op::Getprio {}
            | Op::Assert {}
    );
    reads || (op.pops() == 2 && op.pushes() == 1)
}

/// Where the statement begins that contains an address: behind the step before it.
fn beginning(code: &[Op], until: Addr) -> Option<usize> {
    let code = code.get(..=until.index())?;
    let begin = code[..until.index()].iter().rposition(|op| matches!(op, Op::Step { .. })).map_or(0, |at| at + 1);
    // The jump after the step before leads elsewhere, and the first of several options comes first.
    Some(begin + code[begin..].iter().take_while(|op| matches!(op, Op::Jmp { .. } | Op::Ndet { .. })).count())
}

/// Why a step of a process fails that begins in a state, in a sentence. `completed` are the steps
/// in the code that the process completed before the one that fails, if it is a sequence.
pub(crate) fn blame(program: &Verified, state: &[u8], map: &StateMap, pid: usize, fault: Fault, completed: &[Addr]) -> Option<String> {
    let tables = program.program();
    let process = map.processes.get(pid)?;
    let Shape::Process(ty) = process.shape else { return None };
    let layout = &program.layout().processes[ty.index()];
    let location = program.locations().address(ty, layout.location(state.get(process.offset..)?))?;
    let step = Step { program, map, pid, ty, process };
    let (mut state, mut run) = (state.to_vec(), Execution::default());
    for (number, &until) in completed.iter().chain([&fault.addr]).enumerate() {
        // If the process has several options, the one that it took begins after the step before.
        let reached = match if number == 0 { step.execute(&state, location.index(), until) } else { Reached::Options } {
            Reached::Options => step.execute(&state, beginning(&tables.code, until)?, until),
            reached => reached,
        };
        match reached {
            Reached::End(execution, after) => (run, state) = (execution, after),
            _ => return None,
        }
    }
    let at = fault.addr.index();
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
        // A check with a name of its own is not one of an index.
        (FaultKind::Index, Op::Chk { .. }) if tables.violation_at(fault.addr).is_some() => Some(format!("the number is {}", run.pop()?)),
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
